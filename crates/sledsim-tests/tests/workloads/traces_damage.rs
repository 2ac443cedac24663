//! Damaged traces: for any changed byte or truncation, a reader neither panics nor hangs nor silently omits a record.

use std::io::{Cursor, Read, Write};

use sledsim::request::Op;
use sledsim::traces::{Place, TraceError, TraceFormat, TraceOptions, TraceReader};
use sledsim_testing::reference;
use sledsim_testing::tiers::size;

/// The result of a reader: the number of records of any kind, or an error.
fn read(content: Vec<u8>, options: &TraceOptions) -> Result<u64, TraceError> {
    let mut reader = TraceReader::from_reader("damaged", Box::new(Cursor::new(content)), options)?;
    while let Some(record) = reader.next()? {
        assert!((record.bytes > 0) != (record.op == Op::Flush));
        assert!(record.offset_bytes.checked_add(record.bytes).is_some());
    }
    assert_eq!(reader.skipped(), 0);
    Ok(reader.records() + reader.other() + reader.suspect())
}

/// Reads a content. Asserts that an error has a location.
fn read_or_say_where(content: Vec<u8>, options: &TraceOptions) -> Option<u64> {
    let length = content.len() as u64;
    match read(content, options) {
        Ok(count) => Some(count),
        Err(error) => {
            let message = error.to_string();
            match error.place() {
                Some(Place::Line(line)) => assert!(line >= 1 && line <= length + 1, "{message}"),
                Some(Place::Byte(_)) => {}
                Some(Place::Record(_) | Place::Names) | None => panic!("no place in a file: {message}"),
            }
            assert!(message.starts_with("damaged: "), "{message}");
            None
        }
    }
}

fn line_ends(content: &[u8]) -> usize {
    content.iter().filter(|&&byte| byte == b'\n').count()
}

/// Changes byte `at` to `value`. Asserts that no record disappears unless a line end did.
fn change(content: &[u8], at: usize, value: u8, whole: u64, options: &TraceOptions) {
    let mut damaged = content.to_vec();
    damaged[at] = value;
    let same_lines = line_ends(&damaged) == line_ends(content);
    let count = read_or_say_where(damaged, options);
    if let (true, Some(count)) = (same_lines, count) {
        // A changed event may be a flush and a request.
        assert!(count >= whole, "byte {at} changed to {value:#x} left a record out");
    }
}

/// A small generator of evenly spread numbers (Knuth's MMIX constants), the same on every machine.
struct Spread(u64);

impl Spread {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound as u64) as usize
    }
}

#[test]
fn changed_and_truncated_examples_are_read_or_rejected() {
    for &format in TraceFormat::ALL {
        let example = format.example();
        let named = TraceOptions { format: Some(format), ..TraceOptions::default() };
        for options in [TraceOptions::default(), named] {
            let whole = read(example.to_vec(), &options).unwrap();
            for at in 0..example.len() {
                for value in (0..8).map(|bit| example[at] ^ 1 << bit).chain([0, b'0', b' ', b',', b'#', 0xff]) {
                    // A damaged example may be detected as another format, which has another number of records.
                    if options.format.is_some() {
                        change(example, at, value, whole, &options);
                    } else {
                        let mut damaged = example.to_vec();
                        damaged[at] = value;
                        read_or_say_where(damaged, &options);
                    }
                }
                read_or_say_where(example[..at].to_vec(), &options);
            }
        }
    }
}

/// Returns the first `most` bytes of a reference trace, decompressed.
fn prefix(rel: &str, most: u64) -> Option<Vec<u8>> {
    let file = std::fs::File::open(reference(rel)?).unwrap();
    let raw: Box<dyn Read> = match rel.rsplit('.').next() {
        Some("zst") => Box::new(zstd::Decoder::new(file).unwrap()),
        Some("bz2") => Box::new(bzip2::read::BzDecoder::new(file)),
        _ => Box::new(file),
    };
    let mut content = Vec::new();
    raw.take(most).read_to_end(&mut content).unwrap();
    Some(content)
}

/// Truncates `content` after its last complete record.
fn whole_records(mut content: Vec<u8>, format: TraceFormat) -> Vec<u8> {
    let header = content.iter().position(|&byte| byte == 0x0c).map_or(0, |at| at + 1);
    let (begin, size) = match format {
        TraceFormat::Vscsi => (0, 32),
        TraceFormat::HpSrt if content[header + 3] == 88 => (header, 88),
        TraceFormat::HpSrt => (header, 56),
        _ => {
            let end = content.iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
            content.truncate(end);
            return content;
        }
    };
    content.truncate(begin + (content.len() - begin) / size * size);
    content
}

const SAMPLES: [(&str, TraceFormat); 13] = [
    ("traces/hplajw-1992-1week.srt", TraceFormat::HpSrt),
    ("traces/hplabs-2003-1hour.srt.bz2", TraceFormat::HpSrt),
    ("traces/cloudphysics-2hour.vscsi.zst", TraceFormat::Vscsi),
    ("traces/websearch-60s.mqsim.trace", TraceFormat::Mqsim),
    ("traces/tpcc-7k.mqsim.trace", TraceFormat::Mqsim),
    ("traces/arc-OLTP.lis.zst", TraceFormat::Arc),
    ("traces/arc-P3.lis.zst", TraceFormat::Arc),
    ("drives/atlas10k/atlas10k.trace", TraceFormat::DisksimValidate),
    ("drives/barracuda/barracuda.trace", TraceFormat::DisksimValidate),
    ("drives/cheetah4LP/cheetah4LP.trace", TraceFormat::DisksimValidate),
    ("drives/cheetah9LP/cheetah9LP.trace", TraceFormat::DisksimValidate),
    ("drives/hp_c2247a/hp_c2247a.trace", TraceFormat::DisksimValidate),
    ("drives/st41601n/st41601n.trace", TraceFormat::DisksimValidate),
];

#[test]
fn reference_traces_survive_changes_and_cuts() {
    let mut spread = Spread(1);
    for (rel, format) in SAMPLES {
        let Some(content) = prefix(rel, 20_000) else { continue };
        let content = whole_records(content, format);
        let options = TraceOptions::default();
        let whole = read(content.clone(), &options).unwrap_or_else(|error| panic!("{rel}: {error}"));
        for _ in 0..size(100, 2000) {
            let (at, value) = (spread.below(content.len()), spread.below(256) as u8);
            change(&content, at, value, whole, &options);
        }
        for _ in 0..size(25, 500) {
            let mut cut = content.clone();
            cut.truncate(spread.below(content.len()));
            read_or_say_where(cut, &options);
        }
    }
}

fn compressed(content: &[u8]) -> [Vec<u8>; 4] {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(content).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    bzip2.write_all(content).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 6);
    xz.write_all(content).unwrap();
    let zstd = zstd::encode_all(content, 3).unwrap();
    [gzip.finish().unwrap(), bzip2.finish().unwrap(), xz.finish().unwrap(), zstd]
}

#[test]
fn damaged_compression_is_an_error_or_still_a_trace() {
    let mut spread = Spread(2);
    for &format in TraceFormat::ALL {
        let content = match SAMPLES.iter().find(|(_, other)| *other == format) {
            Some((rel, _)) => prefix(rel, 20_000).map(|content| whole_records(content, format)),
            None => None,
        };
        let content = content.unwrap_or_else(|| format.example().to_vec());
        for raw in compressed(&content) {
            for _ in 0..size(80, 250) {
                let mut damaged = raw.clone();
                let at = spread.below(raw.len());
                damaged[at] ^= 1 << spread.below(8);
                read_or_say_where(damaged, &TraceOptions::default());
                let length = 1 + spread.below(raw.len() - 1);
                let cut = read_or_say_where(raw[..length].to_vec(), &TraceOptions::default());
                assert_eq!(cut, None, "{format}: a compressed trace cut after {length} bytes is accepted");
            }
        }
    }
}

#[test]
fn noise_is_rejected() {
    let mut spread = Spread(3);
    for length in [1, 2, 7, 31, 32, 33, 100, 1000, 70_000] {
        for _ in 0..50 {
            let noise: Vec<u8> = (0..length).map(|_| spread.below(256) as u8).collect();
            read_or_say_where(noise.clone(), &TraceOptions::default());
            for &format in TraceFormat::ALL {
                let named = TraceOptions { format: Some(format), ..TraceOptions::default() };
                read_or_say_where(noise.clone(), &named);
            }
        }
    }
}
