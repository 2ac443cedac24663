//! Request merging.

mod energy;
mod order;
mod rules;
