//! The energy of merging for positioning, servo and data never exceeds that of serving requests one by one.
//!
//! With FCFS, this holds for whole runs if the idle sled does not move. If it moves or stops when idle, or if the
//! policy reorders requests, it holds for each dispatch.

use std::sync::LazyLock;

use proptest::prelude::*;
use sledsim::devices::mems::{Idle, MemsDevice, MemsParameters, Timeout};
use sledsim::devices::{Mechanism, State, Together};
use sledsim::hierarchy::MergeSpec;
use sledsim::request::Request;
use sledsim::schedulers::{fcfs, SchedulerSpec, POLICIES};
use sledsim::service::EnergyLedger;
use sledsim::time::Time;
use sledsim_testing::mems_designs::mems_design;
use sledsim_testing::merging::{any_merge, any_mix, any_policy, requests, run_drive, Dispatch, Grouping, Mix, Ran};
use sledsim_testing::scenarios;
use sledsim_testing::tiers::{cases, size};

/// Relative rounding error of sums of a few hundred terms, whose order differs between runs.
const ROUNDING: f64 = 1e-12;

fn device(parameters: &MemsParameters, subsector: bool) -> Box<dyn Mechanism> {
    let mut device = MemsDevice::new(parameters).unwrap_or_else(|error| panic!("{error}"));
    if subsector {
        assert!(device.access_subsectors());
    }
    Box::new(device)
}

/// Returns a device of the catalogue, which is parsed once.
fn parameters(name: &str) -> MemsParameters {
    static DEVICES: LazyLock<Vec<(String, MemsParameters)>> = LazyLock::new(scenarios::mems_devices);
    DEVICES.iter().find(|(it, _)| it == name).expect("a device of the catalogue").1.clone()
}

fn servicing_j(ledger: &EnergyLedger) -> f64 {
    [State::Seek, State::Servo, State::Data].iter().map(|&state| ledger.energy_j[state as usize]).sum()
}

fn run_j(ran: &Ran) -> f64 {
    servicing_j(&ran.measured.ledger)
}

/// Energy of a whole run, with and without merging.
fn whole_run_j(
    parameters: &MemsParameters,
    subsector: bool,
    policy: SchedulerSpec,
    merge: MergeSpec,
    mix: &Mix,
) -> [f64; 2] {
    let all = requests(mix, device(parameters, subsector).as_ref());
    [Grouping::Merge(merge), Grouping::Not]
        .map(|together| run_j(&run_drive(device(parameters, subsector), policy, together, &all)))
}

fn catalogue_sled() -> impl Strategy<Value = MemsParameters> {
    prop::sample::select(vec!["g1", "g2", "g3", "griffin1999", "g2-paper"]).prop_map(parameters)
}

proptest! {
    #![proptest_config(cases(size(300, 6_000)))]

    #[test]
    fn fcfs_runs_take_no_more_energy_with_merging(
        parameters in catalogue_sled(), subsector in any::<bool>(), merge in any_merge(), mix in any_mix(),
    ) {
        let [merged_j, one_by_one_j] = whole_run_j(&parameters, subsector, fcfs::POLICY.default, merge, &mix);
        prop_assert!(merged_j <= one_by_one_j * (1.0 + ROUNDING), "{merged_j} J merged, {one_by_one_j} J one by one");
    }

    #[test]
    fn fcfs_runs_on_other_designs_take_no_more_energy_with_merging(
        design in mems_design(), subsector in any::<bool>(), merge in any_merge(), mix in any_mix(),
    ) {
        let stays = MemsParameters { idle: Idle::Hold, inactive_after_ms: Timeout::Never, ..design };
        let [merged_j, one_by_one_j] = whole_run_j(&stays, subsector, fcfs::POLICY.default, merge, &mix);
        prop_assert!(merged_j <= one_by_one_j * (1.0 + ROUNDING), "{merged_j} J merged, {one_by_one_j} J one by one");
    }

    #[test]
    fn simultaneous_requests_take_no_more_energy_with_any_idle_position(
        design in mems_design(), merge in any_merge(), mix in any_mix(),
    ) {
        let mix = Mix { gap_ns: 0, ..mix };
        let [merged_j, one_by_one_j] = whole_run_j(&design, false, fcfs::POLICY.default, merge, &mix);
        prop_assert!(merged_j <= one_by_one_j * (1.0 + ROUNDING), "{merged_j} J merged, {one_by_one_j} J one by one");
    }
}

/// Serves a recorded dispatch again.
fn serve_again(device: &mut dyn Mechanism, dispatch: &Dispatch) {
    let mut services = Vec::new();
    if dispatch.merged {
        device.serve_together(
            dispatch.now,
            &dispatch.requests,
            Together::Merged(dispatch.plan.as_ref()),
            &mut services,
        );
    } else {
        device.serve_together(dispatch.now, &dispatch.requests, Together::Batch, &mut services);
    }
}

/// Returns the energy of each dispatch that merged requests, and of serving them one by one from the same position: the
/// picked request first, then the others in order of arrival.
fn dispatches_j(parameters: &MemsParameters, ran: &Ran) -> Vec<[f64; 2]> {
    let far = Time::from_ns(u64::MAX / 2);
    let mut energies_j = Vec::new();
    for (index, dispatch) in ran.dispatches.iter().enumerate().filter(|(_, dispatch)| dispatch.merged) {
        let served_j = |finish: &dyn Fn(&mut dyn Mechanism)| {
            let mut device = device(parameters, false);
            ran.dispatches[..index].iter().for_each(|earlier| serve_again(device.as_mut(), earlier));
            let before_j = servicing_j(&device.ledger(far));
            finish(device.as_mut());
            servicing_j(&device.ledger(far)) - before_j
        };
        let merged_j = served_j(&|device| serve_again(device, dispatch));
        let one_by_one_j = served_j(&|device| {
            let mut order: Vec<Request> = dispatch.requests.clone();
            order[1..].sort_unstable_by_key(|request| request.id);
            let mut now = dispatch.now;
            for request in &order {
                now = device.serve(now, request).free;
            }
        });
        energies_j.push([merged_j, one_by_one_j]);
    }
    energies_j
}

proptest! {
    #![proptest_config(cases(size(100, 1_500)))]

    #[test]
    fn dispatches_take_no_more_energy_than_their_requests_alone(
        parameters in catalogue_sled(), policy in any_policy(), merge in any_merge(), mix in any_mix(),
    ) {
        // With FCFS, idle movements between services count, too: see above.
        prop_assume!(policy != fcfs::POLICY.default);
        let all = requests(&mix, device(&parameters, false).as_ref());
        let ran = run_drive(device(&parameters, false), policy, Grouping::Merge(merge), &all);
        for [merged_j, one_by_one_j] in dispatches_j(&parameters, &ran) {
            // The energies are differences of sums over the run.
            let rounding_j = ROUNDING * run_j(&ran);
            prop_assert!(merged_j <= one_by_one_j + rounding_j, "{merged_j} J merged, {one_by_one_j} J one by one");
        }
    }
}

/// Every policy saves energy on average; a single run may take more if the policy changes the order.
#[test]
fn merging_saves_energy_with_every_policy() {
    for policy in POLICIES {
        let (mut sums_j, mut worse, mut runs) = ([0.0, 0.0], 0, 0);
        // Seven and the periods of the settings below have no common factor, so that all combinations occur.
        for seed in (0..300).step_by(size(7, 1)) {
            let merge = MergeSpec {
                requests: [2, 4, 16][seed as usize % 3],
                anywhere: seed & 1 > 0,
                writes: seed & 2 > 0,
                rows: seed & 4 > 0,
                mixed: false,
            };
            let mix = Mix {
                seed,
                count: 50,
                gap_ns: [0, 200_000, 600_000][seed as usize / 8 % 3],
                streams: 1 + seed % 4,
                shares: [0.5, 0.25, 0.35],
                read_fraction: [1.0, 0.7, 0.5][seed as usize / 24 % 3],
                most_blocks: [1, 8, 16, 60][seed as usize / 72 % 4],
                area_blocks: [u64::MAX, 3_000][seed as usize / 150 % 2],
                spare_fraction: 0.0,
            };
            for name in ["g2", "g3"] {
                let [merged_j, one_by_one_j] = whole_run_j(&parameters(name), false, policy.default, merge, &mix);
                sums_j = [sums_j[0] + merged_j, sums_j[1] + one_by_one_j];
                worse += u32::from(merged_j > one_by_one_j * (1.0 + ROUNDING));
                runs += 1;
            }
        }
        let ratio = sums_j[0] / sums_j[1];
        println!("{}: {ratio:.4} of the energy; {worse} of {runs} runs take more", policy.name);
        assert!(ratio < 0.98, "{}: {ratio}", policy.name);
        // At most 3 % of the runs, for policies that reorder requests.
        assert!(worse * 100 <= 3 * runs, "{}: {worse} of {runs} take more", policy.name);
        assert!(policy.default != fcfs::POLICY.default || worse == 0);
    }
}
