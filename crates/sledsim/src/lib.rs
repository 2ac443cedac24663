//! Sledsim: a simulator of storage that moves.
//!
//! All modules use [`time`], [`request`], [`units`] and [`fault`]. `engine` runs components. `power`, `devices`,
//! `schedulers`, `workloads`, `traces`, `metrics` and `reliability` build on it. `hierarchy` nests components. Only
//! `scenario` refers to concrete kinds and policies by name.

#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
#![cfg_attr(test, allow(clippy::cast_possible_truncation, clippy::cast_sign_loss))]

mod convert;
pub mod devices;
pub mod engine;
pub mod fault;
pub mod hierarchy;
pub mod limits;
pub mod metrics;
pub mod plugin;
pub mod power;
mod registry;
pub mod reliability;
pub mod request;
pub mod scenario;
pub mod schedulers;
pub mod service;
pub mod time;
pub mod traces;
pub mod units;
pub mod workloads;
