//! Monte Carlo lifetimes of enclosures against what is known exactly.

mod chain;
mod described;
