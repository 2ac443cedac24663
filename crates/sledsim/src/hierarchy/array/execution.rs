//! Execution of operations on rows: lock, reads, journal, writes.

use super::counters::ArrayCounters;
use super::journal::Journal;
use super::layout::{Layout, Level, Span};
use super::members::Members;
use super::operation::{ColumnRead, ColumnWrite, Operation, Parity, Stage, Task};
use super::plan::{plan, Availability, ColumnRange, Method};
use super::rebuild::Step;
use super::redundant::{MemberAccess, Purpose, RedundantArray};
use crate::convert::{to_u32, to_usize};
use crate::engine::{Completion, Context, Payload, Status};
use crate::hierarchy::common::BlockRange;
use crate::request::{Flags, Op};
use crate::time::s_to_ns;

impl RedundantArray {
    /// Starts an operation, which proceeds once it has its lock.
    pub(super) fn start(&mut self, operation: Operation) {
        let (range, is_exclusive) = (operation.range, operation.is_exclusive());
        let id = self.operations.insert(operation);
        if self.locks.lock(id, range, is_exclusive) {
            self.ready.push_back(id);
        } else {
            self.counters.row_waits += 1;
        }
    }

    /// Continues an operation that waited for its lock, for a new plan or for space in the journal.
    pub(super) fn proceed(&mut self, id: u64, context: &mut Context<'_>) {
        match self.operations[id].stage {
            Stage::Claimed => self.read(id, context),
            Stage::Journaling => self.add_to_journal(id, context),
            // These continue in `access_completed`.
            stage @ (Stage::Reading | Stage::Writing) => debug_assert!(false, "an operation proceeds while {stage:?}"),
        }
    }

    /// Plans and sends the reads of an operation.
    fn read(&mut self, id: u64, context: &mut Context<'_>) {
        let operation = &mut self.operations[id];
        let (row, range) = (operation.row, operation.range);
        let available = availability(&self.layout, &self.members, operation);
        let base = row * self.layout.unit_blocks();
        let absolute = |offsets: ColumnRange| ColumnRange {
            column: offsets.column,
            range: BlockRange::new(base + offsets.range.from, base + offsets.range.to),
        };
        let reads: Option<Vec<ColumnRange>> = match operation.task {
            Task::Write { span, .. } => plan(&self.layout, span, &available, self.write).map(|plan| {
                operation.method = plan.method;
                let write = |offsets| {
                    let ColumnRange { column, range } = absolute(offsets);
                    ColumnWrite { column, range, payload: Payload::NONE }
                };
                operation.writes = plan.writes.into_iter().map(write).collect();
                plan.reads.into_iter().map(absolute).collect()
            }),
            Task::Recover { column, .. } => other_columns(&self.layout, &available, column, 0, range),
            Task::Rebuild { column, .. } => {
                let turn = to_usize(range.from / range.blocks());
                other_columns(&self.layout, &available, column, turn, range)
            }
            Task::Replay { .. } if operation.writes.is_empty() => {
                operation.method = Method::Reconstruct;
                let mut data = 0..self.layout.data();
                let is_whole = data.clone().all(|column| available.is_readable(column));
                is_whole.then(|| data.by_ref().map(|column| ColumnRange { column, range }).collect())
            }
            Task::Replay { .. } => Some(Vec::new()),
        };
        let Some(reads) = reads else {
            // If enough members are left, the data is unreadable, but the array has not failed.
            let left = (0..self.layout.columns()).filter(|&column| self.members.has_range(row, column, range)).count();
            let is_unreadable = matches!(operation.task, Task::Recover { .. }) && left >= self.layout.data();
            self.end(id, if is_unreadable { Status::Unreadable } else { Status::Failed }, context);
            return;
        };
        operation.stage = Stage::Reading;
        operation.needs_new_plan = false;
        operation.outstanding = to_u32(reads.len());
        let read = |&ColumnRange { column, range }: &ColumnRange| ColumnRead { column, range, payload: Payload::NONE };
        operation.reads = reads.iter().map(read).collect();
        let (flags, origin, host) = (operation.flags, operation.origin, operation.host);
        if matches!(operation.task, Task::Write { .. }) {
            let (method, is_whole) = (operation.method, available.writable.iter().all(|&writable| writable));
            host.into_iter().for_each(|host| self.note_path(host, ArrayCounters::write_path(method, is_whole)));
        }
        for (index, &ColumnRange { column, range }) in reads.iter().enumerate() {
            let child = self.members.child(row, column);
            self.counters.read(host.is_some(), column >= self.layout.data());
            let access = MemberAccess { child, op: Op::Read, range, flags, origin, payload: Payload::NONE };
            self.send(access, Purpose::Operation { operation: id, index }, context);
        }
        if reads.is_empty() {
            self.reads_completed(id, context);
        }
    }

    /// Handles the completion of an access of an operation.
    pub(super) fn access_completed(
        &mut self,
        id: u64,
        index: usize,
        completion: &Completion,
        payload: Payload,
        context: &mut Context<'_>,
    ) {
        let operation = &mut self.operations[id];
        operation.outstanding -= 1;
        let is_last = operation.outstanding == 0;
        let (host, stage, row) = (operation.host, operation.stage, operation.row);
        let before = operation.last.replace(*completion);
        if stage == Stage::Reading {
            let read = &mut operation.reads[index];
            read.payload = payload;
            operation.needs_new_plan |= !completion.is_served();
            if completion.status == Status::Unreadable {
                let column = read.column;
                operation.unreadable.push(column);
            }
        } else if completion.is_served() {
            let written = &operation.writes[index];
            self.members.mark_written(self.layout.member(row, written.column), written.range);
        }
        if let (Some(host), Some(before)) = (host, before) {
            self.requests[host].split.add_parts(1);
            self.complete_part(host, Status::Served, Some(before), context);
        }
        match stage {
            Stage::Reading if is_last => self.reads_completed(id, context),
            Stage::Writing if is_last => self.end(id, Status::Served, context),
            _ => {}
        }
    }

    /// Prepares the writes of an operation after its reads.
    fn reads_completed(&mut self, id: u64, context: &mut Context<'_>) {
        let operation = &mut self.operations[id];
        if operation.needs_new_plan {
            operation.stage = Stage::Claimed;
            self.ready.push_back(id);
            return;
        }
        let range = operation.range;
        match operation.task.clone() {
            Task::Write { span, data } => {
                let parities = operation.parities(&self.layout, self.block_bytes);
                fill(&mut operation.writes, span, &data, &parities, &self.layout, self.block_bytes);
            }
            Task::Recover { column, first } => {
                let Some(payload) = operation.recovered(&self.layout, column) else {
                    self.end(id, Status::Failed, context);
                    return;
                };
                let (host, last) = (operation.host.take(), operation.last.take());
                if operation.unreadable.contains(&column) {
                    self.counters.repaired += 1;
                    operation.writes.push(ColumnWrite { column, range, payload: payload.clone() });
                }
                if let Some(host) = host {
                    self.requests[host].split.store_read(first, &payload, self.block_bytes);
                    self.counters.reconstructed += 1;
                    self.complete_part(host, Status::Served, last, context);
                }
            }
            Task::Rebuild { column, .. } => {
                let Some(payload) = operation.recovered(&self.layout, column) else {
                    self.end(id, Status::Failed, context);
                    return;
                };
                operation.writes = vec![ColumnWrite { column, range, payload }];
            }
            Task::Replay { .. } if operation.writes.is_empty() => {
                let parities = operation.parities(&self.layout, self.block_bytes);
                let write = |Parity { column, payload }| ColumnWrite { column, range, payload };
                operation.writes = parities.into_iter().map(write).collect();
            }
            Task::Replay { .. } => {}
        }
        self.add_to_journal(id, context);
    }

    /// Adds the writes of a request to the journal, if there is one, and then makes them.
    fn add_to_journal(&mut self, id: u64, context: &mut Context<'_>) {
        let operation = &mut self.operations[id];
        let Operation { row, range, .. } = *operation;
        match (&mut self.journal, &operation.task) {
            (Some(journal), Task::Write { .. }) => {
                let is_first_attempt = operation.stage != Stage::Journaling;
                operation.stage = Stage::Journaling;
                operation.entry = journal.add(id, row, range, &operation.writes, self.block_bytes);
                if operation.entry.is_none() {
                    self.counters.journal_stalls += u64::from(is_first_attempt);
                    return;
                }
                match s_to_ns(journal.spec.access_us * 1e-6) {
                    0 => self.write(id, context),
                    access_ns => context.timer(context.now() + access_ns, id),
                }
            }
            _ => self.write(id, context),
        }
    }

    /// Sends the writes of an operation.
    pub(super) fn write(&mut self, id: u64, context: &mut Context<'_>) {
        let operation = &mut self.operations[id];
        let (row, origin, host, from) = (operation.row, operation.origin, operation.host, operation.range.from);
        let is_rebuild = matches!(operation.task, Task::Rebuild { .. });
        // After the completion the journal entry, or the need for the rebuild, is forgotten.
        let is_durable = self.journal.is_some() || is_rebuild;
        let flags = if is_durable { operation.flags.with(Flags::DURABLE) } else { operation.flags };
        operation.stage = Stage::Writing;
        let members = &self.members;
        // Members may have failed since the plan was made.
        operation.writes.retain(|write| members.is_writable(row, write.column, from));
        operation.outstanding = to_u32(operation.writes.len());
        let writes = operation.writes.clone();
        let is_empty = writes.is_empty();
        for (index, ColumnWrite { column, range, payload }) in writes.into_iter().enumerate() {
            self.counters.write(host.is_some(), column >= self.layout.data());
            let child = self.members.child(row, column);
            let access = MemberAccess { child, op: Op::Write, range, flags, origin, payload };
            self.send(access, Purpose::Operation { operation: id, index }, context);
        }
        if is_empty {
            self.end(id, Status::Served, context);
        }
    }

    /// Ends an operation.
    fn end(&mut self, id: u64, status: Status, context: &mut Context<'_>) {
        let operation = self.operations.take(id);
        self.locks.release(id, operation.range, &mut self.ready);
        if let (Some(entry), Some(journal)) = (operation.entry, &mut self.journal) {
            journal.remove(entry, &mut self.ready);
        }
        let (row, range) = (operation.row, operation.range);
        match operation.task {
            Task::Rebuild { member, generation, .. } if generation == self.rebuild.generation => {
                if status != Status::Served {
                    self.members.mark_unreadable(member, range);
                    self.counters.lost_blocks += range.blocks();
                }
                self.counters.rebuilt_blocks += range.blocks();
                self.end_rebuild_step(range.from, context);
            }
            Task::Replay { entry } => {
                self.replays -= 1;
                self.journal.iter_mut().for_each(|journal| journal.remove(entry, &mut self.ready));
            }
            _ => {}
        }
        // Rebuilds, replays and repairs of recovered blocks have no waiting request.
        let Some(host) = operation.host else { return };
        let is_readable = |&column: &usize| self.members.is_readable(row, column, range);
        let is_kept = self.members.are_untouched()
            || (0..self.layout.columns()).filter(is_readable).count() >= self.layout.data();
        let is_recovery = matches!(operation.task, Task::Recover { .. });
        let status = if is_kept || is_recovery { status } else { Status::Failed };
        self.complete_part(host, status, operation.last, context);
    }

    /// Begins as many steps of the rebuild as allowed.
    pub(super) fn continue_rebuild(&mut self, tag: u64, context: &mut Context<'_>) {
        loop {
            match self.rebuild.step(context.now()) {
                Step::Begin { member, range } => {
                    self.members.set_writable_to(member, range.to);
                    let row = range.from / self.layout.unit_blocks();
                    let column = self.layout.column(row, member);
                    if column >= self.layout.columns() {
                        // A spare unit is empty.
                        self.end_rebuild_step(range.from, context);
                        continue;
                    }
                    let lost_to = self.members.lost_to(member, row, range);
                    if lost_to.is_some_and(|lost_to| self.skip_lost(member, range, lost_to)) {
                        self.end_rebuild_step(range.from, context);
                        continue;
                    }
                    let task = Task::Rebuild { member, column, generation: self.rebuild.generation };
                    self.start(Operation::new(task, row, range, Flags::BACKGROUND));
                }
                Step::Wait(at) => context.timer(at, tag),
                Step::Nothing => return,
            }
        }
    }

    /// Counts the blocks of a member below `lost_to`, which cannot be rebuilt, as lost in one step, from the step that
    /// has just begun up to the first lock. Returns false if a lock delays the step.
    fn skip_lost(&mut self, member: usize, step: BlockRange, lost_to: u64) -> bool {
        let limit = self.rebuild.max_reach(step.to).min(lost_to);
        let free_to = self.locks.free_to(BlockRange::new(step.from, limit));
        if free_to < step.to {
            return false;
        }
        let range = BlockRange::new(step.from, self.rebuild.extend_step(step.from, free_to).unwrap_or(step.to));
        let unit_blocks = self.layout.unit_blocks();
        let lost_blocks = match self.layout.level() {
            Level::Mirror => range.blocks(),
            _ => self.layout.rows_held(member, range.from / unit_blocks..range.to / unit_blocks) * unit_blocks,
        };
        self.members.set_writable_to(member, range.to);
        self.members.mark_unreadable(member, range);
        self.counters.lost_blocks += lost_blocks;
        self.counters.rebuilt_blocks += lost_blocks;
        true
    }

    /// Ends a step of the rebuild, and the rebuild of its member if it was the last step.
    fn end_rebuild_step(&mut self, from: u64, context: &Context<'_>) {
        if let Some(rebuilt) = self.rebuild.end_step(from) {
            self.members.set_readable_to(rebuilt.member, rebuilt.to);
        }
        if let Some(finished) = self.rebuild.finish(context.now()) {
            self.members.set_readable_to(finished.member, u64::MAX);
            self.members.set_writable_to(finished.member, u64::MAX);
            self.counters.rebuild_ns += finished.took_ns;
        }
    }

    /// Starts the replay of all journal entries.
    pub(super) fn replay(&mut self) {
        for (entry, content) in self.journal.as_ref().map(Journal::entries).unwrap_or_default() {
            let mut operation = Operation::new(Task::Replay { entry }, content.row, content.range, Flags::NONE);
            operation.writes = content.writes;
            self.replays += 1;
            self.start(operation);
        }
    }
}

/// The columns that an operation can read and write.
fn availability(layout: &Layout, members: &Members, operation: &Operation) -> Availability {
    if members.are_untouched() && operation.unreadable.is_empty() {
        return Availability::ALL;
    }
    let (row, range) = (operation.row, operation.range);
    let columns = 0..layout.columns();
    let is_readable = |column| members.is_readable(row, column, range) && !operation.unreadable.contains(&column);
    Availability {
        readable: columns.clone().map(is_readable).collect(),
        writable: columns.map(|column| members.is_writable(row, column, range.from)).collect(),
    }
}

/// Readable columns that determine `column`, as many as there are data columns, starting with column number `turn`. `None` if there
/// are too few.
fn other_columns(
    layout: &Layout,
    available: &Availability,
    column: usize,
    turn: usize,
    range: BlockRange,
) -> Option<Vec<ColumnRange>> {
    let count = layout.columns();
    let in_turn = (0..count).map(|i| (turn + i) % count);
    let others = in_turn.filter(|&other| other != column && available.is_readable(other));
    let reads: Vec<ColumnRange> = others.take(layout.data()).map(|column| ColumnRange { column, range }).collect();
    (reads.len() == layout.data()).then_some(reads)
}

/// Sets the payloads of writes: the data of a request's span, and the parities.
fn fill(
    writes: &mut [ColumnWrite],
    span: Span,
    data: &Payload,
    parities: &[Parity],
    layout: &Layout,
    block_bytes: u32,
) {
    for write in writes {
        let parity = parities.iter().find(|parity| parity.column == write.column);
        let piece = layout.pieces(span).find(|piece| piece.column == write.column);
        write.payload = match (parity, piece) {
            (Some(parity), _) => parity.payload.clone(),
            (None, Some(piece)) => data.slice(piece.first - span.first, piece.to - piece.from, block_bytes),
            (None, None) => Payload::NONE,
        };
    }
}
