//! Output of an import: device files and scenarios as TOML, with the source of every value.

use sledsim::fault::printable;
use sledsim::scenario::Commented;

use super::draft::Origin;
use super::import::{Entry, Import, Note};

impl Import {
    /// Returns the device as a device file: TOML with the unit and source of each value, and comments on parameters that are not carried over.
    #[must_use]
    pub fn device_toml(&self) -> String {
        let mut file = self.heading();
        file.key("title", printable(&self.name));
        file.key("mechanism", self.device.mechanism());
        file.key("description", format!("Read from {} of DiskSim 4.0.", self.file));
        file.key("citations", Vec::<String>::new());
        for entry in &self.entries {
            file.table(&format!("values.{}", entry.key));
            file.key("value", entry.value.clone());
            file.key("unit", entry.unit.as_str());
            file.key("source", entry.from.first().map_or(self.file.as_str(), |from| &from.file));
            file.key("where", printable(&place_of(entry)));
            file.key("kind", kind(entry.origin));
            if let Some(note) = &entry.note {
                file.key("note", printable(note));
            }
        }
        self.write_idle(&mut file);
        file.to_string()
    }

    /// Returns the scenario with the device; `None` if only the device was imported.
    #[must_use]
    pub fn scenario_toml(&self) -> Option<String> {
        if self.settings.is_empty() {
            return None;
        }
        let mut file = self.heading();
        file.key("title", printable(&format!("{}, from {} of DiskSim", self.name, self.file)));
        let missing = self.notes.iter().filter(|note| note.decides);
        let missing: Vec<String> =
            missing.map(|note| printable(&format!("{}, {}", given(note), note.reason))).collect();
        if !missing.is_empty() {
            file.comment("It decides results: a run needs accept_missing = true here, or --set accept_missing=true.");
            file.key("missing", missing);
        }
        let mut section = |header: &str, keys: &[&str]| {
            let found: Vec<&Entry> = self.settings.iter().filter(|entry| keys.contains(&&*entry.key)).collect();
            if !header.is_empty() && !found.is_empty() {
                file.table(header);
            }
            found.into_iter().for_each(|entry| setting(&mut file, entry));
        };
        section("", &["seed"]);
        section("workload", &["arrival", "size_bytes", "location", "range", "read_fraction"]);
        section("system", &["scheduler"]);
        section("run", &["requests", "time_s", "warmup_requests", "warmup_s"]);
        file.table("system.device");
        file.key("name", printable(&self.name));
        file.key("mechanism", self.device.mechanism());
        self.entries.iter().for_each(|entry| setting(&mut file, entry));
        self.write_idle(&mut file);
        Some(file.to_string())
    }

    /// Returns a summary of the parameters that are not carried over: those that change results, with their values, and the number of those
    /// without effect.
    #[must_use]
    pub fn listing(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (reason, notes) in self.by_reason(true) {
            lines.push(format!("{LOST}: {reason}"));
            lines.extend(notes.into_iter().map(listed));
        }
        let idle = self.notes.iter().filter(|note| !note.changes_results).count();
        if idle > 0 {
            lines.push(format!("{IDLE}: {idle} parameters, which remarks in what is written name"));
        }
        lines
    }

    /// Returns the notes of one kind by reason, in the order of the files.
    fn by_reason(&self, changes_results: bool) -> Vec<(String, Vec<&Note>)> {
        let mut reasons: Vec<(String, Vec<&Note>)> = Vec::new();
        for note in self.notes.iter().filter(|note| note.changes_results == changes_results) {
            let reason = printable(&note.reason);
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, notes)) => notes.push(note),
                None => reasons.push((reason, vec![note])),
            }
        }
        reasons
    }

    /// Returns a document with its introductory comments.
    fn heading(&self) -> Commented {
        let mut file = Commented::default();
        file.comment(&format!("Read from {} of DiskSim 4.0 by sledsim import.", self.file));
        for (reason, notes) in self.by_reason(true) {
            file.comment(&format!("{LOST}: {reason}"));
            notes.into_iter().for_each(|note| file.comment(&listed(note)));
        }
        file.gap();
        file
    }

    fn write_idle(&self, file: &mut Commented) {
        for (reason, notes) in self.by_reason(false) {
            file.gap();
            file.comment(&format!("{IDLE}: {reason}"));
            notes.into_iter().for_each(|note| file.comment(&listed(note)));
        }
    }
}

const LOST: &str = "NOT CARRIED OVER, changes results";
const IDLE: &str = "no effect here";

fn listed(note: &Note) -> String {
    format!("  {}:{}: {}", note.file, note.line, printable(&given(note)))
}

fn given(note: &Note) -> String {
    let value = if note.value.is_empty() { String::new() } else { format!(" = {}", note.value) };
    format!("{}{value}", note.name)
}

fn setting(file: &mut Commented, entry: &Entry) {
    let mut comment = place_of(entry);
    if let Some(note) = &entry.note {
        comment = if comment.is_empty() { note.clone() } else { format!("{comment}; {note}") };
    }
    file.comment(&comment);
    file.key(&entry.key, entry.value.clone());
}

/// Returns the files, lines and parameters that a value comes from.
fn place_of(entry: &Entry) -> String {
    let shown = |from: &super::Source| format!("{}:{} {}", from.file, from.line, from.parameter);
    match entry.from.as_slice() {
        [] => String::new(),
        // Of many zones, only the first and the last are listed.
        [first, .., last] if entry.from.len() > 6 => format!("{} to {}", shown(first), shown(last)),
        all => all.iter().map(shown).collect::<Vec<_>>().join(", "),
    }
}

const fn kind(origin: Origin) -> &'static str {
    match origin {
        Origin::Published => "published",
        Origin::Derived => "derived",
        Origin::Assumed => "assumed",
    }
}
