//! Requests to storage.

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Transfers data from the device to the host.
    Read,
    /// Transfers data from the host to the device.
    Write,
    /// Has no blocks. It completes when all writes that had completed before its submission survive a power cut. It has no effect on
    /// writes that were outstanding at its submission.
    Flush,
    /// Empties the zones of its blocks, which are written in order: the write pointers return to the first blocks. It takes no time and
    /// transfers no data. Only a root with such zones accepts it.
    Reset,
}

/// Properties of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// No flags.
    pub const NONE: Self = Self(0);
    /// A process waits for this request.
    pub const SYNCHRONOUS: Self = Self(1);
    /// File-system metadata.
    pub const METADATA: Self = Self(2);
    /// Internal work of a component, such as a rebuild or a destage.
    pub const BACKGROUND: Self = Self(4);
    /// A write that completes only when it is on the medium (forced unit access).
    pub const DURABLE: Self = Self(8);

    /// Returns the union of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns this set without the flags of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns true if this set has all flags of `other`.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Bytes at either end of a request's blocks that are not needed; together fewer than the request has.
///
/// Devices that can't access parts of a block ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Padding {
    /// Bytes at the start of the first block.
    pub front_bytes: u32,
    /// Bytes at the end of the last block.
    pub back_bytes: u32,
}

impl Padding {
    /// All bytes are needed.
    pub const NONE: Self = Self { front_bytes: 0, back_bytes: 0 };
}

/// An access of contiguous blocks, a flush, or a reset of zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number, unique within the submitter and ascending in the order of submission.
    pub id: u64,
    /// Time of submission.
    pub arrival: Time,
    /// First logical block number.
    pub lbn: u64,
    /// Number of blocks, at least 1; 0 for a flush.
    pub blocks: u32,
    /// Operation.
    pub op: Op,
    /// Properties.
    pub flags: Flags,
    /// Source: the device number of a trace record, or the stream number of a generator.
    pub origin: u32,
    /// Bytes of its blocks that are not needed.
    pub padding: Padding,
}

/// The blocks of a request with needed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed {
    /// First block.
    pub lbn: u64,
    /// Number of blocks, at least 1.
    pub blocks: u32,
    /// Bytes at the start of the first block that are not needed; fewer than a block has.
    pub front_bytes: u32,
    /// Bytes at the end of the last block that are not needed; fewer than a block has.
    pub back_bytes: u32,
}

impl Needed {
    /// Returns the number of needed bytes, for blocks of `block_bytes`.
    #[must_use]
    pub const fn bytes(&self, block_bytes: u32) -> u64 {
        self.blocks as u64 * block_bytes as u64 - self.front_bytes as u64 - self.back_bytes as u64
    }
}

impl Request {
    /// Returns a read with number 0 that arrives at time 0, without flags or padding.
    #[must_use]
    pub const fn read(lbn: u64, blocks: u32) -> Self {
        Self {
            id: 0,
            arrival: Time::ZERO,
            lbn,
            blocks,
            op: Op::Read,
            flags: Flags::NONE,
            origin: 0,
            padding: Padding::NONE,
        }
    }

    /// Returns a flush with number 0 that arrives at time 0.
    #[must_use]
    pub const fn flush() -> Self {
        Self { op: Op::Flush, ..Self::read(0, 0) }
    }

    /// Returns true for a flush.
    #[inline]
    #[must_use]
    pub const fn is_flush(&self) -> bool {
        matches!(self.op, Op::Flush)
    }

    /// Returns a reset with number 0 that arrives at time 0.
    #[must_use]
    pub const fn reset(lbn: u64, blocks: u32) -> Self {
        Self { op: Op::Reset, ..Self::read(lbn, blocks) }
    }

    /// Returns true for a read or a write.
    #[inline]
    #[must_use]
    pub const fn transfers_data(&self) -> bool {
        matches!(self.op, Op::Read | Op::Write)
    }

    /// Returns the block after the last one.
    #[inline]
    #[must_use]
    pub const fn end_lbn(&self) -> u64 {
        self.lbn + self.blocks as u64
    }

    /// Returns true if the request has blocks and all are below `capacity_blocks`; for a flush, if it has no blocks.
    #[inline]
    #[must_use]
    pub const fn fits(&self, capacity_blocks: u64) -> bool {
        match self.lbn.checked_add(self.blocks as u64) {
            Some(end) => (self.blocks > 0) != self.is_flush() && end <= capacity_blocks,
            None => false,
        }
    }

    /// Returns the blocks of `block_bytes` with needed bytes. An invalid padding that leaves no bytes is ignored.
    #[inline]
    #[must_use]
    pub const fn needed(&self, block_bytes: u32) -> Needed {
        let Padding { front_bytes, back_bytes } = self.padding;
        let all_bytes = self.blocks as u64 * block_bytes as u64;
        if front_bytes | back_bytes == 0 || front_bytes as u64 + back_bytes as u64 >= all_bytes {
            return Needed { lbn: self.lbn, blocks: self.blocks, front_bytes: 0, back_bytes: 0 };
        }
        // The padding is less than all bytes, so blocks are not empty and at least one is left.
        let (before, after) = (front_bytes / block_bytes, back_bytes / block_bytes);
        Needed {
            lbn: self.lbn + before as u64,
            blocks: self.blocks - before - after,
            front_bytes: front_bytes % block_bytes,
            back_bytes: back_bytes % block_bytes,
        }
    }

    /// Returns the request with `bytes` needed bytes from byte `first` of all its bytes on. All bytes are needed if that range is empty or
    /// not inside the request, or if the padding at either end does not fit 32 bits.
    #[inline]
    #[must_use]
    pub fn with_needed_bytes(self, first: u64, bytes: u64, block_bytes: u32) -> Self {
        let all_bytes = u64::from(self.blocks) * u64::from(block_bytes);
        let back_bytes = first.checked_add(bytes).and_then(|end| all_bytes.checked_sub(end));
        let padding = match (u32::try_from(first), back_bytes.map(u32::try_from)) {
            (Ok(front_bytes), Some(Ok(back_bytes))) if bytes > 0 => Padding { front_bytes, back_bytes },
            _ => Padding::NONE,
        };
        Self { padding, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(lbn: u64, blocks: u32, front_bytes: u32, back_bytes: u32) -> Request {
        Request { padding: Padding { front_bytes, back_bytes }, ..Request::read(lbn, blocks) }
    }

    fn needed(lbn: u64, blocks: u32, front_bytes: u32, back_bytes: u32) -> Needed {
        Needed { lbn, blocks, front_bytes, back_bytes }
    }

    #[test]
    fn needed_blocks_exclude_whole_blocks_of_padding() {
        assert_eq!(request(9, 4, 0, 0).needed(512), needed(9, 4, 0, 0));
        assert_eq!(request(9, 4, 511, 1).needed(512), needed(9, 4, 511, 1));
        assert_eq!(request(9, 4, 512, 0).needed(512), needed(10, 3, 0, 0));
        assert_eq!(request(9, 4, 700, 700).needed(512), needed(10, 2, 188, 188));
        // The second inode of 128 bytes in the third block.
        let inode = request(9, 4, 2 * 512 + 128, 512 + 256).needed(512);
        assert_eq!((inode, inode.bytes(512)), (needed(11, 1, 128, 256), 128));
        assert_eq!(request(9, 1, 511, 0).needed(512).bytes(512), 1);
    }

    #[test]
    fn padding_of_all_bytes_is_ignored() {
        for (blocks, block_bytes) in [(0, 512), (4, 0), (0, 0)] {
            let whole = request(9, blocks, 3, 4).needed(block_bytes);
            assert_eq!((whole, whole.bytes(block_bytes)), (needed(9, blocks, 0, 0), 0));
        }
        assert_eq!(request(9, 4, 1024, 1024).needed(512), needed(9, 4, 0, 0));
        assert_eq!(request(9, 4, u32::MAX, u32::MAX).needed(512), needed(9, 4, 0, 0));
        assert_eq!(request(9, u32::MAX, u32::MAX, u32::MAX).needed(u32::MAX).blocks, u32::MAX - 2);
    }

    #[test]
    fn ranges_outside_the_request_or_too_long_need_all_bytes() {
        let padding = |first, bytes| request(0, u32::MAX, 7, 7).with_needed_bytes(first, bytes, u32::MAX).padding;
        let most = u64::from(u32::MAX);
        assert_eq!(padding(most, most * most - 2 * most), Padding { front_bytes: u32::MAX, back_bytes: u32::MAX });
        assert_eq!(padding(most + 1, most), Padding::NONE);
        assert_eq!(padding(0, most), Padding::NONE);
        assert_eq!(padding(5, 0), Padding::NONE);
        assert_eq!(padding(u64::MAX, u64::MAX), Padding::NONE);
        assert_eq!(request(0, 1, 7, 7).with_needed_bytes(1, 512, 512).padding, Padding::NONE);
    }

    proptest! {
        #[test]
        fn needed_bytes_are_those_of_the_given_range(
            lbn in 0..1_u64 << 40, blocks in 1..50_u32, block_bytes in 1..50_u32, first in any::<u64>(), bytes in any::<u64>(),
        ) {
            let all_bytes = u64::from(blocks) * u64::from(block_bytes);
            let first = first % all_bytes;
            let bytes = 1 + bytes % (all_bytes - first);
            let needed = request(lbn, blocks, 0, 0).with_needed_bytes(first, bytes, block_bytes).needed(block_bytes);
            let start = lbn * u64::from(block_bytes);
            prop_assert_eq!(needed.lbn * u64::from(block_bytes) + u64::from(needed.front_bytes), start + first);
            prop_assert_eq!(needed.bytes(block_bytes), bytes);
            prop_assert!(needed.blocks >= 1 && needed.front_bytes < block_bytes && needed.back_bytes < block_bytes);
        }
    }
}
