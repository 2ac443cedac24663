//! The course of operations on rows: locks, reads, the journal, writes.

use super::journal::Journal;
use super::layout::{Level, Span};
use super::plan::{plan, Access as Planned, Availability, Method};
use super::rebuild::Step;
use super::redundant::{Access, Of, RedundantArray};
use super::row::{Operation, Readout, Stage, Task, Written};
use super::tally::Tally;
use crate::convert::{to_u32, to_usize};
use crate::engine::{Completion, Context, Payload, Status};
use crate::request::{Flags, Op};
use crate::time::s_to_ns;

impl RedundantArray {
    /// Takes up an operation, which goes on when it has its lock.
    pub(super) fn start(&mut self, operation: Operation) {
        let (range, exclusive) = (operation.range, operation.is_exclusive());
        let id = self.operations.insert(operation);
        if self.locks.claim(id, range, exclusive) {
            self.ready.push_back(id);
        } else {
            self.tally.row_waits += 1;
        }
    }

    /// Goes on with an operation that has what it waited for.
    pub(super) fn proceed(&mut self, id: u64, context: &mut Context<'_>) {
        match self.operations[id].stage {
            Stage::Claimed => self.read(id, context),
            Stage::Entering => self.enter(id, context),
            // Who made the accesses hears of them in `access_over`, which lets it go on.
            stage @ (Stage::Reading | Stage::Writing) => debug_assert!(false, "an operation goes on while {stage:?}"),
        }
    }

    /// Plans the reads of an operation and makes them.
    fn read(&mut self, id: u64, context: &mut Context<'_>) {
        let operation = &mut self.operations[id];
        let (row, range) = (operation.row, operation.range);
        let available = available(&self.layout, &self.members, operation);
        let base = row * self.layout.unit_blocks();
        let at = |access: Planned| (access.column, base + access.from, base + access.to);
        let reads: Option<Vec<(usize, u64, u64)>> = match operation.task {
            Task::Write { span, .. } => plan(&self.layout, span, &available, self.write).map(|plan| {
                operation.method = plan.method;
                let write = |access| {
                    let (column, from, to) = at(access);
                    Written { column, from, to, payload: Payload::NONE }
                };
                operation.writes = plan.writes.into_iter().map(write).collect();
                plan.reads.into_iter().map(at).collect()
            }),
            Task::Recover { column, .. } => others(&self.layout, &available, column, 0, range),
            Task::Rebuild { column, .. } => {
                let turn = to_usize(range.0 / (range.1 - range.0));
                others(&self.layout, &available, column, turn, range)
            }
            Task::Replay { .. } if operation.writes.is_empty() => {
                operation.method = Method::Reconstruct;
                let data = 0..self.layout.data();
                let whole = data.clone().all(|column| available.readable[column]);
                whole.then(|| data.map(|column| (column, range.0, range.1)).collect())
            }
            Task::Replay { .. } => Some(Vec::new()),
        };
        let Some(reads) = reads else {
            // Whoever asks may have it from elsewhere, if it is not the array that has failed.
            let there = (0..self.layout.columns()).filter(|&column| self.members.is_there(row, column, range)).count();
            let bears_it = matches!(operation.task, Task::Recover { .. }) && there >= self.layout.data();
            self.end(id, if bears_it { Status::Unreadable } else { Status::Failed }, context);
            return;
        };
        operation.stage = Stage::Reading;
        operation.again = false;
        operation.left = to_u32(reads.len());
        let readout = |&(column, from, to): &(usize, u64, u64)| Readout { column, from, to, payload: Payload::NONE };
        operation.reads = reads.iter().map(readout).collect();
        let (flags, origin, host) = (operation.flags, operation.origin, operation.host);
        if matches!(operation.task, Task::Write { .. }) {
            let (method, whole) = (operation.method, available.writable.iter().all(|&writable| writable));
            host.into_iter().for_each(|host| self.note_path(host, Tally::write_path(method, whole)));
        }
        for (place, &(column, lbn, to)) in reads.iter().enumerate() {
            let child = self.members.child(row, column);
            let (op, blocks, payload) = (Op::Read, to - lbn, Payload::NONE);
            self.tally.read(host.is_some(), column >= self.layout.data());
            let access = Access { child, op, lbn, blocks, flags, origin, payload };
            self.send(access, Of::Operation { operation: id, place }, context);
        }
        if reads.is_empty() {
            self.have_read(id, context);
        }
    }

    /// An access of an operation has come back.
    pub(super) fn access_over(
        &mut self,
        id: u64,
        place: usize,
        completion: &Completion,
        answer: Payload,
        context: &mut Context<'_>,
    ) {
        let operation = &mut self.operations[id];
        operation.left -= 1;
        let over = operation.left == 0;
        let (host, stage, row) = (operation.host, operation.stage, operation.row);
        let before = operation.last.replace(*completion);
        if stage == Stage::Reading {
            let read = &mut operation.reads[place];
            read.payload = answer;
            operation.again |= !completion.is_served();
            if completion.status == Status::Unreadable {
                let column = read.column;
                operation.unreadable.push(column);
            }
        } else if completion.is_served() {
            let written = &operation.writes[place];
            self.members.written(self.layout.member(row, written.column), (written.from, written.to));
        }
        if let (Some(host), Some(before)) = (host, before) {
            self.hosts[host].split.add_parts(1);
            self.part(host, Status::Served, Some(before), context);
        }
        match stage {
            Stage::Reading if over => self.have_read(id, context),
            Stage::Writing if over => self.end(id, Status::Served, context),
            _ => {}
        }
    }

    /// All reads of an operation have come back.
    fn have_read(&mut self, id: u64, context: &mut Context<'_>) {
        let operation = &mut self.operations[id];
        if operation.again {
            operation.stage = Stage::Claimed;
            self.ready.push_back(id);
            return;
        }
        let (from, to) = operation.range;
        match operation.task.clone() {
            Task::Write { span, data } => {
                let parities = operation.parities(&self.layout, self.block_bytes);
                fill(&mut operation.writes, (span, &data), &parities, &self.layout, self.block_bytes);
            }
            Task::Recover { column, first } => {
                let Some(payload) = operation.recovered(&self.layout, column) else {
                    self.end(id, Status::Failed, context);
                    return;
                };
                let (host, last) = (operation.host.take(), operation.last.take());
                if operation.unreadable.contains(&column) {
                    self.tally.repaired += 1;
                    operation.writes.push(Written { column, from, to, payload: payload.clone() });
                }
                if let Some(host) = host {
                    self.hosts[host].split.store_read(first, &payload, self.block_bytes);
                    self.tally.reconstructed += 1;
                    self.part(host, Status::Served, last, context);
                }
            }
            Task::Rebuild { column, .. } => {
                let Some(payload) = operation.recovered(&self.layout, column) else {
                    self.end(id, Status::Failed, context);
                    return;
                };
                operation.writes = vec![Written { column, from, to, payload }];
            }
            Task::Replay { .. } if operation.writes.is_empty() => {
                let parities = operation.parities(&self.layout, self.block_bytes);
                let written = |(column, payload)| Written { column, from, to, payload };
                operation.writes = parities.into_iter().map(written).collect();
            }
            Task::Replay { .. } => {}
        }
        self.enter(id, context);
    }

    /// Enters what an operation is about to write in the journal, if there is one and it is a request's.
    fn enter(&mut self, id: u64, context: &mut Context<'_>) {
        let operation = &mut self.operations[id];
        let Operation { row, range, .. } = *operation;
        match (&mut self.journal, &operation.task) {
            (Some(journal), Task::Write { .. }) => {
                let first = operation.stage != Stage::Entering;
                operation.stage = Stage::Entering;
                operation.entry = journal.enter(id, row, range, &operation.writes, self.block_bytes);
                if operation.entry.is_none() {
                    self.tally.journal_stalls += u64::from(first);
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

    /// Makes the writes of an operation.
    pub(super) fn write(&mut self, id: u64, context: &mut Context<'_>) {
        let operation = &mut self.operations[id];
        let (row, origin, host, from) = (operation.row, operation.origin, operation.host, operation.range.0);
        let rebuilds = matches!(operation.task, Task::Rebuild { .. });
        // Once it is complete something is forgotten that would bring it back.
        let durable = self.journal.is_some() || rebuilds;
        let flags = if durable { operation.flags.with(Flags::DURABLE) } else { operation.flags };
        operation.stage = Stage::Writing;
        let members = &self.members;
        // Members may have failed since the plan was made.
        operation.writes.retain(|write| members.writable(row, write.column, from));
        operation.left = to_u32(operation.writes.len());
        let writes = operation.writes.clone();
        for (place, write) in writes.iter().enumerate() {
            let Written { column, from, to, ref payload } = *write;
            self.tally.write(host.is_some(), column >= self.layout.data());
            let (child, payload) = (self.members.child(row, column), payload.clone());
            let access = Access { child, op: Op::Write, lbn: from, blocks: to - from, flags, origin, payload };
            self.send(access, Of::Operation { operation: id, place }, context);
        }
        if writes.is_empty() {
            self.end(id, Status::Served, context);
        }
    }

    /// An operation is over.
    fn end(&mut self, id: u64, status: Status, context: &mut Context<'_>) {
        let operation = self.operations.take(id);
        self.locks.release(id, operation.range, &mut self.ready);
        if let (Some(entry), Some(journal)) = (operation.entry, &mut self.journal) {
            journal.leave(entry, &mut self.ready);
        }
        let (row, range) = (operation.row, operation.range);
        match operation.task {
            Task::Rebuild { member, generation, .. } if generation == self.rebuild.generation => {
                if status != Status::Served {
                    self.members.lose(member, range);
                    self.tally.lost_blocks += range.1 - range.0;
                }
                self.tally.rebuilt_blocks += range.1 - range.0;
                self.step_over(range.0, context);
            }
            Task::Replay { entry } => {
                self.replays -= 1;
                self.journal.iter_mut().for_each(|journal| journal.leave(entry, &mut self.ready));
            }
            _ => {}
        }
        // Nobody waits for a rebuild, a replay, or what repairs a block after it has answered.
        let Some(host) = operation.host else { return };
        let readable = |&column: &usize| self.members.readable(row, column, range);
        let kept = (0..self.layout.columns()).filter(readable).count() >= self.layout.data();
        let status = if kept || matches!(operation.task, Task::Recover { .. }) { status } else { Status::Failed };
        self.part(host, status, operation.last, context);
    }

    /// Begins as many steps of a rebuild as may be under way.
    pub(super) fn rebuild_on(&mut self, tag: u64, context: &mut Context<'_>) {
        loop {
            match self.rebuild.step(context.now()) {
                Step::Begin(member, (from, to)) => {
                    self.members.rebuilding(member, to);
                    let row = from / self.layout.unit_blocks();
                    let column = self.layout.column(row, member);
                    if column >= self.layout.columns() {
                        // A spare unit holds nothing.
                        self.step_over(from, context);
                        continue;
                    }
                    let lost_to = self.members.lost_to(member, row, (from, to));
                    if lost_to.is_some_and(|lost_to| self.lose_rest(member, (from, to), lost_to)) {
                        self.step_over(from, context);
                        continue;
                    }
                    let task = Task::Rebuild { member, column, generation: self.rebuild.generation };
                    self.start(Operation::new(task, row, (from, to), Flags::BACKGROUND));
                }
                Step::Wait(at) => context.timer(at, tag),
                Step::Nothing => return,
            }
        }
    }

    /// Counts as lost, without a step for each row, what of a member can't be rebuilt from the step on that begins, below
    /// `lost_to`, as far as nobody works on it; `false` if the step has to wait.
    fn lose_rest(&mut self, member: usize, (from, to): (u64, u64), lost_to: u64) -> bool {
        let free_to = self.locks.free_to((from, self.rebuild.reach(to).min(lost_to)));
        if free_to < to {
            return false;
        }
        let to = self.rebuild.stretch(from, free_to).unwrap_or(to);
        let unit_blocks = self.layout.unit_blocks();
        let lost_blocks = match self.layout.level() {
            Level::Mirror => to - from,
            _ => self.layout.rows_held(member, from / unit_blocks..to / unit_blocks) * unit_blocks,
        };
        self.members.rebuilding(member, to);
        self.members.lose(member, (from, to));
        self.tally.lost_blocks += lost_blocks;
        self.tally.rebuilt_blocks += lost_blocks;
        true
    }

    /// A step of a rebuild is over, perhaps the last one.
    fn step_over(&mut self, from: u64, context: &Context<'_>) {
        if let Some((member, border)) = self.rebuild.over(from) {
            self.members.rebuilt(member, border);
        }
        if let Some((member, rebuild_ns)) = self.rebuild.finished(context.now()) {
            self.members.rebuilt(member, u64::MAX);
            self.members.rebuilding(member, u64::MAX);
            self.tally.rebuild_ns += rebuild_ns;
        }
    }

    /// Makes the writes in the journal again.
    pub(super) fn replay(&mut self) {
        for (entry, what) in self.journal.as_ref().map(Journal::entries).unwrap_or_default() {
            let mut operation = Operation::new(Task::Replay { entry }, what.row, what.range, Flags::NONE);
            operation.writes = what.writes;
            self.replays += 1;
            self.start(operation);
        }
    }
}

/// Which columns an operation can read and write.
fn available(layout: &super::Layout, members: &super::members::Members, operation: &Operation) -> Availability {
    let (row, range) = (operation.row, operation.range);
    let columns = 0..layout.columns();
    let readable = |column| members.readable(row, column, range) && !operation.unreadable.contains(&column);
    Availability {
        readable: columns.clone().map(readable).collect(),
        writable: columns.map(|column| members.writable(row, column, range.0)).collect(),
    }
}

/// Columns that determine another: as many as there are data columns, of those that can be read, from the `turn`-th on.
fn others(
    layout: &super::Layout,
    available: &Availability,
    column: usize,
    turn: usize,
    (from, to): (u64, u64),
) -> Option<Vec<(usize, u64, u64)>> {
    let count = layout.columns();
    let in_turn = (0..count).map(|i| (turn + i) % count);
    let others = in_turn.filter(|&other| other != column && available.readable[other]);
    let reads: Vec<(usize, u64, u64)> = others.take(layout.data()).map(|other| (other, from, to)).collect();
    (reads.len() == layout.data()).then_some(reads)
}

/// Puts the bytes of a request's span, and of the parities, into the writes of an operation.
fn fill(
    writes: &mut [Written],
    (span, data): (Span, &Payload),
    parities: &[(usize, Payload)],
    layout: &super::Layout,
    block_bytes: u32,
) {
    for write in writes {
        let parity = parities.iter().find(|&&(column, _)| column == write.column);
        let piece = layout.pieces(span).find(|piece| piece.column == write.column);
        write.payload = match (parity, piece) {
            (Some((_, payload)), _) => payload.clone(),
            (None, Some(piece)) => data.slice(piece.first - span.first, piece.to - piece.from, block_bytes),
            (None, None) => Payload::NONE,
        };
    }
}
