//! A session with the system of a parameter file, and the requests of a program that are under way in it.

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
use super::Calls;
use crate::codes::{Code, Refusal};
use crate::handles::Table;
use crate::opening::open_draft;

/// What DiskSim lets clocks differ by, ns: 0.0001 ms.
const CLOCKS_DIFFER_NS: u64 = 100;
/// The latest time, ms: the clock's end, 292 years.
const LATEST_MS: f64 = 9.2e12;
const NS_PER_MS: f64 = 1e6;

pub static INTERFACES: Table<Interface> = Table::new();

/// What a program asks for.
pub struct Asked {
    pub device: i16,
    pub block: u64,
    pub blocks: i32,
    pub is_read: bool,
}

/// What happens next on the way to an instant.
pub enum Step {
    /// A request has come back: when, the program's address of it, and whom to tell.
    Back { at_ms: f64, request: usize, calls: Calls },
    /// Something happened.
    Further,
    /// Nothing more by then.
    There,
}

/// A system that a program drives by DiskSim's interface.
pub struct Interface {
    pub calls: Calls,
    session: scenario::Session,
    citations: Vec<String>,
    /// Devices side by side, and the blocks of each.
    devices: u64,
    device_blocks: u64,
    waiting: Waiting,
    output: Output,
    /// What a program may look at for as long as the system is there.
    model: Box<Model>,
}

/// The size of a device, as `diskmodel/dm.h` has it.
#[repr(C)]
pub struct Model {
    dm_cyls: c_int,
    dm_surfaces: c_int,
    dm_sectors: c_int,
    /// Null, as the next one: what lies behind them in DiskSim is not here.
    layout: usize,
    mech: usize,
}

impl Model {
    fn new(device: &DeviceSpec, blocks: u64) -> Self {
        let (cylinders, surfaces) = match device {
            DeviceSpec::Disk(disk) => (disk.cylinders, disk.surfaces),
            _ => (0, 0),
        };
        let whole = |count: u64| c_int::try_from(count).unwrap_or(c_int::MAX);
        let (dm_cyls, dm_surfaces) = (whole(cylinders.into()), whole(surfaces.into()));
        Self { dm_cyls, dm_surfaces, dm_sectors: whole(blocks), layout: 0, mech: 0 }
    }
}

impl Interface {
    /// The system of a parameter file, in which some values are replaced.
    pub fn open(parameters: &Path, output: &Path, overrides: &[Override], calls: Calls) -> Result<Self, Refusal> {
        let options = ImportOptions { scenario: true, driven: true, overrides, ..ImportOptions::default() };
        let import = import(parameters, &options)?;
        let text = import.scenario_toml().unwrap_or_default();
        let name = parameters.display().to_string();
        let mut document = Document::read(&text, Notation::Toml, &name, Path::new(""))?.values();
        let devices = import.alike;
        if devices > 1 {
            side_by_side(&mut document, devices);
        }
        let (session, citations) =
            open_draft(Draft::new(document, name), Path::new(""), vec!["accept_missing=true".to_owned()])?;
        let output = Output::open(output, &parameters.display().to_string(), &import.listing())?;
        let device_blocks = session.capacity_blocks() / devices as u64;
        let waiting = Waiting::default();
        let model = Box::new(Model::new(&import.device, device_blocks));
        Ok(Self { calls, session, citations, devices: devices as u64, device_blocks, waiting, output, model })
    }

    /// The size of a device, by its number.
    pub fn model(&self, device: i64) -> Result<*const Model, Refusal> {
        self.number_of(device)?;
        Ok(&raw const *self.model)
    }

    fn number_of(&self, device: i64) -> Result<u64, Refusal> {
        u64::try_from(device).ok().filter(|number| *number < self.devices).ok_or_else(|| {
            let says = format!("devno = {device}: there are {} devices, from 0 on", self.devices);
            Refusal::new(Code::Argument, says)
        })
    }

    /// When something happens next.
    pub fn next_event(&self) -> Option<Time> {
        self.session.next_event()
    }

    /// When a request arrives that is handed in at an instant of the program's.
    pub fn arrival(&self, at: Time) -> Result<Time, Refusal> {
        let now = self.session.now();
        if at.ns() + CLOCKS_DIFFER_NS < now.ns() {
            return Err(runs_back(at, now));
        }
        Ok(at.max(now))
    }

    /// How far time is to pass at an instant of the program's: to the next event where clocks differ by no more.
    pub fn reach(&self, at: Time) -> Time {
        let near = Time::from_ns(at.ns() + CLOCKS_DIFFER_NS);
        self.next_event().filter(|next| *next > at && *next <= near).unwrap_or(at)
    }

    /// Hands in a request, which the program has at an address.
    pub fn submit(&mut self, asked: &Asked, at: Time, address: usize) -> Result<(), Refusal> {
        let Asked { device, block, blocks, is_read } = *asked;
        let refusal = |says: String| Err(Refusal::new(Code::Argument, says));
        let number = self.number_of(device.into())?;
        let Some(count) = u32::try_from(blocks).ok().filter(|count| *count > 0) else {
            return refusal(format!("bytecount is of {blocks} blocks of 512 bytes: expected one or more"));
        };
        if block.checked_add(u64::from(count)).is_none_or(|end| end > self.device_blocks) {
            return refusal(format!("blkno = {block}, {count} blocks: the device has {}", self.device_blocks));
        }
        let op = if is_read { Op::Read } else { Op::Write };
        let lbn = number * self.device_blocks + block;
        self.session.submit(Request { arrival: at, op, ..Request::read(lbn, count) })?;
        self.waiting.add(address);
        Ok(())
    }

    /// Takes one step on the way to an instant.
    pub fn step(&mut self, until: Time) -> Result<Step, Refusal> {
        if let Some(back) = self.session.completion() {
            let id = back.request.id;
            if back.status != Status::Served {
                let says = format!("request {id} at block {} was not served: {:?}", back.request.lbn, back.status);
                return Err(Refusal::new(Code::Rule, says));
            }
            let request = self.waiting.take(id).ok_or_else(|| Refusal::new(Code::Defect, "came back twice"))?;
            return Ok(Step::Back { at_ms: ms(back.service.end), request, calls: self.calls });
        }
        match self.next_event() {
            Some(next) if next <= until => {
                self.session.advance(next, &mut |_| true)?;
                Ok(Step::Further)
            }
            _ => {
                // A program that was told of something may have gone further meanwhile.
                if until > self.session.now() {
                    self.session.advance(until, &mut |_| true)?;
                }
                Ok(Step::There)
            }
        }
    }

    /// Writes what a run that ended now would report.
    pub fn write_statistics(&mut self, at: Time) -> Result<(), Refusal> {
        let now = self.session.now();
        if at.ns() + CLOCKS_DIFFER_NS < now.ns() {
            return Err(runs_back(at, now));
        }
        if at > now && self.next_event().is_none_or(|next| next > at) {
            self.session.advance(at, &mut |_| true)?;
        }
        let report = self.session.result(self.citations.clone())?.report;
        self.output.write(ms(self.session.now()), &report)
    }
}

/// Makes so many devices of a scenario's one, each with its own queue: blocks of the second follow those of the first.
fn side_by_side(document: &mut Value, devices: usize) {
    let one = document["system"].take();
    document["system"] = json!({"kind": "concat", "members": [{"count": devices, "system": one}]});
}

/// The program's addresses of requests that are under way, by number. It takes room for those from the first of them on.
#[derive(Default)]
struct Waiting {
    first: u64,
    rest: VecDeque<Option<usize>>,
}

impl Waiting {
    fn add(&mut self, address: usize) {
        self.rest.push_back(Some(address));
    }

    fn take(&mut self, id: u64) -> Option<usize> {
        let place = usize::try_from(id.checked_sub(self.first)?).ok()?;
        let address = self.rest.get_mut(place)?.take();
        while self.rest.front() == Some(&None) {
            self.rest.pop_front();
            self.first += 1;
        }
        address
    }
}

/// An instant of the program's, ms, to the nearest nanosecond.
pub fn instant(at_ms: f64) -> Result<Time, Refusal> {
    if !(0.0..=LATEST_MS).contains(&at_ms) {
        let says = format!("the time is {at_ms} ms: expected one from 0 to {LATEST_MS:e}");
        return Err(Refusal::new(Code::Time, says));
    }
    Ok(Time::from_ns((at_ms * NS_PER_MS).round() as u64))
}

/// An instant as programs have it, ms.
pub fn ms(at: Time) -> f64 {
    at.ns() as f64 / NS_PER_MS
}

fn runs_back(at: Time, now: Time) -> Refusal {
    let says = format!("time runs back: it is {} ms at the program, and {} ms already here", ms(at), ms(now));
    Refusal::new(Code::Time, says)
}
