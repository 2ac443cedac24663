//! An operation on a row of an array: it reads, then writes, under a lock.

use super::layout::{Layout, Span};
use super::plan::Method;
use crate::convert::to_usize;
use crate::engine::{Completion, Payload};
use crate::hierarchy::common::BlockRange;
use crate::request::{Flags, Request};

/// The purpose of an operation.
#[derive(Clone, Debug)]
pub(super) enum Task {
    /// Writes a part of a request.
    Write { span: Span, data: Payload },
    /// Reads a part of a request, which begins with its block `first`, from other columns than its own.
    Recover { column: usize, first: u64 },
    /// Rebuilds a failed member on its spare.
    Rebuild { member: usize, column: usize, generation: u64 },
    /// Repeats the writes of a journal entry, or recomputes the parity.
    Replay { entry: u64 },
}

/// The progress of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Before its reads.
    Claimed,
    /// Reads are outstanding.
    Reading,
    /// Before its writes, while the journal entry is made.
    Journaling,
    /// Writes are outstanding.
    Writing,
}

/// A range of LBNs of a column, and the data read from it.
#[derive(Clone, Debug)]
pub(super) struct ColumnRead {
    pub(super) column: usize,
    pub(super) range: BlockRange,
    pub(super) payload: Payload,
}

/// A range of LBNs of a column, and the data to be written to it.
#[derive(Clone, Debug)]
pub(super) struct ColumnWrite {
    pub(super) column: usize,
    pub(super) range: BlockRange,
    pub(super) payload: Payload,
}

/// The new content of a parity column.
pub(super) struct Parity {
    pub(super) column: usize,
    pub(super) payload: Payload,
}

/// An operation on a row; that of a rebuild may cover several rows.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) task: Task,
    /// The row, or the first one.
    pub(super) row: u64,
    /// LBNs of the members.
    pub(super) range: BlockRange,
    /// The request that waits for the operation.
    pub(super) host: Option<u64>,
    pub(super) flags: Flags,
    pub(super) origin: u32,
    pub(super) stage: Stage,
    pub(super) method: Method,
    pub(super) reads: Vec<ColumnRead>,
    pub(super) writes: Vec<ColumnWrite>,
    /// Number of outstanding accesses.
    pub(super) outstanding: u32,
    /// Columns that cannot be read here, though their members have not failed.
    pub(super) unreadable: Vec<usize>,
    /// True if a read has failed since the reads were planned.
    pub(super) needs_new_plan: bool,
    /// Number of the journal entry.
    pub(super) entry: Option<u64>,
    /// The latest completed access, which has not been added to the request yet.
    pub(super) last: Option<Completion>,
}

impl Operation {
    pub(super) fn new(task: Task, row: u64, range: BlockRange, flags: Flags) -> Self {
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
            outstanding: 0,
            unreadable: Vec::new(),
            needs_new_plan: false,
            entry: None,
            last: None,
        }
    }

    /// Sets the request that waits for the operation.
    pub(super) fn of(self, host: u64, request: &Request) -> Self {
        Self { host: Some(host), origin: request.origin, ..self }
    }

    /// Returns true if no other operation may use the range at the same time.
    pub(super) fn is_exclusive(&self) -> bool {
        // A recovery may repair unreadable blocks, but writes only their previous content.
        !matches!(self.task, Task::Recover { .. })
    }

    /// Computes a column over the range of the operation from the reads of other columns: [`Payload::NONE`] in runs that hold no
    /// data, and `None` if the reads do not determine it.
    pub(super) fn recovered(&self, layout: &Layout, column: usize) -> Option<Payload> {
        if !self.reads.iter().all(|read| read.payload.is_some()) {
            return Some(Payload::NONE);
        }
        let unit = layout.unit_blocks();
        let member = layout.member(self.row, column);
        let mut parts = Vec::new();
        let mut next = self.range.from;
        while next < self.range.to {
            let (row, end) = (next / unit, self.range.to.min((next / unit + 1) * unit));
            let column_here = |other: usize| {
                if row == self.row {
                    other
                } else {
                    layout.column(row, layout.member(self.row, other))
                }
            };
            let known: Vec<KnownColumn<'_>> =
                self.reads.iter().map(|read| KnownColumn { column: column_here(read.column), read }).collect();
            let target = if row == self.row { column } else { layout.column(row, member) };
            parts.push(combine(layout, &known, target, BlockRange::new(next, end))?);
            next = end;
        }
        Some(Payload::join(&parts.into_iter().map(|bytes| Payload::of(&bytes)).collect::<Vec<_>>()))
    }

    /// Computes the parity columns over the range, after the writes of the operation, from its reads.
    pub(super) fn parities(&self, layout: &Layout, block_bytes: u32) -> Vec<Parity> {
        let parities = layout.data()..layout.columns();
        let Some(bytes) = self.data_bytes() else {
            return parities.map(|column| Parity { column, payload: Payload::NONE }).collect();
        };
        let size = block_bytes as usize;
        let columns = match self.method {
            Method::ReadModifyWrite => return self.modified_parities(layout, bytes, size),
            _ => self.data_columns(layout, bytes, size),
        };
        let parity = |column: usize| {
            let mut sum = vec![0; columns[0].len()];
            for (data, bytes) in columns.iter().enumerate() {
                super::galois::add_product(&mut sum, layout.factor(column, data), bytes);
            }
            Parity { column, payload: Payload::of(&sum) }
        };
        parities.map(parity).collect()
    }

    /// The data of the request's part, or no bytes for an operation without a request; `None` in runs that hold no data.
    fn data_bytes(&self) -> Option<&[u8]> {
        match &self.task {
            Task::Write { data, .. } => data.bytes(),
            _ => self.reads.first().filter(|read| read.payload.is_some()).map(|_| [].as_slice()),
        }
    }

    /// The data columns over the range, read or recovered, with the written data in place.
    fn data_columns(&self, layout: &Layout, written: &[u8], size: usize) -> Vec<Vec<u8>> {
        let first = self.range.from;
        let column = |column: usize| {
            let mut bytes = vec![0; to_usize(self.range.blocks()) * size];
            if self.method == Method::Decode {
                if let Some(recovered) = self.recovered(layout, column) {
                    bytes.copy_from_slice(recovered.bytes().unwrap_or(&[]));
                }
            } else {
                for read in self.reads.iter().filter(|read| read.column == column) {
                    overwrite(&mut bytes, read.payload.bytes().unwrap_or(&[]), read.range.from - first, size);
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
                overwrite(&mut columns[piece.column], bytes, base + piece.from - first, size);
            }
        }
        columns
    }

    /// The old parities, changed by the difference of old and new data.
    fn modified_parities(&self, layout: &Layout, written: &[u8], size: usize) -> Vec<Parity> {
        let Task::Write { span, .. } = self.task else {
            debug_assert!(false, "only writes use read-modify-write");
            return Vec::new();
        };
        let base = self.row * layout.unit_blocks();
        let old = |column: usize| self.reads.iter().find(|read| read.column == column);
        let parity = |read: &ColumnRead| {
            let mut sum = read.payload.bytes().unwrap_or(&[]).to_vec();
            for piece in layout.pieces(span) {
                let begin = to_usize(piece.first - span.first) * size;
                let new = &written[begin..begin + to_usize(piece.to - piece.from) * size];
                let at = to_usize(base + piece.from - self.range.from) * size;
                let factor = layout.factor(read.column, piece.column);
                let before = old(piece.column).and_then(|read| read.payload.bytes()).unwrap_or(&[]);
                super::galois::add_product(&mut sum[at..at + new.len()], factor, before);
                super::galois::add_product(&mut sum[at..at + new.len()], factor, new);
            }
            Parity { column: read.column, payload: Payload::of(&sum) }
        };
        self.reads.iter().filter(|read| read.column >= layout.data()).map(parity).collect()
    }
}

/// Copies bytes into a column, from block `block` of it on.
fn overwrite(column: &mut [u8], bytes: &[u8], block: u64, size: usize) {
    column[to_usize(block) * size..][..bytes.len()].copy_from_slice(bytes);
}

/// A read, and the column that it is in the row at hand.
struct KnownColumn<'a> {
    column: usize,
    read: &'a ColumnRead,
}

/// Computes a range of a column of a row from other columns; `None` if these do not determine it.
fn combine(layout: &Layout, known: &[KnownColumn<'_>], target: usize, range: BlockRange) -> Option<Vec<u8>> {
    let bytes: Vec<&[u8]> = known.iter().filter_map(|known| known.read.payload.bytes()).collect();
    let vectors: Vec<Vec<u8>> = known.iter().map(|known| layout.factors(known.column)).collect();
    let factors = super::galois::combination(&vectors, &layout.factors(target))?;
    let mut sum = Vec::new();
    for ((bytes, KnownColumn { read, .. }), factor) in bytes.iter().zip(known).zip(factors) {
        let size = bytes.len() / to_usize(read.range.blocks());
        sum.resize(to_usize(range.blocks()) * size, 0);
        let begin = to_usize(range.from - read.range.from) * size;
        super::galois::add_product(&mut sum, factor, &bytes[begin..begin + to_usize(range.blocks()) * size]);
    }
    Some(sum)
}
