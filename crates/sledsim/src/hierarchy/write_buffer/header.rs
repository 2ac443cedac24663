//! The header of a record in the log, which lists the disk blocks of the record.
//!
//! A record is a header of one block and the data blocks behind it. The header holds, little-endian: the magic word (4 bytes),
//! the number of the volume (4), the sequence number (8), the number of runs (4), the number of their blocks (4), the CRC-32 of
//! the data (4), the CRC-32 of the header with zeroes in this place (4), and for each run its first disk block (8) and its
//! number of blocks (4).

use crate::convert::to_u32;
use flate2::Crc;

/// The first bytes of every header in the log.
pub const MAGIC: &[u8; 4] = b"MWB1";

const FIXED_BYTES: usize = 32;
const RUN_BYTES: usize = 12;

/// Consecutive blocks of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) lbn: u64,
    pub(super) blocks: u32,
}

/// The content of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Rises from one record to the next; no number is reused.
    pub(super) sequence: u64,
    pub(super) runs: Vec<Run>,
    data_crc: u32,
}

/// The largest number of runs in a header of one block.
pub(super) fn max_runs(block_bytes: u32) -> usize {
    (block_bytes as usize).saturating_sub(FIXED_BYTES) / RUN_BYTES
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// The header block of a record with this data.
pub(super) fn encode(volume: u32, sequence: u64, runs: &[Run], data: &[u8], block_bytes: u32) -> Vec<u8> {
    let blocks: u32 = runs.iter().map(|run| run.blocks).sum();
    let mut bytes = Vec::with_capacity(block_bytes as usize);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&volume.to_le_bytes());
    bytes.extend_from_slice(&sequence.to_le_bytes());
    for word in [to_u32(runs.len()), blocks, crc(data), 0] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    for run in runs {
        bytes.extend_from_slice(&run.lbn.to_le_bytes());
        bytes.extend_from_slice(&run.blocks.to_le_bytes());
    }
    bytes.resize(block_bytes as usize, 0);
    let header_crc = crc(&bytes);
    bytes[FIXED_BYTES - 4..FIXED_BYTES].copy_from_slice(&header_crc.to_le_bytes());
    bytes
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn double_word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

/// The header in a block; `None` if the block is not an intact header of this volume.
pub(super) fn decode(volume: u32, block: &[u8]) -> Option<Header> {
    if !block.starts_with(MAGIC) || word(block, 4)? != volume {
        return None;
    }
    let mut blank = block.to_vec();
    blank.get_mut(FIXED_BYTES - 4..FIXED_BYTES)?.fill(0);
    if crc(&blank) != word(block, FIXED_BYTES - 4)? {
        return None;
    }
    let run = |index: usize| {
        let at = FIXED_BYTES + index * RUN_BYTES;
        Some(Run { lbn: double_word(block, at)?, blocks: word(block, at + 8)? })
    };
    let runs: Option<Vec<Run>> = (0..word(block, 16)? as usize).map(run).collect();
    Some(Header { sequence: double_word(block, 8)?, runs: runs?, data_crc: word(block, 24)? })
}

impl Header {
    /// Number of data blocks behind it.
    pub(super) fn blocks(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.blocks)).sum()
    }

    /// Returns true if the header was written with this data.
    pub(super) fn matches(&self, data: &[u8]) -> bool {
        crc(data) == self.data_crc
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip_and_flipped_bits_are_detected() {
        let runs = vec![Run { lbn: 1 << 40, blocks: 2 }, Run { lbn: 7, blocks: 1 }];
        let data = [5; 3 * 512];
        let block = encode(9, 77, &runs, &data, 512);
        let header = decode(9, &block).expect("a header");
        assert_eq!((block.len(), header.sequence, &header.runs, header.blocks()), (512, 77, &runs, 3));
        assert!(header.matches(&data) && !header.matches(&data[..1024]));
        assert_eq!(decode(8, &block), None, "a header of another volume");
        for bit in 0..512 * 8 {
            let mut broken = block.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(9, &broken), None, "bit {bit}");
        }
        assert_eq!((decode(9, &[]), decode(9, b"MWB1"), decode(9, &[0; 512])), (None, None, None));
    }

    #[test]
    fn a_header_of_512_bytes_holds_40_runs() {
        assert_eq!((max_runs(512), max_runs(4096), max_runs(16)), (40, 338, 0));
        let runs = [Run { lbn: 3, blocks: 1 }; 40];
        assert_eq!(decode(0, &encode(0, 1, &runs, &[0; 512], 512)).expect("a header").runs, runs);
    }
}
