//! The contracts of custom policies and mechanisms: one trait for each role.

use dyn_clone::DynClone;

use crate::engine::Stop;
use crate::power::Mode;
use crate::request::Request;
use crate::time::Time;

/// The pending requests of a device in order of arrival: a column for each quantity, a row for each request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// Ids of the requests, ascending.
    pub id: Vec<u64>,
    /// First blocks.
    pub lbn: Vec<u64>,
    /// Sizes in blocks.
    pub blocks: Vec<u32>,
    /// 1 for a read, 0 for a write.
    pub read: Vec<u8>,
    /// Times since the requests became ready, ns.
    pub age_ns: Vec<u64>,
    /// Times from a dispatch now until the first bit can be transferred, ns; empty for a policy that does not use them.
    pub positioning_ns: Vec<u64>,
}

impl Pending {
    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// Returns true if there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.id.is_empty()
    }
}

/// A custom scheduling policy. A clone continues independently from the same state.
pub trait CustomScheduler: DynClone + Send {
    /// Returns the name for messages.
    fn name(&self) -> &str;

    /// Returns true if the policy uses positioning times, which are expensive to compute.
    fn uses_positioning(&self) -> bool {
        true
    }

    /// Returns the row of `pending`, which is not empty, to dispatch at `now`. The policy may move the columns out, but must put
    /// them back.
    ///
    /// # Errors
    /// The policy failed; the run stops.
    fn pick(&mut self, now: Time, pending: &mut Pending) -> Result<usize, Stop>;

    /// Takes note of a request that became ready at `ready`, now or earlier.
    ///
    /// # Errors
    /// The policy failed; the run stops.
    fn arrived(&mut self, ready: Time, request: &Request) -> Result<(), Stop> {
        let _ = (ready, request);
        Ok(())
    }

    /// Takes note of a request that has been served.
    ///
    /// # Errors
    /// The policy failed; the run stops.
    fn completed(&mut self, now: Time, request: &Request) -> Result<(), Stop> {
        let _ = (now, request);
        Ok(())
    }
}

dyn_clone::clone_trait_object!(CustomScheduler);

/// A custom replacement policy. Keys are in slots, numbered from 0; the policy chooses the slot to evict. Only the notifications
/// ([`admitted`](CustomReplacement::admitted), [`hit`](CustomReplacement::hit), [`removed`](CustomReplacement::removed)) change
/// its state. A clone continues independently from the same state.
pub trait CustomReplacement: DynClone + Send {
    /// Returns the name for messages.
    fn name(&self) -> &str;

    /// Sets the time and the request, if any, that the next calls belong to, for messages. Decisions must not depend on it: a
    /// cache without a clock does not call it.
    fn set_context(&mut self, now: Time, request: Option<u64>) {
        let _ = (now, request);
    }

    /// Returns true if [`CustomReplacement::admits`] may return false.
    fn chooses_admissions(&self) -> bool {
        false
    }

    /// Returns true if `key`, which is referenced and not in the cache, is to be admitted. It is called once for each such
    /// reference, if the policy [chooses admissions](CustomReplacement::chooses_admissions).
    ///
    /// # Errors
    /// The policy failed; the run stops.
    fn admits(&mut self, key: u64) -> Result<bool, Stop> {
        let _ = key;
        Ok(true)
    }

    /// Returns the slot to give to `key` when every slot is in use, without changing state. `after` is the slot returned before,
    /// whose key can't be evicted now: the policy returns the next choice, and sooner or later each slot.
    ///
    /// # Errors
    /// The policy failed; the run stops.
    fn victim(&mut self, key: u64, after: Option<u32>) -> Result<u32, Stop>;

    /// Takes note of `key`, admitted to `slot` in place of `evicted`, or to a free slot.
    ///
    /// # Errors
    /// The policy failed; the run stops.
    fn admitted(&mut self, slot: u32, key: u64, evicted: Option<u64>) -> Result<(), Stop>;

    /// Takes note of a reference to the key in `slot`.
    ///
    /// # Errors
    /// The policy failed; the run stops.
    fn hit(&mut self, slot: u32, key: u64) -> Result<(), Stop>;

    /// Takes note of a key that left `slot` other than by eviction; the slot is free.
    ///
    /// # Errors
    /// The policy failed; the run stops.
    fn removed(&mut self, slot: u32, key: u64) -> Result<(), Stop> {
        let _ = (slot, key);
        Ok(())
    }
}

dyn_clone::clone_trait_object!(CustomReplacement);

/// The copies of a mirror that can serve a read, by ascending number: a column for each quantity, a row for each copy. Copies
/// that have failed or lack the blocks are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// Numbers of the copies from 0, ascending.
    pub copy: Vec<u32>,
    /// Numbers of the members that hold the copies; different from the copy's number for a spare.
    pub member: Vec<u32>,
    /// Outstanding accesses of each member, including those of writes and rebuilds.
    pub pending: Vec<u64>,
    /// Blocks of the outstanding accesses.
    pub pending_blocks: Vec<u64>,
    /// The block after the last access sent to each member; 0 before the first.
    pub next_lbn: Vec<u64>,
    /// Times until the first block could be reached if nothing else were pending, from the end of the current service, ns;
    /// [`Copies::UNKNOWN`] if not known. Empty for a policy that does not use them.
    pub positioning_ns: Vec<u64>,
}

impl Copies {
    /// Value of an unknown positioning time.
    pub const UNKNOWN: u64 = u64::MAX;

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.copy.len()
    }

    /// Returns true if there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.copy.is_empty()
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        let Self { copy, member, pending, pending_blocks, next_lbn, positioning_ns } = self;
        copy.clear();
        member.clear();
        [pending, pending_blocks, next_lbn, positioning_ns].into_iter().for_each(Vec::clear);
    }
}

/// A custom policy that chooses the copy of a mirror that serves a read. A clone continues independently from the same state.
pub trait CustomMirror: DynClone + Send {
    /// Returns the name for messages.
    fn name(&self) -> &str;

    /// Returns true if the policy uses positioning times, which are expensive to compute.
    fn uses_positioning(&self) -> bool {
        true
    }

    /// Returns the row of `copies`, which is not empty, that serves `request`, a read. The policy may move the columns out, but
    /// must put them back.
    ///
    /// # Errors
    /// The policy failed; the run stops.
    fn pick(&mut self, now: Time, request: &Request, copies: &mut Copies) -> Result<usize, Stop>;

    /// Takes note of an access sent to a member: a read, or an access for a write or a rebuild.
    ///
    /// # Errors
    /// The policy failed; the run stops.
    fn arrived(&mut self, now: Time, member: u32, access: &Request) -> Result<(), Stop> {
        let _ = (now, member, access);
        Ok(())
    }

    /// Takes note of an access that a member completed, successfully or not. An access that a power cut ends is not reported.
    ///
    /// # Errors
    /// The policy failed; the run stops.
    fn completed(&mut self, now: Time, member: u32, access: &Request) -> Result<(), Stop> {
        let _ = (now, member, access);
        Ok(())
    }
}

dyn_clone::clone_trait_object!(CustomMirror);

/// A custom spin-down policy: decides when an idle device enters its lower modes. A clone continues independently from the same
/// state.
///
/// [`CustomSpinDown::after_ns`] is called before the run and after each request that the device serves, for each mode
/// below the ready one, from the upper ones down. A mode that would be entered later than a lower one is skipped.
pub trait CustomSpinDown: DynClone + Send {
    /// Returns the name for messages.
    fn name(&self) -> &str;

    /// Returns the idle time, ns, after which the device enters mode number `mode` of `modes`, from 1, in an idle period that
    /// begins at `now` or later; `None` for never. The times in `modes` are those without a policy.
    ///
    /// # Errors
    /// The policy failed; the run stops.
    fn after_ns(&mut self, now: Time, mode: usize, modes: &[Mode]) -> Result<Option<u64>, Stop>;

    /// Takes note of an idle period of `idle_ns`, at least 1, ended by a request that is dispatched at `now`.
    ///
    /// # Errors
    /// The policy failed; the run stops.
    fn ended(&mut self, now: Time, idle_ns: u64, modes: &[Mode]) -> Result<(), Stop> {
        let _ = (now, idle_ns, modes);
        Ok(())
    }

    /// Takes note of a request, after which the device is free at `now`. [`CustomSpinDown::after_ns`] is called next.
    ///
    /// # Errors
    /// The policy failed; the run stops.
    fn served(&mut self, now: Time, request: &Request) -> Result<(), Stop> {
        let _ = (now, request);
        Ok(())
    }
}

dyn_clone::clone_trait_object!(CustomSpinDown);

/// A custom mechanism; it keeps its own position. A clone continues independently from the same state.
pub trait CustomMechanism: DynClone + Send {
    /// Returns the name for messages.
    fn name(&self) -> &str;

    /// Returns the number of addressable blocks, from 1 to 10^15; constant.
    fn capacity_blocks(&self) -> u64;

    /// Returns the size of a block, from 1 to 2^20 bytes; constant.
    fn block_bytes(&self) -> u32 {
        512
    }

    /// Returns the time in ns from `now`, when the mechanism is ready and free, until the first bit of block `lbn` can be read or
    /// written. It changes nothing.
    ///
    /// # Errors
    /// The mechanism failed; the run stops.
    fn positioning_ns(&mut self, now: Time, lbn: u64, read: bool) -> Result<u64, Stop>;

    /// Serves a request whose first bit passes at `now`, after positioning. Returns the transfer time, ns.
    ///
    /// # Errors
    /// The mechanism failed; the run stops.
    fn serve(&mut self, now: Time, request: &Request) -> Result<u64, Stop>;

    /// Empties volatile memory, such as a read buffer: power fails at `now`. The data of completed writes are on the medium.
    ///
    /// # Errors
    /// The mechanism failed; the run stops.
    fn power_cut(&mut self, _now: Time) -> Result<(), Stop> {
        Ok(())
    }
}

dyn_clone::clone_trait_object!(CustomMechanism);
