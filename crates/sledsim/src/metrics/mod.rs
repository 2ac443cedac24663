//! Metrics: moments, histograms, confidence intervals, averages over time, and their summary.

pub mod confidence;
pub mod controls;
pub mod histogram;
pub mod interval;
pub mod log;
pub mod moments;
pub mod precision;
pub mod quantile;
pub mod recorder;
mod summary;
mod time_average;
pub mod warmup;

pub use summary::{Measure, Summary};
pub use time_average::TimeAverage;
