//! Components made of components, and the leaf they all end in: a drive.

pub mod array;
mod company;
pub mod delayed_startup;
pub mod drive;
pub mod faulty;
mod gather;
mod in_order;
pub mod merge;
mod outlook;
pub mod spread;
mod tickets;
mod waiting;

pub use array::{ArraySpec, RedundantArray};
pub use delayed_startup::DelayedStartupSpec;
pub use drive::Drive;
pub use faulty::{FaultSpec, Faulty};
pub use merge::MergeSpec;
pub use spread::{Spread, SpreadLayout};
