//! Sequential streams of reads, and how much is read ahead of them.

/// Streams that are told apart.
const STREAMS: usize = 16;

/// Reads each of which began where the one before ended.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// Where the next read begins if it goes on.
    next_lbn: u64,
    /// Up to where it was read ahead.
    ahead_lbn: u64,
    /// Blocks to be read ahead of it.
    window: u64,
    /// When it last went on, in reads.
    used: u64,
}

/// The streams of a cache.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    streams: Vec<Stream>,
    line_blocks: u64,
    /// Most blocks to be read ahead of a stream.
    most_blocks: u64,
    reads: u64,
}

impl Streams {
    /// Reads at most `most_blocks` ahead, in whole lines.
    pub fn new(line_blocks: u64, most_blocks: u64) -> Self {
        let most_blocks = (most_blocks / line_blocks).max(1) * line_blocks;
        Self { streams: Vec::with_capacity(STREAMS), line_blocks, most_blocks, reads: 0 }
    }

    /// Hears of a read of blocks `lbn` to `end`; says what to read ahead, from and to where. That is what a window of blocks
    /// after the read lacks, once no more than half of the window is left of what was read ahead before; the window is one
    /// line when a stream goes on for the first time, and doubles each time.
    pub fn follow(&mut self, lbn: u64, end: u64) -> Option<(u64, u64)> {
        self.reads += 1;
        let Some(stream) = self.streams.iter_mut().find(|stream| stream.next_lbn == lbn) else {
            self.begin(end);
            return None;
        };
        (stream.next_lbn, stream.used) = (end, self.reads);
        stream.window = (2 * stream.window).clamp(self.line_blocks, self.most_blocks);
        let from = stream.ahead_lbn.max(end);
        if 2 * (from - end) > stream.window {
            return None;
        }
        let to = (end + stream.window) / self.line_blocks * self.line_blocks;
        stream.ahead_lbn = to.max(from);
        (from < to).then_some((from, to))
    }

    /// A new stream, in the place of the one that has not gone on for longest.
    fn begin(&mut self, end: u64) {
        let stream = Stream { next_lbn: end, ahead_lbn: end, window: 0, used: self.reads };
        if self.streams.len() < STREAMS {
            self.streams.push(stream);
        } else if let Some(oldest) = self.streams.iter_mut().min_by_key(|stream| stream.used) {
            *oldest = stream;
        }
    }

    /// Forgets all of them.
    pub fn forget(&mut self) {
        self.streams.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_doubles_while_a_stream_goes_on_and_ends_at_lines() {
        let mut streams = Streams::new(8, 67);
        // Reads of a line each: windows of 8, 16, 32, 64, 64 blocks; more is read where half or less is left.
        let heard: Vec<_> = (0..12).map(|read| streams.follow(read * 8, read * 8 + 8)).collect();
        let mut expected = vec![None, Some((16, 24)), Some((24, 40)), Some((40, 64)), Some((64, 104))];
        // 64 blocks from 48 on are to be there: 56 are; then 48 from 56 on, 40, and 32 from 72 on.
        expected.extend([None, None, None, Some((104, 136)), None, None, None]);
        assert_eq!(heard, expected);
    }

    #[test]
    fn the_stream_that_waits_longest_is_forgotten() {
        let mut streams = Streams::new(8, 64);
        for stream in 0..STREAMS as u64 {
            assert_eq!(streams.follow(stream * 1000, stream * 1000 + 8), None);
        }
        assert_eq!(streams.follow(8, 16), Some((16, 24)), "each is known");
        assert_eq!(streams.follow(500_000, 500_008), None, "one more takes the place of the second");
        assert_eq!(streams.follow(1008, 1016), None);
        assert_eq!(streams.follow(16, 24), Some((24, 40)));
    }
}
