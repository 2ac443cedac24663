//! Which blocks of each slot are valid.

/// A bit for each block of each slot; none where segments are always valid as a whole.
#[derive(Clone, Debug)]
pub(super) struct Valid {
    bits: Vec<u64>,
    /// Words of bits for each slot.
    words: usize,
}

impl Valid {
    /// Of `slots` empty slots for segments of `blocks`, which may be valid in part or not.
    pub fn new(slots: u32, blocks: u32, partial: bool) -> Self {
        let words = if partial { blocks.div_ceil(64) as usize } else { 0 };
        Self { bits: vec![0; words * slots as usize], words }
    }

    /// Whether segments may be valid in part.
    pub const fn is_partial(&self) -> bool {
        self.words > 0
    }

    pub fn memory_bytes(&self) -> usize {
        self.bits.capacity() * size_of::<u64>()
    }

    /// Nothing is in any slot any more.
    pub fn forget(&mut self) {
        self.bits.fill(0);
    }

    fn slot(&self, slot: u32) -> &[u64] {
        &self.bits[slot as usize * self.words..][..self.words]
    }

    fn slot_mut(&mut self, slot: u32) -> &mut [u64] {
        &mut self.bits[slot as usize * self.words..][..self.words]
    }

    /// The bits of a slot in use, of a segment of `blocks`.
    pub fn bits(&self, slot: u32, blocks: u32) -> Vec<u64> {
        if self.is_partial() {
            return self.slot(slot).to_vec();
        }
        let mut words = vec![0; blocks.div_ceil(64) as usize];
        fill(&mut words, 0, blocks);
        words
    }

    /// Takes bits over from a header.
    pub fn set(&mut self, slot: u32, bits: &[u64]) {
        self.slot_mut(slot).iter_mut().zip(bits).for_each(|(word, &bits)| *word = bits);
    }

    /// Blocks of a slot become valid.
    pub fn fill(&mut self, slot: u32, first: u32, blocks: u32) {
        if self.is_partial() {
            fill(self.slot_mut(slot), first, blocks);
        }
    }

    /// No block of a slot is valid any more.
    pub fn clear(&mut self, slot: u32) {
        self.slot_mut(slot).fill(0);
    }

    /// Whether block `first` of a slot is valid, and how many blocks from there on, up to `end`, are alike.
    #[inline]
    pub fn run(&self, slot: u32, first: u32, end: u32) -> (bool, u32) {
        if self.words == 0 {
            return (true, end - first);
        }
        run(self.slot(slot), first, end)
    }

    /// The runs of blocks from one to before another that are valid, or those that are not.
    pub fn runs(&self, slot: u32, (from, to): (u32, u32), valid: bool) -> Vec<(u32, u32)> {
        let (mut runs, mut at) = (Vec::new(), from);
        while at < to {
            let (alike, length) = self.run(slot, at, to);
            if alike == valid {
                runs.push((at, length));
            }
            at += length;
        }
        runs
    }
}

/// Sets bits.
fn fill(words: &mut [u64], first: u32, blocks: u32) {
    for bit in first..first + blocks {
        words[bit as usize / 64] |= 1 << (bit % 64);
    }
}

/// A bit, and how many from it on, up to `end`, are alike.
fn run(words: &[u64], first: u32, end: u32) -> (bool, u32) {
    let word = |at: u32| words[at as usize / 64] >> (at % 64);
    let set = word(first) & 1 == 1;
    let mut at = first;
    while at < end {
        let room = 64 - at % 64;
        let alike = if set { word(at).trailing_ones() } else { word(at).trailing_zeros() }.min(room);
        at += alike;
        if alike < room {
            break;
        }
    }
    (set, at.min(end) - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit by bit.
    #[test]
    fn runs_are_those_that_a_walk_over_the_bits_finds() {
        let mut valid = Valid::new(2, 200, true);
        let ranges = [(0, 3), (60, 8), (100, 1), (127, 2), (140, 60)];
        ranges.iter().for_each(|&(first, blocks)| valid.fill(1, first, blocks));
        let is_set = |bit: u32| ranges.iter().any(|&(first, blocks)| (first..first + blocks).contains(&bit));
        for first in 0..200 {
            for end in first + 1..=200 {
                let alike = (first..end).take_while(|&bit| is_set(bit) == is_set(first)).count() as u32;
                assert_eq!(valid.run(1, first, end), (is_set(first), alike), "{first} to {end}");
            }
        }
        assert_eq!(valid.runs(1, (0, 200), true), ranges);
        assert_eq!(valid.runs(0, (0, 200), false), [(0, 200)], "another slot has bits of its own");
        valid.clear(1);
        assert_eq!(valid.runs(1, (0, 200), true), []);
    }
}
