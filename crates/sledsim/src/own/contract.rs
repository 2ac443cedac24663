//! What policies of one's own are asked and told: a contract for each role.

use dyn_clone::DynClone;

use crate::engine::Stop;
use crate::request::Request;
use crate::time::Time;

/// What is pending, in the order of arrival: a column for each quantity, a row for each request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// Numbers of the requests; they rise.
    pub id: Vec<u64>,
    /// First blocks.
    pub lbn: Vec<u64>,
    /// Sizes, blocks.
    pub blocks: Vec<u32>,
    /// 1 for a read, 0 for a write.
    pub read: Vec<u8>,
    /// Times since the requests became ready, ns.
    pub age_ns: Vec<u64>,
    /// Times from a dispatch now until the first bit can be transferred, ns, as the device reckons them; empty for a policy
    /// that does without.
    pub positioning_ns: Vec<u64>,
}

impl Pending {
    /// How many requests are pending.
    #[must_use]
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.id.is_empty()
    }
}

/// A scheduling policy that is no part of the simulator. A clone of it goes on as it does.
pub trait OwnScheduler: DynClone + Send {
    /// What messages call it.
    fn name(&self) -> &str;

    /// Whether it looks at positioning times; finding them takes longer than all else.
    fn looks_at_positioning(&self) -> bool {
        true
    }

    /// Which row of `pending`, which is not empty, is dispatched at `now`. It may take the columns and has to put them back.
    ///
    /// # Errors
    /// It can't go on.
    fn pick(&mut self, now: Time, pending: &mut Pending) -> Result<usize, Stop>;

    /// A request became ready at `ready`, which may lie some time back.
    ///
    /// # Errors
    /// It can't go on.
    fn arrived(&mut self, ready: Time, request: &Request) -> Result<(), Stop> {
        let _ = (ready, request);
        Ok(())
    }

    /// A request has been served.
    ///
    /// # Errors
    /// It can't go on.
    fn completed(&mut self, now: Time, request: &Request) -> Result<(), Stop> {
        let _ = (now, request);
        Ok(())
    }
}

dyn_clone::clone_trait_object!(OwnScheduler);

/// A replacement policy that is no part of the simulator: keys are in slots, numbered from 0, and it says which key makes room.
/// What it is told of is what happened; only that changes what it remembers. A clone of it goes on as it does.
pub trait OwnReplacement: DynClone + Send {
    /// What messages call it.
    fn name(&self) -> &str;

    /// Where the run is from now on: the time, and the request that is under way, if one is. Messages name it; a policy's answers
    /// are not to depend on it, as a cache without a clock has none.
    fn at(&mut self, now: Time, request: Option<u64>) {
        let _ = (now, request);
    }

    /// Whether it is asked which keys come in at all.
    fn chooses_admissions(&self) -> bool {
        false
    }

    /// Whether `key`, which is referenced and not there, is to come in; asked once for each such reference, if it
    /// [chooses admissions](OwnReplacement::chooses_admissions).
    ///
    /// # Errors
    /// It can't go on.
    fn admits(&mut self, key: u64) -> Result<bool, Stop> {
        let _ = key;
        Ok(true)
    }

    /// Which slot is to be given to `key`, with every slot in use; `after` is the slot that it chose before, whose key may not
    /// leave now: the next choice then, so that sooner or later each slot is chosen. It changes nothing.
    ///
    /// # Errors
    /// It can't go on.
    fn victim(&mut self, key: u64, after: Option<u32>) -> Result<u32, Stop>;

    /// `key` has come into `slot`, for `evicted` if the slot was in use.
    ///
    /// # Errors
    /// It can't go on.
    fn admitted(&mut self, slot: u32, key: u64, evicted: Option<u64>) -> Result<(), Stop>;

    /// The key in `slot` is referenced.
    ///
    /// # Errors
    /// It can't go on.
    fn hit(&mut self, slot: u32, key: u64) -> Result<(), Stop>;

    /// The key has left `slot`, and not by its choice: the slot is free.
    ///
    /// # Errors
    /// It can't go on.
    fn removed(&mut self, slot: u32, key: u64) -> Result<(), Stop> {
        let _ = (slot, key);
        Ok(())
    }
}

dyn_clone::clone_trait_object!(OwnReplacement);

/// A mechanism that is no part of the simulator: where it stands is its own matter. A clone of it goes on as it does.
pub trait OwnDevice: DynClone + Send {
    /// What messages call it.
    fn name(&self) -> &str;

    /// Number of addressable blocks, from 1 to 10^15; the same at all times.
    fn capacity_blocks(&self) -> u64;

    /// Size of a block, from 1 to 2^20 bytes; the same at all times.
    fn block_bytes(&self) -> u32 {
        512
    }

    /// Time from `now` on until the first bit of block `lbn` can pass, ns, to be read or to be written: as the mechanism stands,
    /// which is ready and has nothing to do. It changes nothing.
    ///
    /// # Errors
    /// It can't go on.
    fn positioning_ns(&mut self, now: Time, lbn: u64, read: bool) -> Result<u64, Stop>;

    /// Serves a request whose first bit passes at `now`, after the positioning that it told: says how long the data take to pass,
    /// ns. It stands then where that leaves it.
    ///
    /// # Errors
    /// It can't go on.
    fn serve(&mut self, now: Time, request: &Request) -> Result<u64, Stop>;
}

dyn_clone::clone_trait_object!(OwnDevice);
