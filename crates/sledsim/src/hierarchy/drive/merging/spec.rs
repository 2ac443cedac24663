//! Request merging: pending requests served as one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request::Op;

/// Which pending requests are served as one.
///
/// With the defaults the rule of Lin et al. 2002, section 5.2: two reads next to each other in the queue, the second of which
/// begins where the first ends, become one. Whatever the rule, no request passes another that waits longer and overlaps it,
/// where one of them writes; and no single access takes more servicing energy than its requests one by one would. With first
/// come, first served, the servicing energy of a whole run never rises either, as long as the sled stays where it is between
/// services. Where a policy reorders requests or the sled moves while idle, and in idle energy, a run as a whole may take more:
/// a wider last pass leaves more tips reading servo bursts, and a device that stops has other idle periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MergeSpec {
    /// Most requests that become one.
    #[schemars(range(min = 2, max = 100000))]
    pub requests: u32,
    /// Whether any pending requests may be merged, not only neighbours in the queue, and behind one another in any order.
    pub anywhere: bool,
    /// Whether writes are merged with writes, as reads with reads.
    pub writes: bool,
    /// Whether requests that share a row are merged though their blocks are not contiguous (MEMS devices; elsewhere nothing
    /// shares a row).
    pub rows: bool,
    /// Whether reads and writes are merged with each other too, as with their like (MEMS devices whose tips read and write in the
    /// same pass; elsewhere nothing does): section 7.
    pub mixed: bool,
}

impl MergeSpec {
    /// What joins a request of a kind.
    pub(super) const fn joins(&self, op: Op) -> &'static [Op] {
        match op {
            _ if self.mixed => &[Op::Read, Op::Write],
            Op::Read => &[Op::Read],
            Op::Write if self.writes => &[Op::Write],
            Op::Write | Op::Flush => &[],
        }
    }
}

impl Default for MergeSpec {
    fn default() -> Self {
        Self { requests: 2, anywhere: false, writes: false, rows: false, mixed: false }
    }
}
