//! Canonical text of values: equal values have equal texts on every platform.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value};

/// Returns a value as JSON on one line, with sorted keys and numbers as written by Python's `json`. Stores of runs use
/// hashes of these texts as keys.
#[must_use]
pub fn canonical(mut value: Value) -> String {
    value.sort_all_objects();
    let mut text = Vec::new();
    // All values can be serialised, and writing to memory does not fail.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut text, Canonical));
    String::from_utf8(text).unwrap_or_default()
}

struct Canonical;

impl Formatter for Canonical {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        // The shortest digits that identify the number are the same in every language, but the position of the exponent
        // is not.
        let shortest = format!("{value:e}");
        match shortest.split_once('e').and_then(|(digits, power)| Some((digits, power.parse::<i32>().ok()?))) {
            Some((digits, power)) if !(-4..16).contains(&power) => {
                let sign = if power < 0 { '-' } else { '+' };
                write!(writer, "{digits}e{sign}{:02}", power.unsigned_abs())
            }
            _ => write!(writer, "{value:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_values_have_one_text() {
        let text = canonical(json!({"b": [1, {"z": null, "a": true}], "a": "é\n\u{1}\""}));
        assert_eq!(text, "{\"a\":\"é\\n\\u0001\\\"\",\"b\":[1,{\"a\":true,\"z\":null}]}");
    }

    #[test]
    fn numbers_are_as_python_writes_them() {
        let written = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e-4, "0.0001"),
            (1.5e-5, "1.5e-05"),
            (9_007_199_254_740_993.0, "9007199254740992.0"),
            (1e16, "1e+16"),
            (1.25e22, "1.25e+22"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
        ];
        for (number, text) in written {
            assert_eq!(canonical(json!(number)), text);
        }
        assert_eq!(canonical(json!(u64::MAX)), "18446744073709551615");
    }
}
