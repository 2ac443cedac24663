//! A session with the system of a DiskSim parameter file, and the outstanding requests of the program.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::path::Path;

use serde_json::{json, Value};
use sledsim::engine::Status;
use sledsim::request::{Op, Request};
use sledsim::scenario::{self, DeviceSpec, Document, Draft, Notation};
use sledsim::time::Time;
use sledsim_disksim::{import, ImportOptions, Override};

use super::output::Output;
use super::Callbacks;
use crate::codes::{Code, Error};
use crate::handles::Table;
use crate::opening::{open_draft, Opened};

/// Tolerance of times of the program, ns: 0.0001 ms, as in DiskSim.
const TOLERANCE_NS: u64 = 100;
/// The latest time, ms: 292 years.
const LATEST_MS: f64 = 9.2e12;
const NS_PER_MS: f64 = 1e6;

pub static INTERFACES: Table<Interface> = Table::new();

/// A request of the program.
pub struct Access {
    pub device: i16,
    pub block: u64,
    pub blocks: i32,
    pub is_read: bool,
}

/// The result of a step towards a time.
pub enum Step {
    /// A request was completed. `request` is the address of its descriptor.
    Completed { at_ms: f64, request: usize, callbacks: Callbacks },
    /// An event was processed.
    Event,
    /// The time was reached.
    Done,
}

/// A system that a program uses by DiskSim's interface.
pub struct Interface {
    pub callbacks: Callbacks,
    session: scenario::Session,
    citations: Vec<String>,
    /// Number of devices.
    devices: u64,
    /// Blocks of a device.
    device_blocks: u64,
    outstanding: Outstanding,
    output: Output,
    /// The program may read it until the system is freed.
    model: Box<Model>,
}

/// `struct dm_disk_if` of `diskmodel/dm.h`: the size of a device.
#[repr(C)]
pub struct Model {
    dm_cyls: c_int,
    dm_surfaces: c_int,
    dm_sectors: c_int,
    /// Null, as `mech`: DiskSim's models are not available.
    layout: usize,
    mech: usize,
}

impl Model {
    fn new(device: &DeviceSpec, blocks: u64) -> Self {
        let (cylinders, surfaces) = match device {
            DeviceSpec::Disk(disk) => (disk.cylinders, disk.surfaces),
            _ => (0, 0),
        };
        let saturating = |count: u64| c_int::try_from(count).unwrap_or(c_int::MAX);
        let (dm_cyls, dm_surfaces) = (saturating(cylinders.into()), saturating(surfaces.into()));
        Self { dm_cyls, dm_surfaces, dm_sectors: saturating(blocks), layout: 0, mech: 0 }
    }
}

impl Interface {
    /// Opens the system of a parameter file, with overrides of its values.
    pub fn open(parameters: &Path, output: &Path, overrides: &[Override], callbacks: Callbacks) -> Result<Self, Error> {
        let options = ImportOptions { scenario: true, driven: true, overrides, ..ImportOptions::default() };
        let import = import(parameters, &options)?;
        let text = import.scenario_toml().unwrap_or_default();
        let name = parameters.display().to_string();
        let mut document = Document::read(&text, Notation::Toml, &name, Path::new(""))?.values();
        let devices = import.alike;
        if devices > 1 {
            repeat_device(&mut document, devices);
        }
        let Opened { session, citations } =
            open_draft(Draft::new(document, name), Path::new(""), vec!["accept_missing=true".to_owned()])?;
        let output = Output::open(output, &parameters.display().to_string(), &import.listing())?;
        let device_blocks = session.capacity_blocks() / devices as u64;
        let outstanding = Outstanding::default();
        let model = Box::new(Model::new(&import.device, device_blocks));
        Ok(Self { callbacks, session, citations, devices: devices as u64, device_blocks, outstanding, output, model })
    }

    /// Returns the size of a device.
    pub fn model(&self, device: i64) -> Result<*const Model, Error> {
        self.check_device(device)?;
        Ok(&raw const *self.model)
    }

    fn check_device(&self, device: i64) -> Result<u64, Error> {
        u64::try_from(device).ok().filter(|number| *number < self.devices).ok_or_else(|| {
            let says = format!("devno = {device}: expected 0 to {}", self.devices - 1);
            Error::new(Code::Argument, says)
        })
    }

    /// Returns the time of the next event.
    pub fn next_event(&self) -> Option<Time> {
        self.session.next_event()
    }

    /// Returns the arrival time of a request that the program submits at `at`.
    ///
    /// # Errors
    /// `at` is before the current time by more than the tolerance.
    pub fn arrival(&self, at: Time) -> Result<Time, Error> {
        let now = self.session.now();
        if at.ns() + TOLERANCE_NS < now.ns() {
            return Err(time_runs_back(at, now));
        }
        Ok(at.max(now))
    }

    /// Returns the time to which to advance when the program is at `at`: the next event if it is within the tolerance, else `at`.
    pub fn advance_time(&self, at: Time) -> Time {
        let near = Time::from_ns(at.ns() + TOLERANCE_NS);
        self.next_event().filter(|next| *next > at && *next <= near).unwrap_or(at)
    }

    /// Submits a request. `address` is that of its descriptor in the program.
    pub fn submit(&mut self, access: &Access, at: Time, address: usize) -> Result<(), Error> {
        let Access { device, block, blocks, is_read } = *access;
        let invalid = |says: String| Err(Error::new(Code::Argument, says));
        let number = self.check_device(device.into())?;
        let Some(count) = u32::try_from(blocks).ok().filter(|count| *count > 0) else {
            return invalid(format!("bytecount has {blocks} blocks of 512 bytes: expected at least 1"));
        };
        if block.checked_add(u64::from(count)).is_none_or(|end| end > self.device_blocks) {
            return invalid(format!("blkno = {block}, {count} blocks: the device has {}", self.device_blocks));
        }
        let op = if is_read { Op::Read } else { Op::Write };
        let lbn = number * self.device_blocks + block;
        self.session.submit(Request { arrival: at, op, ..Request::read(lbn, count) })?;
        self.outstanding.add(address);
        Ok(())
    }

    /// Makes one step towards `until`: fetches a completion, or processes the next event.
    pub fn step(&mut self, until: Time) -> Result<Step, Error> {
        if let Some(completion) = self.session.completion() {
            let id = completion.request.id;
            if completion.status != Status::Served {
                let says =
                    format!("request {id} at block {} was not served: {:?}", completion.request.lbn, completion.status);
                return Err(Error::new(Code::Rule, says));
            }
            let request = self.outstanding.remove(id).ok_or_else(|| Error::new(Code::Defect, "completed twice"))?;
            return Ok(Step::Completed { at_ms: ms(completion.service.end), request, callbacks: self.callbacks });
        }
        match self.next_event() {
            Some(next) if next <= until => {
                self.session.advance(next, &mut |_| true)?;
                Ok(Step::Event)
            }
            _ => {
                // A callback of the program may have advanced the session already.
                if until > self.session.now() {
                    self.session.advance(until, &mut |_| true)?;
                }
                Ok(Step::Done)
            }
        }
    }

    /// Writes the statistics of a run that ends at `at`.
    pub fn write_statistics(&mut self, at: Time) -> Result<(), Error> {
        let now = self.session.now();
        if at.ns() + TOLERANCE_NS < now.ns() {
            return Err(time_runs_back(at, now));
        }
        if at > now && self.next_event().is_none_or(|next| next > at) {
            self.session.advance(at, &mut |_| true)?;
        }
        let report = self.session.result(self.citations.clone())?.report;
        self.output.write(ms(self.session.now()), &report)
    }
}

/// Repeats the device of a scenario. Each device has its own queue; the blocks of the second follow those of the first.
fn repeat_device(document: &mut Value, devices: usize) {
    let device = document["system"].take();
    document["system"] = json!({"kind": "concat", "members": [{"count": devices, "system": device}]});
}

/// Addresses of the descriptors of outstanding requests, by request number. Stores only the requests from the first outstanding
/// one on.
#[derive(Default)]
struct Outstanding {
    first: u64,
    addresses: VecDeque<Option<usize>>,
}

impl Outstanding {
    fn add(&mut self, address: usize) {
        self.addresses.push_back(Some(address));
    }

    fn remove(&mut self, id: u64) -> Option<usize> {
        let index = usize::try_from(id.checked_sub(self.first)?).ok()?;
        let address = self.addresses.get_mut(index)?.take();
        while self.addresses.front() == Some(&None) {
            self.addresses.pop_front();
            self.first += 1;
        }
        address
    }
}

/// Converts a time of the program, ms, to the nearest nanosecond.
pub fn instant(at_ms: f64) -> Result<Time, Error> {
    if !(0.0..=LATEST_MS).contains(&at_ms) {
        let says = format!("time = {at_ms} ms: expected 0 to {LATEST_MS:e}");
        return Err(Error::new(Code::Time, says));
    }
    Ok(Time::from_ns((at_ms * NS_PER_MS).round() as u64))
}

/// Converts a time to milliseconds.
pub fn ms(at: Time) -> f64 {
    at.ns() as f64 / NS_PER_MS
}

fn time_runs_back(at: Time, now: Time) -> Error {
    let says = format!("time runs back: {} ms is before the current time, {} ms", ms(at), ms(now));
    Error::new(Code::Time, says)
}
