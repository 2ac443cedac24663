//! The timeline: what each mechanism did from when to when, at what power.

use super::meter::Activity;
use crate::time::Time;

/// A stretch of time of one activity at one power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// What the mechanism did.
    pub activity: Activity,
    /// From when.
    pub from: Time,
    /// To when.
    pub to: Time,
    /// At what power.
    pub power_w: f64,
}

impl Span {
    /// Whether `next` is the same going on.
    pub(super) fn continues_in(&self, next: &Self) -> bool {
        self.to == next.from && self.activity == next.activity && self.power_w == next.power_w
    }
}

/// Which spans of a run are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineSpec {
    /// From when.
    pub from: Time,
    /// To when.
    pub to: Time,
    /// At most so many.
    pub spans: usize,
}

impl TimelineSpec {
    /// Most spans of a timeline where nobody says how many: they take some 8 MB.
    pub const SPANS: usize = 200_000;
}

impl Default for TimelineSpec {
    /// All of a run, as far as there is room.
    fn default() -> Self {
        Self { from: Time::ZERO, to: Time::MAX, spans: Self::SPANS }
    }
}

/// The spans of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Of each mechanism, in the order of time, up to one instant.
    pub spans: Vec<Vec<Span>>,
    /// Where there was no more room for them, if there wasn't.
    pub stopped: Option<Time>,
}

impl Timeline {
    /// Spans of mechanisms, each with the instant at which there was no more room for them: up to the first of these.
    #[must_use]
    pub fn new(recorded: impl IntoIterator<Item = (Vec<Span>, Option<Time>)>) -> Self {
        let (mut spans, stops): (Vec<Vec<Span>>, Vec<Option<Time>>) = recorded.into_iter().unzip();
        let stopped = stops.into_iter().flatten().min();
        if let Some(stopped) = stopped {
            for spans in &mut spans {
                spans.truncate(spans.partition_point(|span| span.from < stopped));
                if let Some(last) = spans.last_mut() {
                    last.to = last.to.min(stopped);
                }
            }
        }
        Self { spans, stopped }
    }
}
