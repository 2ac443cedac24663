//! The non-volatile buffer that segments pass on their way between MEMS and disk.
//!
//! Its segments survive a power cut. It changes only within one call of the component, together with the data that refers to it.

use std::collections::VecDeque;

use super::layout::{Layout, Run};
use crate::convert::to_u32;
use crate::engine::Payload;

/// A fill or destage, by its id, that waits for space in the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Waiter {
    Fill(u64),
    Destage(u64),
}

/// A segment in the buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct BufferedSegment {
    pub segment: u64,
    /// Acknowledged blocks that the disk has to get before the segment can be dropped.
    pub dirty: Vec<Run>,
    /// The bytes of the whole segment, in runs that hold data.
    bytes: Vec<u8>,
    in_use: bool,
}

/// The buffer.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    layout: Layout,
    segments: Vec<BufferedSegment>,
    /// Indices of `segments` that are not in use.
    free: Vec<u32>,
    /// Segments that fit.
    capacity: u32,
    /// Fills and destages that wait for space, oldest first.
    waiters: VecDeque<Waiter>,
    /// Number of waits for space in the measurement window.
    pub stalls: u64,
}

impl Buffer {
    /// A buffer for `capacity` segments.
    pub fn new(layout: Layout, capacity: u32) -> Self {
        Self { layout, segments: Vec::new(), free: Vec::new(), capacity, waiters: VecDeque::new(), stalls: 0 }
    }

    /// Number of segments that fit.
    pub const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Number of segments that still fit.
    pub fn space(&self) -> u32 {
        self.capacity - to_u32(self.segments.len() - self.free.len())
    }

    /// Allocates space for a segment and returns its index. Without space, returns `None` and queues `waiter`.
    pub fn allocate(&mut self, segment: u64, waiter: Waiter) -> Option<u32> {
        if self.space() == 0 {
            self.stalls += 1;
            self.waiters.push_back(waiter);
            return None;
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.segments.push(BufferedSegment::default());
            to_u32(self.segments.len()) - 1
        });
        let entry = &mut self.segments[index as usize];
        (entry.segment, entry.in_use) = (segment, true);
        Some(index)
    }

    /// Removes the oldest waiter if there is space.
    pub fn next_waiter(&mut self) -> Option<Waiter> {
        if self.space() == 0 {
            return None;
        }
        self.waiters.pop_front()
    }

    /// Removes all waiting fills.
    pub fn cancel_fills(&mut self) {
        self.waiters.retain(|waiter| matches!(waiter, Waiter::Destage(_)));
    }

    /// The segment at an index.
    pub fn get(&self, index: u32) -> &BufferedSegment {
        &self.segments[index as usize]
    }

    /// The segment at an index.
    pub fn get_mut(&mut self, index: u32) -> &mut BufferedSegment {
        &mut self.segments[index as usize]
    }

    /// Stores blocks of a segment from block `first` on, in runs that hold data.
    pub fn write(&mut self, index: u32, first: u32, data: &Payload) {
        let (entry, size) = (&mut self.segments[index as usize], self.layout.block_bytes as usize);
        if let Some(data) = data.bytes() {
            entry.bytes.resize(self.layout.blocks(entry.segment) as usize * size, 0);
            entry.bytes[first as usize * size..][..data.len()].copy_from_slice(data);
        }
    }

    /// Blocks of a segment; [`Payload::NONE`] in runs without data.
    pub fn read(&self, index: u32, run: Run) -> Payload {
        let (entry, size) = (&self.segments[index as usize], self.layout.block_bytes as usize);
        if entry.bytes.is_empty() {
            return Payload::NONE;
        }
        Payload::of(&entry.bytes[run.first as usize * size..][..run.blocks as usize * size])
    }

    /// Drops a segment.
    pub fn release(&mut self, index: u32) {
        let entry = &mut self.segments[index as usize];
        debug_assert!(entry.in_use, "a buffered segment is released once");
        entry.dirty.clear();
        entry.bytes.clear();
        entry.in_use = false;
        self.free.push(index);
    }

    /// The segments in the buffer.
    pub fn in_use(&self) -> impl Iterator<Item = &BufferedSegment> {
        self.segments.iter().filter(|entry| entry.in_use)
    }

    /// Removes all waiters, and all segments without dirty blocks.
    pub fn power_cut(&mut self) {
        self.waiters.clear();
        for index in self.indices_in_use() {
            if self.get(index).dirty.is_empty() {
                self.release(index);
            }
        }
    }

    /// The indices of the segments in the buffer.
    pub fn indices_in_use(&self) -> Vec<u32> {
        (0..).zip(&self.segments).filter(|(_, entry)| entry.in_use).map(|(index, _)| index).collect()
    }

    /// Returns true if every index is either in use or free, and nothing waits while there is space.
    pub fn is_consistent(&self) -> bool {
        let in_use = self.in_use().count();
        in_use + self.free.len() == self.segments.len()
            && self.segments.len() <= self.capacity as usize
            && (self.space() == 0 || self.waiters.is_empty())
    }
}
