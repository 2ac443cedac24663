//! Pieces that the readers of text formats share: splitting a line, and numbers, times and operations in it.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{Failure, FieldFault, Parsed, Place};
use super::format::Built;
use super::options::TraceOptions;
use super::source::Input;
use super::{RecordParser, Step, TraceRecord, DEFAULT_SECTOR_BYTES};
use crate::convert::trunc_to_u64;
use crate::fault::Fault;
use crate::request::Op;

/// Above 2^53 a floating-point number no longer holds every integer.
const MOST_EXACT: f64 = 9e15;

/// A format in which every line stands alone.
pub(super) trait LineParser: Send {
    /// What a line that is not blank says.
    fn line(&mut self, line: &[u8]) -> Parsed<Step>;

    /// Bytes in a sector of this trace.
    fn sector_bytes(&self) -> u32 {
        DEFAULT_SECTOR_BYTES
    }

    /// Whether its records carry times.
    fn has_times(&self) -> bool {
        true
    }

    /// Whether its records carry what requests took.
    fn has_responses(&self) -> bool {
        false
    }
}

/// A [`LineParser`] applied to a content.
pub(super) struct Lines<P>(pub P);

/// A format of which every line is a request, and places and sizes are counted in sectors of a size that options may give.
pub(super) trait SectorLine: Send + 'static {
    /// Whether its records carry times.
    const HAS_TIMES: bool = true;

    /// The request that a line is.
    fn request(line: &[u8], sector_bytes: u32) -> Parsed<TraceRecord>;
}

/// The parser of such a format.
pub(super) struct SectorLines<F> {
    sector_bytes: u32,
    of: PhantomData<fn() -> F>,
}

impl<F: SectorLine> SectorLines<F> {
    /// With sectors of the usual size.
    pub fn usual() -> Self {
        Self { sector_bytes: DEFAULT_SECTOR_BYTES, of: PhantomData }
    }

    /// With sectors of the size that options give.
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
}

/// Where a cell that begins with a quote has the other: two of them stand for one that is in it.
pub(super) fn closing(inside: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + inside[from..].iter().position(|&byte| byte == b'"')?;
        if inside.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        from = at + 2;
    }
}

/// Whether a column is meant by a name, which may have quotes in it.
pub(super) fn is_called(cell: &str, wanted: &str) -> bool {
    cell.eq_ignore_ascii_case(wanted) || cell.replace("\"\"", "\"").eq_ignore_ascii_case(wanted)
}

/// Asserts that of each of these lines the field is named that is wrong.
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
            Err(fault) => Err(Failure::Bad(Place::Line(input.line_number()), fault)),
        }
    }

    fn place(&self, input: &Input) -> Place {
        Place::Line(input.line_number())
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
}

/// The fields of a line, up to `N` of them, and how many there are in all.
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

/// Exactly `N` words, which `shape` describes.
#[inline]
pub(super) fn exact_words<'a, const N: usize>(line: &'a [u8], shape: &'static str) -> Parsed<[&'a [u8]; N]> {
    let (fields, count) = split::<N>(words(line));
    if count == N {
        Ok(fields)
    } else {
        Err(wrong_count(count, N, shape, line))
    }
}

/// The fault of a line with the wrong number of fields.
#[cold]
pub(super) fn wrong_count(count: usize, wanted: usize, shape: &'static str, line: &[u8]) -> Box<FieldFault> {
    let found = format!("{count} fields in {}", super::error::excerpt(line));
    FieldFault::new("line", format!("{wanted} fields `{shape}`"), found)
}

/// An unsigned decimal integer.
#[inline]
pub(super) fn uint(field: &'static str, text: &[u8]) -> Parsed<u64> {
    digits(text).ok_or_else(|| FieldFault::text(field, "an unsigned integer below 2^64", text))
}

/// An unsigned integer, which may be written as a floating-point number that is whole (`512.0`, `4.096e3`), as data-frame
/// libraries do.
#[inline]
pub(super) fn whole(field: &'static str, text: &[u8]) -> Parsed<u64> {
    digits(text)
        .or_else(|| whole_float(text))
        .ok_or_else(|| FieldFault::text(field, "a whole number from 0, below 2^64", text))
}

/// The value of a floating-point number that is whole, and exact.
#[cold]
fn whole_float(text: &[u8]) -> Option<u64> {
    if text.iter().any(|byte| matches!(byte, b'e' | b'E')) {
        return text.first().filter(|first| first.is_ascii_digit()).and_then(|_| {
            let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
            (value.fract() == 0.0 && (0.0..MOST_EXACT).contains(&value)).then_some(trunc_to_u64(value))
        });
    }
    let point = text.iter().position(|&byte| byte == b'.')?;
    text[point + 1..].iter().all(|&byte| byte == b'0').then(|| digits(&text[..point])).flatten()
}

/// An unsigned decimal integer that fits a device number.
#[inline]
pub(super) fn uint32(field: &'static str, text: &[u8]) -> Parsed<u32> {
    digits(text)
        .and_then(|value| u32::try_from(value).ok())
        .ok_or_else(|| FieldFault::text(field, "an unsigned integer below 2^32", text))
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

    /// What a time in this unit should look like.
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

impl std::str::FromStr for TimeUnit {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        match text {
            "ns" => Ok(Self::Ns),
            "filetime" => Ok(Self::Filetime),
            "us" => Ok(Self::Us),
            "ms" => Ok(Self::Ms),
            "s" => Ok(Self::S),
            _ => Err(Fault::unknown_name("time_unit", text, ["ns", "us", "ms", "s", "filetime"])),
        }
    }
}

/// A non-negative decimal time in `unit`, to the nearest nanosecond. Exact: no floating point unless the text has an
/// exponent.
#[inline]
pub(super) fn time_ns(field: impl Into<Cow<'static, str>>, text: &[u8], unit: TimeUnit) -> Parsed<u64> {
    decimal(text, unit.digits()).ok_or_else(|| FieldFault::text(field, unit.expected(), text))
}

/// The decimal number `text` times ten to the `shift`, rounded half up; `None` if it is no such number.
#[inline]
fn decimal(text: &[u8], shift: u32) -> Option<u64> {
    if text.iter().any(|byte| matches!(byte, b'e' | b'E')) {
        return exponential(text, shift);
    }
    let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
    let whole = digits(&text[..point])?;
    let fraction = text.get(point + 1..).unwrap_or(&[]);
    let mut value = whole.checked_mul(10_u64.pow(shift))?;
    let mut weight = 10_u64.pow(shift);
    for (index, &byte) in fraction.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        if index < shift as usize {
            weight /= 10;
            value = value.checked_add(weight * u64::from(digit))?;
        } else if index == shift as usize && digit >= 5 {
            value = value.checked_add(1)?;
        }
    }
    Some(value)
}

/// As [`decimal`], for numbers such as `1e-05` that data-frame libraries write.
#[cold]
fn exponential(text: &[u8], shift: u32) -> Option<u64> {
    if !text.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let scaled = value * 10_u64.pow(shift) as f64;
    (scaled.is_finite() && (0.0..MOST_EXACT).contains(&scaled)).then_some(trunc_to_u64(scaled + 0.5))
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

    #[test]
    fn times_are_exact_and_round_half_up() {
        assert_eq!(decimal(b"1.5", 9), Some(1_500_000_000));
        assert_eq!(decimal(b"0.0000000014", 9), Some(1));
        assert_eq!(decimal(b"0.0000000015", 9), Some(2));
        assert_eq!(decimal(b"17403.764668", 3), Some(17_403_765));
        assert_eq!(decimal(b"7.", 0), Some(7));
        assert_eq!(decimal(b"1e-05", 9), Some(10_000));
        assert_eq!(decimal(b"18446744073.709551615", 9), Some(u64::MAX));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in
            [&b""[..], b".5", b"-1", b"+1", b"1.2.3", b"nan", b"inf", b"1e", b"e5", b"1e400", b"18446744073.709551616"]
        {
            assert_eq!(decimal(text, 9), None, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn whole_numbers_may_be_written_by_floats() {
        for (text, value) in
            [(&b"512"[..], 512), (b"512.0", 512), (b"7.", 7), (b"4.096e3", 4096), (b"1e+06", 1_000_000), (b"0.000", 0)]
        {
            assert_eq!(whole("bytes", text).ok(), Some(value), "{}", text.escape_ascii());
        }
        for text in [&b"512.5"[..], b".0", b"-1.0", b"1e-1", b"1e300", b"nan", b"1.0.0", b"+1", b"1e", b"1.0x", b""] {
            assert!(whole("bytes", text).is_err(), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn integers_overflow_into_faults() {
        assert_eq!(digits(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(digits(b"18446744073709551616"), None);
        assert_eq!(digits(b""), None);
        assert_eq!(digits(b"1a"), None);
        assert!(uint32("device", b"4294967296").is_err());
    }
}
