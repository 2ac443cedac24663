//! What several components share: children, requests in parts, requests under way, locks and who waits for them, timers, sets of
//! blocks.

mod alarm;
mod block_set;
mod child;
mod lock_queue;
mod outstanding;
mod range_locks;
mod same_capacity;
mod split_request;

pub(super) use alarm::Alarm;
pub(super) use block_set::BlockSet;
pub use child::Child;
pub(super) use lock_queue::LockQueue;
pub(super) use outstanding::Outstanding;
pub(super) use range_locks::RangeLocks;
pub(super) use same_capacity::SameCapacity;
pub(super) use split_request::{completion_of_part, SplitRequest};
