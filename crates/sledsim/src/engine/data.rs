//! What is stored: bytes that travel with requests in runs that hold data (those with power cuts), media that hold them, and the
//! loss of power.
//!
//! A run without it pays one test for each message. With it every component without children has a medium that holds real
//! bytes: a write changes it when it completes, and a read takes what is there then. Power can be cut between any two calls of
//! components. What they have not stored in a memory that outlives a cut is lost then, and of each write under way at a medium
//! any prefix of its blocks has been made, in any order among writes.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use std::sync::Arc;

use crate::convert::to_usize;
use crate::engine::component::{Completion, ComponentId};
use crate::engine::random::Stream;
use crate::request::{Flags, Op, Request};

/// Most blocks that a medium behind a volatile buffer has completed and may still lose.
const UNSETTLED_BLOCKS: usize = 512;

/// Bytes of a request's blocks; nothing in runs that hold no data, where every operation is free.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload(Option<Arc<[u8]>>);

impl Payload {
    /// Nothing: a run that holds no data.
    pub const NONE: Self = Self(None);

    /// Those bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Some(bytes.into()))
    }

    /// Whether there are bytes.
    #[must_use]
    pub fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// The bytes, if any.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.0.as_deref()
    }

    /// The bytes of `blocks` blocks of `block_bytes` from block `first` on.
    ///
    /// # Panics
    /// If it has bytes, but fewer.
    #[must_use]
    pub fn slice(&self, first: u64, blocks: u64, block_bytes: u32) -> Self {
        let (first, blocks, size) = (to_usize(first), to_usize(blocks), block_bytes as usize);
        Self(self.0.as_ref().map(|bytes| bytes[first * size..(first + blocks) * size].into()))
    }

    /// One behind the other; nothing if one of them is nothing.
    #[must_use]
    pub fn join(parts: &[Self]) -> Self {
        let bytes: Option<Vec<&[u8]>> = parts.iter().map(Self::bytes).collect();
        Self(bytes.map(|bytes| bytes.concat().into()))
    }
}

/// Blocks that are kept together in a memory.
const PAGE_BLOCKS: u64 = 8;

/// Bytes by block, of a medium or of a component's own memory. Blocks never written are zeroes.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// By page; one that was never written is not there.
    pages: BTreeMap<u64, Box<[u8]>>,
}

impl Memory {
    /// Stores the blocks of a payload from `lbn` on. Zeroes where nothing was written take no room: a rebuild copies a whole
    /// member.
    pub fn write(&mut self, lbn: u64, payload: &Payload, block_bytes: u32) {
        let Some(bytes) = payload.bytes() else { return };
        let size = block_bytes as usize;
        for (page, from, part) in parts(lbn, (bytes.len() / size) as u64) {
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

    /// Bytes that it takes to hold it.
    fn held_bytes(&self, block_bytes: u32) -> u64 {
        self.pages.len() as u64 * PAGE_BLOCKS * u64::from(block_bytes)
    }

    /// The blocks from `lbn` on.
    #[must_use]
    pub fn read(&self, lbn: u64, blocks: u64, block_bytes: u32) -> Payload {
        let size = block_bytes as usize;
        let mut bytes = vec![0; to_usize(blocks) * size];
        for (page, from, part) in parts(lbn, blocks) {
            if let Some(whole) = self.pages.get(&page) {
                let (first, blocks) = (to_usize(part.start), to_usize(part.end - part.start));
                bytes[first * size..][..blocks * size]
                    .copy_from_slice(&whole[to_usize(from) * size..][..blocks * size]);
            }
        }
        Payload(Some(bytes.into()))
    }

    /// Forgets blocks, which are zeroes then.
    pub fn erase(&mut self, lbn: u64, blocks: u64) {
        for (page, from, part) in parts(lbn, blocks) {
            if let Some(whole) = self.pages.get_mut(&page) {
                let (size, blocks) = (whole.len() / to_usize(PAGE_BLOCKS), to_usize(part.end - part.start));
                whole[to_usize(from) * size..][..blocks * size].fill(0);
            }
        }
    }
}

/// Blocks cut at the borders of pages: the page, the first block in it, and which of the blocks they are.
fn parts(lbn: u64, blocks: u64) -> impl Iterator<Item = (u64, u64, Range<u64>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let (page, from) = ((lbn + done) / PAGE_BLOCKS, (lbn + done) % PAGE_BLOCKS);
        let part = done..blocks.min(done + PAGE_BLOCKS - from);
        done = part.end;
        (!part.is_empty()).then_some((page, from, part))
    })
}

/// What a component without children stores its blocks on.
#[derive(Clone, Debug)]
struct Medium {
    block_bytes: u32,
    /// Whether completed writes may be lost at a cut, unless they are [`Flags::DURABLE`].
    volatile: bool,
    memory: Memory,
    /// What blocks held before the latest writes that may be lost, oldest first, each with its number.
    unsettled: VecDeque<(u64, u64, Payload)>,
    /// How many blocks have been written so that they may be lost.
    written: u64,
    /// Writes under way, by request.
    writes: BTreeMap<u64, (Request, Payload)>,
    /// Flushes under way, by request: how many blocks had been written when each came.
    flushes: BTreeMap<u64, u64>,
}

impl Medium {
    fn write(&mut self, request: &Request, blocks: u64, payload: &Payload, durable: bool) {
        for block in 0..blocks {
            let lbn = request.lbn + block;
            if durable {
                self.unsettled.retain(|&(_, other, _)| other != lbn);
            } else {
                self.unsettled.push_back((self.written, lbn, self.memory.read(lbn, 1, self.block_bytes)));
                self.written += 1;
            }
        }
        while self.unsettled.len() > UNSETTLED_BLOCKS {
            self.unsettled.pop_front();
        }
        self.memory.write(request.lbn, &payload.slice(0, blocks, self.block_bytes), self.block_bytes);
    }

    /// What had been written when a flush came outlives a cut from now on.
    fn flushed(&mut self, id: u64) {
        let settled = self.flushes.remove(&id).unwrap_or_default();
        while self.unsettled.front().is_some_and(|&(number, ..)| number < settled) {
            self.unsettled.pop_front();
        }
    }

    fn lose_power(&mut self, stream: &mut Stream) {
        let lost = stream.below(self.unsettled.len() as u64 + 1);
        for _ in 0..lost {
            if let Some((_, lbn, before)) = self.unsettled.pop_back() {
                self.memory.write(lbn, &before, self.block_bytes);
            }
        }
        self.unsettled.clear();
        self.flushes.clear();
        let mut writes: Vec<(Request, Payload)> = std::mem::take(&mut self.writes).into_values().collect();
        while !writes.is_empty() {
            let (request, payload) = writes.swap_remove(to_usize(stream.below(writes.len() as u64)));
            let made = stream.below(u64::from(request.blocks) + 1);
            self.write(&request, made, &payload, true);
        }
    }
}

/// Hashes numbers that nobody chooses to make them collide: runs that hold data look up one for each message.
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
        // The fractional part of the golden ratio spreads numbers that follow each other over the upper bits.
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(20);
    }
}

/// Media, and payloads on their way.
#[derive(Clone, Debug)]
pub(super) struct DataPlane {
    /// By component; none where it has children.
    media: Vec<Option<Medium>>,
    /// Size of the blocks of each component.
    block_bytes: Vec<u32>,
    /// Bytes of the requests that components have and have not completed.
    under_way_bytes: u64,
    /// Payloads on the way down to a component or up from it, by request: ids are unique within its parent.
    carried: HashMap<(ComponentId, u64), Payload, BuildHasherDefault<IdHasher>>,
    /// Calls of components until power is cut.
    fuse: Option<u64>,
    cut: bool,
    stream: Stream,
}

impl DataPlane {
    /// Media for components: their block size, and whether completed writes may be lost; no medium where one has children.
    pub(super) fn new(components: impl Iterator<Item = (u32, Option<bool>)>, stream: Stream) -> Self {
        let (block_bytes, volatile): (Vec<u32>, Vec<Option<bool>>) = components.unzip();
        let medium = |(&block_bytes, volatile): (&u32, Option<bool>)| {
            Some(Medium {
                block_bytes,
                volatile: volatile?,
                memory: Memory::default(),
                unsettled: VecDeque::new(),
                written: 0,
                writes: BTreeMap::new(),
                flushes: BTreeMap::new(),
            })
        };
        Self {
            media: block_bytes.iter().zip(volatile).map(medium).collect(),
            block_bytes,
            under_way_bytes: 0,
            carried: HashMap::default(),
            fuse: None,
            cut: false,
            stream,
        }
    }

    /// Bytes that media take to hold.
    pub(super) fn held_bytes(&self) -> u64 {
        self.media.iter().flatten().map(|medium| medium.memory.held_bytes(medium.block_bytes)).sum()
    }

    /// Bytes of all that is under way, at each component that has it: so much is held for it, or will be.
    pub(super) fn under_way_bytes(&self) -> u64 {
        self.under_way_bytes
    }

    /// Bytes of a request to a component.
    fn bytes(&self, component: ComponentId, request: &Request) -> u64 {
        u64::from(request.blocks) * u64::from(self.block_bytes[component.0 as usize])
    }

    pub(super) fn medium(&self, component: ComponentId) -> Option<&Memory> {
        self.media[component.0 as usize].as_ref().map(|medium| &medium.memory)
    }

    /// A request goes to a component.
    pub(super) fn submitted(&mut self, to: ComponentId, request: &Request, payload: Payload) {
        self.under_way_bytes += self.bytes(to, request);
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
                self.carried.insert((to, request.id), payload);
            }
        }
    }

    /// A component completes a request, perhaps with what was read.
    pub(super) fn completed(&mut self, from: ComponentId, completion: &Completion, payload: Payload) {
        let request = &completion.request;
        self.under_way_bytes -= self.bytes(from, request);
        let mut payload = payload;
        if let Some(medium) = &mut self.media[from.0 as usize] {
            let written = medium.writes.remove(&request.id);
            if request.is_flush() {
                medium.flushed(request.id);
            } else if let (true, Some((request, data))) = (completion.served(), written) {
                let durable = !medium.volatile || request.flags.contains(Flags::DURABLE);
                medium.write(&request, u64::from(request.blocks), &data, durable);
            } else if completion.served() {
                payload = medium.memory.read(request.lbn, u64::from(request.blocks), medium.block_bytes);
            }
        }
        if payload.is_some() {
            self.carried.insert((from, request.id), payload);
        }
    }

    /// What came with a request to a component, or with its completion.
    pub(super) fn take(&mut self, component: ComponentId, id: u64) -> Payload {
        self.carried.remove(&(component, id)).unwrap_or_default()
    }

    pub(super) fn cut_after(&mut self, calls: u64) {
        self.fuse = Some(calls);
        self.cut = calls == 0;
    }

    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    /// A component has been called.
    pub(super) fn called(&mut self) {
        if let Some(fuse) = &mut self.fuse {
            *fuse = fuse.saturating_sub(1);
            self.cut |= *fuse == 0;
        }
    }

    /// Power is gone, and comes back.
    pub(super) fn lose_power(&mut self) {
        self.carried.clear();
        self.under_way_bytes = 0;
        (self.fuse, self.cut) = (None, false);
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
    fn zeroes_where_nothing_is_take_no_room_and_elsewhere_count() {
        let mut memory = Memory::default();
        memory.write(5, &Payload::of(&[0; 512 * 100]), 512);
        assert_eq!(memory.held_bytes(512), 0);
        memory.write(20, &Payload::of(&[7; 512]), 512);
        assert_eq!(memory.held_bytes(512), 512 * PAGE_BLOCKS);
        memory.write(16, &Payload::of(&[0; 512 * 5]), 512);
        assert_eq!(memory.read(16, 8, 512), Payload::of(&[0; 512 * 8]));
    }

    #[test]
    fn what_is_under_way_counts_at_each_component_until_it_is_over() {
        let components = [(512, Some(false)), (4096, None)];
        let mut data = DataPlane::new(components.into_iter(), Stream::new(1, "data"));
        let [leaf, root] = [0, 1].map(ComponentId);
        let read = |id, blocks| Request { id, ..Request::read(0, blocks) };
        data.submitted(root, &read(7, 1), Payload::NONE);
        data.submitted(leaf, &read(0, 8), Payload::NONE);
        data.submitted(leaf, &Request { id: 1, ..Request::flush() }, Payload::NONE);
        assert_eq!(data.under_way_bytes(), 2 * 4096);
        data.completed(leaf, &Completion::at_once(&read(0, 8), Time::ZERO), Payload::NONE);
        assert_eq!(data.under_way_bytes(), 4096);
        data.completed(root, &Completion::refused(&read(7, 1), Time::ZERO), Payload::NONE);
        assert_eq!(data.under_way_bytes(), 0);
        data.submitted(root, &read(8, 3), Payload::NONE);
        data.lose_power();
        assert_eq!(data.under_way_bytes(), 0);
    }
}
