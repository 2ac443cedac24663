//! Seek times: DiskSim's six seek types.

use serde_json::{json, Value as Json};
use sledsim::fault::{self, printable, Allowed, Kind, Range};

use super::draft::{Drafts, Origin};
use super::fault::{Fault, Place};
use super::model::times;
use super::sources::{OpenFile, Sources};
use super::syntax::{Block, Parameter};

/// Longest seek that the keys allow, ms.
const MAX_MS: f64 = 10_000.0;
/// Longest distance, cylinders.
const MAX_CYLINDERS: f64 = 1e9;
/// The first line of a table, before a colon and the number of lines.
const HEADER: &str = "Seek distances measured";
/// Parameters that describe seeks.
const PARAMETERS: [&str; 7] = [
    "Average seek time",
    "Constant seek time",
    "Single cylinder seek time",
    "Full strobe seek time",
    "Full seek curve",
    "First ten seek times",
    "HPL seek equation values",
];

/// Carries over the seek curve of the seek type.
pub(super) fn carry(mechanics: &Block, sources: &mut Sources, drafts: &mut Drafts) -> Result<(), Fault> {
    let kind = mechanics.need("Seek type")?;
    let name = mechanics.text("Seek type")?;
    let three = || -> Result<Json, Fault> {
        let (single, average) = (mechanics.real("Single cylinder seek time")?, mechanics.real("Average seek time")?);
        Ok(json!({"single_ms": single, "average_ms": average, "full_ms": mechanics.real("Full strobe seek time")?}))
    };
    let (mut curve, word, used): (Json, &str, &[&str]) = match name.as_str() {
        "linear" => {
            (three()?, "three-point", &["Single cylinder seek time", "Average seek time", "Full strobe seek time"])
        }
        "curve" => (three()?, "lee", &["Single cylinder seek time", "Average seek time", "Full strobe seek time"]),
        "constant" => (json!({"seek_ms": mechanics.real("Constant seek time")?}), "constant", &["Constant seek time"]),
        "hpl" => (hpl(mechanics, None)?, "hpl", &["HPL seek equation values"]),
        "hplplus10" => {
            let first = first_ten(mechanics)?;
            (hpl(mechanics, Some(first))?, "hpl", &["HPL seek equation values", "First ten seek times"])
        }
        _ => {
            let parameter = mechanics.need("Full seek curve")?;
            let points = table(&mechanics.text("Full seek curve")?, parameter, sources, drafts)?;
            (json!({ "points": points }), "table", &["Full seek curve"])
        }
    };
    curve["curve"] = word.into();
    drafts.put("seek", curve, kind, Origin::Published);
    for name in used {
        drafts.also(mechanics.need(name)?);
    }
    for parameter in PARAMETERS.iter().filter(|name| !used.contains(name)).filter_map(|name| mechanics.get(name)) {
        drafts.idle(parameter, format!("counts only with other seek types than {name}"));
    }
    Ok(())
}

/// Returns the range of seek times.
fn range_ms() -> Range {
    Range { unit: "ms".into(), ..Range::from_to(0.0, MAX_MS) }
}

/// Returns the range of distances from `least` cylinders on.
fn range_cylinders(least: f64) -> Range {
    Range { whole: true, unit: "cylinders".into(), ..Range::from_to(least, MAX_CYLINDERS) }
}

fn first_ten(mechanics: &Block) -> Result<Vec<f64>, Fault> {
    const NAME: &str = "First ten seek times";
    let first = times(mechanics, NAME, 10)?;
    match first.iter().position(|time| !range_ms().holds(*time)) {
        Some(index) => Err(mechanics.fault_of(NAME, index).expects(range_ms())),
        None => Ok(first),
    }
}

fn hpl(mechanics: &Block, first_ms: Option<Vec<f64>>) -> Result<Json, Fault> {
    const NAME: &str = "HPL seek equation values";
    let values = times(mechanics, NAME, 6)?;
    if !range_cylinders(0.0).holds(values[0]) || values[0].fract() != 0.0 {
        return Err(mechanics.fault_of(NAME, 0).expects(range_cylinders(0.0)));
    }
    if let Some(index) = (1..5).find(|&index| !range_ms().holds(values[index])) {
        return Err(mechanics.fault_of(NAME, index).expects(range_ms()));
    }
    let single = values[5];
    if single != -1.0 && !range_ms().holds(single) {
        return Err(mechanics.fault_of(NAME, 5).expects(range_ms()).says(", or -1"));
    }
    let alone = if single == -1.0 { Vec::new() } else { vec![single] };
    Ok(json!({
        "short_below": values[0],
        "short_constant_ms": values[1],
        "short_sqrt_ms": values[2],
        "long_constant_ms": values[3],
        "long_linear_ms": values[4],
        "first_ms": first_ms.unwrap_or(alone),
    }))
}

/// Returns the points of a file of measured seek times: `Seek distances measured: N`, then a distance and a time on each line.
fn table(
    name: &str,
    parameter: &Parameter,
    sources: &mut Sources,
    drafts: &mut Drafts,
) -> Result<Vec<[f64; 2]>, Fault> {
    let path = sources.find(name, parameter.place)?;
    let OpenFile { index: file, text } = sources.open(&path, Some(parameter.place))?;
    let mut points: Vec<[f64; 2]> = Vec::new();
    let mut announced = None;
    let mut place = Place { file, line: 0 };
    let mut decimals = None;
    let mut deviations = false;
    for line in text.lines() {
        place.line += 1;
        if place.line == 1 {
            if let Some(count) = line.trim().strip_prefix(HEADER).and_then(|rest| rest.strip_prefix(':')) {
                let expected = || record(place, HEADER, "the number of lines that follow", count.trim());
                announced = Some(count.trim().parse::<usize>().map_err(|_| expected())?);
                continue;
            }
        }
        if line.trim().is_empty() {
            continue;
        }
        let TableLine { point, decimals: digits, has_deviation } = table_line(line, place)?;
        if let Some(last) = points.last().filter(|last| point[0] <= last[0]) {
            let allowed = format!("rising distances, above {}", last[0]);
            return Err(record(place, "distance", Allowed::Type(allowed), &point[0].to_string()));
        }
        // A truncated file is recognised by a last line with fewer digits than the others.
        if !text.ends_with('\n') && text.lines().count() == place.line as usize && decimals.is_some_and(|d| d > digits)
        {
            let says = "the last line is cut off: expected as many digits as in the others";
            return Err(Fault::new(place, Kind::Record, says));
        }
        decimals = Some(digits);
        deviations |= has_deviation;
        points.push(point);
    }
    place.line = place.line.max(1);
    if points.is_empty() {
        let says = "no seek time: expected lines of a distance in cylinders and a time in ms";
        return Err(Fault::new(place, Kind::Missing, says));
    }
    if announced.is_some_and(|count| count != points.len()) {
        let count = announced.unwrap_or(0);
        let message = format!("{} seek times: expected {count}, as the first line says", points.len());
        return Err(Fault::new(place, Kind::Misfit, message));
    }
    if deviations {
        drafts.idle(parameter, "the third column, standard deviations, has no meaning in DiskSim either");
    }
    Ok(points)
}

/// Returns a fault of a field on a line of a table.
fn record(place: Place, field: &str, allowed: impl Into<Allowed>, found: &str) -> Fault {
    let mut what = fault::Fault::new(Kind::Record);
    (what.location.field, what.value, what.allowed) =
        (Some(field.into()), Some(printable(found).into()), Some(allowed.into()));
    Fault::of(place, what)
}

/// A line of a table.
struct TableLine {
    /// Distance in cylinders, and time in ms.
    point: [f64; 2],
    /// Number of decimals of the time.
    decimals: usize,
    has_deviation: bool,
}

/// Returns a line of a table.
fn table_line(line: &str, place: Place) -> Result<TableLine, Fault> {
    let shown: String = line.chars().take(60).collect();
    let fault = || record(place, "seek time", "a distance in cylinders, a comma and a time in ms", &shown);
    let columns: Vec<&str> = line.split(',').map(str::trim).collect();
    if !(2..=3).contains(&columns.len()) {
        return Err(fault());
    }
    let distance: u32 = columns[0].parse().map_err(|_| fault())?;
    let time: f64 = columns[1].parse().map_err(|_| fault())?;
    if !range_cylinders(1.0).holds(f64::from(distance)) {
        return Err(record(place, "distance", range_cylinders(1.0), columns[0]));
    }
    if !range_ms().holds(time) {
        return Err(record(place, "time", range_ms(), columns[1]));
    }
    let decimals = columns[1].split_once('.').map_or(0, |(_, decimals)| decimals.len());
    Ok(TableLine { point: [f64::from(distance), time], decimals, has_deviation: columns.len() == 3 })
}
