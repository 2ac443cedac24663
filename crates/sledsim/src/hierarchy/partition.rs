//! A partition: a range of blocks of another component.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::common::Child;
use super::kind::{ComponentKind, ComponentParameters, ComponentSpec, ONE_CHILD};
use crate::engine::{Completion, Component, ComponentId, Context, Descendants, Instrumentation, PowerLoss};
use crate::fault::{Fault, Faults, Path};
use crate::request::Request;
use crate::time::Time;
use crate::units::shown_bytes;

/// A range of blocks of another component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartitionSpec {
    /// Its first block on the child.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub first_block: u64,
    /// Its size; a multiple of the block size.
    #[schemars(range(min = 1), extend("x-unit" = "B"))]
    pub bytes: u64,
}

/// The kind.
pub const KIND: ComponentKind = ComponentKind {
    name: "partition",
    description: "A range of blocks of another component.",
    children: ONE_CHILD,
    parameters: ComponentParameters::of::<PartitionSpec>(),
};

impl ComponentSpec for PartitionSpec {
    fn build(&self, children: &[Child]) -> Result<Box<dyn Component>, Faults> {
        Ok(Box::new(Partition::new(self, children[0])?))
    }
}

/// Passes requests on to a range of blocks of its child.
#[derive(Clone)]
pub struct Partition {
    child: ComponentId,
    first_block: u64,
    blocks: u64,
    block_bytes: u32,
}

impl Partition {
    /// A partition of a child.
    ///
    /// # Errors
    /// The size is no multiple of the block size, or the range exceeds the child.
    pub fn new(spec: &PartitionSpec, child: Child) -> Result<Self, Fault> {
        let blocks = whole_blocks("bytes", spec.bytes, child.block_bytes)?;
        let end = spec.first_block.checked_add(blocks);
        if end.is_none_or(|end| end > child.capacity_blocks) {
            return Err(Fault::misfit("bytes", spec.bytes)
                .says(format!(" ({}) from ", shown_bytes(spec.bytes)))
                .key_is("first_block", spec.first_block)
                .says(format!(" on reaches beyond the {} of ", shown_bytes(child.bytes())))
                .key("child"));
        }
        Ok(Self { child: child.id, first_block: spec.first_block, blocks, block_bytes: child.block_bytes })
    }
}

/// Converts a size to blocks.
///
/// # Errors
/// The size of `key` is 0 or no multiple of the block size.
pub(super) fn whole_blocks(key: impl Into<Path>, bytes: u64, block_bytes: u32) -> Result<u64, Fault> {
    let block_bytes = u64::from(block_bytes);
    match bytes / block_bytes {
        blocks @ 1.. if bytes.is_multiple_of(block_bytes) => Ok(blocks),
        _ => Err(Fault::misfit(key, bytes).says(format!(" is no multiple of the {block_bytes} B blocks below it"))),
    }
}

impl Component for Partition {
    fn capacity_blocks(&self) -> u64 {
        self.blocks
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let payload = context.payload(&request);
        context.submit_with(self.child, Request { lbn: request.lbn + self.first_block, ..request }, payload);
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.read_payload(child, completion);
        let request = Request { lbn: completion.request.lbn - self.first_block, ..completion.request };
        context.complete_with(&Completion { request, ..*completion }, answer);
    }

    fn reach_ns(&self, now: Time, request: &Request, below: &Descendants<'_>) -> Option<u64> {
        let lbn = request.lbn.checked_add(self.first_block)?;
        below.reach_ns(self.child, now, &Request { lbn, ..*request })
    }
}

impl PowerLoss for Partition {}

impl Instrumentation for Partition {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_lies_inside_its_child() {
        let child = Child { id: ComponentId(0), capacity_blocks: 100, block_bytes: 512 };
        let build = |first_block, bytes| Partition::new(&PartitionSpec { first_block, bytes }, child);
        assert_eq!(build(90, 5120).map(|partition| partition.blocks), Ok(10));
        for (first_block, bytes, problem) in [
            (91, 5120, "bytes = 5120 (5 KiB) from first_block = 91 on reaches beyond the 50 KiB of child"),
            (0, 1000, "bytes = 1000 is no multiple of the 512 B blocks"),
            (u64::MAX, 512, "reaches beyond"),
        ] {
            let error = build(first_block, bytes).map(|_| ()).expect_err(problem).to_string();
            assert!(error.contains(problem), "{error}");
        }
    }
}
