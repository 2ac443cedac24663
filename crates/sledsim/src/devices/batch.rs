//! Requests that are served together: plans of a mechanism, and the default that every mechanism supports.

use super::Mechanism;
use crate::request::{Padding, Request};
use crate::service::Service;
use crate::time::Time;

/// The state of a mechanism between two services, as far as it decides the next service; in the mechanism's own terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MechanismState {
    /// The cylinder.
    pub cylinder: u32,
    /// Position and motion within the cylinder.
    pub slot: u32,
}

/// The outcome of a service that is not carried out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The state of the mechanism afterwards.
    pub to: MechanismState,
    /// Energy of positioning, servo and data, in joules.
    pub servicing_j: f64,
}

/// A way to serve requests as one access, made by the mechanism that carries it out.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The outcome.
    pub estimate: Estimate,
    /// The passes in their order.
    pub(super) passes: Vec<PlannedPass>,
}

/// A pass of a plan, in the mechanism's own terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlannedPass {
    /// Index of the sled position, among those with requested blocks.
    pub(super) position: usize,
    /// First of the requested tips of that row that are on.
    pub(super) from: u32,
    /// End (exclusive) of the requested tips that are on.
    pub(super) to: u32,
    pub(super) downward: bool,
}

/// How several requests are served together.
#[derive(Clone, Copy, Debug)]
pub enum Together<'a> {
    /// As a batch: blocks that share a pass are accessed together.
    Batch,
    /// As one access, by a plan that the mechanism's [`BatchAccess`](super::BatchAccess) made for these requests and this time, if
    /// any. Without a plan all requests have the same operation.
    Merged(Option<&'a Plan>),
}

impl Together<'_> {
    /// Serves requests on a mechanism that accesses them one after the other; merged requests that are contiguous are one larger
    /// request, and all of them complete when it does.
    pub(super) fn serve_one_by_one<M: Mechanism + ?Sized>(
        self,
        mechanism: &mut M,
        now: Time,
        requests: &[Request],
        out: &mut Vec<Service>,
    ) {
        match self {
            Self::Batch => serve_in_turn(mechanism, now, requests, out),
            Self::Merged(_) if requests.len() < 2 || !are_contiguous(requests) => {
                mechanism.serve_together(now, requests, Self::Batch, out);
            }
            Self::Merged(_) => {
                let one = merged_request(requests);
                let whole = mechanism.serve(now, &one);
                // Each has the phases of the whole, and its energy by its share of the blocks.
                out.extend(requests.iter().map(|request| {
                    let energy = whole.energy.share(f64::from(request.blocks) / f64::from(one.blocks));
                    Service { energy, ..whole }
                }));
            }
        }
    }
}

/// Serves requests one after the other.
pub(super) fn serve_in_turn<M: Mechanism + ?Sized>(
    mechanism: &mut M,
    now: Time,
    requests: &[Request],
    out: &mut Vec<Service>,
) {
    let mut at = now;
    for request in requests {
        let service = mechanism.serve(at, request);
        at = service.free;
        out.push(service);
    }
}

/// Returns true if requests, in any order, cover one range of blocks without gaps or overlaps.
#[must_use]
pub fn are_contiguous(requests: &[Request]) -> bool {
    let mut ranges: Vec<(u64, u64)> = requests.iter().map(|request| (request.lbn, request.end_lbn())).collect();
    ranges.sort_unstable();
    ranges.windows(2).all(|pair| pair[0].1 == pair[1].0)
}

/// Returns the request that covers contiguous `requests`: at least one, with fewer than 2^32 blocks together. It has the padding of the
/// outermost requests at its ends.
#[must_use]
pub fn merged_request(requests: &[Request]) -> Request {
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
    fn merged_request_covers_all_and_keeps_the_outer_padding() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let parts = [read(40, 2, 1, 2), read(42, 3, 3, 4), read(45, 1, 5, 6)];
            let requests = order.map(|i: usize| parts[i]);
            let one = merged_request(&requests);
            assert!(are_contiguous(&requests));
            assert_eq!((one.lbn, one.blocks), (40, 6));
            assert_eq!(one.padding, Padding { front_bytes: 1, back_bytes: 6 });
        }
    }

    #[test]
    fn gaps_and_overlaps_are_not_contiguous() {
        assert!(are_contiguous(&[read(4, 2, 0, 0)]));
        assert!(!are_contiguous(&[read(4, 2, 0, 0), read(7, 2, 0, 0)]));
        assert!(!are_contiguous(&[read(4, 2, 0, 0), read(5, 2, 0, 0)]));
        assert!(!are_contiguous(&[read(4, 2, 0, 0), read(4, 2, 0, 0)]));
    }
}
