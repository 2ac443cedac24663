//! The timeline: spans of one activity and power of each mechanism.
//!
//! The number of spans is limited. If there are more, time is divided into slots of equal width, and the time and energy of each
//! activity are summed by slot. The slots double in width as often as needed, so that the timeline covers any run in bounded
//! memory; times and energies remain exact sums.

use super::account::{Activity, ACTIVITIES};
use crate::convert::to_usize;
use crate::time::Time;

/// An interval of one activity at one power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The activity of the mechanism.
    pub activity: Activity,
    /// Start.
    pub from: Time,
    /// End.
    pub to: Time,
    /// Power, W.
    pub power_w: f64,
}

impl Span {
    /// Returns true if `next` continues this span with the same activity and power.
    pub(super) fn continues_in(&self, next: &Self) -> bool {
        self.to == next.from && self.activity == next.activity && self.power_w == next.power_w
    }
}

/// The part of a run to record, and the number of spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineSpec {
    /// Start.
    pub from: Time,
    /// End.
    pub to: Time,
    /// Largest number of spans of a mechanism, from which on they are summed in slots.
    pub spans: usize,
}

impl TimelineSpec {
    /// Default of `spans`; they take about 8 MB.
    pub const SPANS: usize = 200_000;
}

impl Default for TimelineSpec {
    /// The whole run.
    fn default() -> Self {
        Self { from: Time::ZERO, to: Time::MAX, spans: Self::SPANS }
    }
}

/// The spans of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Of each mechanism, in the order of time. In slots, one for each activity of a slot, in the order of activities.
    pub spans: Vec<Vec<Span>>,
    /// Width of the widest slots, ns, if spans were summed in slots.
    pub slot_ns: Option<u64>,
}

impl Timeline {
    /// Spans of mechanisms, each with the width of its slots, if they are in slots.
    #[must_use]
    pub fn new(recorded: impl IntoIterator<Item = (Vec<Span>, Option<u64>)>) -> Self {
        let (spans, widths): (Vec<Vec<Span>>, Vec<Option<u64>>) = recorded.into_iter().unzip();
        Self { spans, slot_ns: widths.into_iter().flatten().max() }
    }
}

/// The recorded spans of one mechanism.
#[derive(Clone, Debug)]
pub(super) struct Record {
    spec: TimelineSpec,
    spans: Vec<Span>,
    slots: Option<Slots>,
}

impl Record {
    pub(super) fn new(spec: TimelineSpec) -> Self {
        Self { spec, spans: Vec::new(), slots: None }
    }

    pub(super) fn keep(&mut self, span: Span) {
        let (from, to) = (span.from.max(self.spec.from), span.to.min(self.spec.to));
        if from >= to {
            return;
        }
        let span = Span { from, to, ..span };
        if let Some(slots) = &mut self.slots {
            return slots.add(&span);
        }
        match self.spans.last_mut() {
            Some(last) if last.continues_in(&span) => last.to = to,
            _ => self.spans.push(span),
        }
        if self.spans.len() > self.spec.spans {
            let mut slots = Slots::new(self.spec);
            std::mem::take(&mut self.spans).iter().for_each(|span| slots.add(span));
            self.slots = Some(slots);
        }
    }

    /// The spans, and the width of the slots in ns if they were summed in slots.
    pub(super) fn into_spans(self) -> (Vec<Span>, Option<u64>) {
        match self.slots {
            None => (self.spans, None),
            Some(slots) => (slots.spans(), Some(slots.width_ns)),
        }
    }
}

/// Time and energy of an activity in a slot.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    ns: u64,
    energy_w_ns: f64,
}

/// Sums by slot of equal width, from the start of the recorded part.
#[derive(Clone, Debug)]
struct Slots {
    start: Time,
    width_ns: u64,
    max_slots: usize,
    shares: Vec<[Share; ACTIVITIES]>,
}

impl Slots {
    fn new(spec: TimelineSpec) -> Self {
        // A slot becomes a span for each activity that occurs in it.
        Self { start: spec.from, width_ns: 1, max_slots: (spec.spans / ACTIVITIES).max(2), shares: Vec::new() }
    }

    fn add(&mut self, span: &Span) {
        while (span.to - self.start).div_ceil(self.width_ns) > self.max_slots as u64 {
            self.widen();
        }
        let mut at = span.from - self.start;
        let end = span.to - self.start;
        while at < end {
            let slot = to_usize(at / self.width_ns);
            let ns = (end - at).min(self.width_ns - at % self.width_ns);
            if slot >= self.shares.len() {
                self.shares.resize(slot + 1, [Share::default(); ACTIVITIES]);
            }
            let share = &mut self.shares[slot][span.activity.index()];
            share.ns += ns;
            share.energy_w_ns += span.power_w * ns as f64;
            at += ns;
        }
    }

    /// Joins each pair of slots.
    fn widen(&mut self) {
        self.width_ns *= 2;
        let both = |two: &[[Share; ACTIVITIES]]| {
            std::array::from_fn(|activity| Share {
                ns: two.iter().map(|shares| shares[activity].ns).sum(),
                energy_w_ns: two.iter().map(|shares| shares[activity].energy_w_ns).sum(),
            })
        };
        self.shares = self.shares.chunks(2).map(both).collect();
    }

    fn spans(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        let mut at = self.start;
        for (number, shares) in (0_u64..).zip(&self.shares) {
            at = at.max(self.start + number * self.width_ns);
            for (index, share) in shares.iter().enumerate().filter(|(_, share)| share.ns > 0) {
                let to = at + share.ns;
                let power_w = share.energy_w_ns / share.ns as f64;
                spans.push(Span { activity: Activity::of_index(index), from: at, to, power_w });
                at = to;
            }
        }
        spans
    }
}
