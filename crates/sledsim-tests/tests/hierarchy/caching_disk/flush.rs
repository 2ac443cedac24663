//! Flushes of changed segments before their eviction.

use sledsim::hierarchy::{CachingDiskFlushSpec, CachingDiskSpec};
use sledsim::request::{Flags, Op};
use sledsim_testing::test_bed::{Load, TestBed};

use super::{constant, count, techniques, DISK_NS, MEMS_NS, SEGMENT};

fn flushing(idle_ms: Option<f64>, high_water: f64, low_water: f64) -> CachingDiskSpec {
    CachingDiskSpec {
        flush: Some(CachingDiskFlushSpec { idle_ms, period_s: None, high_water, low_water }),
        ..techniques(7)
    }
}

fn write(bed: &mut TestBed, segment: u64) {
    bed.submit(bed.system.now(), Op::Write, segment * SEGMENT, SEGMENT as u32, Flags::NONE);
    bed.settle();
}

#[test]
fn idle_time_flushes_all_changed_segments_one_by_one() {
    let mut bed = TestBed::new(constant(&flushing(Some(5.0), 1.0, 1.0), 10, 20), 1);
    for segment in 0..6 {
        write(&mut bed, segment);
    }
    let idle_from = bed.system.now();
    write(&mut bed, 6);
    while bed.step() {}
    assert_eq!((count(&bed.system, "flushes"), count(&bed.system, "dirty_share")), (7.0, 0.0));
    assert_eq!(bed.system.now() - idle_from, 5_000_000 + 7 * (MEMS_NS + DISK_NS), "exactly, and no timer is left");
    // Flushed segments stay cached and are evicted at no cost.
    for segment in 7..20 {
        bed.submit(bed.system.now(), Op::Read, segment * SEGMENT, 1, Flags::NONE);
        bed.settle();
    }
    assert_eq!((count(&bed.system, "evictions"), count(&bed.system, "dirty_evictions")), (10.0, 0.0));
    bed.read_all();
    assert_eq!(bed.wrong, [] as [String; 0]);
}

#[test]
fn flushes_run_from_high_water_to_low_water() {
    let mut bed = TestBed::new(constant(&flushing(None, 0.7, 0.3), 10, 20), 1);
    for segment in 0..7 {
        write(&mut bed, segment);
    }
    while bed.step() {}
    assert_eq!(count(&bed.system, "flushes"), 0.0, "7 of 10 are not above 0.7");
    write(&mut bed, 7);
    while bed.step() {}
    assert_eq!((count(&bed.system, "flushes"), count(&bed.system, "dirty_share")), (5.0, 0.3));
}

#[test]
fn data_is_intact_during_flushes() {
    for (idle_ms, high_water, low_water) in [(Some(0.3), 0.2, 0.1), (None, 0.3, 0.0), (Some(0.0), 1.0, 0.5)] {
        let mut bed = TestBed::new(constant(&flushing(idle_ms, high_water, low_water), 20, 38), 2);
        let load = Load { span_blocks: 300, most_blocks: 12, writes: 0.5, gap_ns: 600_000, outstanding: 8 };
        bed.operate(20_000, &load);
        bed.settle();
        while bed.step() {}
        bed.read_all();
        assert_eq!(bed.wrong, [] as [String; 0]);
        assert!(count(&bed.system, "flushes") > 1000.0);
    }
}

#[test]
fn each_period_flushes_all_changed_segments() {
    let flush = Some(CachingDiskFlushSpec { idle_ms: None, period_s: Some(0.05), high_water: 1.0, low_water: 1.0 });
    let mut bed = TestBed::new(constant(&CachingDiskSpec { flush, ..techniques(7) }, 10, 20), 1);
    let begin = bed.system.now();
    for segment in 0..4 {
        write(&mut bed, segment);
    }
    assert_eq!(count(&bed.system, "flushes"), 0.0);
    while bed.step() {}
    assert_eq!((count(&bed.system, "flushes"), count(&bed.system, "dirty_share")), (4.0, 0.0));
    // The flush starts one period after the first write to MEMS, one segment after the other, and leaves no timer.
    assert_eq!(bed.system.now() - begin, MEMS_NS + 50_000_000 + 4 * (MEMS_NS + DISK_NS));
}
