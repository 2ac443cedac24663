//! Counts over many lives, and the estimates from them.

use serde::Serialize;

use super::enclosure::LifeEnd;
use super::estimate::{binomial_interval, mean_interval, weighted_interval, Estimate, Sums};

/// Visits to one enclosure and replaced devices, by horizon.
#[derive(Clone, Debug)]
pub(super) struct Visits {
    horizons_h: Vec<f64>,
    /// By horizon: visits after the previous horizon.
    visits: Vec<u64>,
    replaced: Vec<u64>,
}

impl Visits {
    /// Returns zero counts for horizons in ascending order.
    pub(super) fn new(horizons_h: &[f64]) -> Self {
        let none = vec![0; horizons_h.len()];
        Self { horizons_h: horizons_h.to_vec(), visits: none.clone(), replaced: none }
    }

    /// Counts a visit.
    pub(super) fn record(&mut self, at_h: f64, replaced: u32) {
        let next = self.horizons_h.partition_point(|&horizon_h| horizon_h < at_h);
        if next < self.visits.len() {
            self.visits[next] += 1;
            self.replaced[next] += u64::from(replaced);
        }
    }
}

/// Counts up to one horizon.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct HorizonCount {
    /// Lives that lost data.
    losses: u64,
    /// Lives that lost data and were not forced.
    plain_losses: u64,
    /// Weights of the lives that lost data.
    weights: Sums,
    visits: Sums,
    replaced: Sums,
}

/// Counts over lives. The rounding of the sums depends on the order of additions and merges.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tally {
    pub(super) lives: u64,
    /// Lives that were not forced.
    plain_lives: u64,
    counts: Vec<HorizonCount>,
    /// Times to the loss of data, h.
    lifetimes: Sums,
}

impl Tally {
    pub(super) fn new(horizons: usize) -> Self {
        Self { lives: 0, plain_lives: 0, counts: vec![HorizonCount::default(); horizons], lifetimes: Sums::default() }
    }

    /// Adds a life, and resets its `visits`.
    pub(super) fn add(&mut self, end: LifeEnd, forced: bool, visits: &mut Visits) {
        self.lives += 1;
        self.plain_lives += u64::from(!forced);
        let (mut visited, mut replaced) = (0, 0);
        for (horizon, count) in self.counts.iter_mut().enumerate() {
            if end.lost_h.is_some_and(|lost_h| lost_h <= visits.horizons_h[horizon]) {
                count.losses += 1;
                count.plain_losses += u64::from(!forced);
                count.weights.add(end.weight);
            }
            visited += std::mem::take(&mut visits.visits[horizon]);
            replaced += std::mem::take(&mut visits.replaced[horizon]);
            count.visits.add(visited as f64);
            count.replaced.add(replaced as f64);
        }
        if let Some(lost_h) = end.lost_h {
            self.lifetimes.add(lost_h);
        }
    }

    /// Adds the lives of another tally.
    pub(super) fn merge(&mut self, other: &Self) {
        self.lives += other.lives;
        self.plain_lives += other.plain_lives;
        self.lifetimes.merge(&other.lifetimes);
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            mine.losses += theirs.losses;
            mine.plain_losses += theirs.plain_losses;
            mine.weights.merge(&theirs.weights);
            mine.visits.merge(&theirs.visits);
            mine.replaced.merge(&theirs.replaced);
        }
    }

    /// Returns the estimates from the counts.
    pub(super) fn outcome(&self, horizons_h: &[f64], forced: bool, to_loss: bool, confidence: f64) -> Outcome {
        let at = |(count, &horizon_h): (&HorizonCount, &f64)| {
            let plain = binomial_interval(count.plain_losses, self.plain_lives, confidence);
            let loss = if forced { weighted_interval(self.lives, count.weights, plain, confidence) } else { plain };
            // In a forced experiment, means over lives without weights are biased.
            let mean = |sums: &Sums| mean_interval(self.lives, *sums, confidence).filter(|_| !forced);
            let (visits, replaced) = (mean(&count.visits), mean(&count.replaced));
            AtHorizon { horizon_h, observed: count.losses, loss, visits, replaced }
        };
        let mttf_h = mean_interval(self.lives, self.lifetimes, confidence).filter(|_| to_loss);
        let horizons = self.counts.iter().zip(horizons_h).map(at).collect();
        Outcome { lifetimes: self.lives, interrupted: false, horizons, mttf_h }
    }
}

/// The result of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Enclosure lifetimes simulated.
    pub lifetimes: u64,
    /// True if it was stopped. It may have reached its precision at the same moment.
    pub interrupted: bool,
    /// Results for each horizon, in their order.
    pub horizons: Vec<AtHorizon>,
    /// Mean time to the loss of data, h; only if every life was simulated to its loss.
    pub mttf_h: Option<Estimate>,
}

/// The result of an experiment for one horizon.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtHorizon {
    /// The horizon, h.
    pub horizon_h: f64,
    /// Lives that lost data by then. In a forced experiment, most of them only because they were forced.
    pub observed: u64,
    /// Probability of a loss by then.
    pub loss: Estimate,
    /// Mean number of visits by then or until the loss; absent in a forced experiment.
    pub visits: Option<Estimate>,
    /// Mean number of devices replaced by these visits; absent in a forced experiment.
    pub replaced: Option<Estimate>,
}
