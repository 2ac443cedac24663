//! Data-sheet figures of a drive: seek times, media rates, sustained bandwidth.

use super::layout::Place;
use super::mechanics::{Arm, Mechanics};
use super::DiskParameters;
use crate::fault::Fault;
use crate::request::Op;
use crate::time::{ns_to_s, Time};

/// Number of cylinders of a zone that are read in sequence to measure its sustained rate.
const STREAMED_CYLINDERS: u64 = 8;

/// Maximum number of distances in the mean seek time: more than the cylinders of any real drive.
const SEEK_SAMPLES: u32 = 1_000_000;

/// Figures of a drive's mechanics, without bus, buffer and command overheads.
#[derive(Clone, Debug, PartialEq)]
pub struct Characteristics {
    /// Zones under one actuator, from the outermost inwards.
    pub zones: Vec<ZoneFigures>,
    /// Time of a revolution, including the speed error, seconds.
    pub rotation_s: f64,
    /// Mean seek time of a read over all ordered pairs of cylinders, including pairs of the same cylinder, seconds.
    pub mean_seek_s: f64,
    /// Rate of a sequential read of the whole drive, by all actuators at the same time, bytes per second.
    pub streaming_bandwidth_bytes_s: f64,
}

/// Figures of a zone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZoneFigures {
    /// First cylinder.
    pub first_cylinder: u32,
    /// Last cylinder.
    pub last_cylinder: u32,
    /// Sectors on a track.
    pub sectors_per_track: u32,
    /// First LBN.
    pub first_lbn: u64,
    /// Number of LBNs that the drive offers.
    pub blocks: u64,
    /// Rate at which data pass under a head, bytes per second.
    pub media_bytes_s: f64,
    /// Rate of a sequential read, including head switches and seeks from cylinder to cylinder, bytes per second; 0 in a zone without
    /// LBNs.
    pub streaming_bytes_s: f64,
}

impl Characteristics {
    /// Returns the figures of a drive.
    ///
    /// # Errors
    /// As [`Mechanics::new`].
    pub fn of(parameters: &DiskParameters) -> Result<Self, Fault> {
        let actuators = f64::from(parameters.actuator_ranges);
        let share = parameters.of_one_actuator()?;
        let parameters = share.as_ref();
        let mechanics = Mechanics::new(parameters)?;
        let rotation_s = ns_to_s(mechanics.spindle().period_ns());
        let zones: Vec<ZoneFigures> =
            (0..parameters.zones.len()).map(|index| zone(parameters, &mechanics, index, rotation_s)).collect();
        let bytes = |zone: &ZoneFigures| zone.blocks as f64 * f64::from(parameters.block_bytes);
        let whole: f64 = zones.iter().map(bytes).sum();
        let took_s: f64 =
            zones.iter().filter(|zone| zone.blocks > 0).map(|zone| bytes(zone) / zone.streaming_bytes_s).sum();
        Ok(Self {
            rotation_s,
            mean_seek_s: mean_seek_s(&mechanics),
            streaming_bandwidth_bytes_s: actuators * whole / took_s,
            zones,
        })
    }
}

fn zone(parameters: &DiskParameters, mechanics: &Mechanics, index: usize, rotation_s: f64) -> ZoneFigures {
    let (zone, layout) = (&parameters.zones[index], mechanics.layout());
    let capacity = layout.capacity_blocks();
    let first_lbn = layout.first_lbn(index).min(capacity);
    let next = if index + 1 < parameters.zones.len() { layout.first_lbn(index + 1) } else { layout.mapped_blocks() };
    let end = next.min(capacity);
    let block_bytes = f64::from(parameters.block_bytes);
    ZoneFigures {
        first_cylinder: zone.first_cylinder,
        last_cylinder: zone.last_cylinder,
        sectors_per_track: zone.sectors_per_track,
        first_lbn,
        blocks: end - first_lbn,
        media_bytes_s: f64::from(zone.sectors_per_track) * block_bytes / rotation_s,
        streaming_bytes_s: streaming_blocks_s(mechanics, first_lbn, end) * block_bytes,
    }
}

/// Returns the rate of a sequential read from `first` on, which ends before `end`, in blocks per second.
fn streaming_blocks_s(mechanics: &Mechanics, first: u64, end: u64) -> f64 {
    let layout = mechanics.layout();
    let (mut lbn, mut at, mut begun) = (first, Time::ZERO, Time::ZERO);
    let (mut from, mut tracks, mut place) = (Arm::default(), 0, Place::default());
    while lbn < end {
        let run = layout.run(lbn);
        let to = Arm { cylinder: run.place.cylinder, head: run.place.head };
        let angle = mechanics.angle_in(run.zone as usize, run.place);
        at += mechanics.seek_ns(from, to, Op::Read);
        at += mechanics.wait_ns(at, 0, angle);
        if lbn == first {
            (begun, place) = (at, run.place);
        }
        // The measurement includes the move to the track after the last.
        tracks += u64::from((place.cylinder, place.head) != (to.cylinder, to.head));
        if tracks >= STREAMED_CYLINDERS * u64::from(layout.surfaces()) {
            break;
        }
        let blocks = run.blocks.min(end - lbn);
        at += mechanics.pass_ns(at, 0, angle, mechanics.sectors_angle(run.zone as usize, blocks));
        (lbn, from, place) = (lbn + blocks, to, run.place);
    }
    if lbn == first {
        0.0
    } else {
        (lbn - first) as f64 / ns_to_s(at - begun)
    }
}

/// Returns the mean seek time of a read between two cylinders, each chosen with equal probability, in seconds.
fn mean_seek_s(mechanics: &Mechanics) -> f64 {
    let cylinders = mechanics.layout().cylinders();
    let stride = cylinders.div_ceil(SEEK_SAMPLES);
    let (mut weights, mut sum_ns) = (f64::from(cylinders), 0.0);
    for distance in (1..cylinders).step_by(stride as usize) {
        let arms = [0, distance].map(|cylinder| Arm { cylinder, head: 0 });
        // The number of ordered pairs at this distance.
        let pairs = 2.0 * f64::from(cylinders - distance) * f64::from(stride);
        weights += pairs;
        sum_ns += pairs * mechanics.seek_ns(arms[0], arms[1], Op::Read) as f64;
    }
    sum_ns / weights * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(extra: &str) -> DiskParameters {
        let text = format!(
            r#"{{"name": "test", "surfaces": 4, "cylinders": 100, "rotation_rpm": 6000, "head_switch_ms": 0.5,
            "seek": {{"curve": "constant", "seek_ms": 1.0}}, "bus_ms_per_block": 0.0,
            "zones": [{{"first_cylinder": 0, "last_cylinder": 49, "sectors_per_track": 100,
                        "track_skew_sectors": 10, "cylinder_skew_sectors": 20}},
                      {{"first_cylinder": 50, "last_cylinder": 99, "sectors_per_track": 50,
                        "track_skew_sectors": 5, "cylinder_skew_sectors": 10}}] {extra} }}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn sequential_read_includes_skews() {
        let figures = Characteristics::of(&drive("")).unwrap();
        let [outer, inner] = figures.zones[..] else { panic!("two zones") };
        assert_eq!((outer.first_lbn, outer.blocks, inner.first_lbn, inner.blocks), (0, 20_000, 20_000, 10_000));
        // 10 ms a revolution: 512 B * 100 sectors.
        assert!((outer.media_bytes_s - 5.12e6).abs() < 1.0);
        // Four revolutions, three track skews of a tenth and a cylinder skew of a fifth for 400 blocks.
        let expected = 400.0 * 512.0 / ((4.0 + 0.3 + 0.2) * 10e-3);
        // Instants are whole nanoseconds.
        assert!((outer.streaming_bytes_s / expected - 1.0).abs() < 1e-6, "{}", outer.streaming_bytes_s);
        assert!((inner.streaming_bytes_s / expected - 0.5).abs() < 1e-6);
        let whole = 30_000.0 * 512.0 / (50.0 * 2.0 * 45e-3);
        assert!((figures.streaming_bandwidth_bytes_s / whole - 1.0).abs() < 1e-6);
    }

    #[test]
    fn skew_shorter_than_head_switch_costs_a_revolution() {
        let mut slow = drive("");
        slow.head_switch_ms = 1.5;
        let figures = Characteristics::of(&slow).unwrap();
        let expected = 400.0 * 512.0 / ((4.0 + 3.0 * 1.1 + 0.2) * 10e-3);
        assert!((figures.zones[0].streaming_bytes_s / expected - 1.0).abs() < 1e-6);
    }

    #[test]
    fn capacity_below_that_of_zones_shortens_the_last_zones() {
        let figures = Characteristics::of(&drive(r#", "capacity_blocks": 12345"#)).unwrap();
        assert_eq!(figures.zones[0].blocks, 12_345);
        assert_eq!(figures.zones[1].blocks, 0);
        assert_eq!(figures.zones[1].streaming_bytes_s, 0.0);
        assert_eq!(figures.streaming_bandwidth_bytes_s, figures.zones[0].streaming_bytes_s);
    }

    #[test]
    fn mean_seek_includes_pairs_of_the_same_cylinder() {
        let figures = Characteristics::of(&drive("")).unwrap();
        assert!((figures.mean_seek_s - 0.99e-3).abs() < 1e-12);
    }
}
