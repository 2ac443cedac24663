//! Power cuts of scenarios: blocks acknowledged as durable survive on every system that guarantees it, losses of other
//! systems are reported, and nothing else in a run changes.

use serde_json::{json, Value};
use sledsim::engine::random::Stream;
use sledsim::engine::Progress;
use sledsim::limits::DATA_UNDER_WAY;
use sledsim::scenario::{Keep, Report, Scenario, SystemSpec};
use sledsim_testing::kinds;
use sledsim_testing::scenarios::{resolve, resolved};

/// Blocks of the systems under test.
const BLOCKS: u64 = 72;

/// Returns a scenario of a few hundred overlapping requests of one to three blocks on a system given as JSON.
fn scenario(system: &Value, seed: u64, cuts: &Value) -> Scenario {
    let size_bytes = json!({"kind": "uniform", "min": kinds::BLOCK, "max": 3 * kinds::BLOCK});
    let arrival = json!({"kind": "poisson", "rate_per_s": 3000.0});
    let workload = json!({"arrival": arrival, "read_fraction": 0.4, "size_bytes": size_bytes});
    let run = json!({"requests": 300, "power_cuts": cuts});
    let mut scenario = resolved(&json!({"seed": seed, "workload": workload, "system": "g2", "run": run}));
    scenario.system =
        serde_json::from_value::<SystemSpec>(system.clone()).unwrap_or_else(|error| panic!("{error}\n{system:#}"));
    scenario
}

fn run(scenario: &Scenario) -> Report {
    let keep = Keep { check: true, ..Keep::default() };
    let output = sledsim::scenario::run_keeping(scenario, Vec::new(), &keep, &mut |_| true);
    output.unwrap_or_else(|error| panic!("{error}\n{scenario:?}")).report
}

fn bytes(report: &Report) -> String {
    serde_json::to_string(report).expect("a report")
}

/// Returns a random kind over a random kind over drives. Arrays have journals, without which they guarantee nothing;
/// caches are volatile or not.
fn system(stream: &mut Stream) -> Value {
    let kinds = kinds::all();
    let [outer, inner] = [0; 2].map(|_| kinds[stream.below(kinds.len() as u64) as usize].clone());
    let below = |blocks| kinds::over(&inner, blocks, &kinds::drive);
    let mut system = kinds::over(&outer, BLOCKS, &below);
    settle(&mut system, stream);
    system
}

fn settle(system: &mut Value, stream: &mut Stream) {
    if system.get("spares").is_some() {
        let holds = if stream.chance(0.5) { "data" } else { "intents" };
        system["journal"] = json!({"size_bytes": 4096, "holds": holds, "access_us": 3.0});
        system["faults"] = json!([]);
    }
    if system["kind"] == "ram-cache" {
        system["volatile"] = stream.chance(0.5).into();
        system["write"] = if stream.chance(0.7) { "back" } else { "through" }.into();
    }
    for child in ["child", "mems", "disk", "fast", "slow"] {
        if system.get(child).is_some() {
            settle(&mut system[child], stream);
        }
    }
    for member in system.get_mut("members").and_then(Value::as_array_mut).into_iter().flatten() {
        settle(&mut member["system"], stream);
    }
}

/// Returns true if a cache of the system may lose acknowledged writes.
fn is_volatile(system: &Value) -> bool {
    match system {
        Value::Object(keys) => {
            system["volatile"] == true && system["write"] == "back" || keys.values().any(is_volatile)
        }
        Value::Array(items) => items.iter().any(is_volatile),
        _ => false,
    }
}

#[test]
fn random_systems_lose_no_durable_write() {
    let mut stream = Stream::new(1, "systems under power cuts");
    let (mut cuts, mut under_way, mut written, mut lost, mut recovering) = (0, 0, 0, 0, 0);
    for seed in 0..200 {
        let system = system(&mut stream);
        let scenario = scenario(&system, seed, &json!({"random": 2, "times_s": [0.05]}));
        let report = run(&scenario);
        assert!((1..=3).contains(&report.power_cuts.len()), "{system:#}");
        for cut in &report.power_cuts {
            assert_eq!((cut.lost_durable_blocks, cut.unreadable_blocks), (Some(0), Some(0)), "{cut:?} {system:#}");
            assert!(is_volatile(&system) || cut.lost_blocks == Some(0), "{cut:?} {system:#}");
            cuts += 1;
            under_way += cut.under_way;
            written += cut.written_blocks.unwrap_or(0);
            lost += cut.lost_blocks.unwrap_or(0);
            recovering += u64::from(cut.recovery_s.is_some_and(|recovery_s| recovery_s > 0.0));
        }
        let requests = &report.requests;
        let under_way: u64 = report.power_cuts.iter().map(|cut| cut.under_way).sum();
        assert_eq!(
            (requests.failed, requests.completed + requests.failed),
            (under_way, requests.submitted),
            "{system:#}"
        );
        if seed < 20 {
            assert_eq!(bytes(&run(&scenario)), bytes(&report), "{system:#}");
        }
    }
    assert!(
        cuts > 580 && under_way > 600 && written > 20_000 && recovering > 100,
        "{under_way} {written} {recovering}"
    );
    assert!(lost > 50, "volatile caches lose something: {lost} blocks");
}

#[test]
fn losses_of_arrays_without_a_journal_are_reported() {
    let lost = |journal: &Value| {
        let losses = (0..40).map(|seed| {
            let mut system = kinds::over("raid5", BLOCKS, &kinds::drive);
            system["faults"] = json!([{"member": 1, "fails_at_s": 0.0}]);
            (system["spares"], system["journal"]) = (0.into(), journal.clone());
            let report = run(&scenario(&system, seed, &json!({"random": 3})));
            report.power_cuts.iter().filter_map(|cut| cut.lost_durable_blocks).sum::<u64>()
        });
        losses.sum::<u64>()
    };
    assert_eq!(lost(&json!({"size_bytes": 4096, "holds": "data", "access_us": 3.0})), 0);
    assert!(lost(&Value::Null) > 0, "the write hole was not detected");
}

#[test]
fn holding_block_contents_changes_no_figure() {
    let mut stream = Stream::new(2, "systems without power cuts");
    for seed in 0..20 {
        let system = system(&mut stream);
        let without = run(&scenario(&system, seed, &Value::Null));
        // Long after the end of the run.
        let with = run(&scenario(&system, seed, &json!({"times_s": [1e6]})));
        let figures = |report: &Report| {
            let mut report = serde_json::to_value(report).expect("a report");
            report["scenario"] = Value::Null;
            report
        };
        assert_eq!(figures(&with), figures(&without), "{system:#}");
        assert!(without.scenario["run"].get("power_cuts").is_none());
        assert!(!bytes(&without).contains("power_cuts"));
    }
}

#[test]
fn recovery_time_and_first_service_after_a_cut_are_reported() {
    // Six logs, all of which are read before the next service.
    let system = kinds::over("mwb", BLOCKS, &kinds::drive);
    let report = run(&scenario(&system, 3, &json!({"times_s": [0.05]})));
    let [cut] = report.power_cuts.as_slice() else { panic!("one cut: {:?}", report.power_cuts) };
    // The device first completes its current access.
    let recovery_s = cut.recovery_s.expect("it recovers");
    assert!(cut.at_s == 0.05 && (0.6e-3..=0.7e-3).contains(&recovery_s), "{cut:?}");
    assert!(cut.during_recovery.requests > 0 && cut.after.requests > 0, "{cut:?}");
    assert!(cut.during_recovery.mean_ms > Some(0.1) && cut.during_recovery.max_ms < Some(100.0), "{cut:?}");
    let before = report.requests.completed - cut.during_recovery.requests - cut.after.requests;
    assert!((50..250).contains(&before), "{before} requests were served before");
}

#[test]
fn random_cuts_require_a_run_of_known_length() {
    let trace = json!({"kind": "trace", "path": "a.csv"});
    let cuts = |run: Value| resolve(&json!({"workload": trace, "system": "g2", "run": run})).err();
    let error = cuts(json!({"power_cuts": {"random": 2}})).expect("the length of the run is unknown");
    assert!(error.contains("run.power_cuts.random = 2 needs run.requests or run.time_s"), "{error}");
    assert_eq!(cuts(json!({"power_cuts": {"times_s": [1.0]}})), None);
    assert_eq!(cuts(json!({"power_cuts": {"random": 2}, "time_s": 5.0})), None);
    let error = cuts(json!({"power_cuts": {"times_s": [-1.0]}})).expect("it is before the run");
    assert!(error.contains("run.power_cuts.times_s"), "{error}");
}

/// The losses of each cut are found in a separate run. After an interruption, the remaining runs are skipped.
#[test]
fn keep_going_is_not_called_after_an_interruption_of_the_loss_search() {
    let scenario = scenario(&kinds::drive(BLOCKS), 1, &json!({"random": 20}));
    let keep = Keep::default();
    // Later calls of `keep_going`, after the last request was taken, come from the search for losses.
    let look = |patience: u32| {
        let mut asked = 0;
        let mut goes_on = |progress: Progress| {
            asked += u32::from(progress.fraction_taken == Some(1.0));
            asked <= patience
        };
        let output = sledsim::scenario::run_keeping(&scenario, Vec::new(), &keep, &mut goes_on).expect("a run");
        (output.report, asked)
    };
    let (whole, all) = look(u32::MAX);
    assert!(whole.power_cuts.iter().all(|cut| cut.written_blocks.is_some()) && all >= 20, "{all}");
    let (cut_short, asked) = look(all / 2);
    assert_eq!(asked, all / 2 + 1);
    assert!(!cut_short.run.complete && cut_short.power_cuts.len() == whole.power_cuts.len());
    assert!(cut_short.power_cuts.last().is_some_and(|cut| cut.written_blocks.is_none()));
}

/// A rebuild reads 11 steps of `rows` rows each before its first write.
#[test]
fn outstanding_data_is_limited() {
    let run = |rows: u64, cuts: Value| {
        let system = json!({"kind": "raid6", "members": [{"count": 5, "device": "simpledisk-linear"}], "spares": 1,
            "unit_bytes": 1 << 20, "rebuild": {"outstanding": 11, "rows": rows},
            "faults": [{"member": 2, "fails_at_s": 0.0}]});
        let arrival = json!({"kind": "closed", "outstanding": 1});
        // Requests use all members, so that the failure is detected at once.
        let workload =
            json!({"arrival": arrival, "size_bytes": {"kind": "fixed", "value": 4 << 20}, "read_fraction": 1.0});
        let run = json!({"time_s": 2e-3, "power_cuts": cuts});
        let scenario = resolved(&json!({"workload": workload, "system": system, "run": run}));
        sledsim::scenario::run(&scenario, Vec::new(), false, &mut |_| true).map(|output| output.report.run.complete)
    };
    let (few, many) = (4, DATA_UNDER_WAY.most / (11 << 20) + 1);
    let cuts = json!({"times_s": [1e-4]});
    assert!(run(few, cuts.clone()).is_ok());
    let error = run(many, cuts).expect_err("it takes too much").to_string();
    let says = format!("more than {} bytes are under way at 0", DATA_UNDER_WAY.most);
    assert!(error.contains(&says), "{error}");
    // Without cuts, runs hold no data.
    assert!(run(many, json!({})).is_ok());
}
