//! Components made of components, and the leaf they all end in: a drive.

pub mod array;
pub mod cache;
pub mod drive;
pub mod faulty;
pub mod kind;
pub mod mcd;
pub mod mwb;
pub mod partition;
mod parts;
pub mod spread;
pub mod tiers;
pub mod volumes;

pub use array::{ArraySpec, RedundantArray};
pub use cache::{RamCache, RamCacheSpec};
pub use drive::{AnticipationSpec, DelayedStartupSpec, Drive, MergeSpec};
pub use faulty::{FaultSpec, Faulty, MemberFaultSpec};
pub use kind::{ChildKey, ChildKeys, ComponentKind, ComponentParameters, ComponentSpec};
pub use mcd::{Mcd, McdFlushSpec, McdSpec, McdUnitsSpec};
pub use mwb::{Mwb, MwbCleanSpec, MwbSpec};
pub use partition::{Partition, PartitionSpec};
pub use parts::Child;
pub use spread::{Spread, SpreadLayout};
pub use tiers::{BlockRangeSpec, TierMigrationSpec, TierPlacementSpec, Tiers, TiersSpec};
pub use volumes::{MoveSpec, VolumeSpec, Volumes, VolumesSpec};

/// The kinds of components that are built over others, in the order in which documentation lists them.
pub const KINDS: &[ComponentKind] = &[
    partition::KIND,
    volumes::KIND,
    spread::CONCAT,
    spread::STRIPE,
    array::MIRROR,
    array::RAID4,
    array::RAID5,
    array::RAID6,
    cache::ram::KIND,
    mwb::KIND,
    mcd::KIND,
    tiers::KIND,
];
