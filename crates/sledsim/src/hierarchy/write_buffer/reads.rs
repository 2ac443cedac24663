//! Host reads, split by the places of the newest copies of their blocks.

use super::children::{Children, Job};
use super::cleaner::Cleaner;
use super::counts::{Counts, RequestPath};
use super::log::Log;
use crate::convert::to_u32;
use crate::engine::{Completion, Context, Payload};
use crate::hierarchy::common::{Outstanding, SplitRequest};
use crate::request::{Padding, Request};

/// Blocks of a part that a read needs; kept only in runs that hold data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// First block in the read.
    first: u64,
    /// First block in the part.
    offset: u64,
    blocks: u64,
}

/// A read under way.
#[derive(Clone, Debug)]
struct Read {
    split: SplitRequest,
    path: RequestPath,
}

/// One access of a read.
#[derive(Clone, Debug)]
struct Part {
    on_disk: bool,
    lbn: u64,
    end: u64,
    pieces: Vec<Piece>,
}

/// Host reads under way.
#[derive(Clone, Debug)]
pub(super) struct Reads {
    block_bytes: u32,
    reads: Outstanding<Read>,
    /// The parts of the read that is being split; kept to reuse its memory.
    parts: Vec<Part>,
}

impl Reads {
    pub fn new(block_bytes: u32) -> Self {
        Self { block_bytes, reads: Outstanding::default(), parts: Vec::new() }
    }

    /// Number of reads under way.
    pub fn len(&self) -> usize {
        self.reads.len()
    }

    /// Drops all reads.
    pub fn clear(&mut self) {
        self.reads.clear();
    }

    /// Reads every block from the place of its newest copy.
    pub fn begin(
        &mut self,
        request: Request,
        log: &mut Log,
        cleaner: &mut Cleaner,
        children: &mut Children,
        context: &mut Context<'_>,
    ) {
        split(&request, log, context.holds_data(), &mut self.parts);
        let on_disk = self.parts.iter().filter(|part| part.on_disk).count();
        let path = match (on_disk, self.parts.len() - on_disk) {
            (0, _) => RequestPath::ReadMems,
            (_, 0) => RequestPath::ReadDisk,
            _ => RequestPath::ReadBoth,
        };
        let mut split = SplitRequest::new(request);
        split.add_parts(to_u32(self.parts.len()));
        let read = self.reads.insert(Read { split, path });
        for Part { on_disk, lbn, end, pieces } in self.parts.drain(..) {
            let blocks = to_u32(end - lbn);
            let pin = (!on_disk).then(|| to_u32(lbn));
            match pin {
                Some(at) => log.pin(at),
                None => cleaner.disk_read_began(),
            }
            let padding = if blocks == request.blocks { request.padding } else { Padding::NONE };
            let part = Request { lbn, blocks, padding, ..request };
            children.pass(Job::Read { read, pieces, pin }, part, Payload::NONE, context);
        }
    }

    /// Handles a completed part of a read; `data` was read.
    pub fn part_completed(
        &mut self,
        id: u64,
        pieces: &[Piece],
        completion: &Completion,
        data: &Payload,
        counts: &mut Counts,
        context: &mut Context<'_>,
    ) {
        let Read { split, path } = &mut self.reads[id];
        for &Piece { first, offset, blocks } in pieces {
            split.store_read(first, &data.slice(offset, blocks, self.block_bytes), self.block_bytes);
        }
        if split.complete_part(completion) {
            counts.record(*path, context.now() - split.request.arrival);
            let (completion, payload) = split.finish(context.now());
            context.complete_with(&completion, payload);
            self.reads.discard(id);
        }
    }
}

/// Splits a read into accesses of the log and the disk. The pieces are listed if `keep_pieces`.
fn split(request: &Request, log: &Log, keep_pieces: bool, parts: &mut Vec<Part>) {
    let mut disk: Option<usize> = None;
    let mut mems: Option<usize> = None;
    let mut first = 0;
    while first < u64::from(request.blocks) {
        let lbn = request.lbn + first;
        let found = log.map.find(lbn);
        let continues = |blocks: u64| match (found, log.map.find(lbn + blocks)) {
            (Some(at), Some(next)) => u64::from(next) == u64::from(at) + blocks,
            (at, next) => at.is_none() && next.is_none(),
        };
        let rest = u64::from(request.blocks) - first;
        let blocks = (1..rest).find(|&blocks| !continues(blocks)).unwrap_or(rest);
        let (last, from) = match found {
            Some(at) => (&mut mems, u64::from(at)),
            None => (&mut disk, lbn),
        };
        let part = match *last {
            Some(part) if found.is_none() || is_one_access(parts[part].end, from, log.log_blocks) => part,
            _ => {
                parts.push(Part { on_disk: found.is_none(), lbn: from, end: from, pieces: Vec::new() });
                parts.len() - 1
            }
        };
        *last = Some(part);
        let part = &mut parts[part];
        part.end = from + blocks;
        if keep_pieces {
            part.pieces.push(Piece { first, offset: from - part.lbn, blocks });
        }
        first += blocks;
    }
}

/// Returns true if an access that ends before block `end` of the ring can continue with block `next`: both are in one log, with at
/// most a header between them.
fn is_one_access(end: u64, next: u64, log_blocks: u32) -> bool {
    let log_blocks = u64::from(log_blocks);
    (end..=end + 1).contains(&next) && (end - 1) / log_blocks == next / log_blocks
}
