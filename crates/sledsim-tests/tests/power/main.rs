//! Power: the energy account, idle modes and spin-down policies.

mod break_even;
mod disks;
mod energy_account;
mod peak;
mod spin_down_policies;
mod spin_down_runs;
