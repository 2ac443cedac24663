//! Requests: what a host asks of storage.

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// What is asked for: a transfer in a direction, or that what was written stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// From the device to the host.
    Read,
    /// From the host to the device.
    Write,
    /// No transfer, and no blocks: it completes when every write that had completed before it was submitted outlives a power
    /// cut. Of writes that are under way then it promises nothing.
    Flush,
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
    /// Nobody waits for this request: a component does something on its own account.
    pub const BACKGROUND: Self = Self(4);
    /// A write that is complete only when the medium has it, whatever buffers there are.
    pub const DURABLE: Self = Self(8);

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This set without the flags of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
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
    /// Number of blocks, at least 1; 0 of a flush.
    pub blocks: u32,
    /// Read, write or flush.
    pub op: Op,
    /// Hints.
    pub flags: Flags,
    /// Where it came from: device number of a trace record, stream number of a generator.
    pub origin: u32,
    /// What of its blocks is not needed.
    pub spare: Spare,
}

/// The blocks of a request that hold what it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed {
    /// The first of them.
    pub lbn: u64,
    /// How many they are, at least 1.
    pub blocks: u32,
    /// Bytes at the start of the first that are not needed: fewer than a block has.
    pub front_bytes: u32,
    /// Bytes at the end of the last that are not needed: fewer than a block has.
    pub back_bytes: u32,
}

impl Needed {
    /// Number of bytes needed, of blocks of `block_bytes`.
    #[must_use]
    pub const fn bytes(&self, block_bytes: u32) -> u64 {
        self.blocks as u64 * block_bytes as u64 - self.front_bytes as u64 - self.back_bytes as u64
    }
}

impl Request {
    /// A plain read that arrives as time begins: of number 0, needed whole, and of nobody in particular.
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
            spare: Spare::NONE,
        }
    }

    /// A flush that arrives as time begins, of number 0 and of nobody in particular.
    #[must_use]
    pub const fn flush() -> Self {
        Self { op: Op::Flush, ..Self::read(0, 0) }
    }

    /// Whether it is a flush.
    #[inline]
    #[must_use]
    pub const fn is_flush(&self) -> bool {
        matches!(self.op, Op::Flush)
    }

    /// The block after the last one.
    #[inline]
    #[must_use]
    pub const fn end_lbn(&self) -> u64 {
        self.lbn + self.blocks as u64
    }

    /// Whether it has blocks and they lie below `capacity_blocks`; of a flush, whether it has none.
    #[inline]
    #[must_use]
    pub const fn fits(&self, capacity_blocks: u64) -> bool {
        match self.lbn.checked_add(self.blocks as u64) {
            Some(end) => (self.blocks > 0) != self.is_flush() && end <= capacity_blocks,
            None => false,
        }
    }

    /// What of its blocks, of `block_bytes` each, is needed. Where `spare` leaves nothing, which no request should ask for,
    /// all of them are.
    #[inline]
    #[must_use]
    pub const fn needed(&self, block_bytes: u32) -> Needed {
        let Spare { front_bytes, back_bytes } = self.spare;
        let all_bytes = self.blocks as u64 * block_bytes as u64;
        if front_bytes | back_bytes == 0 || front_bytes as u64 + back_bytes as u64 >= all_bytes {
            return Needed { lbn: self.lbn, blocks: self.blocks, front_bytes: 0, back_bytes: 0 };
        }
        // Spare bytes are fewer than all, so that a block has bytes and the request keeps a block.
        let (before, after) = (front_bytes / block_bytes, back_bytes / block_bytes);
        Needed {
            lbn: self.lbn + before as u64,
            blocks: self.blocks - before - after,
            front_bytes: front_bytes % block_bytes,
            back_bytes: back_bytes % block_bytes,
        }
    }

    /// The same request with its needed bytes given as a range of all its bytes: from byte `first` on, `bytes` of them. All
    /// are needed if that is no part of the request, or if what it leaves out does not fit 32 bits on either side.
    #[inline]
    #[must_use]
    pub fn needing(self, first: u64, bytes: u64, block_bytes: u32) -> Self {
        let all_bytes = u64::from(self.blocks) * u64::from(block_bytes);
        let back_bytes = first.checked_add(bytes).and_then(|end| all_bytes.checked_sub(end));
        let spare = match (u32::try_from(first), back_bytes.map(u32::try_from)) {
            (Ok(front_bytes), Some(Ok(back_bytes))) if bytes > 0 => Spare { front_bytes, back_bytes },
            _ => Spare::NONE,
        };
        Self { spare, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(lbn: u64, blocks: u32, front_bytes: u32, back_bytes: u32) -> Request {
        Request { spare: Spare { front_bytes, back_bytes }, ..Request::read(lbn, blocks) }
    }

    fn needed(lbn: u64, blocks: u32, front_bytes: u32, back_bytes: u32) -> Needed {
        Needed { lbn, blocks, front_bytes, back_bytes }
    }

    #[test]
    fn whole_blocks_drop_out_and_the_rest_is_spare_in_the_outer_blocks() {
        assert_eq!(request(9, 4, 0, 0).needed(512), needed(9, 4, 0, 0));
        assert_eq!(request(9, 4, 511, 1).needed(512), needed(9, 4, 511, 1));
        assert_eq!(request(9, 4, 512, 0).needed(512), needed(10, 3, 0, 0));
        assert_eq!(request(9, 4, 700, 700).needed(512), needed(10, 2, 188, 188));
        // An inode of 128 bytes: the second of the third block.
        let inode = request(9, 4, 2 * 512 + 128, 512 + 256).needed(512);
        assert_eq!((inode, inode.bytes(512)), (needed(11, 1, 128, 256), 128));
        assert_eq!(request(9, 1, 511, 0).needed(512).bytes(512), 1);
    }

    #[test]
    fn a_request_that_needs_nothing_needs_all() {
        for (blocks, block_bytes) in [(0, 512), (4, 0), (0, 0)] {
            let whole = request(9, blocks, 3, 4).needed(block_bytes);
            assert_eq!((whole, whole.bytes(block_bytes)), (needed(9, blocks, 0, 0), 0));
        }
        assert_eq!(request(9, 4, 1024, 1024).needed(512), needed(9, 4, 0, 0));
        assert_eq!(request(9, 4, u32::MAX, u32::MAX).needed(512), needed(9, 4, 0, 0));
        assert_eq!(request(9, u32::MAX, u32::MAX, u32::MAX).needed(u32::MAX).blocks, u32::MAX - 2);
    }

    #[test]
    fn a_range_that_no_spare_can_tell_is_needed_whole() {
        let spare = |first, bytes| request(0, u32::MAX, 7, 7).needing(first, bytes, u32::MAX).spare;
        let most = u64::from(u32::MAX);
        assert_eq!(spare(most, most * most - 2 * most), Spare { front_bytes: u32::MAX, back_bytes: u32::MAX });
        assert_eq!(spare(most + 1, most), Spare::NONE);
        assert_eq!(spare(0, most), Spare::NONE);
        assert_eq!(spare(5, 0), Spare::NONE);
        assert_eq!(spare(u64::MAX, u64::MAX), Spare::NONE);
        assert_eq!(request(0, 1, 7, 7).needing(1, 512, 512).spare, Spare::NONE);
    }

    proptest! {
        #[test]
        fn what_is_needed_is_what_is_not_spare(
            lbn in 0..1_u64 << 40, blocks in 1..50_u32, block_bytes in 1..50_u32, first in any::<u64>(), bytes in any::<u64>(),
        ) {
            let all_bytes = u64::from(blocks) * u64::from(block_bytes);
            let first = first % all_bytes;
            let bytes = 1 + bytes % (all_bytes - first);
            let needed = request(lbn, blocks, 0, 0).needing(first, bytes, block_bytes).needed(block_bytes);
            let start = lbn * u64::from(block_bytes);
            prop_assert_eq!(needed.lbn * u64::from(block_bytes) + u64::from(needed.front_bytes), start + first);
            prop_assert_eq!(needed.bytes(block_bytes), bytes);
            prop_assert!(needed.blocks >= 1 && needed.front_bytes < block_bytes && needed.back_bytes < block_bytes);
        }
    }
}
