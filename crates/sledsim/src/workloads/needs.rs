//! The bytes that requests need within their blocks, which subsector accesses read and write.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::within;
use crate::engine::random::Indexed;
use crate::fault::Fault;
use crate::request::{Flags, Op, Request};

/// Equal parts into which `uniform` divides a last block.
const PARTS: u64 = 64;

/// The most bytes that a metadata request may need.
const MAX_METADATA_BYTES: u32 = 1 << 20;

/// The bytes that a request needs in its last block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LastBlock {
    /// All bytes up to the end of its size, or of the trace's record.
    #[default]
    Whole,
    /// The first k of 64 equal parts of those bytes, rounded up to a byte, with each k from 1 to 64 equally likely (lin2002,
    /// section 6.3). Metadata requests are not changed.
    Uniform,
}

/// Metadata requests, which need only a few bytes of one of their blocks (lin2002, section 6.3). The block and the place in it
/// are drawn at random: all multiples of the number of bytes, rounded up to a power of two, are equally likely. If the bytes
/// exceed a block, they begin at the start of a block. A request that is not longer than the bytes is needed whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MetadataSpec {
    /// Share of the requests that are metadata, drawn at random, whether or not a trace marks metadata. When absent, the
    /// requests that the trace marks: only traces of format `blkparse` have marks, and other workloads need the share.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: Option<f64>,
    /// Bytes that a metadata read needs: an inode.
    #[schemars(range(min = 1, max = 1048576), extend("x-unit" = "B"))]
    pub read_bytes: u32,
    /// Bytes that a metadata write needs: 4 for an access time, 128 for an inode, 66 for the mean of both.
    #[schemars(range(min = 1, max = 1048576), extend("x-unit" = "B"))]
    pub write_bytes: u32,
}

impl Default for MetadataSpec {
    fn default() -> Self {
        Self { share: None, read_bytes: 128, write_bytes: 66 }
    }
}

impl MetadataSpec {
    /// Checks the parameters.
    ///
    /// # Errors
    /// A key is out of range.
    pub fn validate(&self) -> Result<(), Fault> {
        self.share.map_or(Ok(()), |share| within("metadata.share", share, 0.0, 1.0))?;
        for (key, bytes) in [("read_bytes", self.read_bytes), ("write_bytes", self.write_bytes)] {
            within(&format!("metadata.{key}"), f64::from(bytes), 1.0, f64::from(MAX_METADATA_BYTES))?;
        }
        Ok(())
    }
}

/// Reduces requests to the bytes that they need.
///
/// The draws of a request depend only on the seed and its number, so that they are the same in any part of a trace.
#[derive(Debug)]
pub(super) struct Needs {
    block_bytes: u32,
    parts: Option<Indexed>,
    metadata: Option<Metadata>,
}

#[derive(Debug)]
struct Metadata {
    spec: MetadataSpec,
    choices: Indexed,
    places: Indexed,
}

impl Needs {
    /// For blocks of `block_bytes`. With the prefix `workload` the random streams are called `workload.needs.parts`,
    /// `workload.needs.metadata` and `workload.needs.place`.
    pub(super) fn new(
        last_block: LastBlock,
        metadata: Option<MetadataSpec>,
        prefix: &str,
        seed: u64,
        block_bytes: u32,
    ) -> Self {
        let numbers = |part: &str| Indexed::new(seed, &format!("{prefix}.needs.{part}"));
        Self {
            block_bytes,
            parts: (last_block == LastBlock::Uniform).then(|| numbers("parts")),
            metadata: metadata.map(|spec| Metadata { spec, choices: numbers("metadata"), places: numbers("place") }),
        }
    }

    /// Reduces a request, which has the number `index` in the workload, to the bytes that it needs.
    #[inline]
    pub(super) fn apply(&self, index: u64, request: &mut Request) {
        // In place, since the requests of most workloads do not change.
        if let Some(metadata) = &self.metadata {
            request.flags = metadata.flags(index, request.flags);
            if request.flags.contains(Flags::METADATA) {
                *request = metadata.reduce(index, *request, self.block_bytes);
                return;
            }
        }
        if let Some(parts) = &self.parts {
            *request = self.shorten(1 + parts.below(index, PARTS), *request);
        }
    }

    /// Reduces the bytes that `request` needs in its last block to the first `parts` of 64.
    fn shorten(&self, parts: u64, request: Request) -> Request {
        let block_bytes = u64::from(self.block_bytes);
        let last = u64::from(request.blocks - 1) * block_bytes;
        let first = u64::from(request.padding.front_bytes);
        let end = last + block_bytes - u64::from(request.padding.back_bytes);
        let start = first.max(last);
        let shortened = start + ((end - start) * parts).div_ceil(PARTS);
        request.with_needed_bytes(first, shortened - first, self.block_bytes)
    }
}

impl Metadata {
    fn flags(&self, index: u64, flags: Flags) -> Flags {
        match self.spec.share {
            Some(share) if self.choices.chance(index, share) => flags.with(Flags::METADATA),
            Some(_) => flags.without(Flags::METADATA),
            None => flags,
        }
    }

    fn reduce(&self, index: u64, request: Request, block_bytes: u32) -> Request {
        let bytes = if request.op == Op::Read { self.spec.read_bytes } else { self.spec.write_bytes };
        if u64::from(bytes) >= request.needed(block_bytes).bytes(block_bytes) {
            return request;
        }
        let blocks = u64::from(request.blocks);
        let (step, wide) = (u64::from(bytes.next_power_of_two()), u64::from(block_bytes));
        let bytes = u64::from(bytes);
        let first = if bytes <= wide {
            let places = (wide - bytes) / step + 1;
            let place = self.places.below(index, blocks * places);
            place / places * wide + place % places * step
        } else {
            self.places.below(index, (blocks * wide - bytes) / wide + 1) * wide
        };
        request.with_needed_bytes(first, bytes, block_bytes)
    }
}
