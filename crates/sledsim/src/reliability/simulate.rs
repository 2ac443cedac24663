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
use crate::fault::{Fault, Faults, Kind, Range as Bounds};
use crate::limits::{DEVICE_LIVES, DEVICE_LOOKS, THREADS};

use super::enclosure::{Draw, Life, Unfinished, UNFORCED_SHARE};
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
    /// Threads, see [`THREADS`]; as many as the machine has cores when absent. The outcome does not depend on them.
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
        if let Some(threads) = self.threads.filter(|threads| threads.get() as u64 > THREADS.most) {
            let range = Bounds { whole: true, ..Bounds::from_to(1.0, THREADS.most as f64) };
            found.push(Fault::out_of_range("threads", threads.get() as u64, range));
        }
        found
    }

    /// Until when lives are followed, h.
    fn until_h(&self) -> f64 {
        let last_h = self.horizons_h.last().copied().unwrap_or(f64::INFINITY);
        if self.to_loss {
            f64::INFINITY
        } else {
            last_h
        }
    }

    /// What drawing a life and counting it takes.
    fn draws(&self, enclosure: &Enclosure) -> u64 {
        let devices = u64::from(enclosure.devices()).saturating_mul(enclosure.device.draws(self.until_h()));
        devices.saturating_add(self.horizons_h.len() as u64)
    }

    /// Lives of this enclosure that such an experiment may have at most, see [`DEVICE_LIVES`].
    #[must_use]
    pub fn most_lifetimes(&self, enclosure: &Enclosure) -> u64 {
        DEVICE_LIVES.most / self.draws(enclosure).max(1)
    }

    /// What is wrong with so many lives of this enclosure: together they may take more draws than can be made.
    fn too_much(&self, enclosure: &Enclosure) -> Option<Fault> {
        let (devices, horizons) = (enclosure.devices(), self.horizons_h.len());
        let most = self.most_lifetimes(enclosure);
        if self.lifetimes <= most {
            return None;
        }
        let tips = if enclosure.device.tips.is_some() { ", failures of tips," } else { "" };
        let remedy = if most < CHUNK {
            format!("fewer devices{tips} or times are needed, for {CHUNK} lifetimes")
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
/// `keep_going` hears several times a second how many lives have been simulated; where it says no, the outcome is that of
/// the lives so far, and says so even where these are all. A seed gives the same outcome on any number of threads.
///
/// # Errors
/// All fields of the enclosure and of the experiment that cannot be used; lives that take too long, see [`DEVICE_LIVES`]
/// before they begin and [`DEVICE_LOOKS`] when they have shown it.
///
/// # Panics
/// Where one of its threads does.
pub fn simulate(
    enclosure: &Enclosure,
    experiment: &Experiment,
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> Result<Outcome, Faults> {
    Faults::none_of(enclosure.faults().into_iter().chain(experiment.faults()).collect())?;
    Faults::none_of(experiment.too_much(enclosure).into_iter().collect())?;
    let prospects = match experiment.horizons_h.last() {
        Some(&horizon_h) if experiment.forced => Some(Prospects::new(enclosure, horizon_h)?),
        _ => None,
    };
    let mut tally = Tally::new(experiment.horizons_h.len());
    let mut from = 0;
    loop {
        let whole = experiment.chunks();
        let to = if experiment.precision.is_some() { (2 * from).max(FIRST_ROUND).min(whole) } else { whole };
        let lives = Lives { enclosure, experiment, prospects: prospects.as_ref(), looks: DEVICE_LOOKS.most / to };
        let mut goes_on = true;
        let mut asked = |lives| {
            goes_on = keep_going(lives);
            goes_on
        };
        let finished = match lives.run_chunks(from..to, &mut tally, &mut asked) {
            Ok(()) => true,
            Err(Unfinished::Stopped) => false,
            Err(Unfinished::TooLong) => return Err(lives.take_too_long().into()),
            Err(Unfinished::NoThread) => {
                let says = ": the system has no room for one more thread: end other programs, or raise its limits";
                return Err(Fault::at(Kind::Unsupported, "threads").says(says).into());
            }
        };
        let Experiment { horizons_h, forced, to_loss, confidence, .. } = experiment;
        let outcome = tally.outcome(horizons_h, *forced, *to_loss, *confidence);
        let enough = finished && (to == whole || experiment.is_precise(&outcome));
        // A no that comes when all is over anyway is passed on, too: who said it may have more to do, and hears of it by this.
        let interrupted = !finished || !goes_on;
        if enough || interrupted {
            return Ok(Outcome { interrupted, ..outcome });
        }
        from = to;
    }
}

/// What lives a round has, and what they may take.
struct Lives<'a> {
    enclosure: &'a Enclosure,
    experiment: &'a Experiment,
    prospects: Option<&'a Prospects>,
    /// Looks at devices that a chunk may take.
    looks: u64,
}

impl Lives<'_> {
    /// Simulates these chunks and adds them up; an error where not all of them came.
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
                    Err(_) if number == 0 => return Err(Unfinished::NoThread),
                    // Those that there are do it all.
                    Err(_) => break,
                }
            }
            drop(sender);
            let collected = collect(&done, chunks.clone(), tally, keep_going);
            // Others may be under way that nobody waits for.
            stop.store(true, Ordering::Relaxed);
            collected
        })
    }

    /// How many threads share out chunks: no more than there are of those.
    fn threads(&self, chunks: &Range<u64>) -> u64 {
        (self.experiment.threads() as u64).min(chunks.end - chunks.start)
    }

    /// Simulates one chunk. Without all its lives it would favour short ones, so then it is none.
    fn run_chunk(&self, chunk: u64, stop: &AtomicBool) -> Result<Tally, Unfinished> {
        let Experiment { horizons_h, lifetimes, seed, .. } = self.experiment;
        let mut stream = Stream::new(*seed, &format!("enclosure lifetimes {chunk}"));
        let mut tally = Tally::new(horizons_h.len());
        let mut visits = Visits::new(horizons_h);
        let mut life = Life::new(self.enclosure, self.experiment.until_h(), self.looks, stop);
        for _ in 0..CHUNK.min(lifetimes - chunk * CHUNK) {
            if stop.load(Ordering::Relaxed) {
                return Err(Unfinished::Stopped);
            }
            let forced = self.prospects.is_some() && !stream.chance(UNFORCED_SHARE);
            let draw = self.prospects.map_or(Draw::AtBirth, |prospects| Draw::InWindows { prospects, forced });
            let fate = life.live(draw, &mut stream, &mut visits)?;
            tally.add(fate, forced, &mut visits);
        }
        Ok(tally)
    }

    /// What is said where they take too long.
    fn take_too_long(&self) -> Fault {
        let Experiment { lifetimes, to_loss, .. } = self.experiment;
        let fewer = if *lifetimes > CHUNK { "fewer lifetimes or " } else { "" };
        let sooner = if *to_loss { "do not follow them to their loss" } else { "an earlier time" };
        let says = format!(
            ", each with {} devices and spares, have so many failures, rebuilds and visits that {CHUNK} of them take more than \
             {} looks at a device: they would hardly end; {fewer}rarer failures are needed, or {sooner}",
            self.enclosure.devices(),
            self.looks,
        );
        Fault::of(Kind::OutOfRange, "lifetimes", *lifetimes).says(says)
    }
}

/// Merges tallies in the order of their chunks as they come; an error where not all of them come.
fn collect(
    done: &Receiver<(u64, Result<Tally, Unfinished>)>,
    chunks: Range<u64>,
    tally: &mut Tally,
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> Result<(), Unfinished> {
    let mut wanted = chunks.start;
    let mut early = BTreeMap::new();
    let mut looked = std::time::Instant::now();
    while wanted < chunks.end {
        match done.recv_timeout(LOOK) {
            Ok((chunk, lives)) => {
                early.insert(chunk, lives?);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(Unfinished::Stopped),
        }
        while let Some(lives) = early.remove(&wanted) {
            tally.merge(&lives);
            wanted += 1;
        }
        if looked.elapsed() >= LOOK {
            looked = std::time::Instant::now();
            if !keep_going(tally.lives) {
                return if wanted == chunks.end { Ok(()) } else { Err(Unfinished::Stopped) };
            }
        }
    }
    Ok(())
}
