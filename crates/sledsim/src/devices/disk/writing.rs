//! Writes: to the buffer (write-behind), or to the medium (write-through).

use super::background::Task;
use super::command::write_stock_blocks;
use super::device::{service, Command, DiskDevice};
use super::layout::BlockRange;
use super::pass::{DataArrival, Pass, PassOptions};
use super::work_log::PhaseTimeline;
use super::FastWrite;
use crate::devices::Service;
use crate::request::Op;
use crate::time::Time;

/// A write on its way to the medium.
#[derive(Clone, Copy, Debug)]
struct Write {
    blocks: BlockRange,
    segment: usize,
    setup: WriteSetup,
    /// When the arm leaves.
    begin: Time,
    /// End of the bus transfer.
    arrived: Time,
}

/// The instants before the data of a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteSetup {
    /// When the arm may leave.
    pub arm_leaves: Time,
    /// When the bus transfer may begin.
    pub connected: Time,
    /// True if the drive disconnects before the data, too.
    pub disconnects_twice: bool,
}

impl DiskDevice {
    /// Returns true if a write that begins at `first` needs a full setup: it follows a read, or a write that it does not continue.
    fn needs_setup(&self, first: u64) -> bool {
        match self.previous.op {
            Op::Read => true,
            Op::Write => self.previous.end != first,
            Op::Flush | Op::Reset => false,
        }
    }

    /// Returns the command overhead of a write, ns. The overheads after a write are those of a stream, each write of which
    /// continues the one before; a write elsewhere has the setup of one after a read. If only sequential writes are fast, a stream
    /// hits the buffer as long as the data before it is `waiting` there, and misses it once that is on the medium.
    #[inline]
    pub(super) fn write_command_ns(&self, first: u64, waiting: bool) -> u64 {
        let o = &self.overheads;
        let needs_setup = self.needs_setup(first);
        let in_stream = self.previous.op == Op::Write && !needs_setup;
        let overhead = match self.policy.fast_write {
            FastWrite::None => o.write_miss,
            FastWrite::Sequential if in_stream && !waiting => o.write_miss,
            FastWrite::Sequential | FastWrite::Full => o.write_hit,
        };
        overhead.after(if needs_setup { Op::Read } else { Op::Write })
    }

    /// Returns the time from the start of a write's command until the arm may leave, ns.
    #[inline]
    pub(super) fn arm_delay_ns(&self, first: u64) -> u64 {
        let overlap_ns = if self.needs_setup(first) { self.overheads.write_seek_overlap_ns } else { 0 };
        self.write_command_ns(first, false) - overlap_ns
    }

    /// Serves a write.
    pub(super) fn write(&mut self, command: Command) -> Service {
        match self.task {
            Some(task) if task.writes() => {
                if self.policy.combine_writes
                    && task.limit == command.blocks.first
                    && !self.needs_another_partial_sector(command.blocks)
                {
                    let room = self.buffer.segment_blocks().saturating_sub(command.blocks.first - task.pass.lbn);
                    if room > 0 {
                        return self.append_to_write(command, room);
                    }
                }
                let free = self.run_task_until(task.limit, command.at);
                self.write_after_write_behind(command, free)
            }
            _ => {
                let free = self.stop_task(command.at);
                let BlockRange { first, .. } = command.blocks;
                let segment = self.buffer.segment_for_write(command.blocks);
                let setup = self.write_setup(command.at, first, segment);
                self.start_write(command, PhaseTimeline::new(command.start), setup, free, segment)
            }
        }
    }

    /// Serves a write that completes when it is on the medium, whatever the write policy.
    pub(super) fn write_durably(&mut self, command: Command) -> Service {
        let policy = self.policy;
        self.policy.fast_write = FastWrite::None;
        self.policy.combine_writes = false;
        let service = self.write(command);
        self.policy = policy;
        service
    }

    /// Serves a flush that was dispatched at `start` and is processed from `at` on: it completes when the write-behind is on the
    /// medium.
    pub(super) fn flush(&mut self, start: Time, at: Time) -> Service {
        let mut phases = PhaseTimeline::new(start);
        phases.command(at);
        let end = self.task.filter(|task| task.writes()).map_or(at, |task| self.run_task_until(task.limit, at));
        phases.background(end);
        service(start, end + self.overheads.write_completion_ns, phases)
    }

    /// Returns true if a write that continues a write-behind ends in a part of a physical sector that has not been read for it.
    fn needs_another_partial_sector(&self, blocks: BlockRange) -> bool {
        let size = self.physical_sector_blocks;
        let ends_whole = blocks.end.is_multiple_of(size) || blocks.end == self.mechanics.layout().capacity_blocks();
        // The sector in which the write-behind ends was read for it.
        let ends_in_same_sector = blocks.end - blocks.end % size < blocks.first;
        !(ends_whole || ends_in_same_sector)
    }

    /// Appends a write to the write-behind that it continues; `room` is the free size of the segment, in blocks.
    fn append_to_write(&mut self, command: Command, room: u64) -> Service {
        let Command { start, at, blocks: BlockRange { first, end } } = command;
        let o = self.overheads;
        let connected = at + self.write_command_ns(first, true) + o.preparation_ns;
        let mut phases = PhaseTimeline::new(start);
        phases.command(connected);
        let blocks = end - first;
        let mut transferred = connected + blocks * o.write_block_ns;
        if let Some(task) = self.task.as_mut() {
            task.limit = end;
            task.options.data = DataArrival { first, end, from: connected, block_ns: o.write_block_ns, stock: 0 };
            self.buffer.touch(task.segment);
            let segment = task.segment;
            self.buffer.invalidate(command.blocks, segment);
            self.buffer.extend(segment, end);
        }
        if blocks > room {
            // The last blocks have room once the first of the segment are on the medium.
            let has_room = self.run_task_until(end - self.buffer.segment_blocks(), at);
            transferred = transferred.max(has_room);
        }
        phases.bus(transferred);
        service(start, transferred + o.write_completion_ns, phases)
    }

    /// Serves a write that waited for a write-behind until `free`.
    fn write_after_write_behind(&mut self, command: Command, free: Time) -> Service {
        let o = self.overheads;
        let arm_leaves = command.at + self.write_command_ns(command.blocks.first, false);
        let disconnected = arm_leaves + o.write_disconnect_ns;
        let reconnects = disconnected.max(free);
        let mut phases = PhaseTimeline::new(command.start);
        phases.command(disconnected);
        phases.background(reconnects);
        let connected = reconnects + o.first_reselect_ns + o.preparation_ns;
        let segment = self.buffer.segment_for_write(command.blocks);
        let setup = WriteSetup { arm_leaves, connected, disconnects_twice: false };
        self.start_write(command, phases, setup, free, segment)
    }

    /// Returns the setup of a write from block `first` that is processed from `at` on, without a write-behind under way.
    pub(super) fn write_setup(&self, at: Time, first: u64, segment: usize) -> WriteSetup {
        let o = &self.overheads;
        let held = self.buffer.segment(segment);
        if self.policy.extra_write_disconnect && self.buffer.is_latest(segment) && held.written && held.end != first {
            let disconnected = at + o.extra_command_ns + o.extra_disconnect_ns;
            return WriteSetup {
                arm_leaves: at + o.extra_command_ns + o.extra_seek_delay_ns,
                connected: disconnected + o.extra_gap_ns + o.first_reselect_ns + o.preparation_ns,
                disconnects_twice: true,
            };
        }
        self.single_write_setup(at, first)
    }

    /// Returns the setup of a write that does not disconnect before its data.
    pub(super) fn single_write_setup(&self, at: Time, first: u64) -> WriteSetup {
        WriteSetup {
            arm_leaves: at + self.arm_delay_ns(first),
            connected: at + self.write_command_ns(first, false) + self.overheads.preparation_ns,
            disconnects_twice: false,
        }
    }

    /// Fills the segment, and writes to the medium with an arm that is free from `free` on.
    fn start_write(
        &mut self,
        command: Command,
        mut phases: PhaseTimeline,
        setup: WriteSetup,
        free: Time,
        segment: usize,
    ) -> Service {
        let Command { start, blocks, .. } = command;
        let is_through = self.policy.fast_write == FastWrite::None;
        let free = if self.physical_sector_blocks == 1 {
            free
        } else {
            // A write-behind completes before it reads.
            let mut behind = phases;
            let phases = if is_through { &mut phases } else { &mut behind };
            self.read_partial_sectors(phases, free.max(setup.arm_leaves), blocks)
        };
        let BlockRange { first, end } = blocks;
        let block_ns = self.overheads.write_block_ns;
        let arrived = setup.connected + blocks.count() * block_ns;
        let write = Write { blocks, segment, setup, begin: setup.arm_leaves.max(free), arrived };
        self.buffer.restart(segment, first, true);
        self.buffer.invalidate(blocks, segment);
        self.buffer.extend(segment, end);
        let stock = if is_through { write_stock_blocks(self.policy.extra_write_disconnect, blocks.count()) } else { 1 };
        let options = PassOptions {
            op: Op::Write,
            any_order: self.policy.any_order_writes,
            least_seek_ns: self.overheads.least_seek_ns,
            data: DataArrival { first, end, from: setup.connected, block_ns, stock },
        };
        let pass = Pass::plan(&self.mechanics, write.begin, &self.arms, blocks, &options);
        let task = Task {
            segment,
            pass,
            next: pass.end_lbn(),
            limit: end,
            least: 0,
            free_blocks: None,
            reads_free_blocks: false,
            hold: None,
            options,
        };
        if is_through {
            self.write_through(start, phases, &write, task)
        } else {
            self.write_behind(start, phases, &write, task)
        }
    }

    /// Completes a write when it is in the buffer; `task` writes it to the medium later.
    fn write_behind(&mut self, start: Time, mut phases: PhaseTimeline, write: &Write, task: Task) -> Service {
        self.task = Some(task);
        phases.command(write.setup.connected);
        let mut transferred = write.arrived;
        let size = self.buffer.segment_blocks();
        if write.blocks.count() > size {
            transferred = transferred.max(self.run_task_until(write.blocks.end - size, start));
        }
        phases.bus(transferred);
        service(start, transferred + self.overheads.write_completion_ns, phases)
    }

    /// Completes a write when it is on the medium.
    fn write_through(&mut self, start: Time, mut phases: PhaseTimeline, write: &Write, mut task: Task) -> Service {
        self.moved_in_background = false;
        phases.command(write.setup.arm_leaves);
        phases.background(write.begin);
        loop {
            let pass = task.pass;
            phases.pass(&pass);
            self.record_pass(&pass, Op::Write, pass.end);
            if !self.plan_next_pass(&mut task, &self.arms) {
                break;
            }
        }
        let o = &self.overheads;
        let done = if self.policy.never_disconnect {
            task.pass.end.max(write.arrived)
        } else {
            let (disconnect_ns, reselect_ns) = if write.setup.disconnects_twice {
                (o.extra_second_disconnect_ns, o.other_reselect_ns)
            } else {
                (o.write_disconnect_ns, o.first_reselect_ns)
            };
            task.pass.end.max(write.arrived + disconnect_ns) + reselect_ns
        };
        self.buffer.discard_uncached(write.segment);
        service(start, done + o.write_completion_ns, phases)
    }
}
