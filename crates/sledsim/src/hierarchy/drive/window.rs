//! The measurement window of a drive: sums from its start on.

use crate::service::EnergyLedger;
use crate::time::Time;

/// Sums over the measurement window.
#[derive(Clone, Default)]
pub(super) struct Window {
    pub(super) start: Time,
    pub(super) ledger_at_start: EnergyLedger,
    /// Busy time from the dispatches of the window, the last one perhaps reaching beyond now.
    busy_ns: u64,
    busy_until: Option<Time>,
    queue_ns: u128,
    queue_max: u64,
    queue_changed: Time,
    /// Requests served together with others, and in how many accesses.
    pub(super) together_requests: u64,
    pub(super) together_accesses: u64,
    /// Whether the window began in an idle period that is still under way: a policy with hindsight has yet to say what it was.
    pub(super) began_idle: bool,
}

impl Window {
    /// The window that follows this one: it begins at `now`, while so many wait.
    pub(super) fn next(&self, now: Time, waiting: usize, ledger_at_start: EnergyLedger) -> Self {
        let busy_ns = self.busy_after(now);
        Self {
            start: now,
            ledger_at_start,
            busy_ns,
            busy_until: self.busy_until,
            queue_max: waiting as u64,
            queue_changed: now,
            // A device that has not run yet has spent nothing.
            began_idle: now > Time::ZERO && busy_ns == 0,
            ..Self::default()
        }
    }

    /// The mechanism serves from `now` to `free`.
    #[inline]
    pub(super) fn serve(&mut self, now: Time, free: Time) {
        debug_assert!(self.busy_until.is_none_or(|until| until <= now), "one access at a time");
        debug_assert!(now <= free, "the clock never goes back");
        self.busy_ns += free - now;
        self.busy_until = Some(free);
    }

    /// When the mechanism gets, or got, free; `None` before its first service.
    #[inline]
    pub(super) fn busy_until(&self) -> Option<Time> {
        self.busy_until
    }

    /// Busy nanoseconds until `now`.
    pub(super) fn busy_ns(&self, now: Time) -> u64 {
        self.busy_ns - self.busy_after(now)
    }

    /// Nanoseconds of the service under way that lie after `now`.
    fn busy_after(&self, now: Time) -> u64 {
        self.busy_until.map_or(0, |until| until.saturating_since(now))
    }

    /// Brings the queue's time integral up to `now`, until when so many have been waiting.
    #[inline]
    pub(super) fn count_queue(&mut self, now: Time, waiting: usize) {
        debug_assert!(self.queue_changed <= now, "the clock never goes back");
        if waiting > 0 {
            self.queue_ns += waiting as u128 * u128::from(now - self.queue_changed);
        }
        self.queue_changed = now;
    }

    /// One has waited for so long that was not counted.
    #[inline]
    pub(super) fn count_one(&mut self, waited_ns: u64) {
        self.queue_ns += u128::from(waited_ns);
    }

    /// So many are seen waiting.
    #[inline]
    pub(super) fn watch_queue(&mut self, waiting: usize) {
        self.queue_max = self.queue_max.max(waiting as u64);
    }

    /// The queue's time integral until `now`, where so many wait that are counted, and others since they were `ready`; and its
    /// greatest length.
    pub(super) fn queue(&self, now: Time, waiting: usize, ready: impl Iterator<Item = Time>) -> (u128, u64) {
        let counted = waiting as u128 * u128::from(now - self.queue_changed);
        let (mut uncounted_ns, mut length) = (0_u128, waiting as u64);
        for ready in ready {
            uncounted_ns += u128::from(now.saturating_since(ready.max(self.start)));
            length += u64::from(ready <= now);
        }
        // The queue is watched at dispatches; since the last one it has only grown.
        (self.queue_ns + counted + uncounted_ns, self.queue_max.max(length))
    }
}
