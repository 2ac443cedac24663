//! A system that serves requests at their turns, without events, see [`Component::turn`](crate::engine::Component::turn).

use super::System;
use crate::engine::component::Completion;
use crate::request::Request;
use crate::time::Time;

impl System {
    /// See [`has_turns`](crate::engine::Component::has_turns) of the root; data go by events.
    pub(in crate::engine) fn has_turns(&self) -> bool {
        self.data.is_none() && self.component(self.root()).has_turns()
    }

    /// See [`turn`](crate::engine::Component::turn) of the root.
    #[inline]
    pub(in crate::engine) fn turn(&self, request: &Request) -> Time {
        self.component(self.root()).turn(request)
    }

    /// The root serves a request whose turn it is, which fits it.
    #[inline]
    pub(in crate::engine) fn serve_at_turn(&mut self, request: &Request, completed: &mut impl FnMut(&Completion)) {
        self.in_flight += 1;
        let root = self.root();
        if let Some(ledger) = &mut self.ledger.0 {
            ledger.submitted(root, request, self.capacity_blocks);
        }
        self.components[root.0 as usize].serve_in_order(Some(request), &mut |completion| completed(completion));
    }

    /// What was served at its turn has ended.
    #[inline]
    pub(in crate::engine) fn end_turn(&mut self, completion: &Completion) {
        self.in_flight -= 1;
        let root = self.root();
        if let Some(ledger) = &mut self.ledger.0 {
            ledger.completed(root, completion, completion.service.end);
        }
    }

    /// The root, which has served requests at their turns, goes on by events.
    pub(in crate::engine) fn go_on_by_events(&mut self, under_service: &[Completion], waiting: &[Request]) {
        let root = self.root();
        self.in_flight += waiting.len() as u64;
        for request in under_service.iter().map(|completion| &completion.request).chain(waiting) {
            self.parts.begin(request);
        }
        if let Some(ledger) = &mut self.ledger.0 {
            waiting.iter().for_each(|request| ledger.submitted(root, request, self.capacity_blocks));
        }
        self.handle(root, |component, context| component.go_on_by_events(under_service, waiting, context));
    }
}
