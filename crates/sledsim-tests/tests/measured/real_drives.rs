//! Modelled against measured service times of real drives.
//!
//! Each trace is replayed in a closed loop: a request is issued after the recorded gap, counted from the modelled
//! completion of the previous request. The parameters are those of the drive's files, as `sledsim import` reads them.
//! `cargo test --test measured real_drives -- --nocapture` prints the figures.

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

/// Upper bounds of the errors of a drive, ms.
struct Bounds {
    name: &'static str,
    /// Demerit of DiskSim 4.0; `None` for the drive that it crashes on.
    disksim: Option<f64>,
    /// Demerit of all requests. Opposite errors of reads and writes can cancel in it, so both have bounds, too.
    demerit: f64,
    reads: f64,
    writes: f64,
    /// Median error of a request.
    median_error: f64,
}

#[rustfmt::skip]
const DRIVES: [Bounds; 8] = [
    Bounds { name: "atlas10k", disksim: Some(0.268), demerit: 0.1502, reads: 0.1991, writes: 0.1750, median_error: 0.1070 },
    Bounds { name: "barracuda", disksim: Some(0.348), demerit: 0.2146, reads: 0.2572, writes: 0.2721, median_error: 0.2600 },
    Bounds { name: "cheetah4LP", disksim: Some(0.313), demerit: 0.2280, reads: 0.2917, writes: 0.2158, median_error: 0.1930 },
    Bounds { name: "cheetah9LP", disksim: Some(0.108), demerit: 0.0862, reads: 0.1184, writes: 0.1688, median_error: 0.1820 },
    Bounds { name: "dec_rz26", disksim: Some(0.341), demerit: 0.2513, reads: 0.2281, writes: 0.6653, median_error: 0.3071 },
    Bounds { name: "hp_c2247a", disksim: Some(0.092), demerit: 0.0861, reads: 0.1095, writes: 0.1235, median_error: 0.0311 },
    Bounds { name: "hp_c2490a", disksim: Some(0.255), demerit: 0.1513, reads: 0.2711, writes: 0.1248, median_error: 0.1046 },
    Bounds { name: "st41601n", disksim: None, demerit: 0.0727, reads: 0.0913, writes: 0.0576, median_error: 0.1131 },
];

/// Half a unit of the last digit of the bounds, ms.
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

/// Replays a trace; `look` is called with the device before each request.
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

/// Measured and modelled service times, ms.
type Times = Vec<(f64, f64)>;

/// Returns the demerit: the root mean square distance of the two distributions, quantile by quantile (Ruemmler and Wilkes 1994).
fn demerit(times: &Times) -> f64 {
    let (mut measured, mut modelled): (Vec<f64>, Vec<f64>) = times.iter().copied().unzip();
    measured.sort_unstable_by(f64::total_cmp);
    modelled.sort_unstable_by(f64::total_cmp);
    let squares: f64 = measured.iter().zip(&modelled).map(|(a, b)| (a - b).powi(2)).sum();
    (squares / times.len() as f64).sqrt()
}

fn median_error(times: &Times) -> f64 {
    let mut errors: Vec<f64> = times.iter().map(|(a, b)| (a - b).abs()).collect();
    errors.sort_unstable_by(f64::total_cmp);
    (errors[errors.len() / 2] + errors[(errors.len() - 1) / 2]) / 2.0
}

/// A drive of the reference data and its trace.
fn drive(name: &str) -> Option<(DiskDevice, Vec<Step>)> {
    let folder = reference("drives")?.join(name);
    let parameters = parameters(&folder.join(format!("{name}.parv")));
    Some((DiskDevice::new(&parameters).expect("a drive"), steps(&folder.join(format!("{name}.trace")))))
}

#[test]
fn demerits_of_real_drives_stay_within_bounds() {
    println!(
        "| drive | requests | DiskSim | demerit | reads | writes | median error | measured mean | modelled mean |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut failures = Vec::new();
    for bounds in DRIVES {
        let name = bounds.name;
        let Some((mut device, steps)) = drive(name) else { return };
        let services = replay(&mut device, &steps, |_, _, _| ());
        let select = |op: Option<Op>| -> Times {
            let chosen = steps.iter().zip(&services).filter(|(step, _)| op.is_none_or(|op| step.op == op));
            chosen.map(|(step, service)| (step.measured_ms, (service.end - service.start) as f64 / NS_PER_MS)).collect()
        };
        let (all, reads, writes) = (select(None), select(Some(Op::Read)), select(Some(Op::Write)));
        let found = [demerit(&all), demerit(&reads), demerit(&writes), median_error(&all)];
        let mean = |which: fn(&(f64, f64)) -> f64| all.iter().map(which).sum::<f64>() / all.len() as f64;
        println!(
            "| {name} | {} | {} | {:.4} | {:.4} | {:.4} | {:.4} | {:.4} | {:.4} |",
            all.len(),
            bounds.disksim.map_or("crashes".into(), |ms| format!("{ms:.3}")),
            found[0],
            found[1],
            found[2],
            found[3],
            mean(|times| times.0),
            mean(|times| times.1),
        );
        assert!(
            bounds.disksim.is_none_or(|disksim| bounds.demerit <= disksim),
            "{name}: the bound exceeds DiskSim's demerit"
        );
        let largest = [bounds.demerit, bounds.reads, bounds.writes, bounds.median_error];
        for (what, (found, largest)) in
            ["demerit", "reads", "writes", "median error"].iter().zip(found.iter().zip(largest))
        {
            if *found > largest + ROUNDING_MS {
                failures.push(format!("{name}: {what} {found:.4} ms, at most {largest:.4} ms"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("; "));
}

/// Phases sum to the service time and ledgers to the time since the start, also with background work.
#[test]
fn phases_and_ledgers_of_real_drives_add_up() {
    for Bounds { name, .. } in DRIVES {
        let Some((mut device, mut steps)) = drive(name) else { return };
        // Gaps of all sizes: requests arrive during read-ahead, during write-behind, and long after.
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
