//! Reads: buffer hits, partial hits and misses.

use super::background::{ReadAheadRange, Task};
use super::buffer::Lookup;
use super::bus::{transfer, BusOptions, Chunk};
use super::device::{service, Command, DiskDevice, ReadWatermark};
use super::layout::BlockRange;
use super::pass::{DataArrival, Pass, PassOptions};
use super::retries::Retries;
use super::work_log::PhaseTimeline;
use super::ReadAhead;
use crate::convert::trunc_to_u64;
use crate::devices::Service;
use crate::request::Op;
use crate::time::Time;

impl DiskDevice {
    /// Serves a read.
    pub(super) fn read(&mut self, command: Command) -> Service {
        let writing = self.task.as_ref().is_some_and(Task::writes);
        let reading = self.task.as_ref().filter(|task| !task.writes()).map(|task| task.segment);
        let lookup = self.buffer.find(command.blocks, reading.filter(|_| self.policy.almost_hits));
        if writing {
            return self.read_during_write_behind(command, lookup);
        }
        match lookup {
            Lookup::Hit(segment) => {
                let free = self.preempt_other_read_ahead(segment, command.at);
                self.read_hit(command, free, segment)
            }
            Lookup::PartialHit(segment) => {
                let free = self.preempt_other_read_ahead(segment, command.at);
                let connected = self.partial_hit_connection(command, segment);
                self.read_partial_hit(command, free, segment, connected)
            }
            Lookup::Miss => {
                let free = self.stop_task(command.at);
                self.read_miss(command, free)
            }
        }
    }

    /// Stops the read-ahead unless it is into `segment`; returns the time at which the arm is free.
    fn preempt_other_read_ahead(&mut self, segment: usize, at: Time) -> Time {
        match self.task {
            Some(task) if task.segment == segment => at,
            _ => self.stop_task(at),
        }
    }

    /// Serves a read during a write-behind: it waits, unless it hits the buffer and the drive may transfer it meanwhile.
    fn read_during_write_behind(&mut self, command: Command, lookup: Lookup) -> Service {
        let Command { start, at, blocks } = command;
        let mut connected = None;
        match lookup {
            Lookup::Hit(segment) if self.policy.whole_hits_beside_writes => {
                return self.read_hit(command, at, segment);
            }
            Lookup::PartialHit(segment) if self.policy.partial_hits_beside_writes => {
                connected = self.partial_hit_connection(command, segment);
            }
            _ => {}
        }
        let disconnected = self.read_disconnected(at);
        let limit = self.task.map_or(0, |task| task.limit);
        let free = self.run_task_until(limit, at);
        match self.buffer.find(blocks, None) {
            Lookup::Hit(segment) => {
                self.buffer.touch(segment);
                let mut phases = PhaseTimeline::new(start);
                phases.command(disconnected);
                phases.background(free);
                let connected =
                    disconnected.max(free) + self.overheads.first_reselect_ns + self.overheads.preparation_ns;
                phases.command(connected);
                let transferred = connected + blocks.count() * self.overheads.read_block_ns;
                phases.bus(transferred);
                self.finish_read(segment, blocks.end);
                service(start, transferred + self.overheads.read_completion_ns, phases)
            }
            Lookup::PartialHit(segment) => self.read_partial_hit(command, free, segment, connected),
            Lookup::Miss => self.read_miss(command, free),
        }
    }

    /// Returns the command overhead of a hit.
    #[inline]
    fn hit_ns(&self) -> u64 {
        self.overheads.read_hit.after(self.previous.op)
    }

    /// Returns the command overhead of a miss.
    #[inline]
    fn miss_ns(&self) -> u64 {
        self.overheads.read_miss.after(self.previous.op)
    }

    /// Returns the time at which a read that misses has disconnected from the bus.
    #[inline]
    fn read_disconnected(&self, at: Time) -> Time {
        at + self.miss_ns() + self.overheads.read_disconnect.after(self.previous.op)
    }

    /// Serves a read of which the buffer holds all blocks.
    fn read_hit(&mut self, command: Command, free: Time, segment: usize) -> Service {
        let Command { start, at, blocks } = command;
        self.buffer.touch(segment);
        let mut phases = PhaseTimeline::new(start);
        let connected = at + self.hit_ns() + self.overheads.preparation_ns;
        phases.command(connected);
        let transferred = connected + blocks.count() * self.overheads.read_block_ns;
        phases.bus(transferred);
        match self.task {
            Some(task) if !task.writes() && task.segment == segment => self.extend_read_ahead(segment, blocks),
            None if self.policy.on_idle_hit && self.policy.read_ahead != ReadAhead::None => {
                let range = self.read_ahead_range(segment, blocks);
                let begin = (at + self.miss_ns()).max(free);
                self.read_ahead(segment, begin, range);
            }
            _ => {}
        }
        self.hold_read_ahead(segment, blocks.first, at, transferred);
        self.finish_read(segment, blocks.end);
        service(start, transferred + self.overheads.read_completion_ns, phases)
    }

    /// Extends the read-ahead under way for a request of the same stream.
    fn extend_read_ahead(&mut self, segment: usize, blocks: BlockRange) {
        let ReadAheadRange { limit, least } = self.read_ahead_range(segment, blocks);
        if let Some(task) = self.task.as_mut() {
            if limit > task.limit {
                // The read-ahead leaves the track, and with it the free blocks.
                task.free_blocks = None;
            }
            (task.limit, task.least) = (task.limit.max(limit), task.least.max(least));
        }
    }

    /// Returns the time at which a partial hit is ready to transfer, if the buffer holds enough of it to begin at once.
    fn partial_hit_connection(&self, command: Command, segment: usize) -> Option<Time> {
        let blocks = command.blocks.count();
        let there = self.buffer.segment(segment).end.saturating_sub(command.blocks.first);
        let is_enough = self.policy.transfer_partial_hits || there >= self.read_watermark(blocks).min(blocks);
        (is_enough || self.policy.never_disconnect).then(|| command.at + self.hit_ns() + self.overheads.preparation_ns)
    }

    /// Returns the number of blocks of a read that have to be in the buffer before the drive reconnects.
    fn read_watermark(&self, blocks: u64) -> u64 {
        match self.policy.read_watermark {
            ReadWatermark::Blocks(blocks) => blocks,
            ReadWatermark::OfRequest(share) => {
                trunc_to_u64(self.buffer.segment_blocks().min(blocks) as f64 * share).max(1)
            }
        }
    }

    /// Serves a read whose first blocks are in the buffer or about to arrive. The others come from a read-ahead under way, or from
    /// the medium.
    fn read_partial_hit(&mut self, command: Command, free: Time, segment: usize, connected: Option<Time>) -> Service {
        let Command { start, at, blocks } = command;
        self.buffer.touch(segment);
        self.chunks.clear();
        let there = self.buffer.segment(segment).end - blocks.first;
        if there > 0 {
            self.chunks.push(Chunk { blocks: there, first: at, last: at });
        }
        let mut phases = PhaseTimeline::new(start);
        if self.task.is_some() {
            phases.command(connected.unwrap_or(at));
            self.extend_read_ahead(segment, blocks);
            let arrived = self.await_read_ahead(BlockRange { first: blocks.first + there, ..blocks }, at);
            phases.transfer(arrived);
        } else {
            let begin = (at + self.miss_ns()).max(free);
            phases.command(begin);
            self.read_medium(&mut phases, begin, segment, blocks);
        }
        self.transfer_read(command, phases, segment, connected)
    }

    /// Runs the read-ahead until it has read `blocks`, and records their arrival; returns the last one.
    fn await_read_ahead(&mut self, mut blocks: BlockRange, at: Time) -> Time {
        let mut arrived = at;
        while let Some(task) = self.task.filter(|_| blocks.first < blocks.end) {
            if task.reads_free_blocks {
                arrived = arrived.max(task.pass.end);
                self.complete_pass();
                continue;
            }
            let (pass, end) = (task.pass, blocks.end.min(task.pass.end_lbn()));
            let chunk = Chunk {
                blocks: end - blocks.first,
                first: pass.block_end(blocks.first - pass.lbn),
                last: pass.block_end(end - 1 - pass.lbn),
            };
            self.chunks.push(chunk);
            arrived = self.run_task_until(end, arrived);
            blocks.first = end;
        }
        arrived
    }

    /// Serves a read whose first block is not in the buffer.
    fn read_miss(&mut self, command: Command, free: Time) -> Service {
        let Command { start, at, blocks } = command;
        let segment = self.buffer.segment_for_read();
        self.buffer.restart(segment, blocks.first, false);
        self.chunks.clear();
        let processed = at + self.miss_ns();
        let begin = processed.max(free);
        let mut phases = PhaseTimeline::new(start);
        phases.command(processed);
        phases.background(begin);
        self.read_medium(&mut phases, begin, segment, blocks);
        let connected = self.policy.never_disconnect.then(|| processed + self.overheads.preparation_ns);
        self.transfer_read(command, phases, segment, connected)
    }

    /// Reads the blocks that a segment lacks from the medium, and begins to read ahead. If the first pass fails, it is repeated until it
    /// succeeds.
    fn read_medium(&mut self, phases: &mut PhaseTimeline, begin: Time, segment: usize, blocks: BlockRange) {
        let BlockRange { first, end } = blocks;
        let any_order = self.policy.any_order_reads;
        // A read that continues a segment is still on its track.
        let least_seek_ns = if self.buffer.segment(segment).end > first { 0 } else { self.least_seek_ns(Op::Read) };
        let mut options = PassOptions { op: Op::Read, any_order, least_seek_ns, data: DataArrival::COMPLETE };
        self.moved_in_background = false;
        let mut free_blocks = None;
        let mut at = begin.max(self.free);
        let mut lbn = self.buffer.segment(segment).end;
        let mut retries = self.retries.as_mut().map_or(0, Retries::revolutions);
        while lbn < end {
            let mut pass = Pass::plan(&self.mechanics, at, &self.arms, BlockRange { first: lbn, end }, &options);
            phases.pass(&pass);
            self.record_pass(&pass, Op::Read, pass.end);
            if self.policy.free_blocks && lbn == first {
                free_blocks = self.keep_free_blocks(segment, &pass);
            }
            if retries > 0 {
                pass = pass.repeated_after(retries * self.mechanics.spindle().period_ns());
                phases.pass(&pass);
                self.record_pass(&pass, Op::Read, pass.end);
                retries = 0;
            }
            self.record_arrivals(&pass);
            options.least_seek_ns = 0;
            at = pass.end;
            lbn = pass.end_lbn();
            self.buffer.extend(segment, lbn);
        }
        let range = self.read_ahead_range(segment, blocks);
        self.read_ahead(segment, at, range);
        // The other free blocks pass after the end of the track, if the head stays on it.
        let is_last_track = |free: &BlockRange| self.mechanics.layout().track_of(end - 1).first == free.first;
        if let (Some(task), Some(free_blocks)) = (self.task.as_mut(), free_blocks) {
            task.free_blocks = Some(free_blocks).filter(is_last_track);
        }
    }

    /// Records the arrival of the blocks of a pass, in their order.
    fn record_arrivals(&mut self, pass: &Pass) {
        if self.policy.transfers_after_pass {
            self.chunks.push(Chunk { blocks: pass.blocks, first: pass.end, last: pass.end });
            return;
        }
        let in_order = if pass.lead == 0 { pass.blocks } else { pass.lead };
        self.chunks.push(Chunk { blocks: in_order, first: pass.block_end(0), last: pass.block_end(in_order - 1) });
        if pass.lead > 0 {
            // Blocks that arrived before those in front of them.
            self.chunks.push(Chunk { blocks: pass.blocks - pass.lead, first: pass.end, last: pass.end });
        }
    }

    /// Keeps the blocks of the track that passed before the first requested one. Returns the blocks between the start of the track and
    /// those, which pass after the end of the track; `None` if there are none.
    fn keep_free_blocks(&mut self, segment: usize, pass: &Pass) -> Option<BlockRange> {
        let track_first = self.mechanics.layout().track_of(pass.lbn).first;
        if track_first >= pass.lbn {
            return None;
        }
        let before = pass.lbn - track_first;
        let block_ns = (pass.data_ns() / pass.blocks).max(1);
        // A head that comes on track within or after the requested blocks passes over all blocks before them.
        let passed =
            if pass.lead > 0 { before } else { before.min(pass.start.saturating_since(pass.on_track) / block_ns) };
        let end = pass.lbn - passed;
        self.buffer.extend_front(segment, end);
        (passed < before).then_some(BlockRange { first: track_first, end })
    }

    /// Returns how far the drive reads ahead into a segment after a request for `blocks`.
    fn read_ahead_range(&self, segment: usize, blocks: BlockRange) -> ReadAheadRange {
        let BlockRange { first, end } = blocks;
        let layout = self.mechanics.layout();
        let capacity = layout.capacity_blocks();
        let policy = &self.policy;
        let least = (end + policy.least_blocks).min(capacity);
        if policy.read_ahead == ReadAhead::None || end >= capacity {
            return ReadAheadRange { limit: end, least: end };
        }
        let size = self.buffer.segment_blocks();
        let most = end + policy.most_blocks.unwrap_or(size);
        // Requested data that may not be evicted leaves the rest of the segment.
        let most = if policy.over_requested == 0 { most.min((first + size).max(least)) } else { most };
        let limit = match policy.read_ahead {
            ReadAhead::None => end,
            ReadAhead::Segment => most,
            ReadAhead::Track => most.min(layout.track_of(end - 1).end),
            ReadAhead::Cylinder => most.min(layout.cylinder_of(end - 1).end),
            // A drive known to evict requested data reads ahead until the segment is full.
            ReadAhead::NextTrack if policy.over_requested > 0 => most,
            ReadAhead::NextTrack => {
                let track = layout.track_of(end);
                let origin = self.buffer.segment(segment).origin;
                if origin < first && origin < track.first && track.end < capacity {
                    layout.track_of(track.end).end
                } else {
                    track.end
                }
            }
        };
        ReadAheadRange { limit: limit.min(capacity), least: least.min(limit) }
    }

    /// Transfers a read over the bus and completes it.
    fn transfer_read(
        &mut self,
        command: Command,
        mut phases: PhaseTimeline,
        segment: usize,
        connected: Option<Time>,
    ) -> Service {
        let Command { start, at, blocks: BlockRange { end, .. } } = command;
        let o = &self.overheads;
        let blocks: u64 = self.chunks.iter().map(|chunk| chunk.blocks).sum();
        let options = BusOptions {
            block_ns: o.read_block_ns,
            hold: self.policy.hold_bus_reading,
            disconnect_ns: o.read_disconnect.after(self.previous.op),
            reconnect_ns: o.first_reselect_ns + o.preparation_ns,
            watermark: self.read_watermark(blocks),
        };
        let transfer = transfer(&self.chunks, connected, self.read_disconnected(at), &options);
        phases.command(transfer.connected.min(transfer.end));
        phases.bus(transfer.end);
        let completed = transfer.end + o.read_completion_ns;
        self.hold_read_ahead(segment, end - blocks, at, completed);
        self.finish_read(segment, end);
        service(start, completed, phases)
    }

    /// Updates a segment when a read that ends before `end` is complete.
    fn finish_read(&mut self, segment: usize, end: u64) {
        if self.policy.over_requested < 0 {
            self.buffer.drop_before(segment, end);
        }
        if self.task.is_none() {
            self.buffer.discard_uncached(segment);
        }
    }
}
