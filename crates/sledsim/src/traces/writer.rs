//! Writing of traces: the canonical CSV form and the text formats of DiskSim and MQSim, compressed according to the suffix of
//! the file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::error::{Place, TraceError};
use super::format::Writing;
use super::{TraceFormat, TraceReader, TraceRecord};
use crate::request::Op;

/// Level of zstd: its default.
#[cfg(not(target_family = "wasm"))]
const ZSTD_LEVEL: i32 = 3;
/// Preset of xz: its default.
#[cfg(not(target_family = "wasm"))]
const XZ_PRESET: u32 = 6;

/// A file, or a compressor that writes to one.
enum Sink {
    Plain(BufWriter<File>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    #[cfg(not(target_family = "wasm"))]
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
    #[cfg(not(target_family = "wasm"))]
    Bzip2(bzip2::write::BzEncoder<BufWriter<File>>),
    #[cfg(not(target_family = "wasm"))]
    Xz(liblzma::write::XzEncoder<BufWriter<File>>),
}

impl Sink {
    /// Creates `path`, with the compression of the suffix of `named`.
    fn create(path: &Path, named: &Path) -> io::Result<Self> {
        let file = BufWriter::new(File::create(path)?);
        let suffix = named.extension().map(|suffix| suffix.to_string_lossy().to_lowercase());
        Ok(match suffix.as_deref() {
            Some("gz") => Self::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            #[cfg(not(target_family = "wasm"))]
            Some("zst") => Self::Zstd(zstd::stream::write::Encoder::new(file, ZSTD_LEVEL)?),
            #[cfg(not(target_family = "wasm"))]
            Some("bz2") => Self::Bzip2(bzip2::write::BzEncoder::new(file, bzip2::Compression::default())),
            #[cfg(not(target_family = "wasm"))]
            Some("xz") => Self::Xz(liblzma::write::XzEncoder::new(file, XZ_PRESET)),
            #[cfg(target_family = "wasm")]
            Some("zst" | "bz2" | "xz") => return Err(io::ErrorKind::Unsupported.into()),
            _ => Self::Plain(file),
        })
    }

    fn put(&mut self, line: std::fmt::Arguments<'_>) -> io::Result<()> {
        match self {
            Self::Plain(sink) => sink.write_fmt(line),
            Self::Gzip(sink) => sink.write_fmt(line),
            #[cfg(not(target_family = "wasm"))]
            Self::Zstd(sink) => sink.write_fmt(line),
            #[cfg(not(target_family = "wasm"))]
            Self::Bzip2(sink) => sink.write_fmt(line),
            #[cfg(not(target_family = "wasm"))]
            Self::Xz(sink) => sink.write_fmt(line),
        }
    }

    /// Ends the compressed stream and flushes the file.
    fn finish(self) -> io::Result<()> {
        let mut file = match self {
            Self::Plain(sink) => sink,
            Self::Gzip(sink) => sink.finish()?,
            #[cfg(not(target_family = "wasm"))]
            Self::Zstd(sink) => sink.finish()?,
            #[cfg(not(target_family = "wasm"))]
            Self::Bzip2(sink) => sink.finish()?,
            #[cfg(not(target_family = "wasm"))]
            Self::Xz(sink) => sink.finish()?,
        };
        file.flush()
    }
}

/// Writes a trace, record by record.
///
/// The records go to a temporary file, which [`TraceWriter::finish`] renames, so that an interrupted conversion leaves no
/// incomplete trace.
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
    /// Begins a trace at `path`, with the compression of its suffix: `.gz`, `.zst`, `.bz2`, `.xz`, or none.
    ///
    /// # Errors
    ///
    /// The format cannot be written, the file cannot be created, or the path is a device or pipe.
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
            let says = "it exists and is not a regular file; give another name";
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

    /// Appends a record, without the contents that the format cannot hold: flags, closed-loop times, and flushes and resets, which are
    /// then not counted.
    ///
    /// # Errors
    ///
    /// The format counts in sectors and the record is not a whole number of them, or writing fails.
    pub fn write(&mut self, record: &TraceRecord) -> Result<(), TraceError> {
        if matches!(record.op, Op::Flush | Op::Reset) && !self.format.has_flushes() {
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

    /// Ends the trace and renames it. Returns the number of its records.
    ///
    /// # Errors
    ///
    /// Writing or renaming fails; then no file is left.
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
            // An error here cannot be reported.
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}

/// Writes `records` as a trace of `format` at `path`; see [`TraceWriter`]. Returns their number.
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

/// Writes the rest of a trace as one of `format` at `to`. Returns the number of its records.
///
/// # Errors
///
/// As [`TraceReader`] and [`TraceWriter`]; then no file is left.
pub fn convert(reader: TraceReader, to: &Path, format: TraceFormat) -> Result<u64, TraceError> {
    let problem = if reader.format().is_closed_loop() {
        format!("{format} cannot hold the gaps between requests of a closed-loop trace: replay it unconverted")
    } else if reader.format().lists_objects() {
        format!("{format} holds requests to a device, and {} lists objects of a cache", reader.format())
    } else {
        return write(to, format, reader);
    };
    let file = to.display().to_string();
    Err(TraceError::Option { file, place: Place::Byte(0), option: "to", problem })
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
