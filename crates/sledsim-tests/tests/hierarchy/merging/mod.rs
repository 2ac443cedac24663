//! Requests that join others.

mod energy;
mod order;
mod rules;
