//! Device files and scenarios, as TOML with the place of every value.

use std::fmt::Write;

use serde_json::Value as Json;

use super::draft::Origin;
use super::import::{Entry, Import, Note};
use super::sources::printable;

/// Widest line of a list; longer lists have a line for each item.
const WIDTH: usize = 100;

impl Import {
    /// The device as a device file: TOML, each value with its unit and source, and comments on what is not carried over.
    #[must_use]
    pub fn device_toml(&self) -> String {
        let mut text = self.heading();
        line(&mut text, &format!("title = {}", quoted(&self.name)));
        line(&mut text, &format!("mechanism = {}", quoted(self.mechanism())));
        let origin = format!("Read from {} of DiskSim 4.0.", self.file);
        line(&mut text, &format!("description = {}", quoted(&origin)));
        line(&mut text, "citations = []");
        for entry in &self.entries {
            line(&mut text, &format!("\n[values.{}]", entry.key));
            line(&mut text, &format!("value = {}", value(&entry.value)));
            line(&mut text, &format!("unit = {}", quoted(&entry.unit)));
            line(&mut text, &format!("source = {}", quoted(entry.from.first().map_or(&self.file, |from| &from.file))));
            line(&mut text, &format!("where = {}", quoted(&place_of(entry))));
            line(&mut text, &format!("kind = {}", quoted(kind(entry.origin))));
            if let Some(note) = &entry.note {
                line(&mut text, &format!("note = {}", quoted(note)));
            }
        }
        self.write_idle(&mut text);
        text
    }

    /// The scenario, with the device in it; none where only the device was asked for.
    #[must_use]
    pub fn scenario_toml(&self) -> Option<String> {
        if self.settings.is_empty() {
            return None;
        }
        let mut text = self.heading();
        line(&mut text, &format!("title = {}", quoted(&format!("{}, from {} of DiskSim", self.name, self.file))));
        let mut section = |header: &str, keys: &[&str]| {
            let found: Vec<&Entry> = self.settings.iter().filter(|entry| keys.contains(&&*entry.key)).collect();
            if !header.is_empty() && !found.is_empty() {
                line(&mut text, &format!("\n[{header}]"));
            }
            found.into_iter().for_each(|entry| setting(&mut text, entry));
        };
        section("", &["seed"]);
        section("workload", &["arrival", "size_bytes", "location", "range", "read_fraction"]);
        section("system", &["scheduler"]);
        section("run", &["requests", "time_s", "warmup_requests", "warmup_s"]);
        line(&mut text, "\n[system.device]");
        line(&mut text, &format!("name = {}", quoted(&self.name)));
        line(&mut text, &format!("mechanism = {}", quoted(self.mechanism())));
        self.entries.iter().for_each(|entry| setting(&mut text, entry));
        self.write_idle(&mut text);
        Some(text)
    }

    /// What is not carried over, for a reader at a terminal: first what changes results, with its values; then, a line for
    /// each reason and file, what has no effect.
    #[must_use]
    pub fn listing(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (reason, notes) in self.by_reason(true) {
            lines.push(format!("{LOST}: {reason}"));
            lines.extend(notes.into_iter().map(listed));
        }
        for (reason, notes) in self.by_reason(false) {
            lines.push(format!("{IDLE}: {reason}"));
            for of_file in notes.chunk_by(|a, b| a.file == b.file) {
                let names: Vec<String> =
                    of_file.iter().map(|note| format!("{} {}", note.line, printable(&note.name))).collect();
                lines.push(format!("  {}: {}", of_file[0].file, names.join(", ")));
            }
        }
        lines
    }

    /// Notes of one kind by their reasons, in the order of the files.
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

    /// What a reader has to know first.
    fn heading(&self) -> String {
        let mut text = format!("# Read from {} of DiskSim 4.0 by sledsim import disksim.\n", self.file);
        for (reason, notes) in self.by_reason(true) {
            line(&mut text, &format!("# {LOST}: {reason}"));
            notes.into_iter().for_each(|note| line(&mut text, &format!("# {}", listed(note))));
        }
        text + "\n"
    }

    fn write_idle(&self, text: &mut String) {
        for (reason, notes) in self.by_reason(false) {
            line(text, &format!("\n# {IDLE}: {reason}"));
            notes.into_iter().for_each(|note| line(text, &format!("# {}", listed(note))));
        }
    }
}

const LOST: &str = "NOT CARRIED OVER, changes results";
const IDLE: &str = "no effect here";

fn listed(note: &Note) -> String {
    let given = if note.value.is_empty() { String::new() } else { format!(" = {}", note.value) };
    format!("  {}:{}: {}", note.file, note.line, printable(&format!("{}{given}", note.name)))
}

fn setting(text: &mut String, entry: &Entry) {
    let mut comment = place_of(entry);
    if let Some(note) = &entry.note {
        comment = if comment.is_empty() { note.clone() } else { format!("{comment}; {note}") };
    }
    line(text, &format!("# {}", printable(&comment)));
    line(text, &format!("{} = {}", entry.key, value(&entry.value)));
}

/// The files, lines and parameters that give a value.
fn place_of(entry: &Entry) -> String {
    let shown = |from: &super::Source| format!("{}:{} {}", from.file, from.line, from.parameter);
    match entry.from.as_slice() {
        [] => String::new(),
        // Of many zones the first and the last tell where they are.
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

fn line(text: &mut String, content: &str) {
    text.push_str(content);
    text.push('\n');
}

/// A text in quotation marks; JSON's way of writing one is one of TOML's.
fn quoted(text: &str) -> String {
    Json::from(printable(text)).to_string()
}

/// A value; a long list has a line for each of its items.
fn value(json: &Json) -> String {
    match json {
        Json::Array(items) if items.iter().map(|item| inline(item).len() + 2).sum::<usize>() > WIDTH => {
            let items: String = items.iter().fold(String::new(), |mut lines, item| {
                let _ = writeln!(lines, "    {},", inline(item));
                lines
            });
            format!("[\n{items}]")
        }
        other => inline(other),
    }
}

fn inline(json: &Json) -> String {
    match json {
        Json::Object(table) => {
            let keys = table.iter().filter(|(_, value)| !value.is_null());
            let keys: Vec<String> = keys.map(|(key, value)| format!("{key} = {}", inline(value))).collect();
            format!("{{ {} }}", keys.join(", "))
        }
        Json::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Json::String(text) => quoted(text),
        other => other.to_string(),
    }
}
