//! Devices without a mechanism: service times that are constant, or linear in the distance between requests.
//!
//! The distance of a request is the number of blocks between its first block and the block after the previous request's last:
//! a request that continues the previous one has distance 0, whatever the sizes. The first request of a run comes as if block
//! 0 were next. The number of blocks of a request makes no difference, and neither does its direction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::devices::powered::{Busy, Deeds, Powered, Work};
use crate::devices::{Device, EnergyLedger, IdlePolicy, Location, Phases, Service, State};
use crate::fault::{Fault, Kind, Range};
use crate::power::{Meter, PowerParameters, SpinDownSpec};
use crate::request::{Op, Request};
use crate::time::{s_to_ns, Time};

/// A device whose every request takes the same time: Simpledisk-constant (schlosser2004, section 5.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstantParameters {
    /// Catalogue entry, or path of a device file, that the values not given here come from.
    pub name: String,
    /// Size of a logical block.
    #[serde(default = "sector")]
    #[schemars(range(min = 1, max = 1048576), extend("x-unit" = "B"))]
    pub block_bytes: u32,
    /// Blocks the device offers.
    #[schemars(range(min = 1, max = 1000000000000000_u64))]
    pub capacity_blocks: u64,
    /// Time of every request.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "ms"))]
    pub access_ms: f64,
    /// What the device draws; not known when absent.
    #[serde(default)]
    pub power: Option<PowerParameters>,
}

/// A device whose time is linear in the LBN distance from the block after the previous request: Simpledisk-linear
/// (schlosser2004, section 5.3).
///
/// `nearest_ms + (farthest_ms - nearest_ms) * distance / capacity_blocks`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinearParameters {
    /// Catalogue entry, or path of a device file, that the values not given here come from.
    pub name: String,
    /// Size of a logical block.
    #[serde(default = "sector")]
    #[schemars(range(min = 1, max = 1048576), extend("x-unit" = "B"))]
    pub block_bytes: u32,
    /// Blocks the device offers.
    #[schemars(range(min = 2, max = 1000000000000000_u64))]
    pub capacity_blocks: u64,
    /// Time of a request that continues the previous one.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "ms"))]
    pub nearest_ms: f64,
    /// Time of a request as far from the previous one as the device is large; at least `nearest_ms`.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "ms"))]
    pub farthest_ms: f64,
    /// What the device draws; not known when absent.
    #[serde(default)]
    pub power: Option<PowerParameters>,
}

/// A device without a mechanism.
///
/// All of a service counts as seeking, but the return from an idle mode. For schedulers, which ask for cylinders, the LBNs are cut into at most
/// [`MOST_CYLINDERS`] equal shares, laid out evenly along one metre.
#[derive(Clone, Debug)]
pub struct SimpleDevice {
    block_bytes: u32,
    capacity_blocks: u64,
    nearest_ns: u64,
    ns_per_block: f64,
    blocks_per_cylinder: u64,
    /// The block after the last one served.
    next_lbn: u64,
    /// All services before the last one.
    busy: Busy,
    /// The last one, from when it found the device ready.
    last: Work,
    powered: Option<Box<Powered>>,
}

/// Shares that the LBNs are cut into, unless a share would then hold more blocks than a [`Location`] can tell apart.
const MOST_CYLINDERS: u64 = 4096;

impl SimpleDevice {
    /// Every request takes the same time.
    ///
    /// # Errors
    /// Parameters that contradict each other: says which.
    pub fn constant(parameters: &ConstantParameters) -> Result<Self, Fault> {
        let ConstantParameters { block_bytes, capacity_blocks, access_ms, .. } = *parameters;
        Self::new(block_bytes, capacity_blocks, access_ms, access_ms)?.powered(parameters.power.as_ref())
    }

    /// The time is linear in the distance.
    ///
    /// # Errors
    /// Parameters that contradict each other: says which.
    pub fn linear(parameters: &LinearParameters) -> Result<Self, Fault> {
        let LinearParameters { block_bytes, capacity_blocks, nearest_ms, farthest_ms, .. } = *parameters;
        if farthest_ms < nearest_ms {
            return Err(Fault::conflict("farthest_ms", farthest_ms)
                .says(" is below ")
                .key_is("nearest_ms", nearest_ms));
        }
        Self::new(block_bytes, capacity_blocks, nearest_ms, farthest_ms)?.powered(parameters.power.as_ref())
    }

    /// The same device under a policy that says when it enters idle modes; at their own times without one. Nothing changes
    /// where the powers are not known.
    #[must_use]
    pub fn with_spin_down(mut self, policy: Option<&SpinDownSpec>) -> Self {
        if let Some(powered) = &mut self.powered {
            powered.obey(policy);
        }
        self
    }

    fn powered(mut self, parameters: Option<&PowerParameters>) -> Result<Self, Fault> {
        self.powered = parameters.map(Powered::new).transpose()?.map(Box::new);
        Ok(self)
    }

    fn new(block_bytes: u32, capacity_blocks: u64, nearest_ms: f64, farthest_ms: f64) -> Result<Self, Fault> {
        if capacity_blocks == 0 {
            return Err(Fault::out_of_range("capacity_blocks", 0, Range::at_least(1.0).whole()));
        }
        if !(nearest_ms >= 0.0 && farthest_ms.is_finite()) {
            let says = format!("times of {nearest_ms} to {farthest_ms} ms: they are finite and not negative");
            return Err(Fault::new(Kind::OutOfRange).says(says));
        }
        let capacity = capacity_blocks as f64;
        Ok(Self {
            block_bytes,
            capacity_blocks,
            nearest_ns: s_to_ns(nearest_ms * 1e-3),
            ns_per_block: (farthest_ms - nearest_ms) * 1e6 / capacity,
            blocks_per_cylinder: capacity_blocks.div_ceil(MOST_CYLINDERS).min(1 << 32),
            next_lbn: 0,
            busy: Busy::default(),
            last: Work { op: Op::Read, state: State::Seek, from: Time::ZERO, to: Time::ZERO },
            powered: None,
        })
    }

    /// Time of a request at a distance in blocks, ns: never falls as the distance grows.
    #[inline]
    fn time_ns(&self, distance_blocks: u64) -> u64 {
        // Truncation after adding a half is round-half-up.
        self.nearest_ns + (self.ns_per_block * distance_blocks as f64 + 0.5) as u64
    }

    #[inline]
    fn location(&self, lbn: u64) -> Location {
        let (cylinder, slot) = (lbn / self.blocks_per_cylinder, lbn % self.blocks_per_cylinder);
        Location { cylinder: cylinder as u32, slot: slot as u32 }
    }

    fn last_cylinder(&self) -> u32 {
        self.location(self.capacity_blocks - 1).cylinder
    }

    /// Since when it has had nothing to do at `now`; `None` while it has.
    fn rests_since(&self, now: Time) -> Option<Time> {
        (self.last.to <= now).then_some(self.last.to)
    }

    /// All services, as far as they had got at `now`.
    fn busy(&self, now: Time) -> Busy {
        let mut busy = self.busy;
        busy.add(&self.last, now);
        busy
    }

    fn deeds(&self, now: Time) -> Deeds<'_> {
        Deeds { now, since: self.rests_since(now), busy: self.busy(now), work: std::slice::from_ref(&self.last) }
    }
}

impl Device for SimpleDevice {
    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn command_overhead_ns(&self) -> u64 {
        0
    }

    fn cylinders(&self) -> u32 {
        self.last_cylinder() + 1
    }

    #[inline]
    fn locate(&self, request: &Request) -> Location {
        self.location(request.lbn)
    }

    fn coordinates_m(&self, location: Location) -> (f64, f64) {
        (f64::from(location.cylinder) / f64::from(self.cylinders()), 0.0)
    }

    fn position_m(&self, now: Time) -> (f64, f64) {
        self.coordinates_m(Location { cylinder: self.cylinder(now), slot: 0 })
    }

    #[inline]
    fn cylinder(&self, _now: Time) -> u32 {
        // After its last block the device stands beyond its last cylinder.
        self.location(self.next_lbn).cylinder.min(self.last_cylinder())
    }

    #[inline]
    fn cylinder_bound_ns(&self, now: Time, cylinder: u32) -> u64 {
        let first_lbn = u64::from(cylinder) * self.blocks_per_cylinder;
        let last_lbn = first_lbn + (self.blocks_per_cylinder - 1);
        let distance_blocks = first_lbn.saturating_sub(self.next_lbn) + self.next_lbn.saturating_sub(last_lbn);
        self.wake_ns(now) + self.time_ns(distance_blocks)
    }

    #[inline]
    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        let lbn = u64::from(location.cylinder) * self.blocks_per_cylinder + u64::from(location.slot);
        self.wake_ns(now) + self.time_ns(lbn.abs_diff(self.next_lbn))
    }

    #[inline]
    fn serve(&mut self, now: Time, request: &Request) -> Service {
        debug_assert!(request.blocks > 0 && request.end_lbn() <= self.capacity_blocks, "{request:?}");
        debug_assert!(self.last.to <= now, "the device serves until {:?}", self.last.to);
        let seek_ns = self.time_ns(request.lbn.abs_diff(self.next_lbn));
        let mut service = Service {
            start: now,
            end: now + seek_ns,
            phases: Phases { seek_ns, seek_x_ns: seek_ns, ..Phases::default() },
            ..Service::default()
        };
        let mut powered = self.powered.take();
        if let Some(powered) = &mut powered {
            service.phases.startup_ns = powered.wake(&self.deeds(now));
            service.end += service.phases.startup_ns;
        }
        service.free = service.end;
        self.busy = self.busy(self.last.to);
        let from = now + service.phases.startup_ns;
        self.last = Work { op: request.op, state: State::Seek, from, to: service.end };
        self.next_lbn = request.end_lbn();
        if let Some(powered) = &powered {
            let busy = [&self.busy, &self.busy(service.end)];
            service.energy = powered.service_energy(service.end - now, service.phases.startup_ns, busy);
        }
        self.powered = powered;
        service
    }

    #[inline]
    fn wake_ns(&self, now: Time) -> u64 {
        self.powered.as_ref().map_or(0, |powered| powered.wake_ns(now, self.rests_since(now)))
    }

    fn idle_policy(&mut self) -> Option<&mut IdlePolicy> {
        self.powered.as_mut().map(|powered| powered.policy_mut())
    }

    fn ledger(&self, now: Time) -> EnergyLedger {
        match &self.powered {
            None => self.busy(now).ledger(now),
            Some(powered) => powered.ledger(&self.deeds(now), None),
        }
    }

    fn ledger_before(&self, then: Time, now: Time) -> EnergyLedger {
        match &self.powered {
            None => self.ledger(then),
            Some(powered) => powered.ledger(&self.deeds(then), Some(now)),
        }
    }

    fn meter(&self, now: Time) -> Option<Meter> {
        self.powered.as_ref().map(|powered| powered.meter(&self.deeds(now)))
    }

    fn settle_meter(&mut self, now: Time) -> Option<&mut Meter> {
        let mut powered = self.powered.take()?;
        powered.settle_meter(&self.deeds(now));
        Some(self.powered.insert(powered).meter_mut())
    }
}

const fn sector() -> u32 {
    512
}
