//! Measures of a run at evenly spaced instants.

use sledsim::devices::Mechanism;
use sledsim::time::Time;

use crate::playback::Served;

/// Names of the numbers of a row. Percentiles and mean are of the requests completed so far.
pub const SERIES: [&str; 8] = [
    "time_ms",
    "completed",
    "mean_response_ms",
    "p95_response_ms",
    "p99_response_ms",
    "in_system",
    "utilisation",
    "energy_mj",
];

/// Number of instants.
const INSTANTS: u64 = 240;

/// Measures at [`INSTANTS`] instants.
pub struct Series {
    rows: Vec<[f64; SERIES.len()]>,
    with_energy: usize,
}

impl Series {
    /// Returns the measures of a run without the energy.
    pub fn new(served: &[Served], end_ns: u64) -> Self {
        let mut by_end: Vec<&Served> = served.iter().collect();
        by_end.sort_by_key(|served| served.service.end);
        let mut by_arrival: Vec<u64> = served.iter().map(|served| served.request.arrival.ns()).collect();
        by_arrival.sort_unstable();
        let mut responses: Vec<u64> = Vec::with_capacity(served.len());
        let mut sum_ms = 0.0;
        let mut busy_before_ns = 0;
        let mut started = 0;
        let mut rows = Vec::new();
        for instant in 0..=INSTANTS {
            let at_ns = end_ns / INSTANTS * instant;
            let at_ns = if instant == INSTANTS { end_ns } else { at_ns };
            while let Some(done) = by_end.get(responses.len()).filter(|done| done.service.end.ns() <= at_ns) {
                let response_ns = done.service.end - done.request.arrival;
                sum_ms += response_ns as f64 * 1e-6;
                responses.insert(responses.partition_point(|&other| other < response_ns), response_ns);
            }
            while let Some(begun) = served.get(started).filter(|begun| begun.service.free.ns() <= at_ns) {
                busy_before_ns += begun.service.free - begun.service.start;
                started += 1;
            }
            let under_way_ns = served.get(started).map_or(0, |begun| at_ns.saturating_sub(begun.service.start.ns()));
            let completed = responses.len();
            let arrived = by_arrival.partition_point(|&arrival| arrival <= at_ns);
            let percentile_ms = |percent: usize| {
                let rank = (completed * percent).div_ceil(100).max(1) - 1;
                responses.get(rank).map_or(0.0, |&response_ns| response_ns as f64 * 1e-6)
            };
            rows.push([
                at_ns as f64 * 1e-6,
                completed as f64,
                if completed > 0 { sum_ms / completed as f64 } else { 0.0 },
                percentile_ms(95),
                percentile_ms(99),
                (arrived - completed.min(arrived)) as f64,
                if at_ns > 0 { (busy_before_ns + under_way_ns) as f64 / at_ns as f64 } else { 0.0 },
                f64::NAN,
            ]);
        }
        Self { rows, with_energy: 0 }
    }

    /// Returns the measures of a run of several devices: utilisation and energy are absent.
    pub fn of_response_times(served: &[Served], end_ns: u64) -> Self {
        let mut series = Self::new(served, end_ns);
        series.rows.iter_mut().for_each(|row| row[6] = f64::NAN);
        series
    }

    /// Adds the energy of a device at the instants before `until`, the time of its next service.
    pub fn add_energy(&mut self, until: Time, device: &dyn Mechanism) {
        let Some(powered) = device.powered() else { return };
        while let Some(row) = self.rows.get_mut(self.with_energy) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an instant of the run")]
            let at = Time::from_ns((row[0] * 1e6).round() as u64);
            if at >= until {
                break;
            }
            row[7] = powered.ledger_before(at, until).total_j() * 1e3;
            self.with_energy += 1;
        }
    }

    /// Returns a row for each instant, as named by [`SERIES`]; without the energy if the powers of the device are unknown.
    pub fn rows(&self) -> Vec<Vec<Option<f64>>> {
        self.rows.iter().map(|row| row.iter().map(|&value| value.is_finite().then_some(value)).collect()).collect()
    }
}
