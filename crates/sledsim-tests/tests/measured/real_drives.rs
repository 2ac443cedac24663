//! Real drives, against the service times measured on them.
//!
//! Each trace is replayed in a closed loop: a request is issued the recorded gap after the one before has completed in the
//! model. The parameters are those of the drive's files, as `sledsim import disksim` reads them. `cargo test --test measured
//! real_drives -- --nocapture` prints the figures.

use std::path::Path;

use sledsim::devices::disk::{DiskDevice, DiskParameters};
use sledsim::devices::{Mechanism, Service, STATES};
use sledsim::request::{Op, Request};
use sledsim::scenario::DeviceSpec;
use sledsim::time::Time;
use sledsim_disksim::{import, ImportOptions};
use sledsim_testing::reference;

/// Nanoseconds in a millisecond.
const NS_PER_MS: f64 = 1e6;

/// A drive, and most that its figures may be.
struct Limit {
    name: &'static str,
    /// DiskSim 4.0's own demerit, ms; none of the drive that it crashes on.
    disksim_ms: Option<f64>,
    /// Demerit of this model before data were handed over by whole passes, and arms set off as soon after a read as after a
    /// write, ms.
    before_ms: f64,
    /// Median error per request, ms: DiskSim's, or this model's then where that is not known.
    median_ms: f64,
}

const LIMITS: [Limit; 7] = [
    Limit { name: "atlas10k", disksim_ms: Some(0.268), before_ms: 0.1502, median_ms: 0.121 },
    Limit { name: "barracuda", disksim_ms: Some(0.348), before_ms: 0.2146, median_ms: 0.260 },
    Limit { name: "cheetah4LP", disksim_ms: Some(0.313), before_ms: 0.2280, median_ms: 0.369 },
    Limit { name: "cheetah9LP", disksim_ms: Some(0.108), before_ms: 0.0862, median_ms: 0.192 },
    Limit { name: "dec_rz26", disksim_ms: Some(0.341), before_ms: 0.5606, median_ms: 0.4834 },
    Limit { name: "hp_c2247a", disksim_ms: Some(0.092), before_ms: 0.0861, median_ms: 0.067 },
    Limit { name: "st41601n", disksim_ms: None, before_ms: 0.0814, median_ms: 0.1141 },
];

/// Half of the last digit in which the demerits of before are given, ms.
const ROUNDING_MS: f64 = 5e-5;

/// A line of a trace.
#[derive(Clone, Copy)]
struct Step {
    op: Op,
    lbn: u64,
    blocks: u32,
    measured_ms: f64,
    gap_ns: u64,
}

fn steps(path: &Path) -> Vec<Step> {
    let text = std::fs::read_to_string(path).expect("the trace can be read");
    text.lines()
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let us = |word: &str| word.parse::<f64>().expect("a time");
            Step {
                op: if words[0] == "R" { Op::Read } else { Op::Write },
                lbn: words[2].parse().expect("an LBN"),
                blocks: words[3].parse().expect("a number of blocks"),
                measured_ms: us(words[4]) / 1e3,
                gap_ns: (us(words[5]) * 1e3).round() as u64,
            }
        })
        .collect()
}

fn parameters(specs: &Path) -> DiskParameters {
    let import = import(specs, &ImportOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    match import.device {
        DeviceSpec::Disk(parameters) => *parameters,
        other => panic!("not a disk: {other:?}"),
    }
}

/// Replays a trace; `look` sees the device before each request.
fn replay(drive: &mut DiskDevice, steps: &[Step], mut look: impl FnMut(&DiskDevice, Time, &Service)) -> Vec<Service> {
    let mut now = Time::ZERO;
    let mut services = Vec::with_capacity(steps.len());
    for (id, step) in (0..).zip(steps) {
        let Step { op, lbn, blocks, gap_ns, .. } = *step;
        let request = Request { id, arrival: now, op, ..Request::read(lbn, blocks) };
        let service = drive.serve(now, &request);
        look(drive, now, &service);
        now = service.end + gap_ns;
        services.push(service);
    }
    services
}

/// A drive's figures, ms.
struct Figures {
    demerit_ms: f64,
    median_error_ms: f64,
    measured_mean_ms: f64,
    mean_ms: f64,
}

/// Demerit: the root mean square distance of the two distributions, quantile by quantile (Ruemmler and Wilkes 1994).
fn figures(steps: &[Step], services: &[Service]) -> Figures {
    let mut measured: Vec<f64> = steps.iter().map(|step| step.measured_ms).collect();
    let mut modelled: Vec<f64> =
        services.iter().map(|service| (service.end - service.start) as f64 / NS_PER_MS).collect();
    let count = measured.len() as f64;
    let mut errors: Vec<f64> = measured.iter().zip(&modelled).map(|(a, b)| (a - b).abs()).collect();
    let (measured_mean_ms, mean_ms) = (measured.iter().sum::<f64>() / count, modelled.iter().sum::<f64>() / count);
    measured.sort_unstable_by(f64::total_cmp);
    modelled.sort_unstable_by(f64::total_cmp);
    errors.sort_unstable_by(f64::total_cmp);
    let squares: f64 = measured.iter().zip(&modelled).map(|(a, b)| (a - b).powi(2)).sum();
    let median_error_ms = (errors[errors.len() / 2] + errors[(errors.len() - 1) / 2]) / 2.0;
    Figures { demerit_ms: (squares / count).sqrt(), median_error_ms, measured_mean_ms, mean_ms }
}

/// A drive of the reference data and its trace.
fn drive(name: &str) -> Option<(DiskDevice, Vec<Step>)> {
    let folder = reference("drives")?.join(name);
    let parameters = parameters(&folder.join(format!("{name}.parv")));
    Some((DiskDevice::new(&parameters).expect("a drive"), steps(&folder.join(format!("{name}.trace")))))
}

#[test]
fn drives_serve_as_measured() {
    println!("| drive | requests | DiskSim | before | demerit | median error | measured mean | modelled |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut failures = Vec::new();
    for Limit { name, disksim_ms, before_ms, median_ms } in LIMITS {
        let Some((mut device, steps)) = drive(name) else { return };
        let services = replay(&mut device, &steps, |_, _, _| ());
        let f = figures(&steps, &services);
        println!(
            "| {name} | {} | {} | {before_ms:.4} | {:.4} | {:.4} | {:.4} | {:.4} |",
            steps.len(),
            disksim_ms.map_or("crashes".into(), |ms| format!("{ms:.3}")),
            f.demerit_ms,
            f.median_error_ms,
            f.measured_mean_ms,
            f.mean_ms
        );
        let most_ms = disksim_ms.unwrap_or(f64::INFINITY).min(before_ms + ROUNDING_MS);
        // The limits of medians are given to a microsecond; so are the measured times.
        if f.demerit_ms > most_ms || f.median_error_ms > median_ms + 1e-6 {
            failures.push(format!("{name}: demerit {:.4}, median error {:.4} ms", f.demerit_ms, f.median_error_ms));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("; "));
}

/// What the phases and the ledger must be whatever the drive does by itself.
#[test]
fn phases_and_ledgers_add_up() {
    for Limit { name, .. } in LIMITS {
        let Some((mut device, mut steps)) = drive(name) else { return };
        // Gaps of all sizes: requests that come while the drive reads ahead or writes behind, and long after.
        for (index, step) in steps.iter_mut().enumerate() {
            step.gap_ns /= 4_u64.pow((index % 12) as u32);
        }
        let mut before = Time::ZERO;
        let mut booked = [0; STATES.len()];
        replay(&mut device, &steps, |device, now, service| {
            assert_eq!(service.phases.service_ns(), service.end - service.start, "{name} at {now:?}");
            assert_eq!((service.start, service.free), (now, service.end), "{name}");
            for at in [now, Time::from_ns((now.ns() + service.end.ns()) / 2), service.end] {
                let ledger = device.ledger(at);
                assert_eq!(ledger.total_ns(), at.ns(), "{name} at {at:?}");
                let falls = booked.iter().zip(ledger.time_ns).any(|(before, now)| *before > now);
                assert!(!falls, "{name}: time of a state falls from {booked:?} to {:?}", ledger.time_ns);
                booked = ledger.time_ns;
            }
            assert!(before <= now);
            before = service.end;
        });
    }
}
