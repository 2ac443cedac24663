//! Reads: cut by where the newest copies lie.

use super::counts::Way;
use super::{Job, WriteBuffer};
use crate::convert::to_u32;
use crate::engine::{Completion, Context, Payload};
use crate::hierarchy::common::SplitRequest;
use crate::request::{Padding, Request};

/// Blocks of a part that a read needs: where they begin in the read, where in the part, and how many they are. Only in runs that
/// hold data.
pub(super) type Piece = (u64, u64, u64);

/// A read under way.
#[derive(Clone, Debug)]
pub(super) struct Read {
    split: SplitRequest,
    way: Way,
}

/// One access of a read.
#[derive(Clone, Debug)]
pub(super) struct Part {
    on_disk: bool,
    lbn: u64,
    end: u64,
    pieces: Vec<Piece>,
}

impl WriteBuffer {
    /// Reads every block where its newest copy is.
    pub(super) fn read(&mut self, request: Request, context: &mut Context<'_>) {
        let mut parts = std::mem::take(&mut self.parts);
        self.cut(&request, context.holds_data(), &mut parts);
        let on_disk = parts.iter().filter(|part| part.on_disk).count();
        let way = match (on_disk, parts.len() - on_disk) {
            (0, _) => Way::ReadMems,
            (_, 0) => Way::ReadDisk,
            _ => Way::ReadBoth,
        };
        let mut split = SplitRequest::new(request);
        split.add_parts(to_u32(parts.len()));
        let read = self.reads.insert(Read { split, way });
        for Part { on_disk, lbn, end, pieces } in parts.drain(..) {
            let blocks = to_u32(end - lbn);
            let pin = (!on_disk).then(|| to_u32(lbn));
            let child = if on_disk { self.disk.id } else { self.mems.id };
            match pin {
                Some(at) => self.ring.pin(at),
                None => self.cleaner.host_reads += 1,
            }
            let padding = if blocks == request.blocks { request.padding } else { Padding::NONE };
            let id = self.jobs.insert(Job::Read { read, pieces, pin });
            context.submit(child, Request { id, arrival: context.now(), lbn, blocks, padding, ..request });
        }
        self.parts = parts;
    }

    /// The accesses of a read; their pieces only if they are to be kept.
    fn cut(&self, request: &Request, keep: bool, parts: &mut Vec<Part>) {
        let mut disk: Option<usize> = None;
        let mut mems: Option<usize> = None;
        let mut first = 0;
        while first < u64::from(request.blocks) {
            let lbn = request.lbn + first;
            let found = self.ring.table.find(lbn);
            let follows = |blocks: u64| match (found, self.ring.table.find(lbn + blocks)) {
                (Some(at), Some(next)) => u64::from(next) == u64::from(at) + blocks,
                (at, next) => at.is_none() && next.is_none(),
            };
            let most = u64::from(request.blocks) - first;
            let blocks = (1..most).find(|&blocks| !follows(blocks)).unwrap_or(most);
            let (last, from) = match found {
                Some(at) => (&mut mems, u64::from(at)),
                None => (&mut disk, lbn),
            };
            let part = match *last {
                Some(part) if found.is_none() || self.one_access(parts[part].end, from) => part,
                _ => {
                    parts.push(Part { on_disk: found.is_none(), lbn: from, end: from, pieces: Vec::new() });
                    parts.len() - 1
                }
            };
            *last = Some(part);
            let part = &mut parts[part];
            part.end = from + blocks;
            if keep {
                part.pieces.push((first, from - part.lbn, blocks));
            }
            first += blocks;
        }
    }

    /// Whether an access that ends at one block of the log can go on with another: with at most a header between them.
    fn one_access(&self, end: u64, next: u64) -> bool {
        let log = u64::from(self.ring.slot_blocks);
        (end..=end + 1).contains(&next) && (end - 1) / log == next / log
    }

    /// A part of a read has come back.
    pub(super) fn read_part(
        &mut self,
        read: u64,
        pieces: &[Piece],
        pin: Option<u32>,
        completion: &Completion,
        answer: &Payload,
        context: &mut Context<'_>,
    ) {
        let block_bytes = self.disk.block_bytes;
        match pin {
            Some(at) => {
                self.ring.unpin(at);
                self.ring.free();
            }
            None => self.cleaner.host_read_done(context.now()),
        }
        let Read { split, way } = self.reads.get_mut(read).expect("a read is under way as long as one of its parts is");
        for &(first, from, blocks) in pieces {
            split.store_read(first, &answer.slice(from, blocks, block_bytes), block_bytes);
        }
        if split.complete_part(completion) {
            self.counts.record(*way, context.now() - split.request.arrival);
            let (completion, payload) = split.finish(context.now());
            context.complete_with(&completion, payload);
            self.reads.discard(read);
        }
        self.append(context);
        self.clean(context);
    }
}
