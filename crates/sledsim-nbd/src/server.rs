//! Connections: who asks, over which socket, and what becomes of the data of each request.

use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use sledsim::request::Op;
use sledsim::scenario::{RunError, Session};

use crate::delivery::{Clock, Delivery, Job};
use crate::files;
use crate::log::{Log, Verdict};
use crate::os;
use crate::protocol::{greet, request, Asked, Command, Error, Greeted, Offer};
use crate::reply::Client;
use crate::sockets::{Address, Listener, Stream};
use crate::store::Store;
use crate::way::Way;

/// Connections at once: one more is told that there are so many.
pub const MOST_CONNECTIONS: usize = 256;
/// Connections that are told so at once: one more is closed at once.
const MOST_REFUSED: usize = 64;
const TOO_MANY: Offer = Offer::Nothing("256 connections are served, and no more at once");
/// How often the end is looked for while nobody connects.
const LOOK: Duration = Duration::from_millis(20);
/// A client that says nothing while it is greeted is left after this long.
const GREETING: Duration = Duration::from_secs(10);

/// How a device is served.
#[derive(Debug)]
pub struct Options {
    /// Where clients connect.
    pub address: Address,
    /// How many times slower than the machine's the session's clock runs.
    pub dilation: f64,
    /// Where the data are kept; in memory where there is no file.
    pub image: Option<PathBuf>,
    /// Whether that file is removed at the end.
    pub drop: bool,
    /// Where a trace of the requests goes.
    pub log: Option<PathBuf>,
    /// Whether the server ends when its first client has gone.
    pub once: bool,
}

/// Serves a device until `is_ended`, which is asked on this thread, or until its client has gone where it is to end then; calls `ready` when clients may come.
///
/// # Errors
/// Where the socket, the store or the log can't be made, or the session stops.
pub fn serve(
    session: Session,
    options: &Options,
    ready: &dyn Fn(Served),
    is_ended: &dyn Fn() -> bool,
) -> Result<(Session, Verdict), ServeError> {
    let size = size_of(&session);
    let listener = Listener::new(&options.address).map_err(ServeError::Socket)?;
    let address = listener.address().map_err(|error| ServeError::Socket(error.to_string()))?;
    // One processor alone has nothing to do while it sleeps.
    let _awake = if os::is_alone() { None } else { os::stay_awake() };
    let way = Way::measured().map_err(|error| ServeError::Socket(error.to_string()))?;
    let early = way.after(Duration::from_millis(1));
    let (store, log) = opened(options, size)?;
    let (sender, jobs) = channel();
    let shared = Arc::new(Shared {
        store,
        size,
        block_bytes: session.block_bytes(),
        connections: AtomicUsize::new(0),
        refused: AtomicUsize::new(0),
        had_one: AtomicBool::new(false),
        clients: Mutex::default(),
    });
    let (began, clock) = (SystemTime::now(), Clock::new(options.dilation));
    let stop = AtomicBool::new(false);
    let stopped = || stop.load(Ordering::Relaxed);
    let served = thread::scope(|scope| {
        let delivery = Delivery::new(session, clock, way, jobs, log);
        let thread = thread::Builder::new().name("delivery".into()).spawn_scoped(scope, || {
            // Where the machine does not allow it, the verdict says what that cost.
            let _ = os::run_first();
            let done = delivery.run(&stopped);
            stop.store(true, Ordering::Relaxed);
            done
        });
        let thread = thread.map_err(|error| ServeError::Socket(error.to_string()))?;
        ready(Served { address, size, early, began });
        let listened = listen(&listener, &shared, &sender, options.once, &|| stopped() || is_ended());
        stop.store(true, Ordering::Relaxed);
        drop(sender);
        for client in shared.clients().drain(..).filter_map(|client| client.upgrade()) {
            client.close();
        }
        let done = thread.join().map_err(|_| ServeError::Socket("the delivery ended in a panic".into()))?;
        listened.map_err(|error| ServeError::Socket(error.to_string()))?;
        // What has been answered is in the store; what was not flushed is no promise, and yet it is kept.
        shared.store.flush().map_err(|error| ServeError::Store(error.to_string()))?;
        let (session, log) = done.map_err(ServeError::Run)?;
        Ok((session, log.verdict(options.dilation)))
    });
    if let (true, Some(path)) = (options.drop, &options.image) {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                served.and(Err(ServeError::Store(of(path, &error))))
            }
            _ => served,
        }
    } else {
        served
    }
}

/// Opens the store and the log: what was in the log goes, and a store is made, where both can be.
fn opened(options: &Options, size: u64) -> Result<(Store, Log), ServeError> {
    let is_new = options.log.as_deref().is_some_and(|path| path.symlink_metadata().is_err());
    let log = options.log.as_deref().map(|path| files::open(path).map_err(|error| ServeError::Log(of(path, &error))));
    let log = log.transpose()?;
    let store = options.image.as_deref().map_or(Ok(Store::memory()), |path| {
        Store::file(path, size).map_err(|error| ServeError::Store(of(path, &error)))
    });
    if let (Err(_), true, Some(path)) = (&store, is_new, &options.log) {
        // It is empty; why there is no store is what is told.
        let _ = std::fs::remove_file(path);
    }
    Ok((store?, Log::new(log).map_err(|error| ServeError::Log(error.to_string()))?))
}

/// What is wrong with a file.
fn of(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Bytes of a session's device.
#[must_use]
pub fn size_of(session: &Session) -> u64 {
    session.capacity_blocks() * u64::from(session.block_bytes())
}

/// What is known once clients may come.
#[derive(Clone, Debug)]
pub struct Served {
    /// Where they connect.
    pub address: Address,
    /// Bytes of the device.
    pub size: u64,
    /// How much before it is due an answer leaves that was waited for 1 ms: what the way was found to take.
    pub early: Duration,
    /// When the session's clock stood at 0, by the machine's: so what else happened there finds its place in the log.
    pub began: SystemTime,
}

/// Why a device is not served any more.
#[derive(Debug)]
pub enum ServeError {
    /// There is no socket.
    Socket(String),
    /// There is no log.
    Log(String),
    /// The data can't be kept.
    Store(String),
    /// The session stopped.
    Run(RunError),
}

/// What all connections have in common.
struct Shared {
    store: Store,
    size: u64,
    block_bytes: u32,
    connections: AtomicUsize,
    refused: AtomicUsize,
    had_one: AtomicBool,
    clients: Mutex<Vec<Weak<Client>>>,
}

impl Shared {
    fn clients(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Client>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a client in, and forgets those that have gone.
    fn admit(&self, client: &Arc<Client>) {
        let mut clients = self.clients();
        clients.retain(|known| known.strong_count() > 0);
        clients.push(Arc::downgrade(client));
        self.had_one.store(true, Ordering::Relaxed);
    }
}

fn listen(
    listener: &Listener,
    shared: &Arc<Shared>,
    jobs: &Sender<Job>,
    once: bool,
    is_ended: &dyn Fn() -> bool,
) -> io::Result<()> {
    while !is_ended() {
        if once && shared.had_one.load(Ordering::Relaxed) && shared.connections.load(Ordering::Relaxed) == 0 {
            break;
        }
        match listener.accept() {
            Ok(stream) if begins(&shared.connections, MOST_CONNECTIONS) => {
                let (shared, jobs) = (Arc::clone(shared), jobs.clone());
                thread::spawn(move || {
                    // A client that goes, or talks nonsense, ends its own connection and nothing else.
                    let _ = attend(stream, &shared, &jobs);
                    shared.connections.fetch_sub(1, Ordering::Relaxed);
                });
            }
            Ok(stream) if begins(&shared.refused, MOST_REFUSED) => {
                let shared = Arc::clone(shared);
                thread::spawn(move || {
                    // Whether it listens is its own affair.
                    let _ = welcome(&stream, TOO_MANY);
                    shared.refused.fetch_sub(1, Ordering::Relaxed);
                });
            }
            // The client sees an end where a greeting should be.
            Ok(stream) => drop(stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(LOOK),
            // A client that has gone before it was seen, or too many files open: it passes.
            Err(_) => thread::sleep(LOOK),
        }
    }
    Ok(())
}

/// Counts one more where there are fewer than `most`; says whether there are. Nobody else counts up.
fn begins(count: &AtomicUsize, most: usize) -> bool {
    let fits = count.load(Ordering::Relaxed) < most;
    count.fetch_add(usize::from(fits), Ordering::Relaxed);
    fits
}

/// Greets a client that answers within some time.
fn welcome(stream: &Stream, offer: Offer) -> io::Result<Greeted> {
    stream.set_read_timeout(Some(GREETING))?;
    let greeted = greet(&mut Both(stream), offer)?;
    stream.set_read_timeout(None)?;
    Ok(greeted)
}

/// Serves one client until it goes.
fn attend(stream: Stream, shared: &Shared, jobs: &Sender<Job>) -> io::Result<()> {
    let offer = Offer::Device { size: shared.size, block_bytes: shared.block_bytes };
    if welcome(&stream, offer)? == Greeted::Leaves {
        return Ok(());
    }
    // A request waits for nobody else before its time is taken.
    let _ = os::run_first();
    let client = Arc::new(Client::new(stream.try_clone()?));
    shared.admit(&client);
    let sender = Arc::clone(&client);
    let rest = thread::spawn(move || sender.send_the_rest());
    let ended = requests(&mut BufReader::with_capacity(1 << 16, &stream), shared, jobs, &client);
    client.leave();
    stream.close();
    // It ends, since the client has left.
    let _ = rest.join();
    ended
}

/// Reads and writes one stream.
struct Both<'a>(&'a Stream);

impl Read for Both<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for Both<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.0.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn requests(from: &mut impl Read, shared: &Shared, jobs: &Sender<Job>, client: &Arc<Client>) -> io::Result<()> {
    while let Some(asked) = request(from)? {
        if asked.command == Command::Disconnect {
            break;
        }
        let mut data = Vec::new();
        if asked.command == Command::Write {
            data.resize(asked.length as usize, 0);
            from.read_exact(&mut data)?;
        }
        let at = Instant::now();
        let admitted = if asked.command == Command::Read { asked.length as usize } else { 0 };
        if !client.admits(admitted) {
            break;
        }
        let refused = asked.refusal(shared.size);
        if asked.command == Command::Trim {
            // What nobody needs any more costs nothing.
            client.answer(asked.cookie, refused.unwrap_or(Error::None), &[], admitted);
            continue;
        }
        let done = refused.map_or_else(|| touch(&shared.store, &asked, data), Err);
        let (op, data) = match done {
            Err(error) => {
                client.answer(asked.cookie, error, &[], admitted);
                continue;
            }
            Ok(done) => done,
        };
        let Asked { cookie, offset, length: bytes, fua: durable, .. } = asked;
        let job = Job { asked: at, client: Arc::clone(client), cookie, offset, bytes, op, durable, data };
        if jobs.send(job).is_err() {
            break;
        }
    }
    Ok(())
}

/// Does with the data what a request asks for; gives back its direction, and what was read.
fn touch(store: &Store, asked: &Asked, data: Vec<u8>) -> Result<(Op, Vec<u8>), Error> {
    let failed = |error: io::Error| match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => Error::NoSpace,
        _ => Error::Io,
    };
    let durably = |written: io::Result<()>| {
        let flushed = written.and_then(|()| if asked.fua { store.flush() } else { Ok(()) });
        flushed.map(|()| (Op::Write, Vec::new())).map_err(failed)
    };
    match asked.command {
        Command::Read => {
            let mut found = vec![0; asked.length as usize];
            store.read(asked.offset, &mut found).map(|()| (Op::Read, found)).map_err(failed)
        }
        Command::Write => durably(store.write(asked.offset, &data)),
        Command::WriteZeroes => durably(store.zero(asked.offset, u64::from(asked.length))),
        Command::Flush => store.flush().map(|()| (Op::Flush, Vec::new())).map_err(failed),
        Command::Trim | Command::Disconnect | Command::Unknown => Err(Error::Invalid),
    }
}
