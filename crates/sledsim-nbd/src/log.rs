//! Every request that was answered, and whether the answers came when they should.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

use sledsim::request::Op;

/// An answer is on time where it left within this share of what it should take.
pub const SHARE: f64 = 0.02;
/// So much of the requests have to be on time for the delivery to be trusted.
pub const TRUSTED: f64 = 0.99;

/// A request that was answered: times of the session's clock, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Which of the session's requests it was: they count up in the order of coming.
    pub id: u64,
    /// When it had been read.
    pub asked_ns: u64,
    /// When it came to the system: a little later where others were handed in first.
    pub arrival_ns: u64,
    /// When the answer should have left.
    pub due_ns: u64,
    /// When it left, with what [its way](crate::way::Way) was found to take on top.
    pub sent_ns: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u32,
    /// What it asked for.
    pub op: Op,
    /// Whether it was to be durable when it was answered.
    pub durable: bool,
}

/// What is known of the answers so far, and where they are written down.
#[derive(Debug, Default)]
pub struct Log {
    file: Option<BufWriter<File>>,
    broken: Option<io::Error>,
    /// Lines of what was answered before something that had come earlier: a trace goes by the time of coming.
    overtook: BTreeMap<u64, String>,
    /// Reads, writes, flushes.
    counts: [u64; 3],
    on_time: u64,
    errors_ns: Vec<u64>,
}

/// Errors that are kept for the median and beyond, the latest: a server may run for weeks.
const KEPT: usize = 1 << 20;

impl Log {
    /// A log that writes a trace, where a file is given: arrivals, and the responses that were had. What was in the file is gone.
    ///
    /// The trace's first record is a flush as the session's clock begins. A replay begins with its first record: without
    /// this one a disk's turns would be off by what passed until somebody asked for something.
    ///
    /// # Errors
    /// Where the file can't be written.
    pub fn new(file: Option<File>) -> io::Result<Self> {
        let Some(mut file) = file else { return Ok(Self::default()) };
        file.set_len(0)?;
        file.rewind()?;
        let mut file = BufWriter::new(file);
        writeln!(file, "t_ns,device,offset_bytes,bytes,op,asked_ns,due_ns,sent_ns,response_ns\n0,0,0,0,F,0,0,0,0")?;
        Ok(Self { file: Some(file), ..Self::default() })
    }

    /// Takes an answer down.
    pub fn add(&mut self, entry: Entry) {
        let Entry { id, asked_ns, arrival_ns, due_ns, sent_ns, offset, bytes, op, durable } = entry;
        let (place, letters) = match op {
            Op::Read => (0, "R"),
            Op::Write if durable => (1, "WF"),
            Op::Write => (1, "W"),
            Op::Flush => (2, "F"),
        };
        self.counts[place] += 1;
        // What passed before the system was asked makes an answer late as well.
        let (takes_ns, response_ns) = (due_ns.saturating_sub(arrival_ns), sent_ns.saturating_sub(asked_ns));
        // A flush may take no time, and nothing is a share of that.
        if op != Op::Flush {
            let error_ns = response_ns.abs_diff(takes_ns);
            self.on_time += u64::from(error_ns as f64 <= SHARE * takes_ns as f64);
            if self.errors_ns.len() < KEPT {
                self.errors_ns.push(error_ns);
            } else {
                self.errors_ns[(self.counts[0] + self.counts[1]) as usize % KEPT] = error_ns;
            }
        }
        if self.file.is_some() {
            let line = format!("{arrival_ns},0,{offset},{bytes},{letters},{asked_ns},{due_ns},{sent_ns},{response_ns}");
            self.overtook.insert(id, line);
        }
    }

    /// Writes down what came before the oldest request that is still under way; everything where there is none.
    pub fn write_down(&mut self, oldest_under_way: Option<u64>) {
        while let Some(first) = self.overtook.first_entry() {
            if oldest_under_way.is_some_and(|oldest| *first.key() > oldest) {
                return;
            }
            let line = first.remove();
            let Some(file) = &mut self.file else { continue };
            if let Err(error) = writeln!(file, "{line}") {
                // What was written stays; that there is no more is said at the end.
                self.broken.get_or_insert(error);
                self.file = None;
            }
        }
    }

    /// Ends the log, and says how it went.
    #[must_use]
    pub fn verdict(mut self, dilation: f64) -> Verdict {
        self.write_down(None);
        if let Some(Err(error)) = self.file.as_mut().map(Write::flush) {
            self.broken.get_or_insert(error);
        }
        self.errors_ns.sort_unstable();
        let at =
            |share: f64| self.errors_ns[((self.errors_ns.len() - 1) as f64 * share) as usize] as f64 * dilation / 1e3;
        let [reads, writes, flushes] = self.counts;
        let asked = reads + writes;
        Verdict {
            reads,
            writes,
            flushes,
            delivered: (asked != 0).then(|| Delivered {
                on_time: self.on_time as f64 / asked as f64,
                median_error_us: at(0.5),
                p99_error_us: at(0.99),
            }),
            log_fault: self.broken.map(|error| error.to_string()),
        }
    }
}

/// Whether the answers came when the simulated system said so.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Reads that were answered.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// How the answers to reads and writes were delivered, where there were any.
    pub delivered: Option<Delivered>,
    /// Why the log ends before the requests do, if it does.
    pub log_fault: Option<String>,
}

/// How answers were delivered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delivered {
    /// Share of reads and writes whose answers left within 2 % of the time that they should take.
    pub on_time: f64,
    /// Median of how far answers left from when they should, µs of the machine's clock.
    pub median_error_us: f64,
    /// What 99 % of them are below.
    pub p99_error_us: f64,
}

impl Delivered {
    /// Whether so many answers were on time that what a program took can be trusted.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.on_time >= TRUSTED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(asked_ns: u64, due_ns: u64, sent_ns: u64, op: Op) -> Entry {
        Entry { id: 0, asked_ns, arrival_ns: asked_ns, due_ns, sent_ns, offset: 0, bytes: 512, op, durable: false }
    }

    #[test]
    fn an_answer_is_on_time_within_two_percent_of_what_it_should_take() {
        let mut log = Log::default();
        for (sent_ns, op) in [(1_020_000, Op::Read), (980_000, Op::Write), (1_020_001, Op::Read), (1_000_000, Op::Read)]
        {
            log.add(entry(0, 1_000_000, sent_ns, op));
        }
        log.add(entry(0, 0, 9, Op::Flush));
        let verdict = log.verdict(10.0);
        assert_eq!((verdict.reads, verdict.writes, verdict.flushes), (3, 1, 1));
        let delivered = verdict.delivered.expect("there were reads");
        assert_eq!((delivered.on_time, delivered.is_trusted()), (0.75, false));
        assert_eq!((delivered.median_error_us, delivered.p99_error_us), (200.0, 200.0));
    }

    #[test]
    fn where_nothing_was_read_or_written_nothing_is_said_of_its_times() {
        assert_eq!(Log::default().verdict(1.0).delivered, None);
        let mut log = Log::default();
        log.add(entry(0, 0, 9, Op::Flush));
        assert_eq!(log.verdict(1.0).delivered, None);
    }

    #[test]
    fn what_passed_before_the_system_was_asked_makes_an_answer_late() {
        let mut log = Log::default();
        log.add(Entry { arrival_ns: 50_000, ..entry(0, 1_050_000, 1_050_000, Op::Read) });
        let delivered = log.verdict(1.0).delivered.expect("there was a read");
        assert_eq!((delivered.on_time, delivered.median_error_us), (0.0, 50.0));
    }
}
