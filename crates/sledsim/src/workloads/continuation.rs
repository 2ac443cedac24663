//! Operations of requests, and continuations: requests that start where the one before ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::within;
use crate::engine::random::Stream;
use crate::fault::Fault;
use crate::request::Op;

/// Continuations: requests that start where the one before ends and have the same operation. They do not change the share of
/// reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContinuationSpec {
    /// Share of the reads that continue a read.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub reads: f64,
    /// Share of the writes that continue a write.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1))]
    pub writes: f64,
}

impl ContinuationSpec {
    /// Checks the shares.
    ///
    /// # Errors
    /// A share is not from 0 to 1.
    pub fn validate(&self) -> Result<(), Fault> {
        within("reads", self.reads, 0.0, 1.0)?;
        within("writes", self.writes, 0.0, 1.0)
    }
}

/// A generator of operations.
///
/// After a read the next request is a continuation with the probability `reads`, after a write with `writes`; otherwise its
/// operation is drawn. In the long run each read is followed by a continuation with the probability `reads`, so that this is
/// the share of continuations among reads. The probability of drawing a read is such that the share of all reads is
/// `read_fraction`.
#[derive(Debug)]
pub(super) struct Operations {
    stream: Stream,
    continuations: Stream,
    shares: Option<ContinuationSpec>,
    /// Probability that a drawn operation is a read.
    read: f64,
    previous: Option<Op>,
}

impl Operations {
    /// Operations with this share of reads.
    pub(super) fn new(
        read_fraction: f64,
        shares: Option<ContinuationSpec>,
        stream: Stream,
        continuations: Stream,
    ) -> Self {
        let read = shares.map_or(read_fraction, |ContinuationSpec { reads, writes }| {
            let (new_reads, new_writes) = (read_fraction * (1.0 - reads), (1.0 - read_fraction) * (1.0 - writes));
            // If every request is a continuation, only the first operation is drawn.
            if new_reads + new_writes > 0.0 {
                new_reads / (new_reads + new_writes)
            } else {
                read_fraction
            }
        });
        Self { stream, continuations, shares, read, previous: None }
    }

    /// The next operation, and whether the request is a continuation.
    #[inline]
    pub(super) fn next(&mut self) -> (Op, bool) {
        if let (Some(shares), Some(previous)) = (self.shares, self.previous) {
            let share = if previous == Op::Read { shares.reads } else { shares.writes };
            if self.continuations.chance(share) {
                return (previous, true);
            }
        }
        let op = if self.stream.chance(self.read) { Op::Read } else { Op::Write };
        self.previous = Some(op);
        (op, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_as_given() {
        let cases = [(0.43, 0.25, 0.1), (0.9, 0.0, 0.8), (0.2, 0.9, 0.3), (0.0, 0.5, 0.5), (1.0, 0.5, 0.5)];
        for (read_fraction, reads, writes) in cases {
            let shares = Some(ContinuationSpec { reads, writes });
            let mut operations = Operations::new(read_fraction, shares, Stream::new(5, "a"), Stream::new(5, "b"));
            let count = 400_000;
            let [mut of_reads, mut of_writes] = [[0_u32; 2]; 2];
            for _ in 0..count {
                let (op, continues) = operations.next();
                let of_op = if op == Op::Read { &mut of_reads } else { &mut of_writes };
                of_op[usize::from(continues)] += 1;
            }
            let total = |of_op: [u32; 2]| f64::from(of_op[0] + of_op[1]);
            // Runs of up to ten requests leave some 40,000 independent ones: five standard errors are 0.0125.
            let near = |found: f64, given: f64| (found - given).abs() < 0.0125;
            assert!(near(total(of_reads) / f64::from(count), read_fraction), "{of_reads:?} {of_writes:?}");
            for (of_op, given) in [(of_reads, reads), (of_writes, writes)] {
                assert!(total(of_op) == 0.0 || near(f64::from(of_op[1]) / total(of_op), given), "{of_op:?}");
            }
        }
    }

    #[test]
    fn without_shares_there_are_no_continuations() {
        let mut operations = Operations::new(0.5, None, Stream::new(5, "a"), Stream::new(5, "b"));
        let mut stream = Stream::new(5, "a");
        for _ in 0..1000 {
            let expected = if stream.chance(0.5) { Op::Read } else { Op::Write };
            assert_eq!(operations.next(), (expected, false));
        }
    }

    #[test]
    fn shares_above_1_are_refused() {
        let error = ContinuationSpec { reads: 1.5, writes: 0.0 }.validate();
        let error = error.expect_err("a share is at most 1");
        assert_eq!((error.location.path.to_string(), error.value.clone()), ("reads".to_owned(), Some(1.5.into())));
    }
}
