//! The simulator for web pages.
//!
//! A page calls the functions of [`exports`] through WebAssembly: a command and its answer are JSON ([`commands`]); the state of a
//! device at an instant is an array of numbers ([`playback`]), so that it can be drawn 60 times a second.

pub mod commands;
pub mod exports;
pub mod playback;
mod series;
