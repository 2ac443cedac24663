//! Open arrivals served in their order, without events: the drive is given each arrival ahead of time.

use std::collections::VecDeque;

use super::station::{Look, Station};
use crate::engine::Completion;
use crate::request::Request;
use crate::time::Time;

/// What a drive remembers between arrivals that it hears of ahead of time.
#[derive(Clone, Default)]
pub(super) struct Ahead {
    /// When those that waited for the mechanism were dispatched.
    waited: VecDeque<Time>,
    /// When the queue is looked at next, if anybody is in it.
    look: Option<Time>,
    /// Completions of requests served together.
    ends: Vec<Completion>,
}

impl Ahead {
    /// Serves a request that nobody joins as soon as it is heard of.
    #[inline]
    pub(super) fn serve_at_once(
        &mut self,
        station: &mut Station,
        request: &Request,
        completed: &mut dyn FnMut(&Completion),
    ) {
        let ready = request.arrival + station.overhead_ns;
        let free = station.window.busy_until().filter(|&free| free >= ready);
        let start = free.unwrap_or(ready);
        station.settle_idle_beginning(start);
        let completion = Completion::of(*request, station.serve(start, request));
        station.served(start, request, &completion.service);
        if free.is_some() {
            station.window.count_one(start - ready);
        }
        // What arrives at an instant comes after what is dispatched then; what becomes ready, before.
        let arrives = station.overhead_ns == 0;
        while self.waited.front().is_some_and(|&dispatched| dispatched < ready || arrives && dispatched == ready) {
            self.waited.pop_front();
        }
        if let Some(dispatched) = free {
            self.waited.push_back(dispatched);
            station.window.watch_queue(self.waited.len());
        }
        completed(&completion);
    }

    /// Serves what is dispatched before the next arrival is ready, now that nobody else can join it.
    pub(super) fn serve_ahead(
        &mut self,
        station: &mut Station,
        next: Option<&Request>,
        completed: &mut dyn FnMut(&Completion),
    ) {
        let Some(request) = next else {
            // The last has arrived: whoever waits is served.
            while let Some(look) = self.look {
                self.look_at(look, station, completed);
            }
            return;
        };
        let ready = request.arrival + station.overhead_ns;
        // What arrives at an instant comes after what happens then; what becomes ready, before.
        let waits_for_what_happens = station.overhead_ns == 0;
        let is_before = |look: Time| look < ready || waits_for_what_happens && look == ready;
        while let Some(look) = self.look.filter(|&look| is_before(look)) {
            self.look_at(look, station, completed);
        }
        station.incoming.push_back((ready, *request));
        self.look = match self.look {
            Some(look) if station.deadline().is_none() => Some(look),
            // Those that wait for others look up when somebody comes.
            Some(look) => Some(look.min(ready)),
            None => Some(station.window.busy_until().map_or(ready, |free| free.max(ready))),
        };
    }

    /// Looks at the queue at `now`, and settles when the next look is due.
    fn look_at(&mut self, now: Time, station: &mut Station, completed: &mut dyn FnMut(&Completion)) {
        if self.serve_lone(now, station, completed) {
            return;
        }
        match station.look(now) {
            Look::Nothing => {}
            Look::Alone(request, service) => completed(&Completion::of(request, service)),
            Look::Together => {
                self.ends.clear();
                self.ends.extend(station.together().map(|(&request, &service)| Completion::of(request, service)));
                // Those that end together complete in the order in which they joined.
                self.ends.sort_by_key(|completion| completion.service.end);
                self.ends.iter().for_each(completed);
            }
        }
        let free = station.window.busy_until().unwrap_or(now).max(now);
        let next_ready = station.incoming.front().map(|&(ready, _)| ready.max(free));
        self.look = if station.scheduler.is_empty() {
            next_ready
        } else {
            let wait = station.deadline().unwrap_or(free);
            Some(next_ready.map_or(wait, |ready| ready.min(wait)))
        };
    }

    /// Serves the only request there is, which needs no queue: nobody joins it, and nothing delays it.
    #[inline]
    fn serve_lone(&mut self, now: Time, station: &mut Station, completed: &mut dyn FnMut(&Completion)) -> bool {
        // All who wait are in the scheduler.
        let Some(&(ready, request)) = station.incoming.front() else { return false };
        if station.incoming.len() > 1 || station.delay.is_some() || !station.scheduler.is_empty() {
            return false;
        }
        station.incoming.clear();
        station.window.count_one(now - ready);
        if station.window.busy_until() == Some(now) {
            station.window.watch_queue(1);
        }
        let completion = Completion::of(request, station.serve(now, &request));
        station.served(now, &request, &completion.service);
        self.look = None;
        completed(&completion);
        true
    }
}
