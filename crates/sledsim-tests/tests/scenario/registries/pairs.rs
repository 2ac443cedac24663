//! Arrivals in pairs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Gaps, Open, Process, ProcessSpec};
use crate::engine::random::Stream;
use crate::fault::{Fault, Faults};
use crate::registry::check_ranges;

/// Two requests at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Time from one pair to the next, ms.
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0))]
    pub every_ms: f64,
}

impl ProcessSpec for Spec {
    fn validate(&self) -> Result<(), Faults> {
        check_ranges(self)
    }

    fn start(&self, time_scale: f64, stream: Stream) -> Result<Box<dyn Process>, Fault> {
        Ok(Open::boxed(Pairs { every_ns: self.every_ms * 1e6, is_second: false }, time_scale, stream))
    }
}

#[derive(Debug)]
struct Pairs {
    every_ns: f64,
    is_second: bool,
}

impl Gaps for Pairs {
    fn draw_ns(&mut self, _stream: &mut Stream) -> f64 {
        let gap_ns = if self.is_second { 0.0 } else { self.every_ns };
        self.is_second = !self.is_second;
        gap_ns
    }
}
