//! The parts of a report on the warm-up, the precision reached, and the mean response with control variates.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::{EndReason, Outcome};
use crate::metrics::confidence::NoInterval;
use crate::metrics::controls::{Controlled, Controls};
use crate::metrics::precision::{controlled_response, Estimate, Precise, PrecisionRule};
use crate::metrics::recorder::Recorder;
use crate::scenario::precision::Pilot;
use crate::scenario::report::summary::Report;
use crate::scenario::specs::scenario::Scenario;
use crate::units::{ns_to_ms, plural};

/// A warm-up that was detected.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WarmupReport {
    /// The rule: `MSER-5`.
    pub method: String,
    /// Number of requests of the warm-up.
    pub requests: u64,
    /// Number of requests simulated before the run to find it.
    pub pilot_requests: u64,
    /// Reason why the warm-up found is uncertain; none if it is certain.
    pub note: Option<String>,
}

/// The precision of a run that ends when its results are precise enough.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PrecisionReport {
    /// True if every result is as precise as requested.
    pub reached: bool,
    /// Number of requests submitted, warm-up included. A run with `requests` of this number has the same results.
    pub requests: u64,
    /// Number of requests simulated before, to find the warm-up.
    pub pilot_requests: u64,
    /// The most requests that were allowed.
    pub most_requests: u64,
    /// Number of checks of the precision.
    pub checks: u32,
    /// Confidence level of the intervals of a check. It is above 95 % because the run ends at the first check that meets the
    /// targets; at the end of the run the intervals have 95 %.
    pub check_confidence: f64,
    /// The results at the last check, when all requests had been submitted but some were outstanding.
    pub results: Vec<PreciseResult>,
    /// Reason why the precision was not reached.
    pub note: Option<String>,
}

/// A result with a target for its precision.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PreciseResult {
    /// The key of `run.precision`.
    pub result: String,
    /// Unit of the value; empty for fractions.
    pub unit: String,
    /// The requested half-width, as a fraction of the value.
    pub target: f64,
    /// Half-width of the interval as a fraction of the value; none without an interval.
    pub half_width: Option<f64>,
    /// True if the half-width is within the target.
    pub reached: bool,
    /// The value. That of `response` is estimated with control variates where these apply.
    pub value: Option<f64>,
    /// Lower end of its 95 % confidence interval.
    pub ci95_low: Option<f64>,
    /// Upper end of its 95 % confidence interval.
    pub ci95_high: Option<f64>,
    /// Reason why there is no confidence interval.
    pub note: Option<String>,
}

/// The mean response, corrected by control variates: quantities of the same run whose exact means are known. Its interval is
/// narrower than that of the plain mean (`response`).
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ControlledReport {
    /// Mean, ms.
    pub mean_ms: f64,
    /// Lower end of the 95 % confidence interval of the mean, ms.
    pub ci95_low_ms: f64,
    /// Upper end of the 95 % confidence interval of the mean, ms.
    pub ci95_high_ms: f64,
    /// Variance of the plain mean divided by that of this mean: as many times more requests would give the plain mean the same
    /// interval. None if no variance is left: then the control variates determine the mean.
    pub variance_ratio: Option<f64>,
    /// The control variates: `M/D/1 wait`, the wait in a queue with the same arrivals and constant service; `M/D/1 wait at 85 % of the
    /// load`, the same with shorter service; `request size`; `distance`, the blocks between the starts of successive requests; and
    /// `writes`, their share.
    pub controls: Vec<String>,
}

impl WarmupReport {
    pub(in crate::scenario) fn of(pilot: &Pilot) -> Self {
        let note = (!pilot.is_found)
            .then(|| "response times of the pilot run had not become steady: the warm-up may be too short".to_owned());
        Self { method: "MSER-5".to_owned(), requests: pilot.warmup_requests, pilot_requests: pilot.requests, note }
    }
}

impl PreciseResult {
    fn of(result: &str, estimate: &Estimate) -> Self {
        let (unit, factor) = match estimate.target.result {
            Precise::Response | Precise::Quantile(_) => ("ms", ns_to_ms(1.0)),
            Precise::Energy => ("mJ", 1e3),
            Precise::Utilisation | Precise::HitRatio => ("", 1.0),
        };
        Self {
            result: result.to_owned(),
            unit: unit.to_owned(),
            target: estimate.target.fraction,
            half_width: estimate.half_width(),
            reached: estimate.is_reached(),
            value: estimate.value.map(|value| value * factor),
            ci95_low: estimate.interval.ok().map(|interval| interval.low * factor),
            ci95_high: estimate.interval.ok().map(|interval| interval.high * factor),
            note: estimate.interval.err().map(|reason| match reason {
                NoInterval::TooFew { count } => format!("{count} requests are too few for independent batches"),
                NoInterval::Correlated { .. } => reason.to_string(),
            }),
        }
    }
}

impl From<Controlled> for ControlledReport {
    fn from(controlled: Controlled) -> Self {
        Self {
            mean_ms: ns_to_ms(controlled.mean_ns),
            ci95_low_ms: ns_to_ms(controlled.interval.low),
            ci95_high_ms: ns_to_ms(controlled.interval.high),
            variance_ratio: controlled.variance_ratio,
            controls: controlled.controls.into_iter().map(str::to_owned).collect(),
        }
    }
}

impl Report {
    /// Reports the precision of a run that a rule could end.
    pub(in crate::scenario) fn set_precision(
        &mut self,
        scenario: &Scenario,
        rule: &PrecisionRule,
        outcome: &Outcome,
        pilot_requests: u64,
    ) {
        let reached = rule.is_reached() && self.overload.is_none();
        let most_requests = scenario.run.requests.unwrap_or(u64::MAX);
        if outcome.end == EndReason::Requests && outcome.submitted < most_requests {
            self.run.end = if reached { "precision" } else { "overload" }.to_owned();
        }
        let keys = scenario.run.precision.iter().flat_map(|spec| spec.targets());
        let results: Vec<PreciseResult> =
            keys.zip(rule.found()).map(|((key, _), estimate)| PreciseResult::of(key, estimate)).collect();
        let missed: Vec<&str> = results.iter().filter(|each| !each.reached).map(|each| each.result.as_str()).collect();
        let note = (!reached).then(|| {
            if rule.is_overloaded() || self.overload.is_some() {
                "precision not reached: the system cannot keep up with its load".to_owned()
            } else {
                format!("precision of {} not reached in {}", missed.join(", "), plural(outcome.submitted, "request"))
            }
        });
        if let Some(note) = &note {
            let before = self.run.note.take().map(|before| before + "; ").unwrap_or_default();
            self.run.note = Some(before + note);
        }
        self.precision = Some(PrecisionReport {
            reached,
            requests: outcome.submitted,
            pilot_requests,
            most_requests,
            checks: rule.checks(),
            check_confidence: PrecisionRule::check_confidence(),
            results,
            note,
        });
    }

    /// Reports the mean response with control variates, if the system keeps up with its load.
    pub(in crate::scenario) fn set_controlled(&mut self, recorder: &Recorder, controls: Option<&Controls>) {
        let controls = controls.filter(|_| self.overload.is_none());
        self.controlled_response =
            controls.and_then(|controls| controlled_response(recorder, controls)).map(Into::into);
    }
}
