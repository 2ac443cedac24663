//! Overheads of commands by their kind and their predecessor's.

use super::DiskParameters;
use crate::request::Op;

/// Nanoseconds in a millisecond.
const NS_PER_MS: f64 = 1e6;

/// Milliseconds to nanoseconds.
///
/// # Errors
/// A time outside 0 to a million ms: names the parameter.
pub(super) fn ns(name: &str, ms: f64) -> Result<u64, String> {
    if (0.0..=1e6).contains(&ms) {
        Ok((ms * NS_PER_MS).round() as u64)
    } else {
        Err(format!("{name} = {ms}: from 0 to a million"))
    }
}

/// Overheads in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overheads {
    /// Before anything mechanical, by kind and predecessor: reads, then writes; after a read, then after a write.
    command: [[u64; 2]; 2],
    /// Report of a read, and of a write.
    completion: [u64; 2],
}

#[inline]
fn index(op: Op) -> usize {
    usize::from(op == Op::Write)
}

impl Overheads {
    /// The overheads of a drive without a buffer.
    ///
    /// # Errors
    /// A time out of range: says which.
    pub(super) fn new(parameters: &DiskParameters) -> Result<Self, String> {
        let p = parameters;
        let scaled = |name: &str, ms: f64| ns(name, ms * p.overhead_scale);
        let command = |name: &str, ms: f64| {
            Ok::<_, String>(scaled("request_overhead_ms", p.request_overhead_ms)? + scaled(name, ms)?)
        };
        Ok(Self {
            command: [
                [
                    command("read_miss_after_read_ms", p.read_miss_after_read_ms)?,
                    command("read_miss_after_write_ms", p.read_miss_after_write_ms)?,
                ],
                [
                    command("write_miss_after_read_ms", p.write_miss_after_read_ms)?,
                    command("write_miss_after_write_ms", p.write_miss_after_write_ms)?,
                ],
            ],
            completion: [
                scaled("read_completion_ms", p.read_completion_ms)?,
                scaled("write_completion_ms", p.write_completion_ms)?,
            ],
        })
    }

    /// From the dispatch of a request until its mechanical part can begin.
    #[inline]
    pub(super) fn command_ns(&self, op: Op, last: Op) -> u64 {
        self.command[index(op)][index(last)]
    }

    /// The least of it over both kinds of request.
    #[inline]
    pub(super) fn least_command_ns(&self, last: Op) -> u64 {
        self.command[0][index(last)].min(self.command[1][index(last)])
    }

    /// From the last of the data until the host knows.
    #[inline]
    pub(super) fn completion_ns(&self, op: Op) -> u64 {
        self.completion[index(op)]
    }
}
