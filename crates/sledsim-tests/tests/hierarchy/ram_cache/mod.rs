//! The RAM cache: closed forms of times, read-ahead, destages, data integrity, and power cuts.

mod between;
mod closed_forms;
mod content;
mod eviction;
mod flushing;
mod host;
mod power_cuts;
mod refusals;
