//! Contract of all runs: counts, statistics recomputed from the log, reproducibility, limits, interruption.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde_json::{json, Value};
use sledsim::devices::mems::Transfer;
use sledsim::request::{Op, Request};
use sledsim::scenario::{self, DeviceSpec, Report, RunOutput};
use sledsim::schedulers::POLICIES;
use sledsim::service::Service;
use sledsim::units::plural;
use sledsim_testing::scenarios::{self, poisson, resolved, run};

type Entry = (Request, Service);

fn document(scheduler: &str, workload: &Value, run: &Value) -> Value {
    json!({"seed": 5, "workload": workload, "system": {"device": "g2", "scheduler": scheduler}, "run": run})
}

/// Mixed reads and writes of several sizes at a load that fills queues.
fn busy() -> Value {
    json!({
        "arrival": {"kind": "poisson", "rate_per_s": 1100.0},
        "size_bytes": {"kind": "exponential", "mean": 6000.0},
        "read_fraction": 0.6,
    })
}

fn closed(outstanding: u32) -> Value {
    json!({"arrival": {"kind": "closed", "outstanding": outstanding, "think_ms": {"kind": "exponential", "mean": 0.2}}})
}

fn entries(output: &RunOutput) -> &[Entry] {
    &output.recorder.log().expect("a log was asked for").entries
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs()) + 1e-12
}

/// Returns the length of the intersection of `from..to` and `window`, ns.
fn overlap_ns(from: u64, to: u64, window: (u64, u64)) -> u64 {
    to.min(window.1).saturating_sub(from.max(window.0))
}

/// Returns the largest number of intervals that contain a common instant of the window. A request that is dispatched
/// when it becomes ready does not wait.
fn most_at_once(waits: &[(u64, u64)], window: (u64, u64)) -> u64 {
    let mut changes: BTreeMap<u64, i64> = BTreeMap::new();
    for &(from, to) in waits.iter().filter(|(from, to)| from < to && *from <= window.1 && *to > window.0) {
        *changes.entry(from.max(window.0)).or_default() += 1;
        *changes.entry(to).or_default() -= 1;
    }
    let mut waiting = 0;
    changes
        .range(..=window.1)
        .map(|(_, change)| {
            waiting += change;
            waiting as u64
        })
        .max()
        .unwrap_or(0)
}

/// Checks queues and utilisation of a run against the log of all its requests, on mechanisms that each have a range of `range_blocks` blocks.
fn check_queue_and_use(output: &RunOutput, all: &[Entry], mechanisms: u32, range_blocks: u64) {
    let report = &output.report;
    let end_ns = (report.run.simulated_s * 1e9).round() as u64;
    let window = (end_ns - (report.run.measured_s * 1e9).round() as u64, end_ns);
    let length_ns = (window.1 - window.0) as f64;
    let overhead_ns = output.recorder.overhead_ns();
    let mut waits: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for (request, service) in all {
        let wait = ((request.arrival + overhead_ns).ns(), service.start.ns());
        waits.entry(request.lbn / range_blocks).or_default().push(wait);
    }
    let waited_ns: u64 = waits.values().flatten().map(|&(from, to)| overlap_ns(from, to, window)).sum();
    assert!(close(report.queue.mean, waited_ns as f64 / length_ns), "{} {waited_ns}", report.queue.mean);
    let longest = waits.values().map(|waits| most_at_once(waits, window)).max();
    assert_eq!(report.queue.max, longest.unwrap_or(0));
    let busy_ns: u64 = all.iter().map(|(_, service)| overlap_ns(service.start.ns(), service.free.ns(), window)).sum();
    assert!(close(report.utilisation.fraction, busy_ns as f64 / length_ns / f64::from(mechanisms)));
}

/// Checks a complete run without a warm-up on one sled without batches.
fn check_complete(output: &RunOutput) {
    check_complete_on(output, 1, u64::MAX);
}

/// Checks a complete run without a warm-up on mechanisms that each have a range of `range_blocks` blocks, without batches.
fn check_complete_on(output: &RunOutput, mechanisms: u32, range_blocks: u64) {
    let (report, log) = (&output.report, entries(output));
    let requests = &report.requests;
    assert_eq!(requests.submitted, requests.completed, "{:?}", report.run);
    assert_eq!((requests.failed, requests.in_flight, requests.warmup), (0, 0, 0));
    assert_eq!((requests.measured, log.len() as u64), (requests.submitted, requests.submitted));
    assert!(report.run.complete && report.run.note.is_none());
    let mut ids: Vec<u64> = log.iter().map(|(request, _)| request.id).collect();
    assert!(log.windows(2).all(|pair| pair[0].1.end <= pair[1].1.end), "completions are not in time order");
    ids.sort_unstable();
    assert!(ids.iter().copied().eq(0..requests.submitted), "each completes once");
    check_times(output, range_blocks);
    check_queue_and_use(output, log, mechanisms, range_blocks);
    check_moments(output);
    check_energy(output, mechanisms);
}

fn check_times(output: &RunOutput, range_blocks: u64) {
    let mut by_id = entries(output).to_vec();
    by_id.sort_by_key(|(request, _)| request.id);
    assert!(by_id.windows(2).all(|pair| pair[0].0.arrival <= pair[1].0.arrival), "arrivals are not in time order");
    let mut by_start = by_id;
    by_start.sort_by_key(|(request, service)| (request.lbn / range_blocks, service.start));
    let is_exclusive = |pair: &[Entry]| {
        let [one, next] = [pair[0].0, pair[1].0].map(|request| request.lbn / range_blocks);
        one != next || pair[0].1.free <= pair[1].1.start
    };
    assert!(by_start.windows(2).all(is_exclusive), "one mechanism serves two at once");
    for (request, service) in &by_start {
        assert!(service.start >= request.arrival + output.recorder.overhead_ns());
        assert_eq!(service.phases.service_ns(), service.end - service.start);
    }
}

fn check_moments(output: &RunOutput) {
    let (report, log) = (&output.report, entries(output));
    let count = log.len() as f64;
    let overhead_ns = output.recorder.overhead_ns();
    let mean = |value: &dyn Fn(&Entry) -> u64| log.iter().map(|entry| value(entry) as f64).sum::<f64>() / count * 1e-6;
    let response = report.response.as_ref().expect("responses");
    assert!(close(response.mean_ms, mean(&|(request, service)| service.end - request.arrival)));
    let wait = report.wait.as_ref().expect("waits");
    assert!(close(wait.mean_ms, mean(&|(request, service)| service.start - request.arrival - overhead_ns)));
    let service = report.service.as_ref().expect("services");
    assert!(close(service.mean_ms, mean(&|(_, service)| service.end - service.start)));
    assert!(close(response.mean_ms, report.overhead.mean_ms + wait.mean_ms + service.mean_ms));
    let before = [
        &report.phases.startup,
        &report.phases.command,
        &report.phases.background,
        &report.phases.seek,
        &report.phases.rotation,
    ];
    let under_way = [&report.phases.turnaround, &report.phases.servo, &report.phases.transfer, &report.phases.bus];
    assert!(close(service.mean_ms, before.iter().chain(&under_way).map(|phase| phase.mean_ms).sum()));
    assert!(report.phases.seek.mean_ms + 1e-12 >= report.phases.seek_x.mean_ms.max(report.phases.seek_y.mean_ms));
    let longest = log.iter().map(|(request, service)| service.end - request.arrival).max().unwrap_or(0);
    assert!(close(response.max_ms, longest as f64 * 1e-6));
    let bytes: f64 = log.iter().map(|(request, _)| f64::from(request.blocks) * 512.0).sum();
    assert!(close(report.bandwidth.mb_per_s * report.run.measured_s, bytes * 1e-6));
    assert!(close(report.throughput.requests_per_s * report.run.measured_s, count));
    let reads = log.iter().filter(|(request, _)| request.op == Op::Read).count() as f64;
    let shares = [&report.reads, &report.writes].map(|by| by.as_ref().map_or(0.0, |operation| operation.share));
    assert!(close(shares[0], reads / count) && close(shares[1], 1.0 - reads / count));
}

/// Time over all states, s.
fn states_s(report: &Report) -> f64 {
    let time = serde_json::to_value(&report.state_time).expect("numbers by state");
    time.as_object().expect("numbers by state").values().map(|seconds| seconds.as_f64().expect("a number")).sum()
}

/// Energy, where the powers are known.
fn check_energy(output: &RunOutput, mechanisms: u32) {
    let (report, log) = (&output.report, entries(output));
    assert!(close(report.run.measured_s * f64::from(mechanisms), states_s(report)));
    let Some(energy) = &report.energy else {
        return;
    };
    let servicing = [energy.seek_j, energy.rotation_j, energy.servo_j, energy.data_j];
    let others = [energy.startup_j, energy.inactive_j, energy.idle_j];
    assert!(servicing.iter().chain(&others).all(|&joules| joules >= 0.0));
    assert!(close(energy.total_j, servicing.iter().chain(&others).sum()));
    assert!(close(energy.servicing_j, servicing.iter().sum()));
    assert!(close(energy.mean_power_w * report.run.measured_s, energy.total_j));
    let requests_j: f64 = log.iter().map(|(_, service)| service.energy.total_j()).sum();
    // A mechanism that waits for electronics and bus is idle during a service.
    let waits_j: f64 = log.iter().map(|(_, service)| service.energy.idle_j).sum();
    let alone_j = energy.total_j - (requests_j - waits_j + energy.idle_j + energy.inactive_j);
    // Between services, only disks work: they read ahead and write behind.
    let works_alone = report.scenario["system"]["device"]["mechanism"] == "disk";
    let least_j = -1e-7 * energy.total_j;
    assert!(alone_j >= least_j && (works_alone || alone_j <= -least_j), "{alone_j} J of {} J", energy.total_j);
}

#[test]
fn every_policy_serves_an_open_and_a_closed_workload() {
    for policy in POLICIES {
        for workload in [busy(), poisson(200.0), closed(1), closed(12)] {
            println!("{} {workload}", policy.name);
            check_complete(&run(&resolved(&document(policy.name, &workload, &json!({"requests": 4000})))));
        }
    }
}

#[test]
fn every_device_serves_every_policy() {
    for name in scenarios::device_names() {
        for policy in POLICIES {
            let mut text = document(policy.name, &busy(), &json!({"requests": 600}));
            let (mut mechanisms, mut range_blocks) = (1, u64::MAX);
            text["system"]["device"] = match scenarios::device_spec(&name) {
                DeviceSpec::Mems(mems) => {
                    // With points, an idle sled holds its position.
                    let idle = if mems.transfer == Transfer::Points { "hold" } else { "sweep" };
                    json!({"name": name, "sleds": 1, "idle": idle, "inactive_after_ms": 3.0})
                }
                DeviceSpec::Disk(disk) if disk.write_cache.is_some() => {
                    mechanisms = disk.actuator_ranges;
                    range_blocks = disk.capacity_blocks.map_or(u64::MAX, |blocks| blocks / u64::from(mechanisms));
                    // A write in the cache is served beside the arm. A drive with a queue chooses some time after a completion.
                    text["workload"]["read_fraction"] = json!(1.0);
                    json!({"name": name, "command_queue": {"depth": 1}})
                }
                _ => json!(name),
            };
            println!("{name} {}", policy.name);
            check_complete_on(&run(&resolved(&text)), mechanisms, range_blocks);
        }
    }
}

#[test]
fn same_scenario_gives_the_same_bytes_on_any_thread() {
    let text = document("sptf", &busy(), &json!({"requests": 3000, "warmup_requests": 100}));
    let bytes = |seed: u64| {
        let mut text = text.clone();
        text["seed"] = seed.into();
        let output = run(&resolved(&text));
        let log: String = entries(&output).iter().map(|entry| format!("{entry:?}\n")).collect();
        (serde_json::to_string(&output.report).unwrap(), log)
    };
    let alone = bytes(5);
    let together: Vec<_> = (0..8).into_par_iter().map(|_| bytes(5)).collect();
    assert!(together.iter().all(|other| *other == alone));
    let other = bytes(6);
    assert_ne!((&other.0, &other.1), (&alone.0, &alone.1));
    let mean = |report: &str| serde_json::from_str::<Value>(report).unwrap()["response"]["mean_ms"].clone();
    assert_ne!(mean(&other.0), mean(&alone.0));
}

#[test]
fn scenario_of_a_report_gives_the_same_report() {
    let first = run(&resolved(&document("asptf", &busy(), &json!({"requests": 2000})))).report;
    let second = run(&resolved(&first.scenario)).report;
    assert_eq!(serde_json::to_string(&first).unwrap(), serde_json::to_string(&second).unwrap());
}

#[test]
fn longer_run_begins_like_a_shorter_one() {
    let of = |requests: u64| run(&resolved(&document("fcfs", &busy(), &json!({"requests": requests}))));
    let (short, long) = (of(1500), of(3000));
    assert_eq!(entries(&short), &entries(&long)[..1500]);
}

#[test]
fn warm_up_omits_requests_only() {
    let everything = run(&resolved(&document("sptf", &busy(), &json!({"requests": 4000}))));
    for warmup in [json!({"warmup_requests": 1000}), json!({"warmup_s": 1.0})] {
        let mut limits = json!({"requests": 4000});
        limits.as_object_mut().unwrap().extend(warmup.as_object().unwrap().clone());
        let output = run(&resolved(&document("sptf", &busy(), &limits)));
        let requests = &output.report.requests;
        assert_eq!((requests.submitted, requests.completed), (4000, 4000));
        assert_eq!(requests.measured, 4000 - requests.warmup);
        let kept: Vec<Entry> =
            entries(&everything).iter().filter(|(request, _)| request.id >= requests.warmup).copied().collect();
        assert_eq!(entries(&output), kept);
        match limits.get("warmup_s") {
            None => assert_eq!(requests.warmup, 1000),
            Some(_) => {
                let early = entries(&everything).iter().filter(|(request, _)| request.arrival.ns() < 1_000_000_000);
                assert_eq!(requests.warmup, early.count() as u64);
            }
        }
        check_queue_and_use(&output, entries(&everything), 1, u64::MAX);
        assert!(close(output.report.run.measured_s, states_s(&output.report)));
    }
}

#[test]
fn command_overhead_shifts_open_arrivals_only() {
    // The overheads of requests overlap, so every scheduler sees the same requests in the same order, only later. The
    // first request also starts the sled in both cases.
    let workload = json!({"arrival": {"kind": "poisson", "rate_per_s": 1400.0}});
    for policy in POLICIES {
        let waits_ns = [0.0, 0.2, 1.0].map(|overhead_ms| {
            let mut document = document(policy.name, &workload, &json!({"requests": 2000}));
            document["system"]["device"] = json!({"name": "g2", "overhead_ms": overhead_ms});
            let output = scenario::run(&resolved(&document), Vec::new(), true, &mut |_| true).expect("it runs");
            let wait_ns = |entry: &Entry| output.recorder.log_facts().wait_ns(&entry.0, &entry.1);
            entries(&output).iter().map(|entry| (entry.0.id, wait_ns(entry))).collect::<Vec<_>>()
        });
        assert!(waits_ns[0] == waits_ns[1] && waits_ns[0] == waits_ns[2], "{}", policy.name);
    }
}

#[test]
fn warm_up_by_time_ends_at_its_time() {
    let constant = json!({"arrival": {"kind": "constant", "rate_per_s": 0.4}});
    let limits = json!({"warmup_s": 3.0, "time_s": 4.9});
    let output = run(&resolved(&document("fcfs", &constant, &limits)));
    // Arrivals at 2.5 s and 5 s: no request arrives in the window, but its energy is measured.
    let report = &output.report;
    assert!(close(report.run.measured_s, 1.9), "{:?}", report.run);
    let total_j = report.energy.as_ref().expect("known powers").total_j;
    assert!(close(total_j, 0.1 * 1.9), "{total_j} J");
    assert_eq!(report.requests.measured, 0);
    let note = report.run.note.as_deref().unwrap_or_default();
    assert!(note.contains("nothing was measured"), "{note}");
}

#[test]
fn large_requests_report_progress_as_often() {
    let workload = json!({"arrival": {"kind": "poisson", "rate_per_s": 0.01},
                          "size_bytes": {"kind": "fixed", "value": 500e6}});
    let scenario = resolved(&document("fcfs", &workload, &json!({"requests": 1000})));
    let output = scenario::run(&scenario, Vec::new(), false, &mut |_| false).expect("it runs");
    assert!(output.report.requests.submitted <= 2, "{:?}", output.report.requests);
}

#[test]
fn time_limit_reports_outstanding_requests() {
    let overload = json!({"arrival": {"kind": "poisson", "rate_per_s": 3000.0}});
    for (scheduler, workload) in [("fcfs", busy()), ("sptf", busy()), ("fcfs", overload)] {
        let everything = run(&resolved(&document(scheduler, &workload, &json!({"requests": 8000}))));
        for time_s in [0.25, 1.0, 1.731_234_567, 2.000_000_001] {
            let output = run(&resolved(&document(scheduler, &workload, &json!({"time_s": time_s}))));
            let end_ns = (time_s * 1e9_f64).round() as u64;
            let all = entries(&everything);
            let done: Vec<Entry> = all.iter().filter(|(_, service)| service.end.ns() <= end_ns).copied().collect();
            assert_eq!(entries(&output), done);
            let requests = &output.report.requests;
            let arrived = all.iter().filter(|(request, _)| request.arrival.ns() <= end_ns).count() as u64;
            assert_eq!((requests.submitted, requests.completed), (arrived, done.len() as u64));
            assert_eq!(requests.submitted, requests.completed + requests.failed + requests.in_flight);
            assert_eq!(output.report.run.end, "time");
            assert!(close(output.report.run.simulated_s, time_s));
            let left = format!("the time limit left {} unfinished", plural(requests.in_flight, "request"));
            assert_eq!(output.report.run.note, (requests.in_flight > 0).then_some(left));
            check_queue_and_use(&output, all, 1, u64::MAX);
        }
    }
}

#[test]
fn interrupted_run_reports_partial_results() {
    let scenario = resolved(&document("sptf", &busy(), &json!({"requests": 50_000})));
    let mut looks = 0;
    let mut last = 0;
    let output = scenario::run(&scenario, Vec::new(), true, &mut |progress| {
        assert!(progress.submitted >= last, "progress goes back");
        last = progress.submitted;
        looks += 1;
        looks < 4
    });
    let output = output.expect("an interruption is no error");
    let (report, requests) = (&output.report, &output.report.requests);
    assert_eq!((report.run.end.as_str(), report.run.complete), ("interrupted", false));
    assert_eq!(report.run.note.as_deref(), Some("interrupted: these are the results until then"));
    assert!(requests.completed > 0 && requests.submitted < 50_000);
    assert_eq!(requests.submitted, requests.completed + requests.failed + requests.in_flight);
    assert_eq!((entries(&output).len() as u64, requests.submitted), (requests.completed, last));
    let everything = run(&scenario);
    assert_eq!(entries(&output), &entries(&everything)[..entries(&output).len()]);
}

#[test]
fn batches_complete_all_requests_in_fewer_passes() {
    let of = |batch_max: u32| {
        let mut text = document("fcfs", &busy(), &json!({"requests": 3000}));
        // Few cylinders, so that requests often share a sled position.
        text["workload"]["range"] = json!({"start_fraction": 0.5, "end_fraction": 0.5005});
        text["workload"]["arrival"] = closed(64)["arrival"].clone();
        text["system"]["batch_max"] = batch_max.into();
        run(&resolved(&text))
    };
    let passes = |output: &RunOutput| {
        let g2 = scenarios::mems_parameters("g2");
        let bits = f64::from(g2.tip_sector_bytes * g2.encoded_bits_per_byte);
        output.report.state_time.data_s / (bits / (g2.bit_rate_kbit_s * 1e3))
    };
    let alone = of(1);
    for batch_max in [2, 4, 16] {
        let output = of(batch_max);
        let requests = &output.report.requests;
        assert_eq!((requests.submitted, requests.completed, requests.in_flight), (3000, 3000, 0));
        let mut ids: Vec<u64> = entries(&output).iter().map(|(request, _)| request.id).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..3000), "each completes once");
        for (_, service) in entries(&output) {
            assert_eq!(service.phases.service_ns(), service.end - service.start);
        }
        assert!(passes(&output) < passes(&alone), "{} of {}", passes(&output), passes(&alone));
    }
}

/// If the warm-up does not end before the run, the measurement window is empty.
#[test]
fn run_within_its_warm_up_measures_nothing() {
    let scenario = resolved(&document("fcfs", &busy(), &json!({"time_s": 1.0, "warmup_requests": 1_000_000})));
    let report = run(&scenario).report;
    assert!(report.requests.completed > 500);
    assert_eq!((report.requests.measured, report.requests.warmup), (0, report.requests.submitted));
    assert!(report.response.is_none() && report.reads.is_none() && report.writes.is_none());
    assert_eq!((report.run.measured_s, report.run.simulated_s), (0.0, 1.0));
    assert_eq!(states_s(&report), 0.0);
    let energy = report.energy.expect("known powers");
    assert_eq!((energy.total_j, energy.mean_power_w, energy.startups), (0.0, 0.0, 0));
    assert_eq!((report.utilisation.fraction, report.queue.mean), (0.0, 0.0));
}

#[test]
fn skipped_records_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let text = "t_ns,device,offset_bytes,bytes,op\n0,0,0,512,R\n1,0,0,0,R\n2,0,x,512,R\n3,0,512,512,W\n";
    std::fs::write(folder.path().join("two-bad.csv"), text).unwrap();
    let with = |skip_bad: u64| {
        let workload = json!({"path": folder.path().join("two-bad.csv"), "skip_bad": skip_bad});
        scenarios::try_run(&resolved(&json!({"workload": workload, "system": {"device": "g2"}})))
    };
    let requests = with(2).unwrap().report.requests;
    assert_eq!((requests.submitted, requests.completed, requests.skipped_records), (2, 2, 2));
    let error = with(1).expect_err("one too many");
    assert!(error.contains("two-bad.csv: line 3") && error.contains("skip_bad = 2"), "{error}");
}
