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
use crate::hierarchy::common::{Alarm, BlockRange, Lock, LockQueue};
use crate::request::{Flags, Op, Padding, Request};
use crate::time::{s_to_ns, Time};

/// What is to move, and what moves.
#[derive(Clone, Debug)]
pub(super) struct Migration {
    factor: f64,
    least_uses: f64,
    period_ns: u64,
    /// What copying an extent takes of the bandwidth; `None` if nothing ever moves.
    copy_ns: Option<u64>,
    /// The next promotions, the hottest extents first.
    promotions: VecDeque<Promotion>,
    current: Option<MoveState>,
    /// When uses are compared next, once there has been one.
    compare_at: Option<Time>,
    /// Bandwidth is left for a copy from then on.
    next_at: Time,
    /// Locks on extents.
    locks: LockQueue<LockAction>,
    alarm: Alarm,
    is_paused: bool,
    tally: Tally,
}

/// An extent to be moved to the fast child, and one that is moved down first if there is no free slot.
#[derive(Clone, Copy, Debug)]
struct Promotion {
    up: u64,
    down: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoveState {
    /// The move waits for its lock on the extent.
    Locking { extent: u64 },
    /// The extent is being copied.
    Copying { extent: u64, lock: Lock },
    /// So many reads of the previous slot are outstanding.
    Emptying { reads: u64 },
    /// Zeroes are written to the spare slot.
    Clearing,
}

/// The action to take once a lock is granted.
#[derive(Clone, Debug)]
pub(super) enum LockAction {
    /// Make a write.
    Write(Request, Payload),
    /// Copy an extent.
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
            promotions: VecDeque::new(),
            current: None,
            compare_at: None,
            next_at: Time::from_ns(copy_ns.unwrap_or_default()),
            locks: LockQueue::default(),
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

    /// Requests a lock on the extents of a write.
    pub(super) fn lock_write(&mut self, request: Request, payload: Payload, extents: BlockRange) {
        let requested = self.locks.lock(LockAction::Write(request, payload), extents, false);
        self.tally.waits += u64::from(!requested.is_granted);
    }

    /// Releases a lock.
    pub(super) fn release(&mut self, lock: Lock) {
        self.locks.release(lock);
    }

    /// What moves next, from now on: the hottest of the slow child, as far as there is room, or as those that make it are by so
    /// much colder.
    fn compare(&mut self, map: &Map, now: Time) {
        self.compare_at = None;
        self.tally.deferred += self.promotions.len() as u64;
        self.promotions.clear();
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
            self.promotions.push_back(Promotion { up, down });
        }
    }

    /// Prepares the next step of the next promotion: reserves the slot that it moves to. `None` if there are no promotions.
    fn next_step(&mut self, map: &mut Map) -> Option<MoveState> {
        while let Some(&Promotion { up, down }) = self.promotions.front() {
            let tier_of = |extent: u64| map.place(extent).map(|place| place.tier);
            // It was on its way when uses were compared.
            if tier_of(up) == Some(FAST) {
                self.promotions.pop_front();
                continue;
            }
            if map.spare.is_some_and(|place| place.tier == FAST) {
                return Some(MoveState::Locking { extent: up });
            }
            if map.clean_slots(FAST) > 0 {
                if map.spare.is_some() {
                    return Some(MoveState::Clearing);
                }
                map.reserve(FAST, up);
                return Some(MoveState::Locking { extent: up });
            }
            if let Some(extent) = down.filter(|&down| tier_of(down) == Some(FAST)) {
                if map.spare.is_none() {
                    map.reserve(SLOW, extent);
                }
                return Some(MoveState::Locking { extent });
            }
            // Extents that were used for the first time have taken the room.
            self.tally.deferred += 1;
            self.promotions.pop_front();
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
        self.promotions.clear();
        self.compare_at = None;
    }

    /// Power is gone: what has been copied of an extent counts for nothing.
    pub(super) fn power_cut(&mut self) {
        self.locks.clear();
        self.alarm.clear();
        self.promotions.clear();
        (self.current, self.compare_at) = (None, None);
    }

    /// Whether nothing moves, and nobody has a lock.
    pub(super) fn is_at_rest(&self) -> bool {
        self.current.is_none() && self.locks.is_empty()
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
            match migration.current {
                Some(MoveState::Emptying { reads: 0 }) => migration.current = None,
                Some(_) => return,
                None if migration.promotions.is_empty() => return,
                None if now < migration.next_at => {
                    migration.alarm.set(migration.next_at, context);
                    return;
                }
                None => self.set_out(context),
            }
            if !self.migration.locks.any_granted() && self.migration.current.is_some() {
                return;
            }
        }
    }

    /// The next step of a move, or the clearing that it needs, begins.
    fn set_out(&mut self, context: &mut Context<'_>) {
        let migration = &mut self.migration;
        migration.current = migration.next_step(&mut self.map);
        let Some(current) = migration.current else { return };
        migration.next_at = context.now() + migration.copy_ns.expect("something moves");
        match current {
            MoveState::Locking { extent } => _ = migration.locks.lock(LockAction::Move, only(extent), true),
            _ => {
                let size = to_usize(self.extent_bytes());
                let zeroes = if context.holds_data() { Payload::of(&vec![0; size]) } else { Payload::NONE };
                self.access(self.map.spare.expect("only the spare is cleared"), Op::Write, zeroes, context);
            }
        }
    }

    /// Takes the actions of granted locks.
    pub(super) fn grant(&mut self, context: &mut Context<'_>) {
        while let Some((id, action)) = self.migration.locks.next_granted() {
            match action {
                LockAction::Write(request, payload) => self.begin(request, &payload, Some(id), context),
                LockAction::Move => {
                    let Some(MoveState::Locking { extent }) = self.migration.current else {
                        unreachable!("a move waits for its lock, but {:?}", self.migration.current)
                    };
                    let lock = Lock { id, range: only(extent) };
                    self.migration.current = Some(MoveState::Copying { extent, lock });
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
        match migration.current {
            Some(MoveState::Copying { extent, lock }) => {
                if completion.is_served() && completion.request.op == Op::Read {
                    let to = self.map.spare.expect("a move goes to the spare");
                    return self.access(to, Op::Write, answer, context);
                }
                migration.current = None;
                if completion.is_served() {
                    self.switch(extent);
                } else {
                    migration.tally.failed += 1;
                    migration.promotions.pop_front();
                }
                self.migration.release(lock);
            }
            Some(MoveState::Clearing) => {
                migration.current = None;
                if completion.is_served() {
                    self.map.cleared();
                    migration.tally.cleared += 1;
                } else {
                    migration.tally.failed += 1;
                    migration.promotions.pop_front();
                }
            }
            current => unreachable!("an access of a move is over, but {current:?}"),
        }
    }

    /// All of an extent is in the spare, and nobody is writing to it.
    fn switch(&mut self, extent: u64) {
        let left = self.map.switch(extent);
        let reads = self.parts.ids(|part| self.is_read_of(part, left)).len() as u64;
        let migration = &mut self.migration;
        migration.current = Some(MoveState::Emptying { reads });
        migration.tally.moved[1 - left.tier] += 1;
        if migration.promotions.front().is_some_and(|promotion| promotion.up == extent) {
            migration.promotions.pop_front();
        }
    }

    /// Whether an access is a read of anything of a slot.
    fn is_read_of(&self, part: &Part, place: Place) -> bool {
        let (from, to) = (place.slot * self.extent_blocks, (place.slot + 1) * self.extent_blocks);
        matches!(part, &Part::Read { tier, lbn, blocks, .. } if tier == place.tier && lbn < to && from < lbn + blocks)
    }

    /// A read is over: maybe one of the slot that was left, which is the spare by now.
    pub(super) fn read_over(&mut self, part: &Part) {
        if let Some(MoveState::Emptying { reads }) = self.migration.current {
            let left = self.map.spare.is_some_and(|left| self.is_read_of(part, left));
            self.migration.current = Some(MoveState::Emptying { reads: reads - u64::from(left) });
        }
    }
}

/// The range of a single extent.
const fn only(extent: u64) -> BlockRange {
    BlockRange::new(extent, extent + 1)
}
