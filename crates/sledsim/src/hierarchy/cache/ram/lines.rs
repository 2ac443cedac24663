//! The lines of a RAM cache: the properties and data of their blocks, and the lines that cannot be evicted.

use std::collections::BTreeSet;

use super::block_bits::{Bits, BlockBits};
use crate::engine::{Context, Memory, Payload};
use crate::hierarchy::cache::replacement::{PolicyFailure, Replacement, Slot};
use crate::hierarchy::common::{BlockRange, BlockSet, SameCapacity};
use crate::plugin::ReplacementChoice;
use crate::request::Request;
use crate::time::Time;

/// Upper bound of the bytes that the set of dirty lines takes for each: nodes of a B-tree are at least five elevenths full.
const DIRTY_LINE_BYTES: usize = 24;

/// Blocks of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Index of the line.
    pub line: u64,
    /// First block in the line.
    pub from: u64,
    /// The block after the last in the line.
    pub to: u64,
    /// Address of the first block.
    pub lbn: u64,
}

impl Piece {
    /// Number of blocks.
    pub const fn blocks(&self) -> u64 {
        self.to - self.from
    }

    /// Range of addresses.
    pub const fn range(&self) -> BlockRange {
        BlockRange::new(self.lbn, self.lbn + self.blocks())
    }
}

/// The pieces of a range, one for each line.
pub(super) fn pieces(range: BlockRange, line_blocks: u64) -> impl Iterator<Item = Piece> {
    let BlockRange { from: lbn, to: end } = range;
    let lines = lbn / line_blocks..end.div_ceil(line_blocks);
    lines.map(move |line| {
        let start = line * line_blocks;
        let (from, to) = (lbn.max(start) - start, end.min(start + line_blocks) - start);
        Piece { line, from, to, lbn: start + from }
    })
}

/// The slot of a line that was admitted.
#[derive(Clone, Copy, Debug)]
pub(super) struct AdmittedLine {
    pub slot: Slot,
    /// Blocks of the evicted line that were read ahead and never used.
    pub wasted_blocks: u64,
}

/// The lines of a cache.
#[derive(Clone)]
pub(super) struct Lines {
    spec: ReplacementChoice,
    policy: Box<dyn Replacement>,
    bits: BlockBits,
    /// Number of pins by slot. A line with pins cannot be evicted. A dirty line has one pin for that.
    pins: SameCapacity<Vec<u32>>,
    /// Number of slots with pins.
    pinned: u32,
    /// Lines with dirty blocks.
    dirty: BTreeSet<u64>,
    /// The data of blocks, in runs that hold data.
    memory: Memory,
    /// Size of a line, blocks.
    pub line_blocks: u64,
    block_bytes: u32,
    /// True if the run holds data.
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
            bits: BlockBits::new(line_blocks),
            pins: SameCapacity::default(),
            pinned: 0,
            dirty: BTreeSet::new(),
            memory: Memory::default(),
            line_blocks,
            block_bytes,
            holds_data: false,
        }
    }

    /// Records the time and request that the next policy calls belong to.
    #[inline]
    pub fn set_context(&mut self, now: Time, request: Option<u64>) {
        self.policy.set_context(now, request);
    }

    /// Number of slots.
    pub fn capacity(&self) -> u32 {
        self.policy.capacity()
    }

    /// Number of dirty lines.
    pub fn dirty_lines(&self) -> u64 {
        self.dirty.len() as u64
    }

    /// Bytes allocated for tables and lists; an upper bound for the set of dirty lines.
    pub fn memory_bytes(&self) -> usize {
        let pins = self.pins.capacity() * size_of::<u32>();
        self.policy.memory_bytes() + self.bits.memory_bytes() + pins + self.dirty.len() * DIRTY_LINE_BYTES
    }

    /// Returns true if a line can be admitted.
    pub fn can_admit(&self) -> bool {
        self.policy.len() < self.policy.capacity() || self.pinned < self.policy.len()
    }

    /// The slot of a line; `None` if the line is not in the cache.
    pub fn find(&self, line: u64) -> Option<Slot> {
        self.policy.find(line)
    }

    /// The slot of a pinned line.
    ///
    /// # Panics
    /// The line is not in the cache.
    pub fn pinned_slot(&self, line: u64) -> Slot {
        self.find(line).unwrap_or_else(|| panic!("line {line} is pinned but not in the cache"))
    }

    /// Reports a hit of a slot to the replacement policy.
    pub fn hit(&mut self, slot: Slot) {
        self.policy.hit(slot);
    }

    /// Returns true if the policy admits all lines of a range that are not in the cache.
    #[inline]
    pub fn admits(&mut self, range: BlockRange) -> bool {
        let mut lines = pieces(range, self.line_blocks).map(|piece| piece.line);
        !self.policy.chooses_admissions()
            || lines.all(|line| self.policy.find(line).is_some() || self.policy.admits(line))
    }

    /// Returns true if all lines of a new request are in the cache or admitted by the policy.
    pub fn admits_request(&mut self, request: &Request, now: Time) -> bool {
        self.set_context(now, Some(request.id));
        self.admits(BlockRange::new(request.lbn, request.end_lbn()))
    }

    /// Stops the run if a custom policy failed, and returns true if so. `request` is the one that the policy was called for.
    pub fn stop_if_policy_failed(&self, request: Option<&Request>, context: &mut Context<'_>) -> bool {
        let Some(PolicyFailure { stop, key }) = self.policy.failure() else { return false };
        context.stop(stop.located_at_key(context.now(), "line", *key, request));
        true
    }

    /// The first dirty line among those that the policy evicts next to admit `admitted` lines. Lines with accesses under way are passed
    /// over. `None` if they are clean, or enough slots are free.
    pub fn dirty_victim(&self, admitted: u32) -> Option<u64> {
        let mut evicted = admitted.saturating_sub(self.policy.capacity() - self.policy.len());
        if evicted == 0 {
            return None;
        }
        let mut victim = None;
        self.policy.in_eviction_order(&mut |slot| {
            let (pins, line) = (self.pins[slot as usize], self.policy.key(slot));
            let is_dirty = pins == 1 && self.dirty.contains(&line);
            victim = is_dirty.then_some(line);
            evicted -= u32::from(pins == 0);
            evicted > 0 && !is_dirty
        });
        victim
    }

    /// Returns true if blocks of a line are being written to the child.
    pub fn is_being_written(&self, line: u64) -> bool {
        let cleaning = |slot| self.bits.first(slot, 0, self.line_blocks, |word| word.cleaning);
        self.find(line).and_then(cleaning).is_some()
    }

    /// Adds an empty line; `None` if no slot is free and no line can be evicted.
    pub fn admit(&mut self, line: u64) -> Option<AdmittedLine> {
        if !self.can_admit() {
            return None;
        }
        let pins = &self.pins;
        let admission = self.policy.admit(line, &mut |slot| pins[slot as usize] == 0)?;
        let (slot, capacity) = (admission.slot, self.policy.capacity());
        self.bits.grow_to(slot, capacity);
        if slot as usize >= self.pins.len() {
            let wanted = (2 * self.pins.len()).max(16).min(capacity as usize).max(slot as usize + 1);
            let more = wanted - self.pins.len();
            self.pins.reserve_exact(more);
            self.pins.resize(wanted, 0);
        }
        let mut wasted_blocks = 0;
        if let Some(evicted) = admission.evicted {
            wasted_blocks = self.bits.count(slot, 0, self.line_blocks, |word| word.ahead);
            self.bits.change(slot, 0, self.line_blocks, |word, _| *word = Bits::default());
            if self.holds_data {
                self.memory.erase(evicted * self.line_blocks, self.line_blocks);
            }
        }
        Some(AdmittedLine { slot, wasted_blocks })
    }

    /// Prevents the eviction of a line until [`Lines::unpin`].
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

    /// Number of blocks of a piece that have a property.
    pub fn count(&self, slot: Slot, piece: &Piece, has: impl Fn(&Bits) -> u64) -> u64 {
        self.bits.count(slot, piece.from, piece.to, has)
    }

    /// From the first to the last block from `from` up to but not including `to` of a line that is neither valid nor being read.
    pub fn missing(&self, slot: Slot, from: u64, to: u64) -> Option<BlockRange> {
        self.bits.span(slot, from, to, |word| !(word.valid | word.filling))
    }

    /// Records that a request uses blocks. Returns the number of them that were read ahead.
    pub fn record_use(&mut self, slot: Slot, piece: &Piece) -> u64 {
        let used = self.bits.count(slot, piece.from, piece.to, |word| word.ahead);
        if used > 0 {
            self.bits.change(slot, piece.from, piece.to, |word, mask| word.ahead &= !mask);
        }
        used
    }

    /// Writes data to blocks and marks them as dirty.
    pub fn write(&mut self, slot: Slot, piece: &Piece, data: &Payload) {
        self.store(piece.lbn, data);
        self.bits.change(slot, piece.from, piece.to, |word, mask| {
            word.valid |= mask;
            word.dirty |= mask;
        });
        if self.dirty.insert(piece.line) {
            self.pin(slot);
        }
    }

    /// Marks valid blocks as being written to the child.
    pub fn begin_write(&mut self, slot: Slot, piece: &Piece) {
        self.bits.change(slot, piece.from, piece.to, |word, mask| {
            word.dirty &= !mask;
            word.cleaning |= mask;
        });
        self.pin(slot);
        self.update_dirty(slot, piece.line);
    }

    /// Writes data to blocks and marks them as being written to the child.
    pub fn write_through(&mut self, slot: Slot, piece: &Piece, data: &Payload) {
        self.store(piece.lbn, data);
        self.bits.change(slot, piece.from, piece.to, |word, mask| word.valid |= mask);
        self.begin_write(slot, piece);
    }

    /// Ends a write of blocks to the child. If it failed, blocks that have not changed since are lost; returns their number.
    pub fn end_write(&mut self, slot: Slot, piece: &Piece, is_written: bool) -> u64 {
        let mut lost = 0;
        self.bits.change(slot, piece.from, piece.to, |word, mask| {
            let stale = if is_written { 0 } else { word.cleaning & !word.dirty & mask };
            lost += u64::from(stale.count_ones());
            word.valid &= !stale;
            word.cleaning &= !mask;
        });
        self.unpin(slot);
        lost
    }

    /// Marks blocks as being read from the child.
    pub fn begin_fill(&mut self, slot: Slot, piece: &Piece) {
        self.bits.change(slot, piece.from, piece.to, |word, mask| word.filling |= mask & !word.valid);
        self.pin(slot);
    }

    /// Ends a read of blocks from the child, which has failed unless `is_read`. Blocks that have been written since keep their data.
    /// Blocks outside `requested` were read ahead; returns their number.
    pub fn end_fill(&mut self, slot: Slot, piece: &Piece, requested: BlockRange, is_read: bool, data: &Payload) -> u64 {
        let start = piece.line * self.line_blocks;
        if is_read {
            for (at, lbn) in (piece.lbn..piece.lbn + piece.blocks()).enumerate().filter(|_| data.is_some()) {
                if self.bits.count(slot, lbn - start, lbn - start + 1, |word| !word.valid) > 0 {
                    self.store(lbn, &data.slice(at as u64, 1, self.block_bytes));
                }
            }
        }
        let mut ahead = 0;
        let mut mark = |from: u64, to: u64, is_ahead: bool| {
            if from < to {
                self.bits.change(slot, from, to, |word, mask| {
                    let new = if is_read { mask & !word.valid } else { 0 };
                    word.valid |= new;
                    if is_ahead {
                        word.ahead |= new;
                        ahead += u64::from(new.count_ones());
                    }
                    word.filling &= !mask;
                });
            }
        };
        let (from, to) = (piece.from, piece.to);
        let first = requested.from.saturating_sub(start).clamp(from, to);
        let end = requested.to.saturating_sub(start).clamp(first, to);
        mark(from, first, true);
        mark(first, end, false);
        mark(end, to, true);
        self.unpin(slot);
        ahead
    }

    /// The first run of at most `limit` dirty blocks from `lbn` on that are not being written.
    pub fn dirty_run(&self, lbn: u64, limit: u64) -> Option<BlockRange> {
        let waits = |word: &Bits| word.dirty & !word.cleaning;
        let blocks = self.line_blocks;
        for &line in self.dirty.range(lbn / blocks..) {
            let from = if line == lbn / blocks { lbn % blocks } else { 0 };
            let slot = self.pinned_slot(line);
            if let Some(at) = self.bits.first(slot, from, blocks, waits) {
                let start = line * blocks + at;
                return Some(BlockRange::new(start, self.run_end(start).min(start + limit)));
            }
        }
        None
    }

    /// All dirty blocks.
    pub fn dirty_blocks(&self) -> BlockSet {
        let (mut all, blocks) = (BlockSet::default(), self.line_blocks);
        for &line in &self.dirty {
            let (slot, start) = (self.pinned_slot(line), line * blocks);
            let mut at = 0;
            while at < blocks {
                let Some(from) = self.bits.first(slot, at, blocks, |word| word.dirty) else { break };
                at = self.bits.first(slot, from, blocks, |word| !word.dirty).unwrap_or(blocks);
                all.insert(start + from, start + at);
            }
        }
        all
    }

    /// The end of the run of dirty blocks that begins at `start`.
    fn run_end(&self, start: u64) -> u64 {
        let blocks = self.line_blocks;
        let (mut line, mut from) = (start / blocks, start % blocks);
        loop {
            if !self.dirty.contains(&line) {
                return line * blocks;
            }
            let slot = self.pinned_slot(line);
            if let Some(end) = self.bits.first(slot, from, blocks, |word| !(word.dirty & !word.cleaning)) {
                return line * blocks + end;
            }
            (line, from) = (line + 1, 0);
        }
    }

    /// Removes a line from the set of dirty lines if none of its blocks is dirty.
    fn update_dirty(&mut self, slot: Slot, line: u64) {
        let is_clean = self.bits.first(slot, 0, self.line_blocks, |word| word.dirty).is_none();
        if is_clean && self.dirty.remove(&line) {
            self.unpin(slot);
        }
    }

    /// Stores the data of blocks.
    fn store(&mut self, lbn: u64, data: &Payload) {
        self.holds_data |= data.is_some();
        self.memory.write(lbn, data, self.block_bytes);
    }

    /// The data of blocks, in runs that hold data.
    pub fn data(&self, lbn: u64, blocks: u64) -> Payload {
        self.memory.read(lbn, blocks, self.block_bytes)
    }

    /// The data of blocks of a piece: those of the cache for valid blocks, `below` for others.
    pub fn overlay(&self, slot: Slot, piece: &Piece, below: &Payload) -> Payload {
        let blocks = (0..piece.blocks()).map(|block| {
            let at = piece.from + block;
            if self.bits.count(slot, at, at + 1, |word| word.valid) > 0 {
                self.memory.read(piece.lbn + block, 1, self.block_bytes)
            } else {
                below.slice(block, 1, self.block_bytes)
            }
        });
        Payload::join(&blocks.collect::<Vec<_>>())
    }

    /// Checks the counts and the set of dirty lines. `at_rest` states that lines have no pins except for being dirty.
    ///
    /// # Errors
    /// The first inconsistency.
    pub fn check(&self, at_rest: bool) -> Result<(), String> {
        let pinned = self.pins.iter().filter(|&&pins| pins > 0).count();
        if pinned != self.pinned as usize || self.policy.len() > self.policy.capacity() {
            let (lines, slots) = (self.policy.len(), self.policy.capacity());
            return Err(format!(
                "{} of {lines} lines in {slots} slots are counted as pinned, {pinned} are",
                self.pinned
            ));
        }
        let pins: u64 = self.pins.iter().map(|&pins| u64::from(pins)).sum();
        if at_rest && pins != self.dirty_lines() {
            return Err(format!("at rest there are {pins} pins, but {} dirty lines", self.dirty_lines()));
        }
        let is_dirty = |line: u64| {
            let first = |slot| self.bits.first(slot, 0, self.line_blocks, |word| word.dirty & word.valid);
            self.find(line).is_some_and(|slot| self.pins[slot as usize] > 0 && first(slot).is_some())
        };
        match self.dirty.iter().find(|&&line| !is_dirty(line)) {
            Some(line) => Err(format!("line {line} is listed as dirty, but has no dirty block or no pin")),
            None => Ok(()),
        }
    }

    /// Removes all lines.
    pub fn clear(&mut self) {
        *self = Self::new(&self.spec, self.capacity(), self.line_blocks, self.block_bytes);
    }

    /// Handles a power cut of a non-volatile cache: blocks that were being written are dirty, and no block is being read.
    pub fn recover(&mut self, now: Time) {
        self.set_context(now, None);
        let mut lines: Vec<(Slot, u64)> = Vec::new();
        let policy = &self.policy;
        policy.in_eviction_order(&mut |slot| {
            lines.push((slot, policy.key(slot)));
            true
        });
        self.dirty.clear();
        self.pins.fill(0);
        self.pinned = 0;
        self.policy.expect_releases();
        for (slot, line) in lines {
            let mut dirty = 0;
            self.bits.change(slot, 0, self.line_blocks, |word, _| {
                word.dirty |= word.cleaning;
                (word.cleaning, word.filling) = (0, 0);
                dirty |= word.dirty;
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
    use crate::hierarchy::cache::ram::BITS_BYTES;
    use crate::hierarchy::cache::replacement::{ReplacementSpec, MAX_SLOTS, POLICIES};

    /// A cache in which `lines` lines were admitted and used, and written if `is_dirty`.
    fn filled(spec: ReplacementSpec, slots: u32, lines: u64, line_blocks: u64, is_dirty: bool) -> Lines {
        let mut cache = Lines::new(&spec.into(), slots, line_blocks, 512);
        for line in 0..lines {
            let slot = cache
                .find(line)
                .or_else(|| cache.admit(line).map(|admitted| admitted.slot))
                .expect("nothing is pinned");
            cache.hit(slot);
            if is_dirty {
                cache.write(slot, &Piece { line, from: 0, to: 1, lbn: line * line_blocks }, &Payload::NONE);
            }
        }
        cache
    }

    #[test]
    fn a_full_cache_takes_the_documented_memory() {
        for policy in POLICIES {
            for (line_blocks, words) in [(1, 1), (8, 1), (64, 1), (65, 2), (512, 8)] {
                let slots = 1000;
                let tables = f64::from(slots) * (words * BITS_BYTES + size_of::<u32>()) as f64;
                let clean =
                    filled(policy.default, slots, 8 * u64::from(slots), line_blocks, false).memory_bytes() as f64;
                let documented = policy.bytes_per_slot * f64::from(slots) + tables;
                // Two tables of a policy have 16 buckets of 8 bytes at least.
                assert!(clean <= documented + 256.0, "{}: {clean} bytes, documented {documented}", policy.name);
                assert!(clean >= tables, "{}: {clean} bytes", policy.name);
                let dirty = filled(policy.default, slots, u64::from(slots), line_blocks, true).memory_bytes() as f64;
                assert!(dirty <= documented + f64::from(slots) * 24.0 + 256.0, "{}: {dirty} bytes dirty", policy.name);
            }
        }
        assert_eq!(BITS_BYTES, 40);
    }

    #[test]
    fn memory_grows_with_the_number_of_lines() {
        for policy in POLICIES {
            let bytes = filled(policy.default, MAX_SLOTS, 100, 8, false).memory_bytes() as f64;
            // Arrays and tables double when they are full.
            let limit = 2.0 * 100.0 * (policy.bytes_per_slot + (BITS_BYTES + size_of::<u32>()) as f64) + 1024.0;
            assert!(bytes <= limit, "{}: {bytes} bytes", policy.name);
        }
    }

    #[test]
    fn inconsistencies_are_named() {
        type Damage = fn(&mut Lines);
        let cases: [(&str, Damage); 3] = [
            ("are counted as pinned", |lines| lines.pinned += 1),
            ("pins, but", |lines| lines.pins[0] += 1),
            ("is listed as dirty", |lines| {
                lines.dirty.remove(&0);
                lines.dirty.insert(9);
            }),
        ];
        for (expected, damage) in cases {
            let mut lines = filled(POLICIES[0].default, 4, 2, 8, true);
            assert_eq!(lines.check(true), Ok(()));
            damage(&mut lines);
            let error = lines.check(true).expect_err(expected);
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }
}
