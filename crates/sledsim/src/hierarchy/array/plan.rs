//! The plan of a write to a row: its reads and its writes.

use super::layout::{Layout, Piece, Span};
use super::spec::WriteMethod;
use crate::hierarchy::common::BlockRange;

/// The parity update of a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Without reads.
    #[default]
    Full,
    /// Reads the old data and the old parity.
    ReadModifyWrite,
    /// Reads the data of the row that is not written.
    Reconstruct,
    /// Reads as many columns as there are data columns, because a column that another method needs cannot be read.
    Decode,
    /// Writes no parity, as none is left.
    DataOnly,
}

/// A range of blocks of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnRange {
    /// The column.
    pub column: usize,
    /// Offsets in the unit in a [`Plan`], LBNs of the member elsewhere.
    pub range: BlockRange,
}

/// The reads and writes of a write to a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The parity update.
    pub method: Method,
    /// Reads, before any write.
    pub reads: Vec<ColumnRange>,
    /// Writes.
    pub writes: Vec<ColumnRange>,
}

/// The columns of a row that can be read and written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    /// For each data and parity column: true if it can be read. Empty if all can.
    pub readable: Vec<bool>,
    /// For each data and parity column: true if it can be written. Empty if all can.
    pub writable: Vec<bool>,
}

impl Availability {
    /// All columns can be read and written.
    pub const ALL: Self = Self { readable: Vec::new(), writable: Vec::new() };

    /// Returns true if a column can be read.
    #[must_use]
    pub fn is_readable(&self, column: usize) -> bool {
        self.readable.get(column).is_none_or(|&is_readable| is_readable)
    }

    /// Returns true if a column can be written.
    #[must_use]
    pub fn is_writable(&self, column: usize) -> bool {
        self.writable.get(column).is_none_or(|&is_writable| is_writable)
    }
}

/// Plans a write. `None` if too many columns of the row are lost.
#[must_use]
pub fn plan(layout: &Layout, span: Span, available: &Availability, wanted: WriteMethod) -> Option<Plan> {
    let writes = writes(layout, span, available);
    if !(layout.data()..layout.columns()).any(|parity| available.is_writable(parity)) {
        let is_whole = layout.pieces(span).all(|piece| available.is_writable(piece.column));
        return is_whole.then(|| Plan { method: Method::DataOnly, reads: Vec::new(), writes });
    }
    let modify = old_columns(layout, span, available);
    // Reconstruction reads each column of the row that is not written.
    let most_reads = match (wanted, &modify) {
        (WriteMethod::Rmw, Some(_)) => None,
        (WriteMethod::Cost, Some(modify)) => Some(modify.len()),
        (WriteMethod::Reconstruct, _) | (_, None) => Some(usize::MAX),
    };
    let unwritten = layout.data() - layout.pieces(span).count();
    let can_win = most_reads.is_some_and(|most_reads| unwritten <= most_reads);
    let reconstruct = if can_win { unwritten_data(layout, span, available) } else { None };
    let (method, reads) = match (modify, reconstruct) {
        // A write of the whole row needs no reads.
        (_, Some(reads)) if reads.is_empty() => (Method::Full, reads),
        (Some(modify), Some(reads)) if wanted == WriteMethod::Cost && cost(&reads) >= cost(&modify) => {
            (Method::ReadModifyWrite, modify)
        }
        (_, Some(reads)) => (Method::Reconstruct, reads),
        (Some(reads), None) => (Method::ReadModifyWrite, reads),
        (None, None) => (Method::Decode, readable_columns(layout, span, available)?),
    };
    Some(Plan { method, reads, writes })
}

/// Number of reads, and number of blocks read.
fn cost(reads: &[ColumnRange]) -> (usize, u64) {
    (reads.len(), reads.iter().map(|read| read.range.blocks()).sum())
}

/// The data of the span as ranges of columns.
fn data(layout: &Layout, span: Span) -> impl Iterator<Item = ColumnRange> {
    let range = |piece: Piece| ColumnRange { column: piece.column, range: BlockRange::new(piece.from, piece.to) };
    layout.pieces(span).map(range)
}

fn writes(layout: &Layout, span: Span, available: &Availability) -> Vec<ColumnRange> {
    let range = layout.hull(span);
    let parities = (layout.data()..layout.columns()).map(|column| ColumnRange { column, range });
    data(layout, span).chain(parities).filter(|write| available.is_writable(write.column)).collect()
}

/// Old data and old parity.
fn old_columns(layout: &Layout, span: Span, available: &Availability) -> Option<Vec<ColumnRange>> {
    let range = layout.hull(span);
    let is_writable = |&column: &usize| available.is_writable(column);
    let parities = (layout.data()..layout.columns()).filter(is_writable).map(|column| ColumnRange { column, range });
    let reads: Vec<ColumnRange> = data(layout, span).chain(parities).collect();
    reads.iter().all(|read| available.is_readable(read.column)).then_some(reads)
}

/// The data that is not written, as far as the parity depends on it.
fn unwritten_data(layout: &Layout, span: Span, available: &Availability) -> Option<Vec<ColumnRange>> {
    let range = layout.hull(span);
    let mut reads: Vec<ColumnRange> = Vec::new();
    let mut next = 0;
    for Piece { column, from, to, .. } in layout.pieces(span) {
        reads.extend((next..column).map(|column| ColumnRange { column, range }));
        reads.push(ColumnRange { column, range: BlockRange::new(range.from, from) });
        reads.push(ColumnRange { column, range: BlockRange::new(to, range.to) });
        next = column + 1;
    }
    reads.extend((next..layout.data()).map(|column| ColumnRange { column, range }));
    reads.retain(|read| read.range.from < read.range.to);
    reads.iter().all(|read| available.is_readable(read.column)).then_some(reads)
}

/// As many readable columns as there are data columns, data columns first.
fn readable_columns(layout: &Layout, span: Span, available: &Availability) -> Option<Vec<ColumnRange>> {
    let range = layout.hull(span);
    let readable = (0..layout.columns()).filter(|&column| available.is_readable(column));
    let reads: Vec<ColumnRange> = readable.take(layout.data()).map(|column| ColumnRange { column, range }).collect();
    (reads.len() == layout.data()).then_some(reads)
}
