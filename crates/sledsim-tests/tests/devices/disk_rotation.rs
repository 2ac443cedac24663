//! No drive serves a sector before it passes under the head, compared with exact arithmetic.
//!
//! Angles and times are 128-bit fractions with a common denominator. Only the places of LBNs come from the simulator's
//! layout.

use proptest::prelude::*;
use rayon::prelude::*;
use sledsim::devices::disk::{DiskDevice, DiskParameters, FastWrite, Layout, Mapping, Place, RotationModel, Sparing};
use sledsim::devices::Mechanism;
use sledsim::engine::random::Stream;
use sledsim::request::{Op, Request};
use sledsim::time::Time;
use sledsim_testing::disk_designs::{disk_design, without_buffer, without_overheads};
use sledsim_testing::scenarios;
use sledsim_testing::tiers::{cases, size};

/// Nanoseconds in a minute.
const MINUTE_NS: u128 = 60_000_000_000;

/// Skews are multiples of this part of a sector.
const SECTOR_PARTS: u32 = 32;

/// A platter with time in ticks, such that a nanosecond and a revolution are whole numbers of ticks.
struct Platter<'a> {
    drive: &'a DiskParameters,
    layout: Layout,
    ticks_per_ns: u128,
    ticks_per_revolution: u128,
}

impl<'a> Platter<'a> {
    fn new(drive: &'a DiskParameters) -> Self {
        let rpm = drive.rotation_rpm * (1.0 + drive.rotation_error_percent / 100.0);
        // rpm = mantissa / 2^places; a revolution takes MINUTE_NS * 2^places / mantissa nanoseconds.
        let places = 52 - rpm.log2().floor() as i32;
        let mantissa = (rpm * f64::powi(2.0, places)) as u128;
        assert_eq!(mantissa as f64, rpm * f64::powi(2.0, places), "all bits of {rpm}");
        let layout = Layout::new(drive).unwrap_or_else(|error| panic!("{error}"));
        Self { drive, layout, ticks_per_ns: mantissa, ticks_per_revolution: MINUTE_NS << places }
    }

    /// Ticks from angle 0 to the beginning of a sector.
    fn sector_ticks(&self, zone: usize, place: Place) -> u128 {
        let z = &self.drive.zones[zone];
        let parts = |sectors: f64| (sectors * f64::from(SECTOR_PARTS).exp2()).round() as u128;
        let cylinders = u128::from(place.cylinder - z.first_cylinder);
        let surfaces = u128::from(self.drive.surfaces);
        let turn = u128::from(self.layout.track_index(zone, place.cylinder, place.head));
        let (cylinders, turn) = match self.drive.mapping {
            Mapping::SeekFirstSerpentine => return self.seek_first_ticks(zone, place),
            _ => (cylinders, turn),
        };
        let tracks = cylinders * (surfaces - 1) + turn;
        let sectors = u128::from(place.sector) + u128::from(self.slips_before(zone, cylinders * surfaces, turn));
        let whole = parts(z.first_sector_offset)
            + cylinders * parts(z.cylinder_skew_sectors)
            + tracks * parts(z.track_skew_sectors)
            + (sectors << SECTOR_PARTS);
        let round = u128::from(z.sectors_per_track) << SECTOR_PARTS;
        whole % round * (self.ticks_per_revolution >> SECTOR_PARTS) / u128::from(z.sectors_per_track)
    }

    /// As [`Platter::sector_ticks`], by a walk over the tracks of a seek-first mapping.
    fn seek_first_ticks(&self, zone: usize, place: Place) -> u128 {
        let z = &self.drive.zones[zone];
        let parts = |sectors: f64| (sectors * f64::from(SECTOR_PARTS).exp2()).round() as u128;
        let cylinders: Vec<u32> = (z.first_cylinder..=z.last_cylinder).collect();
        let groups = cylinders.chunks(self.drive.mapping_group_cylinders as usize);
        let order = groups.flat_map(|group| {
            (0..self.drive.surfaces).flat_map(move |head| {
                let there: Vec<u32> =
                    if head % 2 == 0 { group.to_vec() } else { group.iter().rev().copied().collect() };
                there.into_iter().map(move |cylinder| (cylinder, head))
            })
        });
        let (mut whole, mut before, mut tracks) = (parts(z.first_sector_offset), None, 0_u64);
        for track in order {
            whole += match before {
                None => 0,
                Some((_, head)) if head == track.1 && self.drive.surfaces > 1 => parts(z.track_skew_sectors),
                Some((cylinder, _)) if self.drive.surfaces == 1 && !self.is_group_start(zone, cylinder, track.0) => {
                    parts(z.track_skew_sectors)
                }
                Some(_) => parts(z.cylinder_skew_sectors),
            };
            if track == (place.cylinder, place.head) {
                break;
            }
            (before, tracks) = (Some(track), tracks + 1);
        }
        let units = u128::from(tracks) - u128::from(tracks) % u128::from(self.drive.surfaces);
        let slips = match self.drive.sparing {
            Sparing::SectorsPerTrack => self.slips_before(zone, u128::from(tracks), 0),
            _ => self.slips_before(zone, units, 0),
        };
        whole += (u128::from(place.sector) + u128::from(slips)) << SECTOR_PARTS;
        let round = u128::from(z.sectors_per_track) << SECTOR_PARTS;
        whole % round * (self.ticks_per_revolution >> SECTOR_PARTS) / u128::from(z.sectors_per_track)
    }

    /// Returns true if a group of cylinders begins at `cylinder`, which follows `before`.
    fn is_group_start(&self, zone: usize, before: u32, cylinder: u32) -> bool {
        let group =
            |cylinder: u32| (cylinder - self.drive.zones[zone].first_cylinder) / self.drive.mapping_group_cylinders;
        group(before) != group(cylinder)
    }

    /// Returns the number of slips in the tracks or cylinders before this one; each shifts the following tracks.
    fn slips_before(&self, zone: usize, tracks: u128, turn: u128) -> u64 {
        let z = &self.drive.zones[zone];
        let before = match self.drive.sparing {
            Sparing::SectorsPerTrack => tracks + turn,
            Sparing::SectorsPerCylinder
            | Sparing::SectorsPerCylinderSlipToEnd
            | Sparing::SectorsAtCylinderFront
            | Sparing::SectorsAtCylinderFrontSlipToEnd => tracks,
            _ => 0,
        };
        let mut slips: Vec<u64> = z.slips.clone();
        slips.sort_unstable();
        slips.dedup();
        slips.iter().filter(|&&slip| u128::from(slip) < before * u128::from(z.sectors_per_track)).count() as u64
    }

    /// Returns the time in which a number of sectors of a zone pass, ticks.
    fn passing_ticks(&self, zone: usize, sectors: u64) -> u128 {
        u128::from(sectors) * self.ticks_per_revolution / u128::from(self.drive.zones[zone].sectors_per_track)
    }

    /// Returns the ticks from `at` until the sector begins to pass under an arm. Arms are evenly spaced.
    fn wait_ticks(&self, at: u128, zone: usize, place: Place) -> u128 {
        let between_arms = self.ticks_per_revolution / u128::from(self.drive.actuators);
        (self.sector_ticks(zone, place) + between_arms - at % between_arms) % between_arms
    }

    /// Returns the earliest time at which the last sector has passed if the first begins to pass at `from` and switches
    /// between tracks take no time.
    fn ends_ticks(&self, from: u128, request: &Request) -> u128 {
        let mut at = from;
        let mut lbn = request.lbn;
        while lbn < request.end_lbn() {
            let run = self.layout.run(lbn);
            let zone = run.zone as usize;
            if lbn > request.lbn {
                // The drive rounds to nanoseconds: a sector within half a nanosecond is in time.
                let early = self.ticks_per_ns / 2 + 1;
                at += (self.wait_ticks(at - early, zone, run.place)).saturating_sub(early);
            }
            let blocks = run.blocks.min(request.end_lbn() - lbn);
            at += self.passing_ticks(zone, blocks);
            lbn += blocks;
        }
        at
    }

    /// Checks the service of a request that accesses the medium on an idle drive.
    fn check(&self, device: &mut DiskDevice, now: Time, request: &Request) -> Time {
        let service = device.serve(now, request);
        let phases = &service.phases;
        let run = self.layout.run(request.lbn);
        let zone = run.zone as usize;
        // The first sector does not pass before this time, and exactly then if there are no overheads.
        let positioned = now + phases.startup_ns + phases.seek_ns + phases.rotation_ns;
        let positioned = u128::from(positioned.ns()) * self.ticks_per_ns;
        // Rounded to a nanosecond, plus up to 2^-33 of a sector per cylinder for skews.
        let half = self.ticks_per_ns / 2 + self.ticks_per_ns / 16;
        let begins = positioned - half + self.wait_ticks(positioned - half, zone, run.place);
        assert!(
            phases.command_ns > 0 || begins <= positioned + half,
            "{request:?} at {now:?}: {:?} passes {} ns after it is said to, {service:?}",
            run.place,
            (begins - positioned) as f64 / self.ticks_per_ns as f64
        );
        // A write may lose a revolution if its data arrive late.
        let rotation = u128::from(service.phases.rotation_ns) * self.ticks_per_ns;
        let in_time = request.op == Op::Write || rotation <= self.ticks_per_revolution + half;
        assert!(in_time, "{request:?} at {now:?}: waits too long: {service:?}");
        // Rounded to a nanosecond for each track.
        let tracks = u128::from(request.blocks) + 1;
        let ends = self.ends_ticks(begins, request).saturating_sub(tracks * half);
        let end = u128::from(service.end.ns()) * self.ticks_per_ns;
        assert!(end + half >= ends, "{request:?} at {now:?}: done before the last sector has passed: {service:?}");
        service.free
    }
}

/// Returns a random request, often over several tracks.
fn request(random: &mut Stream, capacity: u64) -> Request {
    let blocks = if random.chance(0.5) { 1 + random.below(16) } else { 1 + random.below(1_000) }.min(capacity);
    let lbn = random.below(capacity - blocks + 1);
    let op = if random.chance(0.5) { Op::Read } else { Op::Write };
    Request { op, ..Request::read(lbn, blocks as u32) }
}

/// Checks consecutive requests from a start time on, on a drive without a buffer.
fn check_in_turn(drive: &DiskParameters, began: Time, requests: usize) {
    let platter = Platter::new(drive);
    let mut device = DiskDevice::new(drive).unwrap_or_else(|error| panic!("{error}"));
    let mut random = Stream::new(23, "requests");
    let mut now = began;
    for _ in 0..requests {
        let request = request(&mut random, device.dimensions().capacity_blocks);
        now = platter.check(&mut device, now, &request) + random.below(4) * random.below(30_000_000);
    }
}

/// Checks single requests at random times within 20 years on drives with empty buffers.
fn check_alone(drive: &DiskParameters, requests: usize) {
    let platter = Platter::new(drive);
    let new = DiskDevice::new(drive).unwrap_or_else(|error| panic!("{error}"));
    let mut random = Stream::new(29, "requests");
    for _ in 0..requests {
        let mut device = DiskDevice::new(drive).unwrap_or_else(|error| panic!("{error}"));
        let request = request(&mut random, new.dimensions().capacity_blocks);
        let taken_at_once = request.op == Op::Write && drive.fast_write != FastWrite::None;
        if !taken_at_once {
            platter.check(&mut device, Time::from_ns(random.below(20 * YEAR_NS)), &request);
        }
    }
}

const YEAR_NS: u64 = 365 * 24 * 3_600 * 1_000_000_000;

fn check(drive: &DiskParameters, requests: usize) {
    let drive = DiskParameters {
        rotation: RotationModel::Phase,
        zero_latency_reads: false,
        zero_latency_writes: false,
        read_free_blocks: false,
        ..drive.clone()
    };
    check_alone(&drive, requests);
    for drive in [without_buffer(&drive), without_overheads(&without_buffer(&drive))] {
        for began in [Time::from_ns(1), Time::from_ns(YEAR_NS + 1), Time::from_ns(20 * YEAR_NS)] {
            check_in_turn(&drive, began, requests);
        }
    }
}

#[test]
fn catalogue_waits_for_the_platter() {
    let drives = scenarios::disk_devices();
    assert!(drives.len() >= 6, "{} drives", drives.len());
    drives.par_iter().for_each(|(name, drive)| {
        println!("{name}");
        for actuators in [1, 2] {
            for rotation_error_percent in [0.0, -0.37, 4.9] {
                // Partly written physical sectors are read first.
                let physical_sector_blocks = 1;
                let drive =
                    DiskParameters { actuators, rotation_error_percent, physical_sector_blocks, ..drive.clone() };
                check(&drive, size(8, 100));
            }
        }
    });
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn random_designs_wait_for_the_platter(drive in disk_design()) {
        check(&drive, 30);
    }
}
