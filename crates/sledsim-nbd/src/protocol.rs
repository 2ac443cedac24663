//! The protocol of network block devices: fixed newstyle handshake, simple replies.
//!
//! What a client sends is read with lengths that are checked first, and whatever is wrong ends in an answer with an error, or
//! in the end of that connection; nothing here waits for anything but the client. The numbers are those of the protocol's
//! public description (NetworkBlockDevice/nbd, doc/proto.md).

use std::io::{self, Read, Write};

const MAGIC: u64 = 0x4e42_444d_4147_4943;
const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
const REQUEST_MAGIC: u32 = 0x2560_9513;
const REPLY_MAGIC: u32 = 0x6744_6698;

/// Fixed newstyle, and no zeroes after an export where the client agrees.
const SERVER_FLAGS: u16 = 0b11;
const NO_ZEROES: u32 = 0b10;
/// Flags, flush, force unit access, trim, write zeroes, and several connections at once.
const EXPORT_FLAGS: u16 = 1 | 4 | 8 | 32 | 64 | 256;

/// Longest option, and longest request, in bytes: a client that sends more is not listened to any further.
pub const LONGEST_OPTION: u32 = 1 << 16;
/// Longest request in bytes.
pub const LONGEST_REQUEST: u32 = 32 << 20;
/// Options that one client may ask for: who asks on and on never comes to requests.
const MOST_OPTIONS: usize = 1000;

/// What is said to be wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Error {
    /// Nothing.
    None = 0,
    /// The system lost the data, or the store failed.
    Io = 5,
    /// There is no such request, or it reaches beyond the end.
    Invalid = 22,
    /// A write reaches beyond the end, or the store is full.
    NoSpace = 28,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Data from the device.
    Read,
    /// Data to the device.
    Write,
    /// The end of the connection.
    Disconnect,
    /// All writes that have been answered become durable.
    Flush,
    /// Data nobody needs any more.
    Trim,
    /// Zeroes to the device.
    WriteZeroes,
    /// None that was offered.
    Unknown,
}

/// A request as it was read; the data of a write follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What for.
    pub command: Command,
    /// Whether a write is to be durable when it is answered.
    pub fua: bool,
    /// The client's own number.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
}

impl Asked {
    /// Why it can't be done on a device of so many bytes, if it can't.
    #[must_use]
    pub fn refusal(&self, size: u64) -> Option<Error> {
        let beyond = self.offset.checked_add(u64::from(self.length)).is_none_or(|end| end > size);
        match self.command {
            Command::Unknown => Some(Error::Invalid),
            Command::Disconnect => None,
            Command::Flush => (self.offset != 0 || self.length != 0).then_some(Error::Invalid),
            _ if self.length == 0 || self.length > LONGEST_REQUEST => Some(Error::Invalid),
            Command::Read | Command::Trim => beyond.then_some(Error::Invalid),
            Command::Write | Command::WriteZeroes => beyond.then_some(Error::NoSpace),
        }
    }
}

fn bad(says: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, says)
}

fn u16_of(from: &mut impl Read) -> io::Result<u16> {
    let mut bytes = [0; 2];
    from.read_exact(&mut bytes).map(|()| u16::from_be_bytes(bytes))
}

fn u32_of(from: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes).map(|()| u32::from_be_bytes(bytes))
}

fn u64_of(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes).map(|()| u64::from_be_bytes(bytes))
}

/// What a client that was greeted wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeted {
    /// Requests follow.
    Goes,
    /// It only wanted to know, or gave up.
    Leaves,
}

/// What a client is offered.
#[derive(Clone, Copy, Debug)]
pub enum Offer {
    /// The device.
    Device {
        /// Its bytes.
        size: u64,
        /// Its blocks.
        block_bytes: u32,
    },
    /// Nothing, and why.
    Nothing(&'static str),
}

/// Greets a client, and offers it the device, or says why not.
///
/// # Errors
/// Where the client goes away, or says what nobody could answer.
pub fn greet(client: &mut (impl Read + Write), offer: Offer) -> io::Result<Greeted> {
    let mut hello = Vec::with_capacity(18);
    hello.extend(MAGIC.to_be_bytes());
    hello.extend(OPTION_MAGIC.to_be_bytes());
    hello.extend(SERVER_FLAGS.to_be_bytes());
    client.write_all(&hello)?;
    let flags = u32_of(client)?;
    if flags & !u32::from(SERVER_FLAGS) != 0 {
        return Err(bad("flags that were not offered"));
    }
    for _ in 0..MOST_OPTIONS {
        if u64_of(client)? != OPTION_MAGIC {
            return Err(bad("no option"));
        }
        let (option, length) = (u32_of(client)?, u32_of(client)?);
        if length > LONGEST_OPTION {
            return Err(bad("too long an option"));
        }
        let mut data = vec![0; length as usize];
        client.read_exact(&mut data)?;
        if let Some(greeted) = answer(client, option, &data, flags, offer)? {
            return Ok(greeted);
        }
    }
    Err(bad("too many options"))
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

fn answer(client: &mut impl Write, option: u32, data: &[u8], flags: u32, offer: Offer) -> io::Result<Option<Greeted>> {
    let mut out = Vec::new();
    let mut reply = |kind: u32, data: &[u8]| {
        out.extend(OPTION_REPLY_MAGIC.to_be_bytes());
        out.extend(option.to_be_bytes());
        out.extend(kind.to_be_bytes());
        out.extend((data.len() as u32).to_be_bytes());
        out.extend(data);
    };
    let mut greeted = None;
    match option {
        EXPORT_NAME => {
            // There is no way to say no but to go away.
            let (Offer::Device { size, .. }, true) = (offer, data.is_empty()) else {
                return Err(bad("no export of that name"));
            };
            out.extend(size.to_be_bytes());
            out.extend(EXPORT_FLAGS.to_be_bytes());
            out.resize(out.len() + if flags & NO_ZEROES == 0 { 124 } else { 0 }, 0);
            greeted = Some(Greeted::Goes);
        }
        ABORT => {
            reply(ACK, &[]);
            greeted = Some(Greeted::Leaves);
        }
        LIST if data.is_empty() => {
            reply(SERVER, &0_u32.to_be_bytes());
            reply(ACK, &[]);
        }
        LIST => reply(INVALID, &[]),
        INFO | GO => match (export_asked_for(data), offer) {
            (None, _) => reply(INVALID, &[]),
            (Some(b""), Offer::Nothing(why)) => reply(POLICY, why.as_bytes()),
            (Some(b""), Offer::Device { size, block_bytes }) => {
                let export = [&0_u16.to_be_bytes()[..], &size.to_be_bytes(), &EXPORT_FLAGS.to_be_bytes()].concat();
                reply(INFORMATION, &export);
                let blocks = [1, block_bytes.next_power_of_two().max(4096), LONGEST_REQUEST].map(u32::to_be_bytes);
                reply(INFORMATION, &[&3_u16.to_be_bytes()[..], &blocks.concat()].concat());
                reply(ACK, &[]);
                greeted = (option == GO).then_some(Greeted::Goes);
            }
            (Some(_), _) => reply(UNKNOWN, &[]),
        },
        _ => reply(UNSUPPORTED, &[]),
    }
    client.write_all(&out)?;
    Ok(greeted)
}

/// The name in an option that asks for an export; none where the option is not as long as it says.
fn export_asked_for(data: &[u8]) -> Option<&[u8]> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    let (name, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    let (count, wishes) = rest.split_first_chunk::<2>()?;
    (wishes.len() == 2 * usize::from(u16::from_be_bytes(*count))).then_some(name)
}

/// Reads a request; none where the client has gone between two.
///
/// # Errors
/// Where the client goes in the middle of one, or sends something else.
pub fn request(from: &mut impl Read) -> io::Result<Option<Asked>> {
    let mut magic = [0; 4];
    let read = from.read(&mut magic)?;
    if read == 0 {
        return Ok(None);
    }
    from.read_exact(&mut magic[read..])?;
    if u32::from_be_bytes(magic) != REQUEST_MAGIC {
        return Err(bad("no request"));
    }
    let (flags, kind, cookie) = (u16_of(from)?, u16_of(from)?, u64_of(from)?);
    let (offset, length) = (u64_of(from)?, u32_of(from)?);
    let command = match kind {
        0 => Command::Read,
        1 => Command::Write,
        2 => Command::Disconnect,
        3 => Command::Flush,
        4 => Command::Trim,
        6 => Command::WriteZeroes,
        _ => Command::Unknown,
    };
    if command == Command::Write && length > LONGEST_REQUEST {
        // Its data follow, and nobody wants to read them.
        return Err(bad("too long a write"));
    }
    Ok(Some(Asked { command, fua: flags & 1 != 0, cookie, offset, length }))
}

/// The head of a reply; what was read follows it where there is no error.
#[must_use]
pub fn reply(error: Error, cookie: u64) -> [u8; 16] {
    let mut head = [0; 16];
    head[..4].copy_from_slice(&REPLY_MAGIC.to_be_bytes());
    head[4..8].copy_from_slice(&(error as u32).to_be_bytes());
    head[8..].copy_from_slice(&cookie.to_be_bytes());
    head
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use sledsim::engine::random::Stream;
    use sledsim_testing::tiers::size;

    use super::*;

    /// A client that has said all that it says, and takes every answer.
    struct Said {
        says: Cursor<Vec<u8>>,
        heard: Vec<u8>,
    }

    impl Read for Said {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.says.read(into)
        }
    }

    impl Write for Said {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            self.heard.extend(data);
            Ok(data.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const DEVICE: Offer = Offer::Device { size: 1 << 30, block_bytes: 512 };

    fn option(number: u32, data: &[u8]) -> Vec<u8> {
        [&OPTION_MAGIC.to_be_bytes()[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
    }

    fn go(name: &[u8]) -> Vec<u8> {
        option(GO, &[&(name.len() as u32).to_be_bytes()[..], name, &[0, 1, 0, 3]].concat())
    }

    fn greeting(says: Vec<u8>) -> (io::Result<Greeted>, Vec<u8>) {
        let mut client = Said { says: Cursor::new(says), heard: Vec::new() };
        (greet(&mut client, DEVICE), client.heard)
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
    fn a_client_that_asks_on_and_on_or_too_much_is_left() {
        let flags = 3_u32.to_be_bytes().to_vec();
        let asks = [flags.clone(), option(99, b"").repeat(MOST_OPTIONS + 1)].concat();
        assert_eq!(greeting(asks).0.expect_err("too many").to_string(), "too many options");
        let long = [flags.clone(), OPTION_MAGIC.to_be_bytes().to_vec(), vec![0, 0, 0, 7, 0xff, 0, 0, 0]].concat();
        assert_eq!(greeting(long).0.expect_err("too long").to_string(), "too long an option");
        assert_eq!(greeting(vec![0, 0, 0, 9]).0.expect_err("unknown flags").to_string(), "flags that were not offered");
        let (greeted, heard) = greeting([flags, go(b"other"), go(b"")].concat());
        assert_eq!(greeted.expect("it goes"), Greeted::Goes);
        assert_eq!(heard[18 + 12..18 + 16], UNKNOWN.to_be_bytes());
        let write = packet(1, 0, 0, LONGEST_REQUEST + 1);
        assert_eq!(request(&mut &write[..]).expect_err("too long").to_string(), "too long a write");
        assert_eq!(request(&mut &b""[..]).expect("gone"), None);
    }

    #[test]
    fn whatever_comes_is_an_answer_or_an_end() {
        let mut stream = Stream::new(1, "packets");
        let flags = 3_u32.to_be_bytes().to_vec();
        let (mut went, mut asked, mut refused) = (0, 0, 0);
        for _ in 0..size(20_000, 1_000_000) {
            // A conversation that is right, and then mutated: bytes changed, cut out, doubled, or cut off.
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
            let mut client = Said { says: Cursor::new(says), heard: Vec::new() };
            let Ok(Greeted::Goes) = greet(&mut client, DEVICE) else { continue };
            went += 1;
            assert!(client.says.position() as usize <= greeted + 40);
            while let Ok(Some(found)) = request(&mut client) {
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
