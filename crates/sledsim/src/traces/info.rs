//! Totals of a trace, in one pass.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{TraceError, TraceFormat, TraceReader, TraceRecord};
use crate::request::{Flags, Op};
use crate::time::{ns_to_s, Time};

/// The most devices that a [`TraceInfo`] lists.
const LISTED_DEVICES: usize = 100;
/// The most devices that are counted, to bound memory.
const MOST_DEVICES: usize = 1 << 20;

/// Totals of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceInfo {
    /// The format's name.
    pub format: &'static str,
    /// The evidence for the format: the number of first lines that fit it, or that it was given.
    pub format_detected_by: String,
    /// True if records have arrival times.
    pub has_times: bool,
    /// True if it is a list of objects of a cache, whose offsets are numbers of objects.
    pub lists_objects: bool,
    /// The units of its times and addresses; `None` where the format's description states them.
    pub units: Option<String>,
    /// Bytes in a sector of this trace.
    pub sector_bytes: u32,
    /// Requests: reads, writes and flushes.
    pub records: u64,
    /// Requests that read.
    pub reads: u64,
    /// Requests that write.
    pub writes: u64,
    /// Requests that flush.
    pub flushes: u64,
    /// Resets of zones, which are not among the records.
    pub resets: u64,
    /// Writes that must be on the medium when they complete.
    pub durable_writes: u64,
    /// Reads among reads and writes, 0 to 1.
    pub read_share: f64,
    /// From the first arrival to the last.
    pub duration_s: f64,
    /// Mean time between arrivals; `None` without times or with fewer than two requests.
    pub mean_interarrival_s: Option<f64>,
    /// Longest time between arrivals; `None` as for the mean.
    pub longest_interarrival_s: Option<f64>,
    /// Squared coefficient of variation (variance over squared mean) of the time between arrivals: 1 for a Poisson
    /// process, more for a bursty one; `None` as for the mean, and when the mean is 0.
    pub interarrival_scv: Option<f64>,
    /// Bytes of all requests.
    pub total_bytes: u64,
    /// Bytes of all reads.
    pub read_bytes: u64,
    /// Mean length.
    pub mean_bytes: f64,
    /// Shortest request.
    pub min_bytes: u64,
    /// Longest request.
    pub max_bytes: u64,
    /// Lowest first byte of any request.
    pub min_offset_bytes: u64,
    /// Highest first byte of any request.
    pub max_offset_bytes: u64,
    /// One past the highest byte touched on any device: the capacity a replay needs.
    pub end_offset_bytes: u64,
    /// Reads that begin where the last request to the same device ended, among reads; `None` without reads.
    pub sequential_read_share: Option<f64>,
    /// Writes that begin where the last request to the same device ended, among writes; `None` without writes.
    pub sequential_write_share: Option<f64>,
    /// Number of devices, at most 1048576.
    pub devices: u64,
    /// The lowest 100 device numbers.
    pub device_list: Vec<u32>,
    /// Histogram of lengths, by powers of two.
    pub sizes: Vec<SizeBin>,
    /// Histogram of times between arrivals, by powers of ten; empty without times.
    pub gaps: Vec<GapBin>,
    /// Bad records skipped, as the options allowed.
    pub skipped: u64,
    /// Records that the trace itself marks as unreliable, left out.
    pub suspect: u64,
    /// Well-formed records that are no requests, left out.
    pub other: u64,
}

/// Requests longer than half of `to_bytes`, up to `to_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SizeBin {
    /// Greatest length of the bin.
    pub to_bytes: u64,
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
}

/// Times between arrivals longer than a tenth of `to_s`, up to `to_s`; the first bin begins at 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GapBin {
    /// Greatest time of the bin.
    pub to_s: f64,
    /// Number of times.
    pub gaps: u64,
}

/// Decades of nanoseconds below 2^64.
const DECADES: usize = 20;
/// The decade of the first bin, which ends at 10^3 ns.
const FIRST_DECADE: usize = 3;

impl TraceInfo {
    /// Reads `reader` to its end and computes the totals.
    ///
    /// # Errors
    ///
    /// As [`TraceReader::next`].
    pub fn of(mut reader: TraceReader) -> Result<Self, TraceError> {
        let mut totals = Totals::default();
        while let Some(record) = reader.next()? {
            totals.add(&record);
        }
        Ok(totals.info(&reader))
    }
}

/// Counts of requests of one direction.
#[derive(Default)]
struct Direction {
    requests: u64,
    sequential: u64,
    bytes: u64,
    /// Number of requests by the exponent of the smallest power of two not below their length.
    sizes: BTreeMap<u32, u64>,
}

impl Direction {
    fn sequential_share(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.sequential as f64 / self.requests as f64)
    }
}

#[derive(Default)]
struct Totals {
    reads: Direction,
    writes: Direction,
    flushes: u64,
    resets: u64,
    durable_writes: u64,
    first: Option<TraceRecord>,
    last: Time,
    /// Welford's running mean of the time between arrivals, and sum of squared deviations from it.
    mean_ns: f64,
    squares_ns2: f64,
    longest_ns: u64,
    min_bytes: u64,
    max_bytes: u64,
    min_offset_bytes: u64,
    max_offset_bytes: u64,
    end_offset_bytes: u64,
    /// Number of times between arrivals by the exponent of the smallest power of ten, in ns, not below them.
    gaps: [u64; DECADES],
    /// By device, one past the last byte of its last request.
    devices: BTreeMap<u32, u64>,
}

impl Totals {
    fn add(&mut self, record: &TraceRecord) {
        if record.op == Op::Reset {
            self.resets += 1;
            return;
        }
        if self.first.is_none() {
            self.first = Some(*record);
        } else {
            let gap = record.time.saturating_since(self.last);
            let decade = gap.saturating_sub(1).checked_ilog10().map_or(0, |power| power as usize + 1);
            self.gaps[decade.clamp(FIRST_DECADE, DECADES - 1)] += 1;
            self.longest_ns = self.longest_ns.max(gap);
            let gap_ns = gap as f64;
            let gaps = self.records() as f64;
            let delta = gap_ns - self.mean_ns;
            self.mean_ns += delta / gaps;
            self.squares_ns2 += delta * (gap_ns - self.mean_ns);
        }
        self.last = record.time;
        if record.op == Op::Flush {
            self.flushes += 1;
            return;
        }
        if self.transfers() == 0 {
            (self.min_bytes, self.min_offset_bytes) = (record.bytes, record.offset_bytes);
        }
        let end = record.offset_bytes.saturating_add(record.bytes);
        let follows = match self.devices.get_mut(&record.device) {
            Some(last_end) => std::mem::replace(last_end, end) == record.offset_bytes,
            None => {
                if self.devices.len() < MOST_DEVICES {
                    self.devices.insert(record.device, end);
                }
                false
            }
        };
        let direction = match record.op {
            Op::Read => &mut self.reads,
            Op::Write | Op::Flush | Op::Reset => &mut self.writes,
        };
        self.durable_writes += u64::from(record.flags.contains(Flags::DURABLE));
        direction.requests += 1;
        let power = u64::BITS - record.bytes.saturating_sub(1).leading_zeros();
        *direction.sizes.entry(power).or_default() += 1;
        direction.sequential += u64::from(follows);
        direction.bytes = direction.bytes.saturating_add(record.bytes);
        self.min_bytes = self.min_bytes.min(record.bytes);
        self.max_bytes = self.max_bytes.max(record.bytes);
        self.min_offset_bytes = self.min_offset_bytes.min(record.offset_bytes);
        self.max_offset_bytes = self.max_offset_bytes.max(record.offset_bytes);
        self.end_offset_bytes = self.end_offset_bytes.max(end);
    }

    /// Reads and writes.
    fn transfers(&self) -> u64 {
        self.reads.requests + self.writes.requests
    }

    fn records(&self) -> u64 {
        self.transfers() + self.flushes
    }

    /// Bins from the first that is not empty to the last.
    fn sizes(&self) -> Vec<SizeBin> {
        let (reads, writes) = (&self.reads.sizes, &self.writes.sizes);
        let powers = || reads.keys().chain(writes.keys()).copied();
        let count = |of: &BTreeMap<u32, u64>, power: u32| of.get(&power).copied().unwrap_or_default();
        let to_bytes = |power| 1_u64.checked_shl(power).unwrap_or(u64::MAX);
        let bin =
            |power| SizeBin { to_bytes: to_bytes(power), reads: count(reads, power), writes: count(writes, power) };
        powers().min().into_iter().flat_map(|least| least..=powers().max().unwrap_or(least)).map(bin).collect()
    }

    fn gaps(&self) -> Vec<GapBin> {
        let used = |decade: &usize| self.gaps[*decade] > 0;
        let (Some(first), Some(last)) = ((0..DECADES).find(used), (0..DECADES).rfind(used)) else { return Vec::new() };
        let bins = (0..).zip(self.gaps).take(last + 1).skip(first);
        bins.map(|(decade, gaps)| GapBin { to_s: 10_f64.powi(decade) / 1e9, gaps }).collect()
    }

    fn info(&self, reader: &TraceReader) -> TraceInfo {
        let (records, transfers) = (self.records(), self.transfers());
        let total_bytes = self.reads.bytes.saturating_add(self.writes.bytes);
        let gaps = records.saturating_sub(1);
        let has_gaps = reader.has_times() && gaps > 0;
        let variance_ns2 = self.squares_ns2 / gaps.max(1) as f64;
        let per_transfer = |total: u64| if transfers == 0 { 0.0 } else { total as f64 / transfers as f64 };
        TraceInfo {
            format: TraceFormat::name(reader.format()),
            format_detected_by: reader.detected_by().to_owned(),
            has_times: reader.has_times(),
            lists_objects: reader.format().lists_objects(),
            units: reader.units(),
            sector_bytes: reader.sector_bytes(),
            records,
            reads: self.reads.requests,
            writes: self.writes.requests,
            flushes: self.flushes,
            resets: self.resets + reader.resets(),
            durable_writes: self.durable_writes,
            read_share: per_transfer(self.reads.requests),
            duration_s: ns_to_s(self.first.map_or(0, |first| self.last.saturating_since(first.time))),
            mean_interarrival_s: has_gaps.then_some(self.mean_ns * 1e-9),
            longest_interarrival_s: has_gaps.then_some(ns_to_s(self.longest_ns)),
            interarrival_scv: (has_gaps && self.mean_ns > 0.0).then_some(variance_ns2 / (self.mean_ns * self.mean_ns)),
            total_bytes,
            read_bytes: self.reads.bytes,
            mean_bytes: per_transfer(total_bytes),
            min_bytes: self.min_bytes,
            max_bytes: self.max_bytes,
            min_offset_bytes: self.min_offset_bytes,
            max_offset_bytes: self.max_offset_bytes,
            end_offset_bytes: self.end_offset_bytes,
            sequential_read_share: self.reads.sequential_share(),
            sequential_write_share: self.writes.sequential_share(),
            devices: self.devices.len() as u64,
            device_list: self.devices.keys().copied().take(LISTED_DEVICES).collect(),
            sizes: self.sizes(),
            gaps: if has_gaps { self.gaps() } else { Vec::new() },
            skipped: reader.skipped(),
            suspect: reader.suspect(),
            other: reader.other(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::TraceOptions;

    fn of(content: &'static str) -> TraceInfo {
        let options = TraceOptions::default();
        let raw = Box::new(std::io::Cursor::new(content));
        TraceInfo::of(TraceReader::from_reader("made", raw, &options).unwrap()).unwrap()
    }

    #[test]
    fn totals_are_as_counted_by_hand() {
        let info = of("t_ns,device,offset_bytes,bytes,op\n\
                       5,0,1000,100,R\n\
                       15,0,1100,300,R\n\
                       45,7,1400,200,W\n\
                       65,0,1400,600,W\n");
        assert_eq!((info.format, info.records, info.reads, info.writes, info.devices), ("csv", 4, 2, 2, 2));
        assert_eq!((info.total_bytes, info.read_bytes, info.min_bytes, info.max_bytes), (1200, 400, 100, 600));
        assert_eq!((info.min_offset_bytes, info.max_offset_bytes, info.end_offset_bytes), (1000, 1400, 2000));
        assert_eq!((info.sequential_read_share, info.sequential_write_share), (Some(0.5), Some(0.5)));
        assert_eq!(info.device_list, [0, 7]);
        // 100 B read; 200 B written; 300 B read; 600 B written.
        let sizes: Vec<_> = info.sizes.iter().map(|bin| (bin.to_bytes, bin.reads, bin.writes)).collect();
        assert_eq!(sizes, [(128, 1, 0), (256, 0, 1), (512, 1, 0), (1024, 0, 1)]);
        assert_eq!(info.gaps, [GapBin { to_s: 1e-6, gaps: 3 }]);
        // Gaps of 10, 30 and 20 ns: mean 20, variance 200/3.
        assert!((info.duration_s - 60e-9).abs() < 1e-18);
        assert!((info.mean_interarrival_s.unwrap() - 20e-9).abs() < 1e-18);
        assert!((info.longest_interarrival_s.unwrap() - 30e-9).abs() < 1e-18);
        assert!((info.interarrival_scv.unwrap() - 200.0 / 3.0 / 400.0).abs() < 1e-12);
    }

    #[test]
    fn bins_include_their_upper_bound() {
        let info = of("t_ns,device,offset_bytes,bytes,op\n\
                       0,0,0,4096,R\n\
                       1000000,0,0,4097,R\n\
                       2000001,0,0,1,W\n\
                       2000001,0,0,4096,W\n\
                       100002000001,0,0,4096,W\n");
        let sizes: Vec<_> = info.sizes.iter().filter(|bin| bin.reads + bin.writes > 0).collect();
        assert_eq!(
            sizes.iter().map(|bin| (bin.to_bytes, bin.reads, bin.writes)).collect::<Vec<_>>(),
            [(1, 0, 1), (4096, 1, 2), (8192, 1, 0)]
        );
        // 0 s, 1 ms, a nanosecond more, 100 s; none in the powers between.
        let gaps: Vec<_> = info.gaps.iter().map(|bin| (format!("{:.0e}", bin.to_s), bin.gaps)).collect();
        let counts: Vec<u64> = gaps.iter().map(|(_, gaps)| *gaps).collect();
        assert_eq!(counts, [1, 0, 0, 1, 1, 0, 0, 0, 1]);
        assert_eq!((gaps[0].0.as_str(), gaps[8].0.as_str()), ("1e-6", "1e2"));
    }

    #[test]
    fn a_trace_without_times_has_no_interarrival() {
        let info = of("1 1 0 0\n2 1 0 1\n");
        assert_eq!((info.format, info.has_times, info.mean_interarrival_s), ("arc", false, None));
        assert_eq!(info.sequential_read_share, Some(0.5));
    }
}
