//! Read-ahead of sequential streams of reads.

use crate::hierarchy::common::BlockRange;

/// Number of streams that are tracked at once.
const STREAMS: usize = 16;

/// A sequential stream: each read begins where the one before ended.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// The address at which the next read of the stream begins.
    next_lbn: u64,
    /// The end of the blocks that were read ahead.
    ahead_lbn: u64,
    /// Number of blocks to read ahead.
    window: u64,
    /// Number of its last read among all reads.
    last_read: u64,
}

/// The most recent streams of a cache.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    streams: Vec<Stream>,
    line_blocks: u64,
    /// Limit of blocks to read ahead of a stream.
    max_blocks: u64,
    reads: u64,
}

impl Streams {
    /// Streams with a read-ahead of at most `max_blocks` blocks, rounded down to whole lines.
    pub fn new(line_blocks: u64, max_blocks: u64) -> Self {
        let max_blocks = (max_blocks / line_blocks).max(1) * line_blocks;
        Self { streams: Vec::with_capacity(STREAMS), line_blocks, max_blocks, reads: 0 }
    }

    /// Adds a read to its stream and returns the blocks to read ahead.
    ///
    /// A window of blocks behind the read is to be in the cache. It is one line at the second read of a stream and doubles with each
    /// further read. The missing part is read once at most half of the window is left.
    pub fn record(&mut self, read: BlockRange) -> Option<BlockRange> {
        let BlockRange { from: lbn, to: end } = read;
        self.reads += 1;
        let Some(stream) = self.streams.iter_mut().find(|stream| stream.next_lbn == lbn) else {
            self.begin(end);
            return None;
        };
        (stream.next_lbn, stream.last_read) = (end, self.reads);
        stream.window = (2 * stream.window).clamp(self.line_blocks, self.max_blocks);
        let from = stream.ahead_lbn.max(end);
        if 2 * (from - end) > stream.window {
            return None;
        }
        let to = (end + stream.window) / self.line_blocks * self.line_blocks;
        stream.ahead_lbn = to.max(from);
        (from < to).then_some(BlockRange::new(from, to))
    }

    /// Adds a stream, in place of the least recent one if there are too many.
    fn begin(&mut self, end: u64) {
        let stream = Stream { next_lbn: end, ahead_lbn: end, window: 0, last_read: self.reads };
        if self.streams.len() < STREAMS {
            self.streams.push(stream);
        } else if let Some(oldest) = self.streams.iter_mut().min_by_key(|stream| stream.last_read) {
            *oldest = stream;
        }
    }

    /// Removes all streams.
    pub fn clear(&mut self) {
        self.streams.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(streams: &mut Streams, from: u64, to: u64) -> Option<(u64, u64)> {
        streams.record(BlockRange::new(from, to)).map(|ahead| (ahead.from, ahead.to))
    }

    #[test]
    fn the_window_doubles_with_each_read_and_ends_at_lines() {
        let mut streams = Streams::new(8, 67);
        // Reads of one line: windows of 8, 16, 32, 64, 64 blocks. More is read once half of the window or less is left.
        let ahead: Vec<_> = (0..12).map(|read| record(&mut streams, read * 8, read * 8 + 8)).collect();
        let mut expected = vec![None, Some((16, 24)), Some((24, 40)), Some((40, 64)), Some((64, 104))];
        // Of the 64 blocks behind the next reads 56, 48, 40 and 32 are left.
        expected.extend([None, None, None, Some((104, 136)), None, None, None]);
        assert_eq!(ahead, expected);
    }

    #[test]
    fn the_least_recent_stream_is_replaced() {
        let mut streams = Streams::new(8, 64);
        for stream in 0..STREAMS as u64 {
            assert_eq!(record(&mut streams, stream * 1000, stream * 1000 + 8), None);
        }
        assert_eq!(record(&mut streams, 8, 16), Some((16, 24)), "all streams are known");
        assert_eq!(record(&mut streams, 500_000, 500_008), None, "a new stream replaces the second");
        assert_eq!(record(&mut streams, 1008, 1016), None);
        assert_eq!(record(&mut streams, 16, 24), Some((24, 40)));
    }
}
