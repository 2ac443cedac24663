//! Many lives on several threads, in an order that does not depend on their number.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::random::Stream;
use crate::fault::{Fault, Faults, Kind};

use super::enclosure::{Draw, Life, UNFORCED_SHARE};
use super::error::within;
use super::parameters::Enclosure;
use super::prospects::Prospects;
use super::tally::{Outcome, Tally, Visits};

/// Lives that share a random stream: what a thread takes at a time.
const CHUNK: u64 = 1000;
/// Chunks of the first round where a precision is asked for; each round doubles the lives.
const FIRST_ROUND: u64 = 16;
/// How often the caller is asked whether to go on.
const LOOK: Duration = Duration::from_millis(50);
/// Horizons at most.
const MOST_HORIZONS: usize = 10_000;
/// Longest horizon, h: a hundred million years.
const LONGEST_H: f64 = 1e12;

/// What is to be simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Times by which losses are counted, h, increasing.
    pub horizons_h: Vec<f64>,
    /// Whether every life is followed to its loss, which gives the mean time to it.
    pub to_loss: bool,
    /// Whether failures are forced into the windows in which they hurt. The last horizon is what is forced towards.
    pub forced: bool,
    /// Lives, at least 1000; at most so many where a precision is given.
    pub lifetimes: u64,
    /// Ends the experiment when half the width of every interval is so small a part of its estimate.
    pub precision: Option<f64>,
    /// Confidence of the intervals, 0.5 to 0.9999.
    pub confidence: f64,
    /// Chooses the random numbers.
    pub seed: u64,
    /// Threads; as many as the machine has cores when absent. The outcome does not depend on them.
    pub threads: Option<NonZeroUsize>,
}

impl Experiment {
    /// All that is wrong with it.
    fn faults(&self) -> Vec<Fault> {
        let horizons = &self.horizons_h;
        let mut found = Vec::new();
        if horizons.len() > MOST_HORIZONS || horizons.is_empty() && !self.to_loss {
            let says = format!(": {} times: expected 1 to {MOST_HORIZONS}", horizons.len());
            found.push(Fault::at(Kind::OutOfRange, "horizons").says(says));
        }
        let in_range = horizons.iter().all(|horizon_h| *horizon_h > 0.0 && *horizon_h <= LONGEST_H);
        if !in_range || horizons.windows(2).any(|pair| pair[0] >= pair[1]) {
            let says = format!(": times must be above 0 h, increasing, and at most {LONGEST_H:e} h");
            found.push(Fault::at(Kind::OutOfRange, "horizons").says(says));
        }
        if self.forced && self.to_loss {
            let says = ": lives that are forced end at a horizon: they cannot be followed to their loss";
            found.push(Fault::at(Kind::Conflict, "to_loss").says(says));
        }
        found.extend(within("lifetimes", self.lifetimes as f64, CHUNK as f64, 1e15));
        found.extend(self.precision.and_then(|precision| within("precision", precision, 1e-6, 1.0)));
        found.extend(within("confidence", self.confidence, 0.5, 0.9999));
        found
    }

    fn threads(&self) -> usize {
        let all = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        self.threads.map_or_else(all, NonZeroUsize::get)
    }

    fn chunks(&self) -> u64 {
        self.lifetimes.div_ceil(CHUNK)
    }

    fn is_precise(&self, outcome: &Outcome) -> bool {
        let estimates = outcome.horizons.iter().map(|at| &at.loss).chain(&outcome.mttf_h);
        self.precision.is_some_and(|wanted| estimates.into_iter().all(|each| each.relative_half_width() <= wanted))
    }
}

/// Simulates lives of an enclosure.
///
/// `keep_going` hears several times a second how many lives have been simulated; where it says no, the outcome is that of
/// the lives so far. A seed gives the same outcome on any number of threads.
///
/// # Errors
/// All fields of the enclosure and of the experiment that cannot be used.
///
/// # Panics
/// Where one of its threads does.
pub fn simulate(
    enclosure: &Enclosure,
    experiment: &Experiment,
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> Result<Outcome, Faults> {
    Faults::none_of(enclosure.faults().into_iter().chain(experiment.faults()).collect())?;
    let prospects = match experiment.horizons_h.last() {
        Some(&horizon_h) if experiment.forced => Some(Prospects::new(enclosure, horizon_h)?),
        _ => None,
    };
    let chunk = |number: u64, stop: &AtomicBool| run_chunk(enclosure, experiment, prospects.as_ref(), number, stop);
    let mut tally = Tally::new(experiment.horizons_h.len());
    let mut from = 0;
    loop {
        let whole = experiment.chunks();
        let to = if experiment.precision.is_some() { (2 * from).max(FIRST_ROUND).min(whole) } else { whole };
        let mut goes_on = true;
        let mut asked = |lives| {
            goes_on = keep_going(lives);
            goes_on
        };
        let finished = run_chunks(&chunk, from..to, experiment.threads(), &mut tally, &mut asked);
        let Experiment { horizons_h, forced, to_loss, confidence, .. } = experiment;
        let outcome = tally.outcome(horizons_h, *forced, *to_loss, *confidence);
        let enough = finished && (to == whole || experiment.is_precise(&outcome));
        // Who says no when a round is over anyway must not be asked again by the next.
        if enough || !finished || !goes_on {
            return Ok(Outcome { interrupted: !enough, ..outcome });
        }
        from = to;
    }
}

/// Simulates these chunks of lives; whether all of them.
fn run_chunks(
    run: &(dyn Fn(u64, &AtomicBool) -> Option<Tally> + Sync),
    chunks: Range<u64>,
    threads: usize,
    tally: &mut Tally,
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> bool {
    let next = AtomicU64::new(chunks.start);
    let stop = AtomicBool::new(false);
    let (sender, done) = channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, stop, end) = (sender.clone(), &next, &stop, chunks.end);
            scope.spawn(move || {
                loop {
                    let chunk = next.fetch_add(1, Ordering::Relaxed);
                    if chunk >= end {
                        return;
                    }
                    // Without all its lives, a chunk would favour short ones.
                    let Some(lives) = run(chunk, stop) else { return };
                    if sender.send((chunk, lives)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        collect(&done, chunks.clone(), tally, &stop, keep_going)
    })
}

/// Merges tallies in the order of their chunks as they come; whether all of them came.
fn collect(
    done: &Receiver<(u64, Tally)>,
    chunks: Range<u64>,
    tally: &mut Tally,
    stop: &AtomicBool,
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> bool {
    let mut wanted = chunks.start;
    let mut early = BTreeMap::new();
    let mut looked = std::time::Instant::now();
    while wanted < chunks.end {
        match done.recv_timeout(LOOK) {
            Ok((chunk, lives)) => {
                early.insert(chunk, lives);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        while let Some(lives) = early.remove(&wanted) {
            tally.merge(&lives);
            wanted += 1;
        }
        if looked.elapsed() >= LOOK {
            looked = std::time::Instant::now();
            if !keep_going(tally.lives) {
                stop.store(true, Ordering::Relaxed);
                return wanted == chunks.end;
            }
        }
    }
    true
}

/// Simulates one chunk; none where it was stopped.
fn run_chunk(
    enclosure: &Enclosure,
    experiment: &Experiment,
    prospects: Option<&Prospects>,
    chunk: u64,
    stop: &AtomicBool,
) -> Option<Tally> {
    let horizons_h = &experiment.horizons_h;
    let horizon_h = if experiment.to_loss { f64::INFINITY } else { *horizons_h.last()? };
    let mut stream = Stream::new(experiment.seed, &format!("enclosure lifetimes {chunk}"));
    let mut tally = Tally::new(horizons_h.len());
    let mut visits = Visits::new(horizons_h);
    let mut life = Life::new(enclosure, horizon_h);
    for _ in 0..CHUNK.min(experiment.lifetimes - chunk * CHUNK) {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let forced = prospects.is_some() && !stream.chance(UNFORCED_SHARE);
        let draw = prospects.map_or(Draw::AtBirth, |prospects| Draw::InWindows { prospects, forced });
        let fate = life.live(draw, &mut stream, &mut visits, stop)?;
        tally.add(fate, forced, &mut visits);
    }
    Some(tally)
}
