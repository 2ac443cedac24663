//! A closed loop of users.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Process, ProcessSpec, LAST_ARRIVAL_NS};
use crate::convert::trunc_to_u64;
use crate::engine::random::Stream;
use crate::fault::{Fault, Faults};
use crate::time::Time;
use crate::units::NS_PER_MS;
use crate::workloads::distribution::within;
use crate::workloads::{Distribution, Next, Sampler};

/// A fixed number of users: each sends a request at the start and another one a think time after each completion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct Spec {
    /// Number of users: the most requests that are outstanding at the same time.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub outstanding: u32,
    /// Time from a completion until the user's next request, ms.
    #[serde(default = "no_time")]
    pub think_ms: Distribution,
}

fn no_time() -> Distribution {
    Distribution::Fixed { value: 0.0 }
}

impl ProcessSpec for Spec {
    fn validate(&self) -> Result<(), Faults> {
        Faults::of_all([
            within("outstanding", f64::from(self.outstanding), 1.0, 1e6),
            self.think_ms.validate().map_err(|fault| fault.within("think_ms")),
        ])
    }

    fn start(&self, time_scale: f64, stream: Stream) -> Result<Box<dyn Process>, Fault> {
        let (unsent, think_ms) = (self.outstanding, self.think_ms.sampler()?);
        Ok(Box::new(Closed { stream, time_scale, unsent, think_ms, returns: BinaryHeap::new() }))
    }
}

#[derive(Debug)]
struct Closed {
    stream: Stream,
    /// Factor on all times.
    time_scale: f64,
    /// Users that have not sent a request yet.
    unsent: u32,
    think_ms: Sampler,
    /// When users that think send their next request.
    returns: BinaryHeap<Reverse<Time>>,
}

impl Closed {
    fn next(&self) -> Next {
        if self.unsent > 0 {
            return Next::At(Time::ZERO);
        }
        self.returns.peek().map_or(Next::Waiting, |&Reverse(at)| Next::At(at))
    }
}

impl Process for Closed {
    fn first(&mut self) -> Next {
        self.next()
    }

    fn advance(&mut self) -> Next {
        if self.unsent > 0 {
            self.unsent -= 1;
        } else {
            self.returns.pop();
        }
        self.next()
    }

    fn is_open(&self) -> bool {
        false
    }

    fn completed(&mut self, end: Time) -> Option<Next> {
        let think_ns = trunc_to_u64(self.think_ms.sample(&mut self.stream) * self.time_scale * NS_PER_MS + 0.5);
        // The next request comes by the last arrival time, but not before the completion.
        let return_ns = end.ns().saturating_add(think_ns).min(LAST_ARRIVAL_NS.max(end.ns()));
        self.returns.push(Reverse(Time::from_ns(return_ns)));
        Some(self.next())
    }
}
