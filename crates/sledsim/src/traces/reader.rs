//! The reader of every format: it detects the format, counts time from the first record, checks what must hold for every
//! record, and skips and counts bad records.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{
    BadRecord, EmptyTrace, Failure, FieldFault, Nearest, Others, Place, Remedy, TraceError, UnknownContent,
};
use super::options::TraceOptions;
use super::order::{Entry, OrderWindow, HELD_BACK};
use super::sort::Sorter;
use super::source::{FileProgress, Input};
use super::table::{self, Table};
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
    detected_by: String,
    /// A format that the first lines fit as well as [`TraceReader::format`].
    alternative: Option<TraceFormat>,
    options: TraceOptions,
    /// The file, where remedies can be tried on it.
    path: Option<PathBuf>,
    /// The table, if the trace is in memory.
    table: Option<Arc<Table>>,
    progress: Option<FileProgress>,
    watch: Option<Box<dyn FnMut() -> bool + Send>>,
    unwatched: ReadBudget,
    /// Records read ahead to find those out of order; only where bad records are skipped.
    window: Option<OrderWindow>,
    /// The records, if they are sorted.
    sorter: Option<Box<Sorter>>,
    /// The reason why reading ends once the window is empty.
    stop: Option<Stop>,
    /// Records behind the one that ended reading, which had been read ahead.
    rest: Vec<Entry>,
    /// Records found out of order, and the first of them.
    misplaced: u64,
    first_misplaced: Option<(Place, FieldFault)>,
    /// Times and places of the last records accepted, each at its number modulo [`HELD_BACK`], and the time of the one before.
    recent: [(u64, Place); HELD_BACK],
    before_recent_ns: u64,
    /// Records accepted; of a flush and the request behind it one.
    accepted: usize,
    /// The place at which the parser's last step began.
    step_offset: u64,
    skipped: u64,
    suspect: u64,
    other: u64,
    /// Resets left out.
    resets: u64,
    records: u64,
    /// Bytes of all records given.
    bytes: u64,
    base_ns: u64,
    last_ns: u64,
    done: bool,
    /// The request that follows the flush given last.
    after_flush: Option<TraceRecord>,
}

/// One step through a trace.
pub(crate) enum Polled {
    /// A request.
    Request(TraceRecord),
    /// No request, but there may be more: a trace may have any number of other lines.
    Nothing,
    /// The end.
    End,
}

/// Steps that a [`ReadBudget`] allows.
pub(crate) const RECORDS_AT_ONCE: u32 = 4096;
/// Bytes of the content that a [`ReadBudget`] allows, where lines are long or slow to decompress.
const BYTES_AT_ONCE: u64 = 1 << 22;

/// Bytes between two checks for an interrupt.
pub(crate) struct ReadBudget {
    records_left: u32,
    until_byte: u64,
}

impl ReadBudget {
    fn from(input: &Input) -> Self {
        Self { records_left: RECORDS_AT_ONCE, until_byte: input.offset().saturating_add(BYTES_AT_ONCE) }
    }

    /// Takes one step from the budget. Returns false when it is used up.
    #[inline]
    fn take(&mut self, input: &Input) -> bool {
        self.records_left = self.records_left.saturating_sub(1);
        self.records_left > 0 && input.offset() < self.until_byte
    }
}

/// The next step of a parser, after failures are handled.
enum Stepped {
    /// A request, and whether a flush comes before it.
    Request(TraceRecord, bool),
    Nothing,
    End,
}

/// The reason why reading ends before the end of the trace.
enum Stop {
    /// A bad record that is not tolerated. `is_lost` where it is not known at which byte the next record begins.
    Bad { place: Place, fault: Box<FieldFault>, is_lost: bool },
    /// Anything else.
    Fatal(Box<TraceError>),
}

/// The result of reading a trace, or as much of it as is tried, with every bad record skipped.
struct Trial {
    good: u64,
    bad: u64,
    is_complete: bool,
}

/// Records that a remedy is tried on, and bytes of the content: a second of work.
const TRIED_RECORDS: u64 = 1_000_000;
const TRIED_BYTES: u64 = 64 << 20;
/// Records out of order that suggest an unsorted trace, if they are also more than one in a hundred.
const UNSORTED: u64 = 10;

impl TraceReader {
    /// Opens the trace at `path`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, its format is unknown, or its header is damaged or contradicts the options.
    pub fn open(path: &Path, options: &TraceOptions) -> Result<Self, TraceError> {
        let opened = Input::open(path).and_then(|input| Self::begin(input, None, options));
        let mut reader = opened.map_err(|error| match *error {
            TraceError::UnknownContent(unknown) => {
                let nearest = unknown.candidate.and_then(|format| Self::try_nearest(path, options, format));
                TraceError::UnknownContent(UnknownContent { nearest, ..unknown })
            }
            TraceError::BadRecord(mut bad) => {
                if let Some(format) = Self::other_format(path, options, bad.format, None) {
                    bad.remedy = Remedy::OtherFormat { format };
                }
                TraceError::BadRecord(bad)
            }
            other => other,
        })?;
        reader.path = Some(path.to_owned());
        Ok(reader)
    }

    /// Reads a trace from any source; messages call it `name`.
    ///
    /// # Errors
    ///
    /// As [`TraceReader::open`].
    pub fn from_reader(name: &str, raw: Box<dyn Read + Send>, options: &TraceOptions) -> Result<Self, TraceError> {
        let input = Input::new(name.to_owned(), raw);
        input.and_then(|input| Self::begin(input, None, options)).map_err(|error| *error)
    }

    /// Reads a trace in memory.
    ///
    /// # Errors
    ///
    /// When the names of its columns and the options do not say what each holds, or an option contradicts the trace.
    pub fn of_table(table: &Arc<Table>, options: &TraceOptions) -> Result<Self, TraceError> {
        let input = Input::new(table.name().to_owned(), Box::new(io::empty()));
        input.and_then(|input| Self::begin(input, Some(table), options)).map_err(|error| *error)
    }

    fn begin(mut input: Input, table: Option<&Arc<Table>>, options: &TraceOptions) -> Result<Self, Box<TraceError>> {
        let name = input.name().to_owned();
        let wrong_option = |option, problem| {
            Box::new(TraceError::Option { file: name.clone(), place: Place::Byte(0), option, problem })
        };
        if options.sector_bytes == Some(0) {
            return Err(wrong_option("sector_bytes", "must be at least 1".to_owned()));
        }
        let mut detected_by = "the name given".to_owned();
        let mut alternative = None;
        let format = match (options.format, &options.columns) {
            (Some(TraceFormat::Csv) | None, _) if table.is_some() => {
                "its columns".clone_into(&mut detected_by);
                TraceFormat::Csv
            }
            (Some(format), _) if table.is_some() => {
                return Err(wrong_option(
                    "format",
                    format!("the trace is a table, not one of format {format}: leave it out"),
                ));
            }
            (Some(TraceFormat::Csv) | None, Some(_)) => {
                "the columns given".clone_into(&mut detected_by);
                TraceFormat::Csv
            }
            (Some(format), None) => format,
            (Some(format), Some(_)) => {
                let problem = format!("has a meaning for format csv only, and the format given is {format}");
                return Err(wrong_option("columns", problem));
            }
            (None, None) if input.is_at_end()? => {
                let (file, place) = (name.clone(), Place::Byte(input.offset()));
                let nothing = EmptyTrace { file, place, skipped: 0, other: 0, others: None };
                return Err(Box::new(TraceError::Empty(nothing)));
            }
            (None, None) => {
                let detected = TraceFormat::detect(&mut input, options)?;
                (detected_by, alternative) = (detected.by, detected.alternative);
                detected.format
            }
        };
        if let Some(option) = options.misplaced(format) {
            return Err(wrong_option(option, format!("has no meaning for format {format}: leave it out")));
        }
        if let Some(member) = input.member() {
            detected_by = format!("{detected_by}, in {member}");
        }
        let progress = input.progress();
        let parser = match table {
            Some(table) => table::build(table, options)?,
            None => (format.entry().build)(&mut input, options)?,
        };
        if options.sort && !parser.has_times() {
            return Err(wrong_option("sort", "the records of this trace have no times: leave it out".to_owned()));
        }
        let is_sorted = options.sort || format.logs_completions() && !options.ignore_times;
        Ok(Self {
            input,
            parser,
            format,
            detected_by,
            alternative,
            path: None,
            table: table.cloned(),
            progress,
            watch: None,
            unwatched: ReadBudget { records_left: RECORDS_AT_ONCE, until_byte: BYTES_AT_ONCE },
            window: (options.skip_bad > 0 && !options.ignore_times && !is_sorted).then(OrderWindow::default),
            sorter: is_sorted.then(|| Box::new(Sorter::new())),
            stop: None,
            rest: Vec::new(),
            misplaced: 0,
            first_misplaced: None,
            recent: [(0, Place::Byte(0)); HELD_BACK],
            before_recent_ns: 0,
            accepted: 0,
            step_offset: 0,
            options: options.clone(),
            skipped: 0,
            suspect: 0,
            other: 0,
            resets: 0,
            records: 0,
            bytes: 0,
            base_ns: 0,
            last_ns: 0,
            done: false,
            after_flush: None,
        })
    }

    /// The trace's format.
    #[must_use]
    pub const fn format(&self) -> TraceFormat {
        self.format
    }

    /// Returns the evidence for the format: the number of first lines that fit it, or that it was given.
    #[must_use]
    pub fn detected_by(&self) -> &str {
        &self.detected_by
    }

    /// Bytes in a sector of this trace.
    #[must_use]
    pub fn sector_bytes(&self) -> u32 {
        self.parser.sector_bytes()
    }

    /// The page of a cache that the trace was made for, in bytes: of a list of pages the size of one.
    #[must_use]
    pub fn page_bytes(&self) -> Option<u32> {
        self.format.lists_pages().then(|| self.sector_bytes())
    }

    /// Returns true if its records have arrival times.
    #[must_use]
    pub fn has_times(&self) -> bool {
        self.parser.has_times()
    }

    /// The units of its times and addresses: `times in ms, addresses in sectors of 512 bytes`. `None` if the format has only
    /// one unit of each, which its description states.
    #[must_use]
    pub fn units(&self) -> Option<String> {
        let sectors = format!("sectors of {} bytes", self.sector_bytes());
        self.parser.units().map(|units| units.replace("sectors", &sectors))
    }

    /// Returns true if its records have the response times that were recorded.
    #[must_use]
    pub fn has_responses(&self) -> bool {
        self.format.is_closed_loop() || self.parser.has_responses()
    }

    /// Calls `keep_going` now and then while records are read. Once it returns false, reading fails as interrupted.
    pub fn set_watch(&mut self, keep_going: Box<dyn FnMut() -> bool + Send>) {
        self.watch = Some(keep_going);
    }

    #[inline]
    fn check_watch(&mut self) -> Result<(), TraceError> {
        let Some(keep_going) = &mut self.watch else { return Ok(()) };
        if self.unwatched.take(&self.input) {
            return Ok(());
        }
        self.unwatched = ReadBudget::from(&self.input);
        if keep_going() {
            return Ok(());
        }
        self.done = true;
        Err(self.interrupted())
    }

    fn interrupted(&self) -> TraceError {
        let (file, place) = (self.input.name().to_owned(), Place::Byte(self.input.offset()));
        TraceError::Io { file, place, action: "read".to_owned(), source: io::ErrorKind::Interrupted.into() }
    }

    /// Time of the first record, in ns, as the trace counts it; other times are counted from it. 0 before the first record.
    #[must_use]
    pub const fn first_time_ns(&self) -> u64 {
        self.base_ns
    }

    /// Share of the file or the table that has been read, 0 to 1; `None` for other sources and empty files.
    #[must_use]
    pub fn fraction_read(&self) -> Option<f64> {
        if let Some(table) = &self.table {
            return (table.rows() > 0).then(|| self.input.line_number() as f64 / table.rows() as f64);
        }
        self.progress.as_ref()?.fraction()
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

    /// Resets of zones left out so far, see [`TraceOptions::resets`].
    #[must_use]
    pub const fn resets(&self) -> u64 {
        self.resets
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
            self.check_watch()?;
            match self.poll()? {
                Polled::Request(record) => return Ok(Some(record)),
                Polled::Nothing => {}
                Polled::End => return Ok(None),
            }
        }
    }

    /// A new budget of reading from here.
    pub(crate) fn budget(&self) -> ReadBudget {
        ReadBudget::from(&self.input)
    }

    /// Takes one step from a budget. Returns false when it is used up.
    #[inline]
    pub(crate) fn take_from(&self, budget: &mut ReadBudget) -> bool {
        budget.take(&self.input)
    }

    /// Goes one step on, to a request or not.
    #[inline]
    pub(crate) fn poll(&mut self) -> Result<Polled, TraceError> {
        self.advance().map_err(|stop| self.error_of(stop))
    }

    #[inline]
    fn advance(&mut self) -> Result<Polled, Stop> {
        if let Some(record) = self.after_flush.take() {
            self.records += 1;
            return Ok(Polled::Request(record));
        }
        if let Some(mut window) = self.window.take() {
            let polled = self.advance_in(&mut window);
            self.window = Some(window);
            return polled;
        }
        if let Some(mut sorter) = self.sorter.take() {
            let polled = self.advance_sorted(&mut sorter);
            self.sorter = Some(sorter);
            return polled;
        }
        if self.done {
            return Ok(Polled::End);
        }
        match self.step()? {
            Stepped::Request(record, flushes) => {
                let place = self.place();
                match self.accept(record, place) {
                    Ok(accepted) => return Ok(Polled::Request(self.deliver(accepted, flushes))),
                    Err(fault) => {
                        if fault.is_misplaced {
                            self.rest.push(Entry { place, record, flushes });
                        }
                        self.tolerate(place, *fault)?;
                    }
                }
            }
            Stepped::Nothing => {}
            Stepped::End => return self.end(),
        }
        Ok(Polled::Nothing)
    }

    /// As [`TraceReader::advance`], with records read ahead so that those out of order can be left out.
    fn advance_in(&mut self, window: &mut OrderWindow) -> Result<Polled, Stop> {
        if !window.is_ready() {
            self.read_into(window);
            if window.is_unsorted() {
                self.read_ahead(window);
                self.leave_out_misplaced(window);
            }
            return Ok(Polled::Nothing);
        }
        match window.take_next() {
            Some(entry) => match self.accept(entry.record, entry.place) {
                Ok(record) => Ok(Polled::Request(self.deliver(record, entry.flushes))),
                Err(fault) => self.tolerate(entry.place, *fault).map(|()| Polled::Nothing).inspect_err(|_| {
                    // For a trial, and then nothing more is given.
                    self.rest.splice(0..0, window.take_all());
                    window.close();
                }),
            },
            None => match self.stop.take() {
                Some(stop) => Err(stop),
                None if self.done => Ok(Polled::End),
                None => self.end(),
            },
        }
    }

    /// As [`TraceReader::advance`], with the whole trace read before its first record is given.
    fn advance_sorted(&mut self, sorter: &mut Sorter) -> Result<Polled, Stop> {
        if !sorter.is_sorted() {
            let done = match self.step()? {
                Stepped::Request(record, flushes) => sorter.push(Entry { place: self.place(), record, flushes }),
                Stepped::Nothing => Ok(()),
                Stepped::End => sorter.finish(),
            };
            return done.map(|()| Polled::Nothing).map_err(|source| self.sort_error(source));
        }
        match sorter.take_next().map_err(|source| self.sort_error(source))? {
            Some(entry) => match self.accept(entry.record, entry.place) {
                Ok(record) => Ok(Polled::Request(self.deliver(record, entry.flushes))),
                Err(fault) => self.tolerate(entry.place, *fault).map(|()| Polled::Nothing),
            },
            None if self.done => Ok(Polled::End),
            None => self.end(),
        }
    }

    fn sort_error(&self, source: io::Error) -> Stop {
        let (file, place) = (self.input.name().to_owned(), Place::Byte(self.input.offset()));
        let action = "sort it in the folder of temporary files".to_owned();
        Stop::Fatal(Box::new(TraceError::Io { file, place, action, source }))
    }

    /// Reads [`HELD_BACK`] requests more into the window, or as many as there are within a [`ReadBudget`].
    fn read_ahead(&mut self, window: &mut OrderWindow) {
        let wanted = window.len() + HELD_BACK;
        let mut budget = self.budget();
        while window.len() < wanted && !window.is_closed() && budget.take(&self.input) {
            self.read_into(window);
        }
    }

    /// Reads a step of the trace into the window; what ends reading is kept until the records before it have been given.
    fn read_into(&mut self, window: &mut OrderWindow) {
        if window.is_closed() {
            return;
        }
        match self.step() {
            Ok(Stepped::Request(record, flushes)) => window.push(Entry { place: self.place(), record, flushes }),
            Ok(Stepped::Nothing) => {}
            Ok(Stepped::End) => window.close(),
            Err(stop) => {
                self.stop = Some(stop);
                window.close();
            }
        }
    }

    fn leave_out_misplaced(&mut self, window: &mut OrderWindow) {
        let misplaced = window.misplaced(self.last_ns);
        let mut tolerated = Vec::with_capacity(misplaced.len());
        for (place, fault) in misplaced {
            self.misplaced += 1;
            self.first_misplaced.get_or_insert_with(|| (place, fault.clone()));
            if let Err(stop) = self.tolerate(place, fault) {
                self.stop = Some(stop);
                self.rest = window.split_off(place);
                window.close();
                break;
            }
            tolerated.push(place);
        }
        window.remove(&tolerated);
    }

    /// Returns the place of the parser's last step.
    fn place(&self) -> Place {
        match self.input.line_number() {
            0 => Place::Byte(self.step_offset),
            record if self.table.is_some() => Place::Record(record - 1),
            line => Place::Line(line),
        }
    }

    /// The parser's next step; bad records are skipped and counted, or end reading.
    #[inline]
    fn step(&mut self) -> Result<Stepped, Stop> {
        self.step_offset = self.input.offset();
        match self.parser.next(&mut self.input) {
            Ok(Some(Step::Request(record))) if record.op == Op::Reset && !self.options.resets => self.resets += 1,
            Ok(Some(Step::Request(record))) => return Ok(Stepped::Request(record, false)),
            Ok(Some(Step::FlushAnd(record))) => return Ok(Stepped::Request(record, true)),
            Ok(Some(Step::Blank)) => {}
            Ok(Some(Step::Other)) => self.other += 1,
            Ok(Some(Step::Suspect)) => self.suspect += 1,
            Ok(None) => return Ok(Stepped::End),
            Err(Failure::Bad(fault)) => self.tolerate(self.place(), *fault)?,
            Err(Failure::Lost(place, fault)) => return Err(Stop::Bad { place, fault, is_lost: true }),
            Err(Failure::Fatal(error)) => return Err(Stop::Fatal(error)),
        }
        Ok(Stepped::Nothing)
    }

    /// The end of the trace, an error where it had no request.
    fn end(&mut self) -> Result<Polled, Stop> {
        self.done = true;
        if self.records > 0 {
            return Ok(Polled::End);
        }
        Err(Stop::Fatal(Box::new(TraceError::Empty(EmptyTrace {
            file: self.input.name().to_owned(),
            place: match &self.table {
                Some(_) => Place::Record(self.input.line_number()),
                None => Place::Byte(self.input.offset()),
            },
            skipped: self.skipped,
            other: self.other,
            others: if self.resets > 0 { Some(Others::resets(self.resets)) } else { self.parser.describe_others() },
        }))))
    }

    /// Appends up to `count` requests to `batch`; fewer only at the end of the trace. Returns their number.
    ///
    /// # Errors
    ///
    /// As [`TraceReader::next`]; the records before the error are in `batch`.
    pub fn read_batch(&mut self, count: usize, batch: &mut Vec<TraceRecord>) -> Result<usize, TraceError> {
        for done in 0..count {
            match self.next()? {
                Some(record) => batch.push(record),
                None => return Ok(done),
            }
        }
        Ok(count)
    }

    /// Checks what must hold for a request of any format, and counts its time from the first.
    #[inline]
    fn accept(&mut self, mut record: TraceRecord, place: Place) -> Result<TraceRecord, Box<FieldFault>> {
        let time_ns = record.time.ns();
        if (record.bytes == 0) != (record.op == Op::Flush)
            || record.offset_bytes.checked_add(record.bytes).is_none()
            || self.bytes.checked_add(record.bytes).is_none()
            || time_ns < self.last_ns && !self.options.ignore_times
        {
            return Err(self.refuse(&record));
        }
        if self.records == 0 {
            self.base_ns = time_ns;
        }
        let recent = &mut self.recent[self.accepted % HELD_BACK];
        self.before_recent_ns = recent.0;
        *recent = (time_ns, place);
        self.accepted += 1;
        self.last_ns = time_ns;
        self.bytes += record.bytes;
        self.records += 1;
        record.time = Time::from_ns(time_ns.saturating_sub(self.base_ns));
        Ok(record)
    }

    /// The request to give: the record, or the flush that comes before it.
    #[inline]
    fn deliver(&mut self, record: TraceRecord, flushes: bool) -> TraceRecord {
        if !flushes {
            return record;
        }
        self.after_flush = Some(record);
        TraceRecord::flush(record.time.ns(), record.device)
    }

    /// The reason why [`TraceReader::accept`] rejects a record.
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
        let found = format!("one {back_ns} ns earlier (time runs backwards)");
        FieldFault::new("time", "a time not before that of the record above", found).misplaced()
    }

    /// Counts a bad record, or ends reading when there have been enough.
    #[cold]
    fn tolerate(&mut self, place: Place, fault: FieldFault) -> Result<(), Stop> {
        if self.skipped < self.options.skip_bad {
            self.skipped += 1;
            return Ok(());
        }
        Err(Stop::Bad { place, fault: Box::new(fault), is_lost: false })
    }

    /// The error of what ended reading. Of a bad record it has a remedy that was tried on the trace.
    #[cold]
    fn error_of(&mut self, stop: Stop) -> TraceError {
        let (mut place, mut fault, is_lost) = match stop {
            Stop::Fatal(error) => {
                self.done = true;
                return *error;
            }
            Stop::Bad { place, fault, is_lost } => (place, *fault, is_lost),
        };
        let too_large = self.options.sector_bytes.filter(|&given| fault.is_beyond && given > DEFAULT_SECTOR_BYTES);
        let remedy = if let Some(given) = too_large {
            Remedy::OtherSectors { given }
        } else if let Some(format) =
            self.path.as_deref().and_then(|path| Self::other_format(path, &self.options, self.format, self.alternative))
        {
            Remedy::OtherFormat { format }
        } else if is_lost {
            Remedy::RepairTrace
        } else {
            let trial = self.read_rest(!fault.is_misplaced);
            if let (Some((misplaced, described)), true) = (self.first_misplaced.take(), fault.is_misplaced) {
                (place, fault) = (misplaced, described);
            }
            let Trial { good, bad, is_complete } = trial;
            // Some records out of order are damaged; many say that the trace is unsorted.
            if self.misplaced >= UNSORTED && self.misplaced > good / 100 {
                let misplaced = self.misplaced;
                Remedy::Sort { misplaced, good, bad: bad.saturating_sub(misplaced), is_complete }
            } else {
                Remedy::Skip { bad, good, is_complete }
            }
        };
        self.done = true;
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

    /// Reads on from a bad record as if every bad record were to be skipped, and counts records from the beginning of the
    /// trace. The bad record itself is counted if it `is_past`, and otherwise among the records that were read ahead.
    fn read_rest(&mut self, is_past: bool) -> Trial {
        let counts = (self.skipped, self.suspect, self.other, self.resets, self.records);
        let is_behind = matches!(&self.stop, Some(Stop::Bad { fault, .. }) if !fault.is_misplaced);
        self.options.skip_bad = u64::MAX;
        self.skipped += u64::from(is_past) + u64::from(is_behind);
        (self.misplaced, self.first_misplaced) = (0, None);
        (self.done, self.stop, self.after_flush) = (false, None, None);
        if let Some(sorter) = self.sorter.take() {
            // Those that have not been given; the order of the others does not matter.
            self.records += if sorter.is_sorted() { 0 } else { sorter.len() };
            self.options.ignore_times = true;
        }
        if !self.options.ignore_times {
            // As if the last records had been read ahead, any of which may be misplaced.
            let held = self.accepted.min(HELD_BACK);
            let mut window = OrderWindow::default();
            for number in self.accepted - held..self.accepted {
                let (time_ns, place) = self.recent[number % HELD_BACK];
                window.push(Entry { place, record: TraceRecord::flush(time_ns, 0), flushes: false });
            }
            for entry in std::mem::take(&mut self.rest) {
                window.push(entry);
            }
            self.window = Some(window);
            self.records -= (held as u64).min(self.records);
            self.last_ns = if self.accepted > HELD_BACK { self.before_recent_ns } else { 0 };
        }
        let is_complete = self.try_to_end();
        let trial = Trial { good: self.records, bad: self.skipped, is_complete };
        self.window = None;
        (self.skipped, self.suspect, self.other, self.resets, self.records) = counts;
        trial
    }

    /// Reads as much as a trial does. Returns true if that was up to the end of the trace.
    fn try_to_end(&mut self) -> bool {
        let until_record = self.records + self.skipped + TRIED_RECORDS;
        let until_byte = self.input.offset() + TRIED_BYTES;
        while self.records + self.skipped + self.other + self.resets < until_record && self.input.offset() < until_byte
        {
            match self.advance() {
                Ok(Polled::Request(_) | Polled::Nothing) => {}
                Ok(Polled::End) => return true,
                Err(stop) => return matches!(stop, Stop::Fatal(error) if matches!(*error, TraceError::Empty(_))),
            }
        }
        false
    }

    /// Another format that the trace, or as much of it as is tried, can be read in without a bad record.
    fn other_format(
        path: &Path,
        options: &TraceOptions,
        format: TraceFormat,
        alternative: Option<TraceFormat>,
    ) -> Option<TraceFormat> {
        let candidate = match (options.format, &options.columns) {
            (Some(_), None) => {
                let mut input = Input::open(path).ok()?;
                TraceFormat::detect(&mut input, &TraceOptions::default()).ok()?.format
            }
            _ => alternative?,
        };
        let trial = Self::try_format(path, options, candidate).filter(|_| candidate != format)?;
        (trial.good > 0 && trial.bad == 0).then_some(candidate)
    }

    /// Reads a trace that no format recognises in one that some of its lines fit; `None` where most records are bad.
    fn try_nearest(path: &Path, options: &TraceOptions, format: TraceFormat) -> Option<Nearest> {
        let Trial { good, bad, .. } = Self::try_format(path, options, format)?;
        (good > bad).then_some(Nearest { format, good, bad })
    }

    /// Reads a trace in a format, with every bad record skipped; `None` where that is not possible.
    fn try_format(path: &Path, options: &TraceOptions, format: TraceFormat) -> Option<Trial> {
        let options = TraceOptions { format: Some(format), skip_bad: u64::MAX, ..options.clone() };
        let mut reader = Self::begin(Input::open(path).ok()?, None, &options).ok()?;
        let is_complete = reader.try_to_end();
        Some(Trial { good: reader.records, bad: reader.skipped, is_complete })
    }
}

impl Iterator for TraceReader {
    type Item = Result<TraceRecord, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        Self::next(self).transpose()
    }
}
