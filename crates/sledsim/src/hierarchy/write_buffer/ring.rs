//! The log: a ring of equal logs on the MEMS device, filled one after the other and freed in the same order.

use super::header::Run;
use super::table::Table;
use crate::convert::to_u32;
use crate::fault::Fault;

/// What is known of one log.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Its blocks that are the newest copies of disk blocks.
    valid: u32,
    /// Accesses under way that need it to stay as it is.
    pins: u32,
}

const _: () = assert!(std::mem::size_of::<Slot>() == 8, "a log takes 8 bytes, as the docs say");

/// The logs, which of them are in use, and where the next record goes. It takes 8 bytes for each log besides the table.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    /// Blocks of one log.
    pub(super) slot_blocks: u32,
    slots: Vec<Slot>,
    /// The oldest log in use.
    tail: u32,
    /// Logs in use, the one that is being filled included.
    used: u32,
    /// Blocks filled of the newest log.
    offset: u32,
    pub(super) table: Table,
}

impl Ring {
    pub(super) fn new(slots: u32, slot_blocks: u32) -> Result<Self, Fault> {
        let table = Table::new(u64::from(slots) * u64::from(slot_blocks))?;
        Ok(Self { slot_blocks, slots: vec![Slot::default(); slots as usize], tail: 0, used: 1, offset: 0, table })
    }

    pub(super) fn slots(&self) -> u32 {
        to_u32(self.slots.len())
    }

    /// Logs that hold something.
    pub(super) fn filled(&self) -> u32 {
        self.used - u32::from(self.offset == 0)
    }

    /// Data blocks that the next record can have, 0 where no log is free. Begins a log where the last one is full.
    pub(super) fn room(&mut self) -> u32 {
        if self.offset + 2 > self.slot_blocks {
            if self.used == self.slots() {
                return 0;
            }
            self.used += 1;
            self.offset = 0;
        }
        self.slot_blocks - self.offset - 1
    }

    /// Where the next record begins, in blocks of the MEMS device.
    pub(super) fn head(&self) -> u32 {
        (self.tail + self.used - 1) % self.slots() * self.slot_blocks + self.offset
    }

    fn slot(&mut self, at: u32) -> &mut Slot {
        &mut self.slots[(at / self.slot_blocks) as usize]
    }

    /// A record is in the log at the head; returns how many older copies it has outdated.
    pub(super) fn append(&mut self, runs: &[Run]) -> u64 {
        let at = self.head();
        let blocks: u32 = runs.iter().map(|run| run.blocks).sum();
        self.offset += 1 + blocks;
        self.enter(at, runs)
    }

    /// The blocks behind a header at `at` are the newest copies of these.
    pub(super) fn enter(&mut self, at: u32, runs: &[Run]) -> u64 {
        let lbns = runs.iter().flat_map(|run| run.lbn..run.lbn + u64::from(run.blocks));
        let mut outdated = 0;
        for (at, lbn) in (at + 1..).zip(lbns) {
            if let Some(before) = self.table.put(lbn, at) {
                self.slot(before).valid -= 1;
                outdated += 1;
            }
            self.slot(at).valid += 1;
        }
        outdated
    }

    /// A log block need not be kept any more.
    pub(super) fn release(&mut self, at: u32) {
        if self.table.remove(at) {
            self.slot(at).valid -= 1;
        }
    }

    /// Keeps the log of a block as it is.
    pub(super) fn pin(&mut self, at: u32) {
        self.slot(at).pins += 1;
    }

    /// Takes back one [`Ring::pin`].
    pub(super) fn unpin(&mut self, at: u32) {
        self.slot(at).pins -= 1;
    }

    /// Frees the oldest logs that nobody needs; returns how many.
    pub(super) fn free(&mut self) -> u32 {
        let before = self.used;
        while self.used > 1 && matches!(self.slots[self.tail as usize], Slot { valid: 0, pins: 0 }) {
            self.tail = (self.tail + 1) % self.slots();
            self.used -= 1;
        }
        before - self.used
    }

    /// The first blocks of the oldest logs, at most so many, without the one that is being filled.
    pub(super) fn oldest(&self, most: u32) -> impl Iterator<Item = u32> + '_ {
        (0..most.min(self.used - 1)).map(|age| (self.tail + age) % self.slots() * self.slot_blocks)
    }

    /// Blocks of the log that begins at `at` that are the newest copies, with what they are copies of.
    pub(super) fn valid(&self, at: u32) -> impl Iterator<Item = (u64, u32)> + '_ {
        (at..at + self.slot_blocks).filter_map(|at| Some((self.table.holds(at)?, at)))
    }

    /// Blocks of the log that begins at `at` that are the newest copies.
    pub(super) fn valid_blocks(&self, at: u32) -> u32 {
        self.slots[(at / self.slot_blocks) as usize].valid
    }

    /// Whether the table is in order, and logs in use, and they alone, have as many valid blocks as is known.
    pub(super) fn is_sound(&self) -> bool {
        let (slots, head) = (self.slots(), self.head());
        let in_use = |slot: u32| (slot + slots - self.tail) % slots < self.used;
        let right = |(slot, known): (u32, &Slot)| {
            let valid = to_u32(self.valid(slot * self.slot_blocks).count());
            known.valid == valid && (in_use(slot) || (known.valid, known.pins) == (0, 0))
        };
        let fits = self.tail < slots && (1..=slots).contains(&self.used) && self.offset <= self.slot_blocks;
        // What comes next goes where nothing is needed.
        let newest = head - self.offset;
        let is_free = (head..newest + self.slot_blocks).all(|at| self.table.holds(at).is_none());
        fits && is_free && (0..).zip(&self.slots).all(right) && self.table.is_sound()
    }

    /// Forgets who needs what.
    pub(super) fn unpin_all(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.pins = 0);
    }

    /// Starts anew with the logs from `tail` on in use, `used` of them, the newest filled up to `offset`, and an empty table.
    pub(super) fn restore(&mut self, tail: u32, used: u32, offset: u32) {
        self.slots.fill(Slot::default());
        self.table.clear();
        (self.tail, self.used, self.offset) = (tail, used, offset);
    }
}
