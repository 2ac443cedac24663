//! Components made of components, and the leaf they all end in: a drive.

pub mod array;
pub mod cache;
mod company;
pub mod delayed_startup;
pub mod drive;
pub mod faulty;
mod in_order;
pub mod mcd;
pub mod merge;
pub mod mwb;
mod outlook;
pub mod partition;
mod parts;
pub mod spread;
pub mod volumes;
mod waiting;

pub use array::{ArraySpec, RedundantArray};
pub use cache::{RamCache, RamCacheSpec};
pub use delayed_startup::DelayedStartupSpec;
pub use drive::Drive;
pub use faulty::{FaultSpec, Faulty};
pub use mcd::{Mcd, McdFlushSpec, McdSpec, McdUnitsSpec};
pub use merge::MergeSpec;
pub use mwb::{Mwb, MwbCleanSpec, MwbSpec};
pub use partition::{Partition, PartitionSpec};
pub use parts::Child;
pub use spread::{Spread, SpreadLayout};
pub use volumes::{MoveSpec, VolumeSpec, Volumes, VolumesSpec};
