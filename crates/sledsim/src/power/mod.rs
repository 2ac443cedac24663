//! Power: the idle modes of a device, and the policies that say when to leave them.

mod ladder;
mod share;
mod spin_down;

pub use ladder::{Ladder, Mode};
pub use share::Share;
pub use spin_down::{SpinDown, SpinDownSpec};
