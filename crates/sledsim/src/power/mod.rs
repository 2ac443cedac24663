//! Power: the idle modes of a device, and the policies that say when to leave them.

mod break_even;
mod ladder;
mod parameters;
mod share;
mod spin_down;

pub use break_even::{BreakEven, Interval};
pub use ladder::{Ladder, Mode};
pub use parameters::{IdleModeParameters, PowerParameters};
pub use share::Share;
pub use spin_down::{SpinDown, SpinDownSpec};
