//! Sequential streams, which are told from other requests so that they need not go through MEMS.

use crate::request::{Op, Request};

/// Streams that are told apart.
const STREAMS: usize = 16;

/// Requests of one kind each of which began where the one before ended.
#[derive(Clone, Copy, Debug)]
struct Stream {
    op: Op,
    /// Where the next request begins if it goes on.
    next_lbn: u64,
    /// Blocks so far.
    blocks: u64,
    /// When it last went on, in requests.
    used: u64,
}

/// The streams that a caching disk sees.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    streams: Vec<Stream>,
    /// Blocks of a stream from which on what continues it bypasses MEMS.
    least_blocks: u64,
    requests: u64,
}

impl Streams {
    /// What continues at least `least_blocks` bypasses MEMS.
    pub fn new(least_blocks: u64) -> Self {
        Self { streams: Vec::with_capacity(STREAMS), least_blocks, requests: 0 }
    }

    /// Hears of a request; says whether it continues a stream that is long enough.
    pub fn follow(&mut self, request: &Request) -> bool {
        self.requests += 1;
        let (op, used) = (request.op, self.requests);
        // Where several end at one place, it is the longest that goes on.
        let continued = self.streams.iter_mut().filter(|stream| (stream.op, stream.next_lbn) == (op, request.lbn));
        if let Some(stream) = continued.max_by_key(|stream| stream.blocks) {
            let is_long = stream.blocks >= self.least_blocks;
            let blocks = stream.blocks + u64::from(request.blocks);
            *stream = Stream { op, next_lbn: request.end_lbn(), blocks, used };
            return is_long;
        }
        let stream = Stream { op, next_lbn: request.end_lbn(), blocks: u64::from(request.blocks), used };
        if self.streams.len() < STREAMS {
            self.streams.push(stream);
        } else if let Some(oldest) = self.streams.iter_mut().min_by_key(|stream| stream.used) {
            *oldest = stream;
        }
        false
    }

    /// Forgets all of them.
    pub fn forget(&mut self) {
        self.streams.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: Op, lbn: u64, blocks: u32) -> Request {
        Request { op, ..Request::read(lbn, blocks) }
    }

    #[test]
    fn what_continues_enough_blocks_is_told_from_what_does_not() {
        let mut streams = Streams::new(20);
        let mut follow = |op, lbn, blocks| streams.follow(&request(op, lbn, blocks));
        assert_eq!([0, 8, 16].map(|lbn| follow(Op::Read, lbn, 8)), [false; 3], "16 blocks are continued by the third");
        assert!(follow(Op::Read, 24, 1) && follow(Op::Read, 25, 8));
        assert!(!follow(Op::Write, 33, 8), "a write does not continue reads");
        assert!(!follow(Op::Read, 34, 8), "nor does what leaves a gap");
        assert!(follow(Op::Read, 33, 8), "the stream goes on beside the others");
        assert!(!follow(Op::Read, 36, 5), "another that ends at the same place");
        assert!(follow(Op::Read, 41, 8), "is the shorter one");
    }

    #[test]
    fn the_stream_that_waits_longest_is_forgotten() {
        let mut streams = Streams::new(8);
        for stream in 0..=STREAMS as u64 {
            assert!(!streams.follow(&request(Op::Read, stream * 1000, 8)));
        }
        assert!(streams.follow(&request(Op::Read, 1008, 8)));
        assert!(!streams.follow(&request(Op::Read, 8, 8)), "the first had to make room");
        streams.forget();
        assert!(!streams.follow(&request(Op::Read, 1016, 8)));
    }
}
