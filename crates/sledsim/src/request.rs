//! Requests: what a host asks of storage.

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// From the device to the host.
    Read,
    /// From the host to the device.
    Write,
}

/// Properties of a request that policies may look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// No flag set.
    pub const NONE: Self = Self(0);
    /// Somebody waits for this request.
    pub const SYNCHRONOUS: Self = Self(1);
    /// File-system metadata.
    pub const METADATA: Self = Self(2);

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every flag of `other` is set here.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Bytes of a request's blocks that nobody needs, at either end; what lies between is needed. Together they are fewer than
/// the request has.
///
/// Devices that can't access less than a block ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Spare {
    /// From the first byte of the first block on.
    pub front_bytes: u32,
    /// Up to the last byte of the last block.
    pub back_bytes: u32,
}

impl Spare {
    /// Everything is needed.
    pub const NONE: Self = Self { front_bytes: 0, back_bytes: 0 };
}

/// One contiguous access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Unique within whoever submitted it; rises with submission.
    pub id: u64,
    /// When it was submitted.
    pub arrival: Time,
    /// First logical block number.
    pub lbn: u64,
    /// Number of blocks, at least 1.
    pub blocks: u32,
    /// Read or write.
    pub op: Op,
    /// Hints.
    pub flags: Flags,
    /// Where it came from: device number of a trace record, stream number of a generator.
    pub origin: u32,
    /// What of its blocks is not needed.
    pub spare: Spare,
}

impl Request {
    /// The block after the last one.
    #[inline]
    #[must_use]
    pub const fn end_lbn(&self) -> u64 {
        self.lbn + self.blocks as u64
    }
}
