//! Time of a seek by its distance.

use std::sync::Arc;

use super::{DiskParameters, SeekCurve};
use crate::convert::{to_u32, to_usize, trunc_to_u64};
use crate::fault::{Fault, Kind};

/// Nanoseconds in a millisecond.
const NS_PER_MS: f64 = 1e6;

/// Most distances whose times are kept in tables; farther ones are worked out.
const TABLE_DISTANCES: u64 = 1 << 20;

/// Longest time of a table, ns; a curve that goes beyond has no table from there on.
const TABLE_NS: u64 = u32::MAX as u64;

/// Longest seek that is told apart, ns: 1,000 s.
const MOST_NS: f64 = 1e12;

/// A seek curve: times of distances, and the least time from each distance on.
#[derive(Clone, Debug)]
pub struct Seek {
    formula: Formula,
    farthest: u64,
    /// Times by distance, ns: one table for all copies of a drive.
    times: Arc<[u32]>,
    /// Least times of a distance and all farther ones, ns.
    bounds: Arc<[u32]>,
    /// Distances beside which a curve may turn, and the least time of each and all behind it, ns.
    turns: Vec<(u64, u64)>,
}

/// A curve in nanoseconds.
#[derive(Clone, Debug)]
enum Formula {
    /// Through points, straight between them and on beyond both ends.
    Points(Vec<[f64; 2]>),
    /// Times of the first distances; below a distance `a + b * sqrt(d)`, `c + e * d` from there.
    Hpl { first: Vec<f64>, short_below: f64, short: [f64; 2], long: [f64; 2] },
    /// `a + b * sqrt(d - 1) + c * (d - 1)`.
    Root([f64; 3]),
}

impl Formula {
    /// The formula of a curve over distances up to `farthest`, at least 1.
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

    /// Time of a distance of at least 1, ns.
    fn time_ns(&self, distance: u64) -> u64 {
        let d = distance as f64;
        let ns = match self {
            Self::Points(points) => {
                // The pair around the distance, or the first or last pair.
                let behind = points.partition_point(|point| point[0] < d).clamp(1, points.len().max(2) - 1);
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
        trunc_to_u64(ns.clamp(0.0, MOST_NS) + 0.5)
    }

    /// Distances such that the curve only rises or only falls from one to the distance before the next.
    fn turns(&self) -> Vec<f64> {
        match self {
            Self::Points(points) => points.iter().flat_map(|point| [point[0].floor(), point[0].ceil()]).collect(),
            Self::Hpl { first, short_below, .. } => {
                let mut turns: Vec<f64> = (1..=first.len() + 1).map(|distance| distance as f64).collect();
                turns.extend([short_below.ceil() - 1.0, short_below.ceil()]);
                turns
            }
            // Neither part falls, or there is but one.
            Self::Root(_) => Vec::new(),
        }
    }
}

/// Straight lines through points.
fn points_formula(points: &[[f64; 2]]) -> Result<Formula, Fault> {
    if points.is_empty() {
        return Err(Fault::missing("seek.points.0").says(": there is no point"));
    }
    let is_point = |point: &[f64; 2]| point[0] >= 0.0 && point[0].is_finite() && point[1].is_finite();
    if let Some(entry) = points.iter().position(|point| !is_point(point)) {
        let value = points[entry].to_vec();
        return Err(
            Fault::of(Kind::OutOfRange, format!("seek.points.{entry}"), value).says(" is no distance with a time")
        );
    }
    if let Some(entry) = points.windows(2).position(|pair| pair[0][0] >= pair[1][0]) {
        let (distance, before) = (points[entry + 1][0], points[entry][0]);
        return Err(Fault::conflict(format!("seek.points.{}.0", entry + 1), distance)
            .says(format!(": this distance follows one of {before}; distances must rise")));
    }
    Ok(Formula::Points(points.iter().map(|[distance, ms]| [*distance, ms * NS_PER_MS]).collect()))
}

/// Straight lines from a single cylinder to a third of them, and on to the full stroke.
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

/// Refuses what is not a number, or not one to reckon with.
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
        Some(value) => Err(Fault::of(Kind::OutOfRange, "seek", *value).says(" is no number to reckon with")),
        None => Ok(()),
    }
}

impl Seek {
    /// The curve of a drive.
    ///
    /// # Errors
    /// Distances of a table that do not rise, times that are not numbers: says which.
    pub fn new(parameters: &DiskParameters) -> Result<Self, Fault> {
        check(&parameters.seek)?;
        let farthest = u64::from(parameters.cylinders.max(2) - 1);
        let formula = Formula::new(&parameters.seek, farthest, parameters.cylinders)?;
        let mut distances: Vec<u64> =
            formula.turns().into_iter().map(|turn| trunc_to_u64(turn.clamp(1.0, farthest as f64))).collect();
        distances.push(farthest);
        distances.sort_unstable();
        distances.dedup();
        let mut turns: Vec<(u64, u64)> = Vec::with_capacity(distances.len());
        let mut least_ns = u64::MAX;
        for distance in distances.into_iter().rev() {
            least_ns = least_ns.min(formula.time_ns(distance));
            turns.push((distance, least_ns));
        }
        turns.reverse();
        let mut seek = Self { formula, farthest, times: Arc::default(), bounds: Arc::default(), turns };
        seek.fill();
        Ok(seek)
    }

    /// Fills the tables as far as they go.
    fn fill(&mut self) {
        let known = (1..self.farthest.min(TABLE_DISTANCES) + 1).map(|distance| self.formula.time_ns(distance));
        let times: Arc<[u32]> = std::iter::once(0).chain(known.take_while(|ns| *ns <= TABLE_NS).map(to_u32)).collect();
        let bounds =
            (0..times.len() as u64).map(|distance| to_u32(self.work_out_bound_ns(distance).min(TABLE_NS))).collect();
        (self.times, self.bounds) = (times, bounds);
    }

    /// Time of a seek over so many cylinders, ns: 0 for none.
    #[inline]
    #[must_use]
    pub fn time_ns(&self, distance: u32) -> u64 {
        match self.times.get(distance as usize) {
            Some(ns) => u64::from(*ns),
            None => self.formula.time_ns(u64::from(distance)),
        }
    }

    /// Least time of a seek over so many cylinders or more, ns: 0 for none.
    #[inline]
    #[must_use]
    pub fn bound_ns(&self, distance: u32) -> u64 {
        match self.bounds.get(distance as usize) {
            Some(ns) => u64::from(*ns),
            None => self.work_out_bound_ns(u64::from(distance)),
        }
    }

    /// The least of the distance itself and all turns behind it: between two turns a curve has its least at one end.
    fn work_out_bound_ns(&self, distance: u64) -> u64 {
        if distance == 0 {
            return 0;
        }
        let behind = self.turns.partition_point(|turn| turn.0 < distance);
        let own_ns = self.formula.time_ns(distance);
        self.turns.get(behind).map_or(own_ns, |turn| turn.1.min(own_ns))
    }
}
