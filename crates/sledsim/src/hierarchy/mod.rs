//! Components: drives, and components built over other components.

pub mod array;
pub mod cache;
pub mod caching_disk;
mod common;
pub mod drive;
pub mod faulty;
pub mod kind;
pub mod partition;
pub mod spread;
pub mod tiers;
pub mod volumes;
pub mod write_buffer;
pub mod zoned;

pub use array::{ArraySpec, RedundantArray};
pub use cache::{RamCache, RamCacheSpec};
pub use caching_disk::{CachingDisk, CachingDiskFlushSpec, CachingDiskSpec, CachingDiskUnitsSpec};
pub use common::{BlockRange, Child};
pub use drive::{AnticipationSpec, DelayedStartupSpec, Drive, MergeSpec};
pub use faulty::{FaultSpec, Faulty, MemberFaultSpec};
pub use kind::{ChildKey, ChildKeys, ComponentKind, ComponentParameters, ComponentSpec};
pub use partition::{Partition, PartitionSpec};
pub use spread::{Spread, SpreadLayout};
pub use tiers::{BlockRangeSpec, TierMigrationSpec, TierPlacementSpec, Tiers, TiersSpec};
pub use volumes::{MoveSpec, VolumeSpec, Volumes, VolumesSpec};
pub use write_buffer::{WriteBuffer, WriteBufferCleanSpec, WriteBufferSpec};
pub use zoned::{OutOfOrder, Zoned, ZonedSpec};

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
    write_buffer::KIND,
    caching_disk::KIND,
    tiers::KIND,
    zoned::KIND,
];
