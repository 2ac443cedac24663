//! A caching disk (MCD): MEMS as a fully associative write-back cache of a disk, after Hong et al. 2006, sections 4.1.2 and 4.2.
//!
//! The disk is cut into segments. A slot on MEMS holds one, behind a header of one block that says which it is. What moves
//! between the two passes a non-volatile buffer. A request is cut at the borders of segments; its pieces go on side by side:
//!
//! | case | plain | with |
//! | --- | --- | --- |
//! | hit | MEMS access | |
//! | read miss | room, disk read, MEMS write, MEMS read | shortcut: room, disk read |
//! | write miss, whole segment | room, MEMS write | |
//! | write miss, part | room, disk read, MEMS write, MEMS write | partial write: room, MEMS write; shortcut: room, disk read |
//! | room, from an unchanged segment | nothing | |
//! | room, from a changed one | MEMS read, disk write | immediate report: MEMS read |
//!
//! Nothing that was acknowledged is lost with power. At any moment a slot's header is its entry in the buffer's journal or,
//! if it has none, the block on MEMS; together they are the table:
//!
//! 1. After a cut all that is valid counts as changed, so that no header is written when a segment is changed.
//! 2. From the instant a slot is free until MEMS has its next header, the journal says that nothing is there; what is
//!    acknowledged before stays in the buffer until then.
//! 3. Blocks become valid in the journal after MEMS has their data, in the event that acknowledges them.
//! 4. The buffer forgets a segment when the disk has it on its medium: such writes are durable.
//! 5. A cut during recovery begins it again: it changes nothing before it has read every header.
//!
//! Each part below owns its state; the caching disk itself passes pieces, transitions and destages from one to the other.
//!
//! Of the host's memory a segment takes 32 bytes, 8 more for each 64 blocks with partial write, 16 with units, and what the
//! replacement policy needs.

mod buffer;
mod bypass;
mod children;
mod destage;
mod direct;
mod failure;
mod flush;
mod header;
mod journal;
mod recover;
mod requests;
mod route;
mod spec;
mod statistics;
mod steps;
mod table;
mod testing;
mod transit;
mod units;
mod valid;

use std::collections::VecDeque;

pub use header::MAGIC;
pub use spec::{CachingDiskFlushSpec, CachingDiskSpec, CachingDiskUnitsSpec, KIND};

use buffer::{Awaiting, Buffer};
use bypass::Streams;
use children::{Children, Job, Sent};
use destage::Destager;
use direct::Direct;
use failure::Losses;
use flush::Flush;
use journal::Journal;
use recover::Recovery;
use requests::{Piece, Requests};
use statistics::{Met, Statistics};
use table::Table;
use transit::Transits;
use units::Units;

use super::cache::replacement::{PolicyFailure, MAX_SLOTS};
use super::Child;
use crate::convert::to_u32;
use crate::engine::{Completion, Component, ComponentId, Context, Details, Instrumentation, PowerLoss, Status};
use crate::fault::{Fault, Faults, Kind};
use crate::request::Request;
use crate::time::Time;

/// Share of the buffer that holds headers.
const JOURNAL_PART: u64 = 32;
/// Bytes of a header in the journal besides its bits: slot, segment, state.
const ENTRY_BYTES: u64 = 16;
/// Fewest headers that the journal has room for: one for a miss under way, one for a write, and as many being written to MEMS.
const LEAST_ENTRIES: u64 = 4;

/// Most slots for which it is checked after every completion that its parts agree.
const MOST_CHECKED: u32 = 64;

/// How blocks lie on disk and MEMS.
#[derive(Clone, Copy, Debug)]
struct Layout {
    block_bytes: u32,
    /// Blocks of the disk.
    capacity_blocks: u64,
    /// Blocks of a segment.
    segment_blocks: u32,
}

impl Layout {
    /// Blocks of a segment that the disk has: the last one may be short.
    #[inline]
    fn blocks(&self, segment: u64) -> u32 {
        let first = segment * u64::from(self.segment_blocks);
        to_u32((self.capacity_blocks - first).min(u64::from(self.segment_blocks)))
    }

    /// Block of MEMS where the header in a place is.
    #[inline]
    fn header_lbn(&self, frame: u32) -> u64 {
        u64::from(frame) * (u64::from(self.segment_blocks) + 1)
    }

    /// The segment that has a block of the disk.
    #[inline]
    fn segment(&self, lbn: u64) -> u64 {
        lbn / u64::from(self.segment_blocks)
    }

    /// The segments that have blocks `from` to `to` of the disk.
    fn segments(&self, from: u64, to: u64) -> impl Iterator<Item = u64> {
        let size = u64::from(self.segment_blocks);
        from / size..to.div_ceil(size)
    }

    /// First block of a segment on the disk.
    #[inline]
    fn disk_lbn(&self, segment: u64) -> u64 {
        segment * u64::from(self.segment_blocks)
    }
}

/// A disk with a MEMS device that caches it.
#[derive(Clone)]
pub struct CachingDisk {
    layout: Layout,
    /// Whether the buffer serves requests as soon as a segment has come from the disk.
    shortcut: bool,
    children: Children,
    requests: Requests,
    streams: Option<Streams>,
    table: Table,
    journal: Journal,
    buffer: Buffer,
    transits: Transits,
    destager: Destager,
    flush: Flush,
    direct: Direct,
    losses: Losses,
    recovery: Option<Recovery>,
    /// Pieces that wait for a slot or for room in the journal.
    stalled: VecDeque<Piece>,
    statistics: Statistics,
}

/// Segments and headers that the buffer has room for.
fn room(spec: &CachingDiskSpec, block_bytes: u32) -> Result<(u32, u32), Fault> {
    let (segment_bytes, buffer_bytes) = (spec.segment_bytes, spec.buffer_bytes);
    let journal_bytes = buffer_bytes / JOURNAL_PART;
    let entry_bytes = ENTRY_BYTES + (segment_bytes / u64::from(block_bytes)).div_ceil(8);
    // Segments of no size are refused by what counts slots.
    let (segments, headers) = ((buffer_bytes - journal_bytes) / segment_bytes.max(1), journal_bytes / entry_bytes);
    if segments < 2 {
        return Err(Fault::misfit("segment_bytes", segment_bytes)
            .says(format!(" exceeds half of the {} B that ", buffer_bytes - journal_bytes))
            .key_is("buffer_bytes", buffer_bytes)
            .says(" leaves for segments: the buffer must hold two, one coming and one leaving"));
    }
    if headers < LEAST_ENTRIES {
        return Err(Fault::misfit("buffer_bytes", buffer_bytes)
            .says(format!(" has room for {headers} headers of {entry_bytes} B, but {LEAST_ENTRIES} are needed: "))
            .set("buffer_bytes", LEAST_ENTRIES * entry_bytes * JOURNAL_PART));
    }
    Ok((segments.min(1 << 20) as u32, headers.min(1 << 20) as u32))
}

/// Blocks of a segment, and how many segments fit on MEMS.
fn slots(spec: &CachingDiskSpec, mems_bytes: u64, block_bytes: u32) -> Result<(u32, u32), Fault> {
    let segment_bytes = spec.segment_bytes;
    let segment_blocks = segment_bytes / u64::from(block_bytes);
    if segment_blocks == 0 || !segment_bytes.is_multiple_of(u64::from(block_bytes)) {
        return Err(Fault::misfit("segment_bytes", segment_bytes)
            .says(format!(" is no multiple of the {block_bytes} B blocks of "))
            .key("disk"));
    }
    if segment_blocks > header::most_blocks(block_bytes) {
        let most = header::most_blocks(block_bytes) * u64::from(block_bytes);
        return Err(Fault::misfit("segment_bytes", segment_bytes)
            .says(format!(" exceeds {most} B: its header must fit a block")));
    }
    let slots = mems_bytes / u64::from(block_bytes) / (segment_blocks + 1);
    if !(2..=u64::from(MAX_SLOTS)).contains(&slots) {
        return Err(Fault::misfit("mems_bytes", mems_bytes)
            .says(format!(" holds {slots} segments of "))
            .key_is("segment_bytes", segment_bytes)
            .says(format!(" and a header, but must hold from 2 to {MAX_SLOTS}")));
    }
    Ok((to_u32(segment_blocks), to_u32(slots)))
}

/// Checks that so many bytes are there on MEMS, and fewer than the disk has.
fn check_size(mems_bytes: u64, mems: Child, disk: Child) -> Result<(), Fault> {
    if mems_bytes > mems.bytes() {
        let exceeds = format!(" exceeds the {} B of ", mems.bytes());
        return Err(Fault::misfit("mems_bytes", mems_bytes).says(exceeds).key("mems"));
    }
    if mems_bytes >= disk.bytes() {
        return Err(Fault::misfit("mems_bytes", mems_bytes)
            .says(" of ")
            .key("mems")
            .says(" are used, and ")
            .key("disk")
            .says(format!(" has only {} B: a cache must be smaller than what it caches", disk.bytes())));
    }
    Ok(())
}

/// Checks that parts of segments are kept where they are to be of some size.
fn check_units(spec: &CachingDiskSpec) -> Result<(), Fault> {
    if spec.units.is_some() && !spec.partial_write {
        return Err(Fault::at(Kind::Conflict, "units")
            .says(" needs ")
            .set("partial_write", true)
            .says(": segments are there in parts then"));
    }
    Ok(())
}

impl CachingDisk {
    /// A disk cached by MEMS.
    ///
    /// # Errors
    /// Says which keys do not fit the children or other keys, and what would.
    pub fn new(spec: &CachingDiskSpec, mems: Child, disk: Child) -> Result<Self, Faults> {
        let block_bytes = disk.block_bytes;
        if mems.block_bytes != block_bytes {
            return Err(Fault::at(Kind::Misfit, "mems")
                .says(format!(" has blocks of {} B, ", mems.block_bytes))
                .key("disk")
                .says(format!(" of {block_bytes} B: they must be equal"))
                .into());
        }
        let (mems_bytes, segment_bytes) = (spec.mems_bytes.unwrap_or_else(|| mems.bytes()), spec.segment_bytes);
        let (places, room) = (slots(spec, mems_bytes, block_bytes), room(spec, block_bytes));
        Faults::of_all([
            check_size(mems_bytes, mems, disk).map_err(Faults::from),
            places.as_ref().map(drop).map_err(|fault| fault.clone().into()),
            room.as_ref().map(drop).map_err(|fault| fault.clone().into()),
            spec.policy.validate().map_err(|faults| faults.within("policy")),
            check_units(spec).map_err(Faults::from),
        ])?;
        let ((segment_blocks, slots), (segments, headers)) = (places?, room?);
        let flush = Flush::new(spec.flush.as_ref(), slots)?;
        let sizes = (slots, disk.bytes());
        let units = spec.units.map(|units| Units::new(&units, block_bytes, segment_bytes, sizes)).transpose()?;
        let layout = Layout { block_bytes, capacity_blocks: disk.capacity_blocks, segment_blocks };
        Ok(Self {
            layout,
            shortcut: spec.shortcut,
            children: Children::new(mems.id, disk.id),
            requests: Requests::new(block_bytes),
            streams: spec.bypass_bytes.map(|bytes| Streams::new(bytes.div_ceil(u64::from(block_bytes)))),
            table: Table::new(layout, slots, &spec.policy, spec.partial_write, units),
            journal: Journal::new(layout, headers),
            buffer: Buffer::new(layout, segments),
            transits: Transits::new(layout),
            destager: Destager::new(layout, spec.immediate_report),
            flush,
            direct: Direct::new(layout),
            losses: Losses::new(layout),
            recovery: None,
            stalled: VecDeque::new(),
            statistics: Statistics::default(),
        })
    }

    /// Stops the run if a custom policy failed, and returns true if so. `request` is the one that the policy was called for.
    pub(super) fn halts(&self, request: Option<&Request>, context: &mut Context<'_>) -> bool {
        let Some(PolicyFailure { stop, key }) = self.table.policy_failure() else { return false };
        context.stop(stop.located_at_key(context.now(), "segment", *key, request));
        true
    }

    /// Goes on with whatever waits for room that may have been made.
    fn go_on(&mut self, context: &mut Context<'_>) {
        if self.halts(None, context) {
            return;
        }
        if self.recovery.is_some() {
            // Which slots the entries of the journal have is not known yet.
            return;
        }
        while let Some(next) = self.buffer.next() {
            match next {
                Awaiting::Fill(transit) => self.fill(transit, context),
                Awaiting::Destage(destage) => self.fetch(destage, context),
            }
        }
        while let Some(piece) = self.stalled.pop_front() {
            if let Err(piece) = self.route(piece, context) {
                self.stalled.push_front(piece);
                break;
            }
        }
        self.journal.write(&mut self.table, &mut self.children, context);
        self.destager.write_deferred(&self.buffer, &mut self.children, context);
        debug_assert!(self.table.len() > MOST_CHECKED || self.unsound().is_none(), "{:?}", self.unsound());
    }

    /// The part that is not in order, or does not agree with others, if one is.
    fn unsound(&self) -> Option<&'static str> {
        let staying = usize::from(self.flush.under_way.is_some());
        let holding = self.transits.len() + self.destager.len();
        let parts = [
            (self.table.is_sound(self.transits.len()), "the table of segments, or what it counts of them"),
            (self.journal.is_sound(&self.table), "the journal, or whose its entries are"),
            (self.destager.is_sound(staying), "the list of segments that leave"),
            (self.buffer.is_sound(), "the list of what the buffer holds"),
            (self.buffer.in_use().count() <= holding, "the buffer: it holds segments that nobody needs"),
        ];
        parts.into_iter().find(|(is_sound, _)| !is_sound).map(|(_, part)| part)
    }
}

impl Component for CachingDisk {
    fn capacity_blocks(&self) -> u64 {
        self.layout.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.layout.block_bytes
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let payload = context.payload(&request);
        match &mut self.recovery {
            Some(recovery) => recovery.waiting.push_back((request, payload)),
            None => {
                self.table.at(context.now(), Some(request.id));
                self.accept(&request, &payload, context);
                self.halts(Some(&request), context);
            }
        }
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        self.table.at(context.now(), None);
        let answer = context.read_payload(child, completion);
        let job = self.children.settle(completion);
        if self.children.is_mems(child) && completion.status == Status::Failed && !self.losses.mems_failed {
            self.give_up_mems(context);
        }
        match job {
            // What these are steps of ended when MEMS failed.
            Job::Fill { .. } | Job::Place { .. } | Job::Header { .. } | Job::Recover { .. }
                if self.losses.mems_failed => {}
            Job::Hit { request, slot, data } => self.hit_done(request, (slot, data), completion, answer, context),
            Job::Access { piece, slot, validates } => {
                self.accessed(piece, (slot, validates), completion, &answer, context);
            }
            Job::Direct { whole, first } => self.direct_done((whole, first), completion, &answer, context),
            Job::Fill { transit } => self.filled(transit, completion, &answer, context),
            Job::Place { transit } => self.placed(transit, completion, context),
            Job::Fetch { destage } => {
                let (buffer, children) = (&mut self.buffer, &mut self.children);
                let step = self.destager.fetched(destage, (completion, &answer), buffer, children, context);
                self.destage_on(destage, step, context);
            }
            Job::Destage { destage } => {
                let step = self.destager.destaged(destage, completion);
                self.destage_on(destage, step, context);
            }
            Job::Header { slot } => self.header_written(slot, context),
            Job::Recover { lbn } => {
                let recovery = self.recovery.as_mut().expect("a recovery ends when all of its reads have come back");
                if recovery.hear((lbn, completion, &answer), &mut self.children, context) {
                    self.recovered(context);
                }
            }
        }
        self.go_on(context);
    }

    fn timer(&mut self, tag: u64, context: &mut Context<'_>) {
        self.table.at(context.now(), None);
        self.flush.timer(tag, &self.table);
        self.flush_on(context);
        self.destager.write_deferred(&self.buffer, &mut self.children, context);
    }

    fn part_blocks(&self) -> Option<u64> {
        Some(u64::from(self.layout.segment_blocks))
    }
}

impl PowerLoss for CachingDisk {
    /// All writes to the children are durable.
    fn may_lose_writes(&self, _children: bool) -> bool {
        false
    }

    fn power_cut(&mut self, _now: Time) {
        self.children.forget();
        self.requests.forget();
        self.streams.iter_mut().for_each(Streams::forget);
        self.table.forget();
        self.journal.power_cut();
        self.buffer.power_cut();
        self.transits.forget();
        self.destager.forget();
        self.flush.forget();
        self.direct = Direct::new(self.layout);
        self.recovery = None;
        self.stalled.clear();
    }

    fn restart(&mut self, context: &mut Context<'_>) {
        self.recover(context);
    }

    fn is_recovering(&self) -> bool {
        self.recovery.is_some()
    }
}

impl Instrumentation for CachingDisk {
    fn check_invariants(&self, at_rest: bool) -> Result<(), String> {
        let (requests, accesses, stalled) = (self.requests.len(), self.children.under_way(), self.stalled.len());
        if at_rest && requests + accesses + stalled > 0 {
            return Err(format!("at rest with {requests} requests, {accesses} accesses, {stalled} stalled"));
        }
        // Which slots the entries of the journal have is not known before it has recovered.
        match self.unsound().filter(|_| self.recovery.is_none()) {
            Some(part) => Err(format!("not in order is {part}")),
            None => Ok(()),
        }
    }

    fn details(&self, _now: Time) -> Option<Details> {
        Some(self.counted())
    }

    fn start_measuring(&mut self, _now: Time) {
        self.statistics = Statistics::default();
        self.requests.met = Met::default();
        self.children.sent = Sent::default();
        self.table.start_measuring();
        self.buffer.stalls = 0;
        self.losses.lost_blocks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Flags, Op, Padding};

    fn request() -> Request {
        let (op, flags, padding) = (Op::Read, Flags::NONE, Padding::NONE);
        Request { id: 0, arrival: Time::ZERO, lbn: 0, blocks: 1, op, flags, origin: 0, padding }
    }

    /// Each part that goes wrong, and a word of what is said of it.
    #[test]
    fn whatever_is_not_in_order_is_told() {
        type Act = fn(&mut CachingDisk);
        let acts: [(&str, Act); 8] = [
            ("table of segments", |cache| cache.table.set_dirty(0, true)),
            ("table of segments", |cache| cache.table.set_transit(1, 7)),
            ("the journal, or whose its entries are", |cache| {
                let mut other = cache.table.clone();
                cache.journal.claim(0, None, &mut other);
            }),
            ("the list of what the buffer holds", |cache| {
                (0..=cache.buffer.capacity()).for_each(|it| _ = cache.buffer.take(it.into(), Awaiting::Fill(0)));
                cache.buffer.release(0);
            }),
            ("it holds segments that nobody needs", |cache| _ = cache.buffer.take(3, Awaiting::Fill(0))),
            ("segments that leave", |cache| cache.flush.under_way = Some((0, 3))),
            ("at rest with 1 requests", |cache| _ = cache.requests.begin(&request(), 1)),
            ("at rest with 0 requests, 0 accesses, 1 stalled", |cache| {
                cache.stalled.push_back(Piece::of(0, 0, &request(), (0, 1), 0))
            }),
        ];
        for (word, act) in acts {
            let child = |id, capacity_blocks| Child { id: ComponentId(id), capacity_blocks, block_bytes: 512 };
            let mut cache = CachingDisk::new(&CachingDiskSpec::default(), child(0, 100_000), child(1, 1_000_000))
                .expect("they fit");
            assert_eq!(cache.check_invariants(true), Ok(()));
            act(&mut cache);
            let told = cache.check_invariants(true).expect_err(word);
            assert!(told.contains(word), "{word}: {told}");
        }
    }
}
