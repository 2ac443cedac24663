//! A request that is served in parts: side by side, one after the other, or both.

use crate::convert::to_usize;
use crate::engine::{Completion, Payload, Status};
use crate::request::{Op, Request};
use crate::service::Service;
use crate::time::Time;

/// A request under way in parts, and what has come of them so far.
#[derive(Clone, Debug)]
pub struct SplitRequest {
    /// The request as it came.
    pub request: Request,
    left: u32,
    status: Status,
    /// The earliest dispatch, the latest end, the phases of the part that ended last, the energy of all.
    service: Service,
    /// The bytes read, in runs that hold data.
    bytes: Vec<u8>,
}

impl SplitRequest {
    /// A request of which no part is under way.
    #[must_use]
    pub fn new(request: Request) -> Self {
        let service = Service { start: Time::MAX, ..Service::default() };
        Self { request, left: 0, status: Status::Served, service, bytes: Vec::new() }
    }

    /// So many parts more are under way.
    pub fn add_parts(&mut self, parts: u32) {
        self.left += parts;
    }

    /// One of the parts under way, and not the last, was joined to another.
    pub fn remove_part(&mut self) {
        self.left -= 1;
    }

    /// Hears of a part; says whether it was the last of those under way.
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
        self.left -= 1;
        self.left == 0
    }

    /// Whether a part could not be had.
    pub fn has_failed(&self) -> bool {
        self.status != Status::Served
    }

    /// A part could not be had.
    pub fn set_failed(&mut self, status: Status) {
        self.status = self.status.max(status);
    }

    /// A read brought blocks from block `first` of the request on.
    pub fn store_read(&mut self, first: u64, payload: &Payload, block_bytes: u32) {
        // Runs that hold no data have no bytes.
        let Some(brought) = payload.bytes() else { return };
        let size = block_bytes as usize;
        self.bytes.resize(self.request.blocks as usize * size, 0);
        self.bytes[to_usize(first) * size..][..brought.len()].copy_from_slice(brought);
    }

    /// The completion at `now`, no earlier than the end of any part, and what was read.
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

/// The completion at `now` of a request that was served by another one, alone.
#[inline]
#[must_use]
pub fn completion_of_part(request: Request, part: &Completion, now: Time) -> Completion {
    Completion { request: request, service: until(part.service, now), status: part.status }
}

/// A service that ends at `now`, with what its phases leave of its time booked as waiting for something in the background, so
/// that they add up.
#[inline]
fn until(mut service: Service, now: Time) -> Service {
    service.start = service.start.min(now);
    (service.end, service.free) = (now, now);
    let phases_ns = service.phases.service_ns();
    service.phases.background_ns += (now - service.start).saturating_sub(phases_ns);
    service
}
