//! Data integrity over long random runs.

use sledsim::engine::System;
use sledsim::hierarchy::CachingDiskSpec;
use sledsim::schedulers::sptf;
use sledsim_testing::test_bed::{Load, TestBed};
use sledsim_testing::tiers::size;

use super::{
    add_caching_disk, add_constant, add_drive, constant, count, details, policies, techniques, units, DISK_NS, MEMS_NS,
    SEGMENT,
};

const LOAD: Load = Load { span_blocks: 300, most_blocks: 20, writes: 0.5, gap_ns: 150_000, outstanding: 12 };

fn operations() -> u64 {
    size(4_000, 10_000)
}

fn check(system: System, seed: u64, operations: u64, load: &Load, what: &str) -> System {
    let mut bed = TestBed::new(system, seed);
    let span_blocks = bed.capacity_blocks().min(load.span_blocks);
    bed.operate(operations, &Load { span_blocks, ..*load });
    bed.settle();
    while bed.step() {}
    let requests: u64 = details(&bed.system).paths.iter().map(|path| path.count).sum();
    assert_eq!(requests, operations, "each request is counted in one path, {what}");
    bed.read_all();
    assert!(bed.wrong.is_empty() && bed.lost.is_empty(), "{what}: {:?}", bed.wrong.first());
    assert_eq!(count(&bed.system, "lost_blocks"), 0.0);
    bed.system
}

/// 160,000 operations: with few slots and a small buffer, so that most segments are being filled or destaged, and with more space.
#[test]
fn data_is_intact_with_every_combination_of_techniques() {
    for combination in 0..8 {
        let spec = techniques(combination);
        let few = check(constant(&spec, 6, 38), 1, operations(), &LOAD, &format!("{spec:?}"));
        assert!(count(&few, "slot_stalls") > 0.0 && count(&few, "dirty_evictions") > 1000.0, "{spec:?}");
        let spec = CachingDiskSpec { buffer_bytes: 64 * 1024, ..spec };
        let load = Load { most_blocks: 6, gap_ns: 500_000, ..LOAD };
        let more = check(constant(&spec, 30, 38), 2, operations(), &load, &format!("{spec:?}"));
        assert!(count(&more, "hit_ratio") > 0.6, "{spec:?}: {:?}", details(&more));
        if spec.partial_write {
            let spec = units(&spec);
            let parts = check(constant(&spec, 10, 38), 7, operations(), &load, &format!("{spec:?}"));
            assert!(count(&parts, "unit_changes") > 5.0 && count(&parts, "fills") > 500.0, "{:?}", details(&parts));
        }
    }
}

#[test]
fn data_is_intact_with_every_policy() {
    for policy in policies() {
        let spec = CachingDiskSpec { policy: policy.into(), ..techniques(7) };
        check(constant(&spec, 10, 38), 3, operations(), &LOAD, &format!("{spec:?}"));
        let spec = CachingDiskSpec { policy: policy.into(), ..techniques(0) };
        check(constant(&spec, 10, 38), 4, operations(), &LOAD, &format!("{spec:?}"));
    }
}

/// Accesses to a segment can be reordered in the queues of the children.
#[test]
fn data_is_intact_over_devices_that_reorder() {
    for combination in 0..8 {
        let spec = techniques(combination);
        let mut system = System::default();
        let mems = add_constant(&mut system, 12 * (SEGMENT + 1), MEMS_NS, &sptf::POLICY.default);
        let disk = add_constant(&mut system, 300, DISK_NS, &sptf::POLICY.default);
        add_caching_disk(&mut system, &spec, mems, disk);
        check(system, 5, operations(), &LOAD, &format!("{spec:?}"));

        let spec = CachingDiskSpec { mems_bytes: Some(40 * (SEGMENT + 1) * 512), ..spec };
        let mut system = System::default();
        let mems = add_drive(&mut system, "g2", &sptf::POLICY.default);
        let disk = add_drive(&mut system, "atlas10k", &sptf::POLICY.default);
        add_caching_disk(&mut system, &spec, mems, disk);
        let load = Load { span_blocks: 900, gap_ns: 3_000_000, ..LOAD };
        check(system, 6, 3000, &load, &format!("{spec:?}"));
    }
}
