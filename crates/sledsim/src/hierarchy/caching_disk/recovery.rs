//! Recovery: after a power cut the table is restored from the headers on MEMS and in the journal.

use std::collections::VecDeque;

use super::children::{Children, Job};
use super::header::{self, Header};
use super::journal::Journal;
use super::layout::Layout;
use crate::convert::{to_u32, to_usize};
use crate::engine::{Completion, Context, Payload};
use crate::hierarchy::common::BlockRange;
use crate::request::{Op, Request};
use crate::time::Time;

/// Frames of up to this size are read as a whole, many in one access; of larger frames only the header is read. In the time to
/// reach the next header a sled transfers about this many bytes (G2: 0.6 ms at 76 MB/s).
const MAX_SWEPT_FRAME_BYTES: u64 = 48 * 1024;
/// Size of an access that reads whole frames, bytes.
const SWEEP_BYTES: u64 = 1024 * 1024;
/// Reads under way at once.
const OUTSTANDING: u32 = 8;

/// Frames that are read by one access.
struct ReadStep {
    frames: u32,
    blocks: u64,
}

/// A recovery under way.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    layout: Layout,
    /// The header of each frame.
    pub headers: Vec<Option<Header>>,
    /// The first frame that no access has read or is reading.
    next_frame: u32,
    /// Reads under way.
    reads: u32,
    /// Frames whose headers are unreadable.
    unreadable: Vec<u32>,
    pub began: Time,
    /// Host requests that wait for the end of the recovery, with the data that they write.
    pub waiting: VecDeque<(Request, Payload)>,
}

impl Recovery {
    pub fn new(layout: Layout, frames: u32, began: Time) -> Self {
        let headers = vec![None; frames as usize];
        Self { layout, headers, next_frame: 0, reads: 0, unreadable: Vec::new(), began, waiting: VecDeque::new() }
    }

    /// Drops all headers read so far.
    pub fn clear_headers(&mut self) {
        self.headers.fill(None);
    }

    /// Returns true if the header of a frame is unreadable.
    pub fn has_unreadable(&self) -> bool {
        !self.unreadable.is_empty()
    }

    fn step(&self) -> ReadStep {
        let frame_blocks = self.layout.header_lbn(1);
        let frame_bytes = frame_blocks * u64::from(self.layout.block_bytes);
        if frame_bytes > MAX_SWEPT_FRAME_BYTES {
            return ReadStep { frames: 1, blocks: 1 };
        }
        let frames = SWEEP_BYTES / frame_bytes;
        ReadStep { frames: to_u32(frames), blocks: frames * frame_blocks }
    }

    /// Sends the first reads.
    pub fn start(&mut self, children: &mut Children, context: &mut Context<'_>) {
        for _ in 0..OUTSTANDING {
            self.read_next(children, context);
        }
    }

    /// Reads the next headers, if any are left.
    fn read_next(&mut self, children: &mut Children, context: &mut Context<'_>) {
        let (step, count) = (self.step(), to_u32(self.headers.len()));
        let frame = self.next_frame;
        if frame >= count {
            return;
        }
        self.next_frame = (frame + step.frames).min(count);
        self.reads += 1;
        let lbn = self.layout.header_lbn(frame);
        let blocks = if step.blocks == 1 { 1 } else { step.blocks.min(self.layout.header_lbn(count) - lbn) };
        children.send(Job::Recover { lbn }, Op::Read, BlockRange::new(lbn, lbn + blocks), Payload::NONE, context);
    }

    /// Handles a read of headers from block `lbn` on. Headers that cannot be read together are read again one by one. Returns
    /// true after the last read.
    pub fn headers_read(
        &mut self,
        lbn: u64,
        completion: &Completion,
        data: &Payload,
        children: &mut Children,
        context: &mut Context<'_>,
    ) -> bool {
        let (frame_blocks, block_bytes) = (self.layout.header_lbn(1), self.layout.block_bytes as usize);
        let words = self.layout.segment_blocks.div_ceil(64) as usize;
        self.reads -= 1;
        let (first, blocks) = (to_u32(lbn / frame_blocks), u64::from(completion.request.blocks));
        if !completion.is_served() && blocks > 1 {
            let frames = first..first + to_u32(blocks.div_ceil(frame_blocks));
            self.reads += to_u32(frames.len());
            for lbn in frames.map(|frame| self.layout.header_lbn(frame)) {
                let range = BlockRange::new(lbn, lbn + 1);
                children.send(Job::Recover { lbn }, Op::Read, range, Payload::NONE, context);
            }
            return false;
        }
        if !completion.is_served() {
            self.unreadable.push(first);
        }
        if let (true, Some(bytes)) = (completion.is_served(), data.bytes()) {
            for (index, frame) in bytes.chunks(to_usize(frame_blocks) * block_bytes).enumerate() {
                self.headers[first as usize + index] = header::decode(&frame[..block_bytes], words);
            }
        }
        self.read_next(children, context);
        self.reads == 0
    }

    /// Replaces headers by their entries in the journal, and drops headers without valid blocks.
    pub fn apply_journal(&mut self, journal: &Journal) {
        for entry in journal.entries() {
            self.headers[entry.frame as usize].clone_from(&entry.header);
            self.unreadable.retain(|&frame| frame != entry.frame);
        }
        for header in &mut self.headers {
            header.take_if(|header| header.valid.iter().all(|&word| word == 0));
        }
    }
}
