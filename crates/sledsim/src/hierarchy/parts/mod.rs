//! What several components share: children, requests in parts, requests under way, locks and who waits for them, timers, sets of
//! blocks.

mod alarm;
mod block_set;
mod child;
mod claims;
mod counted;
mod gather;
mod locks;
mod tickets;

pub(super) use alarm::Alarm;
pub(super) use block_set::BlockSet;
pub use child::Child;
pub(super) use claims::Claims;
pub(super) use counted::Counted;
pub(super) use gather::{passed_on, Gather};
pub(super) use locks::Locks;
pub(super) use tickets::Tickets;
