//! Request merging: who joins whom, in which order data are read and written, and what it takes.

#[path = "common/merging.rs"]
mod merging;
#[allow(dead_code, reason = "each test file uses its part of it")]
#[path = "common/scenarios.rs"]
mod scenarios;

use merging::{any_merge, any_mix, any_policy, requests, run_drive, Mix, Ran, Together};
use proptest::prelude::*;
use sledsim::devices::mems::{MemsDevice, MemsParameters};
use sledsim::devices::State;
use sledsim::schedulers::SchedulerSpec;

fn device(parameters: &MemsParameters) -> Box<MemsDevice> {
    Box::new(MemsDevice::new(parameters).unwrap_or_else(|error| panic!("{error}")))
}

fn servicing_j(ran: &Ran) -> f64 {
    [State::Seek, State::Servo, State::Data].iter().map(|&state| ran.measured.ledger.energy_j[state as usize]).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 3000, ..ProptestConfig::with_cases(20000) })]
    #[test]
    fn fcfs_energy(name in prop_oneof![Just("g1"), Just("g2"), Just("g3")], merge in any_merge(), mix in any_mix()) {
        let parameters = scenarios::mems_parameters(name);
        let all = requests(&mix, device(&parameters).as_ref());
        let run = |together| run_drive(device(&parameters), SchedulerSpec::Fcfs {}, together, &all);
        let (plain, merged) = (run(Together::Not), run(Together::Merge(merge)));
        let (plain_j, merged_j) = (servicing_j(&plain), servicing_j(&merged));
        prop_assert!(merged_j <= plain_j * (1.0 + 1e-12), "{} J merged, {} J one by one", merged_j, plain_j);
    }
}
