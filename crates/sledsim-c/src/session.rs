//! Session functions. `include/sledsim.h` documents them.

#![allow(missing_docs)] // `sledsim.h` documents these functions.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;
use std::path::PathBuf;

use sledsim::engine::{Completion, Status};
use sledsim::request::{Flags, Op, Request};
use sledsim::scenario::{self, Notation};
use sledsim::time::Time;

use crate::codes::{self, run_call, Code, Error};
use crate::fetched::Fetched;
use crate::handles::Table;
use crate::memory::{optional_text, path, places, put_if_wanted, put_text, required, text, texts, Place};
use crate::opening::{open_file, open_text, Opened};

/// The latest time, ns: 292 years.
const LATEST_NS: u64 = i64::MAX as u64;

static SESSIONS: Table<OpenSession> = Table::new();

/// A session with the state of its C interface.
#[derive(Clone)]
struct OpenSession {
    session: scenario::Session,
    citations: Vec<String>,
    fetched: Fetched,
    /// Completions that were passed over by [`OpenSession::completion_of`].
    skipped: VecDeque<Completion>,
    /// The last result as JSON; `None` after a change of the session.
    result: Option<String>,
}

impl OpenSession {
    fn new(Opened { session, citations }: Opened) -> Self {
        Self { session, citations, fetched: Fetched::default(), skipped: VecDeque::new(), result: None }
    }

    #[inline]
    fn completion(&mut self) -> Option<Completion> {
        let completion = self.skipped.pop_front().or_else(|| self.session.completion())?;
        self.fetched.mark(completion.request.id);
        Some(completion)
    }

    fn completion_of(&mut self, id: u64) -> Result<Option<Completion>, Error> {
        if !self.fetched.is_pending(id) {
            let says = format!("request {id} was never submitted, or its completion was already fetched");
            return Err(Error::new(Code::Taken, says));
        }
        self.skipped.extend(std::iter::from_fn(|| self.session.completion()));
        let index = self.skipped.iter().position(|completion| completion.request.id == id);
        let found = index.and_then(|index| self.skipped.remove(index));
        if found.is_some() {
            self.fetched.mark(id);
        }
        Ok(found)
    }

    fn result(&mut self) -> Result<&str, Error> {
        if self.result.is_none() {
            let report = self.session.result(self.citations.clone())?.report;
            self.result = Some(
                serde_json::to_string(&report)
                    .map_err(|error| Error::new(Code::Defect, format!("can't write the result as JSON: {error}")))?,
            );
        }
        Ok(self.result.as_deref().unwrap_or_default())
    }
}

/// `struct sledsim_completion` of `sledsim.h`.
#[repr(C)]
pub struct SledsimCompletion {
    pub id: u64,
    pub arrival_ns: u64,
    pub start_ns: u64,
    pub end_ns: u64,
    pub energy_j: f64,
    pub status: c_int,
}

impl From<Completion> for SledsimCompletion {
    #[inline]
    fn from(Completion { request, service, status }: Completion) -> Self {
        Self {
            id: request.id,
            arrival_ns: request.arrival.ns(),
            start_ns: service.start.ns(),
            end_ns: service.end.ns(),
            energy_j: service.energy.total_j(),
            status: match status {
                Status::Served => 0,
                Status::Refused => 1,
                Status::Unreadable => 2,
                Status::Failed => 3,
            },
        }
    }
}

/// Runs a call on a session.
#[inline]
fn with(session: u64, work: impl FnOnce(&mut OpenSession) -> Result<Code, Error>) -> c_int {
    run_call(|| SESSIONS.with(session, work))
}

/// Runs a call that changes the result of a session.
#[inline]
fn with_change(session: u64, work: impl FnOnce(&mut OpenSession) -> Result<Code, Error>) -> c_int {
    with(session, |open| {
        open.result = None;
        work(open)
    })
}

#[inline]
fn instant(what: &str, at_ns: u64) -> Result<Time, Error> {
    if at_ns > LATEST_NS {
        let says = format!("{what} = {at_ns}: at most {LATEST_NS} ns");
        return Err(Error::new(Code::Argument, says));
    }
    Ok(Time::from_ns(at_ns))
}

#[no_mangle]
pub extern "C" fn sledsim_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

#[no_mangle]
pub extern "C" fn sledsim_code_name(code: c_int) -> *const c_char {
    Code::name(code).as_ptr()
}

#[no_mangle]
pub extern "C" fn sledsim_message() -> *const c_char {
    codes::message()
}

#[no_mangle]
pub extern "C" fn sledsim_faults() -> *const c_char {
    codes::faults()
}

/// # Safety
/// The pointers are null, or point to what `sledsim.h` says, unchanged during the call.
#[no_mangle]
pub unsafe extern "C" fn sledsim_open(
    scenario: *const c_char,
    format: *const c_char,
    folder: *const c_char,
    settings: *const *const c_char,
    settings_count: usize,
    session: Place<u64>,
) -> c_int {
    run_call(|| {
        let session = required(session, "session")?;
        // SAFETY: as the caller guarantees.
        let scenario = unsafe { text(scenario, "scenario") }?;
        // SAFETY: as the caller guarantees.
        let notation = Notation::named(unsafe { optional_text(format, "format") }?.unwrap_or("toml"))?;
        // SAFETY: as the caller guarantees.
        let folder = if folder.is_null() { PathBuf::new() } else { unsafe { path(folder, "folder") }? };
        // SAFETY: as the caller guarantees.
        let settings = unsafe { texts(settings, settings_count, "settings") }?;
        let opened = OpenSession::new(open_text(scenario, notation, "scenario", &folder, settings)?);
        session.write(SESSIONS.insert(opened)?);
        Ok(Code::Ok)
    })
}

/// # Safety
/// The pointers are null, or point to what `sledsim.h` says, unchanged during the call.
#[no_mangle]
pub unsafe extern "C" fn sledsim_open_file(
    file: *const c_char,
    settings: *const *const c_char,
    settings_count: usize,
    session: Place<u64>,
) -> c_int {
    run_call(|| {
        let session = required(session, "session")?;
        // SAFETY: as the caller guarantees.
        let (file, settings) = unsafe { (path(file, "file")?, texts(settings, settings_count, "settings")?) };
        let opened = OpenSession::new(open_file(&file, settings)?);
        session.write(SESSIONS.insert(opened)?);
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_close(session: u64) -> c_int {
    run_call(|| SESSIONS.remove(session).map(|_| Code::Ok))
}

#[no_mangle]
pub extern "C" fn sledsim_size(session: u64, blocks: Place<u64>, block_bytes: Place<u32>) -> c_int {
    with(session, |open| {
        put_if_wanted(blocks, open.session.capacity_blocks());
        put_if_wanted(block_bytes, open.session.block_bytes());
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_now(session: u64, now_ns: Place<u64>) -> c_int {
    with(session, |open| {
        required(now_ns, "now_ns")?.write(open.session.now().ns());
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_under_way(session: u64, requests: Place<u64>) -> c_int {
    with(session, |open| {
        required(requests, "requests")?.write(open.session.under_way());
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_submit(session: u64, lbn: u64, blocks: u32, op: c_int, at_ns: u64, id: Place<u64>) -> c_int {
    with_change(session, |open| {
        let transfer = Request::read(lbn, blocks);
        let request = match op {
            0 => transfer,
            1 => Request { op: Op::Write, ..transfer },
            2 => Request::flush(),
            3 => Request { op: Op::Write, flags: Flags::DURABLE, ..transfer },
            4 => Request::reset(lbn, blocks),
            _ => {
                let says = format!(
                    "op = {op}: expected SLEDSIM_READ (0), SLEDSIM_WRITE (1), SLEDSIM_FLUSH (2), SLEDSIM_WRITE_FUA (3) or \
                     SLEDSIM_RESET (4)"
                );
                return Err(Error::new(Code::Argument, says));
            }
        };
        let request = Request { arrival: instant("at_ns", at_ns)?, ..request };
        let number = open.session.submit(request).map_err(|late| Error::new(Code::Time, late.to_string()))?;
        open.fetched.add();
        put_if_wanted(id, number);
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_next_event(session: u64, at_ns: Place<u64>) -> c_int {
    with(session, |open| {
        let at_ns = required(at_ns, "at_ns")?;
        let Some(next) = open.session.next_event() else { return Ok(Code::Nothing) };
        at_ns.write(next.ns());
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_advance(session: u64, until_ns: u64) -> c_int {
    with_change(session, |open| {
        let (until, now) = (instant("until_ns", until_ns)?, open.session.now());
        let is_late = until < now;
        open.session.advance(until, &mut |_| true).map_err(|error| {
            if is_late {
                Error::new(Code::Time, error.to_string())
            } else {
                error.into()
            }
        })?;
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_drain(session: u64) -> c_int {
    with_change(session, |open| {
        open.session.drain(&mut |_| true)?;
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_completion(session: u64, completion: Place<SledsimCompletion>) -> c_int {
    with(session, |open| {
        let completion = required(completion, "completion")?;
        let Some(found) = open.completion() else { return Ok(Code::Nothing) };
        completion.write(found.into());
        Ok(Code::Ok)
    })
}

/// # Safety
/// `completions` is null, or points to `capacity` places.
#[no_mangle]
pub unsafe extern "C" fn sledsim_completions(
    session: u64,
    completions: *mut MaybeUninit<SledsimCompletion>,
    capacity: usize,
    count: Place<usize>,
) -> c_int {
    with(session, |open| {
        let count = required(count, "count")?;
        // SAFETY: as the caller guarantees.
        let places = unsafe { places(completions, capacity, "completions") }?;
        let mut fetched = 0;
        // A completion is fetched only when there is a place for it.
        while let Some(place) = places.get_mut(fetched) {
            let Some(found) = open.completion() else { break };
            place.write(found.into());
            fetched += 1;
        }
        count.write(fetched);
        Ok(if fetched == 0 { Code::Nothing } else { Code::Ok })
    })
}

#[no_mangle]
pub extern "C" fn sledsim_completion_of(session: u64, id: u64, completion: Place<SledsimCompletion>) -> c_int {
    with(session, |open| {
        let completion = required(completion, "completion")?;
        let Some(found) = open.completion_of(id)? else { return Ok(Code::Nothing) };
        completion.write(found.into());
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_snapshot(session: u64, snapshot: Place<u64>) -> c_int {
    run_call(|| {
        let snapshot = required(snapshot, "snapshot")?;
        let copy = SESSIONS.with(session, |open| Ok(open.clone()))?;
        snapshot.write(SESSIONS.insert(copy)?);
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_restore(session: u64, snapshot: u64) -> c_int {
    run_call(|| {
        let copy = SESSIONS.with(snapshot, |open| Ok(open.clone()))?;
        SESSIONS.with(session, |open| {
            open.session.restore(copy.session).map_err(|error| Error::from(error).with_code(Code::Argument))?;
            (open.fetched, open.skipped, open.result) = (copy.fetched, copy.skipped, copy.result);
            Ok(Code::Ok)
        })
    })
}

/// # Safety
/// `json` is null, or points to `capacity` bytes.
#[no_mangle]
pub unsafe extern "C" fn sledsim_result(
    session: u64,
    json: *mut MaybeUninit<u8>,
    capacity: usize,
    length: Place<usize>,
) -> c_int {
    with(session, |open| {
        let result = open.result()?;
        put_if_wanted(length, result.len());
        // The caller needs the length only.
        if json.is_null() && capacity == 0 {
            return Ok(Code::Ok);
        }
        // SAFETY: as the caller guarantees.
        put_text(unsafe { places(json, capacity, "json") }?, "json", result)?;
        Ok(Code::Ok)
    })
}
