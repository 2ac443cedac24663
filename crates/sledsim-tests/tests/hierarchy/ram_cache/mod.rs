//! The RAM cache: times by closed forms, what it reads ahead and flushes, that it reads what was written, and what outlives a
//! power cut.

mod between;
mod closed_forms;
mod content;
mod flushing;
mod host;
mod power_cuts;
mod refusals;
