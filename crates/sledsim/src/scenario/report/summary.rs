//! The report of a run. The schema of results comes from these definitions and their descriptions.

use schemars::JsonSchema;
use serde::Serialize;

use super::components::ComponentReport;
use super::energy::{Energy, EnergyFacts, StateTime};
use super::power_cuts::PowerCutReport;
use super::precision::{ControlledReport, PrecisionReport, WarmupReport};
use crate::engine::component::Measured;
use crate::engine::{EndReason, Outcome, Overload, Replayed, Traffic};
use crate::fault::Path;
use crate::limits::{BLOCKS_OF_A_REQUEST, PARTS_OF_A_REQUEST};
use crate::metrics::recorder::{Durations, PhaseSummary, Quantity, Recorded, Recorder, Selection};
use crate::metrics::{Measure, Summary};
use crate::scenario::assemble::Assembly;
use crate::scenario::specs::scenario::Scenario;
use crate::service::each_phase;
use crate::time::ns_to_s;
use crate::units::{ns_to_ms, plural, shown_rate, BYTES_PER_MB};
use crate::workloads::WorkloadSpec;

/// Bins of a reported histogram in each octave.
const BINS_PER_OCTAVE: u32 = 4;

/// Result of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Report {
    /// The program.
    pub sledsim: Program,
    /// Heading of the scenario.
    pub title: Option<String>,
    /// Name of the stand-in that generated the requests. A stand-in is matched to published statistics of a workload
    /// whose trace is not public; its results are not those of the original workload. None for other workloads.
    pub stand_in: Option<String>,
    /// The source of replayed requests; absent for other workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayReport>,
    /// The end and the length of the run.
    pub run: RunReport,
    /// The warm-up that was detected; absent if it was fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<WarmupReport>,
    /// The precision reached; absent for a run of a fixed length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<PrecisionReport>,
    /// Numbers of requests.
    pub requests: Requests,
    /// Offered and served rates of a system that cannot keep up with open arrivals. None if it keeps up, if arrivals
    /// depend on completions, and in a session.
    pub overload: Option<OverloadReport>,
    /// Time from arrival to completion: overhead + wait + service. This and all times below are of the requests that
    /// arrived in the measurement window and were served by its end (`requests.measured`); none without such requests.
    pub response: Option<Summary>,
    /// The mean response with control variates; absent unless Poisson arrivals at a single drive are measured for 10,000 requests or
    /// more, in a run without a time limit and power cuts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controlled_response: Option<ControlledReport>,
    /// Time from the end of command processing to dispatch.
    pub wait: Option<Summary>,
    /// Time from dispatch to completion.
    pub service: Option<Summary>,
    /// Histogram of reads and writes, in bins of a quarter of a doubling.
    pub histogram: Histograms,
    /// The same for reads; none without reads.
    pub reads: Option<ByOperation>,
    /// The same for writes; none without writes.
    pub writes: Option<ByOperation>,
    /// Flushes, which are not included in the measured requests; absent without flushes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flushes: Option<Flushes>,
    /// Recorded response times of the same requests; absent if the trace has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedReport>,
    /// Command processing, before a request may be scheduled; requests overlap in it.
    pub overhead: Overhead,
    /// The phases of the service.
    #[serde(flatten)]
    pub phases: PhasesReport,
    /// Requests in the system during the measurement window.
    pub in_system: InSystem,
    /// Requests completed per second of the measurement window, regardless of their arrival.
    pub throughput: Throughput,
    /// Data of these requests per second of the measurement window.
    pub bandwidth: Bandwidth,
    /// Busy share of the measurement window, averaged over mechanisms.
    pub utilisation: Utilisation,
    /// Requests that wait for dispatch.
    pub queue: Queue,
    /// Energy over the measurement window; none if the powers of a device are unknown.
    pub energy: Option<Energy>,
    /// Time by state over the measurement window, summed over mechanisms.
    pub state_time: StateTime,
    /// The device, or the whole system if it has several.
    pub device: DeviceReport,
    /// Name of the scheduler; `several` if drives have different ones.
    pub scheduler: String,
    /// The work of each component, parents first; absent for a single drive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ComponentReport>,
    /// The effects of each power cut; absent without cuts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub power_cuts: Vec<PowerCutReport>,
    /// Citation keys of the sources of the devices' values.
    pub citations: Vec<String>,
    /// The complete scenario; running it gives the same result.
    pub scenario: serde_json::Value,
}

/// The source of replayed requests.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReplayReport {
    /// Name of the trace's format.
    pub format: String,
    /// The evidence for the format: the number of first lines that fit it, or that it was given.
    pub detected_by: String,
    /// The units of times and addresses in the trace: `times in ms, addresses in sectors of 512 bytes`; `null` if they
    /// are fixed by the format.
    pub units: Option<String>,
    /// The replay mode in use: `open`, `closed` or `outstanding`.
    pub mode: String,
    /// Number of resets of zones that were left out, because the system has no zones at its root; absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resets_left_out: Option<u64>,
}

impl From<Replayed> for ReplayReport {
    fn from(Replayed { format, detected_by, units, mode, resets_left_out }: Replayed) -> Self {
        let resets_left_out = Some(resets_left_out).filter(|resets| *resets > 0);
        Self { format: format.to_owned(), detected_by, units, mode: mode.to_owned(), resets_left_out }
    }
}

/// The program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Program {
    /// Its version.
    pub version: String,
}

/// The end and the length of the run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunReport {
    /// The reason for its end: `workload-ended`, `requests`, `time`, `precision` if the results are precise enough, `overload` if
    /// they can't be because the system cannot keep up with its load, `interrupted`, or `failed` if a custom policy failed.
    pub end: String,
    /// True if the run was completed; false if it was interrupted or failed.
    pub complete: bool,
    /// Reason for a difference between submitted and completed requests, or a note that the run was interrupted.
    pub note: Option<String>,
    /// Simulated time, s.
    pub simulated_s: f64,
    /// Length of the measurement window, from the end of the warm-up to the end of the run, s.
    pub measured_s: f64,
}

/// Numbers of requests.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Requests {
    /// Submitted, including the warm-up.
    pub submitted: u64,
    /// Completed, including the warm-up.
    pub completed: u64,
    /// Failed: rejected by the system, of lost or unreadable data, or outstanding when power failed.
    pub failed: u64,
    /// Failed requests of valid addresses: their data is lost or can't be read.
    pub lost: u64,
    /// Submitted, but neither completed nor failed at the end of the run.
    pub in_flight: u64,
    /// Submitted during the warm-up.
    pub warmup: u64,
    /// Included in response, wait and service times: reads and writes that arrived in the measurement window and were
    /// served by its end. Flushes are counted in `flushes`.
    pub measured: u64,
    /// Bad trace records that were skipped.
    pub skipped_records: u64,
    /// Dispatched together with others during the measurement window, merged or in batches. On a device of several
    /// sleds, each part of a request counts.
    pub merged: u64,
    /// Number of accesses that served the requests counted in `merged`.
    pub merged_accesses: u64,
}

/// Overload: open arrivals exceed the service rate. The number of requests in the system grows during the run, so
/// response and wait times depend on its length and have no confidence interval.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OverloadReport {
    /// The rates in words: `cannot keep up: 5,000/s offered, 2,761/s served`.
    pub note: String,
    /// Requests that arrived per second.
    pub offered_per_s: f64,
    /// Requests completed per second: the throughput.
    pub served_per_s: f64,
}

/// Reads and writes in the system, from arrival to completion, during the measurement window:
/// `at_start` + `arrived` = `completed` + `failed` + `at_end`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct InSystem {
    /// In the system at the start of the window.
    pub at_start: u64,
    /// Arrived in the window.
    pub arrived: u64,
    /// Served in the window, regardless of their arrival: counted in `throughput`, `bandwidth` and
    /// `energy.per_request_mj`.
    pub completed: u64,
    /// Failed in the window.
    pub failed: u64,
    /// In the system at the end of the window.
    pub at_end: u64,
    /// Mean number of requests in the system.
    pub mean: f64,
    /// Time spent in the system in the window per request completed in it, ms. By Little's law `mean` is this times
    /// `throughput.requests_per_s` / 1000. It equals the mean response if no request fails and the system is empty at
    /// both ends of the window. None without completions.
    pub time_ms: Option<f64>,
}

/// Distributions of times.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Histograms {
    /// Of `response`.
    pub response: HistogramReport,
    /// Of `wait`.
    pub wait: HistogramReport,
    /// Of `service`.
    pub service: HistogramReport,
}

/// A distribution.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HistogramReport {
    /// Edges of the bins, ms: one more than the number of bins.
    pub edges_ms: Vec<f64>,
    /// Number of requests in each bin.
    pub counts: Vec<u64>,
}

/// Durations of reads or of writes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ByOperation {
    /// Share of the measured requests.
    pub share: f64,
    /// Time from arrival to completion.
    pub response: Option<Summary>,
    /// Time from the end of command processing to dispatch.
    pub wait: Option<Summary>,
    /// Time from dispatch to completion.
    pub service: Option<Summary>,
}

/// Flushes in the measurement window: requests without blocks that complete when all earlier writes are durable.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Flushes {
    /// Time from arrival to completion.
    pub response: Summary,
}

/// Response times recorded in a trace, for the requests that this run measured.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RecordedReport {
    /// Over reads and writes.
    pub response: Option<Summary>,
    /// Of reads.
    pub reads: Option<Summary>,
    /// Of writes.
    pub writes: Option<Summary>,
    /// Of flushes.
    pub flushes: Option<Summary>,
}

/// Command processing.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Overhead {
    /// Mean, ms.
    pub mean_ms: f64,
}

/// A phase of the service of a request. Means are over the requests of `requests.measured`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Phase {
    /// Mean, ms.
    pub mean_ms: f64,
    /// Standard deviation, ms.
    pub std_ms: f64,
    /// Largest, ms.
    pub max_ms: f64,
}

macro_rules! report_phases {
    ($($(#[$what:meta])+ $name:ident $field:ident $label:literal $within:literal [$($mechanism:ident $($other:literal)?)+];)+) => {
        /// The phases of the service of requests.
        #[derive(Clone, Debug, Serialize, JsonSchema)]
        pub struct PhasesReport {
            $($(#[$what])+ pub $name: Phase,)+
        }

        impl PhasesReport {
            fn of(recorder: &Recorder) -> Self {
                let [$($name),+] = recorder.phases().map(Phase::of);
                Self { $($name),+ }
            }
        }
    };
}
each_phase!(report_phases);

/// Rate of requests.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Throughput {
    /// Requests per second.
    pub requests_per_s: f64,
}

/// Rate of data.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Bandwidth {
    /// Decimal megabytes per second.
    pub mb_per_s: f64,
}

/// Use of the mechanisms.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Utilisation {
    /// Fraction of time.
    pub fraction: f64,
    /// Service demand: busy time of mechanisms in the window per request completed in it, averaged over mechanisms, ms.
    /// By the utilisation law `fraction` is this times `throughput.requests_per_s` / 1000. None without completions.
    pub demand_ms: Option<f64>,
}

/// Waiting requests.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Queue {
    /// Mean over time, summed over mechanisms.
    pub mean: f64,
    /// Maximum at one mechanism.
    pub max: u64,
}

/// The device of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DeviceReport {
    /// Its name in the catalogue or the path of its file; for other systems their name or a description of their
    /// components.
    pub name: String,
    /// Number of blocks.
    pub capacity_blocks: u64,
    /// Size of a block, bytes.
    pub block_bytes: u32,
    /// Capacity in decimal gigabytes.
    pub capacity_gb: f64,
}

/// Returns the schema of results, with a description of every key.
#[must_use]
pub fn report_schema() -> serde_json::Value {
    serde_json::to_value(schemars::schema_for!(Report)).unwrap_or_default()
}

impl Report {
    /// Returns the report of a run.
    pub(in crate::scenario) fn new(
        scenario: &Scenario,
        assembly: &Assembly,
        outcome: &Outcome,
        recorder: &Recorder,
        skipped_records: u64,
        citations: Vec<String>,
    ) -> Self {
        let mut measured = Measured::default();
        for id in assembly.components.iter().flat_map(|component| component.ids.iter().copied()) {
            measured.add(&assembly.system.component(id).measured(outcome.finished));
        }
        let window_s = ns_to_s(outcome.finished - outcome.measured_from);
        let over_window = |amount: f64| if window_s > 0.0 { amount / window_s } else { 0.0 };
        let system = &scenario.system;
        let energy_facts = EnergyFacts {
            activities: system.common_activities(),
            window_s,
            requests: outcome.traffic.completed,
            peak_power_w: assembly.system.peak_power_w().unwrap_or(0.0),
        };
        let (traffic, block_bytes) = (&outcome.traffic, f64::from(assembly.block_bytes));
        let busy_s = ns_to_s(measured.busy_ns) / f64::from(measured.mechanisms.max(1));
        let mut report = Self {
            sledsim: Program { version: env!("CARGO_PKG_VERSION").to_owned() },
            title: scenario.title.clone(),
            stand_in: scenario.workload.stand_in().map(str::to_owned),
            replay: None,
            run: RunReport::new(scenario, outcome, recorder.count(), window_s),
            warmup: None,
            precision: None,
            overload: None,
            requests: Requests::new(outcome, recorder.count(), skipped_records, &measured),
            response: recorder.summary(Quantity::Response),
            controlled_response: None,
            wait: recorder.summary(Quantity::Wait),
            service: recorder.summary(Quantity::Service),
            histogram: Histograms::of(recorder),
            reads: ByOperation::of(&recorder.reads(), recorder.count()),
            writes: ByOperation::of(&recorder.writes(), recorder.count()),
            flushes: recorder.flushes().summary().map(|response| Flushes { response }),
            recorded: RecordedReport::of(recorder.recorded()),
            overhead: Overhead { mean_ms: ns_to_ms(recorder.overhead_ns() as f64) },
            phases: PhasesReport::of(recorder),
            in_system: InSystem::of(traffic, over_window(traffic.in_system_ns as f64 * 1e-9)),
            throughput: Throughput { requests_per_s: over_window(traffic.completed as f64) },
            bandwidth: Bandwidth {
                mb_per_s: over_window(traffic.completed_blocks as f64 * block_bytes / BYTES_PER_MB),
            },
            utilisation: Utilisation { fraction: over_window(busy_s), demand_ms: per_completion_ms(busy_s, traffic) },
            queue: Queue { mean: over_window(measured.queue_ns as f64 * 1e-9), max: measured.queue_max },
            energy: system.has_powers().then(|| Energy::new(&measured.ledger, &energy_facts)),
            state_time: StateTime::new(&measured.ledger),
            device: DeviceReport::of(&system.title(), assembly),
            scheduler: system.scheduler().to_owned(),
            components: ComponentReport::all(assembly, outcome.finished, window_s),
            power_cuts: Vec::new(),
            citations,
            scenario: serde_json::to_value(scenario).unwrap_or_default(),
        };
        if let Some(overload) = outcome.overload {
            report.set_overload(overload);
        }
        report
    }

    /// Reports overload: response and wait times lose their confidence intervals.
    fn set_overload(&mut self, overload: Overload) {
        let overload = OverloadReport::of(overload);
        let by_operation = self.reads.iter_mut().chain(&mut self.writes);
        let times = by_operation.flat_map(|times| [&mut times.response, &mut times.wait]);
        let times = times.chain([&mut self.response, &mut self.wait]).flatten();
        times.for_each(|times| times.drop_interval(&overload.note));
        self.overload = Some(overload);
    }
}

impl OverloadReport {
    fn of(Overload { offered_per_s, served_per_s }: Overload) -> Self {
        let [offered, served] = [offered_per_s, served_per_s].map(shown_rate);
        Self { note: format!("cannot keep up: {offered} offered, {served} served"), offered_per_s, served_per_s }
    }
}

impl InSystem {
    fn of(traffic: &Traffic, mean: f64) -> Self {
        let Traffic { at_start, arrived, completed, failed, at_end, in_system_ns, .. } = *traffic;
        let time_ms = per_completion_ms(in_system_ns as f64 * 1e-9, traffic);
        Self { at_start, arrived, completed, failed, at_end, mean, time_ms }
    }
}

/// Converts seconds of the window to milliseconds per request completed in it.
fn per_completion_ms(seconds: f64, traffic: &Traffic) -> Option<f64> {
    (traffic.completed > 0).then(|| seconds * 1e3 / traffic.completed as f64)
}

impl RecordedReport {
    fn of(recorded: &Recorded) -> Option<Self> {
        let Recorded { all, reads, writes, flushes } = recorded;
        let [response, reads, writes, flushes] = [all, reads, writes, flushes].map(Measure::summary);
        (response.is_some() || flushes.is_some()).then_some(Self { response, reads, writes, flushes })
    }
}

impl Requests {
    fn new(outcome: &Outcome, recorded: u64, skipped_records: u64, measured: &Measured) -> Self {
        Self {
            submitted: outcome.submitted,
            completed: outcome.completed,
            failed: outcome.failed,
            lost: outcome.lost,
            in_flight: outcome.submitted - outcome.completed - outcome.failed,
            warmup: outcome.warmup,
            measured: recorded,
            skipped_records,
            merged: measured.together_requests,
            merged_accesses: measured.together_accesses,
        }
    }
}

impl DeviceReport {
    fn of(name: &str, assembly: &Assembly) -> Self {
        Self {
            name: name.to_owned(),
            capacity_blocks: assembly.capacity_blocks,
            block_bytes: assembly.block_bytes,
            capacity_gb: assembly.capacity_blocks as f64 * f64::from(assembly.block_bytes) / 1e9,
        }
    }
}

/// Returns the number of failed requests for each cause.
fn failures(scenario: &Scenario, outcome: &Outcome) -> Vec<String> {
    let Outcome { failed, lost, unreadable, cut, out_of_range, oversized, .. } = *outcome;
    let (mut has_volumes, mut has_zones) = (false, false);
    scenario.system.visit(&Path::default(), &mut |system, _| {
        has_volumes |= system.kind() == "volumes";
        has_zones |= system.kind() == "zoned";
    });
    let refused = match (has_volumes, has_zones) {
        (true, false) => "outside all volumes",
        (false, _) => "writes not at the write pointer of a zone, or resets of other than whole sequential zones",
        (true, true) => {
            "outside all volumes, writes not at the write pointer of a zone, or resets of other than whole sequential zones"
        }
    };
    let [blocks, parts] = [BLOCKS_OF_A_REQUEST.most, PARTS_OF_A_REQUEST.most];
    let large = format!("more than {blocks} blocks, or cut into more than {parts} parts");
    let causes = [
        (out_of_range, "beyond the device, or without a block"),
        (oversized, &large),
        (failed - lost - cut - out_of_range - oversized, refused),
        (unreadable, "blocks can't be read"),
        (lost - unreadable, "on failed devices"),
        (cut, "under way when power was cut"),
    ];
    let found = causes.into_iter().filter(|(count, _)| *count > 0);
    found.map(|(count, cause)| format!("{} failed: {cause}", plural(count, "request"))).collect()
}

impl RunReport {
    /// Marks the run as interrupted.
    pub(in crate::scenario) fn interrupt(&mut self) {
        (self.end, self.complete) = ("interrupted".to_owned(), false);
        self.note.get_or_insert_with(|| "interrupted: these are the results until then".to_owned());
    }

    fn new(scenario: &Scenario, outcome: &Outcome, measured: u64, measured_s: f64) -> Self {
        let is_trace = matches!(scenario.workload, WorkloadSpec::Trace(_));
        let in_flight = outcome.submitted - outcome.completed - outcome.failed;
        let mut notes = Vec::new();
        if outcome.end == EndReason::Interrupted {
            notes.push("interrupted: these are the results until then".to_owned());
        }
        if outcome.end == EndReason::Failed {
            notes.push("a custom policy failed: these are the results until then".to_owned());
        }
        if outcome.end == EndReason::Time && in_flight > 0 {
            notes.push(format!("the time limit left {} unfinished", plural(in_flight, "request")));
        }
        notes.extend(failures(scenario, outcome));
        let is_driven = matches!(scenario.workload, WorkloadSpec::Session(_));
        if outcome.end == EndReason::WorkloadEnded && !is_trace && !is_driven {
            notes.push("the next arrival lies beyond the clock, which ends after 292 years".to_owned());
        }
        if !scenario.missing.is_empty() {
            notes.push(format!(
                "not carried over in the import, though it decides results: {}",
                scenario.missing.join("; ")
            ));
        }
        if measured == 0 && outcome.warmup > 0 {
            let Traffic { arrived, completed, .. } = outcome.traffic;
            notes.push(if arrived + completed == 0 {
                "nothing was measured: every request fell into the warm-up".to_owned()
            } else {
                "no response times: no request that arrived after the warm-up was served by the end of the run"
                    .to_owned()
            });
        }
        let end = match outcome.end {
            EndReason::WorkloadEnded => "workload-ended",
            EndReason::Requests => "requests",
            EndReason::Time => "time",
            EndReason::Interrupted => "interrupted",
            EndReason::Failed => "failed",
        };
        Self {
            end: end.to_owned(),
            complete: !matches!(outcome.end, EndReason::Interrupted | EndReason::Failed),
            note: (!notes.is_empty()).then(|| notes.join("; ")),
            simulated_s: outcome.finished.seconds(),
            measured_s,
        }
    }
}

impl Histograms {
    fn of(recorder: &Recorder) -> Self {
        let of = |quantity| HistogramReport::of(recorder, quantity);
        Self { response: of(Quantity::Response), wait: of(Quantity::Wait), service: of(Quantity::Service) }
    }
}

impl HistogramReport {
    fn of(recorder: &Recorder, quantity: Quantity) -> Self {
        let bins = recorder.histogram(quantity, Selection::All).bins(BINS_PER_OCTAVE);
        Self { edges_ms: bins.edges_ns.iter().map(|&ns| ns_to_ms(ns as f64)).collect(), counts: bins.counts }
    }
}

impl ByOperation {
    fn of(durations: &Durations, count: u64) -> Option<Self> {
        let response = durations.response.summary()?;
        Some(Self {
            share: response.count as f64 / count as f64,
            response: Some(response),
            wait: durations.wait.summary(),
            service: durations.service.summary(),
        })
    }
}

impl Phase {
    fn of(summary: PhaseSummary) -> Self {
        Self { mean_ms: ns_to_ms(summary.mean_ns), std_ms: ns_to_ms(summary.std_ns), max_ms: ns_to_ms(summary.max_ns) }
    }
}
