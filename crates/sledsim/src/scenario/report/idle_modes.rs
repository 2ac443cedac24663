//! The idle modes of a scenario's device, outside a run.

use serde::Serialize;

use crate::devices::mems::{idle_tips, ladder};
use crate::fault::Fault;
use crate::power::{BreakEven, PowerParameters};
use crate::scenario::specs::scenario::DeviceSpec;

/// Break-even times of one mechanism of a device in certain circumstances.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BreakEvenReport {
    /// Tips that go on reading servo bursts in the ready mode; none where nothing does.
    pub idle_tips: u32,
    /// Every idle mode against the ready one, which is the first.
    pub modes: Vec<BreakEven>,
}

impl DeviceSpec {
    /// Break-even times of its idle modes, for each number of tips on while idle that matters; empty where its powers are not
    /// known.
    ///
    /// # Errors
    /// Powers that make no ladder: says which.
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

/// Break-even times of the idle modes that powers name, if they are known.
fn of_powers(power: Option<&PowerParameters>) -> Result<Vec<BreakEvenReport>, Fault> {
    let report = |power: &PowerParameters| Ok(BreakEvenReport { idle_tips: 0, modes: power.ladder()?.break_even() });
    power.map(report).into_iter().collect()
}
