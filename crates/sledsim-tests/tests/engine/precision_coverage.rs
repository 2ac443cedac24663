//! Coverage of the confidence intervals of runs that end at a precision, and what control variates save.
//!
//! Each system runs with seeds 1 to 200; 95 % of the intervals at the last check should contain the reference, and the number that
//! does varies by 1.5 % (one standard error). With reduced test sizes, 12 runs of the first seven systems must contain it 9 times,
//! which intervals of 95 % fail with a probability of 0.02 %. The error of a reference from a long run is a seventh of the target or less.

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
    /// Targets for its precision.
    targets: &'static [&'static str],
    /// The exact value for constant service, or else that of a run to a seventh of the smallest target or better (see
    /// `references_are_results_of_long_runs`), in the unit of the result.
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
        targets: &["5%"],
        reference: 3.0,
    },
    Case {
        name: "g2, FCFS, light load",
        settings: &["device=g2", "workload.arrival={kind=\"poisson\", rate_per_s=380}"],
        key: "response",
        targets: &["5%", "1%"],
        reference: 1.165212,
    },
    Case {
        name: "g2, FCFS, heavy load",
        settings: &["device=g2", "workload.arrival={kind=\"poisson\", rate_per_s=1010}"],
        key: "response",
        targets: &["5%", "1%"],
        reference: 2.380874,
    },
    Case {
        name: "g2, SPTF, heavy load",
        settings: &["device=g2", "scheduler=sptf", "workload.arrival={kind=\"poisson\", rate_per_s=1300}"],
        key: "response",
        targets: &["1%"],
        reference: 2.893573,
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
        targets: &["1%"],
        reference: 2.287030,
    },
    Case {
        name: "atlas10k, FCFS",
        settings: &["device=atlas10k", "workload.arrival={kind=\"poisson\", rate_per_s=69}"],
        key: "response",
        targets: &["1%"],
        reference: 18.646422,
    },
    Case {
        name: "atlas10k, SPTF",
        settings: &["device=atlas10k", "scheduler=sptf", "workload.arrival={kind=\"poisson\", rate_per_s=110}"],
        key: "response",
        targets: &["1%"],
        reference: 23.854887,
    },
    Case {
        name: "g2, FCFS, 99th percentile",
        settings: &["device=g2", "workload.arrival={kind=\"poisson\", rate_per_s=760}"],
        key: "p99",
        targets: &["5%"],
        reference: 4.504483,
    },
    Case {
        name: "g2, FCFS, energy per request",
        settings: &["device=g2", "workload.arrival={kind=\"poisson\", rate_per_s=380}"],
        key: "energy",
        targets: &["1%"],
        reference: 0.328851894,
    },
    Case {
        name: "g2, FCFS, utilisation",
        settings: &["device=g2", "workload.arrival={kind=\"poisson\", rate_per_s=380}"],
        key: "utilisation",
        targets: &["1%"],
        reference: 0.291692765,
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
        targets: &["2%"],
        reference: 2.071353,
    },
    Case {
        name: "g2, SPTF, 8 users",
        settings: &[
            "device=g2",
            "scheduler=sptf",
            "workload.arrival={kind=\"closed\", outstanding=8, think_ms={kind=\"exponential\", mean=2}}",
        ],
        key: "response",
        targets: &["1%"],
        reference: 3.316720,
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
        targets: &["5%"],
        reference: 0.382144191,
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

fn runs(case: &Case, target: &str, has_controls: bool) -> Runs {
    let precision = format!("run.precision={{{}={target:?}, control_variates={has_controls}}}", case.key);
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
        for target in case.targets.iter().take(size(1, 2)) {
            // The plain estimate takes up to ten times as many requests, so that it is tested at loose targets only.
            let estimates: &[bool] = match (case.is_controlled(), *target) {
                (true, "5%") => &[true, false],
                (true, _) => &[true],
                (false, _) => &[false],
            };
            for &has_controls in estimates {
                let runs = runs(case, target, has_controls);
                let estimate = if has_controls { "with control variates" } else { "plain" };
                let cells = [
                    case.name.to_owned(),
                    format!("{} ± {target}", case.key),
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
    }
    assert!(failures.is_empty(), "{failures:?}");
}

/// Simulates each system to a tenth of its smallest target. The error of that value and of the reference are independent.
#[test]
#[ignore = "takes many minutes; prints values for the references above"]
fn references_are_results_of_long_runs() {
    let failures: Vec<String> = CASES
        .par_iter()
        .filter_map(|case| {
            let target = case.targets.last()?.trim_end_matches('%').parse::<f64>().ok()? / 10.0;
            let more = ["run.requests=400000000".to_owned(), format!("run.precision.{}={target}%", case.key)];
            let found = run(case, &more).precision?.results.remove(0);
            println!("{}: {:?} ± {:?}", case.name, found.value, found.half_width);
            let half_width = found.half_width? * case.reference;
            ((found.value? - case.reference).abs() > 3.0 * half_width).then(|| case.name.to_owned())
        })
        .collect();
    assert!(failures.is_empty(), "{failures:?}");
}

/// A single drive with Poisson arrivals, and the least ratio of variances that its control variates must reach with 120 replications.
struct Controlled {
    name: &'static str,
    settings: &'static [&'static str],
    rates_per_s: &'static [u32],
    least_ratio: f64,
}

const CONTROLLED: &[Controlled] = &[
    Controlled { name: "g2, FCFS", settings: &["device=g2"], rates_per_s: &[380, 760, 1010], least_ratio: 5.0 },
    Controlled {
        name: "g2, SPTF",
        settings: &["device=g2", "scheduler=sptf"],
        rates_per_s: &[600, 1000, 1300],
        least_ratio: 2.6,
    },
    Controlled {
        name: "g2, SPTF, exponential sizes",
        settings: &["device=g2", "scheduler=sptf", "workload.size_bytes={kind=\"exponential\", mean=8192}"],
        rates_per_s: &[1000],
        least_ratio: 2.6,
    },
    Controlled { name: "atlas10k, FCFS", settings: &["device=atlas10k"], rates_per_s: &[69, 95], least_ratio: 3.0 },
    Controlled {
        name: "atlas10k, SPTF",
        settings: &["device=atlas10k", "scheduler=sptf"],
        rates_per_s: &[110],
        least_ratio: 2.0,
    },
    Controlled {
        name: "atlas10k, FCFS, reads and writes",
        settings: &["device=atlas10k", "workload.read_fraction=0.67"],
        rates_per_s: &[69],
        least_ratio: 3.0,
    },
];

/// The variance of the plain mean over that of the mean with control variates, in runs of one size that differ in their seed. With 120
/// replications, such a ratio has a standard error of about a sixth; with 24, of a third.
#[test]
fn control_variates_cut_the_variance_of_the_mean() {
    let (cases, replications, margin) = size((2, 24_u64, 0.4), (CONTROLLED.len(), 120, 1.0));
    let mut failures = Vec::new();
    for case in &CONTROLLED[..cases] {
        for rate in &case.rates_per_s[..size(1, case.rates_per_s.len())] {
            let means: Vec<(f64, f64)> = (1..=replications)
                .into_par_iter()
                .map(|seed| {
                    let mut settings: Vec<String> = case.settings.iter().map(|&setting| setting.to_owned()).collect();
                    settings.push(format!("workload.arrival={{kind=\"poisson\", rate_per_s={rate}}}"));
                    settings.extend(["run.requests=41000", "run.warmup_requests=1000"].map(str::to_owned));
                    settings.push(format!("seed={seed}"));
                    let report = scenario_runs::run(&settings, false).report;
                    let plain = report.response.expect("requests were measured").mean_ms;
                    // Without independent batches there is no controlled mean.
                    (plain, report.controlled_response.map_or(plain, |controlled| controlled.mean_ms))
                })
                .collect();
            let variance = |values: Vec<f64>| {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
            };
            let (plain, controlled): (Vec<f64>, Vec<f64>) = means.iter().copied().unzip();
            let corrected = means.iter().filter(|(plain, controlled)| plain != controlled).count();
            let ratio = variance(plain) / variance(controlled);
            println!("| {}, {rate}/s | {ratio:.1} | {corrected} of {replications} |", case.name);
            if ratio < margin * case.least_ratio {
                failures.push(format!("{}, {rate}/s: {ratio}", case.name));
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
