//! Redundant arrays: mirrors and parity, with failures, spares, rebuilds and a journal. For concatenation and striping see
//! [`Spread`](super::Spread).

mod check;
mod copies;
mod counters;
mod execution;
mod galois;
mod journal;
mod kinds;
pub mod layout;
mod members;
mod operation;
pub mod plan;
mod rebuild;
mod redundant;
pub mod spec;

pub(super) use check::{equal_blocks, unit};
pub use kinds::{MirrorSpec, ParitySpec, MIRROR, RAID4, RAID5, RAID6};
pub use layout::{Layout, Level};
pub use redundant::RedundantArray;
pub use spec::{ArraySpec, JournalHolds, JournalSpec, ReadChoice, RebuildSpec, Sparing, WriteMethod};
