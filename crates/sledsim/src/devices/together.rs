//! Requests served together: what a device says of it before it does it, and what every device can do.

use crate::devices::Device;
use crate::request::{Request, Spare};
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
    one.spare = Spare { front_bytes: first.spare.front_bytes, back_bytes: last.spare.back_bytes };
    one
}

/// Serves contiguous requests as one larger one, with whose end they all complete, and others one after the other. Each has the
/// phases of the whole, and its energy by its share of the blocks.
pub(super) fn serve_as_one<D: Device + ?Sized>(
    device: &mut D,
    now: Time,
    requests: &[Request],
    out: &mut Vec<Service>,
) {
    if requests.len() < 2 || !are_contiguous(requests) {
        device.serve_batch(now, requests, out);
        return;
    }
    let one = as_one(requests);
    let whole = device.serve(now, &one);
    for request in requests {
        let energy = whole.energy.share(f64::from(request.blocks) / f64::from(one.blocks));
        out.push(Service { energy, ..whole });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Flags, Op};

    fn read(lbn: u64, blocks: u32, front_bytes: u32, back_bytes: u32) -> Request {
        Request {
            id: lbn,
            arrival: Time::ZERO,
            lbn,
            blocks,
            op: Op::Read,
            flags: Flags::NONE,
            origin: 0,
            spare: Spare { front_bytes, back_bytes },
        }
    }

    #[test]
    fn one_covers_them_all_and_spares_their_outer_ends() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let parts = [read(40, 2, 1, 2), read(42, 3, 3, 4), read(45, 1, 5, 6)];
            let requests = order.map(|i: usize| parts[i]);
            let one = as_one(&requests);
            assert!(are_contiguous(&requests));
            assert_eq!((one.lbn, one.blocks), (40, 6));
            assert_eq!(one.spare, Spare { front_bytes: 1, back_bytes: 6 });
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
