//! Quantities with units, such as `"0.2 ms"`, converted to the unit a key is defined in.

/// Units of one dimension, each with its size in the first unit.
type Dimension = &'static [(&'static str, f64)];

const LENGTH: Dimension = &[("nm", 1.0), ("um", 1e3), ("µm", 1e3), ("mm", 1e6), ("m", 1e9)];
/// A month is a twelfth of a year, and a year has 365 days.
const TIME: Dimension = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 6e10),
    ("h", 3.6e12),
    ("day", 8.64e13),
    ("week", 6.048e14),
    ("month", 2.628e15),
    ("year", 3.153_6e16),
];
const FREQUENCY: Dimension = &[("Hz", 1.0), ("kHz", 1e3), ("MHz", 1e6)];
const RATE: Dimension = &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)];
const POWER: Dimension = &[("uW", 1.0), ("mW", 1e3), ("W", 1e6)];
const ACCELERATION: Dimension = &[("m/s2", 1.0), ("m/s^2", 1.0), ("g", 9.806_65)];
const SIZE: Dimension = &[
    ("B", 1.0),
    ("KB", 1e3),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];
const BITS: Dimension = &[("bit", 1.0), ("bits", 1.0)];
const SHARE: Dimension = &[("%", 1.0), ("fraction", 100.0)];

const DIMENSIONS: &[Dimension] = &[LENGTH, TIME, FREQUENCY, RATE, POWER, ACCELERATION, SIZE, BITS, SHARE];

/// Names of units, which may be in the plural, and their symbols.
const WORDS: &[(&str, &str)] = &[
    ("second", "s"),
    ("minute", "min"),
    ("hour", "h"),
    ("day", "day"),
    ("week", "week"),
    ("month", "month"),
    ("year", "year"),
];

/// Parses a number with an optional unit, and converts it to `unit`. Commas and underscores may separate thousands.
///
/// # Errors
/// The text is not a quantity, or has a unit of another dimension. The message names the allowed units.
pub fn parse(text: &str, unit: &str) -> Result<f64, String> {
    match split(text) {
        Some((number, "")) => Ok(number),
        Some((number, given)) => converted(number, given, unit),
        None => Err(allowed(unit)),
    }
}

/// Parses a number with a unit, which is required, and converts it to `unit`.
///
/// # Errors
/// As for `parse`, or the unit is missing.
pub fn parse_with_unit(text: &str, unit: &str) -> Result<f64, String> {
    match split(text) {
        Some((number, given)) if !given.is_empty() => converted(number, given, unit),
        _ => Err(format!("a number with a unit of {}", names(unit).join(", "))),
    }
}

/// Returns the number and the unit of a quantity as written; the unit may be empty.
#[must_use]
pub fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    // A letter after digits can belong to the number only as an exponent, which a digit or sign follows.
    let end = text
        .char_indices()
        .find(|&(i, c)| {
            let next_is_numeric =
                text[i + c.len_utf8()..].starts_with(|d: char| d.is_ascii_digit() || "+-".contains(d));
            let exponent = matches!(c, 'e' | 'E') && next_is_numeric;
            !(c.is_ascii_digit() || "+-._,".contains(c) || exponent)
        })
        .map_or(text.len(), |(i, _)| i);
    let number = &text[..end];
    if number.contains(',') && !has_thousands(number) {
        return None;
    }
    Some((number.replace(['_', ','], "").parse().ok()?, text[end..].trim()))
}

/// Returns true if the commas of a number separate groups of three digits, so that they are not decimal commas.
fn has_thousands(number: &str) -> bool {
    let whole = number.trim_start_matches(['+', '-']);
    let whole = whole.find(['.', 'e', 'E']).map_or(whole, |end| &whole[..end]);
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3) && !number[whole.len()..].contains(',')
}

fn converted(number: f64, given: &str, unit: &str) -> Result<f64, String> {
    if given == unit {
        return Ok(number);
    }
    let word = WORDS.iter().find(|(word, _)| given == *word || given.strip_suffix('s') == Some(word));
    let given_unit = word.map_or(given, |(_, unit)| unit);
    let size_of = |name: &str| dimension(unit)?.iter().find(|(known, _)| *known == name).map(|(_, size)| *size);
    match (size_of(given_unit), size_of(unit)) {
        // A single rounding if one unit is a multiple of the other.
        (Some(given), Some(own)) if given >= own => Ok(number * (given / own)),
        (Some(given), Some(own)) => Ok(number / (own / given)),
        _ => Err(format!("{}, not of {given:?}", allowed(unit))),
    }
}

fn dimension(unit: &str) -> Option<Dimension> {
    DIMENSIONS.iter().find(|dimension| dimension.iter().any(|(name, _)| *name == unit)).copied()
}

fn names(unit: &str) -> Vec<&'static str> {
    dimension(unit).unwrap_or_default().iter().map(|(name, _)| *name).collect()
}

fn allowed(unit: &str) -> String {
    match names(unit).as_slice() {
        _ if unit.is_empty() => "a number without a unit".into(),
        [] => format!("a number in {unit}"),
        names => format!("a number in {unit}, or one with a unit of {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_the_dimension_convert() {
        assert_eq!(parse("0.2 ms", "ms"), Ok(0.2));
        assert_eq!(parse("200us", "ms"), Ok(0.2));
        assert_eq!(parse("4 KiB", "B"), Ok(4096.0));
        assert_eq!(parse("1e3", "nm"), Ok(1000.0));
        assert_eq!(parse("1e-3 um", "nm"), Ok(1.0));
        assert_eq!(parse("1%", "fraction"), Ok(0.01));
    }

    #[test]
    fn long_times_have_units_too() {
        assert_eq!(parse("2 weeks", "h"), Ok(336.0));
        assert_eq!(parse("1 day", "s"), Ok(86_400.0));
        assert_eq!(parse_with_unit("1 month", "h"), Ok(730.0));
        assert_eq!(parse_with_unit("23 years", "h"), Ok(201_480.0));
        assert_eq!(parse_with_unit("15 minutes", "h"), Ok(0.25));
        assert!(parse_with_unit("15", "h").unwrap_err().contains("with a unit of ns"));
        assert!(parse("5 ss", "h").is_err());
    }

    #[test]
    fn commas_part_thousands_alone() {
        assert_eq!(parse("200,000 h", "h"), Ok(200_000.0));
        assert_eq!(parse("-1,234.5", ""), Ok(-1234.5));
        for text in ["1,5", "1,50", "1234,567", ",500", "1.5,000", "1,000e1,0"] {
            assert!(parse(text, "").is_err(), "{text}");
        }
    }

    #[test]
    fn other_units_are_refused_with_what_is_allowed() {
        let error = parse("3 m", "ms").unwrap_err();
        assert!(error.contains("\"m\"") && error.contains("a number in ms"), "{error}");
        assert!(parse("fast", "ms").is_err());
        assert!(parse("3 ms", "").is_err());
    }
}
