//! Policies of one's own: what they are asked and told, what a scenario says of them, and how they are brought in.
//!
//! A scenario names a policy; a [`Door`] finds it, checks its parameters and makes it. The simulator knows neither the language that
//! it is written in nor how it is loaded. The rooms that ask policies hold the rest of their contracts: [`crate::schedulers`],
//! [`crate::hierarchy::cache::replacement`], [`crate::hierarchy::array`] and [`crate::devices`].

mod choice;
mod contract;
mod mirror;
mod spec;
mod spin_down;

pub use choice::{Choice, Listed};
pub use contract::{OwnDevice, OwnReplacement, OwnScheduler, Pending};
pub use mirror::{Copies, OwnMirror};
pub use spec::{no_drawings, Door, Maker, Opened, OwnName, OwnSpec, Role};
pub(crate) use spec::{DOORS, FOLLOWING, KEYS};
pub use spin_down::OwnSpinDown;

use crate::engine::Stop;
use crate::fault::{Fault, Kind, Raised, Word};
use crate::request::{Op, Request};
use crate::time::Time;

impl Stop {
    /// A policy of one's own can't go on, for what it said.
    #[must_use]
    pub fn of_policy(says: String) -> Self {
        Self::Failed(Fault::new(Kind::Policy).says(says))
    }

    /// The same, with the policy's role, when it was and with what.
    #[must_use]
    pub fn at(&self, role: Role, now: Time, with: &str, request: Option<u64>) -> Self {
        match self {
            Self::Interrupted => Self::Interrupted,
            Self::Failed(fault) => Self::Failed(located(fault.clone(), role, now, with, request)),
        }
    }

    /// The same of a replacement policy, with the key that it was about, by what that is called, and a request: those that there are.
    #[must_use]
    pub fn at_key(&self, now: Time, (what, key): (&str, Option<u64>), request: Option<&Request>) -> Self {
        let with: Vec<String> = key.map(|key| format!("{what} {key}")).into_iter().chain(request.map(told)).collect();
        let with = if with.is_empty() { "no request".to_owned() } else { with.join(" and ") };
        self.at(Role::Replacement, now, &with, request.map(|request| request.id))
    }
}

/// Says of a fault of a policy by which key the component names it, when it was, with what, and with which request if that is known.
fn located(mut fault: Fault, role: Role, now: Time, with: &str, request: Option<u64>) -> Fault {
    fault.path = role.key().into();
    fault.words.insert(0, Word::Text(format!(" at {} s, with {with}: ", now.ns() as f64 / 1e9)));
    let raised = fault.raised.get_or_insert_default();
    *raised = Raised { at_ns: now.ns(), request, ..std::mem::take(raised) };
    fault
}

/// What messages call a request.
#[must_use]
pub fn told(request: &Request) -> String {
    let op = match request.op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Flush => return format!("request {} (flush)", request.id),
    };
    format!("request {} ({op} of {} blocks from LBN {} on)", request.id, request.blocks, request.lbn)
}
