//! Sockets that clients connect to.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest path of a socket in bytes; a zero byte follows it.
const MAX_PATH_BYTES: usize =
    std::mem::size_of::<libc::sockaddr_un>() - std::mem::offset_of!(libc::sockaddr_un, sun_path) - 1;

/// Address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system.
    Unix(PathBuf),
    /// A TCP address and port.
    Tcp(SocketAddr),
}

/// Why a text is not an address for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// It is neither a port nor an address with a port.
    Unreadable,
    /// Other machines can reach it, which was not allowed.
    Remote,
}

impl Address {
    /// Parses `PORT`, which only this machine can reach, or `ADDRESS:PORT`, which other machines may reach if `remote` is true.
    ///
    /// # Errors
    /// It is not an address, or not an allowed one.
    pub fn tcp(given: &str, remote: bool) -> Result<Self, AddressError> {
        let local = given.parse().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let at = local.or_else(|_| given.parse()).map_err(|_| AddressError::Unreadable)?;
        if remote || is_loopback(at.ip()) {
            Ok(Self::Tcp(at))
        } else {
            Err(AddressError::Remote)
        }
    }

    /// Returns the name of the option that gives such an address.
    #[must_use]
    pub fn option(&self) -> &'static str {
        match self {
            Self::Unix(_) => "socket",
            Self::Tcp(_) => "tcp",
        }
    }

    /// Checks that a socket can be created there. A socket without a server is removed later.
    ///
    /// # Errors
    /// The path is too long, or another file exists there; the message names a remedy.
    pub fn require_free(&self) -> Result<(), String> {
        let Self::Unix(path) = self else { return Ok(()) };
        let bytes = path.as_os_str().len();
        if bytes > MAX_PATH_BYTES {
            let says = "can have: name a shorter path, or one relative to the folder";
            return Err(format!(
                "{} has {bytes} bytes, more than the {MAX_PATH_BYTES} that the path of a socket {says}",
                path.display()
            ));
        }
        // A dangling symbolic link is an obstacle, too.
        let Ok(found) = path.symlink_metadata() else { return Ok(()) };
        let kind = std::fs::metadata(path).map_or(found.file_type(), |end| end.file_type());
        let what = if kind.is_socket() {
            if UnixStream::connect(path).is_err() {
                return Ok(());
            }
            return Err(format!("{} has a server already: end it, or name another path", path.display()));
        } else if kind.is_dir() {
            "folder"
        } else if kind.is_symlink() {
            "broken link"
        } else {
            "file"
        };
        Err(format!("{} is a {what}, not a socket: remove it, or name another path", path.display()))
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

/// Returns true if only this machine can reach an address.
fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// A connection.
#[derive(Debug)]
pub enum Stream {
    /// Through a socket in the file system.
    Unix(UnixStream),
    /// Through TCP.
    Tcp(TcpStream),
}

impl Stream {
    /// Sets how long a write may wait.
    pub(crate) fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_write_timeout(limit),
            Self::Tcp(stream) => stream.set_write_timeout(limit),
        }
    }

    /// Sets how long a read may wait.
    pub(crate) fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(limit),
            Self::Tcp(stream) => stream.set_read_timeout(limit),
        }
    }

    /// Ends the connection: reads and writes of other threads return.
    pub fn close(&self) {
        // It may have ended already.
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

/// A socket that accepts connections.
#[derive(Debug)]
pub(crate) enum Listener {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

impl Listener {
    /// Creates the socket of an address.
    pub(crate) fn new(address: &Address) -> Result<Self, String> {
        address.require_free()?;
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
        // `require_free` has found that it is a socket without a server.
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

    /// Returns its address; port 0 has become the number of a free port.
    pub(crate) fn address(&self) -> io::Result<Address> {
        match self {
            Self::Unix(_, path) => Ok(Address::Unix(path.clone())),
            Self::Tcp(listener) => listener.local_addr().map(Address::Tcp),
        }
    }

    /// Returns the next connection; the error is `WouldBlock` if there is none.
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
            // It may have been removed.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_other_machines_reach_need_remote() {
        let local = Address::tcp("10809", false);
        assert_eq!(local, Ok(Address::Tcp("127.0.0.1:10809".parse().expect("an address"))));
        for given in ["127.0.0.1:1", "127.3.2.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(Address::tcp(given, false).is_ok(), "{given}");
        }
        for given in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "192.168.0.1:1", "[::ffff:10.0.0.1]:1", "[fe80::1]:1"] {
            assert_eq!(Address::tcp(given, false), Err(AddressError::Remote), "{given}");
            assert_eq!(Address::tcp(given, true), Ok(Address::Tcp(given.parse().expect("an address"))));
        }
        for given in ["", "nowhere", "localhost:1", "127.0.0.1", "65536", "-1"] {
            assert_eq!(Address::tcp(given, true), Err(AddressError::Unreadable), "{given}");
        }
    }

    #[test]
    fn a_file_in_the_place_of_a_socket_is_named_and_kept() {
        let folder = std::env::temp_dir().join(format!("sledsim-nbd-sockets-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (file, link, socket) = (folder.join("file"), folder.join("link"), folder.join("socket"));
        std::fs::write(&file, "content").expect("a file");
        std::os::unix::fs::symlink("nothing", &link).expect("a link");
        let what = "not a socket: remove it, or name another path";
        for (path, kind) in [(&folder, "folder"), (&file, "file"), (&link, "broken link")] {
            let says = Listener::new(&Address::Unix(path.clone())).expect_err("in the way");
            assert_eq!(says, format!("{} is a {kind}, {what}", path.display()));
        }
        assert_eq!(std::fs::read(&file).expect("still there"), b"content");
        let long = Address::Unix("s".repeat(MAX_PATH_BYTES + 1).into());
        let says = Listener::new(&long).expect_err("too long");
        let bytes = format!(
            "has {} bytes, more than the {MAX_PATH_BYTES} that the path of a socket can have",
            MAX_PATH_BYTES + 1
        );
        assert!(says.contains(&bytes), "{says}");
        assert_eq!(Address::Unix("s".repeat(MAX_PATH_BYTES).into()).require_free(), Ok(()));
        let first = Listener::new(&Address::Unix(socket.clone())).expect("a socket");
        let says = Listener::new(&Address::Unix(socket.clone())).expect_err("it listens");
        assert!(says.contains("has a server already"), "{says}");
        drop(first);
        assert!(!socket.exists());
        // A server that was killed leaves its socket.
        drop(UnixListener::bind(&socket).expect("free again"));
        assert!(socket.exists());
        drop(Listener::new(&Address::Unix(socket)).expect("in its place"));
        std::fs::remove_dir_all(&folder).expect("it was there");
    }

    #[test]
    fn a_port_in_use_is_named() {
        let first = Listener::new(&Address::tcp("0", false).expect("any port")).expect("a free one");
        let at = first.address().expect("it is bound");
        let says = Listener::new(&at).expect_err("it is taken");
        assert!(says.starts_with("127.0.0.1:") && !says.starts_with("127.0.0.1:0:"), "{says}");
    }
}
