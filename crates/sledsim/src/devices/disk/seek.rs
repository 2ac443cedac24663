//! Seek times as a function of the distance.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DiskParameters;
use crate::convert::{to_u32, to_usize, trunc_to_u64};
use crate::fault::{Fault, Kind};

/// Nanoseconds in a millisecond.
const NS_PER_MS: f64 = 1e6;

/// Maximum number of distances in tables; times of greater distances are computed.
const TABLE_DISTANCES: u64 = 1 << 20;

/// Longest time in a table, ns. The table ends before the first longer one.
const TABLE_NS: u64 = u32::MAX as u64;

/// Longest seek, ns; longer ones take this time.
const LONGEST_NS: f64 = 1e12;

/// Seek time as a function of the distance in cylinders.
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
    /// The same time for every distance above 0.
    Constant {
        /// The time.
        #[schemars(range(min = 0.0, max = 10000.0), extend("x-unit" = "ms"))]
        seek_ms: f64,
    },
}

/// Seek times of a drive, and the shortest time of each distance and all greater ones.
#[derive(Clone, Debug)]
pub struct Seek {
    formula: Formula,
    farthest: u64,
    /// Time of each distance, ns; shared by all copies of a drive.
    times: Arc<[u32]>,
    /// Shortest time of each distance and all greater ones, ns.
    bounds: Arc<[u32]>,
    /// Bounds at the distances where the curve may have an extremum.
    extrema: Vec<Extremum>,
}

/// A distance at which a curve may have an extremum.
#[derive(Clone, Copy, Debug)]
struct Extremum {
    distance: u64,
    /// Shortest time at the distance and all later extrema.
    least_ns: u64,
}

/// A curve in nanoseconds.
#[derive(Clone, Debug)]
enum Formula {
    /// Linear interpolation between points (distance, time), and extrapolation beyond both ends.
    Points(Vec<[f64; 2]>),
    /// Times of the first distances; then `a + b * sqrt(d)` below the distance `short_below`, `c + e * d` from there.
    Hpl { first: Vec<f64>, short_below: f64, short: [f64; 2], long: [f64; 2] },
    /// `a + b * sqrt(d - 1) + c * (d - 1)`.
    Root([f64; 3]),
}

impl Formula {
    /// Returns the formula of a curve over distances up to `farthest`, at least 1.
    fn new(curve: &SeekCurve, farthest: u64, cylinders: u32) -> Result<Self, Fault> {
        let ns = |ms: f64| ms * NS_PER_MS;
        let span = (farthest - 1) as f64;
        let third = f64::from(cylinders) / 3.0;
        match *curve {
            SeekCurve::Table { ref points } => points_formula(points),
            SeekCurve::Hpl {
                short_below,
                short_constant_ms,
                short_sqrt_ms,
                long_constant_ms,
                long_linear_ms,
                ref first_ms,
            } => Ok(Self::Hpl {
                first: first_ms.iter().copied().map(ns).collect(),
                short_below,
                short: [ns(short_constant_ms), ns(short_sqrt_ms)],
                long: [ns(long_constant_ms), ns(long_linear_ms)],
            }),
            SeekCurve::Lee { single_ms, average_ms, full_ms } => {
                let [single, average, full] = [single_ms, average_ms, full_ms].map(ns);
                if span == 0.0 {
                    return Ok(Self::Root([single, 0.0, 0.0]));
                }
                let root = (-10.0 * single + 15.0 * average - 5.0 * full) / (3.0 * span.sqrt());
                let linear = (7.0 * single - 15.0 * average + 8.0 * full) / (3.0 * span);
                if root < 0.0 || linear < 0.0 {
                    return Ok(three_point([single, average, full], third, farthest));
                }
                Ok(Self::Root([single, root, linear]))
            }
            SeekCurve::ThreePoint { single_ms, average_ms, full_ms } => {
                Ok(three_point([single_ms, average_ms, full_ms].map(ns), third, farthest))
            }
            SeekCurve::Linear { single_ms, full_ms } => {
                let linear = if span == 0.0 { 0.0 } else { (ns(full_ms) - ns(single_ms)) / span };
                Ok(Self::Root([ns(single_ms), 0.0, linear]))
            }
            SeekCurve::Constant { seek_ms } => Ok(Self::Root([ns(seek_ms), 0.0, 0.0])),
        }
    }

    /// Returns the time of a distance of at least 1, ns.
    fn time_ns(&self, distance: u64) -> u64 {
        let d = distance as f64;
        match self {
            Self::Points(points) => self.time_after_ns(distance, points.partition_point(|point| point[0] < d)),
            Self::Hpl { .. } | Self::Root(_) => self.time_after_ns(distance, 0),
        }
    }

    /// Returns the times of the distances from 1 to `farthest`, ns, in a time that does not depend on the number of points.
    fn times_ns(&self, farthest: u64) -> impl Iterator<Item = u64> + '_ {
        let points: &[[f64; 2]] = if let Self::Points(points) = self { points } else { &[] };
        let mut below = 0;
        (1..farthest + 1).map(move |distance| {
            while points.get(below).is_some_and(|point| point[0] < distance as f64) {
                below += 1;
            }
            self.time_after_ns(distance, below)
        })
    }

    /// Returns the time of a distance of at least 1, ns. `below` is the number of points below the distance, if there are points.
    fn time_after_ns(&self, distance: u64, below: usize) -> u64 {
        let d = distance as f64;
        let ns = match self {
            Self::Points(points) => {
                // The pair around the distance, or the first or last pair.
                let behind = below.clamp(1, points.len().max(2) - 1);
                match points.get(behind) {
                    None => points[0][1],
                    Some(to) => {
                        let from = points[behind - 1];
                        from[1] + (d - from[0]) / (to[0] - from[0]) * (to[1] - from[1])
                    }
                }
            }
            Self::Hpl { first, short_below, short, long } => match first.get(to_usize(distance) - 1) {
                Some(ns) => *ns,
                None if d < *short_below => short[0] + short[1] * d.sqrt(),
                None => long[0] + long[1] * d,
            },
            Self::Root([constant, root, linear]) => constant + root * (d - 1.0).sqrt() + linear * (d - 1.0),
        };
        trunc_to_u64(ns.clamp(0.0, LONGEST_NS) + 0.5)
    }

    /// Returns distances such that the curve is monotonic from each to the distance before the next.
    fn extrema(&self) -> Vec<f64> {
        match self {
            Self::Points(points) => points.iter().flat_map(|point| [point[0].floor(), point[0].ceil()]).collect(),
            Self::Hpl { first, short_below, .. } => {
                let mut extrema: Vec<f64> = (1..=first.len() + 1).map(|distance| distance as f64).collect();
                extrema.extend([short_below.ceil() - 1.0, short_below.ceil()]);
                extrema
            }
            // Both terms rise, or there is only one.
            Self::Root(_) => Vec::new(),
        }
    }
}

/// Returns the formula of a table.
fn points_formula(points: &[[f64; 2]]) -> Result<Formula, Fault> {
    if points.is_empty() {
        return Err(Fault::missing("seek.points.0").says(": there is no point"));
    }
    let is_point = |point: &[f64; 2]| point[0] >= 0.0 && point[0].is_finite() && point[1].is_finite();
    if let Some(entry) = points.iter().position(|point| !is_point(point)) {
        let value = points[entry].to_vec();
        return Err(
            Fault::of(Kind::OutOfRange, format!("seek.points.{entry}"), value).says(" is not a distance with a time")
        );
    }
    if let Some(entry) = points.windows(2).position(|pair| pair[0][0] >= pair[1][0]) {
        let (distance, before) = (points[entry + 1][0], points[entry][0]);
        return Err(Fault::conflict(format!("seek.points.{}.0", entry + 1), distance)
            .says(format!(": this distance follows one of {before}; distances must rise")));
    }
    Ok(Formula::Points(points.iter().map(|[distance, ms]| [*distance, ms * NS_PER_MS]).collect()))
}

/// Returns straight lines from a distance of 1 to a third of the cylinders, and on to the full stroke.
fn three_point([single, average, full]: [f64; 3], third: f64, farthest: u64) -> Formula {
    let farthest = farthest as f64;
    if third <= 1.0 || farthest <= third {
        return Formula::Points(if farthest > 1.0 {
            vec![[1.0, single], [farthest, full]]
        } else {
            vec![[1.0, single]]
        });
    }
    Formula::Points(vec![[1.0, single], [third, average], [farthest, full]])
}

/// Checks that all values are finite.
fn check(curve: &SeekCurve) -> Result<(), Fault> {
    let values = match curve {
        SeekCurve::Table { .. } => Vec::new(),
        SeekCurve::Hpl {
            short_below,
            short_constant_ms,
            short_sqrt_ms,
            long_constant_ms,
            long_linear_ms,
            first_ms,
        } => {
            let formula = [*short_below, *short_constant_ms, *short_sqrt_ms, *long_constant_ms, *long_linear_ms];
            formula.into_iter().chain(first_ms.iter().copied()).collect()
        }
        SeekCurve::Lee { single_ms, average_ms, full_ms }
        | SeekCurve::ThreePoint { single_ms, average_ms, full_ms } => {
            vec![*single_ms, *average_ms, *full_ms]
        }
        SeekCurve::Linear { single_ms, full_ms } => vec![*single_ms, *full_ms],
        SeekCurve::Constant { seek_ms } => vec![*seek_ms],
    };
    match values.iter().find(|value| !value.is_finite()) {
        Some(value) => Err(Fault::of(Kind::OutOfRange, "seek", *value).says(" is not a finite number")),
        None => Ok(()),
    }
}

impl Seek {
    /// Returns the seek times of a drive.
    ///
    /// # Errors
    /// The distances of a table do not rise, or a value is not finite.
    pub fn new(parameters: &DiskParameters) -> Result<Self, Fault> {
        check(&parameters.seek)?;
        let farthest = u64::from(parameters.cylinders.max(2) - 1);
        Ok(Self::with_formula(Formula::new(&parameters.seek, farthest, parameters.cylinders)?, farthest))
    }

    fn with_formula(formula: Formula, farthest: u64) -> Self {
        let mut distances: Vec<u64> =
            formula.extrema().into_iter().map(|distance| trunc_to_u64(distance.clamp(1.0, farthest as f64))).collect();
        distances.push(farthest);
        distances.sort_unstable();
        distances.dedup();
        let mut extrema: Vec<Extremum> = Vec::with_capacity(distances.len());
        let mut least_ns = u64::MAX;
        for distance in distances.into_iter().rev() {
            least_ns = least_ns.min(formula.time_ns(distance));
            extrema.push(Extremum { distance, least_ns });
        }
        extrema.reverse();
        let mut seek = Self { formula, farthest, times: Arc::default(), bounds: Arc::default(), extrema };
        seek.fill_tables();
        seek
    }

    /// Fills the tables up to their maximum size and time.
    fn fill_tables(&mut self) {
        let known = self.formula.times_ns(self.farthest.min(TABLE_DISTANCES));
        let times: Vec<u32> = std::iter::once(0).chain(known.take_while(|ns| *ns <= TABLE_NS).map(to_u32)).collect();
        let mut later = 0;
        let bound_ns = |(distance, time_ns): (u64, u32)| {
            while self.extrema.get(later).is_some_and(|extremum| extremum.distance < distance) {
                later += 1;
            }
            let longer_ns = self.extrema.get(later).map_or(TABLE_NS, |extremum| extremum.least_ns);
            to_u32(longer_ns.min(time_ns.into()))
        };
        let bounds = (0..).zip(times.iter().copied()).map(bound_ns).collect();
        (self.times, self.bounds) = (times.into(), bounds);
    }

    /// Returns the time of a seek over `distance` cylinders, ns; 0 for none.
    #[inline]
    #[must_use]
    pub fn time_ns(&self, distance: u32) -> u64 {
        match self.times.get(distance as usize) {
            Some(ns) => u64::from(*ns),
            None => self.formula.time_ns(u64::from(distance)),
        }
    }

    /// Returns the shortest time of a seek over `distance` cylinders or more, ns; 0 for none.
    #[inline]
    #[must_use]
    pub fn bound_ns(&self, distance: u32) -> u64 {
        match self.bounds.get(distance as usize) {
            Some(ns) => u64::from(*ns),
            None => self.compute_bound_ns(u64::from(distance)),
        }
    }

    /// Returns [`Seek::bound_ns`] of the distances from 0 to the end of the table.
    pub(super) fn bounds(&self) -> &[u32] {
        &self.bounds
    }

    /// Returns the shortest time of the distance and all later extrema: between two extrema a curve is shortest at one end.
    fn compute_bound_ns(&self, distance: u64) -> u64 {
        if distance == 0 {
            return 0;
        }
        let later = self.extrema.partition_point(|extremum| extremum.distance < distance);
        let time_ns = self.formula.time_ns(distance);
        self.extrema.get(later).map_or(time_ns, |extremum| extremum.least_ns.min(time_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_equal_the_formula() {
        let points = vec![[1.0, 1.5], [2.5, 1.2], [40.0, 3.0], [41.0, 2.5], [90.0, 8.0]];
        let points = points.into_iter().map(|[distance, ms]| [distance, ms * NS_PER_MS]).collect();
        let first = vec![2e6, 1e6];
        for formula in [
            Formula::Points(points),
            Formula::Points(vec![[5.0, 1e6]]),
            Formula::Hpl { first, short_below: 20.0, short: [1e6, 3e5], long: [2e6, 1e4] },
            Formula::Root([1e6, 2e5, 1e4]),
        ] {
            let seek = Seek::with_formula(formula, 100);
            assert_eq!(seek.times.len(), 101);
            for distance in 1..=100 {
                assert_eq!(u64::from(seek.times[distance]), seek.formula.time_ns(distance as u64), "{distance}");
                assert_eq!(u64::from(seek.bounds[distance]), seek.compute_bound_ns(distance as u64), "{distance}");
            }
        }
    }
}
