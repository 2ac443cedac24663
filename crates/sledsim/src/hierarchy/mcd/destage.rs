//! Destages: changed segments go from MEMS through the buffer to the disk, because they have to leave or to be ready for that.

use super::access::Piece;
use super::failure::without;
use super::fill::span;
use super::spec::McdFlushSpec;
use super::{Awaiting, Job, Mcd};
use crate::engine::{Completion, Context, Payload, Status};
use crate::fault::Fault;
use crate::request::{Op, Request};
use crate::time::Time;

/// Changed segments looked up at once for a flush.
const LOOK_AHEAD: usize = 64;

/// Timer tag: nobody may have asked for anything for long enough.
const IDLE: u64 = 0;
/// Timer tag: all that has changed is to be written.
const PERIOD: u64 = 1;

/// A segment on its way to the disk.
#[derive(Debug)]
pub(super) struct Destage {
    segment: u64,
    slot: u32,
    /// First block and number of blocks of what goes to the disk.
    runs: Vec<(u32, u32)>,
    /// Where MEMS has its first block.
    lbn: u64,
    /// Blocks of it that MEMS could not read.
    lost: Vec<(u32, u32)>,
    /// The transition of its slot that waits for it.
    transit: Option<u64>,
    /// Its place in the buffer.
    held: Option<u32>,
    /// Reads of MEMS under way, then writes of the disk.
    left: u32,
    /// Whether it stays in its slot.
    stays: bool,
    /// Pieces of it that wait until the disk has it.
    waiters: Vec<Piece>,
}

impl Destage {
    /// Of a segment that leaves its slot for the sake of a transition, if that is so.
    fn of(segment: u64, slot: u32, transit: Option<u64>) -> Self {
        Self {
            segment,
            slot,
            runs: Vec::new(),
            lbn: 0,
            lost: Vec::new(),
            transit,
            held: None,
            left: 0,
            stays: false,
            waiters: Vec::new(),
        }
    }

    /// It does not stay in its slot, as it was to; says which segment it is.
    pub fn leave(&mut self) -> Option<u64> {
        std::mem::take(&mut self.stays).then_some(self.segment)
    }
}

impl Mcd {
    /// A segment leaves its slot for the sake of a transition.
    pub(super) fn evict(&mut self, segment: u64, slot: u32, transit: u64, context: &mut Context<'_>) {
        let id = self.begin_destage(Destage::of(segment, slot, Some(transit)));
        self.leaving.insert(segment, id);
        self.fetch(id, context);
    }

    /// All that is valid of a segment in a slot is to go to the disk.
    fn begin_destage(&mut self, destage: Destage) -> u64 {
        let (segment, slot) = (destage.segment, destage.slot);
        let runs = self.table.runs(slot, self.layout.blocks(segment), true);
        let lbn = self.layout.header_lbn(self.table.slot(slot).frame) + 1;
        self.destages.issue(Destage { runs, lbn, ..destage })
    }

    /// Reads a segment from MEMS, when the buffer has room for it.
    pub(super) fn fetch(&mut self, id: u64, context: &mut Context<'_>) {
        let Some(destage) = self.destages.get_mut(id) else { return };
        let (first, blocks) = span(&destage.runs);
        if self.mems_failed {
            destage.lost = std::mem::take(&mut destage.runs);
        }
        if blocks == 0 || self.mems_failed {
            // A write that failed changed it; or it is too late.
            self.end_destage(id, context);
            return;
        }
        let Some(held) = self.buffer.take(destage.segment) else {
            self.statistics.buffer_stalls += 1;
            self.awaiting.push_back(Awaiting::Destage(id));
            return;
        };
        (destage.held, destage.left) = (Some(held), 1);
        let place = (destage.lbn + u64::from(first), blocks);
        self.send(self.mems, Job::Fetch { destage: id }, Op::Read, place, Payload::NONE, context);
    }

    /// The buffer has a segment from MEMS, or a part of it.
    pub(super) fn fetched(&mut self, id: u64, completion: &Completion, answer: &Payload, context: &mut Context<'_>) {
        let Some(destage) = self.destages.get_mut(id) else { return };
        let Some(held) = destage.held else { return };
        let &Request { lbn, blocks, .. } = &completion.request;
        let first = (lbn - destage.lbn) as u32;
        if completion.status == Status::Unreadable && blocks > 1 {
            // Halves, until what can't be read is alone.
            destage.left += 1;
            let half = blocks / 2;
            for place in [(lbn, half), (lbn + u64::from(half), blocks - half)] {
                self.send(self.mems, Job::Fetch { destage: id }, Op::Read, place, Payload::NONE, context);
            }
            return;
        }
        if !completion.served() {
            destage.lost.push((first, blocks));
        }
        if let (true, Some(brought)) = (completion.served(), answer.bytes()) {
            let size = self.layout.block_bytes as usize;
            let into = self.buffer.held_mut(held);
            into.bytes.resize(self.layout.blocks(destage.segment) as usize * size, 0);
            into.bytes[first as usize * size..][..brought.len()].copy_from_slice(brought);
        }
        destage.left -= 1;
        if destage.left == 0 {
            self.fetched_all(id, context);
        }
    }

    /// The buffer has what MEMS could read of a segment.
    fn fetched_all(&mut self, id: u64, context: &mut Context<'_>) {
        let Some(destage) = self.destages.get_mut(id) else { return };
        let Some(held) = destage.held else { return };
        if !destage.lost.is_empty() {
            // Of what was read only what is valid can be lost.
            let there = without(&destage.runs, &destage.lost);
            destage.lost = without(&destage.runs, &there);
            destage.runs = there;
        }
        self.buffer.held_mut(held).runs.clone_from(&destage.runs);
        if destage.runs.is_empty() {
            self.end_destage(id, context);
            return;
        }
        if destage.transit.is_some() && !self.spec.immediate_report {
            // Somebody waits for it.
            self.write_back(id, context);
            return;
        }
        if let Some(transit) = destage.transit.take() {
            self.statistics.immediate_frees += 1;
            self.vacated(transit, context);
        }
        self.deferred.push_back(id);
    }

    /// The disk has to get a segment that only the buffer has.
    pub(super) fn owe(&mut self, segment: u64, held: u32) {
        let runs = self.buffer.held(held).runs.clone();
        let id = self.destages.issue(Destage { held: Some(held), runs, ..Destage::of(segment, 0, None) });
        self.leaving.insert(segment, id);
        self.deferred.push_back(id);
    }

    /// Writes segments to the disk for which nobody waits: while it has nothing else to do, or half of the buffer is in use.
    pub(super) fn write_deferred(&mut self, context: &mut Context<'_>) {
        while let Some(&id) = self.deferred.front() {
            let is_idle = self.disk_reads + self.disk_writes == 0;
            if !is_idle && self.buffer.room() * 2 >= self.buffer.capacity() {
                return;
            }
            self.deferred.pop_front();
            self.write_back(id, context);
        }
    }

    /// Writes a segment from the buffer to the disk.
    fn write_back(&mut self, id: u64, context: &mut Context<'_>) {
        let Some(destage) = self.destages.get_mut(id) else { return };
        let Some(held) = destage.held else { return };
        let lbn = self.layout.disk_lbn(destage.segment);
        let count = self.buffer.held(held).runs.len();
        destage.left = count as u32;
        self.disk_writes += count as u32;
        self.statistics.destage_writes += count as u64;
        for run in 0..count {
            let (first, blocks) = self.buffer.held(held).runs[run];
            let data = self.held_blocks(held, first, blocks, context);
            self.statistics.destaged_blocks += u64::from(blocks);
            let place = (lbn + u64::from(first), blocks);
            self.send(self.disk, Job::Destage { destage: id }, Op::Write, place, data, context);
        }
    }

    /// The disk has a part of a segment.
    pub(super) fn destaged(&mut self, id: u64, completion: &Completion, context: &mut Context<'_>) {
        self.disk_writes -= 1;
        let Some(destage) = self.destages.get_mut(id) else { return };
        if !completion.served() {
            let first = completion.request.lbn - self.layout.disk_lbn(destage.segment);
            destage.lost.push((first as u32, completion.request.blocks));
        }
        destage.left -= 1;
        if destage.left == 0 {
            self.end_destage(id, context);
        }
    }

    /// The disk has a segment, or never will.
    fn end_destage(&mut self, id: u64, context: &mut Context<'_>) {
        let Some(destage) = self.destages.settle(id) else { return };
        if let Some(held) = destage.held {
            self.buffer.release(held);
        }
        if destage.stays {
            self.table.end(destage.slot, Op::Read);
            if !destage.lost.is_empty() {
                self.table.set_damaged(destage.slot);
            }
            self.flush.destage = None;
            self.flush_on(context);
            return;
        }
        for (first, blocks) in destage.lost {
            self.lose(destage.segment, first, blocks);
        }
        self.leaving.remove(&destage.segment);
        if let Some(transit) = destage.transit {
            self.vacated(transit, context);
        }
        self.reroute(destage.waiters, context);
    }

    /// A piece of a segment that the disk does not have yet, and MEMS no more.
    pub(super) fn join_leaving(&mut self, id: u64, piece: Piece, context: &mut Context<'_>) {
        let Some(destage) = self.destages.get_mut(id) else { return };
        let (first, end) = (piece.offset, piece.offset + piece.blocks);
        let lbn = self.layout.disk_lbn(piece.segment);
        if piece.op == Op::Read && self.lost.touches(lbn + u64::from(first), lbn + u64::from(end)) {
            // The buffer has an older one.
            self.finish_part(&piece, Status::Unreadable, context);
            return;
        }
        let holds = |held: &u32| {
            let runs = &self.buffer.held(*held).runs;
            runs.iter().any(|&(from, blocks)| from <= first && end <= from + blocks)
        };
        match destage.held.filter(holds) {
            Some(held) if self.spec.shortcut && piece.op == Op::Read => self.answer(held, &piece, None, context),
            _ => destage.waiters.push(piece),
        }
    }
}

/// Writing changed segments to the disk before they have to leave.
#[derive(Debug, Default)]
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
    /// The one under way, and its slot.
    pub destage: Option<u64>,
    slot: u32,
    /// Slots that may be next, the first one last.
    candidates: Vec<u32>,
}

impl Flush {
    /// Never, or as a scenario says.
    pub fn new(spec: Option<&McdFlushSpec>, slots: u32) -> Result<Self, Fault> {
        let Some(spec) = spec else { return Ok(Self::default()) };
        if spec.low_water > spec.high_water {
            return Err(Fault::conflict("flush.low_water", spec.low_water)
                .says(" is above ")
                .key_is("flush.high_water", spec.high_water)
                .says(": it must not be"));
        }
        let share = |share: f64| (f64::from(slots) * share).floor() as u32;
        let idle_ns = spec.idle_ms.map(|idle_ms| (idle_ms * 1e6).round() as u64);
        let period_ns = spec.period_s.map(|period_s| (period_s * 1e9).round() as u64);
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

    /// The slot that is being flushed.
    pub fn slot(&self) -> Option<u32> {
        self.destage.map(|_| self.slot)
    }

    /// Whether nobody has asked for anything for long enough.
    fn is_idle(&self, now: Time) -> bool {
        self.idle_ns.is_some_and(|idle_ns| now.saturating_since(self.last) >= idle_ns)
    }
}

impl Mcd {
    /// A request has come from above.
    #[inline]
    pub(super) fn busy(&mut self, context: &mut Context<'_>) {
        if self.flush.is_on {
            self.flush.last = context.now();
            self.flush_on(context);
        }
    }

    /// Begins a flush if one is due, or sees to it that it will be looked at when it may be.
    pub(super) fn flush_on(&mut self, context: &mut Context<'_>) {
        let (dirty, owing, now) = (self.table.dirty(), self.table.owing(), context.now());
        let flush = &mut self.flush;
        if !flush.is_on {
            return;
        }
        // What a pass has yet to write needs no other.
        if let (false, true, Some(period_ns)) = (flush.has_period, owing > flush.pass, flush.period_ns) {
            flush.has_period = true;
            context.timer(now + period_ns, PERIOD);
        }
        if flush.destage.is_some() {
            return;
        }
        flush.is_above = dirty > if flush.is_above { flush.low } else { flush.high };
        flush.pass = flush.pass.min(owing);
        let is_due = flush.is_above || flush.pass > 0 || flush.is_idle(now);
        if owing == 0 || (is_due && self.begin_flush(context)) {
            return;
        }
        let flush = &mut self.flush;
        if let (false, Some(idle_ns)) = (flush.has_timer, flush.idle_ns) {
            flush.has_timer = true;
            // Where nothing could be flushed though it is due, as all is under way, the next look is after as long again.
            let since = if flush.is_idle(now) { now } else { flush.last };
            context.timer(since + idle_ns.max(1), IDLE);
        }
    }

    pub(super) fn flush_timer(&mut self, tag: u64, context: &mut Context<'_>) {
        if tag == PERIOD {
            self.flush.has_period = false;
            self.flush.pass = self.table.owing();
        } else {
            self.flush.has_timer = false;
        }
        self.flush_on(context);
        self.write_deferred(context);
    }

    /// Begins to write the changed segment to the disk that would leave first; says whether there is one.
    fn begin_flush(&mut self, context: &mut Context<'_>) -> bool {
        // All that there are, or enough for a while.
        let wanted = LOOK_AHEAD.min(self.table.flushable() as usize);
        if wanted == 0 {
            return false;
        }
        let table = &self.table;
        let candidates = &mut self.flush.candidates;
        candidates.retain(|&slot| table.slot(slot).may_flush());
        if candidates.is_empty() {
            self.policy.in_eviction_order(&mut |slot| {
                if table.slot(slot).may_flush() {
                    candidates.push(slot);
                }
                candidates.len() < wanted
            });
            candidates.reverse();
        }
        let Some(slot) = candidates.pop() else { return false };
        let segment = self.policy.key(slot);
        self.flush.pass = self.flush.pass.saturating_sub(1);
        self.table.set_dirty(slot, false);
        self.table.begin(slot, Op::Read);
        self.statistics.flushes += 1;
        let id = self.begin_destage(Destage { stays: true, ..Destage::of(segment, slot, None) });
        (self.flush.destage, self.flush.slot) = (Some(id), slot);
        self.fetch(id, context);
        true
    }
}
