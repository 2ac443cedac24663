//! Moves of volumes while requests continue.
//!
//! Chunk by chunk, a volume is read from the old place and written to the new one. Until all chunks are copied, the old place has
//! the newest data and serves reads. A write of blocks that have been copied goes to both places, is durable at the new one, and
//! completes when both have it. Overlapping writes are made one after the other, and wait while their chunk is copied. After the
//! last chunk the volume changes its place between two writes. A move that fails loses no data. A move that a power cut interrupts
//! starts again; finished moves survive the cut.

use std::collections::VecDeque;

use super::spec::{first_free, Extent, MoveSpec};
use super::{Part, Position, Volumes};
use crate::convert::{to_u32, trunc_to_u64};
use crate::engine::details::Count;
use crate::engine::{Completion, ComponentId, Context, Payload};
use crate::hierarchy::common::{Alarm, BlockRange, Lock, LockQueue};
use crate::request::{Flags, Op, Padding, Request};
use crate::time::{ns_to_s, s_to_ns, Time};

/// The planned moves and the current one.
#[derive(Clone, Debug)]
pub(super) struct Migration {
    /// True if the run has moves.
    is_planned: bool,
    moves: VecDeque<Move>,
    current: Option<MoveState>,
    /// Locks on blocks of the concatenation of all volumes.
    locks: LockQueue<LockAction>,
    alarm: Alarm,
    /// True once the moves have been started since power came.
    is_started: bool,
    counts: Counts,
}

/// A planned move.
#[derive(Clone, Debug)]
struct Move {
    volume: usize,
    to: usize,
    at: Time,
    chunk_blocks: u64,
    ns_per_block: f64,
}

/// The current move.
#[derive(Clone, Debug)]
struct MoveState {
    plan: Move,
    /// First block of the volume at its new place.
    first_block: u64,
    /// Number of blocks that have been copied.
    copied: u64,
    phase: Phase,
    /// Earliest time of the next chunk or of the switch.
    next_at: Time,
    /// Accesses of the move under way.
    accesses: u64,
    /// Reads of the old place under way after the switch.
    old_reads: u64,
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
    /// The next chunk waits for its time.
    Pacing,
    /// The move waits for a lock on a chunk, or on the volume.
    Locking(Lock),
    /// A chunk is being copied.
    Copying(Lock),
    /// The move has ended, but accesses of the freed place are under way.
    Emptying,
}

/// A block of a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub member: usize,
    pub lbn: u64,
}

/// The action to take once a lock is granted.
#[derive(Clone, Debug)]
pub(super) enum LockAction {
    /// Make a write that begins at this position.
    Write(Request, Payload, Position),
    /// Copy a chunk.
    Chunk,
    /// Switch the volume to its new place.
    Switch,
}

#[derive(Clone, Debug, Default)]
struct Counts {
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
    /// The planned moves, of the volumes `volumes`.
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
            is_started: false,
            counts: Counts::default(),
        }
    }

    /// The move under way.
    fn current_move(&mut self) -> &mut MoveState {
        self.current.as_mut().expect("a move ends after its locks, accesses and reads of the old place")
    }

    /// Requests a lock; [`Volumes::grant`] takes the action once the lock is granted.
    pub(super) fn lock(&mut self, action: LockAction, range: BlockRange) -> Lock {
        let is_write = matches!(action, LockAction::Write(..));
        // Without a move, writes may overlap.
        let is_exclusive = self.current.is_some() || !is_write;
        let requested = self.locks.lock(action, range, is_exclusive);
        self.counts.waits += u64::from(is_write && !requested.is_granted);
        requested.lock
    }

    /// Releases a lock.
    pub(super) fn release(&mut self, lock: Lock) {
        self.locks.release(lock);
    }

    /// Returns true if writes need locks, which is until the last move has ended.
    pub(super) fn is_pending(&self) -> bool {
        self.current.is_some() || !self.moves.is_empty()
    }

    /// Counts a host request.
    pub(super) fn count_request(&mut self) {
        self.counts.requests += u64::from(self.current.is_some());
    }

    /// The second place of a write that begins with block `block` of a volume, if that block has been copied.
    pub(super) fn second_place(&mut self, volume: usize, block: u64) -> Option<Place> {
        let current = self.current.as_mut().filter(|current| current.phase != Phase::Emptying)?;
        if current.plan.volume != volume || block >= current.copied {
            return None;
        }
        current.accesses += 1;
        self.counts.doubled += 1;
        Some(Place { member: current.plan.to, lbn: current.first_block + block })
    }

    /// Resets the counters at the start of the measurement window.
    pub(super) fn start_measuring(&mut self) {
        let Counts { began, ended, .. } = self.counts;
        self.counts = Counts { began, ended, ..Counts::default() };
    }

    /// The counters, and the start and end of the latest move. Empty if the run has no moves.
    pub(super) fn details(&self, block_bytes: u32) -> Vec<Count> {
        if !self.is_planned {
            return Vec::new();
        }
        let counted = &self.counts;
        let bytes = counted.copied_blocks as f64 * f64::from(block_bytes);
        let mut counts = vec![
            Count::of("moves", counted.done),
            Count::of("failed_moves", counted.failed),
            Count { name: "moved_bytes", unit: "B", value: bytes },
            Count::of("requests_during_moves", counted.requests),
            Count::of("doubled_writes", counted.doubled),
            Count::of("write_waits", counted.waits),
        ];
        let times = [("move_began", counted.began), ("move_ended", counted.ended)];
        let known = times.into_iter().filter_map(|(name, at)| Some((name, at?)));
        counts.extend(known.map(|(name, at)| Count { name, unit: "s", value: ns_to_s(at.ns()) }));
        counts
    }

    /// Drops the locks and accesses. A volume that has not switched is copied again.
    pub(super) fn power_cut(&mut self) {
        self.locks.clear();
        self.alarm.clear();
        self.is_started = false;
        if let Some(current) = &mut self.current {
            (current.accesses, current.old_reads, current.next_at) = (0, 0, Time::ZERO);
            if current.phase != Phase::Emptying {
                (current.phase, current.copied) = (Phase::Pacing, 0);
            }
        }
    }
}

impl Volumes {
    /// Starts the moves at the first event after power came.
    pub(super) fn start_moves(&mut self, context: &mut Context<'_>) {
        if !std::mem::replace(&mut self.migration.is_started, true) {
            self.continue_moves(context);
        }
    }

    /// Takes the actions of granted locks.
    pub(super) fn grant(&mut self, context: &mut Context<'_>) {
        // A move that has failed has cancelled its lock, see [`Volumes::fail_move`].
        while let Some((id, action)) = self.migration.locks.next_granted() {
            match action {
                LockAction::Write(request, payload, position) => {
                    self.begin(request, &payload, position, Some(id), context);
                }
                LockAction::Chunk => self.read_chunk(context),
                LockAction::Switch => self.switch(),
            }
        }
    }

    /// Continues the moves as far as possible.
    pub(super) fn continue_moves(&mut self, context: &mut Context<'_>) {
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
                    Some(_) => self.begin_move(now),
                }
                continue;
            };
            match current.phase {
                Phase::Emptying if current.accesses + current.old_reads == 0 => {
                    migration.current = None;
                    migration.counts.ended = Some(now);
                }
                Phase::Pacing if now < current.next_at => {
                    let at = current.next_at;
                    migration.alarm.set(at, context);
                    return;
                }
                Phase::Pacing => {
                    let (volume, start) = (current.plan.volume, self.starts[current.plan.volume]);
                    let blocks = self.extents[volume].blocks;
                    let (from, to) = (current.copied, blocks.min(current.copied + current.plan.chunk_blocks));
                    let (action, range) = match from < blocks {
                        true => (LockAction::Chunk, BlockRange::new(start + from, start + to)),
                        false => (LockAction::Switch, BlockRange::new(start, start + blocks)),
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

    /// Begins the next move, unless its target has no free range of this size.
    fn begin_move(&mut self, now: Time) {
        let migration = &mut self.migration;
        let plan = migration.moves.pop_front().expect("a move is due");
        let blocks = self.extents[plan.volume].blocks;
        // Earlier moves that failed may still take the space.
        let Ok(first_block) = first_free(&self.extents, None, plan.to, self.capacities[plan.to], blocks) else {
            migration.counts.failed += 1;
            return;
        };
        (migration.counts.began, migration.counts.ended) = (Some(now), None);
        let (phase, next_at) = (Phase::Pacing, now);
        migration.current = Some(MoveState { plan, first_block, copied: 0, phase, next_at, accesses: 0, old_reads: 0 });
    }

    /// Reads the next chunk, which is locked.
    fn read_chunk(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        let current = self.migration.current_move();
        let lock = current.granted_lock();
        let blocks = lock.range.blocks();
        current.phase = Phase::Copying(lock);
        current.next_at = now + trunc_to_u64((blocks as f64 * current.plan.ns_per_block).ceil());
        let extent = &self.extents[current.plan.volume];
        let (member, lbn) = (self.members[extent.member], extent.first_block + current.copied);
        let range = BlockRange::new(lbn, lbn + blocks);
        self.copy(member, range, Op::Read, Flags::BACKGROUND, Payload::NONE, context);
    }

    /// Sends an access of the move.
    fn copy(
        &mut self,
        member: ComponentId,
        range: BlockRange,
        op: Op,
        flags: Flags,
        payload: Payload,
        context: &mut Context<'_>,
    ) {
        self.migration.current_move().accesses += 1;
        let (id, arrival) = (self.parts.insert(Part::Chunk), context.now());
        let (lbn, blocks) = (range.from, to_u32(range.blocks()));
        let request = Request { id, arrival, lbn, blocks, op, flags, origin: 0, padding: Padding::NONE };
        context.submit_with(member, request, payload);
    }

    /// Handles a completed read or write of a chunk.
    pub(super) fn chunk_completed(&mut self, completion: &Completion, answer: Payload, context: &mut Context<'_>) {
        let current = self.migration.current_move();
        current.accesses -= 1;
        let Phase::Copying(lock) = current.phase else {
            // The move has failed with a write at the second place.
            debug_assert_eq!(current.phase, Phase::Emptying);
            return;
        };
        let (member, lbn) = (self.members[current.plan.to], current.first_block + current.copied);
        let blocks = lock.range.blocks();
        if !completion.is_served() {
            self.fail_move();
        } else if completion.request.op == Op::Read {
            let flags = Flags::BACKGROUND.with(Flags::DURABLE);
            self.copy(member, BlockRange::new(lbn, lbn + blocks), Op::Write, flags, answer, context);
        } else {
            current.copied += blocks;
            current.phase = Phase::Pacing;
            self.migration.counts.copied_blocks += blocks;
            self.migration.release(lock);
        }
    }

    /// Handles a completed write at the second place.
    pub(super) fn second_write_completed(&mut self, completion: &Completion) {
        self.migration.current_move().accesses -= 1;
        if !completion.is_served() {
            self.fail_move();
        }
    }

    /// Ends the move without success: the volume keeps its place.
    fn fail_move(&mut self) {
        let phase = std::mem::replace(&mut self.migration.current_move().phase, Phase::Emptying);
        if let Phase::Locking(lock) | Phase::Copying(lock) = phase {
            self.migration.locks.cancel(lock);
        }
        self.migration.counts.failed += u64::from(phase != Phase::Emptying);
    }

    /// Switches the volume to its new place. All blocks are there, and the lock excludes writes.
    fn switch(&mut self) {
        let current = self.migration.current_move();
        let lock = current.granted_lock();
        let volume = current.plan.volume;
        debug_assert_eq!((current.copied, current.accesses), (self.extents[volume].blocks, 0), "all blocks are copied");
        (self.extents[volume].member, self.extents[volume].first_block) = (current.plan.to, current.first_block);
        self.switches[volume] += 1;
        current.old_reads = std::mem::take(&mut self.reads[volume]);
        current.phase = Phase::Emptying;
        self.migration.counts.done += 1;
        self.migration.release(lock);
    }

    /// Handles a completed read of a volume that began after `switches` switches of it.
    pub(super) fn read_completed(&mut self, volume: usize, switches: u32) {
        if self.switches[volume] == switches {
            self.reads[volume] -= 1;
        } else {
            self.migration.current_move().old_reads -= 1;
        }
    }

    /// Returns true if no two volumes, and no volume and the target of the current move, overlap.
    pub(super) fn is_consistent(&self) -> bool {
        let of = |extent: &Extent| (extent.member, extent.first_block, extent.first_block + extent.blocks);
        let mut places: Vec<(usize, u64, u64)> = self.extents.iter().map(of).collect();
        let is_target = |current: &&MoveState| current.phase != Phase::Emptying;
        let target = |MoveState { plan, first_block, .. }: &MoveState| {
            (plan.to, *first_block, first_block + self.extents[plan.volume].blocks)
        };
        places.extend(self.migration.current.as_ref().filter(is_target).map(target));
        places.sort_unstable();
        places.windows(2).all(|two| two[0].0 < two[1].0 || two[0].2 <= two[1].1)
            && places.iter().all(|&(member, _, end)| end <= self.capacities[member])
    }
}
