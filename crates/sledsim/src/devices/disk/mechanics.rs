//! Arms that seek, platters that turn: when which sector passes under which head.

use super::command::ns;
use super::layout::{Layout, Place, Run};
use super::rotation::{Angle, Spindle};
use super::seek::Seek;
use super::{DiskParameters, Sparing, Zone};
use crate::convert::trunc_to_u64;
use crate::devices::Platter;
use crate::fault::{Fault, Range};
use crate::request::Op;
use crate::time::Time;

/// Where the heads of an arm are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Arm {
    /// Cylinder.
    pub cylinder: u32,
    /// Active head.
    pub head: u32,
}

/// Angles of a zone, in 2^-128 of a revolution.
#[derive(Clone, Debug)]
struct ZoneAngles {
    first_cylinder: u32,
    sectors_per_track: u32,
    /// Angle of the zone's first sector.
    first: u128,
    /// From track to track of a cylinder.
    track: u128,
    /// From the first track of a cylinder to that of the next.
    cylinder: u128,
    /// Width of a sector.
    sector: u128,
    /// Slips whose sector the tracks behind them are turned by.
    slips: Vec<u64>,
}

impl ZoneAngles {
    fn new(zone: &Zone, surfaces: u32, sparing: Sparing) -> Result<Self, Fault> {
        let sector = u128::MAX / u128::from(zone.sectors_per_track);
        let skew = |name: &str, sectors: f64| {
            if sectors.is_finite() && (0.0..=1e15).contains(&sectors) {
                // Whole sectors are exact; what is left counts in 2^-53 of a sector.
                let whole = u128::from(trunc_to_u64(sectors));
                let part = u128::from(trunc_to_u64(sectors.fract() * (1u64 << 53) as f64));
                Ok(sector.wrapping_mul(whole).wrapping_add((sector >> 53) * part))
            } else {
                Err(Fault::out_of_range(name, sectors, Range::from_to(0.0, 1e15)))
            }
        };
        let track = skew("track_skew_sectors", zone.track_skew_sectors)?;
        let cylinder = skew("cylinder_skew_sectors", zone.cylinder_skew_sectors)?;
        // Where a slip's spare is close by, the drive keeps LBNs at their distance: all that follows is turned by a sector.
        let turned = match sparing {
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
        let mut slips = if turned { zone.slips.clone() } else { Vec::new() };
        slips.sort_unstable();
        slips.dedup();
        Ok(Self {
            first_cylinder: zone.first_cylinder,
            sectors_per_track: zone.sectors_per_track,
            first: skew("first_sector_offset", zone.first_sector_offset)?,
            track,
            cylinder: cylinder.wrapping_add(track.wrapping_mul(u128::from(surfaces - 1))),
            sector,
            slips,
        })
    }
}

/// What a drive can position: spindle, arms and the layout of the platters.
#[derive(Clone, Debug)]
pub struct Mechanics {
    layout: Layout,
    spindle: Spindle,
    seek: Seek,
    zones: Vec<ZoneAngles>,
    /// Whether slips turn from track to track, and not only from cylinder to cylinder.
    slips_turn_tracks: bool,
    head_switch_ns: u64,
    /// By how much writes settle later than the seek's time, and reads sooner.
    settle: Settle,
    actuators: u32,
}

/// What the times of seeks and head switches leave out. A head may read farther off the track than it may write, so that a
/// write never settles before a read: where it seems to, the times were measured with writes.
#[derive(Clone, Copy, Debug, Default)]
struct Settle {
    /// A write waits so much longer.
    write_longer_ns: u64,
    /// A read waits so much less.
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
    /// The mechanics of a drive.
    ///
    /// # Errors
    /// Parameters that contradict each other: says which.
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
            slips_turn_tracks: p.sparing == Sparing::SectorsPerTrack,
            head_switch_ns: ns("head_switch_ms", p.head_switch_ms)?,
            settle: Settle::new(p.write_settle_ms)?,
            actuators: p.actuators,
        })
    }

    /// The layout.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The spindle.
    #[must_use]
    pub fn spindle(&self) -> &Spindle {
        &self.spindle
    }

    /// Arms.
    #[inline]
    #[must_use]
    pub fn actuators(&self) -> u32 {
        self.actuators
    }

    /// Angle at which a sector of a zone begins.
    #[inline]
    #[must_use]
    pub fn angle_in(&self, zone: usize, place: Place) -> Angle {
        let z = &self.zones[zone];
        let cylinder = place.cylinder - z.first_cylinder;
        let turn = self.layout.turn(zone, place.cylinder, place.head);
        let mut sectors = u64::from(place.sector);
        if !z.slips.is_empty() {
            sectors += self.slips_before(z, cylinder, turn);
        }
        let angle = z
            .first
            .wrapping_add(z.cylinder.wrapping_mul(u128::from(cylinder)))
            .wrapping_add(z.track.wrapping_mul(u128::from(turn)))
            .wrapping_add(z.sector.wrapping_mul(u128::from(sectors)));
        (angle >> 64) as u64
    }

    /// Slips before a track, or before its cylinder.
    fn slips_before(&self, z: &ZoneAngles, cylinder: u32, turn: u32) -> u64 {
        let surfaces = u64::from(self.layout.surfaces());
        let tracks = u64::from(cylinder) * surfaces + if self.slips_turn_tracks { u64::from(turn) } else { 0 };
        let first = tracks * u64::from(z.sectors_per_track);
        z.slips.partition_point(|slip| *slip < first) as u64
    }

    /// Angle at which a sector begins: that of a head at angle 0 at the instant at which the sector comes under it.
    ///
    /// # Panics
    /// Where the place is in no zone.
    #[must_use]
    pub fn start_angle(&self, place: Place) -> Angle {
        let zone = self.layout.zone_of(place.cylinder).expect("a place lies in a zone");
        self.angle_in(zone, place)
    }

    /// What passes under the heads of any arm, at `now`; `None` where waits do not follow from the angle. A revolution of it
    /// is the way from one arm to the next.
    #[must_use]
    pub fn platter(&self, now: Time) -> Option<Platter> {
        if !self.spindle.keeps_phase() {
            return None;
        }
        Platter::new(self.spindle.part_ns(self.actuators), self.between_arms(self.spindle.angle(now.ns())))
    }

    /// Angle of a place on that [`Platter`].
    #[inline]
    #[must_use]
    pub fn passing_angle(&self, place: Place) -> Angle {
        self.between_arms(self.start_angle(place))
    }

    /// An angle as a fraction of the way from one arm to the next.
    #[inline]
    fn between_arms(&self, angle: Angle) -> Angle {
        angle << (self.actuators - 1)
    }

    /// Angle of so many sectors of a zone, 2^-64 of a revolution: a whole track is 2^64.
    #[inline]
    #[must_use]
    pub fn turn(&self, zone: usize, sectors: u64) -> u128 {
        // Half the width of a sector, which leaves room to round up: a whole track is then whole.
        ((self.zones[zone].sector >> 1) * u128::from(sectors) + (1 << 62)) >> 63
    }

    /// Time to move an arm: the longer of seek and head switch, and what settling makes of it if anything moved.
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
            Op::Write | Op::Flush => moved_ns + self.settle.write_longer_ns,
        }
    }

    /// A lower bound on [`Mechanics::seek_ns`] over so many cylinders or more.
    #[inline]
    #[must_use]
    pub fn seek_bound_ns(&self, distance: u32) -> u64 {
        self.seek.bound_ns(distance).saturating_sub(self.settle.read_less_ns)
    }

    /// Angle of an arm's heads: arms are evenly spaced around the platters.
    #[inline]
    fn arm_angle(&self, arm: u32) -> Angle {
        if arm == 0 {
            0
        } else {
            1 << 63
        }
    }

    /// Wait, from `at`, until an arm has the beginning of an angle under its heads.
    #[inline]
    #[must_use]
    pub fn wait_ns(&self, at: Time, arm: u32, angle: Angle) -> u64 {
        self.spindle.wait_ns(at.ns(), angle.wrapping_sub(self.arm_angle(arm)))
    }

    /// Time that `turn` (2^-64 of a revolution) takes to pass under an arm that has `angle` under its heads at `at`, but for
    /// the rounding of that instant: the sectors of a run, when it was waited for.
    #[inline]
    #[must_use]
    pub fn pass_ns(&self, at: Time, arm: u32, angle: Angle, turn: u128) -> u64 {
        self.spindle.pass_ns(at.ns(), angle.wrapping_sub(self.arm_angle(arm)), turn)
    }

    /// Passes over the sectors of a stretch of a track from `at` on, the arm being there, beginning with the first that
    /// comes whole: zero-latency access. Slipped sectors within the stretch count as part of it.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "angles wrap after a revolution, which is 2^64")]
    pub fn pass_any(&self, at: Time, arm: u32, stretch: &Run) -> AnyOrder {
        let zone = stretch.zone as usize;
        let angle = self.angle_in(zone, stretch.place).wrapping_sub(self.arm_angle(arm));
        let begun = self.begun(at, angle, zone);
        // Beyond the last sector, or in it, there is nothing to be had before the first comes round.
        let first = if begun < stretch.blocks { begun } else { 0 };
        let angle = angle.wrapping_add(self.turn(zone, first) as u64);
        let wait_ns = self.spindle.wait_ns(at.ns(), angle);
        let sectors = if first == 0 { stretch.blocks } else { u64::from(self.zones[zone].sectors_per_track) };
        let pass_ns = self.spindle.pass_ns((at + wait_ns).ns(), angle, self.turn(zone, sectors));
        AnyOrder { zone: stretch.zone, first, wait_ns, end_ns: wait_ns + pass_ns }
    }

    /// Sectors that have begun to pass since `angle` was under the heads, the running one included.
    fn begun(&self, at: Time, angle: Angle, zone: usize) -> u64 {
        if !self.spindle.keeps_phase() {
            return 0;
        }
        // What begins just now, to the nearest nanosecond, has not begun yet.
        let turned = self.spindle.angle(at.ns()).wrapping_sub(angle);
        match turned.checked_sub(self.spindle.half_ns()) {
            Some(turned) => ((u128::from(turned) * u128::from(self.zones[zone].sectors_per_track)) >> 64) as u64 + 1,
            None => 0,
        }
    }
}

/// How a stretch of a track passes that is accessed from whatever of it comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnyOrder {
    /// Index of the zone.
    pub zone: u32,
    /// Index in the stretch of the sector that passes first; those before it pass last, a gap in between.
    pub first: u64,
    /// Wait for it, ns.
    pub wait_ns: u64,
    /// From the beginning of the wait until all have passed, ns.
    pub end_ns: u64,
}
