//! Simulates many lives on several threads. The result does not depend on the number of threads.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::engine::random::Stream;
use crate::fault::{Fault, Faults, Kind, Range as Bounds};
use crate::limits::{DEVICE_LIVES, DEVICE_STEPS, THREADS};

use super::enclosure::{Draw, Life, Unfinished, UNFORCED_SHARE};
use super::loss_probabilities::LossProbabilities;
use super::parameters::{range_fault, Enclosure};
use super::tally::{Outcome, Tally, Visits};

/// Lives that share a random stream: the unit of work of a thread.
const CHUNK: u64 = 1000;
/// Chunks of the first round if a precision is required. Each round doubles the number of lives.
const FIRST_ROUND: u64 = 16;
/// Interval between two calls of `keep_going`.
const KEEP_GOING_INTERVAL: Duration = Duration::from_millis(50);
/// Most horizons.
const MAX_HORIZONS: usize = 10_000;
/// Longest horizon, h: 100 million years.
const LONGEST_H: f64 = 1e12;

/// An experiment: the lives to simulate, and the losses to count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Times by which losses are counted, h, increasing.
    pub horizons_h: Vec<f64>,
    /// If true, every life is simulated to its loss, which gives the mean time to data loss.
    pub to_loss: bool,
    /// If true, failures are forced, such that losses before the last horizon are frequent.
    pub forced: bool,
    /// Number of lives, at least 1000. With a precision, the largest number of lives.
    pub lifetimes: u64,
    /// The experiment ends when half the width of every interval, divided by its estimate, is at most this.
    pub precision: Option<f64>,
    /// Confidence of the intervals, 0.5 to 0.9999.
    pub confidence: f64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of threads, see [`THREADS`]; one for each core if absent. The result does not depend on it.
    pub threads: Option<NonZeroUsize>,
}

impl Experiment {
    /// Returns a fault for each invalid field.
    fn faults(&self) -> Vec<Fault> {
        let horizons = &self.horizons_h;
        let mut found = Vec::new();
        if horizons.len() > MAX_HORIZONS || horizons.is_empty() && !self.to_loss {
            let says = format!(": {} times: expected 1 to {MAX_HORIZONS}", horizons.len());
            found.push(Fault::at(Kind::OutOfRange, "horizons").says(says));
        }
        let in_range = horizons.iter().all(|horizon_h| *horizon_h > 0.0 && *horizon_h <= LONGEST_H);
        if !in_range || horizons.windows(2).any(|pair| pair[0] >= pair[1]) {
            let says = format!(": times must be above 0 h, at most {LONGEST_H:e} h, and in ascending order");
            found.push(Fault::at(Kind::OutOfRange, "horizons").says(says));
        }
        if self.forced && self.to_loss {
            let says = ": forced lives end at the last horizon and can't be simulated to their loss";
            found.push(Fault::at(Kind::Conflict, "to_loss").says(says));
        }
        found.extend(range_fault("lifetimes", self.lifetimes as f64, CHUNK as f64, 1e15));
        found.extend(self.precision.and_then(|precision| range_fault("precision", precision, 1e-6, 1.0)));
        found.extend(range_fault("confidence", self.confidence, 0.5, 0.9999));
        if let Some(threads) = self.threads.filter(|threads| threads.get() as u64 > THREADS.most) {
            let range = Bounds { whole: true, ..Bounds::from_to(1.0, THREADS.most as f64) };
            found.push(Fault::out_of_range("threads", threads.get() as u64, range));
        }
        found
    }

    /// Returns the time to which lives are simulated, h.
    fn until_h(&self) -> f64 {
        let last_h = self.horizons_h.last().copied().unwrap_or(f64::INFINITY);
        if self.to_loss {
            f64::INFINITY
        } else {
            last_h
        }
    }

    /// Returns the number of draws and counts for one life.
    fn draws(&self, enclosure: &Enclosure) -> u64 {
        let devices = u64::from(enclosure.devices()).saturating_mul(enclosure.device.draws(self.until_h()));
        devices.saturating_add(self.horizons_h.len() as u64)
    }

    /// Returns the largest number of lives of an enclosure, see [`DEVICE_LIVES`].
    #[must_use]
    pub fn most_lifetimes(&self, enclosure: &Enclosure) -> u64 {
        DEVICE_LIVES.most / self.draws(enclosure).max(1)
    }

    /// Returns a fault if the lives need too many draws.
    fn too_much(&self, enclosure: &Enclosure) -> Option<Fault> {
        let (devices, horizons) = (enclosure.devices(), self.horizons_h.len());
        let most = self.most_lifetimes(enclosure);
        if self.lifetimes <= most {
            return None;
        }
        let tips = if enclosure.device.tips.is_some() { ", failures of tips," } else { "" };
        let remedy = if most < CHUNK {
            format!("use fewer devices{tips} or times: at least {CHUNK} lifetimes are needed")
        } else {
            format!("ask for at most {most}; rare losses need fewer where they are forced")
        };
        let says = format!(
            ", each with {devices} devices and spares{tips} and {} to count losses by, need {} draws, more \
             than {}: {remedy}",
            if horizons == 1 { "a time".to_owned() } else { format!("{horizons} times") },
            u128::from(self.lifetimes) * u128::from(self.draws(enclosure)),
            DEVICE_LIVES.most,
        );
        Some(Fault::of(Kind::OutOfRange, "lifetimes", self.lifetimes).says(says))
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
/// Calls `keep_going` several times a second with the number of lives simulated so far. If it returns false, the result is that of
/// these lives, and is marked as interrupted. A seed gives the same result on any number of threads.
///
/// # Errors
/// All invalid fields of the enclosure and of the experiment; too many draws, see [`DEVICE_LIVES`]; too many events, see
/// [`DEVICE_STEPS`].
///
/// # Panics
/// One of the threads panics.
pub fn simulate(
    enclosure: &Enclosure,
    experiment: &Experiment,
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> Result<Outcome, Faults> {
    Faults::none_of(enclosure.faults().into_iter().chain(experiment.faults()).collect())?;
    Faults::none_of(experiment.too_much(enclosure).into_iter().collect())?;
    let losses = match experiment.horizons_h.last() {
        Some(&horizon_h) if experiment.forced => Some(LossProbabilities::new(enclosure, horizon_h)?),
        _ => None,
    };
    let mut tally = Tally::new(experiment.horizons_h.len());
    let mut from = 0;
    loop {
        let whole = experiment.chunks();
        let to = if experiment.precision.is_some() { (2 * from).max(FIRST_ROUND).min(whole) } else { whole };
        let lives = Lives { enclosure, experiment, losses: losses.as_ref(), steps: DEVICE_STEPS.most / to };
        let mut goes_on = true;
        let mut watched = |lives| {
            goes_on = keep_going(lives);
            goes_on
        };
        let finished = match lives.run_chunks(from..to, &mut tally, &mut watched) {
            Ok(()) => true,
            Err(Unfinished::Stopped) => false,
            Err(Unfinished::TooLong) => return Err(lives.too_many_steps().into()),
        };
        let Experiment { horizons_h, forced, to_loss, confidence, .. } = experiment;
        let outcome = tally.outcome(horizons_h, *forced, *to_loss, *confidence);
        let enough = finished && (to == whole || experiment.is_precise(&outcome));
        // A stop after the last life is reported, too: the caller may have further work to cancel.
        let interrupted = !finished || !goes_on;
        if enough || interrupted {
            return Ok(Outcome { interrupted, ..outcome });
        }
        from = to;
    }
}

/// The lives of one round.
struct Lives<'a> {
    enclosure: &'a Enclosure,
    experiment: &'a Experiment,
    losses: Option<&'a LossProbabilities>,
    /// Most device steps of a chunk.
    steps: u64,
}

impl Lives<'_> {
    /// Simulates chunks and merges their counts in order.
    ///
    /// # Errors
    /// Not all chunks were completed.
    fn run_chunks(
        &self,
        chunks: Range<u64>,
        tally: &mut Tally,
        keep_going: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), Unfinished> {
        let next = AtomicU64::new(chunks.start);
        let stop = AtomicBool::new(false);
        let (sender, done) = channel();
        thread::scope(|scope| {
            for number in 0..self.threads(&chunks) {
                let (sender, next, stop, end) = (sender.clone(), &next, &stop, chunks.end);
                let work = move || loop {
                    let chunk = next.fetch_add(1, Ordering::Relaxed);
                    if chunk >= end {
                        return;
                    }
                    let lives = self.run_chunk(chunk, stop);
                    let is_last = lives.is_err();
                    if sender.send((chunk, lives)).is_err() || is_last {
                        return;
                    }
                };
                match thread::Builder::new().spawn_scoped(scope, work) {
                    Ok(_) => {}
                    Err(_) if number == 0 => return self.run_on_this_thread(chunks.clone(), tally, keep_going),
                    // The threads that were started do all the work.
                    Err(_) => break,
                }
            }
            drop(sender);
            let collected = collect(&done, chunks.clone(), tally, keep_going);
            // Further chunks may be in progress.
            stop.store(true, Ordering::Relaxed);
            collected
        })
    }

    /// Simulates chunks one after another, for systems without threads, such as WebAssembly.
    ///
    /// # Errors
    /// Not all chunks were completed.
    fn run_on_this_thread(
        &self,
        chunks: Range<u64>,
        tally: &mut Tally,
        keep_going: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), Unfinished> {
        let mut last_call = Instant::now();
        for chunk in chunks.clone() {
            tally.merge(&self.run_chunk(chunk, &AtomicBool::new(false))?);
            if last_call.elapsed() >= KEEP_GOING_INTERVAL {
                last_call = Instant::now();
                if !keep_going(tally.lives) && chunk + 1 < chunks.end {
                    return Err(Unfinished::Stopped);
                }
            }
        }
        Ok(())
    }

    /// Returns the number of threads: at most one for each chunk.
    fn threads(&self, chunks: &Range<u64>) -> u64 {
        (self.experiment.threads() as u64).min(chunks.end - chunks.start)
    }

    /// Simulates one chunk. An incomplete chunk would be biased towards short lives, so it gives an error.
    fn run_chunk(&self, chunk: u64, stop: &AtomicBool) -> Result<Tally, Unfinished> {
        let Experiment { horizons_h, lifetimes, seed, .. } = self.experiment;
        let mut stream = Stream::new(*seed, &format!("enclosure lifetimes {chunk}"));
        let mut tally = Tally::new(horizons_h.len());
        let mut visits = Visits::new(horizons_h);
        let mut life = Life::new(self.enclosure, self.experiment.until_h(), self.steps, stop);
        for _ in 0..CHUNK.min(lifetimes - chunk * CHUNK) {
            if stop.load(Ordering::Relaxed) {
                return Err(Unfinished::Stopped);
            }
            let forced = self.losses.is_some() && !stream.chance(UNFORCED_SHARE);
            let draw = self.losses.map_or(Draw::Lifetimes, |losses| Draw::InWindows { losses, forced });
            let end = life.run(draw, &mut stream, &mut visits)?;
            tally.add(end, forced, &mut visits);
        }
        Ok(tally)
    }

    /// Returns the fault for too many events.
    fn too_many_steps(&self) -> Fault {
        let Experiment { lifetimes, to_loss, .. } = self.experiment;
        let fewer = if *lifetimes > CHUNK { "fewer lifetimes, " } else { "" };
        let sooner = if *to_loss { "no simulation to the loss" } else { "an earlier time" };
        let says = format!(
            ", each with {} devices and spares, have too many failures, rebuilds and visits: {CHUNK} of them need more than {} \
             device steps; use {fewer}rarer failures or {sooner}",
            self.enclosure.devices(),
            self.steps,
        );
        Fault::of(Kind::OutOfRange, "lifetimes", *lifetimes).says(says)
    }
}

/// Merges the counts of chunks in the order of the chunks.
///
/// # Errors
/// Not all chunks were completed.
fn collect(
    done: &Receiver<(u64, Result<Tally, Unfinished>)>,
    chunks: Range<u64>,
    tally: &mut Tally,
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> Result<(), Unfinished> {
    let mut next = chunks.start;
    let mut early = BTreeMap::new();
    let mut last_call = Instant::now();
    while next < chunks.end {
        match done.recv_timeout(KEEP_GOING_INTERVAL) {
            Ok((chunk, lives)) => {
                early.insert(chunk, lives?);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(Unfinished::Stopped),
        }
        while let Some(lives) = early.remove(&next) {
            tally.merge(&lives);
            next += 1;
        }
        if last_call.elapsed() >= KEEP_GOING_INTERVAL {
            last_call = Instant::now();
            if !keep_going(tally.lives) {
                return if next == chunks.end { Ok(()) } else { Err(Unfinished::Stopped) };
            }
        }
    }
    Ok(())
}
