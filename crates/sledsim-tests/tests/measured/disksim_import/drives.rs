//! The six drives: imported values against those of a second, simple parser.

use std::path::PathBuf;

use sledsim::devices::disk::{DiskParameters, FastWrite, Mapping, ReadAhead, RotationModel, SeekCurve, Sparing};
use sledsim::scenario::DeviceSpec;
use sledsim_disksim::{Import, ImportOptions};
use sledsim_testing::reference;

const DRIVES: [&str; 6] = ["atlas10k", "barracuda", "cheetah4LP", "cheetah9LP", "hp_c2247a", "st41601n"];

fn path(drive: &str, ending: &str) -> Option<PathBuf> {
    reference(&format!("drives/{drive}/{drive}.{ending}"))
}

fn import(drive: &str) -> Option<(Import, DiskParameters)> {
    let import = sledsim_disksim::import(&path(drive, "parv")?, &ImportOptions::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let DeviceSpec::Disk(disk) = import.device.clone() else { panic!("{drive} is no disk") };
    Some((import, *disk))
}

/// Parameters of the drives that change DiskSim's behaviour and have no counterpart in the model.
const LEFT_OUT: [(&str, &str); 1] = [("hp_c2247a", "Low (write) water mark")];

#[test]
fn lost_parameters_are_listed() {
    for drive in DRIVES {
        let Some((import, _)) = import(drive) else { return };
        let lost = import.notes.iter().filter(|note| note.changes_results).map(|note| note.name.as_str());
        let expected = LEFT_OUT.iter().filter(|(of, _)| *of == drive).map(|(_, name)| *name);
        assert!(lost.eq(expected), "{drive}: {:#?}", import.notes);
    }
}

/// Returns every `name = value` of a file, regardless of blocks.
fn assignments(text: &str) -> Vec<(usize, String, String)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.split('#').next().unwrap_or("")));
    let pairs = lines.filter_map(|(number, line)| line.split_once('=').map(|(name, value)| (number, name, value)));
    pairs
        .map(|(line, name, value)| (line, name.trim().into(), value.trim().trim_end_matches(',').trim().into()))
        .collect()
}

#[test]
fn every_drive_parameter_is_carried_over_or_listed() {
    for drive in DRIVES {
        let Some((import, _)) = import(drive) else { return };
        let ending = if ["hp_c2247a", "st41601n"].contains(&drive) { "_validate.model" } else { ".model" };
        let model = format!("{drive}{ending}");
        for name in [format!("{drive}.parv"), format!("{drive}.diskspecs"), model] {
            let file = path(drive, "parv").expect("just read").with_file_name(&name);
            let mut in_zone = false;
            for (line, parameter, value) in assignments(&std::fs::read_to_string(file).expect("readable")) {
                in_zone = (in_zone || parameter == "Zones") && parameter != "Mechanical Model";
                let is_block = value.contains('{') || value.starts_with("source") || parameter == "Generators";
                let is_listed = import
                    .entries
                    .iter()
                    .flat_map(|entry| &entry.from)
                    .any(|from| from.file == name && from.line as usize == line)
                    || import
                        .notes
                        .iter()
                        .any(|note| note.file == name && note.line as usize == line && note.name == parameter);
                assert!(is_listed || is_block || in_zone, "{name}:{line}: {parameter} = {value}");
            }
        }
    }
}

#[test]
fn imported_values_equal_the_files() {
    let Some((import, disk)) = import("atlas10k") else { return };
    assert_eq!(import.name, "QUANTUM_TORNADO_validate");
    assert_eq!((disk.surfaces, disk.cylinders, disk.block_bytes), (6, 10042, 512));
    assert_eq!(
        (disk.mapping, disk.sparing, disk.rotation),
        (Mapping::SerpentineByZone, Sparing::SectorsPerZone, RotationModel::Phase)
    );
    assert_eq!((disk.rotation_rpm, disk.head_switch_ms, disk.write_settle_ms), (10025.0, 0.176, 0.487));
    assert_eq!((disk.bus_ms_per_block, disk.bus_write_ms_per_block), (0.099, None));
    assert_eq!((disk.buffer_segments, disk.segment_blocks, disk.read_ahead_most_blocks), (10, 374, Some(354)));
    assert_eq!((disk.read_ahead, disk.fast_write), (ReadAhead::NextTrack, FastWrite::Full));
    assert!(disk.buffer_caching && disk.zero_latency_reads && disk.zero_latency_writes && disk.read_free_blocks);
    assert!(disk.combine_writes && !disk.stop_read_ahead_in_sector);
    assert_eq!((disk.write_hit_after_read_ms, disk.write_hit_after_write_ms), (0.186, 0.189));
    assert_eq!((disk.write_miss_after_read_ms, disk.write_miss_after_write_ms), (0.34492, 0.49673));
    assert_eq!((disk.read_hit_after_read_ms, disk.read_miss_after_read_ms), (0.184, 0.0));
    assert_eq!(disk.zones.len(), 24);
    let zone = &disk.zones[7];
    assert_eq!((zone.first_cylinder, zone.last_cylinder, zone.sectors_per_track, zone.spares), (2937, 3360, 324, 92));
    assert_eq!((zone.track_skew_sectors, zone.cylinder_skew_sectors, zone.first_sector_offset), (61.0, 98.0, 0.0));
    assert_eq!(zone.slips, [138_144, 291_290, 615_857, 616_604, 619_565, 620_636, 623_597, 624_668]);
    let SeekCurve::Table { points } = &disk.seek else { panic!("no table") };
    assert_eq!((points.len(), points[0], points[8], points[137]), (138, [1.0, 1.245], [9.0, 1.506], [10021.0, 10.828]));
    let head_switch = import.entries.iter().find(|entry| entry.key == "head_switch_ms").expect("carried over");
    let from = (&*head_switch.from[0].file, head_switch.from[0].line, &*head_switch.from[0].parameter);
    assert_eq!(from, ("atlas10k.model", 17, "Head switch time"));
}

#[test]
fn hpl_curve_and_asymmetric_bus_are_carried_over() {
    let Some((_, disk)) = import("hp_c2247a") else { return };
    assert_eq!((disk.bus_ms_per_block, disk.bus_write_ms_per_block), (0.1701, Some(0.18686)));
    assert_eq!((disk.sparing, disk.mapping), (Sparing::TracksPerZone, Mapping::Cylinder));
    assert_eq!(disk.zones[0].empty_sectors, 1632);
    assert_eq!((disk.zones[1].first_sector_offset, disk.zones[1].slips.len()), (14.0, 6));
    let expected = SeekCurve::Hpl {
        short_below: 300.0,
        short_constant_ms: 3.81,
        short_sqrt_ms: 0.33,
        long_constant_ms: 7.75,
        long_linear_ms: 0.0059,
        first_ms: vec![2.89, 3.68, 3.81, 3.98, 4.27, 4.65, 4.52, 4.65, 4.82, 4.99],
    };
    assert_eq!(disk.seek, expected);
    assert!(disk.hold_bus_reading && disk.extra_write_disconnect && disk.separate_write_segment);
    assert_eq!((disk.extra_command_ms, disk.extra_gap_ms, disk.extra_seek_delay_ms), (0.64244, 0.42885, 0.25));
    assert_eq!(
        (disk.least_seek_ms, disk.extra_second_disconnect_ms, disk.extra_disconnect_ms),
        (0.6, 0.13437, 0.04551)
    );
    assert_eq!((disk.read_watermark, disk.read_ahead_over_requested), (0.75, 1));
    let Some((_, disk)) = import("st41601n") else { return };
    assert_eq!((disk.bus_ms_per_block, disk.bus_write_ms_per_block), (0.09552, None));
    assert_eq!((disk.sparing, disk.read_ahead_over_requested), (Sparing::SectorsPerCylinder, -1));
}

#[test]
fn defects_come_in_pairs() {
    let Some((_, disk)) = import("cheetah4LP") else { return };
    assert_eq!(disk.zones[1].remaps, [[233_375, 233_375]]);
    assert_eq!(
        (disk.sparing, disk.sparing_range_cylinders, disk.fast_write),
        (Sparing::SectorsPerRange, 12, FastWrite::Sequential)
    );
}
