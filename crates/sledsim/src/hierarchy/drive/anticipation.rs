//! Anticipatory waiting: after a read that goes on where another ended, the device keeps still for the next of them (Iyer &
//! Druschel, SOSP 2001; Lin et al. 2002, section 7).

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::waiting::Waiting;
use crate::request::{Op, Request};
use crate::service::Service;
use crate::time::{ms_to_ns, Time};

/// So many reads are remembered, of which the next may go on where one of them ended.
const REMEMBERED: usize = 64;

/// For how long a device that has others to serve keeps still for a read that goes on where the last one ended.
///
/// A program that reads on asks for the next piece only when it has the last: to the device nothing seems left to do there, and
/// it moves off to somebody else. A read shows such a program where it begins at the end of one of the last reads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnticipationSpec {
    /// Longest that others wait for the next read, from the end of the one before it on.
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

/// What is to be done with those that wait.
pub(super) enum Turn {
    /// They wait on.
    Wait,
    /// This one is served before the others.
    Take(Request),
    /// The scheduler picks.
    Pick,
}

/// Anticipation at work.
#[derive(Clone)]
pub(super) struct Anticipation {
    spec: AnticipationSpec,
    waiting: Waiting,
    /// Where the last reads ended, the latest last.
    ends: VecDeque<u64>,
    /// Where the next read is to begin, and until when it is waited for.
    expected: Option<(u64, Time)>,
    /// Reads in a row that were expected.
    row: u32,
    /// Whether somebody waits while it is.
    holds: bool,
}

impl Anticipation {
    /// Nothing is expected yet.
    pub(super) fn new(spec: AnticipationSpec) -> Self {
        Self { spec, waiting: Waiting::new(true), ends: VecDeque::new(), expected: None, row: 0, holds: false }
    }

    /// Nobody waits any more, and nothing is expected.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.spec);
    }

    /// Whether those that wait here are as many as wait in the scheduler.
    ///
    /// # Errors
    /// They are not.
    pub(super) fn check(&self, pending: usize) -> Result<(), String> {
        let waiting = self.waiting.len();
        if waiting == pending {
            return Ok(());
        }
        Err(format!("{waiting} requests wait while another is anticipated, and {pending} are pending"))
    }

    /// Hears of a request that went to the scheduler.
    pub(super) fn arrived(&mut self, request: Request) {
        self.waiting.push(request);
    }

    /// Until when those that wait have to, if they do.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.expected.filter(|_| self.holds).map(|(_, until)| until)
    }

    /// Whose turn it is at `now`, when the device has nothing to do.
    pub(super) fn turn(&mut self, now: Time) -> Turn {
        self.holds = false;
        let Some((lbn, until)) = self.expected else { return Turn::Pick };
        if self.waiting.len() == 0 {
            return Turn::Pick;
        }
        self.waiting.index();
        let mut there = Vec::new();
        self.waiting.beginning_at(Op::Read, lbn, &mut there);
        match there.first().and_then(|&id| self.waiting.get(id)) {
            Some(request) if !self.waiting.holds_back(request) => Turn::Take(*request),
            None if now < until => {
                self.holds = true;
                Turn::Wait
            }
            // It has not come in time, or it has to wait for what an older request writes.
            _ => {
                self.expected = None;
                Turn::Pick
            }
        }
    }

    /// Hears of a request that was served, and waits no more.
    pub(super) fn served(&mut self, request: &Request, service: &Service) {
        self.waiting.remove(request.id);
        let expected = self.expected.take().is_some_and(|(lbn, _)| lbn == request.lbn);
        if request.op != Op::Read {
            return;
        }
        let known = self.ends.iter().position(|&end| end == request.lbn);
        match known {
            Some(place) => {
                self.ends.remove(place);
            }
            None if self.ends.len() == REMEMBERED => {
                self.ends.pop_front();
            }
            None => {}
        }
        self.ends.push_back(request.end_lbn());
        self.row = if expected { self.row + 1 } else { 0 };
        if known.is_some() && self.row < self.spec.requests {
            self.expected = Some((request.end_lbn(), service.end + ms_to_ns(self.spec.wait_ms)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What has the turn at an instant: the id of the request that is taken, or a word.
    fn turn(anticipation: &mut Anticipation, now_ns: u64) -> Result<u64, &'static str> {
        match anticipation.turn(Time::from_ns(now_ns)) {
            Turn::Wait => Err("wait"),
            Turn::Pick => Err("pick"),
            Turn::Take(request) => Ok(request.id),
        }
    }

    fn request(id: u64, lbn: u64, op: Op) -> Request {
        Request { id, op, ..Request::read(lbn, 8) }
    }

    fn serve(anticipation: &mut Anticipation, request: &Request, end_ns: u64) {
        anticipation.served(request, &Service { end: Time::from_ns(end_ns), ..Service::default() });
    }

    /// An anticipation of 10 ns after two reads, 0 to 8 and 8 to 16, of which the second ended at 100 ns; with those that wait.
    fn after_two(requests: u32, waiting: &[Request]) -> Anticipation {
        let mut anticipation = Anticipation::new(AnticipationSpec { wait_ms: 1e-5, requests });
        let reads = [request(0, 0, Op::Read), request(1, 8, Op::Read)];
        reads.iter().chain(waiting).for_each(|&each| anticipation.arrived(each));
        assert_eq!(turn(&mut anticipation, 0), Err("pick"));
        serve(&mut anticipation, &reads[0], 50);
        assert!(anticipation.expected.is_none(), "one read shows nothing");
        serve(&mut anticipation, &reads[1], 100);
        anticipation
    }

    #[test]
    fn others_wait_for_the_next_read_or_until_it_is_late() {
        let (other, next) = (request(2, 900, Op::Write), request(3, 16, Op::Read));
        let mut late = after_two(16, &[other]);
        assert_eq!((turn(&mut late, 100), turn(&mut late, 109)), (Err("wait"), Err("wait")));
        assert_eq!(late.deadline(), Some(Time::from_ns(110)));
        assert_eq!((turn(&mut late, 110), late.deadline()), (Err("pick"), None));
        // What comes then is not waited for any more, and has no turn of its own.
        late.arrived(next);
        assert_eq!(turn(&mut late, 111), Err("pick"));
        let mut in_time = after_two(16, &[other]);
        in_time.arrived(next);
        assert_eq!((turn(&mut in_time, 105), in_time.deadline()), (Ok(3), None));
    }

    #[test]
    fn nobody_waits_alone_and_a_read_waits_for_what_is_written_to_it() {
        let mut alone = after_two(16, &[]);
        assert_eq!((turn(&mut alone, 101), alone.deadline()), (Err("pick"), None));
        let mut written = after_two(16, &[request(2, 20, Op::Write), request(3, 16, Op::Read)]);
        assert_eq!((turn(&mut written, 101), written.deadline()), (Err("pick"), None));
    }

    #[test]
    fn a_row_of_reads_ends_and_so_does_what_another_request_breaks() {
        let reads = [16, 24, 32].map(|lbn| request(lbn, lbn, Op::Read));
        let mut row = after_two(2, &[request(2, 900, Op::Write), reads[0], reads[1], reads[2]]);
        for read in &reads[..2] {
            assert_eq!(turn(&mut row, 101), Ok(read.id));
            serve(&mut row, read, 101);
        }
        assert_eq!(turn(&mut row, 101), Err("pick"));
        let mut broken = after_two(16, &[request(2, 900, Op::Write), reads[0]]);
        serve(&mut broken, &request(2, 900, Op::Write), 102);
        assert_eq!(turn(&mut broken, 103), Err("pick"));
    }

    #[test]
    fn who_waits_is_counted_and_forgotten() {
        let mut anticipation = after_two(16, &[request(2, 900, Op::Write)]);
        assert_eq!(anticipation.check(1), Ok(()));
        let told = anticipation.check(2).unwrap_err();
        assert!(told.contains("requests wait while another is anticipated"), "{told}");
        anticipation.forget();
        assert_eq!((anticipation.check(0), turn(&mut anticipation, 101)), (Ok(()), Err("pick")));
    }
}
