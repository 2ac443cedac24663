//! The data of requests in runs that hold data (those with power cuts): payloads, the media that store them, and power cuts.
//!
//! A run that holds no data pays one test for each message. In a run that holds data, every component without children has a
//! medium with real bytes: a write changes it when it completes, and a read returns its bytes at that time. Power can be cut
//! between any two calls of components. Then everything is lost that is not in non-volatile memory, and of each write outstanding
//! at a medium a random prefix of its blocks has been made, in random order among writes.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use std::sync::Arc;

use crate::convert::to_usize;
use crate::engine::component::{Completion, ComponentId};
use crate::engine::random::Stream;
use crate::request::{Flags, Op, Request};

/// Most completed blocks that a medium with a volatile buffer may still lose.
const VOLATILE_BLOCKS: usize = 512;

/// The bytes of a request's blocks; empty in runs that hold no data, where every operation is free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload(Option<Arc<[u8]>>);

impl Payload {
    /// The payload of runs that hold no data.
    pub const NONE: Self = Self(None);

    /// A payload of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Some(bytes.into()))
    }

    /// Returns true if there are bytes.
    #[must_use]
    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// The bytes, if any.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.0.as_deref()
    }

    /// The bytes of `blocks` blocks of `block_bytes` from block `first` on; [`Payload::NONE`] of no data.
    ///
    /// # Panics
    /// The payload has bytes, but too few.
    #[must_use]
    pub fn slice(&self, first: u64, blocks: u64, block_bytes: u32) -> Self {
        let (first, blocks, size) = (to_usize(first), to_usize(blocks), block_bytes as usize);
        Self(self.0.as_ref().map(|bytes| bytes[first * size..(first + blocks) * size].into()))
    }

    /// Concatenates payloads; [`Payload::NONE`] if one of them has no bytes.
    #[must_use]
    pub fn join(parts: &[Self]) -> Self {
        let bytes: Option<Vec<&[u8]>> = parts.iter().map(Self::bytes).collect();
        Self(bytes.map(|bytes| bytes.concat().into()))
    }
}

/// Blocks of a page of [`Memory`].
const PAGE_BLOCKS: u64 = 8;

/// A sparse store of blocks: a medium, or the memory of a component. Blocks never written are zero.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// By page number. Pages that were never written are missing.
    pages: BTreeMap<u64, Box<[u8]>>,
}

impl Memory {
    /// Stores the blocks of a payload from `lbn` on. Zeroes in unwritten pages take no memory, as a rebuild copies whole members.
    pub fn write(&mut self, lbn: u64, payload: &Payload, block_bytes: u32) {
        let Some(bytes) = payload.bytes() else { return };
        let size = block_bytes as usize;
        for PageRange { page, from, blocks: part } in split_at_pages(lbn, (bytes.len() / size) as u64) {
            let (first, blocks) = (to_usize(part.start), to_usize(part.end - part.start));
            let written = &bytes[first * size..][..blocks * size];
            let whole = match self.pages.entry(page) {
                Entry::Vacant(_) if written.iter().all(|&byte| byte == 0) => continue,
                Entry::Vacant(vacant) => vacant.insert(vec![0; to_usize(PAGE_BLOCKS) * size].into()),
                Entry::Occupied(page) => page.into_mut(),
            };
            whole[to_usize(from) * size..][..blocks * size].copy_from_slice(written);
        }
    }

    /// Size of the stored pages, bytes.
    fn held_bytes(&self, block_bytes: u32) -> u64 {
        self.pages.len() as u64 * PAGE_BLOCKS * u64::from(block_bytes)
    }

    /// Reads `blocks` blocks from `lbn` on.
    #[must_use]
    pub fn read(&self, lbn: u64, blocks: u64, block_bytes: u32) -> Payload {
        let size = block_bytes as usize;
        let mut bytes = vec![0; to_usize(blocks) * size];
        for PageRange { page, from, blocks: part } in split_at_pages(lbn, blocks) {
            if let Some(whole) = self.pages.get(&page) {
                let (first, blocks) = (to_usize(part.start), to_usize(part.end - part.start));
                bytes[first * size..][..blocks * size]
                    .copy_from_slice(&whole[to_usize(from) * size..][..blocks * size]);
            }
        }
        Payload(Some(bytes.into()))
    }

    /// Sets blocks to zero.
    pub fn erase(&mut self, lbn: u64, blocks: u64) {
        for PageRange { page, from, blocks: part } in split_at_pages(lbn, blocks) {
            if let Some(whole) = self.pages.get_mut(&page) {
                let (size, blocks) = (whole.len() / to_usize(PAGE_BLOCKS), to_usize(part.end - part.start));
                whole[to_usize(from) * size..][..blocks * size].fill(0);
            }
        }
    }
}

/// The part of a range of blocks that lies in one page.
struct PageRange {
    page: u64,
    /// The first block within the page.
    from: u64,
    /// Indices of the blocks within the range.
    blocks: Range<u64>,
}

fn split_at_pages(lbn: u64, blocks: u64) -> impl Iterator<Item = PageRange> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let (page, from) = ((lbn + done) / PAGE_BLOCKS, (lbn + done) % PAGE_BLOCKS);
        let blocks = done..blocks.min(done + PAGE_BLOCKS - from);
        done = blocks.end;
        (!blocks.is_empty()).then_some(PageRange { page, from, blocks })
    })
}

/// The content of a block before a write that may be lost.
#[derive(Clone, Debug)]
struct Overwritten {
    /// Number of the write, by order.
    number: u64,
    lbn: u64,
    before: Payload,
}

/// The storage of a component without children.
#[derive(Clone, Debug)]
struct Medium {
    block_bytes: u32,
    /// True if completed writes may be lost in a power cut unless they are [`Flags::DURABLE`].
    is_volatile: bool,
    memory: Memory,
    /// The latest block writes that may still be lost, oldest first.
    overwritten: VecDeque<Overwritten>,
    /// Number of block writes so far that could be lost when they completed.
    written: u64,
    /// Outstanding writes, by request id.
    writes: BTreeMap<u64, (Request, Payload)>,
    /// Outstanding flushes, by request id, with the value of `written` on their arrival.
    flushes: BTreeMap<u64, u64>,
}

impl Medium {
    /// Writes the first `blocks` blocks of a request.
    fn write(&mut self, request: &Request, blocks: u64, payload: &Payload, is_durable: bool) {
        for block in 0..blocks {
            let lbn = request.lbn + block;
            if is_durable {
                self.overwritten.retain(|other| other.lbn != lbn);
            } else {
                let before = self.memory.read(lbn, 1, self.block_bytes);
                self.overwritten.push_back(Overwritten { number: self.written, lbn, before });
                self.written += 1;
            }
        }
        while self.overwritten.len() > VOLATILE_BLOCKS {
            self.overwritten.pop_front();
        }
        self.memory.write(request.lbn, &payload.slice(0, blocks, self.block_bytes), self.block_bytes);
    }

    /// Completes a flush: all writes before its arrival become durable.
    fn flushed(&mut self, id: u64) {
        let durable = self.flushes.remove(&id).unwrap_or_default();
        while self.overwritten.front().is_some_and(|write| write.number < durable) {
            self.overwritten.pop_front();
        }
    }

    fn lose_power(&mut self, stream: &mut Stream) {
        let lost = stream.below(self.overwritten.len() as u64 + 1);
        for _ in 0..lost {
            if let Some(Overwritten { lbn, before, .. }) = self.overwritten.pop_back() {
                self.memory.write(lbn, &before, self.block_bytes);
            }
        }
        self.overwritten.clear();
        self.flushes.clear();
        let mut writes: Vec<(Request, Payload)> = std::mem::take(&mut self.writes).into_values().collect();
        while !writes.is_empty() {
            let (request, payload) = writes.swap_remove(to_usize(stream.below(writes.len() as u64)));
            let made = stream.below(u64::from(request.blocks) + 1);
            self.write(&request, made, &payload, true);
        }
    }
}

/// A fast hash of ids, which need no protection against chosen collisions: there is one lookup for each message.
#[derive(Clone, Copy, Debug, Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        // The fractional part of the golden ratio spreads consecutive numbers over the upper bits.
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(20);
    }
}

/// The media of a system, and the payloads of its outstanding requests.
#[derive(Clone, Debug)]
pub(super) struct DataPlane {
    /// By component; `None` for components with children.
    media: Vec<Option<Medium>>,
    /// Block size of each component.
    block_bytes: Vec<u32>,
    /// Size of all outstanding requests, each counted at every component that has it.
    outstanding_bytes: u64,
    /// Payloads on the way to a component or from it, by component and request id, which is unique within the parent.
    payloads: HashMap<(ComponentId, u64), Payload, BuildHasherDefault<IdHasher>>,
    /// Number of calls of components until power is cut, if it will be.
    calls_until_cut: Option<u64>,
    is_power_off: bool,
    stream: Stream,
}

impl DataPlane {
    /// Empty media for components, each given by its block size and, without children, by whether completed writes may be lost.
    pub(super) fn new(components: impl Iterator<Item = (u32, Option<bool>)>, stream: Stream) -> Self {
        let (block_bytes, volatile): (Vec<u32>, Vec<Option<bool>>) = components.unzip();
        let medium = |(&block_bytes, is_volatile): (&u32, Option<bool>)| {
            Some(Medium {
                block_bytes,
                is_volatile: is_volatile?,
                memory: Memory::default(),
                overwritten: VecDeque::new(),
                written: 0,
                writes: BTreeMap::new(),
                flushes: BTreeMap::new(),
            })
        };
        Self {
            media: block_bytes.iter().zip(volatile).map(medium).collect(),
            block_bytes,
            outstanding_bytes: 0,
            payloads: HashMap::default(),
            calls_until_cut: None,
            is_power_off: false,
            stream,
        }
    }

    /// Size of the data stored on all media, bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        self.media.iter().flatten().map(|medium| medium.memory.held_bytes(medium.block_bytes)).sum()
    }

    /// Size of all outstanding requests, each counted at every component that has it: an upper bound of their payloads.
    pub(super) fn outstanding_bytes(&self) -> u64 {
        self.outstanding_bytes
    }

    /// Size of the data of a request to a component.
    fn bytes(&self, component: ComponentId, request: &Request) -> u64 {
        let blocks = if request.transfers_data() { request.blocks } else { 0 };
        u64::from(blocks) * u64::from(self.block_bytes[component.0 as usize])
    }

    pub(super) fn medium(&self, component: ComponentId) -> Option<&Memory> {
        self.media[component.0 as usize].as_ref().map(|medium| &medium.memory)
    }

    /// Takes the payload of a request that is sent to a component.
    pub(super) fn submitted(&mut self, to: ComponentId, request: &Request, payload: Payload) {
        self.outstanding_bytes += self.bytes(to, request);
        match &mut self.media[to.0 as usize] {
            Some(medium) if request.op == Op::Write => {
                assert!(payload.is_some(), "a write to {to:?} carries no data");
                medium.writes.insert(request.id, (*request, payload));
            }
            Some(medium) if request.is_flush() => {
                medium.flushes.insert(request.id, medium.written);
            }
            Some(_) => {}
            None if request.is_flush() => {}
            None => {
                self.payloads.insert((to, request.id), payload);
            }
        }
    }

    /// Makes a completed write on the medium, or takes the payload of a completed read.
    pub(super) fn completed(&mut self, from: ComponentId, completion: &Completion, payload: Payload) {
        let request = &completion.request;
        self.outstanding_bytes -= self.bytes(from, request);
        let mut payload = payload;
        if let Some(medium) = &mut self.media[from.0 as usize] {
            let written = medium.writes.remove(&request.id);
            if request.is_flush() {
                medium.flushed(request.id);
            } else if let (true, Some((request, data))) = (completion.is_served(), written) {
                let is_durable = !medium.is_volatile || request.flags.contains(Flags::DURABLE);
                medium.write(&request, u64::from(request.blocks), &data, is_durable);
            } else if completion.is_served() {
                payload = medium.memory.read(request.lbn, u64::from(request.blocks), medium.block_bytes);
            }
        }
        if payload.is_some() {
            self.payloads.insert((from, request.id), payload);
        }
    }

    /// Removes the payload of a request to a component, or of a completion from it.
    pub(super) fn take(&mut self, component: ComponentId, id: u64) -> Payload {
        self.payloads.remove(&(component, id)).unwrap_or_default()
    }

    pub(super) fn cut_power_after(&mut self, calls: u64) {
        self.calls_until_cut = Some(calls);
        self.is_power_off = calls == 0;
    }

    pub(super) fn is_power_off(&self) -> bool {
        self.is_power_off
    }

    /// Counts a call of a component toward the next power cut.
    pub(super) fn count_call(&mut self) {
        if let Some(calls) = &mut self.calls_until_cut {
            *calls = calls.saturating_sub(1);
            self.is_power_off |= *calls == 0;
        }
    }

    /// Applies the losses of a power cut and restores power.
    pub(super) fn lose_power(&mut self) {
        self.payloads.clear();
        self.outstanding_bytes = 0;
        (self.calls_until_cut, self.is_power_off) = (None, false);
        for medium in self.media.iter_mut().flatten() {
            medium.lose_power(&mut self.stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    #[test]
    fn zeroes_take_memory_only_in_written_pages() {
        let mut memory = Memory::default();
        memory.write(5, &Payload::of(&[0; 512 * 100]), 512);
        assert_eq!(memory.held_bytes(512), 0);
        memory.write(20, &Payload::of(&[7; 512]), 512);
        assert_eq!(memory.held_bytes(512), 512 * PAGE_BLOCKS);
        memory.write(16, &Payload::of(&[0; 512 * 5]), 512);
        assert_eq!(memory.read(16, 8, 512), Payload::of(&[0; 512 * 8]));
    }

    #[test]
    fn outstanding_bytes_count_at_each_component_until_completion() {
        let components = [(512, Some(false)), (4096, None)];
        let mut data = DataPlane::new(components.into_iter(), Stream::new(1, "data"));
        let [leaf, root] = [0, 1].map(ComponentId);
        let read = |id, blocks| Request { id, ..Request::read(0, blocks) };
        data.submitted(root, &read(7, 1), Payload::NONE);
        data.submitted(leaf, &read(0, 8), Payload::NONE);
        data.submitted(leaf, &Request { id: 1, ..Request::flush() }, Payload::NONE);
        assert_eq!(data.outstanding_bytes(), 2 * 4096);
        data.completed(leaf, &Completion::at_once(&read(0, 8), Time::ZERO), Payload::NONE);
        assert_eq!(data.outstanding_bytes(), 4096);
        data.completed(root, &Completion::refused(&read(7, 1), Time::ZERO), Payload::NONE);
        assert_eq!(data.outstanding_bytes(), 0);
        data.submitted(root, &read(8, 3), Payload::NONE);
        data.lose_power();
        assert_eq!(data.outstanding_bytes(), 0);
    }
}
