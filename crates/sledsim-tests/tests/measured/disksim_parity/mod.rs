//! Every reference run of DiskSim 4.0, repeated with *decomposed* seeks and a sled that holds its position when idle.
//!
//! `cargo test --test measured disksim_parity -- --nocapture` prints every deviation. docs/reference/validation.md
//! explains the comparison and its bounds; these tests check the tables of that page.

mod cases;
mod reversals;

use sledsim_testing::scenario_runs;

use cases::{cases, Case, Figures};

use crate::recorded;

/// Mean interarrival time, ms, up to which a case counts as loaded.
const LOADED_IAT_MS: f64 = 1.6;

/// One of a case's figures.
type Figure = fn(&Figures) -> f64;

/// Returns the case with the largest deviation, and the deviation in percent.
fn largest<'a>(cases: impl Iterator<Item = &'a Case>, figure: Figure) -> (String, f64) {
    cases
        .map(|case| (case.id.clone(), case.deviation(figure)))
        .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
        .expect("at least one case")
}

fn assert_within<'a>(cases: impl Iterator<Item = &'a Case>, figure: Figure, percent: f64, what: &str) {
    recorded::assert_within(cases.map(|case| (case.id.as_str(), case.deviation(figure))), percent, what);
}

#[test]
fn print_all_deviations() {
    let cases = cases_or_skip!();
    println!("deviations from DiskSim 4.0 in percent; means in ms; share: requests within 0.001 ms");
    println!(
        "{:5} {:3} {:>5} {:8} {:>5} {:9} {:>9} {:>9} {:>7} {:>6} {:>6} {:>6} {:>7} {:>7} {:>8} {:>6} {:>6}  over",
        "id",
        "dev",
        "k",
        "requests",
        "iat",
        "scheduler",
        "disksim",
        "sledsim",
        "resp",
        "seek",
        "x",
        "y",
        "service",
        "startup",
        "inactive",
        "total",
        "share"
    );
    for case in cases {
        println!(
            "{:5} {:3} {:5.2} {:8} {:5.2} {:9} {:9.4} {:9.4} {:+7.2} {:+6.2} {:+6.2} {:+6.1} {:+7.2} {:+7.2} {:+8.2} {:+6.2} \
             {:6.3}  {}",
            case.id,
            case.device,
            case.spring,
            case.workload,
            case.iat_ms,
            case.scheduler,
            case.disksim.response_ms,
            case.ours.response_ms,
            case.deviation(|f| f.response_ms),
            case.deviation(|f| f.seek_ms),
            case.deviation(|f| f.seek_x_ms),
            case.deviation(|f| f.seek_y_ms),
            case.deviation(|f| f.servicing_j),
            case.deviation(|f| f.startup_j),
            case.deviation(|f| f.inactive_j),
            case.deviation(|f| f.total_j),
            case.share_within(0.001),
            case.over,
        );
        assert!(case.ours.response_ms.is_finite());
    }
}

#[test]
fn response_means_at_light_load_are_within_half_a_percent() {
    let cases = cases_or_skip!();
    assert_eq!(cases.iter().filter(|case| case.light_load()).count(), 24);
    assert_within(cases.iter().filter(|case| case.light_load()), |f| f.response_ms, 0.5, "mean response");
}

#[test]
fn response_means_below_2_5_ms_are_within_1_2_percent() {
    let short = cases_or_skip!().iter().filter(|case| case.disksim.response_ms < 2.5);
    assert_within(short, |f| f.response_ms, 1.2, "mean response");
}

#[test]
fn response_means_up_to_10_ms_are_within_4_percent_or_8_for_fcfs_and_sdf() {
    let cases = cases_or_skip!();
    let early = |case: &Case| ["fcfs", "sdf"].contains(&case.scheduler.as_str());
    let held = || cases.iter().filter(|case| !case.saturated());
    assert_within(held().filter(|case| !early(case)), |f| f.response_ms, 4.0, "mean response");
    assert_within(held().filter(|case| early(case)), |f| f.response_ms, 8.0, "mean response of FCFS and SDF");
}

#[test]
fn order_of_schedulers_agrees_beyond_10_ms() {
    let cases = cases_or_skip!();
    let saturated: Vec<&Case> = cases.iter().filter(|case| case.saturated()).collect();
    assert_eq!(saturated.iter().map(|case| case.id.as_str()).collect::<Vec<_>>(), ["d029", "d034"]);
    for slow in saturated {
        for other in cases.iter().filter(|other| other.group() == slow.group() && other.id != slow.id) {
            let order = |figures: fn(&Case) -> &Figures| figures(slow).response_ms > figures(other).response_ms;
            assert_eq!(order(|case| &case.ours), order(|case| &case.disksim), "{} against {}", slow.id, other.id);
        }
    }
}

#[test]
fn seek_means_are_within_1_percent() {
    assert_within(cases_or_skip!().iter(), |f| f.seek_ms, 1.0, "mean seek");
}

#[test]
fn x_seek_means_are_within_1_percent() {
    assert_within(cases_or_skip!().iter(), |f| f.seek_x_ms, 1.0, "mean X seek");
}

#[test]
fn y_seek_means_under_load_are_within_1_5_percent() {
    // The position of DiskSim's idle sled is arbitrary and affects some Y seeks even under load, above all with SDF,
    // which depends on that position: 1.5 % instead of the 1 % of other seeks.
    let loaded = cases_or_skip!().iter().filter(|case| case.iat_ms <= LOADED_IAT_MS);
    assert_within(loaded, |f| f.seek_y_ms, 1.5, "mean Y seek");
}

#[test]
fn energies_below_saturation_are_within_2_percent() {
    let cases = cases_or_skip!();
    let held = || cases.iter().filter(|case| !case.saturated());
    assert_within(held(), |f| f.servicing_j, 2.0, "servicing energy");
    assert_within(held(), |f| f.startup_j, 2.0, "start-up energy");
    assert_within(held(), |f| f.inactive_j, 2.0, "inactive energy");
    assert_within(held(), |f| f.idle_j, 2.0, "idle energy");
    assert_within(held(), |f| f.total_j, 2.0, "total energy");
}

/// Cases in which the sled stops when idle, for which all energies are compared. A sled that stops at once has no idle
/// energy.
#[test]
fn spin_down_energies_are_within_2_percent() {
    let cases = cases_or_skip!();
    let stopping: Vec<&Case> = cases.iter().filter(|case| case.inactive_ms.is_some()).collect();
    let named: Vec<(&str, Option<f64>)> = stopping.iter().map(|case| (case.id.as_str(), case.inactive_ms)).collect();
    assert_eq!(named, [("d059", Some(0.0)), ("d060", Some(10.0)), ("d061", Some(40.0))]);
    let figures: [(&str, Figure); 5] = [
        ("servicing", |f| f.servicing_j),
        ("start-up", |f| f.startup_j),
        ("inactive", |f| f.inactive_j),
        ("idle", |f| f.idle_j),
        ("total", |f| f.total_j),
    ];
    for (what, figure) in figures {
        for case in &stopping {
            let none = what == "idle" && case.inactive_ms == Some(0.0);
            assert!(none != (figure(&case.disksim) > 0.0) && none != (figure(&case.ours) > 0.0), "{}: {what}", case.id);
        }
        assert_within(stopping.iter().copied(), figure, 2.0, &format!("{what} energy under a timeout"));
    }
}

#[test]
fn without_springs_65_percent_of_light_load_requests_are_within_a_microsecond() {
    let mut checked = 0;
    for case in cases_or_skip!().iter().filter(|case| case.light_load() && case.spring == 0.0) {
        checked += 1;
        let share = case.share_within(0.001);
        assert!(share >= 0.65, "{}: {share:.3}", case.id);
    }
    assert_eq!(checked, 9);
}

/// A row of the table of criteria in docs/reference/validation.md.
fn row<'a>(criterion: &str, bound: &str, cases: impl Iterator<Item = &'a Case> + Clone, figure: Figure) -> Vec<String> {
    let count = cases.clone().count();
    let (id, deviation) = largest(cases, figure);
    vec![criterion.to_owned(), count.to_string(), bound.to_owned(), format!("{deviation:+.2} %"), id]
}

#[test]
fn documented_deviations_equal_those_computed() {
    let cases = cases_or_skip!();
    let early = |case: &&Case| ["fcfs", "sdf"].contains(&case.scheduler.as_str());
    let held = || cases.iter().filter(|case| !case.saturated());
    let light = || cases.iter().filter(|case| case.light_load());
    let loaded = || cases.iter().filter(|case| case.iat_ms <= LOADED_IAT_MS);
    let stopping = || cases.iter().filter(|case| case.inactive_ms.is_some());
    let response = |f: &Figures| f.response_ms;
    let mut rows = vec![
        row("mean response, FCFS at light load", "0.5 %", light(), response),
        row("mean response, DiskSim's below 2.5 ms", "1.2 %", held().filter(|c| c.disksim.response_ms < 2.5), response),
        row("mean response up to 10 ms, FCFS and SDF", "8 %", held().filter(early), response),
        row("mean response up to 10 ms, others", "4 %", held().filter(|case| !early(case)), response),
        row("mean seek", "1 %", cases.iter(), |f| f.seek_ms),
        row("mean X seek", "1 %", cases.iter(), |f| f.seek_x_ms),
        row("mean Y seek under load", "1.5 %", loaded(), |f| f.seek_y_ms),
        row("mean Y seek at light load", "none", light(), |f| f.seek_y_ms),
        row("servicing energy below saturation", "2 %", held(), |f| f.servicing_j),
        row("start-up energy below saturation", "2 %", held(), |f| f.startup_j),
        row("inactive energy below saturation", "2 %", held(), |f| f.inactive_j),
        row("idle energy below saturation", "2 %", held(), |f| f.idle_j),
        row("total energy below saturation", "2 %", held(), |f| f.total_j),
        row("servicing energy, sled stops when idle", "2 %", stopping(), |f| f.servicing_j),
        row("start-up energy, sled stops when idle", "2 %", stopping(), |f| f.startup_j),
        row("inactive energy, sled stops when idle", "2 %", stopping(), |f| f.inactive_j),
        row("idle energy, sled stops when idle", "2 %", stopping(), |f| f.idle_j),
        row("total energy, sled stops when idle", "2 %", stopping(), |f| f.total_j),
    ];
    let spring_free = light().filter(|case| case.spring == 0.0);
    let fewest = spring_free.clone().min_by(|a, b| a.share_within(0.001).total_cmp(&b.share_within(0.001)));
    let fewest = fewest.expect("there are spring-free cases");
    rows.push(vec![
        "single responses within 0.001 ms, no springs, FCFS at light load".to_owned(),
        spring_free.count().to_string(),
        "at least 65 %".to_owned(),
        format!("{:.1} %", fewest.share_within(0.001) * 100.0),
        fewest.id.clone(),
    ]);
    let table: Vec<String> = rows.iter().map(|cells| format!("| {} |", cells.join(" | "))).collect();
    println!("{}", table.join("\n"));
    assert_eq!(scenario_runs::documented("criterion"), rows, "\n{}\n", table.join("\n"));
}
