//! Lin et al. 2002: where the joules of a device go, and three ways to save some.

use rayon::prelude::*;
use sledsim::scenario::{Energy, Report};

use crate::common::reference;
use crate::experiments::{poisson, report, trend};
use crate::ledger::{figure, Finding, Ours};

/// The paper's idle sled: it keeps sweeping (section 4.2), and the tips of the last access go on reading servo bursts.
const IDLE: [&str; 2] = ["device.idle=sweep", "device.idle_tips=last-access"];

pub fn findings() -> Vec<Finding> {
    let mut findings = model();
    findings.extend(seagate());
    findings.extend(snake());
    findings
}

/// Every report of settings on top of a base.
fn reports(base: &[String], variants: &[Vec<String>]) -> Vec<Report> {
    variants.par_iter().map(|variant| report(&[base, variant].concat())).collect()
}

fn strings(settings: &[&str]) -> Vec<String> {
    settings.iter().map(|&setting| setting.to_owned()).collect()
}

fn mean_ms(report: &Report) -> f64 {
    report.response.as_ref().expect("requests were measured").mean_ms
}

fn energy(report: &Report) -> &Energy {
    report.energy.as_ref().expect("the powers of the device are known")
}

/// Share of a quantity that is saved.
fn saved(before: f64, after: f64) -> f64 {
    1.0 - after / before
}

/// What follows from published parameters.
fn model() -> Vec<Finding> {
    // A block of 8000 B lies under 1000 tips.
    let thousand_tips = ["device.block_bytes=8000", "device.tips=6000", "device.active_tips=1000"];
    let whole = [poisson(100.0), "workload.size_bytes={kind=\"fixed\", value=8000}".to_owned()];
    let run = report(&[&strings(&["device=g2", "run.requests=1000"]), &strings(&thousand_tips), &whole[..]].concat());
    let (joules, time) = (energy(&run), &run.state_time);
    let access_w = (joules.servo_j + joules.data_j) / (time.servo_s + time.data_s);
    let base = [
        strings(&["device=g3", "system.subsector=true", "run.requests=20000"]),
        vec![poisson(100.0), "workload.size_bytes={kind=\"fixed\", value=8192}".to_owned()],
    ]
    .concat();
    let last_block = ["whole", "uniform"].map(|needed| vec![format!("workload.last_block={needed}")]);
    let subsector = reports(&base, &last_block);
    let [whole_j, part_j] = [0, 1].map(|i| energy(&subsector[i]).servicing_j);
    let accessing_j = |report: &Report| energy(report).servo_j + energy(report).data_j;
    println!(
        "part of the last block: {whole_j:.4} to {part_j:.4} J of servicing, of which servo and data {:.4} to {:.4} J",
        accessing_j(&subsector[0]),
        accessing_j(&subsector[1])
    );
    vec![
        figure("access-power", access_w * 1e3, 1),
        Finding { id: "startup-energy", ours: Ours::Figures(vec![startup_j()], 6) },
        figure("subsector-last-block", saved(whole_j, part_j), 4),
        Finding { id: "subsector-response", ours: trend(&[mean_ms(&subsector[0]), mean_ms(&subsector[1])]) },
    ]
}

/// Joules of one start-up, of a run in which every request finds the device stopped.
fn startup_j() -> f64 {
    let arrival = "workload.arrival={kind=\"constant\", rate_per_s=10}";
    let run = report(&["device=g2", "system.spin_down=immediate", arrival, "run.requests=1000"]);
    assert_eq!(energy(&run).startups, 1000);
    energy(&run).startup_j / energy(&run).startups as f64
}

/// The paper's own trace, on g2.
fn seagate() -> Vec<Finding> {
    let Some(path) = reference("drives/st41601n/st41601n.trace") else { return Vec::new() };
    let base = [strings(&["device=g2"]), strings(&IDLE), vec![format!("workload.path={}", path.display())]].concat();
    let table = report(&[&base[..], &strings(&["device.inactive_after_ms=1000"])].concat());
    let joules = energy(&table);
    println!("Seagate, timeout 1 s: {joules:#?}");
    let mut findings = vec![
        figure("seagate-idle", joules.idle_j, 2),
        figure("seagate-seek", joules.seek_j, 3),
        figure("seagate-servo-to-data", joules.servo_j / joules.data_j, 4),
        figure("seagate-transfer", joules.data_j, 3),
        figure("seagate-idle-share", joules.idle_j / joules.total_j, 3),
    ];
    findings.extend(timeouts(&base));
    findings
}

/// Figure 5: the same trace under idle timeouts from 0 to 40 ms.
fn timeouts(base: &[String]) -> Vec<Finding> {
    let timeouts_ms = [0, 1, 2, 5, 10, 15, 20, 25, 30, 35, 40];
    let settings = timeouts_ms.map(|timeout_ms| vec![format!("device.inactive_after_ms={timeout_ms}")]);
    let runs = reports(base, &settings);
    for (timeout_ms, run) in timeouts_ms.iter().zip(&runs) {
        let joules = energy(run);
        println!(
            "timeout {timeout_ms} ms: {:.4} J (idle {:.3}, inactive {:.3}, start-up {:.3}, servicing {:.3}), {} start-ups; \
             response {:.4} ms (start-up {:.4}, seek {:.4}, between rows {:.4}), {:.3} requests/s",
            joules.total_j,
            joules.idle_j,
            joules.inactive_j,
            joules.startup_j,
            joules.servicing_j,
            joules.startups,
            mean_ms(run),
            run.startup.mean_ms,
            run.seek.mean_ms,
            run.turnaround.mean_ms,
            run.throughput.requests_per_s
        );
    }
    let totals_j: Vec<f64> = runs.iter().map(|run| energy(run).total_j).collect();
    let (none, longest) = (&runs[0], runs.last().expect("timeouts"));
    // No idle period lasts for the 50 ms from which on, section 5.1 says, stopping saves energy; yet it does.
    assert_eq!(energy(longest).startups, 1);
    assert!(energy(none).total_j < energy(longest).total_j);
    vec![
        Finding { id: "timeout-monotone", ours: trend(&totals_j) },
        figure("timeout-energy", energy(none).total_j / energy(longest).total_j, 3),
        figure("timeout-response", mean_ms(none) - mean_ms(longest), 3),
        figure("timeout-throughput", saved(longest.throughput.requests_per_s, none.throughput.requests_per_s), 4),
    ]
}

/// The stand-in of the day of snake.
fn snake() -> Vec<Finding> {
    let day = strings(&["workload=snake-like"]);
    let mut findings = vec![shares(&day)];
    findings.extend(merging(&day));
    findings.push(metadata(&day));
    findings.extend(combined(&day));
    findings
}

/// The day ten times faster, as the paper replays it.
const TENFOLD: &str = "workload.time_scale=0.1";

/// How much faster the day may be replayed, slowest first; at the last the device has hardly time for it.
const TIME_SCALES: [f64; 5] = [0.1, 0.03, 0.01, 0.003, 0.001];

/// Table 1, right half.
fn shares(day: &[String]) -> Finding {
    let settings = ["device=g2", "device.inactive_after_ms=1000", TENFOLD];
    let run = report(&[day, &strings(&settings), &strings(&IDLE)].concat());
    let joules = energy(&run);
    println!("snake-like (stand-in), timeout 1 s: {:.0} s, {joules:#?}", run.run.measured_s);
    let shares = [joules.inactive_j, joules.idle_j].map(|part_j| part_j / joules.total_j);
    Finding { id: "snake-shares", ours: Ours::Figures(shares.to_vec(), 3) }
}

/// Figure 6: queues get longer as the day is replayed faster.
fn merging(day: &[String]) -> Vec<Finding> {
    let merge = "system.merge={}";
    let beyond = "system.merge={requests=16, anywhere=true, writes=true, rows=true}";
    let mut longest = (0.0, 0.0);
    for time_scale in TIME_SCALES {
        let base = [day, &strings(&["device=g3"]), &[format!("workload.time_scale={time_scale}")]].concat();
        let runs = reports(&base, &[Vec::new(), strings(&[merge]), strings(&[beyond])]);
        let of = |run: &Report| {
            (saved(energy(&runs[0]).servicing_j, energy(run).servicing_j), saved(mean_ms(&runs[0]), mean_ms(run)))
        };
        println!(
            "snake-like (stand-in) at {time_scale}: queue {:.2}, at most {}; saved joules and response by adjacent reads \
             {:.4?}, by all requests {:.4?}",
            runs[0].queue.mean,
            runs[0].queue.max,
            of(&runs[1]),
            of(&runs[2])
        );
        longest = of(&runs[1]);
    }
    let read_on =
        [day, &strings(&["device=g3", "workload.time_scale=0.001", "workload.continuation.reads=0.95"])].concat();
    let runs = reports(&read_on, &[Vec::new(), strings(&[merge])]);
    println!(
        "if 95 % of the reads went on where the one before them ends: {:.4} of the servicing joules and {:.4} of the response saved",
        saved(energy(&runs[0]).servicing_j, energy(&runs[1]).servicing_j),
        saved(mean_ms(&runs[0]), mean_ms(&runs[1]))
    );
    vec![figure("merge-energy", longest.0, 4), figure("merge-response", longest.1, 4)]
}

/// Figure 8: metadata requests that touch only the bytes they need.
fn metadata(day: &[String]) -> Finding {
    let base = [day, &strings(&["device=g3", TENFOLD])].concat();
    let mixes = [4, 66, 128].map(|bytes| {
        let variants = [false, true]
            .map(|on| vec![format!("system.subsector={on}"), format!("workload.metadata.write_bytes={bytes}")]);
        let runs = reports(&base, &variants);
        let [before, after] = [0, 1].map(|i| energy(&runs[i]));
        println!(
            "snake-like (stand-in), metadata writes of {bytes} B: {:.4} to {:.4} J of servicing (seeks {:.4} to {:.4}), saved {:.4}",
            before.servicing_j,
            after.servicing_j,
            before.seek_j,
            after.seek_j,
            saved(before.servicing_j, after.servicing_j)
        );
        saved(before.servicing_j, after.servicing_j)
    });
    figure("subsector-metadata", mixes[1], 3)
}

/// The same on days that are replayed faster still, where queues give merging more to do.
fn quicker_days(base: &[String], variants: &[Vec<String>]) {
    for time_scale in &TIME_SCALES[1..] {
        let base = [base, &[format!("workload.time_scale={time_scale}")]].concat();
        let runs = reports(&base, &[variants[0].clone(), variants[4].clone()]);
        println!(
            "snake-like (stand-in) at {time_scale}, all strategies: {:.4} of the joules saved, response {:.4} to {:.4} ms",
            saved(energy(&runs[0]).total_j, energy(&runs[1]).total_j),
            mean_ms(&runs[0]),
            mean_ms(&runs[1])
        );
    }
}

/// Figure 9: all three strategies together.
fn combined(day: &[String]) -> Vec<Finding> {
    let base = [day, &strings(&["device=g3", TENFOLD]), &strings(&IDLE)].concat();
    let timeout = "system.spin_down={name=\"timeout\", after_ms=1000}";
    let immediate = "system.spin_down=immediate";
    let (merge, subsector) = ("system.merge={}", "system.subsector=true");
    let last_block = "workload.last_block=uniform";
    let variants = [
        strings(&[timeout]),
        strings(&[immediate]),
        strings(&[timeout, merge]),
        strings(&[timeout, subsector, last_block]),
        strings(&[immediate, merge, subsector, last_block]),
    ];
    let runs = reports(&base, &variants);
    for (variant, run) in variants.iter().zip(&runs) {
        let joules = energy(run);
        println!(
            "snake-like (stand-in) {variant:?}: {:.3} J, {:.4} of it saved, response {:.4} ms; {joules:.3?}",
            joules.total_j,
            saved(energy(&runs[0]).total_j, joules.total_j),
            mean_ms(run)
        );
    }
    let (none, all) = (&runs[0], &runs[4]);
    quicker_days(&base, &variants);
    vec![
        figure("combined-energy", saved(energy(none).total_j, energy(all).total_j), 3),
        Finding { id: "combined-response", ours: trend(&[mean_ms(none), mean_ms(all)]) },
    ]
}
