//! Break-even times of the idle modes of a scenario's device, without a run.

use serde::Serialize;

use crate::devices::mems::{idle_tips, ladder};
use crate::fault::Fault;
use crate::power::{BreakEven, PowerParameters};
use crate::scenario::specs::scenario::DeviceSpec;

/// Break-even times of one mechanism, for a number of tips that are active while idle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BreakEvenReport {
    /// Number of tips that read servo bursts in the ready mode; none for a device without such tips.
    pub idle_tips: u32,
    /// Each idle mode compared with the ready mode, which is the first.
    pub modes: Vec<BreakEven>,
}

impl DeviceSpec {
    /// Returns the break-even times of its idle modes, for each possible number of tips that are active while idle;
    /// empty if its powers are unknown.
    ///
    /// # Errors
    /// The powers of the idle modes do not fall from mode to mode.
    pub fn break_even(&self) -> Result<Vec<BreakEvenReport>, Fault> {
        match self {
            Self::Mems(parameters) => idle_tips(parameters)
                .into_iter()
                .map(|tips| {
                    let ladder =
                        ladder(parameters, tips).map_err(|fault| fault.within("system.device").about(self.name()))?;
                    Ok(BreakEvenReport { idle_tips: tips, modes: ladder.break_even() })
                })
                .collect(),
            Self::Disk(parameters) => of_powers(parameters.power.as_ref()),
            Self::SimplediskConstant(parameters) => of_powers(parameters.power.as_ref()),
            Self::SimplediskLinear(parameters) => of_powers(parameters.power.as_ref()),
            Self::Custom(parameters) => of_powers(parameters.power.as_ref()),
        }
    }
}

/// Returns the break-even times of the idle modes of power parameters; empty if they are unknown.
fn of_powers(power: Option<&PowerParameters>) -> Result<Vec<BreakEvenReport>, Fault> {
    let report = |power: &PowerParameters| Ok(BreakEvenReport { idle_tips: 0, modes: power.ladder()?.break_even() });
    power.map(report).into_iter().collect()
}
