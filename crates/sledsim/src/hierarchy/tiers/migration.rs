//! Moves of extents by use while requests continue.
//!
//! A whole extent is read from its place and written, durably, to the spare slot; then the map, in non-volatile memory, is changed
//! at once. Writes of the extent wait until then; reads are served from the old place. The old slot becomes the spare. It takes
//! the next extent when no read of it is under way any more, or is filled with zeroes if a clean slot is needed. So two extents
//! change places in two moves, and a power cut or a failure during a move loses no data.

use std::collections::VecDeque;

use super::map::{ExtentUses, Map, Place, FAST, SLOW};
use super::spec::TierMigrationSpec;
use super::{Part, Tiers};
use crate::convert::{to_u32, to_usize, trunc_to_u64};
use crate::engine::details::Count;
use crate::engine::{Completion, Context, Payload};
use crate::hierarchy::common::{Alarm, BlockRange, Lock, LockQueue};
use crate::request::{Flags, Op, Padding, Request};
use crate::time::{s_to_ns, Time};

/// The planned promotions and the current move.
#[derive(Clone, Debug)]
pub(super) struct Migration {
    factor: f64,
    least_uses: f64,
    period_ns: u64,
    /// Time in which the permitted bandwidth copies an extent; `None` if extents never move.
    copy_ns: Option<u64>,
    /// The next promotions, the hottest extents first.
    promotions: VecDeque<Promotion>,
    current: Option<MoveState>,
    /// Time of the next comparison of uses; `None` without uses since the last one.
    compare_at: Option<Time>,
    /// Time from which on the bandwidth permits the next copy.
    next_at: Time,
    /// Locks on extents.
    locks: LockQueue<LockAction>,
    alarm: Alarm,
    is_paused: bool,
    counts: Counts,
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
    /// `reads` reads of the old slot are outstanding.
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
struct Counts {
    moved: [u64; 2],
    cleared: u64,
    failed: u64,
    deferred: u64,
    waits: u64,
}

impl Migration {
    /// Moves of extents of `extent_bytes` bytes.
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
            counts: Counts::default(),
        }
    }

    /// Returns true if extents can move.
    pub(super) fn is_enabled(&self) -> bool {
        self.copy_ns.is_some()
    }

    /// Records a use: uses are compared at the end of the period.
    pub(super) fn record_use(&mut self, context: &mut Context<'_>) {
        if self.compare_at.is_none() && !self.is_paused {
            let at = Time::from_ns((context.now().ns() / self.period_ns + 1) * self.period_ns);
            self.compare_at = Some(at);
            self.alarm.set(at, context);
        }
    }

    /// Requests a lock on the extents of a write.
    pub(super) fn lock_write(&mut self, request: Request, payload: Payload, extents: BlockRange) {
        let requested = self.locks.lock(LockAction::Write(request, payload), extents, false);
        self.counts.waits += u64::from(!requested.is_granted);
    }

    /// Releases a lock.
    pub(super) fn release(&mut self, lock: Lock) {
        self.locks.release(lock);
    }

    /// Plans the next promotions: the hottest extents of the slow child, as far as slots of the fast child are free or hold extents that
    /// are colder by the factor.
    fn compare(&mut self, map: &Map, now: Time) {
        self.compare_at = None;
        self.counts.deferred += self.promotions.len() as u64;
        self.promotions.clear();
        let mut hot = map.uses(SLOW, now);
        hot.retain(|&ExtentUses { uses, .. }| uses >= self.least_uses && uses > 0.0);
        hot.sort_unstable_by(|a, b| b.uses.total_cmp(&a.uses).then(a.extent.cmp(&b.extent)));
        let mut cold = map.uses(FAST, now);
        cold.sort_unstable_by(|a, b| a.uses.total_cmp(&b.uses).then(a.extent.cmp(&b.extent)));
        let mut cold = cold.into_iter();
        let spare = u64::from(map.spare.is_some_and(|place| place.tier == FAST));
        let mut free = map.clean_slots(FAST) + spare;
        for ExtentUses { uses, extent } in hot {
            let down = if free > 0 {
                free -= 1;
                None
            } else {
                let Some(cold) = cold.next().filter(|cold| cold.uses * self.factor < uses) else { break };
                Some(cold.extent)
            };
            self.promotions.push_back(Promotion { up: extent, down });
        }
    }

    /// Prepares the next step of the next promotion: reserves the slot that it moves to. `None` if there are no promotions.
    fn next_step(&mut self, map: &mut Map) -> Option<MoveState> {
        while let Some(&Promotion { up, down }) = self.promotions.front() {
            let tier_of = |extent: u64| map.place(extent).map(|place| place.tier);
            // Its move was under way when uses were compared.
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
            // Extents that were used for the first time have taken the free slots.
            self.counts.deferred += 1;
            self.promotions.pop_front();
        }
        None
    }

    /// Resets the counters at the start of the measurement window.
    pub(super) fn start_measuring(&mut self) {
        self.counts = Counts::default();
    }

    /// The counters; empty if extents never move.
    pub(super) fn details(&self, extent_bytes: u64) -> Vec<Count> {
        if !self.is_enabled() {
            return Vec::new();
        }
        let counts = &self.counts;
        let bytes = |name, extents: u64| Count { name, unit: "B", value: extents as f64 * extent_bytes as f64 };
        vec![
            Count::of("moves_up", counts.moved[FAST]),
            Count::of("moves_down", counts.moved[SLOW]),
            bytes("moved_bytes", counts.moved[FAST] + counts.moved[SLOW]),
            bytes("cleared_bytes", counts.cleared),
            Count::of("deferred_moves", counts.deferred),
            Count::of("failed_moves", counts.failed),
            Count::of("write_waits", counts.waits),
        ]
    }

    /// Stops further moves.
    pub(super) fn pause(&mut self) {
        self.is_paused = true;
        self.promotions.clear();
        self.compare_at = None;
    }

    /// Drops the current move and all locks. The extent keeps its place.
    pub(super) fn power_cut(&mut self) {
        self.locks.clear();
        self.alarm.clear();
        self.promotions.clear();
        (self.current, self.compare_at) = (None, None);
    }

    /// Returns true if no move is under way and no lock is held.
    pub(super) fn is_at_rest(&self) -> bool {
        self.current.is_none() && self.locks.is_empty()
    }
}

impl Tiers {
    /// Continues the moves as far as possible.
    pub(super) fn continue_moves(&mut self, context: &mut Context<'_>) {
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
                None => self.begin_step(context),
            }
            if !self.migration.locks.any_granted() && self.migration.current.is_some() {
                return;
            }
        }
    }

    /// Begins the next step: a move, or the clearing of the spare.
    fn begin_step(&mut self, context: &mut Context<'_>) {
        let migration = &mut self.migration;
        migration.current = migration.next_step(&mut self.map);
        let Some(current) = migration.current else { return };
        migration.next_at = context.now() + migration.copy_ns.expect("extents can move");
        match current {
            MoveState::Locking { extent } => _ = migration.locks.lock(LockAction::Move, range_of(extent), true),
            _ => {
                let size = to_usize(self.extent_bytes());
                let zeroes = if context.holds_data() { Payload::of(&vec![0; size]) } else { Payload::NONE };
                self.access(self.map.spare.expect("the spare is cleared"), Op::Write, zeroes, context);
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
                    let lock = Lock { id, range: range_of(extent) };
                    self.migration.current = Some(MoveState::Copying { extent, lock });
                    let from = self.map.place(extent).expect("only used extents move");
                    self.access(from, Op::Read, Payload::NONE, context);
                }
            }
        }
    }

    /// Reads a whole slot, or writes it durably.
    fn access(&mut self, place: Place, op: Op, payload: Payload, context: &mut Context<'_>) {
        let (id, arrival) = (self.parts.insert(Part::Move), context.now());
        let flags = if op == Op::Write { Flags::BACKGROUND.with(Flags::DURABLE) } else { Flags::BACKGROUND };
        let (lbn, blocks) = (place.slot * self.extent_blocks, to_u32(self.extent_blocks));
        let request = Request { id, arrival, lbn, blocks, op, flags, origin: 0, padding: Padding::NONE };
        context.submit_with(self.children[place.tier], request, payload);
    }

    /// Handles a completed access of the current move.
    pub(super) fn move_access_completed(
        &mut self,
        completion: &Completion,
        answer: Payload,
        context: &mut Context<'_>,
    ) {
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
                    migration.counts.failed += 1;
                    migration.promotions.pop_front();
                }
                self.migration.release(lock);
            }
            Some(MoveState::Clearing) => {
                migration.current = None;
                if completion.is_served() {
                    self.map.spare_cleared();
                    migration.counts.cleared += 1;
                } else {
                    migration.counts.failed += 1;
                    migration.promotions.pop_front();
                }
            }
            current => unreachable!("an access of a move has completed, but the state is {current:?}"),
        }
    }

    /// Switches an extent to the spare, which has its content. The lock excludes writes.
    fn switch(&mut self, extent: u64) {
        let left = self.map.switch(extent);
        let reads = self.parts.ids(|part| self.is_read_of(part, left)).len() as u64;
        let migration = &mut self.migration;
        migration.current = Some(MoveState::Emptying { reads });
        migration.counts.moved[1 - left.tier] += 1;
        if migration.promotions.front().is_some_and(|promotion| promotion.up == extent) {
            migration.promotions.pop_front();
        }
    }

    /// Returns true if an access reads blocks of a slot.
    fn is_read_of(&self, part: &Part, place: Place) -> bool {
        let (from, to) = (place.slot * self.extent_blocks, (place.slot + 1) * self.extent_blocks);
        matches!(part, &Part::Read { tier, lbn, blocks, .. } if tier == place.tier && lbn < to && from < lbn + blocks)
    }

    /// Handles a completed read, which may be one of the old slot of the last move.
    pub(super) fn read_completed(&mut self, part: &Part) {
        if let Some(MoveState::Emptying { reads }) = self.migration.current {
            let left = self.map.spare.is_some_and(|left| self.is_read_of(part, left));
            self.migration.current = Some(MoveState::Emptying { reads: reads - u64::from(left) });
        }
    }
}

/// The range of a single extent.
const fn range_of(extent: u64) -> BlockRange {
    BlockRange::new(extent, extent + 1)
}
