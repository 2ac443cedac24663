//! Components made of components, and the leaf they all end in: a drive.

pub mod array;
mod block_set;
pub mod cache;
pub mod child;
pub mod drive;
pub mod faulty;
mod gather;
mod locks;
pub mod mcd;
pub mod mwb;
pub mod partition;
pub mod spread;
mod tickets;
pub mod volumes;

pub use array::{ArraySpec, RedundantArray};
pub use cache::{RamCache, RamCacheSpec};
pub use child::Child;
pub use drive::{DelayedStartupSpec, Drive, MergeSpec};
pub use faulty::{FaultSpec, Faulty};
pub use mcd::{Mcd, McdFlushSpec, McdSpec, McdUnitsSpec};
pub use mwb::{Mwb, MwbCleanSpec, MwbSpec};
pub use partition::{Partition, PartitionSpec};
pub use spread::{Spread, SpreadLayout};
pub use volumes::{MoveSpec, VolumeSpec, Volumes, VolumesSpec};
