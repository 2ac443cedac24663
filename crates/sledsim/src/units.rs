//! Unit conversions, and numbers with units as text.

/// Metres in a nanometre.
pub const M_PER_NM: f64 = 1e-9;
/// Metres in a micrometre.
pub const M_PER_UM: f64 = 1e-6;
/// Nanoseconds in a millisecond.
pub const NS_PER_MS: f64 = 1e6;
/// Bytes in a (decimal) megabyte.
pub const BYTES_PER_MB: f64 = 1e6;

/// Converts nanoseconds to milliseconds.
#[inline]
#[must_use]
pub fn ns_to_ms(ns: f64) -> f64 {
    ns / NS_PER_MS
}

/// Returns a count with its noun: `1 member`, `2 members`.
#[must_use]
pub fn plural(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Returns a rate as text: `2,761/s`, `87.3/s`.
#[must_use]
pub fn shown_rate(per_s: f64) -> String {
    if per_s < 99.95 {
        let decimals = if per_s < 0.9995 { 3 } else { 1 };
        return format!("{per_s:.decimals$}/s");
    }
    let digits = format!("{per_s:.0}");
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + "/s"
}

/// Returns a number of bytes as text: whole KiB, MiB or GiB as such, other numbers in decimal units with up to three decimals.
#[must_use]
pub fn shown_bytes(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    let decimal = |unit: f64, name: &str| {
        let number = format!("{:.3}", bytes as f64 / unit);
        format!("{} {name}", number.trim_end_matches('0').trim_end_matches('.'))
    };
    match bytes {
        GIB.. if bytes.is_multiple_of(GIB) => format!("{} GiB", bytes / GIB),
        MIB.. if bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        1_000_000_000.. => decimal(1e9, "GB"),
        1_000_000.. => decimal(BYTES_PER_MB, "MB"),
        1024.. if bytes.is_multiple_of(1024) => format!("{} KiB", bytes / 1024),
        _ => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_grouped_by_thousands() {
        let shown = [0.25, 87.34, 100.0, 2761.4, 1_234_567.0].map(shown_rate);
        assert_eq!(shown, ["0.250/s", "87.3/s", "100/s", "2,761/s", "1,234,567/s"]);
    }

    #[test]
    fn bytes_have_binary_units_only_if_whole() {
        let shown = [256 << 20, 4 << 30, 3_456_000_000, 10_000_000_000, 65_536, 6000, 512].map(shown_bytes);
        assert_eq!(shown, ["256 MiB", "4 GiB", "3.456 GB", "10 GB", "64 KiB", "6000 B", "512 B"]);
    }
}
