//! Calls of compiled functions: the argument structs of `sledsim_policy.h`, and the only `unsafe` code of this crate.
//!
//! A [`Function`] is made by an `unsafe` constructor, whose caller guarantees its signature and behaviour. Its methods are safe: they
//! fill an argument struct from borrowed data and call the function with it.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fmt;
use std::path::Path;
use std::ptr::NonNull;

use sledsim::fault::{Fault, Kind};
use sledsim::plugin::{Copies, Pending};
use sledsim::power::Mode;
use sledsim::request::{Op, Request};
use sledsim::service::MODES;
use sledsim::time::Time;

/// `struct sledsim_pending` of `sledsim_policy.h`: the pending requests, a column for each quantity.
#[repr(C)]
pub struct PickArguments {
    now_ns: u64,
    count: u64,
    id: *const u64,
    lbn: *const u64,
    blocks: *const u32,
    read: *const u8,
    age_ns: *const u64,
    positioning_ns: *const u64,
    memory: MemoryArguments,
}

/// `struct sledsim_request` of `sledsim_policy.h`: a request that arrived or was served.
#[repr(C)]
pub struct RequestArguments {
    at_ns: u64,
    id: u64,
    lbn: u64,
    blocks: u32,
    read: u32,
    memory: MemoryArguments,
}

/// `enum sledsim_cache_event` of `sledsim_policy.h`: the events and queries of a replacement policy.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub enum CacheEvent {
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

/// `struct sledsim_cache` of `sledsim_policy.h`: an event or query of a cache.
#[repr(C)]
pub struct ReplaceArguments {
    what: u32,
    slot: u32,
    key: u64,
    evicted: u64,
    slots: u64,
    memory: MemoryArguments,
}

/// `struct sledsim_copies` of `sledsim_policy.h`: the copies that can serve a read.
#[repr(C)]
pub struct ChooseArguments {
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
    memory: MemoryArguments,
}

/// `struct sledsim_access` of `sledsim_policy.h`: an access of a mirror's member.
#[repr(C)]
pub struct AccessArguments {
    at_ns: u64,
    id: u64,
    lbn: u64,
    blocks: u32,
    read: u32,
    member: u64,
    memory: MemoryArguments,
}

/// `enum sledsim_idle_event` of `sledsim_policy.h`: the events and queries of a spin-down policy.
#[derive(Clone, Copy, Debug)]
pub enum IdleEvent<'a> {
    /// `SLEDSIM_AFTER`, with the mode.
    After(usize),
    /// `SLEDSIM_ENDED`, with the length of the idle interval, ns.
    Ended(u64),
    /// `SLEDSIM_SERVED`, with the request.
    Served(&'a Request),
}

/// `struct sledsim_idle` of `sledsim_policy.h`: an event or query of a device with idle modes.
#[repr(C)]
pub struct IdleArguments {
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
    memory: MemoryArguments,
}

/// `enum sledsim_mechanism_query` of `sledsim_policy.h`: the queries of a mechanism.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub enum Question {
    /// `SLEDSIM_CAPACITY_BLOCKS`
    CapacityBlocks,
    /// `SLEDSIM_BLOCK_BYTES`
    BlockBytes,
    /// `SLEDSIM_POSITIONING`
    Positioning,
    /// `SLEDSIM_SERVE`
    Serve,
    /// `SLEDSIM_POWER_CUT`
    PowerCut,
}

impl Question {
    /// Returns the name of the answer in messages.
    pub const fn answer_name(self) -> &'static str {
        match self {
            Self::CapacityBlocks => "capacity",
            Self::BlockBytes => "size of a block",
            Self::Positioning => "positioning time",
            Self::Serve => "transfer time",
            Self::PowerCut => "answer to a power cut",
        }
    }
}

/// `struct sledsim_motion` of `sledsim_policy.h`: a query of a mechanism.
#[repr(C)]
pub struct MechanismArguments {
    what: u32,
    read: u32,
    now_ns: u64,
    lbn: u64,
    blocks: u64,
    memory: MemoryArguments,
}

/// The last members of each argument struct: the policy's parameters and state.
#[repr(C)]
struct MemoryArguments {
    parameters: *const f64,
    parameter_count: u64,
    state: *mut c_void,
    state_bytes: u64,
}

/// Parameters and state of a compiled policy. The state is made of 64-bit words, so that it is aligned for every C type.
#[derive(Clone, Debug)]
pub struct Memory {
    /// Parameters, in the order of their names.
    pub parameters: Vec<f64>,
    /// State, all zero at first.
    pub state: Vec<u64>,
}

impl Memory {
    /// Returns these parameters and a zeroed state of at least `state_bytes`.
    pub fn new(parameters: Vec<f64>, state_bytes: usize) -> Self {
        Self { parameters, state: vec![0; state_bytes.div_ceil(size_of::<u64>())] }
    }

    /// Extends the state by `slot_bytes` for each of `slots` slots of a cache.
    ///
    /// # Errors
    /// The memory can't be allocated.
    pub fn with_slots(mut self, slots: u32, slot_bytes: usize) -> Result<Self, Fault> {
        let words = (slots as usize).saturating_mul(slot_bytes).div_ceil(size_of::<u64>());
        self.state.try_reserve_exact(words).map_err(|_| {
            let says = format!("there is no memory for {slot_bytes} bytes of each of {slots} slots");
            Fault::new(Kind::Policy).says(says)
        })?;
        self.state.resize(self.state.len() + words, 0);
        Ok(self)
    }

    fn arguments(&mut self) -> MemoryArguments {
        MemoryArguments {
            parameters: self.parameters.as_ptr(),
            parameter_count: self.parameters.len() as u64,
            state: self.state.as_mut_ptr().cast(),
            state_bytes: (self.state.len() * size_of::<u64>()) as u64,
        }
    }
}

/// A shared library, open until the process ends.
#[derive(Clone, Copy)]
pub struct Library(&'static libloading::Library);

impl Library {
    /// Opens the shared library at `path`.
    ///
    /// # Errors
    /// The file can't be read, or is not a shared library for this machine.
    ///
    /// # Safety
    /// The initialisers of the library, which run now, are sound.
    pub unsafe fn open(path: &Path) -> Result<Self, String> {
        // SAFETY: the caller guarantees that the initialisers are sound. The finalisers never run, as the library is leaked.
        let opened = unsafe { libloading::Library::new(path) };
        opened.map(|library| Self(Box::leak(Box::new(library)))).map_err(|error| error.to_string())
    }

    /// Returns the address of a symbol, or `None` if the library does not define it.
    pub fn address_of(&self, symbol: &str) -> Option<NonNull<c_void>> {
        // SAFETY: any symbol's address is a valid `*mut c_void`; it is not dereferenced here.
        let address = unsafe { self.0.get::<*mut c_void>(symbol.as_bytes()) };
        NonNull::new(*address.ok()?)
    }
}

/// A C function that takes a pointer to an `A` and returns an `R`.
pub struct Function<A, R> {
    function: unsafe extern "C" fn(*const A) -> R,
}

/// `sledsim_pick`: returns the row of the request to dispatch.
pub type Pick = Function<PickArguments, i64>;
/// `sledsim_notify`: receives an arrival or a completion.
pub type Hear = Function<RequestArguments, ()>;
/// `sledsim_replace`: replacement policy of a cache.
pub type Replace = Function<ReplaceArguments, i64>;
/// `sledsim_choose`: returns the row of the copy that serves a read.
pub type Choose = Function<ChooseArguments, i64>;
/// `sledsim_notify_access`: receives an access of a mirror's member.
pub type Note = Function<AccessArguments, ()>;
/// `sledsim_rest`: spin-down policy.
pub type Rest = Function<IdleArguments, i64>;
/// `sledsim_mechanism`: a mechanism.
pub type Mechanism = Function<MechanismArguments, i64>;

impl<A, R> Clone for Function<A, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A, R> Copy for Function<A, R> {}

impl<A, R> fmt::Debug for Function<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Function").field(&(self.function as *const ())).finish()
    }
}

impl<A, R> Function<A, R> {
    /// Returns the function at an address.
    ///
    /// # Safety
    /// A C function with the signature `R function(const A *)` is at `address` until the process ends. Called from any thread, it reads
    /// only what its argument points to, writes only to the `state` there, keeps no pointer and does not unwind.
    pub unsafe fn at(address: NonNull<c_void>) -> Self {
        // SAFETY: the caller guarantees that the address is that of a function of this type.
        let function = unsafe { std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*const A) -> R>(address) };
        Self { function }
    }

    #[inline]
    fn call(self, arguments: &A) -> R {
        // SAFETY: by the contract of `at` the function takes an `A`. This module fills in every `A`: its pointers are to borrowed data
        // that outlive the call, as long as the counts beside them say.
        unsafe { (self.function)(arguments) }
    }
}

impl Pick {
    /// Returns the row to dispatch.
    ///
    /// # Panics
    /// The columns of `pending` have different lengths.
    pub fn pick(self, now: Time, pending: &Pending, memory: &mut Memory) -> i64 {
        let Pending { id, lbn, blocks, read, age_ns, positioning_ns } = pending;
        let count = id.len();
        assert_eq!([lbn.len(), blocks.len(), read.len(), age_ns.len()], [count; 4], "columns of one length");
        self.call(&PickArguments {
            now_ns: now.ns(),
            count: count as u64,
            id: id.as_ptr(),
            lbn: lbn.as_ptr(),
            blocks: blocks.as_ptr(),
            read: read.as_ptr(),
            age_ns: age_ns.as_ptr(),
            positioning_ns: optional_column(positioning_ns, count),
            memory: memory.arguments(),
        })
    }
}

impl Hear {
    /// Passes on an arrival or a completion.
    pub fn hear(self, at: Time, request: &Request, memory: &mut Memory) {
        self.call(&RequestArguments {
            at_ns: at.ns(),
            id: request.id,
            lbn: request.lbn,
            blocks: request.blocks,
            read: u32::from(request.op == Op::Read),
            memory: memory.arguments(),
        });
    }
}

/// Slot and keys of a [`CacheEvent`], where it has them.
#[derive(Clone, Copy, Debug)]
pub struct CacheKeys {
    pub slot: Option<u32>,
    pub key: u64,
    /// The key that left.
    pub evicted: Option<u64>,
}

impl Replace {
    /// Passes on an event of a cache with `slots` slots, and returns the answer.
    #[inline]
    pub fn replace(self, event: CacheEvent, keys: CacheKeys, slots: u32, memory: &mut Memory) -> i64 {
        self.call(&ReplaceArguments {
            what: event as u32,
            slot: keys.slot.unwrap_or(u32::MAX),
            key: keys.key,
            evicted: keys.evicted.unwrap_or(u64::MAX),
            slots: slots.into(),
            memory: memory.arguments(),
        })
    }
}

impl Choose {
    /// Returns the row of the copy that serves a read.
    ///
    /// # Panics
    /// The columns of `copies` have different lengths.
    pub fn choose(self, now: Time, request: &Request, copies: &Copies, memory: &mut Memory) -> i64 {
        let Copies { copy, member, pending, pending_blocks, next_lbn, positioning_ns } = copies;
        let count = copy.len();
        let lengths = [member.len(), pending.len(), pending_blocks.len(), next_lbn.len()];
        assert_eq!(lengths, [count; 4], "columns of one length");
        self.call(&ChooseArguments {
            now_ns: now.ns(),
            count: count as u64,
            copy: copy.as_ptr(),
            member: member.as_ptr(),
            pending: pending.as_ptr(),
            pending_blocks: pending_blocks.as_ptr(),
            next_lbn: next_lbn.as_ptr(),
            positioning_ns: optional_column(positioning_ns, count),
            id: request.id,
            lbn: request.lbn,
            blocks: request.blocks,
            read: u32::from(request.op == Op::Read),
            memory: memory.arguments(),
        })
    }
}

impl Note {
    /// Passes on an access of a member.
    pub fn note(self, at: Time, member: u32, access: &Request, memory: &mut Memory) {
        self.call(&AccessArguments {
            at_ns: at.ns(),
            id: access.id,
            lbn: access.lbn,
            blocks: access.blocks,
            read: u32::from(access.op == Op::Read),
            member: member.into(),
            memory: memory.arguments(),
        });
    }
}

impl Rest {
    /// Passes on an event of a device with idle modes, and returns the answer.
    ///
    /// # Panics
    /// There are more than [`MODES`] modes.
    pub fn rest(self, now: Time, event: IdleEvent<'_>, modes: &[Mode], memory: &mut Memory) -> i64 {
        assert!(modes.len() <= MODES, "{} modes, at most {MODES}", modes.len());
        let times = |value: fn(&Mode) -> u64| std::array::from_fn::<u64, MODES, _>(|at| modes.get(at).map_or(0, value));
        let powers =
            |value: fn(&Mode) -> f64| std::array::from_fn::<f64, MODES, _>(|at| modes.get(at).map_or(0.0, value));
        let (power_w, wake_w) = (powers(|mode| mode.power_w), powers(|mode| mode.wake_w));
        let (after_ns, wake_ns) = (times(|mode| mode.after_ns.unwrap_or(u64::MAX)), times(|mode| mode.wake_ns));
        let (number, mode, idle_ns, request) = match event {
            IdleEvent::After(mode) => (0, mode as u32, 0, None),
            IdleEvent::Ended(idle_ns) => (1, 0, idle_ns, None),
            IdleEvent::Served(request) => (2, 0, 0, Some(request)),
        };
        self.call(&IdleArguments {
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
            memory: memory.arguments(),
        })
    }
}

/// The block and direction of a query of a mechanism.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub lbn: u64,
    pub blocks: u32,
    pub is_read: bool,
}

impl Mechanism {
    /// Sends a query to the mechanism and returns the answer.
    pub fn ask(self, question: Question, now: Time, target: Target, memory: &mut Memory) -> i64 {
        self.call(&MechanismArguments {
            what: question as u32,
            read: target.is_read.into(),
            now_ns: now.ns(),
            lbn: target.lbn,
            blocks: target.blocks.into(),
            memory: memory.arguments(),
        })
    }
}

/// Returns a pointer to a column of `count` values, or null for an empty one, which the policy does without.
fn optional_column(column: &[u64], count: usize) -> *const u64 {
    if column.is_empty() {
        return std::ptr::null();
    }
    assert_eq!(column.len(), count, "columns of one length");
    column.as_ptr()
}
