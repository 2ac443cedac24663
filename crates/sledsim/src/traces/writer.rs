//! Writing traces: the canonical CSV form, and the text formats of DiskSim and MQSim, compressed as the file's suffix says.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::error::{Place, TraceError};
use super::format::Writing;
use super::{TraceFormat, TraceReader, TraceRecord};
use crate::request::Op;

/// Level of zstd, between speed and size; zstd's own default.
const ZSTD_LEVEL: i32 = 3;
/// Preset of xz; xz's own default.
const XZ_PRESET: u32 = 6;

/// Where the bytes go: a file, or a compressor in front of one.
enum Sink {
    Plain(BufWriter<File>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
    Bzip2(bzip2::write::BzEncoder<BufWriter<File>>),
    Xz(liblzma::write::XzEncoder<BufWriter<File>>),
}

impl Sink {
    /// Creates `path`, compressing as the suffix of `named` says.
    fn create(path: &Path, named: &Path) -> io::Result<Self> {
        let file = BufWriter::new(File::create(path)?);
        let suffix = named.extension().map(|suffix| suffix.to_string_lossy().to_lowercase());
        Ok(match suffix.as_deref() {
            Some("gz") => Self::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            Some("zst") => Self::Zstd(zstd::stream::write::Encoder::new(file, ZSTD_LEVEL)?),
            Some("bz2") => Self::Bzip2(bzip2::write::BzEncoder::new(file, bzip2::Compression::default())),
            Some("xz") => Self::Xz(liblzma::write::XzEncoder::new(file, XZ_PRESET)),
            _ => Self::Plain(file),
        })
    }

    fn put(&mut self, line: std::fmt::Arguments<'_>) -> io::Result<()> {
        match self {
            Self::Plain(sink) => sink.write_fmt(line),
            Self::Gzip(sink) => sink.write_fmt(line),
            Self::Zstd(sink) => sink.write_fmt(line),
            Self::Bzip2(sink) => sink.write_fmt(line),
            Self::Xz(sink) => sink.write_fmt(line),
        }
    }

    /// Ends the compressed stream and hands everything to the operating system.
    fn finish(self) -> io::Result<()> {
        let mut file = match self {
            Self::Plain(sink) => sink,
            Self::Gzip(sink) => sink.finish()?,
            Self::Zstd(sink) => sink.finish()?,
            Self::Bzip2(sink) => sink.finish()?,
            Self::Xz(sink) => sink.finish()?,
        };
        file.flush()
    }
}

/// Writes a trace, record by record.
///
/// The records go to a file beside the one wanted, which takes its name in [`TraceWriter::finish`]: an interrupted
/// conversion leaves no half of a trace under a trace's name.
pub struct TraceWriter {
    path: PathBuf,
    partial: PathBuf,
    /// `None` once the file is closed.
    sink: Option<Sink>,
    format: TraceFormat,
    writing: &'static Writing,
    records: u64,
}

impl TraceWriter {
    /// Begins a trace at `path`, which gets the suffix's compression: `.gz`, `.zst`, `.bz2`, `.xz`, or none.
    ///
    /// # Errors
    ///
    /// When `format` is one that cannot be written, or the file cannot be created: a device, or a pipe, is not replaced by one.
    pub fn create(path: &Path, format: TraceFormat) -> Result<Self, TraceError> {
        let Some(writing) = format.writing() else {
            let written = TraceFormat::ALL.iter().filter(|each| each.writing().is_some());
            let names: Vec<&str> = written.map(|each| each.name()).collect();
            return Err(TraceError::Option {
                file: path.display().to_string(),
                place: Place::Byte(0),
                option: "format",
                problem: format!("{format} cannot be written; these can: {}", names.join(", ")),
            });
        };
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let says = "it is there, and no plain file; name a file";
            return Err(failed(path, "create", 0, io::Error::other(says)));
        }
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let created = Sink::create(&partial, path).and_then(|mut sink| {
            sink.put(format_args!("{}", writing.header))?;
            Ok(sink)
        });
        match created {
            Ok(sink) => Ok(Self { path: path.to_owned(), partial, sink: Some(sink), format, writing, records: 0 }),
            Err(source) => Err(failed(path, "create", 0, source)),
        }
    }

    /// Appends a record. What the format has no place for is left out: flags, closed-loop times, and whole flushes, which are
    /// not counted then.
    ///
    /// # Errors
    ///
    /// When the format counts in sectors and the record does not, or when writing fails.
    pub fn write(&mut self, record: &TraceRecord) -> Result<(), TraceError> {
        if record.op == Op::Flush && !self.format.tells_flushes() {
            return Ok(());
        }
        self.records += 1;
        let TraceRecord { offset_bytes, bytes, .. } = *record;
        let sector = u64::from(self.writing.sector_bytes);
        if !(offset_bytes.is_multiple_of(sector) && bytes.is_multiple_of(sector)) {
            return Err(TraceError::Inexpressible {
                file: self.path.display().to_string(),
                record: self.records,
                format: self.format,
                problem: format!("{bytes} bytes at {offset_bytes}, which are not whole sectors of {sector} bytes"),
            });
        }
        let Some(sink) = &mut self.sink else { return Ok(()) };
        let written = (self.writing.line)(record, &mut |line| sink.put(line));
        written.map_err(|source| failed(&self.path, "write", self.records, source))
    }

    /// Ends the trace and gives it its name. Returns how many records it has.
    ///
    /// # Errors
    ///
    /// When writing or renaming fails; then no file is left.
    pub fn finish(mut self) -> Result<u64, TraceError> {
        let closed = self.sink.take().map_or(Ok(()), Sink::finish);
        let named = closed.and_then(|()| std::fs::rename(&self.partial, &self.path));
        match named {
            Ok(()) => {
                self.partial.clear();
                Ok(self.records)
            }
            Err(source) => Err(failed(&self.path, "finish", self.records, source)),
        }
    }
}

impl Drop for TraceWriter {
    fn drop(&mut self) {
        if !self.partial.as_os_str().is_empty() {
            self.sink = None;
            // Nobody is left to be told that the half of a trace could not be removed.
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}

/// Writes `records` as a trace of `format` at `path`; see [`TraceWriter`]. Returns how many there were.
///
/// # Errors
///
/// The first error of `records`, or as [`TraceWriter`]; then no file is left.
pub fn write(
    path: &Path,
    format: TraceFormat,
    records: impl IntoIterator<Item = Result<TraceRecord, TraceError>>,
) -> Result<u64, TraceError> {
    let mut writer = TraceWriter::create(path, format)?;
    for record in records {
        writer.write(&record?)?;
    }
    writer.finish()
}

/// Rewrites what is left of a trace as one of `format` at `to`. Returns how many records that has.
///
/// # Errors
///
/// As [`TraceReader`] and [`TraceWriter`]; then no file is left.
pub fn convert(reader: TraceReader, to: &Path, format: TraceFormat) -> Result<u64, TraceError> {
    if reader.format().is_closed_loop() {
        return Err(TraceError::Option {
            file: to.display().to_string(),
            place: Place::Byte(0),
            option: "to",
            problem: format!(
                "{format} can't hold the gaps between requests of a closed-loop trace: replay it as it is"
            ),
        });
    }
    write(to, format, reader)
}

/// An error while writing the trace at `path`, after `records` records.
fn failed(path: &Path, action: &str, records: u64, source: io::Error) -> TraceError {
    TraceError::Io {
        file: path.display().to_string(),
        place: Place::Line(records.max(1)),
        action: action.to_owned(),
        source,
    }
}
