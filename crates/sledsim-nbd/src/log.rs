//! A log of all requests and of the accuracy of their reply times.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

use sledsim::request::Op;

/// A reply is on time if the response time differs from the simulated one by at most this share of it.
pub const ON_TIME_SHARE: f64 = 0.02;
/// Share of replies on time from which the times are trusted.
pub const TRUSTED_SHARE: f64 = 0.99;
/// Errors that are kept for quantiles, the latest ones: a server may run for weeks.
const MAX_ERRORS: usize = 1 << 20;

/// A request that was replied to; times are those of the session's clock, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Number of the request in the session, in the order of arrival.
    pub id: u64,
    /// When the request had been read from its socket.
    pub asked_ns: u64,
    /// When it arrived at the system: later than it was read if others were submitted first.
    pub arrival_ns: u64,
    /// When its reply was due.
    pub due_ns: u64,
    /// When its reply was sent, with the [latency](crate::latency::Latency) of the transport.
    pub sent_ns: u64,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u32,
    /// Kind of the request.
    pub op: Op,
    /// True if it had to be durable before the reply.
    pub durable: bool,
}

/// The log of a server: counts, errors of the times, and optionally a trace in a file.
#[derive(Debug, Default)]
pub struct Log {
    file: Option<BufWriter<File>>,
    error: Option<io::Error>,
    /// Lines of requests that were replied to before earlier ones, by number: a trace is in the order of arrival.
    waiting: BTreeMap<u64, String>,
    /// Reads, writes, flushes.
    counts: [u64; 3],
    on_time: u64,
    errors_ns: Vec<u64>,
}

impl Log {
    /// Returns an empty log. If a file is given, a trace replaces its content.
    ///
    /// The first record of the trace is a flush at time 0: a replay starts its clock at the first record, and the rotation of a disk
    /// depends on it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(file: Option<File>) -> io::Result<Self> {
        let Some(mut file) = file else { return Ok(Self::default()) };
        file.set_len(0)?;
        file.rewind()?;
        let mut file = BufWriter::new(file);
        writeln!(file, "t_ns,device,offset_bytes,bytes,op,asked_ns,due_ns,sent_ns,response_ns\n0,0,0,0,F,0,0,0,0")?;
        Ok(Self { file: Some(file), ..Self::default() })
    }

    /// Adds a request.
    pub fn add(&mut self, record: Record) {
        let Record { id, asked_ns, arrival_ns, due_ns, sent_ns, offset, bytes, op, durable } = record;
        let (place, letters) = match op {
            Op::Read => (0, "R"),
            Op::Write if durable => (1, "WF"),
            Op::Write => (1, "W"),
            Op::Flush | Op::Reset => (2, "F"),
        };
        self.counts[place] += 1;
        // The time between reading a request and its arrival makes the reply late.
        let (simulated_ns, response_ns) = (due_ns.saturating_sub(arrival_ns), sent_ns.saturating_sub(asked_ns));
        // A flush may take no time, so it has no relative error.
        if op != Op::Flush {
            let error_ns = response_ns.abs_diff(simulated_ns);
            self.on_time += u64::from(error_ns as f64 <= ON_TIME_SHARE * simulated_ns as f64);
            if self.errors_ns.len() < MAX_ERRORS {
                self.errors_ns.push(error_ns);
            } else {
                self.errors_ns[(self.counts[0] + self.counts[1]) as usize % MAX_ERRORS] = error_ns;
            }
        }
        if self.file.is_some() {
            let line = format!("{arrival_ns},0,{offset},{bytes},{letters},{asked_ns},{due_ns},{sent_ns},{response_ns}");
            self.waiting.insert(id, line);
        }
    }

    /// Writes the lines of all requests before the oldest outstanding one; all lines if there is none.
    pub fn write_before(&mut self, oldest_outstanding: Option<u64>) {
        while let Some(first) = self.waiting.first_entry() {
            if oldest_outstanding.is_some_and(|oldest| *first.key() > oldest) {
                return;
            }
            let line = first.remove();
            let Some(file) = &mut self.file else { continue };
            if let Err(error) = writeln!(file, "{line}") {
                // Earlier lines are kept, and the error is reported at the end.
                self.error.get_or_insert(error);
                self.file = None;
            }
        }
    }

    /// Ends the log and summarises it; `dilation` converts times of the session into those of the machine.
    #[must_use]
    pub fn summary(mut self, dilation: f64) -> Summary {
        self.write_before(None);
        if let Some(Err(error)) = self.file.as_mut().map(Write::flush) {
            self.error.get_or_insert(error);
        }
        self.errors_ns.sort_unstable();
        let quantile_us =
            |share: f64| self.errors_ns[((self.errors_ns.len() - 1) as f64 * share) as usize] as f64 * dilation / 1e3;
        let [reads, writes, flushes] = self.counts;
        let timed = reads + writes;
        Summary {
            reads,
            writes,
            flushes,
            accuracy: (timed != 0).then(|| Accuracy {
                on_time: self.on_time as f64 / timed as f64,
                median_error_us: quantile_us(0.5),
                p99_error_us: quantile_us(0.99),
            }),
            log_fault: self.error.map(|error| error.to_string()),
        }
    }
}

/// Summary of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Number of flushes.
    pub flushes: u64,
    /// Accuracy of the response times; `None` without reads and writes.
    pub accuracy: Option<Accuracy>,
    /// Why the trace is incomplete, if it is.
    pub log_fault: Option<String>,
}

/// Differences between the response times of reads and writes and the simulated ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Share of replies on time, within 2 %.
    pub on_time: f64,
    /// Median difference, µs of the machine's clock.
    pub median_error_us: f64,
    /// 99th percentile of the differences, µs of the machine's clock.
    pub p99_error_us: f64,
}

impl Accuracy {
    /// Returns true if enough replies were on time for measurements of programs to be valid.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.on_time >= TRUSTED_SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(asked_ns: u64, due_ns: u64, sent_ns: u64, op: Op) -> Record {
        Record { id: 0, asked_ns, arrival_ns: asked_ns, due_ns, sent_ns, offset: 0, bytes: 512, op, durable: false }
    }

    #[test]
    fn replies_are_on_time_within_two_percent() {
        let mut log = Log::default();
        for (sent_ns, op) in [(1_020_000, Op::Read), (980_000, Op::Write), (1_020_001, Op::Read), (1_000_000, Op::Read)]
        {
            log.add(record(0, 1_000_000, sent_ns, op));
        }
        log.add(record(0, 0, 9, Op::Flush));
        let summary = log.summary(10.0);
        assert_eq!((summary.reads, summary.writes, summary.flushes), (3, 1, 1));
        let accuracy = summary.accuracy.expect("there were reads");
        assert_eq!((accuracy.on_time, accuracy.is_trusted()), (0.75, false));
        assert_eq!((accuracy.median_error_us, accuracy.p99_error_us), (200.0, 200.0));
    }

    #[test]
    fn accuracy_needs_reads_or_writes() {
        assert_eq!(Log::default().summary(1.0).accuracy, None);
        let mut log = Log::default();
        log.add(record(0, 0, 9, Op::Flush));
        assert_eq!(log.summary(1.0).accuracy, None);
    }

    #[test]
    fn time_before_the_arrival_makes_a_reply_late() {
        let mut log = Log::default();
        log.add(Record { arrival_ns: 50_000, ..record(0, 1_050_000, 1_050_000, Op::Read) });
        let accuracy = log.summary(1.0).accuracy.expect("there was a read");
        assert_eq!((accuracy.on_time, accuracy.median_error_us), (0.0, 50.0));
    }
}
