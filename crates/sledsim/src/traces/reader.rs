//! The one reader: detection, rebasing of time, the checks every record must pass, and the counting of what is skipped.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use super::error::{BadRecord, Failure, FieldFault, Place, Remedy, TraceError};
use super::options::TraceOptions;
use super::source::Input;
use super::{RecordParser, Step, TraceFormat, TraceRecord, DEFAULT_SECTOR_BYTES};
use crate::request::Op;
use crate::time::Time;

/// A stream of the requests of a trace, in constant memory.
///
/// After an error or the end it gives no more records.
pub struct TraceReader {
    input: Input,
    parser: Box<dyn RecordParser>,
    format: TraceFormat,
    told_by: String,
    skip_bad: u64,
    /// Size of a sector that options give.
    sector_bytes: Option<u32>,
    skipped: u64,
    /// Bytes of the file read so far, and its size.
    file: Option<(Arc<AtomicU64>, u64)>,
    watch: Option<Box<dyn FnMut() -> bool + Send>>,
    unwatched: Stint,
    suspect: u64,
    other: u64,
    records: u64,
    /// Bytes of all records given.
    bytes: u64,
    base_ns: u64,
    last_ns: u64,
    done: bool,
    /// The request that comes with the flush that was given last.
    held: Option<TraceRecord>,
}

/// What comes next in a trace.
pub(crate) enum Look {
    /// A request.
    Request(TraceRecord),
    /// Something else, which has been passed.
    Passed,
    /// Nothing.
    End,
}

/// Records, and lines that are none, after which who waits for a record gets a word in.
pub(crate) const RECORDS_AT_ONCE: u32 = 4096;
/// Bytes of the content after which the same holds: where lines are long, or slow to decompress.
const BYTES_AT_ONCE: u64 = 1 << 22;

/// How much may be read before somebody gets a word in.
pub(crate) struct Stint {
    records_left: u32,
    until_byte: u64,
}

impl Stint {
    fn from(input: &Input) -> Self {
        Self { records_left: RECORDS_AT_ONCE, until_byte: input.offset().saturating_add(BYTES_AT_ONCE) }
    }

    #[inline]
    fn goes_on(&mut self, input: &Input) -> bool {
        self.records_left = self.records_left.saturating_sub(1);
        self.records_left > 0 && input.offset() < self.until_byte
    }
}

/// A file that counts the bytes read from it.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

impl TraceReader {
    /// Opens the trace at `path`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, its format is unknown, or its header is damaged or contradicts the options.
    pub fn open(path: &Path, options: &TraceOptions) -> Result<Self, TraceError> {
        let name = path.display().to_string();
        let failed = |action: &str, source| {
            Err(TraceError::Io { file: name.clone(), place: Place::Byte(0), action: action.to_owned(), source })
        };
        // Opening a pipe waits for whoever writes into it, and traces are read more than once: to detect the format, to
        // measure, to repeat.
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let says = "it is not a regular file; write what comes from a pipe to a file first";
            return failed("read", io::Error::other(says));
        }
        match File::open(path) {
            Ok(file) => {
                let bytes = file.metadata().map_or(0, |metadata| metadata.len());
                let read = Arc::new(AtomicU64::new(0));
                let counted = Counted { file, read: Arc::clone(&read) };
                let mut reader = Self::from_reader(&name, Box::new(counted), options)?;
                reader.file = Some((read, bytes));
                Ok(reader)
            }
            Err(source) => failed("open", source),
        }
    }

    /// Reads a trace from anything; `name` stands for it in messages.
    ///
    /// # Errors
    ///
    /// As [`TraceReader::open`].
    pub fn from_reader(name: &str, raw: Box<dyn Read + Send>, options: &TraceOptions) -> Result<Self, TraceError> {
        Self::begin(name, raw, options).map_err(|error| *error)
    }

    fn begin(name: &str, raw: Box<dyn Read + Send>, options: &TraceOptions) -> Result<Self, Box<TraceError>> {
        if options.sector_bytes == Some(0) {
            return Err(Box::new(TraceError::Option {
                file: name.to_owned(),
                place: Place::Byte(0),
                option: "sector_bytes",
                problem: "must be at least 1".to_owned(),
            }));
        }
        let mut input = Input::new(name.to_owned(), raw)?;
        let mut told_by = "the name given".to_owned();
        let format = match (options.format, &options.columns) {
            (Some(TraceFormat::Csv) | None, Some(_)) => TraceFormat::Csv,
            (Some(format), None) => format,
            (Some(format), Some(_)) => {
                return Err(Box::new(TraceError::Option {
                    file: name.to_owned(),
                    place: Place::Byte(0),
                    option: "columns",
                    problem: format!("has a meaning for format csv only, and the format given is {format}"),
                }));
            }
            (None, None) if input.is_at_end()? => {
                return Err(Box::new(empty(&input, 0)));
            }
            (None, None) => {
                let (format, detected_by) = TraceFormat::detect(&mut input, options)?;
                told_by = detected_by;
                format
            }
        };
        if let Some(option) = options.misplaced(format) {
            return Err(Box::new(TraceError::Option {
                file: name.to_owned(),
                place: Place::Byte(0),
                option,
                problem: format!("has no meaning for format {format}: leave it out"),
            }));
        }
        let parser = (format.entry().build)(&mut input, options)?;
        Ok(Self {
            input,
            parser,
            format,
            told_by,
            skip_bad: options.skip_bad,
            sector_bytes: options.sector_bytes,
            skipped: 0,
            file: None,
            watch: None,
            unwatched: Stint { records_left: RECORDS_AT_ONCE, until_byte: BYTES_AT_ONCE },
            suspect: 0,
            other: 0,
            records: 0,
            bytes: 0,
            base_ns: 0,
            last_ns: 0,
            done: false,
            held: None,
        })
    }

    /// The trace's format.
    #[must_use]
    pub const fn format(&self) -> TraceFormat {
        self.format
    }

    /// What tells its format: how much of its beginning, or the name given.
    #[must_use]
    pub fn told_by(&self) -> &str {
        &self.told_by
    }

    /// Bytes in a sector of this trace.
    #[must_use]
    pub fn sector_bytes(&self) -> u32 {
        self.parser.sector_bytes()
    }

    /// Whether its records carry arrival times.
    #[must_use]
    pub fn has_times(&self) -> bool {
        self.parser.has_times()
    }

    /// Whether the records of this trace carry what requests took where it was recorded.
    #[must_use]
    pub fn has_responses(&self) -> bool {
        self.format.is_closed_loop() || self.parser.has_responses()
    }

    /// Has `keep_going` asked now and then while records are read; once it answers false, reading fails.
    pub fn set_watch(&mut self, keep_going: Box<dyn FnMut() -> bool + Send>) {
        self.watch = Some(keep_going);
    }

    #[inline]
    fn look_up(&mut self) -> Result<(), TraceError> {
        let Some(keep_going) = &mut self.watch else { return Ok(()) };
        if self.unwatched.goes_on(&self.input) {
            return Ok(());
        }
        self.unwatched = Stint::from(&self.input);
        if keep_going() {
            return Ok(());
        }
        self.done = true;
        let (file, place) = (self.input.name().to_owned(), Place::Byte(self.input.offset()));
        Err(TraceError::Io { file, place, action: "read".to_owned(), source: io::ErrorKind::Interrupted.into() })
    }

    /// Time of the first record as the trace counts it, which record times are given from; 0 before there was one.
    #[must_use]
    pub const fn first_time_ns(&self) -> u64 {
        self.base_ns
    }

    /// How much of the file has been read, from 0 to 1; unknown for what is not a file or is empty.
    #[must_use]
    pub fn fraction_read(&self) -> Option<f64> {
        let (read, bytes) = self.file.as_ref()?;
        (*bytes > 0).then(|| (read.load(Ordering::Relaxed) as f64 / *bytes as f64).min(1.0))
    }

    /// Bad records skipped so far, as [`TraceOptions::skip_bad`] allows.
    #[must_use]
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Records left out so far because the trace itself marks them as unreliable (HP SRT).
    #[must_use]
    pub const fn suspect(&self) -> u64 {
        self.suspect
    }

    /// Well-formed records so far that are no requests: discards, other events.
    #[must_use]
    pub const fn other(&self) -> u64 {
        self.other
    }

    /// Requests given so far.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.records
    }

    /// The next request, or `None` at the end of the trace.
    ///
    /// # Errors
    ///
    /// A damaged stream, a bad record beyond [`TraceOptions::skip_bad`], or a trace that ends without any record.
    #[allow(
        clippy::should_implement_trait,
        reason = "an error ends the trace, which `?` on this says and an iterator's item does not"
    )]
    #[inline]
    pub fn next(&mut self) -> Result<Option<TraceRecord>, TraceError> {
        loop {
            self.look_up()?;
            match self.look()? {
                Look::Request(record) => return Ok(Some(record)),
                Look::Passed => {}
                Look::End => return Ok(None),
            }
        }
    }

    /// Begins a stint from here, for who has other things to see to and no watch.
    pub(crate) fn stint(&self) -> Stint {
        Stint::from(&self.input)
    }

    /// Whether a stint is not over yet, before a look.
    #[inline]
    pub(crate) fn goes_on(&self, stint: &mut Stint) -> bool {
        stint.goes_on(&self.input)
    }

    /// Looks at what comes next, be it a request or not: a trace may have any number of lines that are none.
    #[inline]
    pub(crate) fn look(&mut self) -> Result<Look, TraceError> {
        if let Some(record) = self.held.take() {
            self.records += 1;
            return Ok(Look::Request(record));
        }
        if self.done {
            return Ok(Look::End);
        }
        match self.parser.next(&mut self.input) {
            Ok(Some(Step::Request(record))) => match self.accept(record) {
                Ok(record) => return Ok(Look::Request(record)),
                Err(fault) => self.tolerate(self.parser.place(&self.input), *fault)?,
            },
            Ok(Some(Step::FlushAnd(record))) => match self.accept(record) {
                Ok(record) => {
                    self.held = Some(record);
                    return Ok(Look::Request(TraceRecord::flush(record.time.ns(), record.device)));
                }
                Err(fault) => self.tolerate(self.parser.place(&self.input), *fault)?,
            },
            Ok(Some(Step::Blank)) => {}
            Ok(Some(Step::Other)) => self.other += 1,
            Ok(Some(Step::Suspect)) => self.suspect += 1,
            Ok(None) => {
                self.done = true;
                return if self.records == 0 { Err(empty(&self.input, self.skipped)) } else { Ok(Look::End) };
            }
            Err(Failure::Bad(place, fault)) => self.tolerate(place, *fault)?,
            Err(Failure::Lost(place, fault)) => {
                self.done = true;
                let remedy = Remedy::RepairTrace;
                return Err(self.bad(place, *fault, remedy));
            }
            Err(Failure::Fatal(error)) => {
                self.done = true;
                return Err(*error);
            }
        }
        Ok(Look::Passed)
    }

    /// Appends up to `count` requests to `batch`; fewer only at the end of the trace. Returns how many.
    ///
    /// # Errors
    ///
    /// As [`TraceReader::next`]; what came before the error is in `batch`.
    pub fn read_batch(&mut self, count: usize, batch: &mut Vec<TraceRecord>) -> Result<usize, TraceError> {
        for done in 0..count {
            match self.next()? {
                Some(record) => batch.push(record),
                None => return Ok(done),
            }
        }
        Ok(count)
    }

    /// Checks what must hold for a request of any format, and rebases its time.
    #[inline]
    fn accept(&mut self, mut record: TraceRecord) -> Result<TraceRecord, Box<FieldFault>> {
        let time_ns = record.time.ns();
        if (record.bytes == 0) != (record.op == Op::Flush)
            || record.offset_bytes.checked_add(record.bytes).is_none()
            || self.bytes.checked_add(record.bytes).is_none()
            || time_ns < self.last_ns
        {
            return Err(self.refuse(&record));
        }
        if self.records == 0 {
            self.base_ns = time_ns;
        }
        self.last_ns = time_ns;
        self.bytes += record.bytes;
        self.records += 1;
        record.time = Time::from_ns(time_ns - self.base_ns);
        Ok(record)
    }

    /// Why [`TraceReader::accept`] refuses a record.
    #[cold]
    fn refuse(&self, record: &TraceRecord) -> Box<FieldFault> {
        if record.bytes == 0 && record.op != Op::Flush {
            return FieldFault::new("bytes", "a length of at least 1", "0 (a request of zero length)");
        }
        if record.offset_bytes.checked_add(record.bytes).is_none() {
            let found = format!("offset {} plus length {}", record.offset_bytes, record.bytes);
            return FieldFault::new("offset", "a request that ends within 2^64 bytes", found).beyond();
        }
        if self.bytes.checked_add(record.bytes).is_none() {
            let found = format!("{}, after {} of the requests before", record.bytes, self.bytes);
            return FieldFault::new("bytes", "requests of less than 2^64 bytes together", found).beyond();
        }
        let back_ns = self.last_ns - record.time.ns();
        FieldFault::new(
            "time",
            "a time not before that of the record above",
            format!("one {back_ns} ns earlier (time runs backwards; sorting the trace by time would help)"),
        )
    }

    /// Counts a bad record, or makes it an error when there have been enough.
    #[cold]
    fn tolerate(&mut self, place: Place, fault: FieldFault) -> Result<(), TraceError> {
        if self.skipped < self.skip_bad {
            self.skipped += 1;
            return Ok(());
        }
        self.done = true;
        let remedy = match self.sector_bytes {
            Some(given) if fault.is_beyond && given > DEFAULT_SECTOR_BYTES => Remedy::OtherSectors { given },
            _ if self.skipped == 0 => Remedy::RepairRecord,
            _ => Remedy::SkipMore { tolerated: self.skip_bad },
        };
        Err(self.bad(place, fault, remedy))
    }

    fn bad(&self, place: Place, fault: FieldFault, remedy: Remedy) -> TraceError {
        TraceError::BadRecord(Box::new(BadRecord {
            file: self.input.name().to_owned(),
            place,
            format: self.format,
            field: fault.field,
            expected: fault.expected,
            found: fault.found,
            remedy,
        }))
    }
}

impl Iterator for TraceReader {
    type Item = Result<TraceRecord, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        Self::next(self).transpose()
    }
}

/// The error of a trace that ends where `input` stands, without a record.
fn empty(input: &Input, skipped: u64) -> TraceError {
    TraceError::Empty { file: input.name().to_owned(), place: Place::Byte(input.offset()), skipped }
}
