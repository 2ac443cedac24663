//! Host requests under way and their pieces, one for each segment.

use super::layout::Run;
use super::statistics::{RequestCounts, RequestPath};
use crate::convert::to_u32;
use crate::engine::{Completion, Context, Payload, Status};
use crate::hierarchy::common::{completion_of_part, BlockRange, Outstanding, SplitRequest};
use crate::request::{Flags, Op, Padding, Request};
use crate::service::Service;

/// A host request under way.
#[derive(Clone, Debug)]
struct HostRequest {
    split: SplitRequest,
    /// The slowest path of a piece so far.
    path: RequestPath,
}

/// The part of a host request in one segment, or a part of that. Pieces that go to the disk directly may reach over several
/// segments.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Id of the host request.
    pub request_id: u64,
    pub segment: u64,
    /// Index of its first block in the request.
    pub first: u32,
    /// Index of its first block in the segment.
    pub offset: u32,
    pub blocks: u32,
    pub op: Op,
    pub flags: Flags,
    pub origin: u32,
    pub padding: Padding,
    /// True once it was counted as hit or miss; the replacement policy is called for it once.
    pub is_counted: bool,
    /// True once the replacement policy has admitted its segment.
    pub is_admitted: bool,
    /// The data to write.
    pub data: Payload,
}

impl Piece {
    /// The blocks `range` of a request, in a segment that begins at block `segment_lbn` of the disk; without data.
    pub fn new(request_id: u64, request: &Request, range: BlockRange, segment: u64, segment_lbn: u64) -> Self {
        let is_all = range == BlockRange::new(request.lbn, request.end_lbn());
        Self {
            request_id,
            segment,
            first: to_u32(range.from - request.lbn),
            offset: to_u32(range.from - segment_lbn),
            blocks: to_u32(range.blocks()),
            op: request.op,
            flags: request.flags,
            origin: request.origin,
            padding: if is_all { request.padding } else { Padding::NONE },
            is_counted: false,
            is_admitted: false,
            data: Payload::NONE,
        }
    }

    /// Its blocks in the segment.
    pub const fn run(&self) -> Run {
        Run::new(self.offset, self.blocks)
    }

    /// `blocks` of its blocks, from its block `from` on.
    pub fn part(&self, from: u32, blocks: u32) -> Self {
        Self { first: self.first + from, offset: self.offset + from, blocks, padding: Padding::NONE, ..self.clone() }
    }

    /// The request for a child that holds its blocks from `lbn` on.
    pub fn child_request(&self, lbn: u64, context: &Context<'_>) -> Request {
        let Self { blocks, op, flags, origin, padding, .. } = *self;
        Request { id: 0, arrival: context.now(), lbn, blocks, op, flags, origin, padding }
    }
}

/// Host requests under way. A request completes with the last of its pieces.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    block_bytes: u32,
    requests: Outstanding<HostRequest>,
    pub counts: RequestCounts,
}

impl Requests {
    pub fn new(block_bytes: u32) -> Self {
        Self { block_bytes, requests: Outstanding::default(), counts: RequestCounts::default() }
    }

    /// Drops all requests.
    pub fn clear(&mut self) {
        self.requests.clear();
    }

    /// Number of requests under way.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Adds a request of `pieces` pieces and returns its id.
    pub fn begin(&mut self, request: &Request, pieces: u32) -> u64 {
        let mut split = SplitRequest::new(*request);
        split.add_parts(pieces);
        self.requests.insert(HostRequest { split, path: RequestPath::hit(request.op) })
    }

    /// A request under way.
    pub fn request(&self, id: u64) -> Request {
        self.requests[id].split.request
    }

    /// Joins a piece of a request to another.
    pub fn merge_piece(&mut self, id: u64) {
        self.requests[id].split.remove_part();
    }

    /// Splits a piece of a request into `parts` parts.
    pub fn split_piece(&mut self, id: u64, parts: usize) {
        self.requests[id].split.add_parts(to_u32(parts) - 1);
    }

    /// Records the path of a piece.
    pub fn set_path(&mut self, id: u64, path: RequestPath) {
        let request = &mut self.requests[id];
        request.path = request.path.max(path);
    }

    /// Counts a piece whose segment has a slot. Returns false if it was counted before.
    pub fn count_hit(&mut self, piece: &mut Piece) -> bool {
        let is_first = !std::mem::replace(&mut piece.is_counted, true);
        self.counts.hits[piece.op as usize] += u64::from(is_first);
        is_first
    }

    /// Counts a piece whose segment has no slot, unless it was counted before.
    pub fn count_miss(&mut self, piece: &mut Piece) {
        let is_first = !std::mem::replace(&mut piece.is_counted, true);
        self.counts.misses[piece.op as usize] += u64::from(is_first);
        self.set_path(piece.request_id, RequestPath::miss(piece.op));
    }

    /// Stores data that was read, from block `first` of a request on.
    pub fn store_read(&mut self, id: u64, first: u32, data: &Payload) {
        if data.is_some() {
            self.requests[id].split.store_read(u64::from(first), data, self.block_bytes);
        }
    }

    /// Completes a piece of a request, and the request with its last piece.
    pub fn complete_piece(&mut self, id: u64, completion: &Completion, context: &mut Context<'_>) {
        let now = context.now();
        let HostRequest { split, path } = &mut self.requests[id];
        if !split.complete_part(completion) {
            return;
        }
        self.counts.paths[*path as usize].record(now - split.request.arrival);
        let (completion, payload) = split.finish(now);
        context.complete_with(&completion, payload);
        self.requests.discard(id);
    }

    /// Completes a piece now, without an access for it alone.
    pub fn complete_now(&mut self, piece: &Piece, status: Status, context: &mut Context<'_>) {
        let now = context.now();
        let service = Service { start: now, end: now, free: now, ..Service::default() };
        let completion = Completion { request: self.request(piece.request_id), service, status };
        self.complete_piece(piece.request_id, &completion, context);
    }

    /// Completes a piece that the buffer serves; `data` is read. `fill_read` is the disk read that the piece waited for, if its
    /// service belongs to this piece.
    pub fn complete_from_buffer(
        &mut self,
        piece: &Piece,
        data: &Payload,
        fill_read: Option<&Completion>,
        context: &mut Context<'_>,
    ) {
        self.counts.buffered += 1;
        if piece.op == Op::Read {
            self.store_read(piece.request_id, piece.first, data);
            self.set_path(piece.request_id, RequestPath::ReadBuffer);
        }
        match fill_read {
            Some(completion) => self.complete_piece(piece.request_id, completion, context),
            None => self.complete_now(piece, Status::Served, context),
        }
    }

    /// Completes a request that MEMS served in one access; `data` was read.
    #[inline]
    pub fn complete_hit(
        &mut self,
        request: Request,
        completion: &Completion,
        data: Payload,
        context: &mut Context<'_>,
    ) {
        let now = context.now();
        self.counts.paths[RequestPath::hit(request.op) as usize].record(now - request.arrival);
        context.complete_with(&completion_of_part(request, completion, now), data);
    }
}
