//! Several mechanisms that serve one LBN space side by side: the sleds of one device.

use std::collections::HashMap;

use crate::engine::component::Measured;
use crate::engine::{Completion, Component, ComponentId, Context};
use crate::request::Request;
use crate::service::{Phases, Service};
use crate::time::Time;

/// How one LBN space is laid over several children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpreadLayout {
    /// Each child holds a contiguous share.
    Split,
    /// Stripe units go round the children.
    Striped,
}

/// Spreads one LBN space over equal children; a request that touches several is served by them concurrently and
/// completes with the last part. Each part carries what is needed of it.
pub struct Spread {
    children: Vec<ComponentId>,
    layout: SpreadLayout,
    unit_blocks: u64,
    child_blocks: u64,
    block_bytes: u32,
    /// Whether parts of which nothing is needed are left out.
    needed_only: bool,
    /// Requests under way, by id.
    pending: HashMap<u64, Pending>,
    /// Submitted parts: part id is the position in this sequence; maps to the whole request.
    parts: HashMap<u64, u64>,
    next_part: u64,
}

/// What of a request goes to one child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    child: usize,
    lbn: u64,
    blocks: u32,
    /// Its first needed byte, 0 where it has none.
    first_needed: u64,
    needed_bytes: u64,
}

struct Pending {
    whole: Request,
    left: u32,
    served: bool,
    /// The earliest dispatch, the latest end, the phases of the part that ended last, the energy of all.
    service: Service,
}

impl Spread {
    /// Spreads over `children`, each of `child_blocks` blocks; stripe units of `unit_blocks` (ignored when split).
    ///
    /// # Panics
    /// If there are no children or the stripe unit is 0.
    #[must_use]
    pub fn new(
        children: Vec<ComponentId>,
        layout: SpreadLayout,
        unit_blocks: u64,
        child_blocks: u64,
        block_bytes: u32,
    ) -> Self {
        assert!(!children.is_empty() && unit_blocks > 0);
        // Striping uses whole units only; the tail of each child that does not fill one stays unused.
        let child_blocks = match layout {
            SpreadLayout::Split => child_blocks,
            SpreadLayout::Striped => child_blocks / unit_blocks * unit_blocks,
        };
        Self {
            children,
            layout,
            unit_blocks,
            child_blocks,
            block_bytes,
            needed_only: false,
            pending: HashMap::new(),
            parts: HashMap::new(),
            next_part: 0,
        }
    }

    /// The same for children that access only what is needed: parts of which nothing is are not submitted.
    #[must_use]
    pub fn needed_only(self) -> Self {
        Self { needed_only: true, ..self }
    }

    /// Child index, LBN there, and how many blocks from `lbn` on lie there contiguously.
    fn map(&self, lbn: u64) -> (usize, u64, u64) {
        match self.layout {
            SpreadLayout::Split => {
                let child = lbn / self.child_blocks;
                let inside = lbn % self.child_blocks;
                (child as usize, inside, self.child_blocks - inside)
            }
            SpreadLayout::Striped => {
                let unit = lbn / self.unit_blocks;
                let inside = lbn % self.unit_blocks;
                let count = self.children.len() as u64;
                ((unit % count) as usize, unit / count * self.unit_blocks + inside, self.unit_blocks - inside)
            }
        }
    }

    /// The request cut at the borders of children; parts that continue each other on a child are joined.
    fn split(&self, request: &Request) -> Vec<Part> {
        let block_bytes = u64::from(self.block_bytes);
        let needed = request.needed(self.block_bytes);
        let first_needed = (needed.lbn - request.lbn) * block_bytes + u64::from(needed.front_bytes);
        let end_needed = first_needed + needed.bytes(self.block_bytes);
        let mut parts: Vec<Part> = Vec::new();
        let mut lbn = request.lbn;
        while lbn < request.end_lbn() {
            let (child, inside, run) = self.map(lbn);
            let blocks = run.min(request.end_lbn() - lbn);
            let start = (lbn - request.lbn) * block_bytes;
            let from = first_needed.max(start);
            let needed_bytes = end_needed.min(start + blocks * block_bytes).saturating_sub(from);
            lbn += blocks;
            let joined =
                parts.iter_mut().find(|part| part.child == child && part.lbn + u64::from(part.blocks) == inside);
            let part = match joined {
                Some(part) => part,
                None => {
                    parts.push(Part { child, lbn: inside, blocks: 0, first_needed: 0, needed_bytes: 0 });
                    let last = parts.len() - 1;
                    &mut parts[last]
                }
            };
            // What is needed of a child is one piece, as what is needed of the request is.
            if part.needed_bytes == 0 && needed_bytes > 0 {
                part.first_needed = u64::from(part.blocks) * block_bytes + from - start;
            }
            part.needed_bytes += needed_bytes;
            part.blocks += blocks as u32;
        }
        if self.needed_only {
            parts.retain(|part| part.needed_bytes > 0);
        }
        parts
    }
}

impl Component for Spread {
    fn capacity_blocks(&self) -> u64 {
        self.child_blocks * self.children.len() as u64
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let now = context.now();
        let end = request.lbn.checked_add(u64::from(request.blocks));
        if request.blocks == 0 || end.is_none_or(|end| end > self.capacity_blocks()) {
            context.complete(&Completion::refused(&request, now));
            return;
        }
        let parts = self.split(&request);
        let service = Service { start: Time::MAX, ..Service::default() };
        self.pending.insert(request.id, Pending { whole: request, left: parts.len() as u32, served: true, service });
        for part in parts {
            let id = self.next_part;
            self.next_part += 1;
            self.parts.insert(id, request.id);
            let whole = Request { id, lbn: part.lbn, blocks: part.blocks, arrival: now, ..request };
            let needing = whole.needing(part.first_needed, part.needed_bytes, self.block_bytes);
            context.submit(self.children[part.child], needing);
        }
    }

    fn completed(&mut self, _child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let Some(whole) = self.parts.remove(&completion.request.id) else { return };
        let Some(pending) = self.pending.get_mut(&whole) else { return };
        let part = &completion.service;
        let service = &mut pending.service;
        service.start = service.start.min(part.start);
        service.energy += part.energy;
        if part.end >= service.end {
            service.end = part.end;
            service.free = part.free;
            service.phases = part.phases;
        }
        pending.served &= completion.served;
        pending.left -= 1;
        if pending.left == 0 {
            if let Some(done) = self.pending.remove(&whole) {
                let service = Service { phases: cover(&done.service), ..done.service };
                context.complete(&Completion { request: done.whole, service, served: done.served });
            }
        }
    }

    fn timer(&mut self, _tag: u64, _context: &mut Context<'_>) {
        // Sets none.
    }

    fn start_measuring(&mut self, _now: Time) {}

    fn measured(&self, _now: Time) -> Measured {
        // Its children report for themselves.
        Measured::default()
    }
}

/// Phases of the part that ended last, with the time before that part's dispatch added to repositioning, so that
/// phases still add up to the service time.
fn cover(service: &Service) -> Phases {
    let mut phases = service.phases;
    phases.turnaround_ns += (service.end - service.start).saturating_sub(phases.service_ns());
    phases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Flags, Op, Spare};

    fn request(lbn: u64, blocks: u32) -> Request {
        Request {
            id: 0,
            arrival: Time::ZERO,
            lbn,
            blocks,
            op: Op::Read,
            flags: Flags::NONE,
            origin: 0,
            spare: Spare::NONE,
        }
    }

    fn spread(layout: SpreadLayout) -> Spread {
        Spread::new((0..3).map(ComponentId).collect(), layout, 8, 100, 512)
    }

    /// Child, LBN and blocks of parts that are needed whole.
    fn whole(parts: &[(usize, u64, u32)]) -> Vec<Part> {
        let needed_bytes = |blocks: u32| u64::from(blocks) * 512;
        let whole =
            |&(child, lbn, blocks)| Part { child, lbn, blocks, first_needed: 0, needed_bytes: needed_bytes(blocks) };
        parts.iter().map(whole).collect()
    }

    #[test]
    fn split_cuts_at_the_border_of_a_sled() {
        assert_eq!(spread(SpreadLayout::Split).split(&request(95, 10)), whole(&[(0, 95, 5), (1, 0, 5)]));
        assert_eq!(spread(SpreadLayout::Split).capacity_blocks(), 300);
    }

    #[test]
    fn stripes_go_round_and_join_on_a_sled() {
        let striped = spread(SpreadLayout::Striped);
        assert_eq!(striped.capacity_blocks(), 3 * 96);
        assert_eq!(striped.split(&request(4, 24)), whole(&[(0, 4, 8), (1, 0, 8), (2, 0, 8)]));
        assert_eq!(striped.map(24), (0, 8, 8));
    }

    #[test]
    fn parts_carry_their_share_of_what_is_needed() {
        // 512-byte blocks 95 to 104, of which 95 to 99 lie on the first sled; needed are bytes 1000 to 3999.
        let across = request(95, 10).needing(1000, 3000, 512);
        let part = |child, lbn, first_needed, needed_bytes| Part { child, lbn, blocks: 5, first_needed, needed_bytes };
        let parts = spread(SpreadLayout::Split).split(&across);
        assert_eq!(parts, [part(0, 95, 1000, 1560), part(1, 0, 0, 1440)]);
        assert_eq!(spread(SpreadLayout::Split).needed_only().split(&across), parts);

        // Two blocks of the second sled: nothing of the first.
        let beyond = request(95, 10).needing(6 * 512, 1024, 512);
        assert_eq!(spread(SpreadLayout::Split).split(&beyond), [part(0, 95, 0, 0), part(1, 0, 512, 1024)]);
        assert_eq!(spread(SpreadLayout::Split).needed_only().split(&beyond), [part(1, 0, 512, 1024)]);
    }

    #[test]
    fn what_is_needed_of_joined_stripes_is_one_piece() {
        // Units of 8 blocks: the first sled has blocks 4 to 7 and 24 to 31 of 4 to 35, joined.
        let part =
            |child, lbn, blocks, first_needed, needed_bytes| Part { child, lbn, blocks, first_needed, needed_bytes };
        let late = request(4, 32).needing(5 * 512, 16 * 512, 512);
        let parts = [part(0, 4, 12, 4 * 512, 512), part(1, 0, 12, 512, 7 * 512), part(2, 0, 8, 0, 8 * 512)];
        assert_eq!(spread(SpreadLayout::Striped).split(&late), parts);
        let early = request(4, 32).needing(0, 100, 512);
        let parts = [part(0, 4, 12, 0, 100)];
        assert_eq!(spread(SpreadLayout::Striped).needed_only().split(&early), parts);
    }

    /// Byte by byte.
    #[test]
    fn every_needed_byte_is_needed_of_exactly_one_part() {
        for layout in [SpreadLayout::Split, SpreadLayout::Striped] {
            let spread = Spread::new((0..3).map(ComponentId).collect(), layout, 3, 9, 4);
            for (lbn, blocks) in [(0, 27), (5, 7), (8, 10), (2, 1), (13, 14)] {
                let bytes = u64::from(blocks) * 4;
                for (first, end) in (0..bytes).flat_map(|first| (first + 1..=bytes).map(move |end| (first, end))) {
                    let request = request(lbn, blocks).needing(first, end - first, 4);
                    let mut wanted: Vec<(usize, u64)> = (first..end)
                        .map(|byte| {
                            let (child, inside, _) = spread.map(lbn + byte / 4);
                            (child, inside * 4 + byte % 4)
                        })
                        .collect();
                    let mut given: Vec<(usize, u64)> = spread
                        .split(&request)
                        .iter()
                        .flat_map(|part| {
                            let from = part.lbn * 4 + part.first_needed;
                            (from..from + part.needed_bytes).map(|byte| (part.child, byte))
                        })
                        .collect();
                    wanted.sort_unstable();
                    given.sort_unstable();
                    assert_eq!(given, wanted, "{request:?}");
                }
            }
        }
    }
}
