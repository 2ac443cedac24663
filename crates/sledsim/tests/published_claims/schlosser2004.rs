//! Schlosser & Ganger 2004: g2 and what is specific to it.

use sledsim::devices::mems::{Characteristics, MemsDevice};
use sledsim::devices::Device;
use sledsim::request::{Flags, Op, Request, Spare};
use sledsim::time::Time;

use crate::experiments::{
    any_device, closed, device, order_by_response, parameters, poisson, report, scan_s, with_schedulers,
};
use crate::ledger::{figure, Finding, Ours};

const SCHEDULERS: [&str; 5] = ["fcfs", "clook", "sstf_lbn", "sdf", "sptf"];

pub fn findings() -> Vec<Finding> {
    let characteristics = Characteristics::of(&parameters(&["device=g2"])).expect("a catalogue device");
    let with_settling = y_share(&device(&["device=g2"]));
    let without_settling = y_share(&device(&["device=g2", "device.settle_constants=0"]));
    println!("share of Y: {with_settling:.4}, without settling {without_settling:.4}");
    let grows = if without_settling >= 3.0 * with_settling { '+' } else { '?' };
    let mut findings = vec![
        figure("g2-capacity", characteristics.capacity_bytes as f64 * 1e-9, 3),
        figure("g2-access", access_ms(), 3),
        figure("g2-streaming", characteristics.streaming_bandwidth_bytes_s * 1e-6, 2),
        figure("uberdisk-access", uberdisk_ms(), 3),
        figure("seek-y-uncorrelated", with_settling, 3),
        Finding { id: "seek-y-correlated-without-settle", ours: Ours::Trend(grows) },
        figure("spring-position-effect", position_spread(), 3),
        figure("turnaround-under-tenth-ms", reaccess_ms(), 4),
    ];
    findings.extend(table_scans());
    findings.push(figure("device-scan", scan_ratio(), 1));
    findings.push(Finding { id: "sdf-order", ours: sdf_order(1.0, &[1120.0, 1180.0, 1250.0]) });
    findings.push(Finding { id: "sdf-no-settle", ours: sdf_order(0.0, &[1400.0, 1500.0, 1600.0]) });
    findings
}

/// Mean access time of random 4 KB reads one at a time: positioning, passes and bus; command overhead left out.
fn access_ms() -> f64 {
    let report = report(&["device=g2".to_owned(), closed(1), "run.requests=100000".to_owned()]);
    let service_ms = report.service.expect("requests were measured").mean_ms;
    println!(
        "with the command overhead of 0.2 ms: {:.3} ms; without the bus: {:.3} ms",
        service_ms + 0.2,
        service_ms - report.bus.mean_ms
    );
    service_ms
}

/// Share of the variance of seek times from the centre to the places of the plane that the Y displacement alone explains.
fn y_share(sled: &MemsDevice) -> f64 {
    const SIDE: usize = 201;
    let place_m = |i: usize| (i as f64 / (SIDE - 1) as f64 - 0.5) * 98e-6;
    let x_s: Vec<f64> = (0..SIDE).map(|i| sled.seek_x_s(0.0, place_m(i))).collect();
    let y_s: Vec<f64> = (0..SIDE)
        .map(|i| sled.seek_y_s(0.0, 1.0, place_m(i), 1.0).min(sled.seek_y_s(0.0, 1.0, place_m(i), -1.0)))
        .collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let variance = |values: &[f64]| mean(&values.iter().map(|it| it * it).collect::<Vec<_>>()) - mean(values).powi(2);
    let rows: Vec<Vec<f64>> = y_s.iter().map(|&y| x_s.iter().map(|&x| x.max(y)).collect()).collect();
    let by_y: Vec<f64> = rows.iter().map(|row| mean(row)).collect();
    variance(&by_y) / variance(&rows.concat())
}

/// How much the time of an X seek of given length (settling included) varies with where it starts: standard deviation over
/// mean, averaged over lengths.
fn position_spread() -> f64 {
    let sled = device(&["device=g2"]);
    let mut spreads = Vec::new();
    let mut extremes = Vec::new();
    for length_um in (5..=95).step_by(5) {
        let length_m = f64::from(length_um) * 1e-6;
        let starts = 0..=100;
        let times: Vec<f64> = starts
            .map(|i| {
                let start_m = -50e-6 + f64::from(i) / 100.0 * (100e-6 - length_m);
                sled.seek_x_s(start_m, start_m + length_m)
            })
            .collect();
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / times.len() as f64;
        spreads.push(variance.sqrt() / mean);
        let (low, high) = times.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &it| (low.min(it), high.max(it)));
        extremes.push((high - low) / mean);
    }
    println!("spread by length, standard deviation: {spreads:.3?}; longest less shortest: {extremes:.3?}");
    spreads.iter().sum::<f64>() / spreads.len() as f64
}

/// Mean time to reverse after a pass and be where the pass over the same row the other way begins.
fn reaccess_ms() -> f64 {
    let sled = device(&["device=g2"]);
    let geometry = sled.geometry();
    let times_s = (0..geometry.rows).map(|row| {
        let (end_m, begin_m) =
            (geometry.y_m(geometry.upward_bit(row + 1)), geometry.y_m(geometry.downward_bit(row + 1)));
        sled.seek_y_s(end_m, 1.0, begin_m, -1.0)
    });
    times_s.sum::<f64>() / f64::from(geometry.rows) * 1e3
}

/// Order by mean response under 250,000 random requests of 8 KB, where it is the same at every rate.
///
/// With settling, first come, first served saturates between 1120 and 1180 requests per second; without, between 1400 and
/// 1500. The others hold all rates used here.
fn sdf_order(settle_constants: f64, rates_per_s: &[f64]) -> Ours {
    let orders: Vec<_> = rates_per_s
        .iter()
        .map(|&rate| {
            let base = [
                "device=g2".to_owned(),
                format!("device.settle_constants={settle_constants:?}"),
                "workload.size_bytes={kind=\"fixed\", value=8192}".to_owned(),
                poisson(rate),
                "run.requests=250000".to_owned(),
            ];
            println!("{rate} requests/s, {settle_constants} settling constants");
            order_by_response(&with_schedulers(&base, &SCHEDULERS))
        })
        .collect();
    let same = orders.iter().all(|order| *order == orders[0]);
    Ours::Order(if same { orders[0].clone() } else { vec!["depends on load"] })
}

/// Bytes of the attributes of a record of 71 bytes.
const ATTRIBUTES: [u64; 4] = [8, 32, 15, 16];
const RECORD_BYTES: u64 = 71;
const RECORDS: u64 = 10_000_000;

/// Time in seconds to read runs of blocks one after the other.
fn read_s(runs: impl Iterator<Item = (u64, u64)>) -> f64 {
    let mut sled = device(&["device=g2"]);
    let mut now = Time::ZERO;
    for (id, (lbn, blocks)) in runs.enumerate() {
        let blocks = u32::try_from(blocks).expect("a run fits 32 bits");
        let request = Request {
            id: id as u64,
            arrival: now,
            lbn,
            blocks,
            op: Op::Read,
            flags: Flags::NONE,
            origin: 0,
            spare: Spare::NONE,
        };
        now = sled.serve(now, &request).free;
    }
    (now - Time::ZERO) as f64 * 1e-9
}

fn table_scans() -> Vec<Finding> {
    // Pages of 8 KB hold 115 whole records, so every scan reads every page.
    let pages = RECORDS.div_ceil(115);
    let whole_s = read_s(std::iter::once((0, pages * 16)));
    let single_s: f64 = ATTRIBUTES.iter().map(|_| read_s(std::iter::once((0, pages * 16)))).sum();
    // An attribute has its own tip groups: of every 71 tracks it has as many as it has bytes.
    let sled = device(&["device=g2"]);
    let geometry = sled.geometry();
    let track_blocks = u64::from(geometry.rows * geometry.blocks_per_row);
    let stripe_records = track_blocks * u64::from(geometry.block_bytes);
    let stripes = RECORDS.div_ceil(stripe_records);
    let full_s = read_s(std::iter::once((0, stripes * RECORD_BYTES * track_blocks)));
    let mut first_track = 0;
    let scans_s = ATTRIBUTES.map(|bytes| {
        let tracks = first_track..first_track + bytes;
        first_track += bytes;
        read_s((0..stripes).map(|s| ((s * RECORD_BYTES + tracks.start) * track_blocks, bytes * track_blocks)))
    });
    println!("row-major scan {whole_s:.3} s; tip subsets: full {full_s:.3} s, attributes {scans_s:.3?} s");
    let errors = ATTRIBUTES.iter().zip(scans_s).map(|(&bytes, scan_s)| {
        let share = bytes as f64 / RECORD_BYTES as f64;
        (scan_s / full_s / share - 1.0).abs()
    });
    vec![
        figure("table-normal-layout", single_s / whole_s, 3),
        figure("table-mems-layout", scans_s.iter().sum::<f64>() / full_s, 3),
        figure("table-attribute-proportional", errors.fold(0.0, f64::max), 3),
    ]
}

/// Mean access time of the Überdisk's first 3.46 GB, random 4 KB reads one at a time.
fn uberdisk_ms() -> f64 {
    let first = "device.capacity_blocks=6750000".to_owned();
    let report = report(&["device=uberdisk".to_owned(), first, closed(1), "run.requests=100000".to_owned()]);
    println!(
        "the Überdisk: seek {:.3}, rotation {:.3}, transfer {:.4}, bus after it {:.4} ms",
        report.seek.mean_ms, report.rotation.mean_ms, report.transfer.mean_ms, report.bus.mean_ms
    );
    report.service.expect("requests were measured").mean_ms
}

/// Time to read all of the Cheetah 73 over that to read all of g2, in requests of 32 MB.
fn scan_ratio() -> f64 {
    let [g2_s, cheetah_s] = ["device=g2", "device=cheetah73"].map(|name| {
        let mut device = any_device(&[name]);
        let capacity = device.capacity_blocks();
        scan_s(device.as_mut(), 0, capacity, 65_536)
    });
    println!("scans: g2 {g2_s:.1} s, Cheetah 73 {cheetah_s:.1} s");
    cheetah_s / g2_s
}
