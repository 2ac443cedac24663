//! Power: the idle modes of a device, spin-down policies, and the energy account of a mechanism.

mod account;
mod break_even;
mod ladder;
mod parameters;
mod peak;
mod share;
mod shared_spindle;
mod spin_down;
mod timeline;

pub use account::{Activity, EnergyAccount, Level, LevelPower, PowerTable, ACTIVITIES};
pub use break_even::{BreakEven, Interval};
pub use ladder::{Ladder, Mode};
pub use parameters::{IdleModeParameters, PowerParameters};
pub use peak::{Peak, PeakOfSum, WINDOW_NS};
pub use share::Share;
pub use shared_spindle::{ActuatorAccess, SharedSpindle};
pub use spin_down::{SpinDown, SpinDownSpec};
pub use timeline::{Span, Timeline, TimelineSpec};
