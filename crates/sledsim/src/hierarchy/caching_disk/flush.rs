//! Flushes: changed segments are written to the disk before they have to be evicted.

use super::spec::CachingDiskFlushSpec;
use super::table::{Counts, Table};
use crate::convert::{trunc_to_u32, trunc_to_u64};
use crate::engine::Context;
use crate::fault::Fault;
use crate::time::{ms_to_ns, Time};

/// Number of slots that are looked up at once for the next flushes.
const LOOK_AHEAD: usize = 64;

/// Timer tag: the time without host requests may be long enough.
const IDLE: u64 = 0;
/// Timer tag: all changed segments have to be flushed.
const PERIOD: u64 = 1;

/// The flush under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlushUnderWay {
    pub slot: u32,
    pub destage: u64,
}

/// When to flush, and the progress of flushes.
#[derive(Clone, Debug, Default)]
pub(super) struct Flush {
    is_enabled: bool,
    idle_ns: Option<u64>,
    period_ns: Option<u64>,
    /// Number of changed slots above which flushes begin.
    high_water: u32,
    /// Number of changed slots at which flushes end that began above `high_water`.
    low_water: u32,
    last_request: Time,
    idle_timer_is_set: bool,
    period_timer_is_set: bool,
    /// Number of segments that the current periodic pass still has to flush.
    periodic_left: u32,
    /// True from when there are more changed slots than `high_water` until there are no more than `low_water`.
    is_above: bool,
    pub under_way: Option<FlushUnderWay>,
    /// The next slots to flush, the first one last.
    candidates: Vec<u32>,
}

impl Flush {
    /// Flushes as in `spec`, or never.
    ///
    /// # Errors
    /// The low-water mark is above the high-water mark.
    pub fn new(spec: Option<&CachingDiskFlushSpec>, slots: u32) -> Result<Self, Fault> {
        let Some(spec) = spec else { return Ok(Self::default()) };
        if spec.low_water > spec.high_water {
            return Err(Fault::conflict("flush.low_water", spec.low_water)
                .says(" is above ")
                .key_is("flush.high_water", spec.high_water)
                .says(": it must not be"));
        }
        let share = |share: f64| trunc_to_u32((f64::from(slots) * share).floor());
        let idle_ns = spec.idle_ms.map(ms_to_ns);
        let period_ns = spec.period_s.map(|period_s| trunc_to_u64((period_s * 1e9).round()));
        Ok(Self {
            is_enabled: true,
            idle_ns,
            period_ns,
            high_water: share(spec.high_water),
            low_water: share(spec.low_water),
            ..Self::default()
        })
    }

    /// Drops the flush under way and the timers.
    pub fn clear(&mut self) {
        let Self { is_enabled, idle_ns, period_ns, high_water, low_water, last_request, .. } = *self;
        *self = Self { is_enabled, idle_ns, period_ns, high_water, low_water, last_request, ..Self::default() };
    }

    /// Records a host request. Returns true if flushes are enabled.
    #[inline]
    pub fn record_request(&mut self, now: Time) -> bool {
        self.last_request = now;
        self.is_enabled
    }

    /// Returns true if the last host request is at least the idle time ago.
    fn is_idle(&self, now: Time) -> bool {
        self.idle_ns.is_some_and(|idle_ns| now.saturating_since(self.last_request) >= idle_ns)
    }

    /// The slot to flush now, if a flush is due. Sets the timers for later flushes.
    pub fn next_due(&mut self, table: &Table, context: &mut Context<'_>) -> Option<u32> {
        let (Counts { dirty, needing_flush, .. }, now) = (table.counts(), context.now());
        if !self.is_enabled {
            return None;
        }
        // Segments of the current pass need no further pass.
        if let (false, true, Some(period_ns)) =
            (self.period_timer_is_set, needing_flush > self.periodic_left, self.period_ns)
        {
            self.period_timer_is_set = true;
            context.timer(now + period_ns, PERIOD);
        }
        if self.under_way.is_some() {
            return None;
        }
        self.is_above = dirty > if self.is_above { self.low_water } else { self.high_water };
        self.periodic_left = self.periodic_left.min(needing_flush);
        let is_due = self.is_above || self.periodic_left > 0 || self.is_idle(now);
        let slot = if is_due { self.pick(table) } else { None };
        if let (None, true, false, Some(idle_ns)) = (slot, needing_flush > 0, self.idle_timer_is_set, self.idle_ns) {
            self.idle_timer_is_set = true;
            // If accesses are under way in all slots that need a flush, it is tried again after the same time.
            let since = if self.is_idle(now) { now } else { self.last_request };
            context.timer(since + idle_ns.max(1), IDLE);
        }
        slot
    }

    /// The first slot in eviction order that can be flushed.
    fn pick(&mut self, table: &Table) -> Option<u32> {
        let wanted = LOOK_AHEAD.min(table.counts().flushable as usize);
        if wanted == 0 {
            return None;
        }
        self.candidates.retain(|&slot| table.slot(slot).can_flush());
        if self.candidates.is_empty() {
            table.first_to_flush(wanted, &mut self.candidates);
            self.candidates.reverse();
        }
        self.periodic_left = self.periodic_left.saturating_sub(1);
        debug_assert!(!self.candidates.is_empty(), "every flushable slot is in use");
        self.candidates.pop()
    }

    /// Handles a timer.
    pub fn timer(&mut self, tag: u64, table: &Table) {
        if tag == PERIOD {
            self.period_timer_is_set = false;
            self.periodic_left = table.counts().needing_flush;
        } else {
            self.idle_timer_is_set = false;
        }
    }
}
