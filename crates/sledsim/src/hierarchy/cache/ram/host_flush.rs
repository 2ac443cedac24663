//! Host flushes: blocks that are dirty when a flush arrives are written to the child, then the child gets the flush.

use super::lines::Lines;
use super::{Part, RamCache};
use crate::engine::{Completion, Context, Status};
use crate::hierarchy::common::{completion_of_part, BlockRange, BlockSet};
use crate::request::Request;

/// A host flush under way.
#[derive(Clone)]
pub(super) struct HostFlush {
    request: Request,
    /// Blocks that were dirty when it arrived and whose write has not begun.
    dirty: BlockSet,
    /// Ids of the writes to the child that it waits for.
    writes: Vec<u64>,
    /// The status of the completed writes.
    status: Status,
    /// Id of the flush of the child.
    child_flush: Option<u64>,
}

impl HostFlush {
    /// The next dirty blocks to write for it, at most `limit`. Blocks that are being written and have changed since wait.
    pub fn next_run(&self, lines: &Lines, limit: u64) -> Option<BlockRange> {
        self.dirty.ranges().find_map(|(from, to)| lines.dirty_run(from, limit).filter(|run| run.from < to))
    }
}

impl RamCache {
    /// Begins a host flush.
    pub(super) fn begin_flush(&mut self, request: Request, context: &mut Context<'_>) {
        // Writes that are under way count, too: a write-through is newer than a dirty block.
        let writes = self.parts.ids(|part| matches!(part, Part::Destage { .. } | Part::WriteThrough { .. }));
        let dirty = self.lines.dirty_blocks();
        let flush = HostFlush { request, dirty, writes, status: Status::Served, child_flush: None };
        self.host_flushes.push(flush);
        self.flush_child(context);
    }

    /// Records that write `id` of the child has begun, of the current content of blocks.
    pub(super) fn write_began(&mut self, range: BlockRange, id: u64) {
        for flush in &mut self.host_flushes {
            if flush.dirty.remove(range.from, range.to) > 0 {
                flush.writes.push(id);
            }
        }
    }

    /// Handles a completed write of the child for the host flushes.
    pub(super) fn write_ended(&mut self, completion: &Completion, context: &mut Context<'_>) {
        let id = completion.request.id;
        for flush in self.host_flushes.iter_mut().filter(|flush| flush.writes.contains(&id)) {
            flush.writes.retain(|&write| write != id);
            flush.status = flush.status.max(completion.status);
        }
        self.flush_child(context);
    }

    /// Flushes the child for each host flush whose blocks have been written.
    fn flush_child(&mut self, context: &mut Context<'_>) {
        for flush in self.host_flushes.iter_mut().filter(|flush| flush.child_flush.is_none()) {
            if flush.writes.is_empty() && flush.dirty.is_empty() {
                let id = self.parts.insert(Part::Flush);
                flush.child_flush = Some(id);
                context.submit(self.child, Request { id, arrival: context.now(), ..flush.request });
            }
        }
    }

    /// Handles a completed flush of the child.
    pub(super) fn child_flushed(&mut self, completion: &Completion, context: &mut Context<'_>) {
        let now = context.now();
        let index = self.host_flushes.iter().position(|flush| flush.child_flush == Some(completion.request.id));
        let index = index.expect("the child is flushed for a host flush");
        let HostFlush { request, status, .. } = self.host_flushes.remove(index);
        let mut child_flush = Completion { status: status.max(completion.status), ..*completion };
        child_flush.service.start = request.arrival;
        self.destage_policy.request_ended(now);
        context.complete(&completion_of_part(request, &child_flush, now));
    }
}
