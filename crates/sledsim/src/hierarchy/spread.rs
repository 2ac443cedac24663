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
/// completes with the last part.
pub struct Spread {
    children: Vec<ComponentId>,
    layout: SpreadLayout,
    unit_blocks: u64,
    child_blocks: u64,
    block_bytes: u32,
    /// Requests under way, by id.
    pending: HashMap<u64, Pending>,
    /// Submitted parts: part id is the position in this sequence; maps to the whole request.
    parts: HashMap<u64, u64>,
    next_part: u64,
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
            pending: HashMap::new(),
            parts: HashMap::new(),
            next_part: 0,
        }
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
    fn split(&self, request: &Request) -> Vec<(usize, u64, u32)> {
        let mut parts: Vec<(usize, u64, u32)> = Vec::new();
        let mut lbn = request.lbn;
        while lbn < request.end_lbn() {
            let (child, inside, run) = self.map(lbn);
            let blocks = run.min(request.end_lbn() - lbn);
            lbn += blocks;
            let joined = parts.iter_mut().find(|part| part.0 == child && part.1 + u64::from(part.2) == inside);
            match joined {
                Some(part) => part.2 += blocks as u32,
                None => parts.push((child, inside, blocks as u32)),
            }
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
        for (child, lbn, blocks) in parts {
            let id = self.next_part;
            self.next_part += 1;
            self.parts.insert(id, request.id);
            context.submit(self.children[child], Request { id, lbn, blocks, arrival: now, ..request });
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

    #[test]
    fn split_cuts_at_the_border_of_a_sled() {
        assert_eq!(spread(SpreadLayout::Split).split(&request(95, 10)), [(0, 95, 5), (1, 0, 5)]);
        assert_eq!(spread(SpreadLayout::Split).capacity_blocks(), 300);
    }

    #[test]
    fn stripes_go_round_and_join_on_a_sled() {
        let striped = spread(SpreadLayout::Striped);
        assert_eq!(striped.capacity_blocks(), 3 * 96);
        assert_eq!(striped.split(&request(4, 24)), [(0, 4, 8), (1, 0, 8), (2, 0, 8)]);
        assert_eq!(striped.map(24), (0, 8, 8));
    }
}
