//! A caching disk (MCD): MEMS as a fully associative write-back cache of a disk, after Hong et al. 2006, sections 4.1.2 and 4.2.
//!
//! The disk is divided into segments. MEMS is divided into frames; each holds one segment behind a header of one block with the
//! segment's number. Segments pass a non-volatile buffer on their way between the two. A request is split at the borders of
//! segments, and its pieces are served in parallel:
//!
//! | case | plain | with |
//! | --- | --- | --- |
//! | hit | MEMS access | |
//! | read miss | eviction, disk read, MEMS write, MEMS read | shortcut: eviction, disk read |
//! | write miss, whole segment | eviction, MEMS write | |
//! | write miss, part | eviction, disk read, MEMS write, MEMS write | partial write: eviction, MEMS write; shortcut: eviction, disk read |
//! | eviction of an unchanged segment | no access | |
//! | eviction of a changed segment | MEMS read, disk write | immediate report: MEMS read |
//!
//! A power cut loses no acknowledged write. The header of a frame is its entry in the buffer's journal or, if it has none, the
//! block on MEMS. The headers together are the table:
//!
//! 1. After a cut all valid blocks count as changed, so that no header has to be written when a segment changes.
//! 2. From the moment a slot is free until MEMS has its next header, the journal says that the frame is empty; blocks that are
//!    acknowledged before stay in the buffer until then.
//! 3. Blocks become valid in the journal after MEMS has their data, in the event that acknowledges them.
//! 4. The buffer drops a segment once it is on the medium of the disk: such writes are durable.
//! 5. A cut during recovery restarts it: recovery changes nothing before it has read every header.
//!
//! Each module owns one part of the state. `control` is the only one that passes pieces, fills and destages from part to part.
//!
//! A segment takes 32 bytes of the host's memory, 8 more for each 64 blocks with partial write, 16 with units, and the memory of
//! the replacement policy.

mod buffer;
mod children;
mod control;
mod destage;
mod direct;
mod failures;
mod fill;
mod flush;
mod header;
mod journal;
mod layout;
mod recovery;
mod requests;
mod spec;
mod statistics;
mod streams;
mod table;
mod units;

use std::collections::VecDeque;

pub use header::MAGIC;
pub use spec::{CachingDiskFlushSpec, CachingDiskSpec, CachingDiskUnitsSpec, KIND};

use buffer::Buffer;
use children::{AccessCounts, Children, Job};
use destage::Destager;
use direct::DirectAccesses;
use failures::Failures;
use fill::Fills;
use flush::Flush;
use journal::Journal;
use layout::Layout;
use recovery::Recovery;
use requests::{Piece, Requests};
use spec::Sizes;
use statistics::{RequestCounts, Statistics};
use streams::Streams;
use table::Table;
use units::Units;

use super::Child;
use crate::engine::{Completion, Component, ComponentId, Context, Details, Instrumentation, PowerLoss, Status};
use crate::fault::{Fault, Faults, Kind};
use crate::request::Request;
use crate::time::Time;

/// The consistency of the parts is checked after every completion in debug builds, up to this number of slots.
const MAX_CHECKED_SLOTS: u32 = 64;

/// A disk with a MEMS device that caches it.
#[derive(Clone)]
pub struct CachingDisk {
    layout: Layout,
    /// True if the buffer serves requests as soon as a segment has come from the disk.
    shortcut: bool,
    children: Children,
    requests: Requests,
    streams: Option<Streams>,
    table: Table,
    journal: Journal,
    buffer: Buffer,
    fills: Fills,
    destager: Destager,
    flush: Flush,
    direct: DirectAccesses,
    failures: Failures,
    recovery: Option<Recovery>,
    /// Pieces that wait for a slot or for space in the journal.
    stalled: VecDeque<Piece>,
    statistics: Statistics,
}

impl CachingDisk {
    /// A disk cached by MEMS.
    ///
    /// # Errors
    /// Keys that contradict each other or the sizes of the children.
    pub fn new(spec: &CachingDiskSpec, mems: Child, disk: Child) -> Result<Self, Faults> {
        let block_bytes = disk.block_bytes;
        if mems.block_bytes != block_bytes {
            return Err(Fault::at(Kind::Misfit, "mems")
                .says(format!(" has blocks of {} B, ", mems.block_bytes))
                .key("disk")
                .says(format!(" of {block_bytes} B: they must be equal"))
                .into());
        }
        let Sizes { segment_blocks, slots, buffer_segments, journal_headers } = spec.sizes(mems, disk)?;
        let flush = Flush::new(spec.flush.as_ref(), slots)?;
        let units = spec.units.map(|units| Units::new(&units, block_bytes, spec.segment_bytes, slots, disk.bytes()));
        let units = units.transpose()?;
        let layout = Layout { block_bytes, capacity_blocks: disk.capacity_blocks, segment_blocks };
        Ok(Self {
            layout,
            shortcut: spec.shortcut,
            children: Children::new(mems.id, disk.id),
            requests: Requests::new(block_bytes),
            streams: spec.bypass_bytes.map(|bytes| Streams::new(bytes.div_ceil(u64::from(block_bytes)))),
            table: Table::new(layout, slots, &spec.policy, spec.partial_write, units),
            journal: Journal::new(layout, journal_headers),
            buffer: Buffer::new(layout, buffer_segments),
            fills: Fills::new(layout),
            destager: Destager::new(layout, spec.immediate_report),
            flush,
            direct: DirectAccesses::new(layout),
            failures: Failures::new(layout),
            recovery: None,
            stalled: VecDeque::new(),
            statistics: Statistics::default(),
        })
    }

    /// Number of segments that MEMS can hold.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.table.len()
    }

    /// Number of segments that the buffer can hold.
    #[must_use]
    pub fn buffer_segments(&self) -> u32 {
        self.buffer.capacity()
    }

    /// Number of headers that the journal can hold.
    #[must_use]
    pub fn journal_headers(&self) -> u32 {
        self.journal.capacity()
    }

    /// Bytes that the table has allocated.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.table.memory_bytes()
    }

    /// The first part of the state that is inconsistent in itself or with other parts.
    fn inconsistent_part(&self) -> Option<&'static str> {
        let flushes = usize::from(self.flush.under_way.is_some());
        let users = self.fills.len() + self.destager.len();
        let parts = [
            (self.table.is_consistent(self.fills.len()), "the table of segments or its counts"),
            (self.journal.is_consistent(&self.table), "the journal or the slots of its entries"),
            (self.destager.is_consistent(flushes), "the list of evicted segments"),
            (self.buffer.is_consistent(), "the list of buffered segments"),
            (self.buffer.in_use().count() <= users, "the buffer: it holds segments without a fill or destage"),
        ];
        parts.into_iter().find(|(is_consistent, _)| !is_consistent).map(|(_, part)| part)
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
                self.table.set_context(context.now(), Some(request.id));
                self.accept(&request, &payload, context);
                self.stop_if_policy_failed(Some(&request), context);
            }
        }
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        self.table.set_context(context.now(), None);
        let answer = context.read_payload(child, completion);
        let job = self.children.complete(completion);
        if self.children.is_mems(child) && completion.status == Status::Failed && !self.failures.mems_failed {
            self.fail_mems(context);
        }
        match job {
            // The fill, header write or recovery ended when MEMS failed.
            Job::FillRead { .. } | Job::FillWrite { .. } | Job::Header { .. } | Job::Recover { .. }
                if self.failures.mems_failed => {}
            Job::Hit { request, slot, data } => self.hit_completed(request, slot, data, completion, answer, context),
            Job::Access { piece, slot, validates } => {
                self.access_completed(piece, slot, validates, completion, &answer, context);
            }
            Job::Direct { request_id, first } => {
                self.direct_completed(request_id, first, completion, &answer, context);
            }
            Job::FillRead { fill } => self.fill_read(fill, completion, &answer, context),
            Job::FillWrite { fill } => self.fill_written(fill, completion, context),
            Job::DestageRead { destage } => {
                let (buffer, children) = (&mut self.buffer, &mut self.children);
                let step = self.destager.mems_read(destage, completion, &answer, buffer, children, context);
                self.continue_destage(destage, step, context);
            }
            Job::DestageWrite { destage } => {
                let step = self.destager.disk_written(destage, completion);
                self.continue_destage(destage, step, context);
            }
            Job::Header { slot } => self.header_written(slot, context),
            Job::Recover { lbn } => {
                let recovery = self.recovery.as_mut().expect("a recovery ends after its last read");
                if recovery.headers_read(lbn, completion, &answer, &mut self.children, context) {
                    self.end_recovery(context);
                }
            }
        }
        self.use_freed_space(context);
    }

    fn timer(&mut self, tag: u64, context: &mut Context<'_>) {
        self.table.set_context(context.now(), None);
        self.flush.timer(tag, &self.table);
        self.start_due_flush(context);
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
        self.children.clear();
        self.requests.clear();
        self.streams.iter_mut().for_each(Streams::clear);
        self.table.clear();
        self.journal.power_cut();
        self.buffer.power_cut();
        self.fills.clear();
        self.destager.clear();
        self.flush.clear();
        self.direct.clear();
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
        let (requests, accesses, stalled) = (self.requests.len(), self.children.len(), self.stalled.len());
        if at_rest && requests + accesses + stalled > 0 {
            return Err(format!("at rest with {requests} requests, {accesses} accesses, {stalled} stalled"));
        }
        // Before a recovery ends, the slots of the journal's entries are not known.
        match self.inconsistent_part().filter(|_| self.recovery.is_none()) {
            Some(part) => Err(format!("inconsistent: {part}")),
            None => Ok(()),
        }
    }

    fn details(&self, _now: Time) -> Option<Details> {
        Some(statistics::details(self))
    }

    fn start_measuring(&mut self, _now: Time) {
        self.statistics = Statistics::default();
        self.requests.counts = RequestCounts::default();
        self.children.counts = AccessCounts::default();
        self.table.start_measuring();
        self.buffer.stalls = 0;
        self.failures.lost_blocks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hierarchy::BlockRange;

    #[test]
    fn inconsistent_parts_are_named() {
        use buffer::Waiter::Fill;
        type Damage = fn(&mut CachingDisk);
        let cases: [(&str, Damage); 8] = [
            ("table of segments", |cache| cache.table.set_dirty(0, true)),
            ("table of segments", |cache| cache.table.set_fill(1, 7)),
            ("the journal or the slots of its entries", |cache| {
                let mut other = cache.table.clone();
                cache.journal.claim(0, None, &mut other);
            }),
            ("the list of buffered segments", |cache| {
                (0..=cache.buffer.capacity()).for_each(|it| _ = cache.buffer.allocate(it.into(), Fill(0)));
                cache.buffer.release(0);
            }),
            ("segments without a fill or destage", |cache| _ = cache.buffer.allocate(3, Fill(0))),
            ("evicted segments", |cache| {
                cache.flush.under_way = Some(flush::FlushUnderWay { slot: 0, destage: 3 });
            }),
            ("at rest with 1 requests", |cache| _ = cache.requests.begin(&Request::read(0, 1), 1)),
            ("at rest with 0 requests, 0 accesses, 1 stalled", |cache| {
                cache.stalled.push_back(Piece::new(0, &Request::read(0, 1), BlockRange::new(0, 1), 0, 0));
            }),
        ];
        for (expected, damage) in cases {
            let child = |id, capacity_blocks| Child { id: ComponentId(id), capacity_blocks, block_bytes: 512 };
            let mut cache = CachingDisk::new(&CachingDiskSpec::default(), child(0, 100_000), child(1, 1_000_000))
                .expect("the default fits");
            assert_eq!(cache.check_invariants(true), Ok(()));
            damage(&mut cache);
            let error = cache.check_invariants(true).expect_err(expected);
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }
}
