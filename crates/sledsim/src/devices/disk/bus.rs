//! Bus transfers of reads, which overlap the arrival of the data from the medium.

use crate::convert::{mul_div, mul_div_ceil};
use crate::time::Time;

/// Blocks that arrive in the buffer at equal intervals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    /// Number of blocks.
    pub blocks: u64,
    /// Arrival of the first block.
    pub first: Time,
    /// Arrival of the last block.
    pub last: Time,
}

impl Chunk {
    /// Returns the arrival of block `index`.
    #[inline]
    fn arrival(&self, index: u64) -> Time {
        if self.blocks <= 1 {
            return self.last;
        }
        self.first + mul_div_ceil(self.last.saturating_since(self.first), index, self.blocks - 1)
    }

    /// Returns the number of blocks that have arrived at `now`.
    #[inline]
    fn arrived(&self, now: Time) -> u64 {
        if now >= self.last {
            return self.blocks;
        }
        if now < self.first {
            return 0;
        }
        let span_ns = self.last.saturating_since(self.first).max(1);
        (mul_div(now.saturating_since(self.first), self.blocks - 1, span_ns) + 1).min(self.blocks)
    }
}

/// How a drive uses the bus for a read.
#[derive(Clone, Copy, Debug)]
pub(super) struct BusOptions {
    /// Transfer time of a block.
    pub block_ns: u64,
    /// True if the drive keeps the bus when it runs out of data.
    pub hold: bool,
    /// Time of a disconnection.
    pub disconnect_ns: u64,
    /// Time of a reconnection, data preparation included.
    pub reconnect_ns: u64,
    /// Number of blocks in the buffer at which the drive reconnects.
    pub watermark: u64,
}

/// A finished transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// When the drive was first ready to transfer.
    pub connected: Time,
    /// End of the last block.
    pub end: Time,
}

/// Transfers the blocks of `chunks`. The drive is connected and ready at `connected`; if that is `None`, it has disconnected, and
/// may reconnect from `free` on once the watermark is reached.
pub(super) fn transfer(chunks: &[Chunk], connected: Option<Time>, free: Time, options: &BusOptions) -> Transfer {
    let blocks: u64 = chunks.iter().map(|chunk| chunk.blocks).sum();
    let connected = connected.unwrap_or_else(|| {
        let watermark = arrival(chunks, options.watermark.clamp(1, blocks.max(1)) - 1);
        // The drive reconnects ahead of the watermark, so that it is ready when the watermark is reached.
        watermark.max(free + options.reconnect_ns)
    });
    // If disconnecting and reconnecting take no time, holding the bus gives the same result.
    if options.hold || (options.disconnect_ns + options.reconnect_ns == 0 && options.watermark <= 1) {
        return Transfer { connected, end: end_of_held_transfer(chunks, connected, options.block_ns) };
    }
    let (mut now, mut done, mut passed, mut chunks) = (connected, 0, 0, chunks);
    loop {
        // Drops the chunks that have been transferred.
        while let Some((first, rest)) = chunks.split_first().filter(|(first, _)| passed + first.blocks <= done) {
            passed += first.blocks;
            chunks = rest;
        }
        let there = passed + arrived(chunks, now);
        if there > done {
            now += (there - done) * options.block_ns;
            done = there;
            // A bus that takes no time gets each block as it arrives.
            if done < blocks {
                continue;
            }
        }
        if done >= blocks {
            return Transfer { connected, end: now };
        }
        let watermark = arrival(chunks, (done + options.watermark.max(1)).min(blocks) - 1 - passed);
        now = watermark.max(now + options.disconnect_ns) + options.reconnect_ns;
    }
}

/// Returns the end of a transfer on a bus that is held: each block is transferred in turn, no sooner than it has arrived.
#[inline]
fn end_of_held_transfer(chunks: &[Chunk], connected: Time, block_ns: u64) -> Time {
    chunks.iter().filter(|chunk| chunk.blocks > 0).fold(connected, |bus, chunk| {
        // Blocks of a chunk arrive at equal intervals, so the bus can only wait for the first or for the last.
        (bus.max(chunk.first) + chunk.blocks * block_ns).max(chunk.last + block_ns)
    })
}

/// Returns the arrival of block `index` of all chunks.
fn arrival(chunks: &[Chunk], mut index: u64) -> Time {
    let mut last = Time::ZERO;
    for chunk in chunks.iter().filter(|chunk| chunk.blocks > 0) {
        if index < chunk.blocks {
            return chunk.arrival(index);
        }
        index -= chunk.blocks;
        last = chunk.last;
    }
    last
}

/// Returns the number of blocks of all chunks that have arrived at `now`, before the first that has not.
fn arrived(chunks: &[Chunk], now: Time) -> u64 {
    let mut there = 0;
    for chunk in chunks {
        let of_chunk = chunk.arrived(now);
        there += of_chunk;
        if of_chunk < chunk.blocks {
            break;
        }
    }
    there
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A million blocks on ten thousand tracks, with a pause of the bus after each block. It would take a second if each pause
    /// searched all tracks.
    #[test]
    fn a_long_transfer_ends_with_its_last_block() {
        let ms = |ms: u64| Time::from_ns(ms * 1_000_000);
        let chunk = |track: u64| Chunk { blocks: 100, first: ms(10 * track), last: ms(10 * track + 9) };
        let chunks: Vec<Chunk> = (0..10_000).map(chunk).collect();
        let options = BusOptions { block_ns: 10, hold: false, disconnect_ns: 1, reconnect_ns: 2, watermark: 1 };
        let transfer = transfer(&chunks, Some(Time::ZERO), Time::ZERO, &options);
        assert_eq!(transfer.end, ms(10 * 9_999 + 9) + 2 + 10);
    }
}
