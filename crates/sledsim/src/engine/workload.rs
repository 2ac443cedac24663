//! Workloads: sources of requests.

use crate::engine::component::Completion;
use crate::fault::Fault;
use crate::request::Request;
use crate::time::Time;

/// When the next request arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At this time, which is not before the last arrival taken or the last completion handled.
    At(Time),
    /// Not known yet: the source has work to do first. Call again.
    Busy,
    /// After a completion, at a time that is not known yet.
    Waiting,
    /// Never.
    Ended,
}

/// The source of replayed requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Name of the trace's format.
    pub format: &'static str,
    /// The evidence for the format: the number of first lines that fit it, or that it was given.
    pub detected_by: String,
    /// The units of times and addresses in the trace.
    pub units: Option<String>,
    /// The replay mode in use.
    pub mode: &'static str,
    /// Number of resets of zones left out so far, because the root has no zones.
    pub resets_left_out: u64,
}

/// Produces arrivals and handles completions, so that closed loops, think times and dependent replay need no special case.
pub trait Workload: Send {
    /// Returns when the next request arrives. After an answer other than [`Next::Busy`] the answer changes only with
    /// [`Workload::take`] or [`Workload::completed`].
    ///
    /// # Errors
    /// The source cannot continue: a corrupt trace record, a request that does not fit.
    fn peek(&mut self) -> Result<Next, Fault>;

    /// Removes the next request; called only after [`Workload::peek`] returned [`Next::At`]. The request's `arrival` is
    /// that time and its `id` counts from 0.
    fn take(&mut self) -> Request;

    /// Returns true if arrivals do not depend on completions. Then [`Workload::completed`] need not be called.
    fn is_open(&self) -> bool {
        false
    }

    /// Returns true if some requests may be flushes.
    fn may_flush(&self) -> bool {
        false
    }

    /// Fraction of the workload taken so far, from 0 to 1; `None` if unknown.
    fn fraction_taken(&self) -> Option<f64> {
        None
    }

    /// Returns the source of replayed requests; `None` for other workloads.
    fn replayed(&self) -> Option<Replayed> {
        None
    }

    /// Number of bad records skipped so far.
    fn skipped(&self) -> u64 {
        0
    }

    /// Returns true if the workload has recorded response times, see [`Workload::response_ns`].
    fn has_responses(&self) -> bool {
        false
    }

    /// Returns the recorded response time of a request; called just before [`Workload::completed`].
    fn response_ns(&self, _request: &Request) -> Option<u64> {
        None
    }

    /// Handles the completion of a request at the current time, `completion.service.end`.
    fn completed(&mut self, completion: &Completion);
}
