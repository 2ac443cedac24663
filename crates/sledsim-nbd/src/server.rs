//! Connections: reading requests, accessing the store, and handing the requests to the session.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, Scope};
use std::time::{Duration, Instant, SystemTime};

use sledsim::request::Op;
use sledsim::scenario::{RunError, Session};

use crate::client::{Budget, Client, Reply};
use crate::delivery::{Clock, Delivery, Job};
use crate::files;
use crate::latency::Latency;
use crate::log::{Log, Summary};
use crate::os;
use crate::protocol::{negotiate, read_request, Command, Error, Export, Negotiated, Request};
use crate::sockets::{Address, Listener, Stream};
use crate::store::Store;

/// Connections that are served at once.
pub const MAX_CONNECTIONS: usize = 256;
/// Connections beyond [`MAX_CONNECTIONS`] get an error reply; those beyond this number are closed at once.
const MAX_REFUSED: usize = 64;
const TOO_MANY: Export = Export::Unavailable("256 connections are served, and no more at once");
/// Interval of the checks for the end of the server while no client connects.
const ACCEPT_INTERVAL: Duration = Duration::from_millis(20);
/// Time for the whole negotiation.
const NEGOTIATION: Duration = Duration::from_secs(10);
/// Buffer of a connection; data of writes go to the store in pieces of at most this size.
const BUFFER_BYTES: usize = 1 << 16;
/// Stack of a thread of a connection.
const STACK_BYTES: usize = 1 << 18;

/// Options of a server.
#[derive(Debug)]
pub struct Options {
    /// Where clients connect.
    pub address: Address,
    /// How many times slower than the machine's the session's clock runs.
    pub dilation: f64,
    /// The file of the data; in memory if there is none.
    pub image: Option<PathBuf>,
    /// True to remove that file at the end.
    pub drop: bool,
    /// The file of the trace of all requests.
    pub log: Option<PathBuf>,
    /// True to end when the last client has disconnected.
    pub once: bool,
}

/// Serves a session until `is_ended` returns true or, with [`Options::once`], the last client has disconnected. `is_ended` is called
/// on this thread, and so is `ready`, once clients can connect.
///
/// # Errors
/// The socket, the store or the log cannot be opened, the session stops, or data cannot be synced at the end.
pub fn serve(
    session: Session,
    options: &Options,
    ready: &dyn Fn(Ready),
    is_ended: &dyn Fn() -> bool,
) -> Result<(Session, Summary), ServeError> {
    let size = size_of(&session);
    let socket_error = |error: io::Error| ServeError::Socket(error.to_string());
    let listener = Listener::new(&options.address).map_err(ServeError::Socket)?;
    let address = listener.address().map_err(socket_error)?;
    let _awake = if os::has_single_processor() { None } else { os::keep_processors_awake() };
    let latency = Latency::measure().map_err(socket_error)?;
    let early = latency.after(Duration::from_millis(1));
    let (store, log) = open(options, size)?;
    let shared = Shared {
        store,
        export: Export::Device { size, block_bytes: session.block_bytes(), is_rotational: session.is_rotational() },
        size,
        budget: Budget::of_all_clients(),
        served: AtomicUsize::new(0),
        refused: AtomicUsize::new(0),
        had_client: AtomicBool::new(false),
        clients: Mutex::default(),
    };
    let (sender, jobs) = channel();
    let (began, clock) = (SystemTime::now(), Clock::new(options.dilation));
    let stop = AtomicBool::new(false);
    let is_stopped = || stop.load(Ordering::Relaxed);
    let served = thread::scope(|scope| {
        let delivery = Delivery::new(session, clock, latency, jobs, log);
        let thread = thread::Builder::new().name("delivery".into()).spawn_scoped(scope, || {
            // Without real-time priority, the summary shows the loss of accuracy.
            let _ = os::set_realtime_priority();
            let done = delivery.run(&is_stopped);
            stop.store(true, Ordering::Relaxed);
            done
        });
        let thread = thread.map_err(socket_error)?;
        ready(Ready { address, size, early, began });
        accept(scope, &listener, &shared, &sender, options.once, &|| is_stopped() || is_ended());
        stop.store(true, Ordering::Relaxed);
        for client in shared.clients().drain(..).filter_map(|client| client.upgrade()) {
            client.close();
        }
        thread.join().map_err(|_| ServeError::Socket("the thread of the session panicked".into()))
    });
    let flushed = shared.store.flush().map_err(|error| ServeError::Store(error.to_string()));
    let removed = match &options.image {
        Some(path) if options.drop => std::fs::remove_file(path)
            .or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
            .map_err(|error| ServeError::Store(with_path(path, &error))),
        _ => Ok(()),
    };
    let (session, log) = served?.map_err(ServeError::Run)?;
    flushed.and(removed)?;
    Ok((session, log.summary(options.dilation)))
}

/// Opens the store and the log. The log is emptied, and a new store created, only if both can be opened.
fn open(options: &Options, size: u64) -> Result<(Store, Log), ServeError> {
    let is_new = options.log.as_deref().is_some_and(|path| path.symlink_metadata().is_err());
    let log = options
        .log
        .as_deref()
        .map(|path| files::open_locked(path).map_err(|error| ServeError::Log(with_path(path, &error))));
    let log = log.transpose()?;
    let store = options.image.as_deref().map_or(Ok(Store::memory()), |path| {
        Store::file(path, size).map_err(|error| ServeError::Store(with_path(path, &error)))
    });
    if let (Err(_), true, Some(path)) = (&store, is_new, &options.log) {
        // The error of the store is the one to report.
        let _ = std::fs::remove_file(path);
    }
    Ok((store?, Log::new(log).map_err(|error| ServeError::Log(error.to_string()))?))
}

fn with_path(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Returns the size of a session's system in bytes.
#[must_use]
pub fn size_of(session: &Session) -> u64 {
    session.capacity_blocks() * u64::from(session.block_bytes())
}

/// A server that clients can connect to.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Where they connect.
    pub address: Address,
    /// Size of the device in bytes.
    pub size: u64,
    /// Lead time of replies after 1 ms without activity: the measured latency.
    pub early: Duration,
    /// The machine's time at which the session's clock was 0.
    pub began: SystemTime,
}

/// Why a server ended.
#[derive(Debug)]
pub enum ServeError {
    /// The socket, or a thread, cannot be created.
    Socket(String),
    /// The log cannot be opened.
    Log(String),
    /// The image cannot be opened, synced or removed.
    Store(String),
    /// The session stopped.
    Run(RunError),
}

/// State of all connections.
struct Shared {
    store: Store,
    export: Export,
    size: u64,
    budget: Arc<Budget>,
    served: AtomicUsize,
    refused: AtomicUsize,
    had_client: AtomicBool,
    clients: Mutex<Vec<Weak<Client>>>,
}

impl Shared {
    fn clients(&self) -> MutexGuard<'_, Vec<Weak<Client>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a new client, whose connection ends with the server.
    fn add_client(&self, stream: Stream) -> Arc<Client> {
        let client = Arc::new(Client::new(stream, &self.budget));
        let mut clients = self.clients();
        clients.retain(|known| known.strong_count() > 0);
        clients.push(Arc::downgrade(&client));
        client
    }
}

/// Accepts connections, each served by threads of `scope`.
fn accept<'scope>(
    scope: &'scope Scope<'scope, '_>,
    listener: &Listener,
    shared: &'scope Shared,
    jobs: &Sender<Job>,
    once: bool,
    is_ended: &dyn Fn() -> bool,
) {
    while !is_ended() {
        if once && shared.had_client.load(Ordering::Relaxed) && shared.served.load(Ordering::Relaxed) == 0 {
            break;
        }
        let Ok(stream) = listener.accept() else {
            // No client connects, it has disconnected already, or too many files are open.
            thread::sleep(ACCEPT_INTERVAL);
            continue;
        };
        let (count, export) = if shared.served.load(Ordering::Relaxed) < MAX_CONNECTIONS {
            (&shared.served, shared.export)
        } else if shared.refused.load(Ordering::Relaxed) < MAX_REFUSED {
            (&shared.refused, TOO_MANY)
        } else {
            continue;
        };
        count.fetch_add(1, Ordering::Relaxed);
        let (client, jobs) = (shared.add_client(stream), jobs.clone());
        let connection = move || {
            // A client that goes away or breaks the protocol ends its own connection only.
            let _ = serve_connection(&client, export, shared, &jobs);
            client.close();
            count.fetch_sub(1, Ordering::Relaxed);
        };
        if thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, connection).is_err() {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Serves a client until it disconnects.
fn serve_connection(client: &Arc<Client>, export: Export, shared: &Shared, jobs: &Sender<Job>) -> io::Result<()> {
    let stream = client.stream();
    let negotiated = negotiate(&mut Negotiation { stream, until: Instant::now() + NEGOTIATION }, export)?;
    if negotiated == Negotiated::Ended {
        return Ok(());
    }
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(None)?;
    shared.had_client.store(true, Ordering::Relaxed);
    // The time of a request is taken when it has been read.
    let _ = os::set_realtime_priority();
    thread::scope(|scope| {
        let sending = move || client.send_queued(&shared.store);
        thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, sending)?;
        let done = read_requests(&mut BufReader::with_capacity(BUFFER_BYTES, stream), shared, jobs, client);
        match done {
            Ok(()) => client.finish(),
            Err(_) => client.close(),
        }
        done
    })
}

/// A connection during the negotiation: reads and writes fail after `until`.
struct Negotiation<'a> {
    stream: &'a Stream,
    until: Instant,
}

impl Negotiation<'_> {
    fn time_left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(Some(left))
    }
}

impl Read for Negotiation<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.time_left()?)?;
        self.stream.read(into)
    }
}

impl Write for Negotiation<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.time_left()?)?;
        self.stream.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads requests until the client ends them or the server ends.
fn read_requests(
    from: &mut BufReader<&Stream>,
    shared: &Shared,
    jobs: &Sender<Job>,
    client: &Arc<Client>,
) -> io::Result<()> {
    while let Some(request) = read_request(from)? {
        if request.command == Command::Disconnect || !client.begin_request() {
            break;
        }
        let mut result = request.refusal(shared.size).map_or(Ok(()), Err);
        let asked = if request.command == Command::Write {
            receive_data(from, &request, &shared.store, &mut result)?
        } else {
            Instant::now()
        };
        match result.and_then(|()| access(&shared.store, &request, client)) {
            Err(error) => client.reply(Reply::new(request.cookie), error),
            Ok((reply, None)) => client.reply(reply, Error::None),
            Ok((reply, Some(op))) => {
                let Request { offset, length: bytes, .. } = request;
                let durable = request.is_durable();
                let job = Job { asked, client: Arc::clone(client), reply, offset, bytes, op, durable };
                if jobs.send(job).is_err() {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Reads the data of a write and stores them as they come, unless `result` is or becomes an error; returns when the last had been read.
fn receive_data(
    from: &mut BufReader<&Stream>,
    request: &Request,
    store: &Store,
    result: &mut Result<(), Error>,
) -> io::Result<Instant> {
    let (mut at, mut left) = (request.offset, request.length as usize);
    let mut asked = Instant::now();
    while left > 0 {
        let data = from.fill_buf()?;
        if data.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let count = data.len().min(left);
        asked = Instant::now();
        if result.is_ok() {
            *result = store.write(at, &data[..count]).map_err(error_of);
        }
        from.consume(count);
        left -= count;
        at += count as u64;
    }
    Ok(asked)
}

/// Completes the work of a request in the store. Returns its reply, and its operation in the session, if it has one.
fn access(store: &Store, request: &Request, client: &Client) -> Result<(Reply, Option<Op>), Error> {
    let Request { command, cookie, offset, length, .. } = *request;
    let (reply, op) = match command {
        Command::Read => {
            let reply = client.read(store, cookie, offset, length as usize).map_err(error_of)?;
            return Ok((reply, Some(Op::Read)));
        }
        Command::Flush => (Reply::new(cookie), Some(Op::Flush)),
        Command::Write => (Reply::new(cookie), Some(Op::Write)),
        Command::WriteZeroes => {
            store.zero(offset, u64::from(length), !request.may_punch_hole()).map_err(error_of)?;
            (Reply::new(cookie), Some(Op::Write))
        }
        // Trims take no time and keep the data.
        Command::Trim => (Reply::new(cookie), None),
        Command::Disconnect | Command::Unknown => return Err(Error::Invalid),
    };
    if command == Command::Flush || request.is_durable() {
        store.flush().map_err(error_of)?;
    }
    Ok((reply, op))
}

fn error_of(error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => Error::NoSpace,
        _ => Error::Io,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn request(command: Command, flags: u16) -> Request {
        Request { command, flags, cookie: 1, offset: 0, length: 512 }
    }

    #[test]
    fn flushes_and_durable_writes_fail_after_a_failed_sync() {
        fn fail_once(_: &File) -> io::Result<()> {
            static CALLS: AtomicUsize = AtomicUsize::new(0);
            match CALLS.fetch_add(1, Ordering::Relaxed) {
                0 => Err(io::Error::from_raw_os_error(libc::ENOSPC)),
                _ => Ok(()),
            }
        }
        let path = std::env::temp_dir().join(format!("sledsim-nbd-server-{}", std::process::id()));
        let store = Store::with_sync(&path, 1 << 20, fail_once);
        let (near, _far) = UnixStream::pair().expect("two ends");
        let client = Client::new(Stream::Unix(near), &Budget::of_all_clients());
        let outcome = |command, flags| access(&store, &request(command, flags), &client).map(|_| ());
        assert_eq!(outcome(Command::Flush, 0), Err(Error::NoSpace));
        for _ in 0..2 {
            assert_eq!(outcome(Command::Flush, 0), Err(Error::Io));
            assert_eq!(outcome(Command::Write, 1), Err(Error::Io));
            assert_eq!(outcome(Command::WriteZeroes, 1), Err(Error::Io));
            assert_eq!(outcome(Command::Write, 0), Ok(()));
            assert_eq!(outcome(Command::Read, 0), Ok(()));
        }
        std::fs::remove_file(&path).expect("it was there");
    }
}
