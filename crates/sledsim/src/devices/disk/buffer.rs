//! The segmented buffer: which blocks a drive holds.
//!
//! A segment holds consecutive blocks; what is added at its end pushes out what is more than a segment's size before it.
//! The segment least recently used is taken for a request that finds nothing.

use super::DiskParameters;
use crate::fault::Fault;

/// A segment: the blocks from `first` up to, and not including, `end`. Empty where they are equal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segment {
    /// First block.
    pub first: u64,
    /// Block behind the last.
    pub end: u64,
    /// First block of the request that it was taken for.
    pub origin: u64,
    /// Whether a write filled it last.
    pub written: bool,
    /// When it was last used: uses counted from the start.
    used: u64,
}

/// What a read finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// All of it, in that segment.
    Whole(usize),
    /// Its first blocks, or the segment is just about to hold the first.
    Part(usize),
    /// Nothing to begin with.
    Nothing,
}

/// The buffer.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    segments: Vec<Segment>,
    segment_blocks: u64,
    uses: u64,
    /// Whether segment 0 is for writes alone.
    separate_write: bool,
    hits_on_writes: bool,
    caching: bool,
}

impl Buffer {
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
            separate_write: p.separate_write_segment,
            hits_on_writes: p.read_hits_on_writes,
            caching: p.buffer_caching,
        })
    }

    /// Size of a segment.
    #[inline]
    pub(super) const fn segment_blocks(&self) -> u64 {
        self.segment_blocks
    }

    /// A segment.
    #[inline]
    pub(super) fn segment(&self, index: usize) -> &Segment {
        &self.segments[index]
    }

    /// Sets the block behind a segment's last; the oldest blocks beyond its size go.
    #[inline]
    pub(super) fn extend(&mut self, index: usize, end: u64) {
        let size = self.segment_blocks;
        let segment = &mut self.segments[index];
        segment.end = segment.end.max(end);
        segment.first = segment.first.max(segment.end.saturating_sub(size));
    }

    /// Empties a segment to begin at `first` for a request, and marks it used.
    #[inline]
    pub(super) fn restart(&mut self, index: usize, first: u64, written: bool) {
        self.touch(index);
        let segment = &mut self.segments[index];
        (segment.first, segment.end, segment.origin, segment.written) = (first, first, first, written);
    }

    /// Lets a segment hold earlier blocks too, that passed on the way.
    #[inline]
    pub(super) fn reach_back(&mut self, index: usize, first: u64) {
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

    /// Empties a segment.
    #[inline]
    pub(super) fn clear(&mut self, index: usize) {
        let segment = &mut self.segments[index];
        segment.first = segment.end;
    }

    /// Forgets what a finished request brought, where the buffer keeps nothing of its kind.
    #[inline]
    pub(super) fn settle(&mut self, index: usize) {
        if !self.caching || (self.segments[index].written && !self.hits_on_writes) {
            self.clear(index);
        }
    }

    /// Marks a segment as used.
    #[inline]
    pub(super) fn touch(&mut self, index: usize) {
        self.uses += 1;
        self.segments[index].used = self.uses;
    }

    /// Whether a segment was the last to be used.
    #[inline]
    pub(super) fn is_latest(&self, index: usize) -> bool {
        self.segments[index].used == self.uses && self.uses > 0
    }

    /// What a read of the blocks from `first` to `end` finds. `reading` is the segment being read ahead into, if a read that
    /// begins with the very block on its way counts as found in part.
    #[inline]
    pub(super) fn find(&self, first: u64, end: u64, reading: Option<usize>) -> Found {
        let mut part = None;
        if !self.caching {
            return Found::Nothing;
        }
        for (index, segment) in self.segments.iter().enumerate() {
            if first >= segment.first && first < segment.end {
                if segment.written && !self.hits_on_writes || self.separate_write && index == 0 {
                    continue;
                }
                if segment.end >= end {
                    return Found::Whole(index);
                }
                part = Some(index);
            }
        }
        match (part, reading) {
            (Some(index), _) => Found::Part(index),
            (None, Some(index)) if self.segments[index].end == first => Found::Part(index),
            _ => Found::Nothing,
        }
    }

    /// The segment that a read gets which finds nothing: an empty one, then the least recently used.
    #[inline]
    pub(super) fn for_read(&self) -> usize {
        let from = usize::from(self.separate_write);
        self.oldest(from, |_| false)
    }

    /// The segment that a write gets which continues nothing: one that it overwrites, an empty one, then the least
    /// recently used.
    #[inline]
    pub(super) fn for_write(&self, first: u64, end: u64) -> usize {
        if self.separate_write {
            return 0;
        }
        self.oldest(0, |segment| first < segment.end && segment.first < end)
    }

    #[inline]
    fn oldest(&self, from: usize, preferred: impl Fn(&Segment) -> bool) -> usize {
        let rank = |segment: &Segment| match segment {
            segment if segment.first < segment.end && preferred(segment) => 0,
            segment if segment.first == segment.end => 1,
            _ => 2,
        };
        let ranked = self.segments.iter().enumerate().skip(from);
        ranked.min_by_key(|(_, segment)| (rank(segment), segment.used)).map_or(from, |(index, _)| index)
    }

    /// Forgets blocks that are written anew, wherever they are but in segment `except`.
    #[inline]
    pub(super) fn invalidate(&mut self, first: u64, end: u64, except: usize) {
        for (index, segment) in self.segments.iter_mut().enumerate() {
            if index != except && first < segment.end && segment.first < end {
                segment.first = segment.end;
            }
        }
    }
}
