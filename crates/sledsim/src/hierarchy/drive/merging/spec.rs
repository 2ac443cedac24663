//! Request merging: pending requests are served as one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request::Op;

/// The rule by which pending requests are merged and served as one.
///
/// The defaults are the rule of Lin et al. 2002, section 5.2: two reads that are neighbours in the queue are merged if the second
/// begins where the first ends. With every rule, no request passes an older one that overlaps it if one of them writes, and no
/// merged access takes more servicing energy than its requests would take one by one. With FCFS, the servicing energy of a run
/// never rises if the sled does not move between services. It can rise if the scheduler reorders requests or the sled moves while
/// idle. The idle energy can rise, too: after a wider last pass more tips read servo bursts, and the idle periods change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MergeSpec {
    /// Largest number of merged requests.
    #[schemars(range(min = 2, max = 100000))]
    pub requests: u32,
    /// True to merge any pending requests, in any order, not only neighbours in the queue.
    pub anywhere: bool,
    /// True to merge writes with writes, too.
    pub writes: bool,
    /// True to merge requests of the same row whose blocks are not contiguous. It affects MEMS devices only.
    pub rows: bool,
    /// True to merge reads with writes, too (section 7). It affects only MEMS devices whose tips read and write in the same pass.
    pub mixed: bool,
}

impl MergeSpec {
    /// Returns the operations that are merged with an operation.
    pub(super) const fn joins(&self, op: Op) -> &'static [Op] {
        match op {
            _ if self.mixed => &[Op::Read, Op::Write],
            Op::Read => &[Op::Read],
            Op::Write if self.writes => &[Op::Write],
            Op::Write | Op::Flush | Op::Reset => &[],
        }
    }
}

impl Default for MergeSpec {
    fn default() -> Self {
        Self { requests: 2, anywhere: false, writes: false, rows: false, mixed: false }
    }
}
