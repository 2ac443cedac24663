//! Requests served as one access: what a mechanism says of that before it does it, and what every device can do.

use std::ops::Range;

use crate::devices::Mechanism;
use crate::request::{Padding, Request};
use crate::service::Service;
use crate::time::Time;

/// Where a mechanism stands between two services, as far as it decides what the next one takes; in its own terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stance {
    /// The cylinder.
    pub cylinder: u32,
    /// Where in the cylinder, and how it moves.
    pub slot: u32,
}

/// What a service would take that is only tried out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Where it would leave the mechanism.
    pub to: Stance,
    /// Joules for positioning, servo and data.
    pub servicing_j: f64,
}

/// A way to serve requests as one access, worked out by the mechanism that is to take it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What it takes.
    pub trial: Trial,
    /// Its passes in their order.
    pub(super) passes: Vec<PlannedPass>,
}

/// A pass of a plan, in the mechanism's own terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlannedPass {
    /// The place passed over, counted among those where something is wanted.
    pub(super) stop: usize,
    /// Of the tips wanted there, those from one to before another.
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) downward: bool,
}

/// What a mechanism that accesses blocks of several requests in one pass says of that before it does it.
pub trait Planner {
    /// Whether it works out ways to serve merged requests. One that does not only says who shares passes in a batch.
    fn merges(&self) -> bool {
        true
    }

    /// The ways to serve `requests`, reads and writes, as one access from `now` on: at least one. Of ways that leave the mechanism
    /// at one place, only that of least energy.
    fn plans(&self, now: Time, requests: &[Request]) -> Vec<Plan>;

    /// What [`Mechanism::serve`](super::Mechanism::serve) would take for `request` if the mechanism stood at `from`, or as it stands at `now`.
    fn try_serve(&self, now: Time, from: Option<Stance>, request: &Request) -> Trial;

    /// Joules to go from one place to another without serving anything.
    fn way_j(&self, from: Stance, to: Stance) -> f64;

    /// Most joules it takes, anywhere, to come to move the other way where it stands.
    fn about_face_j(&self) -> f64;

    /// Calls `visit` with ranges of blocks that together are those which can be accessed in the same pass as some block of
    /// `request`, its own included. Ranges may overlap.
    fn for_each_companion(&self, request: &Request, visit: &mut dyn FnMut(Range<u64>));

    /// Whether some block of `other` can be accessed in the same pass as some block of `first` (by other tips, or being the
    /// same).
    fn shares_pass(&self, first: &Request, other: &Request) -> bool;
}

/// Serves requests one after the other.
pub(crate) fn serve_in_turn<D: Mechanism + ?Sized>(
    device: &mut D,
    now: Time,
    requests: &[Request],
    out: &mut Vec<Service>,
) {
    let mut at = now;
    for request in requests {
        let service = device.serve(at, request);
        at = service.free;
        out.push(service);
    }
}

/// Serves contiguous requests as one larger request, others as a batch.
pub(crate) fn serve_as_one<D: Mechanism + ?Sized>(
    device: &mut D,
    now: Time,
    requests: &[Request],
    out: &mut Vec<Service>,
) {
    if requests.len() < 2 || !are_contiguous(requests) {
        return device.serve_batch(now, requests, out);
    }
    let one = as_one(requests);
    let whole = device.serve(now, &one);
    // Each has the phases of the whole, and its energy by its share of the blocks.
    out.extend(requests.iter().map(|request| {
        let energy = whole.energy.share(f64::from(request.blocks) / f64::from(one.blocks));
        Service { energy, ..whole }
    }));
}

/// Whether requests lie one behind the other, in whatever order they are given: serving them as one leaves nothing out, adds
/// nothing, and touches no block twice.
#[must_use]
pub fn are_contiguous(requests: &[Request]) -> bool {
    let mut ranges: Vec<(u64, u64)> = requests.iter().map(|request| (request.lbn, request.end_lbn())).collect();
    ranges.sort_unstable();
    ranges.windows(2).all(|pair| pair[0].1 == pair[1].0)
}

/// The request that covers contiguous `requests`, of which there is at least one and which have fewer than 2^32 blocks together.
/// What is not needed at its ends is not needed of the outermost ones.
#[must_use]
pub fn as_one(requests: &[Request]) -> Request {
    let mut one = requests[0];
    let (mut first, mut last) = (&requests[0], &requests[0]);
    for other in &requests[1..] {
        one.blocks += other.blocks;
        first = if other.lbn < first.lbn { other } else { first };
        last = if other.lbn > last.lbn { other } else { last };
    }
    one.lbn = first.lbn;
    one.padding = Padding { front_bytes: first.padding.front_bytes, back_bytes: last.padding.back_bytes };
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lbn: u64, blocks: u32, front_bytes: u32, back_bytes: u32) -> Request {
        Request { id: lbn, padding: Padding { front_bytes, back_bytes }, ..Request::read(lbn, blocks) }
    }

    #[test]
    fn one_covers_them_all_and_spares_their_outer_ends() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let parts = [read(40, 2, 1, 2), read(42, 3, 3, 4), read(45, 1, 5, 6)];
            let requests = order.map(|i: usize| parts[i]);
            let one = as_one(&requests);
            assert!(are_contiguous(&requests));
            assert_eq!((one.lbn, one.blocks), (40, 6));
            assert_eq!(one.padding, Padding { front_bytes: 1, back_bytes: 6 });
        }
    }

    #[test]
    fn gaps_and_blocks_wanted_twice_are_not_contiguous() {
        assert!(are_contiguous(&[read(4, 2, 0, 0)]));
        assert!(!are_contiguous(&[read(4, 2, 0, 0), read(7, 2, 0, 0)]));
        assert!(!are_contiguous(&[read(4, 2, 0, 0), read(5, 2, 0, 0)]));
        assert!(!are_contiguous(&[read(4, 2, 0, 0), read(4, 2, 0, 0)]));
    }
}
