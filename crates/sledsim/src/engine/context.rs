//! What a component may do while it handles something.

use std::collections::VecDeque;

use crate::engine::component::{Completion, Component, ComponentId, Stop};
use crate::engine::data::{DataPlane, Payload};
use crate::engine::ledger::Ledger;
use crate::engine::queue::EventQueue;
use crate::request::Request;
use crate::time::Time;

/// What passes between components. Completions are much larger than the rest and have a queue of their own.
#[derive(Clone, Debug)]
pub(super) enum Message {
    Submit(ComponentId, Request),
    /// The next completion comes from there.
    Complete(ComponentId),
}

/// The components added before one, its children among them.
#[derive(Clone, Copy)]
pub struct Below<'a>(pub(super) &'a [Box<dyn Component>]);

impl Below<'_> {
    /// See [`Component::reach_ns`] of a child.
    #[must_use]
    pub fn reach_ns(&self, child: ComponentId, now: Time, request: &Request) -> Option<u64> {
        self.0[child.0 as usize].reach_ns(now, request, self)
    }
}

/// What a component may do while it handles something.
pub struct Context<'a> {
    pub(super) now: Time,
    pub(super) me: ComponentId,
    pub(super) is_root: bool,
    pub(super) queue: &'a mut EventQueue,
    pub(super) messages: &'a mut VecDeque<Message>,
    pub(super) completions: &'a mut VecDeque<Completion>,
    /// Completions of the root.
    pub(super) done: &'a mut Vec<Completion>,
    pub(super) below: Below<'a>,
    pub(super) halt: &'a mut Option<Box<(ComponentId, Stop)>>,
    pub(super) data: Option<&'a mut DataPlane>,
    pub(super) ledger: Option<&'a mut Ledger>,
}

impl Context<'_> {
    /// The current time.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Sends a request down to a child. Ids rise from one to the next, and no two under way are the same.
    #[inline]
    pub fn submit(&mut self, child: ComponentId, request: Request) {
        self.submit_with(child, request, Payload::NONE);
    }

    /// The same with the data of a write.
    #[inline]
    pub fn submit_with(&mut self, child: ComponentId, request: Request, payload: Payload) {
        if let Some(ledger) = &mut self.ledger {
            ledger.submitted(child, &request, self.below.0[child.0 as usize].capacity_blocks());
        }
        if let Some(data) = &mut self.data {
            data.submitted(child, &request, payload);
        }
        self.messages.push_back(Message::Submit(child, request));
    }

    /// Whether this run holds data: then writes carry bytes, and reads bring them.
    #[inline]
    #[must_use]
    pub fn holds_data(&self) -> bool {
        self.data.is_some()
    }

    /// In [`Component::submit`]: what came with the request.
    #[must_use]
    pub fn payload(&mut self, request: &Request) -> Payload {
        let me = self.me;
        self.data.as_mut().map_or(Payload::NONE, |data| data.take(me, request.id))
    }

    /// In [`Component::completed`]: what a read of a child brought.
    #[must_use]
    pub fn answer(&mut self, child: ComponentId, completion: &Completion) -> Payload {
        self.data.as_mut().map_or(Payload::NONE, |data| data.take(child, completion.request.id))
    }

    /// See [`Component::reach_ns`] of a child.
    #[must_use]
    pub fn reach_ns(&self, child: ComponentId, request: &Request) -> Option<u64> {
        self.below.reach_ns(child, self.now, request)
    }

    /// Sends a completion up to the parent.
    #[inline]
    pub fn complete(&mut self, completion: &Completion) {
        self.complete_with(completion, Payload::NONE);
    }

    /// The same with what was read.
    #[inline]
    pub fn complete_with(&mut self, completion: &Completion, payload: Payload) {
        if let Some(ledger) = &mut self.ledger {
            ledger.completed(self.me, completion, self.now);
        }
        if let Some(data) = &mut self.data {
            data.completed(self.me, completion, payload);
        }
        if self.is_root {
            self.done.push(*completion);
        } else {
            self.messages.push_back(Message::Complete(self.me));
            self.completions.push_back(*completion);
        }
    }

    /// Asks for [`Component::timer`] at `at` (not before now).
    #[inline]
    pub fn timer(&mut self, at: Time, tag: u64) {
        assert!(at >= self.now, "a timer in the past");
        self.queue.push(at, self.me, tag);
    }

    /// Ends the run: nothing more happens after this instant. Who asks first is heard.
    pub fn stop(&mut self, why: Stop) {
        let me = self.me;
        self.halt.get_or_insert_with(|| Box::new((me, why)));
    }

    /// Takes back the timers it set with this tag.
    pub fn cancel(&mut self, tag: u64) {
        self.queue.cancel(self.me, tag);
    }
}
