//! When changed segments are written to the disk before they have to leave.

use super::spec::CachingDiskFlushSpec;
use super::table::{Counts, Table};
use crate::convert::{trunc_to_u32, trunc_to_u64};
use crate::engine::Context;
use crate::fault::Fault;
use crate::time::{ms_to_ns, Time};

/// Changed segments looked up at once for a flush.
const LOOK_AHEAD: usize = 64;

/// Timer tag: nobody may have asked for anything for long enough.
const IDLE: u64 = 0;
/// Timer tag: all that has changed is to be written.
const PERIOD: u64 = 1;

/// Writing changed segments to the disk before they have to leave.
#[derive(Clone, Debug, Default)]
pub(super) struct Flush {
    is_on: bool,
    idle_ns: Option<u64>,
    period_ns: Option<u64>,
    /// Changed slots above which it begins, and at which it ends.
    high: u32,
    low: u32,
    /// When the last request came from above.
    last: Time,
    has_timer: bool,
    has_period: bool,
    /// How many segments a periodic pass has yet to write.
    pass: u32,
    /// Whether there were more changed slots than `high`, and are still more than `low`.
    is_above: bool,
    /// The slot that is being flushed, and its destage.
    pub under_way: Option<(u32, u64)>,
    /// Slots that may be next, the first one last.
    candidates: Vec<u32>,
}

impl Flush {
    /// Never, or as a scenario says.
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
            is_on: true,
            idle_ns,
            period_ns,
            high: share(spec.high_water),
            low: share(spec.low_water),
            ..Self::default()
        })
    }

    /// Forgets what it is at.
    pub fn forget(&mut self) {
        let Self { is_on, idle_ns, period_ns, high, low, last, .. } = *self;
        *self = Self { is_on, idle_ns, period_ns, high, low, last, ..Self::default() };
    }

    /// A request has come from above; says whether it may be time for a flush.
    #[inline]
    pub fn hear(&mut self, now: Time) -> bool {
        self.last = now;
        self.is_on
    }

    /// Whether nobody has asked for anything for long enough.
    fn is_idle(&self, now: Time) -> bool {
        self.idle_ns.is_some_and(|idle_ns| now.saturating_since(self.last) >= idle_ns)
    }

    /// The slot to flush now, if a flush is due; sees to it that it will be looked at again when one may be.
    pub fn due(&mut self, table: &Table, context: &mut Context<'_>) -> Option<u32> {
        let (Counts { dirty, owing, .. }, now) = (table.counts(), context.now());
        if !self.is_on {
            return None;
        }
        // What a pass has yet to write needs no other.
        if let (false, true, Some(period_ns)) = (self.has_period, owing > self.pass, self.period_ns) {
            self.has_period = true;
            context.timer(now + period_ns, PERIOD);
        }
        if self.under_way.is_some() {
            return None;
        }
        self.is_above = dirty > if self.is_above { self.low } else { self.high };
        self.pass = self.pass.min(owing);
        let is_due = self.is_above || self.pass > 0 || self.is_idle(now);
        let slot = if is_due { self.pick(table) } else { None };
        if let (None, true, false, Some(idle_ns)) = (slot, owing > 0, self.has_timer, self.idle_ns) {
            self.has_timer = true;
            // Where nothing could be flushed though it is due, as all is under way, the next look is after as long again.
            let since = if self.is_idle(now) { now } else { self.last };
            context.timer(since + idle_ns.max(1), IDLE);
        }
        slot
    }

    /// The slot with a changed segment that would leave first, if one may be flushed.
    fn pick(&mut self, table: &Table) -> Option<u32> {
        // All that there are, or enough for a while.
        let wanted = LOOK_AHEAD.min(table.counts().flushable as usize);
        if wanted == 0 {
            return None;
        }
        self.candidates.retain(|&slot| table.slot(slot).may_flush());
        if self.candidates.is_empty() {
            table.first_to_flush(wanted, &mut self.candidates);
            self.candidates.reverse();
        }
        self.pass = self.pass.saturating_sub(1);
        debug_assert!(!self.candidates.is_empty(), "what may be flushed is in the table in use");
        self.candidates.pop()
    }

    /// A timer has fired.
    pub fn timer(&mut self, tag: u64, table: &Table) {
        if tag == PERIOD {
            self.has_period = false;
            self.pass = table.counts().owing;
        } else {
            self.has_timer = false;
        }
    }
}
