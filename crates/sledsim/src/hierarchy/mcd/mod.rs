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
//! Of the host's memory a segment takes 32 bytes, 8 more for each 64 blocks with partial write, 16 with units, and what the
//! replacement policy needs.

mod access;
mod bypass;
mod destage;
mod direct;
mod failure;
mod fill;
mod header;
mod nonvolatile;
mod recover;
mod spec;
mod statistics;
mod table;
mod transit;
mod units;

use std::collections::{BTreeMap, VecDeque};

pub use header::MAGIC;
pub use spec::{McdFlushSpec, McdSpec, McdUnitsSpec};

use access::{Piece, Whole};
use bypass::Streams;
use destage::{Destage, Flush};
use direct::Writing;
use nonvolatile::{Buffer, Journal};
use recover::Recovery;
use statistics::Statistics;
use table::Table;
use transit::Transit;
use units::Units;

use super::cache::replacement::{build, Replacement, MAX_SLOTS};
use super::parts::{BlockSet, Tickets};
use super::Child;
use crate::engine::component::Measured;
use crate::engine::{Completion, Component, ComponentId, Context, Details, Payload, Status};
use crate::request::{Flags, Op, Request, Spare};
use crate::time::Time;

/// Share of the buffer that holds headers.
const JOURNAL_PART: u64 = 32;
/// Bytes of a header in the journal besides its bits: slot, segment, state.
const ENTRY_BYTES: u64 = 16;
/// Fewest headers that the journal has room for: one for a miss under way, one for a write, and as many being written to MEMS.
const LEAST_ENTRIES: u64 = 4;

/// What a request of its own to a child is for.
#[derive(Debug)]
enum Job {
    /// MEMS access of a request from above whose blocks are all there, in one slot; what it writes.
    Hit { request: Request, slot: u32, data: Payload },
    /// MEMS access of a piece in a slot; whether its blocks become valid.
    Access { piece: Piece, slot: u32, validates: bool },
    /// Disk access for a request from above, from which of its blocks on.
    Direct { whole: u64, first: u32 },
    /// Disk read of a segment.
    Fill { transit: u64 },
    /// MEMS write of a segment, or of parts of it.
    Place { transit: u64 },
    /// MEMS read of a changed segment.
    Fetch { destage: u64 },
    /// Disk write of a part of it.
    Destage { destage: u64 },
    /// MEMS write of a header.
    Header { slot: u32 },
    /// MEMS read of headers, from that block on.
    Recover { lbn: u64 },
}

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
        (self.capacity_blocks - first).min(u64::from(self.segment_blocks)) as u32
    }

    /// Block of MEMS where the header in a place is.
    #[inline]
    fn header_lbn(&self, frame: u32) -> u64 {
        u64::from(frame) * (u64::from(self.segment_blocks) + 1)
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
pub struct Mcd {
    spec: McdSpec,
    mems: ComponentId,
    disk: ComponentId,
    layout: Layout,
    policy: Box<dyn Replacement>,
    table: Table,
    journal: Journal,
    buffer: Buffer,
    wholes: Tickets<Whole>,
    jobs: Tickets<Job>,
    transits: Tickets<Transit>,
    destages: Tickets<Destage>,
    /// Segments that have no slot any more, or never got one, and that the disk does not have yet, with their destages.
    leaving: BTreeMap<u64, u64>,
    /// Pieces that wait for a slot or for room in the journal.
    stalled: VecDeque<Piece>,
    /// What waits for room in the buffer.
    awaiting: VecDeque<Awaiting>,
    /// Destages that wait for the disk to have nothing else to do.
    deferred: VecDeque<u64>,
    disk_reads: u32,
    disk_writes: u32,
    header_writes: u32,
    flush: Flush,
    recovery: Option<Recovery>,
    streams: Option<Streams>,
    units: Option<Units>,
    /// Disk writes that do not go through MEMS, by segment.
    writing: BTreeMap<u64, Writing>,
    /// Whether MEMS has failed. The controller does not forget that.
    mems_failed: bool,
    /// Blocks of the disk whose newest content is lost. The controller does not forget that either.
    lost: BlockSet,
    statistics: Statistics,
}

/// What waits for room in the buffer.
#[derive(Clone, Copy, Debug)]
enum Awaiting {
    Fill(u64),
    Destage(u64),
}

/// Segments and headers that the buffer has room for.
fn room(spec: &McdSpec, block_bytes: u32) -> Result<(u32, u32), String> {
    let (segment_bytes, buffer_bytes) = (spec.segment_bytes, spec.buffer_bytes);
    let journal_bytes = buffer_bytes / JOURNAL_PART;
    let entry_bytes = ENTRY_BYTES + (segment_bytes / u64::from(block_bytes)).div_ceil(8);
    let (segments, headers) = ((buffer_bytes - journal_bytes) / segment_bytes, journal_bytes / entry_bytes);
    if segments < 2 {
        return Err(format!(
            "segment_bytes = {segment_bytes} B exceeds half of the {} B that buffer_bytes = {buffer_bytes} B leaves for \
             segments: the buffer must hold two, one coming and one leaving",
            buffer_bytes - journal_bytes
        ));
    }
    if headers < LEAST_ENTRIES {
        return Err(format!(
            "buffer_bytes = {buffer_bytes} B has room for {headers} headers of {entry_bytes} B, but {LEAST_ENTRIES} are \
             needed: make it {} B",
            LEAST_ENTRIES * entry_bytes * JOURNAL_PART
        ));
    }
    Ok((segments.min(1 << 20) as u32, headers.min(1 << 20) as u32))
}

/// Blocks of a segment, and how many segments fit on MEMS.
fn slots(spec: &McdSpec, mems_bytes: u64, block_bytes: u32) -> Result<(u32, u32), String> {
    let segment_bytes = spec.segment_bytes;
    let segment_blocks = segment_bytes / u64::from(block_bytes);
    if segment_blocks == 0 || !segment_bytes.is_multiple_of(u64::from(block_bytes)) {
        return Err(format!("segment_bytes = {segment_bytes} B is no multiple of the {block_bytes} B blocks of disk"));
    }
    if segment_blocks > header::most_blocks(block_bytes) {
        let most = header::most_blocks(block_bytes) * u64::from(block_bytes);
        return Err(format!("segment_bytes = {segment_bytes} B exceeds {most} B: its header must fit a block"));
    }
    let slots = mems_bytes / u64::from(block_bytes) / (segment_blocks + 1);
    if !(2..=u64::from(MAX_SLOTS)).contains(&slots) {
        return Err(format!(
            "mems_bytes = {mems_bytes} B holds {slots} segments of segment_bytes = {segment_bytes} B and a header, but \
             must hold from 2 to {MAX_SLOTS}"
        ));
    }
    Ok((segment_blocks as u32, slots as u32))
}

impl Mcd {
    /// A disk cached by MEMS.
    ///
    /// # Errors
    /// Says which key does not fit the children or another key, and what would.
    pub fn new(spec: &McdSpec, mems: Child, disk: Child) -> Result<Self, String> {
        let block_bytes = disk.block_bytes;
        if mems.block_bytes != block_bytes {
            return Err(format!(
                "mems has blocks of {} B, disk of {block_bytes} B: they must be equal",
                mems.block_bytes
            ));
        }
        let (mems_bytes, segment_bytes) = (spec.mems_bytes.unwrap_or_else(|| mems.bytes()), spec.segment_bytes);
        if mems_bytes > mems.bytes() {
            return Err(format!("mems_bytes = {mems_bytes} B exceeds the {} B of mems", mems.bytes()));
        }
        if mems_bytes >= disk.bytes() {
            return Err(format!(
                "mems_bytes = {mems_bytes} B of mems are used, and disk has only {} B: a cache must be smaller than what it \
                 caches",
                disk.bytes()
            ));
        }
        let (segment_blocks, slots) = slots(spec, mems_bytes, block_bytes)?;
        let (segments, headers) = room(spec, block_bytes)?;
        spec.policy.validate().map_err(|error| format!("policy: {error}"))?;
        let flush = Flush::new(spec.flush.as_ref(), slots)?;
        if spec.units.is_some() && !spec.partial_write {
            return Err(String::from("units needs partial_write = true: segments are there in parts then"));
        }
        let sizes = (slots, disk.bytes());
        let units = spec.units.map(|units| Units::new(&units, block_bytes, segment_bytes, sizes)).transpose()?;
        Ok(Self {
            spec: spec.clone(),
            mems: mems.id,
            disk: disk.id,
            layout: Layout { block_bytes, capacity_blocks: disk.capacity_blocks, segment_blocks },
            policy: build(&spec.policy, slots),
            table: Table::new(slots, segment_blocks, spec.partial_write),
            journal: Journal::new(headers),
            buffer: Buffer::new(segments),
            wholes: Tickets::default(),
            jobs: Tickets::default(),
            transits: Tickets::default(),
            destages: Tickets::default(),
            leaving: BTreeMap::new(),
            stalled: VecDeque::new(),
            awaiting: VecDeque::new(),
            deferred: VecDeque::new(),
            disk_reads: 0,
            disk_writes: 0,
            header_writes: 0,
            flush,
            recovery: None,
            streams: spec.bypass_bytes.map(|bytes| Streams::new(bytes.div_ceil(u64::from(block_bytes)))),
            units,
            writing: BTreeMap::new(),
            mems_failed: false,
            lost: BlockSet::default(),
            statistics: Statistics::default(),
        })
    }

    /// Segments that MEMS has room for.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.table.len()
    }

    /// Segments and headers that the buffer has room for.
    #[must_use]
    pub fn buffer_room(&self) -> (u32, u32) {
        (self.buffer.capacity(), self.journal.capacity())
    }

    /// Bytes that its tables have allocated.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let units = self.units.as_ref().map_or(0, Units::memory_bytes);
        self.policy.memory_bytes() + self.table.memory_bytes() + units
    }

    /// Sends a request of its own to a child.
    #[inline]
    fn send(&mut self, to: ComponentId, job: Job, op: Op, place: (u64, u32), data: Payload, context: &mut Context<'_>) {
        let id = self.jobs.issue(job);
        // Whatever is written here, something else is given up for it.
        let flags = if op == Op::Write { Flags::DURABLE } else { Flags::NONE };
        let ((lbn, blocks), arrival) = (place, context.now());
        let request = Request { id, arrival, lbn, blocks, op, flags, origin: 0, spare: Spare::NONE };
        context.submit_with(to, request, data);
    }

    /// Goes on with whatever waits for room that may have been made.
    fn go_on(&mut self, context: &mut Context<'_>) {
        while self.buffer.room() > 0 {
            let Some(next) = self.awaiting.pop_front() else { break };
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
        self.write_headers(context);
        self.write_deferred(context);
    }
}

impl Component for Mcd {
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
            None => self.accept(request, &payload, context),
        }
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.answer(child, completion);
        let Some(job) = self.jobs.settle(completion.request.id) else { return };
        if child == self.mems && completion.status == Status::Failed && !self.mems_failed {
            self.give_up_mems(context);
        }
        match job {
            Job::Hit { request, slot, data } => self.hit_done(request, (slot, data), completion, answer, context),
            Job::Access { piece, slot, validates } => {
                self.accessed(piece, (slot, validates), completion, &answer, context);
            }
            Job::Direct { whole, first } => self.direct_done(whole, first, completion, &answer, context),
            Job::Fill { transit } => self.filled(transit, completion, &answer, context),
            Job::Place { transit } => self.placed(transit, completion, context),
            Job::Fetch { destage } => self.fetched(destage, completion, &answer, context),
            Job::Destage { destage } => self.destaged(destage, completion, context),
            Job::Header { slot } => self.header_written(slot, context),
            Job::Recover { lbn } => self.headers_read(lbn, completion, &answer, context),
        }
        self.go_on(context);
    }

    fn timer(&mut self, tag: u64, context: &mut Context<'_>) {
        self.flush_timer(tag, context);
    }

    fn power_cut(&mut self, _now: Time) {
        let (slots, blocks) = (self.table.len(), self.layout.segment_blocks);
        self.policy = build(&self.spec.policy, slots);
        self.table = Table::new(slots, blocks, self.spec.partial_write);
        self.wholes.clear();
        self.jobs.clear();
        self.transits.clear();
        self.destages.clear();
        self.leaving.clear();
        self.stalled.clear();
        self.awaiting.clear();
        self.deferred.clear();
        self.writing.clear();
        self.streams.iter_mut().for_each(Streams::forget);
        self.units.iter_mut().for_each(Units::forget);
        (self.disk_reads, self.disk_writes, self.header_writes) = (0, 0, 0);
        self.flush.forget();
        self.recovery = None;
    }

    fn restart(&mut self, context: &mut Context<'_>) {
        self.recover(context);
    }

    fn is_recovering(&self) -> bool {
        self.recovery.is_some()
    }

    fn details(&self, _now: Time) -> Option<Details> {
        let dirty_share = f64::from(self.table.dirty()) / f64::from(self.table.len());
        Some(self.statistics.details(dirty_share, self.units.as_ref().map_or(0, |units| units.changes)))
    }

    fn start_measuring(&mut self, _now: Time) {
        self.statistics = Statistics::default();
        self.units.iter_mut().for_each(|units| units.changes = 0);
    }

    fn measured(&self, _now: Time) -> Measured {
        // Its children report for themselves.
        Measured::default()
    }
}
