//! Devices: one positioning mechanism each, behind the [`Mechanism`] trait.

pub mod disk;
pub mod mems;
pub mod own;
pub mod simple;

mod checked;
mod idle_policy;
mod merging;
mod past;
mod platter;
mod powered;
mod shares;

use dyn_clone::DynClone;

pub use checked::{flaw, Checked};
pub use idle_policy::{IdlePolicy, SpinDownChoice};
pub use merging::{are_contiguous, as_one, Plan, Planner, Stance, Trial};
use merging::{serve_as_one, serve_in_turn, PlannedPass};
pub use platter::Platter;

use crate::engine::details::Count;
use crate::engine::Stop;
use crate::power::Meter;
use crate::request::Request;
pub use crate::service::{EnergyLedger, Phases, RequestEnergy, Service, State, STATES};
use crate::time::Time;

/// Where a block lies, in the mechanism's own terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// Coarse coordinate: everything in one cylinder is reached without moving the coarse actuator.
    pub cylinder: u32,
    /// What decides the positioning time within the cylinder (for a MEMS sled: the row; for a disk: the head, the sector, and
    /// whether it is to be written).
    pub slot: u32,
}

/// What has become of blocks, from the best to the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// They are as they were written.
    #[default]
    Whole,
    /// Some are computed from a code.
    Degraded,
    /// Some can't be read, whatever is written to them.
    Lost,
}

/// One positioning mechanism: maps LBNs to locations, estimates positioning times, serves requests. It does not queue.
///
/// Times are nanoseconds. `now` never runs backwards between calls on one device. A clone of it goes on as it does.
pub trait Mechanism: DynClone + Send {
    /// Number of addressable blocks.
    fn capacity_blocks(&self) -> u64;

    /// Size of a block in bytes.
    fn block_bytes(&self) -> u32;

    /// Time from the arrival of a request until it may be scheduled; requests overlap in it.
    fn command_overhead_ns(&self) -> u64;

    /// Number of cylinders; [`Location::cylinder`] is below it.
    fn cylinders(&self) -> u32;

    /// Location of the first thing positioned to for `request`, whose first block lies inside the device.
    fn locate(&self, request: &Request) -> Location;

    /// Physical coordinates of a location in metres, for policies that go by distance. The first depends on the cylinder
    /// alone and never turns back as cylinder numbers rise.
    fn coordinates_m(&self, location: Location) -> (f64, f64);

    /// Physical coordinates of the mechanism at `now`, in metres.
    fn position_m(&self, now: Time) -> (f64, f64);

    /// Cylinder the mechanism stands at.
    fn cylinder(&self, now: Time) -> u32;

    /// A lower bound on [`Mechanism::positioning_ns`] for every location in `cylinder`: never falls as the distance from
    /// [`Mechanism::cylinder`] grows, on either side.
    fn cylinder_bound_ns(&self, now: Time, cylinder: u32) -> u64;

    /// Exact time from a dispatch at `now` until the first bit of `location` can pass under a tip or head: everything before
    /// it counts, command processing and rotation included. What a buffer holds is not looked at.
    fn positioning_ns(&self, now: Time, location: Location) -> u64;

    /// What turns, at `now`; `None` where nothing does, or where angles say nothing of positioning times.
    ///
    /// Where there is one, the first bit of `location` passes under a head when [`Mechanism::angle`] does, and
    /// [`Mechanism::positioning_ns`] ends at such an instant. With it searches leave out what the platter cannot bring in time.
    fn platter(&self, now: Time) -> Option<Platter> {
        let _ = now;
        None
    }

    /// Angle of the first bit of `location` on the [`Platter`]; the same at all times.
    fn angle(&self, location: Location) -> u64 {
        let _ = location;
        0
    }

    /// From now on accesses only what holds the bytes that requests need, see [`Request::needed`]; `false` from a device that
    /// can't access less than a block.
    fn access_subsectors(&mut self) -> bool {
        false
    }

    /// What has become of the blocks of `request`; to be asked of a device that has [`Mechanism::counts`].
    fn condition(&self, request: &Request) -> Condition {
        let _ = request;
        Condition::Whole
    }

    /// What has failed in it, and what comes of that, which does not change; nothing where nothing has.
    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }

    /// Serves `request`, dispatched at `now` (not before the mechanism was free), and moves the mechanism.
    ///
    /// The caller has checked that the request is not empty and lies inside the device.
    fn serve(&mut self, now: Time, request: &Request) -> Service;

    /// Serves several requests together; `out` receives one [`Service`] per request, in the order of `requests`.
    /// Mechanisms that can't access non-contiguous blocks together serve them one after the other.
    fn serve_batch(&mut self, now: Time, requests: &[Request], out: &mut Vec<Service>) {
        serve_in_turn(self, now, requests, out);
    }

    /// Serves as one access requests that were merged: by a plan that its planner made for them, and for now. Without one they
    /// are of one kind: contiguous requests as one larger request, with whose end they all complete, and others as
    /// [`Mechanism::serve_batch`] does. `out` receives one [`Service`] per request, in the order of `requests`.
    fn serve_merged(&mut self, now: Time, requests: &[Request], plan: Option<&Plan>, out: &mut Vec<Service>) {
        let _ = plan;
        serve_as_one(self, now, requests, out);
    }

    /// Whether at `now` (not before the mechanism was free) writes that it has reported are not on the medium yet: only then
    /// [`Mechanism::serve`] is given a flush, which ends when they are.
    fn owes_writes(&self, now: Time) -> bool {
        let _ = now;
        false
    }

    /// What it says of requests that it can access in the same pass; `None` where no two share one.
    fn planner(&self) -> Option<&dyn Planner> {
        None
    }

    /// Whether a write may be reported before it is on the medium, so that it is lost if power fails; those that are
    /// [`Flags::DURABLE`](crate::request::Flags::DURABLE) are not.
    fn may_lose_writes(&self) -> bool {
        false
    }

    /// Time that a request dispatched at `now` waits for the device to leave an idle mode; 0 where it is ready.
    fn wake_ns(&self, now: Time) -> u64 {
        let _ = now;
        0
    }

    /// What decides when it enters idle modes; `None` from one that has none.
    fn idle_policy(&mut self) -> Option<&mut IdlePolicy> {
        None
    }

    /// Time and energy by state for everything from the start of the run until `now`, the running service clipped at it.
    fn ledger(&self, now: Time) -> EnergyLedger;

    /// The same at `then`, in the idle period that a request dispatched at `now` ends, before it is served: a spin-down policy
    /// with hindsight decides only now what that period was.
    fn ledger_before(&self, then: Time, now: Time) -> EnergyLedger {
        let _ = now;
        self.ledger(then)
    }

    /// Its power meter, told of everything until `now`; `None` where powers are not known.
    fn meter(&self, now: Time) -> Option<Meter> {
        let _ = now;
        None
    }

    /// Its power meter, told of what is decided of the time until `now`: not of an idle period whose mode depends on when it
    /// ends.
    fn settle_meter(&mut self, now: Time) -> Option<&mut Meter> {
        let _ = now;
        None
    }

    /// Whether its mechanism is one's own, which may fail.
    fn is_own(&self) -> bool {
        false
    }

    /// Whether what it says means nothing any more; asked where it [is one's own](Mechanism::is_own).
    fn is_broken(&self) -> bool {
        false
    }

    /// Why that is so, told with the one of the requests that are `waiting` with which it was found, if it was one of them.
    fn stop(&self, waiting: &[Request]) -> Option<Stop> {
        let _ = waiting;
        None
    }

    /// Whether it has kept to this contract, as far as anybody watches.
    ///
    /// # Errors
    /// What it broke.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

dyn_clone::clone_trait_object!(Mechanism);
