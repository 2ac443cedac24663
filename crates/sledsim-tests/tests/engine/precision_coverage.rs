//! Coverage of the confidence intervals of runs that end at a precision.
//!
//! Each system runs with seeds 1 to 200; 95 % of the intervals at the last check should contain the reference, and the number that
//! does varies by 1.5 % (one standard error). With reduced test sizes, 12 runs of the first seven systems must contain it 9 times,
//! which intervals of 95 % fail with a probability of 0.02 %. The error of a reference from a long run is a tenth of the target or less.

use rayon::prelude::*;
use sledsim::scenario::{PreciseResult, PrecisionReport, Report};
use sledsim_testing::scenario_runs;
use sledsim_testing::tiers::size;

/// A system with a precision.
struct Case {
    name: &'static str,
    /// Settings of the scenario.
    settings: &'static [&'static str],
    /// The result, a key of `run.precision`.
    key: &'static str,
    target: &'static str,
    /// The exact value for constant service, or else that of a run of 2 million requests, in the unit of the result.
    reference: f64,
}

impl Case {
    /// True if control variates apply: to the mean response of a single drive with Poisson arrivals.
    fn is_controlled(&self) -> bool {
        let has = |text| self.settings.iter().any(|setting| setting.contains(text));
        self.key == "response" && has("poisson") && !has("system.kind")
    }
}

const CASES: &[Case] = &[
    Case {
        name: "constant service, utilisation 0.8",
        settings: &[
            "device=simpledisk-constant",
            "device.access_ms=1",
            "workload.arrival={kind=\"poisson\", rate_per_s=800}",
        ],
        key: "response",
        target: "5%",
        reference: 3.0,
    },
    Case {
        name: "g2, FCFS, light load",
        settings: &["device=g2", "workload.arrival={kind=\"poisson\", rate_per_s=380}"],
        key: "response",
        target: "1%",
        reference: 1.165524,
    },
    Case {
        name: "g2, FCFS, heavy load",
        settings: &["device=g2", "workload.arrival={kind=\"poisson\", rate_per_s=1010}"],
        key: "response",
        target: "5%",
        reference: 2.375897,
    },
    Case {
        name: "g2, SPTF, heavy load",
        settings: &["device=g2", "scheduler=sptf", "workload.arrival={kind=\"poisson\", rate_per_s=1300}"],
        key: "response",
        target: "5%",
        reference: 2.885725,
    },
    Case {
        name: "g2, SPTF, exponential sizes",
        settings: &[
            "device=g2",
            "scheduler=sptf",
            "workload.arrival={kind=\"poisson\", rate_per_s=1000}",
            "workload.size_bytes={kind=\"exponential\", mean=8192}",
        ],
        key: "response",
        target: "5%",
        reference: 2.284735,
    },
    Case {
        name: "atlas10k, FCFS",
        settings: &["device=atlas10k", "workload.arrival={kind=\"poisson\", rate_per_s=69}"],
        key: "response",
        target: "5%",
        reference: 18.630179,
    },
    Case {
        name: "atlas10k, SPTF",
        settings: &["device=atlas10k", "scheduler=sptf", "workload.arrival={kind=\"poisson\", rate_per_s=110}"],
        key: "response",
        target: "5%",
        reference: 23.803076,
    },
    Case {
        name: "g2, FCFS, 99th percentile",
        settings: &["device=g2", "workload.arrival={kind=\"poisson\", rate_per_s=760}"],
        key: "p99",
        target: "5%",
        reference: 4.489856,
    },
    Case {
        name: "g2, FCFS, energy per request",
        settings: &["device=g2", "workload.arrival={kind=\"poisson\", rate_per_s=380}"],
        key: "energy",
        target: "1%",
        reference: 0.329232683,
    },
    Case {
        name: "g2, FCFS, utilisation",
        settings: &["device=g2", "workload.arrival={kind=\"poisson\", rate_per_s=380}"],
        key: "utilisation",
        target: "1%",
        reference: 0.291290899,
    },
    Case {
        name: "g2 under a RAM cache of 16 MiB",
        settings: &[
            "system.kind=ram-cache",
            "system.bytes=16777216",
            "system.child={device=\"g2\"}",
            "workload.location={kind=\"zipf\", exponent=1, regions=100000}",
            "workload.arrival={kind=\"poisson\", rate_per_s=700}",
        ],
        key: "hit_ratio",
        target: "2%",
        reference: 0.382144191,
    },
    Case {
        name: "RAID 5 of 5 g2",
        settings: &[
            "system.kind=raid5",
            "system.members=[{count=5, device=\"g2\"}]",
            "workload.read_fraction=0.67",
            "workload.arrival={kind=\"poisson\", rate_per_s=1500}",
        ],
        key: "response",
        target: "2%",
        reference: 2.073701,
    },
    Case {
        name: "g2, SPTF, 8 users",
        settings: &[
            "device=g2",
            "scheduler=sptf",
            "workload.arrival={kind=\"closed\", outstanding=8, think_ms={kind=\"exponential\", mean=2}}",
        ],
        key: "response",
        target: "1%",
        reference: 3.313905,
    },
];

fn seeds() -> u64 {
    size(12, 200)
}

/// Fewest intervals that must contain the reference: 90 %, two standard errors below 93 %.
fn covered_at_least() -> usize {
    size(9, 180)
}

/// The runs of a system with every seed.
struct Runs {
    reached: usize,
    covered: usize,
    mean_requests: f64,
    variance_ratio: Option<f64>,
}

fn run(case: &Case, more: &[String]) -> Report {
    let settings: Vec<String> =
        case.settings.iter().map(|&setting| setting.to_owned()).chain(more.iter().cloned()).collect();
    scenario_runs::run(&settings, false).report
}

/// True if the interval at the end of a run contains the reference. Without variance, rounding remains.
fn covers(case: &Case, found: &PreciseResult) -> bool {
    let rounding = 1e-12 * case.reference;
    let (Some(low), Some(high)) = (found.ci95_low, found.ci95_high) else { return false };
    (low - rounding..=high + rounding).contains(&case.reference)
}

fn runs(case: &Case, has_controls: bool) -> Runs {
    let precision = format!("run.precision={{{}={:?}, control_variates={has_controls}}}", case.key, case.target);
    let reports: Vec<Report> =
        (1..=seeds()).into_par_iter().map(|seed| run(case, &[format!("seed={seed}"), precision.clone()])).collect();
    let found: Vec<_> = reports.iter().map(|report| report.precision.as_ref().expect("it has a precision")).collect();
    let controlled = reports.iter().filter_map(|report| report.controlled_response.as_ref());
    let ratios: Vec<f64> = controlled.filter_map(|controlled| controlled.variance_ratio).collect();
    let requests = |found: &&PrecisionReport| (found.requests + found.pilot_requests) as f64;
    Runs {
        reached: found.iter().filter(|found| found.reached).count(),
        covered: found.iter().filter(|found| covers(case, &found.results[0])).count(),
        mean_requests: found.iter().map(requests).sum::<f64>() / found.len() as f64,
        variance_ratio: (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64),
    }
}

#[test]
fn intervals_at_a_precision_contain_the_long_run_value() {
    let mut failures = Vec::new();
    for case in &CASES[..size(7, CASES.len())] {
        for has_controls in [true, false] {
            if has_controls && !case.is_controlled() {
                continue;
            }
            let runs = runs(case, has_controls);
            let target = format!("{} ± {}", case.key, case.target);
            let estimate = if has_controls { "with control variates" } else { "plain" };
            let cells = [
                case.name.to_owned(),
                target,
                estimate.to_owned(),
                format!("{:.0}", runs.mean_requests),
                runs.variance_ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.1}")),
                format!("{} of {}", runs.covered, seeds()),
            ];
            println!("| {} |", cells.join(" | "));
            if (runs.reached as u64) < seeds() || runs.covered < covered_at_least() {
                failures.push(cells);
            }
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}

/// Requests of a load curve with a precision, against runs of one size that is enough for every point without control variates.
#[test]
fn load_curve_needs_a_tenth_of_the_requests() {
    let (rates, schedulers, target) = size(
        (vec![100, 600, 1000], vec!["fcfs"], "2%"),
        ((1..=12).map(|step| 90 * step).collect::<Vec<u32>>(), vec!["fcfs", "clook", "sptf"], "1%"),
    );
    let points: Vec<(u32, &str)> =
        rates.iter().flat_map(|&rate| schedulers.iter().map(move |&scheduler| (rate, scheduler))).collect();
    let requests = |has_controls: bool| -> Vec<u64> {
        points
            .par_iter()
            .map(|(rate, scheduler)| {
                let report = scenario_runs::run(
                    &[
                        "device=g2".to_owned(),
                        format!("scheduler={scheduler}"),
                        format!("workload.arrival={{kind=\"poisson\", rate_per_s={rate}}}"),
                        format!("run.precision={{response={target:?}, control_variates={has_controls}}}"),
                    ],
                    false,
                );
                let found = report.report.precision.expect("it has a precision");
                assert!(found.reached, "{rate}/s, {scheduler}: {found:?}");
                found.requests + found.pilot_requests
            })
            .collect()
    };
    let (with, without) = (requests(true), requests(false));
    let fixed = without.iter().max().copied().unwrap_or(0) * points.len() as u64;
    let (sum_with, sum_without) = (with.iter().sum::<u64>(), without.iter().sum::<u64>());
    println!(
        "{} points at ± {target}: {sum_with} requests, without control variates {sum_without}, of one size {fixed}",
        points.len()
    );
    assert!(fixed >= size(2, 10) * sum_with, "{fixed} {sum_with}");
}
