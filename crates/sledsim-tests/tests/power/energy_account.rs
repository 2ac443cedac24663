//! Checks peak power, entries and timeline against their definitions, evaluated from the spans of each run.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{json, Value};
use sledsim::devices::mems::MemsDevice;
use sledsim::devices::Mechanism;
use sledsim::engine::random::Stream;
use sledsim::power::{Activity, Span, TimelineSpec, WINDOW_NS};
use sledsim::request::{Op, Request};
use sledsim::scenario::{self, Energy, Keep, RunOutput, StateEnergy};
use sledsim::service::STATES;
use sledsim::time::{s_to_ns, Time};
use sledsim_testing::mems_designs::mems_design;
use sledsim_testing::scenarios::{self, device_names, device_spec, resolved};
use sledsim_testing::tiers::{cases, size};

/// More than the number of spans of the runs below.
const ALL: TimelineSpec = TimelineSpec { from: Time::ZERO, to: Time::MAX, spans: 50_000_000 };

/// Rounding of sums of products in different orders: about 1e-16 each, over at most a million spans.
const ROUNDING: f64 = 1e-10;

/// Runs with and without a timeline and checks that the reports are equal. Returns the run with a timeline.
fn run_keeping(document: &Value, timeline: TimelineSpec) -> RunOutput {
    let scenario = resolved(document);
    let run = |timeline| {
        let keep = Keep { log: true, timeline, check: true, ..Keep::default() };
        scenario::run_keeping(&scenario, Vec::new(), &keep, &mut |_| true)
            .unwrap_or_else(|error| panic!("{error}\n{document:#}"))
    };
    let (output, plain) = (run(Some(timeline)), run(None));
    let [with_timeline, without] = [&output, &plain].map(|output| output.report.energy.as_ref().expect("known powers"));
    for (with_timeline, without) in with_timeline.states.iter().zip(&without.states) {
        let same = (with_timeline.time_ns, with_timeline.energy_j, with_timeline.entered)
            == (without.time_ns, without.energy_j, without.entered);
        assert!(same, "with a timeline {with_timeline:?}, without {without:?}\n{document:#}");
    }
    // Without a timeline, spans are summed in a different order.
    let [with_w, without_w] = [with_timeline, without].map(|energy| energy.peak_power_w);
    assert!(
        (with_w - without_w).abs() <= ROUNDING * with_w,
        "a peak of {with_w} W, and of {without_w} W without a timeline"
    );
    output
}

fn energy(output: &RunOutput) -> &Energy {
    output.report.energy.as_ref().expect("known powers")
}

fn spans(output: &RunOutput) -> &[Vec<Span>] {
    &output.timeline.as_ref().expect("asked for").spans
}

/// The measurement window of a run, ns.
fn window(output: &RunOutput) -> (u64, u64) {
    let run = &output.report.run;
    let end_ns = s_to_ns(run.simulated_s);
    (end_ns - s_to_ns(run.measured_s), end_ns)
}

/// Returns the energy of each millisecond from `from_ns` on, W·ns; the last one may be shorter.
fn windows_w_ns(spans: &[Vec<Span>], from_ns: u64, to_ns: u64) -> Vec<f64> {
    let mut windows = vec![0.0; (to_ns - from_ns).div_ceil(WINDOW_NS) as usize];
    for span in spans.iter().flatten() {
        let (mut at, to) = (span.from.ns().max(from_ns), span.to.ns().min(to_ns));
        while at < to {
            let window = (at - from_ns) / WINDOW_NS;
            let until = to.min(from_ns + (window + 1) * WINDOW_NS);
            windows[window as usize] += span.power_w * (until - at) as f64;
            at = until;
        }
    }
    windows
}

/// Returns the peak power by definition: see `Peak::power_w`.
fn peak_w(windows: &[f64], length_ns: u64) -> f64 {
    let window = WINDOW_NS as f64;
    match windows {
        [] => 0.0,
        [only] => only / length_ns as f64,
        [.., before, last] => {
            let last_ns = length_ns - (windows.len() as u64 - 1) * WINDOW_NS;
            let joint_w = (before + last) / (WINDOW_NS + last_ns) as f64;
            windows.iter().fold(joint_w, |peak, energy| peak.max(energy / window))
        }
    }
}

/// Returns the name of an activity in the report of a run.
fn name_of(output: &RunOutput, activity: Activity) -> Option<&str> {
    output.activities.iter().find(|(_, known)| *known == activity).map(|(name, _)| name.as_str())
}

/// Returns time, energy and entries of an activity in the window, computed from the spans.
fn totals(output: &RunOutput, state: &StateEnergy) -> (u64, f64, u64) {
    let (from, to) = window(output);
    let activity = output.activities.iter().find(|(name, _)| *name == state.state).expect("known").1;
    let (mut time_ns, mut energy_j, mut entered) = (0, 0.0, 0);
    for spans in spans(output) {
        // Sleds start stopped, disks ready.
        let mut before = if name_of(output, Activity::SERVO).is_some() { Activity::idle(1) } else { Activity::READY };
        for span in spans {
            if span.activity == activity {
                let ns = span.to.ns().min(to).saturating_sub(span.from.ns().max(from));
                time_ns += ns;
                energy_j += ns as f64 * 1e-9 * span.power_w;
                entered += u64::from(before != activity && (from..to).contains(&span.from.ns()));
            }
            before = span.activity;
        }
    }
    (time_ns, energy_j, entered)
}

/// Returns true if two energies or powers are equal except for rounding.
fn same(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= ROUNDING * expected.abs()
}

/// Checks the energy report of a run against its spans.
fn check(output: &RunOutput, what: &str) {
    let energy = energy(output);
    let (from, to) = window(output);
    let mechanisms = spans(output).len() as u64;
    for spans in spans(output) {
        assert!(spans.windows(2).all(|pair| pair[0].to == pair[1].from), "{what}: gaps");
        assert!(spans.iter().all(|span| span.from < span.to), "{what}: empty spans");
        let ends = spans.first().zip(spans.last()).map(|(first, last)| (first.from.ns(), last.to.ns()));
        assert_eq!(ends, (to > 0).then_some((0, to)), "{what}");
    }
    let states = &energy.states;
    // In the order of the list, the sum equals the total exactly.
    assert_eq!(states.iter().map(|state| state.energy_j).sum::<f64>().to_bits(), energy.total_j.to_bits(), "{what}");
    assert_eq!(states.iter().map(|state| state.time_ns).sum::<u64>(), (to - from) * mechanisms, "{what}");
    for state in states {
        let (time_ns, energy_j, entered) = totals(output, state);
        assert_eq!((state.time_ns, state.entered), (time_ns, entered), "{what}: {}", state.state);
        assert!(same(state.energy_j, energy_j), "{what}: {} {} J, not {energy_j} J", state.state, state.energy_j);
    }
    let windows = windows_w_ns(spans(output), from, to);
    let total_j = windows.iter().sum::<f64>() * 1e-9;
    assert!(same(energy.total_j, total_j), "{what}: {} J, not {total_j} J", energy.total_j);
    let peak = peak_w(&windows, to - from);
    assert!(same(energy.peak_power_w, peak), "{what}: a peak of {} W, not {peak} W", energy.peak_power_w);
    assert!(energy.peak_power_w >= energy.mean_power_w, "{what}");
    assert!(energy.hindsight_j <= energy.total_j, "{what}");
}

/// A workload with idle periods of all lengths.
fn spells(rate_per_s: f64) -> Value {
    json!({
        "arrival": {"kind": "on-off", "burst_ms": 20.0, "idle_ms": 60.0, "rate_per_s": 4.0 * rate_per_s},
        "size_bytes": {"kind": "exponential", "mean": 20000.0},
        "read_fraction": 0.6,
    })
}

/// Names of the devices in the catalogue whose powers are known. Several actuators count changes of mode together:
/// `hierarchy/actuator_ranges.rs`.
fn powered() -> Vec<String> {
    let is_tested = |name: &String| {
        let device = device_spec(name);
        let several = matches!(&device, scenario::DeviceSpec::Disk(disk) if disk.actuator_ranges > 1);
        device.has_powers() && !several
    };
    let names: Vec<_> = device_names().into_iter().filter(is_tested).collect();
    assert!(names.iter().any(|name| name == "g2") && names.iter().any(|name| name == "travelstar"), "{names:?}");
    names
}

#[test]
fn energy_matches_the_sum_of_spans() {
    let policies = [
        Value::Null,
        json!("immediate"),
        json!({"name": "timeout", "after_ms": 7.0}),
        json!("never"),
        json!("adaptive"),
        json!("offline"),
    ];
    // Whole runs, warm-ups by number and by time, and limits that end the run during any activity.
    let limits = [
        json!({"requests": 400}),
        json!({"requests": 400, "warmup_requests": 37}),
        json!({"time_s": 1.2345, "warmup_s": 0.1001}),
        json!({"time_s": 0.7, "warmup_requests": 11, "warmup_s": 0.05}),
        json!({"time_s": 0.000_4}),
    ];
    for name in powered() {
        let rate_per_s = if matches!(device_spec(&name), scenario::DeviceSpec::Mems(_)) { 300.0 } else { 20.0 };
        for policy in &policies {
            for limits in &limits {
                let document = json!({
                    "workload": spells(rate_per_s),
                    "system": {"device": name, "spin_down": policy, "scheduler": "sptf"},
                    "run": limits,
                });
                check(&run_keeping(&document, ALL), &format!("{name} {policy} {limits}"));
            }
        }
    }
}

#[test]
fn energy_matches_the_sum_of_spans_with_sled_settings() {
    let systems = [
        json!({"device": {"name": "g2", "idle_tips": "last-access"}}),
        json!({"device": {"name": "g2", "idle_tips": "last-access"}, "spin_down": "offline"}),
        json!({"device": {"name": "g2", "bus_ms_per_block": 0.05, "inactive_after_ms": 1.0, "idle": "sweep"}}),
        json!({"device": {"name": "g2", "servo_bits": 0, "startup_ms": 0.001}, "spin_down": "immediate"}),
        json!({"device": "g2", "batch_max": 8, "scheduler": "sptf"}),
        json!({"device": "g2", "merge": {"requests": 8, "anywhere": true, "writes": true, "rows": true}, "subsector": true}),
        json!({"device": "g2", "spin_down": "immediate", "delayed_startup": {"requests": 4, "wait_ms": 30.0}}),
    ];
    for system in systems {
        for rate_per_s in [150.0, 1500.0] {
            let limits = [json!({"requests": 1500}), json!({"time_s": 0.51, "warmup_s": 0.2})];
            for limits in limits {
                let document = json!({"workload": spells(rate_per_s), "system": system, "run": limits});
                check(&run_keeping(&document, ALL), &format!("{system} at {rate_per_s}/s {limits}"));
            }
        }
    }
}

/// The power of several sleds is added millisecond by millisecond.
#[test]
fn peak_power_is_that_of_all_sleds_together() {
    // Runs with many sleds take longest.
    let designs = [("striped", 3), ("split", 2), ("striped", 16)];
    for (layout, sleds) in designs.into_iter().take(size(1, 3)) {
        for (place, policy) in ["never", "immediate", "offline"].into_iter().enumerate() {
            let device = json!({"name": "g2", "sleds": sleds, "sled_layout": layout, "stripe_blocks": 8});
            // Enough events that the sums are settled several times during the run.
            let limits = [json!({"requests": 12000}), json!({"time_s": 9.87, "warmup_s": 1.0005})];
            for limits in limits.into_iter().skip(size(place % 2, 0)).take(size(1, 2)) {
                let document = json!({
                    "workload": spells(500.0),
                    "system": {"device": device, "spin_down": policy},
                    "run": limits,
                });
                let output = run_keeping(&document, ALL);
                assert_eq!(spans(&output).len(), sleds);
                check(&output, &format!("{sleds} sleds {layout} {policy} {limits}"));
            }
        }
    }
}

/// One request to a stopped sled, calculated from the phases of its service and the powers of the device.
#[test]
fn energy_of_one_request_matches_hand_calculation() {
    let output = run_keeping(
        &json!({
            "workload": {"arrival": {"kind": "constant", "rate_per_s": 4000.0}, "size_bytes": {"kind": "fixed", "value": 4096.0}},
            "system": {"device": {"name": "g2", "overhead_ms": 0.0}},
            "run": {"requests": 1},
        }),
        ALL,
    );
    let (request, service) = output.recorder.log().expect("asked for").entries[0];
    let p = scenarios::mems_parameters("g2");
    let [sled_w, startup_w, inactive_w] = [p.sled_mw, p.startup_mw, p.inactive_mw].map(|power_mw| power_mw * 1e-3);
    // 4 KB are 8 blocks, all in one row.
    let tips = 8.0 * f64::from(p.block_bytes / p.tip_sector_bytes);
    let access_w = sled_w + tips * p.tip_mw * 1e-3;
    let phases = service.phases;
    assert_eq!((phases.turnaround_ns, phases.startup_ns), (0, 500_000));
    let parts = [
        (Activity::idle(1), request.arrival.ns(), inactive_w),
        (Activity::STARTUP, phases.startup_ns, startup_w),
        (Activity::SEEK, phases.seek_ns, sled_w),
        (Activity::SERVO, phases.servo_ns, access_w),
        (Activity::DATA, phases.transfer_ns, access_w),
        (Activity::READY, service.end - service.free, sled_w),
    ];
    let mut at = Time::ZERO;
    let mut expected = Vec::new();
    for (activity, ns, power_w) in parts {
        if ns > 0 {
            expected.push(Span { activity, from: at, to: at + ns, power_w });
            at += ns;
        }
    }
    assert_eq!(at, service.end);
    assert_eq!(spans(&output), [expected]);
    check(&output, "one request");
}

#[test]
fn a_timeline_covers_the_requested_interval() {
    let document = json!({
        "workload": spells(300.0),
        "system": {"device": {"name": "g2", "sleds": 3, "sled_layout": "striped"}, "spin_down": "immediate"},
        "run": {"requests": 2000},
    });
    let whole = run_keeping(&document, ALL);
    let report = |output: &RunOutput| serde_json::to_value(&output.report).unwrap();
    // A part of the whole interval.
    let (from, to) = (Time::from_ns(123_456_789), Time::from_ns(400_000_001));
    let part = run_keeping(&document, TimelineSpec { from, to, ..ALL });
    let cut = |spans: &Vec<Span>| -> Vec<Span> {
        let parts = spans.iter().map(|span| Span { from: span.from.max(from), to: span.to.min(to), ..*span });
        parts.filter(|span| span.from < span.to).collect()
    };
    assert_eq!(spans(&part), spans(&whole).iter().map(cut).collect::<Vec<_>>());
    assert_eq!((part.timeline.as_ref().unwrap().slot_ns, report(&part)), (None, report(&whole)));
    // With a small limit, the timeline is in slots, each with the energy of the spans in it.
    let short = run_keeping(&document, TimelineSpec { spans: 900, ..ALL });
    let timeline = short.timeline.as_ref().unwrap();
    let slot_ns = timeline.slot_ns.expect("more than 900 spans");
    assert!((100..=900).contains(&timeline.spans.iter().map(Vec::len).sum::<usize>()));
    for (slots, whole) in timeline.spans.iter().zip(spans(&whole)) {
        assert_eq!((slots[0].from, slots[slots.len() - 1].to), (whole[0].from, whole[whole.len() - 1].to));
        assert!(slots.windows(2).all(|two| two[0].to == two[1].from));
        let (found, by_definition) = (in_slots(slots, slot_ns), in_slots(whole, slot_ns));
        assert!(found.keys().eq(by_definition.keys()));
        for ((ns, energy), (own_ns, own_energy)) in found.values().zip(by_definition.values()) {
            assert_eq!(ns, own_ns);
            assert!((energy - own_energy).abs() <= ROUNDING * own_energy, "{energy} W·ns, not {own_energy}");
        }
    }
    assert_eq!(report(&short), report(&whole));
}

/// Returns time (ns) and energy (W·ns) of each activity by slot.
fn in_slots(spans: &[Span], slot_ns: u64) -> BTreeMap<(u64, usize), (u64, f64)> {
    let mut found = BTreeMap::new();
    for span in spans {
        let (mut at, end) = (span.from.ns(), span.to.ns());
        while at < end {
            let ns = (end - at).min(slot_ns - at % slot_ns);
            let (time, energy) = found.entry((at / slot_ns, span.activity.index())).or_insert((0, 0.0));
            *time += ns;
            *energy += span.power_w * ns as f64;
            at += ns;
        }
    }
    found
}

/// No timeline is recorded unless requested, nor for a device without power parameters.
#[test]
fn timelines_are_recorded_on_request() {
    let of = |device: &str, timeline| {
        let document = json!({"workload": spells(20.0), "system": {"device": device}, "run": {"requests": 50}});
        let keep = Keep { timeline, check: true, ..Keep::default() };
        scenario::run_keeping(&resolved(&document), Vec::new(), &keep, &mut |_| true).expect("it runs").timeline
    };
    assert_eq!(of("g2", None), None);
    let unpowered = device_names().into_iter().find(|name| !device_spec(name).has_powers()).expect("some");
    assert!(of(&unpowered, Some(TimelineSpec::default())).expect("asked for").spans.is_empty());
}

/// Checks that the ledger at `now`, at any time in a service, equals the sum of the spans until then.
fn check_instant(device: &dyn Mechanism, now: Time) {
    let account = device.powered().expect("known power").energy_account(now);
    let ledger = device.ledger(now);
    assert_eq!(account.at(), now);
    let (mut time_ns, mut energy_j) = ([0; STATES.len()], [0.0; STATES.len()]);
    for span in account.clone().into_recorded().0 {
        let state = span.activity.state() as usize;
        time_ns[state] += span.to - span.from;
        energy_j[state] += (span.to - span.from) as f64 * 1e-9 * span.power_w;
    }
    assert_eq!(ledger.time_ns, time_ns, "at {now:?}");
    for (found, expected) in ledger.energy_j.into_iter().zip(energy_j) {
        assert!(same(found, expected), "at {now:?}: {found} J, not {expected} J");
    }
    assert!(same(account.energy_j(), ledger.total_j()), "at {now:?}");
}

/// Reads the account during requests of one to many rows, served one after the other and after idle periods. The
/// account is settled at some of these times and only read at others.
fn check_instants(device: &mut dyn Mechanism, seed: u64) {
    let mut random = Stream::new(seed, "instants");
    device.powered_mut().expect("known power").settle_energy_account(Time::ZERO).record(ALL);
    let capacity = device.dimensions().capacity_blocks;
    let mut free = Time::ZERO;
    for id in 0..25 {
        let now = free + [0, 1, random.below(5_000_000)][random.below(3) as usize];
        let most = if random.chance(0.5) { 3 } else { 400 };
        let blocks = 1 + random.below(capacity.min(most));
        let lbn = random.below(capacity - blocks + 1);
        let op = if random.chance(0.5) { Op::Read } else { Op::Write };
        let request = Request { id, arrival: now, op, ..Request::read(lbn, blocks as u32) };
        check_instant(device, now);
        free = device.serve(now, &request).free;
        let mut instants: Vec<u64> = (0..5).map(|_| random.below(free - now + 1)).chain([0, free - now]).collect();
        instants.sort_unstable();
        for instant in instants {
            if random.chance(0.3) {
                device.powered_mut().expect("known power").settle_energy_account(now + instant);
            }
            check_instant(device, now + instant);
        }
    }
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn services_are_clipped_at_the_reading_time(design in mems_design(), seed in 0..u64::MAX) {
        check_instants(&mut MemsDevice::new(&design).unwrap(), seed);
    }
}
