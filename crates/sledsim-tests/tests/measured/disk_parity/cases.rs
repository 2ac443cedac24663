//! The reference runs of DiskSim 4.0's disks, and the same runs by Sledsim.

use std::path::Path;
use std::sync::OnceLock;

use sledsim_testing::reference;

use crate::recorded::{loaded, number, repeated, share_within, Row};

/// Response times of a run, ms.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    pub mean_ms: f64,
    pub p99_ms: f64,
}

impl Figures {
    /// Computes the figures from single response times. The percentile is interpolated between the two nearest ranks,
    /// as in the list of cases.
    fn of(responses_ms: impl Iterator<Item = f64>) -> Self {
        let mut sorted_ms: Vec<f64> = responses_ms.collect();
        sorted_ms.sort_by(f64::total_cmp);
        let mean_ms = sorted_ms.iter().sum::<f64>() / sorted_ms.len() as f64;
        let rank = 0.99 * (sorted_ms.len() - 1) as f64;
        let (below_ms, above_ms) = (sorted_ms[rank as usize], sorted_ms[rank.ceil() as usize]);
        Self { mean_ms, p99_ms: below_ms + rank.fract() * (above_ms - below_ms) }
    }
}

/// A run of DiskSim and its repetition.
#[derive(Clone, Debug)]
pub struct Case {
    pub id: String,
    pub drive: String,
    pub workload: String,
    pub iat_ms: f64,
    pub reads: f64,
    pub cache: bool,
    pub scheduler: String,
    pub disksim: Figures,
    pub ours: Figures,
    /// Response times of single requests in the order of arrival, ms: DiskSim's, ours.
    pub responses_ms: Vec<(f64, f64)>,
}

impl Case {
    /// FCFS with so little load that requests rarely wait.
    pub fn light_load(&self) -> bool {
        self.scheduler == "fcfs" && self.iat_ms >= 20.0
    }

    /// From a mean response of 100 ms on, a run measures how long the drive was overloaded, not how fast it is.
    pub fn saturated(&self) -> bool {
        self.disksim.mean_ms >= 100.0
    }

    /// Key common to runs that differ only in their scheduler.
    pub fn group(&self) -> String {
        format!("{} {} {} {}", self.drive, self.workload, self.iat_ms, self.cache)
    }

    /// Returns the deviation of a figure of Sledsim from DiskSim's, percent.
    pub fn deviation(&self, figure: impl Fn(&Figures) -> f64) -> f64 {
        (figure(&self.ours) / figure(&self.disksim) - 1.0) * 100.0
    }

    /// Share of requests whose response is within `tolerance_ms` of DiskSim's.
    pub fn share_within(&self, tolerance_ms: f64) -> f64 {
        share_within(&self.responses_ms, tolerance_ms)
    }
}

/// All cases, run once for all tests of this file; `None` without the reference data.
pub fn cases() -> Option<&'static [Case]> {
    static CASES: OnceLock<Option<Vec<Case>>> = OnceLock::new();
    CASES.get_or_init(|| reference("reference/disk/cases.csv").map(|list| loaded(&list, 48, replay))).as_deref()
}

/// Returns the settings of a case.
fn settings(row: &Row) -> Vec<String> {
    let mut settings = vec![format!("device={}", row["drive"])];
    if row["scheduler"] == "vscan" {
        // DiskSim 4.0 does not apply the penalty for reversing: its V(R) is V(0).
        settings.push("scheduler.r=0".to_owned());
    }
    if row["cache"] == "0" {
        let off = ["buffer_caching=false", "read_ahead=none", "fast_write=none"];
        settings.extend(off.map(|setting| format!("device.{setting}")));
    }
    settings
}

fn replay(row: &Row, folder: &Path, temporary: &Path) -> Case {
    let (_, responses_ms) = repeated(row, folder, temporary, settings(row));
    let disksim = Figures::of(responses_ms.iter().map(|it| it.0));
    assert!((disksim.mean_ms - number(row, "resp_mean_ms")).abs() < 1e-5, "{}: the mean of the list", row["id"]);
    assert!((disksim.p99_ms - number(row, "resp_p99_ms")).abs() < 1e-5, "{}: the percentile of the list", row["id"]);
    Case {
        id: row["id"].clone(),
        drive: row["drive"].clone(),
        workload: row["workload"].clone(),
        iat_ms: number(row, "iat_ms"),
        reads: number(row, "reads"),
        cache: row["cache"] == "1",
        scheduler: row["scheduler"].clone(),
        disksim,
        ours: Figures::of(responses_ms.iter().map(|it| it.1)),
        responses_ms,
    }
}
