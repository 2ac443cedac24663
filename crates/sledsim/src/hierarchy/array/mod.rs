//! Arrays: mirrors and parity over members, with failures, spares, rebuilding and a journal. Concatenation and striping are
//! [`Spread`](super::Spread).

mod check;
mod copies;
mod galois;
mod journal;
mod kinds;
pub mod layout;
mod members;
mod operation;
pub mod plan;
mod rebuild;
mod redundant;
mod row;
pub mod spec;
mod tally;

pub(super) use check::{equal_blocks, unit};
pub use kinds::{MirrorSpec, ParitySpec, MIRROR, RAID4, RAID5, RAID6};
pub use layout::{Layout, Level};
pub use redundant::RedundantArray;
pub use spec::{ArraySpec, JournalHolds, JournalSpec, ReadChoice, RebuildSpec, Sparing, WriteMethod};
