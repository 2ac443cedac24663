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
    for policy in &sledsim::schedulers::POLICIES[..1] {
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

#[test]
fn diagnose() {
    use sledsim::devices::Device;
    use sledsim::devices::mems::{IdleTips, Layout, SeekModel, SledLayout};
    use sledsim::hierarchy::MergeSpec;
    let p = MemsParameters {
    name: "random".into(), x_range_um: 5.414264176816152, y_range_um: 73.68107336275894, bit_nm: 94.16111611854177,
    tips: 30, active_tips: 6, block_bytes: 9, tip_sector_bytes: 9, encoded_bits_per_byte: 10, servo_bits: 19,
    layout: Layout::Serpentine, bidirectional: true, acceleration_x_m_s2: 10.0, acceleration_y_m_s2: 448.8575112826349,
    spring_factor: 0.1891971028738129, resonance_hz: 1706.1346879826215, settle_constants: 0.0,
    bit_rate_kbit_s: 1338.6542644558751, seek_model: SeekModel::Decomposed, overhead_ms: 0.0, bus_ms_per_block: 0.0,
    idle: Idle::Hold, inactive_after_ms: Timeout::Never, startup_ms: 0.0, sled_mw: 100.0, tip_mw: 1.0, inactive_mw: 50.0,
    startup_mw: 70.0, idle_tips: IdleTips::None, sleds: 1, sled_layout: SledLayout::Split, stripe_blocks: 8 };
    let mix = merging::Mix { seed: 298278863393870379, count: 6, gap_ns: 1500000, streams: 2, shares: [0.41793876729064683, 0.0, 0.0],
        read_fraction: 1.0, most_blocks: 8, area_blocks: 3000 };
    let merge = MergeSpec { requests: 2, anywhere: false, writes: false, rows: false };
    let all = requests(&mix, device(&p).as_ref());
    for together in [Together::Not, Together::Merge(merge)] {
        let ran = run_drive(device(&p), SchedulerSpec::Fcfs {}, together, &all);
        let mut d = device(&p);
        println!("{:?} {}", together, servicing_j(&ran));
        let mut heard = ran.heard.clone();
        heard.sort_by_key(|(r, s)| (s.start, r.id));
        let g = d.geometry().clone();
        for (r, s) in &heard {
            let (a, b) = (g.place(r.lbn), g.place(r.end_lbn() - 1));
            println!("{} at {} start {} cyl {} row {} to cyl {} row {}: seek {} (x {} y {}) turn {} passes {}", r.id, r.arrival.ns(), s.start.ns(), a.cylinder, a.row, b.cylinder, b.row,
                s.phases.seek_ns, s.phases.seek_x_ns, s.phases.seek_y_ns, s.phases.turnaround_ns, s.phases.transfer_ns);
        }
        let _ = d.serve(sledsim::time::Time::ZERO, &all[0]);
    }
}
