//! Monte Carlo lifetimes of enclosures against exact results.

mod against_chains;
mod chain;
mod closed_forms;
mod described;
mod experiments;
mod forced_and_plain;
