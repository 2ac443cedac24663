//! Monte Carlo simulation of enclosures: probability of data loss, and number of service visits.
//!
//! An enclosure of data devices, parity devices and spares (Hong et al. 2006, section 3) is simulated from failure to failure.
//! Unlike a Markov chain, the model has ageing, fixed delays, latent errors and batches. Rare losses are simulated by importance
//! sampling: failures are forced while data is vulnerable, and each life gets a weight.

mod device;
mod enclosure;
mod estimate;
mod forcing;
mod lifetime;
mod loss_probabilities;
mod parameters;
mod simulate;
mod tally;
mod tips;

pub use estimate::{binomial_interval, Estimate};
pub use lifetime::Law;
pub use loss_probabilities::can_be_forced;
pub use parameters::{
    Batches, Delay, DelayDistribution, DeviceLife, Enclosure, InfantMortality, LatentErrors, Lifetime, Rebuild, Repair,
    Sparing, Tips,
};
pub use simulate::{simulate, Experiment};
pub use tally::{AtHorizon, Outcome};
