//! Counters of a write buffer and the paths of its requests.

use crate::engine::{Count, Details, ServicePath};
use crate::time::Time;

/// The path of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestPath {
    /// All blocks are in the log.
    ReadMems,
    /// No block is in the log.
    ReadDisk,
    /// Some blocks are in the log.
    ReadBoth,
    Write,
    /// A write that waited for a free log.
    WriteStalled,
}

/// Events in the measurement window.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    /// Records that were appended.
    pub records: u64,
    /// Data blocks of these records.
    pub appended_blocks: u64,
    /// Blocks of the log that were outdated by a newer copy.
    pub overwritten_blocks: u64,
    /// Reads of logs for cleaning.
    pub log_reads: u64,
    pub cleaned_logs: u64,
    /// Writes to the disk.
    pub disk_writes: u64,
    /// Blocks of these writes.
    pub disk_blocks: u64,
    /// Writes that waited for a free log.
    pub stalls: u64,
    /// Time in which at least one write waited for a free log.
    pub stall_ns: u64,
    /// Start of the current stall.
    pub stalled_since: Option<Time>,
    pub recovery_ns: u64,
    paths: [ServicePath; 5],
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            records: 0,
            appended_blocks: 0,
            overwritten_blocks: 0,
            log_reads: 0,
            cleaned_logs: 0,
            disk_writes: 0,
            disk_blocks: 0,
            stalls: 0,
            stall_ns: 0,
            stalled_since: None,
            recovery_ns: 0,
            paths: ["read-mems", "read-disk", "read-both", "write", "write-stalled"].map(ServicePath::new),
        }
    }
}

impl Counts {
    /// Resets all counters. A current stall counts from `now` on.
    pub fn restart(&mut self, now: Time) {
        *self = Self { stalled_since: self.stalled_since.map(|_| now), ..Self::default() };
    }

    /// Adds a completed request.
    pub fn record(&mut self, path: RequestPath, response_ns: u64) {
        self.paths[path as usize].record(response_ns);
    }

    /// Ends the current stall, if there is one.
    pub fn end_stall(&mut self, now: Time) {
        if let Some(since) = self.stalled_since.take() {
            self.stall_ns += now - since;
        }
    }

    /// All counters and paths at `now`. `filled` of `logs` logs of `log_blocks` blocks are not empty.
    pub fn details(&self, now: Time, filled: u32, logs: u32, log_blocks: u32) -> Details {
        let stall_ns = self.stall_ns + self.stalled_since.map_or(0, |since| now - since);
        let ms = |name, ns: u64| Count { name, unit: "ms", value: ns as f64 / 1e6 };
        let mean = |sum: u64, count: u64| if count == 0 { 0.0 } else { sum as f64 / count as f64 };
        let per_write = mean(self.disk_blocks, self.disk_writes);
        Details {
            kind: "mwb",
            counts: vec![
                Count::of("records", self.records),
                Count::of("appended_blocks", self.appended_blocks),
                Count::share("overwritten_share", self.overwritten_blocks, self.appended_blocks),
                Count::of("log_reads", self.log_reads),
                Count::of("cleaned_logs", self.cleaned_logs),
                Count::share("cleaned_valid_share", self.disk_blocks, self.cleaned_logs * u64::from(log_blocks)),
                Count::of("disk_writes", self.disk_writes),
                Count { name: "blocks_per_disk_write", unit: "blocks", value: per_write },
                Count::of("stalls", self.stalls),
                ms("stall_ms", stall_ns),
                Count::share("filled_share", u64::from(filled), u64::from(logs)),
                ms("recovery_ms", self.recovery_ns),
            ],
            paths: self.paths.to_vec(),
        }
    }
}
