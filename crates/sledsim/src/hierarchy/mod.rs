//! Components made of components, and the leaf they all end in: a drive.

pub mod drive;
pub mod spread;

pub use drive::Drive;
pub use spread::{Spread, SpreadLayout};
