//! Requests from above and their pieces, one for each segment: what comes of all pieces of a request comes of it.

use super::statistics::{Met, HIT, MISS, READ_BUFFER};
use crate::convert::to_u32;
use crate::engine::{Completion, Context, Payload, Status};
use crate::hierarchy::common::{completion_of_part, Outstanding, SplitRequest};
use crate::request::{Flags, Op, Padding, Request};
use crate::service::Service;

/// A request from above.
#[derive(Clone, Debug)]
struct Whole {
    split: SplitRequest,
    /// The longest way that a piece took so far.
    path: u8,
}

/// What of a request lies in one segment, or a part of that.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub whole: u64,
    pub segment: u64,
    /// First of its blocks in the request.
    pub first: u32,
    /// First of its blocks in the segment.
    pub offset: u32,
    pub blocks: u32,
    pub op: Op,
    pub flags: Flags,
    pub origin: u32,
    pub padding: Padding,
    /// Whether the replacement policy has heard of it.
    pub noted: bool,
    /// Whether the replacement policy wants its segment, as far as it was asked.
    pub wanted: bool,
    /// What is written.
    pub data: Payload,
}

impl Piece {
    /// Blocks `from` to `to` of a request, in a segment that begins at block `start` of the disk; without what they write.
    pub fn of(whole: u64, segment: u64, request: &Request, (from, to): (u64, u64), start: u64) -> Self {
        let is_all = from == request.lbn && to == request.end_lbn();
        Self {
            whole,
            segment,
            first: to_u32(from - request.lbn),
            offset: to_u32(from - start),
            blocks: to_u32(to - from),
            op: request.op,
            flags: request.flags,
            origin: request.origin,
            padding: if is_all { request.padding } else { Padding::NONE },
            noted: false,
            wanted: false,
            data: Payload::NONE,
        }
    }

    /// Whether it asks for nothing but blocks of its segment from one to before another.
    pub const fn is_within(&self, (from, to): (u32, u32)) -> bool {
        from <= self.offset && self.offset + self.blocks <= to
    }

    /// `blocks` of it from block `from` on.
    pub fn part(&self, from: u32, blocks: u32) -> Self {
        Self { first: self.first + from, offset: self.offset + from, blocks, padding: Padding::NONE, ..self.clone() }
    }

    /// What it asks of a child that has its blocks from `lbn` on.
    pub fn request(&self, lbn: u64, context: &Context<'_>) -> Request {
        let Self { blocks, op, flags, origin, padding, .. } = *self;
        Request { id: 0, arrival: context.now(), lbn, blocks, op, flags, origin, padding }
    }
}

/// Requests from above that are under way.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    block_bytes: u32,
    wholes: Outstanding<Whole>,
    pub met: Met,
}

impl Requests {
    pub fn new(block_bytes: u32) -> Self {
        Self { block_bytes, wholes: Outstanding::default(), met: Met::default() }
    }

    /// Nothing is under way any more.
    pub fn forget(&mut self) {
        self.wholes.clear();
    }

    /// How many are under way.
    pub fn len(&self) -> usize {
        self.wholes.len()
    }

    /// A request of so many pieces is under way.
    pub fn begin(&mut self, request: &Request, pieces: u32) -> u64 {
        let mut split = SplitRequest::new(*request);
        split.add_parts(pieces);
        self.wholes.insert(Whole { split, path: HIT[request.op as usize] })
    }

    fn whole(&mut self, id: u64) -> &mut Whole {
        self.wholes.get_mut(id).expect("a request is under way as long as one of its pieces is")
    }

    /// A request that is under way.
    pub fn request(&mut self, whole: u64) -> Request {
        self.whole(whole).split.request
    }

    /// One piece of a request is joined to another.
    pub fn join(&mut self, whole: u64) {
        self.whole(whole).split.remove_part();
    }

    /// One piece of a request is cut in so many.
    pub fn cut(&mut self, whole: u64, parts: usize) {
        self.whole(whole).split.add_parts(to_u32(parts) - 1);
    }

    /// A request goes at least this way.
    pub fn takes(&mut self, whole: u64, path: u8) {
        let whole = self.whole(whole);
        whole.path = whole.path.max(path);
    }

    /// Its segment has a slot; says whether that is news.
    pub fn hit(&mut self, piece: &mut Piece) -> bool {
        let is_news = !std::mem::replace(&mut piece.noted, true);
        self.met.hits[piece.op as usize] += u64::from(is_news);
        is_news
    }

    /// Its segment has no slot.
    pub fn miss(&mut self, piece: &mut Piece) {
        let is_news = !std::mem::replace(&mut piece.noted, true);
        self.met.misses[piece.op as usize] += u64::from(is_news);
        self.takes(piece.whole, MISS[piece.op as usize]);
    }

    /// Blocks of a request from one on have been read, in a run that holds data.
    pub fn bring(&mut self, whole: u64, first: u32, data: &Payload) {
        if data.is_some() {
            let block_bytes = self.block_bytes;
            self.whole(whole).split.store_read(u64::from(first), data, block_bytes);
        }
    }

    /// A piece of a request is done; with the last one the request is.
    pub fn part(&mut self, id: u64, completion: &Completion, context: &mut Context<'_>) {
        let now = context.now();
        let whole = self.wholes.get_mut(id).expect("a request is under way as long as one of its pieces is");
        if !whole.split.complete_part(completion) {
            return;
        }
        self.met.paths[usize::from(whole.path)].record(now - whole.split.request.arrival);
        let (completion, payload) = whole.split.finish(now);
        context.complete_with(&completion, payload);
        self.wholes.discard(id);
    }

    /// A piece is done now, with nothing having been done for it alone.
    pub fn finish(&mut self, piece: &Piece, status: Status, context: &mut Context<'_>) {
        let now = context.now();
        let service = Service { start: now, end: now, free: now, ..Service::default() };
        let completion = Completion { request: self.whole(piece.whole).split.request, service, status };
        self.part(piece.whole, &completion, context);
    }

    /// The buffer serves a piece, a read with this: `from` is what brought it there, if the piece waited for that.
    pub fn answer(&mut self, piece: &Piece, data: &Payload, from: Option<&Completion>, context: &mut Context<'_>) {
        self.met.buffered += 1;
        if piece.op == Op::Read {
            self.bring(piece.whole, piece.first, data);
            self.takes(piece.whole, READ_BUFFER);
        }
        match from {
            Some(completion) => self.part(piece.whole, completion, context),
            None => self.finish(piece, Status::Served, context),
        }
    }

    /// MEMS has served a request whose only piece it was asked for.
    #[inline]
    pub fn served(&mut self, request: Request, completion: &Completion, answer: Payload, context: &mut Context<'_>) {
        let now = context.now();
        self.met.paths[usize::from(HIT[request.op as usize])].record(now - request.arrival);
        context.complete_with(&completion_of_part(request, completion, now), answer);
    }
}
