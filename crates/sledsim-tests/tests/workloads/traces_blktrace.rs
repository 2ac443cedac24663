//! Binary files of blktrace, compared with the text that blkparse prints for the same events.

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;
use std::process::Command;

use sledsim::traces::{BlkparseEvent, TraceError, TraceFormat, TraceOptions, TraceReader, TraceRecord};

/// An event of a request.
#[derive(Clone, Copy, Debug)]
struct Event {
    time_ns: u64,
    cpu: u32,
    /// The letter that blkparse prints, and the number and the category of the event.
    action: (char, u32, u32),
    /// Letters of the operation, as blkparse prints them.
    rwbs: &'static str,
    sector: u64,
    sectors: u32,
    is_command: bool,
}

const QUEUED: (char, u32, u32) = ('Q', 1, 1 << 4);
const ISSUED: (char, u32, u32) = ('D', 7, 1 << 6);
const COMPLETED: (char, u32, u32) = ('C', 8, 1 << 7);
const ALLOCATED: (char, u32, u32) = ('G', 4, 1 << 4);

const DEVICE: u32 = 8 << 20 | 16;

impl Event {
    /// The categories of the letters.
    fn categories(&self) -> u32 {
        let mut found = self.action.2 | 1 << 8;
        let mut is_operation_read = false;
        for letter in self.rwbs.chars() {
            found |= match letter {
                'F' if is_operation_read => 1 << 15,
                'F' => 1 << 2,
                'A' => 1 << 11,
                'S' => 1 << 3,
                'M' => 1 << 12,
                _ => {
                    is_operation_read = true;
                    match letter {
                        'W' => 1 << 1,
                        'D' => 1 << 13 | 1 << 1,
                        _ => 1,
                    }
                }
            };
        }
        if self.is_command {
            found = found & !(1 << 8) | 1 << 9;
        }
        found
    }

    /// The record, with the bytes of a command as its data.
    fn record(&self, sequence: u32, is_big_endian: bool) -> Vec<u8> {
        let mut found = Vec::new();
        let mut put = |value: u64, bytes: usize| {
            if is_big_endian {
                found.extend_from_slice(&value.to_be_bytes()[8 - bytes..]);
            } else {
                found.extend_from_slice(&value.to_le_bytes()[..bytes]);
            }
        };
        let data: &[u8] = if self.is_command { &[0x12, 0, 0, 0, 0x24, 0] } else { &[] };
        put(0x6561_7407, 4);
        put(sequence.into(), 4);
        put(1_000_000_000_000 + self.time_ns, 8);
        put(self.sector, 8);
        put(u64::from(self.sectors) * 512, 4);
        put(u64::from(self.categories() << 16 | self.action.1), 4);
        put(697, 4);
        put(DEVICE.into(), 4);
        put(self.cpu.into(), 4);
        put(0, 2);
        put(data.len() as u64, 2);
        found.extend_from_slice(data);
        found
    }

    /// The line of blkparse.
    fn line(&self, sequence: u32) -> String {
        let Self { cpu, action: (letter, ..), rwbs, sector, sectors, .. } = self;
        let (seconds, ns) = (self.time_ns / 1_000_000_000, self.time_ns % 1_000_000_000);
        let data = match (self.is_command, letter) {
            (true, 'C') => "(12 00 00 00 24 00) ".to_owned(),
            (true, _) => format!("{} (12 00 00 00 24 00) ", sectors * 512),
            _ if *sectors > 0 => format!("{sector} + {sectors} "),
            _ => String::new(),
        };
        let program = if *letter == 'C' { "[0]" } else { "[my app]" };
        format!("  8,16  {cpu:3} {sequence:8} {seconds:5}.{ns:09}   697  {letter} {rwbs:>3} {data}{program}\n")
    }
}

/// Events of four processors, in order of time.
fn events() -> Vec<Event> {
    const OPERATIONS: [(&str, u32); 12] = [
        ("R", 8),
        ("W", 16),
        ("WS", 8),
        ("RA", 256),
        ("RM", 8),
        ("FN", 0),
        ("FWS", 8),
        ("FWFSM", 8),
        ("WFS", 24),
        ("D", 2048),
        ("WSM", 8),
        ("R", 1),
    ];
    let mut found = Vec::new();
    for number in 0..600_u32 {
        let (rwbs, sectors) = OPERATIONS[number as usize * 7 % OPERATIONS.len()];
        let is_command = number % 17 == 5 && rwbs == "R";
        let sector = u64::from(number) * 1_234_567 % (1 << 33);
        for (after_ns, action) in [(0, QUEUED), (300, ALLOCATED), (2000, ISSUED), (90_000, COMPLETED)] {
            if is_command && matches!(action, QUEUED | ALLOCATED) {
                continue;
            }
            let time_ns = u64::from(number) * 40_001 + after_ns;
            let cpu = if action == COMPLETED { (number + 1) % 4 } else { number / 3 % 4 };
            found.push(Event { time_ns, cpu, action, rwbs, sector, sectors, is_command });
        }
    }
    found.sort_by_key(|event| event.time_ns);
    found
}

/// Writes the files of the processors, and returns the text of blkparse.
fn write_files(folder: &Path, is_big_endian: bool) -> String {
    let mut files = vec![Vec::new(); 4];
    let mut sequences = [0_u32; 4];
    let mut text = String::new();
    for event in events() {
        let cpu = event.cpu as usize;
        sequences[cpu] += 1;
        files[cpu].extend(event.record(sequences[cpu], is_big_endian));
        text += &event.line(sequences[cpu]);
    }
    for (cpu, content) in files.iter().enumerate() {
        fs::write(folder.join(format!("sdb.blktrace.{cpu}")), content).unwrap();
    }
    text
}

fn of(event: BlkparseEvent) -> TraceOptions {
    TraceOptions { blkparse_event: event, ..TraceOptions::default() }
}

fn of_text(text: &str, event: BlkparseEvent) -> Vec<TraceRecord> {
    let raw = Box::new(Cursor::new(text.as_bytes().to_vec()));
    let reader = TraceReader::from_reader("text", raw, &of(event)).unwrap();
    assert_eq!(reader.format(), TraceFormat::Blkparse);
    reader.map(Result::unwrap).collect()
}

fn read(path: &Path, options: &TraceOptions) -> Result<Vec<TraceRecord>, TraceError> {
    TraceReader::open(path, options)?.collect()
}

#[test]
fn binary_files_give_the_records_of_their_text() {
    for is_big_endian in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let text = write_files(folder.path(), is_big_endian);
        for event in [BlkparseEvent::Queued, BlkparseEvent::Dispatched] {
            let expected = of_text(&text, event);
            assert!(expected.len() > 500);
            let names = ["sdb.blktrace.2", "sdb.blktrace.0", "sdb", ""];
            for path in names.map(|name| folder.path().join(name)) {
                let reader = TraceReader::open(&path, &of(event)).unwrap();
                assert_eq!(reader.format(), TraceFormat::Blktrace);
                let records: Vec<_> = reader.map(Result::unwrap).collect();
                assert_eq!(records, expected, "{}", path.display());
            }
        }
    }
}

#[test]
fn blkparse_itself_prints_the_same_records() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path(), false);
    let Ok(printed) = Command::new("blkparse").args(["-q", "-i", "sdb"]).current_dir(folder.path()).output() else {
        eprintln!("skipped: blkparse is not installed");
        return;
    };
    let text = String::from_utf8(printed.stdout).unwrap();
    for event in [BlkparseEvent::Queued, BlkparseEvent::Dispatched] {
        assert_eq!(read(&folder.path().join("sdb"), &of(event)).unwrap(), of_text(&text, event));
    }
}

#[test]
fn compressed_and_empty_files_of_processors_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let text = write_files(folder.path(), false);
    let file = folder.path().join("sdb.blktrace.1");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&fs::read(&file).unwrap()).unwrap();
    fs::write(folder.path().join("sdb.blktrace.1.gz"), encoder.finish().unwrap()).unwrap();
    fs::remove_file(&file).unwrap();
    fs::write(folder.path().join("sdb.blktrace.4"), b"").unwrap();
    let expected = of_text(&text, BlkparseEvent::Queued);
    assert_eq!(read(&folder.path().join("sdb"), &TraceOptions::default()).unwrap(), expected);
    // A copy beside the compressed file is the same file.
    fs::write(&file, []).unwrap();
    let records = read(&folder.path().join("sdb.blktrace.1.gz"), &TraceOptions::default()).unwrap();
    assert!(records.len() < expected.len());
}

#[test]
fn folders_of_several_devices_or_none_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let error = read(folder.path(), &TraceOptions::default()).unwrap_err().to_string();
    assert!(error.contains("a folder without files of blktrace"), "{error}");
    write_files(folder.path(), false);
    fs::copy(folder.path().join("sdb.blktrace.0"), folder.path().join("sda.blktrace.0")).unwrap();
    let error = read(folder.path(), &TraceOptions::default()).unwrap_err().to_string();
    let example = folder.path().join("sda");
    assert!(error.contains(&format!("several devices, sda, sdb; give one: {}", example.display())), "{error}");
    assert!(read(&example, &TraceOptions::default()).is_ok());
    assert!(read(&folder.path().join("sdc"), &TraceOptions::default())
        .unwrap_err()
        .to_string()
        .contains("cannot open"));
}

#[test]
fn damaged_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = write_files(folder.path(), false);
    let path = folder.path().join("sdb.blktrace.3");
    let whole = fs::read(&path).unwrap();
    let stem = folder.path().join("sdb");
    let error = |content: &[u8]| {
        fs::write(&path, content).unwrap();
        read(&stem, &TraceOptions::default()).unwrap_err().to_string()
    };
    let cut = error(&whole[..whole.len() - 5]);
    assert!(cut.contains("found 43 bytes before the end of") && cut.contains("sdb.blktrace.3"), "{cut}");
    assert!(cut.ends_with("skip_bad = 1, which leaves out 1 of 646 records"), "{cut}");
    let lenient = TraceOptions { skip_bad: 1, ..TraceOptions::default() };
    assert_eq!(read(&stem, &lenient).unwrap(), of_text(&text, BlkparseEvent::Queued));
    let mut wrong = whole.clone();
    wrong[48..52].fill(0x11);
    let magic = error(&wrong);
    assert!(magic.contains("found 0x11111111 at byte 48 of") && magic.ends_with("repair the trace"), "{magic}");
    let mut long = whole.clone();
    long[46..48].fill(0xff);
    assert!(error(&long).contains("`pdu_len`"));
    let mut newer = whole;
    newer[0] = 9;
    assert!(error(&newer).contains("expected 0x65617407 (blktrace version 7), found 0x65617409"));
}
