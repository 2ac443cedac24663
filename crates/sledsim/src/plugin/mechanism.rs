//! The adaptor of custom mechanisms.
//!
//! A custom mechanism returns positioning and transfer times. Its layout is not known: cylinders are equal ranges of LBNs, and a
//! search by positioning time considers every request.

use std::borrow::Cow;
use std::cell::RefCell;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::contract::CustomMechanism;
use super::{describe_request, PluginSpec, Role};
use crate::devices::equal_cylinders::EqualCylinders;
use crate::devices::history::ActivityHistory;
use crate::devices::power_manager::Work;
use crate::devices::{Coordinates, Dimensions, EnergyLedger, Location, Mechanism, Phases, Powered, Service, State};
use crate::engine::Stop;
use crate::fault::{Fault, Kind, Range};
use crate::limits::CUSTOM_TIME_NS;
use crate::power::{PowerParameters, SpinDownSpec};
use crate::request::{Op, Request};
use crate::time::Time;

/// A device with a custom mechanism in a scenario: the keys of a [`PluginSpec`], with another `name` and with `power`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct CustomDeviceParameters {
    /// Its name in reports.
    pub name: String,
    /// Its power; not known when absent.
    pub power: Option<PowerParameters>,
    /// The location of the mechanism, and its parameters.
    pub plugin: PluginSpec,
}

impl TryFrom<Map<String, Value>> for CustomDeviceParameters {
    type Error = serde_json::Error;

    fn try_from(mut keys: Map<String, Value>) -> Result<Self, Self::Error> {
        let power = serde_json::from_value(keys.shift_remove("power").unwrap_or_default())?;
        let name = keys.insert("name".into(), "custom".into()).unwrap_or_default();
        Ok(Self { name: serde_json::from_value(name)?, power, plugin: serde_json::from_value(keys.into())? })
    }
}

impl From<CustomDeviceParameters> for Map<String, Value> {
    fn from(parameters: CustomDeviceParameters) -> Self {
        let CustomDeviceParameters { name, power, plugin } = parameters;
        let mut keys = match serde_json::to_value(plugin) {
            Ok(Value::Object(keys)) => keys,
            _ => Self::new(),
        };
        keys.insert("name".into(), name.into());
        keys.insert("power".into(), serde_json::to_value(power).unwrap_or_default());
        keys
    }
}

impl JsonSchema for CustomDeviceParameters {
    fn schema_name() -> Cow<'static, str> {
        "CustomDeviceParameters".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = PluginSpec::json_schema(generator);
        let mut power = generator.subschema_for::<Option<PowerParameters>>();
        power.insert("description".into(), "Its power; not known when absent.".into());
        power.insert("default".into(), Value::Null);
        if let Some(keys) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            keys.insert("name".into(), serde_json::json!({ "type": "string", "description": "Its name in reports." }));
            keys.insert("power".into(), power.to_value());
        }
        schema
    }
}

/// A device with a custom mechanism.
#[derive(Clone)]
pub struct CustomDevice {
    /// Calls may change the state of a plugin, so calls through `&self` are serialised.
    mechanism: RefCell<Box<dyn CustomMechanism>>,
    layout: EqualCylinders,
    history: ActivityHistory<2>,
    failure: RefCell<Option<Failure>>,
}

/// The first failure of a mechanism.
#[derive(Clone)]
struct Failure {
    why: Stop,
    at: Time,
    call: Call,
}

/// The subject of a call to a mechanism.
#[derive(Clone, Copy, PartialEq)]
enum Call {
    Request(Request),
    Positioning { lbn: u64, read: bool },
    PowerCut,
}

impl Failure {
    fn to_stop(&self) -> Stop {
        let (what, request) = match self.call {
            Call::Request(request) => (describe_request(&request), Some(request.id)),
            Call::Positioning { lbn, read } => {
                (format!("a {} of LBN {lbn}", if read { "read" } else { "write" }), None)
            }
            Call::PowerCut => ("a power cut".to_owned(), None),
        };
        self.why.located(Role::Mechanism, self.at, &what, request)
    }
}

/// Half of the slots that a [`Location`] can distinguish: a slot also encodes whether the block is to be written.
const MOST_SLOTS: u64 = 1 << 31;

impl CustomDevice {
    /// A device that has served nothing.
    ///
    /// # Errors
    /// The size is out of range, or the power parameters contradict each other.
    pub fn new(mechanism: Box<dyn CustomMechanism>, power: Option<&PowerParameters>) -> Result<Self, Fault> {
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
            layout: EqualCylinders::new(blocks, block_bytes, MOST_SLOTS),
            history: ActivityHistory::new([nothing(State::Seek), nothing(State::Data)], power)?,
            failure: RefCell::new(None),
        })
    }

    /// Sets the policy that decides when the device enters idle modes; `None`: after the time given with each mode. No effect
    /// if the power is not known.
    #[must_use]
    pub fn with_spin_down(mut self, policy: Option<&SpinDownSpec>) -> Self {
        self.history.set_policy(policy);
        self
    }

    /// Returns the time in ns that the mechanism answers; 0 after a failure.
    fn ask(&self, at: Time, call: Call, ask: impl FnOnce(&mut dyn CustomMechanism) -> Result<u64, Stop>) -> u64 {
        let mut failure = self.failure.borrow_mut();
        if failure.is_some() {
            return 0;
        }
        let mut mechanism = self.mechanism.borrow_mut();
        let answer = ask(mechanism.as_mut()).and_then(|ns| {
            let too_long = || {
                Stop::from_plugin(format!(
                    "{} returned {ns} ns: expected at most {}",
                    mechanism.name(),
                    CUSTOM_TIME_NS.most
                ))
            };
            (ns <= CUSTOM_TIME_NS.most).then_some(ns).ok_or_else(too_long)
        });
        answer.unwrap_or_else(|why| {
            *failure = Some(Failure { why, at, call });
            0
        })
    }
}

impl Mechanism for CustomDevice {
    fn dimensions(&self) -> Dimensions {
        self.layout.dimensions()
    }

    fn locate(&self, request: &Request) -> Location {
        let Location { cylinder, slot } = self.layout.location(request.lbn);
        Location { cylinder, slot: slot * 2 + u32::from(request.op == Op::Write) }
    }

    fn coordinates_m(&self, location: Location) -> Coordinates {
        self.layout.coordinates_m(location.cylinder)
    }

    fn position_m(&self, _now: Time) -> Coordinates {
        self.layout.position_m()
    }

    fn cylinder(&self, _now: Time) -> u32 {
        self.layout.cylinder()
    }

    /// No location is known to be far away.
    fn cylinder_bound_ns(&self, now: Time, _cylinder: u32) -> u64 {
        self.history.wake_ns(now)
    }

    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        let wake_ns = self.history.wake_ns(now);
        let lbn = self.layout.lbn(Location { slot: location.slot / 2, ..location });
        let read = location.slot.is_multiple_of(2);
        let ready = now + wake_ns;
        let call = Call::Positioning { lbn, read };
        wake_ns + self.ask(ready, call, |mechanism| mechanism.positioning_ns(ready, lbn, read))
    }

    fn serve(&mut self, now: Time, request: &Request) -> Service {
        debug_assert!(request.fits(self.dimensions().capacity_blocks), "{request:?}");
        debug_assert!(self.history.end() <= now, "the device serves until {:?}", self.history.end());
        let (lbn, read) = (request.lbn, request.op == Op::Read);
        let call = Call::Request(*request);
        if let Some(failure) = self.failure.get_mut() {
            // The scheduler's positioning call failed for this request.
            if failure.call == (Call::Positioning { lbn, read }) {
                failure.call = call;
            }
        }
        let startup_ns = self.history.wake(now);
        let ready = now + startup_ns;
        let seek_ns = self.ask(ready, call, |mechanism| mechanism.positioning_ns(ready, lbn, read));
        let there = ready + seek_ns;
        let transfer_ns = self.ask(there, call, |mechanism| mechanism.serve(there, request));
        let end = there + transfer_ns;
        let phases = Phases { startup_ns, seek_ns, seek_x_ns: seek_ns, transfer_ns, ..Phases::default() };
        let work = [
            Work { op: request.op, state: State::Seek, from: ready, to: there },
            Work { op: request.op, state: State::Data, from: there, to: end },
        ];
        self.layout.next_lbn = request.end_lbn();
        Service { start: now, end, free: end, phases, energy: self.history.add(work, now, startup_ns) }
    }

    fn ledger(&self, now: Time) -> EnergyLedger {
        self.history.ledger(now)
    }

    fn powered(&self) -> Option<&dyn Powered> {
        self.history.powered()
    }

    fn powered_mut(&mut self) -> Option<&mut dyn Powered> {
        self.history.powered_mut()
    }

    fn power_cut(&mut self, now: Time) {
        self.ask(now, Call::PowerCut, |mechanism| mechanism.power_cut(now).map(|()| 0));
    }

    fn failure(&self) -> Option<Stop> {
        self.failure.borrow().as_ref().map(Failure::to_stop)
    }
}
