//! Anticipatory scheduling: after a sequential read, the device stays idle for a short time to wait for the next one (Iyer &
//! Druschel, SOSP 2001; Lin et al. 2002, section 7).

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pending::PendingRequests;
use crate::request::{Op, Request};
use crate::service::Service;
use crate::time::{ms_to_ns, Time};

/// Number of recent reads whose ends are remembered: a read that begins at one of them is sequential.
const REMEMBERED: usize = 64;

/// The time that a device waits for the next sequential read before it serves other requests.
///
/// A program that reads sequentially submits the next read after the completion of the last one. Without anticipation the device
/// serves other requests in between. A read is sequential if it begins at the end of one of the last reads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnticipationSpec {
    /// Longest wait for the next sequential read, from the end of the last one.
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "ms"))]
    pub wait_ms: f64,
    /// Reads in a row that are served before those that wait; then the scheduler picks.
    #[serde(default = "requests")]
    #[schemars(range(min = 1, max = 1000000))]
    pub requests: u32,
}

const fn requests() -> u32 {
    16
}

/// The next action of an idle device.
pub(super) enum Decision {
    /// Wait for the anticipated read.
    Wait,
    /// Serve this request, the anticipated read.
    Take(Request),
    /// Serve the request that the scheduler picks.
    Pick,
}

/// The anticipated read.
#[derive(Clone, Copy)]
struct ExpectedRead {
    lbn: u64,
    /// The end of the wait for it.
    until: Time,
}

/// The state of anticipatory scheduling.
#[derive(Clone)]
pub(super) struct Anticipation {
    spec: AnticipationSpec,
    pending: PendingRequests,
    /// The ends of the latest reads, the latest last.
    ends: VecDeque<u64>,
    expected: Option<ExpectedRead>,
    /// Number of anticipated reads served in a row.
    row: u32,
    /// True if pending requests wait for the anticipated read.
    is_waiting: bool,
}

impl Anticipation {
    /// The state before the first request.
    pub(super) fn new(spec: AnticipationSpec) -> Self {
        let pending = PendingRequests::new(true);
        Self { spec, pending, ends: VecDeque::new(), expected: None, row: 0, is_waiting: false }
    }

    /// Returns to the state before the first request.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.spec);
    }

    /// Checks that as many requests are pending here as in the scheduler.
    ///
    /// # Errors
    /// The numbers differ.
    pub(super) fn check(&self, in_scheduler: usize) -> Result<(), String> {
        let pending = self.pending.len();
        if pending == in_scheduler {
            return Ok(());
        }
        Err(format!("{pending} requests are pending for anticipation, and {in_scheduler} in the scheduler"))
    }

    /// Adds a request that is given to the scheduler.
    pub(super) fn arrived(&mut self, request: Request) {
        self.pending.push(request);
    }

    /// The end of the current wait.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.expected.filter(|_| self.is_waiting).map(|expected| expected.until)
    }

    /// Decides at `now`, when the device is idle.
    pub(super) fn decide(&mut self, now: Time) -> Decision {
        self.is_waiting = false;
        let Some(ExpectedRead { lbn, until }) = self.expected else { return Decision::Pick };
        if self.pending.len() == 0 {
            return Decision::Pick;
        }
        self.pending.index();
        let mut found = Vec::new();
        self.pending.beginning_at(Op::Read, lbn, &mut found);
        match found.first().and_then(|&id| self.pending.get(id)) {
            Some(request) if !self.pending.has_older_conflict(request) => Decision::Take(*request),
            None if now < until => {
                self.is_waiting = true;
                Decision::Wait
            }
            // The read is late, or an older pending write overlaps it.
            _ => {
                self.expected = None;
                Decision::Pick
            }
        }
    }

    /// Removes a request that was served.
    pub(super) fn served(&mut self, request: &Request, service: &Service) {
        self.pending.remove(request.id);
        let was_expected = self.expected.take().is_some_and(|expected| expected.lbn == request.lbn);
        if request.op != Op::Read {
            return;
        }
        let known = self.ends.iter().position(|&end| end == request.lbn);
        match known {
            Some(index) => {
                self.ends.remove(index);
            }
            None if self.ends.len() == REMEMBERED => {
                self.ends.pop_front();
            }
            None => {}
        }
        self.ends.push_back(request.end_lbn());
        self.row = if was_expected { self.row + 1 } else { 0 };
        if known.is_some() && self.row < self.spec.requests {
            let until = service.end + ms_to_ns(self.spec.wait_ms);
            self.expected = Some(ExpectedRead { lbn: request.end_lbn(), until });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The id of the request that is taken, or the name of the other decision.
    fn decide(anticipation: &mut Anticipation, now_ns: u64) -> Result<u64, &'static str> {
        match anticipation.decide(Time::from_ns(now_ns)) {
            Decision::Wait => Err("wait"),
            Decision::Pick => Err("pick"),
            Decision::Take(request) => Ok(request.id),
        }
    }

    fn request(id: u64, lbn: u64, op: Op) -> Request {
        Request { id, op, ..Request::read(lbn, 8) }
    }

    fn serve(anticipation: &mut Anticipation, request: &Request, end_ns: u64) {
        anticipation.served(request, &Service { end: Time::from_ns(end_ns), ..Service::default() });
    }

    /// Anticipation with a wait of 10 ns after two sequential reads, the second of which ended at 100 ns, and pending requests.
    fn after_two(requests: u32, pending: &[Request]) -> Anticipation {
        let mut anticipation = Anticipation::new(AnticipationSpec { wait_ms: 1e-5, requests });
        let reads = [request(0, 0, Op::Read), request(1, 8, Op::Read)];
        reads.iter().chain(pending).for_each(|&each| anticipation.arrived(each));
        assert_eq!(decide(&mut anticipation, 0), Err("pick"));
        serve(&mut anticipation, &reads[0], 50);
        assert!(anticipation.expected.is_none(), "one read shows nothing");
        serve(&mut anticipation, &reads[1], 100);
        anticipation
    }

    #[test]
    fn pending_requests_wait_for_the_next_read_until_the_deadline() {
        let (other, next) = (request(2, 900, Op::Write), request(3, 16, Op::Read));
        let mut late = after_two(16, &[other]);
        assert_eq!((decide(&mut late, 100), decide(&mut late, 109)), (Err("wait"), Err("wait")));
        assert_eq!(late.deadline(), Some(Time::from_ns(110)));
        assert_eq!((decide(&mut late, 110), late.deadline()), (Err("pick"), None));
        // A read that arrives after the deadline is not preferred.
        late.arrived(next);
        assert_eq!(decide(&mut late, 111), Err("pick"));
        let mut in_time = after_two(16, &[other]);
        in_time.arrived(next);
        assert_eq!((decide(&mut in_time, 105), in_time.deadline()), (Ok(3), None));
    }

    #[test]
    fn no_wait_without_pending_requests_or_with_a_conflicting_write() {
        let mut alone = after_two(16, &[]);
        assert_eq!((decide(&mut alone, 101), alone.deadline()), (Err("pick"), None));
        let mut written = after_two(16, &[request(2, 20, Op::Write), request(3, 16, Op::Read)]);
        assert_eq!((decide(&mut written, 101), written.deadline()), (Err("pick"), None));
    }

    #[test]
    fn anticipation_ends_after_the_maximum_row_or_another_request() {
        let reads = [16, 24, 32].map(|lbn| request(lbn, lbn, Op::Read));
        let mut row = after_two(2, &[request(2, 900, Op::Write), reads[0], reads[1], reads[2]]);
        for read in &reads[..2] {
            assert_eq!(decide(&mut row, 101), Ok(read.id));
            serve(&mut row, read, 101);
        }
        assert_eq!(decide(&mut row, 101), Err("pick"));
        let mut broken = after_two(16, &[request(2, 900, Op::Write), reads[0]]);
        serve(&mut broken, &request(2, 900, Op::Write), 102);
        assert_eq!(decide(&mut broken, 103), Err("pick"));
    }

    #[test]
    fn pending_requests_are_counted_and_forgotten() {
        let mut anticipation = after_two(16, &[request(2, 900, Op::Write)]);
        assert_eq!(anticipation.check(1), Ok(()));
        let message = anticipation.check(2).unwrap_err();
        assert!(message.contains("requests are pending for anticipation"), "{message}");
        anticipation.forget();
        assert_eq!((anticipation.check(0), decide(&mut anticipation, 101)), (Ok(()), Err("pick")));
    }
}
