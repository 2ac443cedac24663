//! The header of a segment on MEMS: one block before its data that says which segment of the disk it is, and which of its
//! blocks are valid.
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | [`MAGIC`] |
//! | 8 | number of the segment, little-endian |
//! | to the last 4 | a bit for each block that is valid |
//! | 4 | CRC-32 of the rest |

use flate2::Crc;

use crate::engine::Payload;

/// What a header begins with.
pub const MAGIC: [u8; 8] = *b"MCD-SEGM";

/// Bytes of a header that are not bits.
const FIXED_BYTES: usize = 8 + 8 + 4;

/// What a header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Number of the segment on the disk.
    pub segment: u64,
    /// Bits of valid blocks, 64 to a word, lowest first.
    pub valid: Vec<u64>,
}

impl Header {
    /// Of a segment whose `blocks` blocks are all valid.
    pub fn whole(segment: u64, blocks: u32) -> Self {
        let word = |first: u32| u64::MAX >> (64 - (blocks - first).min(64));
        Self { segment, valid: (0..blocks).step_by(64).map(word).collect() }
    }
}

/// Most blocks of a segment whose bits fit a header of one block.
pub(super) const fn most_blocks(block_bytes: u32) -> u64 {
    (block_bytes as u64).saturating_sub(FIXED_BYTES as u64) * 8
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum().to_le_bytes()
}

/// The block of a header; of a slot that holds nothing a block of zeroes.
pub(super) fn block(header: Option<&Header>, block_bytes: u32) -> Payload {
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

/// The header in a block, if it is one; `words` of valid bits.
pub(super) fn parse(bytes: &[u8], words: usize) -> Option<Header> {
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
    fn a_header_is_read_as_it_was_written_and_not_when_a_bit_has_changed() {
        // As many bits as fit a block of 512 bytes: 492 bytes of them.
        let valid: Vec<u64> = (0..61).map(|word| 0x0123_4567_89ab_cdef_u64.rotate_left(word)).collect();
        let header = Header { segment: 1 << 40 | 77, valid };
        assert_eq!(most_blocks(512), 492 * 8);
        let block = block(Some(&header), 512);
        let bytes = block.bytes().expect("bytes");
        assert_eq!(parse(bytes, 61), Some(header));
        for bit in 0..512 * 8 {
            let mut damaged = bytes.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse(&damaged, 61), None, "bit {bit}");
        }
        assert_eq!(parse(super::block(None, 512).bytes().expect("bytes"), 61), None);
    }
}
