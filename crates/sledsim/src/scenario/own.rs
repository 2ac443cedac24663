//! Policies of one's own: what a scenario says of them, and the door through which whoever uses the simulator brings them in;
//! devices that are made from drawings come through it too.
//!
//! A scenario names a policy; a [`Door`] of the [`Catalog`](super::Catalog) finds it, checks its parameters and makes it. The
//! simulator knows neither the language that it is written in nor how it is loaded.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::specs::system::SystemSpec;
use crate::devices::Device;
use crate::fault::{self, Fault, Faults, Kind};
use crate::schedulers::{self, Own, OwnPolicy, Scheduler, SchedulerSpec};

/// The keys that say where a policy of one's own is: it has one of them.
pub(super) const DOORS: [&str; 3] = ["python", "library", "address"];

/// Keys of a policy of one's own that are not its parameters.
const KEYS: [&str; 12] = [
    "name",
    "python",
    "library",
    "address",
    "symbol",
    "arrived",
    "completed",
    "positioning",
    "state_bytes",
    "folder",
    "source",
    "parameters",
];

/// Keys that follow from where it is, and from nothing else.
const FOLLOWING: [&str; 4] = ["name", "folder", "source", "parameters"];

/// A policy of one's own: a Python class, or a compiled function. Its parameters may stand beside the other keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct OwnSpec {
    /// It is none of those that have a name here.
    pub name: OwnName,
    /// The class, and the module that it is in: `my_module:MyPolicy`. The module is looked for in the folder of the scenario,
    /// in the working folder, and where Python looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    /// A shared library: a path, from the folder of the scenario or the working folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// The address of a compiled function, as `sledsim.schedulers.compiled` gives it: of this process alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// The function of the library that picks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// The function of the library that hears of arrivals; none where it does without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrived: Option<String>,
    /// The function of the library that hears of completions; none where it does without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<String>,
    /// Whether a compiled function looks at positioning times, which take longer to find than all else; it does when absent. A
    /// class says so itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positioning: Option<bool>,
    /// What a compiled function remembers of each queue; nothing when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000_000))]
    pub state_bytes: Option<u32>,
    /// The folder in which it was found; none where Python itself found the module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// SHA-256 of the file that it was loaded from, as it was then: one that has changed since is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Its parameters, with the defaults of those not given.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    #[serde(skip)]
    #[schemars(skip)]
    opened: Option<Opened>,
}

/// What stands in the place of a listed policy's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnName {
    /// A policy of one's own.
    #[default]
    Own,
}

impl JsonSchema for OwnName {
    fn schema_name() -> Cow<'static, str> {
        "OwnName".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "string", "const": "own" })
    }
}

impl OwnSpec {
    /// What messages and reports call it.
    #[must_use]
    pub fn title(&self) -> &str {
        let named = [&self.python, &self.symbol, &self.library].into_iter().flatten().next();
        named.map_or("compiled", String::as_str)
    }

    /// Finds it and completes what the scenario says of it.
    fn open(&mut self, door: Option<&dyn Door>, base: &Path) -> Result<(), Faults> {
        let Some(door) = door else {
            let says = ": policies of one's own are brought in from Python, or by the program that uses the simulator";
            return Err(Fault::of(Kind::Unsupported, "name", self.title()).says(says).into());
        };
        let opened = door.open(self, base)?;
        let given = self.source.take().filter(|given| opened.source.as_ref() != Some(given));
        if let Some(given) = given {
            let says = format!(
                " is not that of {}, which has changed since: leave it out to take what is there now",
                self.title()
            );
            return Err(Fault::conflict("source", given).says(says).into());
        }
        (self.folder, self.source) = (opened.folder.clone(), opened.source.clone());
        self.parameters.clone_from(&opened.parameters);
        self.opened = Some(opened);
        Ok(())
    }

    fn maker(&self) -> Result<&dyn Maker, Fault> {
        let opened = self.opened.as_ref().map(|opened| opened.maker.as_ref());
        opened.ok_or_else(|| Fault::of(Kind::Unsupported, "name", self.title()).says(" has not been loaded"))
    }
}

/// Brings in from outside what a scenario names and the simulator does not have: policies, and devices made from drawings.
pub trait Door: fmt::Debug + Send + Sync {
    /// Finds a policy; relative paths start from `base`.
    ///
    /// # Errors
    /// It is not there, or its parameters are not right: by their paths in the table of the policy.
    fn open(&self, wanted: &OwnSpec, base: &Path) -> Result<Opened, Faults>;

    /// Makes the device of a drawing: its name in the catalogue and the values that the drawing decides; relative paths start
    /// from `base`.
    ///
    /// # Errors
    /// The drawing is wrong, by the paths of its keys, or no device can be made of it. Whoever has no design model makes none.
    fn drawn(&self, _drawing: &Value, _base: &Path) -> Result<Map<String, Value>, Faults> {
        Err(no_drawings().into())
    }
}

/// What is said of a drawing where nothing makes a device of it.
#[must_use]
pub fn no_drawings() -> Fault {
    let says =
        ": the Python package alone makes devices from drawings; `sledsim design --toml` writes one as a device file";
    Fault::new(Kind::Unsupported).says(says)
}

/// Makes a policy, as often as one likes.
pub trait Maker: Send + Sync {
    /// A scheduling policy to which nothing has happened yet.
    ///
    /// # Errors
    /// It can't be made.
    fn scheduler(&self) -> Result<Box<dyn OwnPolicy>, Fault>;
}

/// A policy that was found.
#[derive(Clone)]
pub struct Opened {
    /// The folder that it was found in.
    pub folder: Option<String>,
    /// SHA-256 of the file that it was loaded from.
    pub source: Option<String>,
    /// Its parameters, every one.
    pub parameters: Map<String, Value>,
    /// What makes it.
    pub maker: Arc<dyn Maker>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("source", &self.source).finish_non_exhaustive()
    }
}

impl PartialEq for Opened {
    /// What tells policies apart stands in the scenario.
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// The scheduler of a drive: one of the list, or one's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SchedulerChoice {
    /// One's own.
    Own(Box<OwnSpec>),
    /// One of the list.
    Listed(SchedulerSpec),
}

impl Default for SchedulerChoice {
    fn default() -> Self {
        Self::Listed(SchedulerSpec::default())
    }
}

impl JsonSchema for SchedulerChoice {
    /// To whoever reads the schema there is one choice.
    fn schema_name() -> Cow<'static, str> {
        SchedulerSpec::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        "sledsim::scenario::SchedulerChoice".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        with_own(SchedulerSpec::json_schema(generator), OwnSpec::json_schema(generator))
    }
}

/// The choice among listed policies, with one's own besides.
fn with_own(mut listed: Schema, mut own: Schema) -> Schema {
    // Told apart by its name, as the others are.
    own.insert("required".into(), serde_json::json!(["name"]));
    if let Some(options) = listed.get_mut("oneOf").and_then(Value::as_array_mut) {
        options.push(own.to_value());
    }
    listed
}

impl SchedulerChoice {
    /// Its name in reports.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Own(own) => own.title(),
            Self::Listed(spec) => spec.name(),
        }
    }

    /// Checks the parameters of one of the list; those of one's own have been checked when it was opened.
    ///
    /// # Errors
    /// The first parameter outside its range.
    pub fn validate(&self) -> Result<(), Faults> {
        match self {
            Self::Own(_) => Ok(()),
            Self::Listed(spec) => spec.validate(),
        }
    }

    /// The scheduler, with nothing pending, for `device`.
    ///
    /// # Errors
    /// One's own can't be made.
    pub fn build(&self, device: &dyn Device) -> Result<Box<dyn Scheduler>, Fault> {
        match self {
            Self::Own(own) => {
                let policy = own.maker().and_then(Maker::scheduler);
                Ok(Box::new(Own::new(policy.map_err(|fault| within(fault, &"scheduler".into()))?)))
            }
            Self::Listed(spec) => Ok(schedulers::build(spec, device)),
        }
    }
}

/// Gives a policy of one's own, as somebody writes it, the form that it has among the others: its name, and its parameters
/// in a table of their own. What stands for a name with a colon in it is a class.
pub(super) fn normalise(policy: Option<&mut Value>) {
    let Some(table) = policy.and_then(Value::as_object_mut) else { return };
    let is_own = match table.get("name") {
        None => DOORS.iter().any(|door| table.contains_key(*door)),
        Some(Value::String(class)) if class.contains(':') => {
            let class = class.clone();
            table.insert("python".into(), class.into());
            true
        }
        Some(name) => name == "own",
    };
    if !is_own {
        return;
    }
    table.insert("name".into(), "own".into());
    let beside: Vec<String> = table.keys().filter(|key| !KEYS.contains(&key.as_str())).cloned().collect();
    if beside.is_empty() {
        return;
    }
    let mut parameters = match table.remove("parameters") {
        Some(Value::Object(parameters)) => parameters,
        None | Some(Value::Null) => Map::new(),
        Some(other) => {
            // The check says what is wrong with it.
            table.insert("parameters".into(), other);
            return;
        }
    };
    for key in beside {
        let value = table.remove(&key).unwrap_or_default();
        parameters.insert(key, value);
    }
    table.insert("parameters".into(), parameters.into());
}

/// Makes room in a table for another policy of one's own than it names so far: what is set on top of it is a parameter.
pub(super) fn make_room(table: &mut Map<String, Value>, key: &str) {
    if DOORS.contains(&key) {
        FOLLOWING.iter().chain(&DOORS).for_each(|other| drop(table.shift_remove(*other)));
    }
}

/// Opens every policy of one's own of a system. Paths of what is wrong lead to where it was written: parameters stand beside
/// the other keys.
pub(super) fn open(system: &mut SystemSpec, door: Option<&dyn Door>, base: &Path) -> Vec<Fault> {
    let mut found = Vec::new();
    system.each_drive_mut(&"system".into(), &mut |drive, path| {
        if let SchedulerChoice::Own(own) = &mut drive.scheduler {
            let faults = own.open(door, base).err().into_iter().flatten();
            found.extend(faults.map(|fault| within(fault, &path.step("scheduler"))));
        }
    });
    found
}

pub(super) fn within(fault: Fault, place: &fault::Path) -> Fault {
    if fault.path.is_empty() {
        let mut fault = fault;
        fault.path = place.clone();
        return fault;
    }
    fault.within(place)
}
