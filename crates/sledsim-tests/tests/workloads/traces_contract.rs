//! Contract of all trace formats.

use std::io::{Cursor, Read, Write};
use std::path::Path;

use sledsim::fault::{Fault, Kind};
use sledsim::request::{Flags, Op};
use sledsim::time::Time;
use sledsim::traces::{
    convert, BlkparseEvent, Place, TimeUnit, TraceError, TraceFormat, TraceInfo, TraceOptions, TraceReader, TraceRecord,
};
use sledsim_testing::options::Options;

/// Reads `content`. Returns its records and the reader.
fn read_as(content: &[u8], options: &TraceOptions) -> Result<(Vec<TraceRecord>, TraceReader), TraceError> {
    let mut reader = TraceReader::from_reader("made", Box::new(Cursor::new(content.to_vec())), options)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next()? {
        records.push(record);
    }
    Ok((records, reader))
}

/// Returns the records of a content whose format is detected.
fn read(content: &[u8]) -> Vec<TraceRecord> {
    read_as(content, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}")).0
}

fn is_binary(format: TraceFormat) -> bool {
    matches!(format, TraceFormat::HpSrt | TraceFormat::Vscsi | TraceFormat::Blktrace | TraceFormat::OracleGeneral)
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(content: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn xz(content: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn zstd(content: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(content, 3).unwrap()
}

/// A compression with its name.
type Compressor = (&'static str, fn(&[u8]) -> Vec<u8>);
const COMPRESSORS: [Compressor; 4] = [("gz", gzip), ("bz2", bzip2), ("xz", xz), ("zst", zstd)];

/// If all numbers are multiples of 512, they could be bytes or very large sector numbers.
#[test]
fn ambiguous_sector_units_are_an_error() {
    let bytes = b"0.5 0 1048576 512 1\n1.5 0 2097152 4096 0\n2.75 0 0 8192 1\n";
    let mqsim = b"5 0 1048576 512 1\n6 0 2097152 4096 0\n";
    for (content, format) in [(&bytes[..], "disksim-ascii"), (mqsim, "mqsim")] {
        let fault = read_as(content, &TraceOptions::default()).err().expect("the unit is ambiguous").fault();
        assert_eq!((fault.kind, fault.location.file.as_deref()), (Kind::UnknownFormat, Some("made")));
        let text = fault.text(&Options);
        for word in [format, "262144 bytes at 536870912", "512 at 1048576", "--sector-bytes 512 or --sector-bytes 1"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        for (sector_bytes, expected) in [(1, 512), (512, 512 * 512)] {
            let options = TraceOptions { sector_bytes: Some(sector_bytes), ..TraceOptions::default() };
            assert_eq!(read_as(content, &options).expect("the option decides").0[0].bytes, expected);
        }
        let named = TraceOptions { format: Some(format.parse().expect("a name")), ..TraceOptions::default() };
        assert_eq!(read_as(content, &named).expect("the format is given").0[0].bytes, 512 * 512);
    }
    // A single number that is not a multiple shows that they are sectors.
    assert_eq!(read(b"0.5 0 1048576 512 1\n1.5 0 2097152 8 0\n")[0].bytes, 512 * 512);
}

#[test]
fn detected_by_names_the_evidence_for_the_format() {
    let detected_by =
        |content: &[u8], options: &TraceOptions| read_as(content, options).expect("a trace").1.detected_by().to_owned();
    let of_lines = b"0.5 0 3200 8 1\nno record\n1.5 0 3208 8 0\n";
    let lenient = TraceOptions { skip_bad: 1, ..TraceOptions::default() };
    assert_eq!(detected_by(of_lines, &lenient), "2 of its first 3 lines");
    // Times in whole milliseconds look like nanoseconds.
    let whole = b"10 0 8 8 1\n20 0 16 8 0\n";
    assert_eq!(
        detected_by(whole, &TraceOptions::default()),
        "2 of its first 2 lines, which could as well be disksim-ascii"
    );
    let fio = TraceFormat::ALL.iter().find(|format| format.name() == "fio").expect("a format");
    assert_eq!(detected_by(fio.example(), &TraceOptions::default()), "its first bytes");
    let named = TraceOptions { format: Some(*fio), ..TraceOptions::default() };
    assert_eq!(detected_by(fio.example(), &named), "the name given");
}

#[test]
fn four_numbers_are_not_a_list_of_the_arc_paper_unless_the_third_is_0() {
    let (records, reader) = read_as(b"230027 8 0 0\n1842745 64 0 0\n", &TraceOptions::default()).expect("a list");
    assert_eq!((reader.format().name(), records[1].bytes), ("arc", 64 * 512));
    let times = b"10 8 8 1\n20 16 8 0\n30 24 8 1\n";
    assert_eq!(read_as(times, &TraceOptions::default()).err().expect("unknown").fault().kind, Kind::UnknownFormat);
}

#[test]
fn names_are_kebab_case_unique_and_parse_back() {
    for (index, format) in TraceFormat::ALL.iter().enumerate() {
        let name = format.name();
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{name}");
        assert_eq!(name.parse::<TraceFormat>().unwrap(), *format);
        assert!(!format.description().is_empty());
        assert!(TraceFormat::ALL[..index].iter().all(|other| other.name() != name));
    }
    assert!("no-such".parse::<TraceFormat>().is_err());
}

#[test]
fn every_example_is_recognised_and_begins_at_zero() {
    for &format in TraceFormat::ALL {
        let (records, reader) = read_as(format.example(), &TraceOptions::default()).unwrap();
        assert_eq!(reader.format(), format);
        assert_eq!(reader.has_times(), format.has_times());
        assert_eq!((records.len(), reader.records()), (3, 3), "{format}");
        assert_eq!(records[0].time, Time::ZERO);
        assert!(records.windows(2).all(|pair| pair[0].time <= pair[1].time));
        assert_eq!(records[2].time > Time::ZERO, format.has_times(), "{format}");
        assert!(records.iter().all(|record| record.bytes > 0));
        assert_eq!(records.iter().all(|record| record.gap_ns.is_some()), format == TraceFormat::DisksimValidate);
    }
}

#[test]
fn a_given_format_equals_the_detected_one() {
    for &format in TraceFormat::ALL {
        let options = TraceOptions { format: Some(format), ..TraceOptions::default() };
        assert_eq!(read_as(format.example(), &options).unwrap().0, read(format.example()));
    }
}

#[test]
fn every_compression_is_transparent_in_one_member_or_several() {
    for &format in TraceFormat::ALL {
        let example = format.example();
        for (name, compress) in COMPRESSORS {
            assert_eq!(read(&compress(example)), read(example), "{format} {name}");
            let (left, right) = example.split_at(example.len() / 2);
            let members = [compress(left), compress(right)].concat();
            assert_eq!(read(&members), read(example), "{format} {name}, two members");
        }
    }
}

#[test]
fn a_compressed_trace_that_is_cut_is_an_error() {
    for &format in TraceFormat::ALL {
        for (name, compress) in COMPRESSORS {
            let whole = compress(format.example());
            for length in 1..whole.len() {
                let error = read_as(&whole[..length], &TraceOptions::default()).err();
                let error = error.unwrap_or_else(|| panic!("{format} {name} cut after {length} bytes is accepted"));
                assert!(error.place().is_some(), "{error}");
            }
        }
    }
}

/// A reader that returns one byte at a time, like a slow pipe.
struct Dribble(Cursor<Vec<u8>>);

impl Read for Dribble {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(1);
        self.0.read(&mut buffer[..most])
    }
}

#[test]
fn read_sizes_do_not_matter() {
    for &format in TraceFormat::ALL {
        let content = format.example().to_vec();
        let options = TraceOptions::default();
        let slow = TraceReader::from_reader("slow", Box::new(Dribble(Cursor::new(content.clone()))), &options).unwrap();
        let one_by_one: Vec<_> = slow.map(Result::unwrap).collect();
        assert_eq!(one_by_one, read(&content));
        let mut reader = TraceReader::from_reader("batched", Box::new(Cursor::new(content)), &options).unwrap();
        let mut batch = Vec::new();
        assert_eq!(reader.read_batch(2, &mut batch).unwrap(), 2);
        assert_eq!(reader.read_batch(2, &mut batch).unwrap(), 1);
        assert_eq!(reader.read_batch(2, &mut batch).unwrap(), 0);
        assert_eq!(batch, one_by_one);
    }
}

#[test]
fn an_empty_trace_contains_no_records() {
    let error = read_as(b"", &TraceOptions::default()).err().unwrap();
    assert!(error.to_string().contains("the file is empty"), "{error}");
    for &format in TraceFormat::ALL {
        let options = TraceOptions { format: Some(format), ..TraceOptions::default() };
        let error = read_as(b"", &options).err().unwrap();
        assert!(error.place().is_some(), "{error}");
    }
    let header_only = read_as(b"t_ns,device,offset_bytes,bytes,op\n", &TraceOptions::default()).err().unwrap();
    assert!(header_only.to_string().contains("contains no requests: give the whole file"), "{header_only}");
}

#[test]
fn errors_for_unknown_content_list_the_formats() {
    for content in [&b"once upon a time\nthere was a disk\n"[..], &[0xee; 5000], b"\n\n\n", b"1 2 3"] {
        let error = read_as(content, &TraceOptions::default()).err().unwrap();
        let message = error.to_string();
        assert!(message.contains("no known trace format begins with") && message.contains(" (known: "), "{message}");
        assert!(TraceFormat::ALL.iter().all(|format| message.contains(format.name())), "{message}");
    }
}

#[test]
fn a_bad_line_is_an_error_with_its_location_or_skipped_and_counted() {
    for &format in TraceFormat::ALL.iter().filter(|format| !is_binary(**format)) {
        let mut content = format.example().to_vec();
        let last = content[..content.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
        let lines = content[..last].iter().filter(|&&byte| byte == b'\n').count() as u64;
        content.splice(last..last, b"?? damaged ??\n".iter().copied());
        let error = read_as(&content, &TraceOptions::default()).err().unwrap();
        assert_eq!(error.place(), Some(Place::Line(lines + 1)), "{error}");
        let remedy = ", which leaves out 1 of 4 records";
        assert!(error.to_string().ends_with(&format!("; repair it, or give skip_bad = 1{remedy}")), "{error}");
        let typed = Fault::from(error).text(&Options);
        assert!(typed.ends_with(&format!("; repair it, or give --skip-bad 1{remedy}")), "{typed}");
        let tolerant = TraceOptions { skip_bad: 1, ..TraceOptions::default() };
        let (records, reader) = read_as(&content, &tolerant).unwrap();
        assert_eq!((records, reader.skipped()), (read(format.example()), 1), "{format}");
    }
}

#[test]
fn a_cut_last_binary_record_is_an_error_with_its_offset() {
    for &format in TraceFormat::ALL.iter().filter(|format| is_binary(**format)) {
        let example = format.example();
        let error = read_as(&example[..example.len() - 1], &TraceOptions::default()).err().unwrap();
        let Some(Place::Byte(offset)) = error.place() else { panic!("{error}") };
        assert!(offset > 0 && error.to_string().contains("before the end"), "{error}");
    }
}

#[test]
fn another_format_in_the_middle_is_an_error_with_its_line() {
    let mixed = [TraceFormat::Mqsim.example(), TraceFormat::Spc.example()].concat();
    let options = TraceOptions { format: Some(TraceFormat::Mqsim), ..TraceOptions::default() };
    assert_eq!(read_as(&mixed, &options).err().unwrap().place(), Some(Place::Line(4)));
    // After the lines that detection reads.
    let long = [TraceFormat::Arc.example().repeat(10), TraceFormat::Mqsim.example().to_vec()].concat();
    assert_eq!(read_as(&long, &TraceOptions::default()).err().unwrap().place(), Some(Place::Line(31)));
}

#[test]
fn zero_length_and_backward_time_are_errors_or_counted() {
    let zero = b"1 0 8 8 1\n2 0 8 0 1\n3 0 8 8 1\n";
    let error = read_as(zero, &TraceOptions::default()).err().unwrap();
    assert!(error.place() == Some(Place::Line(2)) && error.to_string().contains("zero length"), "{error}");
    let backward = b"5 0 8 8 1\n6 0 8 8 1\n4 0 8 8 1\n7 0 8 8 1\n";
    let error = read_as(backward, &TraceOptions::default()).err().unwrap();
    assert_eq!(error.place(), Some(Place::Line(3)), "{error}");
    assert!(error.to_string().contains("one 2 ns before that of a record above it"), "{error}");
    let beyond = b"5 0 36028797018963967 2 1\n";
    let error = read_as(beyond, &TraceOptions::default()).err().unwrap();
    assert!(error.to_string().contains("2^64"), "{error}");
    let tolerant = TraceOptions { skip_bad: 1, ..TraceOptions::default() };
    for (content, kept) in [(&zero[..], 2), (backward, 3)] {
        let (records, reader) = read_as(content, &tolerant).unwrap();
        assert_eq!((records.len(), reader.skipped()), (kept, 1));
    }
    let twice = b"1 0 8 8 1\n2 0 8 0 1\n3 0 8 0 1\n4 0 8 8 1\n";
    let error = read_as(twice, &tolerant).err().unwrap();
    assert_eq!(error.place(), Some(Place::Line(3)), "{error}");
    assert!(error.to_string().ends_with("give skip_bad = 2, which leaves out 2 of 4 records"), "{error}");
}

/// Returns MQSim lines with the given times, ns.
fn mqsim_lines(times: impl IntoIterator<Item = u64>) -> Vec<u8> {
    times.into_iter().flat_map(|time| format!("{time} 0 {} 8 1\n", 8 * (time % 1000)).into_bytes()).collect()
}

#[test]
fn stray_times_are_skipped_anywhere() {
    const STRAY: u64 = 1_266_874_889_709_465_027;
    // Indices of the records with a stray time.
    for strays in [&[10_u64][..], &[0], &[98], &[0, 1, 2], &[40, 41, 42, 43, 70], &[5, 50, 95]] {
        for (stray, what) in [(STRAY, "ahead"), (0, "behind")] {
            if stray == 0 && strays.contains(&0) {
                continue; // A first record at 0 is in order.
            }
            let time =
                |number: u64| if strays.contains(&number) { stray + number % 3 } else { 1_000_000 * (number + 1) };
            let content = mqsim_lines((0..100).map(time));
            let named =
                |skip_bad| TraceOptions { skip_bad, format: Some(TraceFormat::Mqsim), ..TraceOptions::default() };
            let count = strays.len() as u64;
            let error = read_as(&content, &named(0)).err().expect("time runs backwards");
            assert_eq!(error.place(), Some(Place::Line(strays[0] + 1)), "{strays:?} {what}: {error}");
            let remedy = format!("give skip_bad = {count}, which leaves out {count} of 100 records");
            assert!(error.to_string().ends_with(&remedy), "{strays:?} {what}: {error}");
            for skip_bad in [count, 1000] {
                let (records, reader) = read_as(&content, &named(skip_bad)).unwrap();
                assert_eq!((records.len() as u64, reader.skipped()), (100 - count, count), "{strays:?} {what}");
                assert!(records.last().unwrap().time.ns() <= 100_000_000, "{strays:?} {what}");
            }
        }
    }
}

#[test]
fn a_stray_time_is_found_far_into_a_trace() {
    let content = mqsim_lines((0..1000).map(|number| if number == 700 { 1 << 60 } else { 1000 * number }));
    let error = read_as(&content, &TraceOptions::default()).err().unwrap();
    assert_eq!(error.place(), Some(Place::Line(701)), "{error}");
    assert!(error.to_string().contains("expected a time between those of the records around it"), "{error}");
    assert!(error.to_string().ends_with("give skip_bad = 1, which leaves out 1 of 1000 records"), "{error}");
}

#[test]
fn an_unsorted_trace_is_an_error_even_if_records_may_be_skipped() {
    // Events of two processors in alternating groups.
    let content = mqsim_lines((0..1000).map(|number| 1000 * (number / 20 * 20 + (number * 7) % 20)));
    let error = read_as(&content, &TraceOptions::default()).err().unwrap();
    assert!(error.to_string().ends_with("of 1000 records are out of order: give sort = true"), "{error}");
    let sorted = TraceOptions { sort: true, ..TraceOptions::default() };
    let records = read_as(&content, &sorted).unwrap().0;
    assert!(records.len() == 1000 && records.windows(2).all(|pair| pair[0].time <= pair[1].time));
    let damaged = [content.as_slice(), b"no record\n"].concat();
    let error = read_as(&damaged, &TraceOptions::default()).err().unwrap();
    assert!(error.to_string().ends_with("give sort = true and skip_bad = 1"), "{error}");
    let error = read_as(&damaged, &sorted).err().unwrap();
    assert_eq!(error.place(), Some(Place::Line(1001)), "{error}");
    assert!(error.to_string().ends_with("give skip_bad = 1, which leaves out 1 of 1001 records"), "{error}");
    assert_eq!(read_as(&damaged, &TraceOptions { skip_bad: 1, ..sorted }).unwrap().0.len(), 1000);
    let ignoring = TraceOptions { ignore_times: true, ..TraceOptions::default() };
    assert_eq!(read_as(&content, &ignoring).unwrap().0.len(), 1000);
}

#[test]
fn records_before_an_error_are_returned_if_bad_ones_are_skipped() {
    let mut content = mqsim_lines((0..300).map(|number| 1000 * number));
    content.extend(b"x\ny\n");
    let options = TraceOptions { skip_bad: 1, ..TraceOptions::default() };
    let mut reader = TraceReader::from_reader("made", Box::new(Cursor::new(content)), &options).unwrap();
    let mut records = Vec::new();
    let error = reader.read_batch(1000, &mut records).unwrap_err();
    assert_eq!((records.len(), error.place()), (300, Some(Place::Line(302))), "{error}");
    assert!(error.to_string().ends_with("give skip_bad = 2, which leaves out 2 of 302 records"), "{error}");
    assert!(reader.next().unwrap().is_none());
}

/// A tar archive of one file: a header, the file, and two empty blocks.
fn tar(name: &str, file: &[u8], magic: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..136].copy_from_slice(format!("{:011o} ", file.len()).as_bytes());
    header[148..156].copy_from_slice(b"        ");
    header[156] = b'0';
    header[257..257 + magic.len()].copy_from_slice(magic);
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let padding = vec![0; file.len().next_multiple_of(512) - file.len() + 1024];
    [&header[..], file, &padding].concat()
}

#[test]
fn archives_are_rejected_by_name() {
    let spc = TraceFormat::Spc.example();
    let ustar = tar("hour.csv", spc, b"ustar\x0000");
    let old = tar("hour.csv", spc, b"");
    let zip = [b"PK\x03\x04", spc].concat();
    let lz4 = [b"\x04\x22\x4d\x18", spc].concat();
    for (content, words) in [
        (ustar.clone(), "a tar archive, not a trace: unpack it with `tar -xf made`"),
        (gzip(&ustar), "a tar archive"),
        (xz(&old), "a tar archive"),
        (zip, "a ZIP archive, not a trace: unpack it with `unzip made`"),
        (lz4, "a file compressed with LZ4"),
    ] {
        for format in [None, Some(TraceFormat::Spc)] {
            let options = TraceOptions { format, skip_bad: 9, ..TraceOptions::default() };
            let error = read_as(&content, &options).err().expect("an archive").to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}

#[test]
fn numbers_may_be_floats_in_every_text_format() {
    let (of, with_floats) = (
        |format: &str| -> TraceFormat { format.parse().unwrap() },
        [
            ("mqsim", "11413000.0 0.0 657728.0 16.0 1.0\n11565000.0 1.0 3.1244784e7 64.0 0.0\n11721000.0 1.0 31244848.0 16.0 1.0\n"),
            ("disksim-ascii", "0.0 0.0 3200.0 8.0 1.0\n4.25 0.0 3208.0 8.0 0.0\n9.125 1.0 77.0 16.0 1.0\n"),
            ("arc", "230027.0 8.0 0.0 0.0\n1842745.0 64.0 0.0 1.0\n216082.0 8.0 0.0 2.0\n"),
            (
                "msr",
                "128166372003061629.0,usr,0.0,Read,7014609920.0,24576.0,41286.0\n\
                 128166372016382155.0,usr,0.0,Write,2657792.0,512.0,nan\n\
                 128166372026382245.0,usr,1.0,Read,2658304.0,4096.0,1800.0\n",
            ),
            ("spc", "0.0,20941264.0,8192.0,W,0.551706\n0,20939840.0,8.192e3,W,0.554041\n1.0,3436288.0,15872.0,r,1.011732\n"),
            (
                "alibaba",
                "419.0,W,8792731648.0,16384.0,1577808144360767.0\n\
                 725,R,59110326272.0,4096.0,1577808144360813.0\n\
                 12.0,R,3.50868463616e11,8192.0,1577808144360852.0\n",
            ),
            (
                "tencent",
                "1538323200.0,12910952.0,128.0,0.0,1063.0\n\
                 1538323200.0,6338688.0,8.0,1.0,1627.0\n\
                 1538323201.0,1904106.0,384.0,0.0,1360.0\n",
            ),
            ("disksim-validate", "R Miss 564347.0 2.0 14095.370 13876.270\nR Hit 564349.0 2.0 1414.270 18746.770\nW Miss 1569160.0 3.0 6936.010 23126.390\n"),
            (
                "fio",
                "fio version 3 iolog\n0 /dev/sda add\n0 /dev/sda open\n2000.0 /dev/sda write 0.0 16384.0\n\
                 7e3 /dev/sda read 65536.0 4096.0\n9000 /dev/sda write 1.6384e4 4096.0\n",
            ),
            (
                "blkparse",
                "8,0 3.0 1.0 0.0 697.0 Q W 223490.0 + 8.0 [dd]\n8,0 3 3 9.507758e-3 697 Q R 64.0 + 16.0 [dd]\n\
                 8,0 3 5 0.02 697 Q WS 223498.0 + 8.0 [dd]\n",
            ),
            (
                "fiu",
                "89966991347923.0 4253.0 nfsd 5.0891568e8 8.0 W 6.0 0.0 dd0f1bb0a1d5e0f2ad5a1a5f1ea8e2ab\n\
                 8.9966991385441e13 2250 my app 435219504 8 W 6 0 4c1a37f0c5d6f9d1a1a5a0a2f5c3f9de\n\
                 89967404883343 4253 nfsd 508915688.0 1.6e1 R 6 0\n",
            ),
            (
                "fio-log",
                "12.0, 1.05e7, 0.0, 4096.0, 249856.0, 0\n13, 12600000.0, 1, 8.192e3, 3104768, 0\n\
                 1.4e1, 250000, 0, 4096, 3534848, 0\n",
            ),
            ("csv", "t_ns,device,offset_bytes,bytes,op\n0.0,0.0,4096.0,4096.0,R\n1.5e6,0.0,8192.0,512.0,W\n2250000.0,1.0,0.0,1024.0,R\n"),
        ],
    );
    // A key is a text, whatever number it looks like.
    let texts = TraceFormat::ALL.iter().filter(|format| !is_binary(**format) && **format != TraceFormat::Keys);
    assert!(texts.eq(TraceFormat::ALL.iter().filter(|each| with_floats.iter().any(|(name, _)| of(name) == **each))));
    for (name, content) in with_floats {
        let (records, reader) = read_as(content.as_bytes(), &TraceOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(reader.format().name(), name);
        assert_eq!(records, read(of(name).example()), "{name}");
    }
}

#[test]
fn errors_for_unknown_content_explain_the_nearest_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noted.txt");
    // The first line counts as a header.
    let preface: String = (0..20).map(|line| format!("note {line} of whoever recorded this\n")).collect();
    let records: String = (0..500).map(|number| format!("0,{},4096,R,{}.5\n", number * 8, number)).collect();
    std::fs::write(&path, preface + &records).unwrap();
    let error = TraceReader::open(&path, &TraceOptions::default()).err().expect("unknown");
    let typed = Fault::from(error).text(&Options);
    assert!(typed.contains("; 500 records of it can be read with --format spc and --skip-bad 19"), "{typed}");
    let options = TraceOptions { format: Some(TraceFormat::Spc), skip_bad: 19, ..TraceOptions::default() };
    assert_eq!(TraceReader::open(&path, &options).unwrap().count(), 500);
}

#[test]
fn only_formats_that_read_the_trace_are_suggested() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole-ms.txt");
    std::fs::write(&path, "1 0 8 8 1\n2 0 16 8 0\n3 1 8 8 1b\n").unwrap();
    let mut reader = TraceReader::open(&path, &TraceOptions::default()).unwrap();
    assert_eq!(reader.format(), TraceFormat::DisksimAscii, "its last line has flags");
    assert!(reader.next().is_ok());
    std::fs::write(&path, format!("{}3 1 8 8 1b\n", "1 0 8 8 1\n".repeat(40))).unwrap();
    let read = |format| {
        let mut reader = TraceReader::open(&path, &TraceOptions { format, ..TraceOptions::default() }).unwrap();
        reader.find_map(Result::err).map(|error| error.to_string())
    };
    let error = read(None).expect("the last record is none of MQSim's");
    assert!(error.ends_with("; it can be read with format = \"disksim-ascii\""), "{error}");
    assert_eq!(read(Some(TraceFormat::DisksimAscii)), None);
    std::fs::write(&path, "0,8,4096,R,0.5\n").unwrap();
    let error = read(Some(TraceFormat::Msr)).expect("SPC");
    assert!(error.ends_with("; it can be read with format = \"spc\""), "{error}");
    let fio = TraceOptions { format: Some(TraceFormat::Fio), ..TraceOptions::default() };
    let error = TraceReader::open(&path, &fio).err().expect("SPC").to_string();
    assert!(error.ends_with("; it can be read with format = \"spc\""), "{error}");
    std::fs::write(&path, "0,8,4096,R,x\n").unwrap();
    let error = read(Some(TraceFormat::Msr)).expect("nothing");
    assert!(error.ends_with("; none of 1 records can be read: repair the trace"), "{error}");
}

#[test]
fn line_ends_blank_lines_and_byte_order_marks_do_not_matter() {
    for &format in TraceFormat::ALL.iter().filter(|format| !is_binary(**format)) {
        let text = std::str::from_utf8(format.example()).unwrap();
        let expected = read(format.example());
        assert_eq!(read(text.trim_end().as_bytes()), expected, "{format}, no last line end");
        assert_eq!(read(text.replace('\n', "\r\n").as_bytes()), expected, "{format}, CR LF");
        assert_eq!(read(format!("\u{feff}{text}\n\n").as_bytes()), expected, "{format}, byte order mark");
    }
}

#[test]
fn an_endless_line_is_rejected_in_bounded_memory() {
    let endless = [&b"1 0 8 8 1\n"[..], &vec![b'7'; 1 << 20]].concat();
    let error = read_as(&endless, &TraceOptions::default()).err().unwrap();
    assert_eq!(error.place(), Some(Place::Line(2)), "{error}");
}

#[test]
fn options_for_other_formats_are_rejected() {
    let zero = TraceOptions { sector_bytes: Some(0), ..TraceOptions::default() };
    assert!(matches!(read_as(b"1 0 8 8 1\n", &zero), Err(TraceError::Option { option: "sector_bytes", .. })));
    let larger = TraceOptions { sector_bytes: Some(4096), ..TraceOptions::default() };
    assert_eq!(read_as(b"1 0 8 8 1\n", &larger).unwrap().0[0].offset_bytes, 8 * 4096);
    let micros = TraceOptions { fio_time_unit: Some(TimeUnit::Us), ..TraceOptions::default() };
    assert!(matches!(read_as(b"1 0 8 8 1\n", &micros), Err(TraceError::Option { option: "time_unit", .. })));
    let issued = TraceOptions { blkparse_event: BlkparseEvent::Dispatched, ..TraceOptions::default() };
    assert!(matches!(read_as(TraceFormat::Fio.example(), &issued), Err(TraceError::Option { option: "event", .. })));
}

/// With a given sector size, sector numbers whose byte offsets overflow.
#[test]
fn overflowing_sector_sizes_are_an_error() {
    let size = 1 << 31;
    let given = |sector_bytes| TraceOptions { sector_bytes, ..TraceOptions::default() };
    let far = 1_u64 << 33;
    for (format, line) in [
        ("mqsim", format!("1 0 {far} 8 1")),
        ("disksim-ascii", format!("1.5 0 0 {far} 1")),
        ("spc", format!("0,{far},512,R,1.5")),
        ("tencent", format!("1,{far},8,0,1")),
        ("blkparse", format!("8,0 3 1 1.5 697 Q R {far} + 8 [x]")),
        ("arc", format!("{far} 8 0 1")),
        ("disksim-validate", format!("R Hit 0 {far} 1.0 2.0")),
    ] {
        let format = Some(format.parse().unwrap());
        let content = format!("{line}\n");
        let usual = TraceOptions { format, ..given(None) };
        assert_eq!(read_as(content.as_bytes(), &usual).unwrap().0.len(), 1, "{line}");
        let message = read_as(content.as_bytes(), &TraceOptions { format, ..given(Some(size)) })
            .err()
            .expect("too far")
            .to_string();
        assert!(message.contains("line 1: ") && message.contains("sector_bytes = 2147483648"), "{message}");
    }
    // Each record is valid by itself, but their total number of bytes overflows.
    let content = "1 0 0 4294967295 1\n".repeat(3);
    let format = Some(TraceFormat::Mqsim);
    let message =
        read_as(content.as_bytes(), &TraceOptions { format, ..given(Some(size)) }).err().expect("too far").to_string();
    assert!(message.contains("line 3: field `bytes`") && message.contains("sector_bytes = 2147483648"), "{message}");
}

#[test]
fn a_sorted_trace_needs_times() {
    let sorted = TraceOptions { sort: true, ..TraceOptions::default() };
    for &format in TraceFormat::ALL {
        let records = read_as(format.example(), &sorted);
        match records {
            Ok((records, _)) => assert_eq!(records, read(format.example()), "{format}"),
            Err(error) => {
                assert!(!format.has_times() && error.to_string().contains("have no times"), "{format}: {error}")
            }
        }
    }
}

#[test]
fn records_of_one_time_keep_their_order_when_sorted() {
    let content: Vec<u8> =
        (0..600_u64).rev().flat_map(|n| format!("{} 0 {} 8 1\n", n / 3, 8 * n).into_bytes()).collect();
    let sorted = TraceOptions { sort: true, ..TraceOptions::default() };
    let records = read_as(&content, &sorted).unwrap().0;
    let blocks: Vec<u64> = records.iter().map(|record| record.offset_bytes / 4096).collect();
    let expected: Vec<u64> = (0..600).map(|n| n / 3 * 3 + 2 - n % 3).collect();
    assert_eq!(blocks, expected);
}

#[test]
fn transfers_of_a_fio_log_are_sorted_by_arrival_and_have_responses() {
    let (records, reader) = read_as(TraceFormat::FioLog.example(), &TraceOptions::default()).unwrap();
    assert!(reader.has_responses());
    // Completions at 12, 13 and 14 ms, and latencies of 10.5, 12.6 and 0.25 ms.
    let arrivals: Vec<u64> = records.iter().map(|record| record.time.ns()).collect();
    assert_eq!(arrivals, [0, 1_100_000, 13_350_000]);
    let responses: Vec<_> = records.iter().map(|record| record.response_ns).collect();
    assert_eq!(responses, [Some(12_600_000), Some(10_500_000), Some(250_000)]);
    // In the order of the log.
    let ignoring = TraceOptions { ignore_times: true, ..TraceOptions::default() };
    assert_eq!(read_as(TraceFormat::FioLog.example(), &ignoring).unwrap().0[0].offset_bytes, 249_856);
}

#[test]
fn fio_logs_without_offsets_or_latencies_are_errors() {
    let read = |name: &str, content: &str| {
        let raw = Box::new(Cursor::new(content.as_bytes().to_vec()));
        let reader = TraceReader::from_reader(name, raw, &TraceOptions::default());
        reader.and_then(|reader| {
            reader.map(|record| record.map(|record| record.response_ns)).collect::<Result<Vec<_>, _>>()
        })
    };
    let log = "3, 3719488, 0, 4096, 8192, 0\n5, 2006135, 1, 4096, 0, 0\n";
    assert_eq!(read("a_clat.1.log", log).unwrap(), [Some(3_719_488), Some(2_006_135)]);
    assert_eq!(read("a_slat.1.log", log).unwrap(), [None, None]);
    for (name, content, words) in [
        ("a_lat.1.log", "3, 3719488, 0, 4096, 0\n5, 2006135, 1, 4096, 0\n", "with fio's option log_offset=1"),
        ("a_lat.1.log", "3, 3719488, 0, 4096\n5, 2006135, 1, 4096\n", "with fio's option log_offset=1"),
        ("a_bw.1.log", log, "bandwidths"),
        ("a_iops.log", log, "operations per second"),
        ("a_lat.1.log", "500, 3719488, 0, 0, 0, 0\n1000, 2006135, 0, 0, 0, 0\n", "record without log_avg_msec"),
    ] {
        let error = read(name, content).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// Options for properties that the content of two formats does not determine.
#[test]
fn the_iolog_unit_and_the_blkparse_event_can_be_set() {
    let times = |content: &[u8], options: &TraceOptions| -> Vec<u64> {
        read_as(content, options).unwrap().0.iter().map(|record| record.time.ns()).collect()
    };
    let plain = times(TraceFormat::Fio.example(), &TraceOptions::default());
    assert_eq!(plain, [0, 5_000_000, 7_000_000]);
    let millis = TraceOptions { fio_time_unit: Some(TimeUnit::Ms), ..TraceOptions::default() };
    assert_eq!(times(TraceFormat::Fio.example(), &millis), plain.iter().map(|ns| ns * 1000).collect::<Vec<_>>());
    let both = b"8,0 3 1 0.000000000 697 Q W 223490 + 8 [dd]\n8,0 3 2 0.000500000 697 D W 223490 + 8 [dd]\n\
        8,0 3 3 0.009000000 697 Q R 64 + 16 [dd]\n8,0 3 4 0.010000000 697 D R 64 + 16 [dd]\n";
    let issued = TraceOptions { blkparse_event: BlkparseEvent::Dispatched, ..TraceOptions::default() };
    // The first record is at time 0.
    assert_eq!(times(both, &TraceOptions::default()), [0, 9_000_000]);
    assert_eq!(times(both, &issued), [0, 9_500_000]);
}

#[test]
fn converting_keeps_every_request() {
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| TraceReader::open(path, &TraceOptions::default()).unwrap();
    for &format in TraceFormat::ALL {
        let from = folder.path().join(format!("{format}.trace"));
        std::fs::write(&from, format.example()).unwrap();
        let expected: Vec<_> = read(format.example())
            .into_iter()
            .map(|record| TraceRecord { flags: Flags::NONE, response_ns: None, gap_ns: None, outcome: None, ..record })
            .collect();
        for target in [TraceFormat::Csv, TraceFormat::Mqsim, TraceFormat::DisksimAscii] {
            for suffix in ["txt", "gz", "bz2", "xz", "zst"] {
                let to = folder.path().join(format!("to.{suffix}"));
                let written = convert(open(&from), &to, target);
                if format.is_closed_loop() || format.lists_objects() {
                    let refusal = written.err().map(|error| error.to_string()).unwrap_or_default();
                    let words =
                        if format.is_closed_loop() { "cannot hold the gaps" } else { "lists objects of a cache" };
                    assert!(refusal.contains(words), "{refusal}");
                    continue;
                }
                let unaligned = expected.iter().any(|record| (record.offset_bytes | record.bytes) % 512 != 0);
                if unaligned && target != TraceFormat::Csv {
                    assert!(matches!(written, Err(TraceError::Inexpressible { .. })), "{format} to {target}");
                    continue;
                }
                assert_eq!(written.unwrap(), 3);
                let content = std::fs::read(&to).unwrap();
                assert_eq!(content.starts_with(b"t_ns"), suffix == "txt" && target == TraceFormat::Csv);
                assert_eq!(read(&content), expected, "{format} to {target}.{suffix}");
            }
        }
    }
    let partial = std::fs::read_dir(folder.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|suffix| suffix == "partial"));
    assert_eq!(partial.count(), 0, "a half-written trace was left behind");
    let refused = convert(open(&folder.path().join("csv.trace")), folder.path(), TraceFormat::Msr);
    assert!(refused.err().unwrap().to_string().contains("cannot be written"));
}

/// A flush has no address, and forced unit access is a flag of a write. Formats without flushes omit them.
#[test]
fn flushes_and_forced_writes_are_kept_if_the_format_has_them() {
    let blkparse = b"8,0 3 1 0.000000000 697 Q W 8 + 8 [dd]\n8,0 3 2 0.000000001 697 Q FWFSM 16 + 8 [dd]\n\
        8,0 3 3 0.000000002 697 Q FWS [dd]\n8,0 3 4 0.000000003 697 Q R 8 + 8 [dd]\n";
    let fio = b"fio version 3 iolog\n0 f write 0 4096\n1 f sync 0 0\n1 f datasync 0 0\n2 f sync_file_range 0 0\n";
    let csv = b"t_ns,device,offset_bytes,bytes,op\n0,0,4096,512,W\n1,0,7,9,F\n2,0,0,512,wf\n3,0,0,0,flush\n";
    let folder = tempfile::tempdir().unwrap();
    for (content, ops) in [(&blkparse[..], "W F WF F R"), (fio, "W F F"), (csv, "W F WF F")] {
        let (records, reader) = read_as(content, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(reader.records(), records.len() as u64);
        let name = |record: &TraceRecord| match (record.op, record.flags.contains(Flags::DURABLE)) {
            (Op::Read, false) => "R",
            (Op::Write, false) => "W",
            (Op::Write, true) => "WF",
            (Op::Flush, false) => "F",
            _ => panic!("{record:?}"),
        };
        let names = |records: &[TraceRecord]| records.iter().map(name).collect::<Vec<_>>().join(" ");
        assert_eq!(names(&records), ops);
        let (flushes, forced) = (ops.split(' ').filter(|op| *op == "F").count(), ops.matches("WF").count());
        let open =
            || TraceReader::from_reader("made", Box::new(Cursor::new(content.to_vec())), &TraceOptions::default());
        let info = TraceInfo::of(open().unwrap()).unwrap();
        assert_eq!((info.flushes, info.durable_writes), (flushes as u64, forced as u64));
        assert_eq!((info.records, info.records - info.flushes), (records.len() as u64, info.reads + info.writes));
        assert_eq!(info.min_bytes, if content == csv { 512 } else { 4096 });
        for (target, kept) in
            [(TraceFormat::Csv, ops.to_owned()), (TraceFormat::Mqsim, ops.replace("WF", "W").replace(" F", ""))]
        {
            let to = folder.path().join("to.txt");
            assert_eq!(convert(open().unwrap(), &to, target).unwrap(), kept.split(' ').count() as u64);
            assert_eq!(names(&read(&std::fs::read(&to).unwrap())), kept, "{target}");
        }
    }
    let wrong = b"t_ns,device,offset_bytes,bytes,op\n0,0,4096,512,FUA\n";
    let error =
        read_as(wrong, &TraceOptions { format: Some(TraceFormat::Csv), ..TraceOptions::default() }).err().unwrap();
    assert!(error.to_string().contains("R, W, WF, F, ZR, read, write, flush or reset"), "{error}");
}

#[test]
fn information_serialises_with_units_in_its_keys() {
    for &format in TraceFormat::ALL {
        let reader =
            TraceReader::from_reader("made", Box::new(Cursor::new(format.example())), &TraceOptions::default())
                .unwrap();
        let info = serde_json::to_value(TraceInfo::of(reader).unwrap()).unwrap();
        assert_eq!(info["format"], format.name());
        for key in ["duration_s", "mean_bytes", "min_offset_bytes", "read_share", "devices"] {
            assert!(info[key].is_number(), "{key}");
        }
    }
}

#[test]
fn a_missing_file_is_named() {
    let error = TraceReader::open(std::path::Path::new("no/such.trace"), &TraceOptions::default()).err().unwrap();
    assert!(error.to_string().starts_with("no/such.trace"), "{error}");
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket.csv");
    let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let example = Box::new(Cursor::new(TraceFormat::Csv.example()));
    let reader = TraceReader::from_reader("made", example, &TraceOptions::default()).unwrap();
    let error = convert(reader, &path, TraceFormat::Csv).unwrap_err().to_string();
    assert!(error.ends_with("it exists and is not a regular file; give another name"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
