//! Markov chains of enclosures with exponential times, implemented independently, as exact references.

use sledsim::reliability::{Enclosure, Sparing};

/// A chain whose state is the number of failed devices that are not yet rebuilt, and the number of spares left.
pub struct Chain {
    /// Rates from state to state, per h; the last state is loss.
    rates: Vec<Vec<f64>>,
    /// Rate of visits in each state, per h.
    visits: Vec<f64>,
    /// Number of devices replaced by a visit in each state.
    missing: Vec<f64>,
    /// The state of a new enclosure.
    first: usize,
}

impl Chain {
    pub fn of(enclosure: &Enclosure) -> Self {
        let (parity, k) = (enclosure.parity as usize, enclosure.spares as usize);
        let state = |failed: usize, spares: usize| failed * (k + 1) + spares;
        let loss = (parity + 1) * (k + 1);
        let mut chain = Self {
            rates: vec![vec![0.0; loss + 1]; loss + 1],
            visits: vec![0.0; loss + 1],
            missing: vec![0.0; loss + 1],
            first: state(0, k),
        };
        let lambda = 1.0 / enclosure.device.mttf_h;
        let dedicated = enclosure.sparing == Sparing::Dedicated;
        for failed in 0..=parity {
            for spares in 0..=k {
                let here = state(failed, spares);
                let on_shelf = if dedicated { 0 } else { spares };
                let in_use = enclosure.width() as usize + on_shelf - failed;
                let worse = if failed == parity { loss } else { state(failed + 1, spares) };
                chain.rates[here][worse] += in_use as f64 * lambda;
                if dedicated && enclosure.spares_fail && spares > 0 {
                    chain.rates[here][state(failed, spares - 1)] += spares as f64 * lambda;
                }
                if failed > 0 && spares > 0 {
                    let side_by_side = failed.min(spares).min(enclosure.rebuild.at_once as usize) as f64;
                    chain.rates[here][state(failed - 1, spares - 1)] += side_by_side * rebuild_rate(enclosure, spares);
                }
                let rate = |delay: Option<sledsim::reliability::Delay>| delay.map_or(0.0, |delay| 1.0 / delay.mean_h);
                chain.missing[here] = (failed + k - spares) as f64;
                chain.visits[here] = match (spares, failed) {
                    (0, 1..) => rate(enclosure.repair.mandatory),
                    (0, 0) if k > 0 => rate(enclosure.repair.preventive),
                    _ => 0.0,
                };
                chain.rates[here][state(0, k)] += chain.visits[here];
            }
        }
        chain
    }

    /// Returns the probability of a loss within `time_h`, and the mean numbers of visits and replaced devices until
    /// then. Uniformisation has positive terms only, so tiny probabilities keep their precision.
    pub fn until(&self, time_h: f64) -> (f64, f64, f64) {
        let states = self.rates.len();
        let out: Vec<f64> = self.rates.iter().map(|row| row.iter().sum()).collect();
        let pace = out.iter().fold(0.0, |a: f64, &b| a.max(b));
        let steps_mean = pace * time_h;
        let mut now = vec![0.0; states];
        now[self.first] = 1.0;
        let (mut loss, mut visits, mut replaced, mut still) = (0.0, 0.0, 0.0, 1.0);
        let last = (steps_mean + 12.0 * steps_mean.sqrt() + 60.0) as u64;
        for step in 0..last {
            let n = step as f64;
            let weight = libm::exp(n * libm::log(steps_mean) - steps_mean - libm::lgamma(n + 1.0));
            loss += weight * now[states - 1];
            still -= weight;
            for ((share, rate), missing) in now.iter().zip(&self.visits).zip(&self.missing) {
                let visited = f64::max(still, 0.0) / pace * share * rate;
                visits += visited;
                replaced += visited * missing;
            }
            now = self.step(&now, &out, pace);
        }
        (loss, visits, replaced)
    }

    fn step(&self, now: &[f64], out: &[f64], pace: f64) -> Vec<f64> {
        let mut next: Vec<f64> = now.iter().zip(out).map(|(share, out)| share * (1.0 - out / pace)).collect();
        for (from, row) in self.rates.iter().enumerate() {
            for (to, rate) in row.iter().enumerate().filter(|(_, &rate)| rate > 0.0) {
                next[to] += now[from] * rate / pace;
            }
        }
        next
    }

    /// Returns the mean time to loss, h, by elimination of states without subtraction (W. K. Grassmann, M. I. Taksar
    /// and D. P. Heyman, 1985).
    pub fn mttf_h(&self) -> f64 {
        let loss = self.rates.len() - 1;
        let mut rates = self.rates.clone();
        let mut time_h = vec![1.0; loss];
        // After elimination of the others, the first state has its total time and its rate of loss.
        let mut left: Vec<usize> = (0..loss).collect();
        for gone in (0..loss).filter(|&state| state != self.first) {
            left.retain(|&state| state != gone);
            let out: f64 = left.iter().map(|&to| rates[gone][to]).sum::<f64>() + rates[gone][loss];
            if out == 0.0 {
                continue;
            }
            for &from in &left {
                let through = rates[from][gone] / out;
                for &to in left.iter().chain([&loss]).filter(|&&to| to != from) {
                    rates[from][to] += through * rates[gone][to];
                }
                time_h[from] += through * time_h[gone];
            }
        }
        time_h[self.first] / rates[self.first][loss]
    }
}

/// Returns the rate of a rebuild, per h: with distributed spare space, less data is read and written by more devices.
fn rebuild_rate(enclosure: &Enclosure, spares: usize) -> f64 {
    let rate = 1.0 / enclosure.rebuild.time.mean_h;
    if enclosure.sparing == Sparing::Dedicated || !enclosure.rebuild.spread {
        return rate;
    }
    let (width, n) = (f64::from(enclosure.width()), f64::from(enclosure.width()) + spares as f64);
    // Each device is filled to width / n; for each lost part, `data` parts are read and one is written, by n - 1
    // devices.
    let holds = width / n;
    let moved = holds * (f64::from(enclosure.data) + 1.0) / (n - 1.0);
    rate / moved
}

#[test]
fn chains_agree_with_closed_forms() {
    use super::described::{raid, repaired};

    // One device: 1 - exp(-t / mttf), and mttf.
    let one = Chain::of(&raid(1, 0, 0));
    let mttf_h = raid(1, 0, 0).device.mttf_h;
    assert!((one.until(1e4).0 / -libm::expm1(-1e4 / mttf_h) - 1.0).abs() < 1e-10);
    assert!((one.mttf_h() / mttf_h - 1.0).abs() < 1e-12);
    // RAID-5 of n devices that are replaced: ((2n - 1) λ + ρ) / (n (n - 1) λ²).
    let raid_5 = repaired(raid(19, 1, 0), None, Some(24.0));
    let (n, lambda, rho) = (20.0, 1.0 / mttf_h, 1.0 / 24.0);
    let exact_h = ((2.0 * n - 1.0) * lambda + rho) / (n * (n - 1.0) * lambda * lambda);
    assert!((Chain::of(&raid_5).mttf_h() / exact_h - 1.0).abs() < 1e-12);
    // Without repair, the sum over modes, from the last to the first.
    let (mu, mut time_h) = (1.0 / raid_5.rebuild.time.mean_h, 1.0 / (n * lambda) + 1.0 / ((n - 1.0) * lambda));
    for _ in 0..5 {
        let out = (n - 1.0) * lambda + mu;
        time_h = 1.0 / (n * lambda) + 1.0 / out + mu / out * time_h;
    }
    assert!((Chain::of(&raid(19, 1, 5)).mttf_h() / time_h - 1.0).abs() < 1e-12);
    // Hong et al. 2006, section 3.2.1: with five spares 8.1 years, and 1.75 % within three years.
    assert!((time_h / 8760.0 - 8.1).abs() < 0.05);
    assert!((Chain::of(&raid(19, 1, 5)).until(3.0 * 8760.0).0 - 0.0175).abs() < 0.00005);
}
