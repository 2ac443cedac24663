//! The parameters of tiers: the size of extents, their first places and their moves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Tiers;
use crate::engine::Component;
use crate::fault::{Fault, Faults, Kind, Path};
use crate::hierarchy::common::Child;
use crate::hierarchy::kind::{ChildKey, ChildKeys, ComponentKind, ComponentParameters, ComponentSpec};
use crate::hierarchy::partition::whole_blocks;
use crate::request::{Flags, Request};
use crate::units::shown_bytes;

/// The kind.
pub const KIND: ComponentKind = ComponentKind {
    name: "tiers",
    description:
        "A fast and a slow component as one, each extent of blocks on one of them (schlosser2004, section 5.1).",
    children: ChildKeys::Keyed(&[
        ChildKey { name: "fast", description: "The fast component, such as a MEMS device." },
        ChildKey { name: "slow", description: "The slow component, such as a disk." },
    ]),
    parameters: ComponentParameters::of::<TiersSpec>(),
};

/// A fast and a slow component as one. Each extent of blocks is on one of them, depending on the kind and the use of its data
/// (schlosser2004, section 5.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TiersSpec {
    /// Size of an extent, which is placed and moved as a whole; a multiple of the block size.
    #[schemars(range(min = 1, max = 1073741824), extend("x-unit" = "B"))]
    pub extent_bytes: u64,
    /// The component on which an extent is placed at its first access.
    pub placement: TierPlacementSpec,
    /// When extents move between the components.
    pub migration: TierMigrationSpec,
}

/// The component on which an extent is placed at its first access: the fast one if any of these keys applies, else the slow one.
/// If that is full, the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TierPlacementSpec {
    /// If true, requests for file-system metadata place extents on the fast component.
    pub metadata: bool,
    /// Requests of up to this size place extents on the fast component; none if absent.
    #[schemars(range(min = 1, max = 1073741824), extend("x-unit" = "B"))]
    pub small_bytes: Option<u64>,
    /// Origins (a trace's device number, a workload's stream) whose requests place extents on the fast component.
    pub origins: Vec<u32>,
    /// Ranges of blocks that are always on the fast component.
    pub pinned: Vec<BlockRangeSpec>,
}

/// A range of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockRangeSpec {
    /// Its first block.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub first_block: u64,
    /// Its size; a multiple of the block size.
    #[schemars(range(min = 1), extend("x-unit" = "B"))]
    pub bytes: u64,
}

/// When extents move: once a period, the most used extents of the slow component change places with the least used extents of the
/// fast one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TierMigrationSpec {
    /// Bandwidth limit of moves, averaged since the start; extents do not move if it is 0.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "MB/s"))]
    pub mb_per_s: f64,
    /// Interval between comparisons of uses.
    #[schemars(range(min = 0.000001, max = 1000000.0), extend("x-unit" = "s"))]
    pub period_s: f64,
    /// Time after which a use counts half.
    #[schemars(range(min = 0.000001, max = 1e9), extend("x-unit" = "s"))]
    pub half_life_s: f64,
    /// An extent replaces another only if its uses exceed those of the other by this factor.
    #[schemars(range(min = 1.0, max = 1000000.0))]
    pub factor: f64,
    /// Smallest decayed number of uses of an extent that moves to the fast component.
    #[schemars(range(min = 0.0, max = 1000000000.0))]
    pub least_uses: f64,
}

impl ComponentSpec for TiersSpec {
    fn build(&self, children: &[Child]) -> Result<Box<dyn Component>, Faults> {
        Ok(Box::new(Tiers::new(self, children[0], children[1])?))
    }

    fn notes(&self, _members: u64) -> Vec<String> {
        let size = shown_bytes(self.extent_bytes);
        let moves = match self.migration.mb_per_s {
            rate if rate > 0.0 => format!("extents of {size} move by use, at {rate} MB/s at most"),
            _ => format!("extents of {size} stay where they were first put"),
        };
        vec![moves, "the failure of either child loses the data on it".into()]
    }

    fn largest_copy(&self) -> Option<(&'static str, u64)> {
        (self.migration.mb_per_s > 0.0).then_some(("extent_bytes", self.extent_bytes))
    }

    fn issues_own_writes(&self) -> bool {
        self.migration.mb_per_s > 0.0
    }
}

impl Default for TiersSpec {
    fn default() -> Self {
        let (placement, migration) = (TierPlacementSpec::default(), TierMigrationSpec::default());
        Self { extent_bytes: 1 << 20, placement, migration }
    }
}

impl Default for TierMigrationSpec {
    fn default() -> Self {
        Self { mb_per_s: 10.0, period_s: 1.0, half_life_s: 60.0, factor: 2.0, least_uses: 2.0 }
    }
}

/// Sizes that follow from the parameters and the children.
pub(super) struct TierSizes {
    pub(super) extent_blocks: u64,
    /// Number of extents that fit on each child.
    pub(super) slots: [u64; 2],
}

impl TiersSpec {
    /// The sizes on these children.
    ///
    /// # Errors
    /// The blocks of the children differ, or an extent does not fit on a child.
    pub(super) fn sizes(&self, fast: Child, slow: Child) -> Result<TierSizes, Fault> {
        if fast.block_bytes != slow.block_bytes {
            return Err(Fault::at(Kind::Misfit, "slow")
                .says(format!(" has blocks of {} B, ", slow.block_bytes))
                .key("fast")
                .says(format!(" of {} B: they must be equal", fast.block_bytes)));
        }
        let extent_blocks = whole_blocks("extent_bytes", self.extent_bytes, fast.block_bytes)?;
        let slots = [fast, slow].map(|child| child.capacity_blocks / extent_blocks);
        for (key, child, slots) in [("fast", fast, slots[0]), ("slow", slow, slots[1])] {
            if slots == 0 {
                return Err(Fault::misfit("extent_bytes", self.extent_bytes)
                    .says(": ")
                    .key(key)
                    .says(format!(" has {} in all", shown_bytes(child.bytes()))));
            }
        }
        Ok(TierSizes { extent_blocks, slots })
    }
}

impl TierPlacementSpec {
    /// The pinned extents in increasing order. There are `extents` extents of `extent_blocks` blocks, of which `room` fit on the fast
    /// child.
    ///
    /// # Errors
    /// A range reaches beyond the last extent, or the pinned extents do not fit on the fast child.
    pub(super) fn pinned(
        &self,
        block_bytes: u32,
        extent_blocks: u64,
        extents: u64,
        room: u64,
    ) -> Result<Vec<u64>, Fault> {
        let mut ranges = Vec::new();
        for (number, range) in self.pinned.iter().enumerate() {
            let key = Path::from("placement").step("pinned").step(number);
            let blocks = whole_blocks(key.step("bytes"), range.bytes, block_bytes)?;
            let end = range.first_block.checked_add(blocks).filter(|&end| end <= extents * extent_blocks);
            let end = end.ok_or_else(|| {
                let of = shown_bytes((extents * extent_blocks).saturating_mul(u64::from(block_bytes)));
                Fault::misfit(key.step("bytes"), range.bytes)
                    .says(" from ")
                    .key_is(key.step("first_block"), range.first_block)
                    .says(format!(" on reaches beyond the {of} of both"))
            })?;
            ranges.push((range.first_block / extent_blocks, end.div_ceil(extent_blocks)));
        }
        ranges.sort_unstable();
        let mut pinned = Vec::new();
        let mut next = 0;
        for (from, to) in ranges {
            let from = from.max(next);
            next = next.max(to);
            if pinned.len() as u64 + to.saturating_sub(from) > room {
                return Err(Fault::at(Kind::Misfit, "placement.pinned")
                    .says(format!(" touches more than the {room} extents that fit "))
                    .key("fast"));
            }
            pinned.extend(from..to);
        }
        Ok(pinned)
    }

    /// Returns true if extents that `request` is the first to use belong on the fast child.
    pub(super) fn is_fast(&self, request: &Request, block_bytes: u32) -> bool {
        let bytes = u64::from(request.blocks) * u64::from(block_bytes);
        self.metadata && request.flags.contains(Flags::METADATA)
            || self.small_bytes.is_some_and(|small| bytes <= small)
            || self.origins.contains(&request.origin)
    }
}
