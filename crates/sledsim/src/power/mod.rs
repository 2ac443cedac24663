//! Power: the idle modes of a device, the policies that say when to leave them, and the meter of what is drawn.

mod break_even;
mod ladder;
mod meter;
mod parameters;
mod peak;
mod share;
mod spin_down;
mod timeline;

pub use break_even::{BreakEven, Interval};
pub use ladder::{Ladder, Mode};
pub use meter::{Activity, Meter, ACTIVITIES};
pub use parameters::{IdleModeParameters, PowerParameters};
pub use peak::{Peak, PeakOfSum, WINDOW_NS};
pub use share::Share;
pub use spin_down::{SpinDown, SpinDownSpec};
pub use timeline::{Span, Timeline, TimelineSpec};
