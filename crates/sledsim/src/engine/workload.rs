//! What the run loop asks of a workload.

use crate::engine::component::Completion;
use crate::fault::Fault;
use crate::request::Request;
use crate::time::Time;

/// When the next request comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At this time, not before the last arrival taken and not before the last completion heard.
    At(Time),
    /// Not known yet: the source has work to do first, and is to be asked again.
    Busy,
    /// Not until a completion is heard.
    Waiting,
    /// Never.
    Ended,
}

/// Produces arrivals and hears completions, so closed loops, think times and dependent replay need no special case.
pub trait Workload: Send {
    /// When the next request comes. May be asked any number of times; after an
    /// answer other than [`Next::Busy`], it changes only with [`Workload::take`] or [`Workload::completed`].
    ///
    /// # Errors
    /// Whatever stops the source: a corrupt trace record, a request that does not fit.
    fn peek(&mut self) -> Result<Next, Fault>;

    /// Removes the next request; called only when [`Workload::peek`] answered [`Next::At`]. The request's `arrival` is
    /// that time and its `id` counts from 0.
    fn take(&mut self) -> Request;

    /// Whether arrivals do not depend on completions: then nobody needs to tell them.
    fn is_open(&self) -> bool {
        false
    }

    /// Whether flushes may be among its requests.
    fn may_flush(&self) -> bool {
        false
    }

    /// How much of the workload has been taken, from 0 to 1, where that can be told.
    fn fraction_taken(&self) -> Option<f64> {
        None
    }

    /// Bad records passed over so far, as far as that was allowed.
    fn skipped(&self) -> u64 {
        0
    }

    /// Whether it knows what requests took elsewhere: see [`Workload::response_ns`].
    fn has_responses(&self) -> bool {
        false
    }

    /// What a request, which is about to be heard of as completed, took where the workload was recorded.
    fn response_ns(&self, _request: &Request) -> Option<u64> {
        None
    }

    /// Handles the completion of a request at the current time, `completion.service.end`.
    fn completed(&mut self, completion: &Completion);
}
