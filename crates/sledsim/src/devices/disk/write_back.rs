//! The mechanics below a write cache: writing back its content, and writes of parts of physical sectors.

use super::device::{service, DiskDevice};
use super::layout::BlockRange;
use super::mechanics::Arm;
use super::pass::{ArmMove, DataArrival, Pass, PassOptions, Target};
use super::work_log::PhaseTimeline;
use super::WriteCache;
use crate::convert::to_u32;
use crate::devices::{HostTransfer, Mechanism, Service, WriteCaching};
use crate::request::{Op, Request};
use crate::time::Time;

/// Passes that write data which is in the drive.
const WRITE_BACK: PassOptions =
    PassOptions { op: Op::Write, any_order: false, least_seek_ns: 0, data: DataArrival::COMPLETE };

impl DiskDevice {
    /// Writes blocks that are in the drive to the medium, for a write-back that was dispatched at `start`.
    pub(super) fn write_back_blocks(&mut self, start: Time, blocks: BlockRange) -> Service {
        let mut at = self.stop_task(start);
        let mut phases = PhaseTimeline::new(start);
        phases.background(at);
        at = self.read_partial_sectors(&mut phases, at, blocks);
        let options = PassOptions { any_order: self.policy.any_order_writes, ..WRITE_BACK };
        at = self.pass_over(&mut phases, at, blocks, &options);
        self.buffer.invalidate(blocks, usize::MAX);
        self.moved_in_background = true;
        service(start, at, phases)
    }

    /// Reads the first and the last physical sector of a write, as far as it changes them in part; returns the time at which the arm is
    /// free again.
    pub(super) fn read_partial_sectors(
        &mut self,
        phases: &mut PhaseTimeline,
        mut at: Time,
        blocks: BlockRange,
    ) -> Time {
        let size = self.physical_sector_blocks;
        let capacity = self.mechanics.layout().capacity_blocks();
        let sector = |block: u64| {
            let first = block - block % size;
            BlockRange { first, end: (first + size).min(capacity) }
        };
        let (first, last) = (sector(blocks.first), sector(blocks.end - 1));
        let is_partial = |sector: BlockRange| sector.first < blocks.first || blocks.end < sector.end;
        let reads = match (is_partial(first), is_partial(last)) {
            // Neighbours, or the same sector, are read in one pass.
            (true, true) if last.first <= first.end => [Some(BlockRange { first: first.first, end: last.end }), None],
            (starts, ends) => [starts.then_some(first), ends.then_some(last)],
        };
        for sectors in reads.into_iter().flatten() {
            at = self.pass_over(phases, at, sectors, &PassOptions::READ_AHEAD);
        }
        at
    }

    /// Passes over blocks; returns the end of the last pass.
    fn pass_over(
        &mut self,
        phases: &mut PhaseTimeline,
        mut at: Time,
        blocks: BlockRange,
        options: &PassOptions,
    ) -> Time {
        let BlockRange { mut first, end } = blocks;
        while first < end {
            let pass = Pass::plan(&self.mechanics, at, &self.arms, BlockRange { first, end }, options);
            phases.pass(&pass);
            self.record_pass(&pass, options.op, pass.end);
            (first, at) = (pass.end_lbn(), pass.end);
        }
        at
    }
}

impl WriteCaching for DiskDevice {
    fn write_cache(&self) -> WriteCache {
        self.write_cache.expect("the device returns itself as a write cache only if it has one")
    }

    fn host_transfer(&self, op: Op) -> HostTransfer {
        let o = &self.overheads;
        match op {
            Op::Read => HostTransfer {
                command_ns: o.request_ns + o.read_hit.after(op) + o.preparation_ns,
                block_ns: o.read_block_ns,
                completion_ns: o.read_completion_ns,
            },
            Op::Write | Op::Flush | Op::Reset => HostTransfer {
                command_ns: o.request_ns + o.write_hit.after(op) + o.preparation_ns,
                block_ns: o.write_block_ns,
                completion_ns: o.write_completion_ns,
            },
        }
    }

    fn write_back_ns(&self, now: Time, lbn: u64) -> u64 {
        let released = self.released_arms(self.ready_at(now));
        let place = self.mechanics.layout().place(lbn);
        let to = Arm { cylinder: place.cylinder, head: place.head };
        let target = Target { to, angle: self.mechanics.start_angle(place) };
        let begin = released.at;
        ArmMove::quickest(&self.mechanics, begin, begin, &released.arms, target, &WRITE_BACK).start - now
    }

    fn write_back(&mut self, now: Time, lbn: u64, blocks: u64) -> (Service, u64) {
        let track = self.mechanics.layout().track_of(lbn);
        let blocks = blocks.min(track.end.saturating_sub(lbn).max(1)).min(u64::from(u32::MAX));
        self.is_write_back = true;
        let request = Request { op: Op::Write, ..Request::read(lbn, to_u32(blocks)) };
        let service = self.serve(now, &request);
        self.is_write_back = false;
        (service, blocks)
    }
}
