//! Anticipatory scheduling: the waits, data integrity, and the gain in throughput.

use proptest::prelude::*;
use serde_json::{json, Value};
use sledsim::devices::Mechanism;
use sledsim::engine::{run, RunLimits, System};
use sledsim::hierarchy::{AnticipationSpec, Drive};
use sledsim::request::{Op, Request};
use sledsim::scenario;
use sledsim::schedulers::{build, fcfs, SchedulerSpec};
use sledsim::service::Service;
use sledsim::time::Time;
use sledsim_testing::merging::{
    any_merge, any_mix, any_policy, blank, requests, Dispatches, RecordingDevice, RequestList, ServiceLog,
};
use sledsim_testing::scenarios::{self, resolved};
use sledsim_testing::tiers::cases;

fn device(name: &str) -> Box<dyn Mechanism> {
    scenario::device(&scenarios::device_spec(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs `requests` on a drive. Returns completions in order and the groups that were served together.
fn ran(
    mut drive: impl FnMut(Box<dyn Mechanism>) -> Drive,
    name: &str,
    requests: &[Request],
) -> (Vec<(Request, Service)>, Vec<Vec<Request>>) {
    let dispatches = Dispatches::default();
    let witness = RecordingDevice { inner: device(name), dispatches: dispatches.clone() };
    let mut system = System::default();
    system.add(Box::new(drive(Box::new(witness)).checked()), &[]);
    let mut heard = ServiceLog::default();
    let mut workload = RequestList(requests.iter().copied().collect());
    run(&mut system, &mut workload, &RunLimits::default(), &mut heard, &mut |_| true).expect("it runs");
    system.component(system.root()).check_invariants(true).expect("all invariants hold");
    let served = dispatches.lock().expect("one thread").iter().map(|dispatch| dispatch.requests.clone()).collect();
    (heard.0, served)
}

fn plain(scheduler: SchedulerSpec) -> impl FnMut(Box<dyn Mechanism>) -> Drive {
    move |device| {
        let scheduler = build(&scheduler, device.as_ref());
        Drive::new(device, scheduler, 1)
    }
}

fn anticipating(scheduler: SchedulerSpec, wait_ms: f64, requests: u32) -> impl FnMut(Box<dyn Mechanism>) -> Drive {
    let mut drive = plain(scheduler);
    move |device| drive(device).with_anticipation(AnticipationSpec { wait_ms, requests })
}

/// A program has read twice, another program's request is queued, and the first program sends its third read 0.3 ms
/// after the second. On a device with constant service times, the waits are exact.
#[test]
fn anticipation_waits_for_the_next_sequential_read() {
    let alone = device("simpledisk-constant").serve(Time::ZERO, &Request::read(0, 8));
    let access_ns = alone.free - alone.start;
    let asks = Time::from_ns(2 * access_ns + 300_000);
    let at = |id, lbn, arrival| Request { arrival, lbn, blocks: 8, ..blank(id) };
    let requests = [at(0, 0, Time::ZERO), at(1, 8, Time::ZERO), at(2, 9_000, Time::ZERO), at(3, 16, asks)];
    let order = |wait_ms: f64| -> Vec<(u64, u64)> {
        let (heard, _) = ran(anticipating(fcfs::POLICY.default, wait_ms, 16), "simpledisk-constant", &requests);
        heard.iter().map(|(request, service)| (request.id, service.start.ns())).collect()
    };
    // The third read arrives in time, the fourth does not: the other request waits for both.
    let third = asks.ns();
    let patient = order(0.5);
    let ready_ns = patient[0].1;
    let shifted = |ns: u64| ns + ready_ns;
    assert_eq!(patient[..2], [(0, shifted(0)), (1, shifted(access_ns))]);
    assert_eq!(patient[2], (3, third + ready_ns), "when it becomes ready");
    assert_eq!(patient[3], (2, third + ready_ns + access_ns + 500_000), "when the fourth is late");
    // The third read is late: the other request is served when the wait ends.
    let short = order(0.2);
    assert_eq!(short[2..], [(2, shifted(2 * access_ns) + 200_000), (3, shifted(3 * access_ns) + 200_000)]);
    // The drive does not wait after a first read, which continues no stream.
    let (heard, _) = ran(plain(fcfs::POLICY.default), "simpledisk-constant", &requests);
    let plain: Vec<_> = heard.iter().map(|(request, _)| request.id).collect();
    assert_eq!(plain, [0, 1, 2, 3]);
}

fn conflict(one: &Request, other: &Request) -> bool {
    (one.op == Op::Write || other.op == Op::Write) && one.lbn < other.end_lbn() && other.lbn < one.end_lbn()
}

proptest! {
    #![proptest_config(cases(12))]

    /// FCFS except for anticipated reads, which do not pass older writes of their blocks.
    #[test]
    fn an_anticipated_read_does_not_pass_an_older_write(
        mix in any_mix(), wait_ms in 0.0..2.0_f64, most in 1_u32..9, merge in proptest::option::of(any_merge()),
    ) {
        let all = requests(&mix, device("g2").as_ref());
        let mut drive = anticipating(fcfs::POLICY.default, wait_ms, most);
        let (heard, served) = ran(|device| match merge {
            Some(merge) => drive(device).merging(merge),
            None => drive(device),
        }, "g2", &all);
        prop_assert_eq!(heard.len(), all.len());
        let order: Vec<&Request> = served.iter().flatten().collect();
        for (place, request) in order.iter().enumerate() {
            let passed = order[place + 1..].iter().find(|other| other.id < request.id && conflict(other, request));
            prop_assert!(passed.is_none(), "{:?} passes {:?}", request, passed);
        }
    }

    /// Every policy serves all requests, and without sequential reads nothing changes.
    #[test]
    fn anticipation_does_not_wait_for_programs_that_stop_reading(mut mix in any_mix(), policy in any_policy(), wait_ms in 0.0..9.0_f64) {
        let (heard, _) = ran(anticipating(policy, wait_ms, 4), "g2", &requests(&mix, device("g2").as_ref()));
        prop_assert_eq!(heard.len() as u64, mix.count);
        mix.read_fraction = 0.0;
        let writes = requests(&mix, device("g2").as_ref());
        let (with, without) = (ran(anticipating(policy, wait_ms, 4), "g2", &writes), ran(plain(policy), "g2", &writes));
        prop_assert_eq!(with.0, without.0);
    }
}

/// Two programs that read sequentially from both ends of the device, with think times.
fn two_programs(system: &Value) -> Value {
    let program = |start: f64| {
        json!({
            "arrival": {"kind": "closed", "outstanding": 1, "think_ms": {"kind": "fixed", "value": 0.05}},
            "location": {"kind": "sequential"},
            "range": {"start_fraction": start, "end_fraction": start + 0.1},
            "size_bytes": {"kind": "fixed", "value": 4096.0},
        })
    };
    json!({
        "workload": {"streams": [program(0.0), program(0.8)]},
        "system": system,
        "run": {"requests": 4_000},
    })
}

#[test]
fn anticipation_raises_sequential_throughput() {
    let drive = json!({"device": "g2", "scheduler": "sptf"});
    let mut waits = drive.clone();
    waits["anticipation"] = json!({"wait_ms": 0.4});
    let [plain, waiting] = [drive, waits].map(|system| scenarios::run(&resolved(&two_programs(&system))).report);
    let energy_j = |report: &sledsim::scenario::Report| report.energy.as_ref().expect("powers are known").seek_j;
    assert!(waiting.throughput.requests_per_s > 1.1 * plain.throughput.requests_per_s);
    assert!(energy_j(&waiting) < 0.8 * energy_j(&plain));
}

#[test]
fn invalid_waits_are_rejected() {
    for (keys, word) in [
        (json!({"wait_ms": -1.0}), "anticipation.wait_ms"),
        (json!({"wait_ms": 1.0, "requests": 0}), "anticipation.requests"),
        (json!({}), "anticipation.wait_ms is missing"),
    ] {
        let message =
            scenarios::resolve(&two_programs(&json!({"device": "g2", "anticipation": keys}))).expect_err(word);
        assert!(message.contains(word), "{message}");
    }
}
