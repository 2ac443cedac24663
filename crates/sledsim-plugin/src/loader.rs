//! Loads compiled policies: finds the functions that a scenario names.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;

use serde_json::Value;
use sledsim::fault::{Fault, Faults, Kind};
use sledsim::plugin::{Factory, Loaded, PluginLoader, PluginSpec, Role};

use crate::library::open_library;
use crate::policies::{
    CompiledMechanism, CompiledMirror, CompiledReplacement, CompiledScheduler, CompiledSpinDown, Policy,
};
use crate::raw::{Function, Memory};

/// Loads policies from shared libraries, and nothing else.
#[derive(Debug)]
pub struct LibraryLoader {
    _trusted: (),
}

impl LibraryLoader {
    /// Returns a loader of the shared libraries that scenarios name.
    ///
    /// # Safety
    /// Scenarios resolved with this loader are trusted as programs are. Every library that they name has sound initialisers. Every
    /// function that they name has the signature that `sledsim_policy.h` gives for its key and role, may be called from any thread,
    /// reads only what its argument points to, writes only to the `state` there, keeps no pointer and does not unwind.
    pub unsafe fn trusted() -> Self {
        Self { _trusted: () }
    }
}

impl PluginLoader for LibraryLoader {
    fn load(&self, role: Role, spec: &PluginSpec, base: &Path) -> Result<Loaded, Faults> {
        let Some(name) = &spec.library else {
            let says = ": Python classes need the Python package; here a custom policy is a library with a symbol";
            return Err(Fault::of(Kind::Unsupported, spec.location_key(), spec.title()).says(says).into());
        };
        let keys = [("python", spec.python.is_some()), ("library", true), ("address", spec.address.is_some())];
        let keys: Vec<&str> = keys.iter().filter(|(_, is_given)| *is_given).map(|(key, _)| *key).collect();
        if keys.len() > 1 {
            let says = format!(": a policy has {}, not both", keys.join(" or "));
            return Err(Fault::at(Kind::Conflict, keys[1]).says(says).into());
        }
        let (path, folder) = locate_library(name, spec.folder.as_deref(), base)?;
        // SAFETY: the caller of `trusted` guarantees that the library's initialisers are sound.
        let opened = unsafe { open_library(&path) };
        let (library, digest) = opened
            .map_err(|error| whole_sentence(Fault::of(Kind::Unreadable, "library", name.as_str()).says(error)))?;
        let address = |key: &str, symbol: &Option<String>| -> Result<Option<NonNull<c_void>>, Fault> {
            let Some(symbol) = symbol else { return Ok(None) };
            let missing = || {
                let says = format!("no function {symbol} in {}", path.display());
                whole_sentence(Fault::of(Kind::UnknownName, key, symbol.as_str()).says(says))
            };
            library.address_of(symbol).ok_or_else(missing).map(Some)
        };
        let settings = Settings::new(role, spec)?;
        let decide = address("symbol", &spec.symbol)?
            .ok_or_else(|| Fault::missing("symbol").says(": the function of the library that makes the decision"))?;
        let arrived = address("arrived", &spec.arrived)?;
        let completed = address("completed", &spec.completed)?;
        // SAFETY: the library stays open until the process ends, and the caller of `trusted` guarantees the rest.
        let factory = unsafe { settings.factory(role, Addresses { decide, arrived, completed }) };
        let (folder, source) = (Some(folder.display().to_string()), Some(digest));
        Ok(Loaded { folder, source, parameters: spec.parameters.clone(), factory })
    }
}

/// Returns the compiled policy whose function is at an address of this process.
///
/// # Errors
/// The address is 0, a parameter is not a number, or a key belongs to another role.
///
/// # Safety
/// A function is at `address` until the process ends. It has the signature that `sledsim_policy.h` gives for the role, may be called
/// from any thread, reads only what its argument points to, writes only to the `state` there, keeps no pointer and does not unwind.
pub unsafe fn at_address(role: Role, spec: &PluginSpec, address: usize) -> Result<Loaded, Faults> {
    let settings = Settings::new(role, spec)?;
    let decide = NonNull::new(address as *mut c_void)
        .ok_or_else(|| Fault::of(Kind::OutOfRange, "address", 0).says(": expected the address of a function"))?;
    // SAFETY: as the caller guarantees.
    let factory = unsafe { settings.factory(role, Addresses { decide, arrived: None, completed: None }) };
    Ok(Loaded { folder: None, source: None, parameters: spec.parameters.clone(), factory })
}

/// Marks the words of a fault as the whole message.
fn whole_sentence(mut fault: Fault) -> Fault {
    fault.message_is_complete = true;
    fault
}

/// Returns the path of a library, and the folder that it is relative to: that of the scenario, or the working folder.
fn locate_library(name: &str, known: Option<&str>, base: &Path) -> Result<(PathBuf, PathBuf), Fault> {
    let mut folders: Vec<PathBuf> = match known {
        Some(folder) => vec![folder.into()],
        None => vec![base.to_owned(), PathBuf::new()],
    };
    // An empty path stands for the working folder.
    folders.iter_mut().filter(|folder| folder.as_os_str().is_empty()).for_each(|folder| *folder = PathBuf::from("."));
    folders.dedup();
    let there = folders.iter().find(|folder| folder.join(name).is_file());
    if let Some(folder) = there.and_then(|folder| folder.canonicalize().ok()) {
        return Ok((folder.join(name), folder));
    }
    let places: Vec<String> = folders.iter().map(|folder| folder.join(name).display().to_string()).collect();
    let says = format!("no library {name}: looked for {}", places.join(", "));
    Err(whole_sentence(Fault::of(Kind::Unreadable, "library", name).says(says)))
}

/// Addresses of the functions of a policy.
struct Addresses {
    decide: NonNull<c_void>,
    arrived: Option<NonNull<c_void>>,
    completed: Option<NonNull<c_void>>,
}

/// A compiled policy without its functions.
struct Settings {
    policy: Policy,
    uses_positioning: bool,
    slot_bytes: usize,
}

impl Settings {
    /// Reads the settings of a policy; parameters are in the order of their names.
    ///
    /// # Errors
    /// A parameter is not a number, or a key belongs to another role.
    fn new(role: Role, spec: &PluginSpec) -> Result<Self, Faults> {
        let no_number = |(name, value): (&String, &Value)| {
            let allowed = "a number: compiled policies have no others";
            (!value.is_number()).then(|| Fault::wrong_type(name.as_str(), value.clone(), allowed))
        };
        let mut faults: Vec<Fault> = spec.parameters.iter().filter_map(no_number).collect();
        let takes_hooks = matches!(role, Role::Scheduler | Role::Mirror);
        let keys = [
            ("arrived", spec.arrived.is_some(), takes_hooks, Role::Scheduler),
            ("completed", spec.completed.is_some(), takes_hooks, Role::Scheduler),
            ("positioning", spec.positioning.is_some(), takes_hooks, Role::Scheduler),
            ("slot_bytes", spec.slot_bytes.is_some(), role == Role::Replacement, Role::Replacement),
        ];
        faults.extend(keys.iter().filter(|(_, is_given, is_taken, _)| *is_given && !is_taken).map(
            |(key, .., other)| {
                let says = format!(": is of a compiled {}, not of a {}", other.name(), role.name());
                Fault::at(Kind::Conflict, *key).says(says)
            },
        ));
        if !faults.is_empty() {
            return Err(faults.into_iter().collect());
        }
        let mut numbers: Vec<(&String, f64)> =
            spec.parameters.iter().filter_map(|(name, value)| Some((name, value.as_f64()?))).collect();
        numbers.sort_by_key(|(name, _)| *name);
        let numbers = numbers.into_iter().map(|(_, number)| number).collect();
        let memory = Memory::new(numbers, spec.state_bytes.unwrap_or(0) as usize);
        Ok(Self {
            policy: Policy { name: spec.title().to_owned(), memory },
            uses_positioning: spec.positioning != Some(false),
            slot_bytes: spec.slot_bytes.unwrap_or(0) as usize,
        })
    }

    /// Returns the policy with its functions.
    ///
    /// # Safety
    /// The functions have the signatures that `sledsim_policy.h` gives for the role, and satisfy the contract of [`Function::at`].
    unsafe fn factory(self, role: Role, addresses: Addresses) -> Arc<dyn Factory> {
        let Self { policy, uses_positioning, slot_bytes } = self;
        let Addresses { decide, arrived, completed } = addresses;
        // SAFETY: the caller guarantees the signatures for the role.
        unsafe {
            match role {
                Role::Scheduler => Arc::new(CompiledScheduler {
                    policy,
                    pick: Function::at(decide),
                    arrived: arrived.map(|address| Function::at(address)),
                    completed: completed.map(|address| Function::at(address)),
                    uses_positioning,
                }),
                Role::Mirror => Arc::new(CompiledMirror {
                    policy,
                    choose: Function::at(decide),
                    arrived: arrived.map(|address| Function::at(address)),
                    completed: completed.map(|address| Function::at(address)),
                    uses_positioning,
                }),
                Role::Replacement => {
                    Arc::new(CompiledReplacement { policy, replace: Function::at(decide), slot_bytes, slots: 0 })
                }
                Role::SpinDown => Arc::new(CompiledSpinDown { policy, rest: Function::at(decide) }),
                Role::Mechanism => Arc::new(CompiledMechanism::new(policy, Function::at(decide))),
            }
        }
    }
}
