//! The order and the pace of a rebuild.

use std::collections::{BTreeMap, VecDeque};

use super::spec::RebuildSpec;
use crate::convert::trunc_to_u64;
use crate::hierarchy::common::BlockRange;
use crate::time::{s_to_ns, Time};

/// The rebuild of one member on its spare.
#[derive(Clone, Copy, Debug)]
struct RebuildState {
    member: usize,
    /// First LBN of the next step.
    next: u64,
    /// All blocks below this LBN have been rebuilt.
    done_to: u64,
    began: Time,
}

/// A step that has begun and has not been added to [`RebuildState::done_to`].
#[derive(Clone, Copy, Debug)]
struct BegunStep {
    to: u64,
    has_ended: bool,
}

/// Rebuilds failed members, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Rebuild {
    step_blocks: u64,
    max_steps: u32,
    delay_ns: u64,
    /// Reciprocal of the maximum rate; 0 without a limit.
    ns_per_block: f64,
    member_blocks: u64,
    /// Members to be rebuilt after the current one.
    waiting: VecDeque<usize>,
    current: Option<RebuildState>,
    /// By the LBN where each begins.
    steps: BTreeMap<u64, BegunStep>,
    outstanding_steps: u32,
    /// The earliest time of the next step.
    next_at: Time,
    /// The time of the timer that is set.
    timer_at: Option<Time>,
    /// Number of the current attempt: steps of earlier attempts are ignored when they end.
    pub(super) generation: u64,
    is_paused: bool,
}

/// The next action.
pub(super) enum Step {
    /// Rebuild this range of a member.
    Begin { member: usize, range: BlockRange },
    /// Set a timer for this time, then call again.
    Wait(Time),
    /// Nothing, until a step ends or a member fails.
    Nothing,
}

/// A range of a member that has been rebuilt: everything below `to`.
pub(super) struct RebuiltTo {
    pub(super) member: usize,
    pub(super) to: u64,
}

/// A member that has been rebuilt completely.
pub(super) struct Finished {
    pub(super) member: usize,
    pub(super) took_ns: u64,
}

impl Rebuild {
    pub(super) fn new(
        spec: &RebuildSpec,
        step_blocks: u64,
        max_steps: u32,
        member_blocks: u64,
        block_bytes: u32,
    ) -> Self {
        Self {
            step_blocks,
            max_steps,
            delay_ns: s_to_ns(spec.delay_s),
            ns_per_block: spec.mb_per_s.map_or(0.0, |mb_per_s| f64::from(block_bytes) * 1e3 / mb_per_s),
            member_blocks,
            waiting: VecDeque::new(),
            current: None,
            steps: BTreeMap::new(),
            outstanding_steps: 0,
            next_at: Time::ZERO,
            timer_at: None,
            generation: 0,
            is_paused: false,
        }
    }

    /// Adds a member to be rebuilt, from the start if its rebuild has begun.
    pub(super) fn add_member(&mut self, member: usize, now: Time) {
        self.waiting.retain(|&other| other != member);
        self.waiting.push_back(member);
        if self.current.is_some_and(|current| current.member == member) {
            self.abandon();
        }
        self.begin_next(now);
    }

    /// Removes a member that cannot be rebuilt any more.
    pub(super) fn remove_member(&mut self, member: usize, now: Time) {
        self.waiting.retain(|&other| other != member);
        if self.current.is_some_and(|current| current.member == member) {
            self.abandon();
            self.begin_next(now);
        }
    }

    fn abandon(&mut self) {
        self.current = None;
        self.steps.clear();
        self.outstanding_steps = 0;
        self.generation += 1;
    }

    fn begin_next(&mut self, now: Time) {
        if self.current.is_none() {
            let member = self.waiting.pop_front();
            self.current = member.map(|member| RebuildState { member, next: 0, done_to: 0, began: now });
            self.next_at = now + self.delay_ns;
        }
    }

    /// Returns what to do at `now`. The end of a step must be reported to [`Rebuild::end_step`].
    pub(super) fn step(&mut self, now: Time) -> Step {
        self.timer_at = self.timer_at.filter(|&timer| timer > now);
        let Some(current) = &mut self.current else { return Step::Nothing };
        if self.is_paused || current.next >= self.member_blocks || self.outstanding_steps >= self.max_steps {
            return Step::Nothing;
        }
        if now < self.next_at {
            if self.timer_at.is_some_and(|timer| timer <= self.next_at) {
                return Step::Nothing;
            }
            self.timer_at = Some(self.next_at);
            return Step::Wait(self.next_at);
        }
        let range = BlockRange::new(current.next, self.member_blocks.min(current.next + self.step_blocks));
        current.next = range.to;
        self.steps.insert(range.from, BegunStep { to: range.to, has_ended: false });
        self.outstanding_steps += 1;
        self.next_at = now + trunc_to_u64((range.blocks() as f64 * self.ns_per_block).ceil());
        Step::Begin { member: current.member, range }
    }

    /// The LBN up to which a step that has just begun, and that ends at `to`, may be extended if it takes no time: the end of the
    /// member, or `to` if a maximum rate sets the time of each step.
    pub(super) fn max_reach(&self, to: u64) -> u64 {
        if self.ns_per_block > 0.0 {
            to
        } else {
            self.member_blocks
        }
    }

    /// Extends the step that has just begun at `from` by whole steps, at most up to `to`. Returns its new end.
    pub(super) fn extend_step(&mut self, from: u64, to: u64) -> Option<u64> {
        let current = self.current.as_mut()?;
        let whole = from + (to - from) / self.step_blocks * self.step_blocks;
        let to = if to == self.member_blocks { to } else { whole };
        current.next = to.max(current.next);
        self.steps.get_mut(&from)?.to = current.next;
        Some(current.next)
    }

    /// Ends the step that began at `from`.
    pub(super) fn end_step(&mut self, from: u64) -> Option<RebuiltTo> {
        // The caller ignores steps of earlier generations.
        debug_assert!(self.steps.contains_key(&from), "no step from {from} on has begun");
        let current = self.current.as_mut()?;
        self.outstanding_steps -= 1;
        self.steps.get_mut(&from)?.has_ended = true;
        while let Some(step) = self.steps.first_entry().filter(|step| step.get().has_ended) {
            current.done_to = step.remove().to;
        }
        Some(RebuiltTo { member: current.member, to: current.done_to })
    }

    /// Returns the current member if it has been rebuilt completely, and begins with the next one.
    pub(super) fn finish(&mut self, now: Time) -> Option<Finished> {
        let current = self.current.filter(|current| current.done_to >= self.member_blocks)?;
        self.current = None;
        self.begin_next(now);
        Some(Finished { member: current.member, took_ns: now - current.began })
    }

    /// Share of the current member that has been rebuilt; 0 without one.
    pub(super) fn share(&self) -> f64 {
        self.current.map_or(0.0, |current| current.done_to as f64 / self.member_blocks as f64)
    }

    /// Begins no more steps.
    pub(super) fn pause(&mut self) {
        self.is_paused = true;
    }

    /// Forgets outstanding steps, which are made again.
    pub(super) fn power_cut(&mut self) {
        self.steps.clear();
        self.outstanding_steps = 0;
        self.timer_at = None;
        self.generation += 1;
        self.current.iter_mut().for_each(|current| current.next = current.done_to);
    }
}
