//! An array that outlives failures of its members.

use std::collections::VecDeque;

use super::copies::Copies;
use super::journal::Journal;
use super::layout::{Layout, Level, Piece};
use super::members::Members;
use super::rebuild::Rebuild;
use super::row::{Operation, Task};
use super::spec::{ArraySpec, Sparing, WriteMethod};
use super::tally::Tally;
use crate::convert::to_u32;
use crate::engine::details::Details;
use crate::engine::{Completion, Component, ComponentId, Context, Instrumentation, Payload, PowerLoss, Status};
use crate::fault::Fault;
use crate::hierarchy::common::{Outstanding, RangeLocks, SplitRequest};
use crate::own::OwnMirror;
use crate::request::{Flags, Op, Padding, Request};
use crate::time::Time;

/// Timer tag: a step of the rebuild may begin. Other tags are operations that have been entered in the journal.
const REBUILD: u64 = u64::MAX;

/// A mirror, or an array with parity.
///
/// A write to a row reads what it needs first and writes only then, under a lock on the LBNs it touches; reads of members that
/// are whole need no lock. A member that fails is taken out of service when an access to it comes back so.
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
    pub(super) hosts: Outstanding<Host>,
    parts: Outstanding<Part>,
    pub(super) operations: Outstanding<Operation>,
    pub(super) locks: RangeLocks,
    /// Operations that may go on.
    pub(super) ready: VecDeque<u64>,
    /// Writes of the journal to be made again before anything else.
    pub(super) replays: u32,
    /// Requests that wait for that.
    held: Vec<(Request, Payload)>,
    pub(super) tally: Tally,
}

/// A request under way.
#[derive(Clone)]
pub(super) struct Host {
    pub(super) split: SplitRequest,
    /// The way it takes: of its parts the one that is last in the order of ways.
    pub(super) path: usize,
}

/// An access to a child.
#[derive(Clone)]
struct Part {
    child: usize,
    of: Of,
}

/// What an access is part of.
#[derive(Clone)]
pub(super) enum Of {
    /// A read of a request, on its own.
    Request { host: u64, row: u64, piece: Piece },
    /// A read or write of an operation, by its place in the list.
    Operation { operation: u64, place: usize },
    /// A flush.
    Flush { host: u64 },
}

/// An access to be made.
#[derive(Clone)]
pub(super) struct Access {
    pub(super) child: usize,
    pub(super) op: Op,
    pub(super) lbn: u64,
    pub(super) blocks: u64,
    pub(super) flags: Flags,
    pub(super) origin: u32,
    pub(super) payload: Payload,
}

impl RedundantArray {
    /// An array over `children` of so many blocks, of one size; the smallest decides how much of each is used.
    ///
    /// # Errors
    /// Children that don't fit each other or `spec`: names both sides.
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
        let distributed = spec.sparing == Sparing::Distributed;
        let columns = children.len() - spares;
        let layout = Layout::new(level, columns, if distributed { spares } else { 0 }, row_blocks, rows);
        let layout = super::check::journaled(layout, block_bytes, spec)?;
        let steps = spec.rebuild.outstanding;
        // Spare units of a member that has failed lie on all others: row by row.
        let (step_rows, most_steps) =
            if distributed { (1, steps * spec.rebuild.rows) } else { (u64::from(spec.rebuild.rows), steps) };
        let step_blocks = step_rows * unit_blocks;
        Ok(Self {
            layout,
            block_bytes,
            copies: Copies::new(spec.read, children.len()),
            write: spec.write,
            members: Members::new(layout, spares, distributed),
            rebuild: Rebuild::new(&spec.rebuild, step_blocks, most_steps, layout.member_blocks(), block_bytes),
            journal: spec.journal.map(Journal::new),
            hosts: Outstanding::default(),
            parts: Outstanding::default(),
            operations: Outstanding::default(),
            locks: RangeLocks::default(),
            ready: VecDeque::new(),
            replays: 0,
            held: Vec::new(),
            tally: Tally::default(),
            children,
        })
    }

    /// The same mirror, of which a policy of one's own says which copy serves a read.
    #[must_use]
    pub fn choosing(mut self, policy: Box<dyn OwnMirror>) -> Self {
        self.copies.obey(policy);
        self
    }

    /// Sends a flush to all who hold something.
    fn flush(&mut self, request: Request, context: &mut Context<'_>) {
        let children = self.members.in_service();
        if children.is_empty() {
            context.complete(&Completion { status: Status::Failed, ..Completion::at_once(&request, context.now()) });
            return;
        }
        let mut split = SplitRequest::new(request);
        split.add_parts(to_u32(children.len()));
        let host = self.hosts.insert(Host { split, path: Tally::first_path(request.op) });
        for child in children {
            let id = self.parts.insert(Part { child, of: Of::Flush { host } });
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
            Op::Write | Op::Flush => spans.len(),
        };
        split.add_parts(to_u32(parts));
        let host = self.hosts.insert(Host { split, path: Tally::first_path(request.op) });
        for span in spans {
            match request.op {
                Op::Read => {
                    layout.pieces(span).for_each(|piece| self.read_piece(host, span.row, piece, &request, context))
                }
                Op::Write | Op::Flush => {
                    let data = payload.slice(span.first, span.end - span.begin, self.block_bytes);
                    let (from, to) = layout.hull(span);
                    let base = span.row * layout.unit_blocks();
                    let task = Task::Write { span, data };
                    let operation = Operation::new(task, span.row, (base + from, base + to), request.flags);
                    self.start(operation.of(host, &request));
                }
            }
        }
    }

    /// Reads blocks of a request where they are, or else from others.
    fn read_piece(&mut self, host: u64, row: u64, piece: Piece, request: &Request, context: &mut Context<'_>) {
        let base = row * self.layout.unit_blocks();
        let range = (base + piece.from, base + piece.to);
        let column = match self.layout.level() {
            Level::Mirror => self.copies.choose(&self.members, request, range, &self.children, context),
            _ => Some(piece.column).filter(|&column| self.members.readable(row, column, range)),
        };
        let Some(column) = column else {
            self.recover(host, row, piece, None, request);
            return;
        };
        let access = Access {
            child: self.members.child(row, column),
            op: Op::Read,
            lbn: range.0,
            blocks: range.1 - range.0,
            flags: request.flags,
            origin: request.origin,
            payload: Payload::NONE,
        };
        self.tally.member_reads += 1;
        self.send(access, Of::Request { host, row, piece: Piece { column, ..piece } }, context);
    }

    /// Reads blocks of a request from columns other than the one that can't be read.
    fn recover(&mut self, host: u64, row: u64, piece: Piece, unreadable: Option<usize>, request: &Request) {
        let base = row * self.layout.unit_blocks();
        let task = Task::Recover { column: piece.column, first: piece.first };
        let mut operation = Operation::new(task, row, (base + piece.from, base + piece.to), request.flags);
        operation.unreadable.extend(unreadable);
        self.note_path(host, Tally::DEGRADED_READ);
        self.start(operation.of(host, request));
    }

    /// Sends an access to a child.
    pub(super) fn send(&mut self, access: Access, of: Of, context: &mut Context<'_>) {
        let Access { child, op, lbn, blocks, flags, origin, payload } = access;
        let id = self.parts.insert(Part { child, of });
        let (arrival, blocks, padding) = (context.now(), to_u32(blocks), Padding::NONE);
        let request = Request { id, arrival, lbn, blocks, op, flags, origin, padding };
        self.copies.sent(child, &request, context);
        context.submit_with(self.children[child], request, payload);
    }

    /// A request takes a way, if it is not on one that comes later in their order.
    pub(super) fn note_path(&mut self, host: u64, path: usize) {
        let host = &mut self.hosts[host];
        host.path = host.path.max(path);
    }

    /// A part of a request is done; the last one completes it.
    pub(super) fn part(&mut self, host: u64, status: Status, last: Option<Completion>, context: &mut Context<'_>) {
        let now = context.now();
        let held = &mut self.hosts[host];
        held.split.set_failed(status);
        let last = last.unwrap_or_else(|| Completion::at_once(&held.split.request, now));
        if held.split.complete_part(&Completion { status: Status::Served, ..last }) {
            let host = self.hosts.take(host);
            let (completion, payload) = host.split.finish(now);
            if !completion.request.is_flush() {
                self.tally.completed(&completion, host.path, now);
            }
            context.complete_with(&completion, payload);
        }
    }

    /// A child has failed.
    pub(super) fn fail(&mut self, child: usize, context: &Context<'_>) {
        for (member, replaced) in self.members.fail(child) {
            self.tally.failed_members += 1;
            if replaced {
                self.rebuild.want(member, context.now());
            } else {
                self.rebuild.give_up(member, context.now());
            }
        }
    }

    /// What can go on does.
    fn go_on(&mut self, context: &mut Context<'_>) {
        loop {
            while let Some(operation) = self.ready.pop_front() {
                self.proceed(operation, context);
            }
            if self.replays == 0 {
                self.rebuild_on(REBUILD, context);
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
            self.go_on(context);
        }
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.read_payload(child, completion);
        let part = self.parts.take(completion.request.id);
        if !completion.request.is_flush() {
            self.copies.returned(part.child, &completion.request, context);
        }
        // One that refuses what fits it is of no more use than one that fails.
        if matches!(completion.status, Status::Failed | Status::Refused) {
            self.fail(part.child, context);
        }
        match part.of {
            Of::Operation { operation, place } => self.access_over(operation, place, completion, answer, context),
            Of::Flush { host } => {
                // Of a member that has failed meanwhile others have what it takes to compute it, or it is lost.
                let status = if self.members.hold_all() { Status::Served } else { Status::Failed };
                self.part(host, status, Some(*completion), context);
            }
            Of::Request { host, piece, .. } if completion.is_served() => {
                self.hosts[host].split.store_read(piece.first, &answer, self.block_bytes);
                self.part(host, Status::Served, Some(*completion), context);
            }
            Of::Request { host, row, piece } => {
                let held = &mut self.hosts[host];
                // The operation takes the place of this part.
                let whole = held.split.request;
                held.split.add_parts(1);
                self.part(host, Status::Served, Some(*completion), context);
                let unreadable = (completion.status == Status::Unreadable).then_some(piece.column);
                self.recover(host, row, piece, unreadable, &whole);
            }
        }
        self.go_on(context);
    }

    fn timer(&mut self, tag: u64, context: &mut Context<'_>) {
        if tag != REBUILD {
            self.write(tag, context);
        }
        self.go_on(context);
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
        self.hosts.clear();
        self.parts.clear();
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
        self.go_on(context);
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
        let (requests, accesses, operations) = (self.hosts.len(), self.parts.len(), self.operations.len());
        let waiting = self.ready.len() + self.held.len();
        let is_locked = !self.locks.is_empty() || !self.copies.at_rest();
        if at_rest && (requests + accesses + operations + waiting > 0 || is_locked) {
            return Err(format!(
                "at rest with {requests} requests, {accesses} accesses, {operations} operations, {waiting} waiting, locks: \
                 {is_locked}"
            ));
        }
        if !self.journal.as_ref().is_none_or(Journal::is_sound) {
            return Err("the journal's entries are not as large as the room they take".to_owned());
        }
        Ok(())
    }

    fn details(&self, _now: Time) -> Option<Details> {
        let share = if self.members.whole() { 1.0 } else { self.rebuild.share() };
        Some(self.tally.details(self.layout.level(), self.members.have_failed().then_some(share)))
    }

    fn start_measuring(&mut self, _now: Time) {
        self.tally = Tally::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hierarchy::array::{JournalSpec, Level};

    /// Each part that goes wrong, and a word of what is said of it.
    #[test]
    fn whatever_is_not_in_order_is_told() {
        type Act = fn(&mut RedundantArray);
        let acts: [(&str, Act); 3] = [
            ("at rest with 0 requests, 0 accesses, 0 operations, 1 waiting", |array| array.ready.push_back(3)),
            ("locks: true", |array| array.copies.overload(1)),
            ("the journal's entries are not as large", |array| array.journal.iter_mut().for_each(Journal::miscount)),
        ];
        for (word, act) in acts {
            let spec = ArraySpec { journal: Some(JournalSpec::default()), ..ArraySpec::default() };
            let children = (0..2).map(ComponentId).collect();
            let mut array = RedundantArray::new(Level::Mirror, children, &[(10_000, 512); 2], &spec).expect("they fit");
            assert_eq!(array.check_invariants(true), Ok(()));
            act(&mut array);
            let told = array.check_invariants(true).expect_err(word);
            assert!(told.contains(word), "{word}: {told}");
        }
    }
}
