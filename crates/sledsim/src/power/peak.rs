//! Peak power: the largest energy of a millisecond, over the length of that millisecond.

use super::meter::{Meter, Run};

/// Length of the windows over which peak power is taken, ns.
pub const WINDOW_NS: u64 = 1_000_000;

/// The largest energy of windows that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peak {
    /// Of one window, W·ns.
    largest_w_ns: f64,
    /// Of the latest window, W·ns.
    latest_w_ns: f64,
    /// Of all windows, W·ns.
    total_w_ns: f64,
    windows: u64,
}

impl Peak {
    /// So many windows of equal energy (W·ns) are over.
    #[inline]
    pub fn close(&mut self, energy_w_ns: f64, windows: u64) {
        self.largest_w_ns = self.largest_w_ns.max(energy_w_ns);
        self.latest_w_ns = energy_w_ns;
        self.total_w_ns += energy_w_ns * windows as f64;
        self.windows += windows;
    }

    /// Energy of all windows that are over, W·ns.
    #[must_use]
    pub fn energy_w_ns(&self) -> f64 {
        self.total_w_ns
    }

    /// The largest power over a window, when so much energy (W·ns) was spent in so short a time since the last window.
    ///
    /// A rest shorter than a window says little: a single pass at its end is no peak. So it counts twice, as if nothing more
    /// were drawn for the whole of its window, and over its own length together with the window before it. The peak is then
    /// never below the mean power. Without a window before it, a rest counts over its own length.
    #[must_use]
    pub fn power_w(&self, rest_w_ns: f64, rest_ns: u64) -> f64 {
        let window_ns = WINDOW_NS as f64;
        if self.windows == 0 {
            return if rest_ns == 0 { 0.0 } else { rest_w_ns / rest_ns as f64 };
        }
        let with_latest_w = (self.latest_w_ns + rest_w_ns) / (WINDOW_NS + rest_ns) as f64;
        (self.largest_w_ns / window_ns).max(rest_w_ns / window_ns).max(with_latest_w)
    }
}

/// The peak power of several mechanisms together: their windows are added up one by one, as they come to be over.
#[derive(Clone, Debug)]
pub struct PeakOfSum {
    peak: Peak,
    /// Windows of each mechanism that are over and not yet over for all, the first ones first.
    waiting: Vec<Vec<Run>>,
}

impl PeakOfSum {
    /// Of so many mechanisms.
    #[must_use]
    pub fn new(mechanisms: usize) -> Self {
        Self { peak: Peak::default(), waiting: vec![Vec::new(); mechanisms] }
    }

    /// Takes the windows that a mechanism has kept.
    pub fn take(&mut self, mechanism: usize, meter: &mut Meter) {
        self.waiting[mechanism].append(&mut meter.take_runs());
    }

    /// Adds up the windows that are over for all mechanisms.
    pub fn add_up(&mut self) {
        let lengths = self.waiting.iter().map(|runs| runs.iter().map(|run| run.windows).sum::<u64>());
        let mut left = lengths.min().unwrap_or(0);
        let mut next = vec![0; self.waiting.len()];
        while left > 0 {
            let heads = || self.waiting.iter().zip(&next).map(|(runs, &next)| runs[next]);
            let windows = heads().map(|run| run.windows).min().unwrap_or(left).min(left);
            let energy_w_ns = heads().map(|run| run.energy_w_ns).sum();
            self.peak.close(energy_w_ns, windows);
            left -= windows;
            for (runs, next) in self.waiting.iter_mut().zip(&mut next) {
                runs[*next].windows -= windows;
                *next += usize::from(runs[*next].windows == 0);
            }
        }
        for (runs, next) in self.waiting.iter_mut().zip(next) {
            runs.drain(..next);
        }
    }

    /// The largest power over a window, of mechanisms that all stand at one instant: `meters` in their order.
    #[must_use]
    pub fn power_w(&self, meters: Vec<Meter>) -> f64 {
        let mut sum = self.clone();
        let (mut rest_w_ns, mut rest_ns) = (0.0, 0);
        for (mechanism, mut meter) in meters.into_iter().enumerate() {
            let rest = meter.rest();
            rest_w_ns += rest.0;
            rest_ns = rest.1;
            sum.take(mechanism, &mut meter);
        }
        sum.add_up();
        sum.peak.power_w(rest_w_ns, rest_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power::Activity;
    use crate::time::Time;

    /// Meters of two mechanisms whose spans of 0.7 and 1.1 ms alternate between two powers.
    fn meters(until: Time) -> [Meter; 2] {
        [(700_000, [2.0, 0.25]), (1_100_000, [0.5, 4.0])].map(|(span_ns, powers_w)| {
            let mut meter = Meter::new(Activity::READY);
            meter.keep_windows();
            while meter.at() < until {
                let next = meter.at() + span_ns;
                let seeks = next.ns() / span_ns % 2 == 1;
                let activity = if seeks { Activity::SEEK } else { Activity::READY };
                meter.span(activity, next.min(until), powers_w[usize::from(seeks)]);
            }
            meter
        })
    }

    /// Power at an instant, in the middle of a tenth of a millisecond.
    fn power_w(tenth: u64) -> f64 {
        [0.25, 2.0][usize::from(tenth / 7 % 2 == 1)] + [4.0, 0.5][usize::from(tenth / 11 % 2 == 1)]
    }

    #[test]
    fn windows_of_mechanisms_are_added_up_one_by_one() {
        for tenths in [9, 10, 11, 770, 775, 1234] {
            let until = Time::from_ns(tenths * WINDOW_NS / 10);
            let mut sum = PeakOfSum::new(2);
            let mut meters = meters(until);
            // The first mechanism's windows come first; then both.
            sum.take(0, &mut meters[0]);
            sum.add_up();
            sum.take(1, &mut meters[1]);
            sum.add_up();
            assert!(sum.waiting.iter().all(Vec::is_empty));
            let mut expected = Peak::default();
            let windows = (tenths - 1) / 10;
            let energy = |from: u64, to: u64| (from..to).map(power_w).sum::<f64>() * (WINDOW_NS / 10) as f64;
            (0..windows).for_each(|window| expected.close(energy(10 * window, 10 * window + 10), 1));
            let rest_ns = (tenths - 10 * windows) * WINDOW_NS / 10;
            let expected_w = expected.power_w(energy(10 * windows, tenths), rest_ns);
            let found_w = sum.power_w(meters.to_vec());
            assert!((found_w / expected_w - 1.0).abs() < 1e-12, "{tenths} tenths: {found_w} and {expected_w}");
        }
    }
}
