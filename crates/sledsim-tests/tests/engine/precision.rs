//! Runs that end at a precision: where they end, and what they report.

use std::path::Path;

use serde_json::Value;
use sledsim::scenario::{self, Notation, Report};
use sledsim_testing::scenario_runs;
use sledsim_testing::scenarios::catalog;

const G2: &[&str] = &["device=g2", "workload.arrival={kind=\"poisson\", rate_per_s=800}"];
const CONSTANT: &[&str] =
    &["device=simpledisk-constant", "device.access_ms=1", "workload.arrival={kind=\"poisson\", rate_per_s=800}"];
const CACHE: &[&str] = &[
    "system.kind=ram-cache",
    "system.bytes=1048576",
    "system.child={device=\"g2\"}",
    "workload.location={kind=\"zipf\", exponent=1, regions=10000}",
    "workload.arrival={kind=\"poisson\", rate_per_s=300}",
];

fn report(settings: &[&str], more: &[&str]) -> Report {
    let all: Vec<&str> = settings.iter().chain(more).copied().collect();
    scenario_runs::run(&all, false).report
}

/// The results of a run as JSON, without the parts that only a run with a precision has.
fn results(report: &Report) -> Value {
    let mut json = serde_json::to_value(report).unwrap();
    let table = json.as_object_mut().unwrap();
    ["scenario", "precision", "warmup", "controlled_response"].iter().for_each(|key| drop(table.remove(*key)));
    table["run"].as_object_mut().unwrap().remove("end");
    json
}

#[test]
fn stopped_run_equals_a_run_of_that_size() {
    let runs: [(&[&str], &[&str]); 5] = [
        (G2, &["run.precision.response=3%"]),
        (G2, &["run.precision.response=3%", "run.warmup=fixed"]),
        (G2, &["run.precision={energy=\"2%\", p90=\"5%\"}", "run.warmup=fixed"]),
        (G2, &["run.precision.response=3%", "scheduler=sptf"]),
        (CACHE, &["run.precision={hit_ratio=\"5%\", utilisation=\"5%\"}"]),
    ];
    for (settings, precision) in runs {
        let stopped = report(settings, precision);
        let found = stopped.precision.as_ref().unwrap();
        assert!(found.reached && stopped.run.end == "precision", "{precision:?}: {found:?}");
        assert_eq!(found.requests, stopped.requests.submitted);
        let size = format!("run.requests={}", found.requests);
        let warmup = format!("run.warmup_requests={}", stopped.requests.warmup);
        let scheduler = precision.iter().find(|setting| setting.starts_with("scheduler")).unwrap_or(&"scheduler=fcfs");
        let scheduler: &[&str] = if settings == CACHE { &[] } else { &[*scheduler] };
        let more: Vec<&str> = [size.as_str(), &warmup].into_iter().chain(scheduler.iter().copied()).collect();
        assert_eq!(results(&stopped), results(&report(settings, &more)), "{precision:?}");
    }
}

#[test]
fn run_that_misses_its_precision_says_so() {
    let missed = report(G2, &["run.precision.response=0.1%", "run.requests=5000"]);
    let found = missed.precision.unwrap();
    assert!(
        !found.reached
            && found.requests == 5000
            && found.results[0].half_width.is_none_or(|half_width| half_width > 0.001),
        "{found:?}"
    );
    assert_eq!(missed.run.end, "requests");
    assert!(missed.run.note.unwrap().contains("precision of response not reached in 5000 requests"));
}

#[test]
fn overload_ends_a_run_early() {
    // With a fixed warm-up of no requests, the run processes no events.
    for warmup in ["run.warmup=auto", "run.warmup=fixed"] {
        let rate = "workload.arrival.rate_per_s=1500";
        let overloaded = report(CONSTANT, &[rate, "run.precision.response=1%", warmup]);
        let found = overloaded.precision.unwrap();
        assert!(!found.reached && found.requests < 25_000, "{warmup}: {found:?}");
        assert_eq!(overloaded.run.end, "overload");
    }
}

/// The control variate is the queue itself, so the estimate is exact: 1 ms of service and a wait of 2 ms.
#[test]
fn control_variate_of_the_same_queue_gives_the_exact_mean() {
    let found = report(CONSTANT, &["run.precision.response=1%"]).controlled_response.unwrap();
    assert!((found.mean_ms - 3.0).abs() < 1e-4, "{found:?}");
    assert_eq!((found.variance_ratio, &*found.controls[0]), (None, "M/D/1 wait"));
}

/// At a light load the response is mostly service, which distances, sizes and shares of writes explain. A mean distance that is wrong by
/// 1 % would change the estimate by three standard errors; 200,000 requests hardly show an error of 1 % in the other means.
#[test]
fn means_of_requests_are_exact() {
    let more = [
        "workload.size_bytes={kind=\"exponential\", mean=2000}",
        "workload.range={start_fraction=0.1, end_fraction=0.9}",
        "workload.read_fraction=0.3",
        "workload.arrival.rate_per_s=50",
        "run.requests=200000",
    ];
    let found = report(G2, &more);
    let (plain, controlled) = (found.response.unwrap(), found.controlled_response.unwrap());
    let names = ["M/D/1 wait", "M/D/1 wait at 85 % of the service", "request size", "distance", "writes"];
    assert_eq!(controlled.controls, names);
    // The seed is fixed: the difference is below two standard errors in 95 % of runs.
    let half_width = 0.5 * (plain.ci95_high_ms.unwrap() - plain.ci95_low_ms.unwrap());
    assert!((plain.mean_ms - controlled.mean_ms).abs() < half_width, "{plain:?} {controlled:?}");
    assert!(controlled.variance_ratio.unwrap() > 1.2, "{controlled:?}");
}

#[test]
fn controlled_mean_is_that_of_a_run_of_fixed_length() {
    let stopped = report(G2, &["run.precision.response=2%", "run.warmup_requests=2000"]);
    let requests = format!("run.requests={}", stopped.precision.unwrap().requests);
    let fixed = report(G2, &[&requests, "run.warmup_requests=2000"]);
    let means = [stopped.controlled_response, fixed.controlled_response].map(|found| found.map(|found| found.mean_ms));
    assert_eq!(means[0], means[1]);
    let short = report(G2, &["run.requests=9000"]);
    assert!(means[0].is_some() && short.controlled_response.is_none());
}

#[test]
fn control_variates_need_poisson_arrivals_at_one_drive() {
    let without: [(&[&str], &[&str]); 4] = [
        (G2, &["workload.arrival={kind=\"constant\", rate_per_s=800}"]),
        (G2, &["workload.arrival={kind=\"closed\", outstanding=4, think_ms={kind=\"exponential\", mean=1}}"]),
        (G2, &["run.precision.control_variates=false"]),
        (CACHE, &[]),
    ];
    for (settings, more) in without {
        let more: Vec<&str> =
            more.iter().copied().chain(["run.precision.response=10%", "run.requests=20000"]).collect();
        assert!(report(settings, &more).controlled_response.is_none(), "{more:?}");
    }
}

#[test]
fn detected_warmup_covers_the_filling_of_a_queue() {
    // Sixteen users start at once and think for a long time after that.
    let settings = ["workload.arrival={kind=\"closed\", outstanding=16, think_ms={kind=\"exponential\", mean=100}}"];
    let found = report(
        &["device=simpledisk-constant", "device.access_ms=5", settings[0]],
        &["run.warmup=auto", "run.requests=20000"],
    );
    let warmup = found.warmup.unwrap();
    assert_eq!((warmup.method.as_str(), warmup.requests), ("MSER-5", found.requests.warmup));
    assert!(warmup.requests >= 10 && warmup.pilot_requests == 1000, "{warmup:?}");
}

#[test]
fn contradictions_are_refused() {
    let refused: [(&[&str], &[&str], &str); 7] = [
        (G2, &["run.precision={}"], "run.precision"),
        (G2, &["run.precision.response=1%", "run.time_s=10"], "run.precision"),
        (G2, &["run.precision.response=1%", "run.warmup_s=10"], "run.precision"),
        (G2, &["run.precision.response=1%", "run.power_cuts.times_s=[1]"], "run.precision"),
        (G2, &["run.precision.hit_ratio=1%"], "run.precision.hit_ratio"),
        (CONSTANT, &["run.precision.energy=1%"], "run.precision.energy"),
        (G2, &["run.warmup=auto", "run.warmup_requests=10"], "run.warmup"),
    ];
    for (settings, more, key) in refused {
        let all: Vec<String> = settings.iter().chain(more).map(|&setting| setting.to_owned()).collect();
        let faults = scenario::resolve("", Notation::Toml, "test", &all, &catalog(), Path::new(".")).unwrap_err();
        assert!(faults.to_string().contains(key), "{more:?}: {faults}");
    }
}
