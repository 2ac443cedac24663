//! What each block may hold: writes on their way, acknowledged and promised, and what a power cut leaves of them.

mod testing;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::engine::data::Payload;
use crate::request::Request;

/// A write to a block, in ticks: each submission and each completion is one.
#[derive(Clone, Copy, Debug)]
struct Write {
    id: u64,
    submitted: u64,
    acknowledged: Option<u64>,
    /// When it was promised to outlive a power cut.
    promised: Option<u64>,
}

impl Write {
    /// Whether it was acknowledged before a tick.
    fn is_before(&self, tick: u64) -> bool {
        self.acknowledged.is_some_and(|at| at < tick)
    }
}

/// When the latest of those writes was submitted for which something was done before a tick; 0 if it was for none.
fn latest(writes: &[Write], done: impl Fn(&Write) -> Option<u64>, before: u64) -> u64 {
    let over = writes.iter().filter(|write| done(write).is_some_and(|at| at < before));
    over.map(|write| write.submitted).max().unwrap_or(0)
}

/// What was found in a block after power was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The latest write that was acknowledged, or one that was under way.
    Kept,
    /// An older write: a newer one had been acknowledged, but not promised to outlive that.
    Lost,
    /// What was promised to be there is not.
    Broken,
}

/// What each block may hold: a read that begins at a tick and ends at another may find a write that was submitted before its
/// end, unless another, submitted after that one was acknowledged, was itself acknowledged before the read began.
#[derive(Debug, Default)]
pub struct Oracle {
    blocks: BTreeMap<u64, Vec<Write>>,
    /// Blocks with writes that are acknowledged and not promised.
    unpromised: BTreeSet<u64>,
    tick: u64,
}

/// A block as nobody has written it.
const BLANK: u64 = 0;

impl Oracle {
    /// The next tick.
    pub fn tick(&mut self) -> u64 {
        self.tick += 1;
        self.tick
    }

    fn writes(&mut self, block: u64) -> &mut Vec<Write> {
        let blank = Write { id: BLANK, submitted: 0, acknowledged: Some(0), promised: Some(0) };
        self.blocks.entry(block).or_insert_with(|| vec![blank])
    }

    /// A write, whose number is not 0, goes to blocks at a tick.
    pub fn submitted(&mut self, id: u64, blocks: Range<u64>, tick: u64) {
        for block in blocks {
            self.writes(block).push(Write { id, submitted: tick, acknowledged: None, promised: None });
        }
    }

    /// A write of blocks has been acknowledged, at a tick, and perhaps promised to outlive a power cut.
    pub fn acknowledged(&mut self, id: u64, blocks: Range<u64>, tick: u64, is_promised: bool) {
        for block in blocks {
            if let Some(write) = self.writes(block).iter_mut().find(|write| write.id == id) {
                (write.acknowledged, write.promised) = (Some(tick), is_promised.then_some(tick));
                if !is_promised {
                    self.unpromised.insert(block);
                }
            }
        }
    }

    /// A flush that began at a tick has been acknowledged, at another: what had been acknowledged before is promised.
    pub fn flushed(&mut self, began: u64, tick: u64) {
        for block in std::mem::take(&mut self.unpromised) {
            let acknowledged = self.writes(block).iter_mut().filter(|write| write.acknowledged.is_some());
            let mut is_left = false;
            for write in acknowledged.filter(|write| write.promised.is_none()) {
                let is_covered = write.is_before(began);
                write.promised = is_covered.then_some(tick);
                is_left |= !is_covered;
            }
            if is_left {
                self.unpromised.insert(block);
            }
        }
    }

    /// Which writes a read of a block that began at `began` may find.
    pub fn allowed(&mut self, block: u64, began: u64) -> impl Iterator<Item = u64> + '_ {
        let writes = self.writes(block);
        let latest = latest(writes, |write| write.acknowledged, began);
        writes.iter().filter(move |write| !write.is_before(latest)).map(|write| write.id)
    }

    /// What the bytes of a block say that was read from `lbn` after power was cut, before anything else was written.
    pub fn found(&mut self, block: u64, lbn: u64, bytes: &[u8]) -> Found {
        if self.allowed(block, u64::MAX).any(|id| holds(bytes, lbn, id)) {
            return Found::Kept;
        }
        let writes = self.writes(block);
        let latest = latest(writes, |write| write.promised, u64::MAX);
        let may_be = writes.iter().filter(|write| !write.is_before(latest)).any(|write| holds(bytes, lbn, write.id));
        if may_be {
            Found::Lost
        } else {
            Found::Broken
        }
    }

    /// Power was cut: what was not promised may be gone, and what was under way may be there.
    pub fn cut(&mut self) {
        self.unpromised.clear();
        for writes in self.blocks.values_mut() {
            let latest = latest(writes, |write| write.promised, u64::MAX);
            writes.retain(|write| !write.is_before(latest));
            // All that is left may be found, until it has been looked at.
            writes.iter_mut().for_each(|write| write.acknowledged = None);
        }
    }

    /// Forgets what no read can find any more: those under way began at `since` or later. What is not promised yet may come
    /// back where power cuts may take what was acknowledged (`is_volatile`).
    pub fn prune(&mut self, block: u64, since: u64, is_volatile: bool) {
        let writes = self.writes(block);
        let latest = latest(writes, |write| if is_volatile { write.promised } else { write.acknowledged }, since);
        writes.retain(|write| !write.is_before(latest));
    }
}

/// What a write puts into a block, over and over; zeroes where nobody has written.
fn stamp(lbn: u64, id: u64) -> [u8; 16] {
    let words = if id == BLANK { 0 } else { u128::from(id) << 64 | u128::from(lbn) };
    words.to_le_bytes()
}

/// What a write with a number puts into its blocks.
#[must_use]
pub fn stamped(request: &Request, id: u64, block_bytes: u32) -> Payload {
    let mut bytes = vec![0; request.blocks as usize * block_bytes as usize];
    for (lbn, block) in (request.lbn..).zip(bytes.chunks_mut(block_bytes as usize)) {
        let stamp = stamp(lbn, id);
        block.chunks_mut(stamp.len()).for_each(|chunk| chunk.copy_from_slice(&stamp[..chunk.len()]));
    }
    Payload::of(&bytes)
}

/// Whether a block holds what a write put there.
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

    /// Writes 1 and 2 are acknowledged, the first one promised; 3 is under way.
    #[test]
    fn what_a_cut_took_is_told_from_what_it_could_not_take() {
        let mut oracle = Oracle::default();
        for id in 1..=3 {
            let tick = oracle.tick();
            oracle.submitted(id, 7..8, tick);
            if id < 3 {
                let tick = oracle.tick();
                oracle.acknowledged(id, 7..8, tick, id == 1);
            }
        }
        let found = [0, 1, 2, 3, 9].map(|id| oracle.found(7, 7, &bytes(id)));
        assert_eq!(found, [Found::Broken, Found::Lost, Found::Kept, Found::Kept, Found::Broken]);
        assert_eq!(oracle.found(8, 8, &bytes(2)), Found::Broken, "a block that nobody has written is blank");
        oracle.cut();
        assert_eq!(oracle.found(7, 7, &bytes(1)), Found::Kept, "lost by the cut before this one");
        assert_eq!(oracle.found(7, 7, &bytes(0)), Found::Broken, "promised before both");
    }
}
