//! Moving a volume while requests go on.
//!
//! A chunk at a time is read from the old place and written to the new one. Until the whole volume is there the old place has
//! all that is newest, and serves reads; a write that touches what has been copied is made at both places, durably at the new
//! one, and completes when both have it. Writes that overlap follow each other, and wait for a chunk that is being copied.
//! Between two writes the volume then changes its place. So a move that fails costs nothing but time, and one that a power
//! cut interrupts begins anew; which volumes have been moved outlives it.

use std::collections::VecDeque;

use super::spec::{first_free, Extent, MoveSpec};
use super::{Part, Position, Volumes};
use crate::convert::{to_u32, trunc_to_u64};
use crate::engine::details::Count;
use crate::engine::{Completion, ComponentId, Context, Payload};
use crate::hierarchy::common::{Alarm, BlockRange, Lock, LockQueue};
use crate::request::{Flags, Op, Padding, Request};
use crate::time::{ns_to_s, s_to_ns, Time};

/// Moves that are still to come, and the one under way.
#[derive(Clone, Debug)]
pub(super) struct Migration {
    /// Whether there have ever been any to come.
    is_planned: bool,
    moves: VecDeque<Move>,
    current: Option<MoveState>,
    /// Locks on blocks of the concatenation of all volumes.
    locks: LockQueue<LockAction>,
    alarm: Alarm,
    /// Whether it has looked what to do since power came.
    awake: bool,
    tally: Tally,
}

/// A move to be made.
#[derive(Clone, Debug)]
struct Move {
    volume: usize,
    to: usize,
    at: Time,
    chunk_blocks: u64,
    ns_per_block: f64,
}

/// A move under way.
#[derive(Clone, Debug)]
struct MoveState {
    what: Move,
    /// Where the volume will begin.
    first_block: u64,
    /// So many blocks have been copied.
    copied: u64,
    phase: Phase,
    /// Neither the next chunk nor the change comes before.
    next_at: Time,
    /// Accesses under way that are part of the move.
    accesses: u64,
    /// Reads of the place that was left.
    lingering: u64,
}

impl MoveState {
    /// The lock that was granted to the move.
    fn granted_lock(&self) -> Lock {
        match self.phase {
            Phase::Locking(lock) => lock,
            phase => unreachable!("a move that fails cancels its lock, but this one is {phase:?}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The next chunk may begin in time.
    Pacing,
    /// The move waits for a lock on a chunk, or on the volume.
    Locking(Lock),
    /// A chunk is being copied.
    Copying(Lock),
    /// Something is under way still at the place that is free from now on.
    Emptying,
}

/// The action to take once a lock is granted.
#[derive(Clone, Debug)]
pub(super) enum LockAction {
    /// Make a write that begins at this position.
    Write(Request, Payload, Position),
    /// Copy a chunk.
    Chunk,
    /// Switch the volume to its new place.
    Change,
}

#[derive(Clone, Debug, Default)]
struct Tally {
    done: u64,
    failed: u64,
    copied_blocks: u64,
    requests: u64,
    doubled: u64,
    waits: u64,
    began: Option<Time>,
    ended: Option<Time>,
}

impl Migration {
    /// The moves of `volumes`.
    pub(super) fn new(moves: &[MoveSpec], volumes: &[usize], block_bytes: u32) -> Self {
        let each = |(spec, &volume): (&MoveSpec, &usize)| Move {
            volume,
            to: spec.to as usize,
            at: Time::from_ns(s_to_ns(spec.at_s)),
            chunk_blocks: spec.chunk_bytes / u64::from(block_bytes),
            ns_per_block: spec.mb_per_s.map_or(0.0, |mb_per_s| f64::from(block_bytes) * 1e3 / mb_per_s),
        };
        Self {
            is_planned: !moves.is_empty(),
            moves: moves.iter().zip(volumes).map(each).collect(),
            current: None,
            locks: LockQueue::default(),
            alarm: Alarm::default(),
            awake: false,
            tally: Tally::default(),
        }
    }

    /// The move under way.
    fn current_move(&mut self) -> &mut MoveState {
        self.current
            .as_mut()
            .expect("a move ends when no lock, access or read of the place that was left is part of it")
    }

    /// Requests a lock; [`Volumes::grant`] takes the action once the lock is granted.
    pub(super) fn lock(&mut self, action: LockAction, range: BlockRange) -> Lock {
        let is_write = matches!(action, LockAction::Write(..));
        // Without a move, writes may overlap.
        let is_exclusive = self.current.is_some() || !is_write;
        let requested = self.locks.lock(action, range, is_exclusive);
        self.tally.waits += u64::from(is_write && !requested.is_granted);
        requested.lock
    }

    /// Releases a lock.
    pub(super) fn release(&mut self, lock: Lock) {
        self.locks.release(lock);
    }

    /// Whether writes need locks: until the last move is over.
    pub(super) fn is_pending(&self) -> bool {
        self.current.is_some() || !self.moves.is_empty()
    }

    /// Hears of a request from above.
    pub(super) fn note_request(&mut self) {
        self.tally.requests += u64::from(self.current.is_some());
    }

    /// Where else a write of a volume that begins with block `inside` has to be made, for what it touches has been copied: member
    /// and block.
    pub(super) fn double(&mut self, volume: usize, inside: u64) -> Option<(usize, u64)> {
        let current = self.current.as_mut().filter(|current| current.phase != Phase::Emptying)?;
        if current.what.volume != volume || inside >= current.copied {
            return None;
        }
        current.accesses += 1;
        self.tally.doubled += 1;
        Some((current.what.to, current.first_block + inside))
    }

    pub(super) fn start_measuring(&mut self) {
        let Tally { began, ended, .. } = self.tally;
        self.tally = Tally { began, ended, ..Tally::default() };
    }

    /// What it counted; when the latest move began and ended. Nothing where none was to come.
    pub(super) fn counts(&self, block_bytes: u32) -> Vec<Count> {
        if !self.is_planned {
            return Vec::new();
        }
        let tally = &self.tally;
        let bytes = tally.copied_blocks as f64 * f64::from(block_bytes);
        let mut counts = vec![
            Count::of("moves", tally.done),
            Count::of("failed_moves", tally.failed),
            Count { name: "moved_bytes", unit: "B", value: bytes },
            Count::of("requests_during_moves", tally.requests),
            Count::of("doubled_writes", tally.doubled),
            Count::of("write_waits", tally.waits),
        ];
        let times = [("move_began", tally.began), ("move_ended", tally.ended)];
        let known = times.into_iter().filter_map(|(name, at)| Some((name, at?)));
        counts.extend(known.map(|(name, at)| Count { name, unit: "s", value: ns_to_s(at.ns()) }));
        counts
    }

    /// Power is gone: what has been copied of a volume counts for nothing, unless all of it had been.
    pub(super) fn power_cut(&mut self) {
        self.locks.clear();
        self.alarm.clear();
        self.awake = false;
        if let Some(current) = &mut self.current {
            (current.accesses, current.lingering, current.next_at) = (0, 0, Time::ZERO);
            if current.phase != Phase::Emptying {
                (current.phase, current.copied) = (Phase::Pacing, 0);
            }
        }
    }
}

impl Volumes {
    /// Sees to the moves when something happens for the first time.
    pub(super) fn wake(&mut self, context: &mut Context<'_>) {
        if !std::mem::replace(&mut self.migration.awake, true) {
            self.move_on(context);
        }
    }

    /// Takes the actions of granted locks.
    pub(super) fn grant(&mut self, context: &mut Context<'_>) {
        // A move that has failed meanwhile has cancelled its lock, see [`Volumes::give_up`].
        while let Some((id, action)) = self.migration.locks.next_granted() {
            match action {
                LockAction::Write(request, payload, position) => {
                    self.begin(request, &payload, position, Some(id), context);
                }
                LockAction::Chunk => self.read_chunk(context),
                LockAction::Change => self.change_place(),
            }
        }
    }

    /// Does whatever can be done for the moves now.
    pub(super) fn move_on(&mut self, context: &mut Context<'_>) {
        loop {
            self.grant(context);
            let (now, migration) = (context.now(), &mut self.migration);
            let Some(current) = &mut migration.current else {
                match migration.moves.front().map(|next| next.at) {
                    None => return,
                    Some(at) if at > now => {
                        migration.alarm.set(at, context);
                        return;
                    }
                    Some(_) => self.set_out(now),
                }
                continue;
            };
            match current.phase {
                Phase::Emptying if current.accesses + current.lingering == 0 => {
                    migration.current = None;
                    migration.tally.ended = Some(now);
                }
                Phase::Pacing if now < current.next_at => {
                    let at = current.next_at;
                    migration.alarm.set(at, context);
                    return;
                }
                Phase::Pacing => {
                    let (volume, start) = (current.what.volume, self.starts[current.what.volume]);
                    let blocks = self.extents[volume].blocks;
                    let (from, to) = (current.copied, blocks.min(current.copied + current.what.chunk_blocks));
                    let (action, range) = match from < blocks {
                        true => (LockAction::Chunk, BlockRange::new(start + from, start + to)),
                        false => (LockAction::Change, BlockRange::new(start, start + blocks)),
                    };
                    let lock = migration.lock(action, range);
                    migration.current_move().phase = Phase::Locking(lock);
                    if !migration.locks.any_granted() {
                        return;
                    }
                }
                _ => return,
            }
        }
    }

    /// The next move begins, if there is room for it.
    fn set_out(&mut self, now: Time) {
        let migration = &mut self.migration;
        let what = migration.moves.pop_front().expect("a move whose time has come");
        let blocks = self.extents[what.volume].blocks;
        // Moves that failed may have left no room.
        let Ok(first_block) = first_free(&self.extents, None, what.to, self.capacities[what.to], blocks) else {
            migration.tally.failed += 1;
            return;
        };
        (migration.tally.began, migration.tally.ended) = (Some(now), None);
        let (phase, next_at) = (Phase::Pacing, now);
        migration.current = Some(MoveState { what, first_block, copied: 0, phase, next_at, accesses: 0, lingering: 0 });
    }

    fn read_chunk(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        let current = self.migration.current_move();
        let lock = current.granted_lock();
        let blocks = lock.range.blocks();
        current.phase = Phase::Copying(lock);
        current.next_at = now + trunc_to_u64((blocks as f64 * current.what.ns_per_block).ceil());
        let extent = &self.extents[current.what.volume];
        let (member, lbn) = (self.members[extent.member], extent.first_block + current.copied);
        self.copy(member, (lbn, blocks), Op::Read, Flags::BACKGROUND, Payload::NONE, context);
    }

    fn copy(
        &mut self,
        member: ComponentId,
        (lbn, blocks): (u64, u64),
        op: Op,
        flags: Flags,
        payload: Payload,
        context: &mut Context<'_>,
    ) {
        self.migration.current_move().accesses += 1;
        let (id, arrival) = (self.parts.insert(Part::Chunk), context.now());
        let request =
            Request { id, arrival, lbn, blocks: to_u32(blocks), op, flags, origin: 0, padding: Padding::NONE };
        context.submit_with(member, request, payload);
    }

    /// An access of the move itself is over.
    pub(super) fn chunk_over(&mut self, completion: &Completion, answer: Payload, context: &mut Context<'_>) {
        let current = self.migration.current_move();
        current.accesses -= 1;
        let Phase::Copying(lock) = current.phase else {
            // A write that had to be made at both places failed meanwhile, and the move with it.
            debug_assert_eq!(current.phase, Phase::Emptying);
            return;
        };
        let (member, lbn) = (self.members[current.what.to], current.first_block + current.copied);
        let blocks = lock.range.blocks();
        if !completion.is_served() {
            self.give_up();
        } else if completion.request.op == Op::Read {
            let flags = Flags::BACKGROUND.with(Flags::DURABLE);
            self.copy(member, (lbn, blocks), Op::Write, flags, answer, context);
        } else {
            current.copied += blocks;
            current.phase = Phase::Pacing;
            self.migration.tally.copied_blocks += blocks;
            self.migration.release(lock);
        }
    }

    /// The second of two writes of the same is over.
    pub(super) fn doubled(&mut self, completion: &Completion) {
        self.migration.current_move().accesses -= 1;
        if !completion.is_served() {
            self.give_up();
        }
    }

    /// The move can't be made: the volume stays where it is.
    fn give_up(&mut self) {
        let phase = std::mem::replace(&mut self.migration.current_move().phase, Phase::Emptying);
        if let Phase::Locking(lock) | Phase::Copying(lock) = phase {
            self.migration.locks.cancel(lock);
        }
        self.migration.tally.failed += u64::from(phase != Phase::Emptying);
    }

    /// Everything is at the new place, and nobody is writing.
    fn change_place(&mut self) {
        let current = self.migration.current_move();
        let lock = current.granted_lock();
        let volume = current.what.volume;
        debug_assert_eq!((current.copied, current.accesses), (self.extents[volume].blocks, 0), "all of it is there");
        (self.extents[volume].member, self.extents[volume].first_block) = (current.what.to, current.first_block);
        self.places[volume] += 1;
        current.lingering = std::mem::take(&mut self.reads[volume]);
        current.phase = Phase::Emptying;
        self.migration.tally.done += 1;
        self.migration.release(lock);
    }

    /// A read of a volume is over, of the place that it had then.
    pub(super) fn read_over(&mut self, volume: usize, place: u32) {
        if self.places[volume] == place {
            self.reads[volume] -= 1;
        } else {
            self.migration.current_move().lingering -= 1;
        }
    }

    /// Whether volumes lie beside each other in their members, and beside the place that one moves to.
    pub(super) fn is_sound(&self) -> bool {
        let of = |extent: &Extent| (extent.member, extent.first_block, extent.first_block + extent.blocks);
        let mut places: Vec<(usize, u64, u64)> = self.extents.iter().map(of).collect();
        let comes = |current: &&MoveState| current.phase != Phase::Emptying;
        let target = |MoveState { what, first_block, .. }: &MoveState| {
            (what.to, *first_block, first_block + self.extents[what.volume].blocks)
        };
        places.extend(self.migration.current.as_ref().filter(comes).map(target));
        places.sort_unstable();
        places.windows(2).all(|two| two[0].0 < two[1].0 || two[0].2 <= two[1].1)
            && places.iter().all(|&(member, _, end)| end <= self.capacities[member])
    }
}
