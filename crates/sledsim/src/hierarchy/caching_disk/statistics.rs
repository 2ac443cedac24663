//! Counters of a caching disk and the paths of its requests.

use super::CachingDisk;
use crate::engine::{Count, Details, ServicePath};
use crate::request::Op;

/// The path of a request: the slowest of the paths of its pieces. For each operation in increasing order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RequestPath {
    ReadHit,
    ReadBuffer,
    ReadBypass,
    ReadMiss,
    WriteHit,
    WritePartial,
    WriteBypass,
    WriteMiss,
}

const PATH_NAMES: [&str; 8] =
    ["read-hit", "read-buffer", "read-bypass", "read-miss", "write-hit", "write-partial", "write-bypass", "write-miss"];

impl RequestPath {
    /// The path of requests that MEMS serves.
    pub const fn hit(op: Op) -> Self {
        match op {
            Op::Read => Self::ReadHit,
            Op::Write | Op::Flush | Op::Reset => Self::WriteHit,
        }
    }

    /// The path of requests that the disk serves directly.
    pub const fn bypass(op: Op) -> Self {
        match op {
            Op::Read => Self::ReadBypass,
            Op::Write | Op::Flush | Op::Reset => Self::WriteBypass,
        }
    }

    /// The path of requests that wait for a slot or for the disk.
    pub const fn miss(op: Op) -> Self {
        match op {
            Op::Read => Self::ReadMiss,
            Op::Write | Op::Flush | Op::Reset => Self::WriteMiss,
        }
    }
}

/// Hits, misses and paths of requests in the measurement window.
#[derive(Clone, Debug)]
pub(super) struct RequestCounts {
    /// Hits of pieces of requests, one for each segment: reads, writes.
    pub hits: [u64; 2],
    /// Misses of pieces of requests: reads, writes.
    pub misses: [u64; 2],
    /// Pieces that were served from the buffer.
    pub buffered: u64,
    /// Response times by [`RequestPath`].
    pub paths: [ServicePath; PATH_NAMES.len()],
}

impl Default for RequestCounts {
    fn default() -> Self {
        Self { hits: [0; 2], misses: [0; 2], buffered: 0, paths: PATH_NAMES.map(ServicePath::new) }
    }
}

/// Events in the measurement window that the parts of the caching disk do not count themselves.
#[derive(Clone, Debug, Default)]
pub(super) struct Statistics {
    /// Segments that were evicted.
    pub evictions: u64,
    /// Changed segments that were evicted.
    pub dirty_evictions: u64,
    pub flushes: u64,
    /// Disk accesses of sequential streams and of segments that were not admitted, and their blocks.
    pub bypasses: u64,
    pub bypassed_blocks: u64,
    /// Disk accesses for requests that MEMS could not serve.
    pub detours: u64,
    /// Slots that were freed before the disk had their segment.
    pub immediate_frees: u64,
    pub partial_writes: u64,
    /// Pieces of requests that had to wait for a slot or for space in the journal.
    pub slot_stalls: u64,
    pub recovery_ns: u64,
}

/// All counters and paths of a caching disk.
pub(super) fn details(cache: &CachingDisk) -> Details {
    let (statistics, requests, accesses) = (&cache.statistics, &cache.requests.counts, &cache.children.counts);
    let hits = requests.hits.iter().sum();
    let dirty_share = f64::from(cache.table.counts().dirty) / f64::from(cache.table.len());
    let counts = vec![
        Count::of("read_hits", requests.hits[0]),
        Count::of("read_misses", requests.misses[0]),
        Count::of("write_hits", requests.hits[1]),
        Count::of("write_misses", requests.misses[1]),
        Count::share("hit_ratio", hits, hits + requests.misses.iter().sum::<u64>()),
        Count::of("evictions", statistics.evictions),
        Count::of("dirty_evictions", statistics.dirty_evictions),
        Count::of("flushes", statistics.flushes),
        Count::of("destage_writes", accesses.destage_writes),
        Count::of("destaged_blocks", accesses.destaged_blocks),
        Count::of("lost_blocks", cache.failures.lost_blocks),
        Count::of("bypasses", statistics.bypasses),
        Count::of("bypassed_blocks", statistics.bypassed_blocks),
        Count::of("detours", statistics.detours),
        Count::of("fills", accesses.fills),
        Count::of("filled_blocks", accesses.filled_blocks),
        Count::of("unit_changes", cache.table.unit_changes()),
        Count::of("shortcut_answers", requests.buffered),
        Count::of("immediate_frees", statistics.immediate_frees),
        Count::of("partial_writes", statistics.partial_writes),
        Count::of("header_writes", accesses.header_writes),
        Count::of("buffer_stalls", cache.buffer.stalls),
        Count::of("slot_stalls", statistics.slot_stalls),
        Count { name: "dirty_share", unit: "fraction", value: dirty_share },
        Count { name: "recovery_ms", unit: "ms", value: statistics.recovery_ns as f64 / 1e6 },
    ];
    Details { kind: "mcd", counts, paths: requests.paths.to_vec() }
}
