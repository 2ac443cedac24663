//! Handing data over to the host while the medium still delivers it.

use crate::convert::to_u64;
use crate::time::Time;

/// Blocks that come into the buffer evenly, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    /// How many.
    pub blocks: u64,
    /// When the first is there.
    pub first: Time,
    /// When the last is there.
    pub last: Time,
}

impl Chunk {
    /// When block `index` of it is there.
    #[inline]
    fn arrival(&self, index: u64) -> Time {
        if self.blocks <= 1 {
            return self.last;
        }
        let span = u128::from(self.last.saturating_since(self.first)) * u128::from(index);
        self.first + to_u64(span.div_ceil(u128::from(self.blocks - 1)))
    }

    /// How many of it are there at `now`.
    #[inline]
    fn arrived(&self, now: Time) -> u64 {
        if now >= self.last {
            return self.blocks;
        }
        if now < self.first {
            return 0;
        }
        let span = u128::from(self.last.saturating_since(self.first).max(1));
        let passed = u128::from(now.saturating_since(self.first)) * u128::from(self.blocks - 1) / span;
        (to_u64(passed) + 1).min(self.blocks)
    }
}

/// Terms on which a drive connects to the bus.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// A block on the bus.
    pub block_ns: u64,
    /// Whether the drive keeps the bus when it runs out of data.
    pub hold: bool,
    /// Disconnecting when it does not.
    pub disconnect_ns: u64,
    /// Reconnecting, data preparation included.
    pub reconnect_ns: u64,
    /// Blocks that must wait before it reconnects.
    pub watermark: u64,
}

/// A finished transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    /// When the drive was first ready to transfer.
    pub connected: Time,
    /// When the last block was over.
    pub end: Time,
}

/// Transfers the blocks of `chunks`. The drive is connected and ready at `connected`; or it has disconnected, and may come
/// back from `free` on once the watermark is reached.
pub(super) fn hand_over(chunks: &[Chunk], connected: Option<Time>, free: Time, terms: &Terms) -> Transfer {
    let blocks: u64 = chunks.iter().map(|chunk| chunk.blocks).sum();
    let connected = connected.unwrap_or_else(|| {
        let stock = arrival(chunks, terms.watermark.clamp(1, blocks.max(1)) - 1);
        // It comes back while the medium still delivers, so as to be there when the stock is.
        stock.max(free + terms.reconnect_ns)
    });
    // Where going and coming back is free it makes no difference.
    if terms.hold || (terms.disconnect_ns + terms.reconnect_ns == 0 && terms.watermark <= 1) {
        return Transfer { connected, end: in_tandem(chunks, connected, terms.block_ns) };
    }
    let (mut now, mut done, mut passed, mut chunks) = (connected, 0, 0, chunks);
    loop {
        // Chunks that are over are not looked at again.
        while let Some((first, rest)) = chunks.split_first().filter(|(first, _)| passed + first.blocks <= done) {
            passed += first.blocks;
            chunks = rest;
        }
        let there = passed + arrived(chunks, now);
        if there > done {
            now += (there - done) * terms.block_ns;
            done = there;
            // A bus that takes no time gets every block as it comes.
            if done < blocks {
                continue;
            }
        }
        if done >= blocks {
            return Transfer { connected, end: now };
        }
        let stock = arrival(chunks, (done + terms.watermark.max(1)).min(blocks) - 1 - passed);
        now = stock.max(now + terms.disconnect_ns) + terms.reconnect_ns;
    }
}

/// End of a transfer that takes every block as soon as it is there: each block in turn, no sooner than it has arrived.
#[inline]
fn in_tandem(chunks: &[Chunk], connected: Time, block_ns: u64) -> Time {
    chunks.iter().filter(|chunk| chunk.blocks > 0).fold(connected, |bus, chunk| {
        // Arrivals are even, so that the bus can only have had to wait for the first or for the last.
        (bus.max(chunk.first) + chunk.blocks * block_ns).max(chunk.last + block_ns)
    })
}

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

    /// A million blocks on ten thousand tracks, with a pause of the bus behind each block: a second of work where every pause
    /// looks at every track.
    #[test]
    fn a_long_transfer_ends_when_its_last_block_is_over() {
        let ms = |ms: u64| Time::from_ns(ms * 1_000_000);
        let chunk = |track: u64| Chunk { blocks: 100, first: ms(10 * track), last: ms(10 * track + 9) };
        let chunks: Vec<Chunk> = (0..10_000).map(chunk).collect();
        let terms = Terms { block_ns: 10, hold: false, disconnect_ns: 1, reconnect_ns: 2, watermark: 1 };
        let transfer = hand_over(&chunks, Some(Time::ZERO), Time::ZERO, &terms);
        assert_eq!(transfer.end, ms(10 * 9_999 + 9) + 2 + 10);
    }
}
