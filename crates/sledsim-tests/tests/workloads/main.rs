//! Workloads, and the readers of traces.

mod distributions;
mod mix;
mod needs;
mod stand_ins;
mod statistics;
mod synthetic_contract;
mod text;
mod traces_archives;
mod traces_blktrace;
mod traces_contract;
mod traces_damage;
mod workload_contract;
