//! The contract between a positioning mechanism and the schedulers and drives that use it.

use std::ops::Range;

use dyn_clone::DynClone;

use super::disk::{CommandQueue, WriteCache};
use super::{CylinderBounds, Estimate, MechanismState, MotionLog, Plan, Platter, Together};
use crate::engine::details::Count;
use crate::engine::random::Stream;
use crate::engine::Stop;
use crate::power::{EnergyAccount, SharedSpindle, SpinDown};
use crate::request::{Op, Request};
use crate::service::{EnergyLedger, Service};
use crate::time::Time;

/// Sizes of a mechanism, which never change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dimensions {
    /// Number of addressable blocks.
    pub capacity_blocks: u64,
    /// Size of a block in bytes.
    pub block_bytes: u32,
    /// Number of cylinders; [`Location::cylinder`] is below it.
    pub cylinders: u32,
    /// Time from the arrival of a request until it may be scheduled; requests overlap in it.
    pub command_overhead_ns: u64,
}

/// The position of a block, in the mechanism's own terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// Coarse coordinate: everything in one cylinder is reached without moving the coarse actuator.
    pub cylinder: u32,
    /// Decides the positioning time within the cylinder (MEMS: the row; disk: head, sector, and whether it is to be written).
    pub slot: u32,
}

/// A point in the plane of the medium, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coordinates {
    /// Along the axis that cylinders are counted on.
    pub x_m: f64,
    /// Along the other axis.
    pub y_m: f64,
}

/// A positioning mechanism: maps LBNs to locations, estimates positioning times, serves requests. It holds no queue.
///
/// Times are nanoseconds. `now` never decreases from call to call on one mechanism. A clone continues independently from the
/// same state.
///
/// Every mechanism has the first nine methods. The others are capabilities that only some have: the default says that there is
/// none, so a mechanism overrides those that it has.
///
/// A mechanism in which every request takes a millisecond:
///
/// ```
/// use sledsim::devices::{Coordinates, Dimensions, EnergyLedger, Location, Mechanism, Phases, Service};
/// use sledsim::request::Request;
/// use sledsim::time::Time;
///
/// #[derive(Clone)]
/// struct OneMillisecond;
///
/// impl Mechanism for OneMillisecond {
///     fn dimensions(&self) -> Dimensions {
///         Dimensions { capacity_blocks: 1 << 20, block_bytes: 512, cylinders: 1, command_overhead_ns: 0 }
///     }
///     fn locate(&self, request: &Request) -> Location {
///         Location { cylinder: 0, slot: request.lbn as u32 }
///     }
///     fn coordinates_m(&self, _location: Location) -> Coordinates {
///         Coordinates::default()
///     }
///     fn position_m(&self, _now: Time) -> Coordinates {
///         Coordinates::default()
///     }
///     fn cylinder(&self, _now: Time) -> u32 {
///         0
///     }
///     fn cylinder_bound_ns(&self, _now: Time, _cylinder: u32) -> u64 {
///         0
///     }
///     fn positioning_ns(&self, _now: Time, _location: Location) -> u64 {
///         1_000_000
///     }
///     fn serve(&mut self, now: Time, _request: &Request) -> Service {
///         let end = now + 1_000_000;
///         let phases = Phases { seek_ns: 1_000_000, seek_x_ns: 1_000_000, ..Phases::default() };
///         Service { start: now, end, free: end, phases, ..Service::default() }
///     }
///     fn ledger(&self, _now: Time) -> EnergyLedger {
///         EnergyLedger::default()
///     }
/// }
///
/// let service = OneMillisecond.serve(Time::ZERO, &Request::read(0, 8));
/// assert_eq!(service.end.ns(), 1_000_000);
/// ```
pub trait Mechanism: DynClone + Send {
    /// Returns the sizes.
    fn dimensions(&self) -> Dimensions;

    /// Returns the first location that is positioned to for `request`, whose first block lies inside the device.
    fn locate(&self, request: &Request) -> Location;

    /// Returns the coordinates of a location, for policies that go by distance. `x_m` depends on the cylinder alone and is
    /// monotonic in the cylinder number.
    fn coordinates_m(&self, location: Location) -> Coordinates;

    /// Returns the coordinates of the mechanism at `now`.
    fn position_m(&self, now: Time) -> Coordinates;

    /// Returns the cylinder at which the mechanism is.
    fn cylinder(&self, now: Time) -> u32;

    /// Returns a lower bound on [`Mechanism::positioning_ns`] of every location in `cylinder`. The bound never falls as the
    /// distance from [`Mechanism::cylinder`] grows, on either side.
    fn cylinder_bound_ns(&self, now: Time, cylinder: u32) -> u64;

    /// Returns the exact time from a dispatch at `now` until the first bit of `location` can pass under a tip or head, command
    /// processing and rotation included. The contents of a buffer are not considered.
    fn positioning_ns(&self, now: Time, location: Location) -> u64;

    /// Serves `request`, dispatched at `now`, and moves the mechanism.
    ///
    /// The caller has checked that the mechanism is free at `now`, and that the request is not empty and lies inside the device.
    /// A flush is passed only to a mechanism whose [`VolatileCache`] has dirty blocks.
    fn serve(&mut self, now: Time, request: &Request) -> Service;

    /// Returns time and energy by state from the start of the run until `now`; a service under way counts up to `now`.
    fn ledger(&self, now: Time) -> EnergyLedger;

    /// Serves several requests together, with the conditions of [`Mechanism::serve`]. Appends one [`Service`] per request to
    /// `out`, in the order of `requests`.
    ///
    /// Without [`BatchAccess`] requests are served one after the other, and contiguous merged requests as one larger request.
    fn serve_together(&mut self, now: Time, requests: &[Request], how: Together<'_>, out: &mut Vec<Service>) {
        how.serve_one_by_one(self, now, requests, out);
    }

    /// Returns the mechanism's rotation, if angles decide positioning times.
    fn rotating(&self) -> Option<&dyn Rotating> {
        None
    }

    /// Returns how the mechanism accesses several requests in one pass, if it can.
    fn batch_access(&self) -> Option<&dyn BatchAccess> {
        None
    }

    /// Returns the mechanism's power and idle modes, if its power is known.
    fn powered(&self) -> Option<&dyn Powered> {
        None
    }

    /// Returns [`Mechanism::powered`], to be changed.
    fn powered_mut(&mut self) -> Option<&mut dyn Powered> {
        None
    }

    /// Returns the mechanism as one of several over a spindle, if it can be one and its power is known.
    fn shared_spindle(&mut self) -> Option<&mut dyn SharedSpindle> {
        None
    }

    /// Returns the mechanism's volatile write cache, if it has one.
    fn volatile_cache(&self) -> Option<&dyn VolatileCache> {
        None
    }

    /// Returns the mechanism's queue of commands, if it has one.
    fn command_queue(&self) -> Option<CommandQueue> {
        None
    }

    /// Makes the mechanism take its random numbers from `stream`; one without random behaviour ignores it.
    fn set_random(&mut self, _stream: Stream) {}

    /// Returns how the mechanism serves a write cache, if it has one.
    fn write_caching(&self) -> Option<&dyn WriteCaching> {
        None
    }

    /// Returns [`Mechanism::write_caching`], to be changed.
    fn write_caching_mut(&mut self) -> Option<&mut dyn WriteCaching> {
        None
    }

    /// Returns the mechanism's failed parts, if there are any.
    fn defects(&self) -> Option<&dyn Defects> {
        None
    }

    /// Returns the log of the mechanism's motion, if it can record one.
    fn motion_log(&mut self) -> Option<&mut MotionLog> {
        None
    }

    /// Loses the content of volatile memory: power fails at `now`.
    fn power_cut(&mut self, _now: Time) {}

    /// Returns why the run has to stop, if a custom part of the mechanism failed. Results after that have no meaning.
    fn failure(&self) -> Option<Stop> {
        None
    }
}

dyn_clone::clone_trait_object!(Mechanism);

/// A mechanism with a rotating medium: a search need not consider locations that the platter can't bring in time.
pub trait Rotating {
    /// Returns the platter at `now`; `None` where waits do not follow from the angle.
    ///
    /// The first bit of a location passes under a head when its [`Rotating::angle`] does, and [`Mechanism::positioning_ns`] ends
    /// at such an instant.
    fn platter(&self, now: Time) -> Option<Platter>;

    /// Returns the angle of the first bit of `location` on the [`Platter`]; the same at all times.
    fn angle(&self, location: Location) -> u64;

    /// Returns [`Mechanism::cylinder_bound_ns`] at `now` as a table, if it depends on the distance alone.
    fn cylinder_bounds(&self, _now: Time) -> Option<CylinderBounds<'_>> {
        None
    }
}

/// A mechanism that accesses blocks of several requests in one pass.
pub trait BatchAccess {
    /// Returns true if [`BatchAccess::plans`] is supported; a mechanism may support batches only.
    fn plans_merges(&self) -> bool {
        true
    }

    /// Returns at least one way to serve `requests`, reads and writes, as one access from `now` on. Of several ways that leave
    /// the mechanism in the same state, only the one of least energy is returned.
    fn plans(&self, now: Time, requests: &[Request]) -> Vec<Plan>;

    /// Returns what [`Mechanism::serve`] would do for `request` from the state `from`, or from the state at `now`.
    fn estimate(&self, now: Time, from: Option<MechanismState>, request: &Request) -> Estimate;

    /// Returns the energy in joules to move from one state to another without access.
    fn move_j(&self, from: MechanismState, to: MechanismState) -> f64;

    /// Returns an upper bound, over all positions, on the energy in joules to reverse the direction of motion.
    fn max_turnaround_j(&self) -> f64;

    /// Calls `visit` with ranges of blocks, possibly overlapping, that together are the blocks which can be accessed in the same
    /// pass as some block of `request`, including its own.
    fn for_each_companion(&self, request: &Request, visit: &mut dyn FnMut(Range<u64>));

    /// Returns true if some block of `other` is the same as, or can be accessed in the same pass as, some block of `first`.
    fn shares_pass(&self, first: &Request, other: &Request) -> bool;
}

/// A mechanism whose power is known.
pub trait Powered {
    /// Returns the time that a request dispatched at `now` waits for the mechanism to leave an idle mode; 0 if it is ready.
    fn wake_ns(&self, now: Time) -> u64;

    /// Returns true if `request`, dispatched at `now`, makes the mechanism leave an idle mode. A read of buffered blocks need not.
    fn wakes_for(&self, now: Time, _request: &Request) -> bool {
        self.wake_ns(now) > 0
    }

    /// Returns the length at `now` of the idle period in which a spin-down policy decides; 0 while the mechanism works, and
    /// before the first request to a mechanism that starts stopped.
    fn idle_ns(&self, now: Time) -> u64;

    /// Returns the policy that decides when the mechanism enters idle modes.
    fn spin_down(&self) -> &SpinDown;

    /// Returns [`Powered::spin_down`], to be changed between services.
    fn spin_down_mut(&mut self) -> &mut SpinDown;

    /// Returns [`Mechanism::ledger`] at `then`, within the idle period that a request dispatched at `now` ends. It is called
    /// before that request is served: a spin-down policy with hindsight decides at `now` about the whole period.
    fn ledger_before(&self, then: Time, now: Time) -> EnergyLedger;

    /// Returns the energy account, up to date at `now`.
    fn energy_account(&self, now: Time) -> EnergyAccount;

    /// Brings the mechanism's own energy account up to `now` and returns it. An idle period whose mode depends on its end is left
    /// out until it has ended.
    fn settle_energy_account(&mut self, now: Time) -> &mut EnergyAccount;
}

/// A mechanism that reports writes before they are on the medium, so that they are lost if power fails. Writes that are
/// [`Flags::DURABLE`](crate::request::Flags::DURABLE) are reported when they are on the medium.
pub trait VolatileCache {
    /// Returns true if, at `now` (not before the mechanism is free), reported writes are not on the medium yet.
    fn is_dirty(&self, now: Time) -> bool;
}

/// A mechanism with a write cache. The drive component holds the cache and decides when the mechanism writes its content back.
pub trait WriteCaching {
    /// Returns the parameters of the cache.
    fn write_cache(&self) -> WriteCache;

    /// Returns the times of a transfer between host and cache.
    fn host_transfer(&self, op: Op) -> HostTransfer;

    /// Returns the time from `now` until block `lbn`, which is in the drive, can begin to be written.
    fn write_back_ns(&self, now: Time, lbn: u64) -> u64;

    /// Writes up to `blocks` blocks from `lbn` on to the medium, as far as they lie on one track; returns the number of blocks.
    /// The conditions are those of [`Mechanism::serve`].
    fn write_back(&mut self, now: Time, lbn: u64, blocks: u64) -> (Service, u64);
}

/// Times of a transfer between host and drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostTransfer {
    /// Time before the transfer, ns; commands overlap in it.
    pub command_ns: u64,
    /// Time of a block on the link, ns.
    pub block_ns: u64,
    /// Time after the transfer, ns.
    pub completion_ns: u64,
}

/// A mechanism some of whose parts have failed.
pub trait Defects {
    /// Returns the state of the blocks of `request`: the worst of them.
    fn condition(&self, request: &Request) -> Condition;

    /// Returns the number of failed parts by kind, and of blocks that they degrade; constant over the run.
    fn counts(&self) -> Vec<Count>;
}

/// The state of blocks, from the best to the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// All can be read and written.
    #[default]
    Whole,
    /// Some are computed from a code.
    Degraded,
    /// Some can't be read, whatever is written to them.
    Lost,
}
