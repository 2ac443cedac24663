//! Arrivals at a constant rate.

use super::{at_rate, Gaps};
use crate::engine::random::Stream;

at_rate! {
    /// Evenly spaced arrivals, the first one interval after the start.
    Constant:
    /// Number of requests per second.
    rate_per_s
}

#[derive(Debug)]
struct Constant {
    mean_ns: f64,
}

impl Gaps for Constant {
    #[inline]
    fn draw_ns(&mut self, _stream: &mut Stream) -> f64 {
        self.mean_ns
    }
}
