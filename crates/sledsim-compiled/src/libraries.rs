//! The door to shared libraries: finds the functions that a scenario names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use sledsim::fault::{Fault, Faults, Kind};
use sledsim::own::{Door, Opened, OwnSpec, Role};

use crate::opened::opened;
use crate::policies::Compiled;
use crate::raw::{Function, Memory};

/// Brings in what is in shared libraries, and nothing else.
#[derive(Debug)]
pub struct Libraries;

impl Door for Libraries {
    fn open(&self, role: Role, wanted: &OwnSpec, base: &Path) -> Result<Opened, Faults> {
        let Some(name) = &wanted.library else {
            let says = ": only the Python package brings in classes; here a policy of one's own is in a library, with a symbol";
            return Err(Fault::of(Kind::Unsupported, wanted.door(), wanted.title()).says(says).into());
        };
        let doors = [("python", wanted.python.is_some()), ("library", true), ("address", wanted.address.is_some())];
        let doors: Vec<&str> = doors.iter().filter(|(_, is_given)| *is_given).map(|(door, _)| *door).collect();
        if doors.len() > 1 {
            let says = format!(": a policy has {}, not both", doors.join(" or "));
            return Err(Fault::at(Kind::Conflict, doors[1]).says(says).into());
        }
        let (path, folder) = found(name, wanted.folder.as_deref(), base)?;
        let unreadable = |error: String| told(Fault::of(Kind::Unreadable, "library", name.as_str()).says(error));
        let (library, digest) = opened(&path).map_err(unreadable)?;
        let function = |key: &str, symbol: &Option<String>| -> Result<Option<Function>, Fault> {
            let Some(symbol) = symbol else { return Ok(None) };
            let missing = || {
                let says = format!("no function {symbol} in {}", path.display());
                told(Fault::of(Kind::UnknownName, key, symbol.as_str()).says(says))
            };
            library.function(symbol).ok_or_else(missing).map(Some)
        };
        let policy = compiled(role, wanted)?;
        let decide = function("symbol", &wanted.symbol)?
            .ok_or_else(|| Fault::missing("symbol").says(": the function of the library that decides"))?;
        let (arrived, completed) = (function("arrived", &wanted.arrived)?, function("completed", &wanted.completed)?);
        let policy = Compiled { decide, arrived, completed, ..policy };
        let (folder, source) = (Some(folder.display().to_string()), Some(digest));
        Ok(Opened { folder, source, parameters: wanted.parameters.clone(), maker: Arc::new(policy) })
    }
}

/// What is at an address of this process, which whoever hands it in keeps in place.
///
/// # Errors
/// Its parameters are no numbers, or a key is of another role.
pub fn at_address(role: Role, wanted: &OwnSpec, address: usize) -> Result<Opened, Faults> {
    let policy = Compiled { decide: Function(address), ..compiled(role, wanted)? };
    let parameters = wanted.parameters.clone();
    Ok(Opened { folder: None, source: None, parameters, maker: Arc::new(policy) })
}

/// A fault whose words are the whole sentence.
fn told(mut fault: Fault) -> Fault {
    fault.told = true;
    fault
}

/// A library's file, and the folder from which its path starts: that of the scenario, or the working folder.
fn found(name: &str, known: Option<&str>, base: &Path) -> Result<(PathBuf, PathBuf), Fault> {
    let mut folders: Vec<PathBuf> = match known {
        Some(folder) => vec![folder.into()],
        None => vec![base.to_owned(), PathBuf::new()],
    };
    // What starts nowhere starts from the working folder.
    folders.iter_mut().filter(|folder| folder.as_os_str().is_empty()).for_each(|folder| *folder = PathBuf::from("."));
    folders.dedup();
    let there = folders.iter().find(|folder| folder.join(name).is_file());
    if let Some(folder) = there.and_then(|folder| folder.canonicalize().ok()) {
        return Ok((folder.join(name), folder));
    }
    let places: Vec<String> = folders.iter().map(|folder| folder.join(name).display().to_string()).collect();
    let says = format!("no library {name}: looked for {}", places.join(", "));
    Err(told(Fault::of(Kind::Unreadable, "library", name).says(says)))
}

/// A policy whose functions are still to be found, with the parameters in the order of their names.
fn compiled(role: Role, wanted: &OwnSpec) -> Result<Compiled, Faults> {
    let no_number = |(name, value): (&String, &Value)| {
        let allowed = "a number: compiled policies have no others";
        (!value.is_number()).then(|| Fault::wrong_type(name.as_str(), value.clone(), allowed))
    };
    let mut faults: Vec<Fault> = wanted.parameters.iter().filter_map(no_number).collect();
    let takes_hooks = matches!(role, Role::Scheduler | Role::Mirror);
    let keys = [
        ("arrived", wanted.arrived.is_some(), takes_hooks, Role::Scheduler),
        ("completed", wanted.completed.is_some(), takes_hooks, Role::Scheduler),
        ("positioning", wanted.positioning.is_some(), takes_hooks, Role::Scheduler),
        ("slot_bytes", wanted.slot_bytes.is_some(), role == Role::Replacement, Role::Replacement),
    ];
    faults.extend(keys.iter().filter(|(_, is_given, is_taken, _)| *is_given && !is_taken).map(|(key, .., other)| {
        let says = format!(": is of a compiled {}, not of a {}", other.name(), role.name());
        Fault::at(Kind::Conflict, *key).says(says)
    }));
    if !faults.is_empty() {
        return Err(faults.into_iter().collect());
    }
    let mut numbers: Vec<(&String, f64)> =
        wanted.parameters.iter().filter_map(|(name, value)| Some((name, value.as_f64()?))).collect();
    numbers.sort_by_key(|(name, _)| *name);
    let numbers = numbers.into_iter().map(|(_, number)| number).collect();
    Ok(Compiled {
        name: wanted.title().to_owned(),
        positioning: wanted.positioning != Some(false),
        decide: Function(0),
        arrived: None,
        completed: None,
        memory: Memory::new(numbers, wanted.state_bytes.unwrap_or(0) as usize),
        slot_bytes: wanted.slot_bytes.unwrap_or(0) as usize,
    })
}
