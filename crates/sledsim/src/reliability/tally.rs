//! What is counted of many lives, and what it amounts to.

use serde::Serialize;

use super::enclosure::Fate;
use super::estimate::{binomial_interval, mean_interval, weighted_interval, Estimate};

/// Visits to one enclosure, and devices put in by them, until each horizon.
#[derive(Clone, Debug)]
pub(super) struct Visits {
    horizons_h: Vec<f64>,
    /// By horizon: those after the horizon before it.
    visits: Vec<u64>,
    replaced: Vec<u64>,
}

impl Visits {
    /// None so far, for horizons in increasing order.
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

/// Sum of values and of their squares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    sum: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.squares += value * value;
    }

    fn merge(&mut self, other: &Self) {
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

/// What is counted until one horizon.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Count {
    /// Lives that lost data.
    losses: u64,
    /// Those of them that were not forced.
    plain_losses: u64,
    /// Their weights.
    weights: Sums,
    visits: Sums,
    replaced: Sums,
}

/// Counts over lives, in the order in which they were added or merged.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tally {
    pub(super) lives: u64,
    /// Those of them that were not forced.
    plain_lives: u64,
    counts: Vec<Count>,
    /// Lifetimes until loss, h.
    lifetimes: Sums,
}

impl Tally {
    pub(super) fn new(horizons: usize) -> Self {
        Self { lives: 0, plain_lives: 0, counts: vec![Count::default(); horizons], lifetimes: Sums::default() }
    }

    /// Adds a life of this weight, forced or not; `visits` is empty for the next one afterwards.
    pub(super) fn add(&mut self, fate: Fate, forced: bool, visits: &mut Visits) {
        self.lives += 1;
        self.plain_lives += u64::from(!forced);
        let (mut visited, mut replaced) = (0, 0);
        for (horizon, count) in self.counts.iter_mut().enumerate() {
            if fate.lost_h.is_some_and(|lost_h| lost_h <= visits.horizons_h[horizon]) {
                count.losses += 1;
                count.plain_losses += u64::from(!forced);
                count.weights.add(fate.weight);
            }
            visited += std::mem::take(&mut visits.visits[horizon]);
            replaced += std::mem::take(&mut visits.replaced[horizon]);
            count.visits.add(visited as f64);
            count.replaced.add(replaced as f64);
        }
        if let Some(lost_h) = fate.lost_h {
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

    /// What the counts amount to.
    pub(super) fn outcome(&self, horizons_h: &[f64], forced: bool, to_loss: bool, confidence: f64) -> Outcome {
        let at = |(count, &horizon_h): (&Count, &f64)| {
            let plain = binomial_interval(count.plain_losses, self.plain_lives, confidence);
            let weights = (count.weights.sum, count.weights.squares);
            let loss = if forced { weighted_interval(self.lives, weights, plain, confidence) } else { plain };
            // Of a forced experiment these would be means over lives that nobody leads.
            let mean = |sums: &Sums| mean_interval(self.lives, sums.sum, sums.squares, confidence).filter(|_| !forced);
            let (visits, replaced) = (mean(&count.visits), mean(&count.replaced));
            AtHorizon { horizon_h, observed: count.losses, loss, visits, replaced }
        };
        let lifetimes = &self.lifetimes;
        let mttf_h = mean_interval(self.lives, lifetimes.sum, lifetimes.squares, confidence).filter(|_| to_loss);
        let horizons = self.counts.iter().zip(horizons_h).map(at).collect();
        Outcome { lifetimes: self.lives, interrupted: false, horizons, mttf_h }
    }
}

/// What an experiment found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Enclosure lifetimes simulated.
    pub lifetimes: u64,
    /// Whether it was stopped; that may have been in the moment in which it had what was asked for.
    pub interrupted: bool,
    /// What was found for each horizon, in their order.
    pub horizons: Vec<AtHorizon>,
    /// Mean time to loss of data, h; only where every life was followed to its loss.
    pub mttf_h: Option<Estimate>,
}

/// What an experiment found for one horizon.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtHorizon {
    /// The horizon, h.
    pub horizon_h: f64,
    /// Lives seen to lose data by then; of a forced experiment, most of them only because they were forced.
    pub observed: u64,
    /// Probability of a loss by then.
    pub loss: Estimate,
    /// Mean number of visits by then, or until the loss; not of a forced experiment.
    pub visits: Option<Estimate>,
    /// Mean number of devices put in by them; not of a forced experiment.
    pub replaced: Option<Estimate>,
}
