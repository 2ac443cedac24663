//! Devices without a mechanism: service times that are constant, or linear in the distance between requests.
//!
//! The distance of a request is the number of blocks between its first block and the block after the previous request's last:
//! a request that continues the previous one has distance 0, whatever the sizes. The first request of a run comes as if block
//! 0 were next. The number of blocks of a request makes no difference, and neither does its direction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::convert::trunc_to_u64;
use crate::devices::past::{has_past, Past};
use crate::devices::powered::Work;
use crate::devices::shares::{has_shares, Shares};
use crate::devices::{EnergyLedger, IdlePolicy, Location, Mechanism, Phases, Service, State};
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
/// All of a service counts as seeking, but the return from an idle mode. For schedulers, which ask for cylinders, the LBNs are cut
/// into equal shares, laid out evenly along one metre.
#[derive(Clone, Debug)]
pub struct SimpleDevice {
    block_bytes: u32,
    nearest_ns: u64,
    ns_per_block: f64,
    shares: Shares,
    /// The block after the last one served.
    next_lbn: u64,
    past: Past<1>,
}

impl SimpleDevice {
    /// Every request takes the same time.
    ///
    /// # Errors
    /// Parameters that contradict each other: says which.
    pub fn constant(parameters: &ConstantParameters) -> Result<Self, Fault> {
        let ConstantParameters { block_bytes, capacity_blocks, access_ms, .. } = *parameters;
        Self::new(block_bytes, capacity_blocks, [access_ms; 2], parameters.power.as_ref())
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
        Self::new(block_bytes, capacity_blocks, [nearest_ms, farthest_ms], parameters.power.as_ref())
    }

    /// The same device under a policy that says when it enters idle modes; at their own times without one. Nothing changes
    /// where the powers are not known.
    #[must_use]
    pub fn with_spin_down(mut self, policy: Option<&SpinDownSpec>) -> Self {
        self.past.obey(policy);
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
            let says = format!("times of {nearest_ms} to {farthest_ms} ms: they are finite and not negative");
            return Err(Fault::new(Kind::OutOfRange).says(says));
        }
        let nothing = Work { op: Op::Read, state: State::Seek, from: Time::ZERO, to: Time::ZERO };
        Ok(Self {
            block_bytes,
            nearest_ns: s_to_ns(nearest_ms * 1e-3),
            ns_per_block: (farthest_ms - nearest_ms) * 1e6 / capacity_blocks as f64,
            shares: Shares::new(capacity_blocks, 1 << 32),
            next_lbn: 0,
            past: Past::new([nothing], power)?,
        })
    }

    /// Time of a request at a distance in blocks, ns: never falls as the distance grows.
    #[inline]
    fn time_ns(&self, distance_blocks: u64) -> u64 {
        // Truncation after adding a half is round-half-up.
        self.nearest_ns + trunc_to_u64(self.ns_per_block * distance_blocks as f64 + 0.5)
    }
}

impl Mechanism for SimpleDevice {
    has_past!();
    has_shares!();

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn command_overhead_ns(&self) -> u64 {
        0
    }

    #[inline]
    fn locate(&self, request: &Request) -> Location {
        self.shares.location(request.lbn)
    }

    #[inline]
    fn cylinder_bound_ns(&self, now: Time, cylinder: u32) -> u64 {
        let (first_lbn, last_lbn) = self.shares.blocks(cylinder);
        let distance_blocks = first_lbn.saturating_sub(self.next_lbn) + self.next_lbn.saturating_sub(last_lbn);
        self.wake_ns(now) + self.time_ns(distance_blocks)
    }

    #[inline]
    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        self.wake_ns(now) + self.time_ns(self.shares.lbn(location).abs_diff(self.next_lbn))
    }

    #[inline]
    fn serve(&mut self, now: Time, request: &Request) -> Service {
        debug_assert!(request.blocks > 0 && request.end_lbn() <= self.capacity_blocks(), "{request:?}");
        debug_assert!(self.past.end() <= now, "the device serves until {:?}", self.past.end());
        let seek_ns = self.time_ns(request.lbn.abs_diff(self.next_lbn));
        let startup_ns = self.past.wake(now);
        let from = now + startup_ns;
        let end = from + seek_ns;
        self.next_lbn = request.end_lbn();
        let work = Work { op: request.op, state: State::Seek, from, to: end };
        Service {
            start: now,
            end,
            free: end,
            phases: Phases { startup_ns, seek_ns, seek_x_ns: seek_ns, ..Phases::default() },
            energy: self.past.does([work], now, startup_ns),
        }
    }
}

const fn sector() -> u32 {
    512
}
