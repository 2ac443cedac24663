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

impl Plan {
    /// Number of reads, and number of blocks read.
    fn cost(&self) -> (usize, u64) {
        (self.reads.len(), self.reads.iter().map(|read| read.range.blocks()).sum())
    }
}

/// The columns of a row that can be read and written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    /// For each data and parity column: true if it can be read.
    pub readable: Vec<bool>,
    /// For each data and parity column: true if it can be written.
    pub writable: Vec<bool>,
}

/// Plans a write. `None` if too many columns of the row are lost.
#[must_use]
pub fn plan(layout: &Layout, span: Span, available: &Availability, wanted: WriteMethod) -> Option<Plan> {
    let writes = writes(layout, span, available);
    let parities = layout.data()..layout.columns();
    if !available.writable[parities].contains(&true) {
        let is_whole = layout.pieces(span).all(|piece| available.writable[piece.column]);
        return is_whole.then(|| Plan { method: Method::DataOnly, reads: Vec::new(), writes });
    }
    let with =
        |method, reads: Option<Vec<ColumnRange>>| reads.map(|reads| Plan { method, reads, writes: writes.clone() });
    let modify = with(Method::ReadModifyWrite, old_columns(layout, span, available));
    let reconstruct = with(Method::Reconstruct, unwritten_data(layout, span, available));
    let decode = || with(Method::Decode, readable_columns(layout, span, available));
    let mut plan = match (wanted, modify, reconstruct) {
        (WriteMethod::Rmw, Some(plan), _) | (WriteMethod::Reconstruct, _, Some(plan)) => plan,
        (_, Some(modify), Some(reconstruct)) if reconstruct.cost() < modify.cost() => reconstruct,
        (_, Some(plan), _) | (_, None, Some(plan)) => plan,
        (_, None, None) => decode()?,
    };
    // A write of the whole row needs no reads.
    if plan.method == Method::Reconstruct && plan.reads.is_empty() {
        plan.method = Method::Full;
    }
    Some(plan)
}

/// The data of the span as ranges of columns.
fn data(layout: &Layout, span: Span) -> impl Iterator<Item = ColumnRange> {
    let range = |piece: Piece| ColumnRange { column: piece.column, range: BlockRange::new(piece.from, piece.to) };
    layout.pieces(span).map(range)
}

fn writes(layout: &Layout, span: Span, available: &Availability) -> Vec<ColumnRange> {
    let range = layout.hull(span);
    let parities = (layout.data()..layout.columns()).map(|column| ColumnRange { column, range });
    data(layout, span).chain(parities).filter(|write| available.writable[write.column]).collect()
}

/// Old data and old parity.
fn old_columns(layout: &Layout, span: Span, available: &Availability) -> Option<Vec<ColumnRange>> {
    let range = layout.hull(span);
    let is_writable = |&column: &usize| available.writable[column];
    let parities = (layout.data()..layout.columns()).filter(is_writable).map(|column| ColumnRange { column, range });
    let reads: Vec<ColumnRange> = data(layout, span).chain(parities).collect();
    reads.iter().all(|read| available.readable[read.column]).then_some(reads)
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
    reads.iter().all(|read| available.readable[read.column]).then_some(reads)
}

/// As many readable columns as there are data columns, data columns first.
fn readable_columns(layout: &Layout, span: Span, available: &Availability) -> Option<Vec<ColumnRange>> {
    let range = layout.hull(span);
    let readable = (0..layout.columns()).filter(|&column| available.readable[column]);
    let reads: Vec<ColumnRange> = readable.take(layout.data()).map(|column| ColumnRange { column, range }).collect();
    (reads.len() == layout.data()).then_some(reads)
}
