//! What a write buffer counts.

use crate::engine::{Count, Details, ServicePath};
use crate::time::Time;

/// The ways that requests take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// All of it is in the log.
    ReadMems,
    /// None of it is.
    ReadDisk,
    /// Some of it is.
    ReadBoth,
    /// Into the log.
    Write,
    /// The same, but it had to wait for a free log.
    WriteStalled,
}

#[derive(Clone, Debug)]
pub(super) struct Counts {
    /// Records that have been appended, and the data blocks in them.
    pub(super) records: u64,
    pub(super) appended_blocks: u64,
    /// Blocks of the log that a newer copy has outdated.
    pub(super) overwritten_blocks: u64,
    /// Reads of the log for cleaning.
    pub(super) log_reads: u64,
    pub(super) cleaned_logs: u64,
    /// Writes to the disk, and the blocks in them.
    pub(super) disk_writes: u64,
    pub(super) disk_blocks: u64,
    /// Writes that had to wait for a free log, and how long somebody did.
    pub(super) stalls: u64,
    pub(super) stall_ns: u64,
    /// Since when somebody has been waiting for one.
    pub(super) stalled_since: Option<Time>,
    /// How long it took to read the log back.
    pub(super) recovery_ns: u64,
    pub(super) paths: [ServicePath; 5],
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
    pub(super) fn record(&mut self, way: Way, response_ns: u64) {
        self.paths[way as usize].record(response_ns);
    }

    /// From `now` on nobody waits for a free log.
    pub(super) fn flows(&mut self, now: Time) {
        if let Some(since) = self.stalled_since.take() {
            self.stall_ns += now - since;
        }
    }

    /// What they say at `now`; `filled` of `logs` logs hold something, each of `log_blocks`.
    pub(super) fn details(&self, now: Time, filled: u32, logs: u32, log_blocks: u32) -> Details {
        let stall_ns = self.stall_ns + self.stalled_since.map_or(0, |since| now - since);
        let ms = |name, ns: u64| Count { name, unit: "ms", value: ns as f64 / 1e6 };
        let mean = |whole: u64, parts: u64| if parts == 0 { 0.0 } else { whole as f64 / parts as f64 };
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
