//! Moving extents by use while requests go on.
//!
//! An extent is read whole from where it is and written, durably, into the one slot that is spare; then the map changes, which
//! it does in an instant and in non-volatile memory. Writes of an extent that moves wait for that; reads are served from where
//! it is. The slot that it leaves is the spare from then on: it takes the next extent when no read of it is under way any more,
//! or is filled with zeroes where slots that nothing was put in yet are needed. So an extent takes another's place in two moves,
//! and a power cut or a failure in the midst of one costs nothing but time.

use std::collections::VecDeque;

use super::map::{Map, Place, FAST, SLOW};
use super::spec::TierMigrationSpec;
use super::{Part, Tiers};
use crate::convert::{to_u32, to_usize, trunc_to_u64};
use crate::engine::details::Count;
use crate::engine::{Completion, Context, Payload};
use crate::hierarchy::common::{Alarm, LockQueue};
use crate::request::{Flags, Op, Padding, Request};
use crate::time::{s_to_ns, Time};

/// Extents: from, to.
pub(super) type Range = (u64, u64);

/// What is to move, and what moves.
#[derive(Clone, Debug)]
pub(super) struct Migration {
    factor: f64,
    least_uses: f64,
    period_ns: u64,
    /// What copying an extent takes of the bandwidth; `None` if nothing ever moves.
    copy_ns: Option<u64>,
    /// What is to move, the hottest first.
    wishes: VecDeque<Wish>,
    course: Option<Course>,
    /// When uses are compared next, once there has been one.
    compare_at: Option<Time>,
    /// Bandwidth is left for a copy from then on.
    next_at: Time,
    /// By extents.
    claims: LockQueue<Holder>,
    alarm: Alarm,
    is_paused: bool,
    tally: Tally,
}

/// An extent that is to go up, and one that may have to make room for it.
#[derive(Clone, Copy, Debug)]
struct Wish {
    up: u64,
    down: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// Whoever writes to the extent has to end first.
    Locking { extent: u64 },
    /// The extent is being copied, under the lock of that id.
    Copying { extent: u64, lock: u64 },
    /// So many reads are under way still at the place that it left.
    Emptying { reads: u64 },
    /// Zeroes are written to the spare.
    Clearing,
}

/// Who may have a lock.
#[derive(Clone, Debug)]
pub(super) enum Holder {
    /// A write.
    Write(Request, Payload),
    /// A move.
    Move,
}

#[derive(Clone, Debug, Default)]
struct Tally {
    moved: [u64; 2],
    cleared: u64,
    failed: u64,
    deferred: u64,
    waits: u64,
}

impl Migration {
    /// Moves of extents of so many bytes.
    pub(super) fn new(spec: &TierMigrationSpec, extent_bytes: u64) -> Self {
        let copy_ns = (spec.mb_per_s > 0.0).then(|| trunc_to_u64((extent_bytes as f64 * 1e3 / spec.mb_per_s).ceil()));
        Self {
            factor: spec.factor,
            least_uses: spec.least_uses,
            period_ns: s_to_ns(spec.period_s).max(1),
            copy_ns,
            wishes: VecDeque::new(),
            course: None,
            compare_at: None,
            next_at: Time::from_ns(copy_ns.unwrap_or_default()),
            claims: LockQueue::default(),
            alarm: Alarm::default(),
            is_paused: false,
            tally: Tally::default(),
        }
    }

    /// Whether anything ever moves.
    pub(super) fn is_on(&self) -> bool {
        self.copy_ns.is_some()
    }

    /// Hears of a request from above: uses are compared when the period ends.
    pub(super) fn note_use(&mut self, context: &mut Context<'_>) {
        if self.compare_at.is_none() && !self.is_paused {
            let at = Time::from_ns((context.now().ns() / self.period_ns + 1) * self.period_ns);
            self.compare_at = Some(at);
            self.alarm.set(at, context);
        }
    }

    /// A write asks for the lock of the extents that it touches.
    pub(super) fn claim_write(&mut self, request: Request, payload: Payload, range: Range) {
        let (_, at_once) = self.claims.claim(Holder::Write(request, payload), range, false);
        self.tally.waits += u64::from(!at_once);
    }

    /// Gives a lock up.
    pub(super) fn release(&mut self, lock: u64, range: Range) {
        self.claims.release(lock, range);
    }

    /// What moves next, from now on: the hottest of the slow child, as far as there is room, or as those that make it are by so
    /// much colder.
    fn compare(&mut self, map: &Map, now: Time) {
        self.compare_at = None;
        self.tally.deferred += self.wishes.len() as u64;
        self.wishes.clear();
        let mut hot = map.uses(SLOW, now);
        hot.retain(|&(uses, _)| uses >= self.least_uses && uses > 0.0);
        hot.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        let mut cold = map.uses(FAST, now);
        cold.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let mut cold = cold.into_iter();
        let spare = u64::from(map.spare.is_some_and(|place| place.tier == FAST));
        let mut room = map.clean_slots(FAST) + spare;
        for (uses, up) in hot {
            let down = if room > 0 {
                room -= 1;
                None
            } else {
                let Some((_, down)) = cold.next().filter(|(cold, _)| cold * self.factor < uses) else { break };
                Some(down)
            };
            self.wishes.push_back(Wish { up, down });
        }
    }

    /// Has the next wish's next step made ready: the spare that it goes to is one. `None` where nothing is left to do.
    fn next_step(&mut self, map: &mut Map) -> Option<Course> {
        while let Some(&Wish { up, down }) = self.wishes.front() {
            let tier_of = |extent: u64| map.place(extent).map(|place| place.tier);
            // It was on its way when uses were compared.
            if tier_of(up) == Some(FAST) {
                self.wishes.pop_front();
                continue;
            }
            if map.spare.is_some_and(|place| place.tier == FAST) {
                return Some(Course::Locking { extent: up });
            }
            if map.clean_slots(FAST) > 0 {
                if map.spare.is_some() {
                    return Some(Course::Clearing);
                }
                map.reserve(FAST, up);
                return Some(Course::Locking { extent: up });
            }
            if let Some(extent) = down.filter(|&down| tier_of(down) == Some(FAST)) {
                if map.spare.is_none() {
                    map.reserve(SLOW, extent);
                }
                return Some(Course::Locking { extent });
            }
            // Extents that were used for the first time have taken the room.
            self.tally.deferred += 1;
            self.wishes.pop_front();
        }
        None
    }

    pub(super) fn start_measuring(&mut self) {
        self.tally = Tally::default();
    }

    /// What it counted; nothing where nothing moves.
    pub(super) fn counts(&self, extent_bytes: u64) -> Vec<Count> {
        if !self.is_on() {
            return Vec::new();
        }
        let tally = &self.tally;
        let bytes = |name, extents: u64| Count { name, unit: "B", value: extents as f64 * extent_bytes as f64 };
        vec![
            Count::of("moves_up", tally.moved[FAST]),
            Count::of("moves_down", tally.moved[SLOW]),
            bytes("moved_bytes", tally.moved[FAST] + tally.moved[SLOW]),
            bytes("cleared_bytes", tally.cleared),
            Count::of("deferred_moves", tally.deferred),
            Count::of("failed_moves", tally.failed),
            Count::of("write_waits", tally.waits),
        ]
    }

    /// From now on no further extent is moved.
    pub(super) fn pause(&mut self) {
        self.is_paused = true;
        self.wishes.clear();
        self.compare_at = None;
    }

    /// Power is gone: what has been copied of an extent counts for nothing.
    pub(super) fn power_cut(&mut self) {
        self.claims.clear();
        self.alarm.clear();
        self.wishes.clear();
        (self.course, self.compare_at) = (None, None);
    }

    /// Whether nothing moves, and nobody has a lock.
    pub(super) fn is_at_rest(&self) -> bool {
        self.course.is_none() && self.claims.is_empty()
    }
}

impl Tiers {
    /// Does whatever can be done for the moves now.
    pub(super) fn move_on(&mut self, context: &mut Context<'_>) {
        loop {
            self.grant(context);
            let (now, migration) = (context.now(), &mut self.migration);
            if migration.compare_at.is_some_and(|at| at <= now) {
                migration.compare(&self.map, now);
            }
            if let Some(at) = migration.compare_at {
                migration.alarm.set(at, context);
            }
            match migration.course {
                Some(Course::Emptying { reads: 0 }) => migration.course = None,
                Some(_) => return,
                None if migration.wishes.is_empty() => return,
                None if now < migration.next_at => {
                    migration.alarm.set(migration.next_at, context);
                    return;
                }
                None => self.set_out(context),
            }
            if !self.migration.claims.any_granted() && self.migration.course.is_some() {
                return;
            }
        }
    }

    /// The next step of a move, or the clearing that it needs, begins.
    fn set_out(&mut self, context: &mut Context<'_>) {
        let migration = &mut self.migration;
        migration.course = migration.next_step(&mut self.map);
        let Some(course) = migration.course else { return };
        migration.next_at = context.now() + migration.copy_ns.expect("something moves");
        match course {
            Course::Locking { extent } => _ = migration.claims.claim(Holder::Move, (extent, extent + 1), true),
            _ => {
                let size = to_usize(self.extent_bytes());
                let zeroes = if context.holds_data() { Payload::of(&vec![0; size]) } else { Payload::NONE };
                self.access(self.map.spare.expect("only the spare is cleared"), Op::Write, zeroes, context);
            }
        }
    }

    /// Those who have been given a lock go on.
    pub(super) fn grant(&mut self, context: &mut Context<'_>) {
        while let Some((lock, holder)) = self.migration.claims.next_granted() {
            match holder {
                Holder::Write(request, payload) => self.begin(request, &payload, Some(lock), context),
                Holder::Move => {
                    let Some(Course::Locking { extent }) = self.migration.course else {
                        unreachable!("a move waits for its lock, but {:?}", self.migration.course)
                    };
                    self.migration.course = Some(Course::Copying { extent, lock });
                    let from = self.map.place(extent).expect("only what was used moves");
                    self.access(from, Op::Read, Payload::NONE, context);
                }
            }
        }
    }

    /// A read or a durable write of a whole slot.
    fn access(&mut self, place: Place, op: Op, payload: Payload, context: &mut Context<'_>) {
        let (id, arrival) = (self.parts.insert(Part::Move), context.now());
        let flags = if op == Op::Write { Flags::BACKGROUND.with(Flags::DURABLE) } else { Flags::BACKGROUND };
        let (lbn, blocks) = (place.slot * self.extent_blocks, to_u32(self.extent_blocks));
        let request = Request { id, arrival, lbn, blocks, op, flags, origin: 0, padding: Padding::NONE };
        context.submit_with(self.children[place.tier], request, payload);
    }

    /// An access of a move is over.
    pub(super) fn moved(&mut self, completion: &Completion, answer: Payload, context: &mut Context<'_>) {
        let migration = &mut self.migration;
        match migration.course {
            Some(Course::Copying { extent, lock }) => {
                if completion.is_served() && completion.request.op == Op::Read {
                    let to = self.map.spare.expect("a move goes to the spare");
                    return self.access(to, Op::Write, answer, context);
                }
                migration.course = None;
                if completion.is_served() {
                    self.switch(extent);
                } else {
                    migration.tally.failed += 1;
                    migration.wishes.pop_front();
                }
                self.migration.release(lock, (extent, extent + 1));
            }
            Some(Course::Clearing) => {
                migration.course = None;
                if completion.is_served() {
                    self.map.cleared();
                    migration.tally.cleared += 1;
                } else {
                    migration.tally.failed += 1;
                    migration.wishes.pop_front();
                }
            }
            course => unreachable!("an access of a move is over, but {course:?}"),
        }
    }

    /// All of an extent is in the spare, and nobody is writing to it.
    fn switch(&mut self, extent: u64) {
        let left = self.map.switch(extent);
        let reads = self.parts.ids(|part| self.is_read_of(part, left)).len() as u64;
        let migration = &mut self.migration;
        migration.course = Some(Course::Emptying { reads });
        migration.tally.moved[1 - left.tier] += 1;
        if migration.wishes.front().is_some_and(|wish| wish.up == extent) {
            migration.wishes.pop_front();
        }
    }

    /// Whether an access is a read of anything of a slot.
    fn is_read_of(&self, part: &Part, place: Place) -> bool {
        let (from, to) = (place.slot * self.extent_blocks, (place.slot + 1) * self.extent_blocks);
        matches!(part, &Part::Read { tier, lbn, blocks, .. } if tier == place.tier && lbn < to && from < lbn + blocks)
    }

    /// A read is over: maybe one of the slot that was left, which is the spare by now.
    pub(super) fn read_over(&mut self, part: &Part) {
        if let Some(Course::Emptying { reads }) = self.migration.course {
            let left = self.map.spare.is_some_and(|left| self.is_read_of(part, left));
            self.migration.course = Some(Course::Emptying { reads: reads - u64::from(left) });
        }
    }
}
