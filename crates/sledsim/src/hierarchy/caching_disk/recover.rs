//! Recovery: after a power cut the table is read again from the headers on MEMS and in the journal.

use std::collections::VecDeque;

use super::children::{Children, Job};
use super::header::{self, Header};
use super::journal::Journal;
use super::{CachingDisk, Layout};
use crate::convert::{to_u32, to_usize};
use crate::engine::{Completion, Context, Payload};
use crate::request::{Op, Request};
use crate::time::Time;

/// Slots up to this size are read as a whole, many at once; larger ones only their headers. A sled transfers about so much in
/// the time in which it gets to the next header (G2: 0.6 ms at 76 MB/s).
const SWEEP_BYTES: u64 = 48 * 1024;
/// Bytes read at once in a sweep.
const STEP_BYTES: u64 = 1024 * 1024;
/// Reads under way at once.
const OUTSTANDING: u32 = 8;

/// A recovery under way.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    layout: Layout,
    /// What MEMS says of each place.
    headers: Vec<Option<Header>>,
    /// The first place whose header nobody reads yet.
    next: u32,
    /// Reads under way.
    left: u32,
    /// Places whose headers can't be read.
    unreadable: Vec<u32>,
    began: Time,
    /// Requests from above, with what they write.
    pub waiting: VecDeque<(Request, Payload)>,
}

impl Recovery {
    fn new(layout: Layout, slots: u32, began: Time) -> Self {
        let headers = vec![None; slots as usize];
        Self { layout, headers, next: 0, left: 0, unreadable: Vec::new(), began, waiting: VecDeque::new() }
    }

    /// Nothing has been read.
    pub fn forget(&mut self) {
        self.headers.fill(None);
    }

    /// Places read at once, and blocks read for them.
    fn step(&self) -> (u32, u64) {
        let stride = self.layout.header_lbn(1);
        let stride_bytes = stride * u64::from(self.layout.block_bytes);
        if stride_bytes > SWEEP_BYTES {
            return (1, 1);
        }
        let places = STEP_BYTES / stride_bytes;
        (to_u32(places), places * stride)
    }

    /// Reads the next headers, if there are any that nobody reads yet.
    fn read(&mut self, children: &mut Children, context: &mut Context<'_>) {
        let ((places, blocks), count) = (self.step(), to_u32(self.headers.len()));
        let frame = self.next;
        if frame >= count {
            return;
        }
        self.next = (frame + places).min(count);
        self.left += 1;
        let lbn = self.layout.header_lbn(frame);
        let blocks = if blocks == 1 { 1 } else { blocks.min(self.layout.header_lbn(count) - lbn) };
        children.send(Job::Recover { lbn }, Op::Read, (lbn, to_u32(blocks)), Payload::NONE, context);
    }

    /// Some headers have been read, or could not be; says whether all have.
    pub fn hear(
        &mut self,
        (lbn, completion, answer): (u64, &Completion, &Payload),
        children: &mut Children,
        context: &mut Context<'_>,
    ) -> bool {
        let (stride, size) = (self.layout.header_lbn(1), self.layout.block_bytes as usize);
        let words = self.layout.segment_blocks.div_ceil(64) as usize;
        self.left -= 1;
        let (first, blocks) = (to_u32(lbn / stride), u64::from(completion.request.blocks));
        if !completion.is_served() && blocks > 1 {
            // One header after the other.
            let places = first..first + to_u32(blocks.div_ceil(stride));
            self.left += to_u32(places.len());
            for lbn in places.map(|place| self.layout.header_lbn(place)) {
                children.send(Job::Recover { lbn }, Op::Read, (lbn, 1), Payload::NONE, context);
            }
            return false;
        }
        if !completion.is_served() {
            self.unreadable.push(first);
        }
        if let (true, Some(bytes)) = (completion.is_served(), answer.bytes()) {
            for (place, slot) in bytes.chunks(to_usize(stride) * size).enumerate() {
                self.headers[first as usize + place] = header::parse(&slot[..size], words);
            }
        }
        self.read(children, context);
        self.left == 0
    }

    /// What the journal says counts in place of what MEMS says.
    fn correct(&mut self, journal: &Journal) {
        for entry in journal.entries() {
            self.headers[entry.frame as usize].clone_from(&entry.header);
            self.unreadable.retain(|&frame| frame != entry.frame);
        }
        for header in &mut self.headers {
            header.take_if(|header| header.valid.iter().all(|&word| word == 0));
        }
    }
}

impl CachingDisk {
    /// Begins to read the headers.
    pub(super) fn recover(&mut self, context: &mut Context<'_>) {
        let recovery = self.recovery.insert(Recovery::new(self.layout, self.table.len(), context.now()));
        if self.losses.mems_failed {
            self.recovered(context);
            return;
        }
        for _ in 0..OUTSTANDING {
            recovery.read(&mut self.children, context);
        }
    }

    /// Every header has been read, or never will be: the table is what they say.
    pub(super) fn recovered(&mut self, context: &mut Context<'_>) {
        let mut recovery = self.recovery.take().expect("only a recovery ends so");
        recovery.correct(&self.journal);
        if !recovery.unreadable.is_empty() {
            // Any segment may have been there but those that are found.
            self.losses.lose_all(&self.buffer);
        }
        for header in recovery.headers.iter().flatten() {
            let from = self.layout.disk_lbn(header.segment);
            self.losses.find(from, from + u64::from(self.layout.blocks(header.segment)));
        }
        let found = (0..).zip(recovery.headers).filter_map(|(frame, header)| Some((frame, header?)));
        self.table.restore(found);
        self.journal.restore(&mut self.table);
        for held in self.buffer.places_in_use() {
            // Of a segment that has a slot MEMS has all that the buffer has, or newer.
            if self.table.find(self.buffer.held(held).segment).is_some() {
                self.buffer.release(held);
            } else {
                self.destager.owe(held, &mut self.buffer);
            }
        }
        self.statistics.recovery_ns += context.now() - recovery.began;
        for (request, payload) in recovery.waiting {
            self.accept(&request, &payload, context);
        }
    }
}
