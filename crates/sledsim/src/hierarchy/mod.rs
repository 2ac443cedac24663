//! Components made of components, and the leaf they all end in: a drive.

pub mod child;
pub mod cache;
mod company;
pub mod delayed_startup;
pub mod drive;
mod gather;
mod in_order;
pub mod merge;
mod outlook;
pub mod partition;
pub mod spread;
mod tickets;
pub mod volumes;
mod waiting;

pub use child::Child;
pub use delayed_startup::DelayedStartupSpec;
pub use drive::Drive;
pub use merge::MergeSpec;
pub use partition::{Partition, PartitionSpec};
pub use spread::{Spread, SpreadLayout};
pub use volumes::{VolumeSpec, Volumes, VolumesSpec};
