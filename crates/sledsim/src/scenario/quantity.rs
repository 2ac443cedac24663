//! Quantities with units, such as `"0.2 ms"`, converted to the unit a key is defined in.

/// Units of one dimension with their size in the first.
type Dimension = &'static [(&'static str, f64)];

const LENGTH: Dimension = &[("nm", 1.0), ("um", 1e3), ("µm", 1e3), ("mm", 1e6), ("m", 1e9)];
const TIME: Dimension = &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 6e10), ("h", 3.6e12)];
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

const DIMENSIONS: &[Dimension] = &[LENGTH, TIME, FREQUENCY, RATE, POWER, ACCELERATION, SIZE, BITS];

/// `text`, a number with an optional unit, in `unit`.
///
/// # Errors
/// Text that is no such thing, or a unit of another dimension: says in words what is allowed.
pub fn parse(text: &str, unit: &str) -> Result<f64, String> {
    let text = text.trim();
    // A letter after digits can belong to the number only as an exponent, which a digit or sign follows.
    let end = text
        .char_indices()
        .find(|&(i, c)| {
            let next_is_numeric =
                text[i + c.len_utf8()..].starts_with(|d: char| d.is_ascii_digit() || "+-".contains(d));
            let exponent = matches!(c, 'e' | 'E') && next_is_numeric;
            !(c.is_ascii_digit() || "+-._".contains(c) || exponent)
        })
        .map_or(text.len(), |(i, _)| i);
    let (number, given) = (text[..end].replace('_', ""), text[end..].trim());
    let number: f64 = number.parse().map_err(|_| allowed(unit))?;
    if given.is_empty() || given == unit {
        return Ok(number);
    }
    let dimension = DIMENSIONS.iter().find(|dimension| dimension.iter().any(|(name, _)| *name == unit));
    let size_of = |name: &str| dimension?.iter().find(|(known, _)| *known == name).map(|(_, size)| *size);
    match (size_of(given), size_of(unit)) {
        // One rounding where the units are whole multiples of each other.
        (Some(given), Some(own)) if given >= own => Ok(number * (given / own)),
        (Some(given), Some(own)) => Ok(number / (own / given)),
        _ => Err(format!("{}, not of {given:?}", allowed(unit))),
    }
}

fn allowed(unit: &str) -> String {
    let dimension = DIMENSIONS.iter().find(|dimension| dimension.iter().any(|(name, _)| *name == unit));
    match dimension {
        _ if unit.is_empty() => "a number without a unit".into(),
        Some(dimension) => {
            let names: Vec<&str> = dimension.iter().map(|(name, _)| *name).collect();
            format!("a number in {unit}, or one with a unit of {}", names.join(", "))
        }
        None => format!("a number in {unit}"),
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
    }

    #[test]
    fn other_units_are_refused_with_what_is_allowed() {
        let error = parse("3 m", "ms").unwrap_err();
        assert!(error.contains("\"m\"") && error.contains("a number in ms"), "{error}");
        assert!(parse("fast", "ms").is_err());
        assert!(parse("3 ms", "").is_err());
    }
}
