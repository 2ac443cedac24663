//! Sessions from C. What each function does stands in `include/sledsim.h`.

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

use crate::codes::{self, answered, Code, Refusal};
use crate::handles::Table;
use crate::memory::{optional_text, path, places, put_if_wanted, put_text, required, text, texts, Place};
use crate::opening::{open, open_file, Opened};
use crate::taken::Taken;

/// The end of the clock, ns: 292 years.
const LATEST_NS: u64 = i64::MAX as u64;

static SESSIONS: Table<Held> = Table::new();

/// A session and what C may ask of it besides.
#[derive(Clone)]
struct Held {
    session: scenario::Session,
    citations: Vec<String>,
    taken: Taken,
    /// Completions that others were fetched before.
    aside: VecDeque<Completion>,
    /// The result as it was asked for last, unless something has happened since.
    result: Option<String>,
}

impl Held {
    fn new((session, citations): Opened) -> Self {
        Self { session, citations, taken: Taken::default(), aside: VecDeque::new(), result: None }
    }

    #[inline]
    fn completion(&mut self) -> Option<Completion> {
        let done = self.aside.pop_front().or_else(|| self.session.completion())?;
        self.taken.take(done.request.id);
        Some(done)
    }

    fn completion_of(&mut self, id: u64) -> Result<Option<Completion>, Refusal> {
        if !self.taken.is_due(id) {
            let says =
                format!("request {id} was never handed in, or its completion was fetched before: each comes once");
            return Err(Refusal::new(Code::Taken, says));
        }
        self.aside.extend(std::iter::from_fn(|| self.session.completion()));
        let place = self.aside.iter().position(|done| done.request.id == id);
        let found = place.and_then(|place| self.aside.remove(place));
        if found.is_some() {
            self.taken.take(id);
        }
        Ok(found)
    }

    fn result(&mut self) -> Result<&str, Refusal> {
        if self.result.is_none() {
            let report = self.session.result(self.citations.clone())?.report;
            self.result = Some(serde_json::to_string(&report).map_err(|error| {
                Refusal::new(Code::Defect, format!("the result can't be written as JSON: {error}"))
            })?);
        }
        Ok(self.result.as_deref().unwrap_or_default())
    }
}

/// A request that has come back, as `sledsim.h` has it.
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
    fn from(done: Completion) -> Self {
        let Completion { request, service, status } = done;
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

/// Lends a session to a call that changes nothing.
#[inline]
fn with(session: u64, work: impl FnOnce(&mut Held) -> Result<Code, Refusal>) -> c_int {
    answered(|| SESSIONS.with(session, work))
}

/// Lends a session to a call after which it may have another result.
#[inline]
fn moving(session: u64, work: impl FnOnce(&mut Held) -> Result<Code, Refusal>) -> c_int {
    with(session, |held| {
        held.result = None;
        work(held)
    })
}

#[inline]
fn instant(what: &str, at_ns: u64) -> Result<Time, Refusal> {
    if at_ns > LATEST_NS {
        let says = format!("{what} = {at_ns} lies beyond the end of the clock, which is {LATEST_NS} ns");
        return Err(Refusal::new(Code::Argument, says));
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
    answered(|| {
        let session = required(session, "session")?;
        // SAFETY: as the caller guarantees.
        let written = unsafe { text(scenario, "scenario") }?;
        // SAFETY: as the caller guarantees.
        let notation = Notation::named(unsafe { optional_text(format, "format") }?.unwrap_or("toml"))?;
        // SAFETY: as the caller guarantees.
        let folder = if folder.is_null() { PathBuf::new() } else { unsafe { path(folder, "folder") }? };
        // SAFETY: as the caller guarantees.
        let settings = unsafe { texts(settings, settings_count, "settings") }?;
        let held = Held::new(open(written, notation, "scenario", &folder, settings)?);
        session.write(SESSIONS.put(held)?);
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
    answered(|| {
        let session = required(session, "session")?;
        // SAFETY: as the caller guarantees.
        let (file, settings) = unsafe { (path(file, "file")?, texts(settings, settings_count, "settings")?) };
        let held = Held::new(open_file(&file, settings)?);
        session.write(SESSIONS.put(held)?);
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_close(session: u64) -> c_int {
    answered(|| SESSIONS.take(session).map(|_| Code::Ok))
}

#[no_mangle]
pub extern "C" fn sledsim_size(session: u64, blocks: Place<u64>, block_bytes: Place<u32>) -> c_int {
    with(session, |held| {
        put_if_wanted(blocks, held.session.capacity_blocks());
        put_if_wanted(block_bytes, held.session.block_bytes());
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_now(session: u64, now_ns: Place<u64>) -> c_int {
    with(session, |held| {
        required(now_ns, "now_ns")?.write(held.session.now().ns());
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_under_way(session: u64, requests: Place<u64>) -> c_int {
    with(session, |held| {
        required(requests, "requests")?.write(held.session.under_way());
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_submit(session: u64, lbn: u64, blocks: u32, op: c_int, at_ns: u64, id: Place<u64>) -> c_int {
    moving(session, |held| {
        let transfer = Request::read(lbn, blocks);
        let request = match op {
            0 => transfer,
            1 => Request { op: Op::Write, ..transfer },
            2 => Request::flush(),
            3 => Request { op: Op::Write, flags: Flags::DURABLE, ..transfer },
            _ => {
                let says = format!(
                    "op = {op} is none of SLEDSIM_READ = 0, SLEDSIM_WRITE = 1, SLEDSIM_FLUSH = 2 and SLEDSIM_WRITE_FUA = 3"
                );
                return Err(Refusal::new(Code::Argument, says));
            }
        };
        let request = Request { arrival: instant("at_ns", at_ns)?, ..request };
        let number = held.session.submit(request).map_err(|late| Refusal::new(Code::Time, late.to_string()))?;
        held.taken.add();
        put_if_wanted(id, number);
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_next_event(session: u64, at_ns: Place<u64>) -> c_int {
    with(session, |held| {
        let at_ns = required(at_ns, "at_ns")?;
        let Some(next) = held.session.next_event() else { return Ok(Code::Nothing) };
        at_ns.write(next.ns());
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_advance(session: u64, until_ns: u64) -> c_int {
    moving(session, |held| {
        let (until, now) = (instant("until_ns", until_ns)?, held.session.now());
        let is_late = until < now;
        held.session.advance(until, &mut |_| true).map_err(|error| {
            if is_late {
                Refusal::new(Code::Time, error.to_string())
            } else {
                error.into()
            }
        })?;
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_drain(session: u64) -> c_int {
    moving(session, |held| {
        held.session.drain(&mut |_| true)?;
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_completion(session: u64, completion: Place<SledsimCompletion>) -> c_int {
    with(session, |held| {
        let completion = required(completion, "completion")?;
        let Some(done) = held.completion() else { return Ok(Code::Nothing) };
        completion.write(done.into());
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
    with(session, |held| {
        let count = required(count, "count")?;
        // SAFETY: as the caller guarantees.
        let places = unsafe { places(completions, capacity, "completions") }?;
        let mut fetched = 0;
        // A completion is fetched only when there is a place for it.
        while let Some(place) = places.get_mut(fetched) {
            let Some(done) = held.completion() else { break };
            place.write(done.into());
            fetched += 1;
        }
        count.write(fetched);
        Ok(if fetched == 0 { Code::Nothing } else { Code::Ok })
    })
}

#[no_mangle]
pub extern "C" fn sledsim_completion_of(session: u64, id: u64, completion: Place<SledsimCompletion>) -> c_int {
    with(session, |held| {
        let completion = required(completion, "completion")?;
        let Some(done) = held.completion_of(id)? else { return Ok(Code::Nothing) };
        completion.write(done.into());
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_snapshot(session: u64, snapshot: Place<u64>) -> c_int {
    answered(|| {
        let snapshot = required(snapshot, "snapshot")?;
        let copy = SESSIONS.with(session, |held| Ok(held.clone()))?;
        snapshot.write(SESSIONS.put(copy)?);
        Ok(Code::Ok)
    })
}

#[no_mangle]
pub extern "C" fn sledsim_restore(session: u64, snapshot: u64) -> c_int {
    answered(|| {
        let copy = SESSIONS.with(snapshot, |held| Ok(held.clone()))?;
        SESSIONS.with(session, |held| {
            held.session.restore(copy.session).map_err(|error| Refusal::from(error).with(Code::Argument))?;
            (held.taken, held.aside, held.result) = (copy.taken, copy.aside, copy.result);
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
    with(session, |held| {
        let result = held.result()?;
        put_if_wanted(length, result.len());
        // Who asks with nothing in hand wants to know how much room it takes.
        if json.is_null() && capacity == 0 {
            return Ok(Code::Ok);
        }
        // SAFETY: as the caller guarantees.
        put_text(unsafe { places(json, capacity, "json") }?, "json", result)?;
        Ok(Code::Ok)
    })
}
