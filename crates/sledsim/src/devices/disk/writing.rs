//! Writes: into the buffer, to the medium, or first the one and then the other.

use super::access::{served, DiskDevice};
use super::background::Task;
use super::command::write_stock_blocks;
use super::pass::{Errand, Pass, Supply};
use super::work_log::PhaseTimeline;
use super::FastWrite;
use crate::devices::Service;
use crate::request::Op;
use crate::time::Time;

/// A write on its way to the medium.
#[derive(Clone, Copy, Debug)]
struct Write {
    first: u64,
    end: u64,
    segment: usize,
    /// When the electronics are through with the command.
    command: Time,
    /// When the arm may set off.
    begin: Time,
    /// When the bus transfer begins.
    connected: Time,
    /// When it is over.
    arrived: Time,
    least_seek_ns: u64,
    /// Whether it disconnected before its data.
    twice: bool,
}

/// A write that is set up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Set {
    /// When the arm may set off.
    pub command: Time,
    /// When the bus may begin.
    pub connected: Time,
    /// Whether it disconnects before its data.
    pub twice: bool,
}

impl DiskDevice {
    /// Returns whether a write that begins at `first` is set up anew: it follows a read, or a write that it does not continue.
    fn sets_up_anew(&self, first: u64) -> bool {
        match self.previous {
            (Op::Read, _) => true,
            (Op::Write, end) => end != first,
            (Op::Flush, _) => false,
        }
    }

    /// Returns the command overhead of a write, ns. The overheads after a write are those of a stream, each write of which
    /// continues the one before; a write elsewhere is set up like one after a read. Where only sequential writes are fast, a
    /// stream hits the buffer as long as the data before it is `waiting` there, and misses it once that is on the medium.
    #[inline]
    pub(super) fn write_command_ns(&self, first: u64, waiting: bool) -> u64 {
        let o = &self.overheads;
        let anew = self.sets_up_anew(first);
        let in_stream = self.previous.0 == Op::Write && !anew;
        let overhead = match self.policy.fast_write {
            FastWrite::None => o.write_miss,
            FastWrite::Sequential if in_stream && !waiting => o.write_miss,
            FastWrite::Sequential | FastWrite::Full => o.write_hit,
        };
        overhead.get(if anew { Op::Read } else { Op::Write })
    }

    /// Returns the time from the start of a write's command until the arm may leave, ns.
    #[inline]
    pub(super) fn write_departure_ns(&self, first: u64) -> u64 {
        let overlap_ns = if self.sets_up_anew(first) { self.overheads.write_seek_overlap_ns } else { 0 };
        self.write_command_ns(first, false) - overlap_ns
    }

    /// Serves a write that was told at `start` and is looked at from `at` on.
    pub(super) fn write(&mut self, start: Time, at: Time, first: u64, end: u64) -> Service {
        match self.task {
            Some(task) if task.writes() => {
                if self.policy.combine_writes && task.limit == first {
                    let room = self.buffer.segment_blocks().saturating_sub(first - task.pass.lbn);
                    if room > 0 {
                        return self.append(start, at, first, end, room);
                    }
                }
                let free = self.carry_on(task.limit, at);
                self.write_late(start, at, free, first, end)
            }
            _ => {
                let free = self.break_off(at);
                self.write_now(start, at, free, first, end)
            }
        }
    }

    /// A write that is reported when the medium has it, whatever the buffer may do for others.
    pub(super) fn write_durably(&mut self, start: Time, at: Time, first: u64, end: u64) -> Service {
        let policy = self.policy;
        self.policy.fast_write = FastWrite::None;
        self.policy.combine_writes = false;
        let service = self.write(start, at, first, end);
        self.policy = policy;
        service
    }

    /// Serves a flush that was told at `start` and is looked at from `at` on: ends when what is on its way is on the medium.
    pub(super) fn write_back(&mut self, start: Time, at: Time) -> Service {
        let mut phases = PhaseTimeline::new(start);
        phases.command(at);
        let end = self.task.filter(|task| task.writes()).map_or(at, |task| self.carry_on(task.limit, at));
        phases.background(end);
        served(start, end + self.overheads.write_completion_ns, phases)
    }

    /// A write that continues data on its way to the medium.
    fn append(&mut self, start: Time, at: Time, first: u64, end: u64, room: u64) -> Service {
        let o = self.overheads;
        let connected = at + self.write_command_ns(first, true) + o.preparation_ns;
        let mut phases = PhaseTimeline::new(start);
        phases.command(connected);
        let blocks = end - first;
        let mut over = connected + blocks * o.write_block_ns;
        if let Some(task) = self.task.as_mut() {
            task.limit = end;
            task.errand.supply = Supply { lbn: first, end, from: connected, block_ns: o.write_block_ns, stock: 0 };
            self.buffer.touch(task.segment);
            let segment = task.segment;
            self.buffer.invalidate(first, end, segment);
            self.buffer.extend(segment, end);
        }
        if blocks > room {
            // The last blocks fit in when the medium has taken so many.
            let taken = self.carry_on(end - self.buffer.segment_blocks(), at);
            over = over.max(taken);
        }
        phases.bus(over);
        served(start, over + o.write_completion_ns, phases)
    }

    /// A write that had to wait for the medium until `free`.
    fn write_late(&mut self, start: Time, at: Time, free: Time, first: u64, end: u64) -> Service {
        let o = self.overheads;
        let command = at + self.write_command_ns(first, false);
        let left = command + o.write_disconnect_ns;
        let back = left.max(free);
        let mut phases = PhaseTimeline::new(start);
        phases.command(left);
        phases.background(back);
        let connected = back + o.first_reselect_ns + o.preparation_ns;
        let segment = self.buffer.for_write(first, end);
        let write = self.set_off(Set { command, connected, twice: false }, free, (first, end), segment);
        self.put(start, phases, &write)
    }

    /// What comes before the data of a write that is looked at from `at` on and finds no other on its way.
    pub(super) fn set_up(&self, at: Time, first: u64, segment: usize) -> Set {
        let o = &self.overheads;
        let held = self.buffer.segment(segment);
        if self.policy.extra_write_disconnect && self.buffer.is_latest(segment) && held.written && held.end != first {
            let left = at + o.extra_command_ns + o.extra_disconnect_ns;
            let connected = left + o.extra_gap_ns + o.first_reselect_ns + o.preparation_ns;
            return Set { command: at + o.extra_command_ns + o.extra_seek_delay_ns, connected, twice: true };
        }
        self.set_up_once(at, first)
    }

    /// What comes before the data of a write that doesn't disconnect for it.
    pub(super) fn set_up_once(&self, at: Time, first: u64) -> Set {
        let o = &self.overheads;
        Set {
            command: at + self.write_departure_ns(first),
            connected: at + self.write_command_ns(first, false) + o.preparation_ns,
            twice: false,
        }
    }

    /// A write that finds the arm free, or from `free` on.
    fn write_now(&mut self, start: Time, at: Time, free: Time, first: u64, end: u64) -> Service {
        let segment = self.buffer.for_write(first, end);
        let write = self.set_off(self.set_up(at, first, segment), free, (first, end), segment);
        self.put(start, PhaseTimeline::new(start), &write)
    }

    /// A write so set up, whose arm is free from `free` on.
    fn set_off(&self, set: Set, free: Time, (first, end): (u64, u64), segment: usize) -> Write {
        let Set { command, connected, twice } = set;
        Write {
            command,
            first,
            end,
            segment,
            begin: command.max(free),
            connected,
            arrived: connected + (end - first) * self.overheads.write_block_ns,
            least_seek_ns: self.overheads.least_seek_ns,
            twice,
        }
    }

    /// Fills the buffer and sends the arm off.
    fn put(&mut self, start: Time, phases: PhaseTimeline, write: &Write) -> Service {
        let (first, end, segment) = (write.first, write.end, write.segment);
        self.buffer.restart(segment, first, true);
        self.buffer.invalidate(first, end, segment);
        self.buffer.extend(segment, end);
        let stock = write_stock_blocks(self.policy.extra_write_disconnect, end - first);
        let supply = Supply {
            lbn: first,
            end,
            from: write.connected,
            block_ns: self.overheads.write_block_ns,
            stock: if self.policy.fast_write == FastWrite::None { stock } else { 1 },
        };
        let errand = Errand {
            op: Op::Write,
            any_order: self.policy.any_order_writes,
            least_seek_ns: write.least_seek_ns,
            supply,
        };
        let pass = Pass::plan(&self.mechanics, write.begin, &self.arms, first, end, &errand);
        let next = pass.end_lbn();
        let task = Task {
            segment,
            pass,
            next,
            limit: end,
            least: 0,
            free_blocks: None,
            returned: false,
            hold: (Time::ZERO, u64::MAX),
            errand,
        };
        if self.policy.fast_write == FastWrite::None {
            self.put_through(start, phases, write, task)
        } else {
            self.put_behind(start, phases, write, task)
        }
    }

    /// Reports a write when the buffer has it; the medium follows.
    fn put_behind(&mut self, start: Time, mut phases: PhaseTimeline, write: &Write, task: Task) -> Service {
        self.task = Some(task);
        phases.command(write.connected);
        let mut over = write.arrived;
        let size = self.buffer.segment_blocks();
        if write.end - write.first > size {
            over = over.max(self.carry_on(write.end - size, start));
        }
        phases.bus(over);
        served(start, over + self.overheads.write_completion_ns, phases)
    }

    /// Reports a write when the medium has it.
    fn put_through(&mut self, start: Time, mut phases: PhaseTimeline, write: &Write, mut task: Task) -> Service {
        self.strayed = false;
        phases.command(write.command);
        phases.background(write.begin);
        loop {
            let pass = task.pass;
            phases.pass(&pass);
            self.passed(&pass, Op::Write, pass.end);
            match self.following(task, &self.arms) {
                Some(following) => task = following,
                None => break,
            }
        }
        let o = &self.overheads;
        let done = if self.policy.never_disconnect {
            task.pass.end.max(write.arrived)
        } else {
            let (disconnect_ns, reselect_ns) = if write.twice {
                (o.extra_second_disconnect_ns, o.other_reselect_ns)
            } else {
                (o.write_disconnect_ns, o.first_reselect_ns)
            };
            task.pass.end.max(write.arrived + disconnect_ns) + reselect_ns
        };
        self.buffer.settle(write.segment);
        served(start, done + o.write_completion_ns, phases)
    }
}
