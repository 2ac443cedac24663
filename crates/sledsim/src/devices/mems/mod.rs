//! MEMS (probe) storage: a sled of media that moves over fixed probe tips.

pub mod motion;
