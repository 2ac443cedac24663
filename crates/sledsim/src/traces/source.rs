//! The content of a trace: a buffered, decompressed stream that counts its bytes and lines.

use std::io::{self, BufReader, Cursor, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use super::error::{Failure, FieldFault, Place, TraceError};

/// Size of the window on the content, and the most of it that detection may read.
const WINDOW_BYTES: usize = 256 * 1024;
/// The longest line that is accepted. Longer ones are binary data or damage.
pub(super) const LONGEST_LINE_BYTES: usize = 64 * 1024;
/// Memory that the xz decoder may use: four times what `xz -9` needs (65 MiB).
const XZ_MEMORY_BYTES: u64 = 256 << 20;

/// Decompressed bytes per compressed byte, after the first [`FREE_BYTES`], at which reading stops. gzip reaches 1,032.
const MAX_EXPANSION: u64 = 1000;
const FREE_BYTES: u64 = 64 << 20;

/// The compression of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    /// No compression.
    None,
    /// RFC 1952, one or several members.
    Gzip,
    /// RFC 8878, one or several frames.
    Zstd,
    /// bzip2, one or several streams.
    Bzip2,
    /// xz, one or several streams.
    Xz,
}

impl Compression {
    /// The compression with these magic bytes.
    fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1f, 0x8b, 8, ..] => Self::Gzip,
            // A data frame, or a skippable frame before one.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, ..] => Self::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            _ => Self::None,
        }
    }

    /// The name in messages of reading such a stream.
    const fn action(self) -> &'static str {
        match self {
            Self::None => "read",
            Self::Gzip => "decompress (gzip)",
            Self::Zstd => "decompress (zstd)",
            Self::Bzip2 => "decompress (bzip2)",
            Self::Xz => "decompress (xz)",
        }
    }

    /// The decompressed content of a stream.
    fn decode(self, raw: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        if self == Self::None {
            return Ok(raw);
        }
        let compressed = Arc::new(AtomicU64::new(0));
        let buffered = BufReader::with_capacity(WINDOW_BYTES, Counted { raw, bytes: Arc::clone(&compressed) });
        let content: Box<dyn Read + Send> = match self {
            Self::None => Box::new(buffered),
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(buffered)?),
            Self::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered)),
            Self::Xz => {
                let stream =
                    liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_BYTES, liblzma::stream::CONCATENATED)
                        .map_err(io::Error::other)?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(buffered, stream))
            }
        };
        Ok(Box::new(Expanded { content, bytes: 0, compressed }))
    }
}

/// A stream that counts its bytes.
struct Counted {
    raw: Box<dyn Read + Send>,
    bytes: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.raw.read(into)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Decompressed content. Reading it is an error when it is [`MAX_EXPANSION`] times larger than what it was decompressed from.
struct Expanded {
    content: Box<dyn Read + Send>,
    bytes: u64,
    compressed: Arc<AtomicU64>,
}

impl Read for Expanded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(into)?;
        self.bytes += read as u64;
        if self.bytes > FREE_BYTES && self.bytes / MAX_EXPANSION > self.compressed.load(Ordering::Relaxed) {
            let says = format!("it expands to more than {MAX_EXPANSION} times its size");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, says));
        }
        Ok(read)
    }
}

/// The kind of archive that a content is, or of compression that is not supported, and the command that unpacks it.
fn archive(content: &[u8]) -> Option<(&'static str, &'static str)> {
    match content {
        [b'P', b'K', 3, 4, ..] => Some(("a ZIP archive", "unzip")),
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Some(("a 7-Zip archive", "7z x")),
        [b'R', b'a', b'r', b'!', 0x1a, 7, ..] => Some(("a RAR archive", "unrar x")),
        [0x04, 0x22, 0x4d, 0x18, ..] => Some(("a file compressed with LZ4", "lz4 -d")),
        [b'L', b'Z', b'I', b'P', 1, ..] => Some(("a file compressed with lzip", "lzip -d")),
        [0x1f, 0x9d, ..] => Some(("a file compressed with compress", "uncompress")),
        _ if is_tar(content) => Some(("a tar archive", "tar -xf")),
        _ => None,
    }
}

const TAR_BLOCK_BYTES: usize = 512;

/// Returns true if a content begins with the header of a tar archive: its checksum is the sum of its bytes, with blanks in
/// place of the checksum itself.
fn is_tar(content: &[u8]) -> bool {
    const CHECKSUM: std::ops::Range<usize> = 148..156;
    let Some(header) = content.get(..TAR_BLOCK_BYTES) else { return false };
    let stated =
        header[CHECKSUM].iter().skip_while(|&&byte| byte == b' ').take_while(|byte| (b'0'..=b'7').contains(byte));
    let stated = stated.fold(0, |sum, &byte| sum * 8 + u32::from(byte - b'0'));
    let others = header[..CHECKSUM.start].iter().chain(&header[CHECKSUM.end..]);
    let sum = others.map(|&byte| u32::from(byte)).sum::<u32>() + 8 * u32::from(b' ');
    header[0] != 0 && stated == sum
}

/// A window that moves over the decompressed content of a trace, in constant memory.
pub(super) struct Input {
    name: String,
    reader: Box<dyn Read + Send>,
    compression: Compression,
    window: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the content of `window[start]`.
    offset: u64,
    /// Lines read.
    line: u64,
    ended: bool,
}

impl Input {
    /// Begins to read `raw`; messages call it `name`.
    ///
    /// # Errors
    /// The stream cannot be read or decompressed, or it is an archive.
    pub fn new(name: String, mut raw: Box<dyn Read + Send>) -> Result<Self, Box<TraceError>> {
        let failed = |name: &str, action: &str, source| {
            Box::new(TraceError::Io { file: name.to_owned(), place: Place::Byte(0), action: action.to_owned(), source })
        };
        let mut magic = Vec::with_capacity(6);
        raw.by_ref().take(6).read_to_end(&mut magic).map_err(|source| failed(&name, "read", source))?;
        let compression = Compression::of(&magic);
        let whole = Box::new(Cursor::new(magic).chain(raw));
        let reader = compression.decode(whole).map_err(|source| failed(&name, compression.action(), source))?;
        let mut input = Self {
            name,
            reader,
            compression,
            window: vec![0; WINDOW_BYTES],
            start: 0,
            end: 0,
            offset: 0,
            line: 0,
            ended: false,
        };
        match archive(input.peek(TAR_BLOCK_BYTES)?) {
            Some((kind, unpack)) => {
                let command = format!("{unpack} {}", input.name);
                Err(Box::new(TraceError::Archive { file: input.name, kind, command }))
            }
            None => Ok(input),
        }
    }

    /// The trace's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Offset in the content of the next byte.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Number of the last line, from 1; 0 before the first.
    pub const fn line_number(&self) -> u64 {
        self.line
    }

    /// Counts a record that is not read from the stream, as if it were a line.
    pub fn count_record(&mut self) {
        self.line += 1;
    }

    /// An error of the stream itself.
    fn failed(&self, source: io::Error) -> Box<TraceError> {
        Box::new(TraceError::Io {
            file: self.name.clone(),
            place: Place::Byte(self.offset + (self.end - self.start) as u64),
            action: self.compression.action().to_owned(),
            source,
        })
    }

    /// Reads more content into the window. Returns false at its end, or if the window is full.
    fn fill(&mut self) -> Result<bool, Box<TraceError>> {
        if self.ended {
            return Ok(false);
        }
        if self.start > 0 {
            self.window.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.window.len() {
            return Ok(false);
        }
        loop {
            match self.reader.read(&mut self.window[self.end..]) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(false);
                }
                Ok(read) => {
                    self.end += read;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    /// The next `wanted` bytes, or fewer at the end of the content, without moving on.
    #[inline]
    pub fn peek(&mut self, wanted: usize) -> Result<&[u8], Box<TraceError>> {
        while self.end - self.start < wanted {
            if !self.fill()? {
                break;
            }
        }
        Ok(&self.window[self.start..self.end.min(self.start + wanted)])
    }

    /// Moves on by `count` bytes that [`Input::peek`] has returned.
    #[inline]
    pub fn skip(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    /// The next line, without its end (LF or CR LF); `None` at the end of the content.
    #[inline]
    pub fn line(&mut self) -> Result<Option<&[u8]>, Failure> {
        if self.offset == 0 && self.peek(3)? == b"\xef\xbb\xbf" {
            // A byte order mark is not part of the first field.
            self.skip(3);
        }
        let mut searched = 0;
        let length = loop {
            let unread = &self.window[self.start..self.end];
            if let Some(at) = unread[searched..].iter().position(|&byte| byte == b'\n') {
                break searched + at;
            }
            searched = unread.len();
            if searched > LONGEST_LINE_BYTES {
                let expected = format!("a line end within {LONGEST_LINE_BYTES} bytes");
                let fault = FieldFault::new("line", expected, "none");
                return Err(Failure::Lost(Place::Line(self.line + 1), fault));
            }
            if !self.fill()? {
                if searched == 0 {
                    return Ok(None);
                }
                break searched;
            }
        };
        let begin = self.start;
        self.line += 1;
        self.skip(length + 1);
        let line = &self.window[begin..begin + length];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Returns true at the end of the content.
    pub fn is_at_end(&mut self) -> Result<bool, Box<TraceError>> {
        Ok(self.peek(1)?.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_that_expands_too_much_is_an_error() {
        let read = |content_bytes: u64| {
            let compressed = zstd::encode_all(io::repeat(b'\n').take(content_bytes), 1).expect("it can be compressed");
            let mut content = Compression::Zstd.decode(Box::new(Cursor::new(compressed))).expect("zstd");
            io::copy(&mut content, &mut io::sink())
        };
        assert_eq!(read(FREE_BYTES).expect("as much is free"), FREE_BYTES);
        let says = read(2 * FREE_BYTES).expect_err("too much").to_string();
        assert_eq!(says, "it expands to more than 1000 times its size");
    }
}
