//! Open arrivals served in their order, without events: a drive hears of each ahead of time.

use std::collections::VecDeque;

use super::drive::{free_after, Drive, Look};
use crate::engine::Completion;
use crate::request::Request;
use crate::time::Time;

/// What a drive remembers between arrivals that it hears of ahead of time.
#[derive(Default)]
pub(super) struct Ahead {
    /// When those that waited for the mechanism were dispatched.
    waited: VecDeque<Time>,
    /// When the queue is looked at next, if anybody is in it.
    look: Option<Time>,
    /// Completions of requests served together: index, and when.
    ends: Vec<(Time, usize)>,
}

impl Drive {
    /// Serves a request that nobody joins as soon as it is heard of.
    #[inline]
    pub(super) fn serve_at_once(&mut self, request: &Request, completed: &mut dyn FnMut(&Completion)) {
        let ready = request.arrival + self.overhead_ns;
        let free = self.window.busy_until.filter(|&free| free >= ready);
        let start = free.unwrap_or(ready);
        let completion = Completion::of(*request, self.device.serve(start, request));
        self.window.serve(start, completion.service.free);
        // Those that waited when this request became ready, and this one if it has to.
        let waited = &mut self.ahead.waited;
        while waited.front().is_some_and(|&dispatched| dispatched < ready) {
            waited.pop_front();
        }
        if free.is_some() {
            self.window.queue_ns += u128::from(start - ready);
            waited.push_back(start);
            self.window.queue_max = self.window.queue_max.max(waited.len() as u64);
        }
        completed(&completion);
    }

    /// Serves what is dispatched before the next arrival is ready, now that nobody else can join it.
    pub(super) fn serve_ahead(&mut self, next: Option<&Request>, completed: &mut dyn FnMut(&Completion)) {
        let Some(request) = next else {
            while let Some(look) = self.ahead.look {
                self.look_ahead(look, completed);
            }
            return;
        };
        let ready = request.arrival + self.overhead_ns;
        // What arrives at an instant comes after what happens then; what becomes ready, before.
        let waits_for_what_happens = self.overhead_ns == 0;
        let is_before = |look: Time| look < ready || waits_for_what_happens && look == ready;
        while let Some(look) = self.ahead.look.filter(|&look| is_before(look)) {
            self.look_ahead(look, completed);
        }
        self.incoming.push_back((ready, *request));
        self.ahead.look = match self.ahead.look {
            Some(look) if self.deadline().is_none() => Some(look),
            // Those that wait for company look up when somebody comes.
            Some(look) => Some(look.min(ready)),
            None => Some(self.window.busy_until.map_or(ready, |free| free.max(ready))),
        };
    }

    /// Looks at the queue at `now`, and settles when the next look is due.
    fn look_ahead(&mut self, now: Time, completed: &mut dyn FnMut(&Completion)) {
        if self.serve_lone(now, completed) {
            return;
        }
        match self.look(now) {
            Look::Nothing => {}
            Look::Alone(request, service) => {
                self.window.serve(now, service.free);
                completed(&Completion::of(request, service));
            }
            Look::Together => {
                self.window.serve(now, free_after(now, &self.services));
                let ends = &mut self.ahead.ends;
                ends.clear();
                ends.extend(self.services.iter().enumerate().map(|(index, service)| (service.end, index)));
                ends.sort_unstable();
                for &(_, index) in &*ends {
                    let (request, service) = (self.batch[index], self.services[index]);
                    completed(&Completion::of(request, service));
                }
            }
        }
        let free = self.window.busy_until.unwrap_or(now).max(now);
        let next_ready = self.incoming.front().map(|&(ready, _)| ready.max(free));
        self.ahead.look = if self.scheduler.is_empty() {
            next_ready
        } else {
            let wait = self.deadline().unwrap_or(free);
            Some(next_ready.map_or(wait, |ready| ready.min(wait)))
        };
    }

    /// Serves the only request there is, which needs no queue: nobody joins it, and nothing delays it.
    #[inline]
    fn serve_lone(&mut self, now: Time, completed: &mut dyn FnMut(&Completion)) -> bool {
        if self.incoming.len() != 1 || self.delay.is_some() || !self.scheduler.is_empty() {
            return false;
        }
        let Some((ready, request)) = self.incoming.pop_front() else { return false };
        self.window.queue_ns += u128::from(now - ready);
        if self.window.busy_until == Some(now) {
            self.window.queue_max = self.window.queue_max.max(1);
        }
        let completion = Completion::of(request, self.device.serve(now, &request));
        self.window.serve(now, completion.service.free);
        self.ahead.look = None;
        completed(&completion);
        true
    }
}
