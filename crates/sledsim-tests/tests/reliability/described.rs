//! Base enclosures and experiments of the tests.

use sledsim::reliability::{
    simulate, Delay, DelayDistribution, DeviceLife, Enclosure, Experiment, Lifetime, Outcome, Rebuild, Repair, Sparing,
};

/// Hours in a year, as in Hong et al. 2006.
pub const YEAR_H: f64 = 8760.0;

pub const fn exponential(mean_h: f64) -> Delay {
    Delay { mean_h, distribution: DelayDistribution::Exponential }
}

pub const fn fixed(mean_h: f64) -> Delay {
    Delay { mean_h, distribution: DelayDistribution::Fixed }
}

/// Devices of 200,000 h, rebuilt in 15 minutes, as in Hong et al. 2006, section 3.2.1; without visits.
pub fn raid(data: u32, parity: u32, spares: u32) -> Enclosure {
    Enclosure {
        data,
        parity,
        spares,
        sparing: Sparing::Dedicated,
        spares_fail: false,
        device: DeviceLife {
            mttf_h: 200_000.0,
            lifetime: Lifetime::Exponential,
            infant_mortality: None,
            batches: None,
            latent_errors: None,
            tips: None,
        },
        rebuild: Rebuild { time: exponential(0.25), at_once: 1, spread: true },
        repair: Repair::default(),
    }
}

/// Returns the enclosure with visits after the given mean times, h.
pub fn repaired(enclosure: Enclosure, preventive_h: Option<f64>, mandatory_h: Option<f64>) -> Enclosure {
    let repair = Repair { preventive: preventive_h.map(exponential), mandatory: mandatory_h.map(exponential) };
    Enclosure { repair, ..enclosure }
}

/// Returns the enclosure with other devices and another mean rebuild time, h.
pub fn with(enclosure: Enclosure, mttf_h: f64, rebuild_h: f64) -> Enclosure {
    let device = DeviceLife { mttf_h, ..enclosure.device };
    let rebuild = Rebuild { time: exponential(rebuild_h), ..enclosure.rebuild };
    Enclosure { device, rebuild, ..enclosure }
}

/// Returns an experiment of plain lives until the given horizons, h.
pub fn plain(horizons_h: &[f64], lifetimes: u64, seed: u64) -> Experiment {
    Experiment {
        horizons_h: horizons_h.to_vec(),
        to_loss: false,
        forced: false,
        lifetimes,
        precision: None,
        confidence: 0.99,
        seed,
        threads: None,
    }
}

/// Returns an experiment with lives forced towards loss by the last horizon.
pub fn forced(horizons_h: &[f64], lifetimes: u64, seed: u64) -> Experiment {
    Experiment { forced: true, ..plain(horizons_h, lifetimes, seed) }
}

pub fn outcome(enclosure: &Enclosure, experiment: &Experiment) -> Outcome {
    simulate(enclosure, experiment, &mut |_| true).expect("the enclosure and the experiment are sound")
}
