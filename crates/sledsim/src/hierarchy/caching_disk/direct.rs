//! Disk accesses of host requests that do not go through MEMS: sequential streams, and requests that MEMS cannot serve.
//!
//! Their segments are neither on MEMS nor in the buffer, or MEMS has the same content as the disk. While such a write is under
//! way, none of its segments is admitted to MEMS.

use std::collections::BTreeMap;

use super::children::{Children, Job};
use super::layout::Layout;
use super::requests::Piece;
use crate::engine::{Completion, Context};
use crate::hierarchy::common::BlockRange;
use crate::request::Op;

/// Disk writes under way in a segment.
#[derive(Clone, Debug, Default)]
struct SegmentWrites {
    writes: u32,
    /// Pieces that wait for the end of the writes.
    waiting: Vec<Piece>,
}

/// Disk accesses that do not go through MEMS.
#[derive(Clone, Debug)]
pub(super) struct DirectAccesses {
    layout: Layout,
    /// Writes under way, by segment.
    writes: BTreeMap<u64, SegmentWrites>,
}

impl DirectAccesses {
    pub fn new(layout: Layout) -> Self {
        Self { layout, writes: BTreeMap::new() }
    }

    /// Drops all accesses.
    pub fn clear(&mut self) {
        self.writes.clear();
    }

    /// Sends a piece, which may reach over several segments, to the disk.
    pub fn send(&mut self, piece: Piece, children: &mut Children, context: &mut Context<'_>) {
        let request = piece.child_request(self.layout.disk_lbn(piece.segment) + u64::from(piece.offset), context);
        if piece.op == Op::Write {
            for segment in self.layout.segments(BlockRange::new(request.lbn, request.end_lbn())) {
                self.writes.entry(segment).or_default().writes += 1;
            }
        }
        let job = Job::Direct { request_id: piece.request_id, first: piece.first };
        children.pass(job, request, piece.data, context);
    }

    /// Handles the end of an access. Returns the pieces that waited for it.
    pub fn complete(&mut self, completion: &Completion) -> Vec<Piece> {
        let request = &completion.request;
        let mut released = Vec::new();
        if request.op == Op::Write {
            for segment in self.layout.segments(BlockRange::new(request.lbn, request.end_lbn())) {
                let writes = self.writes.get_mut(&segment).expect("a write is listed until it completes");
                writes.writes -= 1;
                if writes.writes == 0 {
                    released.append(&mut writes.waiting);
                    self.writes.remove(&segment);
                }
            }
        }
        released
    }

    /// Queues a piece for the end of the writes in its segment; returns it if there are none.
    pub fn wait_for_writes(&mut self, piece: Piece) -> Result<(), Piece> {
        match self.writes.get_mut(&piece.segment) {
            Some(writes) => {
                writes.waiting.push(piece);
                Ok(())
            }
            None => Err(piece),
        }
    }
}
