//! Compares the LBN layout with one that is enumerated sector by sector.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proptest::prelude::*;
use serde_json::{json, Value};
use sledsim::devices::disk::{BlockRange, DiskParameters, Layout, Mapping, Mechanics, Place, Sparing, Zone};
use sledsim::scenario::DeviceSpec;
use sledsim_disksim::{import, ImportOptions};
use sledsim_testing::reference;
use sledsim_testing::tiers::{cases, size};

const SCHEMES: [Sparing; 11] = [
    Sparing::None,
    Sparing::TracksPerZone,
    Sparing::SectorsPerTrack,
    Sparing::SectorsPerCylinder,
    Sparing::SectorsPerCylinderSlipToEnd,
    Sparing::SectorsAtCylinderFront,
    Sparing::SectorsAtCylinderFrontSlipToEnd,
    Sparing::SectorsPerRange,
    Sparing::SectorsPerZone,
    Sparing::SectorsPerZoneSlipToEnd,
    Sparing::SectorsAtDiskEnd,
];

/// Returns a small drive with the given zones.
fn drive(surfaces: u32, zones: &Value) -> DiskParameters {
    let cylinders =
        zones.as_array().expect("zones").iter().map(|zone| zone["last_cylinder"].as_u64().expect("a number"));
    let drive = json!({
        "name": "small", "surfaces": surfaces, "cylinders": cylinders.max().expect("a zone") + 1, "zones": zones,
        "rotation_rpm": 6000.0, "seek": {"curve": "constant", "seek_ms": 1.0}, "head_switch_ms": 0.5,
        "bus_ms_per_block": 0.0,
    });
    serde_json::from_value(drive).expect("a drive")
}

fn zone(first_cylinder: u32, last_cylinder: u32, sectors: u32) -> Value {
    json!({"first_cylinder": first_cylinder, "last_cylinder": last_cylinder, "sectors_per_track": sectors,
           "track_skew_sectors": 2.0, "cylinder_skew_sectors": 3.0})
}

/// Shape of a random zone: cylinders, gap before them, sectors, spares, empty sectors, slips and remaps (anywhere).
type Shape = (u32, u32, u32, u32, u32, Vec<u32>, Vec<[u32; 2]>);

fn shape() -> impl Strategy<Value = Shape> {
    let defects = (
        prop_oneof![Just(vec![]), prop::collection::vec(any::<u32>(), 0..12)],
        prop_oneof![2 => Just(vec![]), 1 => prop::collection::vec(any::<[u32; 2]>(), 0..3)],
    );
    (
        1_u32..9,
        prop_oneof![3 => Just(0_u32), 1 => 1_u32..3],
        4_u32..14,
        0_u32..5,
        prop_oneof![Just(0_u32), 0_u32..9],
        defects,
    )
        .prop_map(|(cylinders, gap, sectors, spares, empty, (slips, remaps))| {
            (cylinders, gap, sectors, spares, empty, slips, remaps)
        })
}

/// Valid drives of all sparing schemes and mappings.
fn designs() -> impl Strategy<Value = DiskParameters> {
    let mapping = prop::sample::select(vec![
        Mapping::Cylinder,
        Mapping::SerpentineByZone,
        Mapping::Serpentine,
        Mapping::SeekFirstSerpentine,
    ]);
    let zones = prop::collection::vec(shape(), 1..4);
    (zones, prop::sample::select(SCHEMES.to_vec()), (mapping, 1_u32..6), 1_u32..4, 1_u32..4)
        .prop_map(|(shapes, sparing, (mapping, group), surfaces, range)| {
            let mut next = 0;
            let zones: Vec<Value> = shapes
                .into_iter()
                .map(|(cylinders, gap, sectors, spares, empty, slips, remaps)| {
                    let first = next + gap;
                    next = first + cylinders;
                    let tracks = cylinders * surfaces;
                    let items = if sparing == Sparing::TracksPerZone { tracks } else { tracks * sectors };
                    let mut zone = zone(first, next - 1, sectors);
                    zone["spares"] = if sparing == Sparing::None { 0 } else { spares }.into();
                    zone["empty_sectors"] = empty.into();
                    zone["slips"] = slips.iter().map(|slip| slip % items).collect();
                    zone["remaps"] = remaps.iter().map(|pair| json!(pair.map(|item| item % items))).collect();
                    zone
                })
                .collect();
            let drive = drive(surfaces, &zones.into());
            let group = if mapping == Mapping::SeekFirstSerpentine { group } else { 1 };
            DiskParameters { sparing, mapping, mapping_group_cylinders: group, sparing_range_cylinders: range, ..drive }
        })
        .prop_filter("contradicts itself", |drive| Layout::new(drive).is_ok())
}

/// Sectors of a zone in the order in which LBNs visit them.
fn sectors(p: &DiskParameters, zone: &Zone) -> Vec<Place> {
    let mut places = Vec::new();
    if p.mapping == Mapping::SeekFirstSerpentine {
        let all: Vec<u32> = (zone.first_cylinder..=zone.last_cylinder).collect();
        for group in all.chunks(p.mapping_group_cylinders as usize) {
            for head in 0..p.surfaces {
                let there: Vec<u32> =
                    if head % 2 == 0 { group.to_vec() } else { group.iter().rev().copied().collect() };
                let track = |cylinder| (0..zone.sectors_per_track).map(move |sector| Place { cylinder, head, sector });
                places.extend(there.into_iter().flat_map(track));
            }
        }
        return places;
    }
    for cylinder in zone.first_cylinder..=zone.last_cylinder {
        let backwards = match p.mapping {
            Mapping::Cylinder | Mapping::SeekFirstSerpentine => false,
            Mapping::SerpentineByZone => (cylinder - zone.first_cylinder) % 2 == 1,
            Mapping::Serpentine => cylinder % 2 == 1,
        };
        for turn in 0..p.surfaces {
            let head = if backwards { p.surfaces - 1 - turn } else { turn };
            places.extend((0..zone.sectors_per_track).map(|sector| Place { cylinder, head, sector }));
        }
    }
    places
}

/// Returns the items of a zone that hold LBNs, in LBN order.
fn kept(p: &DiskParameters, zone: &Zone, items: usize) -> Vec<usize> {
    use Sparing as S;
    let removed: BTreeSet<usize> = zone
        .slips
        .iter()
        .copied()
        .chain(zone.remaps.iter().filter(|pair| pair[0] != pair[1]).map(|pair| pair[1]))
        .map(|item| item as usize)
        .collect();
    let track = zone.sectors_per_track as usize;
    let cylinder = track * p.surfaces as usize;
    let unit = match p.sparing {
        S::None | S::TracksPerZone | S::SectorsPerZone | S::SectorsPerZoneSlipToEnd | S::SectorsAtDiskEnd => items,
        S::SectorsPerTrack => track,
        S::SectorsPerRange => cylinder * p.sparing_range_cylinders as usize,
        _ => cylinder,
    };
    let at_front = matches!(p.sparing, S::SectorsAtCylinderFront | S::SectorsAtCylinderFrontSlipToEnd);
    let apart = matches!(
        p.sparing,
        S::SectorsPerCylinderSlipToEnd
            | S::SectorsAtCylinderFrontSlipToEnd
            | S::SectorsPerZoneSlipToEnd
            | S::SectorsAtDiskEnd
    );
    let mut kept = Vec::new();
    for first in (0..items).step_by(unit) {
        let all: Vec<usize> = (first..(first + unit).min(items)).collect();
        let spares = if all.len() == unit { zone.spares as usize } else { 0 };
        let good = |items: &[usize]| items.iter().copied().filter(|item| !removed.contains(item)).collect::<Vec<_>>();
        let (candidates, room) = if apart {
            let data = if at_front { &all[spares..] } else { &all[..all.len() - spares] };
            (good(data), data.len())
        } else {
            (good(&all), all.len() - spares)
        };
        let beyond = candidates.len().saturating_sub(room);
        kept.extend(if at_front { &candidates[beyond..] } else { &candidates[..candidates.len() - beyond] });
    }
    kept
}

/// Returns the place of each LBN, and its place without remapping.
fn written_out(p: &DiskParameters) -> Vec<(Place, Place)> {
    let mut lbns = Vec::new();
    for zone in &p.zones {
        let sectors = sectors(p, zone);
        let size = if p.sparing == Sparing::TracksPerZone { zone.sectors_per_track as usize } else { 1 };
        let others = zone.remaps.iter().filter(|pair| pair[0] != pair[1]);
        let remaps: HashMap<usize, usize> = others.map(|pair| (pair[0] as usize, pair[1] as usize)).collect();
        let places = kept(p, zone, sectors.len() / size).into_iter().flat_map(|item| {
            let to = remaps.get(&item).copied().unwrap_or(item);
            (0..size).map(move |within| (to * size + within, item * size + within))
        });
        lbns.extend(places.skip(zone.empty_sectors as usize).map(|(to, regular)| (sectors[to], sectors[regular])));
    }
    lbns
}

proptest! {
    #![proptest_config(cases(size(1000, 3000)))]

    #[test]
    fn lbns_follow_the_sparing_scheme(p in designs()) {
        let layout = Layout::new(&p).expect("a valid layout");
        let lbns = written_out(&p);
        prop_assert_eq!(layout.capacity_blocks(), lbns.len() as u64);
        let mut taken = HashMap::new();
        for (lbn, (place, _)) in (0u64..).zip(&lbns) {
            prop_assert_eq!(layout.place(lbn), *place, "LBN {}", lbn);
            prop_assert_eq!(taken.insert(*place, lbn), None, "two LBNs in {:?}", place);
        }
        for cylinder in 0..p.cylinders + 2 {
            for head in 0..p.surfaces + 1 {
                for sector in 0..15 {
                    let place = Place { cylinder, head, sector };
                    prop_assert_eq!(layout.lbn(place), taken.get(&place).copied(), "{:?}", place);
                }
            }
        }
    }

    #[test]
    fn runs_are_of_maximum_length(p in designs()) {
        let layout = Layout::new(&p).expect("a valid layout");
        let lbns = written_out(&p);
        let after = |place: Place, sectors: u32| Place { sector: place.sector + sectors, ..place };
        for (lbn, (place, _)) in (0u64..).zip(&lbns) {
            let run = layout.run(lbn);
            let follow = lbns[lbn as usize..].iter().zip(0..).take_while(|((next, _), n)| *next == after(*place, *n)).count() as u64;
            prop_assert!(run.blocks >= 1 && run.blocks <= follow, "LBN {}: {:?}, of {}", lbn, run, follow);
            if p.zones.iter().all(|zone| zone.remaps.is_empty()) {
                prop_assert_eq!(run.blocks, follow, "LBN {}: {:?}", lbn, run);
            }
        }
    }

    #[test]
    fn lbns_of_tracks_and_cylinders(p in designs()) {
        let layout = Layout::new(&p).expect("a valid layout");
        let (mut tracks, mut cylinders) = (BTreeMap::new(), BTreeMap::new());
        let lbns = written_out(&p);
        for (lbn, (_, regular)) in (0u64..).zip(&lbns) {
            let block = BlockRange { first: lbn, end: lbn + 1 };
            tracks.entry((regular.cylinder, regular.head)).or_insert(block).end = block.end;
            cylinders.entry(regular.cylinder).or_insert(block).end = block.end;
        }
        for (lbn, (_, regular)) in (0u64..).zip(&lbns) {
            prop_assert_eq!(layout.track_of(lbn), tracks[&(regular.cylinder, regular.head)]);
            // A seek-first mapping does not visit the tracks of a cylinder one after the other.
            if p.mapping != Mapping::SeekFirstSerpentine {
                prop_assert_eq!(layout.cylinder_of(lbn), cylinders[&regular.cylinder]);
            }
        }
    }
}

/// Returns the number of sectors that pass between the end of an LBN and the start of the next, if every track has
/// `sectors`.
fn gap_sectors(mechanics: &Mechanics, sectors: u64, lbn: u64) -> u64 {
    let angle = |lbn| mechanics.start_angle(mechanics.layout().place(lbn));
    let turn = angle(lbn + 1).wrapping_sub(angle(lbn));
    // Rounded to the nearest sector; angles are far more exact.
    let apart = ((u128::from(turn) * u128::from(sectors) + (1 << 63)) >> 64) as u64;
    (apart + sectors - 1) % sectors
}

#[test]
fn skews_separate_tracks_and_cylinders() {
    for mapping in [Mapping::Cylinder, Mapping::SerpentineByZone, Mapping::Serpentine] {
        let p = DiskParameters { mapping, ..drive(3, &json!([zone(0, 4, 10), zone(5, 9, 10)])) };
        let mechanics = Mechanics::new(&p).expect("a drive");
        for lbn in 0..299 {
            let expected = match lbn + 1 {
                // Every zone starts at the index mark. The skews of the previous zone add up to 5 * 3 + 4 * (2 * 2 + 3)
                // - 3 sectors.
                150 => continue,
                next if next % 30 == 0 => 3,
                next if next % 10 == 0 => 2,
                _ => 0,
            };
            assert_eq!(gap_sectors(&mechanics, 10, lbn), expected, "after LBN {lbn}, {mapping:?}");
        }
    }
}

#[test]
fn zones_begin_at_their_offset() {
    let mut far = zone(5, 9, 12);
    far["first_sector_offset"] = 7.5.into();
    let mechanics = Mechanics::new(&drive(2, &json!([zone(0, 4, 10), far]))).expect("a drive");
    assert_eq!(mechanics.start_angle(Place::default()), 0);
    let offset = mechanics.start_angle(Place { cylinder: 5, head: 0, sector: 0 });
    assert!(offset.abs_diff((7.5 / 12.0 * 2f64.powi(64)) as u64) < 1 << 10, "{offset}");
}

#[test]
fn slips_with_near_spares_shift_following_tracks() {
    let slipped = |sparing| {
        let mut zone = zone(0, 4, 10);
        zone["spares"] = 1.into();
        zone["slips"] = json!([3]);
        Mechanics::new(&DiskParameters { sparing, ..drive(2, &json!([zone])) }).expect("a drive")
    };
    // The angle of the first sector behind the slips, in sectors, without that due to skews.
    let turned = |mechanics: &Mechanics, place: Place, skew: u64| {
        let angle = mechanics.start_angle(place);
        (((u128::from(angle) * 10 + (1 << 63)) >> 64) as u64 + 20 - skew) % 10
    };
    let (track, cylinder) = (Place { head: 1, ..Place::default() }, Place { cylinder: 1, ..Place::default() });
    for (sparing, by_track, by_cylinder) in
        [(Sparing::SectorsPerTrack, 1, 1), (Sparing::SectorsPerCylinder, 0, 1), (Sparing::SectorsPerZone, 0, 0)]
    {
        let mechanics = slipped(sparing);
        assert_eq!(turned(&mechanics, track, 2), by_track, "{sparing:?}");
        assert_eq!(turned(&mechanics, cylinder, 5), by_cylinder, "{sparing:?}");
    }
}

/// Drives of the reference data: name, number of blocks that DiskSim 4.0 counts in their zones, nominal number of
/// blocks.
const DRIVES: [(&str, u64, u64); 6] = [
    ("atlas10k", 17_966_953, 17_938_986),
    ("barracuda", 4_217_670, 4_110_000),
    ("cheetah4LP", 8_887_940, 8_887_200),
    ("cheetah9LP", 17_918_387, 17_783_240),
    ("hp_c2247a", 2_054_864, 2_054_864),
    ("st41601n", 2_676_846, 2_676_846),
];

#[test]
fn real_drives_have_their_nominal_capacity() {
    for (name, counted, sold) in DRIVES {
        let Some(path) = reference(&format!("drives/{name}/{name}.diskspecs")) else { return };
        let DeviceSpec::Disk(p) =
            import(&path, &ImportOptions::default()).unwrap_or_else(|error| panic!("{error}")).device
        else {
            panic!("{name} is no disk");
        };
        let layout = Layout::new(&p).expect("a drive");
        assert_eq!((layout.mapped_blocks(), layout.capacity_blocks()), (counted, sold), "{name}");
        follow(&p, &layout);
    }
}

/// Checks all LBNs, run by run: each comes after the previous one on the medium, and the map is invertible.
fn follow(p: &DiskParameters, layout: &Layout) {
    let mut behind = None;
    let mut lbn = 0;
    while lbn < layout.mapped_blocks() {
        let run = layout.run(lbn);
        let zone = run.zone as usize;
        let turn = layout.track_index(zone, run.place.cylinder, run.place.head);
        let order = (run.place.cylinder, turn, run.place.sector);
        assert!(behind < Some(order), "{}: LBN {lbn} lies at {:?}", p.name, run.place);
        let last = Place { sector: run.place.sector + run.blocks as u32 - 1, ..run.place };
        assert!(last.sector < p.zones[zone].sectors_per_track && last.cylinder <= p.zones[zone].last_cylinder);
        assert_eq!(layout.lbn(run.place), Some(lbn), "{}", p.name);
        assert_eq!(
            (layout.place(lbn + run.blocks - 1), layout.lbn(last)),
            (last, Some(lbn + run.blocks - 1)),
            "{}",
            p.name
        );
        behind = Some((last.cylinder, turn, last.sector));
        lbn += run.blocks;
    }
}

/// Returns the error message for an invalid drive.
fn refusal(p: &DiskParameters) -> String {
    Layout::new(p).map(|_| ()).expect_err("contradicts itself").to_string()
}

#[test]
fn contradictory_layouts_are_rejected() {
    let with = |key: &str, value: Value| {
        let mut second = zone(5, 9, 10);
        second[key] = value;
        drive(2, &json!([zone(0, 4, 10), second]))
    };
    let spared = |sparing, spares: u32| DiskParameters { sparing, ..with("spares", spares.into()) };
    let cases = [
        (with("first_cylinder", 4.into()), "zones.1.first_cylinder = 4"),
        (DiskParameters { cylinders: 9, ..with("spares", 0.into()) }, "zones.1.last_cylinder = 9"),
        (with("last_cylinder", 3.into()), "zones.1.last_cylinder = 3"),
        (with("sectors_per_track", 0.into()), "zones.1.sectors_per_track = 0"),
        (with("slips", json!([100])), "zones.1.slips.0 = 100"),
        (DiskParameters { sparing: Sparing::TracksPerZone, ..with("slips", json!([10])) }, "zones.1.slips.0 = 10"),
        (with("remaps", json!([[3, 100]])), "zones.1.remaps: [3, 100]"),
        (with("remaps", json!([[3, 90], [4, 90]])), "zones.1.remaps: 90"),
        (with("remaps", json!([[3, 90], [3, 91]])), "zones.1.remaps: 3"),
        (with("empty_sectors", 100.into()), "zones.1.empty_sectors = 100"),
        (spared(Sparing::None, 1), "zones.1.spares = 1"),
        (spared(Sparing::SectorsPerTrack, 10), "zones.1.spares = 10"),
        (spared(Sparing::SectorsPerCylinder, 20), "zones.1.spares = 20"),
        (spared(Sparing::TracksPerZone, 10), "zones.1.spares = 10"),
        (spared(Sparing::SectorsPerZone, 100), "zones.1.spares = 100"),
        (DiskParameters { capacity_blocks: Some(201), ..with("spares", 0.into()) }, "capacity_blocks = 201"),
        (DiskParameters { zones: Vec::new(), ..with("spares", 0.into()) }, "zones"),
        (DiskParameters { surfaces: 0, ..with("spares", 0.into()) }, "surfaces = 0"),
    ];
    for (p, says) in cases {
        let message = refusal(&p);
        assert!(message.starts_with(says), "{message}");
    }
}

#[test]
fn largest_layout_is_fast_and_small() {
    // The upper limits of the parameters.
    let mut whole = zone(0, 99_999_999, 1_000_000);
    whole["spares"] = 7.into();
    for sparing in SCHEMES.into_iter().skip(1) {
        let p = DiskParameters { sparing, surfaces: 1000, ..drive(1, &json!([whole])) };
        let layout = Layout::new(&p).expect("a drive");
        let last = layout.capacity_blocks() - 1;
        assert_eq!(layout.lbn(layout.place(last)), Some(last), "{sparing:?}");
    }
}

#[test]
fn seek_first_skews_separate_tracks_and_surfaces() {
    let mapping = Mapping::SeekFirstSerpentine;
    // Groups of two cylinders, and one of one; track skew 2, skew at a change of surface 3.
    let p = DiskParameters { mapping, mapping_group_cylinders: 2, ..drive(3, &json!([zone(0, 4, 10)])) };
    let mechanics = Mechanics::new(&p).expect("a drive");
    for lbn in 0..149 {
        let [here, next] = [lbn, lbn + 1].map(|lbn| mechanics.layout().place(lbn));
        let expected = match (here.head == next.head, here.cylinder == next.cylinder) {
            (true, true) => 0,
            (true, false) => 2,
            (false, _) => 3,
        };
        assert_eq!(gap_sectors(&mechanics, 10, lbn), expected, "from {here:?} to {next:?}");
    }
}
