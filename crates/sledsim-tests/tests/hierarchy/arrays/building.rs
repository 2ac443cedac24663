//! Small arrays for tests, and a driver that measures times.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use sledsim::devices::simple::{ConstantParameters, LinearParameters};
use sledsim::engine::{Completion, Component, ComponentId, Context, Instrumentation, PowerLoss, Status, System};
use sledsim::hierarchy::array::Level;
use sledsim::hierarchy::{ArraySpec, Drive, RedundantArray};
use sledsim::request::{Flags, Op, Padding, Request};
use sledsim::scenario::{self, DeviceSpec};
use sledsim::schedulers::{build, fcfs, SchedulerSpec};
use sledsim::service::Service;
use sledsim::time::Time;

/// Service time of the members, ns.
pub const T_NS: u64 = 1_000_000;

pub fn add_drive(system: &mut System, device: &DeviceSpec, scheduler: &SchedulerSpec) -> ComponentId {
    let device = scenario::device(device).expect("a device");
    let scheduler = build(scheduler, device.as_ref());
    system.add(Box::new(Drive::new(device, scheduler, 1)), &[])
}

/// A device with a constant access time.
pub fn constant(capacity_blocks: u64, block_bytes: u32) -> DeviceSpec {
    let access_ms = T_NS as f64 * 1e-6;
    let name = "constant".into();
    DeviceSpec::SimplediskConstant(ConstantParameters { name, block_bytes, capacity_blocks, access_ms, power: None })
}

/// A device whose time is linear in the distance.
pub fn linear(capacity_blocks: u64, nearest_ms: f64, farthest_ms: f64) -> DeviceSpec {
    let (name, block_bytes) = ("linear".into(), 512);
    let parameters = LinearParameters { name, block_bytes, capacity_blocks, nearest_ms, farthest_ms, power: None };
    DeviceSpec::SimplediskLinear(parameters)
}

/// A component that can be broken, so that all requests fail. If `hasty`, it acknowledges writes at their arrival.
#[derive(Clone)]
pub struct Breakable {
    child: ComponentId,
    size: (u64, u32),
    broken: Arc<AtomicBool>,
    hasty: bool,
}

impl Component for Breakable {
    fn capacity_blocks(&self) -> u64 {
        self.size.0
    }

    fn block_bytes(&self) -> u32 {
        self.size.1
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let payload = context.payload(&request);
        if self.broken.load(Ordering::Relaxed) {
            let service = Service { start: context.now(), end: context.now(), ..Service::default() };
            context.complete(&Completion { request, service, status: Status::Failed });
        } else {
            context.submit_with(self.child, request, payload);
            if self.hasty && request.op == Op::Write {
                let service = Service { start: context.now(), end: context.now(), ..Service::default() };
                context.complete(&Completion::of(request, service));
            }
        }
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.read_payload(child, completion);
        if self.hasty && completion.request.op == Op::Write {
            return;
        }
        let failed = self.broken.load(Ordering::Relaxed);
        let status = if failed { Status::Failed } else { completion.status };
        context.complete_with(&Completion { status, ..*completion }, answer);
    }
}

impl PowerLoss for Breakable {}

impl Instrumentation for Breakable {}

/// A system over members that can be broken.
pub struct Built {
    pub system: System,
    pub leaves: Vec<ComponentId>,
    pub switches: Vec<Arc<AtomicBool>>,
}

impl Built {
    /// Breaks a member.
    pub fn switch(&self, member: usize) -> Arc<AtomicBool> {
        self.switches[member].clone()
    }
}

/// Members on `device`, each of which can be broken.
pub fn members(system: &mut System, device: &DeviceSpec, count: usize, hasty: bool) -> (Vec<ComponentId>, Built) {
    let mut built = Built { system: System::default(), leaves: Vec::new(), switches: Vec::new() };
    let mut tops = Vec::new();
    for _ in 0..count {
        let leaf = add_drive(system, device, &fcfs::POLICY.default);
        let broken = Arc::new(AtomicBool::new(false));
        let size = size(system, leaf);
        let breakable = Breakable { child: leaf, size, broken: broken.clone(), hasty };
        tops.push(system.add(Box::new(breakable), &[leaf]));
        built.leaves.push(leaf);
        built.switches.push(broken);
    }
    (tops, built)
}

pub fn size(system: &System, id: ComponentId) -> (u64, u32) {
    (system.component(id).capacity_blocks(), system.component(id).block_bytes())
}

/// An array over `members` members on `device`, including spares.
pub fn array(level: Level, device: &DeviceSpec, count: usize, spec: &ArraySpec) -> Built {
    array_over(level, device, count, spec, false)
}

/// The same over members that may be hasty.
pub fn array_over(level: Level, device: &DeviceSpec, count: usize, spec: &ArraySpec, hasty: bool) -> Built {
    let mut system = System::default();
    let (tops, built) = members(&mut system, device, count, hasty);
    let sizes: Vec<(u64, u32)> = tops.iter().map(|&top| size(&system, top)).collect();
    let array = RedundantArray::new(level, tops.clone(), &sizes, spec).expect("they fit");
    system.add(Box::new(array), &tops);
    Built { system, ..built }
}

/// An array directly over drives.
pub fn plain_array(level: Level, device: &DeviceSpec, count: usize, spec: &ArraySpec) -> System {
    let mut system = System::default();
    let drives: Vec<ComponentId> = (0..count).map(|_| add_drive(&mut system, device, &fcfs::POLICY.default)).collect();
    let sizes: Vec<(u64, u32)> = drives.iter().map(|&drive| size(&system, drive)).collect();
    let array = RedundantArray::new(level, drives.clone(), &sizes, spec).expect("they fit");
    system.add(Box::new(array), &drives);
    system
}

/// A specification with stripe units of `unit_bytes` bytes.
pub fn units(unit_bytes: u64) -> ArraySpec {
    ArraySpec { unit_bytes: Some(unit_bytes), ..ArraySpec::default() }
}

pub fn request(id: u64, at: Time, op: Op, lbn: u64, blocks: u64) -> Request {
    let (flags, origin, padding, blocks) = (Flags::NONE, 0, Padding::NONE, blocks as u32);
    Request { id, arrival: at, lbn, blocks, op, flags, origin, padding }
}

/// Serves one request alone and returns its completion.
pub fn serve_one(system: &mut System, op: Op, lbn: u64, blocks: u64) -> Completion {
    let mut done = Vec::new();
    system.submit(request(lbn, system.now(), op, lbn, blocks), &mut |completion| done.push(*completion));
    while done.is_empty() {
        assert!(system.next_time().is_some(), "no further event");
        system.step(&mut |completion| done.push(*completion));
    }
    done[0]
}

/// Keeps `outstanding` requests under way until `count` are complete. Returns the time, ns.
pub fn saturate(
    system: &mut System,
    outstanding: usize,
    count: u64,
    mut next: impl FnMut(u64) -> (Op, u64, u64),
) -> u64 {
    let began = system.now();
    let (mut submitted, mut over) = (0_u64, 0);
    let mut done = Vec::new();
    while over < count {
        while ((submitted - over) as usize) < outstanding && submitted < count {
            let (op, lbn, blocks) = next(submitted);
            system.submit(request(submitted, system.now(), op, lbn, blocks), &mut |completion| done.push(*completion));
            submitted += 1;
        }
        system.step(&mut |completion| done.push(*completion));
        over += done.len() as u64;
        assert!(done.drain(..).all(|completion| completion.is_served()));
    }
    system.now() - began
}

/// A counter of the root.
pub fn counted(system: &System, name: &str) -> f64 {
    let details = system.component(system.root()).details(system.now()).expect("details");
    details.counts.iter().find(|count| count.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

/// Reads and writes of members for requests.
pub fn accesses(system: &System) -> (u64, u64) {
    (counted(system, "member_reads") as u64, counted(system, "member_writes") as u64)
}

pub const LEVELS: [Level; 4] = [Level::Mirror, Level::Raid4, Level::Raid5, Level::Raid6];
