//! Runs scenarios from settings, with the catalogue.

use std::path::{Path, PathBuf};

use sledsim::scenario::{self, Notation, RunOutput, Scenario};

use crate::scenarios::catalog;

/// Returns the scenario of `settings` (`path=value`).
pub fn scenario<S: AsRef<str>>(settings: &[S]) -> Scenario {
    let settings: Vec<String> = settings.iter().map(|setting| setting.as_ref().to_owned()).collect();
    scenario::resolve("", Notation::Toml, "test", &settings, &catalog(), Path::new("."))
        .unwrap_or_else(|error| panic!("{settings:?}: {error}"))
        .into_scenario()
}

/// Runs the scenario of `settings`; keeps the request log if `log`.
pub fn run<S: AsRef<str>>(settings: &[S], log: bool) -> RunOutput {
    let scenario = scenario(settings);
    scenario::run(&scenario, Vec::new(), log, &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the cells of the table in docs/reference/validation.md whose header starts with `| {heading} |`, by row.
pub fn documented(heading: &str) -> Vec<Vec<String>> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/validation.md");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut rows = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if !line.starts_with('|') {
            inside = false;
        } else if cells(line)[0] == heading {
            inside = true;
        } else if inside && !line.starts_with("| ---") {
            rows.push(cells(line));
        }
    }
    assert!(!rows.is_empty(), "docs/reference/validation.md has no table headed {heading:?}");
    rows
}
