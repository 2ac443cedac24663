//! Power: the meter, idle modes, and policies of spinning down.

mod break_even;
mod disks;
mod meter;
mod peak;
mod spin_down_policies;
mod spin_down_runs;
