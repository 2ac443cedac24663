//! The engine: contracts of runs and components, queueing theory, and statistics.

mod component_contract;
mod data_plane;
mod endless;
mod metrics_coverage;
mod metrics_exactness;
mod operational_laws;
mod precision;
mod precision_coverage;
mod queueing_theory;
mod random_streams;
mod run_contract;
mod session;
mod without_events;
