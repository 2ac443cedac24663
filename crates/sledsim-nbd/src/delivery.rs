//! Delivery of replies at the times of the simulated system.
//!
//! One thread drives the session. The session's clock starts with the server and is the machine's, slowed down by the dilation. The
//! thread sleeps until shortly before the next event and waits busily for the rest, so that replies leave on time. They leave earlier
//! by the measured [latency](Latency) of the transport.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sledsim::engine::Status;
use sledsim::request::{Flags, Op, Request};
use sledsim::scenario::{RunError, Session};
use sledsim::time::Time;

use crate::client::{Client, Reply};
use crate::latency::{busy_time, Latency};
use crate::log::{Log, Record};
use crate::os;
use crate::protocol::{Error, MAX_DATA_BYTES};

/// Longest sleep between checks for the end of the server.
const MAX_SLEEP: Duration = Duration::from_millis(50);

/// A request for the session, whose data are in the store already.
#[derive(Debug)]
pub struct Job {
    /// When the request had been read.
    pub asked: Instant,
    /// The client that sent it.
    pub client: Arc<Client>,
    /// Its reply, to be sent when the session has completed it.
    pub reply: Reply,
    /// First byte.
    pub offset: u64,
    /// Number of bytes; 0 for a flush.
    pub bytes: u32,
    /// Kind of the request.
    pub op: Op,
    /// True if it has to be durable before the reply.
    pub durable: bool,
}

/// Conversion between the machine's clock and the session's.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    dilation: f64,
}

impl Clock {
    /// Returns a clock that starts now and runs `dilation` times slower than the machine's.
    #[must_use]
    pub fn new(dilation: f64) -> Self {
        Self { start: Instant::now(), dilation }
    }

    /// Returns the session's time at an instant, ns.
    #[must_use]
    pub fn at(&self, instant: Instant) -> u64 {
        (instant.saturating_duration_since(self.start).as_nanos() as f64 / self.dilation) as u64
    }

    /// Returns the instant of a time of the session, ns.
    #[must_use]
    pub fn instant(&self, ns: u64) -> Instant {
        self.start + Duration::from_nanos((ns as f64 * self.dilation) as u64)
    }
}

/// Drives a session with requests, and replies when it completes them.
pub struct Delivery {
    session: Session,
    clock: Clock,
    latency: Latency,
    /// Lead time of the next reply.
    early: Duration,
    /// When the last request came or the last reply left.
    last_activity: Instant,
    has_single_processor: bool,
    jobs: Receiver<Job>,
    log: Log,
    /// Outstanding requests by their numbers in the session, which are in the order of arrival.
    outstanding: BTreeMap<u64, Job>,
    last_arrival: Time,
}

impl Delivery {
    /// Returns a delivery of the requests that come through `jobs`.
    #[must_use]
    pub fn new(session: Session, clock: Clock, latency: Latency, jobs: Receiver<Job>, log: Log) -> Self {
        let last_arrival = session.now();
        Self {
            session,
            clock,
            early: latency.after(Duration::ZERO),
            latency,
            last_activity: Instant::now(),
            has_single_processor: os::has_single_processor(),
            jobs,
            log,
            outstanding: BTreeMap::new(),
            last_arrival,
        }
    }

    /// Runs until all senders of jobs are gone, or `is_ended` returns true; returns the session and the log.
    ///
    /// # Errors
    /// Those of the session.
    pub fn run(mut self, is_ended: &dyn Fn() -> bool) -> Result<(Session, Log), RunError> {
        loop {
            self.deliver()?;
            if is_ended() {
                break;
            }
            let due = self.session.next_event().map(|next| self.clock.instant(next.ns()));
            let sleep = due.map_or(MAX_SLEEP, |due| {
                let wait = due.saturating_duration_since(self.last_activity);
                self.early = self.latency.after(wait);
                due.saturating_duration_since(Instant::now() + self.early + busy_time(wait, self.has_single_processor))
            });
            if sleep.is_zero() {
                match self.jobs.try_recv() {
                    Ok(job) => self.take(job)?,
                    Err(TryRecvError::Disconnected) if self.outstanding.is_empty() => break,
                    Err(_) => std::hint::spin_loop(),
                }
                continue;
            }
            match self.jobs.recv_timeout(sleep.min(MAX_SLEEP)) {
                Ok(job) => self.take(job)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) if self.outstanding.is_empty() => break,
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(sleep.min(MAX_SLEEP)),
            }
        }
        Ok((self.session, self.log))
    }

    /// Submits a request, and sends the replies that are due.
    fn take(&mut self, job: Job) -> Result<(), RunError> {
        self.last_activity = Instant::now();
        let asked = self.clock.at(job.asked);
        self.submit(job, asked)?;
        self.deliver()
    }

    /// Submits the first part of a request, of the maximum size of a client's request. It arrives at `earliest_ns` or
    /// later.
    fn submit(&mut self, job: Job, earliest_ns: u64) -> Result<(), RunError> {
        // Several threads read requests, so they may be queued in another order than they were read.
        let arrival = Time::from_ns(earliest_ns).max(self.session.now()).max(self.last_arrival);
        self.last_arrival = arrival;
        let request = match job.op {
            Op::Flush => Request { arrival, ..Request::flush() },
            op => {
                let block_bytes = u64::from(self.session.block_bytes());
                let end = (job.offset + u64::from(part_of(&job))).div_ceil(block_bytes);
                let first = job.offset / block_bytes;
                let flags = if job.durable { Flags::DURABLE } else { Flags::NONE };
                Request { arrival, op, flags, ..Request::read(first, (end - first) as u32) }
            }
        };
        let id = self.session.submit(request)?;
        self.outstanding.insert(id, job);
        Ok(())
    }

    /// Advances the session to now, and replies to the completed requests.
    fn deliver(&mut self) -> Result<(), RunError> {
        let now = Time::from_ns(self.clock.at(Instant::now() + self.early)).max(self.session.now());
        self.session.advance(now, &mut |_| true)?;
        while let Some(done) = self.session.completion() {
            if let Some(job) = self.outstanding.remove(&done.request.id) {
                let error = if done.status == Status::Served { Error::None } else { Error::Io };
                self.complete(done.request.id, job, error, done.request.arrival, done.service.end)?;
            }
        }
        self.log.write_before(self.outstanding.keys().next().copied());
        Ok(())
    }

    /// Logs a part of a request, and submits the next one, or replies if there is none.
    fn complete(&mut self, id: u64, job: Job, error: Error, arrival: Time, due: Time) -> Result<(), RunError> {
        let bytes = part_of(&job);
        let (arrival_ns, due_ns) = (arrival.ns(), due.ns());
        let Job { asked, offset, op, durable, .. } = job;
        let record =
            Record { id, asked_ns: arrival_ns, arrival_ns, due_ns, sent_ns: due_ns, offset, bytes, op, durable };
        if error == Error::None && bytes < job.bytes {
            self.log.add(record);
            let rest = Job {
                asked: self.clock.instant(due_ns),
                offset: offset + u64::from(bytes),
                bytes: job.bytes - bytes,
                ..job
            };
            return self.submit(rest, due_ns);
        }
        let leaves = Instant::now();
        job.client.reply(job.reply, error);
        self.last_activity = Instant::now();
        // A reply is not received before it is due, even if the sending took less than the latency.
        let sent_ns = self.clock.at(self.last_activity.max(leaves + self.early));
        self.log.add(Record { asked_ns: self.clock.at(asked), sent_ns, ..record });
        Ok(())
    }
}

/// Returns the number of bytes of a request that are submitted at once.
fn part_of(job: &Job) -> u32 {
    job.bytes.min(MAX_DATA_BYTES)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::path::Path;
    use std::sync::mpsc::channel;

    use sledsim::scenario::{Catalog, Draft, Keep, Notation};

    use super::*;
    use crate::client::Budget;
    use crate::sockets::Stream;

    fn session() -> Session {
        let text = "workload = { kind = \"session\" }\n[system]\ndevice = \"g2\"\n";
        let catalog = Catalog::new(vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/sledsim/catalog")]);
        let draft = Draft::read(text, Notation::Toml, "here", Path::new("")).expect("a scenario");
        let resolved = draft.resolve(&catalog, Path::new("")).expect("of a device that is known");
        resolved.session(&Keep::default()).expect("a session")
    }

    #[test]
    fn a_request_that_comes_after_it_was_read_counts_as_late() {
        let (near, _far) = UnixStream::pair().expect("two ends");
        let client = Arc::new(Client::new(Stream::Unix(near), &Budget::of_all_clients()));
        let clock = Clock::new(1.0);
        let (sender, jobs) = channel();
        // The second was read 5 ms before the first, but is queued after it.
        for (cookie, read_ms) in [(1, 5), (2, 0)] {
            let asked = clock.instant(read_ms * 1_000_000);
            std::thread::sleep(asked.saturating_duration_since(Instant::now()));
            assert!(client.begin_request());
            let (client, reply) = (Arc::clone(&client), Reply::new(cookie));
            let job = Job { asked, client, reply, offset: 0, bytes: 512, op: Op::Read, durable: false };
            sender.send(job).expect("it is taken later");
        }
        drop(sender);
        let path = std::env::temp_dir().join(format!("sledsim-nbd-late-{}", std::process::id()));
        let log = Log::new(Some(crate::files::open_locked(&path).expect("a file"))).expect("it can be written");
        let delivery = Delivery::new(session(), clock, Latency::zero(), jobs, log);
        let (_, log) = delivery.run(&|| false).expect("it goes on to the end");
        let accuracy = log.summary(1.0).accuracy.expect("there were reads");
        let text = std::fs::read_to_string(&path).expect("it was written");
        std::fs::remove_file(&path).expect("it was there");
        let rows: Vec<Vec<u64>> =
            text.lines().skip(2).map(|line| line.split(',').filter_map(|cell| cell.parse().ok()).collect()).collect();
        let [first, second] = &rows[..] else { panic!("two requests: {text}") };
        // Without the columns of letters: t, device, offset, bytes, asked, due, sent, response.
        assert!(first[0] >= 5_000_000 && second[0] >= first[0], "{text}");
        assert_eq!((second[4], second[7]), (0, second[6]), "{text}");
        // It was at least 5 ms late.
        assert!(accuracy.on_time <= 0.5, "{accuracy:?}");
    }
}
