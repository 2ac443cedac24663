//! An operation on a row of an array: what it reads, then what it writes, under a lock.

use super::layout::{Layout, Span};
use super::plan::Method;
use crate::convert::to_usize;
use crate::engine::{Completion, Payload};
use crate::request::{Flags, Request};

/// What an operation is for.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// A part of a request is written.
    Write { span: Span, data: Payload },
    /// A part of a request is read from columns other than its own: `first` is its first block in the request.
    Recover { column: usize, first: u64 },
    /// A failed member is written to a spare.
    Rebuild { member: usize, column: usize, generation: u64 },
    /// What a journal holds is written again, or parity is made to fit data.
    Replay { entry: u64 },
}

/// How far an operation has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It waits for its lock, or has just got it.
    Claimed,
    /// Reads are under way.
    Reading,
    /// It is about to be entered in the journal.
    Entering,
    /// Writes are under way.
    Writing,
}

/// LBNs of a column that are read, and what was there.
#[derive(Clone, Debug)]
pub(super) struct Readout {
    pub(super) column: usize,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) payload: Payload,
}

/// LBNs of a column that are written, and what.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) column: usize,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) payload: Payload,
}

/// An operation on a row; a rebuild's is on several.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) task: Task,
    /// The row, or the first.
    pub(super) row: u64,
    /// LBNs of the members.
    pub(super) range: (u64, u64),
    /// The request that waits for it.
    pub(super) host: Option<u64>,
    pub(super) flags: Flags,
    pub(super) origin: u32,
    pub(super) stage: Stage,
    pub(super) method: Method,
    pub(super) reads: Vec<Readout>,
    pub(super) writes: Vec<Written>,
    /// Accesses under way.
    pub(super) left: u32,
    /// Columns that can't be read here, though their members have not failed.
    pub(super) unreadable: Vec<usize>,
    /// Whether a read has failed since the reads were planned.
    pub(super) again: bool,
    /// The entry of the journal.
    pub(super) entry: Option<u64>,
    /// The latest access to end, of which the request has not been told yet.
    pub(super) last: Option<Completion>,
}

impl Operation {
    pub(super) fn new(task: Task, row: u64, range: (u64, u64), flags: Flags) -> Self {
        Self {
            task,
            row,
            range,
            host: None,
            flags,
            origin: 0,
            stage: Stage::Claimed,
            method: Method::Full,
            reads: Vec::new(),
            writes: Vec::new(),
            left: 0,
            unreadable: Vec::new(),
            again: false,
            entry: None,
            last: None,
        }
    }

    /// The same for a request.
    pub(super) fn of(self, host: u64, request: &Request) -> Self {
        Self { host: Some(host), origin: request.origin, ..self }
    }

    /// Whether others may not work on the range meanwhile.
    pub(super) fn is_exclusive(&self) -> bool {
        // One that repairs what it finds unreadable writes only what was there before.
        !matches!(self.task, Task::Recover { .. })
    }

    /// A column, over the range of the operation, from what was read of others; nothing in runs that hold no data, and
    /// `None` where they don't determine it.
    pub(super) fn recovered(&self, layout: &Layout, column: usize) -> Option<Payload> {
        if !self.reads.iter().all(|read| read.payload.is_some()) {
            return Some(Payload::NONE);
        }
        let (from, to) = self.range;
        let unit = layout.unit_blocks();
        let member = layout.member(self.row, column);
        let mut parts = Vec::new();
        let mut next = from;
        while next < to {
            let (row, end) = (next / unit, to.min((next / unit + 1) * unit));
            let here = |other: usize| {
                if row == self.row {
                    other
                } else {
                    layout.column(row, layout.member(self.row, other))
                }
            };
            let known: Vec<(usize, &Readout)> = self.reads.iter().map(|read| (here(read.column), read)).collect();
            let target = if row == self.row { column } else { layout.column(row, member) };
            parts.push(combine(layout, &known, target, (next, end))?);
            next = end;
        }
        Some(Payload::join(&parts.into_iter().map(|bytes| Payload::of(&bytes)).collect::<Vec<_>>()))
    }

    /// What the parity columns hold over the range once the operation has been carried out, from what was read.
    pub(super) fn parities(&self, layout: &Layout, block_bytes: u32) -> Vec<(usize, Payload)> {
        let parities = layout.data()..layout.columns();
        let Some(bytes) = self.data_bytes() else { return parities.map(|column| (column, Payload::NONE)).collect() };
        let size = block_bytes as usize;
        let columns = match self.method {
            Method::ReadModifyWrite => return self.modified(layout, bytes, size),
            _ => self.data_columns(layout, bytes, size),
        };
        let sum = |column: usize| {
            let mut sum = vec![0; columns[0].len()];
            for (data, bytes) in columns.iter().enumerate() {
                super::galois::add_product(&mut sum, layout.factor(column, data), bytes);
            }
            (column, Payload::of(&sum))
        };
        parities.map(sum).collect()
    }

    /// What is written, or nothing: all of the request's part, or no bytes of an operation without one.
    fn data_bytes(&self) -> Option<&[u8]> {
        match &self.task {
            Task::Write { data, .. } => data.bytes(),
            _ => self.reads.first().filter(|read| read.payload.is_some()).map(|_| [].as_slice()),
        }
    }

    /// The data columns over the range: read, or recovered, and what is written laid over.
    fn data_columns(&self, layout: &Layout, written: &[u8], size: usize) -> Vec<Vec<u8>> {
        let (from, to) = self.range;
        let column = |column: usize| {
            let mut bytes = vec![0; to_usize(to - from) * size];
            if self.method == Method::Decode {
                if let Some(recovered) = self.recovered(layout, column) {
                    bytes.copy_from_slice(recovered.bytes().unwrap_or(&[]));
                }
            } else {
                for read in self.reads.iter().filter(|read| read.column == column) {
                    lay(&mut bytes, read.payload.bytes().unwrap_or(&[]), read.from - from, size);
                }
            }
            bytes
        };
        let mut columns: Vec<Vec<u8>> = (0..layout.data()).map(column).collect();
        if let Task::Write { span, .. } = self.task {
            let base = self.row * layout.unit_blocks();
            for piece in layout.pieces(span) {
                let begin = to_usize(piece.first - span.first) * size;
                let bytes = &written[begin..begin + to_usize(piece.to - piece.from) * size];
                lay(&mut columns[piece.column], bytes, base + piece.from - from, size);
            }
        }
        columns
    }

    /// The old parities, changed by what changes of the data.
    fn modified(&self, layout: &Layout, written: &[u8], size: usize) -> Vec<(usize, Payload)> {
        let Task::Write { span, .. } = self.task else {
            debug_assert!(false, "only writes modify parity: `plan` chooses that for them alone");
            return Vec::new();
        };
        let base = self.row * layout.unit_blocks();
        let old = |column: usize| self.reads.iter().find(|read| read.column == column);
        let parity = |read: &Readout| {
            let mut sum = read.payload.bytes().unwrap_or(&[]).to_vec();
            for piece in layout.pieces(span) {
                let begin = to_usize(piece.first - span.first) * size;
                let new = &written[begin..begin + to_usize(piece.to - piece.from) * size];
                let at = to_usize(base + piece.from - self.range.0) * size;
                let factor = layout.factor(read.column, piece.column);
                let before = old(piece.column).and_then(|read| read.payload.bytes()).unwrap_or(&[]);
                super::galois::add_product(&mut sum[at..at + new.len()], factor, before);
                super::galois::add_product(&mut sum[at..at + new.len()], factor, new);
            }
            (read.column, Payload::of(&sum))
        };
        self.reads.iter().filter(|read| read.column >= layout.data()).map(parity).collect()
    }
}

/// Puts bytes into a column from a block of it on.
fn lay(column: &mut [u8], bytes: &[u8], block: u64, size: usize) {
    column[to_usize(block) * size..][..bytes.len()].copy_from_slice(bytes);
}

/// LBNs of a column of a row, from those of others.
fn combine(layout: &Layout, known: &[(usize, &Readout)], target: usize, (from, to): (u64, u64)) -> Option<Vec<u8>> {
    let bytes: Vec<&[u8]> = known.iter().filter_map(|(_, read)| read.payload.bytes()).collect();
    let vectors: Vec<Vec<u8>> = known.iter().map(|&(column, _)| layout.factors(column)).collect();
    let factors = super::galois::combination(&vectors, &layout.factors(target))?;
    let mut sum = Vec::new();
    for ((bytes, (_, read)), factor) in bytes.iter().zip(known).zip(factors) {
        let size = bytes.len() / to_usize(read.to - read.from);
        sum.resize(to_usize(to - from) * size, 0);
        let begin = to_usize(from - read.from) * size;
        super::galois::add_product(&mut sum, factor, &bytes[begin..begin + to_usize(to - from) * size]);
    }
    Some(sum)
}
