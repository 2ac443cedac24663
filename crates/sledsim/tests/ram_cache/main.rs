//! The RAM cache: times by closed forms, what it reads ahead and flushes, that it reads what was written, and what outlives a
//! power cut.

#[allow(dead_code, reason = "each test file uses its part of it")]
#[path = "../common/ground.rs"]
mod ground;
#[allow(dead_code, reason = "each test file uses its part of it")]
#[path = "../common/scenarios.rs"]
mod scenarios;

mod between;
mod closed_forms;
mod content;
mod flushing;
mod host;
mod power_cuts;
mod refusals;
