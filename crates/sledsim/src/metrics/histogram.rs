//! Histogram of nanoseconds with bounded relative bucket width.

use crate::convert::{to_usize, trunc_to_u64};

/// Base-2 logarithm of [`SUB_BUCKETS`].
const SUB_BITS: u32 = 9;
/// Buckets per octave.
pub const SUB_BUCKETS: u64 = 1 << SUB_BITS;
/// Columns of a row.
const COLUMNS: usize = 1 << SUB_BITS;
/// Rows of buckets: the values below [`SUB_BUCKETS`], then one per octave up to 2^64.
const ROWS: usize = 64 - SUB_BITS as usize + 1;

/// Counts of one row.
type Row = [u64; COLUMNS];

/// Log-linear histogram of `u64` nanoseconds: 512 equal buckets in each octave, so a bucket is narrower than 0.2 % of
/// its values, and values below 1024 ns have one bucket each.
///
/// The layout is that of HdrHistogram (G. Tene). Rows are allocated when first used: 4 KiB per octave seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    rows: [Option<Box<Row>>; ROWS],
}

/// A coarser view of a histogram, for plotting: bin `i` holds `counts[i]` values in `edges_ns[i]..edges_ns[i + 1]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Bins {
    /// Rising edges of the bins, ns: one more than there are counts, or none at all. The upper edge of the last octave
    /// is 2^64 - 1.
    pub edges_ns: Vec<u64>,
    /// Number of values in each bin.
    pub counts: Vec<u64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { rows: [const { None }; ROWS] }
    }
}

/// The place of a bucket in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bucket {
    row: usize,
    column: usize,
}

/// Returns the bucket of a value.
#[inline]
fn bucket(value_ns: u64) -> Bucket {
    // Setting a low bit puts every value below 512 into row 0.
    let row = (64 - SUB_BITS) - (value_ns | (SUB_BUCKETS - 1)).leading_zeros();
    let column = (value_ns >> row.saturating_sub(1)) & (SUB_BUCKETS - 1);
    Bucket { row: row as usize, column: to_usize(column) }
}

/// Base-2 logarithm of the bucket width in a row.
#[expect(clippy::cast_possible_truncation, reason = "there are 56 rows")]
const fn width_bits(row: usize) -> u32 {
    row.saturating_sub(1) as u32
}

/// Lower edge of a bucket, ns.
const fn lower_ns(Bucket { row, column }: Bucket) -> u64 {
    let base = if row == 0 { 0 } else { SUB_BUCKETS };
    (base + column as u64) << width_bits(row)
}

/// A bucket with values.
struct FilledBucket {
    bucket: Bucket,
    count: u64,
}

impl Histogram {
    /// Adds a value in nanoseconds.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        let Bucket { row, column } = bucket(value_ns);
        match &mut self.rows[row] {
            Some(counts) => counts[column] += 1,
            empty => empty.insert(new_row())[column] += 1,
        }
    }

    /// Adds the values of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.rows.iter_mut().zip(&other.rows) {
            if let Some(theirs) = theirs {
                let mine = mine.get_or_insert_with(new_row);
                mine.iter_mut().zip(theirs.iter()).for_each(|(sum, count)| *sum += count);
            }
        }
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.rows.iter().flatten().flat_map(|row| row.iter()).sum()
    }

    /// Number of values up to `value_ns`, those in the same bucket included.
    #[must_use]
    pub fn count_up_to(&self, value_ns: u64) -> u64 {
        let last = bucket(value_ns);
        let rows = self.rows[..=last.row].iter().enumerate().filter_map(|(row, counts)| Some((row, counts.as_ref()?)));
        rows.flat_map(|(row, counts)| if row == last.row { &counts[..=last.column] } else { &counts[..] }).sum()
    }

    /// Returns estimates of the `ps`-quantiles, ns: the values of rank `ceil(p * count)` (at least 1) in ascending order. `None`
    /// if the histogram is empty. `ps` must be in ascending order; values outside 0 to 1 are clamped.
    ///
    /// The values of a bucket are assumed to be spread evenly over it, so an estimate lies in the same bucket as the value
    /// of that rank: the relative error is below 1/512, and 0 below 1024 ns.
    #[must_use]
    pub fn quantiles_ns<const N: usize>(&self, ps: [f64; N]) -> Option<[f64; N]> {
        let total = self.count();
        if total == 0 {
            return None;
        }
        let mut estimates = [0.0; N];
        let mut buckets = self.filled();
        let (mut below, mut current) = (0, buckets.next()?);
        for (p, estimate) in ps.into_iter().zip(&mut estimates) {
            let rank = trunc_to_u64((p.clamp(0.0, 1.0) * total as f64).ceil()).clamp(1, total);
            while below + current.count < rank {
                below += current.count;
                current = buckets.next()?;
            }
            let FilledBucket { bucket, count } = current;
            let inside = ((rank - below) as f64 - 0.5) / count as f64;
            let last_offset_ns = (1_u64 << width_bits(bucket.row)) - 1;
            *estimate = lower_ns(bucket) as f64 + inside * last_offset_ns as f64;
        }
        Some(estimates)
    }

    /// Returns bins for plotting, from the first to the last that is not empty: `per_octave` (rounded up to a power of two, at
    /// most 512) in each octave from 512 ns on and in the range below 512 ns.
    #[must_use]
    pub fn bins(&self, per_octave: u32) -> Bins {
        let per_octave = (per_octave as usize).clamp(1, COLUMNS).next_power_of_two();
        let group = COLUMNS / per_octave;
        let mut bins = Bins::default();
        let mut empty_tail = 0;
        for (row, counts) in self.rows.iter().enumerate() {
            for bin in 0..per_octave {
                let columns = bin * group..(bin + 1) * group;
                let count = counts.as_ref().map_or(0, |counts| counts[columns].iter().sum());
                if count == 0 && bins.counts.is_empty() {
                    continue;
                }
                bins.edges_ns.push(lower_ns(Bucket { row, column: bin * group }));
                bins.counts.push(count);
                empty_tail = if count == 0 { empty_tail + 1 } else { 0 };
            }
        }
        let kept = bins.counts.len() - empty_tail;
        if kept > 0 {
            bins.counts.truncate(kept);
            bins.edges_ns.truncate(kept + 1);
            if bins.edges_ns.len() == kept {
                bins.edges_ns.push(u64::MAX);
            }
        }
        bins
    }

    /// Returns the buckets that are not empty, in ascending order.
    fn filled(&self) -> impl Iterator<Item = FilledBucket> + '_ {
        self.rows.iter().enumerate().filter_map(|(row, counts)| Some((row, counts.as_ref()?))).flat_map(
            |(row, counts)| {
                counts
                    .iter()
                    .enumerate()
                    .filter(|(_, &count)| count > 0)
                    .map(move |(column, &count)| FilledBucket { bucket: Bucket { row, column }, count })
            },
        )
    }
}

/// Returns a row of zeros. Out of line, because it runs once per octave and [`Histogram::record`] millions of times.
#[cold]
fn new_row() -> Box<Row> {
    Box::new([0; COLUMNS])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_cover_all_integers_without_overlap() {
        let mut expected = 0_u64;
        for row in 0..ROWS {
            for column in 0..COLUMNS {
                assert_eq!(lower_ns(Bucket { row, column }), expected);
                let last = expected + ((1 << width_bits(row)) - 1);
                assert_eq!(bucket(expected), Bucket { row, column });
                assert_eq!(bucket(last), Bucket { row, column });
                expected = last.wrapping_add(1);
            }
        }
        assert_eq!(expected, 0, "the last bucket ends at 2^64");
    }

    #[test]
    fn small_values_are_exact() {
        let mut histogram = Histogram::default();
        for value in 1..=1000 {
            histogram.record(value);
        }
        assert_eq!(histogram.quantiles_ns([0.0, 0.5, 0.9, 0.999, 1.0]), Some([1.0, 500.0, 900.0, 999.0, 1000.0]));
        assert_eq!(Histogram::default().quantiles_ns([0.5]), None);
    }

    #[test]
    fn bins_end_with_the_last_value() {
        let mut histogram = Histogram::default();
        for value in [600, 700, 5000] {
            histogram.record(value);
        }
        let bins = histogram.bins(2);
        assert_eq!(bins.edges_ns, [512, 768, 1024, 1536, 2048, 3072, 4096, 6144]);
        assert_eq!(bins.counts, [2, 0, 0, 0, 0, 0, 1]);
        histogram.record(u64::MAX);
        assert_eq!(histogram.bins(1).edges_ns.last(), Some(&u64::MAX));
        assert_eq!(Histogram::default().bins(8), Bins::default());
    }
}
