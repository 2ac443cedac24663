//! Sockets: where clients connect, and who may.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest path of a socket, in bytes: a zero ends it.
const LONGEST_PATH: usize =
    std::mem::size_of::<libc::sockaddr_un>() - std::mem::offset_of!(libc::sockaddr_un, sun_path) - 1;

/// Where clients connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A port of TCP.
    Tcp(SocketAddr),
}

/// Why what was given is no address to be served at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAddress {
    /// It is no port, and no address with one.
    Unreadable,
    /// Other machines reach it, and nobody has asked for that.
    Remote,
}

impl Address {
    /// Reads `PORT`, which is one of this machine alone, or `ADDRESS:PORT`; where other machines reach it, `remote` has to allow it.
    ///
    /// # Errors
    /// Where it is no address, or one that is not allowed.
    pub fn tcp(given: &str, remote: bool) -> Result<Self, NoAddress> {
        let own = given.parse().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let at = own.or_else(|_| given.parse()).map_err(|_| NoAddress::Unreadable)?;
        if remote || is_own(at.ip()) {
            Ok(Self::Tcp(at))
        } else {
            Err(NoAddress::Remote)
        }
    }

    /// By which option it was given.
    #[must_use]
    pub fn option(&self) -> &'static str {
        match self {
            Self::Unix(_) => "socket",
            Self::Tcp(_) => "tcp",
        }
    }

    /// Says what lies where a socket is to be made, if that may not be removed, or that no socket can have the path.
    ///
    /// # Errors
    /// What it is, and what to do.
    pub fn is_free(&self) -> Result<(), String> {
        let Self::Unix(path) = self else { return Ok(()) };
        let bytes = path.as_os_str().len();
        if bytes > LONGEST_PATH {
            let says = "takes: name a shorter one, or one from the folder that it lies in";
            return Err(format!(
                "{} has {bytes} bytes, more than the {LONGEST_PATH} that a socket {says}",
                path.display()
            ));
        }
        // A link that leads nowhere is in the way, too.
        let Ok(found) = path.symlink_metadata() else { return Ok(()) };
        let kind = std::fs::metadata(path).map_or(found.file_type(), |end| end.file_type());
        let what = if kind.is_socket() {
            if UnixStream::connect(path).is_err() {
                return Ok(());
            }
            return Err(format!("a server listens at {} already: end it, or name another place", path.display()));
        } else if kind.is_dir() {
            "folder"
        } else if kind.is_symlink() {
            "link to nothing"
        } else {
            "file"
        };
        Err(format!("{} is a {what} and no socket: move it away, or name another place", path.display()))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(to, "nbd+unix:///?socket={}", path.display()),
            Self::Tcp(address) => write!(to, "nbd://{address}"),
        }
    }
}

/// Whether an address is reached from this machine alone.
fn is_own(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// One end of a connection.
#[derive(Debug)]
pub enum Stream {
    /// Over a socket in the file system.
    Unix(UnixStream),
    /// Over TCP.
    Tcp(TcpStream),
}

impl Stream {
    /// The same connection once more.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
        }
    }

    /// How long to wait for what the other side says.
    pub(crate) fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(limit),
            Self::Tcp(stream) => stream.set_read_timeout(limit),
        }
    }

    /// Ends the connection.
    pub fn close(&self) {
        // Whoever has gone already needs no closing.
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(std::net::Shutdown::Both),
            Self::Tcp(stream) => stream.shutdown(std::net::Shutdown::Both),
        };
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => (&mut &*stream).read(into),
            Stream::Tcp(stream) => (&mut &*stream).read(into),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => (&mut &*stream).write(data),
            Stream::Tcp(stream) => (&mut &*stream).write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What takes connections.
#[derive(Debug)]
pub(crate) enum Listener {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at an address.
    pub(crate) fn new(address: &Address) -> Result<Self, String> {
        address.is_free()?;
        let listener = match address {
            Address::Unix(path) => Self::unix(path),
            Address::Tcp(at) => Self::tcp(*at),
        };
        listener.map_err(|error| match address {
            Address::Unix(path) => format!("{}: {error}", path.display()),
            Address::Tcp(at) => format!("{at}: {error}"),
        })
    }

    fn unix(path: &Path) -> io::Result<Self> {
        // A socket that nobody listens at is left from a server that was killed.
        if path.exists() {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Self::Unix(listener, path.to_owned()))
    }

    fn tcp(at: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        Ok(Self::Tcp(listener))
    }

    /// Where it listens: a port of 0 has become one that was free.
    pub(crate) fn address(&self) -> io::Result<Address> {
        match self {
            Self::Unix(_, path) => Ok(Address::Unix(path.clone())),
            Self::Tcp(listener) => listener.local_addr().map(Address::Tcp),
        }
    }

    /// The next connection, if there is one.
    pub(crate) fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                Ok(Stream::Unix(stream))
            }
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            // If somebody has removed it, all the better.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_of_this_machine_and_others_reach_no_other_address_unless_it_is_asked_for() {
        let own = Address::tcp("10809", false);
        assert_eq!(own, Ok(Address::Tcp("127.0.0.1:10809".parse().expect("an address"))));
        for given in ["127.0.0.1:1", "127.3.2.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(Address::tcp(given, false).is_ok(), "{given}");
        }
        for given in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "192.168.0.1:1", "[::ffff:10.0.0.1]:1", "[fe80::1]:1"] {
            assert_eq!(Address::tcp(given, false), Err(NoAddress::Remote), "{given}");
            assert_eq!(Address::tcp(given, true), Ok(Address::Tcp(given.parse().expect("an address"))));
        }
        for given in ["", "nowhere", "localhost:1", "127.0.0.1", "65536", "-1"] {
            assert_eq!(Address::tcp(given, true), Err(NoAddress::Unreadable), "{given}");
        }
    }

    #[test]
    fn what_lies_where_a_socket_is_to_be_is_named_and_left_alone() {
        let folder = std::env::temp_dir().join(format!("sledsim-nbd-sockets-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (file, link, socket) = (folder.join("file"), folder.join("link"), folder.join("socket"));
        std::fs::write(&file, "somebody's").expect("a file");
        std::os::unix::fs::symlink("nothing", &link).expect("a link");
        let what = "and no socket: move it away, or name another place";
        for (path, kind) in [(&folder, "folder"), (&file, "file"), (&link, "link to nothing")] {
            let says = Listener::new(&Address::Unix(path.clone())).expect_err("in the way");
            assert_eq!(says, format!("{} is a {kind} {what}", path.display()));
        }
        assert_eq!(std::fs::read(&file).expect("still there"), b"somebody's");
        let long = Address::Unix("s".repeat(LONGEST_PATH + 1).into());
        let says = Listener::new(&long).expect_err("too long");
        let bytes = format!("has {} bytes, more than the {LONGEST_PATH} that a socket takes", LONGEST_PATH + 1);
        assert!(says.contains(&bytes), "{says}");
        assert_eq!(Address::Unix("s".repeat(LONGEST_PATH).into()).is_free(), Ok(()));
        let first = Listener::new(&Address::Unix(socket.clone())).expect("a socket");
        let says = Listener::new(&Address::Unix(socket.clone())).expect_err("it listens");
        assert!(says.starts_with("a server listens at"), "{says}");
        drop(first);
        assert!(!socket.exists());
        // One that nobody listens at is left from a server that was killed.
        drop(UnixListener::bind(&socket).expect("free again"));
        assert!(socket.exists());
        drop(Listener::new(&Address::Unix(socket)).expect("in its place"));
        std::fs::remove_dir_all(&folder).expect("it was there");
    }

    #[test]
    fn a_port_that_is_taken_is_named() {
        let first = Listener::new(&Address::tcp("0", false).expect("any port")).expect("a free one");
        let at = first.address().expect("it is bound");
        let says = Listener::new(&at).expect_err("it is taken");
        assert!(says.starts_with("127.0.0.1:") && !says.starts_with("127.0.0.1:0:"), "{says}");
    }
}
