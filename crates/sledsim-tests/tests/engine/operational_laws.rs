//! Laws that hold in every measurement window, whatever requests are in the system at its ends: flow balance, Little's
//! law and the utilisation law, for the figures of a report. Also the detection of overload.

use rayon::prelude::*;
use serde_json::{json, Value};
use sledsim::engine::random::Stream;
use sledsim::engine::{Next, Workload};
use sledsim::scenario::{self, Keep, Report, RunError, RunOutput, Scenario, Session};
use sledsim::time::{s_to_ns, Time};
use sledsim_testing::scenarios::{resolved, run};
use sledsim_testing::tiers::size;

use crate::session::random_scenarios;

/// A read or write on its way through a system.
struct Passage {
    arrival_ns: u64,
    /// `None` for a request that was in the system when the run ended.
    end_ns: Option<u64>,
    is_served: bool,
    blocks: u64,
}

/// Records the requests of a scenario by driving a session with its workload.
struct Driver {
    session: Session,
    workload: Box<dyn Workload>,
    /// By request number; flushes are not included.
    passages: Vec<Option<Passage>>,
}

impl Driver {
    fn new(scenario: &Scenario) -> Result<Self, RunError> {
        let session = Session::new(scenario, &Keep::default())?;
        let (capacity_blocks, block_bytes) = (session.capacity_blocks(), session.block_bytes());
        let workload = scenario.workload.start(scenario.seed, capacity_blocks, block_bytes).map_err(RunError::Trace)?;
        Ok(Self { session, workload, passages: Vec::new() })
    }

    fn collect(&mut self) {
        while let Some(completion) = self.session.completion() {
            self.workload.completed(&completion);
            if let Some(passage) = &mut self.passages[completion.request.id as usize] {
                passage.end_ns = Some(completion.service.end.ns());
                passage.is_served = completion.is_served();
            }
        }
    }

    /// Time of the next arrival; `None` where it depends on a completion or nothing more arrives.
    fn next_arrival(&mut self, most: u64) -> Result<Option<Time>, RunError> {
        while (self.passages.len() as u64) < most {
            match self.workload.peek().map_err(RunError::Trace)? {
                Next::At(at) => return Ok(Some(at)),
                Next::Busy => {}
                Next::Waiting | Next::Ended => break,
            }
        }
        Ok(None)
    }

    fn submit(&mut self) -> Result<(), RunError> {
        let request = self.workload.take();
        let passage = Passage {
            arrival_ns: request.arrival.ns(),
            end_ns: None,
            is_served: false,
            blocks: u64::from(request.blocks),
        };
        self.passages.push((!request.is_flush()).then_some(passage));
        self.session.submit(request)?;
        self.session.advance(request.arrival, &mut |_| true).map(drop)
    }

    fn drive(mut self, most: u64, until: Time) -> Result<Vec<Passage>, RunError> {
        loop {
            self.collect();
            let arrival = self.next_arrival(most)?.filter(|&at| at <= until);
            let event = self.session.next_event().filter(|&at| at <= until);
            match (arrival, event) {
                (Some(at), event) if event.is_none_or(|event| event > at) => self.submit()?,
                (_, Some(event)) if arrival.is_some() || self.session.under_way() > 0 => {
                    self.session.advance(event, &mut |_| true)?;
                }
                _ => return Ok(self.passages.into_iter().flatten().collect()),
            }
        }
    }
}

fn passages(scenario: &Scenario) -> Result<Vec<Passage>, RunError> {
    let until = scenario.run.time_s.map_or(Time::MAX, |time_s| Time::from_ns(s_to_ns(time_s)));
    Driver::new(scenario)?.drive(scenario.run.requests.unwrap_or(u64::MAX), until)
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
}

/// Start and end of the measurement window, ns.
fn window_ns(report: &Report) -> (u64, u64) {
    let end_ns = s_to_ns(report.run.simulated_s);
    (end_ns - s_to_ns(report.run.measured_s), end_ns)
}

fn check_laws(report: &Report) {
    let (in_system, throughput_per_ms) = (&report.in_system, report.throughput.requests_per_s * 1e-3);
    assert_eq!(in_system.at_start + in_system.arrived, in_system.completed + in_system.failed + in_system.at_end);
    assert!(report.requests.measured <= in_system.completed && report.requests.measured <= in_system.arrived);
    assert!(close(report.throughput.requests_per_s * report.run.measured_s, in_system.completed as f64));
    let Some((time_ms, demand_ms)) = in_system.time_ms.zip(report.utilisation.demand_ms) else {
        assert_eq!(in_system.completed, 0);
        return;
    };
    assert!(close(in_system.mean, throughput_per_ms * time_ms), "Little's law: {in_system:?}");
    assert!(close(report.utilisation.fraction, throughput_per_ms * demand_ms), "utilisation law");
    if let Some(energy) = &report.energy {
        let per_request_mj = energy.per_request_mj.expect("requests were completed");
        assert!(close(per_request_mj * in_system.completed as f64, energy.total_j * 1e3));
    }
    let is_empty_at_both_ends = in_system.at_start + in_system.at_end + in_system.failed == 0;
    if let (true, Some(response)) = (is_empty_at_both_ends, &report.response) {
        assert!(close(time_ms, response.mean_ms), "{time_ms} ms in the system, {} ms of response", response.mean_ms);
    }
}

/// Compares the figures of the window with those recomputed from every request's arrival and completion.
fn check_figures(report: &Report, passages: &[Passage]) {
    let (start_ns, end_ns) = window_ns(report);
    let length_s = (end_ns - start_ns) as f64 * 1e-9;
    let mut in_system_ns = 0;
    let (mut completed, mut failed, mut blocks) = (0, 0, 0);
    for passage in passages {
        let left_ns = passage.end_ns.unwrap_or(end_ns);
        in_system_ns += u128::from(left_ns.saturating_sub(passage.arrival_ns.max(start_ns)));
        // A completion in the instant at which the window opens may be counted or not.
        if passage.end_ns.is_some_and(|end_ns| end_ns > start_ns) {
            completed += u64::from(passage.is_served);
            failed += u64::from(!passage.is_served);
            blocks += if passage.is_served { passage.blocks } else { 0 };
        }
    }
    let at_once = passages.iter().filter(|passage| passage.end_ns == Some(start_ns)).count() as u64;
    let in_system = &report.in_system;
    assert!((completed..=completed + at_once).contains(&in_system.completed), "{completed}: {in_system:?}");
    assert!((failed..=failed + at_once).contains(&in_system.failed), "{failed}: {in_system:?}");
    assert_eq!(in_system.at_end, passages.iter().filter(|passage| passage.end_ns.is_none()).count() as u64);
    if end_ns > start_ns {
        assert!(close(in_system.mean * length_s, in_system_ns as f64 * 1e-9), "{in_system_ns}: {in_system:?}");
        if at_once == 0 {
            let bytes = blocks as f64 * f64::from(report.device.block_bytes);
            assert!(close(report.bandwidth.mb_per_s * length_s, bytes * 1e-6));
        }
    }
}

/// Sets one of the kinds of warm-up and limit, so that many windows begin and end with requests in the system.
fn with_window(scenario: &mut Scenario, number: usize, finished_s: f64) {
    let mut stream = Stream::new(number as u64, "window");
    let limits = &mut scenario.run;
    limits.time_s = stream.chance(0.5).then(|| finished_s * (0.2 + 0.7 * stream.unit()));
    limits.warmup_s = if stream.chance(0.5) { finished_s * 0.3 * stream.unit() } else { 0.0 };
    let requests = limits.requests.unwrap_or(400);
    limits.warmup_requests = if stream.chance(0.5) { stream.below(requests) } else { 0 };
}

fn check((number, mut scenario): (usize, Scenario)) -> Option<Report> {
    let whole = scenario::run(&scenario, Vec::new(), false, &mut |_| true).ok()?;
    check_laws(&whole.report);
    with_window(&mut scenario, number, whole.report.run.simulated_s);
    let report = scenario::run(&scenario, Vec::new(), false, &mut |_| true).ok()?.report;
    check_laws(&report);
    check_figures(&report, &passages(&scenario).expect("the scenario runs"));
    Some(report)
}

#[test]
fn laws_hold_in_every_window_of_random_systems() {
    let count = size(30, 2000);
    let reports: Vec<Report> = random_scenarios(count).into_par_iter().enumerate().filter_map(check).collect();
    assert!(reports.len() > count * 3 / 4, "{} of {count} checked", reports.len());
    let spans = reports.iter().filter(|report| report.in_system.at_start > 0 && report.in_system.at_end > 0).count();
    assert!(spans > count / 20, "{spans} windows have requests in the system at both ends");
}

fn figures(workload: &Value, system: &Value, limits: &Value) -> RunOutput {
    run(&resolved(&json!({"seed": 1, "workload": workload, "system": system, "run": limits})))
}

fn arrivals(rate_per_s: f64) -> Value {
    json!({"arrival": {"kind": "poisson", "rate_per_s": rate_per_s}})
}

fn constant(access_ms: f64) -> Value {
    json!({"device": {"name": "simpledisk-constant", "access_ms": access_ms}})
}

/// A server that is never idle completes a request every 0.88 ms.
#[test]
fn throughput_counts_completions_in_the_window() {
    let report = figures(&arrivals(2000.0), &constant(0.88), &json!({"time_s": 2.0, "warmup_s": 1.0})).report;
    assert!((report.throughput.requests_per_s - 1.0 / 0.88e-3).abs() <= 1.0, "{:?}", report.throughput);
    assert!(close(report.utilisation.fraction, 1.0));
    assert!(close(report.bandwidth.mb_per_s, report.throughput.requests_per_s * 4096e-6));
    // Response times are of those that arrived in the window and were served by its end.
    assert_eq!(report.response.expect("some were").count, report.requests.measured);
    assert!(report.requests.measured < report.in_system.completed / 2);
}

#[test]
fn throughput_and_energy_do_not_depend_on_the_warm_up() {
    let of = |limits: Value| figures(&arrivals(3000.0), &json!({"device": "g2"}), &limits).report;
    let per_request_mj = |report: &Report| report.energy.as_ref().and_then(|energy| energy.per_request_mj);
    let whole = of(json!({"requests": 6000}));
    assert!((whole.throughput.requests_per_s - 1296.0).abs() < 1.0, "{:?}", whole.throughput);
    let (throughput, energy_mj) = (whole.throughput.requests_per_s, per_request_mj(&whole).expect("known powers"));
    for limits in [
        json!({"requests": 6000, "warmup_requests": 600}),
        json!({"requests": 6000, "warmup_requests": 3000}),
        json!({"time_s": 2.0, "warmup_s": 1.0}),
    ] {
        let report = of(limits);
        assert!((report.throughput.requests_per_s / throughput - 1.0).abs() < 0.01, "{:?}", report.throughput);
        assert!((per_request_mj(&report).expect("known powers") / energy_mj - 1.0).abs() < 0.01);
    }
}

/// 64 requests are in the system when the window opens, and each new request waits for 63 others.
#[test]
fn closed_loop_keeps_its_population_after_warm_up() {
    let workload = json!({"arrival": {"kind": "closed", "outstanding": 64}});
    let limits = json!({"requests": 1000, "warmup_requests": 900});
    let report = figures(&workload, &constant(1.0), &limits).report;
    let response_ms = report.response.as_ref().expect("requests were measured").mean_ms;
    assert!(close(report.throughput.requests_per_s * 1e-3 * response_ms, 64.0), "{response_ms} ms");
    assert_eq!((report.in_system.at_start, report.in_system.arrived, report.in_system.completed), (63, 100, 163));
    // While the loop runs, the mean number in the system is 64, too.
    let report = figures(&workload, &constant(1.0), &json!({"time_s": 2.0, "warmup_s": 1.0})).report;
    assert!(close(report.in_system.mean, 64.0), "{:?}", report.in_system);
}

#[test]
fn run_within_the_warm_up_backlog_has_no_response_times() {
    let report = figures(&arrivals(3000.0), &json!({"device": "g2"}), &json!({"time_s": 2.0, "warmup_s": 1.0})).report;
    assert!(report.response.is_none() && report.throughput.requests_per_s > 1000.0);
    let note = report.run.note.expect("a note");
    assert!(note.contains("no response times"), "{note}");
}

/// With FCFS, a system is stable below one request per mean service time (M/G/1).
#[test]
fn overload_is_detected_beyond_the_service_rate() {
    // No bus time: the bus works concurrently, so that requests would complete after the sled is free.
    let device = json!({"device": {"name": "g2", "bus_ms_per_block": 0.0}});
    let alone = json!({"arrival": {"kind": "closed", "outstanding": 1}});
    let service_ms = figures(&alone, &device, &json!({"requests": 2000})).report.service.expect("services").mean_ms;
    for (system, limit_per_s) in [(constant(0.88), 1e3 / 0.88), (device, 1e3 / service_ms)] {
        let overload =
            |load: f64, limits: &Value| figures(&arrivals(load * limit_per_s), &system, limits).report.overload;
        for requests in [100, 320, 1000, 10_000] {
            let limits = json!({"requests": requests});
            assert!(overload(0.9, &limits).is_none(), "{requests} requests");
            assert!(overload(0.5, &limits).is_none(), "{requests} requests");
        }
        for load in [1.1, 3.0] {
            for limits in [
                json!({"requests": 10_000}),
                json!({"requests": 12_000, "warmup_requests": 2000}),
                json!({"time_s": 10.0}),
                json!({"time_s": 10.0, "warmup_s": 1.0}),
            ] {
                let found = overload(load, &limits).unwrap_or_else(|| panic!("load {load}, {limits}"));
                assert!((found.offered_per_s / (load * limit_per_s) - 1.0).abs() < 0.03, "{found:?}");
                assert!((found.served_per_s / limit_per_s - 1.0).abs() < 0.02, "{found:?}");
            }
        }
        assert!(overload(3.0, &json!({"requests": 500})).is_some());
    }
}

#[test]
fn overloaded_times_have_a_reason_instead_of_an_interval() {
    let report = figures(&arrivals(3000.0), &json!({"device": "g2"}), &json!({"requests": 10_000})).report;
    let note = report.overload.expect("overload").note;
    assert!(note.starts_with("cannot keep up: 3,0") && note.contains("/s offered, 1,29"), "{note}");
    let reads = report.reads.expect("reads");
    for times in [report.response, report.wait, reads.response, reads.wait].map(|times| times.expect("times")) {
        assert_eq!((times.ci95_low_ms, times.ci95_high_ms, times.ci95_note), (None, None, Some(note.clone())));
    }
    // Overload does not affect service times.
    assert!(report.service.expect("services").ci95_low_ms.is_some());
}

#[test]
fn bounded_loads_are_not_overload() {
    let closed = json!({"arrival": {"kind": "closed", "outstanding": 1000}});
    for limits in [json!({"requests": 2000}), json!({"time_s": 1.0})] {
        assert!(figures(&closed, &constant(1.0), &limits).report.overload.is_none());
    }
    // A disk that must first spin up and then serves the load.
    let late = json!({"device": "travelstar", "spin_down": "immediate"});
    let report = figures(&arrivals(20.0), &late, &json!({"requests": 2000})).report;
    assert!(report.overload.is_none(), "{:?}", report.overload);
}

#[test]
fn overload_is_detected_in_replays() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("trace.csv");
    let mut stream = Stream::new(1, "trace");
    let (mut at_ns, mut trace) = (0, "t_ns,device,offset_bytes,bytes,op\n".to_owned());
    for _ in 0..5000 {
        at_ns += stream.below(2_000_000);
        trace += &format!("{at_ns},0,{},4096,R\n", stream.below(1 << 20) * 4096);
    }
    std::fs::write(&path, trace).expect("a writable folder");
    let overload = |access_ms: f64, options: Value| {
        let mut workload = json!({"kind": "trace", "path": path, "fit": "wrap"});
        workload.as_object_mut().expect("a table").extend(options.as_object().expect("a table").clone());
        figures(&workload, &constant(access_ms), &json!({})).report.overload
    };
    assert!(overload(0.9, json!({})).is_none());
    let found = overload(3.0, json!({})).expect("overload");
    assert!((found.offered_per_s - 1000.0).abs() < 30.0 && (found.served_per_s - 333.0).abs() < 1.0, "{found:?}");
    // Each request waits for earlier ones, as when the trace was recorded.
    assert!(overload(3.0, json!({"mode": "outstanding", "outstanding": 8})).is_none());
}
