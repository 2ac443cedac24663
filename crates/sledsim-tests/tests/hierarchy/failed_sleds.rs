//! Devices of several sleds, with and without redundancy, with failed sleds or failed tips.

use serde_json::{json, Value};
use sledsim::engine::{Status, System};
use sledsim::scenario::testing::assemble;
use sledsim_testing::scenarios::{resolve, resolved, run};
use sledsim_testing::test_bed::{Load, TestBed};
use sledsim_testing::tiers::size;

/// A small device: 60 columns of 12 rows under 4 groups of 4 tips.
fn small(keys: &Value) -> Value {
    let mut device = json!({
        "name": "g2", "x_range_um": 2.4, "y_range_um": 43.6, "tips": 128, "active_tips": 32, "block_bytes": 32,
        "tip_sector_bytes": 8, "stripe_blocks": 8,
    });
    for (key, value) in keys.as_object().expect("a table") {
        device[key] = value.clone();
    }
    json!({"workload": {"arrival": {"kind": "poisson", "rate_per_s": 100.0}}, "system": {"device": device}})
}

fn bed(keys: &Value, seed: u64) -> TestBed {
    let spec = resolved(&small(keys)).system;
    let system: System = assemble(&spec, seed, &mut |_, id, _| id).unwrap_or_else(|error| panic!("{error}"));
    TestBed::new(system, seed)
}

fn operate(bed: &mut TestBed, operations: u64, most_blocks: u64) {
    let span_blocks = bed.capacity_blocks();
    bed.operate(operations, &Load { span_blocks, most_blocks, writes: 0.5, gap_ns: 300_000, outstanding: 4 });
    bed.settle();
}

/// The capacity is that of all sleds, of one, or of all but one.
#[test]
fn redundancy_among_sleds_reduces_capacity() {
    let blocks = |sleds: u32, layout: &str| {
        bed(&json!({"sleds": sleds, "sled_layout": layout, "stripe_blocks": 8}), 1).capacity_blocks()
    };
    let one = blocks(1, "split");
    let units = one / 8 * 8;
    assert_eq!(
        [blocks(4, "split"), blocks(4, "striped"), blocks(4, "mirrored"), blocks(4, "parity")],
        [4 * one, 4 * units, one, 3 * units]
    );
}

/// After a sled failure, reads return written data or report its loss; with redundancy nothing is lost.
#[test]
fn mirrored_sleds_survive_the_failure_of_one() {
    for (layout, sleds, failed, loses) in [
        ("split", 2, vec![], false),
        ("split", 2, vec![1], true),
        ("striped", 3, vec![0], true),
        ("mirrored", 2, vec![0], false),
        ("mirrored", 3, vec![2, 0], false),
        ("mirrored", 2, vec![0, 1], true),
        ("parity", 4, vec![2], false),
        ("parity", 4, vec![1, 3], true),
    ] {
        let keys = json!({"sleds": sleds, "sled_layout": layout, "failed_sleds": failed});
        let mut bed = bed(&keys, 7);
        operate(&mut bed, size(600, 6_000), 12);
        assert!(bed.wrong.is_empty(), "{layout} {failed:?}: {:?}", bed.wrong.first());
        assert_eq!(!bed.lost.is_empty(), loses, "{layout} {failed:?}: {:?}", bed.lost);
    }
}

/// More tips fail than spare tips and code can replace: their data are lost and reported as lost, unless other sleds
/// hold them redundantly.
#[test]
fn data_of_failed_tips_is_lost_or_read_from_other_sleds() {
    for (keys, loses) in [
        (json!({"failed_tips": 4, "spare_tips": 32}), false),
        (json!({"failed_tips": 1, "parity_tips": 1, "active_tips": 40, "tips": 160}), false),
        (json!({"failed_tips": 4}), true),
        (json!({"failed_tips": [1, 2], "parity_tips": 1, "active_tips": 40, "tips": 160}), true),
        (json!({"failed_tips": 2, "sleds": 2, "sled_layout": "split"}), true),
        (json!({"failed_tips": 2, "sleds": 2, "sled_layout": "mirrored", "tip_seed": 5}), false),
        (json!({"failed_tips": 1, "sleds": 4, "sled_layout": "parity", "tip_seed": 5}), false),
    ] {
        let mut bed = bed(&keys, 3);
        // A request fails if two sleds have lost different blocks of it.
        let redundant = keys["sled_layout"] == "mirrored" || keys["sled_layout"] == "parity";
        let most_blocks = if redundant { 1 } else { 12 };
        operate(&mut bed, size(800, 8_000), most_blocks);
        assert!(bed.wrong.is_empty(), "{keys}: {:?}", bed.wrong.first());
        assert_eq!(bed.lost.contains_key(&Status::Unreadable), loses, "{keys}: {:?}", bed.lost);
        assert!(loses || bed.lost.is_empty(), "{keys}: {:?}", bed.lost);
    }
}

fn report(keys: &Value) -> Value {
    let mut document = small(keys);
    document["run"] = json!({"requests": 2_000});
    document["workload"]["read_fraction"] = json!(1.0);
    document["workload"]["size_bytes"] = json!({"kind": "fixed", "value": 32.0});
    serde_json::to_value(run(&resolved(&document)).report).expect("a report is serialisable")
}

/// A report counts lost reads, whose share equals that of lost blocks, and failed tips.
#[test]
fn reports_count_lost_blocks() {
    let count = |found: &Value, name: &str| {
        let counts = found["components"][0]["counts"].as_array().expect("counts").clone();
        counts.iter().find(|count| count["name"] == name).unwrap_or_else(|| panic!("{name}"))["value"].as_f64()
    };
    let whole = report(&json!({}));
    assert!(whole["components"].as_array().is_none_or(Vec::is_empty));
    let found = report(&json!({"failed_tips": [0, 1, 9]}));
    assert_eq!([count(&found, "tips_failed"), count(&found, "tips_remapped")], [Some(3.0), Some(0.0)]);
    // Two of 32 blocks at each position.
    let lost = count(&found, "lost_reads").expect("a number");
    assert_eq!(found["requests"]["failed"].as_f64(), Some(lost));
    assert!((lost / 2000.0 - 2.0 / 32.0).abs() < 4.0 * f64::sqrt(2.0 / 32.0 * 30.0 / 32.0 / 2000.0), "{lost}");
    assert_eq!(count(&found, "blocks_lost").map(|blocks| blocks * 16.0), Some(whole_blocks(&whole)));
}

fn whole_blocks(_: &Value) -> f64 {
    bed(&json!({}), 1).capacity_blocks() as f64
}

#[test]
fn unknown_sleds_are_rejected() {
    for (keys, word) in [
        (json!({"sleds": 2, "failed_sleds": [2]}), "system.device.failed_sleds.0"),
        (json!({"sleds": 2, "sled_layout": "parity"}), "system.device.sled_layout"),
        (json!({"failed_tips": [128]}), "system.device.failed_tips.0"),
        (json!({"failed_tips": "all"}), "system.device.failed_tips"),
        (json!({"read_error_rate": 0.9}), "system.device.read_error_rate"),
    ] {
        let message = resolve(&small(&keys)).expect_err(word);
        assert!(message.contains(word), "{keys}: {message}");
    }
}
