//! Components made of components, and the leaf they all end in: a drive.

mod child;
mod company;
pub mod delayed_startup;
pub mod drive;
mod gather;
mod in_order;
pub mod merge;
pub mod mwb;
mod outlook;
pub mod spread;
mod tickets;
mod waiting;

pub use child::Child;
pub use delayed_startup::DelayedStartupSpec;
pub use drive::Drive;
pub use merge::MergeSpec;
pub use mwb::{Mwb, MwbCleanSpec, MwbSpec};
pub use spread::{Spread, SpreadLayout};
