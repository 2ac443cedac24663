//! Replay of block traces.

use std::collections::{BTreeMap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arrival::LAST_ARRIVAL_NS;
use super::needs::Needs;
use super::trace::{options, TraceSpec};
use crate::convert::{to_u32, to_usize, trunc_to_u64};
use crate::engine::workload::{Next, Replayed, Workload};
use crate::engine::Completion;
use crate::fault::{Fault, Kind, Range};
use crate::request::{Op, Padding, Request};
use crate::time::{s_to_ns, Time, NS_PER_S};
use crate::traces::{Polled, TraceFormat, TraceOptions, TraceReader, TraceRecord, RECORDS_AT_ONCE};
use crate::units::shown_bytes;

/// When the requests of a trace arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReplayMode {
    /// `closed` for traces with gaps (the validate format), `open` for others with times, `outstanding` without.
    #[default]
    Auto,
    /// At the times of the trace, independent of the device.
    Open,
    /// Each request arrives the recorded gap after the completion of the one before. A trace with recorded response times has gaps,
    /// too: the time from the completion of all requests before it, or 0 if some were outstanding.
    Closed,
    /// A fixed number of requests is kept outstanding.
    Outstanding,
}

/// Treatment of requests beyond the end of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// The run ends with an error that names the record.
    #[default]
    Error,
    /// Addresses wrap round at the device's capacity.
    Wrap,
    /// Addresses are scaled so that the trace's address space fills the device.
    Scale,
}

/// A trace as a workload.
pub struct Replay {
    spec: TraceSpec,
    trace_options: TraceOptions,
    mode: ReplayMode,
    block_bytes: u64,
    capacity_blocks: u64,
    /// Blocks of the trace's address space, if addresses are scaled.
    extent_blocks: Option<u64>,
    measuring: Option<ExtentMeasurement>,
    /// A record beyond the device, which ends the replay.
    misfit: Option<Misfit>,
    cursor: Cursor,
    needs: Needs,
    /// The next request; its arrival is not known yet in the closed modes.
    pending: Option<Request>,
    pending_gap_ns: u64,
    /// In mode `Closed` with gaps from response times, the gap before the next request.
    gap_before_ns: u64,
    /// With gaps from response times, the completion of all records of this pass so far.
    completed_ns: Option<u64>,
    pending_response_ns: Option<u64>,
    /// In mode `Closed`, the gap after the completion of the outstanding request.
    gap_after_ns: u64,
    in_flight: u64,
    /// True if the trace has recorded response times.
    has_responses: bool,
    responses: RecordedResponses,
    /// In the closed modes, the earliest arrival of the next request.
    next_slot_at: Time,
    next_id: u64,
    passes_left: u64,
    /// Bad records skipped, and resets left out, in earlier passes.
    skipped_before: u64,
    resets_before: u64,
    /// Arrivals of the first record of this pass and of the latest record.
    pass_start_ns: u64,
    latest_ns: u64,
    ended: bool,
}

/// Recorded response times of outstanding requests.
#[derive(Default)]
struct RecordedResponses {
    first_id: u64,
    /// Response times of the request `first_id` and those after it; `None` once a request has completed.
    responses_ns: VecDeque<Option<u64>>,
}

impl RecordedResponses {
    fn get(&self, id: u64) -> Option<u64> {
        let index = usize::try_from(id.checked_sub(self.first_id)?).ok()?;
        self.responses_ns.get(index).copied().flatten()
    }

    fn remove(&mut self, id: u64) {
        if let Some(response_ns) =
            id.checked_sub(self.first_id).and_then(|index| self.responses_ns.get_mut(to_usize(index)))
        {
            *response_ns = None;
        }
        while self.responses_ns.front() == Some(&None) {
            self.responses_ns.pop_front();
            self.first_id += 1;
        }
    }
}

/// Measures the trace's address space before the replay.
struct ExtentMeasurement {
    cursor: Cursor,
    end_bytes: u64,
}

/// The blocks of a record beyond the end of the device, and a survey of the address space of the trace.
struct Misfit {
    first: u64,
    end: u64,
    survey: Survey,
}

impl Replay {
    /// Opens a trace for a device of `capacity_blocks` blocks of `block_bytes`. `seed` determines the bytes that requests need,
    /// which do not depend on the part of the trace that is replayed.
    ///
    /// # Errors
    /// The trace cannot be opened, is of no known format, or lacks times or gaps that the mode needs.
    pub fn new(spec: TraceSpec, seed: u64, capacity_blocks: u64, block_bytes: u32) -> Result<Self, Fault> {
        let trace_options = options(&spec)?;
        let cursor = Cursor::open(&spec, &trace_options)?;
        let closed = cursor.reader.format().is_closed_loop();
        let timed = cursor.reader.has_times();
        let has_responses = cursor.reader.has_responses();
        let mode = match spec.mode {
            ReplayMode::Auto if closed => ReplayMode::Closed,
            ReplayMode::Auto if timed => ReplayMode::Open,
            ReplayMode::Auto => ReplayMode::Outstanding,
            ReplayMode::Closed if !(closed || timed && has_responses) => {
                return Err(missing_in_trace(&spec.path, "gaps between requests", "closed"))
            }
            ReplayMode::Open if closed || !timed => return Err(missing_in_trace(&spec.path, "arrival times", "open")),
            mode => mode,
        };
        let passes_left = spec.repeat.saturating_sub(1);
        let needs = needs(&spec, seed, cursor.reader.format(), block_bytes)?;
        if cursor.reader.format().lists_objects() {
            let format = cursor.reader.format();
            return Err(Fault::new(Kind::Unsupported).in_file(&spec.path).says(format!(
                "a trace of format {format} lists objects of a cache, which have no addresses on a device: read it with hit-ratio"
            )));
        }
        let mut replay = Self {
            spec,
            trace_options,
            mode,
            block_bytes: u64::from(block_bytes),
            capacity_blocks,
            extent_blocks: None,
            measuring: None,
            misfit: None,
            cursor,
            needs,
            pending: None,
            pending_gap_ns: 0,
            gap_before_ns: 0,
            completed_ns: None,
            pending_response_ns: None,
            gap_after_ns: 0,
            in_flight: 0,
            has_responses,
            responses: RecordedResponses::default(),
            next_slot_at: Time::ZERO,
            next_id: 0,
            passes_left,
            skipped_before: 0,
            resets_before: 0,
            pass_start_ns: 0,
            latest_ns: 0,
            ended: false,
        };
        if replay.spec.fit == Fit::Scale {
            let cursor = Cursor::open(&replay.spec, &replay.trace_options)?;
            replay.measuring = Some(ExtentMeasurement { cursor, end_bytes: 1 });
        }
        Ok(replay)
    }

    /// Continues to measure the address space of the selected records.
    fn measure(&mut self, mut extent: ExtentMeasurement) -> Result<(), Fault> {
        let mut budget = extent.cursor.reader.budget();
        while extent.cursor.reader.take_from(&mut budget) {
            match extent.cursor.next(&self.spec)? {
                Found::Record(record) => extent.end_bytes = extent.end_bytes.max(record.offset_bytes + record.bytes),
                Found::NotYet => break,
                Found::End => {
                    self.extent_blocks = Some(extent.end_bytes.div_ceil(self.block_bytes));
                    return Ok(());
                }
            }
        }
        self.measuring = Some(extent);
        Ok(())
    }

    /// Prepares the next request, if there is one within a read budget.
    fn fetch(&mut self) -> Result<(), Fault> {
        if let Some(extent) = self.measuring.take() {
            return self.measure(extent);
        }
        if let Some(misfit) = self.misfit.take() {
            return self.survey(misfit);
        }
        loop {
            match self.cursor.next(&self.spec)? {
                Found::Record(record) => {
                    self.pending_gap_ns = scaled(record.gap_ns.unwrap_or(0), self.spec.time_scale);
                    if self.mode == ReplayMode::Closed && !self.cursor.reader.format().is_closed_loop() {
                        self.gap_before_ns = scaled(self.gap_before(&record), self.spec.time_scale);
                    }
                    self.pending_response_ns = record.response_ns;
                    self.pending = self.request(&record)?;
                    return Ok(());
                }
                Found::NotYet => return Ok(()),
                Found::End => {}
            }
            if self.cursor.replayed == 0 {
                return Err(Fault::new(Kind::Misfit)
                    .in_file(&self.spec.path)
                    .says("no record of the trace is selected: check ")
                    .option("devices")
                    .says(", ")
                    .option("start_s")
                    .says(", ")
                    .option("end_s")
                    .says(", ")
                    .option("first_record"));
            }
            if self.passes_left == 0 {
                self.ended = true;
                return Ok(());
            }
            self.passes_left -= 1;
            // The next pass begins one mean interarrival time after the last request of this one.
            let gaps = self.cursor.replayed.saturating_sub(1).max(1);
            self.pass_start_ns = self.latest_ns + (self.latest_ns - self.pass_start_ns) / gaps;
            self.completed_ns = None;
            self.skipped_before += self.cursor.reader.skipped();
            self.resets_before += self.cursor.reader.resets();
            self.cursor = Cursor::open(&self.spec, &self.trace_options)?;
        }
    }

    /// Returns the time from the completion of all records before `record` until its arrival; 0 if some were outstanding.
    fn gap_before(&mut self, record: &TraceRecord) -> u64 {
        let arrival_ns = record.time.ns();
        let before_ns = self.completed_ns.unwrap_or(arrival_ns);
        let completed_ns = arrival_ns.saturating_add(record.response_ns.unwrap_or(0));
        self.completed_ns = Some(before_ns.max(completed_ns));
        arrival_ns.saturating_sub(before_ns)
    }

    /// Returns the earliest arrival of the next request in the closed modes.
    fn slot(&self) -> Time {
        Time::from_ns(self.next_slot_at.ns().saturating_add(self.gap_before_ns))
    }

    /// Returns the request of a record; `None` if it lies beyond the device, which starts a survey.
    fn request(&mut self, record: &TraceRecord) -> Result<Option<Request>, Fault> {
        let origin_ns = *self.cursor.origin_ns.get_or_insert(record.time.ns());
        if self.next_id == 0 && !self.spec.rebase {
            let first_ns = self.cursor.reader.first_time_ns().checked_add(origin_ns);
            self.pass_start_ns = scaled(first_ns.ok_or_else(|| self.duration_fault())?, self.spec.time_scale);
        }
        if self.mode == ReplayMode::Open {
            let since_ns = scaled(record.time.ns() - origin_ns, self.spec.time_scale);
            self.latest_ns = self.pass_start_ns.saturating_add(since_ns);
            if self.latest_ns > LAST_ARRIVAL_NS {
                return Err(self.duration_fault());
            }
        }
        if record.op == Op::Flush {
            let arrival = Time::from_ns(self.latest_ns);
            return Ok(Some(Request { id: self.next_id, arrival, origin: record.device, ..Request::flush() }));
        }
        let (from_bytes, end_bytes) = (record.offset_bytes, record.offset_bytes + record.bytes);
        // A reset empties only blocks that lie entirely in it.
        let (first, end) = if record.op == Op::Reset {
            let first = from_bytes.div_ceil(self.block_bytes);
            (first, (end_bytes / self.block_bytes).max(first))
        } else {
            (from_bytes / self.block_bytes, end_bytes.div_ceil(self.block_bytes))
        };
        let Some(lbn) = self.device_lbn(first, end - first) else {
            self.begin_survey(first, end)?;
            return Ok(None);
        };
        let blocks = u32::try_from(end - first).map_err(|_| {
            self.record_fault(Kind::Misfit).says(format!(
                "{} blocks are more than the {} of a request",
                end - first,
                u32::MAX
            ))
        })?;
        let request = Request {
            id: self.next_id,
            arrival: Time::from_ns(self.latest_ns),
            lbn,
            blocks,
            op: record.op,
            flags: record.flags,
            origin: record.device,
            padding: Padding::NONE,
        };
        if record.op == Op::Reset {
            return Ok(Some(request));
        }
        let inside = record.offset_bytes - first * self.block_bytes;
        let mut request = request.with_needed_bytes(inside, record.bytes, to_u32(self.block_bytes));
        self.needs.apply(self.cursor.reader.records(), &mut request);
        Ok(Some(request))
    }

    /// Returns the first block on the device for `blocks` blocks from block `first` of the trace on; `None` if they do
    /// not fit.
    fn device_lbn(&self, first: u64, blocks: u64) -> Option<u64> {
        let last_start = self.capacity_blocks.checked_sub(blocks)?;
        match (self.spec.fit, self.extent_blocks) {
            (Fit::Scale, Some(extent)) => {
                let scaled = u128::from(first) * u128::from(self.capacity_blocks) / u128::from(extent.max(1));
                Some(u64::try_from(scaled).unwrap_or(u64::MAX).min(last_start))
            }
            (Fit::Wrap, _) => Some((first % self.capacity_blocks).min(last_start)),
            _ => Some(first).filter(|&first| first <= last_start),
        }
    }

    /// Begins a survey of the trace because the blocks from `first` to before `end` lie beyond the device.
    ///
    /// # Errors
    /// The request alone is larger than the device.
    fn begin_survey(&mut self, first: u64, end: u64) -> Result<(), Fault> {
        if end - first > self.capacity_blocks {
            let says = "the request alone is larger; replay on a larger device";
            return Err(self.beyond_device_fault(first, end).says(says));
        }
        let survey = Survey::begin(&self.spec, &self.trace_options);
        self.misfit = Some(Misfit { first, end, survey });
        Ok(())
    }

    fn beyond_device_fault(&self, first: u64, end: u64) -> Fault {
        self.record_fault(Kind::Misfit).says(format!(
            "blocks {first} to {} lie beyond the device, which has {} blocks of {} bytes: ",
            end - 1,
            self.capacity_blocks,
            self.block_bytes,
        ))
    }

    /// Continues to survey a trace with a record that does not fit.
    ///
    /// # Errors
    /// The record does not fit; returned once the survey is complete.
    fn survey(&mut self, mut misfit: Misfit) -> Result<(), Fault> {
        if let Some(reach) = misfit.survey.advance(&self.spec, self.capacity_blocks * self.block_bytes) {
            return Err(self.trace_beyond_device_fault(misfit.first, misfit.end, &reach));
        }
        self.misfit = Some(misfit);
        Ok(())
    }

    fn trace_beyond_device_fault(&self, first: u64, end: u64, reach: &Reach) -> Fault {
        let capacity_bytes = self.capacity_blocks * self.block_bytes;
        let end_bytes = reach.end_bytes.max(end.saturating_mul(self.block_bytes));
        let missing = shown_bytes(end_bytes - capacity_bytes);
        let least = if reach.is_complete { "" } else { "at least " };
        let mut fault = self
            .beyond_device_fault(first, end)
            .says(format!("the trace takes {least}{missing} more; replay on a larger device"));
        // The capacity of the device, and the capacity that is needed.
        fault.value = Some(capacity_bytes.into());
        fault.allowed = Some(Range { unit: "B".to_owned(), ..Range::at_least(end_bytes as f64) }.into());
        let fault = match reach.fitting {
            Some(device) => {
                fault.says(", choose one device of the trace with ").set("devices", serde_json::json!([device]))
            }
            None if reach.devices > 1 => fault.says(", choose one device of the trace with ").option("devices"),
            None => fault,
        };
        let fault = fault.says(", or map addresses with ").set("fit", "wrap").says(" or ").set("fit", "scale");
        match self.cursor.replayed.checked_sub(1).filter(|before| *before > 0 && reach.fitting.is_none()) {
            Some(before) => fault.says("; or replay only what comes before, with ").set("records", before),
            None => fault,
        }
    }

    fn duration_fault(&self) -> Fault {
        let years = LAST_ARRIVAL_NS / NS_PER_S / 86_400 / 365;
        self.record_fault(Kind::OutOfRange)
            .says(format!("the replay would last longer than {years} years: lower "))
            .option("time_scale")
            .says(" or ")
            .option("repeat")
    }

    /// Returns a fault of the current record.
    fn record_fault(&self, kind: Kind) -> Fault {
        let record = format!("record {}: ", self.cursor.reader.records());
        Fault::new(kind).in_file(&self.spec.path).says(record)
    }

    /// Returns the maximum number of requests in flight in the closed modes.
    fn max_in_flight(&self) -> u64 {
        if self.mode == ReplayMode::Closed {
            1
        } else {
            u64::from(self.spec.outstanding)
        }
    }
}

/// Returns the generator of the bytes that requests need.
///
/// # Errors
/// Metadata has no share, and the trace does not mark it.
fn needs(spec: &TraceSpec, seed: u64, format: TraceFormat, block_bytes: u32) -> Result<Needs, Fault> {
    if let Some(metadata) = &spec.metadata {
        metadata.validate()?;
        if metadata.share.is_none() && !format.has_metadata() {
            let says = format!(
                ", and a trace of format {format} does not mark metadata: give its share of the requests, from 0 to 1, or leave \
                 out "
            );
            return Err(Fault::missing("metadata.share").in_file(&spec.path).says(says).key("metadata"));
        }
    }
    Ok(Needs::new(spec.last_block, spec.metadata, "workload", seed, block_bytes))
}

fn scaled(ns: u64, factor: f64) -> u64 {
    if factor == 1.0 {
        ns
    } else {
        trunc_to_u64((ns as f64 * factor).round())
    }
}

fn missing_in_trace(path: &str, what: &str, mode: &str) -> Fault {
    Fault::conflict("mode", mode)
        .in_file(path)
        .says(format!(": the trace has no {what}, which this mode needs: use "))
        .set("mode", "auto")
        .says(" or ")
        .set("mode", "outstanding")
}

impl Workload for Replay {
    #[inline]
    fn peek(&mut self) -> Result<Next, Fault> {
        if self.pending.is_none() && !self.ended {
            self.fetch()?;
        }
        let Some(request) = &self.pending else { return Ok(if self.ended { Next::Ended } else { Next::Busy }) };
        Ok(match self.mode {
            ReplayMode::Open => Next::At(request.arrival),
            _ if self.in_flight < self.max_in_flight() && self.slot().ns() > LAST_ARRIVAL_NS => {
                return Err(self.duration_fault())
            }
            _ if self.in_flight < self.max_in_flight() => Next::At(self.slot()),
            _ => Next::Waiting,
        })
    }

    #[inline]
    fn take(&mut self) -> Request {
        let Some(mut request) = self.pending.take() else {
            unreachable!("take is called only when peek answered At");
        };
        if self.mode != ReplayMode::Open {
            request.arrival = self.slot();
        }
        self.gap_after_ns = self.pending_gap_ns;
        if self.has_responses {
            self.responses.responses_ns.push_back(self.pending_response_ns);
        }
        self.in_flight += 1;
        self.next_id += 1;
        request
    }

    fn fraction_taken(&self) -> Option<f64> {
        let pass_fraction = match self.spec.records {
            Some(records) => self.cursor.replayed as f64 / records as f64,
            None => self.cursor.reader.fraction_read()?,
        };
        let passes = self.spec.repeat as f64;
        Some((passes - 1.0 - self.passes_left as f64 + pass_fraction) / passes)
    }

    fn is_open(&self) -> bool {
        self.mode == ReplayMode::Open
    }

    fn may_flush(&self) -> bool {
        self.cursor.reader.format().has_flushes()
    }

    fn replayed(&self) -> Option<Replayed> {
        let reader = &self.cursor.reader;
        let mode = match self.mode {
            ReplayMode::Open | ReplayMode::Auto => "open",
            ReplayMode::Closed => "closed",
            ReplayMode::Outstanding => "outstanding",
        };
        Some(Replayed {
            format: reader.format().name(),
            detected_by: reader.detected_by().to_owned(),
            units: reader.units(),
            mode,
            resets_left_out: self.resets_before + reader.resets(),
        })
    }

    fn skipped(&self) -> u64 {
        self.skipped_before + self.cursor.reader.skipped()
    }

    fn has_responses(&self) -> bool {
        self.has_responses
    }

    fn response_ns(&self, request: &Request) -> Option<u64> {
        self.responses.get(request.id)
    }

    #[inline]
    fn completed(&mut self, completion: &Completion) {
        self.in_flight -= 1;
        if self.has_responses {
            self.responses.remove(completion.request.id);
        }
        let gap_ns = if self.mode == ReplayMode::Closed { self.gap_after_ns } else { 0 };
        self.next_slot_at = Time::from_ns(completion.service.end.ns().saturating_add(gap_ns));
    }
}

/// A position in the trace that moves over the selected records.
struct Cursor {
    reader: TraceReader,
    /// Start (included) and end (excluded) of the selected records, from the first record of the trace.
    from_ns: u64,
    until_ns: Option<u64>,
    /// Records of the selected devices and times in this pass, and how many of them were replayed.
    seen: u64,
    replayed: u64,
    /// Time of the first record replayed in this pass.
    origin_ns: Option<u64>,
}

impl Cursor {
    fn open(spec: &TraceSpec, options: &TraceOptions) -> Result<Self, Fault> {
        let reader = spec.open(options)?;
        let (from_ns, until_ns) = (s_to_ns(spec.start_s), spec.end_s.map(s_to_ns));
        Ok(Self { reader, from_ns, until_ns, seen: 0, replayed: 0, origin_ns: None })
    }

    /// Returns the next selected record, if there is one within a read budget.
    fn next(&mut self, spec: &TraceSpec) -> Result<Found, Fault> {
        if spec.records.is_some_and(|most| self.replayed >= most) {
            return Ok(Found::End);
        }
        let mut budget = self.reader.budget();
        while self.reader.take_from(&mut budget) {
            let record = match self.reader.poll()? {
                Polled::Request(record) => record,
                Polled::Nothing => continue,
                Polled::End => return Ok(Found::End),
            };
            if self.until_ns.is_some_and(|until| record.time.ns() >= until) {
                return Ok(Found::End);
            }
            let is_selected = spec.devices.is_empty() || spec.devices.contains(&record.device);
            if !is_selected || record.time.ns() < self.from_ns {
                continue;
            }
            self.seen += 1;
            if self.seen > spec.first_record {
                self.replayed += 1;
                return Ok(Found::Record(record));
            }
        }
        Ok(Found::NotYet)
    }
}

/// The result of a search for the next selected record.
enum Found {
    Record(TraceRecord),
    /// The read budget ended before a selected record was found.
    NotYet,
    End,
}

/// Maximum number of records that a survey reads, which takes a second or two.
const MAX_SURVEYED_RECORDS: u32 = 5_000_000;

/// Reads the trace again to find the address space of the selected records. Ends at the end of the trace, at an error,
/// or at a limit.
struct Survey {
    /// `None` if the trace cannot be opened.
    cursor: Option<Cursor>,
    /// By device, the number of records and the end of the last byte of any.
    devices: BTreeMap<u32, (u64, u64)>,
    records_left: u32,
}

/// The extent of the selected records.
struct Reach {
    /// The end of the last byte of any record.
    end_bytes: u64,
    /// True if all selected records were read.
    is_complete: bool,
    /// Number of devices of the trace among them.
    devices: usize,
    /// A device of the trace that fits by itself; of several, the one with the most records.
    fitting: Option<u32>,
}

impl Survey {
    fn begin(spec: &TraceSpec, options: &TraceOptions) -> Self {
        Self { cursor: Cursor::open(spec, options).ok(), devices: BTreeMap::new(), records_left: MAX_SURVEYED_RECORDS }
    }

    /// Continues within a read budget. Returns the result for a device of this capacity once the survey is complete.
    fn advance(&mut self, spec: &TraceSpec, capacity_bytes: u64) -> Option<Reach> {
        let Some(cursor) = &mut self.cursor else { return Some(self.reach(false, capacity_bytes)) };
        let mut budget = cursor.reader.budget();
        while self.records_left > 0 && cursor.reader.take_from(&mut budget) {
            match cursor.next(spec) {
                Ok(Found::Record(record)) => {
                    self.records_left -= 1;
                    let (records, end_bytes) = self.devices.entry(record.device).or_default();
                    *records += 1;
                    *end_bytes = (*end_bytes).max(record.offset_bytes + record.bytes);
                }
                Ok(Found::NotYet) => {
                    self.records_left = self.records_left.saturating_sub(RECORDS_AT_ONCE);
                    return None;
                }
                Ok(Found::End) => return Some(self.reach(true, capacity_bytes)),
                Err(_) => return Some(self.reach(false, capacity_bytes)),
            }
        }
        (self.records_left == 0).then(|| self.reach(false, capacity_bytes))
    }

    fn reach(&self, is_complete: bool, capacity_bytes: u64) -> Reach {
        let fits = self.devices.iter().filter(|(_, (_, end_bytes))| is_complete && *end_bytes <= capacity_bytes);
        Reach {
            end_bytes: self.devices.values().map(|(_, end_bytes)| *end_bytes).max().unwrap_or_default(),
            is_complete,
            devices: self.devices.len(),
            fitting: fits.max_by_key(|(_, (records, _))| *records).map(|(device, _)| *device),
        }
    }
}
