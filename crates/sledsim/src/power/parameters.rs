//! Power parameters of a device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ladder, Mode};
use crate::fault::Fault;
use crate::service::STATES;
use crate::time::{ms_to_ns, s_to_ns};

/// An idle mode of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IdleModeParameters {
    /// Its name in reports.
    pub name: String,
    /// Power, at most that of the mode above it.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "W"))]
    pub power_w: f64,
    /// Idle time, from the end of the last activity, after which the device enters it without a policy; never if absent. The first
    /// mode begins at once.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "s"))]
    pub after_s: Option<f64>,
    /// Time of the return to the ready mode, for which a request waits; 0 for the first mode.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "ms"))]
    pub wake_ms: f64,
    /// Power during the return, at least that of the last mode; by default that of the first mode.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "W"))]
    pub wake_w: Option<f64>,
}

/// The power of a device at work, and its idle modes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerParameters {
    /// Power during reads.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "W"))]
    pub active_read_w: f64,
    /// Power during writes.
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "W"))]
    pub active_write_w: f64,
    /// Power during seeks; by default that of the operation.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "W"))]
    pub seek_w: Option<f64>,
    /// Idle modes, from the ready mode to the one with the least power.
    #[schemars(length(min = 1, max = 6))]
    pub idle_modes: Vec<IdleModeParameters>,
}

impl PowerParameters {
    /// Returns the powers of one of `count` equal parts of the device.
    #[must_use]
    pub fn share_of(&self, count: u32) -> Self {
        let share_w = |power_w: f64| power_w / f64::from(count);
        let mode = |mode: &IdleModeParameters| IdleModeParameters {
            power_w: share_w(mode.power_w),
            wake_w: mode.wake_w.map(share_w),
            ..mode.clone()
        };
        Self {
            active_read_w: share_w(self.active_read_w),
            active_write_w: share_w(self.active_write_w),
            seek_w: self.seek_w.map(share_w),
            idle_modes: self.idle_modes.iter().map(mode).collect(),
        }
    }

    /// The idle modes.
    ///
    /// # Errors
    /// Keys of modes that contradict each other.
    pub fn ladder(&self) -> Result<Ladder, Fault> {
        for (index, pair) in self.idle_modes.windows(2).enumerate() {
            let (upper, lower) = (&pair[0], &pair[1]);
            if lower.power_w > upper.power_w {
                let key = format!("power.idle_modes.{}.power_w", index + 1);
                return Err(Fault::conflict(key, lower.power_w).says(format!(
                    " is more than the {} W of the mode above it ({:?} above {:?}): the first mode takes most, the last takes \
                     least",
                    upper.power_w, upper.name, lower.name
                )));
            }
        }
        let powers_w = |mode: Option<&IdleModeParameters>| mode.map_or(0.0, |mode| mode.power_w);
        let (ready_w, least_w) = (powers_w(self.idle_modes.first()), powers_w(self.idle_modes.last()));
        let mut modes: Vec<Mode> = Vec::with_capacity(self.idle_modes.len());
        for (index, mode) in self.idle_modes.iter().enumerate() {
            let key = |name: &str| format!("power.idle_modes.{index}.{name}");
            let name_fault =
                |text: &str| Err(Fault::conflict(key("name"), mode.name.as_str()).says(format!(": {text}")));
            if mode.name.trim().is_empty() {
                return name_fault("an idle mode has a name");
            }
            if modes.iter().any(|other| other.name == mode.name) {
                return name_fault("two idle modes of one name");
            }
            let expected = if index == 0 { "idle" } else { "inactive" };
            if mode.name == "total" || mode.name != expected && STATES.contains(&mode.name.as_str()) {
                return name_fault("the name of another state");
            }
            if let Some(wake_w) = mode.wake_w.filter(|&wake_w| wake_w < least_w) {
                return Err(Fault::conflict(key("wake_w"), wake_w).says(format!(
                    " is less than the {least_w} W of the last mode: a device that returns draws no less than one that rests"
                )));
            }
            modes.push(Mode {
                name: mode.name.clone(),
                power_w: mode.power_w,
                after_ns: if index == 0 {
                    Some(s_to_ns(mode.after_s.unwrap_or(0.0)))
                } else {
                    mode.after_s.map(s_to_ns)
                },
                wake_ns: ms_to_ns(mode.wake_ms),
                wake_w: mode.wake_w.unwrap_or(ready_w),
            });
        }
        Ladder::new(modes).map_err(|fault| fault.within("power"))
    }
}
