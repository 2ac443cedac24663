//! Answers when the simulated system says so: requests in, and each out at its time.
//!
//! One thread has the session. Its clock is that of the machine, from the start of the server on, slowed down by the dilation;
//! what is due next is waited for asleep, and the last of it awake, so that an answer leaves when it should. What requests
//! and answers take [on their way](Way) is measured at the start, and answers leave so much earlier.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sledsim::engine::Status;
use sledsim::request::{Flags, Op, Request};
use sledsim::scenario::{RunError, Session};
use sledsim::time::Time;

use crate::log::{Entry, Log};
use crate::os;
use crate::protocol::Error;
use crate::reply::Client;
use crate::way::{awake, Way};

/// How long nothing may happen before the end is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// What the system is asked to do.
#[derive(Debug)]
pub struct Job {
    /// When the request had been read.
    pub asked: Instant,
    /// Who asks.
    pub client: Arc<Client>,
    /// The client's own number.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes; none of a flush.
    pub bytes: u32,
    /// What it asks for.
    pub op: Op,
    /// Whether it is to be durable when it is answered.
    pub durable: bool,
    /// What was read: it goes with the answer.
    pub data: Vec<u8>,
}

/// The time of the machine, and that of the session, ns.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    dilation: f64,
}

impl Clock {
    /// A clock that starts now, and runs `dilation` times as slow as the machine's.
    #[must_use]
    pub fn new(dilation: f64) -> Self {
        Self { start: Instant::now(), dilation }
    }

    /// What the session's clock shows at an instant of the machine's.
    #[must_use]
    pub fn at(&self, instant: Instant) -> u64 {
        (instant.saturating_duration_since(self.start).as_nanos() as f64 / self.dilation) as u64
    }

    /// The machine's instant at which the session's clock shows `ns`.
    #[must_use]
    pub fn instant(&self, ns: u64) -> Instant {
        self.start + Duration::from_nanos((ns as f64 * self.dilation) as u64)
    }
}

/// The thread that has the session.
pub struct Delivery {
    session: Session,
    clock: Clock,
    way: Way,
    /// How much before it is due the next answer leaves.
    early: Duration,
    /// When something came or went last: what is waited for since.
    latest: Instant,
    is_alone: bool,
    jobs: Receiver<Job>,
    log: Log,
    /// By the session's numbers, which count up in the order of coming.
    under_way: BTreeMap<u64, Job>,
    latest_arrival: Time,
}

impl Delivery {
    /// Answers what comes through `jobs`, each by its way before it is due.
    #[must_use]
    pub fn new(session: Session, clock: Clock, way: Way, jobs: Receiver<Job>, log: Log) -> Self {
        let latest_arrival = session.now();
        let (early, latest, is_alone) = (way.after(Duration::ZERO), Instant::now(), os::is_alone());
        Self { session, clock, way, early, latest, is_alone, jobs, log, under_way: BTreeMap::new(), latest_arrival }
    }

    /// Goes on until nobody is left who could ask, or `is_ended` says so; gives back the session and the log.
    ///
    /// # Errors
    /// Where the session stops.
    pub fn run(mut self, is_ended: &dyn Fn() -> bool) -> Result<(Session, Log), RunError> {
        loop {
            self.deliver()?;
            if is_ended() {
                break;
            }
            let due = self.session.next_event().map(|next| self.clock.instant(next.ns()));
            let asleep = due.map_or(LOOK, |due| {
                let wait = due.saturating_duration_since(self.latest);
                self.early = self.way.after(wait);
                due.saturating_duration_since(Instant::now() + self.early + awake(wait, self.is_alone))
            });
            if asleep.is_zero() {
                match self.jobs.try_recv() {
                    Ok(job) => self.take(job)?,
                    Err(std::sync::mpsc::TryRecvError::Disconnected) if self.is_idle() => break,
                    Err(_) => std::hint::spin_loop(),
                }
                continue;
            }
            match self.jobs.recv_timeout(asleep.min(LOOK)) {
                Ok(job) => self.take(job)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) if self.is_idle() => break,
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(asleep.min(LOOK)),
            }
        }
        Ok((self.session, self.log))
    }

    fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Hands a request to the session, at its time or at once where that has passed.
    fn take(&mut self, job: Job) -> Result<(), RunError> {
        // Connections are read side by side, so that what was read a little earlier may be handed over a little later.
        let arrival = Time::from_ns(self.clock.at(job.asked)).max(self.session.now()).max(self.latest_arrival);
        self.latest_arrival = arrival;
        self.latest = Instant::now();
        let request = match job.op {
            Op::Flush => Request { arrival, ..Request::flush() },
            op => {
                let block_bytes = u64::from(self.session.block_bytes());
                let end = (job.offset + u64::from(job.bytes)).div_ceil(block_bytes);
                let first = job.offset / block_bytes;
                let flags = if job.durable { Flags::DURABLE } else { Flags::NONE };
                Request { arrival, op, flags, ..Request::read(first, (end - first) as u32) }
            }
        };
        let id = self.session.submit(request)?;
        self.under_way.insert(id, job);
        self.deliver()
    }

    /// Lets the session's time come to now, and answers what has come back.
    fn deliver(&mut self) -> Result<(), RunError> {
        let now = Time::from_ns(self.clock.at(Instant::now() + self.early)).max(self.session.now());
        self.session.advance(now, &mut |_| true)?;
        while let Some(back) = self.session.completion() {
            if let Some(job) = self.under_way.remove(&back.request.id) {
                let error = if back.status == Status::Served { Error::None } else { Error::Io };
                self.answer(back.request.id, job, error, back.request.arrival, back.service.end);
            }
        }
        self.log.write_down(self.under_way.keys().next().copied());
        Ok(())
    }

    fn answer(&mut self, id: u64, job: Job, error: Error, arrival: Time, due: Time) {
        let leaves = Instant::now();
        job.client.answer(job.cookie, error, &job.data, job.data.len());
        self.latest = Instant::now();
        // One that went at once comes while its sender is still about it.
        let sent = self.clock.at(self.latest.max(leaves + self.early));
        let asked_ns = self.clock.at(job.asked);
        let Job { offset, bytes, op, durable, .. } = job;
        let (arrival_ns, due_ns) = (arrival.ns(), due.ns());
        self.log.add(Entry { id, asked_ns, arrival_ns, due_ns, sent_ns: sent, offset, bytes, op, durable });
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::path::Path;
    use std::sync::mpsc::channel;

    use sledsim::scenario::{Catalog, Draft, Keep, Notation};

    use super::*;
    use crate::sockets::Stream;

    fn session() -> Session {
        let text = "workload = { kind = \"session\" }\n[system]\ndevice = \"g2\"\n";
        let catalog = Catalog::new(vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/sledsim/catalog")]);
        let draft = Draft::read(text, Notation::Toml, "here", Path::new("")).expect("a scenario");
        let resolved = draft.resolve(&catalog, Path::new("")).expect("of a device that is known");
        resolved.session(&Keep::default()).expect("a session")
    }

    #[test]
    fn what_is_handed_over_late_is_logged_with_when_it_was_read_and_counts_as_late() {
        let (near, _far) = UnixStream::pair().expect("two ends");
        let client = Arc::new(Client::new(Stream::Unix(near)));
        let clock = Clock::new(1.0);
        let (sender, jobs) = channel();
        // The second was read 5 ms before the first, and is handed over behind it.
        for (cookie, read_ms) in [(1, 5), (2, 0)] {
            let asked = clock.instant(read_ms * 1_000_000);
            std::thread::sleep(asked.saturating_duration_since(Instant::now()));
            assert!(client.admits(512));
            let (client, data) = (Arc::clone(&client), vec![0; 512]);
            let job = Job { asked, client, cookie, offset: 0, bytes: 512, op: Op::Read, durable: false, data };
            sender.send(job).expect("it is taken later");
        }
        drop(sender);
        let path = std::env::temp_dir().join(format!("sledsim-nbd-late-{}", std::process::id()));
        let log = Log::new(Some(crate::files::open(&path).expect("a file"))).expect("it can be written");
        let delivery = Delivery::new(session(), clock, Way::none(), jobs, log);
        let (_, log) = delivery.run(&|| false).expect("it goes on to the end");
        let verdict = log.verdict(1.0).delivered.expect("there were reads");
        let text = std::fs::read_to_string(&path).expect("it was written");
        std::fs::remove_file(&path).expect("it was there");
        let rows: Vec<Vec<u64>> =
            text.lines().skip(2).map(|line| line.split(',').filter_map(|cell| cell.parse().ok()).collect()).collect();
        let [first, second] = &rows[..] else { panic!("two requests: {text}") };
        // Beside the letter: t, device, offset, bytes, asked, due, sent, response.
        assert!(first[0] >= 5_000_000 && second[0] >= first[0], "{text}");
        assert_eq!((second[4], second[7]), (0, second[6]), "{text}");
        // It was 5 ms late in any case.
        assert!(verdict.on_time <= 0.5, "{verdict:?}");
    }
}
