//! Devices without a mechanism: service times that are constant, or linear in the distance between requests.
//!
//! The distance of a request is the number of blocks between its first block and the block after the previous request's last:
//! a request that continues the previous one has distance 0, whatever the sizes. For the first request of a run the distance
//! counts from block 0. The service time depends neither on the number of blocks nor on the operation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::convert::trunc_to_u64;
use crate::devices::equal_cylinders::EqualCylinders;
use crate::devices::history::ActivityHistory;
use crate::devices::power_manager::Work;
use crate::devices::{Coordinates, Dimensions, EnergyLedger, Location, Mechanism, Phases, Powered, Service, State};
use crate::fault::{Fault, Kind, Range};
use crate::power::{PowerParameters, SpinDownSpec};
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
    /// Number of blocks.
    #[schemars(range(min = 1, max = 1000000000000000_u64))]
    pub capacity_blocks: u64,
    /// Service time of every request.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "ms"))]
    pub access_ms: f64,
    /// Power of the device; unknown when absent.
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
    /// Number of blocks.
    #[schemars(range(min = 2, max = 1000000000000000_u64))]
    pub capacity_blocks: u64,
    /// Service time of a request that continues the previous one.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "ms"))]
    pub nearest_ms: f64,
    /// Service time of a request at a distance of `capacity_blocks` from the previous one; at least `nearest_ms`.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "ms"))]
    pub farthest_ms: f64,
    /// Power of the device; unknown when absent.
    #[serde(default)]
    pub power: Option<PowerParameters>,
}

/// A device without a mechanism.
///
/// All of a service counts as seeking, except the return from an idle mode. The LBNs are divided into equal cylinders, evenly
/// spaced along one metre, for schedulers that use cylinders.
#[derive(Clone, Debug)]
pub struct SimpleDevice {
    nearest_ns: u64,
    ns_per_block: f64,
    layout: EqualCylinders,
    history: ActivityHistory<1>,
}

impl SimpleDevice {
    /// Returns a device whose every request takes the same time.
    ///
    /// # Errors
    /// The parameters contradict each other.
    pub fn constant(parameters: &ConstantParameters) -> Result<Self, Fault> {
        let ConstantParameters { block_bytes, capacity_blocks, access_ms, .. } = *parameters;
        Self::new(block_bytes, capacity_blocks, [access_ms; 2], parameters.power.as_ref())
    }

    /// Returns a device whose service time is linear in the distance.
    ///
    /// # Errors
    /// The parameters contradict each other.
    pub fn linear(parameters: &LinearParameters) -> Result<Self, Fault> {
        let LinearParameters { block_bytes, capacity_blocks, nearest_ms, farthest_ms, .. } = *parameters;
        if farthest_ms < nearest_ms {
            return Err(Fault::conflict("farthest_ms", farthest_ms)
                .says(" is below ")
                .key_is("nearest_ms", nearest_ms));
        }
        Self::new(block_bytes, capacity_blocks, [nearest_ms, farthest_ms], parameters.power.as_ref())
    }

    /// Sets the policy that decides when the device enters idle modes; `None`: after the time given with each mode. No effect
    /// if the power is not known.
    #[must_use]
    pub fn with_spin_down(mut self, policy: Option<&SpinDownSpec>) -> Self {
        self.history.set_policy(policy);
        self
    }

    fn new(
        block_bytes: u32,
        capacity_blocks: u64,
        [nearest_ms, farthest_ms]: [f64; 2],
        power: Option<&PowerParameters>,
    ) -> Result<Self, Fault> {
        if capacity_blocks == 0 {
            return Err(Fault::out_of_range("capacity_blocks", 0, Range::at_least(1.0).whole()));
        }
        if !(nearest_ms >= 0.0 && farthest_ms.is_finite()) {
            let says = format!("times of {nearest_ms} to {farthest_ms} ms: they have to be finite and not negative");
            return Err(Fault::new(Kind::OutOfRange).says(says));
        }
        let no_work = Work { op: Op::Read, state: State::Seek, from: Time::ZERO, to: Time::ZERO };
        Ok(Self {
            nearest_ns: s_to_ns(nearest_ms * 1e-3),
            ns_per_block: (farthest_ms - nearest_ms) * 1e6 / capacity_blocks as f64,
            layout: EqualCylinders::new(capacity_blocks, block_bytes, 1 << 32),
            history: ActivityHistory::new([no_work], power)?,
        })
    }

    /// Returns the time of a request at a distance in blocks, ns. It never falls as the distance grows.
    #[inline]
    fn time_ns(&self, distance_blocks: u64) -> u64 {
        // Truncation after adding a half is round-half-up.
        self.nearest_ns + trunc_to_u64(self.ns_per_block * distance_blocks as f64 + 0.5)
    }
}

impl Mechanism for SimpleDevice {
    fn dimensions(&self) -> Dimensions {
        self.layout.dimensions()
    }

    #[inline]
    fn locate(&self, request: &Request) -> Location {
        self.layout.location(request.lbn)
    }

    fn coordinates_m(&self, location: Location) -> Coordinates {
        self.layout.coordinates_m(location.cylinder)
    }

    fn position_m(&self, _now: Time) -> Coordinates {
        self.layout.position_m()
    }

    #[inline]
    fn cylinder(&self, _now: Time) -> u32 {
        self.layout.cylinder()
    }

    #[inline]
    fn cylinder_bound_ns(&self, now: Time, cylinder: u32) -> u64 {
        self.history.wake_ns(now) + self.time_ns(self.layout.least_distance_blocks(cylinder))
    }

    #[inline]
    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        self.history.wake_ns(now) + self.time_ns(self.layout.lbn(location).abs_diff(self.layout.next_lbn))
    }

    #[inline]
    fn serve(&mut self, now: Time, request: &Request) -> Service {
        debug_assert!(request.fits(self.dimensions().capacity_blocks), "{request:?}");
        debug_assert!(self.history.end() <= now, "the device serves until {:?}", self.history.end());
        let seek_ns = self.time_ns(request.lbn.abs_diff(self.layout.next_lbn));
        let startup_ns = self.history.wake(now);
        let from = now + startup_ns;
        let end = from + seek_ns;
        self.layout.next_lbn = request.end_lbn();
        let work = Work { op: request.op, state: State::Seek, from, to: end };
        Service {
            start: now,
            end,
            free: end,
            phases: Phases { startup_ns, seek_ns, seek_x_ns: seek_ns, ..Phases::default() },
            energy: self.history.add([work], now, startup_ns),
        }
    }

    fn ledger(&self, now: Time) -> EnergyLedger {
        self.history.ledger(now)
    }

    fn powered(&self) -> Option<&dyn Powered> {
        self.history.powered()
    }

    fn powered_mut(&mut self) -> Option<&mut dyn Powered> {
        self.history.powered_mut()
    }
}

const fn sector() -> u32 {
    512
}
