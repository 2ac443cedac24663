//! The event queue: timers ordered by (time, sequence).

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::engine::component::ComponentId;
use crate::time::Time;

/// A timer that fires at `time` for `target`.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When it fires.
    pub time: Time,
    /// Number of the event in the order in which timers were set: it orders events of the same time.
    pub sequence: u64,
    /// The component that set the timer.
    pub target: ComponentId,
    /// The tag that the component gave the timer.
    pub tag: u64,
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    /// Reversed, so that the heap's greatest event is the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.sequence).cmp(&(self.time, self.sequence))
    }
}

/// Pending events. [`EventQueue::push`] and [`EventQueue::pop`] take O(log n), [`EventQueue::cancel`] O(n).
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    /// The earliest event, kept outside the heap as most queues hold one or two events.
    first: Option<Event>,
    rest: BinaryHeap<Event>,
    sequence: u64,
}

impl EventQueue {
    /// Sets a timer.
    #[inline]
    pub fn push(&mut self, time: Time, target: ComponentId, tag: u64) {
        let event = Event { time, sequence: self.sequence, target, tag };
        self.sequence += 1;
        match &mut self.first {
            None => self.first = Some(event),
            // A later event never precedes an equal-time one: its sequence is greater.
            Some(first) if event.time < first.time => self.rest.push(std::mem::replace(first, event)),
            Some(_) => self.rest.push(event),
        }
    }

    /// Cancels all timers of a component with this tag.
    pub fn cancel(&mut self, target: ComponentId, tag: u64) {
        let matches = |event: &Event| (event.target, event.tag) == (target, tag);
        self.rest.retain(|event| !matches(event));
        if self.first.as_ref().is_some_and(matches) {
            self.first = self.rest.pop();
        }
    }

    /// Time of the earliest event.
    #[inline]
    #[must_use]
    pub fn next_time(&self) -> Option<Time> {
        self.first.map(|event| event.time)
    }

    /// Removes the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        let event = self.first.take()?;
        self.first = self.rest.pop();
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_ordered_by_time_then_sequence() {
        let mut queue = EventQueue::default();
        for (time, tag) in [(5, 0), (3, 1), (5, 2), (3, 3), (1, 4), (5, 5)] {
            queue.push(Time::from_ns(time), ComponentId(0), tag);
        }
        let mut tags = Vec::new();
        while let Some(event) = queue.pop() {
            tags.push(event.tag);
        }
        assert_eq!(tags, [4, 1, 3, 0, 2, 5]);
        assert_eq!(queue.next_time(), None);
    }

    #[test]
    fn cancel_removes_only_the_timers_with_the_tag() {
        for cancelled in 0..4 {
            let mut queue = EventQueue::default();
            for (time, tag) in [(2, 0), (1, 1), (3, 2), (2, 3)] {
                queue.push(Time::from_ns(time), ComponentId(0), tag);
            }
            queue.push(Time::from_ns(2), ComponentId(1), cancelled);
            queue.cancel(ComponentId(0), cancelled);
            queue.cancel(ComponentId(0), 7);
            let mut left: Vec<(u32, u64)> = Vec::new();
            while let Some(event) = queue.pop() {
                left.push((event.target.0, event.tag));
            }
            let mut expected = vec![(0, 1), (0, 0), (0, 3), (1, cancelled), (0, 2)];
            expected.retain(|&event| event != (0, cancelled));
            assert_eq!(left, expected);
        }
    }
}
