//! Loading of plugins: the interface between the simulator and a language or library.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::contract::{CustomMechanism, CustomMirror, CustomReplacement, CustomScheduler, CustomSpinDown};
use super::spec::PluginSpec;
use crate::fault::{Fault, Faults, Kind};

/// The decision that a plugin makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The next request that a drive serves.
    Scheduler,
    /// The key that a cache evicts, and the admission of keys.
    Replacement,
    /// The copy of a mirror that serves a read.
    Mirror,
    /// The times at which an idle device enters its lower modes.
    SpinDown,
    /// The positioning and transfer times of a device.
    Mechanism,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 5] = [Self::Scheduler, Self::Replacement, Self::Mirror, Self::SpinDown, Self::Mechanism];

    /// Returns the name for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::Replacement => "replacement policy",
            Self::Mirror => "choice of a copy",
            Self::SpinDown => "spin-down policy",
            Self::Mechanism => "mechanism",
        }
    }

    /// Returns the key of a component that holds a plugin of this role.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Scheduler => "scheduler",
            Self::Replacement => "policy",
            Self::Mirror => "read",
            Self::SpinDown => "spin_down",
            Self::Mechanism => "device",
        }
    }
}

/// Loads the plugins that scenarios name, and devices made from drawings.
pub trait PluginLoader: fmt::Debug + Send + Sync {
    /// Finds a plugin for a role and checks its parameters. Relative paths start from `base`.
    ///
    /// # Errors
    /// The plugin is not found, or a parameter is wrong: with paths relative to the plugin's table.
    fn load(&self, role: Role, spec: &PluginSpec, base: &Path) -> Result<Loaded, Faults>;

    /// Returns names that select a plugin of this role in a scenario as if it were built in.
    fn names(&self, _role: Role) -> Vec<&str> {
        Vec::new()
    }

    /// Returns the device of a drawing: its name in the catalogue, the values that the drawing decides, and at `label` what
    /// headings call it. Relative paths start from `base`.
    ///
    /// # Errors
    /// A key of the drawing is wrong, no device can be made from it, or the loader does not support drawings.
    fn device_from_drawing(&self, _drawing: &Value, _base: &Path) -> Result<Map<String, Value>, Faults> {
        Err(no_drawings().into())
    }
}

/// Returns the fault of a drawing where no loader supports drawings.
#[must_use]
pub fn no_drawings() -> Fault {
    let says =
        ": the Python package alone makes devices from drawings; `sledsim design --toml` writes one as a device file";
    Fault::new(Kind::Unsupported).says(says)
}

/// Makes instances of a plugin for the role that it was loaded for; the other methods return an error.
pub trait Factory: Send + Sync {
    /// Returns a new scheduling policy.
    ///
    /// # Errors
    /// It can't be made.
    fn scheduler(&self) -> Result<Box<dyn CustomScheduler>, Fault> {
        Err(wrong_role(Role::Scheduler))
    }

    /// Returns a new replacement policy for a cache with `slots` free slots.
    ///
    /// # Errors
    /// It can't be made.
    fn replacement(&self, slots: u32) -> Result<Box<dyn CustomReplacement>, Fault> {
        let _ = slots;
        Err(wrong_role(Role::Replacement))
    }

    /// Returns a new policy for the reads of a mirror.
    ///
    /// # Errors
    /// It can't be made.
    fn mirror(&self) -> Result<Box<dyn CustomMirror>, Fault> {
        Err(wrong_role(Role::Mirror))
    }

    /// Returns a new spin-down policy.
    ///
    /// # Errors
    /// It can't be made.
    fn spin_down(&self) -> Result<Box<dyn CustomSpinDown>, Fault> {
        Err(wrong_role(Role::SpinDown))
    }

    /// Returns a new mechanism.
    ///
    /// # Errors
    /// It can't be made.
    fn mechanism(&self) -> Result<Box<dyn CustomMechanism>, Fault> {
        Err(wrong_role(Role::Mechanism))
    }
}

fn wrong_role(role: Role) -> Fault {
    Fault::new(Kind::Unsupported).says(format!("the plugin is no {}", role.name()))
}

/// A plugin that was found.
#[derive(Clone)]
pub struct Loaded {
    /// The folder that it was found in.
    pub folder: Option<String>,
    /// SHA-256 of the file that it was loaded from.
    pub source: Option<String>,
    /// All parameters, including defaults.
    pub parameters: Map<String, Value>,
    /// Makes instances.
    pub factory: Arc<dyn Factory>,
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded").field("source", &self.source).finish_non_exhaustive()
    }
}

impl PartialEq for Loaded {
    /// Everything that distinguishes plugins is in their [`PluginSpec`].
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}
