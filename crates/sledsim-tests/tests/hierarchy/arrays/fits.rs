//! Members and sizes that contradict each other are rejected with both keys.

use sledsim::engine::{Component, ComponentId};
use sledsim::hierarchy::array::{JournalSpec, Level, Sparing};
use sledsim::hierarchy::{ArraySpec, RedundantArray, Spread};

use super::building::units;

fn refusal(level: Level, sizes: &[(u64, u32)], spec: &ArraySpec) -> String {
    let children = (0..sizes.len() as u32).map(ComponentId).collect();
    RedundantArray::new(level, children, sizes, spec).err().expect("they don't fit").to_string()
}

#[test]
fn values_that_do_not_fit_are_rejected_with_both_sides() {
    let three = [(1000, 512); 3];
    let spared = ArraySpec { spares: 2, ..units(512) };
    let distributed = ArraySpec { spares: 1, sparing: Sparing::Distributed, ..units(512) };
    let journal = |size_bytes| Some(JournalSpec { size_bytes, ..JournalSpec::default() });
    let small = ArraySpec { journal: journal(1000), ..units(512) };
    let cases = [
        (refusal(Level::Raid5, &three[..2], &units(512)), "members are 2 in all: raid5 needs at least 3"),
        (refusal(Level::Raid6, &three, &units(512)), "members are 3 in all: raid6 needs at least 4"),
        (refusal(Level::Raid5, &[(1000, 512); 4], &spared), "of 4 members 2 are left, raid5 needs at least 3"),
        (refusal(Level::Raid5, &[(9, 512), (9, 4096), (9, 512)], &units(512)), "members.1 has blocks of 4096 B"),
        (refusal(Level::Raid5, &three, &units(6000)), "unit_bytes = 6000 is no multiple of the 512 B blocks"),
        (refusal(Level::Raid5, &three, &units(1 << 20)), "unit_bytes = 1048576 exceeds the 512000 B of members.0"),
        (refusal(Level::Mirror, &three, &distributed), "mirror has no units that go round"),
        (refusal(Level::Raid5, &three, &small), "too small for a row of 3 units of 512 B, which takes 1568 B"),
        (refusal(Level::Mirror, &three, &small), "too small for 3 copies of a block of 512 B"),
        (
            Spread::stripe(vec![ComponentId(0)], &three[..1], 512).err().expect("one").to_string(),
            "stripe needs at least 2",
        ),
        (Spread::concat(Vec::new(), &[]).err().expect("none").to_string(), "an array needs at least 1"),
    ];
    for (found, expected) in cases {
        assert!(found.contains(expected), "{found}");
    }
}

/// The capacity of the smallest member in whole units; for a mirror, all of it.
#[test]
fn members_are_used_up_to_the_smallest() {
    let sizes = [(1003, 512), (1001, 512), (1002, 512), (1005, 512)];
    let capacity = |level, spec: &ArraySpec| {
        let children = (0..4).map(ComponentId).collect();
        RedundantArray::new(level, children, &sizes, spec).expect("they fit").capacity_blocks()
    };
    assert_eq!(capacity(Level::Mirror, &ArraySpec::default()), 1001);
    for (level, data) in [(Level::Raid4, 3), (Level::Raid5, 3), (Level::Raid6, 2)] {
        assert_eq!(capacity(level, &units(8 * 512)), data * 1000);
    }
    let spread = Spread::stripe((0..4).map(ComponentId).collect(), &sizes, 8 * 512).expect("they fit");
    assert_eq!(spread.capacity_blocks(), 4 * 1000);
}
