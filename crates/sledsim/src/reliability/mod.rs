//! Monte Carlo lifetimes of enclosures: how likely data is lost, and how often somebody has to come.
//!
//! An enclosure of data and parity devices and spares (Hong et al. 2006, section 3) is followed from failure to failure,
//! with lifetimes, delays and kinds of loss that Markov chains cannot say. Rare losses are reached by forcing failures
//! into the windows in which they hurt, and weighing what is seen accordingly.

mod device;
mod enclosure;
mod error;
mod estimate;
mod forcing;
mod lifetime;
mod parameters;
mod prospects;
mod simulate;
mod tally;
mod tips;

pub use estimate::{binomial_interval, Estimate};
pub use lifetime::Law;
pub use parameters::{
    Batches, Delay, DelayDistribution, DeviceLife, Enclosure, InfantMortality, LatentErrors, Lifetime, Rebuild, Repair,
    Sparing, Tips,
};
pub use prospects::can_be_forced;
pub use simulate::{simulate, Experiment};
pub use tally::{AtHorizon, Outcome};
