//! Faults of a child: a device that fails, and unreadable blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::common::{BlockSet, Child, Outstanding};
use crate::convert::trunc_to_u64;
use crate::engine::random::Stream;
use crate::engine::{Completion, Component, ComponentId, Context, Descendants, Instrumentation, PowerLoss, Status};
use crate::fault::{Fault, Kind};
use crate::request::{Op, Request};
use crate::service::Service;
use crate::time::{s_to_ns, Time};

/// Timer tag: the child fails.
const FAILS: u64 = u64::MAX;

/// Blocks that are unreadable until they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnreadableSpec {
    /// First block.
    #[schemars(range(min = 0))]
    pub lbn: u64,
    /// Number of blocks.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub blocks: u64,
}

/// Faults of a member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultSpec {
    /// Time of failure; never if absent.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e9), extend("x-unit" = "s"))]
    pub fails_at_s: Option<f64>,
    /// Time until an access detects the failure.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6), extend("x-unit" = "ms"))]
    pub detect_ms: f64,
    /// Latent sector errors: unreadable blocks.
    #[serde(default)]
    pub unreadable: Vec<UnreadableSpec>,
    /// Further latent sector errors of single blocks at random addresses: mean number in 1e9 bytes.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub latent_per_gb: f64,
}

/// Faults of a numbered member of an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct MemberFaultSpec {
    /// Number of the member, from 0; spares follow the members.
    #[schemars(range(min = 0))]
    pub member: u32,
    /// Its faults.
    #[serde(flatten)]
    pub fault: FaultSpec,
}

impl FaultSpec {
    /// Mean number of random latent sector errors of a child.
    pub(crate) fn latent_errors(&self, capacity_blocks: u64, block_bytes: u32) -> f64 {
        self.latent_per_gb * (capacity_blocks as f64 * f64::from(block_bytes)) * 1e-9
    }
}

/// A child that fails at a given time, or has latent sector errors.
///
/// Requests that are under way at the failure or arrive later fail. A read of a block with an error completes as unreadable, at the
/// time at which the child would have served it; a write repairs its blocks.
#[derive(Clone)]
pub struct Faulty {
    child: ComponentId,
    capacity_blocks: u64,
    block_bytes: u32,
    fails_at: Option<Time>,
    detect_ns: u64,
    has_failed: bool,
    /// True if the timer of the failure is set.
    timer_is_set: bool,
    /// Blocks with latent sector errors.
    unreadable: BlockSet,
    under_way: Outstanding<Request>,
    /// Requests that will complete as failed once the failure is detected.
    failing: Outstanding<Request>,
}

impl Faulty {
    /// A child with the faults of `spec`. Random errors come from `stream`.
    ///
    /// # Errors
    /// Unreadable blocks beyond the capacity of the child.
    pub fn new(child: Child, spec: &FaultSpec, stream: &mut Stream) -> Result<Self, Fault> {
        let Child { id, capacity_blocks, block_bytes } = child;
        let mut faulty = Self {
            child: id,
            capacity_blocks,
            block_bytes,
            fails_at: spec.fails_at_s.map(|at| Time::from_ns(s_to_ns(at))),
            detect_ns: s_to_ns(spec.detect_ms * 1e-3),
            has_failed: false,
            timer_is_set: false,
            unreadable: BlockSet::default(),
            under_way: Outstanding::default(),
            failing: Outstanding::default(),
        };
        for (entry, &UnreadableSpec { lbn, blocks }) in spec.unreadable.iter().enumerate() {
            let end = lbn.checked_add(blocks).filter(|&end| blocks > 0 && end <= capacity_blocks);
            let end = end.ok_or_else(|| {
                let says = format!(": the member has {capacity_blocks} blocks, no {blocks} from {lbn} on");
                Fault::at(Kind::Misfit, format!("unreadable.{entry}")).says(says)
            })?;
            faulty.unreadable.insert(lbn, end);
        }
        if spec.latent_per_gb > 0.0 {
            faulty.add_latent(1e9 / (spec.latent_per_gb * f64::from(block_bytes)), stream);
        }
        Ok(faulty)
    }

    /// Adds errors at exponentially distributed distances of mean `mean_blocks`.
    fn add_latent(&mut self, mean_blocks: f64, stream: &mut Stream) {
        let mut at = stream.exponential() * mean_blocks;
        while at < self.capacity_blocks as f64 {
            let lbn = trunc_to_u64(at);
            self.unreadable.insert(lbn, lbn + 1);
            at += stream.exponential() * mean_blocks;
        }
    }

    fn is_unreadable(&self, request: &Request) -> bool {
        self.unreadable.touches(request.lbn, request.end_lbn())
    }

    /// Fails if the time has come; sets the timer of the failure otherwise.
    fn check_failure(&mut self, context: &mut Context<'_>) {
        match self.fails_at {
            Some(at) if at <= context.now() => self.fail(context),
            Some(at) if !self.timer_is_set => {
                self.timer_is_set = true;
                context.timer(at, FAILS);
            }
            _ => {}
        }
    }

    /// Fails the child and all requests under way.
    fn fail(&mut self, context: &mut Context<'_>) {
        if !std::mem::replace(&mut self.has_failed, true) {
            for request in self.under_way.drain() {
                self.complete_as_failed(request, context);
            }
        }
    }

    /// Completes a request as failed after the detection time.
    fn complete_as_failed(&mut self, request: Request, context: &mut Context<'_>) {
        let id = self.failing.insert(request);
        context.timer(context.now() + self.detect_ns, id);
    }
}

impl Component for Faulty {
    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let payload = context.payload(&request);
        self.check_failure(context);
        if self.has_failed {
            self.complete_as_failed(request, context);
        } else {
            let id = self.under_way.insert(request);
            context.submit_with(self.child, Request { id, ..request }, payload);
        }
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.read_payload(child, completion);
        // Requests under way at the failure have been completed already.
        let Some(request) = self.under_way.remove(completion.request.id) else { return };
        let mut status = completion.status;
        if completion.is_served() {
            match request.op {
                Op::Read if self.is_unreadable(&request) => status = Status::Unreadable,
                Op::Read | Op::Flush | Op::Reset => {}
                Op::Write => {
                    self.unreadable.remove(request.lbn, request.end_lbn());
                }
            }
        }
        context.complete_with(&Completion { request, status, ..*completion }, answer);
    }

    fn timer(&mut self, tag: u64, context: &mut Context<'_>) {
        if tag == FAILS {
            self.fail(context);
        } else {
            let (request, now) = (self.failing.take(tag), context.now());
            let service = Service { start: now, end: now, free: now, ..Service::default() };
            context.complete(&Completion { request, service, status: Status::Failed });
        }
    }

    fn reach_ns(&self, now: Time, request: &Request, below: &Descendants<'_>) -> Option<u64> {
        below.reach_ns(self.child, now, request)
    }
}

impl PowerLoss for Faulty {
    fn power_cut(&mut self, _now: Time) {
        self.under_way.clear();
        self.failing.clear();
        self.timer_is_set = false;
    }
}

impl Instrumentation for Faulty {
    fn check_invariants(&self, at_rest: bool) -> Result<(), String> {
        let (under_way, failing) = (self.under_way.len(), self.failing.len());
        if at_rest && under_way + failing > 0 || self.has_failed && under_way > 0 {
            return Err(format!("{under_way} requests under way and {failing} failing, at rest: {at_rest}"));
        }
        Ok(())
    }
}

const fn one() -> u64 {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(capacity_blocks: u64) -> Child {
        Child { id: ComponentId(0), capacity_blocks, block_bytes: 512 }
    }

    #[test]
    fn latent_errors_have_the_specified_density() {
        let spec = FaultSpec { latent_per_gb: 1000.0, ..FaultSpec::default() };
        let mut stream = Stream::new(1, "faults");
        let faulty = Faulty::new(child(20_000_000), &spec, &mut stream).expect("it fits");
        // The number of a Poisson process: its standard deviation is the root of its mean.
        let expected = 1000.0 * 20e6 * 512e-9;
        assert!((faulty.unreadable.ranges().count() as f64 - expected).abs() < 4.0 * f64::sqrt(expected));
    }

    #[test]
    fn a_request_under_way_at_rest_is_reported() {
        let mut stream = Stream::new(1, "faults");
        let faulty = Faulty::new(child(100), &FaultSpec::default(), &mut stream);
        let mut faulty = faulty.expect("it fits");
        assert_eq!(faulty.check_invariants(true), Ok(()));
        faulty.failing.insert(Request::read(3, 2));
        let error = faulty.check_invariants(true).expect_err("a request at rest");
        assert!(error.contains("0 requests under way and 1 failing"), "{error}");
    }
}
