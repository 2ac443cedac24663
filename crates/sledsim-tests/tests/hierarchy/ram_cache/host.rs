//! Caches over drives, and a host that sends requests.

use sledsim::devices::simple::{ConstantParameters, SimpleDevice};
use sledsim::engine::{Completion, ComponentId, Payload, Status, System};
use sledsim::hierarchy::cache::ram::{FlushSpec, RamCache, RamCacheSpec};
use sledsim::hierarchy::Drive;
use sledsim::request::{Flags, Op, Padding, Request};
use sledsim::schedulers::{build, fcfs};
use sledsim::time::Time;
use sledsim_testing::scenarios;

use super::between::{Between, Disturbance, Log};

/// Service time of the constant drive, ns.
pub const T: u64 = 100_000;
/// Access time of the cache, ns.
pub const A: u64 = 1_000;
/// Blocks of a line.
pub const LINE: u64 = 8;

/// A drive that serves each request in [`T`].
pub fn constant_drive(system: &mut System, capacity_blocks: u64) -> ComponentId {
    let name = "constant".into();
    let parameters =
        ConstantParameters { name, block_bytes: 512, capacity_blocks, access_ms: T as f64 * 1e-6, power: None };
    let device = SimpleDevice::constant(&parameters).expect("a device");
    let scheduler = build(&fcfs::POLICY.default, &device);
    system.add(Box::new(Drive::new(Box::new(device), scheduler, 1)), &[])
}

/// A write-back cache of 4 KiB lines that destages only for evictions and does not read ahead.
pub fn plain(lines: u64) -> RamCacheSpec {
    let flush = FlushSpec { idle_ms: None, high_water: 1.0, low_water: 1.0, ..FlushSpec::default() };
    RamCacheSpec { flush, ..scenarios::ram_cache(lines * LINE * 512) }
}

/// Puts a cache over a child.
pub fn add_cache(system: &mut System, child: ComponentId, spec: &RamCacheSpec) -> ComponentId {
    let (capacity_blocks, block_bytes) = {
        let child = system.component(child);
        (child.capacity_blocks(), child.block_bytes())
    };
    let cache = RamCache::new(spec, child, capacity_blocks, block_bytes).expect("a cache");
    system.add(Box::new(cache), &[child])
}

/// Sends requests to a system and records their completions.
pub struct Host {
    pub system: System,
    next_id: u64,
    pub answers: Vec<Completion>,
    /// The requests of the cache to its child, with their times.
    pub log: Log,
}

impl Host {
    /// A cache over a constant drive of 65,539 blocks, which are no whole number of lines.
    pub fn new(spec: &RamCacheSpec) -> Self {
        Self::disturbed(spec, Disturbance::Calm)
    }

    /// The same with a disturbance below the cache.
    pub fn disturbed(spec: &RamCacheSpec, disturbance: Disturbance) -> Self {
        let mut system = System::default();
        let drive = constant_drive(&mut system, 65_539);
        let (child, log) = Between::over(&mut system, drive, disturbance);
        add_cache(&mut system, child, spec);
        system.start_measuring();
        Self { system, next_id: 0, answers: Vec::new(), log }
    }

    /// Submits a request at `at_ns`, which is not before now, after all earlier events.
    pub fn submit(&mut self, at_ns: u64, op: Op, lbn: u64, blocks: u64, flags: Flags) {
        while self.system.next_time().is_some_and(|next| next.ns() < at_ns) {
            self.step();
        }
        let (id, arrival, padding) = (self.next_id, Time::from_ns(at_ns), Padding::NONE);
        self.next_id += 1;
        let request = Request { id, arrival, lbn, blocks: blocks as u32, op, flags, origin: 7, padding };
        let answers = &mut self.answers;
        self.system.submit_with(request, Payload::NONE, &mut |completion| answers.push(*completion));
    }

    /// Fires the next timer.
    pub fn step(&mut self) {
        let answers = &mut self.answers;
        self.system.step(&mut |completion| answers.push(*completion));
    }

    /// Handles all events.
    pub fn drain(&mut self) {
        while self.system.next_time().is_some() {
            self.step();
        }
    }

    /// Submits a request now. Returns its response time in ns and its status.
    pub fn ask(&mut self, op: Op, lbn: u64, blocks: u64) -> (u64, Status) {
        let (now, answers) = (self.system.now().ns(), self.answers.len());
        self.submit(now, op, lbn, blocks, Flags::NONE);
        while self.answers.len() == answers {
            self.step();
        }
        let answer = &self.answers[answers];
        let service = &answer.service;
        assert_eq!(service.end, self.system.now());
        assert_eq!(service.phases.service_ns(), service.end - service.start, "phases add up");
        (service.end - answer.request.arrival, answer.status)
    }

    /// Reads, and returns the response time, ns.
    pub fn read(&mut self, lbn: u64, blocks: u64) -> u64 {
        self.ask(Op::Read, lbn, blocks).0
    }

    /// Writes, and returns the response time, ns.
    pub fn write(&mut self, lbn: u64, blocks: u64) -> u64 {
        self.ask(Op::Write, lbn, blocks).0
    }

    /// The requests of the cache to its child since the last call: time in ns, operation, first block and number of blocks.
    pub fn below(&mut self) -> Vec<(u64, Op, u64, u32)> {
        let log = std::mem::take(&mut *self.log.lock().expect("one thread"));
        log.into_iter().map(|(at_ns, request)| (at_ns, request.op, request.lbn, request.blocks)).collect()
    }

    /// A counter of the cache.
    pub fn count(&self, name: &str) -> f64 {
        let details = self.system.component(self.system.root()).details(self.system.now()).expect("a cache");
        details.counts.iter().find(|count| count.name == name).expect(name).value
    }
}
