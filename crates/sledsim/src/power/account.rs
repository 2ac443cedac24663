//! The energy account of one mechanism.
//!
//! A mechanism adds intervals in order of time, each with its activity and its end. The account derives from them the
//! time and energy of each activity, the number of times each was entered, the peak power, and, on request, a timeline.
//! Its size does not grow with the run, except for the timeline; adding an interval takes constant time.

use super::peak::{Peak, WINDOW_NS};
use super::timeline::{Record, Span, TimelineSpec};
use crate::request::Op;
use crate::service::{EnergyLedger, State, MODES};
use crate::time::{ns_to_s, Time};

/// Number of activities: start-up, the idle modes, and four kinds of work.
pub const ACTIVITIES: usize = 5 + MODES;

/// Number of idle modes.
const IDLE_MODES: u8 = to_u8(MODES);

#[expect(clippy::cast_possible_truncation, reason = "asserted")]
const fn to_u8(index: usize) -> u8 {
    assert!(index <= u8::MAX as usize);
    index as u8
}

/// An activity of a mechanism: a state, or one of its idle modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Activity(u8);

impl Activity {
    /// Start-up.
    pub const STARTUP: Self = Self(0);
    /// The idle mode in which a device is ready.
    pub const READY: Self = Self::idle(0);
    /// Positioning.
    pub const SEEK: Self = Self(1 + IDLE_MODES);
    /// Wait on track for a sector.
    pub const ROTATION: Self = Self(2 + IDLE_MODES);
    /// Servo bursts.
    pub const SERVO: Self = Self(3 + IDLE_MODES);
    /// Data bits.
    pub const DATA: Self = Self(4 + IDLE_MODES);

    /// Returns idle mode `mode`, which is below [`MODES`].
    #[must_use]
    pub const fn idle(mode: usize) -> Self {
        assert!(mode < MODES);
        Self(1 + to_u8(mode))
    }

    /// Returns its index below [`ACTIVITIES`]: start-up, the idle modes, seek, rotation, servo, data.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the activity of an index.
    pub(super) const fn of_index(index: usize) -> Self {
        assert!(index < ACTIVITIES);
        Self(to_u8(index))
    }

    /// Returns the idle mode, if the activity is one.
    #[must_use]
    pub const fn mode(self) -> Option<usize> {
        if self.0 >= Self::READY.0 && self.0 < Self::SEEK.0 {
            Some((self.0 - Self::READY.0) as usize)
        } else {
            None
        }
    }

    /// Returns the state that it belongs to.
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

/// Number of power levels.
const LEVELS: usize = 2 * MODES + 8;

/// An activity at one power: a start-up by the idle mode that it leaves, work by operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(u8);

impl Level {
    /// Returns the start-up from idle mode `mode`, which is below [`MODES`].
    #[must_use]
    pub const fn startup_from(mode: usize) -> Self {
        assert!(mode < MODES);
        Self(to_u8(mode))
    }

    /// Returns idle mode `mode`, which is below [`MODES`].
    #[must_use]
    pub const fn idle(mode: usize) -> Self {
        assert!(mode < MODES);
        Self(IDLE_MODES + to_u8(mode))
    }

    /// Returns work of one kind, one of [`Activity::SEEK`] to [`Activity::DATA`], for an operation.
    #[must_use]
    pub const fn work(activity: Activity, op: Op) -> Self {
        assert!(activity.0 >= Activity::SEEK.0);
        let write = !matches!(op, Op::Read);
        Self(2 * (IDLE_MODES + activity.0 - Activity::SEEK.0) + write as u8)
    }

    /// Returns the activity.
    #[inline]
    #[must_use]
    pub const fn activity(self) -> Activity {
        ACTIVITY_OF_LEVEL[self.0 as usize]
    }
}

const ACTIVITY_OF_LEVEL: [Activity; LEVELS] = {
    let mut activities = [Activity::STARTUP; LEVELS];
    let mut level = MODES;
    while level < LEVELS {
        activities[level] = if level < 2 * MODES {
            Activity::idle(level - MODES)
        } else {
            Activity(Activity::SEEK.0 + to_u8(level / 2 - MODES))
        };
        level += 1;
    }
    activities
};

/// The power of one level: `base_w + tips * tip_w * tip_duty`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LevelPower {
    /// Power without active tips.
    pub base_w: f64,
    /// Power of an active tip of a MEMS device.
    pub tip_w: f64,
    /// Fraction of the time in which an active tip draws power.
    pub tip_duty: f64,
}

impl LevelPower {
    /// Returns a power that does not depend on tips.
    #[must_use]
    pub const fn constant(base_w: f64) -> Self {
        Self { base_w, tip_w: 0.0, tip_duty: 0.0 }
    }
}

/// The power of each level of a mechanism, in watts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PowerTable([LevelPower; LEVELS]);

impl PowerTable {
    /// Sets the power of a level.
    #[must_use]
    pub const fn with(mut self, level: Level, power: LevelPower) -> Self {
        self.0[level.0 as usize] = power;
        self
    }

    #[inline]
    fn power_w(&self, level: Level, tips: u32) -> f64 {
        let LevelPower { base_w, tip_w, tip_duty } = self.0[level.0 as usize];
        base_w + f64::from(tips) * tip_w * tip_duty
    }
}

/// Time in one level.
#[derive(Clone, Copy, Debug, Default)]
struct LevelTime {
    ns: u64,
    /// Active tips times nanoseconds.
    tip_ns: u128,
}

/// Windows of equal energy in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    /// Energy of each, W·ns.
    pub(super) energy_w_ns: f64,
    /// How many.
    pub(super) windows: u64,
}

/// A window that has not ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenWindow {
    /// Its energy so far, W·ns.
    pub(super) energy_w_ns: f64,
    /// Its length so far.
    pub(super) ns: u64,
}

/// The energy account of one mechanism.
///
/// Intervals are given by their ends: each begins where the one before it ended, at [`EnergyAccount::at`]. An interval that ends no
/// later than that is ignored, so a mechanism may add a service again from its beginning.
#[derive(Clone, Debug)]
pub struct EnergyAccount {
    /// End of the last interval.
    at: Time,
    /// Until when an interval only adds to the sums of the present window.
    plain_until: Time,
    /// End of the present window.
    window_end: Time,
    /// Energy in it so far, W·ns.
    energy_w_ns: f64,
    activity: Activity,
    entered: [u64; ACTIVITIES],
    times: [LevelTime; LEVELS],
    powers: PowerTable,
    /// Start of the first window.
    start: Time,
    peak: Peak,
    /// Past windows, if they are to be added to those of other mechanisms.
    runs: Option<Vec<Run>>,
    record: Option<Box<Record>>,
}

impl EnergyAccount {
    /// Returns the account of a mechanism that begins the run with `activity`.
    #[must_use]
    pub fn new(activity: Activity, powers: PowerTable) -> Self {
        Self {
            at: Time::ZERO,
            plain_until: Time::ZERO + WINDOW_NS,
            window_end: Time::ZERO + WINDOW_NS,
            energy_w_ns: 0.0,
            activity,
            entered: [0; ACTIVITIES],
            times: [LevelTime::default(); LEVELS],
            powers,
            start: Time::ZERO,
            peak: Peak::default(),
            runs: None,
            record: None,
        }
    }

    /// Returns the end of the last interval.
    #[inline]
    #[must_use]
    pub fn at(&self) -> Time {
        self.at
    }

    /// Returns the last activity.
    #[inline]
    #[must_use]
    pub fn activity(&self) -> Activity {
        self.activity
    }

    /// Adds an interval from [`EnergyAccount::at`] to `until` at `level` with `tips` active tips.
    #[inline]
    pub fn add(&mut self, level: Level, tips: u32, until: Time) {
        if until <= self.at {
            return;
        }
        self.enter(level.activity());
        self.add_time(level, tips, until - self.at);
        self.draw(level, tips, until);
    }

    /// Enters an activity, before its interval is added or if it takes no time.
    #[inline]
    pub fn enter(&mut self, activity: Activity) {
        if activity != self.activity {
            self.activity = activity;
            self.entered[activity.index()] += 1;
        }
    }

    /// Returns true if a service that begins at `start` may be added by [`EnergyAccount::draw`], [`EnergyAccount::add_time`] and
    /// [`EnergyAccount::count`]: all before it has been added, nothing of it, and no timeline is kept.
    #[inline]
    #[must_use]
    pub(crate) fn only_sums_from(&self, start: Time) -> bool {
        self.at == start && start < self.plain_until
    }

    /// Adds the energy of `level` from [`EnergyAccount::at`] to `until`, for the peak power.
    #[inline]
    pub(crate) fn draw(&mut self, level: Level, tips: u32, until: Time) {
        let power_w = self.powers.power_w(level, tips);
        if until <= self.plain_until {
            self.energy_w_ns += energy_w_ns(power_w, until - self.at);
            self.at = until;
        } else {
            self.long_interval(until, power_w);
        }
    }

    /// Adds time at a level, for the totals.
    #[inline]
    pub(crate) fn add_time(&mut self, level: Level, tips: u32, ns: u64) {
        self.add_tip_time(level, ns, u128::from(tips) * u128::from(ns));
    }

    /// Adds time at a level; `tip_ns` is the sum of active tips times nanoseconds.
    #[inline]
    pub(crate) fn add_tip_time(&mut self, level: Level, ns: u64, tip_ns: u128) {
        let time = &mut self.times[level.0 as usize];
        time.ns += ns;
        time.tip_ns += tip_ns;
    }

    /// Takes time out of the totals that was added with [`EnergyAccount::add`].
    pub(crate) fn remove_time(&mut self, level: Level, tips: u32, ns: u64) {
        let time = &mut self.times[level.0 as usize];
        time.ns -= ns;
        time.tip_ns -= u128::from(tips) * u128::from(ns);
    }

    /// Counts how often each activity was entered; the last one is the present one.
    #[inline]
    pub(crate) fn count<const N: usize>(&mut self, entered: &[(Activity, u64); N]) {
        for &(activity, times) in entered {
            self.entered[activity.index()] += times;
            self.activity = activity;
        }
    }

    /// Adds an interval that ends after the present window or begins before the first one, or that the timeline needs.
    #[inline(never)]
    fn long_interval(&mut self, until: Time, power_w: f64) {
        if self.is_special() {
            self.special_interval(until, power_w);
        }
        if until > self.window_end {
            self.close(self.energy_w_ns + energy_w_ns(power_w, self.window_end - self.at), 1);
            self.at = self.window_end;
            self.energy_w_ns = 0.0;
            if until - self.at > WINDOW_NS {
                // An interval that ends with a window is its last part, not the first of the next: all accounts then have the same
                // number of past windows.
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

    /// Adds an interval to the timeline, and leaves out the part before the first window.
    #[inline(never)]
    fn special_interval(&mut self, until: Time, power_w: f64) {
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

    /// Returns true if an interval needs more than sums.
    #[inline]
    fn is_special(&self) -> bool {
        self.record.is_some() || self.at < self.start
    }

    /// Lets windows begin at `start`, which may be after [`EnergyAccount::at`]; earlier ones are dropped. The totals
    /// are not reset.
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

    /// Keeps windows for the sum over mechanisms, from the next [`EnergyAccount::start`] on.
    pub fn keep_windows(&mut self) {
        self.runs = Some(Vec::new());
    }

    /// Keeps a timeline of the intervals to come.
    pub fn record(&mut self, spec: TimelineSpec) {
        self.record = Some(Box::new(Record::new(spec)));
        self.plain_until = if self.is_special() { self.at } else { self.window_end };
    }

    /// Returns the spans of the timeline; if there were too many, in slots of the width returned, ns.
    #[must_use]
    pub fn into_recorded(self) -> (Vec<Span>, Option<u64>) {
        self.record.map_or_else(Default::default, |record| record.into_spans())
    }

    /// Returns time, energy and entries by state since the start of the run; `regret_j` is 0.
    #[must_use]
    pub fn ledger(&self) -> EnergyLedger {
        let mut ledger = EnergyLedger::default();
        let levels = self.times.iter().zip(&self.powers.0).zip(ACTIVITY_OF_LEVEL);
        for ((time, power), activity) in levels {
            let tips_j = time.tip_ns as f64 * 1e-9 * power.tip_w * power.tip_duty;
            let energy_j = ns_to_s(time.ns) * power.base_w + tips_j;
            ledger.time_ns[activity.state() as usize] += time.ns;
            ledger.energy_j[activity.state() as usize] += energy_j;
            if let Some(mode) = activity.mode() {
                ledger.modes[mode].time_ns = time.ns;
                ledger.modes[mode].energy_j = energy_j;
            }
        }
        for activity in (0..ACTIVITIES).map(Activity::of_index) {
            let entered = self.entered[activity.index()];
            ledger.entered[activity.state() as usize] += entered;
            if let Some(mode) = activity.mode() {
                ledger.modes[mode].entered = entered;
            }
        }
        ledger
    }

    /// Returns the energy in joules from the start of the first window to [`EnergyAccount::at`].
    #[must_use]
    pub fn energy_j(&self) -> f64 {
        (self.peak.energy_w_ns() + self.energy_w_ns) / 1e9
    }

    /// Returns the largest power over a millisecond, see [`Peak::power_w`].
    #[must_use]
    pub fn peak_w(&self) -> f64 {
        let OpenWindow { energy_w_ns, ns } = self.open_window();
        self.peak.power_w(energy_w_ns, ns)
    }

    /// Returns the present window up to the last interval.
    pub(super) fn open_window(&self) -> OpenWindow {
        let ns = WINDOW_NS - (self.window_end - self.at.max(self.start));
        OpenWindow { energy_w_ns: self.energy_w_ns, ns }
    }

    /// Takes the past windows that were kept.
    pub(super) fn take_runs(&mut self) -> Vec<Run> {
        self.runs.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

/// Returns power times time, W·ns. Times between two instants of a run are below 2^63 ns, whose conversion is faster.
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

    const READY: Level = Level::idle(0);
    const SEEK: Level = Level::work(Activity::SEEK, Op::Read);
    const SERVO: Level = Level::work(Activity::SERVO, Op::Read);
    const DATA: Level = Level::work(Activity::DATA, Op::Read);

    /// Returns an account of a mechanism whose power is one watt for each active tip.
    fn empty() -> EnergyAccount {
        let power = LevelPower { base_w: 0.0, tip_w: 1.0, tip_duty: 1.0 };
        EnergyAccount::new(Activity::READY, PowerTable([power; LEVELS]))
    }

    /// Returns an account with intervals of (level, nanoseconds, watts).
    fn account(intervals: &[(Level, u64, u32)]) -> EnergyAccount {
        let mut account = empty();
        for &(level, ns, power_w) in intervals {
            let until = account.at() + ns;
            account.add(level, power_w, until);
        }
        account
    }

    #[test]
    fn windows_of_peak_power_follow_each_other() {
        // 0.5 ms of 4 W, then 1 W: half a window of each, then whole windows of 1 W, of which the last ends with the run.
        let steps = account(&[(SEEK, MS / 2, 4), (READY, MS * 5 / 2, 1)]);
        assert_eq!((steps.peak_w(), steps.energy_j()), (2.5, 4.5e-3));
        // The same 0.5 ms across the border between two windows: a quarter in each.
        let across = account(&[(READY, MS * 3 / 4, 0), (SEEK, MS / 2, 4), (READY, MS * 3 / 4, 0)]);
        assert_eq!(across.peak_w(), 1.0);
    }

    #[test]
    fn an_unfinished_window_counts_as_a_whole_one_and_with_the_one_before() {
        let peak_w = |rest_ns, rest_w| account(&[(READY, MS, 1), (DATA, rest_ns, rest_w)]).peak_w();
        // A microsecond of 100 W is 0.1 W over its window, and (1000 + 100) / 1001 W with the window before.
        assert_eq!(peak_w(1000, 100), 1100.0 / 1001.0);
        // Nine tenths of 2 W are 1.8 W over their window, more than 2.8 / 1.9.
        assert_eq!(peak_w(MS / 10 * 9, 2), 1.8);
        // At constant power, the peak is the mean.
        assert_eq!(peak_w(MS / 2, 1), 1.0);
        // Without a window before it, its own length counts.
        assert_eq!(account(&[(DATA, 1000, 3)]).peak_w(), 3.0);
        assert_eq!(account(&[]).peak_w(), 0.0);
    }

    #[test]
    fn peak_power_leaves_out_the_time_before_the_start() {
        let mut account = account(&[(SEEK, MS * 3, 9)]);
        // The start may be after the last interval.
        account.start(at(MS * 7 / 2));
        account.add(SEEK, 9, at(MS * 4));
        account.add(READY, 1, at(MS * 5));
        // Windows begin at 3.5 ms: half of the first is 9 W.
        assert_eq!((account.peak_w(), account.energy_j()), (5.0, 5.5e-3));
        let ledger = account.ledger();
        assert_eq!(ledger.entered[State::Seek as usize], 1);
        // Totals are those of the whole run.
        assert_eq!((ledger.time_ns[State::Seek as usize], ledger.time_ns[State::Idle as usize]), (MS * 4, MS));
        assert!((ledger.total_j() - 37e-3).abs() < 1e-15);
    }

    #[test]
    fn intervals_added_again_are_ignored() {
        let add = |account: &mut EnergyAccount, until: u64| {
            for (level, to, power_w) in [(SEEK, 700, 1), (SERVO, 800, 2), (DATA, 1900, 3)] {
                account.add(level, power_w, at(until.min(to)));
            }
        };
        let (mut once, mut again) = (empty(), empty());
        add(&mut once, 1900);
        [100, 700, 750, 1000, 1900].iter().for_each(|&until| add(&mut again, until));
        assert_eq!(once.ledger(), again.ledger());
        assert!((once.energy_j() - again.energy_j()).abs() < 1e-18);
        assert_eq!(once.ledger().entered.iter().sum::<u64>(), 3);
    }

    #[test]
    fn totals_are_energy_by_level() {
        let levels = [
            (Level::startup_from(2), LevelPower::constant(8.0)),
            (READY, LevelPower { base_w: 1.0, tip_w: 0.5, tip_duty: 0.25 }),
            (Level::idle(2), LevelPower::constant(0.5)),
            (Level::work(Activity::SEEK, Op::Write), LevelPower::constant(4.0)),
            (SEEK, LevelPower::constant(2.0)),
        ];
        let powers = levels.iter().fold(PowerTable::default(), |powers, &(level, power)| powers.with(level, power));
        let mut account = EnergyAccount::new(Activity::READY, powers);
        let second = Time::ZERO + 1_000_000_000;
        for (tips, seconds, level) in
            [(0, 1, levels[4].0), (0, 2, levels[3].0), (8, 3, READY), (0, 4, Level::idle(2)), (0, 5, levels[0].0)]
        {
            account.add(level, tips, Time::from_ns(second.ns() * seconds));
        }
        let ledger = account.ledger();
        let energy_j =
            [State::Seek, State::Idle, State::Inactive, State::Startup].map(|state| ledger.energy_j[state as usize]);
        assert_eq!(energy_j, [6.0, 2.0, 0.5, 8.0]);
        assert_eq!((ledger.modes[0].energy_j, ledger.modes[2].energy_j, ledger.modes[2].entered), (2.0, 0.5, 1));
        assert_eq!(ledger.total_ns(), 5 * second.ns());
    }

    /// A span of a timeline: its activity, its start and end in ns, and its power.
    type Recorded = (usize, u64, u64, f64);

    /// Returns the timeline between 50 and 450 ns of six intervals of 100 ns, each added in two parts.
    fn recorded(spans: usize) -> (Vec<Recorded>, Option<u64>) {
        let mut account = empty();
        account.record(TimelineSpec { from: at(50), to: at(450), spans });
        for end in 1..=6 {
            let (level, power_w) = if end % 2 == 0 { (SEEK, 2) } else { (READY, 1) };
            account.add(level, power_w, at(end * 100 - 30));
            account.add(level, power_w, at(end * 100));
        }
        assert_eq!(account.ledger().entered[State::Seek as usize], 3);
        let (spans, slot_ns) = account.into_recorded();
        let of = |span: &Span| (span.activity.index(), span.from.ns(), span.to.ns(), span.power_w);
        (spans.iter().map(of).collect(), slot_ns)
    }

    #[test]
    fn a_timeline_has_the_intervals_or_their_sums_in_slots() {
        let (ready, seek) = (Activity::READY.index(), Activity::SEEK.index());
        let one_by_one = vec![
            (ready, 50, 100, 1.0),
            (seek, 100, 200, 2.0),
            (ready, 200, 300, 1.0),
            (seek, 300, 400, 2.0),
            (ready, 400, 450, 1.0),
        ];
        assert_eq!(recorded(5), (one_by_one, None));
        // 400 ns in two slots of a power of two, 256 ns: 50 + 100 - 306 + 450 of one, 100 + 6 of the other.
        let in_slots =
            vec![(ready, 50, 200, 1.0), (seek, 200, 306, 2.0), (ready, 306, 356, 1.0), (seek, 356, 450, 2.0)];
        assert_eq!(recorded(3), (in_slots, Some(256)));
    }

    #[test]
    fn levels_are_the_activities_by_mode_and_operation() {
        for mode in 0..MODES {
            assert_eq!(Level::startup_from(mode).activity(), Activity::STARTUP);
            assert_eq!(Level::idle(mode).activity(), Activity::idle(mode));
        }
        for activity in [Activity::SEEK, Activity::ROTATION, Activity::SERVO, Activity::DATA] {
            let levels = [Op::Read, Op::Write].map(|op| Level::work(activity, op));
            assert!(levels.iter().all(|level| level.activity() == activity));
            assert_ne!(levels[0], levels[1]);
        }
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
