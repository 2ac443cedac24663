//! Comparisons with external data: DiskSim 4.0's runs and files, real drives, published traces.

/// Returns the cases; ends the test if there is no reference data.
macro_rules! cases_or_skip {
    () => {
        match cases() {
            Some(cases) => cases,
            None => return,
        }
    };
}

mod disk_parity;
mod disksim_import;
mod disksim_parity;
mod drives_of_today;
mod real_drives;
mod real_traces;
mod recorded;
mod traces_samples;
