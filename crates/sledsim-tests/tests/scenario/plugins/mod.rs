//! Plugins: one contract for all roles, the rules of single roles, and plugins in Rust.

mod contract;
mod roles;
mod rust;
mod support;
