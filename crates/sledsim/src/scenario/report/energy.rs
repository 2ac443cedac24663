//! The part of a report on energy, power and states.

use schemars::JsonSchema;
use serde::Serialize;

use crate::power::Activity;
use crate::scenario::specs::scenario::DeviceSpec;
use crate::scenario::specs::system::SystemSpec;
use crate::service::EnergyLedger;
use crate::time::ns_to_s;

/// Energy by state.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Energy {
    /// Total over all states, J.
    pub total_j: f64,
    /// Starting up, J.
    pub startup_j: f64,
    /// Inactive, J.
    pub inactive_j: f64,
    /// Positioning, before and between passes, J.
    pub seek_j: f64,
    /// Waiting on track for a sector, J.
    pub rotation_j: f64,
    /// Servo bursts, J.
    pub servo_j: f64,
    /// Data bits, J.
    pub data_j: f64,
    /// Idle, bus transfers included, J.
    pub idle_j: f64,
    /// Sum of positioning, rotation, servo and data, J.
    pub servicing_j: f64,
    /// Mean power: total energy divided by the length of the window, W.
    pub mean_power_w: f64,
    /// Total energy divided by the number of requests completed in the window, mJ; none without requests.
    pub per_request_mj: Option<f64>,
    /// Number of start-ups.
    pub startups: u64,
    /// Maximum power of all mechanisms together, averaged over a millisecond, W. Milliseconds are counted from the
    /// start of the window. An incomplete last one counts with no power for its rest, and also averaged together with
    /// the millisecond before it, so that the peak is never below the mean.
    pub peak_power_w: f64,
    /// Total energy of an ideal spin-down policy, which knows the lengths of all idle periods, for the same idle
    /// periods, J.
    pub hindsight_j: f64,
    /// Each state of the device, idle modes by name. Energies add up to `total_j` in this order, times to the length of
    /// the window times the number of mechanisms. Empty if devices of the system have different states.
    pub states: Vec<StateEnergy>,
}

/// Energy in a state.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StateEnergy {
    /// Its name.
    pub state: String,
    /// Time in the state, s.
    pub time_s: f64,
    /// Time in the state, ns.
    pub time_ns: u64,
    /// Energy, J.
    pub energy_j: f64,
    /// Number of times it was entered, without the initial state of the window.
    pub entered: u64,
}

/// Time by state.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StateTime {
    /// Starting up, s.
    pub startup_s: f64,
    /// Inactive, s.
    pub inactive_s: f64,
    /// Positioning, s.
    pub seek_s: f64,
    /// Waiting on track for a sector, s.
    pub rotation_s: f64,
    /// Servo bursts, s.
    pub servo_s: f64,
    /// Data bits, s.
    pub data_s: f64,
    /// Idle, s.
    pub idle_s: f64,
}

/// The input of an energy report in addition to the ledger.
pub(in crate::scenario) struct EnergyFacts {
    /// Activities of the mechanisms, with names; empty if these differ.
    pub activities: Vec<(String, Activity)>,
    pub window_s: f64,
    pub requests: u64,
    pub peak_power_w: f64,
}

impl DeviceSpec {
    /// Returns the activities of a mechanism of the device with names: start-up if there are several modes, the idle
    /// modes, and kinds of work.
    pub(in crate::scenario) fn activities(&self) -> Vec<(String, Activity)> {
        let modes = self.idle_modes();
        let startup = (modes.len() > 1).then(|| ("startup".to_owned(), Activity::STARTUP));
        let modes = modes.into_iter().enumerate().map(|(mode, name)| (name, Activity::idle(mode)));
        let work: &[(&str, Activity)] = match self {
            Self::Mems(_) => &[("seek", Activity::SEEK), ("servo", Activity::SERVO), ("data", Activity::DATA)],
            Self::Disk(_) => &[("seek", Activity::SEEK), ("rotation", Activity::ROTATION), ("data", Activity::DATA)],
            Self::SimplediskConstant(_) | Self::SimplediskLinear(_) => &[("seek", Activity::SEEK)],
            Self::Custom(_) => &[("seek", Activity::SEEK), ("data", Activity::DATA)],
        };
        startup
            .into_iter()
            .chain(modes)
            .chain(work.iter().map(|&(name, activity)| (name.to_owned(), activity)))
            .collect()
    }
}

impl SystemSpec {
    /// Returns the activities of the mechanisms of all devices with names; empty if devices differ.
    pub(in crate::scenario) fn common_activities(&self) -> Vec<(String, Activity)> {
        let mut all = self.drives().into_iter().map(|drive| drive.device.activities());
        let first = all.next().unwrap_or_default();
        if all.all(|other| other == first) {
            first
        } else {
            Vec::new()
        }
    }

    /// Returns the activities of the mechanisms of any device; different names of one activity are joined.
    pub(in crate::scenario) fn activities(&self) -> Vec<(String, Activity)> {
        let mut found: Vec<(Vec<String>, Activity)> = Vec::new();
        for (name, activity) in self.drives().into_iter().flat_map(|drive| drive.device.activities()) {
            match found.iter_mut().find(|(_, known)| *known == activity) {
                Some((names, _)) if names.contains(&name) => {}
                Some((names, _)) => names.push(name),
                None => found.push((vec![name], activity)),
            }
        }
        found.into_iter().map(|(names, activity)| (names.join("/"), activity)).collect()
    }
}

impl StateEnergy {
    fn new(name: &str, activity: Activity, ledger: &EnergyLedger) -> Self {
        let state = activity.state() as usize;
        let (time_ns, energy_j, entered) = match activity.mode() {
            Some(mode) => {
                let spell = &ledger.modes[mode];
                (spell.time_ns, spell.energy_j, spell.entered)
            }
            None => (ledger.time_ns[state], ledger.energy_j[state], ledger.entered[state]),
        };
        Self { state: name.to_owned(), time_s: ns_to_s(time_ns), time_ns, energy_j, entered }
    }
}

impl Energy {
    pub(in crate::scenario) fn new(ledger: &EnergyLedger, facts: &EnergyFacts) -> Self {
        let EnergyFacts { window_s, requests, .. } = *facts;
        let [inactive_j, startup_j, seek_j, rotation_j, servo_j, data_j, idle_j] = ledger.energy_j;
        let states: Vec<StateEnergy> =
            facts.activities.iter().map(|(name, activity)| StateEnergy::new(name, *activity, ledger)).collect();
        let total_j = match states.as_slice() {
            [] => ledger.energy_j.iter().sum(),
            states => states.iter().map(|state| state.energy_j).sum(),
        };
        let mean_power_w = if window_s > 0.0 { total_j / window_s } else { 0.0 };
        Self {
            total_j,
            startup_j,
            inactive_j,
            seek_j,
            rotation_j,
            servo_j,
            data_j,
            idle_j,
            servicing_j: seek_j + rotation_j + servo_j + data_j,
            mean_power_w,
            per_request_mj: (requests > 0).then(|| total_j * 1e3 / requests as f64),
            startups: ledger.startups(),
            // At constant power, they differ by rounding only.
            peak_power_w: facts.peak_power_w.max(mean_power_w),
            hindsight_j: total_j - ledger.regret_j,
            states,
        }
    }
}

impl StateTime {
    pub(in crate::scenario) fn new(ledger: &EnergyLedger) -> Self {
        let [inactive_s, startup_s, seek_s, rotation_s, servo_s, data_s, idle_s] = ledger.time_ns.map(ns_to_s);
        Self { startup_s, inactive_s, seek_s, rotation_s, servo_s, data_s, idle_s }
    }
}
