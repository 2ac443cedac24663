//! Drives that merge, workloads with requests to merge, and a record of dispatches.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use sledsim::devices::{
    BatchAccess, Coordinates, Dimensions, EnergyLedger, Location, Mechanism, Plan, Powered, Rotating, Service, Together,
};
use sledsim::engine::component::Measured;
use sledsim::engine::random::Stream;
use sledsim::engine::{run, Completion, ComponentId, Next, Observer, RunLimits, System, Workload};
use sledsim::fault::Fault;
use sledsim::hierarchy::{Drive, MergeSpec};
use sledsim::request::{Op, Request};
use sledsim::schedulers::{build, SchedulerSpec};
use sledsim::time::Time;

/// A list of requests.
pub struct RequestList(pub VecDeque<Request>);

impl Workload for RequestList {
    fn peek(&mut self) -> Result<Next, Fault> {
        Ok(self.0.front().map_or(Next::Ended, |request| Next::At(request.arrival)))
    }

    fn take(&mut self) -> Request {
        self.0.pop_front().expect("peek answered At")
    }

    fn completed(&mut self, _completion: &Completion) {}
}

/// Records services.
#[derive(Default)]
pub struct ServiceLog(pub Vec<(Request, Service)>);

impl Observer for ServiceLog {
    fn served(&mut self, request: &Request, service: &Service) {
        self.0.push((*request, *service));
    }
}

/// A dispatch of a drive to its device.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// Time.
    pub now: Time,
    /// Requests in their order.
    pub requests: Vec<Request>,
    /// True if the requests were merged.
    pub merged: bool,
    /// Plan of the merge, if there was a choice.
    pub plan: Option<Plan>,
}

/// Shared record of dispatches, in order.
pub type Dispatches = Arc<Mutex<Vec<Dispatch>>>;

/// A device that records its services.
#[derive(Clone)]
pub struct RecordingDevice {
    /// The actual device.
    pub inner: Box<dyn Mechanism>,
    /// Its record.
    pub dispatches: Dispatches,
}

impl RecordingDevice {
    fn note(&self, now: Time, requests: &[Request], merged: bool, plan: Option<&Plan>) {
        let dispatch = Dispatch { now, requests: requests.to_vec(), merged, plan: plan.cloned() };
        self.dispatches.lock().expect("one thread").push(dispatch);
    }
}

impl Mechanism for RecordingDevice {
    fn dimensions(&self) -> Dimensions {
        self.inner.dimensions()
    }
    fn locate(&self, request: &Request) -> Location {
        self.inner.locate(request)
    }
    fn coordinates_m(&self, location: Location) -> Coordinates {
        self.inner.coordinates_m(location)
    }
    fn position_m(&self, now: Time) -> Coordinates {
        self.inner.position_m(now)
    }
    fn cylinder(&self, now: Time) -> u32 {
        self.inner.cylinder(now)
    }
    fn cylinder_bound_ns(&self, now: Time, cylinder: u32) -> u64 {
        self.inner.cylinder_bound_ns(now, cylinder)
    }
    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        self.inner.positioning_ns(now, location)
    }
    fn serve(&mut self, now: Time, request: &Request) -> Service {
        self.note(now, &[*request], false, None);
        self.inner.serve(now, request)
    }
    fn ledger(&self, now: Time) -> EnergyLedger {
        self.inner.ledger(now)
    }
    fn serve_together(&mut self, now: Time, requests: &[Request], how: Together<'_>, out: &mut Vec<Service>) {
        match how {
            Together::Batch => self.note(now, requests, false, None),
            Together::Merged(plan) => self.note(now, requests, true, plan),
        }
        self.inner.serve_together(now, requests, how, out);
    }
    fn rotating(&self) -> Option<&dyn Rotating> {
        self.inner.rotating()
    }
    fn batch_access(&self) -> Option<&dyn BatchAccess> {
        self.inner.batch_access()
    }
    fn powered(&self) -> Option<&dyn Powered> {
        self.inner.powered()
    }
    fn powered_mut(&mut self) -> Option<&mut dyn Powered> {
        self.inner.powered_mut()
    }
}

/// How a drive groups requests.
#[derive(Clone, Copy, Debug)]
pub enum Grouping {
    /// No groups.
    Not,
    /// Batches of at most this many requests.
    Batch(usize),
    /// Merging with these settings.
    Merge(MergeSpec),
}

/// The outcome of a run.
pub struct Ran {
    /// Requests in the order of completion.
    pub heard: Vec<(Request, Service)>,
    /// Dispatches to the device.
    pub dispatches: Vec<Dispatch>,
    /// Measurements of the drive.
    pub measured: Measured,
    /// End of the run.
    pub finished: Time,
}

/// Runs `requests` on a drive.
pub fn run_drive(
    device: Box<dyn Mechanism>,
    scheduler: SchedulerSpec,
    grouping: Grouping,
    requests: &[Request],
) -> Ran {
    let dispatches = Dispatches::default();
    let device: Box<dyn Mechanism> = Box::new(RecordingDevice { inner: device, dispatches: dispatches.clone() });
    let scheduler = build(&scheduler, device.as_ref());
    let drive = match grouping {
        Grouping::Not => Drive::new(device, scheduler, 1),
        Grouping::Batch(most) => Drive::new(device, scheduler, most),
        Grouping::Merge(spec) => Drive::new(device, scheduler, 1).merging(spec),
    };
    let mut system = System::default();
    system.add(Box::new(drive), &[]);
    let mut heard = ServiceLog::default();
    let mut workload = RequestList(requests.iter().copied().collect());
    let outcome = run(&mut system, &mut workload, &RunLimits::default(), &mut heard, &mut |_| true);
    let finished = outcome.expect("it runs").finished;
    let measured = system.component(ComponentId(0)).measured(finished);
    let dispatches = dispatches.lock().expect("one thread").clone();
    Ran { heard: heard.0, dispatches, measured, finished }
}

/// Random settings of merging.
pub fn any_merge() -> impl Strategy<Value = MergeSpec> {
    (prop_oneof![2_u32..5, Just(16), Just(1000)], any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(requests, anywhere, writes, rows, mixed)| MergeSpec { requests, anywhere, writes, rows, mixed })
}

/// A random policy of the registry.
pub fn any_policy() -> impl Strategy<Value = SchedulerSpec> {
    (0..sledsim::schedulers::POLICIES.len()).prop_map(|index| sledsim::schedulers::POLICIES[index].default)
}

/// Parameters of random requests.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Seed of the random stream.
    pub seed: u64,
    /// Number of requests.
    pub count: u64,
    /// Mean time between arrivals, ns; 0 for all at once.
    pub gap_ns: u64,
    /// Number of sequential streams, chosen at random.
    pub streams: u64,
    /// Shares of requests that continue a stream, begin near the last one, or lie at its sled position.
    pub shares: [f64; 3],
    /// Share of reads.
    pub read_fraction: f64,
    /// Maximum request size, blocks.
    pub most_blocks: u64,
    /// Number of blocks that requests access.
    pub area_blocks: u64,
    /// Share of requests with padding.
    pub spare_fraction: f64,
}

/// Random parameters of requests, all at time 0 or spread over time.
pub fn any_mix() -> impl Strategy<Value = Mix> {
    let area = prop_oneof![Just(u64::MAX), Just(100_000_u64), Just(3_000), Just(300)];
    let gap = prop_oneof![2 => Just(0_u64), 1 => Just(200_000), 1 => Just(600_000), 1 => Just(1_500_000)];
    let reads = prop_oneof![Just(1.0), Just(0.7), Just(0.5), Just(0.0)];
    let sizes = prop_oneof![Just(1_u64), Just(8), Just(16), Just(60), Just(900)];
    let spares = prop_oneof![2 => Just(0.0), 1 => Just(0.5)];
    (any::<u64>(), 2_u64..60, gap, 1_u64..5, (0.0..1.0, 0.0..0.5, 0.0..0.7), reads, sizes, (area, spares)).prop_map(
        |(seed, count, gap_ns, streams, (on, near, at), read_fraction, most_blocks, (area_blocks, spare_fraction))| {
            Mix {
                seed,
                count,
                gap_ns,
                streams,
                shares: [on, near, at],
                read_fraction,
                most_blocks,
                area_blocks,
                spare_fraction,
            }
        },
    )
}

/// Returns random requests for a device.
pub fn requests(mix: &Mix, device: &dyn Mechanism) -> Vec<Request> {
    let mut random = Stream::new(mix.seed, "merging");
    let area = mix.area_blocks.min(device.dimensions().capacity_blocks);
    let base = random.below(device.dimensions().capacity_blocks - area + 1);
    let mut streams: Vec<u64> = (0..mix.streams).map(|_| base + random.below(area)).collect();
    let mut arrival = Time::ZERO;
    let request = |id| {
        if mix.gap_ns > 0 {
            arrival += random.below(2 * mix.gap_ns);
        }
        let stream = random.below(mix.streams) as usize;
        let blocks = if random.chance(0.6) { mix.most_blocks.div_ceil(2) } else { 1 + random.below(mix.most_blocks) };
        let blocks = blocks.min(area);
        let last = streams[stream];
        let lbn = if random.chance(mix.shares[0]) {
            last
        } else if random.chance(mix.shares[1]) {
            (last + random.below(20)).saturating_sub(random.below(20))
        } else if random.chance(mix.shares[2]) {
            let here = Request { lbn: last.min(device.dimensions().capacity_blocks - 1), blocks: 1, ..blank(id) };
            let mut ranges = Vec::new();
            if let Some(planner) = device.batch_access() {
                planner.for_each_companion(&here, &mut |range| ranges.push(range));
            }
            match ranges.get(random.below(ranges.len().max(1) as u64) as usize) {
                Some(range) => range.start + random.below(range.end - range.start),
                None => last,
            }
        } else {
            base + random.below(area)
        };
        let lbn = lbn.min(device.dimensions().capacity_blocks - blocks);
        streams[stream] = lbn + blocks;
        let op = if random.chance(mix.read_fraction) { Op::Read } else { Op::Write };
        let request = Request { arrival, lbn, blocks: blocks as u32, op, ..blank(id) };
        if !random.chance(mix.spare_fraction) {
            return request;
        }
        let bytes = blocks * u64::from(device.dimensions().block_bytes);
        let first = random.below(bytes);
        request.with_needed_bytes(first, 1 + random.below(bytes - first), device.dimensions().block_bytes)
    };
    (0..mix.count).map(request).collect()
}

/// Returns a read of block 0.
pub fn blank(id: u64) -> Request {
    Request { id, ..Request::read(0, 1) }
}
