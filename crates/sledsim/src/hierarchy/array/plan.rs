//! What a write to a row has to read first, and what it writes.

use super::layout::{Layout, Span};
use super::spec::WriteMethod;

/// How a write brings parity up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Nothing has to be read.
    #[default]
    Full,
    /// Old data and old parity are read.
    ReadModifyWrite,
    /// The data of the row that is not written is read.
    Reconstruct,
    /// As many columns as there are data columns are read, because one that would be needed can't be.
    Decode,
    /// There is no parity left to be written.
    DataOnly,
}

/// Offsets in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The column.
    pub column: usize,
    /// The first block in the unit.
    pub from: u64,
    /// The block after the last.
    pub to: u64,
}

/// What a write to a row reads and writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// How parity is brought up to date.
    pub method: Method,
    /// What is read before anything is written.
    pub reads: Vec<Access>,
    /// What is written.
    pub writes: Vec<Access>,
}

impl Plan {
    fn cost(&self) -> (usize, u64) {
        (self.reads.len(), self.reads.iter().map(|read| read.to - read.from).sum())
    }
}

/// Whether columns of a row can be read and written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    /// By column, data and parity.
    pub readable: Vec<bool>,
    /// By column, data and parity.
    pub writable: Vec<bool>,
}

/// A plan for a write; `None` if too much of the row is lost.
#[must_use]
pub fn plan(layout: &Layout, span: Span, available: &Availability, wanted: WriteMethod) -> Option<Plan> {
    let writes = writes(layout, span, available);
    let parities = layout.data()..layout.columns();
    if !available.writable[parities].contains(&true) {
        let whole = layout.pieces(span).all(|piece| available.writable[piece.column]);
        return whole.then(|| Plan { method: Method::DataOnly, reads: Vec::new(), writes });
    }
    let with = |method, reads: Option<Vec<Access>>| reads.map(|reads| Plan { method, reads, writes: writes.clone() });
    let modify = with(Method::ReadModifyWrite, old(layout, span, available));
    let reconstruct = with(Method::Reconstruct, rest(layout, span, available));
    let decode = || with(Method::Decode, survivors(layout, span, available));
    let mut plan = match (wanted, modify, reconstruct) {
        (WriteMethod::Rmw, Some(plan), _) | (WriteMethod::Reconstruct, _, Some(plan)) => plan,
        (_, Some(modify), Some(reconstruct)) if reconstruct.cost() < modify.cost() => reconstruct,
        (_, Some(plan), _) | (_, None, Some(plan)) => plan,
        (_, None, None) => decode()?,
    };
    // A write of the whole row has nothing to choose.
    if plan.method == Method::Reconstruct && plan.reads.is_empty() {
        plan.method = Method::Full;
    }
    Some(plan)
}

fn writes(layout: &Layout, span: Span, available: &Availability) -> Vec<Access> {
    let (from, to) = layout.hull(span);
    let data = layout.pieces(span).map(|piece| Access { column: piece.column, from: piece.from, to: piece.to });
    let parities = (layout.data()..layout.columns()).map(|column| Access { column, from, to });
    data.chain(parities).filter(|write| available.writable[write.column]).collect()
}

/// Old data and old parity.
fn old(layout: &Layout, span: Span, available: &Availability) -> Option<Vec<Access>> {
    let (from, to) = layout.hull(span);
    let data = layout.pieces(span).map(|piece| Access { column: piece.column, from: piece.from, to: piece.to });
    let written = |&column: &usize| available.writable[column];
    let parities = (layout.data()..layout.columns()).filter(written).map(|column| Access { column, from, to });
    let reads: Vec<Access> = data.chain(parities).collect();
    reads.iter().all(|read| available.readable[read.column]).then_some(reads)
}

/// The data that is not written, as far as parity depends on it.
fn rest(layout: &Layout, span: Span, available: &Availability) -> Option<Vec<Access>> {
    let (from, to) = layout.hull(span);
    let mut reads: Vec<Access> = Vec::new();
    let mut next = 0;
    for piece in layout.pieces(span) {
        reads.extend((next..piece.column).map(|column| Access { column, from, to }));
        reads.push(Access { column: piece.column, from, to: piece.from });
        reads.push(Access { column: piece.column, from: piece.to, to });
        next = piece.column + 1;
    }
    reads.extend((next..layout.data()).map(|column| Access { column, from, to }));
    reads.retain(|read| read.from < read.to);
    reads.iter().all(|read| available.readable[read.column]).then_some(reads)
}

/// As many columns as there are data columns, of data first.
fn survivors(layout: &Layout, span: Span, available: &Availability) -> Option<Vec<Access>> {
    let (from, to) = layout.hull(span);
    let readable = (0..layout.columns()).filter(|&column| available.readable[column]);
    let reads: Vec<Access> = readable.take(layout.data()).map(|column| Access { column, from, to }).collect();
    (reads.len() == layout.data()).then_some(reads)
}
