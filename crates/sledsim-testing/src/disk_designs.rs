//! Random disk drives, for properties that hold for all of them. Few of them are sensible.

use proptest::prelude::*;
use serde_json::{json, Map, Value};
use sledsim::devices::disk::{DiskDevice, DiskParameters, FastWrite, ReadAhead};

use crate::powers;

/// Overheads and times on the bus, ms.
const TIMES: [&str; 19] = [
    "request_overhead_ms",
    "read_hit_after_read_ms",
    "read_hit_after_write_ms",
    "read_miss_after_read_ms",
    "read_miss_after_write_ms",
    "write_hit_after_read_ms",
    "write_hit_after_write_ms",
    "write_miss_after_read_ms",
    "write_miss_after_write_ms",
    "read_completion_ms",
    "write_completion_ms",
    "data_preparation_ms",
    "first_reselect_ms",
    "other_reselect_ms",
    "read_disconnect_after_read_ms",
    "read_disconnect_after_write_ms",
    "write_disconnect_ms",
    "bus_ms_per_block",
    "least_seek_ms",
];

/// Times of a write that disconnects twice, ms.
const EXTRA_TIMES: [&str; 5] =
    ["extra_command_ms", "extra_disconnect_ms", "extra_gap_ms", "extra_second_disconnect_ms", "extra_seek_delay_ms"];

const SWITCHES: [&str; 15] = [
    "extra_write_disconnect",
    "hold_bus_reading",
    "never_disconnect",
    "buffer_caching",
    "separate_write_segment",
    "watermark_of_request",
    "read_ahead_on_idle_hit",
    "zero_latency_reads",
    "zero_latency_writes",
    "read_free_blocks",
    "combine_writes",
    "stop_read_ahead_in_sector",
    "transfer_partial_hits",
    "almost_read_hits",
    "read_hits_on_writes",
];

/// Cylinders of a zone, gap before it, and its other parameters; its first cylinder follows from the zone before.
fn zone() -> impl Strategy<Value = (u32, u32, Value)> {
    let shape = (4_u32..30, prop_oneof![4 => Just(0), 1 => 1_u32..3], 10_u32..60);
    let angles = (0.0_f64..60.0, 0.0_f64..30.0, 0.0_f64..30.0, any::<bool>());
    let defects =
        (0_u32..4, prop_oneof![Just(0_u32), 0_u32..5], prop::collection::vec(any::<u32>(), 0..4), any::<[u32; 2]>());
    (shape, angles, defects).prop_map(|(shape, angles, defects)| {
        let (cylinders, gap, sectors) = shape;
        let (first, track_skew, cylinder_skew, whole) = angles;
        let (spares, empty, slips, remap) = defects;
        let skew = |sectors: f64| if whole { sectors.round() } else { sectors };
        let anywhere = |pick: &u32| *pick % (cylinders * sectors);
        let zone = json!({
            "sectors_per_track": sectors,
            "first_sector_offset": skew(first),
            "track_skew_sectors": skew(track_skew),
            "cylinder_skew_sectors": skew(cylinder_skew),
            "spares": spares,
            "empty_sectors": empty,
            "slips": slips.iter().map(anywhere).collect::<Vec<_>>(),
            "remaps": if spares > 1 { vec![remap.map(|pick| anywhere(&pick))] } else { Vec::new() },
        });
        (cylinders, gap, zone)
    })
}

/// Zones of a drive, and its number of cylinders.
fn zones() -> impl Strategy<Value = (Vec<Value>, u32)> {
    prop::collection::vec(zone(), 1..4).prop_map(|zones| {
        let mut next = 0;
        let place = |(cylinders, gap, mut zone): (u32, u32, Value)| {
            let first = next + gap;
            next = first + cylinders;
            zone["first_cylinder"] = first.into();
            zone["last_cylinder"] = (next - 1).into();
            zone
        };
        let zones = zones.into_iter().map(place).collect();
        (zones, next)
    })
}

fn seek() -> impl Strategy<Value = Value> {
    let steps = prop::collection::vec((1.0_f64..12.0, 0.0_f64..2.0), 1..5);
    let table = steps.prop_map(|steps| {
        let mut at = (0.0, 0.2);
        let point = |(distance, ms): (f64, f64)| {
            at = (at.0 + distance.floor(), at.1 + ms);
            json!([at.0, at.1])
        };
        json!({"curve": "table", "points": steps.into_iter().map(point).collect::<Vec<_>>()})
    });
    let hpl = (1.0_f64..40.0, 0.0_f64..2.0, 0.0_f64..0.5).prop_map(|(short_below, constant_ms, sqrt_ms)| {
        // The linear part continues the curved one.
        let long_constant_ms = constant_ms + sqrt_ms * short_below.sqrt() - 0.01 * short_below;
        json!({"curve": "hpl", "short_below": short_below, "short_constant_ms": constant_ms, "short_sqrt_ms": sqrt_ms,
               "long_constant_ms": long_constant_ms.max(0.0), "long_linear_ms": 0.01})
    });
    // Three points with rising times.
    let three = (prop_oneof![Just("lee"), Just("three-point")], 0.1_f64..3.0, 0.5_f64..3.0).prop_map(
        |(curve, single_ms, rise_ms)| {
            let (average_ms, full_ms) = (single_ms + rise_ms, single_ms + 1.8 * rise_ms);
            json!({"curve": curve, "single_ms": single_ms, "average_ms": average_ms, "full_ms": full_ms})
        },
    );
    let linear = (0.1_f64..3.0, 0.0_f64..3.0).prop_map(
        |(single_ms, rise_ms)| json!({"curve": "linear", "single_ms": single_ms, "full_ms": single_ms + rise_ms}),
    );
    let constant =
        prop_oneof![Just(0.0), 0.0_f64..9.0].prop_map(|seek_ms| json!({"curve": "constant", "seek_ms": seek_ms}));
    prop_oneof![table, hpl, three, linear, constant]
}

/// Parameters of the mechanics.
fn mechanics() -> impl Strategy<Value = Map<String, Value>> {
    let media = (zones(), seek(), 1_u32..5, 1_u32..4);
    let schemes = (
        prop::sample::select(vec!["cylinder", "serpentine-by-zone", "serpentine", "seek-first-serpentine"]),
        prop::sample::select(vec![
            "none",
            "tracks-per-zone",
            "sectors-per-track",
            "sectors-per-cylinder",
            "sectors-per-cylinder-slip-to-end",
            "sectors-at-cylinder-front",
            "sectors-at-cylinder-front-slip-to-end",
            "sectors-per-range",
            "sectors-per-zone",
            "sectors-per-zone-slip-to-end",
            "sectors-at-disk-end",
        ]),
    );
    let motion = (
        prop_oneof![Just(10_000.0), 1_000.0_f64..40_000.0],
        prop_oneof![Just(0.0), -5.0_f64..5.0],
        prop_oneof![4 => Just("phase"), 1 => Just("average")],
        (prop_oneof![Just(0.0), 0.0_f64..3.0], prop_oneof![Just(0.0), 0.0_f64..2.0], 1_u32..3),
    );
    (media, schemes, motion).prop_map(|(media, schemes, motion)| {
        let ((mut zones, cylinders), seek, surfaces, range_cylinders) = media;
        let (mapping, sparing) = schemes;
        let (rpm, error_percent, rotation, (head_switch_ms, write_settle_ms, actuators)) = motion;
        if sparing == "none" {
            zones.iter_mut().for_each(|zone| zone["spares"] = 0.into());
        }
        let group = if mapping == "seek-first-serpentine" { 1 + cylinders / 3 } else { 1 };
        let drive = json!({
            "name": "random", "surfaces": surfaces, "cylinders": cylinders, "zones": zones, "seek": seek,
            "mapping": mapping, "mapping_group_cylinders": group, "sparing": sparing, "sparing_range_cylinders": range_cylinders,
            "rotation_rpm": rpm, "rotation_error_percent": error_percent, "rotation": rotation,
            "head_switch_ms": head_switch_ms, "write_settle_ms": write_settle_ms, "actuators": actuators,
            "bus_ms_per_block": 0.0,
        });
        drive.as_object().expect("an object").clone()
    })
}

/// Parameters of the electronics and the buffer.
fn electronics() -> impl Strategy<Value = Map<String, Value>> {
    let times = prop_oneof![
        1 => Just(Vec::new()),
        2 => prop::collection::vec(prop_oneof![Just(0.0), 0.0_f64..0.7], TIMES.len() + EXTRA_TIMES.len()),
    ];
    let buffer = (1_u32..6, 1_u32..200, 0.0_f64..=1.0, -1_i32..2);
    let ahead = (
        prop::sample::select(vec!["none", "track", "cylinder", "segment", "next-track"]),
        0_u32..80,
        prop::option::of(0_u32..200),
        prop::sample::select(vec!["none", "sequential", "full"]),
    );
    let choices = (any::<u32>(), prop_oneof![Just(1.0), 0.0_f64..2.0]);
    (times, buffer, ahead, choices).prop_map(|(times, buffer, ahead, (switches, overhead_scale))| {
        let (segments, segment_blocks, read_watermark, over_requested) = buffer;
        let (read_ahead, least_blocks, most_blocks, fast_write) = ahead;
        let mut drive = json!({
            "overhead_scale": overhead_scale, "buffer_segments": segments, "segment_blocks": segment_blocks,
            "read_watermark": read_watermark, "read_ahead": read_ahead, "read_ahead_least_blocks": least_blocks,
            "read_ahead_over_requested": over_requested, "fast_write": fast_write,
        })
        .as_object()
        .expect("an object")
        .clone();
        if let Some(most_blocks) = most_blocks {
            drive.insert("read_ahead_most_blocks".into(), most_blocks.max(least_blocks).into());
        }
        drive.extend(TIMES.iter().chain(&EXTRA_TIMES).zip(times).map(|(&key, ms)| (key.to_owned(), ms.into())));
        let on = |bit: usize| (switches >> bit & 1 == 1).into();
        drive.extend(SWITCHES.iter().enumerate().map(|(bit, &key)| (key.to_owned(), on(bit))));
        if drive["buffer_caching"] == false {
            drive.extend(["read_ahead", "fast_write"].map(|key| (key.to_owned(), "none".into())));
        }
        drive
    })
}

/// Returns the drive without caching, read-ahead, fast writes and zero-latency access.
pub fn without_buffer(drive: &DiskParameters) -> DiskParameters {
    DiskParameters {
        buffer_caching: false,
        read_ahead: ReadAhead::None,
        read_ahead_least_blocks: 0,
        read_ahead_on_idle_hit: false,
        fast_write: FastWrite::None,
        zero_latency_reads: false,
        zero_latency_writes: false,
        read_free_blocks: false,
        ..drive.clone()
    }
}

/// Returns the drive without times of commands, connections and the bus.
pub fn without_overheads(drive: &DiskParameters) -> DiskParameters {
    let mut values = serde_json::to_value(drive).expect("numbers");
    for key in TIMES.iter().chain(&EXTRA_TIMES) {
        values[key] = 0.0.into();
    }
    values["bus_write_ms_per_block"] = Value::Null;
    serde_json::from_value(values).expect("a drive")
}

/// Valid drives with any zones, skews, sparing, mapping, seeks, arms, overheads and buffers; some with known power.
pub fn disk_design() -> impl Strategy<Value = DiskParameters> {
    let retries = prop::option::of((0.0_f64..=1.0, 1.0_f64..20.0));
    let parts = (mechanics(), electronics(), retries, prop::option::of(powers::power()));
    let designs = parts.prop_map(|(mut mechanics, electronics, retries, power)| {
        mechanics.extend(electronics);
        if let Some((probability, mean_revolutions)) = retries {
            let retries = json!({"probability": probability, "mean_revolutions": mean_revolutions});
            mechanics.insert("read_retries".into(), retries);
        }
        mechanics.insert("power".into(), power.into());
        serde_json::from_value::<DiskParameters>(mechanics.into()).expect("every key is a parameter")
    });
    designs.prop_filter("contradicts itself", |design| DiskDevice::new(design).is_ok())
}

/// Valid drives with values at or near the ends of the allowed ranges. Buffers stay below a thousand tracks of one sector, to limit the
/// run time.
pub fn extreme_design() -> impl Strategy<Value = DiskParameters> {
    let ends = prop::collection::vec(any::<prop::sample::Index>(), 20 + TIMES.len() + EXTRA_TIMES.len());
    let designs = (disk_design(), ends).prop_map(|(design, ends)| {
        let mut ends = ends.into_iter();
        let mut pick = |of: &[f64]| of[ends.next().expect("enough of them").index(of.len())];
        let mut drive = serde_json::to_value(design).expect("numbers");
        let cylinders = pick(&[1.0, 2.0, 3.0, 1e8]) as u64;
        drive["cylinders"] = cylinders.into();
        let zone = &mut drive["zones"][0];
        zone["first_cylinder"] = 0.into();
        zone["last_cylinder"] = (cylinders - 1).into();
        zone["sectors_per_track"] = (pick(&[1.0, 2.0, 1e6]) as u64).into();
        zone["first_sector_offset"] = pick(&[0.0, 1e6]).into();
        zone["track_skew_sectors"] = pick(&[0.0, 0.5, 1e6]).into();
        zone["cylinder_skew_sectors"] = pick(&[0.0, 0.5, 1e6]).into();
        (zone["spares"], zone["empty_sectors"]) = (0.into(), 0.into());
        (zone["slips"], zone["remaps"]) = (json!([]), json!([]));
        drive["zones"] = json!([zone.take()]);
        drive["surfaces"] = (pick(&[1.0, 2.0, 1000.0]) as u64).into();
        drive["rotation_rpm"] = pick(&[1.0, 1e4, 1e6]).into();
        drive["rotation_error_percent"] = pick(&[-50.0, 0.0, 50.0]).into();
        drive["seek"] = json!({"curve": "linear", "single_ms": pick(&[0.0, 1e4]), "full_ms": pick(&[0.0, 1e4])});
        drive["head_switch_ms"] = pick(&[0.0, 1e3]).into();
        drive["write_settle_ms"] = pick(&[-1e3, 0.0, 1e3]).into();
        drive["overhead_scale"] = pick(&[0.0, 1.0, 1e3]).into();
        drive["buffer_segments"] = (pick(&[1.0, 2.0, 1e5]) as u64).into();
        drive["segment_blocks"] = (pick(&[1.0, 2.0, 1e3]) as u64).into();
        drive["capacity_blocks"] = if pick(&[0.0, 1.0]) == 0.0 { Value::Null } else { 1.into() };
        for key in TIMES.iter().chain(&EXTRA_TIMES) {
            drive[key] = pick(&[0.0, 1e-6, 1e3]).into();
        }
        serde_json::from_value::<DiskParameters>(drive).expect("every key is a parameter")
    });
    designs.prop_filter("contradicts itself", |design| DiskDevice::new(design).is_ok())
}
