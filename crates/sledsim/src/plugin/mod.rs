//! Custom policies and mechanisms, loaded from outside the simulator.
//!
//! A scenario names a plugin by the keys of a [`PluginSpec`]. A [`PluginLoader`] finds it, checks its parameters and returns a
//! [`Factory`] for its [`Role`]. The factory makes instances that implement the trait of the role ([`CustomScheduler`],
//! [`CustomReplacement`], [`CustomMirror`], [`CustomSpinDown`] or [`CustomMechanism`]). When a system is assembled, an adaptor
//! makes each instance a component of the simulator:
//!
//! | role | trait | adaptor |
//! |---|---|---|
//! | scheduler | [`CustomScheduler`] | [`SchedulerAdaptor`], a [`Scheduler`](crate::schedulers::Scheduler) |
//! | replacement policy | [`CustomReplacement`] | [`ReplacementAdaptor`], a [`Replacement`](crate::hierarchy::cache::replacement::Replacement) |
//! | choice of a mirror's copy | [`CustomMirror`] | [`MirrorAdaptor`] |
//! | spin-down policy | [`CustomSpinDown`] | [`SpinDownAdaptor`], a [`Mechanism`](crate::devices::Mechanism) around another |
//! | mechanism | [`CustomMechanism`] | [`CustomDevice`], a [`Mechanism`](crate::devices::Mechanism) |
//!
//! The simulator knows neither the language of a plugin nor how it is loaded: the Python package loads classes, the crate
//! `sledsim-plugin` functions of shared libraries, and [`RustPlugins`] is the loader of plugins in Rust. A plugin that fails stops
//! the run with a [`Stop`].

mod choice;
mod contract;
pub(crate) mod document;
mod loader;
mod mechanism;
mod mirror;
mod replacement;
mod rust;
mod scheduler;
mod spec;
mod spin_down;

pub use choice::{BuiltIn, Choice};
pub use contract::{
    Copies, CustomMechanism, CustomMirror, CustomReplacement, CustomScheduler, CustomSpinDown, Pending,
};
pub use loader::{no_drawings, Factory, Loaded, PluginLoader, Role};
pub use mechanism::{CustomDevice, CustomDeviceParameters};
pub use mirror::{MirrorAdaptor, ReadPolicy};
pub use replacement::{ReplacementAdaptor, ReplacementChoice};
pub use rust::{Parameters, RustPlugin, RustPlugins};
pub use scheduler::{SchedulerAdaptor, SchedulerChoice};
pub use spec::{CustomName, PluginSpec};
pub(crate) use spec::{DERIVED_KEYS, KEYS, LOCATION_KEYS};
pub use spin_down::{SpinDownAdaptor, SpinDownChoice};

use crate::engine::Stop;
use crate::fault::{Fault, Kind, PolicyError, Word};
use crate::request::{Op, Request};
use crate::time::Time;

impl Stop {
    /// Returns the failure of a plugin, with a message.
    #[must_use]
    pub fn from_plugin(message: String) -> Self {
        Self::Failed(Fault::new(Kind::Policy).says(message))
    }

    /// Returns the same failure with the plugin's role, the time, the subject of the call, and the id of its request.
    #[must_use]
    pub fn located(&self, role: Role, now: Time, subject: &str, request: Option<u64>) -> Self {
        match self {
            Self::Interrupted => Self::Interrupted,
            Self::Failed(fault) => {
                let mut fault = fault.clone();
                fault.location.path = role.key().into();
                fault.message.insert(0, Word::Text(format!(" at {} s, with {subject}: ", now.ns() as f64 / 1e9)));
                let error = fault.policy_error.get_or_insert_default();
                *error = PolicyError { at_ns: now.ns(), request, ..std::mem::take(error) };
                Self::Failed(fault)
            }
        }
    }

    /// Returns the same failure of a replacement policy, with the time, the key, the cache's word for keys, and the request.
    #[must_use]
    pub fn located_at_key(&self, now: Time, word: &str, key: Option<u64>, request: Option<&Request>) -> Self {
        let key = key.map(|key| format!("{word} {key}"));
        let subject: Vec<String> = key.into_iter().chain(request.map(describe_request)).collect();
        let subject = if subject.is_empty() { "no request".to_owned() } else { subject.join(" and ") };
        self.located(Role::Replacement, now, &subject, request.map(|request| request.id))
    }
}

/// Returns the description of a request in messages.
#[must_use]
pub fn describe_request(request: &Request) -> String {
    let op = match request.op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Reset => "reset",
        Op::Flush => return format!("request {} (flush)", request.id),
    };
    format!("request {} ({op} of {} blocks from LBN {} on)", request.id, request.blocks, request.lbn)
}
