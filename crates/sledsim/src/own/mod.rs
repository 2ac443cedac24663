//! Policies of one's own: what they are asked and told, what a scenario says of them, and how they are brought in.
//!
//! A scenario names a policy; a [`Door`] finds it, checks its parameters and makes it. The simulator knows neither the language that
//! it is written in nor how it is loaded. The rooms that ask policies hold the rest of their contracts: [`crate::schedulers`], and
//! [`crate::hierarchy::cache::replacement`].

mod choice;
mod contract;
mod spec;

pub use choice::{Choice, Listed};
pub use contract::{OwnReplacement, OwnScheduler, Pending};
pub use spec::{no_drawings, Door, Maker, Opened, OwnName, OwnSpec, Role};
pub(crate) use spec::{DOORS, FOLLOWING, KEYS};

use crate::engine::Stop;
use crate::fault::{Fault, Raised, Word};
use crate::time::Time;

impl Stop {
    /// The same, with when it was and with what.
    #[must_use]
    pub fn at(&self, now: Time, with: &str) -> Self {
        match self {
            Self::Interrupted => Self::Interrupted,
            Self::Failed(fault) => Self::Failed(located(fault.clone(), now, with, None)),
        }
    }
}

/// Says of a fault of a policy when it was, with what, and with which request if that is known.
#[must_use]
pub fn located(mut fault: Fault, now: Time, with: &str, request: Option<u64>) -> Fault {
    fault.words.insert(0, Word::Text(format!(" at {} s, with {with}: ", now.ns() as f64 / 1e9)));
    let raised = fault.raised.get_or_insert_default();
    *raised = Raised { at_ns: now.ns(), request, ..std::mem::take(raised) };
    fault
}
