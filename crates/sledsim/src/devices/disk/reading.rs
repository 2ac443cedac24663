//! Reads: from the buffer, from the medium, or from both.

use super::access::{served, DiskDevice};
use super::buffer::Found;
use super::bus::{hand_over, Chunk, Terms};
use super::pass::{Errand, Pass, Supply};
use super::work_log::PhaseTimeline;
use super::ReadAhead;
use crate::convert::trunc_to_u64;
use crate::devices::Service;
use crate::request::Op;
use crate::time::Time;

impl DiskDevice {
    /// Serves a read that was told at `start` and is looked at from `at` on.
    pub(super) fn read(&mut self, start: Time, at: Time, first: u64, end: u64) -> Service {
        let writing = self.task.is_some_and(|task| task.writes());
        let reading = self.task.filter(|task| !task.writes()).map(|task| task.segment);
        let almost = reading.filter(|_| self.policy.almost_hits);
        let found = self.buffer.find(first, end, almost);
        if writing {
            return self.read_beside_write(start, at, first, end, found);
        }
        match found {
            Found::Whole(segment) => {
                let free = self.make_way(segment, at);
                self.read_hit(start, at, free, segment, first, end)
            }
            Found::Part(segment) => {
                let free = self.make_way(segment, at);
                let connected = self.hit_connection(segment, first, end, at);
                self.read_rest(start, at, free, segment, first, end, connected)
            }
            Found::Nothing => {
                let free = self.break_off(at);
                self.read_miss(start, at, free, first, end)
            }
        }
    }

    /// Breaks off reading ahead unless it is into `segment`, and says from when on the arm is free.
    fn make_way(&mut self, segment: usize, at: Time) -> Time {
        match self.task {
            Some(task) if task.segment == segment => at,
            _ => self.break_off(at),
        }
    }

    /// A read while written data is still on its way to the medium: it waits, unless the buffer has it and may give it.
    fn read_beside_write(&mut self, start: Time, at: Time, first: u64, end: u64, found: Found) -> Service {
        let mut connected = None;
        match found {
            Found::Whole(segment) if self.policy.whole_hits_beside_writes => {
                return self.read_hit(start, at, at, segment, first, end);
            }
            Found::Part(segment) if self.policy.partial_hits_beside_writes => {
                connected = self.hit_connection(segment, first, end, at);
            }
            _ => {}
        }
        let miss_ns = self.overheads.read_miss.get(self.previous.0);
        let left = at + miss_ns + self.overheads.read_disconnect.get(self.previous.0);
        let limit = self.task.map_or(0, |task| task.limit);
        let free = self.carry_on(limit, at);
        match self.buffer.find(first, end, None) {
            Found::Whole(segment) => {
                self.buffer.touch(segment);
                let mut phases = PhaseTimeline::new(start);
                phases.command(left);
                phases.background(free);
                let connected = left.max(free) + self.overheads.first_reselect_ns + self.overheads.preparation_ns;
                phases.command(connected);
                let over = connected + (end - first) * self.overheads.read_block_ns;
                phases.bus(over);
                self.finish_read(segment, end);
                served(start, over + self.overheads.read_completion_ns, phases)
            }
            Found::Part(segment) => self.read_rest(start, at, free, segment, first, end, connected),
            Found::Nothing => self.read_miss(start, at, free, first, end),
        }
    }

    /// Command overhead of a read that the buffer has.
    #[inline]
    fn hit_ns(&self) -> u64 {
        self.overheads.read_hit.get(self.previous.0)
    }

    /// A read that is in the buffer whole.
    fn read_hit(&mut self, start: Time, at: Time, free: Time, segment: usize, first: u64, end: u64) -> Service {
        self.buffer.touch(segment);
        let mut phases = PhaseTimeline::new(start);
        let connected = at + self.hit_ns() + self.overheads.preparation_ns;
        phases.command(connected);
        let over = connected + (end - first) * self.overheads.read_block_ns;
        phases.bus(over);
        match self.task {
            // A stream being read ahead is read on.
            Some(task) if !task.writes() && task.segment == segment => self.read_on(segment, first, end),
            None if self.policy.on_idle_hit && self.policy.read_ahead != ReadAhead::None => {
                let (limit, least) = self.reach(segment, first, end);
                let begin = (at + self.overheads.read_miss.get(self.previous.0)).max(free);
                self.read_ahead(segment, begin, limit, least);
            }
            _ => {}
        }
        self.hold_back(segment, first, at, over);
        self.finish_read(segment, end);
        served(start, over + self.overheads.read_completion_ns, phases)
    }

    /// Moves the limits of the read-ahead under way for a request on the same stream.
    fn read_on(&mut self, segment: usize, first: u64, end: u64) {
        let (limit, least) = self.reach(segment, first, end);
        if let Some(task) = self.task.as_mut() {
            if limit > task.limit {
                // Beyond the track, what is left of it stays unread.
                task.free_blocks = None;
            }
            (task.limit, task.least) = (task.limit.max(limit), task.least.max(least));
        }
    }

    /// When a read that is in the buffer in part is connected, if enough of it is there to begin at once.
    fn hit_connection(&self, segment: usize, first: u64, end: u64, at: Time) -> Option<Time> {
        let there = self.buffer.segment(segment).end.saturating_sub(first);
        let enough = self.policy.transfer_partial_hits || there >= self.read_watermark(end - first).min(end - first);
        (enough || self.policy.never_disconnect).then(|| at + self.hit_ns() + self.overheads.preparation_ns)
    }

    /// Blocks of a read that must be in the buffer before the drive reconnects.
    fn read_watermark(&self, blocks: u64) -> u64 {
        let size = self.buffer.segment_blocks();
        let share = if self.policy.watermark_of_request {
            trunc_to_u64(size.min(blocks) as f64 * self.policy.read_watermark)
        } else {
            trunc_to_u64((size as f64 * self.policy.read_watermark).ceil())
        };
        // A drive does not come back for nothing.
        share.max(1)
    }

    /// A read whose beginning is in the buffer, or about to be: the rest comes from a read-ahead under way, or from the medium.
    #[allow(clippy::too_many_arguments)]
    fn read_rest(
        &mut self,
        start: Time,
        at: Time,
        free: Time,
        segment: usize,
        first: u64,
        end: u64,
        connected: Option<Time>,
    ) -> Service {
        self.buffer.touch(segment);
        self.chunks.clear();
        let there = self.buffer.segment(segment).end - first;
        if there > 0 {
            self.chunks.push(Chunk { blocks: there, first: at, last: at });
        }
        let mut phases = PhaseTimeline::new(start);
        if self.task.is_some() {
            phases.command(connected.unwrap_or(at));
            self.read_on(segment, first, end);
            let arrived = self.gather(first + there, end, at);
            phases.transfer(arrived);
        } else {
            let begin = (at + self.overheads.read_miss.get(self.previous.0)).max(free);
            phases.command(begin);
            self.fetch(&mut phases, begin, segment, first, end);
        }
        self.deliver(start, at, phases, segment, end, connected)
    }

    /// Carries a read-ahead on up to `end`, noting when the blocks from `from` on arrive.
    fn gather(&mut self, mut from: u64, end: u64, at: Time) -> Time {
        let mut arrived = at;
        while let Some(task) = self.task.filter(|_| from < end) {
            if task.returned {
                arrived = arrived.max(task.pass.end);
                self.next_pass();
                continue;
            }
            let (pass, upto) = (task.pass, end.min(task.pass.end_lbn()));
            let chunk = Chunk {
                blocks: upto - from,
                first: pass.passed_at(from - pass.lbn),
                last: pass.passed_at(upto - 1 - pass.lbn),
            };
            self.chunks.push(chunk);
            arrived = self.carry_on(upto, arrived);
            from = upto;
        }
        arrived
    }

    /// A read that the buffer has nothing of.
    fn read_miss(&mut self, start: Time, at: Time, free: Time, first: u64, end: u64) -> Service {
        let segment = self.buffer.for_read();
        self.buffer.restart(segment, first, false);
        self.chunks.clear();
        let miss_ns = self.overheads.read_miss.get(self.previous.0);
        let begin = (at + miss_ns).max(free);
        let mut phases = PhaseTimeline::new(start);
        phases.command(at + miss_ns);
        phases.background(begin);
        self.fetch(&mut phases, begin, segment, first, end);
        let connected = self.policy.never_disconnect.then(|| at + miss_ns + self.overheads.preparation_ns);
        self.deliver(start, at, phases, segment, end, connected)
    }

    /// Reads what a segment lacks up to `end` from the medium, and goes on reading ahead.
    fn fetch(&mut self, phases: &mut PhaseTimeline, begin: Time, segment: usize, first: u64, end: u64) {
        let any_order = self.policy.any_order_reads;
        // A stream is taken up again where it was left.
        let least_seek_ns = if self.buffer.segment(segment).end > first { 0 } else { self.least_seek_ns(Op::Read) };
        let mut errand = Errand { op: Op::Read, any_order, least_seek_ns, supply: Supply::READY };
        self.strayed = false;
        let mut free_blocks = None;
        let mut at = begin.max(self.free);
        let mut lbn = self.buffer.segment(segment).end;
        while lbn < end {
            let pass = Pass::plan(&self.mechanics, at, &self.arms, lbn, end, &errand);
            self.note_arrivals(&pass);
            phases.pass(&pass);
            self.passed(&pass, Op::Read, pass.end);
            if self.policy.free_blocks && lbn == first {
                free_blocks = self.keep_free_blocks(segment, &pass);
            }
            errand.least_seek_ns = 0;
            at = pass.end;
            lbn = pass.end_lbn();
            self.buffer.extend(segment, lbn);
        }
        let (limit, least) = self.reach(segment, first, end);
        self.read_ahead(segment, at, limit, least);
        // They pass behind the end of the track, if the head stays there.
        let stays = |track_first| self.mechanics.layout().track_of(end - 1).0 == track_first;
        if let (Some(task), Some((track_first, _))) = (self.task.as_mut(), free_blocks) {
            task.free_blocks = free_blocks.filter(|_| stays(track_first));
        }
    }

    /// Notes when the blocks of a pass arrive, in their order: all at its end where the drive hands over whole passes.
    fn note_arrivals(&mut self, pass: &Pass) {
        if self.policy.whole_passes {
            self.chunks.push(Chunk { blocks: pass.blocks, first: pass.end, last: pass.end });
            return;
        }
        let in_order = if pass.lead == 0 { pass.blocks } else { pass.lead };
        self.chunks.push(Chunk { blocks: in_order, first: pass.passed_at(0), last: pass.passed_at(in_order - 1) });
        if pass.lead > 0 {
            // What came before its turn.
            self.chunks.push(Chunk { blocks: pass.blocks - pass.lead, first: pass.end, last: pass.end });
        }
    }

    /// Keeps the blocks of the track that passed before the first requested one, and says which others the head finds when it
    /// has read on to the end of the track: from the track's first up to where it came on track.
    fn keep_free_blocks(&mut self, segment: usize, pass: &Pass) -> Option<(u64, u64)> {
        let (track_first, _) = self.mechanics.layout().track_of(pass.lbn);
        if track_first >= pass.lbn {
            return None;
        }
        let before = pass.lbn - track_first;
        let block_ns = (pass.data_ns() / pass.blocks).max(1);
        // A head that comes down within the request or behind it passes over all that lies before.
        let passed =
            if pass.lead > 0 { before } else { before.min(pass.start.saturating_since(pass.on_track) / block_ns) };
        self.buffer.reach_back(segment, pass.lbn - passed);
        (passed < before).then_some((track_first, pass.lbn - passed))
    }

    /// How far a segment is read ahead for a request, and how far at least.
    pub(super) fn reach(&self, segment: usize, first: u64, end: u64) -> (u64, u64) {
        let capacity = self.mechanics.layout().capacity_blocks();
        let policy = &self.policy;
        let least = (end + policy.least_blocks).min(capacity);
        if policy.read_ahead == ReadAhead::None || end >= capacity {
            return (end, end);
        }
        let layout = self.mechanics.layout();
        let size = self.buffer.segment_blocks();
        let most = end + policy.most_blocks.unwrap_or(size);
        // Requested data that is not to be read over leaves room for the rest of a segment.
        let most = if policy.over_requested == 0 { most.min((first + size).max(least)) } else { most };
        let limit = match policy.read_ahead {
            ReadAhead::None => end,
            ReadAhead::Segment => most,
            ReadAhead::Track => most.min(layout.track_of(end - 1).1 + 1),
            ReadAhead::Cylinder => most.min(layout.cylinder_of(end - 1).1 + 1),
            // A drive that was seen to read ahead over requested data reads on until the segment is full.
            ReadAhead::NextTrack if policy.over_requested > 0 => most,
            ReadAhead::NextTrack => {
                let (track_first, track_last) = layout.track_of(end);
                let origin = self.buffer.segment(segment).origin;
                let last = if origin < first && origin < track_first && track_last + 1 < capacity {
                    layout.track_of(track_last + 1).1
                } else {
                    track_last
                };
                last + 1
            }
        };
        (limit.min(capacity), least.min(limit))
    }

    /// Hands a read over the bus and ends it.
    fn deliver(
        &mut self,
        start: Time,
        at: Time,
        mut phases: PhaseTimeline,
        segment: usize,
        end: u64,
        connected: Option<Time>,
    ) -> Service {
        let o = &self.overheads;
        let blocks: u64 = self.chunks.iter().map(|chunk| chunk.blocks).sum();
        let terms = Terms {
            block_ns: o.read_block_ns,
            hold: self.policy.hold_bus_reading,
            disconnect_ns: o.read_disconnect.get(self.previous.0),
            reconnect_ns: o.first_reselect_ns + o.preparation_ns,
            watermark: self.read_watermark(blocks),
        };
        let left = at + o.read_miss.get(self.previous.0) + o.read_disconnect.get(self.previous.0);
        let transfer = hand_over(&self.chunks, connected, left, &terms);
        phases.command(transfer.connected.min(transfer.end));
        phases.bus(transfer.end);
        let over = transfer.end + o.read_completion_ns;
        self.hold_back(segment, end - blocks, at, over);
        self.finish_read(segment, end);
        served(start, over, phases)
    }

    /// What becomes of a segment when a read is complete.
    fn finish_read(&mut self, segment: usize, end: u64) {
        if self.policy.over_requested < 0 {
            self.buffer.drop_before(segment, end);
        }
        if self.task.is_none() {
            self.buffer.settle(segment);
        }
    }
}
