//! The adaptor of custom spin-down policies.

use super::contract::CustomSpinDown;
use super::{describe_request, BuiltIn, Choice, Role};
use crate::devices::disk::{CommandQueue, WriteCache};
use crate::devices::{
    BatchAccess, Coordinates, Defects, Dimensions, EnergyLedger, HostTransfer, Location, Mechanism, MotionLog, Powered,
    Rotating, Service, Together, VolatileCache, WriteCaching,
};
use crate::engine::random::Stream;
use crate::engine::Stop;
use crate::fault::Faults;
use crate::power::SpinDownSpec;
use crate::request::{Op, Request};
use crate::service::MODES;
use crate::time::Time;

/// A built-in or custom spin-down policy.
pub type SpinDownChoice = Choice<SpinDownSpec>;

impl BuiltIn for SpinDownSpec {
    fn policy_name(&self) -> &'static str {
        self.name()
    }

    fn check(&self) -> Result<(), Faults> {
        Ok(())
    }
}

/// A mechanism, and the custom policy that decides when it enters idle modes. Without known power the policy has no effect.
#[derive(Clone)]
pub struct SpinDownAdaptor {
    mechanism: Box<dyn Mechanism>,
    policy: Box<dyn CustomSpinDown>,
    failure: Option<Stop>,
}

impl SpinDownAdaptor {
    /// Puts a policy on a mechanism that has served nothing.
    #[must_use]
    pub fn new(mechanism: Box<dyn Mechanism>, policy: Box<dyn CustomSpinDown>) -> Self {
        let mut device = Self { mechanism, policy, failure: None };
        if let Err(stop) = device.update_times(Time::ZERO) {
            device.fail(&stop, Time::ZERO, None);
        }
        device
    }

    #[cold]
    fn fail(&mut self, stop: &Stop, at: Time, request: Option<&Request>) {
        let what = request.map_or_else(|| "no request".to_owned(), describe_request);
        self.failure.get_or_insert(stop.located(Role::SpinDown, at, &what, request.map(|request| request.id)));
    }

    /// Sets the idle times that the policy answers for an idle period that begins at `free` or later.
    fn update_times(&mut self, free: Time) -> Result<(), Stop> {
        let Some(powered) = self.mechanism.powered_mut() else { return Ok(()) };
        let modes = powered.spin_down().ladder().modes();
        let mut after_ns = [u64::MAX; MODES];
        for (mode, after_ns) in after_ns.iter_mut().enumerate().take(modes.len()).skip(1) {
            *after_ns = self.policy.after_ns(free, mode, modes)?.unwrap_or(u64::MAX);
        }
        powered.spin_down_mut().enter_after(&after_ns);
        Ok(())
    }

    /// Reports the idle period that requests dispatched at `now` end.
    fn report_idle(&mut self, now: Time, first: Option<&Request>) {
        if self.failure.is_some() {
            return;
        }
        let Some(powered) = self.mechanism.powered() else { return };
        let idle_ns = powered.idle_ns(now);
        if idle_ns > 0 {
            let modes = powered.spin_down().ladder().modes();
            if let Err(stop) = self.policy.ended(now, idle_ns, modes) {
                self.fail(&stop, now, first);
            }
        }
    }

    /// Reports a service that ends at `free`, and sets the idle times that follow it.
    fn report_service(&mut self, free: Time, request: &Request) {
        if self.failure.is_some() {
            return;
        }
        let reported = self.policy.served(free, request).and_then(|()| self.update_times(free));
        if let Err(stop) = reported {
            self.fail(&stop, free, Some(request));
        }
    }
}

impl Mechanism for SpinDownAdaptor {
    fn serve(&mut self, now: Time, request: &Request) -> Service {
        self.report_idle(now, Some(request));
        let service = self.mechanism.serve(now, request);
        self.report_service(service.free, request);
        service
    }

    fn serve_together(&mut self, now: Time, requests: &[Request], how: Together<'_>, out: &mut Vec<Service>) {
        self.report_idle(now, requests.first());
        let before = out.len();
        self.mechanism.serve_together(now, requests, how, out);
        for (request, service) in requests.iter().zip(&out[before..]) {
            self.report_service(service.free, request);
        }
    }

    fn failure(&self) -> Option<Stop> {
        self.mechanism.failure().or_else(|| self.failure.clone())
    }

    fn dimensions(&self) -> Dimensions {
        self.mechanism.dimensions()
    }

    fn locate(&self, request: &Request) -> Location {
        self.mechanism.locate(request)
    }

    fn coordinates_m(&self, location: Location) -> Coordinates {
        self.mechanism.coordinates_m(location)
    }

    fn position_m(&self, now: Time) -> Coordinates {
        self.mechanism.position_m(now)
    }

    fn cylinder(&self, now: Time) -> u32 {
        self.mechanism.cylinder(now)
    }

    fn cylinder_bound_ns(&self, now: Time, cylinder: u32) -> u64 {
        self.mechanism.cylinder_bound_ns(now, cylinder)
    }

    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        self.mechanism.positioning_ns(now, location)
    }

    fn ledger(&self, now: Time) -> EnergyLedger {
        self.mechanism.ledger(now)
    }

    fn rotating(&self) -> Option<&dyn Rotating> {
        self.mechanism.rotating()
    }

    fn batch_access(&self) -> Option<&dyn BatchAccess> {
        self.mechanism.batch_access()
    }

    fn powered(&self) -> Option<&dyn Powered> {
        self.mechanism.powered()
    }

    fn powered_mut(&mut self) -> Option<&mut dyn Powered> {
        self.mechanism.powered_mut()
    }

    fn volatile_cache(&self) -> Option<&dyn VolatileCache> {
        self.mechanism.volatile_cache()
    }

    fn command_queue(&self) -> Option<CommandQueue> {
        self.mechanism.command_queue()
    }

    fn set_random(&mut self, stream: Stream) {
        self.mechanism.set_random(stream);
    }

    fn write_caching(&self) -> Option<&dyn WriteCaching> {
        self.mechanism.write_caching().map(|_| self as &dyn WriteCaching)
    }

    fn write_caching_mut(&mut self) -> Option<&mut dyn WriteCaching> {
        self.mechanism.write_caching().is_some().then_some(self as &mut dyn WriteCaching)
    }

    fn motion_log(&mut self) -> Option<&mut MotionLog> {
        self.mechanism.motion_log()
    }

    fn defects(&self) -> Option<&dyn Defects> {
        self.mechanism.defects()
    }

    fn power_cut(&mut self, now: Time) {
        self.mechanism.power_cut(now);
    }
}

/// A mechanism with a write cache is wrapped only if it returns itself from [`Mechanism::write_caching`].
const CACHING: &str = "the mechanism has a write cache";

impl WriteCaching for SpinDownAdaptor {
    fn write_cache(&self) -> WriteCache {
        self.mechanism.write_caching().expect(CACHING).write_cache()
    }

    fn host_transfer(&self, op: Op) -> HostTransfer {
        self.mechanism.write_caching().expect(CACHING).host_transfer(op)
    }

    fn write_back_ns(&self, now: Time, lbn: u64) -> u64 {
        self.mechanism.write_caching().expect(CACHING).write_back_ns(now, lbn)
    }

    fn write_back(&mut self, now: Time, lbn: u64, blocks: u64) -> (Service, u64) {
        self.report_idle(now, None);
        let (service, written) = self.mechanism.write_caching_mut().expect(CACHING).write_back(now, lbn, blocks);
        let request = Request { op: Op::Write, ..Request::read(lbn, 1) };
        self.report_service(service.free, &request);
        (service, written)
    }
}
