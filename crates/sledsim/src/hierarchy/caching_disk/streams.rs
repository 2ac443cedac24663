//! Detection of sequential streams, which need not go through MEMS.

use crate::request::{Op, Request};

/// Number of streams that are tracked at once.
const STREAMS: usize = 16;

/// Requests of one operation, each of which begins where the one before ended.
#[derive(Clone, Copy, Debug)]
struct Stream {
    op: Op,
    /// The address at which the next request of the stream begins.
    next_lbn: u64,
    /// Number of blocks so far.
    blocks: u64,
    /// Number of the last request of the stream among all requests.
    last_request: u64,
}

/// The most recent sequential streams.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    streams: Vec<Stream>,
    /// Number of blocks of a stream from which on its requests bypass MEMS.
    min_blocks: u64,
    requests: u64,
}

impl Streams {
    /// Requests that continue a stream of at least `min_blocks` blocks bypass MEMS.
    pub fn new(min_blocks: u64) -> Self {
        Self { streams: Vec::with_capacity(STREAMS), min_blocks, requests: 0 }
    }

    /// Adds a request to its stream. Returns true if the stream is long enough, so that the request bypasses MEMS.
    pub fn record(&mut self, request: &Request) -> bool {
        self.requests += 1;
        let (op, last_request) = (request.op, self.requests);
        // If several streams end at one address, the longest continues.
        let continued = self.streams.iter_mut().filter(|stream| (stream.op, stream.next_lbn) == (op, request.lbn));
        if let Some(stream) = continued.max_by_key(|stream| stream.blocks) {
            let is_long = stream.blocks >= self.min_blocks;
            let blocks = stream.blocks + u64::from(request.blocks);
            *stream = Stream { op, next_lbn: request.end_lbn(), blocks, last_request };
            return is_long;
        }
        let stream = Stream { op, next_lbn: request.end_lbn(), blocks: u64::from(request.blocks), last_request };
        if self.streams.len() < STREAMS {
            self.streams.push(stream);
        } else if let Some(oldest) = self.streams.iter_mut().min_by_key(|stream| stream.last_request) {
            *oldest = stream;
        }
        false
    }

    /// Removes all streams.
    pub fn clear(&mut self) {
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
    fn requests_continue_the_longest_stream_of_their_operation() {
        let mut streams = Streams::new(20);
        let mut record = |op, lbn, blocks| streams.record(&request(op, lbn, blocks));
        assert_eq!([0, 8, 16].map(|lbn| record(Op::Read, lbn, 8)), [false; 3], "the third request continues 16 blocks");
        assert!(record(Op::Read, 24, 1) && record(Op::Read, 25, 8));
        assert!(!record(Op::Write, 33, 8), "a write does not continue reads");
        assert!(!record(Op::Read, 34, 8), "a request behind a gap does not continue a stream");
        assert!(record(Op::Read, 33, 8), "other streams do not end it");
        assert!(!record(Op::Read, 36, 5), "a shorter stream that ends at the same address");
        assert!(record(Op::Read, 41, 8), "the longer stream continues");
    }

    #[test]
    fn the_least_recent_stream_is_replaced() {
        let mut streams = Streams::new(8);
        for stream in 0..=STREAMS as u64 {
            assert!(!streams.record(&request(Op::Read, stream * 1000, 8)));
        }
        assert!(streams.record(&request(Op::Read, 1008, 8)));
        assert!(!streams.record(&request(Op::Read, 8, 8)), "the first stream was replaced");
        streams.clear();
        assert!(!streams.record(&request(Op::Read, 1016, 8)));
    }
}
