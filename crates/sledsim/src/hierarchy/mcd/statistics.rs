//! What a caching disk counts.

use crate::engine::{Count, Details, Path};

/// The way of a request: the longest that one of its pieces took.
pub(super) const READ_HIT: u8 = 0;
pub(super) const READ_BUFFER: u8 = 1;
pub(super) const READ_BYPASS: u8 = 2;
pub(super) const READ_MISS: u8 = 3;
pub(super) const WRITE_HIT: u8 = 4;
pub(super) const WRITE_PARTIAL: u8 = 5;
pub(super) const WRITE_BYPASS: u8 = 6;
pub(super) const WRITE_MISS: u8 = 7;
/// Their names.
const PATHS: [&str; 8] =
    ["read-hit", "read-buffer", "read-bypass", "read-miss", "write-hit", "write-partial", "write-bypass", "write-miss"];

/// Sums over the measurement window. Hits and misses are those of pieces of requests, one for each segment.
#[derive(Clone, Debug)]
pub(super) struct Statistics {
    pub read_hits: u64,
    pub read_misses: u64,
    pub write_hits: u64,
    pub write_misses: u64,
    /// Segments that had to leave, and how many of them were changed.
    pub evictions: u64,
    pub dirty_evictions: u64,
    pub flushes: u64,
    pub destage_writes: u64,
    pub destaged_blocks: u64,
    pub lost_blocks: u64,
    /// Accesses of the disk for sequential streams, and their blocks.
    pub bypasses: u64,
    pub bypassed_blocks: u64,
    /// Accesses of the disk for what MEMS could not serve.
    pub detours: u64,
    pub fills: u64,
    pub filled_blocks: u64,
    /// Pieces that were served from the buffer.
    pub shortcut_answers: u64,
    pub immediate_frees: u64,
    pub partial_writes: u64,
    pub header_writes: u64,
    pub buffer_stalls: u64,
    pub slot_stalls: u64,
    pub recovery_ns: u64,
    pub paths: [Path; PATHS.len()],
}

impl Default for Statistics {
    fn default() -> Self {
        Self {
            read_hits: 0,
            read_misses: 0,
            write_hits: 0,
            write_misses: 0,
            evictions: 0,
            dirty_evictions: 0,
            flushes: 0,
            destage_writes: 0,
            destaged_blocks: 0,
            lost_blocks: 0,
            bypasses: 0,
            bypassed_blocks: 0,
            detours: 0,
            fills: 0,
            filled_blocks: 0,
            shortcut_answers: 0,
            immediate_frees: 0,
            partial_writes: 0,
            header_writes: 0,
            buffer_stalls: 0,
            slot_stalls: 0,
            recovery_ns: 0,
            paths: PATHS.map(Path::new),
        }
    }
}

impl Statistics {
    /// What it counted; `dirty_share` of the slots hold changed segments now, and regions changed their units so often.
    pub fn details(&self, dirty_share: f64, unit_changes: u64) -> Details {
        let hits = self.read_hits + self.write_hits;
        let all = hits + self.read_misses + self.write_misses;
        let counts = vec![
            Count::of("read_hits", self.read_hits),
            Count::of("read_misses", self.read_misses),
            Count::of("write_hits", self.write_hits),
            Count::of("write_misses", self.write_misses),
            Count::share("hit_ratio", hits, all),
            Count::of("evictions", self.evictions),
            Count::of("dirty_evictions", self.dirty_evictions),
            Count::of("flushes", self.flushes),
            Count::of("destage_writes", self.destage_writes),
            Count::of("destaged_blocks", self.destaged_blocks),
            Count::of("lost_blocks", self.lost_blocks),
            Count::of("bypasses", self.bypasses),
            Count::of("bypassed_blocks", self.bypassed_blocks),
            Count::of("detours", self.detours),
            Count::of("fills", self.fills),
            Count::of("filled_blocks", self.filled_blocks),
            Count::of("unit_changes", unit_changes),
            Count::of("shortcut_answers", self.shortcut_answers),
            Count::of("immediate_frees", self.immediate_frees),
            Count::of("partial_writes", self.partial_writes),
            Count::of("header_writes", self.header_writes),
            Count::of("buffer_stalls", self.buffer_stalls),
            Count::of("slot_stalls", self.slot_stalls),
            Count { name: "dirty_share", unit: "fraction", value: dirty_share },
            Count { name: "recovery_ms", unit: "ms", value: self.recovery_ns as f64 / 1e6 },
        ];
        Details { kind: "mcd", counts, paths: self.paths.to_vec() }
    }
}
