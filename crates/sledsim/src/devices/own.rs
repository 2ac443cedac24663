//! A device whose mechanism is one's own: that says how long positioning and transfer take, and all else is done here.
//!
//! Of where blocks lie nothing is known: schedulers that ask for cylinders or distances are told of equal shares of the LBNs, and
//! searches by positioning time leave nothing out. A mechanism that can't go on ends the run: see [`Stop`].

use std::borrow::Cow;
use std::cell::RefCell;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::devices::past::{has_past, Past};
use crate::devices::powered::Work;
use crate::devices::shares::{has_shares, Shares};
use crate::devices::{EnergyLedger, IdlePolicy, Location, Mechanism, Phases, Service, State};
use crate::engine::Stop;
use crate::fault::{Fault, Kind, Range};
use crate::limits::OWN_TIME_NS;
use crate::own::{told, OwnDevice, OwnSpec, Role};
use crate::power::{Meter, PowerParameters, SpinDownSpec};
use crate::request::{Op, Request};
use crate::time::Time;

/// A device whose mechanism is one's own, as a scenario has it: the keys of a policy of one's own with a name and powers beside
/// them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct OwnParameters {
    /// What reports call it.
    pub name: String,
    /// What it draws; not known when absent.
    pub power: Option<PowerParameters>,
    /// Where the mechanism is, and its parameters.
    pub own: OwnSpec,
}

impl TryFrom<Map<String, Value>> for OwnParameters {
    type Error = serde_json::Error;

    fn try_from(mut keys: Map<String, Value>) -> Result<Self, Self::Error> {
        let power = serde_json::from_value(keys.shift_remove("power").unwrap_or_default())?;
        let name = keys.insert("name".into(), "own".into()).unwrap_or_default();
        Ok(Self { name: serde_json::from_value(name)?, power, own: serde_json::from_value(keys.into())? })
    }
}

impl From<OwnParameters> for Map<String, Value> {
    fn from(parameters: OwnParameters) -> Self {
        let OwnParameters { name, power, own } = parameters;
        let mut keys = match serde_json::to_value(own) {
            Ok(Value::Object(keys)) => keys,
            _ => Self::new(),
        };
        keys.insert("name".into(), name.into());
        keys.insert("power".into(), serde_json::to_value(power).unwrap_or_default());
        keys
    }
}

impl JsonSchema for OwnParameters {
    fn schema_name() -> Cow<'static, str> {
        "OwnParameters".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = OwnSpec::json_schema(generator);
        let mut power = generator.subschema_for::<Option<PowerParameters>>();
        power.insert("description".into(), "What it draws; not known when absent.".into());
        power.insert("default".into(), Value::Null);
        if let Some(keys) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            keys.insert("name".into(), serde_json::json!({ "type": "string", "description": "What reports call it." }));
            keys.insert("power".into(), power.to_value());
        }
        schema
    }
}

/// A device whose mechanism is one's own.
#[derive(Clone)]
pub struct Own {
    /// It may remember what it is asked: it is asked one thing after the other.
    mechanism: RefCell<Box<dyn OwnDevice>>,
    shares: Shares,
    block_bytes: u32,
    /// The block after the last one served.
    next_lbn: u64,
    past: Past<2>,
    /// Why it can't go on.
    stop: RefCell<Option<Broken>>,
}

/// Why a mechanism can't go on.
#[derive(Clone)]
struct Broken {
    why: Stop,
    /// When it was asked.
    at: Time,
    about: About,
}

/// With what a mechanism is asked.
#[derive(Clone, Copy)]
enum About {
    /// A request that it serves.
    Served(Request),
    /// A block that may be read or written.
    Place { lbn: u64, read: bool },
}

impl About {
    /// What messages call it, and its request, if that is it or one of those that wait.
    fn told(self, waiting: &[Request]) -> (String, Option<u64>) {
        let request = match self {
            Self::Served(request) => Some(request),
            Self::Place { lbn, read } => {
                waiting.iter().find(|request| request.lbn == lbn && (request.op == Op::Read) == read).copied()
            }
        };
        match (request, self) {
            (Some(request), _) | (None, Self::Served(request)) => (told(&request), Some(request.id)),
            (None, Self::Place { lbn, read }) => {
                (format!("a {} of LBN {lbn}", if read { "read" } else { "write" }), None)
            }
        }
    }
}

/// Half of what a [`Location`] can tell apart: whether a block is to be written stands there, too.
const TOLD_APART: u64 = 1 << 31;

impl Own {
    /// A device that has served nothing.
    ///
    /// # Errors
    /// A size that no device has, or powers that contradict each other.
    pub fn new(mechanism: Box<dyn OwnDevice>, power: Option<&PowerParameters>) -> Result<Self, Fault> {
        let (blocks, block_bytes) = (mechanism.capacity_blocks(), mechanism.block_bytes());
        let sizes = [("capacity_blocks", blocks, 1e15), ("block_bytes", block_bytes.into(), 1_048_576.0)];
        for (what, size, most) in sizes {
            let range = Range { least: Some(1.0), most: Some(most), ..Range::default() }.whole();
            if !range.holds(size as f64) {
                let says = format!("{} has {what} = {size}: expected {range}", mechanism.name());
                return Err(Fault::new(Kind::Policy).says(says));
            }
        }
        let nothing = |state| Work { op: Op::Read, state, from: Time::ZERO, to: Time::ZERO };
        Ok(Self {
            mechanism: RefCell::new(mechanism),
            shares: Shares::new(blocks, TOLD_APART),
            block_bytes,
            next_lbn: 0,
            past: Past::new([nothing(State::Seek), nothing(State::Data)], power)?,
            stop: RefCell::new(None),
        })
    }

    /// The same device under a policy that says when it enters idle modes; at their own times without one. Nothing changes
    /// where the powers are not known.
    #[must_use]
    pub fn with_spin_down(mut self, policy: Option<&SpinDownSpec>) -> Self {
        self.past.obey(policy);
        self
    }

    /// A time that the mechanism tells, ns; 0 once it can't go on.
    fn asked(&self, at: Time, about: About, ask: impl FnOnce(&mut dyn OwnDevice) -> Result<u64, Stop>) -> u64 {
        let mut stop = self.stop.borrow_mut();
        if stop.is_some() {
            return 0;
        }
        let mut mechanism = self.mechanism.borrow_mut();
        let answer = ask(mechanism.as_mut()).and_then(|ns| {
            let too_long = || {
                Stop::of_policy(format!("{} told of {ns} ns: expected at most {}", mechanism.name(), OWN_TIME_NS.most))
            };
            (ns <= OWN_TIME_NS.most).then_some(ns).ok_or_else(too_long)
        });
        answer.unwrap_or_else(|why| {
            *stop = Some(Broken { why, at, about });
            0
        })
    }
}

impl Mechanism for Own {
    has_past!();
    has_shares!();

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn command_overhead_ns(&self) -> u64 {
        0
    }

    fn locate(&self, request: &Request) -> Location {
        let Location { cylinder, slot } = self.shares.location(request.lbn);
        Location { cylinder, slot: slot * 2 + u32::from(request.op == Op::Write) }
    }

    /// No place is known to be out of reach.
    fn cylinder_bound_ns(&self, now: Time, _cylinder: u32) -> u64 {
        self.wake_ns(now)
    }

    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        let wake_ns = self.wake_ns(now);
        let lbn = self.shares.lbn(Location { slot: location.slot / 2, ..location });
        let read = location.slot.is_multiple_of(2);
        let ready = now + wake_ns;
        let about = About::Place { lbn, read };
        wake_ns + self.asked(ready, about, |mechanism| mechanism.positioning_ns(ready, lbn, read))
    }

    fn serve(&mut self, now: Time, request: &Request) -> Service {
        debug_assert!(request.blocks > 0 && request.end_lbn() <= self.capacity_blocks(), "{request:?}");
        debug_assert!(self.past.end() <= now, "the device serves until {:?}", self.past.end());
        let about = About::Served(*request);
        let (lbn, read) = (request.lbn, request.op == Op::Read);
        let startup_ns = self.past.wake(now);
        let ready = now + startup_ns;
        let seek_ns = self.asked(ready, about, |mechanism| mechanism.positioning_ns(ready, lbn, read));
        let there = ready + seek_ns;
        let transfer_ns = self.asked(there, about, |mechanism| mechanism.serve(there, request));
        let end = there + transfer_ns;
        let phases = Phases { startup_ns, seek_ns, seek_x_ns: seek_ns, transfer_ns, ..Phases::default() };
        let work = [
            Work { op: request.op, state: State::Seek, from: ready, to: there },
            Work { op: request.op, state: State::Data, from: there, to: end },
        ];
        self.next_lbn = request.end_lbn();
        Service { start: now, end, free: end, phases, energy: self.past.does(work, now, startup_ns) }
    }

    fn is_own(&self) -> bool {
        true
    }

    fn stop(&self, waiting: &[Request]) -> Option<Stop> {
        let stop = self.stop.borrow();
        let Broken { why, at, about } = stop.as_ref()?;
        let (with, request) = about.told(waiting);
        Some(why.at(Role::Device, *at, &with, request))
    }

    fn is_broken(&self) -> bool {
        self.stop.borrow().is_some()
    }
}
