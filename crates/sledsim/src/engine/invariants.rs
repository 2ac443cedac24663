//! The rules between components, checked while a system runs: in builds with debug assertions, and where a run asks for it.

use std::collections::HashMap;

use crate::engine::component::{Completion, ComponentId};
use crate::engine::queue::Event;
use crate::request::Request;
use crate::time::Time;

/// What is under way between components, and the first rule that was broken.
#[derive(Clone, Debug, Default)]
pub(super) struct InvariantChecker {
    /// Requests submitted and not completed, by whose they are to serve and id.
    under_way: HashMap<(ComponentId, u64), Request>,
    /// The latest event.
    last: Option<(Time, u64)>,
    broken: Option<String>,
}

/// The ledger of a system, if it keeps one: from the start in builds with debug assertions.
#[derive(Clone, Debug)]
pub(super) struct Kept(pub(super) Option<Box<InvariantChecker>>);

impl Default for Kept {
    fn default() -> Self {
        Self(cfg!(debug_assertions).then(Box::default))
    }
}

impl InvariantChecker {
    /// A rule does not hold.
    ///
    /// # Panics
    /// In builds with debug assertions.
    pub(super) fn broken(&mut self, rule: String) {
        debug_assert!(false, "{rule}");
        self.broken.get_or_insert(rule);
    }

    /// What was broken first.
    pub(super) fn first_broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// A request goes to a component of so many blocks, and fits it.
    pub(super) fn submitted(&mut self, to: ComponentId, request: &Request, capacity_blocks: u64) {
        if !request.fits(capacity_blocks) {
            self.broken(format!("{request:?} does not fit the {capacity_blocks} blocks of {to:?}"));
        }
        if let Some(other) = self.under_way.insert((to, request.id), *request) {
            self.broken(format!("{request:?} has the id of {other:?}, which is under way at {to:?}"));
        }
    }

    /// A component completes a request at `now`: once, as it was submitted.
    pub(super) fn completed(&mut self, from: ComponentId, completion: &Completion, now: Time) {
        let Completion { request, service, .. } = completion;
        match self.under_way.remove(&(from, request.id)) {
            None => self.broken(format!("{from:?} completes {request:?}, which is not under way there")),
            Some(submitted) if submitted != *request => {
                self.broken(format!("{from:?} gives back {submitted:?} changed to {request:?}"));
            }
            Some(_) => {}
        }
        if !(service.start <= service.end && service.end == now) {
            self.broken(format!("{from:?} completes {request:?} at {now:?}, which is not the end of {service:?}"));
        }
    }

    /// A timer fires: by time, and in the order of setting within an instant.
    pub(super) fn fired(&mut self, event: &Event) {
        let at = (event.time, event.sequence);
        if self.last.is_some_and(|last| last >= at) {
            self.broken(format!("{event:?} fires after {:?}", self.last));
        }
        self.last = Some(at);
    }

    /// Whether nothing is under way between components.
    pub(super) fn is_at_rest(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Requests under way at a component.
    pub(super) fn under_way(&self, component: ComponentId) -> u64 {
        self.under_way.keys().filter(|(at, _)| *at == component).count() as u64
    }

    /// Power is gone: nothing is under way, and events are numbered anew.
    pub(super) fn lose_power(&mut self) {
        self.under_way.clear();
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::component::Completion;
    use crate::request::{Flags, Op, Padding};
    use crate::service::Service;

    const THERE: ComponentId = ComponentId(3);

    fn request(id: u64, lbn: u64) -> Request {
        let (op, flags, padding) = (Op::Read, Flags::NONE, Padding::NONE);
        Request { id, arrival: Time::ZERO, lbn, blocks: 2, op, flags, origin: 0, padding }
    }

    fn done(request: Request, at_ns: u64) -> Completion {
        let at = Time::from_ns(at_ns);
        Completion::of(request, Service { start: Time::ZERO, end: at, free: at, ..Service::default() })
    }

    fn event(time_ns: u64, sequence: u64) -> Event {
        Event { time: Time::from_ns(time_ns), sequence, target: THERE, tag: 0 }
    }

    /// Each breach of a rule, and a word of what is said of it.
    #[test]
    fn every_breach_is_told() {
        type Act = fn(&mut InvariantChecker);
        let breaches: [(&str, Act); 7] = [
            ("does not fit the 9 blocks", |ledger| ledger.submitted(THERE, &request(0, 8), 9)),
            ("has the id of", |ledger| (0..2).for_each(|lbn| ledger.submitted(THERE, &request(0, lbn), 9))),
            ("not under way there", |ledger| ledger.completed(THERE, &done(request(0, 0), 5), Time::from_ns(5))),
            ("not under way there", |ledger| {
                ledger.submitted(THERE, &request(0, 0), 9);
                (0..2).for_each(|_| ledger.completed(THERE, &done(request(0, 0), 5), Time::from_ns(5)));
            }),
            ("changed to Request", |ledger| {
                ledger.submitted(THERE, &request(0, 0), 9);
                ledger.completed(THERE, &done(request(0, 1), 5), Time::from_ns(5));
            }),
            ("Time(6), which is not the end of", |ledger| {
                ledger.submitted(THERE, &request(0, 0), 9);
                ledger.completed(THERE, &done(request(0, 0), 5), Time::from_ns(6));
            }),
            ("fires after", |ledger| {
                [(5, 1), (5, 0)].iter().for_each(|&(at, number)| ledger.fired(&event(at, number)))
            }),
        ];
        for (word, act) in breaches {
            let told = std::panic::catch_unwind(|| {
                let mut ledger = InvariantChecker::default();
                act(&mut ledger);
                ledger.first_broken().map(str::to_owned)
            });
            // With debug assertions the breach itself panics, and says the same.
            let told = told.unwrap_or_else(|panic| panic.downcast_ref::<String>().cloned());
            assert!(told.as_ref().is_some_and(|told| told.contains(word)), "{word}: {told:?}");
        }
    }
}
