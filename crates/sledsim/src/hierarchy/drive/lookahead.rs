//! Service without events: the drive gets each open arrival ahead of time, and serves the requests that it dispatches before.

use std::collections::VecDeque;

use super::station::{Dispatched, Station};
use crate::engine::Completion;
use crate::request::Request;
use crate::time::Time;

/// Most dispatches in a call, so that a run with many pending requests can be interrupted.
const DISPATCHES_AT_ONCE: u32 = 64;

/// The state of a drive that runs without events, between arrivals.
#[derive(Clone, Default)]
pub(super) struct LookaheadState {
    /// The dispatch times of requests that waited for the mechanism.
    dispatches: VecDeque<Time>,
    /// The time of the next dispatch, if there are requests.
    next_dispatch: Option<Time>,
    /// Buffer for the completions of requests served together.
    completions: Vec<Completion>,
}

impl LookaheadState {
    /// Serves a request when it is submitted, ahead of its arrival, on a drive that serves every request alone.
    #[inline]
    pub(super) fn serve_directly(
        &mut self,
        station: &mut Station,
        request: &Request,
        completed: &mut dyn FnMut(&Completion),
    ) {
        let ready = request.arrival + station.overhead_ns;
        let free = station.window.busy_until().filter(|&free| free >= ready);
        let start = free.unwrap_or(ready);
        station.end_initial_idle(start);
        let completion = Completion::of(*request, station.serve(start, request));
        station.served(start, request, &completion.service);
        if free.is_some() {
            station.window.add_wait(start - ready);
        }
        // In one instant, a dispatch comes before an arrival but after the end of command processing.
        let is_arrival = station.overhead_ns == 0;
        let is_over = |&dispatched: &Time| dispatched < ready || is_arrival && dispatched == ready;
        while self.dispatches.front().is_some_and(is_over) {
            self.dispatches.pop_front();
        }
        if let Some(dispatched) = free {
            self.dispatches.push_back(dispatched);
            station.window.update_max_queue(self.dispatches.len());
        }
        completed(&completion);
    }

    /// Serves the requests that are dispatched before the next arrival is ready, or all after the last arrival. No later request can
    /// join these. Returns false after [`DISPATCHES_AT_ONCE`] dispatches: the caller then calls again with the same arrival.
    pub(super) fn serve_ahead(
        &mut self,
        station: &mut Station,
        next: Option<&Request>,
        completed: &mut dyn FnMut(&Completion),
    ) -> bool {
        let overhead_ns = if next.is_some_and(Request::is_flush) { 0 } else { station.overhead_ns };
        let ready = next.map_or(Time::MAX, |request| request.arrival + overhead_ns);
        // In one instant, a dispatch comes before an arrival but after the end of command processing.
        let is_before = |at: &Time| *at < ready || overhead_ns == 0 && *at == ready;
        let mut dispatches = 0;
        while let Some(at) = self.next_dispatch.filter(is_before) {
            if dispatches == DISPATCHES_AT_ONCE {
                return false;
            }
            dispatches += 1;
            self.dispatch(at, station, completed);
        }
        let Some(request) = next.filter(|request| !request.is_flush()) else { return true };
        station.incoming.push_back((ready, *request));
        self.next_dispatch = match self.next_dispatch {
            Some(at) if station.deadline().is_none() => Some(at),
            // A new request may end the wait for others.
            Some(at) => Some(at.min(ready)),
            None => Some(station.window.busy_until().map_or(ready, |free| free.max(ready))),
        };
        true
    }

    /// Dispatches requests at `now`, and sets the time of the next dispatch.
    fn dispatch(&mut self, now: Time, station: &mut Station, completed: &mut dyn FnMut(&Completion)) {
        if self.serve_lone(now, station, completed) {
            return;
        }
        let dispatched = station.dispatch(now);
        let waits = matches!(dispatched, Dispatched::None);
        match dispatched {
            Dispatched::None => {}
            Dispatched::Single(request, service) => completed(&Completion::of(request, service)),
            Dispatched::Group => {
                self.completions.clear();
                self.completions
                    .extend(station.last_group().map(|(&request, &service)| Completion::of(request, service)));
                // Requests that end together complete in the order in which they joined.
                self.completions.sort_by_key(|completion| completion.service.end);
                self.completions.iter().for_each(completed);
            }
        }
        let free = station.window.busy_until().unwrap_or(now).max(now);
        let next_ready = station.incoming.front().map(|&(ready, _)| ready.max(free));
        self.next_dispatch = if station.scheduler.is_empty() {
            next_ready
        } else {
            let next = station.deadline().filter(|_| waits).unwrap_or(free);
            Some(next_ready.map_or(next, |ready| ready.min(next)))
        };
    }

    /// Serves the request if it is the only one, without the queue. Returns false if others are pending, the start-up may be
    /// delayed, or the scheduler depends on its past dispatches.
    #[inline]
    fn serve_lone(&mut self, now: Time, station: &mut Station, completed: &mut dyn FnMut(&Completion)) -> bool {
        // Without incoming requests all pending ones are in the scheduler.
        let Some(&(ready, request)) = station.incoming.front() else { return false };
        if station.incoming.len() > 1
            || station.delay.is_some()
            || !station.is_in_order
            || !station.scheduler.is_empty()
        {
            return false;
        }
        station.incoming.clear();
        station.window.add_wait(now - ready);
        if station.window.busy_until() == Some(now) {
            station.window.update_max_queue(1);
        }
        let completion = Completion::of(request, station.serve(now, &request));
        station.served(now, &request, &completion.service);
        self.next_dispatch = None;
        completed(&completion);
        true
    }
}
