//! Against what others measured: DiskSim 4.0's runs and files, real drives, published traces.

mod disk_parity;
mod disksim_import;
mod disksim_parity;
mod real_drives;
mod real_traces;
mod recorded;
mod traces_samples;
