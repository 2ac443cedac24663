//! Components made of components, and the leaf they all end in: a drive.

pub mod cache;
mod child;
mod company;
pub mod delayed_startup;
pub mod drive;
mod gather;
mod in_order;
pub mod mcd;
pub mod merge;
mod outlook;
pub mod spread;
mod tickets;
mod waiting;

pub use child::Child;
pub use delayed_startup::DelayedStartupSpec;
pub use drive::Drive;
pub use mcd::{Mcd, McdFlushSpec, McdSpec};
pub use merge::MergeSpec;
pub use spread::{Spread, SpreadLayout};
