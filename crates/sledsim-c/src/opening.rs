//! Opens sessions from scenarios.

#![allow(unsafe_code)]

use std::path::Path;
use std::sync::Arc;

use sledsim::fault::{Fault, Kind};
use sledsim::scenario::{self, BuiltIn, Catalog, Draft, Keep, Notation};

use sledsim_plugin::LibraryLoader;

use crate::codes::Error;

/// The files of the catalogue, by path.
static CATALOG: &[BuiltIn] = include!(concat!(env!("OUT_DIR"), "/catalog.rs"));

/// The workload of a session.
const SESSION_WORKLOAD: &str = "workload={kind=\"session\"}";

/// A session, and the sources of the values of its devices.
pub struct Opened {
    pub session: scenario::Session,
    pub citations: Vec<String>,
}

/// Opens a session with the system of a scenario. Relative paths start from `folder`.
pub fn open_text(
    text: &str,
    notation: Notation,
    source: &str,
    folder: &Path,
    settings: Vec<String>,
) -> Result<Opened, Error> {
    open_draft(Draft::read(text, notation, source, folder)?, folder, settings)
}

/// Opens a session with the system of a scenario that has been read.
pub fn open_draft(draft: Draft, folder: &Path, mut settings: Vec<String>) -> Result<Opened, Error> {
    settings.push(SESSION_WORKLOAD.to_owned());
    // SAFETY: `sledsim.h` says that a scenario that names a library is trusted as a program is.
    let libraries = unsafe { LibraryLoader::trusted() };
    let catalog = Catalog::default().with_built_in(CATALOG).with_loader(Arc::new(libraries));
    let resolved = draft.set(&settings).resolve(&catalog, folder)?;
    let session = resolved.session(&Keep::default())?;
    Ok(Opened { session, citations: resolved.citations().to_vec() })
}

/// Opens a session with the system of a scenario file. Its ending gives the format.
pub fn open_file(path: &Path, settings: Vec<String>) -> Result<Opened, Error> {
    let name = path.display().to_string();
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let notation = Notation::named(&extension).map_err(|fault| fault.in_file(name.as_str()))?;
    let text = scenario::text_of(path).map_err(|error| {
        Fault::new(Kind::Unreadable).says(format!("can't read the scenario: {error}")).in_file(name.as_str())
    })?;
    open_text(&text, notation, &name, path.parent().unwrap_or(Path::new("")), settings)
}
