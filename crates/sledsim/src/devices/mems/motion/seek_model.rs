//! The choice between the models of a Y seek.

use core::fmt;
use core::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Model of the time of a Y seek.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SeekModel {
    /// No springs: constant acceleration, and `2v/a` for each reversal (Griffin et al. 1999, equations 4 and 5).
    FirstOrder,
    /// Springs as in DiskSim 4.0: a move in pieces of constant force, between reversals at constant force.
    Decomposed,
    /// Springs: the shortest time of any force within the actuator's bound.
    #[default]
    TimeOptimal,
}

impl SeekModel {
    /// All models, in the order of increasing detail.
    pub const ALL: [Self; 3] = [Self::FirstOrder, Self::Decomposed, Self::TimeOptimal];

    /// Returns the name in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FirstOrder => "first-order",
            Self::Decomposed => "decomposed",
            Self::TimeOptimal => "time-optimal",
        }
    }
}

impl fmt::Display for SeekModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is not a [`SeekModel`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown seek model `{0}`: expected first-order, decomposed or time-optimal")]
pub struct UnknownSeekModel(pub String);

impl FromStr for SeekModel {
    type Err = UnknownSeekModel;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|model| model.name() == name).ok_or_else(|| UnknownSeekModel(name.to_owned()))
    }
}
