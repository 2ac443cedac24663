//! The reference runs of DiskSim 4.0, and the same runs by Sledsim.

use std::path::Path;
use std::sync::OnceLock;

use sledsim::scenario::Report;
use sledsim_testing::reference;

use crate::recorded::{loaded, number, repeated, share_within, Row};

/// DiskSim's figures, in ms and J. DiskSim omits the idle energy before each spin-down, so it is added to the idle
/// energy and to the total.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    pub response_ms: f64,
    pub seek_ms: f64,
    pub seek_x_ms: f64,
    pub seek_y_ms: f64,
    pub total_j: f64,
    pub servicing_j: f64,
    pub startup_j: f64,
    pub inactive_j: f64,
    pub idle_j: f64,
}

/// A run of DiskSim and its repetition.
#[derive(Clone, Debug)]
pub struct Case {
    pub id: String,
    pub device: String,
    pub spring: f64,
    pub workload: String,
    pub iat_ms: f64,
    pub scheduler: String,
    pub over: String,
    /// Idle time after which the sled stops; `None` for never.
    pub inactive_ms: Option<f64>,
    pub disksim: Figures,
    pub ours: Figures,
    /// Response times of single requests in the order of arrival, ms: DiskSim's, ours.
    pub responses_ms: Vec<(f64, f64)>,
}

impl Case {
    /// FCFS with so little load that requests rarely wait.
    pub fn light_load(&self) -> bool {
        self.scheduler == "fcfs" && self.iat_ms >= 10.0
    }

    /// Above a mean response of 10 ms, a run measures how long the device was overloaded, not how fast it is.
    pub fn saturated(&self) -> bool {
        self.disksim.response_ms > 10.0
    }

    /// Key common to runs that differ only in their scheduler.
    pub fn group(&self) -> String {
        format!("{} {} {} {} {}", self.device, self.spring, self.workload, self.iat_ms, self.over)
    }

    /// Returns the deviation of a figure of Sledsim from DiskSim's, percent, without the rounding of DiskSim's to six
    /// decimals.
    pub fn deviation(&self, figure: impl Fn(&Figures) -> f64) -> f64 {
        const ROUNDING: f64 = 0.5e-6;
        let (ours, disksim) = (figure(&self.ours), figure(&self.disksim));
        let excess = (ours - disksim).abs() - ROUNDING;
        if excess <= 0.0 {
            0.0
        } else {
            (ours - disksim).signum() * excess / disksim * 100.0
        }
    }

    /// Share of requests whose response is within `tolerance_ms` of DiskSim's.
    pub fn share_within(&self, tolerance_ms: f64) -> f64 {
        share_within(&self.responses_ms, tolerance_ms)
    }
}

/// All cases, run once for all tests of this file; `None` without the reference data.
pub fn cases() -> Option<&'static [Case]> {
    static CASES: OnceLock<Option<Vec<Case>>> = OnceLock::new();
    CASES.get_or_init(|| reference("reference/mems/cases.csv").map(|list| loaded(&list, 64, replay))).as_deref()
}

/// Returns the settings of a case.
fn settings(row: &Row) -> Vec<String> {
    let mut settings = vec![
        format!("device={}", row["device"]),
        format!("device.spring_factor={}", row["spring"]),
        "device.seek_model=decomposed".to_owned(),
        "device.idle=hold".to_owned(),
    ];
    if !row["inactive_ms"].is_empty() {
        settings.push(format!("device.inactive_after_ms={}", row["inactive_ms"]));
    }
    for change in row["over"].split(';').filter(|change| !change.is_empty()) {
        let (parameter, value) = change.split_once('=').expect("parameter=value");
        let value: f64 = value.parse().expect("a number");
        settings.push(match parameter {
            "Settling time constants" => format!("device.settle_constants={value}"),
            "Sled acceleration X" => format!("device.acceleration_x_m_s2={value}"),
            "Sled acceleration Y" => format!("device.acceleration_y_m_s2={value}"),
            "Sled access speed" => format!("device.bit_rate_kbit_s={}", value / 1e3),
            other => panic!("no key for DiskSim's {other:?}"),
        });
    }
    settings
}

fn replay(row: &Row, folder: &Path, temporary: &Path) -> Case {
    let (report, responses_ms) = repeated(row, folder, temporary, settings(row));
    Case {
        id: row["id"].clone(),
        device: row["device"].clone(),
        spring: number(row, "spring"),
        workload: row["workload"].clone(),
        iat_ms: number(row, "iat_ms"),
        scheduler: row["scheduler"].clone(),
        over: row["over"].clone(),
        inactive_ms: (!row["inactive_ms"].is_empty()).then(|| number(row, "inactive_ms")),
        disksim: disksim(row),
        ours: ours(&report),
        responses_ms,
    }
}

fn disksim(row: &Row) -> Figures {
    const IDLE_W: f64 = 0.1;
    const STARTUP_J: f64 = 5e-5;
    let startup_j = number(row, "energy_startup_j");
    let timeout_s = if row["inactive_ms"].is_empty() { 0.0 } else { number(row, "inactive_ms") * 1e-3 };
    let forgotten_j = startup_j / STARTUP_J * timeout_s * IDLE_W;
    Figures {
        response_ms: number(row, "resp_mean_ms"),
        seek_ms: number(row, "seek_mean_ms"),
        seek_x_ms: number(row, "seekx_mean_ms"),
        seek_y_ms: number(row, "seeky_mean_ms"),
        total_j: number(row, "energy_total_j") + forgotten_j,
        servicing_j: number(row, "energy_servicing_j"),
        startup_j,
        inactive_j: number(row, "energy_inactive_j"),
        idle_j: number(row, "energy_idle_j") + forgotten_j,
    }
}

fn ours(report: &Report) -> Figures {
    let energy = report.energy.as_ref().expect("the powers of MEMS devices are known");
    Figures {
        response_ms: report.response.as_ref().expect("requests were measured").mean_ms,
        seek_ms: report.phases.seek.mean_ms,
        seek_x_ms: report.phases.seek_x.mean_ms,
        seek_y_ms: report.phases.seek_y.mean_ms,
        total_j: energy.total_j,
        servicing_j: energy.servicing_j,
        startup_j: energy.startup_j,
        inactive_j: energy.inactive_j,
        idle_j: energy.idle_j,
    }
}
