//! Control variates for open Poisson arrivals: quantities of the same run whose exact means are known.
//!
//! The mean response of a run is high if many requests happened to arrive close together. A queue with constant service that
//! receives the same arrivals shows how much of that is chance, because its exact mean is known. A regression removes that part
//! (S. S. Lavenberg and P. D. Welch, "A perspective on the use of control variables to increase the efficiency of Monte Carlo
//! simulations", 1981).

use super::confidence::{interval_of, mean, BatchMeans, BatchRule, BatchSize, Fit, NoInterval};
use super::interval::Interval;
use crate::request::{Op, Request};
use crate::time::Time;

/// Completed requests whose mean service time is the constant service.
const SERVICES: u64 = 1000;
/// Arrivals of the warm-up that the queue with constant service receives, at most: after as many, its waits hardly depend on its empty
/// start.
const EARLIER_ARRIVALS: usize = 4096;
/// Shorter service than the mean, for a second queue. Under SPTF and similar schedulers, service takes less time in long queues, so
/// that waits grow less with the load than those of one queue.
const SHORTER: f64 = 0.85;
/// Highest utilisation of a queue with constant service. Above it, its waits are correlated for longer than those of most
/// systems, and explain less of them.
const MOST_UTILISATION: f64 = 0.95;
/// Pivots below this share of the largest are 0: a control that does not vary, or that another one determines.
const LEAST_PIVOT: f64 = 1e-9;

/// Exact means of a workload. Those that are not known, and those of values that do not vary, are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExactMeans {
    /// Number of blocks of a request.
    pub blocks: Option<f64>,
    /// Number of blocks between the starts of successive requests.
    pub distance_blocks: Option<f64>,
    /// Share of writes.
    pub writes: Option<f64>,
}

/// A control variate.
#[derive(Clone, Debug)]
struct Control {
    name: &'static str,
    /// Its exact mean.
    exact: f64,
    batches: BatchMeans,
}

impl Control {
    fn new(name: &'static str, exact: f64) -> Self {
        Self { name, exact, batches: BatchMeans::default() }
    }
}

/// A queue with Poisson arrivals and constant service (M/D/1), by Lindley's recursion (D. V. Lindley, "The theory of queues with a
/// single server", 1952).
#[derive(Clone, Debug)]
struct Queue {
    service_ns: u64,
    wait_ns: u64,
    last_arrival: Option<Time>,
    /// Waits of the measured requests.
    waits: Control,
}

impl Queue {
    /// A queue whose service is shorter than `service_ns` if that would keep it busy for more than 95 % of the time. `None` if it
    /// would be shorter than a nanosecond.
    fn new(name: &'static str, rate_per_ns: f64, service_ns: f64) -> Option<Self> {
        let service_ns = crate::convert::trunc_to_u64(service_ns.min(MOST_UTILISATION / rate_per_ns));
        let utilisation = rate_per_ns * service_ns as f64;
        let exact = utilisation * service_ns as f64 / (2.0 * (1.0 - utilisation));
        (service_ns > 0).then(|| Self { service_ns, wait_ns: 0, last_arrival: None, waits: Control::new(name, exact) })
    }

    #[inline]
    fn arrive(&mut self, arrival: Time, is_measured: bool) {
        if let Some(last) = self.last_arrival {
            self.wait_ns = (self.wait_ns + self.service_ns).saturating_sub(arrival - last);
        }
        self.last_arrival = Some(arrival);
        if is_measured {
            self.waits.batches.record(self.wait_ns);
        }
    }
}

/// The control variates of a run: waits in queues with the same Poisson arrivals and constant service, and properties of the requests.
/// The constant service is the mean of the first measured requests.
#[derive(Clone, Debug)]
pub struct Controls {
    rate_per_ns: f64,
    /// Requests that are not measured.
    warmup_requests: u64,
    measured: u64,
    /// Arrivals until the constant service is known.
    arrivals: Vec<Time>,
    services: u64,
    services_ns: u64,
    queues: Vec<Queue>,
    blocks: Option<Control>,
    distance: Option<Control>,
    writes: Option<Control>,
    last_lbn: Option<u64>,
}

/// A mean that control variates have corrected.
#[derive(Clone, Debug, PartialEq)]
pub struct Controlled {
    /// The estimate, ns.
    pub mean_ns: f64,
    /// Its confidence interval, ns.
    pub interval: Interval,
    /// Variance of the plain mean divided by that of this estimate; `None` if that is 0 but for rounding.
    pub variance_ratio: Option<f64>,
    /// Names of the control variates.
    pub controls: Vec<&'static str>,
}

impl Controls {
    /// Controls of Poisson arrivals with `rate_per_ns` and requests with these means.
    #[must_use]
    pub fn new(rate_per_ns: f64, means: ExactMeans, warmup_requests: u64) -> Self {
        let control = |name, exact: Option<f64>| exact.map(|exact| Control::new(name, exact));
        Self {
            rate_per_ns,
            warmup_requests,
            measured: 0,
            arrivals: Vec::new(),
            services: 0,
            services_ns: 0,
            queues: Vec::new(),
            blocks: control("request size", means.blocks),
            distance: control("distance", means.distance_blocks),
            writes: control("writes", means.writes),
            last_lbn: None,
        }
    }

    /// Adds an arrival.
    #[inline]
    pub fn arrive(&mut self, request: &Request) {
        let is_measured = request.id >= self.warmup_requests;
        if self.has_service() {
            self.queues.iter_mut().for_each(|queue| queue.arrive(request.arrival, is_measured));
        } else {
            if self.measured == 0 && self.arrivals.len() == 2 * EARLIER_ARRIVALS {
                self.arrivals.drain(..EARLIER_ARRIVALS);
            }
            self.arrivals.push(request.arrival);
        }
        let last_lbn = self.last_lbn.replace(request.lbn);
        if !is_measured {
            return;
        }
        self.measured += 1;
        if let Some(blocks) = &mut self.blocks {
            blocks.batches.record(u64::from(request.blocks));
        }
        if let Some(distance) = &mut self.distance {
            // The first request of a run has none: the mean, rounded, leaves the estimate without bias.
            let blocks = last_lbn.map(|last_lbn| last_lbn.abs_diff(request.lbn));
            distance.batches.record(blocks.unwrap_or_else(|| crate::convert::trunc_to_u64(distance.exact)));
        }
        if let Some(writes) = &mut self.writes {
            writes.batches.record(u64::from(request.op == Op::Write));
        }
    }

    /// Adds the time for which a measured request keeps the drive from the next one.
    #[inline]
    pub fn serve(&mut self, service_ns: u64) {
        if self.has_service() {
            return;
        }
        self.services += 1;
        self.services_ns += service_ns;
        if self.has_service() {
            let mean_ns = self.services_ns as f64 / SERVICES as f64;
            let queues = [("M/D/1 wait", 1.0), ("M/D/1 wait at 85 % of the service", SHORTER)];
            self.queues = queues
                .into_iter()
                .filter_map(|(name, share)| {
                    Queue::new(name, self.rate_per_ns, mean_ns.min(MOST_UTILISATION / self.rate_per_ns) * share)
                })
                .collect();
            let earlier = self.arrivals.len() - crate::convert::to_usize(self.measured);
            for (index, arrival) in std::mem::take(&mut self.arrivals).into_iter().enumerate() {
                self.queues.iter_mut().for_each(|queue| queue.arrive(arrival, index >= earlier));
            }
        }
    }

    fn has_service(&self) -> bool {
        self.services == SERVICES
    }

    /// Number of measured arrivals.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.measured
    }

    /// Returns the mean of `values`, which belong to the same requests, with these controls. Values may lack the last requests.
    ///
    /// # Errors
    /// The sequence is too short, or the residuals of its batches are correlated.
    pub(super) fn correct(&self, values: &BatchMeans, rule: BatchRule) -> Result<Controlled, NoInterval> {
        let waits = self.queues.iter().map(|queue| &queue.waits);
        let controls: Vec<&Control> = waits.chain(&self.blocks).chain(&self.distance).chain(&self.writes).collect();
        let Some(first) = controls.first().filter(|_| self.has_service()) else {
            return Err(NoInterval::TooFew { count: values.count() });
        };
        let (own, others) = (values.size(), first.batches.size());
        let batch_values = own.batch_values.max(others.batch_values);
        let complete = |size: BatchSize| size.batches as u64 * size.batch_values / batch_values;
        let batches = crate::convert::to_usize(complete(own).min(complete(others)));
        let fit = |merged: usize| {
            let of = |batch_means: &BatchMeans| {
                let mut means = batch_means.means_of_ns(batch_values * merged as u64);
                means.truncate(batches / merged);
                means
            };
            let (values_by_batch, controls_by_batch) =
                (of(values), controls.iter().map(|each| of(&each.batches)).collect::<Vec<_>>());
            // With requests outstanding, values and controls cover the same requests in the complete batches only.
            let mean_of = |all: &BatchMeans, by_batch: &[f64]| {
                if own.count == others.count {
                    all.mean_ns()
                } else {
                    mean(by_batch)
                }
            };
            let deviations: Vec<f64> = controls
                .iter()
                .zip(&controls_by_batch)
                .map(|(control, by_batch)| mean_of(&control.batches, by_batch) - control.exact)
                .collect();
            let mean_of_values = mean_of(values, &values_by_batch);
            regression(mean_of_values, values_by_batch, controls_by_batch, &deviations)
        };
        let size = BatchSize { batches, batch_values, count: own.count };
        let (found, interval) = interval_of(size, rule, fit)?;
        let merged = batches / found.residuals.len().max(1);
        let mut plain = values.means_of_ns(batch_values * merged as u64);
        plain.truncate(found.residuals.len());
        let plain = Fit::of_means(0.0, plain);
        let variance = found.residual_variance() / found.divisor;
        let plain_variance = plain.residual_variance() / plain.divisor;
        let variance_ratio = (variance > LEAST_PIVOT * plain_variance).then(|| plain_variance / variance);
        let controls = controls.iter().map(|control| control.name).collect();
        Ok(Controlled { mean_ns: found.estimate, interval, variance_ratio, controls })
    }
}

/// Corrects a mean by the deviations of controls from their exact means, with the coefficients of a linear regression over batches.
fn regression(mean_of_all: f64, values: Vec<f64>, controls: Vec<Vec<f64>>, deviations: &[f64]) -> Fit {
    let centred = |means: &[f64]| {
        let centre = mean(means);
        means.iter().map(|value| value - centre).collect::<Vec<f64>>()
    };
    let product = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f64>();
    let centred_controls: Vec<Vec<f64>> = controls.iter().map(|control| centred(control)).collect();
    let centred_values = centred(&values);
    let covariances: Vec<Vec<f64>> =
        centred_controls.iter().map(|one| centred_controls.iter().map(|other| product(one, other)).collect()).collect();
    let with_values = centred_controls.iter().map(|control| product(control, &centred_values)).collect();
    let (Some(coefficients), Some(leverages)) =
        (solve(covariances.clone(), with_values), solve(covariances, deviations.to_vec()))
    else {
        return Fit::of_means(mean_of_all, values);
    };
    let mut residuals = values.clone();
    for (control, coefficient) in controls.iter().zip(&coefficients) {
        residuals.iter_mut().zip(control).for_each(|(residual, value)| *residual -= coefficient * value);
    }
    Fit {
        estimate: mean_of_all - product(&coefficients, deviations),
        divisor: 1.0 / (1.0 / residuals.len() as f64 + product(&leverages, deviations)),
        residuals,
        uncorrected: Some(values),
        coefficients: coefficients.len(),
    }
}

/// Solves a system of linear equations with a symmetric, positive definite matrix, by Gaussian elimination; `None` if it is
/// singular.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let diagonal: Vec<f64> = (0..right.len()).map(|row| matrix[row][row]).collect();
    for column in 0..right.len() {
        let pivot = matrix[column][column];
        if pivot <= LEAST_PIVOT * diagonal[column] || pivot <= 0.0 {
            return None;
        }
        let (upper, lower) = matrix.split_at_mut(column + 1);
        for (below, row) in lower.iter_mut().enumerate() {
            let factor = row[column] / pivot;
            row.iter_mut().zip(&upper[column]).for_each(|(value, above)| *value -= factor * above);
            right[column + 1 + below] -= factor * right[column];
        }
    }
    for row in (0..right.len()).rev() {
        let known: f64 = (row + 1..right.len()).map(|column| matrix[row][column] * right[column]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_equations_are_solved() {
        let matrix = vec![vec![4.0, 1.0, 0.5], vec![1.0, 3.0, 0.25], vec![0.5, 0.25, 2.0]];
        let found = solve(matrix, vec![7.5, 7.75, 7.0]).unwrap();
        assert!(found.iter().zip([1.0, 2.0, 3.0]).all(|(found, exact)| (found - exact).abs() < 1e-12), "{found:?}");
        assert_eq!(solve(vec![vec![1.0, 1.0], vec![1.0, 1.0]], vec![1.0, 1.0]), None);
        assert_eq!(solve(vec![vec![0.0]], vec![1.0]), None);
    }

    #[test]
    fn values_that_controls_determine_have_no_error_left() {
        let control: Vec<f64> = (0..20).map(|index| f64::from(index * index % 17)).collect();
        let values: Vec<f64> = control.iter().map(|value| 3.0 + 2.0 * value).collect();
        let fit = regression(mean(&values), values, vec![control.clone()], &[mean(&control) - 10.0]);
        assert!((fit.estimate - 23.0).abs() < 1e-9, "{}", fit.estimate);
        assert!(fit.residual_variance() < 1e-20);
    }

    #[test]
    fn waits_follow_lindleys_recursion() {
        let mut queue = Queue::new("M/D/1 wait", 1e-6, 500_000.0).unwrap();
        for (id, arrival_ns) in [0, 100_000, 300_000, 2_000_000, 2_600_000].into_iter().enumerate() {
            queue.arrive(Time::from_ns(arrival_ns), id > 0);
        }
        // Waits of the measured requests: 400, 700, 0 and 0 µs.
        assert_eq!((queue.waits.batches.count(), queue.waits.batches.mean_ns()), (4, 275_000.0));
        assert_eq!(queue.waits.exact, 250_000.0);
    }

    #[test]
    fn constant_service_keeps_the_queue_stable() {
        assert_eq!(Queue::new("M/D/1 wait", 1e-6, 5e6).unwrap().service_ns, 950_000);
        assert!(Queue::new("M/D/1 wait", 1e-6, 0.5).is_none());
    }

    /// Arrivals are kept until the constant service is known; of a long warm-up only the last ones are kept.
    #[test]
    fn waits_of_early_arrivals_are_those_of_a_known_service() {
        let request =
            |id: u64| Request { id, arrival: Time::from_ns(id * 1_000_000 + id % 7 * 90_000), ..Request::read(0, 8) };
        let warmup = 3 * EARLIER_ARRIVALS as u64;
        let mut controls = Controls::new(1e-6, ExactMeans::default(), warmup);
        let mut queue = Queue::new("M/D/1 wait", 1e-6, 950_000.0).unwrap();
        let first = warmup - EARLIER_ARRIVALS as u64 - 1;
        for id in 0..warmup + 3 * SERVICES {
            controls.arrive(&request(id));
            if id >= first {
                queue.arrive(request(id).arrival, id >= warmup);
            }
            if id >= warmup + 100 {
                controls.serve(950_000);
            }
        }
        let found = &controls.queues[0].waits.batches;
        assert_eq!((found.count(), controls.count()), (3 * SERVICES, 3 * SERVICES));
        assert!(controls.arrivals.is_empty());
        assert!(found.mean_ns() > 0.0);
        assert_eq!(found, &queue.waits.batches);
    }
}
