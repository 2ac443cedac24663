//! What a cache says of itself.

use super::lines::Lines;
use crate::engine::{Count, Details, ServicePath};
use crate::metrics::TimeAverage;
use crate::time::Time;

/// The way of a request through a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Way {
    /// A read all of which was there.
    ReadHit,
    /// A read that waited for the child.
    ReadMiss,
    /// A write that the cache took.
    Write,
    /// The same, after it waited for a line that could be evicted.
    WriteStalled,
    /// A write that the child took, and with it the cache.
    WriteThrough,
    /// A read too large for the cache, by the child.
    ReadAround,
}

/// Names of the ways, in the order of [`Way`].
const WAYS: [&str; 6] = ["read-hit", "read-miss", "write", "write-stalled", "write-through", "read-around"];

/// What a cache counts over the measurement window.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    paths: [ServicePath; WAYS.len()],
    /// Lines of which a read found all that it asked for.
    pub read_hits: u64,
    /// Lines of which a read lacked something.
    pub read_misses: u64,
    /// Lines that a write found in the cache.
    pub write_hits: u64,
    /// Lines that a write did not find in the cache.
    pub write_misses: u64,
    /// Blocks read from the child.
    pub fetched_blocks: u64,
    /// Accesses in which they were read.
    pub fetches: u64,
    /// Blocks of them that nobody had asked for.
    pub ahead_blocks: u64,
    /// Blocks read ahead that somebody asked for later.
    pub ahead_used_blocks: u64,
    /// Blocks read ahead that were evicted or written before anybody asked for them.
    pub ahead_wasted_blocks: u64,
    /// Dirty blocks written to the child while nobody waited for that.
    pub destaged_blocks: u64,
    /// Accesses in which they were written.
    pub destages: u64,
    /// Blocks that the child failed to take, and that are lost.
    pub lost_blocks: u64,
    /// Times that a request waited for a line that could be evicted.
    pub stalls: u64,
    /// How long they waited, ns.
    pub stall_ns: u128,
    /// Dirty lines.
    pub dirty: TimeAverage,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            paths: WAYS.map(ServicePath::new),
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
    /// A request came back after `response_ns`.
    pub fn record(&mut self, way: Way, response_ns: u64) {
        self.paths[way as usize].record(response_ns);
    }

    /// Begins to count anew.
    pub fn begin(&mut self, now: Time) {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.begin(now);
        *self = Self { dirty, ..Self::default() };
    }

    /// All of it, of a cache with those lines.
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
