//! Checks the protocol between components while a system runs: in builds with debug assertions, and in runs with checks
//! enabled.

use std::collections::HashMap;

use crate::engine::component::{Completion, ComponentId};
use crate::engine::queue::Event;
use crate::request::Request;
use crate::time::Time;

/// The outstanding requests of every component, and the first violation.
#[derive(Clone, Debug, Default)]
pub(super) struct InvariantChecker {
    /// By the component that serves the request, and the request's id.
    outstanding: HashMap<(ComponentId, u64), Request>,
    /// Time and sequence number of the latest event.
    last: Option<(Time, u64)>,
    violation: Option<String>,
}

impl InvariantChecker {
    /// Records a violation.
    ///
    /// # Panics
    /// Always, in builds with debug assertions.
    pub(super) fn report(&mut self, violation: String) {
        debug_assert!(false, "{violation}");
        self.violation.get_or_insert(violation);
    }

    /// The first violation.
    pub(super) fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    /// Checks a request to a component with `capacity_blocks`: it fits, and its id is not in use there.
    pub(super) fn submitted(&mut self, to: ComponentId, request: &Request, capacity_blocks: u64) {
        if !request.fits(capacity_blocks) {
            self.report(format!("{request:?} does not fit the {capacity_blocks} blocks of {to:?}"));
        }
        if let Some(other) = self.outstanding.insert((to, request.id), *request) {
            self.report(format!("{request:?} has the id of {other:?}, which is outstanding at {to:?}"));
        }
    }

    /// Checks a completion at `now`: the request is outstanding there, unchanged, and its service ends now.
    pub(super) fn completed(&mut self, from: ComponentId, completion: &Completion, now: Time) {
        let Completion { request, service, .. } = completion;
        match self.outstanding.remove(&(from, request.id)) {
            None => self.report(format!("{from:?} completes {request:?}, which is not outstanding there")),
            Some(submitted) if submitted != *request => {
                self.report(format!("{from:?} completes {submitted:?} changed to {request:?}"));
            }
            Some(_) => {}
        }
        if !(service.start <= service.end && service.end == now) {
            self.report(format!("{from:?} completes {request:?} at {now:?}, which is not the end of {service:?}"));
        }
    }

    /// Checks the order of timers: by time, and by sequence number within an instant.
    pub(super) fn timer_fired(&mut self, event: &Event) {
        let at = (event.time, event.sequence);
        if self.last.is_some_and(|last| last >= at) {
            self.report(format!("{event:?} fires after {:?}", self.last));
        }
        self.last = Some(at);
    }

    /// Returns true if no request is outstanding anywhere.
    pub(super) fn is_at_rest(&self) -> bool {
        self.outstanding.is_empty()
    }

    /// Number of requests outstanding at a component.
    pub(super) fn outstanding_at(&self, component: ComponentId) -> u64 {
        self.outstanding.keys().filter(|(at, _)| *at == component).count() as u64
    }

    /// Forgets outstanding requests and events after a power cut: sequence numbers start again.
    pub(super) fn lose_power(&mut self) {
        self.outstanding.clear();
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Flags, Op, Padding};
    use crate::service::Service;

    const COMPONENT: ComponentId = ComponentId(3);

    fn request(id: u64, lbn: u64) -> Request {
        let (op, flags, padding) = (Op::Read, Flags::NONE, Padding::NONE);
        Request { id, arrival: Time::ZERO, lbn, blocks: 2, op, flags, origin: 0, padding }
    }

    fn completion(request: Request, at_ns: u64) -> Completion {
        let at = Time::from_ns(at_ns);
        Completion::of(request, Service { start: Time::ZERO, end: at, free: at, ..Service::default() })
    }

    fn event(time_ns: u64, sequence: u64) -> Event {
        Event { time: Time::from_ns(time_ns), sequence, target: COMPONENT, tag: 0 }
    }

    #[test]
    fn every_violation_is_reported() {
        type Act = fn(&mut InvariantChecker);
        let violations: [(&str, Act); 7] = [
            ("does not fit the 9 blocks", |checker| checker.submitted(COMPONENT, &request(0, 8), 9)),
            ("has the id of", |checker| (0..2).for_each(|lbn| checker.submitted(COMPONENT, &request(0, lbn), 9))),
            ("not outstanding there", |checker| {
                checker.completed(COMPONENT, &completion(request(0, 0), 5), Time::from_ns(5));
            }),
            ("not outstanding there", |checker| {
                checker.submitted(COMPONENT, &request(0, 0), 9);
                (0..2).for_each(|_| checker.completed(COMPONENT, &completion(request(0, 0), 5), Time::from_ns(5)));
            }),
            ("changed to Request", |checker| {
                checker.submitted(COMPONENT, &request(0, 0), 9);
                checker.completed(COMPONENT, &completion(request(0, 1), 5), Time::from_ns(5));
            }),
            ("Time(6), which is not the end of", |checker| {
                checker.submitted(COMPONENT, &request(0, 0), 9);
                checker.completed(COMPONENT, &completion(request(0, 0), 5), Time::from_ns(6));
            }),
            ("fires after", |checker| {
                [(5, 1), (5, 0)].iter().for_each(|&(at, number)| checker.timer_fired(&event(at, number)));
            }),
        ];
        for (expected, act) in violations {
            let message = std::panic::catch_unwind(|| {
                let mut checker = InvariantChecker::default();
                act(&mut checker);
                checker.violation().map(str::to_owned)
            });
            // With debug assertions the violation panics with the same message.
            let message = message.unwrap_or_else(|panic| panic.downcast_ref::<String>().cloned());
            assert!(message.as_ref().is_some_and(|it| it.contains(expected)), "{expected}: {message:?}");
        }
    }
}
