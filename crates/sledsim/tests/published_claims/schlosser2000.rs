//! Schlosser et al. 2000: three generations of devices.

use sledsim::devices::mems::motion::{exact_turnaround_s, turnaround_s, Axis};
use sledsim::devices::mems::{Characteristics, MemsParameters};

use crate::experiments::{closed, device, parameters, poisson, report};
use crate::ledger::{figure, Finding, Ours};

const GENERATIONS: [&str; 3] = ["device=g1", "device=g2", "device=g3"];

pub fn findings() -> Vec<Finding> {
    let mut findings = table_2();
    findings.extend(springs());
    findings.extend(runs());
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
    let random = |name: &str, size: u32| {
        let size = format!("workload.size_bytes={{kind=\"fixed\", value={size}}}");
        let reads = "workload.read_fraction=0.6667".to_owned();
        report(&[name.to_owned(), poisson(20.0), size, reads, "run.requests=10000".to_owned()])
    };
    let micro = GENERATIONS.map(|name| random(name, 4096));
    let cov = micro.each_ref().map(|report| report.response.as_ref().expect("requests were measured").scv.sqrt());
    let sector = GENERATIONS.map(|name| random(name, 512).service.expect("requests were measured").mean_ms);
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
