//! Retries of reads that fail at first.

use super::ReadRetries;
use crate::engine::random::Stream;
use crate::fault::{Fault, Range};

/// Draws the number of revolutions that a read from the medium is retried.
#[derive(Clone, Debug)]
pub(super) struct Retries {
    probability: f64,
    /// Logarithm of the probability that a further retry fails, too.
    log_failure: f64,
    stream: Stream,
}

impl Retries {
    /// Returns the retries of a drive; `None` if no read fails.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub(super) fn new(parameters: Option<ReadRetries>) -> Result<Option<Self>, Fault> {
        let Some(ReadRetries { probability, mean_revolutions }) = parameters else { return Ok(None) };
        if !(0.0..=1.0).contains(&probability) {
            return Err(Fault::out_of_range("read_retries.probability", probability, Range::from_to(0.0, 1.0)));
        }
        if !(1.0..=1000.0).contains(&mean_revolutions) {
            let range = Range::from_to(1.0, 1000.0);
            return Err(Fault::out_of_range("read_retries.mean_revolutions", mean_revolutions, range));
        }
        let log_failure = libm::log1p(-1.0 / mean_revolutions);
        let stream = Stream::new(0, "read retries");
        Ok((probability > 0.0).then_some(Self { probability, log_failure, stream }))
    }

    /// Takes the random numbers from `stream`.
    pub(super) fn set_random(&mut self, stream: Stream) {
        self.stream = stream;
    }

    /// Returns the number of revolutions of the next read: 0 if it does not fail, else geometric. One random number decides both.
    pub(super) fn revolutions(&mut self) -> u64 {
        let unit = self.stream.positive_unit();
        if unit > self.probability {
            return 0;
        }
        // The logarithms are negative or 0, and -inf for a mean of 1: the quotient is from 0 to 37 means.
        1 + crate::convert::trunc_to_u64(libm::log(unit / self.probability) / self.log_failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of revolutions of a million reads.
    fn drawn(probability: f64, mean_revolutions: f64) -> Vec<u64> {
        let retries = Retries::new(Some(ReadRetries { probability, mean_revolutions })).expect("valid parameters");
        let mut retries = retries.expect("reads that fail");
        (0..1_000_000).map(|_| retries.revolutions()).collect()
    }

    /// Compares the shares of reads with at least k revolutions with the geometric distribution, to five standard deviations.
    #[test]
    fn revolutions_are_geometric() {
        for (probability, mean) in [(0.01, 5.0), (0.5, 1.5), (1.0, 20.0), (0.3, 1.0)] {
            let revolutions = drawn(probability, mean);
            for least in [1, 2, 3, 10, 40] {
                let expected = probability * (1.0 - 1.0 / mean).powi(least - 1);
                let share = revolutions.iter().filter(|&&each| each >= least as u64).count() as f64 / 1e6;
                let bound = 5.0 * (expected * (1.0 - expected) / 1e6).sqrt();
                assert!(
                    (share - expected).abs() <= bound,
                    "{probability} {mean}: {share} of {expected} from {least} on"
                );
            }
        }
    }

    #[test]
    fn no_numbers_are_drawn_without_failures() {
        let none = |parameters| Retries::new(parameters).expect("valid parameters").is_none();
        assert!(none(None) && none(Some(ReadRetries { probability: 0.0, mean_revolutions: 5.0 })));
    }
}
