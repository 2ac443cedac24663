//! Parsing shared by text formats: splitting lines, and reading numbers, times and operations.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{Failure, FieldFault, Others, Parsed};
use super::format::Built;
use super::options::TraceOptions;
use super::source::Input;
use super::{RecordParser, Step, TraceRecord, DEFAULT_SECTOR_BYTES};
use crate::fault::Fault;
use crate::request::Op;

/// A format in which every line stands alone.
pub(super) trait LineParser: Send {
    /// Parses a line that is not blank.
    fn line(&mut self, line: &[u8]) -> Parsed<Step>;

    /// Bytes in a sector of this trace.
    fn sector_bytes(&self) -> u32 {
        DEFAULT_SECTOR_BYTES
    }

    /// Returns true if its records have times.
    fn has_times(&self) -> bool {
        true
    }

    /// Returns true if its records have recorded response times.
    fn has_responses(&self) -> bool {
        false
    }

    /// As [`RecordParser::units`].
    fn units(&self) -> Option<String> {
        None
    }

    /// As [`RecordParser::describe_others`].
    fn describe_others(&self) -> Option<Others> {
        None
    }
}

/// A [`LineParser`] as a [`RecordParser`].
pub(super) struct Lines<P>(pub P);

/// A format in which every line is a request, with offsets and lengths in sectors whose size an option may give.
pub(super) trait SectorLine: Send + 'static {
    /// True if its records have times.
    const HAS_TIMES: bool = true;
    /// As [`RecordParser::units`].
    const UNITS: &'static str;

    /// Parses a line.
    fn request(line: &[u8], sector_bytes: u32) -> Parsed<TraceRecord>;
}

/// The parser of such a format.
pub(super) struct SectorLines<F> {
    sector_bytes: u32,
    of: PhantomData<fn() -> F>,
}

impl<F: SectorLine> SectorLines<F> {
    /// A parser for sectors of [`DEFAULT_SECTOR_BYTES`].
    pub fn usual() -> Self {
        Self { sector_bytes: DEFAULT_SECTOR_BYTES, of: PhantomData }
    }

    /// A parser for sectors of the size in the options.
    pub fn build(options: &TraceOptions) -> Built {
        let usual = Self::usual();
        Ok(Box::new(Lines(Self { sector_bytes: options.sector_bytes.unwrap_or(usual.sector_bytes), ..usual })))
    }
}

impl<F: SectorLine> LineParser for SectorLines<F> {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Parsed<Step> {
        F::request(line, self.sector_bytes).map(Step::Request)
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn has_times(&self) -> bool {
        F::HAS_TIMES
    }

    fn units(&self) -> Option<String> {
        Some(F::UNITS.to_owned())
    }
}

/// The index of the closing quote in what follows an opening one. Two quotes stand for one inside the cell.
pub(super) fn closing_quote(inside: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + inside[from..].iter().position(|&byte| byte == b'"')?;
        if inside.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        from = at + 2;
    }
}

/// Returns true if a cell of a header is this name, in any case. Doubled quotes of the cell may be single in the name.
pub(super) fn is_name_of(cell: &str, wanted: &str) -> bool {
    cell.eq_ignore_ascii_case(wanted) || cell.replace("\"\"", "\"").eq_ignore_ascii_case(wanted)
}

/// Asserts that the error of each of these lines names this field.
#[cfg(test)]
pub(super) fn assert_wrong_fields<F: SectorLine>(cases: &[(&str, &str)]) {
    for (line, field) in cases {
        assert_eq!(F::request(line.as_bytes(), DEFAULT_SECTOR_BYTES).unwrap_err().field, *field, "{line}");
    }
}

impl<P: LineParser> RecordParser for Lines<P> {
    #[inline]
    fn next(&mut self, input: &mut Input) -> Result<Option<Step>, Failure> {
        let Some(line) = input.line()? else { return Ok(None) };
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(Some(Step::Blank));
        }
        match self.0.line(line) {
            Ok(step) => Ok(Some(step)),
            Err(fault) => Err(Failure::Bad(fault)),
        }
    }

    fn sector_bytes(&self) -> u32 {
        self.0.sector_bytes()
    }

    fn has_times(&self) -> bool {
        self.0.has_times()
    }

    fn has_responses(&self) -> bool {
        self.0.has_responses()
    }

    fn units(&self) -> Option<String> {
        self.0.units()
    }

    fn describe_others(&self) -> Option<Others> {
        self.0.describe_others()
    }
}

/// The first `N` fields of a line, and the number of all.
pub(super) fn split<'a, const N: usize>(parts: impl Iterator<Item = &'a [u8]>) -> ([&'a [u8]; N], usize) {
    let mut fields: [&[u8]; N] = [&[]; N];
    let mut count = 0;
    for part in parts {
        if let Some(field) = fields.get_mut(count) {
            *field = part;
        }
        count += 1;
    }
    (fields, count)
}

/// The words of a line, separated by blanks.
#[inline]
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|word| !word.is_empty())
}

/// The words of a line that must have `N` of them. `shape` describes them in the error.
#[inline]
pub(super) fn exact_words<'a, const N: usize>(line: &'a [u8], shape: &'static str) -> Parsed<[&'a [u8]; N]> {
    let (fields, count) = split::<N>(words(line));
    if count == N {
        Ok(fields)
    } else {
        Err(wrong_count(count, N, shape))
    }
}

/// The fault of a line with the wrong number of fields.
#[cold]
pub(super) fn wrong_count(count: usize, wanted: usize, shape: &'static str) -> Box<FieldFault> {
    // The line may be of any file: it is not repeated.
    FieldFault::new("line", format!("{wanted} fields `{shape}`"), format!("{count} fields"))
}

/// An unsigned integer below 2^64. It may be written as a decimal number that is whole (`512.0`, `4.096e3`), as data-frame
/// libraries do. Every field of every text format that holds an integer is read by this function or [`unsigned32`].
#[inline]
pub(super) fn unsigned(field: &'static str, text: &[u8]) -> Parsed<u64> {
    whole_number(text).ok_or_else(|| FieldFault::text(field, "a whole number from 0, below 2^64", text))
}

/// As [`unsigned`], below 2^32.
#[inline]
pub(super) fn unsigned32(field: &'static str, text: &[u8]) -> Parsed<u32> {
    whole_number(text)
        .and_then(|value| u32::try_from(value).ok())
        .ok_or_else(|| FieldFault::text(field, "a whole number from 0, below 2^32", text))
}

/// The value of an integer, which may be written as a decimal number; `None` for anything else or when it does not fit.
#[inline]
pub(super) fn whole_number(text: &[u8]) -> Option<u64> {
    digits(text).or_else(|| whole_decimal(text))
}

#[cold]
fn whole_decimal(text: &[u8]) -> Option<u64> {
    let number = decimal(text, 0)?;
    (number.first_decimal == 0 && !number.has_more).then_some(number.whole)
}

/// The value of a non-empty run of digits; `None` for anything else or when it does not fit.
#[inline]
pub(super) fn digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut value = 0_u64;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// `count` sectors in bytes.
#[inline]
pub(super) fn sectors_to_bytes(field: impl Into<Cow<'static, str>>, count: u64, sector_bytes: u32) -> Parsed<u64> {
    count.checked_mul(u64::from(sector_bytes)).ok_or_else(|| {
        FieldFault::new(field, format!("sectors of {sector_bytes} bytes within 2^64 bytes"), count.to_string()).beyond()
    })
}

/// Unit of a time in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    /// Nanoseconds.
    Ns,
    /// Ticks of 100 ns, as Windows counts them.
    Filetime,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl TimeUnit {
    /// Decimal digits between this unit and the nanosecond.
    const fn digits(self) -> u32 {
        match self {
            Self::Ns => 0,
            Self::Filetime => 2,
            Self::Us => 3,
            Self::Ms => 6,
            Self::S => 9,
        }
    }

    /// So many of this unit in nanoseconds; `None` from 2^64 on.
    #[inline]
    pub(super) fn whole_ns(self, count: u64) -> Option<u64> {
        count.checked_mul(10_u64.pow(self.digits()))
    }

    /// Returns the expected form of a time in this unit.
    const fn expected(self) -> &'static str {
        match self {
            Self::Ns => "a non-negative time in ns, below 584 years",
            Self::Filetime => "a non-negative time in ticks of 100 ns, below 584 years",
            Self::Us => "a non-negative time in us, below 584 years",
            Self::Ms => "a non-negative time in ms, below 584 years",
            Self::S => "a non-negative time in s, below 584 years",
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ns => "ns",
            Self::Filetime => "ticks of 100 ns",
            Self::Us => "us",
            Self::Ms => "ms",
            Self::S => "s",
        })
    }
}

impl std::str::FromStr for TimeUnit {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        match text {
            "ns" => Ok(Self::Ns),
            "filetime" => Ok(Self::Filetime),
            "us" => Ok(Self::Us),
            "ms" => Ok(Self::Ms),
            "s" => Ok(Self::S),
            _ => Err(Fault::unknown_name("time_unit", text, ["s", "ms", "us", "ns", "filetime"])),
        }
    }
}

/// A non-negative decimal time in `unit`, rounded half up to nanoseconds. Computed without floating point.
#[inline]
pub(super) fn time_ns(field: impl Into<Cow<'static, str>>, text: &[u8], unit: TimeUnit) -> Parsed<u64> {
    decimal(text, unit.digits())
        .and_then(|number| number.whole.checked_add(u64::from(number.first_decimal >= 5)))
        .ok_or_else(|| FieldFault::text(field, unit.expected(), text))
}

/// A non-negative decimal number.
struct Decimal {
    whole: u64,
    /// The first digit behind the point.
    first_decimal: u8,
    /// True if a later digit is not 0.
    has_more: bool,
}

/// The decimal number `text`, with or without an exponent, times ten to the `shift`. `None` if it is no such number or its
/// whole part does not fit.
#[inline]
fn decimal(text: &[u8], shift: u32) -> Option<Decimal> {
    let (mantissa, exponent) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        None => (text, 0),
        Some(at) => (&text[..at], exponent(&text[at + 1..])?),
    };
    let point = mantissa.iter().position(|&byte| byte == b'.').unwrap_or(mantissa.len());
    if point == 0 {
        return None;
    }
    // Digits of the number that belong to its whole part.
    let whole_digits = point as i64 + exponent + i64::from(shift);
    let mut number = Decimal { whole: 0, first_decimal: 0, has_more: false };
    let mut place = 0;
    for &byte in mantissa[..point].iter().chain(mantissa.get(point + 1..).unwrap_or(&[])) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        if place < whole_digits {
            number.whole = number.whole.checked_mul(10)?.checked_add(u64::from(digit))?;
        } else if place == whole_digits {
            number.first_decimal = digit;
        } else {
            number.has_more |= digit != 0;
        }
        place += 1;
    }
    if number.whole > 0 && place < whole_digits {
        let missing = u32::try_from(whole_digits - place).ok()?;
        number.whole = number.whole.checked_mul(10_u64.checked_pow(missing)?)?;
    }
    // In `5e-3` the first digit behind the point is 0.
    if whole_digits < 0 {
        number.has_more |= number.first_decimal != 0;
        number.first_decimal = 0;
    }
    Some(number)
}

/// The exponent behind an `e`; no number needs one of more than four digits.
#[cold]
fn exponent(text: &[u8]) -> Option<i64> {
    let (sign, size) = match text {
        [b'-', size @ ..] => (-1, size),
        [b'+', size @ ..] => (1, size),
        size => (1, size),
    };
    let size = digits(size).filter(|_| size.len() <= 4)?;
    Some(sign * size as i64)
}

/// `R`, `W`, `read`, `write` in any case.
#[inline]
pub(super) fn operation(field: impl Into<Cow<'static, str>>, text: &[u8]) -> Parsed<Op> {
    match text {
        [b'R' | b'r'] => Ok(Op::Read),
        [b'W' | b'w'] => Ok(Op::Write),
        _ if text.eq_ignore_ascii_case(b"read") => Ok(Op::Read),
        _ if text.eq_ignore_ascii_case(b"write") => Ok(Op::Write),
        _ => Err(FieldFault::text(field, "R, W, read or write", text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(text: &str, unit: TimeUnit) -> Option<u64> {
        time_ns("time", text.as_bytes(), unit).ok()
    }

    #[test]
    fn times_are_exact_and_round_half_up() {
        for (text, unit, expected) in [
            ("1.5", TimeUnit::S, 1_500_000_000),
            ("0.0000000014", TimeUnit::S, 1),
            ("0.0000000015", TimeUnit::S, 2),
            ("17403.764668", TimeUnit::Us, 17_403_765),
            ("7.", TimeUnit::Ns, 7),
            ("1e-05", TimeUnit::S, 10_000),
            ("5e-10", TimeUnit::S, 1),
            ("5e-11", TimeUnit::S, 0),
            ("9e-11", TimeUnit::S, 0),
            ("18446744073.709551615", TimeUnit::S, u64::MAX),
            ("128166372003061629.0", TimeUnit::Filetime, 12_816_637_200_306_162_900),
            ("1.2816637200306163e+17", TimeUnit::Filetime, 12_816_637_200_306_163_000),
        ] {
            assert_eq!(ns(text, unit), Some(expected), "{text}");
        }
    }

    #[test]
    fn malformed_times_are_refused() {
        for text in
            ["", ".5", "-1", "+1", "1.2.3", "nan", "inf", "1e", "e5", "1e400", "1e+", "1e5.0", "18446744073.709551616"]
        {
            assert_eq!(ns(text, TimeUnit::S), None, "{text}");
        }
    }

    #[test]
    fn integers_may_be_written_as_decimal_numbers() {
        for (text, value) in [
            (&b"512"[..], 512),
            (b"512.0", 512),
            (b"7.", 7),
            (b"4.096e3", 4096),
            (b"1e+06", 1_000_000),
            (b"5120e-1", 512),
            (b"0.000", 0),
            (b"0e400", 0),
            (b"1.8446744073709551615E19", u64::MAX),
        ] {
            assert_eq!(unsigned("bytes", text).ok(), Some(value), "{}", text.escape_ascii());
        }
        for text in [&b"512.5"[..], b".0", b"-1.0", b"1e-1", b"1e300", b"nan", b"1.0.0", b"+1", b"1e", b"1.0x", b""] {
            assert!(unsigned("bytes", text).is_err(), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn integers_overflow_into_faults() {
        assert_eq!(digits(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(digits(b"18446744073709551616"), None);
        assert_eq!(digits(b""), None);
        assert_eq!(digits(b"1a"), None);
        assert!(unsigned32("device", b"4294967296").is_err());
        assert_eq!(unsigned32("device", b"4294967295.0").ok(), Some(u32::MAX));
    }
}
