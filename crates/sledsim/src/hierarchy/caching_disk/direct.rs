//! Accesses of the disk for requests from above that do not go through MEMS: sequential streams, and what MEMS can't serve.
//!
//! Nothing of the segments concerned is on MEMS or in the buffer, or MEMS has the same as the disk. As long as such a write is
//! under way, none of its segments comes to MEMS.

use std::collections::BTreeMap;

use super::children::{Children, Job};
use super::requests::Piece;
use super::Layout;
use crate::engine::{Completion, Context};
use crate::request::{Op, Request};

/// Writes of the disk under way in a segment.
#[derive(Clone, Debug, Default)]
struct Writing {
    writes: u32,
    /// Pieces that wait until there are none.
    waiters: Vec<Piece>,
}

/// Disk writes that do not go through MEMS, by segment.
#[derive(Clone, Debug)]
pub(super) struct Direct {
    layout: Layout,
    writing: BTreeMap<u64, Writing>,
}

impl Direct {
    pub fn new(layout: Layout) -> Self {
        Self { layout, writing: BTreeMap::new() }
    }

    /// A piece, perhaps of several segments, goes to the disk.
    pub fn send(&mut self, piece: Piece, children: &mut Children, context: &mut Context<'_>) {
        let request = piece.request(self.layout.disk_lbn(piece.segment) + u64::from(piece.offset), context);
        if piece.op == Op::Write {
            for segment in self.layout.segments(request.lbn, request.end_lbn()) {
                self.writing.entry(segment).or_default().writes += 1;
            }
        }
        children.pass(Job::Direct { whole: piece.whole, first: piece.first }, request, piece.data, context);
    }

    /// The disk has served a piece, or could not: gives back the pieces that go on.
    pub fn done(&mut self, completion: &Completion) -> Vec<Piece> {
        let request: &Request = &completion.request;
        let mut freed = Vec::new();
        if request.op == Op::Write {
            for segment in self.layout.segments(request.lbn, request.end_lbn()) {
                let writing = self.writing.get_mut(&segment).expect("a write is noted until it comes back");
                writing.writes -= 1;
                if writing.writes == 0 {
                    freed.append(&mut writing.waiters);
                    self.writing.remove(&segment);
                }
            }
        }
        freed
    }

    /// Lets a piece wait for writes of the disk in its segment, if there are any; gives it back if there are none.
    pub fn join(&mut self, piece: Piece) -> Result<(), Piece> {
        match self.writing.get_mut(&piece.segment) {
            Some(writing) => {
                writing.waiters.push(piece);
                Ok(())
            }
            None => Err(piece),
        }
    }
}
