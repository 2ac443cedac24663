//! The lines of a cache: which there are, what is true of their blocks, and who may not leave.

use std::collections::BTreeSet;

use super::cells::{Cell, Cells};
use crate::engine::{Context, Memory, Payload};
use crate::hierarchy::cache::replacement::{PolicyFailure, Replacement, Slot};
use crate::hierarchy::common::{BlockSet, SameCapacity};
use crate::plugin::ReplacementChoice;
use crate::request::Request;
use crate::time::Time;

/// Most bytes that the set of dirty lines takes for each of them: nodes of a B-tree are at least five elevenths full.
const DIRTY_BYTES: usize = 24;

/// Blocks of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Number of the line.
    pub line: u64,
    /// First block within the line.
    pub from: u64,
    /// Block behind the last, within the line.
    pub to: u64,
    /// First block.
    pub lbn: u64,
}

impl Piece {
    /// Number of blocks.
    pub const fn blocks(&self) -> u64 {
        self.to - self.from
    }
}

/// The pieces of blocks `lbn` to `end`.
pub(super) fn pieces(lbn: u64, end: u64, line_blocks: u64) -> impl Iterator<Item = Piece> {
    let lines = lbn / line_blocks..end.div_ceil(line_blocks);
    lines.map(move |line| {
        let start = line * line_blocks;
        let (from, to) = (lbn.max(start) - start, end.min(start + line_blocks) - start);
        Piece { line, from, to, lbn: start + from }
    })
}

/// The lines of a cache.
#[derive(Clone)]
pub(super) struct Lines {
    spec: ReplacementChoice,
    policy: Box<dyn Replacement>,
    cells: Cells,
    /// By slot: how many reasons there are not to evict it. To be dirty is one.
    pins: SameCapacity<Vec<u32>>,
    /// Slots with a reason.
    pinned: u32,
    /// Lines with dirty blocks.
    dirty: BTreeSet<u64>,
    /// What blocks hold, in runs that hold data.
    memory: Memory,
    /// Blocks of a line.
    pub line_blocks: u64,
    block_bytes: u32,
    /// Whether bytes are kept.
    holds_data: bool,
}

impl Lines {
    /// `slots` empty lines.
    pub fn new(spec: &ReplacementChoice, slots: u32, line_blocks: u64, block_bytes: u32) -> Self {
        let mut policy = spec.build(slots);
        policy.expect_releases();
        Self {
            spec: spec.clone(),
            policy,
            cells: Cells::new(line_blocks),
            pins: SameCapacity::default(),
            pinned: 0,
            dirty: BTreeSet::new(),
            memory: Memory::default(),
            line_blocks,
            block_bytes,
            holds_data: false,
        }
    }

    /// Where the run is from now on, and with which request: what the policy is asked then can be placed.
    #[inline]
    pub fn at(&mut self, now: Time, request: Option<u64>) {
        self.policy.set_context(now, request);
    }

    /// Number of lines that there may be.
    pub fn capacity(&self) -> u32 {
        self.policy.capacity()
    }

    /// Number of dirty lines.
    pub fn dirty_lines(&self) -> u64 {
        self.dirty.len() as u64
    }

    /// Bytes allocated for tables and lists; of the set of dirty lines the most that it can be.
    pub fn memory_bytes(&self) -> usize {
        let pins = self.pins.capacity() * size_of::<u32>();
        self.policy.memory_bytes() + self.cells.memory_bytes() + pins + self.dirty.len() * DIRTY_BYTES
    }

    /// Whether a line can be admitted.
    pub fn has_room(&self) -> bool {
        self.policy.len() < self.policy.capacity() || self.pinned < self.policy.len()
    }

    /// The slot of a line that is in the cache.
    pub fn find(&self, line: u64) -> Option<Slot> {
        self.policy.find(line)
    }

    /// The slot of a line that can't have left, because it is pinned.
    ///
    /// # Panics
    /// If it is not there.
    pub fn held(&self, line: u64) -> Slot {
        self.find(line).unwrap_or_else(|| panic!("line {line} has left, though something is under way with it"))
    }

    /// Somebody uses a line.
    pub fn hit(&mut self, slot: Slot) {
        self.policy.hit(slot);
    }

    /// Whether every line of blocks `lbn` to `end` that is not there is to come in.
    #[inline]
    pub fn admits(&mut self, lbn: u64, end: u64) -> bool {
        let mut lines = pieces(lbn, end, self.line_blocks).map(|piece| piece.line);
        !self.policy.chooses_admissions()
            || lines.all(|line| self.policy.find(line).is_some() || self.policy.admits(line))
    }

    /// Whether every line of a request that has just come is there or is to come in.
    pub fn takes(&mut self, request: &Request, now: Time) -> bool {
        self.at(now, Some(request.id));
        self.admits(request.lbn, request.end_lbn())
    }

    /// Stops the run if a custom policy failed, and returns true if so. `request` is the one that the policy was called for.
    pub fn halts(&self, request: Option<&Request>, context: &mut Context<'_>) -> bool {
        let Some(PolicyFailure { stop, key }) = self.policy.failure() else { return false };
        context.stop(stop.located_at_key(context.now(), "line", *key, request));
        true
    }

    /// Brings in a line that is not there, empty; `None` where no other may leave. Tells how many blocks left that were read
    /// ahead for nothing.
    pub fn admit(&mut self, line: u64) -> Option<(Slot, u64)> {
        if !self.has_room() {
            return None;
        }
        let pins = &self.pins;
        let admission = self.policy.admit(line, &mut |slot| pins[slot as usize] == 0)?;
        let (slot, capacity) = (admission.slot, self.policy.capacity());
        self.cells.reach(slot, capacity);
        if slot as usize >= self.pins.len() {
            let wanted = (2 * self.pins.len()).max(16).min(capacity as usize).max(slot as usize + 1);
            let more = wanted - self.pins.len();
            self.pins.reserve_exact(more);
            self.pins.resize(wanted, 0);
        }
        let mut wasted = 0;
        if let Some(evicted) = admission.evicted {
            wasted = self.cells.count(slot, 0, self.line_blocks, |cell| cell.ahead);
            self.cells.change(slot, 0, self.line_blocks, |cell, _| *cell = Cell::default());
            if self.holds_data {
                self.memory.erase(evicted * self.line_blocks, self.line_blocks);
            }
        }
        Some((slot, wasted))
    }

    /// Keeps a line from leaving.
    pub fn pin(&mut self, slot: Slot) {
        let pins = &mut self.pins[slot as usize];
        self.pinned += u32::from(*pins == 0);
        *pins += 1;
    }

    /// Takes back a [`Lines::pin`].
    pub fn unpin(&mut self, slot: Slot) {
        let pins = &mut self.pins[slot as usize];
        *pins -= 1;
        if *pins == 0 {
            self.pinned -= 1;
            self.policy.released(slot);
        }
    }

    /// How many blocks of a piece have a property.
    pub fn count(&self, slot: Slot, piece: &Piece, has: impl Fn(&Cell) -> u64) -> u64 {
        self.cells.count(slot, piece.from, piece.to, has)
    }

    /// Blocks of a line, from the first to the last of `from` to `to`, that are neither there nor on their way.
    pub fn missing(&self, slot: Slot, from: u64, to: u64) -> Option<(u64, u64)> {
        self.cells.span(slot, from, to, |cell| !(cell.valid | cell.filling))
    }

    /// Somebody asks for blocks: of those that were read ahead, how many there are.
    pub fn ask(&mut self, slot: Slot, piece: &Piece) -> u64 {
        let asked = self.cells.count(slot, piece.from, piece.to, |cell| cell.ahead);
        if asked > 0 {
            self.cells.change(slot, piece.from, piece.to, |cell, mask| cell.ahead &= !mask);
        }
        asked
    }

    /// Puts new data into blocks, which are dirty then.
    pub fn write(&mut self, slot: Slot, piece: &Piece, data: &Payload) {
        self.store(piece.lbn, data);
        self.cells.change(slot, piece.from, piece.to, |cell, mask| {
            cell.valid |= mask;
            cell.dirty |= mask;
        });
        if self.dirty.insert(piece.line) {
            self.pin(slot);
        }
    }

    /// Blocks, which are valid, go to the child as they are now.
    pub fn clean(&mut self, slot: Slot, piece: &Piece) {
        self.cells.change(slot, piece.from, piece.to, |cell, mask| {
            cell.dirty &= !mask;
            cell.cleaning |= mask;
        });
        self.pin(slot);
        self.settle_dirty(slot, piece.line);
    }

    /// Puts new data into blocks that go to the child at once.
    pub fn write_through(&mut self, slot: Slot, piece: &Piece, data: &Payload) {
        self.store(piece.lbn, data);
        self.cells.change(slot, piece.from, piece.to, |cell, mask| cell.valid |= mask);
        self.clean(slot, piece);
    }

    /// The child has blocks as they were when they were cleaned; or it could not take them, and what was not written anew
    /// since is lost: tells how many.
    pub fn cleaned(&mut self, slot: Slot, piece: &Piece, is_written: bool) -> u64 {
        let mut lost = 0;
        self.cells.change(slot, piece.from, piece.to, |cell, mask| {
            let stale = if is_written { 0 } else { cell.cleaning & !cell.dirty & mask };
            lost += u64::from(stale.count_ones());
            cell.valid &= !stale;
            cell.cleaning &= !mask;
        });
        self.unpin(slot);
        lost
    }

    /// Blocks are being read.
    pub fn fill(&mut self, slot: Slot, piece: &Piece) {
        self.cells.change(slot, piece.from, piece.to, |cell, mask| cell.filling |= mask & !cell.valid);
        self.pin(slot);
    }

    /// Blocks have been read, or could not be (no data and not `is_read`). Those outside `asked` were read ahead: tells how
    /// many of them there are. What has been written since stays.
    pub fn filled(&mut self, slot: Slot, piece: &Piece, asked: (u64, u64), is_read: bool, data: &Payload) -> u64 {
        let start = piece.line * self.line_blocks;
        if is_read {
            for (at, lbn) in (piece.lbn..piece.lbn + piece.blocks()).enumerate().filter(|_| data.is_some()) {
                if self.cells.count(slot, lbn - start, lbn - start + 1, |cell| !cell.valid) > 0 {
                    self.store(lbn, &data.slice(at as u64, 1, self.block_bytes));
                }
            }
        }
        let mut ahead = 0;
        let mut settle = |from: u64, to: u64, is_ahead: bool| {
            if from < to {
                self.cells.change(slot, from, to, |cell, mask| {
                    let new = if is_read { mask & !cell.valid } else { 0 };
                    cell.valid |= new;
                    if is_ahead {
                        cell.ahead |= new;
                        ahead += u64::from(new.count_ones());
                    }
                    cell.filling &= !mask;
                });
            }
        };
        let (from, to) = (piece.from, piece.to);
        let first = asked.0.saturating_sub(start).clamp(from, to);
        let end = asked.1.saturating_sub(start).clamp(first, to);
        settle(from, first, true);
        settle(first, end, false);
        settle(end, to, true);
        self.unpin(slot);
        ahead
    }

    /// Dirty blocks that follow each other and are not being written, from `lbn` on: the first, and how many, at most `most`.
    pub fn dirty_run(&self, lbn: u64, most: u64) -> Option<(u64, u64)> {
        let waits = |cell: &Cell| cell.dirty & !cell.cleaning;
        let blocks = self.line_blocks;
        for &line in self.dirty.range(lbn / blocks..) {
            let from = if line == lbn / blocks { lbn % blocks } else { 0 };
            let slot = self.held(line);
            if let Some(at) = self.cells.first(slot, from, blocks, waits) {
                let start = line * blocks + at;
                return Some((start, (self.run_end(start) - start).min(most)));
            }
        }
        None
    }

    /// All dirty blocks.
    pub fn dirty_blocks(&self) -> BlockSet {
        let (mut all, blocks) = (BlockSet::default(), self.line_blocks);
        for &line in &self.dirty {
            let (slot, start) = (self.held(line), line * blocks);
            let mut at = 0;
            while at < blocks {
                let Some(from) = self.cells.first(slot, at, blocks, |cell| cell.dirty) else { break };
                at = self.cells.first(slot, from, blocks, |cell| !cell.dirty).unwrap_or(blocks);
                all.insert(start + from, start + at);
            }
        }
        all
    }

    /// Where the dirty blocks end that begin at `start`.
    fn run_end(&self, start: u64) -> u64 {
        let blocks = self.line_blocks;
        let (mut line, mut from) = (start / blocks, start % blocks);
        loop {
            if !self.dirty.contains(&line) {
                return line * blocks;
            }
            let slot = self.held(line);
            if let Some(end) = self.cells.first(slot, from, blocks, |cell| !(cell.dirty & !cell.cleaning)) {
                return line * blocks + end;
            }
            (line, from) = (line + 1, 0);
        }
    }

    /// Takes a line off the dirty ones if none of its blocks is dirty.
    fn settle_dirty(&mut self, slot: Slot, line: u64) {
        let is_clean = self.cells.first(slot, 0, self.line_blocks, |cell| cell.dirty).is_none();
        if is_clean && self.dirty.remove(&line) {
            self.unpin(slot);
        }
    }

    fn store(&mut self, lbn: u64, data: &Payload) {
        self.holds_data |= data.is_some();
        self.memory.write(lbn, data, self.block_bytes);
    }

    /// What blocks hold, in a run that holds data.
    pub fn data(&self, lbn: u64, blocks: u64) -> Payload {
        self.memory.read(lbn, blocks, self.block_bytes)
    }

    /// What blocks hold, where they are valid, and what `below` says of the others.
    pub fn overlay(&self, slot: Slot, piece: &Piece, below: &Payload) -> Payload {
        let blocks = (0..piece.blocks()).map(|block| {
            let at = piece.from + block;
            if self.cells.count(slot, at, at + 1, |cell| cell.valid) > 0 {
                self.memory.read(piece.lbn + block, 1, self.block_bytes)
            } else {
                below.slice(block, 1, self.block_bytes)
            }
        });
        Payload::join(&blocks.collect::<Vec<_>>())
    }

    /// Whether what is counted of the lines is so; at rest nothing but being dirty pins one.
    ///
    /// # Errors
    /// What is not.
    pub fn check(&self, at_rest: bool) -> Result<(), String> {
        let pinned = self.pins.iter().filter(|&&pins| pins > 0).count();
        if pinned != self.pinned as usize || self.policy.len() > self.policy.capacity() {
            let (held, room) = (self.policy.len(), self.policy.capacity());
            return Err(format!("{} of {held} lines in {room} slots are counted as pinned, {pinned} are", self.pinned));
        }
        let pins: u64 = self.pins.iter().map(|&pins| u64::from(pins)).sum();
        if at_rest && pins != self.dirty_lines() {
            return Err(format!("at rest {pins} reasons keep lines, {} of which are dirty", self.dirty_lines()));
        }
        let is_dirty = |line: u64| {
            let first = |slot| self.cells.first(slot, 0, self.line_blocks, |cell| cell.dirty & cell.valid);
            self.find(line).is_some_and(|slot| self.pins[slot as usize] > 0 && first(slot).is_some())
        };
        match self.dirty.iter().find(|&&line| !is_dirty(line)) {
            Some(line) => Err(format!("line {line} is taken for dirty, and is not, or may leave")),
            None => Ok(()),
        }
    }

    /// Forgets everything.
    pub fn forget(&mut self) {
        *self = Self::new(&self.spec, self.capacity(), self.line_blocks, self.block_bytes);
    }

    /// Power was cut, but lines outlive that: what was being written is dirty, and nothing is being read.
    pub fn survive(&mut self, now: Time) {
        self.at(now, None);
        let mut held: Vec<(Slot, u64)> = Vec::new();
        let policy = &self.policy;
        policy.in_eviction_order(&mut |slot| {
            held.push((slot, policy.key(slot)));
            true
        });
        self.dirty.clear();
        self.pins.fill(0);
        self.pinned = 0;
        self.policy.expect_releases();
        for (slot, line) in held {
            let mut dirty = 0;
            self.cells.change(slot, 0, self.line_blocks, |cell, _| {
                cell.dirty |= cell.cleaning;
                (cell.cleaning, cell.filling) = (0, 0);
                dirty |= cell.dirty;
            });
            if dirty != 0 {
                self.dirty.insert(line);
                self.pin(slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hierarchy::cache::ram::CELL_BYTES;
    use crate::hierarchy::cache::replacement::{ReplacementSpec, MAX_SLOTS, POLICIES};

    /// As many lines as are given, used, and written if dirty; then as many again for policies that remember.
    fn filled(spec: ReplacementSpec, slots: u32, lines: u64, line_blocks: u64, is_dirty: bool) -> Lines {
        let mut cache = Lines::new(&spec.into(), slots, line_blocks, 512);
        for line in 0..lines {
            let slot = cache.find(line).or_else(|| cache.admit(line).map(|(slot, _)| slot)).expect("nothing is pinned");
            cache.hit(slot);
            if is_dirty {
                cache.write(slot, &Piece { line, from: 0, to: 1, lbn: line * line_blocks }, &Payload::NONE);
            }
        }
        cache
    }

    #[test]
    fn a_full_cache_takes_what_is_stated_for_each_line() {
        for policy in POLICIES {
            for (line_blocks, cells) in [(1, 1), (8, 1), (64, 1), (65, 2), (512, 8)] {
                let slots = 1000;
                let own = f64::from(slots) * (cells * CELL_BYTES + size_of::<u32>()) as f64;
                let clean =
                    filled(policy.default, slots, 8 * u64::from(slots), line_blocks, false).memory_bytes() as f64;
                let stated = policy.bytes_per_slot * f64::from(slots) + own;
                // Two tables of a policy have 16 buckets of 8 bytes at least.
                assert!(clean <= stated + 256.0, "{}: {clean} bytes, stated {stated}", policy.name);
                assert!(clean >= own, "{}: {clean} bytes", policy.name);
                let dirty = filled(policy.default, slots, u64::from(slots), line_blocks, true).memory_bytes() as f64;
                assert!(dirty <= stated + f64::from(slots) * 24.0 + 256.0, "{}: {dirty} bytes dirty", policy.name);
            }
        }
        assert_eq!(CELL_BYTES, 40);
    }

    #[test]
    fn a_cache_that_holds_little_takes_little() {
        for policy in POLICIES {
            let bytes = filled(policy.default, MAX_SLOTS, 100, 8, false).memory_bytes() as f64;
            // Arrays and tables double when they are full.
            let most = 2.0 * 100.0 * (policy.bytes_per_slot + (CELL_BYTES + size_of::<u32>()) as f64) + 1024.0;
            assert!(bytes <= most, "{}: {bytes} bytes", policy.name);
        }
    }

    /// Each part that goes wrong, and a word of what is said of it.
    #[test]
    fn whatever_is_not_in_order_is_told() {
        type Act = fn(&mut Lines);
        let acts: [(&str, Act); 3] = [
            ("are counted as pinned", |lines| lines.pinned += 1),
            ("reasons keep lines", |lines| lines.pins[0] += 1),
            ("is taken for dirty", |lines| {
                lines.dirty.remove(&0);
                lines.dirty.insert(9);
            }),
        ];
        for (word, act) in acts {
            let mut lines = filled(POLICIES[0].default, 4, 2, 8, true);
            assert_eq!(lines.check(true), Ok(()));
            act(&mut lines);
            let told = lines.check(true).expect_err(word);
            assert!(told.contains(word), "{word}: {told}");
        }
    }
}
