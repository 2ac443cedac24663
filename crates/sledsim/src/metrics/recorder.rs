//! Records the measured requests of a run.

use super::confidence::BatchMeans;
use super::histogram::Histogram;
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

/// The request log: one entry per measured request, in order of completion.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Requests and their services.
    pub entries: Vec<(Request, Service)>,
}

/// Records the requests of a run that arrived in its measurement window. Flushes are separate from reads and writes.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    overhead_ns: u64,
    reads: Durations,
    writes: Durations,
    /// From arrival to completion.
    flushes: Measure,
    /// Batch means of reads and writes in their common order: response, wait, service.
    reads_and_writes: [BatchMeans; 3],
    /// Phases that are not 0. Most phases of most requests are 0 and are not recorded.
    phases: [Moments; PHASES.len()],
    block_bytes: u32,
    log: Option<Log>,
    recorded: Recorded,
}

impl Recorder {
    /// Returns an empty recorder of requests that spend `overhead_ns` in command processing. Blocks have `block_bytes`. With `log`,
    /// it keeps every request.
    #[must_use]
    pub fn new(overhead_ns: u64, block_bytes: u32, log: bool) -> Self {
        Self { overhead_ns, block_bytes, log: log.then(Log::default), ..Self::default() }
    }

    /// Durations of reads.
    #[must_use]
    pub fn reads(&self) -> &Durations {
        &self.reads
    }

    /// Durations of writes.
    #[must_use]
    pub fn writes(&self) -> &Durations {
        &self.writes
    }

    /// Responses of flushes.
    #[must_use]
    pub fn flushes(&self) -> &Measure {
        &self.flushes
    }

    /// Response times of reads and writes in order of completion.
    #[must_use]
    pub fn responses(&self) -> &BatchMeans {
        &self.reads_and_writes[0]
    }

    /// Response times that the trace states for the same requests.
    #[must_use]
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// Number of reads and writes recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.reads.response.moments().count() + self.writes.response.moments().count()
    }

    /// Time in command processing, ns.
    #[must_use]
    pub fn overhead_ns(&self) -> u64 {
        self.overhead_ns
    }

    /// Each phase, in the order of [`PHASES`].
    #[must_use]
    pub fn phases(&self) -> [PhaseSummary; PHASES.len()] {
        let count = self.count();
        self.phases.each_ref().map(|nonzero| {
            let moments = nonzero.with_zeros_up_to(count);
            PhaseSummary {
                mean_ns: moments.mean_ns(),
                std_ns: moments.population_variance_ns2().sqrt(),
                max_ns: moments.max_ns().unwrap_or(0) as f64,
            }
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
        let mut moments = self.reads.of(quantity).moments().clone();
        moments.merge(self.writes.of(quantity).moments());
        Summary::of(&moments, &self.histogram(quantity, Selection::All), &self.reads_and_writes[quantity as usize])
    }

    /// Returns the distribution of a quantity.
    #[must_use]
    pub fn histogram(&self, quantity: Quantity, selection: Selection) -> Histogram {
        match selection {
            Selection::Reads => self.reads.of(quantity).histogram().clone(),
            Selection::Writes => self.writes.of(quantity).histogram().clone(),
            Selection::All => {
                let mut all = self.reads.of(quantity).histogram().clone();
                all.merge(self.writes.of(quantity).histogram());
                all
            }
        }
    }

    /// Returns the bytes that a logged request needs of its blocks.
    #[must_use]
    pub fn needed_bytes(&self, request: &Request) -> u64 {
        request.needed(self.block_bytes).bytes(self.block_bytes)
    }

    /// Returns the time from the end of command processing to dispatch of a logged request, ns.
    #[must_use]
    pub fn wait_ns(&self, request: &Request, service: &Service) -> u64 {
        service.start.saturating_since(request.arrival + self.overhead_ns)
    }
}

impl Observer for Recorder {
    #[inline]
    fn served(&mut self, request: &Request, service: &Service) {
        if let Some(log) = &mut self.log {
            log.entries.push((*request, *service));
        }
        if request.is_flush() {
            self.flushes.record(service.end - request.arrival);
            return;
        }
        let values = [service.end - request.arrival, self.wait_ns(request, service), service.end - service.start];
        let durations = if request.op == Op::Read { &mut self.reads } else { &mut self.writes };
        durations.response.record(values[0]);
        durations.wait.record(values[1]);
        durations.service.record(values[2]);
        for (means, value) in self.reads_and_writes.iter_mut().zip(values) {
            means.record(value);
        }
        for (moments, &value) in self.phases.iter_mut().zip(&service.phases.values_ns()) {
            if value != 0 {
                moments.record(value);
            }
        }
    }

    fn recorded(&mut self, request: &Request, response_ns: u64) {
        let Recorded { all, reads, writes, flushes } = &mut self.recorded;
        match request.op {
            Op::Read => reads.record(response_ns),
            Op::Write => writes.record(response_ns),
            Op::Flush => return flushes.record(response_ns),
        }
        all.record(response_ns);
    }
}
