//! The header of a segment on MEMS: a block before its data with the number of the segment and its valid blocks.
//!
//! | bytes | content |
//! | --- | --- |
//! | 8 | [`MAGIC`] |
//! | 8 | number of the segment, little-endian |
//! | to the last 4 | a bit for each block, set if it is valid, lowest first |
//! | 4 | CRC-32 of the bytes before |

use flate2::Crc;

use crate::engine::Payload;

/// The first bytes of a header.
pub const MAGIC: [u8; 8] = *b"MCD-SEGM";

/// Bytes of a header besides the bits of valid blocks.
const FIXED_BYTES: usize = 8 + 8 + 4;

/// The content of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Number of the segment on the disk.
    pub segment: u64,
    /// The bits of valid blocks, 64 to a word, lowest first.
    pub valid: Vec<u64>,
}

impl Header {
    /// The header of a segment whose `blocks` blocks are all valid.
    pub fn all_valid(segment: u64, blocks: u32) -> Self {
        let word = |first: u32| u64::MAX >> (64 - (blocks - first).min(64));
        Self { segment, valid: (0..blocks).step_by(64).map(word).collect() }
    }
}

/// The largest number of blocks of a segment whose bits fit in a header of one block.
pub(super) const fn max_blocks(block_bytes: u32) -> u64 {
    (block_bytes as u64).saturating_sub(FIXED_BYTES as u64) * 8
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum().to_le_bytes()
}

/// The block with a header; a block of zeroes for an empty slot.
pub(super) fn encode(header: Option<&Header>, block_bytes: u32) -> Payload {
    let mut bytes = vec![0; block_bytes as usize];
    if let Some(header) = header {
        let end = bytes.len() - 4;
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&header.segment.to_le_bytes());
        let bits = header.valid.iter().flat_map(|word| word.to_le_bytes());
        bytes[16..end].iter_mut().zip(bits).for_each(|(byte, bits)| *byte = bits);
        let sum = checksum(&bytes[..end]);
        bytes[end..].copy_from_slice(&sum);
    }
    Payload::of(&bytes)
}

/// The header in a block, with `words` words of valid bits; `None` if the block is not an intact header.
pub(super) fn decode(bytes: &[u8], words: usize) -> Option<Header> {
    let end = bytes.len().checked_sub(4)?;
    if bytes.get(..8)? != MAGIC || bytes[end..] != checksum(&bytes[..end]) {
        return None;
    }
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let mut valid: Vec<u64> = bytes[16..end].chunks(8).take(words).map(word).collect();
    valid.resize(words, 0);
    Some(Header { segment: word(&bytes[8..16]), valid })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip_and_flipped_bits_are_detected() {
        // As many bits as fit in a block of 512 bytes.
        let valid: Vec<u64> = (0..61).map(|word| 0x0123_4567_89ab_cdef_u64.rotate_left(word)).collect();
        let header = Header { segment: 1 << 40 | 77, valid };
        assert_eq!(max_blocks(512), 492 * 8);
        let block = encode(Some(&header), 512);
        let bytes = block.bytes().expect("bytes");
        assert_eq!(decode(bytes, 61), Some(header));
        for bit in 0..512 * 8 {
            let mut damaged = bytes.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&damaged, 61), None, "bit {bit}");
        }
        assert_eq!(decode(encode(None, 512).bytes().expect("bytes"), 61), None);
    }
}
