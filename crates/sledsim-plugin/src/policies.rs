//! Compiled policies and mechanisms, by role. An instance whose functions have not been called yet serves as the
//! factory of others.

use sledsim::engine::Stop;
use sledsim::fault::{Fault, Kind};
use sledsim::plugin::{
    Copies, CustomMechanism, CustomMirror, CustomReplacement, CustomScheduler, CustomSpinDown, Factory, Pending,
};
use sledsim::power::Mode;
use sledsim::request::{Op, Request};
use sledsim::time::Time;

use crate::raw::{
    CacheEvent, CacheKeys, Choose, Hear, IdleEvent, Mechanism, Memory, Note, Pick, Question, Replace, Rest, Target,
};

/// The name of a compiled policy in messages, its parameters and its state.
#[derive(Clone, Debug)]
pub struct Policy {
    pub name: String,
    pub memory: Memory,
}

impl Policy {
    /// Converts the row that a function returned; the caller checks that it is below `count`.
    fn row(&self, row: i64, count: usize) -> Result<usize, Stop> {
        usize::try_from(row)
            .map_err(|_| Stop::from_plugin(format!("{} returned {row}: expected from 0 to {}", self.name, count - 1)))
    }
}

/// A compiled scheduling policy.
#[derive(Clone)]
pub struct CompiledScheduler {
    pub policy: Policy,
    pub pick: Pick,
    pub arrived: Option<Hear>,
    pub completed: Option<Hear>,
    pub uses_positioning: bool,
}

impl Factory for CompiledScheduler {
    fn scheduler(&self) -> Result<Box<dyn CustomScheduler>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

impl CustomScheduler for CompiledScheduler {
    fn name(&self) -> &str {
        &self.policy.name
    }

    fn uses_positioning(&self) -> bool {
        self.uses_positioning
    }

    fn pick(&mut self, now: Time, pending: &mut Pending) -> Result<usize, Stop> {
        let row = self.pick.pick(now, pending, &mut self.policy.memory);
        self.policy.row(row, pending.len())
    }

    fn arrived(&mut self, ready: Time, request: &Request) -> Result<(), Stop> {
        if let Some(arrived) = self.arrived {
            arrived.hear(ready, request, &mut self.policy.memory);
        }
        Ok(())
    }

    fn completed(&mut self, now: Time, request: &Request) -> Result<(), Stop> {
        if let Some(completed) = self.completed {
            completed.hear(now, request, &mut self.policy.memory);
        }
        Ok(())
    }
}

/// A compiled mirror policy, which picks the copy that serves a read.
#[derive(Clone)]
pub struct CompiledMirror {
    pub policy: Policy,
    pub choose: Choose,
    pub arrived: Option<Note>,
    pub completed: Option<Note>,
    pub uses_positioning: bool,
}

impl Factory for CompiledMirror {
    fn mirror(&self) -> Result<Box<dyn CustomMirror>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

impl CustomMirror for CompiledMirror {
    fn name(&self) -> &str {
        &self.policy.name
    }

    fn uses_positioning(&self) -> bool {
        self.uses_positioning
    }

    fn pick(&mut self, now: Time, request: &Request, copies: &mut Copies) -> Result<usize, Stop> {
        let row = self.choose.choose(now, request, copies, &mut self.policy.memory);
        self.policy.row(row, copies.len())
    }

    fn arrived(&mut self, now: Time, member: u32, access: &Request) -> Result<(), Stop> {
        if let Some(arrived) = self.arrived {
            arrived.note(now, member, access, &mut self.policy.memory);
        }
        Ok(())
    }

    fn completed(&mut self, now: Time, member: u32, access: &Request) -> Result<(), Stop> {
        if let Some(completed) = self.completed {
            completed.note(now, member, access, &mut self.policy.memory);
        }
        Ok(())
    }
}

/// A compiled spin-down policy.
#[derive(Clone)]
pub struct CompiledSpinDown {
    pub policy: Policy,
    pub rest: Rest,
}

impl Factory for CompiledSpinDown {
    fn spin_down(&self) -> Result<Box<dyn CustomSpinDown>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

impl CustomSpinDown for CompiledSpinDown {
    fn name(&self) -> &str {
        &self.policy.name
    }

    fn after_ns(&mut self, now: Time, mode: usize, modes: &[Mode]) -> Result<Option<u64>, Stop> {
        // A negative answer means that the device never enters the mode.
        Ok(u64::try_from(self.rest.rest(now, IdleEvent::After(mode), modes, &mut self.policy.memory)).ok())
    }

    fn ended(&mut self, now: Time, idle_ns: u64, modes: &[Mode]) -> Result<(), Stop> {
        self.rest.rest(now, IdleEvent::Ended(idle_ns), modes, &mut self.policy.memory);
        Ok(())
    }

    fn served(&mut self, now: Time, request: &Request) -> Result<(), Stop> {
        self.rest.rest(now, IdleEvent::Served(request), &[], &mut self.policy.memory);
        Ok(())
    }
}

/// Block size of a mechanism that answers 0, bytes.
const BLOCK_BYTES: u32 = 512;

/// A compiled mechanism.
#[derive(Clone)]
pub struct CompiledMechanism {
    policy: Policy,
    mechanism: Mechanism,
    /// 0 until the mechanism has been made.
    capacity_blocks: u64,
    block_bytes: u32,
}

impl Factory for CompiledMechanism {
    fn mechanism(&self) -> Result<Box<dyn CustomMechanism>, Fault> {
        let mut made = self.clone();
        // The scenario rejects sizes that no device has.
        made.capacity_blocks = made.size(Question::CapacityBlocks)?;
        match made.size(Question::BlockBytes)? {
            0 => {}
            bytes => made.block_bytes = bytes,
        }
        Ok(Box::new(made))
    }
}

impl CompiledMechanism {
    /// Returns a mechanism whose sizes are not known yet.
    pub fn new(policy: Policy, mechanism: Mechanism) -> Self {
        Self { policy, mechanism, capacity_blocks: 0, block_bytes: BLOCK_BYTES }
    }

    fn size<T: TryFrom<i64>>(&mut self, question: Question) -> Result<T, Fault> {
        let target = Target { lbn: 0, blocks: 0, is_read: true };
        let answer = self.mechanism.ask(question, Time::ZERO, target, &mut self.policy.memory);
        T::try_from(answer).map_err(|_| {
            let (name, size) = (&self.policy.name, question.answer_name());
            Fault::new(Kind::Policy).says(format!("{name} returned {answer} as its {size}: expected at least 1"))
        })
    }

    fn time_ns(&mut self, question: Question, now: Time, target: Target) -> Result<u64, Stop> {
        let ns = self.mechanism.ask(question, now, target, &mut self.policy.memory);
        u64::try_from(ns).map_err(|_| {
            let (name, time) = (&self.policy.name, question.answer_name());
            let says = format!("{name} returned {ns} ns as its {time}: expected at least 0");
            Stop::from_plugin(says)
        })
    }
}

impl CustomMechanism for CompiledMechanism {
    fn name(&self) -> &str {
        &self.policy.name
    }

    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn positioning_ns(&mut self, now: Time, lbn: u64, read: bool) -> Result<u64, Stop> {
        self.time_ns(Question::Positioning, now, Target { lbn, blocks: 0, is_read: read })
    }

    fn serve(&mut self, now: Time, request: &Request) -> Result<u64, Stop> {
        let target = Target { lbn: request.lbn, blocks: request.blocks, is_read: request.op == Op::Read };
        self.time_ns(Question::Serve, now, target)
    }

    fn power_cut(&mut self, now: Time) -> Result<(), Stop> {
        let target = Target { lbn: 0, blocks: 0, is_read: true };
        self.mechanism.ask(Question::PowerCut, now, target, &mut self.policy.memory);
        Ok(())
    }
}

/// A compiled replacement policy.
#[derive(Clone)]
pub struct CompiledReplacement {
    pub policy: Policy,
    pub replace: Replace,
    /// State of each slot, bytes.
    pub slot_bytes: usize,
    /// Slots of the cache; 0 until the policy is used by a cache.
    pub slots: u32,
}

impl Factory for CompiledReplacement {
    fn replacement(&self, slots: u32) -> Result<Box<dyn CustomReplacement>, Fault> {
        let Policy { name, memory } = self.policy.clone();
        let policy = Policy { name, memory: memory.with_slots(slots, self.slot_bytes)? };
        Ok(Box::new(Self { policy, slots, ..*self }))
    }
}

impl CompiledReplacement {
    #[inline]
    fn call(&mut self, event: CacheEvent, slot: Option<u32>, key: u64, evicted: Option<u64>) -> i64 {
        self.replace.replace(event, CacheKeys { slot, key, evicted }, self.slots, &mut self.policy.memory)
    }
}

impl CustomReplacement for CompiledReplacement {
    fn name(&self) -> &str {
        &self.policy.name
    }

    fn chooses_admissions(&self) -> bool {
        true
    }

    fn admits(&mut self, key: u64) -> Result<bool, Stop> {
        match self.call(CacheEvent::Refuses, None, key, None) {
            0 => Ok(true),
            1 => Ok(false),
            answer => {
                let name = &self.policy.name;
                let says = format!("{name} returned {answer} when asked whether it refuses a key: expected 0 or 1");
                Err(Stop::from_plugin(says))
            }
        }
    }

    fn victim(&mut self, key: u64, after: Option<u32>) -> Result<u32, Stop> {
        let slot = self.call(CacheEvent::Victim, after, key, None);
        u32::try_from(slot).ok().filter(|&slot| slot < self.slots).ok_or_else(|| {
            let says = format!("{} returned {slot}: expected a slot from 0 to {}", self.policy.name, self.slots - 1);
            Stop::from_plugin(says)
        })
    }

    fn admitted(&mut self, slot: u32, key: u64, evicted: Option<u64>) -> Result<(), Stop> {
        self.call(CacheEvent::Admitted, Some(slot), key, evicted);
        Ok(())
    }

    fn hit(&mut self, slot: u32, key: u64) -> Result<(), Stop> {
        self.call(CacheEvent::Hit, Some(slot), key, None);
        Ok(())
    }

    fn removed(&mut self, slot: u32, key: u64) -> Result<(), Stop> {
        self.call(CacheEvent::Removed, Some(slot), key, None);
        Ok(())
    }
}
