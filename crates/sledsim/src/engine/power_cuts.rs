//! Power cuts during a run: when they happen, what they lose, and how the system recovers.
//!
//! Power returns in the instant in which it failed. To find what a cut lost, every block ever written is read, which would disturb
//! the run. So [`find_losses`] repeats the run up to that cut.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::engine::component::{Completion, Status};
use crate::engine::data::Payload;
use crate::engine::details::ServicePath;
use crate::engine::oracle::{stamped, BlockState, Oracle};
use crate::engine::run::{Observer, Progress, Run, RunLimits, RunState};
use crate::engine::system::System;
use crate::engine::workload::Workload;
use crate::fault::Fault;
use crate::request::{Flags, Op, Padding, Request};
use crate::service::Service;
use crate::time::Time;

/// First id of the reads that look for losses, far beyond the ids of any run.
const FIRST_READ_ID: u64 = 1 << 62;
/// Number of these reads between two calls of `keep_going`.
const READS_PER_CHECK: u64 = 256;
/// Number of events of a recovery between two calls of `keep_going`.
const RECOVERY_EVENTS_PER_CHECK: u64 = 4096;

/// When power fails in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PowerCutPlan {
    /// Power cuts at these times, in increasing order.
    pub times: Vec<Time>,
    /// Power cuts after requests, in the order of requests.
    pub after_requests: Vec<CutAfterRequest>,
}

/// A power cut between two calls of components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CutAfterRequest {
    /// Number of requests submitted before.
    pub requests: u64,
    /// Number of calls of components after the last of these.
    pub calls: u64,
}

/// The effect of a power cut on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// The time at which power failed and returned.
    pub at: Time,
    /// Number of requests that were outstanding and never complete.
    pub outstanding: u64,
    /// When the system had recovered; `None` if it had not before the next cut or the end.
    pub recovered: Option<Time>,
    /// Served requests that arrived during recovery.
    pub during_recovery: ServicePath,
    /// Served requests that arrived after recovery, before the next cut or the end.
    pub after: ServicePath,
}

/// The losses of a power cut, in blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Blocks written before the cut.
    pub written: u64,
    /// Of these, blocks that hold an older acknowledged write than the latest.
    pub lost: u64,
    /// Of these, blocks without their latest durable write or a later one.
    pub broken: u64,
    /// Of these, blocks that cannot be read.
    pub unreadable: u64,
}

/// The source of the power cut that is about to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingPowerCut {
    None,
    /// The next of [`PowerCutPlan::times`].
    AtTime,
    /// The next of [`PowerCutPlan::after_requests`].
    AfterRequest,
}

struct OutstandingRequest {
    request: Request,
    /// See [`PowerLoss::absolute_lbn`](crate::engine::PowerLoss::absolute_lbn) of the root.
    absolute_lbn: u64,
    /// Tick of the oracle at submission.
    submitted: u64,
    is_in_recovery: bool,
}

/// The progress of a run with power cuts.
pub(super) struct PowerCutRun {
    plan: PowerCutPlan,
    next_time: usize,
    next_after_request: usize,
    pending: PendingPowerCut,
    pub(super) cuts: Vec<PowerCut>,
    /// By request id.
    outstanding: BTreeMap<u64, OutstandingRequest>,
    /// Ids of completed reads, whose data is dropped.
    completed_reads: Vec<u64>,
    is_recovering: bool,
    /// True if power cuts may lose acknowledged writes.
    is_volatile: bool,
    block_bytes: u32,
    loss_check: Option<LossCheck>,
}

/// The search for the losses of one power cut.
struct LossCheck {
    /// Index of the cut.
    cut: usize,
    oracle: Oracle,
    /// LBN and origin by which each block was written, by absolute LBN.
    addresses: BTreeMap<u64, (u64, u32)>,
}

impl PowerCutRun {
    pub(super) fn new(plan: &PowerCutPlan, system: &System) -> Self {
        Self {
            plan: plan.clone(),
            next_time: 0,
            next_after_request: 0,
            pending: PendingPowerCut::None,
            cuts: Vec::new(),
            outstanding: BTreeMap::new(),
            completed_reads: Vec::new(),
            is_recovering: false,
            is_volatile: system.may_lose_writes(),
            block_bytes: system.component(system.root()).block_bytes(),
            loss_check: None,
        }
    }

    /// The next power cut at a planned time.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.plan.times.get(self.next_time).copied()
    }

    /// Returns true if a power cut is due after so many submitted requests.
    pub(super) fn is_due(&self, submitted: u64) -> bool {
        let next = self.plan.after_requests.get(self.next_after_request);
        self.pending == PendingPowerCut::None && next.is_some_and(|next| next.requests <= submitted)
    }

    /// Schedules the next power cut: at once if `is_time`, otherwise after the planned number of calls.
    pub(super) fn schedule(&mut self, system: &mut System, is_time: bool) {
        if is_time {
            self.pending = PendingPowerCut::AtTime;
            system.cut_power_after(0);
        } else if let Some(next) = self.plan.after_requests.get(self.next_after_request) {
            self.pending = PendingPowerCut::AfterRequest;
            system.cut_power_after(next.calls);
        }
    }

    /// Records a submission and returns the data of the request.
    pub(super) fn submitted(&mut self, request: &Request, system: &System) -> Payload {
        let absolute_lbn = system.component(system.root()).absolute_lbn(request);
        let mut outstanding =
            OutstandingRequest { request: *request, absolute_lbn, submitted: 0, is_in_recovery: self.is_recovering };
        if let Some(loss_check) = self.loss_check.as_mut().filter(|_| system.refusal(request).is_none()) {
            outstanding.submitted = loss_check.submitted(&outstanding);
        }
        self.outstanding.insert(request.id, outstanding);
        match request.op {
            Op::Write if system.refusal(request).is_none() => stamped(request, write_number(request), self.block_bytes),
            _ => Payload::NONE,
        }
    }

    /// Records a completion.
    pub(super) fn completed(&mut self, completion: &Completion) {
        let (request, end) = (&completion.request, completion.service.end);
        let Some(outstanding) = self.outstanding.remove(&request.id) else {
            debug_assert!(false, "{request:?} was outstanding when power failed, and completes");
            return;
        };
        if request.op == Op::Read {
            self.completed_reads.push(request.id);
        }
        if let (Some(cut), true) = (self.cuts.last_mut(), completion.is_served()) {
            let path = if outstanding.is_in_recovery { &mut cut.during_recovery } else { &mut cut.after };
            path.record(end - request.arrival);
        }
        let since = self.outstanding.first_key_value().map(|(_, oldest)| oldest.submitted);
        let (is_volatile, block_bytes) = (self.is_volatile, self.block_bytes);
        if let Some(loss_check) = &mut self.loss_check {
            let Some(tick) = loss_check.completed(&outstanding, completion, is_volatile, block_bytes) else { return };
            loss_check.prune(&outstanding, since.unwrap_or(tick + 1), is_volatile);
        }
    }

    /// Records a power cut at `now` and returns the requests that were outstanding.
    pub(super) fn cut(&mut self, now: Time) -> Vec<Request> {
        // A cut at a planned time may happen while a cut after a request is pending, which is then scheduled again.
        match std::mem::replace(&mut self.pending, PendingPowerCut::None) {
            PendingPowerCut::AtTime => self.next_time += 1,
            PendingPowerCut::AfterRequest => self.next_after_request += 1,
            PendingPowerCut::None => debug_assert!(false, "no power cut was scheduled"),
        }
        let lost: Vec<Request> = std::mem::take(&mut self.outstanding).into_values().map(|it| it.request).collect();
        if let Some(loss_check) = self.loss_check.as_mut().filter(|loss_check| loss_check.cut > self.cuts.len()) {
            loss_check.oracle.power_cut();
        }
        self.cuts.push(PowerCut {
            at: now,
            outstanding: lost.len() as u64,
            recovered: None,
            during_recovery: ServicePath::new("during-recovery"),
            after: ServicePath::new("after"),
        });
        self.is_recovering = true;
        lost
    }

    /// Records the end of recovery once the system has recovered.
    pub(super) fn watch_recovery(&mut self, system: &System) {
        if self.is_recovering && !system.is_recovering() {
            self.is_recovering = false;
            if let Some(cut) = self.cuts.last_mut() {
                cut.recovered = Some(system.now());
            }
        }
    }

    /// Returns true after the power cut whose losses are searched.
    pub(super) fn is_over(&self) -> bool {
        self.loss_check.as_ref().is_some_and(|loss_check| loss_check.cut < self.cuts.len())
    }

    /// Drops the data of completed reads.
    pub(super) fn drop_read_data(&mut self, system: &mut System) {
        self.completed_reads.drain(..).for_each(|id| drop(system.take_read_payload(id)));
    }
}

impl LossCheck {
    /// Records a submission and returns its tick.
    fn submitted(&mut self, outstanding: &OutstandingRequest) -> u64 {
        let OutstandingRequest { request, absolute_lbn, .. } = outstanding;
        let tick = self.oracle.tick();
        if request.op == Op::Write {
            for block in 0..u64::from(request.blocks) {
                self.addresses.insert(absolute_lbn + block, (request.lbn + block, request.origin));
            }
            let blocks = *absolute_lbn..absolute_lbn + u64::from(request.blocks);
            self.oracle.submitted(write_number(request), blocks, tick);
        }
        tick
    }

    /// Records a completion. Returns the tick of a served write.
    fn completed(
        &mut self,
        outstanding: &OutstandingRequest,
        completion: &Completion,
        is_volatile: bool,
        block_bytes: u32,
    ) -> Option<u64> {
        let tick = self.oracle.tick();
        let OutstandingRequest { request, absolute_lbn, submitted, .. } = outstanding;
        if !completion.is_served() {
            return None;
        }
        match request.op {
            Op::Read | Op::Reset => None,
            Op::Flush => {
                self.oracle.flushed(*submitted, tick);
                None
            }
            Op::Write => {
                let is_durable = !is_volatile || request.flags.contains(Flags::DURABLE);
                // Blocks that the host does not need may be left unwritten.
                let needed = request.needed(block_bytes);
                let first = absolute_lbn + (needed.lbn - request.lbn);
                let blocks = first..first + u64::from(needed.blocks);
                self.oracle.acknowledged(write_number(request), blocks, tick, is_durable);
                Some(tick)
            }
        }
    }

    /// Drops writes to the blocks of a request that cannot be read any more, see [`Oracle::prune`].
    fn prune(&mut self, outstanding: &OutstandingRequest, since: u64, is_volatile: bool) {
        let OutstandingRequest { request, absolute_lbn, .. } = outstanding;
        for block in *absolute_lbn..absolute_lbn + u64::from(request.blocks) {
            self.oracle.prune(block, since, is_volatile);
        }
    }

    /// Reads every block that was written, one after the other. `None` if `keep_going` returns false.
    fn read_all(&mut self, system: &mut System, keep_going: &mut dyn FnMut() -> bool) -> Option<Losses> {
        let mut losses = Losses::default();
        let (op, flags, padding) = (Op::Read, Flags::NONE, Padding::NONE);
        for (id, (&absolute_lbn, &(lbn, origin))) in (FIRST_READ_ID..).zip(&self.addresses) {
            if id % READS_PER_CHECK == 0 && !keep_going() {
                return None;
            }
            let request = Request { id, arrival: system.now(), lbn, blocks: 1, op, flags, origin, padding };
            let status = Cell::new(None);
            let mut completed = |completion: &Completion| {
                if completion.request.id == id {
                    status.set(Some(completion.status));
                }
            };
            system.submit(request, &mut completed);
            while status.get().is_none() && system.next_time().is_some() {
                system.step(&mut completed);
            }
            let payload = system.take_read_payload(id);
            match (status.get(), payload.bytes()) {
                // Writes to this block were refused, too.
                (Some(Status::Refused), _) => continue,
                (Some(Status::Served), Some(bytes)) => match self.oracle.state_of(absolute_lbn, lbn, bytes) {
                    BlockState::Kept => {}
                    BlockState::Lost => losses.lost += 1,
                    BlockState::Broken => losses.broken += 1,
                },
                _ => losses.unreadable += 1,
            }
            losses.written += 1;
        }
        Some(losses)
    }
}

/// The number of a write in the oracle, where 0 is the initial content.
fn write_number(request: &Request) -> u64 {
    request.id + 1
}

/// Ignores all completions.
struct NoObserver;

impl Observer for NoObserver {
    fn served(&mut self, _request: &Request, _service: &Service) {}
}

/// Finds the losses of the power cut with index `cut` by a run of the same system and workload up to there. `None` if the run ends
/// before the cut or is interrupted.
///
/// # Errors
/// As for [`run_with_cuts`](crate::engine::run::run_with_cuts).
pub fn find_losses(
    system: &mut System,
    workload: &mut dyn Workload,
    limits: &RunLimits,
    plan: &PowerCutPlan,
    cut: usize,
    keep_going: &mut dyn FnMut(Progress) -> bool,
) -> Result<Option<Losses>, Fault> {
    let mut power_cuts = PowerCutRun::new(plan, system);
    power_cuts.loss_check = Some(LossCheck { cut, oracle: Oracle::default(), addresses: BTreeMap::new() });
    let (observer, state) = (&mut NoObserver, &mut RunState::default());
    let run = Run { system, workload, limits, observer, state, power_cuts: Some(&mut power_cuts) };
    let outcome = run.run_to_end(keep_going)?;
    if !power_cuts.is_over() {
        return Ok(None);
    }
    let progress = Progress { submitted: outcome.submitted, now: outcome.finished, fraction_taken: None };
    // A scheduler that prefers a rebuild to other requests could delay recovery and the reads until the rebuild ends.
    system.pause_background_work();
    let mut events = 0_u64;
    while system.is_recovering() && system.next_time().is_some() {
        if events.is_multiple_of(RECOVERY_EVENTS_PER_CHECK) && !keep_going(progress) {
            return Ok(None);
        }
        events += 1;
        system.step(&mut |_| {});
    }
    let losses = power_cuts.loss_check.and_then(|mut check| check.read_all(system, &mut || keep_going(progress)));
    system.livelock().map_or(Ok(losses), |livelock| Err(livelock.fault()))
}
