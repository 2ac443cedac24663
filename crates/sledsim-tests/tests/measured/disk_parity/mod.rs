//! Every reference run of DiskSim 4.0's disks, repeated.
//!
//! `cargo test --test measured disk_parity -- --nocapture` prints every deviation.

mod cases;

use cases::{cases, Case, Figures};

use crate::recorded;

fn assert_within<'a>(cases: impl Iterator<Item = &'a Case>, figure: fn(&Figures) -> f64, percent: f64, what: &str) {
    recorded::assert_within(cases.map(|case| (case.id.as_str(), case.deviation(figure))), percent, what);
}

#[test]
fn print_all_deviations() {
    let cases = cases_or_skip!();
    println!(
        "response times in ms, deviations from DiskSim 4.0 in percent; share: requests within 0.001 ms, within 0.1 ms"
    );
    println!(
        "{:5} {:11} {:7} {:>5} {:>5} {:>5} {:9} {:>10} {:>10} {:>7} {:>10} {:>7} {:>6} {:>6}",
        "id",
        "drive",
        "kind",
        "iat",
        "reads",
        "cache",
        "scheduler",
        "disksim",
        "sledsim",
        "mean",
        "p99",
        "p99",
        "share",
        "0.1"
    );
    for case in cases {
        println!(
            "{:5} {:11} {:7} {:5.1} {:5.1} {:>5} {:9} {:10.4} {:10.4} {:+7.3} {:10.4} {:+7.3} {:6.3} {:6.3}",
            case.id,
            case.drive,
            case.workload,
            case.iat_ms,
            case.reads,
            case.cache,
            case.scheduler,
            case.disksim.mean_ms,
            case.ours.mean_ms,
            case.deviation(|f| f.mean_ms),
            case.disksim.p99_ms,
            case.deviation(|f| f.p99_ms),
            case.share_within(0.001),
            case.share_within(0.1),
        );
        assert!(case.ours.mean_ms.is_finite());
    }
}

#[test]
fn responses_at_light_load_are_within_2_percent_on_the_mean_and_3_on_the_99th_percentile() {
    let cases = cases_or_skip!();
    assert_eq!(cases.iter().filter(|case| case.light_load()).count(), 18);
    assert_within(cases.iter().filter(|case| case.light_load()), |f| f.mean_ms, 2.0, "mean response");
    assert_within(cases.iter().filter(|case| case.light_load()), |f| f.p99_ms, 3.0, "99th percentile of responses");
}

#[test]
fn response_means_under_load_are_within_10_percent_below_100_ms() {
    let cases = cases_or_skip!();
    let held = cases.iter().filter(|case| !case.light_load() && !case.saturated());
    assert_within(held, |f| f.mean_ms, 10.0, "mean response");
}

#[test]
fn order_of_schedulers_agrees_from_100_ms_on() {
    let cases = cases_or_skip!();
    let mut compared = 0;
    for slow in cases.iter().filter(|case| case.saturated()) {
        for other in cases.iter().filter(|other| other.group() == slow.group() && other.id != slow.id) {
            let order = |figures: fn(&Case) -> &Figures| figures(slow).mean_ms > figures(other).mean_ms;
            assert_eq!(order(|case| &case.ours), order(|case| &case.disksim), "{} against {}", slow.id, other.id);
            compared += 1;
        }
    }
    assert!(compared > 0);
}
