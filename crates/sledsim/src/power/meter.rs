//! The power meter of a mechanism: hears in the order of time what it does and at what power, and keeps the largest power
//! over a millisecond, how often each activity was entered and, if asked, the spans themselves.
//!
//! Its size does not grow with the run, and a span costs a comparison, a product and a sum.

use super::peak::{Peak, WINDOW_NS};
use super::timeline::{Record, Span, TimelineSpec};
use crate::service::{EnergyLedger, State, MODES, STATES};
use crate::time::Time;

/// Number of activities: what is not idle, and the idle modes.
pub const ACTIVITIES: usize = 5 + MODES;

/// The number of idle modes.
#[expect(clippy::cast_possible_truncation, reason = "there are a few modes")]
const IDLE_MODES: u8 = MODES as u8;

/// What a mechanism does: a state, or one of its idle modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Activity(u8);

impl Activity {
    /// Starting up.
    pub const STARTUP: Self = Self(0);
    /// The idle mode in which a device is ready.
    pub const READY: Self = Self::idle(0);
    /// Positioning.
    pub const SEEK: Self = Self(1 + IDLE_MODES);
    /// Waiting on track for a sector.
    pub const ROTATION: Self = Self(2 + IDLE_MODES);
    /// Servo bursts.
    pub const SERVO: Self = Self(3 + IDLE_MODES);
    /// Data bits.
    pub const DATA: Self = Self(4 + IDLE_MODES);

    /// Idle mode `mode`, which is below [`MODES`].
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "there are a few modes")]
    pub const fn idle(mode: usize) -> Self {
        assert!(mode < MODES);
        Self(1 + mode as u8)
    }

    /// Its place among [`ACTIVITIES`]: starting up, the idle modes, seek, rotation, servo, data.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The activity at a place among [`ACTIVITIES`].
    #[expect(clippy::cast_possible_truncation, reason = "there are a few activities")]
    pub(super) const fn of_index(index: usize) -> Self {
        assert!(index < ACTIVITIES);
        Self(index as u8)
    }

    /// The idle mode, if it is one.
    #[must_use]
    pub const fn mode(self) -> Option<usize> {
        if self.0 >= Self::READY.0 && self.0 < Self::SEEK.0 {
            Some((self.0 - Self::READY.0) as usize)
        } else {
            None
        }
    }

    /// The state it belongs to.
    #[must_use]
    pub const fn state(self) -> State {
        match self {
            Self::STARTUP => State::Startup,
            Self::SEEK => State::Seek,
            Self::ROTATION => State::Rotation,
            Self::SERVO => State::Servo,
            Self::DATA => State::Data,
            Self::READY => State::Idle,
            _ => State::Inactive,
        }
    }
}

/// Windows of equal energy in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    /// Energy of each, W·ns.
    pub(super) energy_w_ns: f64,
    /// How many.
    pub(super) windows: u64,
}

/// The meter of one mechanism.
///
/// It is told of spans by their ends: each begins where the one before it ended. What it has heard it hears no more: spans
/// that end no later than [`Meter::at`] are passed over, so that a mechanism may tell of a service again from its beginning.
#[derive(Clone, Debug)]
pub struct Meter {
    /// Until when everything is known.
    at: Time,
    /// Until when a span may be added to the present window without a look at anything else.
    plain_until: Time,
    /// End of the present window.
    window_end: Time,
    /// Energy in it so far, W·ns.
    energy_w_ns: f64,
    activity: Activity,
    entered: [u64; ACTIVITIES],
    /// Where the first window begins.
    start: Time,
    peak: Peak,
    /// Windows that are over, where they are to be added to those of other mechanisms.
    runs: Option<Vec<Run>>,
    record: Option<Box<Record>>,
}

impl Meter {
    /// The meter of a mechanism that begins the run with `activity`.
    #[must_use]
    pub fn new(activity: Activity) -> Self {
        Self {
            at: Time::ZERO,
            plain_until: Time::ZERO + WINDOW_NS,
            window_end: Time::ZERO + WINDOW_NS,
            energy_w_ns: 0.0,
            activity,
            entered: [0; ACTIVITIES],
            start: Time::ZERO,
            peak: Peak::default(),
            runs: None,
            record: None,
        }
    }

    /// Until when everything is known.
    #[inline]
    #[must_use]
    pub fn at(&self) -> Time {
        self.at
    }

    /// The mechanism did this from [`Meter::at`] to `until`, at that power.
    #[inline]
    pub fn span(&mut self, activity: Activity, until: Time, power_w: f64) {
        if until <= self.at {
            return;
        }
        self.enter(activity);
        self.draw(until, power_w);
    }

    /// Whether the mechanism may tell of a service that begins at `start` by [`Meter::draw`] and [`Meter::count`]: the meter knows
    /// what was before and nothing more, and keeps nothing but sums.
    #[inline]
    #[must_use]
    pub fn only_sums_from(&self, start: Time) -> bool {
        self.at == start && start < self.plain_until
    }

    /// The mechanism drew that power from [`Meter::at`] to `until`, whatever it did.
    #[inline]
    pub fn draw(&mut self, until: Time, power_w: f64) {
        if until <= self.plain_until {
            self.energy_w_ns += energy_w_ns(power_w, until - self.at);
            self.at = until;
        } else {
            self.long_span(until, power_w);
        }
    }

    /// Meanwhile it entered each of these so often, the last one last.
    #[inline]
    pub fn count<const ACTIVITIES: usize>(&mut self, entered: &[(Activity, u64); ACTIVITIES]) {
        for &(activity, times) in entered {
            self.entered[activity.index()] += times;
            self.activity = activity;
        }
    }

    /// What the mechanism did last.
    #[inline]
    #[must_use]
    pub fn activity(&self) -> Activity {
        self.activity
    }

    #[inline]
    fn enter(&mut self, activity: Activity) {
        if activity != self.activity {
            self.activity = activity;
            self.entered[activity.index()] += 1;
        }
    }

    /// A span that goes beyond the present window, comes before the first one, or is to be kept.
    #[inline(never)]
    fn long_span(&mut self, until: Time, power_w: f64) {
        if self.is_special() {
            self.special_span(until, power_w);
        }
        if until > self.window_end {
            self.close(self.energy_w_ns + energy_w_ns(power_w, self.window_end - self.at), 1);
            self.at = self.window_end;
            self.energy_w_ns = 0.0;
            if until - self.at > WINDOW_NS {
                // What ends with a window is its last part, not the first of the next: all meters agree on how many are over.
                let windows = (until - self.at - 1) / WINDOW_NS;
                self.close(energy_w_ns(power_w, WINDOW_NS), windows);
                self.at += windows * WINDOW_NS;
            }
            self.window_end = self.at + WINDOW_NS;
        }
        self.energy_w_ns += energy_w_ns(power_w, until - self.at);
        self.at = until;
        self.plain_until = if self.is_special() { self.at } else { self.window_end };
    }

    /// What is due to a span besides its energy.
    #[inline(never)]
    fn special_span(&mut self, until: Time, power_w: f64) {
        if let Some(record) = &mut self.record {
            record.keep(Span { activity: self.activity, from: self.at, to: until, power_w });
        }
        self.at = self.at.max(self.start.min(until));
    }

    #[inline]
    fn close(&mut self, energy_w_ns: f64, windows: u64) {
        self.peak.close(energy_w_ns, windows);
        if self.runs.is_some() {
            self.keep_run(energy_w_ns, windows);
        }
    }

    #[inline(never)]
    fn keep_run(&mut self, energy_w_ns: f64, windows: u64) {
        if let Some(runs) = &mut self.runs {
            match runs.last_mut() {
                Some(last) if last.energy_w_ns == energy_w_ns => last.windows += windows,
                _ => runs.push(Run { energy_w_ns, windows }),
            }
        }
    }

    /// Whether spans need more than adding up.
    #[inline]
    fn is_special(&self) -> bool {
        self.record.is_some() || self.at < self.start
    }

    /// Windows begin at `start`, which may lie ahead of [`Meter::at`]; what was before counts no more.
    pub fn start(&mut self, start: Time) {
        self.start = start;
        self.window_end = start + WINDOW_NS;
        self.energy_w_ns = 0.0;
        self.peak = Peak::default();
        if let Some(runs) = &mut self.runs {
            runs.clear();
        }
        self.plain_until = if self.is_special() { self.at } else { self.window_end };
    }

    /// Keeps windows that are over, to be added to those of other mechanisms; from the next [`Meter::start`] on.
    pub fn keep_windows(&mut self) {
        self.runs = Some(Vec::new());
    }

    /// Keeps the spans to come.
    pub fn record(&mut self, spec: TimelineSpec) {
        self.record = Some(Box::new(Record::new(spec)));
        self.plain_until = if self.is_special() { self.at } else { self.window_end };
    }

    /// The spans that were kept, and the width of the slots that they are in, if there were too many, ns.
    #[must_use]
    pub fn into_recorded(self) -> (Vec<Span>, Option<u64>) {
        self.record.map_or_else(Default::default, |record| record.into_spans())
    }

    /// How often each activity was entered since the start of the run, by [`Activity::index`].
    #[must_use]
    pub fn entered(&self) -> &[u64; ACTIVITIES] {
        &self.entered
    }

    /// Enters them in a ledger.
    pub fn book_entries(&self, ledger: &mut EnergyLedger) {
        ledger.entered = [0; STATES.len()];
        for activity in (0..ACTIVITIES).map(Activity::of_index) {
            let entered = self.entered[activity.index()];
            ledger.entered[activity.state() as usize] += entered;
            if let Some(mode) = activity.mode() {
                ledger.modes[mode].entered = entered;
            }
        }
    }

    /// Joules from the start of the first window to [`Meter::at`].
    #[must_use]
    pub fn energy_j(&self) -> f64 {
        (self.peak.energy_w_ns() + self.energy_w_ns) / 1e9
    }

    /// The largest power over a millisecond, see [`Peak::power_w`].
    #[must_use]
    pub fn peak_w(&self) -> f64 {
        let (rest_w_ns, rest_ns) = self.rest();
        self.peak.power_w(rest_w_ns, rest_ns)
    }

    /// Energy of the present window so far, W·ns, and its length so far.
    pub(super) fn rest(&self) -> (f64, u64) {
        (self.energy_w_ns, WINDOW_NS - (self.window_end - self.at.max(self.start)))
    }

    /// Windows that are over and were kept.
    pub(super) fn take_runs(&mut self) -> Vec<Run> {
        self.runs.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

/// A power over a time, W·ns. Times between two instants of a run are below 2^63 ns, whose conversion is the quicker one.
#[inline]
fn energy_w_ns(power_w: f64, ns: u64) -> f64 {
    power_w * ns as i64 as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = WINDOW_NS;

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    /// A meter that has heard spans of (activity, nanoseconds, watts).
    fn metered(spans: &[(Activity, u64, f64)]) -> Meter {
        let mut meter = Meter::new(Activity::READY);
        for &(activity, ns, power_w) in spans {
            let until = meter.at() + ns;
            meter.span(activity, until, power_w);
        }
        meter
    }

    #[test]
    fn windows_follow_each_other_from_the_start() {
        // 0.5 ms of 4 W, then 1 W: half a window of each, then whole windows of 1 W, of which the last ends with the run.
        let meter = metered(&[(Activity::SEEK, MS / 2, 4.0), (Activity::READY, MS * 5 / 2, 1.0)]);
        assert_eq!((meter.peak_w(), meter.energy_j()), (2.5, 4.5e-3));
        // The same 0.5 ms across the border between two windows: a quarter in each.
        let spans =
            [(Activity::READY, MS * 3 / 4, 0.0), (Activity::SEEK, MS / 2, 4.0), (Activity::READY, MS * 3 / 4, 0.0)];
        assert_eq!(metered(&spans).peak_w(), 1.0);
    }

    #[test]
    fn a_rest_counts_over_its_window_and_with_the_one_before() {
        let spans = |rest_ns, rest_w| metered(&[(Activity::READY, MS, 1.0), (Activity::DATA, rest_ns, rest_w)]);
        // A microsecond of 100 W is 0.1 W over its window, and (1000 + 100) / 1001 W with the window before.
        assert_eq!(spans(1000, 100.0).peak_w(), 1100.0 / 1001.0);
        // Nine tenths of 2 W are 1.8 W over their window, more than 2.8 / 1.9.
        assert_eq!(spans(MS / 10 * 9, 2.0).peak_w(), 1.8);
        // At constant power, peak is mean.
        assert_eq!(spans(MS / 2, 1.0).peak_w(), 1.0);
        // Nothing but a rest: its own power. Nothing at all: none.
        assert_eq!(metered(&[(Activity::DATA, 1000, 3.0)]).peak_w(), 3.0);
        assert_eq!(metered(&[]).peak_w(), 0.0);
    }

    #[test]
    fn what_was_before_the_start_counts_no_more() {
        let mut meter = metered(&[(Activity::SEEK, MS * 3, 9.0)]);
        // The start may lie ahead of what is known.
        meter.start(at(MS * 7 / 2));
        meter.span(Activity::SEEK, at(MS * 4), 9.0);
        meter.span(Activity::READY, at(MS * 5), 1.0);
        // Windows run from 3.5 ms on: half of the first is 9 W.
        assert_eq!((meter.peak_w(), meter.energy_j()), (5.0, 5.5e-3));
        assert_eq!(meter.entered()[Activity::SEEK.index()], 1);
    }

    #[test]
    fn what_was_heard_is_heard_no_more() {
        let tell = |meter: &mut Meter, until: u64| {
            for (activity, to, power_w) in
                [(Activity::SEEK, 700, 1.0), (Activity::SERVO, 800, 2.0), (Activity::DATA, 1900, 3.0)]
            {
                meter.span(activity, at(until.min(to)), power_w);
            }
        };
        let (mut once, mut again) = (Meter::new(Activity::READY), Meter::new(Activity::READY));
        tell(&mut once, 1900);
        [100, 700, 750, 1000, 1900].iter().for_each(|&until| tell(&mut again, until));
        assert_eq!(once.entered(), again.entered());
        assert!((once.energy_j() - again.energy_j()).abs() < 1e-18);
        assert_eq!(once.entered()[Activity::SERVO.index()], 1);
        assert_eq!(once.entered().iter().sum::<u64>(), 3);
    }

    /// A kept span: its activity, from when to when in ns, and its power.
    type Kept = (usize, u64, u64, f64);

    /// What is kept of six spans of 100 ns, told in two parts each, between 50 and 450 ns.
    fn kept(spans: usize) -> (Vec<Kept>, Option<u64>) {
        let mut meter = Meter::new(Activity::READY);
        meter.record(TimelineSpec { from: at(50), to: at(450), spans });
        for end in 1..=6 {
            let (activity, power_w) = if end % 2 == 0 { (Activity::SEEK, 2.0) } else { (Activity::READY, 1.0) };
            meter.span(activity, at(end * 100 - 30), power_w);
            meter.span(activity, at(end * 100), power_w);
        }
        assert_eq!(meter.entered()[Activity::SEEK.index()], 3);
        let (spans, slot_ns) = meter.into_recorded();
        let of = |span: &Span| (span.activity.index(), span.from.ns(), span.to.ns(), span.power_w);
        (spans.iter().map(of).collect(), slot_ns)
    }

    #[test]
    fn the_record_keeps_the_spans_of_its_stretch_or_what_they_add_up_to() {
        let (ready, seek) = (Activity::READY.index(), Activity::SEEK.index());
        let one_by_one = vec![
            (ready, 50, 100, 1.0),
            (seek, 100, 200, 2.0),
            (ready, 200, 300, 1.0),
            (seek, 300, 400, 2.0),
            (ready, 400, 450, 1.0),
        ];
        assert_eq!(kept(5), (one_by_one, None));
        // 400 ns in two slots of a power of two, 256 ns: 50 + 100 - 306 + 450 of one, 100 + 6 of the other.
        let in_slots =
            vec![(ready, 50, 200, 1.0), (seek, 200, 306, 2.0), (ready, 306, 356, 1.0), (seek, 356, 450, 2.0)];
        assert_eq!(kept(3), (in_slots, Some(256)));
    }

    #[test]
    fn activities_are_states_and_idle_modes() {
        let modes: Vec<_> = (0..MODES).map(Activity::idle).collect();
        assert!(modes.iter().enumerate().all(|(mode, activity)| activity.mode() == Some(mode)));
        assert!(modes[1..].iter().all(|activity| activity.state() == State::Inactive));
        let others = [Activity::STARTUP, Activity::SEEK, Activity::ROTATION, Activity::SERVO, Activity::DATA];
        assert!(others.iter().all(|activity| activity.mode().is_none()));
        let mut indices: Vec<_> = modes.iter().chain(&others).map(|activity| activity.index()).collect();
        indices.sort_unstable();
        assert!(indices.into_iter().eq(0..ACTIVITIES));
    }
}
