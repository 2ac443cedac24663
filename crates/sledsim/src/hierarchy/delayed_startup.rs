//! Delayed start-up: a stopped device waits for company before it starts up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a stopped device waits for before it starts up again (Lin et al. 2002, section 7): so many requests, or the longest
/// wait of one, whichever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayedStartupSpec {
    /// Pending requests that start it up.
    #[schemars(range(min = 1, max = 1000000))]
    pub requests: u32,
    /// Longest that a request waits for the start-up to begin.
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "ms"))]
    pub wait_ms: f64,
}
