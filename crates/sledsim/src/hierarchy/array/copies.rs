//! Which copy of a mirror serves a read: by a rule of the list, or as a policy of one's own says.

use super::members::Members;
use super::spec::ReadChoice;
use crate::convert::to_u32;
use crate::engine::{ComponentId, Context, Stop};
use crate::hierarchy::common::BlockRange;
use crate::own::{self, told, Choice, Listed, OwnMirror, Role};
use crate::request::Request;
use crate::time::Time;

/// One of the list, or one's own.
pub type ReadPolicy = Choice<ReadChoice>;

impl Listed for ReadChoice {
    fn listed_name(&self) -> &'static str {
        self.name()
    }

    fn check(&self) -> Result<(), crate::fault::Faults> {
        Ok(())
    }
}

/// What is under way at a member.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    accesses: u64,
    blocks: u64,
    /// The block after the last access.
    next_lbn: u64,
}

/// Who serves reads of a mirror, and what decides it. Of arrays with parity it counts what is under way alone.
#[derive(Clone)]
pub(super) struct Copies {
    rule: ReadChoice,
    /// A policy of one's own, which says in the place of the rule, and what it is shown.
    own: Option<(Box<dyn OwnMirror>, own::Copies)>,
    /// The copy after the one that served the last read.
    turn: usize,
    /// Of each child.
    loads: Vec<Load>,
}

impl Copies {
    /// Nothing is under way at so many children.
    pub(super) fn new(rule: ReadChoice, children: usize) -> Self {
        Self { rule, own: None, turn: 0, loads: vec![Load::default(); children] }
    }

    /// From now on a policy says which copy serves.
    pub(super) fn obey(&mut self, policy: Box<dyn OwnMirror>) {
        self.own = Some((policy, own::Copies::default()));
    }

    /// Whether nothing is under way.
    pub(super) fn at_rest(&self) -> bool {
        self.loads.iter().all(|load| load.accesses == 0 && load.blocks == 0)
    }

    /// An access is sent to a child.
    pub(super) fn sent(&mut self, child: usize, access: &Request, context: &mut Context<'_>) {
        let load = &mut self.loads[child];
        load.accesses += 1;
        load.blocks += u64::from(access.blocks);
        load.next_lbn = access.end_lbn();
        self.tell(access, context, |policy, now| policy.arrived(now, to_u32(child), access));
    }

    /// An access of a child has come back.
    pub(super) fn returned(&mut self, child: usize, access: &Request, context: &mut Context<'_>) {
        let load = &mut self.loads[child];
        load.accesses -= 1;
        load.blocks -= u64::from(access.blocks);
        self.tell(access, context, |policy, now| policy.completed(now, to_u32(child), access));
    }

    /// Nothing is under way any more.
    pub(super) fn forget(&mut self) {
        self.loads.iter_mut().for_each(|load| (load.accesses, load.blocks) = (0, 0));
    }

    /// Miscounts what is under way at a child.
    #[cfg(test)]
    pub(super) fn overload(&mut self, child: usize) {
        self.loads[child].blocks = 8;
    }

    fn tell(
        &mut self,
        access: &Request,
        context: &mut Context<'_>,
        tell: impl FnOnce(&mut dyn OwnMirror, Time) -> Result<(), Stop>,
    ) {
        let Some((policy, _)) = &mut self.own else { return };
        if let Err(stop) = tell(policy.as_mut(), context.now()) {
            give_up(&stop, access, context);
        }
    }

    /// The copy that is to serve a read of LBNs from one to another; none where no copy can be read there.
    pub(super) fn choose(
        &mut self,
        members: &Members,
        request: &Request,
        range: BlockRange,
        children: &[ComponentId],
        context: &mut Context<'_>,
    ) -> Option<usize> {
        let count = members.columns();
        let chosen = match &mut self.own {
            Some((policy, shown)) => {
                let may_serve = (0..count).filter(|&copy| members.is_readable(0, copy, range));
                show(shown, policy.looks_at_positioning(), may_serve, &self.loads, |copy| {
                    let child = members.child(0, copy);
                    (child, context.reach_ns(children[child], request))
                });
                ask(policy.as_mut(), shown, request, context)?
            }
            None => {
                let cost = |copy: usize| {
                    let child = members.child(0, copy);
                    match self.rule {
                        ReadChoice::RoundRobin => 0,
                        ReadChoice::ShortestQueue => self.loads[child].blocks,
                        ReadChoice::Nearest => context
                            .reach_ns(children[child], request)
                            .unwrap_or_else(|| self.loads[child].next_lbn.abs_diff(request.lbn)),
                    }
                };
                let in_turn = (0..count).map(|i| (self.turn + i) % count);
                in_turn.filter(|&copy| members.is_readable(0, copy, range)).min_by_key(|&copy| cost(copy))?
            }
        };
        self.turn = (chosen + 1) % count;
        Some(chosen)
    }
}

/// Fills in what a policy is shown of copies: `of` says which child holds one, and when its mechanism would be there.
fn show(
    shown: &mut own::Copies,
    with_positioning: bool,
    copies: impl Iterator<Item = usize>,
    loads: &[Load],
    of: impl Fn(usize) -> (usize, Option<u64>),
) {
    shown.clear();
    for copy in copies {
        let (child, reach_ns) = of(copy);
        let Load { accesses, blocks, next_lbn } = loads[child];
        shown.copy.push(to_u32(copy));
        shown.member.push(to_u32(child));
        shown.pending.push(accesses);
        shown.pending_blocks.push(blocks);
        shown.next_lbn.push(next_lbn);
        if with_positioning {
            shown.positioning_ns.push(reach_ns.unwrap_or(own::Copies::UNKNOWN));
        }
    }
}

/// The copy that a policy chooses among those shown; the first, which nobody hears of any more, where it can't go on.
fn ask(
    policy: &mut dyn OwnMirror,
    shown: &mut own::Copies,
    request: &Request,
    context: &mut Context<'_>,
) -> Option<usize> {
    let first = *shown.copy.first()? as usize;
    let picked = policy.pick(context.now(), request, shown).and_then(|row| {
        let copy = shown.copy.get(row).map(|&copy| copy as usize);
        copy.ok_or_else(|| {
            let says = format!("{} chose {row} of {} copies, counted from 0", policy.name(), shown.len());
            Stop::of_policy(says)
        })
    });
    Some(picked.unwrap_or_else(|stop| {
        give_up(&stop, request, context);
        first
    }))
}

/// Ends the run, as the policy can't go on.
#[cold]
fn give_up(stop: &Stop, request: &Request, context: &mut Context<'_>) {
    context.stop(stop.at(Role::Mirror, context.now(), &told(request), Some(request.id)));
}
