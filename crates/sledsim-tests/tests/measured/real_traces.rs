//! Published traces replayed whole on `g2`: counts, read shares and sizes equal to those stated beside the traces.

use serde_json::{json, Value};
use sledsim::request::Op;
use sledsim::scenario::Report;
use sledsim_testing::reference;
use sledsim_testing::scenarios;

/// Published figures of a trace.
struct Known {
    path: &'static str,
    /// Mapping to the 3.456 GB of a g2; most traces come from larger devices.
    fit: &'static str,
    records: u64,
    /// Compared with the precision of the published figure.
    read_share: Option<(f64, f64)>,
    mean_kb: Option<(f64, f64)>,
    duration_s: Option<(f64, f64)>,
    devices: Option<usize>,
}

const HPLAJW: Known = Known {
    path: "traces/hplajw-1992-1week.srt",
    fit: "error",
    records: 44_519,
    read_share: None,
    mean_kb: None,
    // A week.
    duration_s: Some((604_800.0, 3_600.0)),
    devices: None,
};

const HPLABS: Known = Known {
    path: "traces/hplabs-2003-1hour.srt.bz2",
    fit: "scale",
    records: 43_000,
    read_share: Some((0.246, 0.0005)),
    mean_kb: None,
    duration_s: None,
    devices: Some(77),
};

const CLOUDPHYSICS: Known = Known {
    path: "traces/cloudphysics-2hour.vscsi.zst",
    fit: "wrap",
    records: 113_872,
    read_share: Some((0.413, 0.0005)),
    mean_kb: Some((36.9, 0.05)),
    duration_s: Some((7_200.0, 1.0)),
    devices: None,
};

const WEBSEARCH: Known = Known {
    path: "traces/websearch-60s.mqsim.trace",
    fit: "scale",
    records: 24_783,
    read_share: Some((0.9998, 0.000_05)),
    mean_kb: None,
    duration_s: Some((60.06, 0.005)),
    devices: None,
};

const TPCC: Known = Known {
    path: "traces/tpcc-7k.mqsim.trace",
    fit: "scale",
    records: 6_999,
    read_share: Some((0.626, 0.0005)),
    mean_kb: None,
    duration_s: Some((0.136, 0.0005)),
    devices: None,
};

fn document(path: &std::path::Path, fit: &str, scheduler: &str) -> Value {
    json!({
        "workload": {"kind": "trace", "path": path, "fit": fit},
        "system": {"device": "g2", "scheduler": scheduler},
    })
}

fn near(value: f64, (expected, tolerance): (f64, f64), what: &str) {
    assert!((value - expected).abs() <= tolerance, "{what}: {value}, stated as {expected}");
}

/// Replays a trace and checks its published figures. Returns the report, or `None` without reference data.
fn replay(known: &Known, scheduler: &str) -> Option<Report> {
    let path = reference(known.path)?;
    let output = scenarios::run(&scenarios::resolved(&document(&path, known.fit, scheduler)));
    let report = output.report;
    let requests = &report.requests;
    assert_eq!(requests.submitted, known.records);
    assert_eq!((requests.completed, requests.failed, requests.in_flight), (known.records, 0, 0));
    assert_eq!((report.run.end.as_str(), requests.skipped_records), ("workload-ended", 0));
    let log = &output.recorder.log().expect("a log").entries;
    let reads = log.iter().filter(|(request, _)| request.op == Op::Read).count() as f64;
    let share = reads / known.records as f64;
    if let Some(stated) = known.read_share {
        near(share, stated, "share of reads");
    }
    assert!((report.reads.as_ref().map_or(0.0, |reads| reads.share) - share).abs() < 1e-12);
    if let Some(stated) = known.mean_kb {
        let bytes: f64 = log.iter().map(|(request, _)| f64::from(request.blocks) * 512.0).sum();
        near(bytes / known.records as f64 / 1e3, stated, "mean size in kB");
    }
    let last = log.iter().map(|(request, _)| request.arrival).max().expect("requests");
    if let Some(stated) = known.duration_s {
        near(last.seconds(), stated, "seconds from the first arrival to the last");
    }
    if let Some(stated) = known.devices {
        let origins: std::collections::BTreeSet<u32> = log.iter().map(|(request, _)| request.origin).collect();
        assert_eq!(origins.len(), stated);
    }
    check_times(&report);
    Some(report)
}

/// Checks that no response is shorter than command overhead and one pass, and that services have times possible on this
/// device.
fn check_times(report: &Report) {
    let g2 = scenarios::mems_parameters("g2");
    let row_ms = f64::from(g2.servo_bits + g2.tip_sector_bytes * g2.encoded_bits_per_byte) / g2.bit_rate_kbit_s;
    let response = report.response.as_ref().expect("responses");
    let service = report.service.as_ref().expect("services");
    let wait = report.wait.as_ref().expect("waits");
    assert!(service.min_ms >= row_ms * (1.0 - 1e-5), "{} is less than a pass of {row_ms} ms", service.min_ms);
    assert!(response.min_ms >= g2.overhead_ms + row_ms * (1.0 - 1e-5));
    // A full-stroke seek takes about a millisecond; only many rows or a start-up take longer.
    assert!(service.p50_ms < 3.0 && service.mean_ms < 4.0, "{service:?}");
    assert!((response.mean_ms - (g2.overhead_ms + wait.mean_ms + service.mean_ms)).abs() < 1e-9 * response.mean_ms);
    println!(
        "{:.3} ms response, {:.3} ms service, {:.4} used, queue {:.3} (most {})",
        response.mean_ms, service.mean_ms, report.utilisation.fraction, report.queue.mean, report.queue.max
    );
}

#[test]
fn hplajw_week() {
    let Some(report) = replay(&HPLAJW, "fcfs") else { return };
    // With forty thousand requests a week, a MEMS device is idle nearly all the time.
    assert!(report.utilisation.fraction < 0.001);
    assert!(report.response.expect("responses").p50_ms < 5.0);
}

/// Its sectors are of 256 bytes, so two of its addresses share a block of the device.
#[test]
fn hplajw_sectors_become_whole_blocks() {
    let Some(path) = reference(HPLAJW.path) else { return };
    let output = scenarios::run(&scenarios::resolved(&document(&path, "error", "fcfs")));
    let mut by_id = output.recorder.log().expect("a log").entries.clone();
    by_id.sort_by_key(|(request, _)| request.id);
    let mut reader = sledsim::traces::TraceReader::open(&path, &sledsim::traces::TraceOptions::default()).unwrap();
    assert_eq!(reader.sector_bytes(), 256);
    for (request, _) in &by_id {
        let record = reader.next().unwrap().expect("as many records as requests");
        assert_eq!(request.lbn, record.offset_bytes / 512);
        assert_eq!(request.end_lbn(), (record.offset_bytes + record.bytes).div_ceil(512));
        assert_eq!(request.op, record.op);
    }
    assert!(reader.next().unwrap().is_none());
}

#[test]
fn hp_labs_hour() {
    let Some(report) = replay(&HPLABS, "fcfs") else { return };
    assert!(report.utilisation.fraction < 0.1);
}

/// The trace's 17.6 GB exceed the capacity of a g2: without a mapping the replay fails.
#[test]
fn hp_labs_hour_is_too_large_without_a_mapping() {
    let Some(path) = reference(HPLABS.path) else { return };
    let scenario = scenarios::resolved(&document(&path, "error", "fcfs"));
    let error = scenarios::try_run(&scenario).expect_err("the trace is larger than the device");
    let named = path.display().to_string();
    for part in [
        named.as_str(),
        "record ",
        "lie beyond the device, which has 6750000 blocks",
        "fit = \"wrap\" or workload.fit = \"scale\"",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn cloudphysics_two_hours() {
    let Some(report) = replay(&CLOUDPHYSICS, "fcfs") else { return };
    assert!(report.utilisation.fraction < 0.5);
}

#[test]
fn websearch_minute() {
    let Some(report) = replay(&WEBSEARCH, "fcfs") else { return };
    assert!(report.utilisation.fraction < 1.0);
}

/// Seven thousand requests in a seventh of a second: a queue builds up that SPTF shortens.
#[test]
fn tpcc_burst() {
    let (Some(fcfs), Some(sptf)) = (replay(&TPCC, "fcfs"), replay(&TPCC, "sptf")) else { return };
    for report in [&fcfs, &sptf] {
        assert!(report.queue.max > 5_000, "{:?}", report.queue);
        assert!(report.utilisation.fraction > 0.99);
    }
    assert!(sptf.run.simulated_s < fcfs.run.simulated_s);
}
