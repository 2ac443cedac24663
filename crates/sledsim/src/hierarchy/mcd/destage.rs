//! Destages: changed segments go from MEMS through the buffer to the disk, because they have to leave or to be ready for that.

use super::access::Piece;
use super::fill::span;
use super::spec::McdFlushSpec;
use super::{Awaiting, Job, Mcd};
use crate::engine::{Completion, Context, Payload};
use crate::request::Op;
use crate::time::Time;

/// Changed segments looked up at once for a flush.
const LOOK_AHEAD: usize = 64;

/// A segment on its way to the disk.
#[derive(Debug)]
pub(super) struct Destage {
    segment: u64,
    slot: u32,
    /// The transition of its slot that waits for it.
    transit: Option<u64>,
    /// Its place in the buffer.
    held: Option<u32>,
    /// What was valid of it when its read began: where it stays, more may be when it is over.
    runs: Vec<(u32, u32)>,
    /// Writes of the disk under way.
    left: u32,
    /// Whether it stays in its slot.
    stays: bool,
    /// Pieces of it that wait until the disk has it.
    waiters: Vec<Piece>,
}

impl Destage {
    /// Of a segment that leaves its slot for the sake of a transition.
    pub fn of(segment: u64, slot: u32, transit: Option<u64>) -> Self {
        Self { segment, slot, transit, held: None, runs: Vec::new(), left: 0, stays: false, waiters: Vec::new() }
    }
}

impl Mcd {
    /// Reads a segment from MEMS, when the buffer has room for it.
    pub(super) fn fetch(&mut self, id: u64, context: &mut Context<'_>) {
        let Some(destage) = self.destages.get_mut(id) else { return };
        let (segment, slot) = (destage.segment, destage.slot);
        let runs = self.table.runs(slot, self.layout.blocks(segment), true);
        let (first, blocks) = span(&runs);
        if blocks == 0 {
            // A write that failed changed it.
            self.end_destage(id, context);
            return;
        }
        let Some(held) = self.buffer.take(segment) else {
            self.statistics.buffer_stalls += 1;
            self.awaiting.push_back(Awaiting::Destage(id));
            return;
        };
        (destage.held, destage.runs) = (Some(held), runs);
        let lbn = self.layout.header_lbn(self.table.slot(slot).frame) + 1 + u64::from(first);
        self.send(self.mems, Job::Fetch { destage: id }, Op::Read, (lbn, blocks), Payload::NONE, context);
    }

    /// The buffer has a segment from MEMS.
    pub(super) fn fetched(&mut self, id: u64, completion: &Completion, answer: &Payload, context: &mut Context<'_>) {
        let Some(destage) = self.destages.get_mut(id) else { return };
        let (segment, runs) = (destage.segment, std::mem::take(&mut destage.runs));
        let Some(held) = destage.held else { return };
        if !completion.served() {
            self.statistics.lost_blocks += u64::from(completion.request.blocks);
            self.end_destage(id, context);
            return;
        }
        let blocks = self.layout.blocks(segment);
        let into = self.buffer.held_mut(held);
        if let (Some(brought), Some(&(first, _))) = (answer.bytes(), runs.first()) {
            let size = self.layout.block_bytes as usize;
            into.bytes.resize(blocks as usize * size, 0);
            into.bytes[first as usize * size..][..brought.len()].copy_from_slice(brought);
        }
        into.runs = runs;
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
        let id = self.destages.issue(Destage { held: Some(held), ..Destage::of(segment, 0, None) });
        self.leaving.push((segment, id));
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
        if !completion.served() {
            self.statistics.lost_blocks += u64::from(completion.request.blocks);
        }
        let Some(destage) = self.destages.get_mut(id) else { return };
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
            self.table.slot_mut(destage.slot).reads -= 1;
            self.flush.under_way = false;
            self.flush_on(context);
            return;
        }
        self.leaving.retain(|&(_, other)| other != id);
        if let Some(transit) = destage.transit {
            self.vacated(transit, context);
        }
        self.reroute(destage.waiters, context);
    }

    /// A piece of a segment that the disk does not have yet, and MEMS no more.
    pub(super) fn join_leaving(&mut self, id: u64, piece: Piece, context: &mut Context<'_>) {
        let Some(destage) = self.destages.get_mut(id) else { return };
        let (first, end) = (piece.offset, piece.offset + piece.blocks);
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
    /// Changed slots above which it begins, and at which it ends.
    high: u32,
    low: u32,
    /// When the last request came from above.
    last: Time,
    has_timer: bool,
    /// Whether there were more changed slots than `high`, and are still more than `low`.
    is_above: bool,
    under_way: bool,
    /// Slots that may be next, the first one last.
    candidates: Vec<u32>,
}

impl Flush {
    /// Never, or as a scenario says.
    pub fn new(spec: Option<&McdFlushSpec>, slots: u32) -> Result<Self, String> {
        let Some(spec) = spec else { return Ok(Self::default()) };
        if spec.low_water > spec.high_water {
            return Err(format!(
                "flush.low_water = {} is above flush.high_water = {}: it must not be",
                spec.low_water, spec.high_water
            ));
        }
        let share = |share: f64| (f64::from(slots) * share).floor() as u32;
        let idle_ns = spec.idle_ms.map(|idle_ms| (idle_ms * 1e6).round() as u64);
        Ok(Self { is_on: true, idle_ns, high: share(spec.high_water), low: share(spec.low_water), ..Self::default() })
    }

    /// Forgets what it is at.
    pub fn forget(&mut self) {
        let Self { is_on, idle_ns, high, low, last, .. } = *self;
        *self = Self { is_on, idle_ns, high, low, last, ..Self::default() };
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
        let (dirty, now) = (self.table.dirty, context.now());
        let flush = &mut self.flush;
        if !flush.is_on || flush.under_way {
            return;
        }
        flush.is_above = dirty > if flush.is_above { flush.low } else { flush.high };
        let is_due = flush.is_above || flush.is_idle(now);
        if dirty == 0 || (is_due && self.begin_flush(context)) {
            return;
        }
        let flush = &mut self.flush;
        if let (false, Some(idle_ns)) = (flush.has_timer, flush.idle_ns) {
            flush.has_timer = true;
            // Where nothing could be flushed though it is due, as all is under way, the next look is after as long again.
            let since = if flush.is_idle(now) { now } else { flush.last };
            context.timer(since + idle_ns.max(1), 0);
        }
    }

    pub(super) fn idle_timer(&mut self, context: &mut Context<'_>) {
        self.flush.has_timer = false;
        self.flush_on(context);
        self.write_deferred(context);
    }

    /// Begins to write the changed segment to the disk that would leave first; says whether there is one.
    fn begin_flush(&mut self, context: &mut Context<'_>) -> bool {
        let table = &self.table;
        let may_go = |slot: u32| table.slot(slot).dirty && table.is_quiet(slot);
        let candidates = &mut self.flush.candidates;
        candidates.retain(|&slot| may_go(slot));
        if candidates.is_empty() {
            self.policy.in_eviction_order(&mut |slot| {
                if may_go(slot) {
                    candidates.push(slot);
                }
                candidates.len() < LOOK_AHEAD
            });
            candidates.reverse();
        }
        let Some(slot) = candidates.pop() else { return false };
        let segment = self.policy.key(slot);
        self.flush.under_way = true;
        self.table.set_dirty(slot, false);
        self.table.slot_mut(slot).reads += 1;
        self.statistics.flushes += 1;
        let id = self.destages.issue(Destage { stays: true, ..Destage::of(segment, slot, None) });
        self.fetch(id, context);
        true
    }
}
