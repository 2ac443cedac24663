//! The choice of a mirror's copy for each read, by a built-in rule or a custom policy.

use super::members::Members;
use super::spec::ReadChoice;
use crate::convert::to_u32;
use crate::engine::{ComponentId, Context};
use crate::hierarchy::common::BlockRange;
use crate::plugin::{self, MirrorAdaptor};
use crate::request::Request;

/// The outstanding accesses of a member.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    accesses: u64,
    blocks: u64,
    /// The block after the last access.
    next_lbn: u64,
}

/// The copies of a mirror, and the choice among them for reads. For arrays with parity it only counts outstanding accesses.
#[derive(Clone)]
pub(super) struct Copies {
    rule: ReadChoice,
    /// Chooses in place of the rule.
    custom: Option<MirrorAdaptor>,
    /// The copy after the one that served the last read.
    turn: usize,
    /// Of each child.
    loads: Vec<Load>,
}

impl Copies {
    /// No access is outstanding at `children` children.
    pub(super) fn new(rule: ReadChoice, children: usize) -> Self {
        Self { rule, custom: None, turn: 0, loads: vec![Load::default(); children] }
    }

    /// Sets the custom policy that chooses copies.
    pub(super) fn set_policy(&mut self, policy: MirrorAdaptor) {
        self.custom = Some(policy);
    }

    /// Returns true if no access is outstanding.
    pub(super) fn at_rest(&self) -> bool {
        self.loads.iter().all(|load| load.accesses == 0 && load.blocks == 0)
    }

    /// Counts an access sent to a child.
    pub(super) fn sent(&mut self, child: usize, access: &Request, context: &mut Context<'_>) {
        let load = &mut self.loads[child];
        load.accesses += 1;
        load.blocks += u64::from(access.blocks);
        load.next_lbn = access.end_lbn();
        if let Some(custom) = &mut self.custom {
            custom.arrived(to_u32(child), access, context);
        }
    }

    /// Counts an access completed by a child.
    pub(super) fn returned(&mut self, child: usize, access: &Request, context: &mut Context<'_>) {
        let load = &mut self.loads[child];
        load.accesses -= 1;
        load.blocks -= u64::from(access.blocks);
        if let Some(custom) = &mut self.custom {
            custom.completed(to_u32(child), access, context);
        }
    }

    /// Resets the counts after a power cut.
    pub(super) fn forget(&mut self) {
        self.loads.iter_mut().for_each(|load| (load.accesses, load.blocks) = (0, 0));
    }

    /// Miscounts the outstanding accesses of a child.
    #[cfg(test)]
    pub(super) fn overload(&mut self, child: usize) {
        self.loads[child].blocks = 8;
    }

    /// Returns the copy that serves a read of a range of LBNs; `None` if no copy can be read there.
    pub(super) fn choose(
        &mut self,
        members: &Members,
        request: &Request,
        range: BlockRange,
        children: &[ComponentId],
        context: &mut Context<'_>,
    ) -> Option<usize> {
        let count = members.columns();
        let chosen = match &mut self.custom {
            Some(custom) => {
                let uses_positioning = custom.uses_positioning();
                let columns = custom.columns_mut();
                columns.clear();
                for copy in (0..count).filter(|&copy| members.is_readable(0, copy, range)) {
                    let child = members.child(0, copy);
                    let Load { accesses, blocks, next_lbn } = self.loads[child];
                    columns.copy.push(to_u32(copy));
                    columns.member.push(to_u32(child));
                    columns.pending.push(accesses);
                    columns.pending_blocks.push(blocks);
                    columns.next_lbn.push(next_lbn);
                    if uses_positioning {
                        let reach_ns = context.reach_ns(children[child], request);
                        columns.positioning_ns.push(reach_ns.unwrap_or(plugin::Copies::UNKNOWN));
                    }
                }
                custom.pick(request, context)?
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
