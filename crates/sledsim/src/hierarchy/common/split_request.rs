//! Requests that are served in parts, in parallel or one after the other.

use crate::convert::{to_u32, to_usize};
use crate::engine::{Completion, Payload, Status};
use crate::request::{Op, Request};
use crate::service::Service;
use crate::time::Time;

/// A request that is served in parts, and the combined outcome of the completed parts.
#[derive(Clone, Debug)]
pub struct SplitRequest {
    /// The request as it was submitted.
    pub request: Request,
    /// Number of outstanding parts.
    outstanding: u32,
    /// The worst status of the parts.
    status: Status,
    /// The earliest start, the latest end, the phases of the part that ended last, and the energy of all parts.
    service: Service,
    /// The data read, in runs that hold data.
    bytes: Vec<u8>,
}

impl SplitRequest {
    /// A request without outstanding parts.
    #[must_use]
    pub fn new(request: Request) -> Self {
        let service = Service { start: Time::MAX, ..Service::default() };
        Self { request, outstanding: 0, status: Status::Served, service, bytes: Vec::new() }
    }

    /// Adds outstanding parts.
    pub fn add_parts(&mut self, parts: u32) {
        self.outstanding += parts;
    }

    /// Removes an outstanding part, not the last one, that was joined to another part.
    pub fn remove_part(&mut self) {
        self.outstanding -= 1;
    }

    /// Adds the outcome of a part. Returns true if no part is outstanding any more.
    pub fn complete_part(&mut self, completion: &Completion) -> bool {
        let (part, service) = (&completion.service, &mut self.service);
        service.start = service.start.min(part.start);
        service.energy += part.energy;
        if part.end >= service.end {
            service.end = part.end;
            service.free = part.free;
            service.phases = part.phases;
        }
        self.status = self.status.max(completion.status);
        self.outstanding -= 1;
        self.outstanding == 0
    }

    /// Returns true if a part has failed.
    pub fn has_failed(&self) -> bool {
        self.status != Status::Served
    }

    /// Records that a part has failed with this status.
    pub fn set_failed(&mut self, status: Status) {
        self.status = self.status.max(status);
    }

    /// Stores data that was read, from block `first` of the request on.
    pub fn store_read(&mut self, first: u64, payload: &Payload, block_bytes: u32) {
        // Runs that hold no data have no bytes.
        let Some(read) = payload.bytes() else { return };
        let size = block_bytes as usize;
        self.bytes.resize(self.request.blocks as usize * size, 0);
        self.bytes[to_usize(first) * size..][..read.len()].copy_from_slice(read);
    }

    /// The completion at `now`, which is not before the end of any part, and the data read.
    #[must_use]
    pub fn finish(&self, now: Time) -> (Completion, Payload) {
        let payload = if self.request.op == Op::Read && !self.bytes.is_empty() {
            Payload::of(&self.bytes)
        } else {
            Payload::NONE
        };
        (Completion { request: self.request, service: until(self.service, now), status: self.status }, payload)
    }
}

/// The part of a request with `blocks` blocks from its block `first` on, at address `lbn` of a child, and its share of the needed
/// bytes.
#[must_use]
pub fn part_of_request(request: &Request, first: u64, blocks: u64, lbn: u64, block_bytes: u32) -> Request {
    let needed = request.needed(block_bytes);
    let size = u64::from(block_bytes);
    let needed_from = (needed.lbn - request.lbn) * size + u64::from(needed.front_bytes);
    let needed_to = needed_from + needed.bytes(block_bytes);
    let (from, to) = (first * size, (first + blocks) * size);
    let part_from = needed_from.max(from);
    let part_bytes = needed_to.min(to).saturating_sub(part_from);
    let first_needed = if part_bytes == 0 { 0 } else { part_from - from };
    let part = Request { lbn, blocks: to_u32(blocks), ..*request };
    part.with_needed_bytes(first_needed, part_bytes, block_bytes)
}

/// The completion at `now` of a request that was served by a single other request.
#[inline]
#[must_use]
pub fn completion_of_part(request: Request, part: &Completion, now: Time) -> Completion {
    Completion { request, service: until(part.service, now), status: part.status }
}

/// A service that ends at `now`. The time that its phases do not cover is added to the background phase, so that they add up.
#[inline]
fn until(mut service: Service, now: Time) -> Service {
    service.start = service.start.min(now);
    (service.end, service.free) = (now, now);
    let phases_ns = service.phases.service_ns();
    service.phases.background_ns += (now - service.start).saturating_sub(phases_ns);
    service
}
