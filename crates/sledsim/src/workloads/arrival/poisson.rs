//! Poisson arrivals.

use super::{at_rate, Gaps};
use crate::engine::random::Stream;

at_rate! {
    /// Independent arrivals: exponential interarrival times.
    Poisson:
    /// Mean number of requests per second.
    rate_per_s
}

#[derive(Debug)]
struct Poisson {
    mean_ns: f64,
}

impl Gaps for Poisson {
    #[inline]
    fn draw_ns(&mut self, stream: &mut Stream) -> f64 {
        self.mean_ns * stream.exponential()
    }
}
