//! Request merging: who joins whom, in which order data are read and written, and what it takes.

#[path = "common/mems_designs.rs"]
mod mems_designs;
#[path = "common/merging.rs"]
mod merging;
#[allow(dead_code, reason = "each test file uses its part of it")]
#[path = "common/scenarios.rs"]
mod scenarios;

use std::sync::LazyLock;

use mems_designs::mems_design;
use merging::{any_merge, any_mix, any_policy, requests, run_drive, Mix, Ran, Together};
use proptest::prelude::*;
use sledsim::devices::mems::{Idle, MemsDevice, MemsParameters, Timeout};
use sledsim::devices::State;
use sledsim::schedulers::SchedulerSpec;

fn device(parameters: &MemsParameters) -> Box<MemsDevice> {
    Box::new(MemsDevice::new(parameters).unwrap_or_else(|error| panic!("{error}")))
}

/// A device of the catalogue, read once.
fn parameters(name: &str) -> MemsParameters {
    static DEVICES: LazyLock<Vec<(String, MemsParameters)>> = LazyLock::new(scenarios::mems_devices);
    DEVICES.iter().find(|(it, _)| it == name).expect("a device of the catalogue").1.clone()
}

fn servicing_j(ran: &Ran) -> f64 {
    [State::Seek, State::Servo, State::Data].iter().map(|&state| ran.measured.ledger.energy_j[state as usize]).sum()
}

fn tally(scheduler: SchedulerSpec, parameters: &MemsParameters, count: u64, tag: &str) {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut worse, mut cases, mut sums, mut members, mut worst) = (0, 0, [0.0; 2], 0, (0.0, None));
    for _ in 0..count {
        let mut mix = any_mix().new_tree(&mut runner).unwrap().current();
        if std::env::var("BURST").is_ok() {
            mix.gap_ns = 0;
        }
        let merge = any_merge().new_tree(&mut runner).unwrap().current();
        let all = requests(&mix, device(parameters).as_ref());
        let run = |together| run_drive(device(parameters), scheduler, together, &all);
        let (plain, merged) = (run(Together::Not), run(Together::Merge(merge)));
        let (p, m) = (servicing_j(&plain), servicing_j(&merged));
        sums[0] += p;
        sums[1] += m;
        members += merged.measured.together_requests;
        cases += all.len() as u64;
        if m > p * (1.0 + 1e-12) {
            worse += 1;
            if m / p > worst.0 {
                worst = (m / p, Some((mix, merge)));
            }
        }
    }
    println!(
        "{tag} {}: worse {worse} of {count}; merged {members} of {cases}; energy {:.4}; worst {worst:?}",
        scheduler.name(),
        sums[1] / sums[0]
    );
}

#[test]
fn survey() {
    for policy in &sledsim::schedulers::POLICIES[..0] {
        for name in ["g2", "g3"] {
            tally(policy.default, &parameters(name), 4000, name);
        }
    }
    for (idle, after) in
        [(Idle::Sweep, Timeout::Never), (Idle::Hold, Timeout::AfterMs(0.5)), (Idle::Hold, Timeout::AfterMs(0.0))]
    {
        let p = MemsParameters { idle, inactive_after_ms: after, ..parameters("g2") };
        tally(SchedulerSpec::Fcfs {}, &p, 4000, &format!("{idle:?} {after:?}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 3000, ..ProptestConfig::with_cases(std::env::var("CASES").ok().and_then(|c| c.parse().ok()).unwrap_or(2000)) })]
    #[test]
    fn fcfs_energy_designs(design in mems_design(), merge in any_merge(), mix in any_mix()) {
        let design = MemsParameters {idle: Idle::Hold, inactive_after_ms: Timeout::Never, ..design};
        let all = requests(&mix, device(&design).as_ref());
        let run = |together| run_drive(device(&design), SchedulerSpec::Fcfs {}, together, &all);
        let (plain, merged) = (run(Together::Not), run(Together::Merge(merge)));
        let (plain_j, merged_j) = (servicing_j(&plain), servicing_j(&merged));
        prop_assert!(merged_j <= plain_j * (1.0 + 1e-12), "{} J merged, {} J one by one", merged_j, plain_j);
    }

    #[test]
    fn fcfs_energy(name in prop_oneof![Just("g1"), Just("g2"), Just("g3")], merge in any_merge(), mix in any_mix()) {
        let parameters = parameters(name);
        let all = requests(&mix, device(&parameters).as_ref());
        let run = |together| run_drive(device(&parameters), SchedulerSpec::Fcfs {}, together, &all);
        let (plain, merged) = (run(Together::Not), run(Together::Merge(merge)));
        let (plain_j, merged_j) = (servicing_j(&plain), servicing_j(&merged));
        prop_assert!(merged_j <= plain_j * (1.0 + 1e-12), "{} J merged, {} J one by one", merged_j, plain_j);
    }
}
