//! Accesses of the disk for requests from above that do not go through MEMS: sequential streams, and what MEMS can't serve.
//!
//! Nothing of the segments concerned is on MEMS or in the buffer, or MEMS has the same as the disk. As long as such a write is
//! under way, none of its segments comes to MEMS.

use super::access::Piece;
use super::statistics::{READ_BYPASS, READ_MISS, WRITE_BYPASS, WRITE_MISS};
use super::{Job, Mcd};
use crate::engine::{Completion, Context, Payload, Status};
use crate::request::{Flags, Op, Request};

/// Writes of the disk under way in a segment.
#[derive(Debug, Default)]
pub(super) struct Writing {
    writes: u32,
    /// Pieces that wait until there are none.
    waiters: Vec<Piece>,
}

impl Mcd {
    /// Whether neither MEMS nor the buffer has anything of a segment, and nothing is under way that will bring it there.
    pub(super) fn is_absent(&self, segment: u64) -> bool {
        self.policy.find(segment).is_none() && !self.leaving.contains_key(&segment)
    }

    /// The blocks of the disk that a piece asks for: the first, and that after the last.
    fn range(&self, piece: &Piece) -> (u64, u64) {
        let from = self.layout.disk_lbn(piece.segment) + u64::from(piece.offset);
        (from, from + u64::from(piece.blocks))
    }

    /// Whether a piece of a segment that is absent may not go through MEMS.
    pub(super) fn must_go_direct(&self, segment: u64) -> bool {
        let from = self.layout.disk_lbn(segment);
        let is_lost = || self.lost.touches(from, from + u64::from(self.layout.blocks(segment)));
        self.mems_failed || (!self.lost.is_empty() && is_lost())
    }

    /// A piece of a stream, perhaps of several segments, goes to the disk.
    pub(super) fn bypass(&mut self, piece: Piece, context: &mut Context<'_>) {
        self.statistics.bypasses += 1;
        self.statistics.bypassed_blocks += u64::from(piece.blocks);
        self.takes(piece.whole, if piece.op == Op::Read { READ_BYPASS } else { WRITE_BYPASS });
        self.direct(piece, context);
    }

    /// A piece that can't go through MEMS goes to the disk.
    pub(super) fn detour(&mut self, piece: Piece, context: &mut Context<'_>) {
        self.statistics.detours += 1;
        self.takes(piece.whole, if piece.op == Op::Read { READ_MISS } else { WRITE_MISS });
        self.direct(piece, context);
    }

    /// A piece, perhaps of several segments, goes to the disk; a read of what is lost fails.
    fn direct(&mut self, piece: Piece, context: &mut Context<'_>) {
        let (from, to) = self.range(&piece);
        match piece.op {
            Op::Read if self.lost.touches(from, to) => {
                self.finish_part(&piece, Status::Unreadable, context);
                return;
            }
            Op::Read => self.disk_reads += 1,
            Op::Write => {
                self.disk_writes += 1;
                for segment in self.layout.segments(from, to) {
                    self.writing.entry(segment).or_default().writes += 1;
                }
            }
        }
        let Piece { whole, first, blocks, op, flags, origin, spare, data, .. } = piece;
        let flags = if op == Op::Write { flags.with(Flags::DURABLE) } else { flags };
        let id = self.jobs.issue(Job::Direct { whole, first });
        let request = Request { id, arrival: context.now(), lbn: from, blocks, op, flags, origin, spare };
        context.submit_with(self.disk, request, data);
    }

    /// The disk has served a piece, or could not.
    pub(super) fn direct_done(
        &mut self,
        whole: u64,
        first: u32,
        completion: &Completion,
        answer: &Payload,
        context: &mut Context<'_>,
    ) {
        let request = &completion.request;
        let mut freed = Vec::new();
        if request.op == Op::Write {
            self.disk_writes -= 1;
            if completion.served() {
                self.lost.remove(request.lbn, request.end_lbn());
            }
            for segment in self.layout.segments(request.lbn, request.end_lbn()) {
                let Some(writing) = self.writing.get_mut(&segment) else { continue };
                writing.writes -= 1;
                if writing.writes == 0 {
                    freed.extend(self.writing.remove(&segment).into_iter().flat_map(|writing| writing.waiters));
                }
            }
        } else {
            self.disk_reads -= 1;
        }
        self.bring(whole, first, answer);
        self.part(whole, completion, context);
        self.reroute(freed, context);
    }

    /// Lets a piece wait for writes of the disk in its segment, if there are any; gives it back if there are none.
    pub(super) fn join_writing(&mut self, piece: Piece) -> Result<(), Piece> {
        match self.writing.get_mut(&piece.segment) {
            Some(writing) => {
                writing.waiters.push(piece);
                Ok(())
            }
            None => Err(piece),
        }
    }
}
