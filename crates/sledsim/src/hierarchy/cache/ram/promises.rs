//! Flushes from above, which a volatile cache has to keep: what was dirty when one came is written to the child, then the child
//! is sent the flush.

use super::lines::Lines;
use super::{Part, RamCache};
use crate::engine::{Completion, Context, Status};
use crate::hierarchy::common::{completion_of_part, BlockSet};
use crate::request::Request;

/// A flush under way.
#[derive(Clone)]
pub(super) struct Promise {
    whole: Request,
    /// Blocks that were dirty when it came, and that nobody has begun to write since.
    owed: BlockSet,
    /// Writes to the child that it waits for.
    writes: Vec<u64>,
    /// What came of those that are over.
    status: Status,
    /// The child's flush.
    below: Option<u64>,
}

impl Promise {
    /// What to write for it next, if that can be written now: the first block, and how many, at most `most`.
    pub fn next(&self, lines: &Lines, most: u64) -> Option<(u64, u64)> {
        // Blocks that are being written, and have been written to since, come again.
        self.owed.ranges().find_map(|(from, to)| lines.dirty_run(from, most).filter(|&(lbn, _)| lbn < to))
    }
}

impl RamCache {
    /// Takes a flush.
    pub(super) fn promise(&mut self, whole: Request, context: &mut Context<'_>) {
        // Writes under way hold what was written before them, too: a write that goes through is newer than a dirty block.
        let writes = self.parts.ids(|part| matches!(part, Part::Destage { .. } | Part::Through { .. }));
        let owed = self.lines.dirty_blocks();
        self.promises.push(Promise { whole, owed, writes, status: Status::Served, below: None });
        self.keep_promises(context);
    }

    /// Blocks go to the child as they are now.
    pub(super) fn being_written(&mut self, lbn: u64, end: u64, id: u64) {
        for promise in &mut self.promises {
            if promise.owed.remove(lbn, end) > 0 {
                promise.writes.push(id);
            }
        }
    }

    /// A write to the child is over.
    pub(super) fn write_over(&mut self, completion: &Completion, context: &mut Context<'_>) {
        let id = completion.request.id;
        for promise in self.promises.iter_mut().filter(|promise| promise.writes.contains(&id)) {
            promise.writes.retain(|&write| write != id);
            promise.status = promise.status.max(completion.status);
        }
        self.keep_promises(context);
    }

    /// Sends on the flushes for which the cache has nothing left to write.
    fn keep_promises(&mut self, context: &mut Context<'_>) {
        let Self { promises, parts, child, .. } = self;
        let waits = |promise: &&mut Promise| promise.below.is_none();
        for promise in promises.iter_mut().filter(waits) {
            if promise.writes.is_empty() && promise.owed.is_empty() {
                let id = parts.insert(Part::Flush);
                promise.below = Some(id);
                context.submit(*child, Request { id, arrival: context.now(), ..promise.whole });
            }
        }
    }

    /// The child has completed a flush.
    pub(super) fn flushed(&mut self, completion: &Completion, context: &mut Context<'_>) {
        let now = context.now();
        let place = self.promises.iter().position(|promise| promise.below == Some(completion.request.id));
        let Promise { whole, status, .. } = self.promises.remove(place.expect("a flush was sent for somebody"));
        let mut below = Completion { status: status.max(completion.status), ..*completion };
        below.service.start = whole.arrival;
        self.flush.quieten(now);
        context.complete(&completion_of_part(whole, &below, now));
    }
}
