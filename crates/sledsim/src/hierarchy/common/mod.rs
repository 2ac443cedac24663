//! Shared by several components: children, requests in parts, outstanding items, range locks, timers and sets of blocks.

mod alarm;
mod block_range;
mod block_set;
mod child;
mod locks;
mod outstanding;
mod same_capacity;
mod split_request;

pub(super) use alarm::Alarm;
pub use block_range::BlockRange;
pub(super) use block_set::BlockSet;
pub use child::Child;
pub(super) use locks::{Lock, LockQueue, RangeLocks};
pub(super) use outstanding::Outstanding;
pub(super) use same_capacity::SameCapacity;
pub(super) use split_request::{completion_of_part, part_of_request, SplitRequest};
