//! What a request's way to the server and its answer's way back take. They take longer the longer both have waited: what they need has
//! left the caches, and processors have gone to sleep.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::os;

/// The last of a wait that is spent awake, where others have a processor meanwhile: sleeping may take this much longer than asked. Of
/// long waits it is one part in so many, up to the most: the longer a processor has slept, the later it may wake.
const AWAKE: Duration = Duration::from_micros(100);
const AWAKE_PART: u32 = 10;
const MOST_AWAKE: Duration = Duration::from_millis(1);
/// After what waits the way is measured.
const WAITS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_micros(300),
    Duration::from_millis(1),
    Duration::from_millis(4),
    Duration::from_millis(16),
];
/// How often after each; the median counts.
const TIMES: usize = 11;
/// Bytes of a request.
const ASKED: usize = 28;
/// Bytes of the head of an answer, and of the page that comes with it: clients read one, and then the other.
const HEAD: usize = 16;
const PAGE: usize = 4096;

/// The last of a wait that is spent awake: nothing where there is one processor alone, which others need meanwhile.
#[must_use]
pub fn awake(wait: Duration, is_alone: bool) -> Duration {
    if is_alone {
        Duration::ZERO
    } else {
        (wait / AWAKE_PART).clamp(AWAKE, MOST_AWAKE)
    }
}

/// What it takes, there and back, with each of the [`WAITS`] between.
#[derive(Clone, Debug)]
pub struct Way([Duration; WAITS.len()]);

impl Way {
    /// Measures it: one thread answers another as a server does its clients.
    ///
    /// Where there is one processor, as in a guest, it is what a head alone takes one way between equals, whatever the wait: what else there is to do
    /// keeps that processor busy, as it would with any device, and is told beside.
    ///
    /// # Errors
    /// Where there are no sockets.
    pub fn measured() -> io::Result<Self> {
        let (server, client) = UnixStream::pair()?;
        let is_alone = os::is_alone();
        let (ways, page, waits) = if is_alone { (2, 0, [Duration::ZERO; WAITS.len()]) } else { (1, PAGE, WAITS) };
        let waits = move || waits.into_iter().flat_map(|wait| std::iter::repeat_n(wait, TIMES));
        let answering = thread::spawn(move || -> io::Result<()> {
            let _ = !is_alone && os::run_first();
            for wait in waits() {
                (&server).read_exact(&mut [0; ASKED])?;
                let due = Instant::now() + wait;
                thread::sleep(wait.saturating_sub(awake(wait, is_alone)));
                while Instant::now() < due {
                    std::hint::spin_loop();
                }
                (&server).write_all(&[0; HEAD + PAGE][..HEAD + page])?;
            }
            Ok(())
        });
        let mut took = Vec::new();
        for wait in waits() {
            let asked = Instant::now();
            (&client).write_all(&[0; ASKED])?;
            os::wait_to_read(client.as_fd());
            (&client).read_exact(&mut [0; HEAD])?;
            (&client).read_exact(&mut [0; PAGE][..page])?;
            took.push(asked.elapsed().saturating_sub(wait) / ways);
        }
        answering.join().map_err(|_| io::Error::other("a thread ended in a panic"))??;
        Ok(Self(std::array::from_fn(|place| {
            let took = &mut took[place * TIMES..][..TIMES];
            took.sort_unstable();
            took[TIMES / 2]
        })))
    }

    /// A way that takes no time.
    #[must_use]
    pub fn none() -> Self {
        Self(Default::default())
    }

    /// What it takes after a wait: between two that were measured in proportion, beyond them as after the nearest.
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
    fn what_a_way_takes_is_between_what_was_measured_of_the_waits_next_to_it() {
        let way = Way([10, 20, 34, 40, 48].map(Duration::from_micros));
        for (wait_us, takes_us) in [(0, 10), (150, 15), (300, 20), (650, 27), (1_000, 34), (2_500, 37), (10_000, 44)] {
            let found = way.after(Duration::from_micros(wait_us));
            assert_eq!((found.as_nanos() + 500) / 1000, takes_us, "{wait_us}");
        }
        assert_eq!(way.after(Duration::from_secs(60)), Duration::from_micros(48));
    }

    #[test]
    fn a_tenth_of_a_wait_is_spent_awake_where_others_have_a_processor_meanwhile() {
        for (wait_us, awake_us) in [(0, 100), (1_000, 100), (3_000, 300), (10_000, 1_000), (1_000_000, 1_000)] {
            assert_eq!(awake(Duration::from_micros(wait_us), false), Duration::from_micros(awake_us), "{wait_us}");
        }
        assert_eq!(awake(Duration::from_secs(1), true), Duration::ZERO);
    }

    #[test]
    fn a_way_is_measured_after_each_wait() {
        let way = Way::measured().expect("there are sockets");
        assert!(way.0.iter().all(|took| *took > Duration::ZERO && *took < Duration::from_secs(1)), "{way:?}");
    }
}
