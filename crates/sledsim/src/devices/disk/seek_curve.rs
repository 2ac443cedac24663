//! Seek times as a drive's parameters give them: a table, a formula, or a few points.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time of a seek by its distance in cylinders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "curve", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SeekCurve {
    /// Measured times, interpolated linearly between them.
    Table {
        /// Pairs of a distance in cylinders and its time, ms; distances rise.
        #[schemars(length(min = 1), inner(inner(range(min = 0.0, max = 1e9))), extend("x-unit" = "ms"))]
        points: Vec<[f64; 2]>,
    },
    /// Up to `short_below` cylinders `a + b * sqrt(d)`, from there `c + e * d` (Ruemmler and Wilkes 1994); the first
    /// distances may have measured times of their own.
    Hpl {
        /// First distance of the straight part, cylinders.
        #[schemars(range(min = 0.0, max = 1e9))]
        short_below: f64,
        /// Constant of the short part, ms.
        #[schemars(range(min = -10000.0, max = 10000.0), extend("x-unit" = "ms"))]
        short_constant_ms: f64,
        /// Factor of the square root of the distance, ms.
        #[schemars(range(min = -10000.0, max = 10000.0), extend("x-unit" = "ms"))]
        short_sqrt_ms: f64,
        /// Constant of the long part, ms.
        #[schemars(range(min = -10000.0, max = 10000.0), extend("x-unit" = "ms"))]
        long_constant_ms: f64,
        /// Factor of the distance, ms.
        #[schemars(range(min = -10000.0, max = 10000.0), extend("x-unit" = "ms"))]
        long_linear_ms: f64,
        /// Measured times of the distances 1, 2, and so on, ms; they come before the formula.
        #[serde(default)]
        #[schemars(inner(range(min = 0.0, max = 10000.0)), extend("x-unit" = "ms"))]
        first_ms: Vec<f64>,
    },
    /// `a + b * sqrt(d - 1) + c * (d - 1)` through a single-cylinder, an average and a full-stroke time (Lee 1993); where `b`
    /// or `c` would be negative, as `three-point`.
    Lee {
        /// Time of one cylinder.
        #[schemars(range(min = 0.0, max = 10000.0), extend("x-unit" = "ms"))]
        single_ms: f64,
        /// Time of a third of the stroke.
        #[schemars(range(min = 0.0, max = 10000.0), extend("x-unit" = "ms"))]
        average_ms: f64,
        /// Time of the full stroke.
        #[schemars(range(min = 0.0, max = 10000.0), extend("x-unit" = "ms"))]
        full_ms: f64,
    },
    /// Through a single-cylinder, an average and a full-stroke time, in two straight lines: up to a third of the stroke and
    /// beyond.
    ThreePoint {
        /// Time of one cylinder.
        #[schemars(range(min = 0.0, max = 10000.0), extend("x-unit" = "ms"))]
        single_ms: f64,
        /// Time of a third of the stroke.
        #[schemars(range(min = 0.0, max = 10000.0), extend("x-unit" = "ms"))]
        average_ms: f64,
        /// Time of the full stroke.
        #[schemars(range(min = 0.0, max = 10000.0), extend("x-unit" = "ms"))]
        full_ms: f64,
    },
    /// A straight line from a single cylinder to the full stroke.
    Linear {
        /// Time of one cylinder.
        #[schemars(range(min = 0.0, max = 10000.0), extend("x-unit" = "ms"))]
        single_ms: f64,
        /// Time of the full stroke.
        #[schemars(range(min = 0.0, max = 10000.0), extend("x-unit" = "ms"))]
        full_ms: f64,
    },
    /// The same time for every distance but 0.
    Constant {
        /// That time.
        #[schemars(range(min = 0.0, max = 10000.0), extend("x-unit" = "ms"))]
        seek_ms: f64,
    },
}
