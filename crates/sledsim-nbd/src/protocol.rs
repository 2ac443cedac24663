//! The protocol of network block devices: fixed newstyle handshake, simple replies.
//!
//! Lengths from a client are checked before data of that length is read. Every error leads to an error reply or to the
//! end of that connection. Numbers are those of the protocol's description (NetworkBlockDevice/nbd, doc/proto.md).

use std::io::{self, Read, Write};

const MAGIC: u64 = 0x4e42_444d_4147_4943;
const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;

/// Fixed newstyle, and no zeroes after an export if the client agrees.
const SERVER_FLAGS: u16 = 0b11;
const NO_ZEROES: u32 = 0b10;

/// Supports flags, flush, forced unit access, trim, write zeroes, and several connections to the same data.
const EXPORT_FLAGS: u16 = 1 | 4 | 8 | 32 | 64 | 256;
const ROTATIONAL: u16 = 16;

/// Command flag: the reply to a write is sent when its data are durable.
const FUA: u16 = 1;
/// Command flag of write zeroes: space is kept allocated.
const NO_HOLE: u16 = 2;

/// Longest option in bytes: a client that sends a longer one is disconnected.
pub const MAX_OPTION_BYTES: u32 = 1 << 16;
/// Longest data of a read or a write, in bytes.
pub const MAX_DATA_BYTES: u32 = 32 << 20;
/// Maximum number of options of one client.
const MAX_OPTIONS: usize = 1000;

/// Length of the header of a reply in bytes.
pub const REPLY_HEADER_BYTES: usize = 16;

/// Error of a request, as its reply has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Error {
    /// No error.
    None = 0,
    /// The system lost the data, or the store failed.
    Io = 5,
    /// There is no such request, or it reaches beyond the end.
    Invalid = 22,
    /// A write reaches beyond the end, or the store is full.
    NoSpace = 28,
}

/// Kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Read data.
    Read,
    /// Write data.
    Write,
    /// End the connection.
    Disconnect,
    /// Make all writes that were replied to durable.
    Flush,
    /// Discard data.
    Trim,
    /// Write zeroes.
    WriteZeroes,
    /// A command that the server does not have.
    Unknown,
}

/// Header of a request; the data of a write follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Kind of the request.
    pub command: Command,
    /// Command flags.
    pub flags: u16,
    /// The client's identifier of the request.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u32,
}

impl Request {
    /// Returns true if the data have to be durable when the reply is sent.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        self.flags & FUA != 0
    }

    /// Returns true if write zeroes may leave a hole.
    #[must_use]
    pub fn may_punch_hole(&self) -> bool {
        self.flags & NO_HOLE == 0
    }

    /// Returns the reason why a device of `size` bytes rejects the request, or `None` if it accepts it.
    #[must_use]
    pub fn refusal(&self, size: u64) -> Option<Error> {
        let known_flags = if self.command == Command::WriteZeroes { FUA | NO_HOLE } else { FUA };
        if self.flags & !known_flags != 0 {
            return Some(Error::Invalid);
        }
        let is_beyond = self.offset.checked_add(u64::from(self.length)).is_none_or(|end| end > size);
        match self.command {
            Command::Unknown => Some(Error::Invalid),
            Command::Disconnect => None,
            Command::Flush => (self.offset != 0 || self.length != 0).then_some(Error::Invalid),
            _ if self.length == 0 => Some(Error::Invalid),
            Command::Read => (is_beyond || self.length > MAX_DATA_BYTES).then_some(Error::Invalid),
            Command::Trim => is_beyond.then_some(Error::Invalid),
            Command::Write | Command::WriteZeroes => is_beyond.then_some(Error::NoSpace),
        }
    }
}

fn invalid(says: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, says)
}

fn read_u16(from: &mut impl Read) -> io::Result<u16> {
    let mut bytes = [0; 2];
    from.read_exact(&mut bytes).map(|()| u16::from_be_bytes(bytes))
}

fn read_u32(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes).map(|()| u32::from_be_bytes(bytes))
}

fn read_u64(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes).map(|()| u64::from_be_bytes(bytes))
}

/// Outcome of a negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Negotiated {
    /// Requests follow.
    Transmission,
    /// The client ended the connection.
    Ended,
}

/// The export that clients can open.
#[derive(Clone, Copy, Debug)]
pub enum Export {
    /// The device.
    Device {
        /// Size in bytes.
        size: u64,
        /// Size of a block in bytes.
        block_bytes: u32,
        /// True if seeks take time on it.
        is_rotational: bool,
    },
    /// None, for this reason.
    Unavailable(&'static str),
}

/// Negotiates with a client that has just connected.
///
/// # Errors
/// The client goes away or breaks the protocol.
pub fn negotiate(client: &mut (impl Read + Write), export: Export) -> io::Result<Negotiated> {
    let mut hello = Vec::with_capacity(18);
    hello.extend(MAGIC.to_be_bytes());
    hello.extend(OPTION_MAGIC.to_be_bytes());
    hello.extend(SERVER_FLAGS.to_be_bytes());
    client.write_all(&hello)?;
    let flags = read_u32(client)?;
    if flags & !u32::from(SERVER_FLAGS) != 0 {
        return Err(invalid("unknown client flags"));
    }
    for _ in 0..MAX_OPTIONS {
        if read_u64(client)? != OPTION_MAGIC {
            return Err(invalid("not an option"));
        }
        let (option, length) = (read_u32(client)?, read_u32(client)?);
        if length > MAX_OPTION_BYTES {
            return Err(invalid("option too long"));
        }
        let mut data = vec![0; length as usize];
        client.read_exact(&mut data)?;
        if let Some(negotiated) = reply_to_option(client, option, &data, flags, export)? {
            return Ok(negotiated);
        }
    }
    Err(invalid("too many options"))
}

const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const LIST: u32 = 3;
const INFO: u32 = 6;
const GO: u32 = 7;
const ACK: u32 = 1;
const SERVER: u32 = 2;
const INFORMATION: u32 = 3;
const UNSUPPORTED: u32 = 1 << 31 | 1;
const POLICY: u32 = 1 << 31 | 2;
const INVALID: u32 = 1 << 31 | 3;
const UNKNOWN: u32 = 1 << 31 | 6;

fn reply_to_option(
    client: &mut impl Write,
    option: u32,
    data: &[u8],
    flags: u32,
    export: Export,
) -> io::Result<Option<Negotiated>> {
    let mut out = Vec::new();
    let mut reply = |kind: u32, data: &[u8]| {
        out.extend(OPTION_REPLY_MAGIC.to_be_bytes());
        out.extend(option.to_be_bytes());
        out.extend(kind.to_be_bytes());
        out.extend((data.len() as u32).to_be_bytes());
        out.extend(data);
    };
    let export_flags = |is_rotational| EXPORT_FLAGS | if is_rotational { ROTATIONAL } else { 0 };
    let mut negotiated = None;
    match option {
        EXPORT_NAME => {
            // This option has no error reply: the connection ends instead.
            let (Export::Device { size, is_rotational, .. }, true) = (export, data.is_empty()) else {
                return Err(invalid("no export of that name"));
            };
            out.extend(size.to_be_bytes());
            out.extend(export_flags(is_rotational).to_be_bytes());
            out.resize(out.len() + if flags & NO_ZEROES == 0 { 124 } else { 0 }, 0);
            negotiated = Some(Negotiated::Transmission);
        }
        ABORT => {
            reply(ACK, &[]);
            negotiated = Some(Negotiated::Ended);
        }
        LIST if data.is_empty() => {
            reply(SERVER, &0_u32.to_be_bytes());
            reply(ACK, &[]);
        }
        LIST => reply(INVALID, &[]),
        INFO | GO => match (export_name(data), export) {
            (None, _) => reply(INVALID, &[]),
            (Some(b""), Export::Unavailable(why)) => reply(POLICY, why.as_bytes()),
            (Some(b""), Export::Device { size, block_bytes, is_rotational }) => {
                let export =
                    [&0_u16.to_be_bytes()[..], &size.to_be_bytes(), &export_flags(is_rotational).to_be_bytes()];
                reply(INFORMATION, &export.concat());
                let blocks = [1, block_bytes.next_power_of_two().max(4096), MAX_DATA_BYTES].map(u32::to_be_bytes);
                reply(INFORMATION, &[&3_u16.to_be_bytes()[..], &blocks.concat()].concat());
                reply(ACK, &[]);
                negotiated = (option == GO).then_some(Negotiated::Transmission);
            }
            (Some(_), _) => reply(UNKNOWN, &[]),
        },
        _ => reply(UNSUPPORTED, &[]),
    }
    client.write_all(&out)?;
    Ok(negotiated)
}

/// Returns the export's name in the data of an option, or `None` if lengths in it are wrong.
fn export_name(data: &[u8]) -> Option<&[u8]> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    let (name, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    let (count, information) = rest.split_first_chunk::<2>()?;
    (information.len() == 2 * usize::from(u16::from_be_bytes(*count))).then_some(name)
}

/// Reads the header of a request, or returns `None` if the client sends no more.
///
/// # Errors
/// The client goes away within a header, sends something else, or announces too long a write.
pub fn read_request(from: &mut impl Read) -> io::Result<Option<Request>> {
    let mut magic = [0; 4];
    let read = from.read(&mut magic)?;
    if read == 0 {
        return Ok(None);
    }
    from.read_exact(&mut magic[read..])?;
    if u32::from_be_bytes(magic) != REQUEST_MAGIC {
        return Err(invalid("not a request"));
    }
    let (flags, kind, cookie) = (read_u16(from)?, read_u16(from)?, read_u64(from)?);
    let (offset, length) = (read_u64(from)?, read_u32(from)?);
    let command = match kind {
        0 => Command::Read,
        1 => Command::Write,
        2 => Command::Disconnect,
        3 => Command::Flush,
        4 => Command::Trim,
        6 => Command::WriteZeroes,
        _ => Command::Unknown,
    };
    if command == Command::Write && length > MAX_DATA_BYTES {
        return Err(invalid("write too long"));
    }
    Ok(Some(Request { command, flags, cookie, offset, length }))
}

/// Returns the header of a reply; the data of a read follow it if there is no error.
#[must_use]
pub fn reply_header(error: Error, cookie: u64) -> [u8; REPLY_HEADER_BYTES] {
    let mut header = [0; REPLY_HEADER_BYTES];
    header[..4].copy_from_slice(&REPLY_MAGIC.to_be_bytes());
    header[4..8].copy_from_slice(&(error as u32).to_be_bytes());
    header[8..].copy_from_slice(&cookie.to_be_bytes());
    header
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use sledsim::engine::random::Stream;
    use sledsim_testing::tiers::size;

    use super::*;

    /// A client that has sent all its data, and takes every reply.
    struct Conversation {
        sent: Cursor<Vec<u8>>,
        received: Vec<u8>,
    }

    impl Read for Conversation {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.sent.read(into)
        }
    }

    impl Write for Conversation {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            self.received.extend(data);
            Ok(data.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const DEVICE: Export = Export::Device { size: 1 << 30, block_bytes: 512, is_rotational: false };

    fn option(number: u32, data: &[u8]) -> Vec<u8> {
        [&OPTION_MAGIC.to_be_bytes()[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
    }

    fn go(name: &[u8]) -> Vec<u8> {
        option(GO, &[&(name.len() as u32).to_be_bytes()[..], name, &[0, 1, 0, 3]].concat())
    }

    fn conversation(says: Vec<u8>) -> (io::Result<Negotiated>, Vec<u8>) {
        let mut client = Conversation { sent: Cursor::new(says), received: Vec::new() };
        (negotiate(&mut client, DEVICE), client.received)
    }

    fn packet(kind: u16, flags: u16, offset: u64, length: u32) -> Vec<u8> {
        [
            &REQUEST_MAGIC.to_be_bytes()[..],
            &flags.to_be_bytes(),
            &kind.to_be_bytes(),
            &7_u64.to_be_bytes(),
            &offset.to_be_bytes(),
            &length.to_be_bytes(),
        ]
        .concat()
    }

    #[test]
    fn clients_that_send_too_much_are_disconnected() {
        let flags = 3_u32.to_be_bytes().to_vec();
        let asks = [flags.clone(), option(99, b"").repeat(MAX_OPTIONS + 1)].concat();
        assert_eq!(conversation(asks).0.expect_err("too many").to_string(), "too many options");
        let long = [flags.clone(), OPTION_MAGIC.to_be_bytes().to_vec(), vec![0, 0, 0, 7, 0xff, 0, 0, 0]].concat();
        assert_eq!(conversation(long).0.expect_err("too long").to_string(), "option too long");
        assert_eq!(conversation(vec![0, 0, 0, 9]).0.expect_err("unknown flags").to_string(), "unknown client flags");
        let (greeted, heard) = conversation([flags, go(b"other"), go(b"")].concat());
        assert_eq!(greeted.expect("it goes"), Negotiated::Transmission);
        assert_eq!(heard[18 + 12..18 + 16], UNKNOWN.to_be_bytes());
        let write = packet(1, 0, 0, MAX_DATA_BYTES + 1);
        assert_eq!(read_request(&mut &write[..]).expect_err("too long").to_string(), "write too long");
        assert_eq!(read_request(&mut &b""[..]).expect("gone"), None);
    }

    #[test]
    fn every_input_ends_in_a_reply_or_the_end_of_the_connection() {
        let mut stream = Stream::new(1, "packets");
        let flags = 3_u32.to_be_bytes().to_vec();
        let (mut went, mut asked, mut refused) = (0, 0, 0);
        for _ in 0..size(20_000, 1_000_000) {
            // A valid conversation, and mutations of it: changed, deleted, duplicated or truncated bytes.
            let mut says = flags.clone();
            for _ in 0..stream.below(3) {
                let data = vec![0; stream.below(20) as usize];
                says.extend(option(stream.below(12) as u32, &data));
            }
            says.extend(go(b""));
            let greeted = says.len();
            for _ in 0..stream.below(4) {
                let (offset, length) = (stream.below(1 << 31), stream.below(1 << 14) as u32);
                says.extend(packet(stream.below(8) as u16, stream.below(4) as u16, offset, length));
            }
            for _ in 0..stream.below(4) {
                let place = stream.below(says.len() as u64) as usize;
                match stream.below(4) {
                    0 => says[place] = stream.below(256) as u8,
                    1 => says.truncate(place.max(1)),
                    2 => drop(says.drain(place..(place + 4).min(says.len()))),
                    _ => says.extend_from_within(place..(place + 9).min(says.len())),
                }
                if says.is_empty() {
                    says.push(0);
                }
            }
            let mut client = Conversation { sent: Cursor::new(says), received: Vec::new() };
            let Ok(Negotiated::Transmission) = negotiate(&mut client, DEVICE) else { continue };
            went += 1;
            assert!(client.sent.position() as usize <= greeted + 40);
            while let Ok(Some(found)) = read_request(&mut client) {
                asked += 1;
                let fits = found.offset.checked_add(u64::from(found.length)).is_some_and(|end| end <= 1 << 30);
                match found.refusal(1 << 30) {
                    None => assert!(fits || matches!(found.command, Command::Disconnect)),
                    Some(_) => refused += 1,
                }
            }
        }
        assert!(went > 1000 && asked > 1000 && refused > 100, "{went} went, {asked} asked, {refused} refused");
    }
}
