//! The spin-down policy at work on a device: one of the list, the device's own timeouts, or a policy of one's own, which tells idle
//! times to the others' mechanics.

use std::fmt;
use std::ops::Deref;

use crate::engine::Stop;
use crate::fault::Faults;
use crate::own::{told, Choice, Listed, OwnSpinDown, Role};
use crate::power::{Ladder, SpinDown, SpinDownSpec};
use crate::request::Request;
use crate::service::MODES;
use crate::time::Time;

/// One of the list, or one's own.
pub type SpinDownChoice = Choice<SpinDownSpec>;

impl Listed for SpinDownSpec {
    fn listed_name(&self) -> &'static str {
        self.name()
    }

    fn check(&self) -> Result<(), Faults> {
        Ok(())
    }
}

/// A spin-down policy at work.
#[derive(Clone, Debug)]
pub struct IdlePolicy {
    at_work: SpinDown,
    own: Option<Box<Asked>>,
}

/// A policy of one's own, which is asked.
#[derive(Clone)]
struct Asked {
    policy: Box<dyn OwnSpinDown>,
    /// Why it can't go on, and since when.
    stop: Option<(Stop, Time)>,
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked").field("stop", &self.stop).finish_non_exhaustive()
    }
}

impl Deref for IdlePolicy {
    type Target = SpinDown;

    fn deref(&self) -> &SpinDown {
        &self.at_work
    }
}

impl IdlePolicy {
    /// One of the list; the modes' own times without one.
    #[must_use]
    pub(super) fn new(listed: Option<&SpinDownSpec>, ladder: Ladder) -> Self {
        Self { at_work: SpinDown::new(listed, ladder), own: None }
    }

    /// From now on, before anything has happened, a policy of one's own says when the device enters its modes.
    pub fn obey(&mut self, policy: Box<dyn OwnSpinDown>) {
        self.at_work = SpinDown::new(None, self.at_work.ladder().clone());
        self.own = Some(Box::new(Asked { policy, stop: None }));
        self.ask(Time::ZERO);
    }

    /// Whether that is a policy of one's own.
    #[inline]
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// See [`SpinDown::set_ready_w`].
    #[inline]
    pub(super) fn set_ready_w(&mut self, power_w: f64) {
        self.at_work.set_ready_w(power_w);
    }

    /// Hears that a request dispatched at `now` ended an idle period after so long.
    #[inline]
    pub(super) fn ended(&mut self, now: Time, idle_ns: u64) {
        self.at_work.ended(idle_ns);
        if let (Some(own), true) = (&mut self.own, idle_ns > 0) {
            own.hear(now, |policy| policy.ended(now, idle_ns, self.at_work.ladder().modes()));
        }
    }

    /// The device will have served a request when it is free: a policy of one's own says what comes then, if nothing else does.
    pub fn served(&mut self, free: Time, request: &Request) {
        let Some(own) = &mut self.own else { return };
        own.hear(free, |policy| policy.served(free, request));
        self.ask(free);
        if let Some(Asked { stop: Some((stop, since)), .. }) = self.own.as_deref_mut() {
            // Those that have their place are passed on as they are.
            if !matches!(stop, Stop::Failed(fault) if !fault.path.is_empty()) {
                *stop = stop.at(Role::SpinDown, *since, &told(request), Some(request.id));
            }
        }
    }

    /// Why a policy of one's own can't go on, if it can't.
    #[must_use]
    pub fn stop(&self) -> Option<Stop> {
        let (stop, since) = self.own.as_ref()?.stop.as_ref()?;
        match stop {
            Stop::Failed(fault) if fault.path.is_empty() => Some(stop.at(Role::SpinDown, *since, "no request", None)),
            stop => Some(stop.clone()),
        }
    }

    fn ask(&mut self, now: Time) {
        let Some(own) = &mut self.own else { return };
        let modes = self.at_work.ladder().modes();
        let mut after_ns = [u64::MAX; MODES];
        for (mode, after_ns) in after_ns.iter_mut().enumerate().take(modes.len()).skip(1) {
            let Some(told) = own.hear(now, |policy| policy.after_ns(now, mode, modes)) else { return };
            *after_ns = told.unwrap_or(u64::MAX);
        }
        self.at_work.enter_after(&after_ns);
    }
}

impl Asked {
    /// Tells it something, or asks; nothing once it can't go on.
    fn hear<T>(&mut self, now: Time, call: impl FnOnce(&mut dyn OwnSpinDown) -> Result<T, Stop>) -> Option<T> {
        if self.stop.is_some() {
            return None;
        }
        match call(self.policy.as_mut()) {
            Ok(answer) => Some(answer),
            Err(stop) => {
                self.stop = Some((stop, now));
                None
            }
        }
    }
}
