//! Writes tables as Parquet files (format specification 2.9, <https://parquet.apache.org/docs/file-format/>): no nulls, and one page for
//! each column of a row group. Integers are encoded as differences (`DELTA_BINARY_PACKED`), and pages compressed with Zstandard.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "integers are split into bytes and bits")]

use std::io::{self, BufWriter, Write};

use zstd::bulk::Compressor;

use super::file::TableWriter;
use super::{LogColumn, LogValues, Value};

const MAGIC: &[u8] = b"PAR1";

// Numbers of enumerations in the specification's `parquet.thrift`.
const PLAIN: i64 = 0;
const RLE: i64 = 3;
const DELTA_BINARY_PACKED: i64 = 5;
const REQUIRED: i64 = 0;
const DATA_PAGE: i64 = 0;
const ZSTD: i64 = 6;

/// A writer of a Parquet file.
pub(super) struct ParquetWriter<W: Write> {
    file: BufWriter<W>,
    compressor: Compressor<'static>,
    at: usize,
    metadata: Vec<(String, String)>,
    groups: Vec<Structure>,
    rows: usize,
}

impl<W: Write> ParquetWriter<W> {
    /// Begins a file with these keys and values of metadata.
    pub fn new(mut file: BufWriter<W>, metadata: Vec<(String, String)>) -> io::Result<Self> {
        file.write_all(MAGIC)?;
        Ok(Self { file, compressor: Compressor::new(1)?, at: MAGIC.len(), metadata, groups: Vec::new(), rows: 0 })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len();
        self.file.write_all(bytes)
    }
}

impl<W: Write> TableWriter for ParquetWriter<W> {
    fn write_group(&mut self, columns: &[LogColumn], values: impl Iterator<Item = LogValues>) -> io::Result<()> {
        let (mut chunks, mut group_bytes, mut rows) = (Vec::new(), 0, 0);
        for (column, values) in columns.iter().zip(values) {
            let (encoding, count, page) = encode(&values);
            let stored = self.compressor.compress(&page)?;
            let facts = Structure::default()
                .number(1, count as i64)
                .number(2, encoding)
                // Encodings of definition and repetition levels, of which there are none.
                .number(3, RLE)
                .number(4, RLE);
            let header = Structure::default()
                .number(1, DATA_PAGE)
                .number(2, page.len() as i64)
                .number(3, stored.len() as i64)
                .structure(5, facts)
                .encoded();
            let start = self.at;
            self.write(&header)?;
            self.write(&stored)?;
            let whole = header.len() + page.len();
            let chunk = Structure::default()
                .number(1, physical_type(column.value))
                .list(2, NUMBER, [zigzag(encoding)].iter().map(|number| varint(*number)))
                .list(3, TEXT, [&column.name].into_iter().map(|name| text(name)))
                .number(4, ZSTD)
                .long(5, count)
                .long(6, whole)
                .long(7, self.at - start)
                .long(9, start);
            chunks.push(Structure::default().long(2, start).structure(3, chunk).encoded());
            (group_bytes, rows) = (group_bytes + whole, count);
        }
        let group = Structure::default().list(1, STRUCTURE, chunks.into_iter()).long(2, group_bytes).long(3, rows);
        self.groups.push(group);
        self.rows += rows;
        Ok(())
    }

    fn finish(&mut self, columns: &[LogColumn]) -> io::Result<()> {
        let root = Structure::default().bytes(4, text("log")).number(5, columns.len() as i64);
        let fields = columns.iter().map(|column| {
            let field = Structure::default()
                .number(1, physical_type(column.value))
                .number(3, REQUIRED)
                .bytes(4, text(&column.name));
            logical_type(column.value).map_or(field.clone(), |logical| field.number(6, logical))
        });
        let schema: Vec<Vec<u8>> = std::iter::once(root).chain(fields).map(Structure::encoded).collect();
        let metadata = std::mem::take(&mut self.metadata).into_iter();
        let pairs =
            metadata.map(|(key, value)| Structure::default().bytes(1, text(&key)).bytes(2, text(&value)).encoded());
        let groups = std::mem::take(&mut self.groups).into_iter().map(Structure::encoded);
        let footer = Structure::default()
            .number(1, 1)
            .list(2, STRUCTURE, schema.into_iter())
            .long(3, self.rows)
            .list(4, STRUCTURE, groups)
            .list(5, STRUCTURE, pairs)
            .bytes(6, text(concat!("sledsim version ", env!("CARGO_PKG_VERSION"))))
            .encoded();
        self.write(&footer)?;
        let length = u32::try_from(footer.len()).map_err(io::Error::other)?;
        self.write(&length.to_le_bytes())?;
        self.write(MAGIC)?;
        self.file.flush()
    }
}

/// Returns the number of the type in the specification's enumeration `Type`.
fn physical_type(value: Value) -> i64 {
    match value {
        Value::Bool(_) => 0,
        Value::U32(_) => 1,
        Value::U64(_) | Value::Phase(_) => 2,
        Value::F64(_) => 5,
    }
}

/// Returns the number in the specification's enumeration `ConvertedType` for unsigned integers.
fn logical_type(value: Value) -> Option<i64> {
    match value {
        Value::U32(_) => Some(13),
        Value::U64(_) | Value::Phase(_) => Some(14),
        Value::Bool(_) | Value::F64(_) => None,
    }
}

/// Returns the encoding, the number of values and the encoded values.
fn encode(values: &LogValues) -> (i64, usize, Vec<u8>) {
    match values {
        LogValues::Bool(values) => {
            let bits = |eight: &[bool]| eight.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit));
            (PLAIN, values.len(), values.chunks(8).map(bits).collect())
        }
        LogValues::U32(values) => {
            // Readers compute modulo 2^32.
            let signed = values.iter().map(|&value| i64::from(value as i32));
            (
                DELTA_BINARY_PACKED,
                values.len(),
                differences(signed, |from, to| i64::from((to as i32).wrapping_sub(from as i32))),
            )
        }
        LogValues::U64(values) => {
            let signed = values.iter().map(|&value| value as i64);
            (DELTA_BINARY_PACKED, values.len(), differences(signed, |from, to| to.wrapping_sub(from)))
        }
        LogValues::F64(values) => (PLAIN, values.len(), values.iter().flat_map(|value| value.to_le_bytes()).collect()),
    }
}

/// Values in a block of differences, which have a minimum in common.
const BLOCK: usize = 128;
/// Values in a part of a block, which have the same width in bits.
const MINIBLOCK: usize = 32;

/// Returns values as differences from the one before, less the least difference of their block, in as few bits as needed.
fn differences(mut values: impl ExactSizeIterator<Item = i64>, difference: fn(i64, i64) -> i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [BLOCK, BLOCK / MINIBLOCK, values.len()] {
        push_varint(&mut bytes, number as u64);
    }
    let mut before = values.next().unwrap_or_default();
    push_varint(&mut bytes, zigzag(before));
    let mut block = [0; BLOCK];
    while values.len() > 0 {
        let count = values.len().min(BLOCK);
        for place in &mut block[..count] {
            let Some(value) = values.next() else { break };
            (*place, before) = (difference(before, value), value);
        }
        let least = block[..count].iter().copied().min().unwrap_or_default();
        push_varint(&mut bytes, zigzag(least));
        // Values after the last are of any width.
        block[count..].fill(least);
        let above = block.map(|value| value.wrapping_sub(least) as u64);
        let widths: [u32; BLOCK / MINIBLOCK] = std::array::from_fn(|part| {
            let all = above[part * MINIBLOCK..(part + 1) * MINIBLOCK].iter().fold(0, |all, value| all | value);
            u64::BITS - all.leading_zeros()
        });
        bytes.extend(widths.map(|width| width as u8));
        let parts = count.div_ceil(MINIBLOCK);
        for (values, width) in above.chunks(MINIBLOCK).zip(widths).take(parts) {
            pack(&mut bytes, values, width);
        }
    }
    bytes
}

/// Appends values of `width` bits, from the lowest bit of the first byte on.
fn pack(bytes: &mut Vec<u8>, values: &[u64], width: u32) {
    let (mut waiting, mut bits) = (0_u128, 0);
    for &value in values {
        waiting |= u128::from(value) << bits;
        bits += width;
        if bits >= u64::BITS {
            bytes.extend_from_slice(&(waiting as u64).to_le_bytes());
            waiting >>= u64::BITS;
            bits -= u64::BITS;
        }
    }
    bytes.extend_from_slice(&(waiting as u64).to_le_bytes()[..bits.div_ceil(8) as usize]);
}

// Types of the compact protocol of Apache Thrift, https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
const NUMBER: u8 = 5;
const LONG: u8 = 6;
const TEXT: u8 = 8;
const LIST: u8 = 9;
const STRUCTURE: u8 = 12;

/// A structure of Thrift's compact protocol. Fields are added in ascending order.
#[derive(Clone, Default)]
struct Structure {
    encoded: Vec<u8>,
    last: u8,
}

impl Structure {
    /// Adds an integer of 32 bits.
    fn number(self, field: u8, value: i64) -> Self {
        self.field(field, NUMBER, &varint(zigzag(value)))
    }

    /// Adds an integer of 64 bits.
    fn long(self, field: u8, value: usize) -> Self {
        self.field(field, LONG, &varint(zigzag(value as i64)))
    }

    fn bytes(self, field: u8, text: Vec<u8>) -> Self {
        self.field(field, TEXT, &text)
    }

    fn structure(self, field: u8, inner: Self) -> Self {
        self.field(field, STRUCTURE, &inner.encoded())
    }

    fn list(self, field: u8, of: u8, items: impl ExactSizeIterator<Item = Vec<u8>>) -> Self {
        let mut encoded = vec![0xf0 | of];
        push_varint(&mut encoded, items.len() as u64);
        encoded.extend(items.flatten());
        self.field(field, LIST, &encoded)
    }

    fn field(mut self, field: u8, of: u8, value: &[u8]) -> Self {
        self.encoded.push((field - self.last) << 4 | of);
        self.encoded.extend_from_slice(value);
        self.last = field;
        self
    }

    fn encoded(mut self) -> Vec<u8> {
        self.encoded.push(0);
        self.encoded
    }
}

/// Maps integers with small absolute values to small integers.
fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn varint(value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_varint(&mut bytes, value);
    bytes
}

fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn text(text: &str) -> Vec<u8> {
    let mut bytes = varint(text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads values as the format's specification says.
    fn decoded(bytes: &[u8]) -> Vec<i64> {
        let mut at = 0;
        let mut varint = |at: &mut usize| {
            let mut value = 0;
            for place in 0.. {
                let byte = bytes[*at];
                *at += 1;
                value |= u64::from(byte & 0x7f) << (7 * place);
                if byte < 0x80 {
                    break;
                }
            }
            value
        };
        let unzigzag = |value: u64| (value >> 1) as i64 ^ -((value & 1) as i64);
        assert_eq!((varint(&mut at), varint(&mut at)), (128, 4));
        let count = varint(&mut at) as usize;
        let mut values = vec![unzigzag(varint(&mut at))];
        while values.len() < count {
            let least = unzigzag(varint(&mut at));
            let widths = bytes[at..at + 4].to_vec();
            at += 4;
            for width in widths {
                if values.len() >= count {
                    break;
                }
                for place in 0..32 {
                    let bit = |it: usize| u64::from(bytes[at + it / 8] >> (it % 8) & 1);
                    let width = usize::from(width);
                    let above = (0..width).map(|it| bit(place * width + it) << it).sum::<u64>();
                    values.push(values[values.len() - 1].wrapping_add(least).wrapping_add(above as i64));
                }
                at += 4 * usize::from(width);
            }
        }
        assert_eq!(at, bytes.len());
        values.truncate(count);
        values
    }

    #[test]
    fn differences_hold_integers_of_any_size() {
        for count in [1, 2, 33, 128, 129, 130, 400] {
            for values in [
                vec![7; count],
                (0..count as u64).collect(),
                (0..count as u64).map(|it| it.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect(),
                (0..count as u64).map(|it| if it % 2 == 0 { 0 } else { u64::MAX }).collect(),
                (0..count as u64).map(|it| it % 3 << 62).collect(),
            ] {
                let (_, encoded_count, encoded) = encode(&LogValues::U64(values.clone()));
                let found: Vec<u64> = decoded(&encoded).into_iter().map(|value| value as u64).collect();
                assert_eq!((encoded_count, found), (count, values.clone()));
                let short: Vec<u32> = values.iter().map(|&value| (value >> 32) as u32).collect();
                let (_, _, encoded) = encode(&LogValues::U32(short.clone()));
                let found: Vec<u32> = decoded(&encoded).into_iter().map(|value| value as u32).collect();
                assert_eq!(found, short);
            }
        }
    }
}
