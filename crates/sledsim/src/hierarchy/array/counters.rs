//! Counts of an array.

use super::layout::Level;
use super::plan::Method;
use crate::engine::details::{Count, Details, ServicePath};
use crate::engine::{Completion, Status};
use crate::request::Op;
use crate::time::{ns_to_s, Time};

/// Paths of requests. The path of a request is the last one in this order among its parts.
const PATHS: [&str; 6] =
    ["whole-read", "degraded-read", "full-write", "reconstruct-write", "rmw-write", "degraded-write"];

/// Counts over the measurement window.
#[derive(Clone, Debug)]
pub(super) struct ArrayCounters {
    pub(super) member_reads: u64,
    member_writes: u64,
    parity_reads: u64,
    parity_writes: u64,
    background_accesses: u64,
    pub(super) reconstructed: u64,
    pub(super) repaired: u64,
    lost: u64,
    pub(super) row_waits: u64,
    pub(super) journal_stalls: u64,
    pub(super) failed_members: u64,
    pub(super) rebuilt_blocks: u64,
    pub(super) lost_blocks: u64,
    pub(super) rebuild_ns: u64,
    paths: [ServicePath; PATHS.len()],
}

impl Default for ArrayCounters {
    fn default() -> Self {
        Self {
            member_reads: 0,
            member_writes: 0,
            parity_reads: 0,
            parity_writes: 0,
            background_accesses: 0,
            reconstructed: 0,
            repaired: 0,
            lost: 0,
            row_waits: 0,
            journal_stalls: 0,
            failed_members: 0,
            rebuilt_blocks: 0,
            lost_blocks: 0,
            rebuild_ns: 0,
            paths: PATHS.map(ServicePath::new),
        }
    }
}

impl ArrayCounters {
    /// The path of a read that computes data from other columns.
    pub(super) const DEGRADED_READ: usize = 1;

    /// The first path of a request.
    pub(super) const fn first_path(op: Op) -> usize {
        match op {
            Op::Read => 0,
            Op::Write | Op::Flush | Op::Reset => 2,
        }
    }

    /// The path of a write; `is_whole` is true if all columns can be written.
    pub(super) const fn write_path(method: Method, is_whole: bool) -> usize {
        match method {
            _ if !is_whole => 5,
            Method::Full => 2,
            Method::Reconstruct => 3,
            Method::ReadModifyWrite => 4,
            Method::Decode | Method::DataOnly => 5,
        }
    }

    /// Counts a read of a member, for a request or in the background.
    pub(super) fn read(&mut self, for_host: bool, is_parity: bool) {
        let count = if for_host { &mut self.member_reads } else { &mut self.background_accesses };
        *count += 1;
        self.parity_reads += u64::from(for_host && is_parity);
    }

    /// Counts a write of a member, for a request or in the background.
    pub(super) fn write(&mut self, for_host: bool, is_parity: bool) {
        let count = if for_host { &mut self.member_writes } else { &mut self.background_accesses };
        *count += 1;
        self.parity_writes += u64::from(for_host && is_parity);
    }

    /// Counts a completed request.
    pub(super) fn completed(&mut self, completion: &Completion, path: usize, now: Time) {
        self.lost += u64::from(completion.status != Status::Served);
        self.paths[path].record(now - completion.request.arrival);
    }

    /// The counts as reported. `rebuilt_share` is given if a member has failed. The parities of a mirror are its copies.
    pub(super) fn details(&self, level: Level, rebuilt_share: Option<f64>) -> Details {
        let (parity_reads, parity_writes) = match level {
            Level::Mirror => ("copy_reads", "copy_writes"),
            _ => ("parity_reads", "parity_writes"),
        };
        let mut counts = vec![
            Count::of("member_reads", self.member_reads),
            Count::of("member_writes", self.member_writes),
            Count::of(parity_reads, self.parity_reads),
            Count::of(parity_writes, self.parity_writes),
            Count::of("background_accesses", self.background_accesses),
            Count::of("reconstructed_parts", self.reconstructed),
            Count::of("repaired_parts", self.repaired),
            Count::of("lost_requests", self.lost),
            Count::of("row_waits", self.row_waits),
            Count::of("journal_stalls", self.journal_stalls),
            Count::of("failed_members", self.failed_members),
            Count::of("rebuilt_blocks", self.rebuilt_blocks),
            Count::of("lost_blocks", self.lost_blocks),
            Count { name: "rebuild_time", unit: "s", value: ns_to_s(self.rebuild_ns) },
        ];
        counts.extend(rebuilt_share.map(|value| Count { name: "rebuilt_share", unit: "fraction", value }));
        Details { kind: level.name(), counts, paths: self.paths.to_vec() }
    }
}
