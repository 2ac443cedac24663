//! The content of a trace: a buffered, decompressed stream that counts its bytes and lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use super::archive::{self, Archive, Content};
use super::blktrace::{self, Files};
use super::error::{Failure, FieldFault, Place, TraceError};

/// Size of the window on the content, and the most of it that detection may read.
const WINDOW_BYTES: usize = 256 * 1024;
/// The longest line that is accepted. Longer ones are binary data or damage.
pub(super) const LONGEST_LINE_BYTES: usize = 64 * 1024;
/// Memory that the xz decoder may use: four times what `xz -9` needs (65 MiB).
#[cfg(not(target_family = "wasm"))]
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
            Self::Zstd | Self::Bzip2 | Self::Xz => self.decode_by_library(buffered)?,
        };
        Ok(Box::new(Expanded { content, bytes: 0, compressed }))
    }

    /// The decompressed content of a stream that needs a C library.
    #[cfg(not(target_family = "wasm"))]
    fn decode_by_library(self, buffered: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(buffered)?),
            Self::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered)),
            _ => {
                let stream =
                    liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_BYTES, liblzma::stream::CONCATENATED)
                        .map_err(io::Error::other)?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(buffered, stream))
            }
        })
    }

    #[cfg(target_family = "wasm")]
    fn decode_by_library(self, _buffered: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this build of Sledsim reads only gzip: decompress the trace first",
        ))
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

/// A file that counts the bytes read from it, together with the other files of the trace.
struct CountingFile {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for CountingFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// Bytes of a trace's files read so far, and their size.
#[derive(Clone)]
pub(super) struct FileProgress {
    read: Arc<AtomicU64>,
    bytes: u64,
}

impl FileProgress {
    /// The share that has been read, 0 to 1; `None` for empty files.
    pub fn fraction(&self) -> Option<f64> {
        (self.bytes > 0).then(|| (self.read.load(Ordering::Relaxed) as f64 / self.bytes as f64).min(1.0))
    }
}

fn io_error(file: &str, action: &str, source: io::Error) -> Box<TraceError> {
    Box::new(TraceError::Io { file: file.to_owned(), place: Place::Byte(0), action: action.to_owned(), source })
}

/// A window that moves over the decompressed content of a trace, in constant memory.
pub(super) struct Input {
    name: String,
    /// The file of this content, and the file in an archive.
    part_name: String,
    member: Option<String>,
    /// The other files of a trace of several.
    parts: Vec<Input>,
    progress: Option<FileProgress>,
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
    /// Opens the trace at `path`: a file, the one trace in an archive, or the files that blktrace wrote for each processor.
    ///
    /// # Errors
    /// A file cannot be read or decompressed, or an archive contains several files.
    pub fn open(path: &Path) -> Result<Self, Box<TraceError>> {
        let name = path.display().to_string();
        let failed = |action: &str, source| io_error(&name, action, source);
        let not_read = |says: String| failed("read", io::Error::other(says));
        let files = match blktrace::files_of(path).map_err(|source| failed("read", source))? {
            Files::Processors(files) => files,
            Files::One => vec![path.to_owned()],
            Files::NoTrace => {
                return Err(not_read("it is a folder without files of blktrace, such as sda.blktrace.0".to_owned()));
            }
            Files::Devices(devices) => {
                let (example, devices) = (path.join(&devices[0]), devices.join(", "));
                let says = format!("it holds traces of several devices, {devices}; give one: {}", example.display());
                return Err(not_read(says));
            }
        };
        // A pipe can be read only once, and opening it waits for a writer. Traces are read several times: to detect the
        // format, to measure, to repeat.
        if files.iter().any(|file| file.metadata().is_ok_and(|metadata| !metadata.is_file())) {
            let says = "it is not a regular file; write what comes from a pipe to a file first";
            return Err(not_read(says.to_owned()));
        }
        let read = Arc::new(AtomicU64::new(0));
        let open = |file: &Path| File::open(file).map_err(|source| failed("open", source));
        let counted = |file: &Path| -> Result<Box<dyn Read + Send>, Box<TraceError>> {
            Ok(Box::new(CountingFile { file: open(file)?, read: Arc::clone(&read) }))
        };
        let mut inputs = Vec::with_capacity(files.len());
        let mut bytes = 0;
        for file in &files {
            bytes += open(file)?.metadata().map_or(0, |metadata| metadata.len());
            let mut input = Self::decompressed(name.clone(), counted(file)?)?;
            input.part_name = file.display().to_string();
            inputs.push(match Archive::of(input.peek(Archive::HEAD_BYTES)?) {
                None => input,
                Some(_) if files.len() > 1 => Self::not_archive(input)?,
                Some(archive) => input.of_archive(archive, file, || counted(file))?,
            });
        }
        let mut main = inputs.remove(0);
        main.parts = inputs;
        main.progress = Some(FileProgress { read, bytes });
        Ok(main)
    }

    /// The one trace of an archive of which this is the content.
    fn of_archive(
        self,
        archive: Archive,
        file: &Path,
        reopen: impl FnOnce() -> Result<Box<dyn Read + Send>, Box<TraceError>>,
    ) -> Result<Self, Box<TraceError>> {
        let name = self.name.clone();
        let failed = |source| io_error(&name, "read the archive", source);
        let opened = || File::open(file).map_err(failed);
        let is_plain = self.compression == Compression::None;
        let members = match archive {
            Archive::Tar if is_plain => archive::tar_members(&mut Content::File(opened()?)),
            Archive::Tar => archive::tar_members(&mut Content::Stream(self.into_content())),
            Archive::Zip if is_plain => archive::zip_members(&mut opened()?),
            Archive::Zip | Archive::Other(..) => return Self::not_archive(self),
        };
        let members = members.map_err(failed)?;
        let [member] = &members.first[..] else {
            let (kind, command) = archive.name_and_command();
            let listed: Vec<&str> = members.first.iter().map(|member| member.name.as_str()).collect();
            let more = if members.has_more { ", …" } else { "" };
            let kind = match listed.len() {
                0 => format!("{kind} without a trace"),
                _ => format!("{kind} of several files ({}{more}), not one trace", listed.join(", ")),
            };
            return Err(Box::new(TraceError::Archive { command: format!("{command} {name}"), file: name, kind }));
        };
        let content = match archive {
            Archive::Zip => archive::open_zip_member(opened()?, member),
            _ if is_plain => Content::File(opened()?).member(member),
            _ => Content::Stream(Self::decompressed(name.clone(), reopen()?)?.into_content()).member(member),
        };
        let mut input = Self::new(name.clone(), content.map_err(failed)?)?;
        input.part_name = format!("{name}: {}", member.name);
        input.member = Some(member.name.clone());
        Ok(input)
    }

    /// Begins to read `raw`; messages call it `name`.
    ///
    /// # Errors
    /// The stream cannot be read or decompressed, or it is an archive.
    pub fn new(name: String, raw: Box<dyn Read + Send>) -> Result<Self, Box<TraceError>> {
        Self::not_archive(Self::decompressed(name, raw)?)
    }

    fn not_archive(mut input: Self) -> Result<Self, Box<TraceError>> {
        let Some(archive) = Archive::of(input.peek(Archive::HEAD_BYTES)?) else { return Ok(input) };
        let (kind, unpack) = archive.name_and_command();
        let command = format!("{unpack} {}", input.name);
        Err(Box::new(TraceError::Archive { file: input.name, kind: format!("{kind}, not a trace"), command }))
    }

    fn decompressed(name: String, mut raw: Box<dyn Read + Send>) -> Result<Self, Box<TraceError>> {
        let mut magic = Vec::with_capacity(6);
        raw.by_ref().take(6).read_to_end(&mut magic).map_err(|source| io_error(&name, "read", source))?;
        let compression = Compression::of(&magic);
        let whole = archive::with_head(magic, raw);
        let reader = compression.decode(whole).map_err(|source| io_error(&name, compression.action(), source))?;
        Ok(Self {
            part_name: name.clone(),
            name,
            member: None,
            parts: Vec::new(),
            progress: None,
            reader,
            compression,
            window: vec![0; WINDOW_BYTES],
            start: 0,
            end: 0,
            offset: 0,
            line: 0,
            ended: false,
        })
    }

    /// The content that has not been read.
    fn into_content(self) -> Box<dyn Read + Send> {
        archive::with_head(self.window[self.start..self.end].to_vec(), self.reader)
    }

    /// The name of the file in an archive.
    pub fn member(&self) -> Option<&str> {
        self.member.as_deref()
    }

    /// The name of this file of a trace of several.
    pub fn part_name(&self) -> String {
        self.part_name.clone()
    }

    /// Removes the other files of a trace of several.
    pub fn take_parts(&mut self) -> Vec<Self> {
        std::mem::take(&mut self.parts)
    }

    /// The progress of reading files; `None` for other sources.
    pub fn progress(&self) -> Option<FileProgress> {
        self.progress.clone()
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
    use std::io::Cursor;

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
