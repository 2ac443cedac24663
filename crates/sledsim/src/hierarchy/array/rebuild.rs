//! The course of a rebuild: which LBNs next, and not before when.

use std::collections::{BTreeMap, VecDeque};

use super::spec::RebuildSpec;
use crate::convert::trunc_to_u64;
use crate::time::{s_to_ns, Time};

/// A member on its way to a spare.
#[derive(Clone, Copy, Debug)]
struct Course {
    member: usize,
    /// Where the next step begins.
    next: u64,
    /// Descendants this LBN everything has been rebuilt.
    border: u64,
    began: Time,
}

/// The rebuilding of failed members, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Rebuild {
    step_blocks: u64,
    most_steps: u32,
    delay_ns: u64,
    ns_per_block: f64,
    member_blocks: u64,
    waiting: VecDeque<usize>,
    course: Option<Course>,
    /// Steps under way, by where they begin, and where they end; those that are over but others before them are not.
    steps: BTreeMap<u64, (u64, bool)>,
    under_way: u32,
    /// No step begins before.
    next_at: Time,
    /// When the timer fires that has been set, if one has.
    alarm: Option<Time>,
    /// Which course steps belong to.
    pub(super) generation: u64,
    is_paused: bool,
}

/// What to do next.
pub(super) enum Step {
    /// Rebuild these LBNs of a member.
    Begin(usize, (u64, u64)),
    /// Look again then.
    Wait(Time),
    /// Nothing, before a step is over.
    Nothing,
}

impl Rebuild {
    pub(super) fn new(
        spec: &RebuildSpec,
        step_blocks: u64,
        most_steps: u32,
        member_blocks: u64,
        block_bytes: u32,
    ) -> Self {
        Self {
            step_blocks,
            most_steps,
            delay_ns: s_to_ns(spec.delay_s),
            ns_per_block: spec.mb_per_s.map_or(0.0, |mb_per_s| f64::from(block_bytes) * 1e3 / mb_per_s),
            member_blocks,
            waiting: VecDeque::new(),
            course: None,
            steps: BTreeMap::new(),
            under_way: 0,
            next_at: Time::ZERO,
            alarm: None,
            generation: 0,
            is_paused: false,
        }
    }

    /// A member is to be rebuilt, from the start if it was being rebuilt already.
    pub(super) fn want(&mut self, member: usize, now: Time) {
        self.waiting.retain(|&other| other != member);
        self.waiting.push_back(member);
        if self.course.is_some_and(|course| course.member == member) {
            self.abandon();
        }
        self.take_next(now);
    }

    /// A member can't be rebuilt any more.
    pub(super) fn give_up(&mut self, member: usize, now: Time) {
        self.waiting.retain(|&other| other != member);
        if self.course.is_some_and(|course| course.member == member) {
            self.abandon();
            self.take_next(now);
        }
    }

    fn abandon(&mut self) {
        self.course = None;
        self.steps.clear();
        self.under_way = 0;
        self.generation += 1;
    }

    fn take_next(&mut self, now: Time) {
        if self.course.is_none() {
            let member = self.waiting.pop_front();
            self.course = member.map(|member| Course { member, next: 0, border: 0, began: now });
            self.next_at = now + self.delay_ns;
        }
    }

    /// What to do at `now`. A step that is begun has to be told to [`Rebuild::over`] when it is.
    pub(super) fn step(&mut self, now: Time) -> Step {
        self.alarm = self.alarm.filter(|&alarm| alarm > now);
        let Some(course) = &mut self.course else { return Step::Nothing };
        if self.is_paused || course.next >= self.member_blocks || self.under_way >= self.most_steps {
            return Step::Nothing;
        }
        if now < self.next_at {
            if self.alarm.is_some_and(|alarm| alarm <= self.next_at) {
                return Step::Nothing;
            }
            self.alarm = Some(self.next_at);
            return Step::Wait(self.next_at);
        }
        let (from, to) = (course.next, self.member_blocks.min(course.next + self.step_blocks));
        course.next = to;
        self.steps.insert(from, (to, false));
        self.under_way += 1;
        self.next_at = now + trunc_to_u64(((to - from) as f64 * self.ns_per_block).ceil());
        Step::Begin(course.member, (from, to))
    }

    /// How far the step that has just begun may reach, if nothing of it takes time: to the end, but that a limit on the rate
    /// says when each step begins.
    pub(super) fn reach(&self, to: u64) -> u64 {
        if self.ns_per_block > 0.0 {
            to
        } else {
            self.member_blocks
        }
    }

    /// Lets the step that has just begun at `from` end in whole steps, at or below `to`; says where.
    pub(super) fn stretch(&mut self, from: u64, to: u64) -> Option<u64> {
        let course = self.course.as_mut()?;
        let whole = from + (to - from) / self.step_blocks * self.step_blocks;
        let to = if to == self.member_blocks { to } else { whole };
        course.next = to.max(course.next);
        self.steps.get_mut(&from)?.0 = course.next;
        Some(course.next)
    }

    /// The step that began at an LBN is over; says up to where its member is rebuilt.
    pub(super) fn over(&mut self, from: u64) -> Option<(usize, u64)> {
        // Steps of a course that was abandoned are told apart by their generation before they come here.
        debug_assert!(self.steps.contains_key(&from), "a step from {from} on is not under way");
        let course = self.course.as_mut()?;
        self.under_way -= 1;
        self.steps.get_mut(&from)?.1 = true;
        while let Some(step) = self.steps.first_entry().filter(|step| step.get().1) {
            course.border = step.remove().0;
        }
        Some((course.member, course.border))
    }

    /// If the member under way is whole: how long it took until `now`. Then the next one is taken up.
    pub(super) fn finished(&mut self, now: Time) -> Option<(usize, u64)> {
        let course = self.course.filter(|course| course.border >= self.member_blocks)?;
        self.course = None;
        self.take_next(now);
        Some((course.member, now - course.began))
    }

    /// Share of the member under way that has been rebuilt; 0 if none is.
    pub(super) fn share(&self) -> f64 {
        self.course.map_or(0.0, |course| course.border as f64 / self.member_blocks as f64)
    }

    /// No step begins any more.
    pub(super) fn pause(&mut self) {
        self.is_paused = true;
    }

    /// Steps under way when power failed have to be made again.
    pub(super) fn power_cut(&mut self) {
        self.steps.clear();
        self.under_way = 0;
        self.alarm = None;
        self.generation += 1;
        self.course.iter_mut().for_each(|course| course.next = course.border);
    }
}
