//! Fills in units.

use sledsim::engine::System;
use sledsim::hierarchy::{CachingDisk, CachingDiskSpec, Child};
use sledsim::request::{Flags, Op};
use sledsim::schedulers::fcfs;
use sledsim_testing::test_bed::TestBed;

use super::{add_constant, constant, count, techniques, units, DISK_NS, MEMS_NS, SEGMENT};

fn read(bed: &mut TestBed, lbn: u64, blocks: u64) -> (u64, u64) {
    let (start, before) = (bed.system.now(), count(&bed.system, "filled_blocks"));
    bed.submit(start, Op::Read, lbn, blocks as u32, Flags::NONE);
    bed.settle();
    let response_ns = bed.system.now() - start;
    while bed.step() {}
    assert_eq!(bed.wrong, [] as [String; 0]);
    (response_ns, (count(&bed.system, "filled_blocks") - before) as u64)
}

#[test]
fn units_shrink_for_single_blocks_and_grow_for_neighbours() {
    for combination in 4..8 {
        let spec = units(&techniques(combination));
        let mut bed = TestBed::new(constant(&spec, 2, 40), 1);
        // Segments 0 to 3 are a region. Reads of one block of three segments in turn replace the two slots every time.
        let mut brought = Vec::new();
        for round in 0..20 {
            brought.push(read(&mut bed, round % 4 * SEGMENT + 3, 1).1);
        }
        assert_eq!((brought[0], brought[19]), (SEGMENT, 1), "{brought:?}, {spec:?}");
        assert!(brought.windows(2).all(|pair| pair[0] >= pair[1]), "{brought:?}");
        assert_eq!(count(&bed.system, "unit_changes"), 3.0);
        assert_eq!(read(&mut bed, 20 * SEGMENT, 1).1, SEGMENT, "another region has its own unit size");
        // Sequential blocks: each fill finds the previous blocks used, so the unit grows.
        let mut fills = 0;
        for lbn in 0..4 * SEGMENT {
            fills += u64::from(read(&mut bed, lbn, 1).1 > 0);
        }
        assert!(fills <= 20, "{fills} fills of 32 blocks, {spec:?}");
        assert!(count(&bed.system, "unit_changes") > 3.0);
    }
}

#[test]
fn fills_read_only_the_missing_blocks_of_a_unit() {
    let spec = units(&techniques(7));
    let mut bed = TestBed::new(constant(&spec, 2, 40), 1);
    for round in 0..20 {
        read(&mut bed, round % 4 * SEGMENT + 3, 1);
    }
    // Round 19 was segment 3.
    assert_eq!(read(&mut bed, 3 * SEGMENT + 3, 1), (MEMS_NS, 0));
    assert_eq!(read(&mut bed, 3 * SEGMENT + 6, 2), (DISK_NS, 2));
    assert_eq!(read(&mut bed, 3 * SEGMENT + 6, 2), (MEMS_NS, 0));
    assert_eq!(read(&mut bed, 3 * SEGMENT, 4), (DISK_NS, 3), "valid blocks are read while the disk is");
}

#[test]
fn units_require_partial_write() {
    let spec = CachingDiskSpec { partial_write: false, ..units(&techniques(7)) };
    let mut system = System::default();
    let mems = add_constant(&mut system, 2 * (SEGMENT + 1), MEMS_NS, &fcfs::POLICY.default);
    let disk = add_constant(&mut system, 40 * SEGMENT, DISK_NS, &fcfs::POLICY.default);
    let error = CachingDisk::new(&spec, Child::of(&system, mems), Child::of(&system, disk))
        .err()
        .expect("units need valid bits");
    assert_eq!(error.to_string(), "units needs partial_write = true: units fill segments in parts");
}
