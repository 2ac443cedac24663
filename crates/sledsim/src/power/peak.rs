//! Peak power: the largest energy of a millisecond, over the length of that millisecond.

use super::account::{EnergyAccount, Run};

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
    /// Adds past windows of equal energy (W·ns).
    #[inline]
    pub fn close(&mut self, energy_w_ns: f64, windows: u64) {
        self.largest_w_ns = self.largest_w_ns.max(energy_w_ns);
        self.latest_w_ns = energy_w_ns;
        self.total_w_ns += energy_w_ns * windows as f64;
        self.windows += windows;
    }

    /// Returns the energy of all past windows, W·ns.
    #[must_use]
    pub fn energy_w_ns(&self) -> f64 {
        self.total_w_ns
    }

    /// Returns the largest power over a window; `rest_w_ns` is the energy of an unfinished window, which is `rest_ns` long.
    ///
    /// The mean power of an unfinished window is no peak, because it may be that of a single pass. The window counts as if nothing were drawn in
    /// the rest of it, and over its own length together with the window before it, so that the peak is never below the mean power.
    /// Without a window before it, it counts over its own length.
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

/// The peak power of several mechanisms together: the sum of their windows, one by one, once they are past for all.
#[derive(Clone, Debug)]
pub struct PeakOfSum {
    peak: Peak,
    /// Windows of each mechanism that are not yet past for all, in the order of time.
    waiting: Vec<Vec<Run>>,
}

impl PeakOfSum {
    /// Returns the peak of a number of mechanisms that have drawn nothing.
    #[must_use]
    pub fn new(mechanisms: usize) -> Self {
        Self { peak: Peak::default(), waiting: vec![Vec::new(); mechanisms] }
    }

    /// Takes the past windows that the account of a mechanism has kept.
    pub fn take(&mut self, mechanism: usize, account: &mut EnergyAccount) {
        self.waiting[mechanism].append(&mut account.take_runs());
    }

    /// Adds up the windows that are past for all mechanisms.
    pub fn add_up(&mut self) {
        let lengths = self.waiting.iter().map(|runs| runs.iter().map(|run| run.windows).sum::<u64>());
        let past = lengths.min().unwrap_or(0);
        if past == 0 {
            return;
        }
        // The present run of each mechanism: its index, its energy, and its end as a number of windows from the first.
        let mut present = vec![0; self.waiting.len()];
        let mut energies_w_ns: Vec<f64> = self.waiting.iter().map(|runs| runs[0].energy_w_ns).collect();
        let mut ends: Vec<u64> = self.waiting.iter().map(|runs| runs[0].windows).collect();
        let mut at = 0;
        while at < past {
            let until = ends.iter().copied().min().unwrap_or(past).min(past);
            self.peak.close(energies_w_ns.iter().sum(), until - at);
            at = until;
            if at == past {
                break;
            }
            for (mechanism, end) in ends.iter_mut().enumerate().filter(|(_, end)| **end == at) {
                present[mechanism] += 1;
                let run = self.waiting[mechanism][present[mechanism]];
                energies_w_ns[mechanism] = run.energy_w_ns;
                *end += run.windows;
            }
        }
        for ((runs, present), end) in self.waiting.iter_mut().zip(present).zip(ends) {
            runs[present].windows = end - past;
            runs.drain(..present + usize::from(end == past));
        }
    }

    /// Returns the largest power over a window. `accounts` are those of the mechanisms, in their order, all up to one instant.
    #[must_use]
    pub fn power_w(&self, accounts: Vec<EnergyAccount>) -> f64 {
        let mut sum = self.clone();
        let (mut rest_w_ns, mut rest_ns) = (0.0, 0);
        for (mechanism, mut account) in accounts.into_iter().enumerate() {
            let window = account.open_window();
            rest_w_ns += window.energy_w_ns;
            rest_ns = window.ns;
            sum.take(mechanism, &mut account);
        }
        sum.add_up();
        sum.peak.power_w(rest_w_ns, rest_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power::{Activity, Level, LevelPower, PowerTable};
    use crate::request::Op;
    use crate::time::Time;

    /// Returns the accounts of two mechanisms that alternate between two powers every 0.7 and 1.1 ms.
    fn accounts(until: Time) -> [EnergyAccount; 2] {
        let (ready, seek) = (Level::idle(0), Level::work(Activity::SEEK, Op::Read));
        [(700_000, [2.0, 0.25]), (1_100_000, [0.5, 4.0])].map(|(interval_ns, [ready_w, seek_w])| {
            let powers = PowerTable::default()
                .with(ready, LevelPower::constant(ready_w))
                .with(seek, LevelPower::constant(seek_w));
            let mut account = EnergyAccount::new(Activity::READY, powers);
            account.keep_windows();
            while account.at() < until {
                let next = account.at() + interval_ns;
                let level = if next.ns() / interval_ns % 2 == 1 { seek } else { ready };
                account.add(level, 0, next.min(until));
            }
            account
        })
    }

    /// Power at an instant, in the middle of a tenth of a millisecond.
    fn power_w(tenth: u64) -> f64 {
        [0.25, 2.0][usize::from(tenth / 7 % 2 == 1)] + [4.0, 0.5][usize::from(tenth / 11 % 2 == 1)]
    }

    #[test]
    fn windows_of_mechanisms_are_added_one_by_one() {
        for tenths in [9, 10, 11, 770, 775, 1234] {
            let until = Time::from_ns(tenths * WINDOW_NS / 10);
            let mut sum = PeakOfSum::new(2);
            let mut accounts = accounts(until);
            // The first mechanism's windows come first; then both.
            sum.take(0, &mut accounts[0]);
            sum.add_up();
            sum.take(1, &mut accounts[1]);
            sum.add_up();
            assert!(sum.waiting.iter().all(Vec::is_empty));
            let mut expected = Peak::default();
            let windows = (tenths - 1) / 10;
            let energy = |from: u64, to: u64| (from..to).map(power_w).sum::<f64>() * (WINDOW_NS / 10) as f64;
            (0..windows).for_each(|window| expected.close(energy(10 * window, 10 * window + 10), 1));
            let rest_ns = (tenths - 10 * windows) * WINDOW_NS / 10;
            let expected_w = expected.power_w(energy(10 * windows, tenths), rest_ns);
            let found_w = sum.power_w(accounts.to_vec());
            assert!((found_w / expected_w - 1.0).abs() < 1e-12, "{tenths} tenths: {found_w} and {expected_w}");
        }
    }
}
