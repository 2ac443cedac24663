//! What a caching disk counts.

use super::CachingDisk;
use crate::engine::{Count, Details, ServicePath};

/// The way of a request: the longest that one of its pieces took. Of pairs the first is for reads.
pub(super) const HIT: [u8; 2] = [0, 4];
pub(super) const READ_BUFFER: u8 = 1;
pub(super) const WRITE_PARTIAL: u8 = 5;
pub(super) const BYPASS: [u8; 2] = [2, 6];
pub(super) const MISS: [u8; 2] = [3, 7];
/// Their names.
const PATHS: [&str; 8] =
    ["read-hit", "read-buffer", "read-bypass", "read-miss", "write-hit", "write-partial", "write-bypass", "write-miss"];

/// What requests met with in the measurement window. Hits and misses are those of pieces of requests, one for each segment, of
/// reads first.
#[derive(Clone, Debug)]
pub(super) struct Met {
    pub hits: [u64; 2],
    pub misses: [u64; 2],
    /// Pieces that were served from the buffer.
    pub buffered: u64,
    pub paths: [ServicePath; PATHS.len()],
}

impl Default for Met {
    fn default() -> Self {
        Self { hits: [0; 2], misses: [0; 2], buffered: 0, paths: PATHS.map(ServicePath::new) }
    }
}

/// What happened in the measurement window and no part of the caching disk counts by itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Statistics {
    /// Segments that had to leave, and how many of them were changed.
    pub evictions: u64,
    pub dirty_evictions: u64,
    pub flushes: u64,
    /// Accesses of the disk for sequential streams, and their blocks.
    pub bypasses: u64,
    pub bypassed_blocks: u64,
    /// Accesses of the disk for what MEMS could not serve.
    pub detours: u64,
    pub immediate_frees: u64,
    pub partial_writes: u64,
    pub slot_stalls: u64,
    pub recovery_ns: u64,
}

impl CachingDisk {
    /// What it counted.
    pub(super) fn counted(&self) -> Details {
        let (own, met, sent) = (&self.statistics, &self.requests.met, &self.children.sent);
        let hits = met.hits.iter().sum();
        let dirty_share = f64::from(self.table.counts().dirty) / f64::from(self.table.len());
        let counts = vec![
            Count::of("read_hits", met.hits[0]),
            Count::of("read_misses", met.misses[0]),
            Count::of("write_hits", met.hits[1]),
            Count::of("write_misses", met.misses[1]),
            Count::share("hit_ratio", hits, hits + met.misses.iter().sum::<u64>()),
            Count::of("evictions", own.evictions),
            Count::of("dirty_evictions", own.dirty_evictions),
            Count::of("flushes", own.flushes),
            Count::of("destage_writes", sent.destage_writes),
            Count::of("destaged_blocks", sent.destaged_blocks),
            Count::of("lost_blocks", self.losses.lost_blocks),
            Count::of("bypasses", own.bypasses),
            Count::of("bypassed_blocks", own.bypassed_blocks),
            Count::of("detours", own.detours),
            Count::of("fills", sent.fills),
            Count::of("filled_blocks", sent.filled_blocks),
            Count::of("unit_changes", self.table.unit_changes()),
            Count::of("shortcut_answers", met.buffered),
            Count::of("immediate_frees", own.immediate_frees),
            Count::of("partial_writes", own.partial_writes),
            Count::of("header_writes", sent.header_writes),
            Count::of("buffer_stalls", self.buffer.stalls),
            Count::of("slot_stalls", own.slot_stalls),
            Count { name: "dirty_share", unit: "fraction", value: dirty_share },
            Count { name: "recovery_ms", unit: "ms", value: own.recovery_ns as f64 / 1e6 },
        ];
        Details { kind: "mcd", counts, paths: met.paths.to_vec() }
    }
}
