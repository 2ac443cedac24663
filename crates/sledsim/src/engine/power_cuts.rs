//! Power cuts during a run: when they come, what they take, and what follows each.
//!
//! Power comes back in the instant in which it failed. What a cut took is found by reading everything that was ever written,
//! which would disturb the run: so that is another run, the same up to there.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::engine::component::{Completion, Status};
use crate::engine::data::Payload;
use crate::engine::details::Path;
use crate::engine::oracle::{stamped, Found, Oracle};
use crate::engine::run::{Limits, Observer, Progress, Run, Standing};
use crate::engine::system::System;
use crate::engine::workload::Workload;
use crate::fault::Fault;
use crate::request::{Flags, Op, Request, Spare};
use crate::service::Service;
use crate::time::Time;

/// Numbers of the requests that look for what was lost begin here, far beyond those of any run.
const FIRST_LOOK: u64 = 1 << 62;
/// Of these, so many are read between two questions whether to go on.
const BLOCKS_LOOKED_AT: u64 = 256;
/// Steps of a recovery between two such questions.
const STEPS_OF_RECOVERY: u64 = 4096;

/// When power fails in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CutPlan {
    /// At these times, in their order.
    pub times: Vec<Time>,
    /// When so many requests have been submitted, and then between two calls of components, so many calls later; in the order
    /// of requests.
    pub requests: Vec<(u64, u64)>,
}

/// What a power cut did to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// When power failed and came back.
    pub at: Time,
    /// Requests under way then, which never complete.
    pub under_way: u64,
    /// When the system had recovered, if it had before the next cut or the end.
    pub recovered: Option<Time>,
    /// Requests served that arrived before it had recovered.
    pub during_recovery: Path,
    /// Requests served that arrived after that, until the next cut or the end.
    pub after: Path,
}

/// What a power cut took, in blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Blocks that had been written before.
    pub written: u64,
    /// Of these, blocks of whose acknowledged writes an older one is there.
    pub lost: u64,
    /// Blocks that hold anything else though a write of them had been acknowledged as durable.
    pub broken: u64,
    /// Blocks that can't be read.
    pub unreadable: u64,
}

/// Which cut is about to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fuse {
    Out,
    /// The next one at a time.
    Time,
    /// The next one after a request.
    Request,
}

/// A request under way.
struct UnderWay {
    request: Request,
    /// Of its first block among all of the system.
    place: u64,
    /// In ticks of the oracle.
    began: u64,
    is_in_recovery: bool,
}

/// The power cuts of a run, as it goes on.
pub(super) struct Course {
    plan: CutPlan,
    next_time: usize,
    next_request: usize,
    fuse: Fuse,
    pub(super) cuts: Vec<Cut>,
    /// By number.
    under_way: BTreeMap<u64, UnderWay>,
    /// Reads that have come back, whose bytes nobody needs.
    answered: Vec<u64>,
    is_recovering: bool,
    is_volatile: bool,
    block_bytes: u32,
    inquiry: Option<Inquiry>,
}

/// What has to be known to tell what a cut takes.
struct Inquiry {
    /// Of which cut, counted from 0.
    cut: usize,
    oracle: Oracle,
    /// The LBN and the origin by which each block was written.
    addresses: BTreeMap<u64, (u64, u32)>,
}

impl Course {
    pub(super) fn new(plan: &CutPlan, system: &System) -> Self {
        Self {
            plan: plan.clone(),
            next_time: 0,
            next_request: 0,
            fuse: Fuse::Out,
            cuts: Vec::new(),
            under_way: BTreeMap::new(),
            answered: Vec::new(),
            is_recovering: false,
            is_volatile: system.may_lose_writes(),
            block_bytes: system.component(system.root()).block_bytes(),
            inquiry: None,
        }
    }

    /// The next cut at a time.
    pub(super) fn next_time(&self) -> Option<Time> {
        self.plan.times.get(self.next_time).copied()
    }

    /// Whether power fails soon, now that so many requests have been submitted.
    pub(super) fn is_due(&self, submitted: u64) -> bool {
        let next = self.plan.requests.get(self.next_request);
        self.fuse == Fuse::Out && next.is_some_and(|&(request, _)| request <= submitted)
    }

    /// Power fails, at once if it is time for that, or else as many calls later as was planned.
    pub(super) fn light_fuse(&mut self, system: &mut System, is_time: bool) {
        if is_time {
            self.fuse = Fuse::Time;
            system.cut_after(0);
        } else if let Some(&(_, calls)) = self.plan.requests.get(self.next_request) {
            self.fuse = Fuse::Request;
            system.cut_after(calls);
        }
    }

    /// A request is submitted; says what it carries.
    pub(super) fn submitted(&mut self, request: &Request, system: &System) -> Payload {
        let root = system.component(system.root());
        let mut entry = UnderWay {
            request: *request,
            place: root.absolute_lbn(request),
            began: 0,
            is_in_recovery: self.is_recovering,
        };
        if let Some(inquiry) = self.inquiry.as_mut().filter(|_| system.refusal(request).is_none()) {
            entry.began = inquiry.submitted(&entry);
        }
        self.under_way.insert(request.id, entry);
        match request.op {
            Op::Write if system.refusal(request).is_none() => stamped(request, number(request), self.block_bytes),
            _ => Payload::NONE,
        }
    }

    /// A request has come back.
    pub(super) fn completed(&mut self, completion: &Completion) {
        let (request, end) = (&completion.request, completion.service.end);
        let Some(entry) = self.under_way.remove(&request.id) else {
            debug_assert!(false, "{request:?} was under way when power failed, and completes");
            return;
        };
        if request.op == Op::Read {
            self.answered.push(request.id);
        }
        if let (Some(cut), true) = (self.cuts.last_mut(), completion.served()) {
            let path = if entry.is_in_recovery { &mut cut.during_recovery } else { &mut cut.after };
            path.record(end - request.arrival);
        }
        let since = self.under_way.first_key_value().map(|(_, oldest)| oldest.began);
        if let Some(inquiry) = &mut self.inquiry {
            inquiry.completed(&entry, completion, since, (self.is_volatile, self.block_bytes));
        }
    }

    /// Power has failed: says who was under way.
    pub(super) fn cut(&mut self, now: Time) -> Vec<Request> {
        // A time that comes while another cut is near goes first; that one is made later.
        match std::mem::replace(&mut self.fuse, Fuse::Out) {
            Fuse::Time => self.next_time += 1,
            Fuse::Request => self.next_request += 1,
            Fuse::Out => debug_assert!(false, "nobody has cut power"),
        }
        let dead: Vec<Request> = std::mem::take(&mut self.under_way).into_values().map(|entry| entry.request).collect();
        if let Some(inquiry) = self.inquiry.as_mut().filter(|inquiry| inquiry.cut > self.cuts.len()) {
            inquiry.oracle.cut();
        }
        self.cuts.push(Cut {
            at: now,
            under_way: dead.len() as u64,
            recovered: None,
            during_recovery: Path::new("during-recovery"),
            after: Path::new("after"),
        });
        self.is_recovering = true;
        dead
    }

    /// Looks whether the system has recovered.
    pub(super) fn watch_recovery(&mut self, system: &System) {
        if self.is_recovering && !system.is_recovering() {
            self.is_recovering = false;
            if let Some(cut) = self.cuts.last_mut() {
                cut.recovered = Some(system.now());
            }
        }
    }

    /// Whether all is known that was to be found out.
    pub(super) fn is_over(&self) -> bool {
        self.inquiry.as_ref().is_some_and(|inquiry| inquiry.cut < self.cuts.len())
    }

    /// Drops the bytes that reads have brought.
    pub(super) fn forget_answers(&mut self, system: &mut System) {
        self.answered.drain(..).for_each(|id| drop(system.take_answer(id)));
    }
}

impl Inquiry {
    /// A request is submitted; says at which tick.
    fn submitted(&mut self, entry: &UnderWay) -> u64 {
        let UnderWay { request, place, .. } = entry;
        let began = self.oracle.tick();
        if request.op == Op::Write {
            for block in 0..u64::from(request.blocks) {
                self.addresses.insert(place + block, (request.lbn + block, request.origin));
            }
            self.oracle.submitted(number(request), *place..place + u64::from(request.blocks), began);
        }
        began
    }

    /// A request has come back; those still under way began at `since` or later.
    fn completed(
        &mut self,
        entry: &UnderWay,
        completion: &Completion,
        since: Option<u64>,
        (is_volatile, block_bytes): (bool, u32),
    ) {
        let tick = self.oracle.tick();
        let UnderWay { request, place, .. } = entry;
        match request.op {
            Op::Write if completion.served() => {}
            Op::Flush if completion.served() => {
                self.oracle.flushed(entry.began, tick);
                return;
            }
            _ => return,
        }
        let is_promised = !is_volatile || request.flags.contains(Flags::DURABLE);
        // Blocks of which nothing is needed need not have been written.
        let needed = request.needed(block_bytes);
        let first = place + (needed.lbn - request.lbn);
        self.oracle.acknowledged(number(request), first..first + u64::from(needed.blocks), tick, is_promised);
        for block in *place..place + u64::from(request.blocks) {
            self.oracle.prune(block, since.unwrap_or(tick + 1), is_volatile);
        }
    }

    /// Reads every block that was written, one after the other. `None` if `goes_on` says no.
    fn look(&mut self, system: &mut System, goes_on: &mut dyn FnMut() -> bool) -> Option<Losses> {
        let mut losses = Losses::default();
        let (op, flags, spare) = (Op::Read, Flags::NONE, Spare::NONE);
        for (id, (&place, &(lbn, origin))) in (FIRST_LOOK..).zip(&self.addresses) {
            if id % BLOCKS_LOOKED_AT == 0 && !goes_on() {
                return None;
            }
            let request = Request { id, arrival: system.now(), lbn, blocks: 1, op, flags, origin, spare };
            let came = Cell::new(None);
            let mut hear = |completion: &Completion| {
                if completion.request.id == id {
                    came.set(Some(completion.status));
                }
            };
            system.submit(request, &mut hear);
            while came.get().is_none() && system.next_time().is_some() {
                system.step(&mut hear);
            }
            let (came, answer) = (came.get(), system.take_answer(id));
            if came == Some(Status::Refused) {
                // A write there was refused, too.
                continue;
            }
            losses.written += 1;
            let found = answer.bytes().filter(|_| came == Some(Status::Served));
            match found.map(|bytes| self.oracle.found(place, lbn, bytes)) {
                Some(Found::Kept) => {}
                Some(Found::Lost) => losses.lost += 1,
                Some(Found::Broken) => losses.broken += 1,
                None => losses.unreadable += 1,
            }
        }
        Some(losses)
    }
}

/// The number by which the oracle knows a write: 0 is what nobody has written.
fn number(request: &Request) -> u64 {
    request.id + 1
}

/// Hears nothing.
struct Nobody;

impl Observer for Nobody {
    fn served(&mut self, _request: &Request, _service: &Service) {}
}

/// What one of the cuts takes, counted from 0, found by a run of the same system and workload as far as that; `None` if it ends
/// before or is interrupted.
///
/// # Errors
/// As for [`run_with_cuts`](crate::engine::run::run_with_cuts).
pub fn losses(
    system: &mut System,
    workload: &mut dyn Workload,
    limits: &Limits,
    plan: &CutPlan,
    cut: usize,
    keep_going: &mut dyn FnMut(Progress) -> bool,
) -> Result<Option<Losses>, Fault> {
    let mut course = Course::new(plan, system);
    course.inquiry = Some(Inquiry { cut, oracle: Oracle::default(), addresses: BTreeMap::new() });
    let (observer, standing, of_run) = (&mut Nobody, &mut Standing::default(), Some(&mut course));
    let outcome = Run { system, workload, limits, observer, standing, course: of_run }.go(keep_going)?;
    if !course.is_over() {
        return Ok(None);
    }
    let progress = Progress { submitted: outcome.submitted, now: outcome.finished, fraction_taken: None };
    // No rebuild goes on beside recovery and the reads: a scheduler might prefer it to them for as long as it lasts.
    system.pause_background_work();
    let mut steps = 0_u64;
    while system.is_recovering() && system.next_time().is_some() {
        if steps.is_multiple_of(STEPS_OF_RECOVERY) && !keep_going(progress) {
            return Ok(None);
        }
        steps += 1;
        system.step(&mut |_| {});
    }
    let losses = course.inquiry.and_then(|mut inquiry| inquiry.look(system, &mut || keep_going(progress)));
    system.stuck().map_or(Ok(losses), |stuck| Err(stuck.fault()))
}
