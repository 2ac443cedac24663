//! Statistics of a drive over the measurement window.

use crate::service::EnergyLedger;
use crate::time::Time;

/// Statistics of a drive over the measurement window.
#[derive(Clone, Default)]
pub(super) struct MeasurementWindow {
    pub(super) start: Time,
    pub(super) ledger_at_start: EnergyLedger,
    /// Busy time of all accesses, the last of which may end in the future.
    busy_ns: u64,
    busy_until: Option<Time>,
    queue_ns: u128,
    queue_max: u64,
    queue_changed: Time,
    /// Requests served together with others, and the number of accesses that served these.
    pub(super) together_requests: u64,
    pub(super) together_accesses: u64,
    /// True if the window started in an idle period that has not ended: a spin-down policy with hindsight decides on it
    /// at its end.
    pub(super) starts_idle: bool,
}

/// Statistics of the queue.
pub(super) struct QueueStatistics {
    /// Integral over time of the queue length, request-nanoseconds.
    pub(super) integral_ns: u128,
    pub(super) max_length: u64,
}

impl MeasurementWindow {
    /// The window that follows this one and begins at `now`, with `waiting` requests in the queue.
    pub(super) fn next(&self, now: Time, waiting: usize, ledger_at_start: EnergyLedger) -> Self {
        let busy_ns = self.busy_after(now);
        Self {
            start: now,
            ledger_at_start,
            busy_ns,
            busy_until: self.busy_until,
            queue_max: waiting as u64,
            queue_changed: now,
            // At time 0 the device has used no energy.
            starts_idle: now > Time::ZERO && busy_ns == 0,
            ..Self::default()
        }
    }

    /// Adds an access from `now` to `free`.
    #[inline]
    pub(super) fn serve(&mut self, now: Time, free: Time) {
        debug_assert!(self.busy_until.is_none_or(|until| until <= now), "one access at a time");
        debug_assert!(now <= free, "the clock never goes back");
        self.busy_ns += free - now;
        self.busy_until = Some(free);
    }

    /// The end of the last access; `None` before the first one.
    #[inline]
    pub(super) fn busy_until(&self) -> Option<Time> {
        self.busy_until
    }

    /// Busy time until `now`, ns.
    pub(super) fn busy_ns(&self, now: Time) -> u64 {
        self.busy_ns - self.busy_after(now)
    }

    /// Busy time of the current access after `now`, ns.
    fn busy_after(&self, now: Time) -> u64 {
        self.busy_until.map_or(0, |until| until.saturating_since(now))
    }

    /// Brings the queue's time integral up to `now`; `waiting` requests have been in the queue since the last call.
    #[inline]
    pub(super) fn integrate_queue(&mut self, now: Time, waiting: usize) {
        debug_assert!(self.queue_changed <= now, "the clock never goes back");
        if waiting > 0 {
            self.queue_ns += waiting as u128 * u128::from(now - self.queue_changed);
        }
        self.queue_changed = now;
    }

    /// Adds the waiting time of one request that the queue length does not include.
    #[inline]
    pub(super) fn add_wait(&mut self, waited_ns: u64) {
        self.queue_ns += u128::from(waited_ns);
    }

    /// Updates the longest queue.
    #[inline]
    pub(super) fn update_max_queue(&mut self, waiting: usize) {
        self.queue_max = self.queue_max.max(waiting as u64);
    }

    /// Statistics of the queue until `now`. It has `waiting` requests, and others since each of the `ready` times.
    pub(super) fn queue(&self, now: Time, waiting: usize, ready: impl Iterator<Item = Time>) -> QueueStatistics {
        let counted = waiting as u128 * u128::from(now - self.queue_changed);
        let (mut uncounted_ns, mut length) = (0_u128, waiting as u64);
        for ready in ready {
            uncounted_ns += u128::from(now.saturating_since(ready.max(self.start)));
            length += u64::from(ready <= now);
        }
        // Since the last dispatch, when its length was noted, the queue has only grown.
        QueueStatistics { integral_ns: self.queue_ns + counted + uncounted_ns, max_length: self.queue_max.max(length) }
    }
}
