//! From a scenario to a session.

#![allow(unsafe_code)]

use std::path::Path;
use std::sync::Arc;

use sledsim::fault::{Fault, Kind};
use sledsim::scenario::{self, BuiltIn, Catalog, Draft, Keep, Notation};

use sledsim_compiled::Libraries;

use crate::codes::Refusal;

/// The catalogue's files, by their paths in it.
static CATALOG: &[BuiltIn] = include!(concat!(env!("OUT_DIR"), "/catalog.rs"));

/// What stands in the place of a workload.
const FROM_OUTSIDE: &str = "workload={kind=\"session\"}";

/// A session, and the works that the values of its devices are taken from.
pub type Opened = (scenario::Session, Vec<String>);

/// A session with the system of a scenario, to which nothing has happened yet.
pub fn open(
    text: &str,
    notation: Notation,
    source: &str,
    folder: &Path,
    settings: Vec<String>,
) -> Result<Opened, Refusal> {
    open_draft(Draft::read(text, notation, source, folder)?, folder, settings)
}

/// The same of a scenario that has been read.
pub fn open_draft(draft: Draft, folder: &Path, mut settings: Vec<String>) -> Result<Opened, Refusal> {
    settings.push(FROM_OUTSIDE.to_owned());
    // SAFETY: `sledsim.h` says that a scenario that names a library is trusted as a program is.
    let libraries = unsafe { Libraries::trusted() };
    let catalog = Catalog::default().with_built_in(CATALOG).with_door(Arc::new(libraries));
    let resolved = draft.set(&settings).resolve(&catalog, folder)?;
    let session = resolved.session(&Keep::default())?;
    Ok((session, resolved.citations().to_vec()))
}

/// The same of a file.
pub fn open_file(path: &Path, settings: Vec<String>) -> Result<Opened, Refusal> {
    let name = path.display().to_string();
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let notation = Notation::named(&ending).map_err(|fault| fault.in_file(name.as_str()))?;
    let text = scenario::text_of(path).map_err(|error| {
        Fault::new(Kind::Unreadable).says(format!("the scenario can't be read: {error}")).in_file(name.as_str())
    })?;
    open(&text, notation, &name, path.parent().unwrap_or(Path::new("")), settings)
}
