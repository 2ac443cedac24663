//! Records read ahead, so that those whose time is out of order can be told from the others and left out.

use std::collections::VecDeque;

use super::error::{FieldFault, Place};
use super::TraceRecord;
use crate::time::ns_to_s;

/// Records that are read ahead. So many records with wrong times in a row are recognised, as others follow them.
pub(super) const HELD_BACK: usize = 64;
const NS_PER_YEAR: u64 = 31_557_600_000_000_000;

/// A record in the window, its time as the trace has it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub place: Place,
    pub record: TraceRecord,
    /// True if a flush comes before it.
    pub flushes: bool,
}

/// The next records of a trace, in its order.
#[derive(Default)]
pub(super) struct OrderWindow {
    entries: VecDeque<Entry>,
    is_unsorted: bool,
    is_closed: bool,
}

impl OrderWindow {
    /// Appends a record of the trace.
    pub fn push(&mut self, entry: Entry) {
        self.is_unsorted |= self.entries.back().is_some_and(|last| entry.record.time < last.record.time);
        self.entries.push_back(entry);
    }

    /// Notes that no record follows.
    pub fn close(&mut self) {
        self.is_closed = true;
    }

    /// Returns true after [`OrderWindow::close`].
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Returns true if enough has been read to give the first record, or to know that there is none.
    pub fn is_ready(&self) -> bool {
        !self.is_unsorted && (self.is_closed || self.entries.len() > HELD_BACK)
    }

    /// Returns true if records are out of order, so that [`HELD_BACK`] more are needed to decide which are misplaced.
    pub fn is_unsorted(&self) -> bool {
        self.is_unsorted
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Removes the first record.
    pub fn take_next(&mut self) -> Option<Entry> {
        self.entries.pop_front()
    }

    /// Removes the record at `place` and all behind it.
    pub fn split_off(&mut self, place: Place) -> Vec<Entry> {
        let at = self.entries.iter().position(|entry| entry.place == place).unwrap_or(self.entries.len());
        self.entries.split_off(at).into()
    }

    /// Removes all records.
    pub fn take_all(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.entries).into()
    }

    /// The places of the fewest records without which the rest is in order and not before `least_ns`, and what is wrong with
    /// the time of each.
    pub fn misplaced(&self, least_ns: u64) -> Vec<(Place, FieldFault)> {
        let times: Vec<u64> = self.entries.iter().map(|entry| entry.record.time.ns()).collect();
        let kept = longest_in_order(&times, least_ns);
        let mut before_ns = least_ns;
        let mut next = kept.iter().copied().peekable();
        let mut found = Vec::new();
        for (index, &time_ns) in times.iter().enumerate() {
            if next.next_if_eq(&index).is_some() {
                before_ns = time_ns;
                continue;
            }
            let says = if time_ns < before_ns {
                format!("one {} before that of a record above it", duration(before_ns - time_ns))
            } else {
                let after_ns = next.peek().map_or(time_ns, |&index| times[index]);
                format!("one {} after that of the next record", duration(time_ns.saturating_sub(after_ns)))
            };
            let fault = FieldFault::new("time", "a time between those of the records around it", says).misplaced();
            found.push((self.entries[index].place, *fault));
        }
        found
    }

    /// Removes the records at these places, which are those that [`OrderWindow::misplaced`] gave.
    pub fn remove(&mut self, places: &[Place]) {
        let mut places = places.iter().peekable();
        self.entries.retain(|entry| places.next_if_eq(&&entry.place).is_none());
        self.is_unsorted = false;
    }
}

/// Indices of a longest non-decreasing subsequence of the times from `least_ns` on. Of several, one with early times.
fn longest_in_order(times: &[u64], least_ns: u64) -> Vec<usize> {
    // Of the subsequences of each length the index of the last element, which is the smallest possible.
    let mut last_of_length: Vec<usize> = Vec::new();
    let mut previous = vec![None; times.len()];
    for (index, &time) in times.iter().enumerate().filter(|(_, &time)| time >= least_ns) {
        let length = last_of_length.partition_point(|&last| times[last] <= time);
        previous[index] = length.checked_sub(1).map(|shorter| last_of_length[shorter]);
        if length == last_of_length.len() {
            last_of_length.push(index);
        } else {
            last_of_length[length] = index;
        }
    }
    let mut kept: Vec<usize> =
        std::iter::successors(last_of_length.last().copied(), |&index| previous[index]).collect();
    kept.reverse();
    kept
}

/// A time span for people.
fn duration(ns: u64) -> String {
    match ns {
        0..1_000_000 => format!("{ns} ns"),
        1_000_000..NS_PER_YEAR => format!("{} s", ns_to_s(ns)),
        _ => format!("{:.1} years", ns as f64 / NS_PER_YEAR as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Op;
    use crate::time::Time;

    fn kept(times: &[u64]) -> Vec<u64> {
        longest_in_order(times, 0).into_iter().map(|index| times[index]).collect()
    }

    #[test]
    fn the_fewest_records_are_left_out() {
        assert_eq!(kept(&[1, 2, 900, 3, 4]), [1, 2, 3, 4]);
        assert_eq!(kept(&[10, 11, 2, 12]), [10, 11, 12]);
        assert_eq!(kept(&[900, 901, 1, 2, 3]), [1, 2, 3]);
        assert_eq!(kept(&[5, 5, 5]), [5, 5, 5]);
        assert_eq!(kept(&[7, 900, 8]), [7, 8]);
        assert_eq!(longest_in_order(&[3, 1, 4], 2), [0, 2]);
    }

    #[test]
    fn a_misplaced_record_is_described_by_its_neighbours() {
        let mut window = OrderWindow::default();
        for (line, time_ns) in [(1, 10), (2, 80 * NS_PER_YEAR), (3, 20), (4, 5), (5, 30)] {
            let record = TraceRecord { time: Time::from_ns(time_ns), ..TraceRecord::new(0, 0, 0, 512, Op::Read) };
            window.push(Entry { place: Place::Line(line), record, flushes: false });
        }
        let found = window.misplaced(0);
        let places: Vec<Place> = found.iter().map(|(place, _)| *place).collect();
        assert_eq!(places, [Place::Line(2), Place::Line(4)]);
        assert_eq!(found[0].1.found, "one 80.0 years after that of the next record");
        assert_eq!(found[1].1.found, "one 15 ns before that of a record above it");
        window.remove(&places);
        let left = std::iter::from_fn(|| window.take_next()).map(|entry| entry.place);
        assert!(left.eq([1, 3, 5].map(Place::Line)));
    }
}
