//! All that Rust can't check: the one file with `unsafe` code. Everything here is said in safe terms to the rest.

use std::ffi::{c_long, c_void};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use sledsim::fault::{Fault, Kind};
use sledsim::own::Pending;
use sledsim::request::{Op, Request};
use sledsim::time::Time;

/// The number by which Python knows this thread.
pub fn thread() -> u64 {
    // Asks the system; there is nothing to get wrong. As wide as the system's own numbers, on some not as this one.
    let ident = unsafe { ffi::PyThread_get_thread_ident() };
    #[allow(clippy::useless_conversion)]
    ident.into()
}

/// Has a thread of Python raise an exception at its next step, or no longer raise the one that it was to.
pub fn raise_in(thread: u64, exception: Option<&Bound<'_, PyType>>, _python: Python<'_>) {
    let raised = exception.map_or(std::ptr::null_mut(), Bound::as_ptr);
    // Whoever calls holds the interpreter; a thread that has ended is not found, and the type is kept by Python itself.
    unsafe { ffi::PyThreadState_SetAsyncExc(thread as c_long, raised) };
}

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

/// What a mechanism is asked: the numbers of `sledsim_policy.h`.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub enum Access {
    /// `SLEDSIM_CAPACITY_BLOCKS`
    CapacityBlocks,
    /// `SLEDSIM_BLOCK_BYTES`
    BlockBytes,
    /// `SLEDSIM_POSITIONING`
    Positioning,
    /// `SLEDSIM_SERVE`
    Serve,
}

impl Access {
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

/// `struct sledsim_access` of `sledsim_policy.h`: what a compiled mechanism is asked.
#[repr(C)]
struct AccessOf {
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

    /// Asks the function about an access: to which block, of how many from there on, and whether they are read.
    pub fn access(self, what: Access, now: Time, (lbn, blocks, read): (u64, u32, bool), memory: &mut Memory) -> i64 {
        let asked = AccessOf {
            what: what as u32,
            read: read.into(),
            now_ns: now.ns(),
            lbn,
            blocks: blocks.into(),
            memory: memory.lent(),
        };
        // As above.
        let function: extern "C" fn(*const AccessOf) -> i64 = unsafe { std::mem::transmute(self.0) };
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
