//! Services of the sled: the passes over rows, one after the other.

use std::ops::RangeInclusive;

use crate::devices::mems::device::{LastService, MemsDevice};
use crate::devices::mems::energy::{ServiceWork, TracedPass};
use crate::devices::mems::geometry::TrackRun;
use crate::devices::mems::positioning::Approach;
use crate::devices::mems::subsector::{BlockCounts, Extent, RowPasses};
use crate::devices::{Arc, Movement};
use crate::power::Activity;
use crate::request::{Op, Request};
use crate::service::{Phases, RequestEnergy, Service};
use crate::time::{ns_to_s, Time};

/// A service under construction.
pub(super) struct ServiceBuilder {
    start: Time,
    /// End of the last pass.
    pub(super) at: Time,
    /// End of the bus transfer of the passes so far. That of further writes begins then.
    pub(super) bus_done: Time,
    pub(super) phases: Phases,
    tips: u32,
    positioned: bool,
    work: ServiceWork,
}

/// A pass over rows without a stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassLoad {
    pub rows: u32,
    /// Number of active tips.
    pub tips: u32,
    /// Blocks accessed; one may be both read and written.
    pub blocks: BlockCounts,
}

/// End of a pass, its length, and the wait before it.
struct PassInstants {
    end: Time,
    pass_ns: u64,
    wait_ns: u64,
}

impl MemsDevice {
    /// Returns the tip sectors that `request` accesses.
    #[inline]
    pub(super) fn extent(&self, request: &Request) -> Extent {
        debug_assert!(request.blocks > 0 && request.end_lbn() <= self.geometry.capacity_blocks(), "{request:?}");
        Extent::new(&self.geometry, request, self.subsector)
    }

    /// Begins a service at `now`, after a start-up if needed.
    #[inline]
    pub(super) fn begin(&mut self, now: Time) -> ServiceBuilder {
        debug_assert!(self.is_unused() || self.last.end <= now, "the sled serves until {:?}", self.last.end);
        let startup = self.end_idle(now);
        if startup.is_some() {
            // A start-up without duration is counted, too.
            self.account.enter(Activity::STARTUP);
        }
        let startup_ns = startup.unwrap_or(0);
        let awake = now + startup_ns;
        self.trace.begin(now, startup_ns);
        ServiceBuilder {
            start: now,
            at: awake,
            bus_done: self.bus_free.max(awake),
            phases: Phases { startup_ns, ..Phases::default() },
            tips: 0,
            positioned: false,
            work: ServiceWork { startup_ns, ..ServiceWork::default() },
        }
    }

    /// Returns the maximum number of blocks of the next pass of a request.
    #[inline]
    pub(super) fn pass_limit(&self, run: &ServiceBuilder, op: Op, passes: &RowPasses) -> u32 {
        let mut limit = u32::MAX;
        if self.positioning().directions_are_fixed() {
            limit = passes.left_in_row(&self.geometry);
        }
        if self.writes_crossed_blocks && op == Op::Write {
            let since_ns = run.at.saturating_since(run.bus_done);
            let crossed = since_ns.checked_div(self.bus_ns_per_block).unwrap_or(u64::MAX);
            limit = limit.min(u32::try_from(crossed).unwrap_or(u32::MAX).max(1));
        }
        limit
    }

    /// Adds a pass.
    #[inline]
    pub(super) fn pass(&mut self, run: &mut ServiceBuilder, approach: &Approach, load: PassLoad) {
        let PassLoad { rows, tips, blocks: BlockCounts { reads, writes } } = load;
        let units = u64::from(rows);
        let seek_ns = approach.seek_ns;
        if run.positioned {
            run.phases.turnaround_ns += seek_ns;
        } else {
            run.positioned = true;
            run.phases.seek_ns = seek_ns;
            run.phases.seek_x_ns = approach.x_ns;
            run.phases.seek_y_ns = approach.y.ns;
            run.phases.seek_turnaround_ns = approach.y.turnaround_ns;
            run.phases.settle_ns = if approach.settles { self.positioning().settle_ns() } else { 0 };
        }
        run.work.seek_ns += seek_ns;
        run.at += seek_ns;
        let mut wait_ns = 0;
        if writes > 0 {
            run.bus_done += u64::from(writes) * self.bus_ns_per_block;
            wait_ns = run.bus_done.saturating_since(run.at);
            run.phases.bus_ns += wait_ns;
            run.work.wait_ns += wait_ns;
            run.at += wait_ns;
        }
        self.trace.pass(TracedPass { seek_ns, wait_ns, tips, units: rows });
        run.tips = tips;
        run.work.passes += units;
        run.work.tip_passes += u64::from(tips) * units;
        run.phases.servo_ns += units * self.pass_time.servo_ns;
        run.phases.transfer_ns += units * self.pass_time.data_ns;
        run.at += units * self.pass_time.ns();
        if reads > 0 {
            run.bus_done = run.bus_done.max(run.at) + u64::from(reads) * self.bus_ns_per_block;
        }
        if self.motion.is_recording() {
            let end = run.at;
            let pass_ns = units * self.pass_time.ns();
            self.record_motion(approach, rows, PassInstants { end, pass_ns, wait_ns });
        }
        self.sled = approach.done;
    }

    /// Records the motion of a pass with the positioning before it. An axis that is positioned sooner than the other one holds its
    /// position first (Y), or afterwards (X): so Y passes the first bit at access speed.
    #[cold]
    fn record_motion(&mut self, approach: &Approach, rows: u32, instants: PassInstants) {
        let PassInstants { end, pass_ns, wait_ns } = instants;
        let positioning = self.positioning();
        let path = positioning.path(&self.sled, approach, rows);
        let pass = Time::from_ns(end.ns() - pass_ns);
        let positioned = Time::from_ns(pass.ns() - wait_ns);
        let begin = Time::from_ns(positioned.ns() - approach.seek_ns);
        let seek_y = Time::from_ns(positioned.ns() - (approach.y.ns - path.delay_ns));
        let s = |from: Time, to: Time| ns_to_s(to - from);
        let access =
            Arc { time_s: ns_to_s(pass_ns), position_m: path.first_y_m, speed_m_s: path.speed_m_s, ..Arc::default() };
        self.motion.add(0, begin, Movement::Seek, path.x);
        let x_moved = begin + approach.x_ns.saturating_sub(path.settle_ns);
        self.motion.add(0, x_moved, Movement::Hold, [Arc::rest(path.x_m, s(x_moved, pass))]);
        self.motion.add(0, pass, Movement::Access, [Arc::rest(path.x_m, ns_to_s(pass_ns))]);
        self.motion.add(1, begin, Movement::Hold, [Arc::rest(path.from_y_m, s(begin, seek_y))]);
        self.motion.add(1, seek_y, Movement::Seek, path.y);
        self.motion.add(1, positioned, Movement::Hold, [Arc::rest(path.first_y_m, ns_to_s(wait_ns))]);
        self.motion.add(1, pass, Movement::Access, [access]);
    }

    /// Adds a pass over a row with the tips of all its blocks, and further passes until all blocks are read. Returns the number of passes.
    #[inline]
    pub(super) fn pass_until_read(
        &mut self,
        run: &mut ServiceBuilder,
        approach: &Approach,
        tips: u32,
        blocks: BlockCounts,
    ) -> u64 {
        let tips = self.tips.active(tips, blocks.reads);
        if !self.tips.has_read_errors() {
            self.pass(run, approach, PassLoad { rows: 1, tips, blocks });
            return 1;
        }
        let mut left = self.tips.read_errors(blocks.reads, false);
        self.pass(
            run,
            approach,
            PassLoad { rows: 1, tips, blocks: BlockCounts { reads: blocks.reads - left, ..blocks } },
        );
        let mut passes = 1;
        while left > 0 {
            let still_left = self.tips.read_errors(left, true);
            let again = approach.again(self.positioning(), &self.sled);
            let tips = left * self.geometry.tips_per_block;
            let blocks = BlockCounts { reads: left - still_left, writes: 0 };
            self.pass(run, &again, PassLoad { rows: 1, tips, blocks });
            (left, passes) = (still_left, passes + 1);
        }
        passes
    }

    /// Returns the rows of a request, in LBN order.
    fn rows_of(&self, request: &Request) -> RangeInclusive<u64> {
        let per_row = u64::from(self.geometry.blocks_per_row);
        request.lbn / per_row..=(request.end_lbn() - 1) / per_row
    }

    /// Returns true if a request is served from the buffer.
    pub(super) fn is_buffered(&self, request: &Request) -> bool {
        self.buffer.exists() && request.op == Op::Read && self.buffer.holds(self.rows_of(request))
    }

    /// Serves a read from the buffer, without the sled, if the buffer holds all of its rows. Otherwise the sled passes over all of them with
    /// the tips of whole rows, which fills the buffer.
    pub(super) fn serve_buffered(&mut self, now: Time, request: &Request) -> Service {
        let rows = self.rows_of(request);
        if self.buffer.holds(rows.clone()) {
            self.buffer.touch(rows);
            let end = self.bus_free.max(now) + u64::from(request.blocks) * self.bus_ns_per_block;
            self.bus_free = end;
            let phases = Phases { bus_ns: end - now, ..Phases::default() };
            return Service { start: now, end, free: end, phases, energy: RequestEnergy::default() };
        }
        let mut run = self.begin(now);
        let mut passes = RowPasses::new(&self.geometry, self.extent(request));
        let row_tips = self.geometry.blocks_per_row * self.geometry.tips_per_block;
        while !passes.is_done() {
            let pass = passes.next_pass(&self.geometry, self.pass_limit(&run, request.op, &passes));
            let approach = self.positioning().approach_row(&self.sled, pass.cylinder, pass.row, pass.is_reversed);
            let tips = pass.tips.max(row_tips);
            self.pass_until_read(&mut run, &approach, tips, BlockCounts::of(request.op, pass.blocks));
        }
        self.buffer.touch(rows);
        self.finish(&mut run)
    }

    /// Serves a request whose data pass as a stream: from the nearer end if it lies in one track, otherwise in LBN order. Blocks at points
    /// are always in LBN order, but a single one along either axis.
    pub(super) fn stream(&mut self, run: &mut ServiceBuilder, request: &Request) {
        let mut place = self.geometry.place(request.lbn);
        let mut left = request.blocks;
        while left > 0 {
            let TrackRun { blocks, is_reversed } = self.geometry.run_in_track(&place, left);
            let rows = if is_reversed { place.row + 1 - blocks..place.row + 1 } else { place.row..place.row + blocks };
            let downward = is_reversed && self.positioning().directions().len() > 1;
            let approach = if self.geometry.has_points() {
                self.positioning().approach_rows(&self.sled, place.cylinder, rows, downward, request.blocks == 1)
            } else if blocks == request.blocks && !self.positioning().directions_are_fixed() {
                self.positioning().approach_to(&self.sled, place.cylinder, rows)
            } else {
                self.positioning().approach_in(&self.sled, place.cylinder, rows, downward)
            };
            let tips = self.geometry.tips_per_block;
            self.pass(run, &approach, PassLoad { rows: blocks, tips, blocks: BlockCounts::of(request.op, blocks) });
            left -= blocks;
            if left > 0 {
                place = self.geometry.place(request.end_lbn() - u64::from(left));
            }
        }
    }

    /// Ends a service. The sled is free after the last pass; the rest of the bus transfer overlaps with its next work.
    #[inline]
    pub(super) fn finish(&mut self, run: &mut ServiceBuilder) -> Service {
        let bus_ns = run.bus_done.saturating_since(run.at);
        run.phases.bus_ns += bus_ns;
        self.bus_free = run.bus_done;
        self.last = LastService { end: run.at, tips: run.tips };
        if self.idle_tip_w > 0.0 {
            self.spin_down.set_ready_w(self.power.sled_w + f64::from(run.tips) * self.idle_tip_w);
        }
        debug_assert_eq!(run.phases.service_ns(), run.at + bus_ns - run.start, "each nanosecond is in one phase");
        let energy = run.work.energy(&self.power, self.pass_time);
        Service { start: run.start, end: run.at + bus_ns, free: run.at, phases: run.phases, energy }
    }
}
