//! Policies of one's own that are compiled: functions at addresses.

use sledsim::engine::Stop;
use sledsim::fault::{Fault, Kind};
use sledsim::own::{Copies, Maker, OwnDevice, OwnMirror, OwnReplacement, OwnScheduler, OwnSpinDown, Pending};
use sledsim::power::Mode;
use sledsim::request::{Op, Request};
use sledsim::time::Time;

use crate::raw::{Event, Function, Memory, Motion, Rest};

/// A compiled policy: one to which nothing has happened makes others.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub name: String,
    pub positioning: bool,
    pub decide: Function,
    pub arrived: Option<Function>,
    pub completed: Option<Function>,
    pub memory: Memory,
    /// What it remembers of each slot of a cache, bytes.
    pub slot_bytes: usize,
}

impl Maker for Compiled {
    fn scheduler(&self) -> Result<Box<dyn OwnScheduler>, Fault> {
        Ok(Box::new(self.clone()))
    }

    fn replacement(&self, slots: u32) -> Result<Box<dyn OwnReplacement>, Fault> {
        let Self { name, decide, memory, slot_bytes, .. } = self.clone();
        let memory = memory.and_for(slots, slot_bytes)?;
        Ok(Box::new(CompiledReplacement { name, decide, memory, slots }))
    }

    fn mirror(&self) -> Result<Box<dyn OwnMirror>, Fault> {
        Ok(Box::new(self.clone()))
    }

    fn spin_down(&self) -> Result<Box<dyn OwnSpinDown>, Fault> {
        Ok(Box::new(self.clone()))
    }

    fn device(&self) -> Result<Box<dyn OwnDevice>, Fault> {
        let Self { name, decide, memory, .. } = self.clone();
        let mut device = CompiledDevice { name, decide, memory, capacity_blocks: 0, block_bytes: BLOCK_BYTES };
        let mut size = |what| device.decide.moves(what, Time::ZERO, (0, 0, true), &mut device.memory);
        let (blocks, bytes) = (size(Motion::CapacityBlocks), size(Motion::BlockBytes));
        // Sizes beyond those of any device the device itself refuses.
        device.capacity_blocks = u64::try_from(blocks).map_err(|_| device.no_size(Motion::CapacityBlocks, blocks))?;
        if bytes != 0 {
            device.block_bytes = u32::try_from(bytes).map_err(|_| device.no_size(Motion::BlockBytes, bytes))?;
        }
        Ok(Box::new(device))
    }
}

impl Compiled {
    /// The row that the function returned; whoever asked sees to it that it is one of so many.
    fn row(&self, row: i64, count: usize) -> Result<usize, Stop> {
        usize::try_from(row)
            .map_err(|_| Stop::of_policy(format!("{} returned {row}: expected from 0 to {}", self.name, count - 1)))
    }
}

impl OwnScheduler for Compiled {
    fn name(&self) -> &str {
        &self.name
    }

    fn looks_at_positioning(&self) -> bool {
        self.positioning
    }

    fn pick(&mut self, now: Time, pending: &mut Pending) -> Result<usize, Stop> {
        let row = self.decide.pick(now, pending, &mut self.memory);
        self.row(row, pending.len())
    }

    fn arrived(&mut self, ready: Time, request: &Request) -> Result<(), Stop> {
        if let Some(arrived) = self.arrived {
            arrived.tell(ready, request, &mut self.memory);
        }
        Ok(())
    }

    fn completed(&mut self, now: Time, request: &Request) -> Result<(), Stop> {
        if let Some(completed) = self.completed {
            completed.tell(now, request, &mut self.memory);
        }
        Ok(())
    }
}

impl OwnMirror for Compiled {
    fn name(&self) -> &str {
        &self.name
    }

    fn looks_at_positioning(&self) -> bool {
        self.positioning
    }

    fn pick(&mut self, now: Time, request: &Request, copies: &mut Copies) -> Result<usize, Stop> {
        let row = self.decide.choose(now, request, copies, &mut self.memory);
        self.row(row, copies.len())
    }

    fn arrived(&mut self, now: Time, member: u32, access: &Request) -> Result<(), Stop> {
        if let Some(arrived) = self.arrived {
            arrived.tell_of_member(now, member, access, &mut self.memory);
        }
        Ok(())
    }

    fn completed(&mut self, now: Time, member: u32, access: &Request) -> Result<(), Stop> {
        if let Some(completed) = self.completed {
            completed.tell_of_member(now, member, access, &mut self.memory);
        }
        Ok(())
    }
}

impl OwnSpinDown for Compiled {
    fn name(&self) -> &str {
        &self.name
    }

    fn after_ns(&mut self, now: Time, mode: usize, modes: &[Mode]) -> Result<Option<u64>, Stop> {
        // Anything below nothing is never.
        Ok(u64::try_from(self.decide.rest(now, Rest::After(mode), modes, &mut self.memory)).ok())
    }

    fn ended(&mut self, now: Time, idle_ns: u64, modes: &[Mode]) -> Result<(), Stop> {
        self.decide.rest(now, Rest::Ended(idle_ns), modes, &mut self.memory);
        Ok(())
    }

    fn served(&mut self, now: Time, request: &Request) -> Result<(), Stop> {
        self.decide.rest(now, Rest::Served(request), &[], &mut self.memory);
        Ok(())
    }
}

/// Size of a block where a mechanism does not say.
const BLOCK_BYTES: u32 = 512;

/// A compiled mechanism.
#[derive(Clone)]
struct CompiledDevice {
    name: String,
    decide: Function,
    memory: Memory,
    capacity_blocks: u64,
    block_bytes: u32,
}

impl CompiledDevice {
    fn no_size(&self, what: Motion, answer: i64) -> Fault {
        let says = format!("{} returned {answer} as its {}: expected at least 1", self.name, what.word());
        Fault::new(Kind::Policy).says(says)
    }

    fn time_ns(&mut self, what: Motion, now: Time, told: (u64, u32, bool)) -> Result<u64, Stop> {
        let ns = self.decide.moves(what, now, told, &mut self.memory);
        u64::try_from(ns).map_err(|_| {
            let says = format!("{} returned {ns} ns as its {}: expected at least 0", self.name, what.word());
            Stop::of_policy(says)
        })
    }
}

impl OwnDevice for CompiledDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn positioning_ns(&mut self, now: Time, lbn: u64, read: bool) -> Result<u64, Stop> {
        self.time_ns(Motion::Positioning, now, (lbn, 0, read))
    }

    fn serve(&mut self, now: Time, request: &Request) -> Result<u64, Stop> {
        self.time_ns(Motion::Serve, now, (request.lbn, request.blocks, request.op == Op::Read))
    }
}

/// A compiled replacement policy.
#[derive(Clone)]
struct CompiledReplacement {
    name: String,
    decide: Function,
    memory: Memory,
    slots: u32,
}

impl CompiledReplacement {
    #[inline]
    fn call(&mut self, event: Event, slot: Option<u32>, key: u64, evicted: Option<u64>) -> i64 {
        self.decide.replace(event, (slot, key, evicted), self.slots, &mut self.memory)
    }
}

impl OwnReplacement for CompiledReplacement {
    fn name(&self) -> &str {
        &self.name
    }

    fn chooses_admissions(&self) -> bool {
        true
    }

    fn admits(&mut self, key: u64) -> Result<bool, Stop> {
        match self.call(Event::Refuses, None, key, None) {
            0 => Ok(true),
            1 => Ok(false),
            answer => {
                let name = &self.name;
                let says = format!("{name} returned {answer} when asked whether it refuses a key: expected 0 or 1");
                Err(Stop::of_policy(says))
            }
        }
    }

    fn victim(&mut self, key: u64, after: Option<u32>) -> Result<u32, Stop> {
        let slot = self.call(Event::Victim, after, key, None);
        u32::try_from(slot).ok().filter(|&slot| slot < self.slots).ok_or_else(|| {
            let says = format!("{} returned {slot}: expected a slot from 0 to {}", self.name, self.slots - 1);
            Stop::of_policy(says)
        })
    }

    fn admitted(&mut self, slot: u32, key: u64, evicted: Option<u64>) -> Result<(), Stop> {
        self.call(Event::Admitted, Some(slot), key, evicted);
        Ok(())
    }

    fn hit(&mut self, slot: u32, key: u64) -> Result<(), Stop> {
        self.call(Event::Hit, Some(slot), key, None);
        Ok(())
    }

    fn removed(&mut self, slot: u32, key: u64) -> Result<(), Stop> {
        self.call(Event::Removed, Some(slot), key, None);
        Ok(())
    }
}
