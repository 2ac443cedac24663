//! Ends a run when its results are precise enough.
//!
//! Results are checked after numbers of requests that grow geometrically. A run ends at the first check at which the half-width of
//! each interval is within its target. Such rules are valid for small targets (P. W. Glynn and W. Whitt, "The asymptotic validity of
//! sequential stopping rules for stochastic simulations", 1992). For finite runs, intervals of checks are wider than those of runs
//! of a fixed size, because a run is more likely to end where the variance happens to be underestimated
//! (A. M. Law and J. S. Carson, "A sequential procedure for determining the length of a steady-state simulation", 1979).

use super::confidence::{interval_of, BatchMeans, BatchRule, BatchSize, Fit, NoInterval, MIN_BATCHES};
use super::controls::{Controlled, Controls};
use super::histogram::Histogram;
use super::interval::Interval;
use super::recorder::Recorder;
use super::warmup::StartUp;
use crate::convert::{to_usize, trunc_to_u64};
use crate::engine::component::Measured;
use crate::engine::{Checkpoint, ComponentId, Observer, System};
use crate::request::Request;
use crate::service::Service;
use crate::time::Time;

/// Confidence level of each check, so that about 95 % of the intervals at the end of a run contain the true value. A constant level
/// for all checks is Pocock's rule (S. J. Pocock, "Group sequential methods in the design and analysis of clinical trials", 1977).
/// Only the last two checks or so can end a run: two checks need 95 % of the same data and 97.5 % of independent data, and their data
/// overlap by half or more.
const CHECK_CONFIDENCE: f64 = 0.965;
/// Fewest batches that must pass the test for correlation. With fewer, runs end too early: where their variance happens to be
/// underestimated.
const LEAST_TESTED: usize = 60;
/// The rule of a check.
const CHECK: BatchRule = BatchRule { confidence: CHECK_CONFIDENCE, least_tested: LEAST_TESTED, widens: true };
/// Fewest measured requests for control variates. Shorter runs of loaded systems have too few independent busy periods for the
/// regression.
const LEAST_CONTROLLED: u64 = 10_000;
/// Measured requests at the first check.
const FIRST_CHECK: u64 = 1000;
/// Measured requests at the first check of a mean response with control variates. Of the shorter runs, those that happen to lack busy
/// periods reach a loose target, with an estimate and an interval that are too small.
const FIRST_CONTROLLED_CHECK: u64 = 20_000;
/// A check is at this multiple of the number of requests that the one before predicts, …
const MARGIN: f64 = 1.05;
/// … but at least and at most at these multiples of its own number.
const GROWTH: (f64, f64) = (1.2, 2.0);
/// Most batches of a quantile, and most samples of a system. When there are as many, neighbours are merged.
const MAX_BATCHES: usize = 128;
/// Fewest values beyond a quantile in a batch.
const MIN_BEYOND: f64 = 10.0;
/// Requests between two samples of a system at first.
const FIRST_STRIDE: u64 = 16;
/// Number of requests in the system at a check, as a share of the measured requests, above which the system cannot keep up with its
/// load.
const OVERLOAD_SHARE: f64 = 0.1;
/// Fewest measured requests for that.
const OVERLOAD_FROM: u64 = 4000;

/// A result with a target for its precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precise {
    /// Mean response time, ns.
    Response,
    /// A quantile of the response time, ns.
    Quantile(f64),
    /// Energy per request, J.
    Energy,
    /// Busy share of the mechanisms.
    Utilisation,
    /// Hits of the topmost cache among its accesses.
    HitRatio,
}

/// A target for the precision of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    /// The result.
    pub result: Precise,
    /// Largest half-width of its confidence interval, as a fraction of the result.
    pub fraction: f64,
}

/// A result at a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The target.
    pub target: Target,
    /// The estimate in the unit of the result; `None` without data.
    pub value: Option<f64>,
    /// Its confidence interval, or the reason why there is none.
    pub interval: Result<Interval, NoInterval>,
}

impl Estimate {
    /// Half-width of the interval as a fraction of the estimate.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        let (value, interval) = (self.value?, self.interval.ok()?);
        let half_width = 0.5 * (interval.high - interval.low);
        if half_width == 0.0 {
            return Some(0.0);
        }
        (value > 0.0).then(|| half_width / value)
    }

    /// True if the interval is narrow enough.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.half_width().is_some_and(|half_width| half_width <= self.target.fraction)
    }
}

/// The components whose work is sampled.
#[derive(Clone, Debug, Default)]
pub struct Sampled {
    /// All components with mechanisms.
    pub components: Vec<ComponentId>,
    /// The topmost cache.
    pub cache: Option<ComponentId>,
}

/// The rule that ends a run.
#[derive(Debug)]
pub struct PrecisionRule {
    targets: Vec<Target>,
    warmup_requests: u64,
    next_check: u64,
    checks: u32,
    quantiles: Option<BatchHistograms>,
    samples: Option<Samples>,
    found: Vec<Estimate>,
    is_overloaded: bool,
}

/// Records a run and its control variates, and ends it by a rule; records the beginning of a run to find its warm-up.
#[derive(Debug)]
pub struct Monitor {
    recorder: Recorder,
    start_up: Option<StartUp>,
    controls: Option<Controls>,
    rule: Option<PrecisionRule>,
}

impl Monitor {
    /// Records a pilot run.
    #[must_use]
    pub fn of_pilot(recorder: Recorder) -> Self {
        Self { recorder, start_up: Some(StartUp::default()), controls: None, rule: None }
    }

    /// Records a run with its control variates, which ends by a rule if there is one.
    #[must_use]
    pub fn of_run(recorder: Recorder, controls: Option<Controls>, mut rule: Option<PrecisionRule>) -> Self {
        if let (Some(rule), Some(_)) = (&mut rule, &controls) {
            rule.wait_for_controls();
        }
        Self { recorder, start_up: None, controls, rule }
    }

    /// Returns the warm-up of a pilot run, see [`StartUp::warmup`].
    #[must_use]
    pub fn warmup(&self) -> Option<u64> {
        self.start_up.as_ref().and_then(StartUp::warmup)
    }

    /// The recorder.
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Ends the recording.
    #[must_use]
    pub fn into_parts(self) -> (Recorder, Option<Controls>, Option<PrecisionRule>) {
        (self.recorder, self.controls, self.rule)
    }
}

impl Observer for Monitor {
    #[inline]
    fn served(&mut self, request: &Request, service: &Service) {
        self.recorder.served(request, service);
        if !request.transfers_data() {
            return;
        }
        if let Some(controls) = &mut self.controls {
            controls.serve(service.free.max(service.start) - service.start);
        }
        let response_ns = service.end - request.arrival;
        if let Some(start_up) = &mut self.start_up {
            start_up.record(response_ns);
        }
        if let Some(quantiles) = self.rule.as_mut().and_then(|rule| rule.quantiles.as_mut()) {
            quantiles.record(response_ns);
        }
    }

    fn recorded(&mut self, request: &Request, response_ns: u64) {
        Observer::recorded(&mut self.recorder, request, response_ns);
    }

    #[inline]
    fn submitted(&mut self, request: &Request) {
        if let Some(controls) = &mut self.controls {
            controls.arrive(request);
        }
    }

    fn first_check(&self) -> u64 {
        self.rule.as_ref().map_or(u64::MAX, PrecisionRule::next_stop)
    }

    fn needs_system(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.samples.is_some())
    }

    fn check(&mut self, at: &Checkpoint<'_>) -> Option<u64> {
        self.rule.as_mut().and_then(|rule| rule.check(&self.recorder, self.controls.as_ref(), at))
    }
}

/// Returns the mean response at the end of a run with control variates, and its 95 % interval; `None` without an interval, for short
/// runs, and if requests failed.
#[must_use]
pub fn controlled_response(recorder: &Recorder, controls: &Controls) -> Option<Controlled> {
    let count = recorder.count();
    if count < LEAST_CONTROLLED || count != controls.count() {
        return None;
    }
    let rule = BatchRule { confidence: 0.95, least_tested: MIN_BATCHES, ..CHECK };
    controls.correct(&recorder.responses(), rule).ok()
}

/// Returns the interval of the mean difference of two runs that end when it is narrow enough, ns. See
/// [`BatchMeans::difference95_ns`].
///
/// # Errors
/// The sequences are too short, or the batches of their differences are correlated.
///
/// # Panics
/// If the sequences differ in length.
pub fn difference_at_check(one: &BatchMeans, other: &BatchMeans) -> Result<Interval, NoInterval> {
    one.difference_by(other, CHECK)
}

impl PrecisionRule {
    /// A rule for a run whose first `warmup_requests` are not measured.
    #[must_use]
    pub fn new(targets: Vec<Target>, warmup_requests: u64, sampled: Sampled) -> Self {
        let has = |wanted: fn(&Precise) -> bool| targets.iter().any(|target| wanted(&target.result));
        let samples = has(|result| matches!(result, Precise::Energy | Precise::Utilisation | Precise::HitRatio))
            .then(|| Samples::new(sampled, warmup_requests));
        let quantiles = has(|result| matches!(result, Precise::Quantile(_))).then(BatchHistograms::default);
        Self {
            targets,
            warmup_requests,
            next_check: warmup_requests + FIRST_CHECK,
            checks: 0,
            quantiles,
            samples,
            found: Vec::new(),
            is_overloaded: false,
        }
    }

    /// Moves the first check of a mean response to [`FIRST_CONTROLLED_CHECK`].
    fn wait_for_controls(&mut self) {
        if self.targets.iter().any(|target| target.result == Precise::Response) {
            self.next_check = self.warmup_requests + FIRST_CONTROLLED_CHECK;
        }
    }

    /// The results at the last check.
    #[must_use]
    pub fn found(&self) -> &[Estimate] {
        &self.found
    }

    /// True if each target was reached at the last check.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        !self.is_overloaded && self.found.iter().all(Estimate::is_reached)
    }

    /// True if the system cannot keep up with its load, so that the run ended early.
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        self.is_overloaded
    }

    /// Number of checks.
    #[must_use]
    pub fn checks(&self) -> u32 {
        self.checks
    }

    /// Confidence level of each check.
    #[must_use]
    pub const fn check_confidence() -> f64 {
        CHECK_CONFIDENCE
    }

    /// Makes a last check at the end of a run that no check has ended.
    pub fn finish(&mut self, recorder: &Recorder, controls: Option<&Controls>) {
        let has_ended_run = self.is_overloaded || (self.checks > 0 && self.is_reached());
        if !has_ended_run {
            self.estimate(recorder, controls);
        }
    }

    /// The next number of submitted requests at which there is something to do.
    fn next_stop(&self) -> u64 {
        self.samples.as_ref().map_or(self.next_check, |samples| samples.next.min(self.next_check))
    }

    fn check(&mut self, recorder: &Recorder, controls: Option<&Controls>, at: &Checkpoint<'_>) -> Option<u64> {
        if let (Some(samples), Some(system)) = (&mut self.samples, at.system) {
            if at.submitted >= samples.next {
                samples.take(system, recorder.count());
            }
        }
        if at.submitted < self.next_check {
            return Some(self.next_stop());
        }
        let measured = at.submitted - self.warmup_requests;
        self.is_overloaded = measured >= OVERLOAD_FROM && at.in_system as f64 > OVERLOAD_SHARE * measured as f64;
        self.estimate(recorder, controls);
        if self.is_overloaded || self.is_reached() {
            return None;
        }
        let growth = self.found.iter().map(needed_growth).fold(0.0, f64::max);
        let growth = (MARGIN * growth).clamp(GROWTH.0, GROWTH.1);
        self.next_check = self.warmup_requests + trunc_to_u64(measured as f64 * growth);
        Some(self.next_stop())
    }

    fn estimate(&mut self, recorder: &Recorder, controls: Option<&Controls>) {
        self.checks += 1;
        self.found = self.targets.iter().map(|&target| self.estimate_of(target, recorder, controls)).collect();
    }

    fn estimate_of(&self, target: Target, recorder: &Recorder, controls: Option<&Controls>) -> Estimate {
        let count = recorder.count();
        let (value, interval) = match target.result {
            Precise::Response => {
                let responses = recorder.responses();
                let controls = controls.filter(|controls| controls.count() >= LEAST_CONTROLLED);
                match controls.map(|controls| controls.correct(&responses, CHECK)) {
                    Some(Ok(controlled)) => (Some(controlled.mean_ns), Ok(controlled.interval)),
                    // Without enough independent batches for the regression, the plain interval decides.
                    Some(Err(_)) | None => (Some(responses.mean_ns()), responses.interval_by(CHECK)),
                }
            }
            Precise::Quantile(p) => match &self.quantiles {
                Some(quantiles) => quantiles.interval_ns(p),
                None => (None, Err(NoInterval::TooFew { count })),
            },
            sampled => match &self.samples {
                Some(samples) => samples.interval(sampled, count),
                None => (None, Err(NoInterval::TooFew { count })),
            },
        };
        Estimate { target, value: value.filter(|_| count > 0), interval }
    }
}

/// Returns the factor by which a run must be longer to reach a target.
fn needed_growth(estimate: &Estimate) -> f64 {
    estimate.half_width().map_or(GROWTH.1, |half_width| (half_width / estimate.target.fraction).powi(2))
}

/// Histograms of consecutive batches of equal size.
#[derive(Debug)]
struct BatchHistograms {
    closed: Vec<Histogram>,
    open: Histogram,
    open_values: u64,
    batch_values: u64,
}

impl Default for BatchHistograms {
    fn default() -> Self {
        let batch_values = FIRST_STRIDE;
        Self { closed: Vec::new(), open: Histogram::default(), open_values: 0, batch_values }
    }
}

impl BatchHistograms {
    #[inline]
    fn record(&mut self, value_ns: u64) {
        self.open.record(value_ns);
        self.open_values += 1;
        if self.open_values == self.batch_values {
            self.close_batch();
        }
    }

    fn close_batch(&mut self) {
        self.closed.push(std::mem::take(&mut self.open));
        self.open_values = 0;
        if self.closed.len() == MAX_BATCHES {
            let mut merged = Vec::with_capacity(MAX_BATCHES);
            let mut batches = std::mem::take(&mut self.closed).into_iter();
            while let (Some(mut first), Some(second)) = (batches.next(), batches.next()) {
                first.merge(&second);
                merged.push(first);
            }
            self.closed = merged;
            self.batch_values *= 2;
        }
    }

    /// Returns the `p`-quantile of all values with its confidence interval: that of the share of values up to the quantile, by batch
    /// means, and the quantiles at the ends of that interval.
    fn interval_ns(&self, p: f64) -> (Option<f64>, Result<Interval, NoInterval>) {
        let mut all = self.open.clone();
        self.closed.iter().for_each(|batch| all.merge(batch));
        let count = all.count();
        let Some([quantile_ns]) = all.quantiles_ns([p]) else { return (None, Err(NoInterval::TooFew { count })) };
        let up_to = trunc_to_u64(quantile_ns);
        let share = all.count_up_to(up_to) as f64 / count as f64;
        let shares: Vec<f64> =
            self.closed.iter().map(|batch| batch.count_up_to(up_to) as f64 / self.batch_values as f64).collect();
        // Batches with fewer values beyond the quantile are not tested.
        let least = trunc_to_u64((MIN_BEYOND / (1.0 - p) / self.batch_values as f64).ceil()).max(1);
        let first = to_usize(least);
        let size = BatchSize { batches: shares.len() / first, batch_values: self.batch_values * least, count };
        let fit = |merged: usize| {
            let chunk = first * merged;
            let means = shares.chunks_exact(chunk).map(|shares| shares.iter().sum::<f64>() / chunk as f64).collect();
            Fit::of_means(share, means)
        };
        let interval = interval_of(size, CHECK, fit).and_then(|(_, found)| {
            let half_width = 0.5 * (found.high - found.low);
            if p + half_width >= 1.0 {
                return Err(NoInterval::TooFew { count });
            }
            let ends = all.quantiles_ns([p - half_width, p + half_width]).unwrap_or([quantile_ns; 2]);
            Ok(Interval { low: ends[0], high: ends[1] })
        });
        (Some(quantile_ns), interval)
    }
}

/// Sums since the start of the measurement window.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    time_ns: f64,
    energy_j: f64,
    busy_ns: f64,
    completed: f64,
    hits: f64,
    accesses: f64,
}

impl Sample {
    /// The numerator and the denominator of a result.
    fn ratio(&self, result: Precise) -> (f64, f64) {
        match result {
            Precise::Energy => (self.energy_j, self.completed),
            Precise::Utilisation => (self.busy_ns, self.time_ns),
            Precise::HitRatio => (self.hits, self.accesses),
            Precise::Response | Precise::Quantile(_) => (0.0, 0.0),
        }
    }
}

/// Samples of a system at equal numbers of requests.
#[derive(Debug)]
struct Samples {
    sampled: Sampled,
    taken: Vec<Sample>,
    started: Time,
    stride: u64,
    /// The number of submitted requests at the next sample.
    next: u64,
}

impl Samples {
    fn new(sampled: Sampled, warmup_requests: u64) -> Self {
        // The first sample is taken at the first measured arrival.
        Self { sampled, taken: Vec::new(), started: Time::ZERO, stride: FIRST_STRIDE, next: warmup_requests + 1 }
    }

    fn take(&mut self, system: &System, completed: u64) {
        let now = system.now();
        if self.taken.is_empty() {
            self.started = now;
        }
        let mut measured = Measured::default();
        self.sampled.components.iter().for_each(|&id| measured.add(&system.component(id).measured(now)));
        let details = self.sampled.cache.and_then(|cache| system.component(cache).details(now)).unwrap_or_default();
        let count = |names: [&str; 2]| -> f64 {
            details.counts.iter().filter(|count| names.contains(&count.name)).map(|count| count.value).sum()
        };
        let hits = count(["read_hits", "write_hits"]);
        self.taken.push(Sample {
            time_ns: (now - self.started) as f64,
            energy_j: measured.ledger.energy_j.iter().sum(),
            busy_ns: measured.busy_ns as f64 / f64::from(measured.mechanisms.max(1)),
            completed: completed as f64,
            hits,
            accesses: hits + count(["read_misses", "write_misses"]),
        });
        if self.taken.len() > MAX_BATCHES {
            let mut index = 0;
            self.taken.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
        }
        self.next += self.stride;
    }

    /// Returns a ratio of sums with its confidence interval. The residual of a batch is the deviation of its numerator from the one
    /// that the ratio predicts, divided by the mean denominator.
    fn interval(&self, result: Precise, count: u64) -> (Option<f64>, Result<Interval, NoInterval>) {
        let (Some(first), Some(last)) = (self.taken.first(), self.taken.last()) else {
            return (None, Err(NoInterval::TooFew { count }));
        };
        let difference = |from: &Sample, to: &Sample| {
            let ((from_part, from_whole), (to_part, to_whole)) = (from.ratio(result), to.ratio(result));
            (to_part - from_part, to_whole - from_whole)
        };
        let (part, whole) = difference(first, last);
        if whole <= 0.0 {
            return (None, Err(NoInterval::TooFew { count }));
        }
        let ratio = part / whole;
        let batches = self.taken.len() - 1;
        let fit = |merged: usize| {
            let ends: Vec<&Sample> = self.taken.iter().step_by(merged).collect();
            let mean_whole = whole * merged as f64 / batches as f64;
            let residuals: Vec<f64> = ends
                .windows(2)
                .map(|pair| {
                    let (part, whole) = difference(pair[0], pair[1]);
                    (part - ratio * whole) / mean_whole
                })
                .collect();
            Fit { estimate: ratio, divisor: residuals.len() as f64, residuals, uncorrected: None, coefficients: 0 }
        };
        let size = BatchSize { batches, batch_values: self.stride, count };
        (Some(ratio), interval_of(size, CHECK, fit).map(|(_, interval)| interval))
    }
}
