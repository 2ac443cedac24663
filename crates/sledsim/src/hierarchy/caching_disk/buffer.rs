//! The non-volatile buffer between MEMS and disk: segments on their way.
//!
//! Its segments outlive a power cut, and change only within one call of the component, together with what depends on them.

use std::collections::VecDeque;

use super::Layout;
use crate::convert::to_u32;
use crate::engine::Payload;

/// What waits for room in the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Awaiting {
    Fill(u64),
    Destage(u64),
}

/// A segment in the buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    /// Its number on the disk.
    pub segment: u64,
    /// First block and number of blocks that the disk must get before the buffer may forget them.
    pub runs: Vec<(u32, u32)>,
    /// The bytes of the whole segment, in runs that hold data.
    bytes: Vec<u8>,
    in_use: bool,
}

/// Room for segments.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    layout: Layout,
    held: Vec<Held>,
    free: Vec<u32>,
    capacity: u32,
    awaiting: VecDeque<Awaiting>,
    /// How often something had to wait for room, in the measurement window.
    pub stalls: u64,
}

impl Buffer {
    /// Room for `capacity` segments.
    pub fn new(layout: Layout, capacity: u32) -> Self {
        Self { layout, held: Vec::new(), free: Vec::new(), capacity, awaiting: VecDeque::new(), stalls: 0 }
    }

    pub const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Segments that it has room for.
    pub fn room(&self) -> u32 {
        self.capacity - to_u32(self.held.len() - self.free.len())
    }

    /// Room for a segment; where there is none, somebody waits for it.
    pub fn take(&mut self, segment: u64, who: Awaiting) -> Option<u32> {
        if self.room() == 0 {
            self.stalls += 1;
            self.awaiting.push_back(who);
            return None;
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.held.push(Held::default());
            to_u32(self.held.len()) - 1
        });
        let held = &mut self.held[index as usize];
        (held.segment, held.in_use) = (segment, true);
        Some(index)
    }

    /// Who has waited longest, if there is room.
    pub fn next(&mut self) -> Option<Awaiting> {
        if self.room() == 0 {
            return None;
        }
        self.awaiting.pop_front()
    }

    /// No fill waits any more.
    pub fn forget_fills(&mut self) {
        self.awaiting.retain(|who| matches!(who, Awaiting::Destage(_)));
    }

    pub fn held(&self, index: u32) -> &Held {
        &self.held[index as usize]
    }

    pub fn held_mut(&mut self, index: u32) -> &mut Held {
        &mut self.held[index as usize]
    }

    /// Blocks of a segment from one on have come, or been written, in a run that holds data.
    pub fn write(&mut self, index: u32, first: u32, data: &Payload) {
        let (held, size) = (&mut self.held[index as usize], self.layout.block_bytes as usize);
        if let Some(data) = data.bytes() {
            held.bytes.resize(self.layout.blocks(held.segment) as usize * size, 0);
            held.bytes[first as usize * size..][..data.len()].copy_from_slice(data);
        }
    }

    /// Blocks of a segment from one on, in a run that holds data.
    pub fn read(&self, index: u32, first: u32, blocks: u32) -> Payload {
        let (held, size) = (&self.held[index as usize], self.layout.block_bytes as usize);
        if held.bytes.is_empty() {
            return Payload::NONE;
        }
        Payload::of(&held.bytes[first as usize * size..][..blocks as usize * size])
    }

    /// Forgets a segment.
    pub fn release(&mut self, index: u32) {
        let held = &mut self.held[index as usize];
        debug_assert!(held.in_use, "who takes room in the buffer gives it back once");
        held.runs.clear();
        held.bytes.clear();
        held.in_use = false;
        self.free.push(index);
    }

    /// Its segments.
    pub fn in_use(&self) -> impl Iterator<Item = &Held> {
        self.held.iter().filter(|held| held.in_use)
    }

    /// Power is gone: nobody waits any more, and room is free again that was taken for what the disk need not get.
    pub fn power_cut(&mut self) {
        self.awaiting.clear();
        for index in 0..to_u32(self.held.len()) {
            if self.held(index).in_use && self.held(index).runs.is_empty() {
                self.release(index);
            }
        }
    }

    /// Its segments by their places.
    pub fn places_in_use(&self) -> Vec<u32> {
        (0..).zip(&self.held).filter(|(_, held)| held.in_use).map(|(index, _)| index).collect()
    }

    /// Whether its places are in use or free, and nobody waits while there is room.
    pub fn is_sound(&self) -> bool {
        let in_use = self.in_use().count();
        in_use + self.free.len() == self.held.len()
            && self.held.len() <= self.capacity as usize
            && (self.room() == 0 || self.awaiting.is_empty())
    }
}
