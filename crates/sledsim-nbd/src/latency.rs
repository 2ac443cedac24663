//! Latency of the transport: the time for a request to reach the server and for its reply to reach the client. It grows
//! with the preceding idle time, because caches are cold and processors are in sleep states.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::os;

/// The end of a wait is a busy wait, because a sleep may last longer than requested: a share of the wait, within these
/// bounds.
const MIN_BUSY: Duration = Duration::from_micros(100);
const MAX_BUSY: Duration = Duration::from_millis(1);
const BUSY_PART: u32 = 10;

/// Idle times after which the latency is measured.
const WAITS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_micros(300),
    Duration::from_millis(1),
    Duration::from_millis(4),
    Duration::from_millis(16),
];
/// Number of measurements after each idle time; their median is used.
const SAMPLES: usize = 11;

/// Bytes of a request, of the header of a reply, and of its data, which clients read separately.
const REQUEST_BYTES: usize = 28;
const HEADER_BYTES: usize = 16;
const DATA_BYTES: usize = 4096;

/// Returns the length of the busy wait at the end of a wait: 0 on a single processor, which other threads need.
#[must_use]
pub fn busy_time(wait: Duration, has_single_processor: bool) -> Duration {
    if has_single_processor {
        Duration::ZERO
    } else {
        (wait / BUSY_PART).clamp(MIN_BUSY, MAX_BUSY)
    }
}

/// Time of a request plus its reply, after each of `WAITS`.
#[derive(Clone, Debug)]
pub struct Latency([Duration; WAITS.len()]);

impl Latency {
    /// Measures the latency between two threads that behave like a server and a client.
    ///
    /// On a single processor, as in a virtual machine, it is the one-way time of a header, the same after every idle
    /// time: other work keeps that processor busy, as with a real device.
    ///
    /// # Errors
    /// Sockets or threads can't be created.
    pub fn measure() -> io::Result<Self> {
        let (server, client) = UnixStream::pair()?;
        let has_single_processor = os::has_single_processor();
        let (ways, data, waits) =
            if has_single_processor { (2, 0, [Duration::ZERO; WAITS.len()]) } else { (1, DATA_BYTES, WAITS) };
        let waits = move || waits.into_iter().flat_map(|wait| std::iter::repeat_n(wait, SAMPLES));
        let serve = move || -> io::Result<()> {
            let _ = !has_single_processor && os::set_realtime_priority();
            for wait in waits() {
                (&server).read_exact(&mut [0; REQUEST_BYTES])?;
                let due = Instant::now() + wait;
                thread::sleep(wait.saturating_sub(busy_time(wait, has_single_processor)));
                while Instant::now() < due {
                    std::hint::spin_loop();
                }
                (&server).write_all(&[0; HEADER_BYTES + DATA_BYTES][..HEADER_BYTES + data])?;
            }
            Ok(())
        };
        let serving = thread::Builder::new().spawn(serve)?;
        let mut took = Vec::new();
        for wait in waits() {
            let sent = Instant::now();
            (&client).write_all(&[0; REQUEST_BYTES])?;
            os::wait_readable(client.as_fd());
            (&client).read_exact(&mut [0; HEADER_BYTES])?;
            (&client).read_exact(&mut [0; DATA_BYTES][..data])?;
            took.push(sent.elapsed().saturating_sub(wait) / ways);
        }
        serving.join().map_err(|_| io::Error::other("a thread panicked"))??;
        Ok(Self(std::array::from_fn(|place| {
            let took = &mut took[place * SAMPLES..][..SAMPLES];
            took.sort_unstable();
            took[SAMPLES / 2]
        })))
    }

    /// Returns a latency of 0.
    #[must_use]
    pub fn zero() -> Self {
        Self(Default::default())
    }

    /// Returns the latency after a wait: interpolated between the measured ones, and the nearest one outside their
    /// range.
    #[must_use]
    pub fn after(&self, wait: Duration) -> Duration {
        let next = WAITS.partition_point(|&measured| measured <= wait);
        if next == WAITS.len() {
            return self.0[next - 1];
        }
        let (from, to) = (self.0[next - 1].as_secs_f64(), self.0[next].as_secs_f64());
        let share = (wait - WAITS[next - 1]).as_secs_f64() / (WAITS[next] - WAITS[next - 1]).as_secs_f64();
        Duration::from_secs_f64(from + share * (to - from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_is_interpolated_between_waits() {
        let latency = Latency([10, 20, 34, 40, 48].map(Duration::from_micros));
        for (wait_us, takes_us) in [(0, 10), (150, 15), (300, 20), (650, 27), (1_000, 34), (2_500, 37), (10_000, 44)] {
            let found = latency.after(Duration::from_micros(wait_us));
            assert_eq!((found.as_nanos() + 500) / 1000, takes_us, "{wait_us}");
        }
        assert_eq!(latency.after(Duration::from_secs(60)), Duration::from_micros(48));
    }

    #[test]
    fn a_tenth_of_a_wait_is_busy_within_bounds() {
        for (wait_us, busy_us) in [(0, 100), (1_000, 100), (3_000, 300), (10_000, 1_000), (1_000_000, 1_000)] {
            assert_eq!(busy_time(Duration::from_micros(wait_us), false), Duration::from_micros(busy_us), "{wait_us}");
        }
        assert_eq!(busy_time(Duration::from_secs(1), true), Duration::ZERO);
    }

    #[test]
    fn latency_is_measured_after_each_wait() {
        let latency = Latency::measure().expect("there are sockets");
        assert!(latency.0.iter().all(|took| *took > Duration::ZERO && *took < Duration::from_secs(1)), "{latency:?}");
    }
}
