//! Records the measured requests of a run.

use std::borrow::Cow;

use super::confidence::BatchMeans;
use super::histogram::Histogram;
use super::log::{Log, LogFacts, LogSender};
use super::moments::Moments;
use super::{Measure, Summary};
use crate::engine::Observer;
use crate::request::{Op, Request};
use crate::service::{Service, PHASES};

/// Durations of requests. Response = overhead + wait + service.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    /// From arrival to completion.
    pub response: Measure,
    /// From the end of command processing to dispatch.
    pub wait: Measure,
    /// From dispatch to completion.
    pub service: Measure,
}

/// A duration that every request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// From arrival to completion.
    Response,
    /// From the end of command processing to dispatch.
    Wait,
    /// From dispatch to completion.
    Service,
}

/// A selection of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All of them.
    All,
    /// Reads.
    Reads,
    /// Writes.
    Writes,
}

impl Durations {
    fn add(&mut self, latest: &Columns<3>) {
        for (i, measure) in [&mut self.response, &mut self.wait, &mut self.service].into_iter().enumerate() {
            measure.record_all(latest.column(i));
        }
    }

    fn of(&self, quantity: Quantity) -> &Measure {
        match quantity {
            Quantity::Response => &self.response,
            Quantity::Wait => &self.wait,
            Quantity::Service => &self.service,
        }
    }
}

/// Response times that the trace states for the same requests; empty if it states none.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Reads and writes.
    pub all: Measure,
    /// Reads.
    pub reads: Measure,
    /// Writes.
    pub writes: Measure,
    /// Flushes.
    pub flushes: Measure,
}

/// A phase of all measured requests, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PhaseSummary {
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub std_ns: f64,
    /// Largest value.
    pub max_ns: f64,
}

/// Records the requests of a run that arrived in its measurement window. Flushes are separate from reads and writes.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    facts: LogFacts,
    totals: Totals,
    latest: Latest,
    /// From arrival to completion.
    flushes: Measure,
    log: Option<Log>,
    log_sender: Option<LogSender>,
    recorded: Recorded,
}

/// Statistics of reads and writes.
#[derive(Clone, Debug, Default)]
struct Totals {
    reads: Durations,
    writes: Durations,
    /// Batch means of reads and writes in their common order: response, wait, service.
    reads_and_writes: [BatchMeans; 3],
    phases: [Moments; PHASES.len()],
}

impl Totals {
    fn add(&mut self, latest: &Latest) {
        self.reads.add(&latest.reads);
        self.writes.add(&latest.writes);
        self.reads_and_writes.iter_mut().enumerate().for_each(|(i, means)| means.record_all(latest.all.column(i)));
        self.phases.iter_mut().enumerate().for_each(|(i, moments)| moments.record_all(latest.phases.column(i)));
    }
}

/// The latest reads and writes, which are not in [`Totals`] yet: statistics of many values at a time take fewer instructions.
#[derive(Clone, Debug, Default)]
struct Latest {
    /// Response, wait and service.
    all: Columns<3>,
    reads: Columns<3>,
    writes: Columns<3>,
    phases: Columns<{ PHASES.len() }>,
}

/// Most requests in [`Latest`].
const LATEST: usize = 32;

/// Values of `N` quantities in their order, ns.
#[derive(Clone, Debug)]
struct Columns<const N: usize> {
    count: usize,
    values_ns: [[u64; LATEST]; N],
}

impl<const N: usize> Default for Columns<N> {
    fn default() -> Self {
        Self { count: 0, values_ns: [[0; LATEST]; N] }
    }
}

impl<const N: usize> Columns<N> {
    /// Adds a value of each quantity. There must be fewer than [`LATEST`].
    #[inline]
    fn push(&mut self, values_ns: [u64; N]) {
        debug_assert!(self.count < LATEST, "full columns are added to the totals");
        // The remainder tells the compiler that the index is valid.
        let place = self.count % LATEST;
        for (column, value) in self.values_ns.iter_mut().zip(values_ns) {
            column[place] = value;
        }
        self.count += 1;
    }

    fn column(&self, quantity: usize) -> &[u64] {
        &self.values_ns[quantity][..self.count]
    }

    fn clear(&mut self) {
        self.count = 0;
    }
}

impl Recorder {
    /// Returns an empty recorder of requests that spend `overhead_ns` in command processing. Blocks have `block_bytes`. With `log`,
    /// it keeps every request.
    #[must_use]
    pub fn new(overhead_ns: u64, block_bytes: u32, log: bool) -> Self {
        let facts = LogFacts { overhead_ns, block_bytes };
        Self { facts, log: log.then(Log::default), ..Self::default() }
    }

    /// Sends every request to the writer of a file, until [`Recorder::end_log`].
    pub fn send_log(&mut self, sender: LogSender) {
        self.log_sender = Some(sender);
    }

    /// Sends the last requests to the writer of the file.
    pub fn end_log(&mut self) {
        if let Some(mut sender) = self.log_sender.take() {
            sender.flush(self.facts);
        }
    }

    /// Adds the latest requests to the totals. Reading is correct without it, and faster with it.
    pub fn settle(&mut self) {
        self.totals.add(&self.latest);
        let Latest { all, reads, writes, phases } = &mut self.latest;
        [all, reads, writes].into_iter().for_each(Columns::clear);
        phases.clear();
    }

    /// Returns the totals with the latest requests.
    fn totals(&self) -> Cow<'_, Totals> {
        if self.latest.all.count == 0 {
            return Cow::Borrowed(&self.totals);
        }
        let mut totals = self.totals.clone();
        totals.add(&self.latest);
        Cow::Owned(totals)
    }

    /// Durations of reads.
    #[must_use]
    pub fn reads(&self) -> Cow<'_, Durations> {
        match self.totals() {
            Cow::Borrowed(totals) => Cow::Borrowed(&totals.reads),
            Cow::Owned(totals) => Cow::Owned(totals.reads),
        }
    }

    /// Durations of writes.
    #[must_use]
    pub fn writes(&self) -> Cow<'_, Durations> {
        match self.totals() {
            Cow::Borrowed(totals) => Cow::Borrowed(&totals.writes),
            Cow::Owned(totals) => Cow::Owned(totals.writes),
        }
    }

    /// Responses of flushes.
    #[must_use]
    pub fn flushes(&self) -> &Measure {
        &self.flushes
    }

    /// Response times of reads and writes in order of completion.
    #[must_use]
    pub fn responses(&self) -> BatchMeans {
        let mut responses = self.totals.reads_and_writes[Quantity::Response as usize].clone();
        responses.record_all(self.latest.all.column(Quantity::Response as usize));
        responses
    }

    /// Response times that the trace states for the same requests.
    #[must_use]
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// Number of reads and writes recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.totals.phases[0].count() + self.latest.all.count as u64
    }

    /// Time in command processing, ns.
    #[must_use]
    pub fn overhead_ns(&self) -> u64 {
        self.facts.overhead_ns
    }

    /// Each phase, in the order of [`PHASES`].
    #[must_use]
    pub fn phases(&self) -> [PhaseSummary; PHASES.len()] {
        self.totals().phases.each_ref().map(|moments| PhaseSummary {
            mean_ns: moments.mean_ns(),
            std_ns: moments.population_variance_ns2().sqrt(),
            max_ns: moments.max_ns().unwrap_or(0) as f64,
        })
    }

    /// The log, if one is kept.
    #[must_use]
    pub fn log(&self) -> Option<&Log> {
        self.log.as_ref()
    }

    /// Returns the summary of a quantity over reads and writes, or `None` if nothing was recorded.
    #[must_use]
    pub fn summary(&self, quantity: Quantity) -> Option<Summary> {
        let totals = self.totals();
        let mut moments = totals.reads.of(quantity).moments().clone();
        moments.merge(totals.writes.of(quantity).moments());
        Summary::of(&moments, &self.histogram(quantity, Selection::All), &totals.reads_and_writes[quantity as usize])
    }

    /// Returns the distribution of a quantity.
    #[must_use]
    pub fn histogram(&self, quantity: Quantity, selection: Selection) -> Histogram {
        let totals = self.totals();
        match selection {
            Selection::Reads => totals.reads.of(quantity).histogram().clone(),
            Selection::Writes => totals.writes.of(quantity).histogram().clone(),
            Selection::All => {
                let mut all = totals.reads.of(quantity).histogram().clone();
                all.merge(totals.writes.of(quantity).histogram());
                all
            }
        }
    }

    /// Returns the values of the run that columns of its log depend on.
    #[must_use]
    pub fn log_facts(&self) -> LogFacts {
        self.facts
    }
}

impl Observer for Recorder {
    #[inline]
    fn served(&mut self, request: &Request, service: &Service) {
        if request.op == Op::Reset {
            return;
        }
        if let Some(log) = &mut self.log {
            log.entries.push((*request, *service));
        }
        if let Some(sender) = &mut self.log_sender {
            sender.push(self.facts, (*request, *service));
        }
        if request.is_flush() {
            self.flushes.record(service.end - request.arrival);
            return;
        }
        let values = [service.end - request.arrival, self.facts.wait_ns(request, service), service.end - service.start];
        let Latest { all, reads, writes, phases } = &mut self.latest;
        all.push(values);
        if request.op == Op::Read { reads } else { writes }.push(values);
        phases.push(service.phases.values_ns());
        if all.count == LATEST {
            self.settle();
        }
    }

    fn recorded(&mut self, request: &Request, response_ns: u64) {
        let Recorded { all, reads, writes, flushes } = &mut self.recorded;
        match request.op {
            Op::Read => reads.record(response_ns),
            Op::Write => writes.record(response_ns),
            Op::Flush => return flushes.record(response_ns),
            Op::Reset => return,
        }
        all.record(response_ns);
    }
}
