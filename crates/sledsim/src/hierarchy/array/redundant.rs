//! Arrays that survive failures of members.

use std::collections::VecDeque;

use super::copies::Copies;
use super::counters::ArrayCounters;
use super::journal::Journal;
use super::layout::{Layout, Level, Piece};
use super::members::{Failed, Members};
use super::operation::{Operation, Task};
use super::rebuild::Rebuild;
use super::spec::{ArraySpec, Sparing, WriteMethod};
use crate::convert::to_u32;
use crate::engine::details::Details;
use crate::engine::{Completion, Component, ComponentId, Context, Instrumentation, Payload, PowerLoss, Status};
use crate::fault::Fault;
use crate::hierarchy::common::{BlockRange, Outstanding, RangeLocks, SplitRequest};
use crate::plugin::MirrorAdaptor;
use crate::request::{Flags, Op, Padding, Request};
use crate::time::Time;

/// Timer tag: a step of the rebuild may begin. Other tags are ids of operations whose journal entry has been made.
const REBUILD: u64 = u64::MAX;

/// A mirror, or an array with parity.
///
/// A write to a row makes all its reads before its writes, under a lock on its LBNs. Reads of intact members need no lock. A member
/// is taken out of service when an access to it fails.
#[derive(Clone)]
pub struct RedundantArray {
    pub(super) children: Vec<ComponentId>,
    pub(super) layout: Layout,
    pub(super) block_bytes: u32,
    copies: Copies,
    pub(super) write: WriteMethod,
    pub(super) members: Members,
    pub(super) rebuild: Rebuild,
    pub(super) journal: Option<Journal>,
    pub(super) requests: Outstanding<HostRequest>,
    accesses: Outstanding<OutstandingAccess>,
    pub(super) operations: Outstanding<Operation>,
    pub(super) locks: RangeLocks,
    /// Operations that may proceed.
    pub(super) ready: VecDeque<u64>,
    /// Number of journal entries that are being replayed.
    pub(super) replays: u32,
    /// Requests that wait for the end of the replay.
    held: Vec<(Request, Payload)>,
    pub(super) counters: ArrayCounters,
}

/// An outstanding request.
#[derive(Clone)]
pub(super) struct HostRequest {
    pub(super) split: SplitRequest,
    /// The path that is reported: the last one in the order of paths among those of its parts.
    pub(super) path: usize,
}

/// An outstanding access to a child.
#[derive(Clone)]
struct OutstandingAccess {
    child: usize,
    purpose: Purpose,
}

/// The purpose of an access.
#[derive(Clone)]
pub(super) enum Purpose {
    /// A read of a request without an operation.
    Request { host: u64, row: u64, piece: Piece },
    /// A read or write of an operation, by index.
    Operation { operation: u64, index: usize },
    /// A flush.
    Flush { host: u64 },
}

/// An access to a child.
#[derive(Clone)]
pub(super) struct MemberAccess {
    pub(super) child: usize,
    pub(super) op: Op,
    pub(super) range: BlockRange,
    pub(super) flags: Flags,
    pub(super) origin: u32,
    pub(super) payload: Payload,
}

impl RedundantArray {
    /// An array over `children`, given number and size of the blocks of each. The smallest child determines how much of each is
    /// used.
    ///
    /// # Errors
    /// The children do not fit each other or `spec`.
    pub fn new(
        level: Level,
        children: Vec<ComponentId>,
        sizes: &[(u64, u32)],
        spec: &ArraySpec,
    ) -> Result<Self, Fault> {
        let unit_blocks = super::check::unit_blocks(level, sizes, spec)?;
        let block_bytes = sizes[0].1;
        let member_blocks = sizes.iter().map(|&(blocks, _)| blocks).min().unwrap_or(0);
        let (row_blocks, rows) = match level {
            Level::Mirror => (member_blocks, 1),
            _ => (unit_blocks, member_blocks / unit_blocks),
        };
        let spares = spec.spares as usize;
        let is_distributed = spec.sparing == Sparing::Distributed;
        let columns = children.len() - spares;
        let layout = Layout::new(level, columns, if is_distributed { spares } else { 0 }, row_blocks, rows);
        let layout = super::check::journaled(layout, block_bytes, spec)?;
        let steps = spec.rebuild.outstanding;
        // Distributed spare units lie on all other members, so steps go row by row.
        let (step_rows, max_steps) =
            if is_distributed { (1, steps * spec.rebuild.rows) } else { (u64::from(spec.rebuild.rows), steps) };
        let step_blocks = step_rows * unit_blocks;
        Ok(Self {
            layout,
            block_bytes,
            copies: Copies::new(spec.read, children.len()),
            write: spec.write,
            members: Members::new(layout, spares, is_distributed),
            rebuild: Rebuild::new(&spec.rebuild, step_blocks, max_steps, layout.member_blocks(), block_bytes),
            journal: spec.journal.map(Journal::new),
            requests: Outstanding::default(),
            accesses: Outstanding::default(),
            operations: Outstanding::default(),
            locks: RangeLocks::default(),
            ready: VecDeque::new(),
            replays: 0,
            held: Vec::new(),
            counters: ArrayCounters::default(),
            children,
        })
    }

    /// Sets a custom policy that chooses the copy of the mirror for each read.
    #[must_use]
    pub fn with_read_policy(mut self, policy: MirrorAdaptor) -> Self {
        self.copies.set_policy(policy);
        self
    }

    /// Sends a flush to all children that hold members.
    fn flush(&mut self, request: Request, context: &mut Context<'_>) {
        let children = self.members.in_service();
        if children.is_empty() {
            context.complete(&Completion { status: Status::Failed, ..Completion::at_once(&request, context.now()) });
            return;
        }
        let mut split = SplitRequest::new(request);
        split.add_parts(to_u32(children.len()));
        let host = self.requests.insert(HostRequest { split, path: ArrayCounters::first_path(request.op) });
        for child in children {
            let id = self.accesses.insert(OutstandingAccess { child, purpose: Purpose::Flush { host } });
            context.submit(self.children[child], Request { id, arrival: context.now(), ..request });
        }
    }

    fn begin(&mut self, request: Request, payload: &Payload, context: &mut Context<'_>) {
        if request.is_flush() {
            return self.flush(request, context);
        }
        let mut split = SplitRequest::new(request);
        let layout = self.layout;
        let spans: Vec<_> = layout.spans(request.lbn, u64::from(request.blocks)).collect();
        let parts = match request.op {
            Op::Read => spans.iter().map(|&span| layout.pieces(span).count()).sum(),
            Op::Write | Op::Flush | Op::Reset => spans.len(),
        };
        split.add_parts(to_u32(parts));
        let host = self.requests.insert(HostRequest { split, path: ArrayCounters::first_path(request.op) });
        for span in spans {
            match request.op {
                Op::Read => {
                    layout.pieces(span).for_each(|piece| self.read_piece(host, span.row, piece, &request, context))
                }
                Op::Write | Op::Flush | Op::Reset => {
                    let data = payload.slice(span.first, span.end - span.begin, self.block_bytes);
                    let (offsets, base) = (layout.hull(span), span.row * layout.unit_blocks());
                    let range = BlockRange::new(base + offsets.from, base + offsets.to);
                    let operation = Operation::new(Task::Write { span, data }, span.row, range, request.flags);
                    self.start(operation.of(host, &request));
                }
            }
        }
    }

    /// Reads a piece of a request from its column, or recovers it from other columns.
    fn read_piece(&mut self, host: u64, row: u64, piece: Piece, request: &Request, context: &mut Context<'_>) {
        let base = row * self.layout.unit_blocks();
        let range = BlockRange::new(base + piece.from, base + piece.to);
        let column = match self.layout.level() {
            Level::Mirror => self.copies.choose(&self.members, request, range, &self.children, context),
            _ => Some(piece.column).filter(|&column| self.members.is_readable(row, column, range)),
        };
        let Some(column) = column else {
            self.recover(host, row, piece, None, request);
            return;
        };
        let Request { flags, origin, .. } = *request;
        let child = self.members.child(row, column);
        let access = MemberAccess { child, op: Op::Read, range, flags, origin, payload: Payload::NONE };
        self.counters.member_reads += 1;
        self.send(access, Purpose::Request { host, row, piece: Piece { column, ..piece } }, context);
    }

    /// Computes a piece of a request from other columns than its own. `unreadable` is a column with unreadable blocks there.
    fn recover(&mut self, host: u64, row: u64, piece: Piece, unreadable: Option<usize>, request: &Request) {
        let base = row * self.layout.unit_blocks();
        let task = Task::Recover { column: piece.column, first: piece.first };
        let range = BlockRange::new(base + piece.from, base + piece.to);
        let mut operation = Operation::new(task, row, range, request.flags);
        operation.unreadable.extend(unreadable);
        self.note_path(host, ArrayCounters::DEGRADED_READ);
        self.start(operation.of(host, request));
    }

    /// Sends an access to a child.
    pub(super) fn send(&mut self, access: MemberAccess, purpose: Purpose, context: &mut Context<'_>) {
        let MemberAccess { child, op, range, flags, origin, payload } = access;
        let id = self.accesses.insert(OutstandingAccess { child, purpose });
        let (arrival, blocks, padding) = (context.now(), to_u32(range.blocks()), Padding::NONE);
        let request = Request { id, arrival, lbn: range.from, blocks, op, flags, origin, padding };
        self.copies.sent(child, &request, context);
        context.submit_with(self.children[child], request, payload);
    }

    /// Sets the path of a request, unless its path is later in the order of paths.
    pub(super) fn note_path(&mut self, host: u64, path: usize) {
        let host = &mut self.requests[host];
        host.path = host.path.max(path);
    }

    /// Completes a part of a request, and the request with its last part. `last` is the last access of the part.
    pub(super) fn complete_part(
        &mut self,
        host: u64,
        status: Status,
        last: Option<Completion>,
        context: &mut Context<'_>,
    ) {
        let now = context.now();
        let split = &mut self.requests[host].split;
        split.set_failed(status);
        let last = last.unwrap_or_else(|| Completion::at_once(&split.request, now));
        if split.complete_part(&Completion { status: Status::Served, ..last }) {
            let host = self.requests.take(host);
            let (completion, payload) = host.split.finish(now);
            if !completion.request.is_flush() {
                self.counters.completed(&completion, host.path, now);
            }
            context.complete_with(&completion, payload);
        }
    }

    /// Takes a failed child out of service.
    fn fail(&mut self, child: usize, context: &Context<'_>) {
        for Failed { member, has_spare } in self.members.fail(child) {
            self.counters.failed_members += 1;
            if has_spare {
                self.rebuild.add_member(member, context.now());
            } else {
                self.rebuild.remove_member(member, context.now());
            }
        }
    }

    /// Continues operations that are ready, the rebuild, and requests that waited for the replay.
    fn proceed_all(&mut self, context: &mut Context<'_>) {
        loop {
            while let Some(operation) = self.ready.pop_front() {
                self.proceed(operation, context);
            }
            if self.replays == 0 {
                self.continue_rebuild(REBUILD, context);
                for (request, payload) in std::mem::take(&mut self.held) {
                    self.begin(request, &payload, context);
                }
            }
            if self.ready.is_empty() {
                return;
            }
        }
    }
}

impl Component for RedundantArray {
    fn capacity_blocks(&self) -> u64 {
        self.layout.capacity_blocks()
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let payload = context.payload(&request);
        if self.is_recovering() {
            self.held.push((request, payload));
        } else {
            self.begin(request, &payload, context);
            self.proceed_all(context);
        }
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let payload = context.read_payload(child, completion);
        let access = self.accesses.take(completion.request.id);
        if !completion.request.is_flush() {
            self.copies.returned(access.child, &completion.request, context);
        }
        // A child that refuses a request that fits is treated like one that fails.
        if matches!(completion.status, Status::Failed | Status::Refused) {
            self.fail(access.child, context);
        }
        match access.purpose {
            Purpose::Operation { operation, index } => {
                self.access_completed(operation, index, completion, payload, context);
            }
            Purpose::Flush { host } => {
                // The data of a member that has failed meanwhile can be computed from others, or is lost.
                let status = if self.members.hold_all_data() { Status::Served } else { Status::Failed };
                self.complete_part(host, status, Some(*completion), context);
            }
            Purpose::Request { host, piece, .. } if completion.is_served() => {
                self.requests[host].split.store_read(piece.first, &payload, self.block_bytes);
                self.complete_part(host, Status::Served, Some(*completion), context);
            }
            Purpose::Request { host, row, piece } => {
                let split = &mut self.requests[host].split;
                let request = split.request;
                // The recovery takes the place of this part.
                split.add_parts(1);
                self.complete_part(host, Status::Served, Some(*completion), context);
                let unreadable = (completion.status == Status::Unreadable).then_some(piece.column);
                self.recover(host, row, piece, unreadable, &request);
            }
        }
        self.proceed_all(context);
    }

    fn timer(&mut self, tag: u64, context: &mut Context<'_>) {
        if tag != REBUILD {
            self.write(tag, context);
        }
        self.proceed_all(context);
    }

    fn part_blocks(&self) -> Option<u64> {
        Some(self.layout.part_blocks())
    }
}

impl PowerLoss for RedundantArray {
    fn may_lose_writes(&self, children: bool) -> bool {
        // The journal drops its entries, so its writes are durable.
        self.journal.is_none() && children
    }

    fn power_cut(&mut self, _now: Time) {
        self.requests.clear();
        self.accesses.clear();
        self.operations.clear();
        self.locks.clear();
        self.ready.clear();
        self.held.clear();
        self.copies.forget();
        self.replays = 0;
        self.members.power_cut();
        self.rebuild.power_cut();
        self.journal.iter_mut().for_each(Journal::power_cut);
    }

    fn restart(&mut self, context: &mut Context<'_>) {
        self.replay();
        self.proceed_all(context);
    }

    fn is_recovering(&self) -> bool {
        self.replays > 0
    }

    fn pause_background_work(&mut self) {
        self.rebuild.pause();
    }
}

impl Instrumentation for RedundantArray {
    fn check_invariants(&self, at_rest: bool) -> Result<(), String> {
        let (requests, accesses, operations) = (self.requests.len(), self.accesses.len(), self.operations.len());
        let waiting = self.ready.len() + self.held.len();
        let is_locked = !self.locks.is_empty() || !self.copies.at_rest();
        if at_rest && (requests + accesses + operations + waiting > 0 || is_locked) {
            return Err(format!(
                "at rest with {requests} requests, {accesses} accesses, {operations} operations, {waiting} waiting, locks: \
                 {is_locked}"
            ));
        }
        if !self.journal.as_ref().is_none_or(Journal::is_consistent) {
            return Err("the journal's entries do not add up to its used space".to_owned());
        }
        Ok(())
    }

    fn details(&self, _now: Time) -> Option<Details> {
        let share = if self.members.are_intact() { 1.0 } else { self.rebuild.share() };
        Some(self.counters.details(self.layout.level(), self.members.have_failed().then_some(share)))
    }

    fn start_measuring(&mut self, _now: Time) {
        self.counters = ArrayCounters::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hierarchy::array::{JournalSpec, Level};

    #[test]
    fn every_broken_invariant_is_reported() {
        type Act = fn(&mut RedundantArray);
        let acts: [(&str, Act); 3] = [
            ("at rest with 0 requests, 0 accesses, 0 operations, 1 waiting", |array| array.ready.push_back(3)),
            ("locks: true", |array| array.copies.overload(1)),
            ("the journal's entries do not add up", |array| array.journal.iter_mut().for_each(Journal::miscount)),
        ];
        for (expected, act) in acts {
            let spec = ArraySpec { journal: Some(JournalSpec::default()), ..ArraySpec::default() };
            let children = (0..2).map(ComponentId).collect();
            let mut array = RedundantArray::new(Level::Mirror, children, &[(10_000, 512); 2], &spec).expect("they fit");
            assert_eq!(array.check_invariants(true), Ok(()));
            act(&mut array);
            let message = array.check_invariants(true).expect_err(expected);
            assert!(message.contains(expected), "{expected}: {message}");
        }
    }
}
