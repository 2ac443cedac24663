//! What a scenario says of a policy of one's own, and the door through which it is brought in.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::contract::{OwnDevice, OwnReplacement, OwnScheduler};
use super::mirror::OwnMirror;
use super::spin_down::OwnSpinDown;
use crate::fault::{Fault, Faults, Kind};

/// The keys that say where a policy of one's own is: it has one of them.
pub(crate) const DOORS: [&str; 4] = ["python", "library", "address", "rust"];

/// Keys of a policy of one's own that are not its parameters.
pub(crate) const KEYS: [&str; 14] = [
    "name",
    "python",
    "library",
    "address",
    "rust",
    "symbol",
    "arrived",
    "completed",
    "positioning",
    "state_bytes",
    "slot_bytes",
    "folder",
    "source",
    "parameters",
];

/// Keys that follow from where it is, and from nothing else.
pub(crate) const FOLLOWING: [&str; 4] = ["name", "folder", "source", "parameters"];

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
    /// One of the parts that a crate in Rust brings in, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rust: Option<String>,
    /// The function of the library that decides.
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
    /// What a compiled function remembers of each queue, cache, mirror or device; nothing when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000_000))]
    pub state_bytes: Option<u32>,
    /// What a compiled replacement policy remembers of each slot of its cache, besides; nothing when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_000_000))]
    pub slot_bytes: Option<u32>,
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
        let named = [&self.python, &self.rust, &self.symbol, &self.library].into_iter().flatten().next();
        named.map_or("compiled", String::as_str)
    }

    /// Finds it and completes what the scenario says of it.
    ///
    /// # Errors
    /// It is not there, its parameters are not right, or nobody brings policies in.
    pub fn open(&mut self, role: Role, door: Option<&dyn Door>, base: &Path) -> Result<(), Faults> {
        let Some(door) = door else {
            let says = ": policies of one's own are brought in from Python, or by the program that uses the simulator";
            return Err(Fault::of(Kind::Unsupported, "name", self.title()).says(says).into());
        };
        let opened = door.open(role, self, base)?;
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

    /// The key that says where it is; that of a class where none does.
    #[must_use]
    pub fn door(&self) -> &'static str {
        match self {
            Self { rust: Some(_), .. } => "rust",
            Self { library: Some(_), .. } => "library",
            Self { address: Some(_), .. } => "address",
            _ => "python",
        }
    }

    /// Whether it has been opened.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.opened.is_some()
    }

    /// What makes it, once it has been opened.
    ///
    /// # Errors
    /// It has not been.
    pub fn maker(&self) -> Result<&dyn Maker, Fault> {
        let opened = self.opened.as_ref().map(|opened| opened.maker.as_ref());
        opened.ok_or_else(|| Fault::of(Kind::Unsupported, "name", self.title()).says(" has not been loaded"))
    }
}

/// What a policy of one's own decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Which pending request a drive serves next.
    Scheduler,
    /// Which key leaves a cache, and whether one comes in.
    Replacement,
    /// Which copy of a mirror serves a read.
    Mirror,
    /// When a device without work enters its lower modes.
    SpinDown,
    /// How long a device takes to position and to transfer.
    Device,
}

impl Role {
    /// Its name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::Replacement => "replacement policy",
            Self::Mirror => "choice of a copy",
            Self::SpinDown => "spin-down policy",
            Self::Device => "mechanism",
        }
    }

    /// The key of a component that names it.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::Replacement => "policy",
            Self::Mirror => "read",
            Self::SpinDown => "spin_down",
            Self::Device => "device",
        }
    }
}

/// Brings in from outside what a scenario names and the simulator does not have: policies, and devices made from drawings.
pub trait Door: fmt::Debug + Send + Sync {
    /// Finds a policy for a role; relative paths start from `base`.
    ///
    /// # Errors
    /// It is not there, or its parameters are not right: by their paths in the table of the policy.
    fn open(&self, role: Role, wanted: &OwnSpec, base: &Path) -> Result<Opened, Faults>;

    /// Names by which a scenario may name what it brings in for a role, as it names what the simulator has.
    fn names(&self, _role: Role) -> Vec<&str> {
        Vec::new()
    }

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

/// Makes a policy of the role that it was opened for, as often as one likes.
pub trait Maker: Send + Sync {
    /// A scheduling policy to which nothing has happened yet.
    ///
    /// # Errors
    /// It can't be made.
    fn scheduler(&self) -> Result<Box<dyn OwnScheduler>, Fault> {
        Err(of_another_role(Role::Scheduler))
    }

    /// A replacement policy for a cache of so many slots, all free.
    ///
    /// # Errors
    /// It can't be made.
    fn replacement(&self, slots: u32) -> Result<Box<dyn OwnReplacement>, Fault> {
        let _ = slots;
        Err(of_another_role(Role::Replacement))
    }

    /// A choice of a mirror's copy to which nothing has happened yet.
    ///
    /// # Errors
    /// It can't be made.
    fn mirror(&self) -> Result<Box<dyn OwnMirror>, Fault> {
        Err(of_another_role(Role::Mirror))
    }

    /// A spin-down policy to which nothing has happened yet.
    ///
    /// # Errors
    /// It can't be made.
    fn spin_down(&self) -> Result<Box<dyn OwnSpinDown>, Fault> {
        Err(of_another_role(Role::SpinDown))
    }

    /// A mechanism that has served nothing yet.
    ///
    /// # Errors
    /// It can't be made.
    fn device(&self) -> Result<Box<dyn OwnDevice>, Fault> {
        Err(of_another_role(Role::Device))
    }
}

fn of_another_role(role: Role) -> Fault {
    Fault::new(Kind::Unsupported).says(format!("the policy is no {}", role.name()))
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
