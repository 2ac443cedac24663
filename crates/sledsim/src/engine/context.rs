//! The interface through which a component acts while it handles a request, a completion or a timer.

use std::collections::VecDeque;

use crate::engine::component::{Completion, Component, ComponentId, Stop};
use crate::engine::data::{DataPlane, Payload};
use crate::engine::invariants::InvariantChecker;
use crate::engine::queue::EventQueue;
use crate::request::Request;
use crate::time::Time;

/// A message between components. Completions are much larger than the rest and have a queue of their own.
#[derive(Clone, Debug)]
pub(super) enum Message {
    /// A request for a component.
    Submit(ComponentId, Request),
    /// The next completion of the completion queue, from this component to its parent.
    Complete(ComponentId),
}

/// The components added before one, which include all of its descendants.
#[derive(Clone, Copy)]
pub struct Descendants<'a>(pub(super) &'a [Box<dyn Component>]);

impl Descendants<'_> {
    /// [`Component::reach_ns`] of a child.
    #[must_use]
    pub fn reach_ns(&self, child: ComponentId, now: Time, request: &Request) -> Option<u64> {
        self.0[child.0 as usize].reach_ns(now, request, self)
    }
}

/// The interface through which a component acts while it handles a request, a completion or a timer.
pub struct Context<'a> {
    pub(super) now: Time,
    /// The component that is called.
    pub(super) me: ComponentId,
    pub(super) is_root: bool,
    pub(super) queue: &'a mut EventQueue,
    pub(super) messages: &'a mut VecDeque<Message>,
    pub(super) completions: &'a mut VecDeque<Completion>,
    /// Completions of the root.
    pub(super) done: &'a mut Vec<Completion>,
    pub(super) below: Descendants<'a>,
    pub(super) stop: &'a mut Option<Box<(ComponentId, Stop)>>,
    pub(super) data: Option<&'a mut DataPlane>,
    pub(super) checker: Option<&'a mut InvariantChecker>,
}

impl Context<'_> {
    /// The current time.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Sends a request to a child. The ids of the requests to one child must rise.
    #[inline]
    pub fn submit(&mut self, child: ComponentId, request: Request) {
        self.submit_with(child, request, Payload::NONE);
    }

    /// Sends a request to a child, with the data of a write.
    #[inline]
    pub fn submit_with(&mut self, child: ComponentId, request: Request, payload: Payload) {
        if let Some(checker) = &mut self.checker {
            checker.submitted(child, &request, self.below.0[child.0 as usize].capacity_blocks());
        }
        if let Some(data) = &mut self.data {
            data.submitted(child, &request, payload);
        }
        self.messages.push_back(Message::Submit(child, request));
    }

    /// Returns true if writes carry bytes and reads return them in this run.
    #[inline]
    #[must_use]
    pub fn holds_data(&self) -> bool {
        self.data.is_some()
    }

    /// In [`Component::submit`]: takes the data of a write.
    #[must_use]
    pub fn payload(&mut self, request: &Request) -> Payload {
        let me = self.me;
        self.data.as_mut().map_or(Payload::NONE, |data| data.take(me, request.id))
    }

    /// In [`Component::completed`]: takes the data that a read of a child returned.
    #[must_use]
    pub fn read_payload(&mut self, child: ComponentId, completion: &Completion) -> Payload {
        self.data.as_mut().map_or(Payload::NONE, |data| data.take(child, completion.request.id))
    }

    /// [`Component::reach_ns`] of a child.
    #[must_use]
    pub fn reach_ns(&self, child: ComponentId, request: &Request) -> Option<u64> {
        self.below.reach_ns(child, self.now, request)
    }

    /// Sends a completion to the parent.
    #[inline]
    pub fn complete(&mut self, completion: &Completion) {
        self.complete_with(completion, Payload::NONE);
    }

    /// Sends a completion to the parent, with the data of a read.
    #[inline]
    pub fn complete_with(&mut self, completion: &Completion, payload: Payload) {
        if let Some(checker) = &mut self.checker {
            checker.completed(self.me, completion, self.now);
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

    /// Sets a timer: [`Component::timer`] is called at `at` with this tag.
    ///
    /// # Panics
    /// If `at` is in the past.
    #[inline]
    pub fn timer(&mut self, at: Time, tag: u64) {
        assert!(at >= self.now, "a timer in the past");
        self.queue.push(at, self.me, tag);
    }

    /// Cancels all timers of this component with this tag.
    pub fn cancel(&mut self, tag: u64) {
        self.queue.cancel(self.me, tag);
    }

    /// Ends the run after this instant. Of several calls the first one counts.
    pub fn stop(&mut self, why: Stop) {
        let me = self.me;
        self.stop.get_or_insert_with(|| Box::new((me, why)));
    }
}
