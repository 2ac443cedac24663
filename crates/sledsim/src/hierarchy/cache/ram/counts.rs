//! Counters of a RAM cache and the paths of its requests.

use super::lines::Lines;
use crate::engine::{Count, Details, ServicePath};
use crate::metrics::TimeAverage;
use crate::time::Time;

/// The path of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum RequestPath {
    /// A read of blocks in the cache.
    ReadHit,
    /// A read that waited for the child.
    ReadMiss,
    /// A write into the cache.
    Write,
    /// A write into the cache that waited for a line that could be evicted.
    WriteStalled,
    /// A write to the child, and into the cache.
    WriteThrough,
    /// A read that the child serves, because it is too large for the cache or its lines are not admitted.
    ReadAround,
}

/// Names of the paths, in the order of [`RequestPath`].
const PATH_NAMES: [&str; 6] = ["read-hit", "read-miss", "write", "write-stalled", "write-through", "read-around"];

/// Events in the measurement window.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    paths: [ServicePath; PATH_NAMES.len()],
    /// Lines of which a read found all blocks.
    pub read_hits: u64,
    /// Lines of which a read lacked blocks.
    pub read_misses: u64,
    /// Lines that a write found in the cache.
    pub write_hits: u64,
    /// Lines that a write did not find in the cache.
    pub write_misses: u64,
    /// Blocks read from the child.
    pub fetched_blocks: u64,
    /// Reads of the child for the cache.
    pub fetches: u64,
    /// Blocks that were read ahead.
    pub ahead_blocks: u64,
    /// Blocks read ahead that a request used later.
    pub ahead_used_blocks: u64,
    /// Blocks read ahead that were evicted or written before a request used them.
    pub ahead_wasted_blocks: u64,
    /// Dirty blocks that were destaged.
    pub destaged_blocks: u64,
    /// Writes of the child that destaged them.
    pub destages: u64,
    /// Blocks that are lost because the child could not write them.
    pub lost_blocks: u64,
    /// Number of waits for a line that can be evicted.
    pub stalls: u64,
    /// Sum of these waits, ns.
    pub stall_ns: u128,
    /// Number of dirty lines.
    pub dirty: TimeAverage,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            paths: PATH_NAMES.map(ServicePath::new),
            read_hits: 0,
            read_misses: 0,
            write_hits: 0,
            write_misses: 0,
            fetched_blocks: 0,
            fetches: 0,
            ahead_blocks: 0,
            ahead_used_blocks: 0,
            ahead_wasted_blocks: 0,
            destaged_blocks: 0,
            destages: 0,
            lost_blocks: 0,
            stalls: 0,
            stall_ns: 0,
            dirty: TimeAverage::default(),
        }
    }
}

impl Counts {
    /// Adds a completed request.
    pub fn record(&mut self, path: RequestPath, response_ns: u64) {
        self.paths[path as usize].record(response_ns);
    }

    /// Resets all counters at the start of the measurement window.
    pub fn restart(&mut self, now: Time) {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.begin(now);
        *self = Self { dirty, ..Self::default() };
    }

    /// All counters and paths at `now`.
    pub fn details(&self, now: Time, lines: &Lines) -> Details {
        let hits = self.read_hits + self.write_hits;
        let of = Count::of;
        let counts = vec![
            of("read_hits", self.read_hits),
            of("read_misses", self.read_misses),
            of("write_hits", self.write_hits),
            of("write_misses", self.write_misses),
            Count::share("hit_ratio", hits, hits + self.read_misses + self.write_misses),
            of("fetches", self.fetches),
            of("fetched_blocks", self.fetched_blocks),
            of("read_ahead_blocks", self.ahead_blocks),
            of("read_ahead_used_blocks", self.ahead_used_blocks),
            of("read_ahead_wasted_blocks", self.ahead_wasted_blocks),
            of("destages", self.destages),
            of("destaged_blocks", self.destaged_blocks),
            of("lost_blocks", self.lost_blocks),
            of("stalls", self.stalls),
            Count { name: "stalled", unit: "ms", value: self.stall_ns as f64 * 1e-6 },
            Count {
                name: "dirty_share",
                unit: "fraction",
                value: self.dirty.average(now) / f64::from(lines.capacity()),
            },
            Count { name: "table_bytes", unit: "B", value: lines.memory_bytes() as f64 },
        ];
        Details { kind: "ram-cache", counts, paths: self.paths.to_vec() }
    }
}
