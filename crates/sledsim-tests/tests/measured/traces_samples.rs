//! Totals of the reference traces.

use sledsim::traces::{TraceInfo, TraceOptions, TraceReader};
use sledsim_testing::reference;

/// Returns the totals of the reference trace at `rel`, if it exists.
fn totals(rel: &str) -> Option<TraceInfo> {
    let path = reference(rel)?;
    let info = TraceReader::open(&path, &TraceOptions::default()).and_then(TraceInfo::of);
    Some(info.unwrap_or_else(|error| panic!("{error}")))
}

/// Asserts that `found` equals `expected` within the rounding of the published figure.
fn assert_rounds_to(found: f64, expected: f64, half_unit: f64) {
    assert!((found - expected).abs() <= half_unit, "found {found}, expected {expected} ± {half_unit}");
}

/// Asserts that a trace was read to the end and no record skipped.
fn assert_whole(info: &TraceInfo, format: &str, records: u64) {
    assert_eq!((info.format, info.records), (format, records));
    assert_eq!((info.skipped, info.suspect, info.other), (0, 0, 0));
    assert_eq!(info.reads + info.writes, info.records);
    assert!(info.min_bytes > 0);
}

#[test]
fn hp_1992_has_its_totals() {
    let Some(info) = totals("traces/hplajw-1992-1week.srt") else { return };
    assert_whole(&info, "hp-srt", 44_519);
    assert_eq!((info.sector_bytes, info.devices), (256, 2));
    assert_rounds_to(info.duration_s, 603_064.588_892, 1e-6);
}

#[test]
fn hp_2003_has_its_totals() {
    let Some(info) = totals("traces/hplabs-2003-1hour.srt.bz2") else { return };
    assert_whole(&info, "hp-srt", 43_000);
    assert_eq!((info.devices, info.sector_bytes), (77, 512));
    assert_eq!((info.min_offset_bytes, info.max_offset_bytes), (2_367_488, 17_616_764_928));
    assert_rounds_to(info.read_share, 0.246, 0.0005);
}

#[test]
fn cloudphysics_has_its_totals() {
    let Some(info) = totals("traces/cloudphysics-2hour.vscsi.zst") else { return };
    assert_whole(&info, "vscsi", 113_872);
    assert_rounds_to(info.duration_s, 7200.0, 0.5);
    assert_rounds_to(info.read_share, 0.413, 0.0005);
    assert_rounds_to(info.mean_bytes, 36_900.0, 50.0);
}

#[test]
fn mqsim_traces_have_their_totals() {
    if let Some(info) = totals("traces/websearch-60s.mqsim.trace") {
        assert_whole(&info, "mqsim", 24_783);
        assert_rounds_to(info.duration_s, 60.06, 0.005);
        assert_rounds_to(info.read_share, 0.9998, 0.000_05);
    }
    if let Some(info) = totals("traces/tpcc-7k.mqsim.trace") {
        assert_whole(&info, "mqsim", 6999);
        assert_rounds_to(info.duration_s, 0.136, 0.0005);
        assert_rounds_to(info.read_share, 0.626, 0.0005);
    }
}

#[test]
fn arc_lists_are_reads_without_times() {
    for (rel, records) in [("traces/arc-OLTP.lis.zst", 914_145), ("traces/arc-P3.lis.zst", 238_578)] {
        let Some(info) = totals(rel) else { continue };
        assert_whole(&info, "arc", records);
        assert_eq!((info.writes, info.has_times, info.duration_s), (0, false, 0.0));
    }
}

#[test]
fn validation_traces_have_their_lines() {
    for (drive, records) in [
        ("atlas10k", 10_000),
        ("barracuda", 10_000),
        ("cheetah4LP", 10_000),
        ("cheetah9LP", 10_000),
        ("hp_c2247a", 9999),
        ("st41601n", 9999),
    ] {
        let Some(info) = totals(&format!("drives/{drive}/{drive}.trace")) else { continue };
        assert_whole(&info, "disksim-validate", records);
        assert!(!info.has_times);
    }
}
