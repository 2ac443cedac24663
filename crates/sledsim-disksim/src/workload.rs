//! Converts generators, driver and settings to the workload, scheduler and run of a scenario.

use serde_json::{json, Value as Json};
use sledsim::fault::{self, Kind};

use super::distribution::{Shape, Times};
use super::draft::{Drafts, Origin};
use super::fault::Fault;
use super::grammar::Takes;
use super::syntax::{Block, Content, Document, Parameter};
use super::system::Route;

/// The type of block of a generator.
const GENERATOR: &str = "disksim_synthgen";
const OPEN_OR_CLOSED: &str = "a request in so many is waited for: all or none can be";

/// Parameters that decide the results of a scenario: arrivals and locations of requests, and the number of devices.
const DECISIVE: [&str; 12] = [
    "Distribution scheme",
    "General inter-arrival times",
    "Generators",
    "Local inter-arrival times",
    "Number of processors",
    "Probability of local access",
    "Probability of time-critical request",
    "Probability of time-limited request",
    "Redundancy scheme",
    "Sequential inter-arrival times",
    "System call/return with each request",
    "topology",
];

/// Returns true if a parameter that is not carried over decides results.
pub(super) fn decides(name: &str) -> bool {
    DECISIVE.contains(&name)
}

/// Scheduler of each policy of DiskSim, and the difference between them.
const POLICIES: [(&str, &str); 28] = [
    ("fcfs", ""),
    ("look", ""),
    ("clook", ""),
    ("sstf_lbn", ""),
    ("look", "goes by cylinder in DiskSim, by LBN here"),
    ("clook", "goes by cylinder in DiskSim, by LBN here"),
    ("sstf_lbn", "goes by cylinder in DiskSim, by LBN here"),
    ("sptf", ""),
    ("sptf", "takes the drive's buffer into account in DiskSim"),
    ("sptf", "takes the time of the transfer into account in DiskSim"),
    ("sptf", "weighs positioning times by age in DiskSim"),
    ("sptf", "weighs positioning times by age in DiskSim"),
    ("sptf", "weighs access times by age in DiskSim"),
    ("asptf", ""),
    ("asptf", "takes the drive's buffer into account in DiskSim"),
    ("asptf", "takes the time of the transfer into account in DiskSim"),
    ("vscan", ""),
    ("vscan", "goes by cylinder in DiskSim, by LBN here"),
    ("vscan", "takes priorities into account in DiskSim"),
    ("asptf", "takes priorities into account in DiskSim"),
    ("asptf", "takes priorities into account in DiskSim"),
    ("sdf", "approximates the distance in DiskSim"),
    ("sdf", ""),
    ("sptf", "weighs rotation in DiskSim"),
    ("sptf", "weighs rotation in DiskSim"),
    ("sptf", "weighs seeks in DiskSim"),
    ("fcfs", "is a travelling salesman's tour in DiskSim"),
    ("fcfs", "serves batches in DiskSim"),
];

/// Returns the scheduler of a policy number of DiskSim, and the difference between them; `None` for other numbers.
#[must_use]
pub fn policy(number: i64) -> Option<(&'static str, &'static str)> {
    usize::try_from(number - 1).ok().and_then(|index| POLICIES.get(index).copied())
}

/// Size of the imported device.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceSize {
    pub capacity_blocks: u64,
    pub block_bytes: u32,
}

/// Carries over workload, scheduler and run.
pub(super) fn carry(document: &Document, route: &Route, size: DeviceSize, drafts: &mut Drafts) -> Result<(), Fault> {
    let Some(synthetic) = document.blocks.iter().find(|block| block.kind == "disksim_synthio") else {
        let says = ": there is no workload for a scenario";
        return Err(Fault::of(document.end, fault::Fault::missing("disksim_synthio").says(says)));
    };
    let scale = match document.blocks.iter().find(|block| block.kind == "disksim_pf") {
        Some(processes) => processes.real("Process-Flow Time Scale")?,
        None => 1.0,
    };
    if let Some(global) = document.blocks.iter().find(|block| block.kind == "disksim_global") {
        carry_global(global, drafts)?;
    }
    drafts.put(
        "requests",
        synthetic.whole("Number of I/O requests to generate")?,
        synthetic.need("Number of I/O requests to generate")?,
        Origin::Published,
    );
    drafts.put(
        "time_s",
        synthetic.real("Maximum time of trace generated")?,
        synthetic.need("Maximum time of trace generated")?,
        Origin::Published,
    );
    drafts.remark_unused(synthetic, 1);
    let generators = Generators::new(synthetic)?;
    generators.carry_arrival(document, scale, drafts)?;
    generators.carry_location(size, drafts)?;
    let one = generators.first;
    let sizes = Shape::read(one, "Sizes")?.sizes_bytes(one.real("Blocking factor")?, f64::from(size.block_bytes));
    drafts.put("size_bytes", sizes, one.need("Sizes")?, Origin::Derived);
    drafts.also(one.need("Blocking factor")?);
    drafts.note("blocks, cut to whole ones and rounded up to the blocking factor");
    drafts.put(
        "read_fraction",
        one.real("Probability of read access")?,
        one.need("Probability of read access")?,
        Origin::Published,
    );
    carry_scheduler(route, drafts)
}

/// Carries over the scheduler and the settings, for a session.
pub(super) fn carry_driven(document: &Document, route: &Route, drafts: &mut Drafts) -> Result<(), Fault> {
    if let Some(global) = document.blocks.iter().find(|block| block.kind == "disksim_global") {
        carry_global(global, drafts)?;
    }
    carry_scheduler(route, drafts)
}

fn carry_global(global: &Block, drafts: &mut Drafts) -> Result<(), Fault> {
    if let Some(seed) = global.get("Real Seed") {
        match global.whole("Real Seed")? {
            value @ 0.. => drafts.put("seed", value, seed, Origin::Published),
            _ => drafts.idle(seed, "a scenario's seed is not negative"),
        }
    }
    if let Some(warmup) = global.get("Statistic warm-up time") {
        drafts.put("warmup_s", global.real("Statistic warm-up time")?, warmup, Origin::Published);
    }
    if let Some(warmup) = global.get("Statistic warm-up IOs") {
        drafts.put("warmup_requests", global.whole("Statistic warm-up IOs")?, warmup, Origin::Published);
    }
    drafts.remark_unused(global, 1);
    Ok(())
}

/// The generators, which become one workload.
struct Generators<'a> {
    first: &'a Block,
    all: Vec<&'a Block>,
    list: &'a Parameter,
}

impl<'a> Generators<'a> {
    fn new(synthetic: &'a Block) -> Result<Self, Fault> {
        let list = synthetic.need("Generators")?;
        let mut all = Vec::new();
        let expected = |index| synthetic.fault_of("Generators", index).expects(Takes::Block(&[GENERATOR]));
        for (index, item) in synthetic.list("Generators")?.iter().enumerate() {
            match &item.content {
                Content::Block(block) if block.kind == GENERATOR => all.push(block),
                _ => return Err(expected(index)),
            }
        }
        match all.first() {
            Some(first) => Ok(Self { first, all, list }),
            None => Err(expected(0)),
        }
    }

    fn carry_arrival(&self, document: &Document, scale: f64, drafts: &mut Drafts) -> Result<(), Fault> {
        let (one, count) = (self.first, self.all.len());
        let critical = one.real("Probability of time-critical request")?;
        let shape = Shape::read(one, "General inter-arrival times")?;
        let Times { distribution: times, in_steps } = shape.times_ms(scale);
        let general = one.need("General inter-arrival times")?;
        let kind = one.need("Probability of time-critical request")?;
        let arrival = match (critical >= 0.5, shape) {
            (true, _) => json!({"kind": "closed", "outstanding": count, "think_ms": times}),
            (false, Shape::Exponential { base: 0.0, mean }) if mean * scale > 0.0 => {
                json!({"kind": "poisson", "rate_per_s": 1000.0 * count as f64 / (mean * scale)})
            }
            _ if shape.mean() * scale <= 0.0 => {
                let says = ": no time between requests that wait for none, expected a mean above 0";
                return Err(one.fault(&general.name).kind(Kind::OutOfRange).says(says));
            }
            (false, _) if count > 1 => {
                drafts.lost(general, "several generators of such times together are taken as one of exponential times");
                json!({"kind": "poisson", "rate_per_s": 1000.0 * count as f64 / (shape.mean() * scale)})
            }
            (false, _) => json!({"kind": "renewal", "interarrival_ms": times}),
        };
        drafts.put("arrival", arrival, kind, Origin::Derived);
        drafts.also(general);
        if in_steps {
            drafts.note("a distribution that Sledsim doesn't have, in 400 steps");
        }
        if critical != 0.0 && critical != 1.0 {
            drafts.lost(kind, OPEN_OR_CLOSED);
        }
        self.remark_times(drafts)?;
        self.remark_others(drafts);
        if let Some(processes) = document.blocks.iter().find(|block| block.kind == "disksim_pf") {
            let processors = processes.need("Number of processors")?;
            let thinking = shape.mean() * scale > 0.0;
            if thinking && processes.whole("Number of processors")? < count as i64 {
                drafts.lost(processors, "generators compute their times between requests one after another on too few");
            } else {
                drafts.idle(processors, "there is one for every generator, or nothing to compute");
            }
            drafts.also(processes.need("Process-Flow Time Scale")?);
        }
        Ok(())
    }

    /// Adds remarks on interarrival times of sequential and local requests.
    fn remark_times(&self, drafts: &mut Drafts) -> Result<(), Fault> {
        let one = self.first;
        let general = Shape::read(one, "General inter-arrival times")?;
        for (probability, name) in [
            ("Probability of sequential access", "Sequential inter-arrival times"),
            ("Probability of local access", "Local inter-arrival times"),
        ] {
            let (parameter, own) = (one.need(name)?, Shape::read(one, name)?);
            if one.real(probability)? == 0.0 {
                drafts.idle(parameter, "there are no such requests");
            } else if own == general {
                drafts.idle(parameter, "the same as of other requests");
            } else {
                drafts.lost(parameter, "all requests follow one another alike, by the general times");
            }
        }
        drafts.remark_unused(one, 1);
        Ok(())
    }

    /// Adds remarks on the other generators.
    fn remark_others(&self, drafts: &mut Drafts) {
        let plain = |block: &Block| -> Vec<String> {
            block.parameters.iter().map(|each| format!("{}={:?}", each.name, Plain(&each.value))).collect()
        };
        let alike = self.all.iter().all(|other| plain(other) == plain(self.first));
        if !alike {
            drafts.lost(self.list, "the generators differ; all are taken as alike to the first");
        }
        for other in &self.all[1..] {
            let reason = if alike { "alike to the first generator" } else { "not that of the first generator" };
            drafts.remark_all(other, reason, false);
        }
    }

    fn carry_location(&self, size: DeviceSize, drafts: &mut Drafts) -> Result<(), Fault> {
        let DeviceSize { capacity_blocks, block_bytes } = size;
        let block_bytes = f64::from(block_bytes);
        let one = self.first;
        let (sequential, local) =
            (one.real("Probability of sequential access")?, one.real("Probability of local access")?);
        let factor = one.whole("Blocking factor")?;
        let (in_turn, near) = (one.need("Probability of sequential access")?, one.need("Probability of local access")?);
        let distances = one.need("Local distances")?;
        let location = if sequential > 0.0 {
            let runs = if sequential < 1.0 { json!(1.0 / (1.0 - sequential)) } else { Json::Null };
            drafts.lost(
                in_turn,
                "DiskSim repeats the size and kind of the request before, and starts runs at multiples \
                                  of the blocking factor",
            );
            json!({"kind": "sequential", "run_requests": runs})
        } else if local >= 1.0 {
            let mean = mean_distance(Shape::read(one, "Local distances")?);
            drafts.lost(distances, "distances are exponential, up or down, with the same mean");
            json!({"kind": "local-walk", "scale_bytes": mean * block_bytes})
        } else {
            json!({"kind": "uniform", "align_bytes": factor as f64 * block_bytes})
        };
        drafts.put("location", location, in_turn, Origin::Derived);
        drafts.also(near);
        drafts.also(one.need("Blocking factor")?);
        if local > 0.0 && (local < 1.0 || sequential > 0.0) {
            drafts.lost(near, "requests near the one before are not mixed with others here");
        }
        if local == 0.0 {
            drafts.idle(distances, "there are no such requests");
        }
        let reached = one.whole("Storage capacity per device")? as f64 / capacity_blocks as f64;
        let capacity = one.need("Storage capacity per device")?;
        if reached < 1.0 {
            drafts.put("range", json!({"start_fraction": 0.0, "end_fraction": reached}), capacity, Origin::Derived);
            drafts.note(format!("of the device's {capacity_blocks} blocks"));
        } else if reached > 1.0 {
            drafts.lost(capacity, format!("the device has only {capacity_blocks} blocks"));
        } else {
            drafts.idle(capacity, "the whole device");
        }
        drafts.idle(one.need("devices")?, "one device is simulated");
        Ok(())
    }
}

/// Returns the mean of the absolute distance.
fn mean_distance(shape: Shape) -> f64 {
    match shape {
        Shape::Normal { mean, deviation } => mean.abs().max(deviation * (2.0 / std::f64::consts::PI).sqrt()),
        other => other.mean(),
    }
}

fn carry_scheduler(route: &Route, drafts: &mut Drafts) -> Result<(), Fault> {
    let depth = route.device.whole("Max queue length")?;
    let passes_on = match route.driver {
        Some(driver) => driver.whole("Use queueing in subsystem")? != 0,
        None => true,
    };
    let at_device = passes_on && depth > 1;
    let queue = match route.driver.filter(|_| !at_device) {
        Some(driver) => driver.block("Scheduler")?,
        None => route.device.block("Scheduler")?,
    };
    let chosen = queue.need("Scheduling policy")?;
    let (name, lost) = policy(queue.whole("Scheduling policy")?).unwrap_or(("fcfs", ""));
    let weight = queue.need("Timeout time/weight")?;
    let scheduler = match name {
        // DiskSim uses a thousandth of the weight per ms of waiting.
        "asptf" => json!({"name": name, "weight": queue.real("Timeout time/weight")? / 1000.0}),
        "vscan" => json!({"name": name, "r": 0.2}),
        _ => json!({ "name": name }),
    };
    drafts.put("scheduler", scheduler, chosen, Origin::Published);
    if name == "asptf" {
        drafts.also(weight);
    } else {
        drafts.idle(weight, "counts only in aged policies");
    }
    if !lost.is_empty() {
        drafts.lost(chosen, lost);
    }
    drafts.remark_unused(queue, 1);
    if let Some(driver) = route.driver {
        drafts.remark_unused(driver, 1);
        drafts.idle(driver.need("Use queueing in subsystem")?, "chooses whose queue counts: see the scheduler");
        if at_device {
            drafts.remark_all(driver.block("Scheduler")?, "the device's own queue counts", false);
        } else {
            drafts.remark_all(route.device.block("Scheduler")?, "the host's queue counts", false);
        }
    }
    Ok(())
}

/// A value without its place, for comparisons.
struct Plain<'a>(&'a super::syntax::Value);

impl std::fmt::Debug for Plain<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        match &self.0.content {
            Content::List(items) => formatter.debug_list().entries(items.iter().map(Plain)).finish(),
            _ => formatter.write_str(&super::block::shown(self.0)),
        }
    }
}
