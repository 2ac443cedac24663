//! The set of values that each block may have, given the order of writes, acknowledgements, flushes and power cuts. Compared with
//! the data that is read, it finds lost and wrong blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::engine::data::Payload;
use crate::request::Request;

/// A write to a block. Times are ticks: each submission and each completion is one tick.
#[derive(Clone, Copy, Debug)]
struct Write {
    id: u64,
    submitted: u64,
    acknowledged: Option<u64>,
    /// When it became durable: it survives power cuts from then on.
    durable: Option<u64>,
}

impl Write {
    /// Returns true if it was acknowledged before a tick.
    fn is_before(&self, tick: u64) -> bool {
        self.acknowledged.is_some_and(|at| at < tick)
    }
}

/// The latest submission among the writes for which `done` lies before a tick; 0 if there is none.
fn latest(writes: &[Write], done: impl Fn(&Write) -> Option<u64>, before: u64) -> u64 {
    let over = writes.iter().filter(|write| done(write).is_some_and(|at| at < before));
    over.map(|write| write.submitted).max().unwrap_or(0)
}

/// The state of a block after a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// The latest acknowledged write, or one that was outstanding.
    Kept,
    /// An older write: the newer acknowledged ones were not durable.
    Lost,
    /// Neither: a durable write is missing.
    Broken,
}

/// The possible content of each block: a read may return a write that was submitted before the read ends, unless a later write,
/// submitted after the acknowledgement of that one, was acknowledged before the read began.
#[derive(Debug, Default)]
pub struct Oracle {
    blocks: BTreeMap<u64, Vec<Write>>,
    /// Blocks with writes that are acknowledged but not durable.
    volatile: BTreeSet<u64>,
    tick: u64,
}

/// The number of the initial content of every block.
const BLANK: u64 = 0;

impl Oracle {
    /// Advances to the next tick and returns it.
    pub fn tick(&mut self) -> u64 {
        self.tick += 1;
        self.tick
    }

    fn writes(&mut self, block: u64) -> &mut Vec<Write> {
        let blank = Write { id: BLANK, submitted: 0, acknowledged: Some(0), durable: Some(0) };
        self.blocks.entry(block).or_insert_with(|| vec![blank])
    }

    /// Records the submission of a write to blocks. Its number must not be 0.
    pub fn submitted(&mut self, id: u64, blocks: Range<u64>, tick: u64) {
        for block in blocks {
            self.writes(block).push(Write { id, submitted: tick, acknowledged: None, durable: None });
        }
    }

    /// Records the acknowledgement of a write of blocks.
    pub fn acknowledged(&mut self, id: u64, blocks: Range<u64>, tick: u64, is_durable: bool) {
        for block in blocks {
            if let Some(write) = self.writes(block).iter_mut().find(|write| write.id == id) {
                (write.acknowledged, write.durable) = (Some(tick), is_durable.then_some(tick));
                if !is_durable {
                    self.volatile.insert(block);
                }
            }
        }
    }

    /// Records the acknowledgement of a flush at `tick` that was submitted at `began`: writes acknowledged before `began` are
    /// durable.
    pub fn flushed(&mut self, began: u64, tick: u64) {
        for block in std::mem::take(&mut self.volatile) {
            let acknowledged = self.writes(block).iter_mut().filter(|write| write.acknowledged.is_some());
            let mut is_left = false;
            for write in acknowledged.filter(|write| write.durable.is_none()) {
                let is_covered = write.is_before(began);
                write.durable = is_covered.then_some(tick);
                is_left |= !is_covered;
            }
            if is_left {
                self.volatile.insert(block);
            }
        }
    }

    /// The numbers of the writes that a read of a block submitted at `began` may return.
    pub fn allowed(&mut self, block: u64, began: u64) -> impl Iterator<Item = u64> + '_ {
        let writes = self.writes(block);
        let latest = latest(writes, |write| write.acknowledged, began);
        writes.iter().filter(move |write| !write.is_before(latest)).map(|write| write.id)
    }

    /// The state of a block from its content after a power cut, before any other write. `lbn` is the address that it was read by.
    pub fn state_of(&mut self, block: u64, lbn: u64, bytes: &[u8]) -> BlockState {
        if self.allowed(block, u64::MAX).any(|id| holds(bytes, lbn, id)) {
            return BlockState::Kept;
        }
        let writes = self.writes(block);
        let latest = latest(writes, |write| write.durable, u64::MAX);
        let is_possible =
            writes.iter().filter(|write| !write.is_before(latest)).any(|write| holds(bytes, lbn, write.id));
        if is_possible {
            BlockState::Lost
        } else {
            BlockState::Broken
        }
    }

    /// Records a power cut: writes that were not durable may be lost, and outstanding writes may have been made.
    pub fn power_cut(&mut self) {
        self.volatile.clear();
        for writes in self.blocks.values_mut() {
            let latest = latest(writes, |write| write.durable, u64::MAX);
            writes.retain(|write| !write.is_before(latest));
            // Any of the remaining writes may be read.
            writes.iter_mut().for_each(|write| write.acknowledged = None);
        }
    }

    /// Drops the writes to a block that no read can return any more, if all outstanding requests were submitted at `since` or
    /// later. If `is_volatile`, power cuts may lose acknowledged writes, so the latest durable write is kept.
    pub fn prune(&mut self, block: u64, since: u64, is_volatile: bool) {
        let writes = self.writes(block);
        let latest = latest(writes, |write| if is_volatile { write.durable } else { write.acknowledged }, since);
        writes.retain(|write| !write.is_before(latest));
    }

    /// Every block that was ever written.
    #[must_use]
    pub fn blocks(&self) -> Vec<u64> {
        self.blocks.keys().copied().collect()
    }

    /// Records that a block was read after a power cut and holds a write, which it keeps from now on.
    pub fn settle(&mut self, block: u64, id: u64) {
        let tick = self.tick();
        let writes = self.writes(block);
        writes.retain(|write| write.id == id);
        writes.iter_mut().for_each(|write| (write.acknowledged, write.durable) = (Some(tick), Some(tick)));
    }
}

/// The pattern that a write repeats in a block; zeroes for the initial content.
fn stamp(lbn: u64, id: u64) -> [u8; 16] {
    let words = if id == BLANK { 0 } else { u128::from(id) << 64 | u128::from(lbn) };
    words.to_le_bytes()
}

/// The data of a write with a number.
#[must_use]
pub fn stamped(request: &Request, id: u64, block_bytes: u32) -> Payload {
    let mut bytes = vec![0; request.blocks as usize * block_bytes as usize];
    for (lbn, block) in (request.lbn..).zip(bytes.chunks_mut(block_bytes as usize)) {
        let stamp = stamp(lbn, id);
        block.chunks_mut(stamp.len()).for_each(|chunk| chunk.copy_from_slice(&stamp[..chunk.len()]));
    }
    Payload::of(&bytes)
}

/// Returns true if a block holds the data of a write.
#[must_use]
pub fn holds(block: &[u8], lbn: u64, id: u64) -> bool {
    let stamp = stamp(lbn, id);
    block.chunks(stamp.len()).all(|chunk| *chunk == stamp[..chunk.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Flags, Op, Padding};
    use crate::time::Time;

    fn bytes(id: u64) -> Vec<u8> {
        let (op, flags, padding) = (Op::Write, Flags::NONE, Padding::NONE);
        let request = Request { id, arrival: Time::ZERO, lbn: 7, blocks: 1, op, flags, origin: 0, padding };
        stamped(&request, id, 512).bytes().expect("it has bytes").to_vec()
    }

    /// Writes 1 and 2 are acknowledged, and 1 is durable; 3 is outstanding.
    #[test]
    fn lost_blocks_differ_from_broken_ones() {
        let mut oracle = Oracle::default();
        for id in 1..=3 {
            let tick = oracle.tick();
            oracle.submitted(id, 7..8, tick);
            if id < 3 {
                let tick = oracle.tick();
                oracle.acknowledged(id, 7..8, tick, id == 1);
            }
        }
        let states = [0, 1, 2, 3, 9].map(|id| oracle.state_of(7, 7, &bytes(id)));
        use BlockState::{Broken, Kept, Lost};
        assert_eq!(states, [Broken, Lost, Kept, Kept, Broken]);
        assert_eq!(oracle.state_of(8, 8, &bytes(2)), Broken, "an unwritten block is blank");
        oracle.power_cut();
        assert_eq!(oracle.state_of(7, 7, &bytes(1)), Kept, "lost by the previous cut");
        assert_eq!(oracle.state_of(7, 7, &bytes(0)), Broken, "durable before both cuts");
    }
}
