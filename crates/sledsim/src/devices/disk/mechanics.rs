//! Mechanics of a drive: seek times of the arms, and the times at which sectors pass under the heads.

use super::command::ns;
use super::layout::{GroupTrack, Layout, Place, Run};
use super::rotation::{Angle, Spindle};
use super::seek::Seek;
use super::{DiskParameters, Sparing, Zone};
use crate::convert::trunc_to_u64;
use crate::devices::{CylinderBounds, Platter};
use crate::fault::{Fault, Range};
use crate::request::Op;
use crate::time::Time;

/// Position of an arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Arm {
    /// Cylinder.
    pub cylinder: u32,
    /// Active head.
    pub head: u32,
}

/// Angles in a zone, in units of 2^-128 of a revolution.
#[derive(Clone, Debug)]
struct ZoneAngles {
    first_cylinder: u32,
    sectors_per_track: u32,
    /// Angle of the zone's first sector.
    first: u128,
    /// Angle from one track of a cylinder to the next.
    track: u128,
    /// Angle from the first track of a cylinder to that of the next.
    cylinder: u128,
    /// Angle of a change of surface, for a seek-first mapping.
    surface: u128,
    /// Width of a sector.
    sector: u128,
    /// Slipped sectors, each of which shifts the following tracks by a sector.
    slips: Vec<u64>,
}

impl ZoneAngles {
    fn new(zone: &Zone, surfaces: u32, sparing: Sparing) -> Result<Self, Fault> {
        let sector = u128::MAX / u128::from(zone.sectors_per_track);
        let skew = |name: &str, sectors: f64| {
            if sectors.is_finite() && (0.0..=1e15).contains(&sectors) {
                // Whole sectors are exact; the fraction is in units of 2^-53 of a sector.
                let whole = u128::from(trunc_to_u64(sectors));
                let part = u128::from(trunc_to_u64(sectors.fract() * (1u64 << 53) as f64));
                Ok(sector.wrapping_mul(whole).wrapping_add((sector >> 53) * part))
            } else {
                Err(Fault::out_of_range(name, sectors, Range::from_to(0.0, 1e15)))
            }
        };
        let track = skew("track_skew_sectors", zone.track_skew_sectors)?;
        let cylinder = skew("cylinder_skew_sectors", zone.cylinder_skew_sectors)?;
        // If the spare of a slip is near, the drive keeps the distances between LBNs: each slip shifts the following tracks.
        let slips_shift = match sparing {
            Sparing::SectorsPerTrack
            | Sparing::SectorsPerCylinder
            | Sparing::SectorsPerCylinderSlipToEnd
            | Sparing::SectorsAtCylinderFront
            | Sparing::SectorsAtCylinderFrontSlipToEnd => true,
            Sparing::None
            | Sparing::TracksPerZone
            | Sparing::SectorsPerRange
            | Sparing::SectorsPerZone
            | Sparing::SectorsPerZoneSlipToEnd
            | Sparing::SectorsAtDiskEnd => false,
        };
        let mut slips = if slips_shift { zone.slips.clone() } else { Vec::new() };
        slips.sort_unstable();
        slips.dedup();
        Ok(Self {
            first_cylinder: zone.first_cylinder,
            sectors_per_track: zone.sectors_per_track,
            first: skew("first_sector_offset", zone.first_sector_offset)?,
            track,
            surface: cylinder,
            cylinder: cylinder.wrapping_add(track.wrapping_mul(u128::from(surfaces - 1))),
            sector,
            slips,
        })
    }
}

/// Spindle, arms and layout of a drive.
#[derive(Clone, Debug)]
pub struct Mechanics {
    layout: Layout,
    spindle: Spindle,
    seek: Seek,
    zones: Vec<ZoneAngles>,
    /// True if slips shift the following tracks of the same cylinder, too.
    slips_shift_tracks: bool,
    head_switch_ns: u64,
    settle: Settle,
    actuators: u32,
}

/// Corrections of seek and head switch times for the operation. A head may read farther off the track than it may write, so a write
/// never settles before a read. A negative `write_settle_ms` means that the times were measured with writes.
#[derive(Clone, Copy, Debug, Default)]
struct Settle {
    /// Added for a write.
    write_longer_ns: u64,
    /// Subtracted for a read.
    read_less_ns: u64,
}

impl Settle {
    fn new(ms: f64) -> Result<Self, Fault> {
        let size_ns = ns("write_settle_ms", ms.abs())?;
        Ok(if ms < 0.0 {
            Self { read_less_ns: size_ns, ..Self::default() }
        } else {
            Self { write_longer_ns: size_ns, ..Self::default() }
        })
    }
}

impl Mechanics {
    /// Returns the mechanics of a drive.
    ///
    /// # Errors
    /// The parameters contradict each other.
    pub fn new(parameters: &DiskParameters) -> Result<Self, Fault> {
        let p = parameters;
        let layout = Layout::new(p)?;
        if !(1..=2).contains(&p.actuators) {
            return Err(Fault::out_of_range("actuators", p.actuators, Range::from_to(1.0, 2.0)));
        }
        let zones = p.zones.iter().enumerate().map(|(index, zone)| {
            ZoneAngles::new(zone, p.surfaces, p.sparing).map_err(|fault| fault.within(format!("zones.{index}")))
        });
        Ok(Self {
            zones: zones.collect::<Result<_, _>>()?,
            layout,
            spindle: Spindle::new(p)?,
            seek: Seek::new(p)?,
            slips_shift_tracks: p.sparing == Sparing::SectorsPerTrack,
            head_switch_ns: ns("head_switch_ms", p.head_switch_ms)?,
            settle: Settle::new(p.write_settle_ms)?,
            actuators: p.actuators,
        })
    }

    /// Returns the layout.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the spindle.
    #[must_use]
    pub fn spindle(&self) -> &Spindle {
        &self.spindle
    }

    /// Returns the number of arms.
    #[inline]
    #[must_use]
    pub fn actuators(&self) -> u32 {
        self.actuators
    }

    /// Returns the angle at which a sector of a zone begins.
    #[inline]
    #[must_use]
    pub fn angle_in(&self, zone: usize, place: Place) -> Angle {
        let z = &self.zones[zone];
        if let Some(track) = self.layout.group_track(zone, place) {
            return self.seek_first_angle(z, track, place.sector);
        }
        let cylinder = place.cylinder - z.first_cylinder;
        let track = self.layout.track_index(zone, place.cylinder, place.head);
        let mut sectors = u64::from(place.sector);
        if !z.slips.is_empty() {
            sectors += self.slips_before(z, cylinder, track);
        }
        let angle = z
            .first
            .wrapping_add(z.cylinder.wrapping_mul(u128::from(cylinder)))
            .wrapping_add(z.track.wrapping_mul(u128::from(track)))
            .wrapping_add(z.sector.wrapping_mul(u128::from(sectors)));
        (angle >> 64) as u64
    }

    /// Returns the angle at which a sector of a seek-first mapping begins.
    fn seek_first_angle(&self, z: &ZoneAngles, track: GroupTrack, sector: u32) -> Angle {
        let unit = if self.slips_shift_tracks { 1 } else { u64::from(self.layout.surfaces()) };
        let first = (track.index - track.index % unit) * u64::from(z.sectors_per_track);
        let slips = z.slips.partition_point(|slip| *slip < first) as u64;
        let angle = z
            .first
            .wrapping_add(z.surface.wrapping_mul(u128::from(track.surface_changes)))
            .wrapping_add(z.track.wrapping_mul(u128::from(track.index - track.surface_changes)))
            .wrapping_add(z.sector.wrapping_mul(u128::from(u64::from(sector) + slips)));
        (angle >> 64) as u64
    }

    /// Returns the number of slips before a track or, unless slips shift tracks, before its cylinder.
    fn slips_before(&self, z: &ZoneAngles, cylinder: u32, track: u32) -> u64 {
        let surfaces = u64::from(self.layout.surfaces());
        let tracks = u64::from(cylinder) * surfaces + if self.slips_shift_tracks { u64::from(track) } else { 0 };
        let first = tracks * u64::from(z.sectors_per_track);
        z.slips.partition_point(|slip| *slip < first) as u64
    }

    /// Returns the angle at which a sector begins: [`Spindle::angle`] at the instant at which the sector comes under a head of the first
    /// arm.
    ///
    /// # Panics
    /// The place is in no zone.
    #[must_use]
    pub fn start_angle(&self, place: Place) -> Angle {
        let zone = self.layout.zone_of(place.cylinder).expect("a place lies in a zone");
        self.angle_in(zone, place)
    }

    /// Returns the platter at `now`; `None` if waits do not follow from the angle. One revolution of it is the angle between arms, so that
    /// it shows when a sector passes under the heads of any arm.
    #[must_use]
    pub fn platter(&self, now: Time) -> Option<Platter> {
        if !self.spindle.keeps_phase() {
            return None;
        }
        Platter::new(self.spindle.part_ns(self.actuators), self.between_arms(self.spindle.angle(now.ns())))
    }

    /// Returns the angle of a place on that [`Platter`].
    #[inline]
    #[must_use]
    pub fn passing_angle(&self, place: Place) -> Angle {
        self.between_arms(self.start_angle(place))
    }

    /// Returns an angle as a fraction of the angle between arms.
    #[inline]
    fn between_arms(&self, angle: Angle) -> Angle {
        angle << (self.actuators - 1)
    }

    /// Returns the angle of a number of sectors of a zone, at most a track, in units of 2^-64 of a revolution: a whole track is 2^64.
    #[inline]
    #[must_use]
    pub fn sectors_angle(&self, zone: usize, sectors: u64) -> u128 {
        let z = &self.zones[zone];
        debug_assert!(sectors <= u64::from(z.sectors_per_track), "{sectors} sectors of {}", z.sectors_per_track);
        // Half the width of a sector leaves room to round up, so that a whole track is exact. Half a revolution does not overflow.
        (z.sector >> 1).wrapping_mul(u128::from(sectors)).wrapping_add(1 << 62) >> 63
    }

    /// Returns the time to move an arm: the longer of seek and head switch, corrected for settling if it is above 0.
    #[inline]
    #[must_use]
    pub fn seek_ns(&self, from: Arm, to: Arm, op: Op) -> u64 {
        let seek_ns = self.seek.time_ns(from.cylinder.abs_diff(to.cylinder));
        let switch_ns = if from.head == to.head { 0 } else { self.head_switch_ns };
        let moved_ns = seek_ns.max(switch_ns);
        if moved_ns == 0 {
            return 0;
        }
        match op {
            Op::Read => moved_ns.saturating_sub(self.settle.read_less_ns),
            Op::Write | Op::Flush | Op::Reset => moved_ns + self.settle.write_longer_ns,
        }
    }

    /// Returns a lower bound on [`Mechanics::seek_ns`] over `distance` cylinders or more.
    #[inline]
    #[must_use]
    pub fn seek_bound_ns(&self, distance: u32) -> u64 {
        self.seek.bound_ns(distance).saturating_sub(self.settle.read_less_ns)
    }

    /// Returns `least_ns` plus [`Mechanics::seek_bound_ns`] from `cylinder`, as a table; `None` if the table lacks distances.
    pub(super) fn cylinder_bounds(&self, least_ns: u64, cylinder: u32) -> Option<CylinderBounds<'_>> {
        let (spare_ns, seeks_ns) = (self.settle.read_less_ns, self.seek.bounds());
        let is_complete = seeks_ns.len() >= self.layout.cylinders() as usize;
        is_complete.then_some(CylinderBounds { least_ns, cylinder, spare_ns, seeks_ns })
    }

    /// Returns the angle of an arm's heads; arms are evenly spaced around the platters.
    #[inline]
    fn arm_angle(&self, arm: u32) -> Angle {
        if arm == 0 {
            0
        } else {
            1 << 63
        }
    }

    /// Returns the time from `at` until `angle` passes under the heads of an arm.
    #[inline]
    #[must_use]
    pub fn wait_ns(&self, at: Time, arm: u32, angle: Angle) -> u64 {
        self.spindle.wait_ns(at.ns(), angle.wrapping_sub(self.arm_angle(arm)))
    }

    /// Returns the time in which `turn` (in units of 2^-64 of a revolution) passes under an arm that has `angle` under its heads at `at`,
    /// which is rounded to a nanosecond.
    #[inline]
    #[must_use]
    pub fn pass_ns(&self, at: Time, arm: u32, angle: Angle, turn: u128) -> u64 {
        self.spindle.pass_ns(at.ns(), angle.wrapping_sub(self.arm_angle(arm)), turn)
    }

    /// Returns the zero-latency access to a run of sectors by an arm that is on track at `at`: it begins with the first sector that passes
    /// as a whole. Slipped sectors within the run count as part of it.
    #[must_use]
    pub fn pass_any(&self, at: Time, arm: u32, run: &Run) -> AnyOrder {
        self.pass_any_from(at, arm, run, self.angle_in(run.zone as usize, run.place))
    }

    /// See [`Mechanics::pass_any`]; `angle` is that of the first sector.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "angles wrap after a revolution, which is 2^64")]
    pub(super) fn pass_any_from(&self, at: Time, arm: u32, run: &Run, angle: Angle) -> AnyOrder {
        let zone = run.zone as usize;
        let angle = angle.wrapping_sub(self.arm_angle(arm));
        let begun = self.begun(at, angle, zone);
        // A head in or after the last sector waits for the first.
        let first = if begun < run.blocks { begun } else { 0 };
        let angle = angle.wrapping_add(self.sectors_angle(zone, first) as u64);
        let wait_ns = self.spindle.wait_ns(at.ns(), angle);
        let sectors = if first == 0 { run.blocks } else { u64::from(self.zones[zone].sectors_per_track) };
        let pass_ns = self.spindle.pass_ns((at + wait_ns).ns(), angle, self.sectors_angle(zone, sectors));
        AnyOrder { zone: run.zone, first, wait_ns, end_ns: wait_ns + pass_ns }
    }

    /// Returns the number of sectors that have begun to pass since `angle` was under the heads.
    fn begun(&self, at: Time, angle: Angle, zone: usize) -> u64 {
        if !self.spindle.keeps_phase() {
            return 0;
        }
        // A sector that begins now, to the nearest nanosecond, has not begun yet.
        let turned = self.spindle.angle(at.ns()).wrapping_sub(angle);
        match turned.checked_sub(self.spindle.half_ns()) {
            Some(turned) => ((u128::from(turned) * u128::from(self.zones[zone].sectors_per_track)) >> 64) as u64 + 1,
            None => 0,
        }
    }
}

/// A zero-latency access to a run of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnyOrder {
    /// Index of the zone.
    pub zone: u32,
    /// Index in the run of the sector that is accessed first. The sectors before it are accessed last, after a gap.
    pub first: u64,
    /// Wait for that sector, ns.
    pub wait_ns: u64,
    /// Time from the start of the wait to the end of the access, ns.
    pub end_ns: u64,
}
