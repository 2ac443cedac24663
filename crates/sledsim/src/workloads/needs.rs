//! What requests need of their blocks: the byte range that subsector accesses go by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::within;
use crate::engine::random::Indexed;
use crate::fault::Fault;
use crate::request::{Flags, Op, Request};

/// Parts of a block that a request may need the first ones of.
const PARTS: u64 = 64;

/// Largest range that metadata may need, bytes.
const MOST_BYTES: u32 = 1 << 20;

/// How much a request needs of what it asks for in its last block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LastBlock {
    /// All of it: up to the last byte of its size, or of the trace's record.
    #[default]
    Whole,
    /// The first k of 64 equal parts of that, rounded up to bytes, every k from 1 to 64 as likely (lin2002, section 6.3).
    /// Metadata requests are left as they are.
    Uniform,
}

/// Metadata requests: they need a few bytes in one of their blocks and nothing else (lin2002, section 6.3). In which block, and
/// where in it, is drawn at random: all multiples of the number of bytes, rounded up to a power of two, are as likely. More bytes
/// than a block has begin at a block's start; a request that is no longer is needed whole.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MetadataSpec {
    /// Share of the requests that are metadata, drawn at random, whatever a trace says of them. When absent, those are that the
    /// trace says are: only traces of format `blkparse` can say so, and with all else the share is needed.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: Option<f64>,
    /// Bytes that a metadata read needs: an inode.
    #[schemars(range(min = 1, max = 1048576), extend("x-unit" = "B"))]
    pub read_bytes: u32,
    /// Bytes that a metadata write needs: 4 for an access time, 128 for an inode, 66 for as many of one as of the other.
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
    /// Names the key, its value and what is allowed.
    pub fn validate(&self) -> Result<(), Fault> {
        self.share.map_or(Ok(()), |share| within("metadata.share", share, 0.0, 1.0))?;
        for (key, bytes) in [("read_bytes", self.read_bytes), ("write_bytes", self.write_bytes)] {
            within(&format!("metadata.{key}"), f64::from(bytes), 1.0, f64::from(MOST_BYTES))?;
        }
        Ok(())
    }
}

/// Settles what requests need.
///
/// What a request draws depends on the seed and its number alone, so that a part of a trace is what it is in the whole.
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
    /// For requests of blocks of `block_bytes`; the random numbers are called `workload.needs.parts`, `workload.needs.metadata`
    /// and `workload.needs.place` where `prefix` is `workload`.
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

    /// Gives `request`, which is number `index` of the workload, what it needs.
    #[inline]
    pub(super) fn settle(&self, index: u64, request: &mut Request) {
        // In place, since requests of most workloads need all.
        if let Some(metadata) = &self.metadata {
            request.flags = metadata.flags(index, request.flags);
            if request.flags.contains(Flags::METADATA) {
                *request = metadata.settle(index, *request, self.block_bytes);
                return;
            }
        }
        if let Some(parts) = &self.parts {
            *request = self.shorten(1 + parts.below(index, PARTS), *request);
        }
    }

    /// Leaves the first `parts` of 64 of what `request` needs in its last block.
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

    fn settle(&self, index: u64, request: Request, block_bytes: u32) -> Request {
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
