//! A test bed: a system with real data, random reads and writes, power cuts, and an oracle of the allowed content of each block.

use std::collections::BTreeMap;

use sledsim::engine::oracle::{holds, stamped, Oracle};
use sledsim::engine::random::Stream;
use sledsim::engine::{Completion, Payload, Status, System};
use sledsim::request::{Flags, Op, Padding, Request};
use sledsim::time::Time;

/// Maximum number of steps until a request completes.
const MOST_STEPS: u64 = 10_000_000;

/// Parameters of random operations.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Number of accessed blocks, from the first on.
    pub span_blocks: u64,
    /// Maximum request size, blocks.
    pub most_blocks: u64,
    /// Share of writes.
    pub writes: f64,
    /// Mean time between submissions, ns.
    pub gap_ns: u64,
    /// Maximum number of outstanding requests.
    pub outstanding: usize,
}

/// A system under test.
pub struct TestBed {
    /// The system.
    pub system: System,
    oracle: Oracle,
    block_bytes: u32,
    next_id: u64,
    /// Outstanding requests in their order, with the tick of their submission.
    under_way: Vec<(Request, u64)>,
    stream: Stream,
    /// True if acknowledged writes that are not durable may be lost.
    pub volatile: bool,
    /// Number of failed requests, by status.
    pub lost: BTreeMap<Status, u64>,
    /// Number of correct blocks.
    pub checked: u64,
    /// Errors; empty for a correct system.
    pub wrong: Vec<String>,
}

impl TestBed {
    /// Returns the test bed of a system; `seed` decides the operations.
    pub fn new(mut system: System, seed: u64) -> Self {
        system.hold_data(Stream::new(seed, "media"));
        system.start_measuring();
        let block_bytes = system.component(system.root()).block_bytes();
        Self {
            system,
            oracle: Oracle::default(),
            block_bytes,
            next_id: 1,
            under_way: Vec::new(),
            stream: Stream::new(seed, "ground"),
            volatile: false,
            lost: BTreeMap::new(),
            checked: 0,
            wrong: Vec::new(),
        }
    }

    /// Returns the number of blocks of the system.
    pub fn capacity_blocks(&self) -> u64 {
        self.system.component(self.system.root()).capacity_blocks()
    }

    /// Submits a flush at `at`, now or later.
    pub fn flush(&mut self, at: Time) {
        self.submit(at, Op::Flush, 0, 0, Flags::NONE);
    }

    /// Submits a request at `at`, now or later.
    pub fn submit(&mut self, at: Time, op: Op, lbn: u64, blocks: u32, flags: Flags) {
        let id = self.next_id;
        self.next_id += 1;
        let request = Request { id, arrival: at, lbn, blocks, op, flags, origin: 0, padding: Padding::NONE };
        let tick = self.oracle.tick();
        let mut payload = Payload::NONE;
        if op == Op::Write {
            self.oracle.submitted(id, lbn..request.end_lbn(), tick);
            payload = stamped(&request, id, self.block_bytes);
        }
        self.under_way.push((request, tick));
        let mut done = Vec::new();
        self.system.submit_with(request, payload, &mut |completion| done.push(*completion));
        self.handle(&done);
    }

    /// Fires the next timer; returns false if there is none.
    pub fn step(&mut self) -> bool {
        if self.system.is_power_off() || self.system.next_time().is_none() {
            return false;
        }
        let mut done = Vec::new();
        self.system.step(&mut |completion| done.push(*completion));
        self.handle(&done);
        true
    }

    /// Checks completions.
    fn handle(&mut self, done: &[Completion]) {
        for completion in done {
            let id = completion.request.id;
            let Some(place) = self.under_way.iter().position(|(request, _)| request.id == id) else {
                self.wrong.push(format!("{completion:?} completes without being under way"));
                continue;
            };
            let (request, began) = self.under_way.remove(place);
            let answer = self.system.take_read_payload(id);
            let tick = self.oracle.tick();
            if !completion.is_served() {
                *self.lost.entry(completion.status).or_default() += 1;
            } else if request.op == Op::Write {
                let is_promised = !self.volatile || request.flags.contains(Flags::DURABLE);
                self.oracle.acknowledged(id, request.lbn..request.end_lbn(), tick, is_promised);
            } else if request.is_flush() {
                self.oracle.flushed(began, tick);
            } else {
                self.check(&request, began, &answer);
            }
            let since = self.under_way.first().map_or(tick + 1, |&(_, began)| began);
            for lbn in request.lbn..request.end_lbn() {
                self.oracle.prune(lbn, since, self.volatile);
            }
        }
    }

    /// Checks the data of a read.
    fn check(&mut self, request: &Request, began: u64, answer: &Payload) {
        let Some(bytes) = answer.bytes() else {
            self.wrong.push(format!("{request:?} brought nothing"));
            return;
        };
        for (lbn, block) in (request.lbn..request.end_lbn()).zip(bytes.chunks(self.block_bytes as usize)) {
            let found = self.oracle.allowed(lbn, began).any(|id| holds(block, lbn, id));
            if found {
                self.checked += 1;
                continue;
            }
            let allowed: Vec<u64> = self.oracle.allowed(lbn, began).collect();
            let word = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("8 bytes"));
            let found = (word(0), word(8));
            self.wrong.push(format!("block {lbn} holds {found:?}, not one of the writes {allowed:?}"));
        }
    }

    /// Advances until no request is outstanding.
    ///
    /// # Panics
    /// A request never completes.
    pub fn settle(&mut self) {
        for _ in 0..MOST_STEPS {
            if self.under_way.is_empty() || self.system.is_power_off() {
                return;
            }
            assert!(self.step() || self.system.is_power_off(), "{:?} never complete", self.under_way.first());
        }
        panic!("{} requests are stuck", self.under_way.len());
    }

    /// Advances by a time.
    pub fn idle(&mut self, time_ns: u64) {
        let until = self.system.now() + time_ns;
        while self.system.next_time().is_some_and(|next| next <= until) && self.step() {}
        if !self.system.is_power_off() {
            self.system.advance(until);
        }
    }

    /// Submits random operations, until power fails.
    pub fn operate(&mut self, operations: u64, load: &Load) {
        for _ in 0..operations {
            let op = if self.stream.chance(load.writes) { Op::Write } else { Op::Read };
            let blocks = 1 + self.stream.below(load.most_blocks);
            let lbn = self.stream.below(load.span_blocks + 1 - blocks);
            let at = self.system.now() + self.stream.below(2 * load.gap_ns + 1);
            let mut steps = 0;
            while !self.system.is_power_off()
                && (self.under_way.len() >= load.outstanding || self.system.next_time().is_some_and(|next| next <= at))
            {
                assert!(self.step() || self.system.is_power_off(), "{:?} never complete", self.under_way.first());
                steps += 1;
                assert!(steps < MOST_STEPS, "stuck");
            }
            if self.system.is_power_off() {
                return;
            }
            self.submit(at.max(self.system.now()), op, lbn, blocks as u32, Flags::NONE);
        }
    }

    /// Submits random operations with durable writes and flushes, until power fails.
    pub fn operate_durably(&mut self, operations: u64, load: &Load) {
        for _ in 0..operations {
            let at = self.system.now() + self.stream.below(2 * load.gap_ns + 1);
            while self.system.next_time().is_some_and(|next| next <= at) && self.step() {}
            if self.system.is_power_off() {
                return;
            }
            let at = at.max(self.system.now());
            if self.stream.chance(0.15) {
                self.flush(at);
                continue;
            }
            let op = if self.stream.chance(load.writes) { Op::Write } else { Op::Read };
            let lasts = op == Op::Write && self.stream.chance(0.15);
            let blocks = 1 + self.stream.below(load.most_blocks);
            let lbn = self.stream.below(load.span_blocks + 1 - blocks);
            self.submit(at, op, lbn, blocks as u32, if lasts { Flags::DURABLE } else { Flags::NONE });
        }
    }

    /// Submits operations until power fails after `calls` calls of components, restores it, and reads all written blocks. Power fails `again`
    /// times during recovery.
    pub fn cut(&mut self, calls: u64, load: &Load, again: u64) {
        self.system.cut_power_after(calls);
        while !self.system.is_power_off() {
            self.operate(1, load);
        }
        for cuts_left in (0..=again).rev() {
            self.oracle.power_cut();
            self.under_way.clear();
            let mut done = Vec::new();
            self.system.restore_power(&mut |completion| done.push(*completion));
            assert!(done.is_empty(), "requests outstanding at a power cut never complete");
            if cuts_left > 0 {
                let calls = 1 + self.stream.below(40);
                self.system.cut_power_after(calls);
                while self.system.is_recovering() && self.step() {}
                self.system.cut_power_after(0);
            }
        }
        self.read_all();
    }

    /// Reads all blocks that were ever written; their contents are then fixed for the oracle.
    pub fn read_all(&mut self) {
        for lbn in self.oracle.blocks() {
            let now = self.system.now();
            let wrong = self.wrong.len();
            let id = self.next_id;
            let tick = self.oracle.tick();
            self.next_id += 1;
            let request = Request { id, arrival: now, ..Request::read(lbn, 1) };
            let mut done = Vec::new();
            self.system.submit_with(request, Payload::NONE, &mut |completion| done.push(*completion));
            let mut steps = 0;
            while done.is_empty() {
                assert!(self.system.next_time().is_some() && steps < MOST_STEPS, "{request:?} never completes");
                self.system.step(&mut |completion| done.push(*completion));
                steps += 1;
            }
            if !done[0].is_served() {
                *self.lost.entry(done[0].status).or_default() += 1;
                continue;
            }
            let answer = self.system.take_read_payload(id);
            self.check(&request, tick, &answer);
            if self.wrong.len() == wrong {
                let block = answer.bytes().expect("it was found right");
                let found = self.oracle.allowed(lbn, tick).find(|&id| holds(block, lbn, id));
                self.oracle.settle(lbn, found.expect("it was found right"));
            }
        }
    }
}
