//! All that Rust can't check: the one file with `unsafe` code. Everything here is said in safe terms to the rest.

use std::ffi::c_void;
use std::path::Path;

use sledsim::fault::{Fault, Kind};
use sledsim::own::{Copies, Pending};
use sledsim::power::Mode;
use sledsim::request::{Op, Request};
use sledsim::service::MODES;
use sledsim::time::Time;

/// `struct sledsim_pending` of `sledsim_policy.h`: what a compiled policy picks from.
#[repr(C)]
struct PendingColumns {
    now_ns: u64,
    count: u64,
    id: *const u64,
    lbn: *const u64,
    blocks: *const u32,
    read: *const u8,
    age_ns: *const u64,
    positioning_ns: *const u64,
    memory: MemoryOf,
}

/// `struct sledsim_request` of `sledsim_policy.h`: what a compiled policy is told of.
#[repr(C)]
struct RequestOf {
    at_ns: u64,
    id: u64,
    lbn: u64,
    blocks: u32,
    read: u32,
    memory: MemoryOf,
}

/// What a replacement policy is told, or asked: the numbers of `sledsim_policy.h`.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub enum Event {
    /// `SLEDSIM_HIT`
    Hit,
    /// `SLEDSIM_VICTIM`
    Victim,
    /// `SLEDSIM_ADMITTED`
    Admitted,
    /// `SLEDSIM_REMOVED`
    Removed,
    /// `SLEDSIM_REFUSES`
    Refuses,
}

/// `struct sledsim_cache` of `sledsim_policy.h`: what a compiled replacement policy is told, or asked.
#[repr(C)]
struct CacheOf {
    what: u32,
    slot: u32,
    key: u64,
    evicted: u64,
    slots: u64,
    memory: MemoryOf,
}

/// `struct sledsim_copies` of `sledsim_policy.h`: what a compiled choice of a copy chooses from.
#[repr(C)]
struct CopyColumns {
    now_ns: u64,
    count: u64,
    copy: *const u32,
    member: *const u32,
    pending: *const u64,
    pending_blocks: *const u64,
    next_lbn: *const u64,
    positioning_ns: *const u64,
    id: u64,
    lbn: u64,
    blocks: u32,
    read: u32,
    memory: MemoryOf,
}

/// `struct sledsim_access` of `sledsim_policy.h`: what a compiled choice of a copy is told of.
#[repr(C)]
struct AccessOf {
    at_ns: u64,
    id: u64,
    lbn: u64,
    blocks: u32,
    read: u32,
    member: u64,
    memory: MemoryOf,
}

/// What a spin-down policy is asked, or told.
#[derive(Clone, Copy, Debug)]
pub enum Rest<'a> {
    /// `SLEDSIM_AFTER`: of a mode.
    After(usize),
    /// `SLEDSIM_ENDED`: after so many nanoseconds.
    Ended(u64),
    /// `SLEDSIM_SERVED`: a request.
    Served(&'a Request),
}

/// `struct sledsim_idle` of `sledsim_policy.h`: what a compiled spin-down policy is told, or asked.
#[repr(C)]
struct IdleOf {
    what: u32,
    mode: u32,
    now_ns: u64,
    idle_ns: u64,
    id: u64,
    lbn: u64,
    blocks: u32,
    read: u32,
    modes: u64,
    power_w: *const f64,
    after_ns: *const u64,
    wake_ns: *const u64,
    wake_w: *const f64,
    memory: MemoryOf,
}

/// What a mechanism is asked: the numbers of `sledsim_policy.h`.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub enum Motion {
    /// `SLEDSIM_CAPACITY_BLOCKS`
    CapacityBlocks,
    /// `SLEDSIM_BLOCK_BYTES`
    BlockBytes,
    /// `SLEDSIM_POSITIONING`
    Positioning,
    /// `SLEDSIM_SERVE`
    Serve,
}

impl Motion {
    /// What messages call what it answers.
    pub const fn word(self) -> &'static str {
        match self {
            Self::CapacityBlocks => "capacity",
            Self::BlockBytes => "size of a block",
            Self::Positioning => "positioning time",
            Self::Serve => "transfer time",
        }
    }
}

/// `struct sledsim_motion` of `sledsim_policy.h`: what a compiled mechanism is asked.
#[repr(C)]
struct MotionOf {
    what: u32,
    read: u32,
    now_ns: u64,
    lbn: u64,
    blocks: u64,
    memory: MemoryOf,
}

/// What all end in: parameters, and what the policy remembers.
#[repr(C)]
struct MemoryOf {
    parameters: *const f64,
    parameter_count: u64,
    state: *mut c_void,
    state_bytes: u64,
}

/// What a compiled policy is given beside requests. Its state is in whole words, so that anything may stand in it.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Its parameters, in their order.
    pub parameters: Vec<f64>,
    /// What it remembers, nothing at first.
    pub state: Vec<u64>,
}

impl Memory {
    /// Parameters, and so many bytes that are all zero.
    pub fn new(parameters: Vec<f64>, state_bytes: usize) -> Self {
        Self { parameters, state: vec![0; state_bytes.div_ceil(size_of::<u64>())] }
    }

    /// The same with room for so many slots of a cache.
    ///
    /// # Errors
    /// There is no such memory.
    pub fn and_for(mut self, slots: u32, slot_bytes: usize) -> Result<Self, Fault> {
        let words = (slots as usize).saturating_mul(slot_bytes).div_ceil(size_of::<u64>());
        self.state.try_reserve_exact(words).map_err(|_| {
            let says = format!("there is no memory for {slot_bytes} bytes of each of {slots} slots");
            Fault::new(Kind::Policy).says(says)
        })?;
        self.state.resize(self.state.len() + words, 0);
        Ok(self)
    }

    fn lent(&mut self) -> MemoryOf {
        MemoryOf {
            parameters: self.parameters.as_ptr(),
            parameter_count: self.parameters.len() as u64,
            state: self.state.as_mut_ptr().cast(),
            state_bytes: (self.state.len() * size_of::<u64>()) as u64,
        }
    }
}

/// A shared library, which stays open.
#[derive(Clone, Copy)]
pub struct Library(&'static libloading::Library);

impl Library {
    /// Opens one: its own start may run.
    ///
    /// # Errors
    /// It is none, or does not fit this machine.
    pub fn open(path: &Path) -> Result<Self, String> {
        // What a library does when it is opened nobody can check: a scenario that names one is trusted as a program is.
        let opened = unsafe { libloading::Library::new(path) };
        opened.map(|library| Self(Box::leak(Box::new(library)))).map_err(|error| error.to_string())
    }

    /// A function of it, which stays where it is as the library does.
    pub fn function(&self, symbol: &str) -> Option<Function> {
        // Only the address is taken; that a function is there, and of which type, the user says.
        let address = unsafe { self.0.get::<*const c_void>(symbol.as_bytes()) };
        address.ok().map(|address| Function(*address as usize))
    }
}

/// The address of a function of a compiled policy, which whoever handed it in keeps in place.
#[derive(Clone, Copy, Debug)]
pub struct Function(pub usize);

impl Function {
    /// Asks the function which row to dispatch.
    pub fn pick(self, now: Time, pending: &Pending, memory: &mut Memory) -> i64 {
        let none = pending.positioning_ns.is_empty();
        let columns = PendingColumns {
            now_ns: now.ns(),
            count: pending.len() as u64,
            id: pending.id.as_ptr(),
            lbn: pending.lbn.as_ptr(),
            blocks: pending.blocks.as_ptr(),
            read: pending.read.as_ptr(),
            age_ns: pending.age_ns.as_ptr(),
            positioning_ns: if none { std::ptr::null() } else { pending.positioning_ns.as_ptr() },
            memory: memory.lent(),
        };
        // The user says that a function of this type is there, and writes nowhere but to the state: what a library can do
        // wrong nobody can check. The columns outlive the call.
        let function: extern "C" fn(*const PendingColumns) -> i64 = unsafe { std::mem::transmute(self.0) };
        function(&raw const columns)
    }

    /// Tells the function what happens in a cache, or asks it: with a slot, a key, and a key that left, where it has them.
    #[inline]
    pub fn replace(
        self,
        event: Event,
        (slot, key, evicted): (Option<u32>, u64, Option<u64>),
        slots: u32,
        memory: &mut Memory,
    ) -> i64 {
        let told = CacheOf {
            what: event as u32,
            slot: slot.unwrap_or(u32::MAX),
            key,
            evicted: evicted.unwrap_or(u64::MAX),
            slots: slots.into(),
            memory: memory.lent(),
        };
        // As above.
        let function: extern "C" fn(*const CacheOf) -> i64 = unsafe { std::mem::transmute(self.0) };
        function(&raw const told)
    }

    /// Asks the function which copy serves a read.
    pub fn choose(self, now: Time, request: &Request, copies: &Copies, memory: &mut Memory) -> i64 {
        let none = copies.positioning_ns.is_empty();
        let columns = CopyColumns {
            now_ns: now.ns(),
            count: copies.len() as u64,
            copy: copies.copy.as_ptr(),
            member: copies.member.as_ptr(),
            pending: copies.pending.as_ptr(),
            pending_blocks: copies.pending_blocks.as_ptr(),
            next_lbn: copies.next_lbn.as_ptr(),
            positioning_ns: if none { std::ptr::null() } else { copies.positioning_ns.as_ptr() },
            id: request.id,
            lbn: request.lbn,
            blocks: request.blocks,
            read: u32::from(request.op == Op::Read),
            memory: memory.lent(),
        };
        // As above.
        let function: extern "C" fn(*const CopyColumns) -> i64 = unsafe { std::mem::transmute(self.0) };
        function(&raw const columns)
    }

    /// Tells the function of an access of a member.
    pub fn tell_of_member(self, at: Time, member: u32, access: &Request, memory: &mut Memory) {
        let told = AccessOf {
            at_ns: at.ns(),
            id: access.id,
            lbn: access.lbn,
            blocks: access.blocks,
            read: u32::from(access.op == Op::Read),
            member: member.into(),
            memory: memory.lent(),
        };
        // As above.
        let function: extern "C" fn(*const AccessOf) = unsafe { std::mem::transmute(self.0) };
        function(&raw const told);
    }

    /// Asks the function when a device stops, or tells it what happened.
    pub fn rest(self, now: Time, what: Rest<'_>, modes: &[Mode], memory: &mut Memory) -> i64 {
        let of = |value: fn(&Mode) -> u64| std::array::from_fn::<u64, MODES, _>(|at| modes.get(at).map_or(0, value));
        let watts =
            |value: fn(&Mode) -> f64| std::array::from_fn::<f64, MODES, _>(|at| modes.get(at).map_or(0.0, value));
        let (power_w, wake_w) = (watts(|mode| mode.power_w), watts(|mode| mode.wake_w));
        let (after_ns, wake_ns) = (of(|mode| mode.after_ns.unwrap_or(u64::MAX)), of(|mode| mode.wake_ns));
        let (number, mode, idle_ns, request) = match what {
            Rest::After(mode) => (0, mode as u32, 0, None),
            Rest::Ended(idle_ns) => (1, 0, idle_ns, None),
            Rest::Served(request) => (2, 0, 0, Some(request)),
        };
        let told = IdleOf {
            what: number,
            mode,
            now_ns: now.ns(),
            idle_ns,
            id: request.map_or(0, |request| request.id),
            lbn: request.map_or(0, |request| request.lbn),
            blocks: request.map_or(0, |request| request.blocks),
            read: request.map_or(0, |request| u32::from(request.op == Op::Read)),
            modes: modes.len() as u64,
            power_w: power_w.as_ptr(),
            after_ns: after_ns.as_ptr(),
            wake_ns: wake_ns.as_ptr(),
            wake_w: wake_w.as_ptr(),
            memory: memory.lent(),
        };
        // As above.
        let function: extern "C" fn(*const IdleOf) -> i64 = unsafe { std::mem::transmute(self.0) };
        function(&raw const told)
    }

    /// Asks the function about a motion: to which block, of how many from there on, and whether they are read.
    pub fn moves(self, what: Motion, now: Time, (lbn, blocks, read): (u64, u32, bool), memory: &mut Memory) -> i64 {
        let asked = MotionOf {
            what: what as u32,
            read: read.into(),
            now_ns: now.ns(),
            lbn,
            blocks: blocks.into(),
            memory: memory.lent(),
        };
        // As above.
        let function: extern "C" fn(*const MotionOf) -> i64 = unsafe { std::mem::transmute(self.0) };
        function(&raw const asked)
    }

    /// Tells the function of a request.
    pub fn tell(self, at: Time, request: &Request, memory: &mut Memory) {
        let told = RequestOf {
            at_ns: at.ns(),
            id: request.id,
            lbn: request.lbn,
            blocks: request.blocks,
            read: u32::from(request.op == Op::Read),
            memory: memory.lent(),
        };
        // As above.
        let function: extern "C" fn(*const RequestOf) = unsafe { std::mem::transmute(self.0) };
        function(&raw const told);
    }
}
