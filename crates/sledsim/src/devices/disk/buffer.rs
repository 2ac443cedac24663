//! The segmented buffer of a drive: the blocks that it holds.
//!
//! A segment holds consecutive blocks. Blocks added at its end evict blocks at its front beyond the segment's size. A request that
//! misses takes the least recently used segment.

use super::layout::BlockRange;
use super::DiskParameters;
use crate::fault::Fault;

/// A segment of consecutive blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segment {
    /// First block.
    pub first: u64,
    /// End (exclusive); equal to `first` if the segment is empty.
    pub end: u64,
    /// First block of the request that the segment was allocated for.
    pub origin: u64,
    /// True if a write filled it last.
    pub written: bool,
    /// Time of the last use, in uses of the buffer since the start.
    last_use: u64,
}

impl Segment {
    fn overlaps(&self, blocks: BlockRange) -> bool {
        blocks.first < self.end && self.first < blocks.end
    }
}

/// The result of a search for the blocks of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// All blocks are in this segment.
    Hit(usize),
    /// The first blocks are in this segment, or the first is about to arrive in it.
    PartialHit(usize),
    /// The first block is not in the buffer.
    Miss,
}

/// The segments of a drive.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    segments: Vec<Segment>,
    segment_blocks: u64,
    uses: u64,
    /// True if segment 0 holds writes, and no other does.
    has_write_segment: bool,
    hits_on_writes: bool,
    caching: bool,
}

impl Buffer {
    /// Returns an empty buffer.
    ///
    /// # Errors
    /// No segment, segments of no block, or no second segment beside a separate write segment.
    pub(super) fn new(p: &DiskParameters) -> Result<Self, Fault> {
        if p.buffer_segments == 0 || p.segment_blocks == 0 {
            return Err(Fault::conflict("buffer_segments", p.buffer_segments)
                .says(", ")
                .key_is("segment_blocks", p.segment_blocks)
                .says(": at least 1 each"));
        }
        if p.separate_write_segment && p.buffer_segments < 2 {
            return Err(Fault::conflict("separate_write_segment", true)
                .says(" needs ")
                .set("buffer_segments", 2)
                .says(" or more"));
        }
        Ok(Self {
            segments: vec![Segment::default(); p.buffer_segments as usize],
            segment_blocks: u64::from(p.segment_blocks),
            uses: 0,
            has_write_segment: p.separate_write_segment,
            hits_on_writes: p.read_hits_on_writes,
            caching: p.buffer_caching,
        })
    }

    /// Empties all segments.
    pub(super) fn clear(&mut self) {
        self.segments.fill(Segment::default());
        self.uses = 0;
    }

    /// Returns the size of a segment in blocks.
    #[inline]
    pub(super) const fn segment_blocks(&self) -> u64 {
        self.segment_blocks
    }

    /// Returns a segment.
    #[inline]
    pub(super) fn segment(&self, index: usize) -> &Segment {
        &self.segments[index]
    }

    /// Extends a segment to `end`, and evicts the oldest blocks beyond its size.
    #[inline]
    pub(super) fn extend(&mut self, index: usize, end: u64) {
        let size = self.segment_blocks;
        let segment = &mut self.segments[index];
        segment.end = segment.end.max(end);
        segment.first = segment.first.max(segment.end.saturating_sub(size));
    }

    /// Empties a segment for a request that begins with `first`, and marks it as used.
    #[inline]
    pub(super) fn restart(&mut self, index: usize, first: u64, written: bool) {
        self.touch(index);
        let segment = &mut self.segments[index];
        (segment.first, segment.end, segment.origin, segment.written) = (first, first, first, written);
    }

    /// Extends a segment at its front to `first`, as far as its size allows.
    #[inline]
    pub(super) fn extend_front(&mut self, index: usize, first: u64) {
        let size = self.segment_blocks;
        let segment = &mut self.segments[index];
        segment.first = segment.first.min(first).max(segment.end.saturating_sub(size));
    }

    /// Drops the blocks of a segment before `first`.
    #[inline]
    pub(super) fn drop_before(&mut self, index: usize, first: u64) {
        let segment = &mut self.segments[index];
        segment.first = segment.first.max(first.min(segment.end));
    }

    /// Empties a segment whose request is complete, if the buffer does not keep data of its kind.
    #[inline]
    pub(super) fn discard_uncached(&mut self, index: usize) {
        if !self.caching || (self.segments[index].written && !self.hits_on_writes) {
            self.segments[index].first = self.segments[index].end;
        }
    }

    /// Marks a segment as used.
    #[inline]
    pub(super) fn touch(&mut self, index: usize) {
        self.uses += 1;
        self.segments[index].last_use = self.uses;
    }

    /// Returns true if the segment was used last.
    #[inline]
    pub(super) fn is_latest(&self, index: usize) -> bool {
        self.segments[index].last_use == self.uses && self.uses > 0
    }

    /// Searches the blocks of a read. If `reading` is a segment, a read that begins with the next block to be read ahead into it is
    /// a partial hit.
    #[inline]
    pub(super) fn find(&self, blocks: BlockRange, reading: Option<usize>) -> Lookup {
        let BlockRange { first, end } = blocks;
        let mut part = None;
        if !self.caching {
            return Lookup::Miss;
        }
        for (index, segment) in self.segments.iter().enumerate() {
            if first >= segment.first && first < segment.end {
                if segment.written && !self.hits_on_writes || self.has_write_segment && index == 0 {
                    continue;
                }
                if segment.end >= end {
                    return Lookup::Hit(index);
                }
                part = Some(index);
            }
        }
        match (part, reading) {
            (Some(index), _) => Lookup::PartialHit(index),
            (None, Some(index)) if self.segments[index].end == first => Lookup::PartialHit(index),
            _ => Lookup::Miss,
        }
    }

    /// Returns the segment for a read that misses: an empty one, or else the least recently used.
    #[inline]
    pub(super) fn segment_for_read(&self) -> usize {
        let from = usize::from(self.has_write_segment);
        self.oldest(from, |_| false)
    }

    /// Returns the segment for a write that continues no other: one that it overwrites, or else an empty one, or else the least
    /// recently used.
    #[inline]
    pub(super) fn segment_for_write(&self, blocks: BlockRange) -> usize {
        if self.has_write_segment {
            return 0;
        }
        self.oldest(0, |segment| segment.overlaps(blocks))
    }

    #[inline]
    fn oldest(&self, from: usize, is_preferred: impl Fn(&Segment) -> bool) -> usize {
        let (mut oldest, mut least) = (from, u64::MAX);
        for (segment, index) in self.segments[from..].iter().zip(from..) {
            let rank = match segment {
                segment if segment.first == segment.end => 1,
                segment if is_preferred(segment) => 0,
                _ => 2,
            };
            // A drive serves far fewer than 2^62 requests.
            let order = rank << 62 | segment.last_use;
            if order < least {
                (oldest, least) = (index, order);
            }
        }
        oldest
    }

    /// Empties the segments that overlap written blocks, except segment `except`.
    #[inline]
    pub(super) fn invalidate(&mut self, blocks: BlockRange, except: usize) {
        for (index, segment) in self.segments.iter_mut().enumerate() {
            if index != except && segment.overlaps(blocks) {
                segment.first = segment.end;
            }
        }
    }
}
