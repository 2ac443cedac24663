//! What requests need of their blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much of its last block a request needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LastBlock {
    /// All of it.
    #[default]
    Whole,
    /// The first k of 64 equal parts, every k from 1 to 64 as likely (lin2002, section 6.3).
    Uniform,
}

/// Metadata requests: they need a few bytes somewhere in their blocks (lin2002, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetadataSpec {
    /// Share of the requests that are metadata, drawn at random; when absent, those are that the trace says are.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub share: Option<f64>,
    /// Bytes that a metadata read needs: an inode.
    #[serde(default = "inode_bytes")]
    #[schemars(range(min = 1, max = 1048576), extend("x-unit" = "B"))]
    pub read_bytes: u32,
    /// Bytes that a metadata write needs: 4 for an access time, 128 for an inode, 66 for as many of one as of the other.
    #[serde(default = "update_bytes")]
    #[schemars(range(min = 1, max = 1048576), extend("x-unit" = "B"))]
    pub write_bytes: u32,
}

const fn inode_bytes() -> u32 {
    128
}

const fn update_bytes() -> u32 {
    66
}
