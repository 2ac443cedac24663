//! Recovery: after a power cut the table is read again from the headers on MEMS and in the journal.

use std::collections::VecDeque;

use super::header::{self, Header};
use super::{Job, Mcd};
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
#[derive(Debug)]
pub(super) struct Recovery {
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

impl Mcd {
    /// Begins to read the headers.
    pub(super) fn recover(&mut self, context: &mut Context<'_>) {
        let headers = vec![None; self.table.len() as usize];
        self.recovery = Some(Recovery {
            headers,
            next: 0,
            left: 0,
            unreadable: Vec::new(),
            began: context.now(),
            waiting: VecDeque::new(),
        });
        if self.mems_failed {
            self.recovered(context);
        }
        for _ in 0..OUTSTANDING {
            self.read_headers(context);
        }
    }

    /// Places read at once, and blocks read for them.
    fn step(&self) -> (u32, u64) {
        let stride = self.layout.header_lbn(1);
        let stride_bytes = stride * u64::from(self.layout.block_bytes);
        if stride_bytes > SWEEP_BYTES {
            return (1, 1);
        }
        let places = STEP_BYTES / stride_bytes;
        (places as u32, places * stride)
    }

    fn read_headers(&mut self, context: &mut Context<'_>) {
        let (places, blocks) = self.step();
        let count = self.table.len();
        let Some(recovery) = &mut self.recovery else { return };
        let frame = recovery.next;
        if frame >= count {
            return;
        }
        recovery.next = (frame + places).min(count);
        recovery.left += 1;
        let lbn = self.layout.header_lbn(frame);
        let blocks = if blocks == 1 { 1 } else { blocks.min(self.layout.header_lbn(count) - lbn) };
        self.send(self.mems, Job::Recover { lbn }, Op::Read, (lbn, blocks as u32), Payload::NONE, context);
    }

    /// Some headers have been read.
    pub(super) fn headers_read(
        &mut self,
        lbn: u64,
        completion: &Completion,
        answer: &Payload,
        context: &mut Context<'_>,
    ) {
        let (stride, size) = (self.layout.header_lbn(1), self.layout.block_bytes as usize);
        let words = self.layout.segment_blocks.div_ceil(64) as usize;
        let Some(recovery) = &mut self.recovery else { return };
        recovery.left -= 1;
        let (first, blocks) = ((lbn / stride) as u32, u64::from(completion.request.blocks));
        if !completion.served() && blocks > 1 {
            // One header after the other.
            let places = first..first + blocks.div_ceil(stride) as u32;
            recovery.left += places.len() as u32;
            for place in places {
                let lbn = self.layout.header_lbn(place);
                self.send(self.mems, Job::Recover { lbn }, Op::Read, (lbn, 1), Payload::NONE, context);
            }
            return;
        }
        if !completion.served() {
            recovery.unreadable.push(first);
        }
        if let (true, Some(bytes)) = (completion.served(), answer.bytes()) {
            for (place, slot) in bytes.chunks(stride as usize * size).enumerate() {
                recovery.headers[first as usize + place] = header::parse(&slot[..size], words);
            }
        }
        self.read_headers(context);
        if self.recovery.as_ref().is_some_and(|recovery| recovery.left == 0) {
            self.recovered(context);
        }
    }

    /// Every header has been read: the table is what they say.
    pub(super) fn recovered(&mut self, context: &mut Context<'_>) {
        let Some(Recovery { mut headers, mut unreadable, began, waiting, .. }) = self.recovery.take() else { return };
        for (_, entry) in self.journal.after_cut() {
            headers[entry.frame as usize].clone_from(&entry.header);
            unreadable.retain(|&frame| frame != entry.frame);
        }
        if !unreadable.is_empty() {
            // Any segment may have been there but those that are found.
            self.lose_all();
        }
        let mut places = Vec::new();
        for (frame, header) in (0..).zip(headers) {
            let Some(header) = header.filter(|header| header.valid.iter().any(|&word| word != 0)) else { continue };
            let from = self.layout.disk_lbn(header.segment);
            self.lost.remove(from, from + u64::from(self.layout.blocks(header.segment)));
            if let Some(admission) = self.policy.admit(header.segment, &mut |_| false) {
                places.push((admission.slot, frame));
                self.table.set_valid(admission.slot, &header.valid);
                self.table.set_dirty(admission.slot, true);
            }
        }
        self.table.place(&places);
        let slots = self.table.slots_of_frames();
        for (index, entry) in self.journal.after_cut() {
            entry.slot = slots[entry.frame as usize];
            self.table.set_entry(entry.slot, index);
        }
        for held in self.buffer.after_cut() {
            let segment = self.buffer.held(held).segment;
            // Of a segment that has a slot MEMS has all that the buffer has, or newer.
            if self.policy.find(segment).is_some() {
                self.buffer.release(held);
            } else {
                self.owe(segment, held);
            }
        }
        self.statistics.recovery_ns += context.now() - began;
        for (request, payload) in waiting {
            self.accept(request, &payload, context);
        }
    }
}
