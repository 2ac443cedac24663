//! Schlosser et al. 2000: three generations of devices.

use sledsim::devices::mems::motion::{exact_turnaround_s, turnaround_s, Axis};
use sledsim::devices::mems::{Characteristics, MemsParameters};
use sledsim::request::{Flags, Op, Request, Spare};
use sledsim::scenario::Report;
use sledsim::time::Time;

use crate::experiments::{any_device, closed, device, parameters, poisson, report};
use crate::ledger::{figure, Finding, Ours};
use crate::schlosser2000_energy;

const GENERATIONS: [&str; 3] = ["device=g1", "device=g2", "device=g3"];

pub fn findings() -> Vec<Finding> {
    let mut findings = table_2();
    findings.extend(springs());
    findings.extend(runs());
    findings.extend(disks());
    findings.extend(schlosser2000_energy::findings());
    findings
}

fn table_2() -> Vec<Finding> {
    // The settling times need 739 Hz for the first two generations (DiskSim's sets) and 1008 Hz for the third (the paper's).
    let settle = ["device=g1", "device=g2", "device=g3-paper"].map(|name| characteristics(name).settle_s * 1e3);
    println!(
        "with the frequencies printed: {:?} ms",
        ["g1-paper", "g2-paper"].map(|n| characteristics(format!("device={n}")).settle_s * 1e3)
    );
    let rest = ["device=g1-paper", "device=g2-paper", "device=g3-paper"].map(characteristics);
    let ids = [
        ["g1-settle", "g1-peak-bandwidth", "g1-capacity"],
        ["g2-settle", "g2-peak-bandwidth", "g2-capacity"],
        ["g3-settle", "g3-peak-bandwidth", "g3-capacity"],
    ];
    let mut findings = Vec::new();
    for (i, [settle_id, bandwidth_id, capacity_id]) in ids.into_iter().enumerate() {
        findings.push(figure(settle_id, settle[i], 4));
        findings.push(figure(bandwidth_id, rest[i].peak_bandwidth_bytes_s * 1e-6, 1));
        findings.push(figure(capacity_id, rest[i].raw_capacity_bytes * 1e-9, 3));
    }
    findings
}

fn characteristics(name: impl AsRef<str>) -> Characteristics {
    Characteristics::of(&parameters(&[name.as_ref()])).expect("a catalogue device")
}

fn y_axis(p: &MemsParameters) -> (Axis, f64) {
    let axis = Axis { accel_m_s2: p.acceleration_y_m_s2, spring: p.spring_factor, range_m: p.y_range_um * 1e-6 };
    (axis, p.bit_rate_kbit_s * 1e3 * p.bit_nm * 1e-9)
}

fn springs() -> Vec<Finding> {
    let (axis, speed_m_s) = y_axis(&parameters(&["device=g2"]));
    let edge_m = axis.range_m / 2.0;
    // Force while reversing at the edge, from the time it takes: 2v / (a f). Away from the centre pushes a sled that comes
    // in, towards it one that goes out.
    let force = |v_m_s: f64| 2.0 * speed_m_s / turnaround_s(&axis, edge_m, v_m_s) / axis.accel_m_s2;
    let longest = GENERATIONS.map(|name| {
        let (axis, speed_m_s) = y_axis(&parameters(&[name]));
        exact_turnaround_s(&axis, axis.range_m / 2.0, -speed_m_s) / (2.0 * speed_m_s / axis.accel_m_s2)
    });
    vec![
        Finding { id: "spring-force-range", ours: Ours::Figures(vec![force(-speed_m_s), force(speed_m_s)], 3) },
        Finding { id: "spring-turnaround", ours: Ours::Figures(longest.to_vec(), 2) },
        figure("rewrite-turnaround", rewrite_ms(), 4),
    ]
}

/// Mean time from the end of writing a sector until g2 is in position to access it again, over rows and both directions.
fn rewrite_ms() -> f64 {
    let sled = device(&["device=g2"]);
    let geometry = sled.geometry();
    let mut times_ms = Vec::new();
    let mut reversals_ms = Vec::new();
    for row in 0..geometry.rows {
        // A pass upwards ends where the next row's servo burst begins; downwards it is entered above that burst.
        for (end_bit, begin_bit, direction) in [
            (geometry.upward_bit(row + 1), geometry.downward_bit(row + 1), 1.0),
            (geometry.downward_bit(row), geometry.upward_bit(row), -1.0),
        ] {
            let (end_m, begin_m) = (geometry.y_m(end_bit), geometry.y_m(begin_bit));
            times_ms.push(sled.seek_y_s(end_m, direction, begin_m, -direction) * 1e3);
            reversals_ms.push(sled.seek_y_s(end_m, direction, end_m, -direction) * 1e3);
        }
    }
    for (what, times) in [("with the servo burst", &times_ms), ("reversal alone", &reversals_ms)] {
        let (low, high) = times.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &it| (low.min(it), high.max(it)));
        println!(
            "re-access {what}: mean {:.4}, {low:.4} to {high:.4} ms",
            times.iter().sum::<f64>() / times.len() as f64
        );
    }
    times_ms.iter().sum::<f64>() / times_ms.len() as f64
}

fn runs() -> Vec<Finding> {
    let micro = GENERATIONS.map(|name| microbenchmark(&[name], 4096));
    let cov = micro.each_ref().map(|report| report.response.as_ref().expect("requests were measured").scv.sqrt());
    let sector = GENERATIONS.map(|name| microbenchmark(&[name], 512).service.expect("requests were measured").mean_ms);
    println!("services of 4 KB: {:.3?} ms", micro.each_ref().map(|report| report.service.as_ref().map(|s| s.mean_ms)));
    let saturated = |sleds: u32| {
        let settings =
            ["device=g2".to_owned(), format!("device.sleds={sleds}"), closed(64), "run.requests=50000".to_owned()];
        report(&settings).throughput.requests_per_s
    };
    vec![
        Finding { id: "mems-cov", ours: Ours::Figures(cov.to_vec(), 3) },
        figure("four-sleds", saturated(4) / saturated(1), 2),
        Finding { id: "access-time-range", ours: Ours::Figures(sector.to_vec(), 3) },
    ]
}

/// The microbenchmark: 10,000 random requests, two thirds reads, 20 a second.
fn microbenchmark(device: &[&str], size: u32) -> Report {
    let size = format!("workload.size_bytes={{kind=\"fixed\", value={size}}}");
    let rest = [poisson(20.0), size, "workload.read_fraction=0.6667".to_owned(), "run.requests=10000".to_owned()];
    let settings: Vec<String> = device.iter().map(|&setting| setting.to_owned()).chain(rest).collect();
    report(&settings)
}

/// What switches a drive's buffer off.
const NO_BUFFER: [&str; 3] = ["device.buffer_caching=false", "device.read_ahead=none", "device.fast_write=none"];

/// The disks beside g2, as they come: with their buffers on. The paper does not say whether they were, so the other
/// setting is run and printed too.
fn disks() -> Vec<Finding> {
    let figures = |report: Report| {
        let response = report.response.expect("requests were measured");
        (response.mean_ms, response.scv.sqrt())
    };
    let (g2_ms, _) = figures(microbenchmark(&["device=g2"], 4096));
    let [atlas, superdisk] = ["device=atlas10k", "device=superdisk"].map(|name| {
        let on = figures(microbenchmark(&[name], 4096));
        let off = figures(microbenchmark(&[name, NO_BUFFER[0], NO_BUFFER[1], NO_BUFFER[2]], 4096));
        println!(
            "{name}: buffer on {:.3} ms, {:.2} times g2, variation {:.3}; off {:.3} ms, {:.2} times, {:.3}",
            on.0,
            on.0 / g2_ms,
            on.1,
            off.0,
            off.0 / g2_ms,
            off.1
        );
        (on, off)
    });
    vec![
        figure("atlas-speedup", atlas.0 .0 / g2_ms, 2),
        figure("superdisk-speedup", superdisk.0 .0 / g2_ms, 3),
        figure("atlas-cov", atlas.0 .1, 3),
        figure("rewrite-disk", rewrite_disk_ms(), 3),
    ]
}

/// Mean time from the end of writing a sector of the Atlas 10K until its head is over that sector again.
fn rewrite_disk_ms() -> f64 {
    let mut drive = any_device(&["device=atlas10k", NO_BUFFER[0], NO_BUFFER[1], NO_BUFFER[2]]);
    let mut now = Time::ZERO;
    let mut times_ms = Vec::new();
    for share in 0..100 {
        let lbn = drive.capacity_blocks() * share / 100;
        let request = Request {
            id: share,
            arrival: now,
            lbn,
            blocks: 1,
            op: Op::Write,
            flags: Flags::NONE,
            origin: 0,
            spare: Spare::NONE,
        };
        now = drive.serve(now, &request).end;
        times_ms.push(drive.positioning_ns(now, drive.locate(&request)) as f64 * 1e-6);
    }
    let (low, high) = times_ms.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &it| (low.min(it), high.max(it)));
    println!("the Atlas 10K's sector again: {low:.4} to {high:.4} ms");
    times_ms.iter().sum::<f64>() / times_ms.len() as f64
}
