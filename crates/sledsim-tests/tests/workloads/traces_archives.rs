//! Traces in tar and ZIP archives.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use sledsim::traces::{TraceError, TraceOptions, TraceReader};

const TRACE: &str = "1538323200,8,8,0,7\n1538323201,16,8,1,7\n1538323202,24,8,0,7\n";

/// A block of a tar archive: a header of a file or another record of `kind`, and its data.
fn tar_entry(name: &str, kind: u8, data: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len().min(100)].copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
    header[124..136].copy_from_slice(format!("{:011o}\0", data.len()).as_bytes());
    header[148..156].copy_from_slice(b"        ");
    header[156] = kind;
    header[257..263].copy_from_slice(b"ustar\0");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    [&header[..], data, &vec![0; data.len().next_multiple_of(512) - data.len()]].concat()
}

fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    [entries.concat(), vec![0; 1024]].concat()
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// A ZIP archive of files, deflated or stored.
fn zip(files: &[(&str, &[u8])], is_deflated: bool) -> Vec<u8> {
    let (mut content, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in files {
        let mut crc = flate2::Crc::new();
        crc.update(data);
        let mut stored = data.to_vec();
        if is_deflated {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(data).unwrap();
            stored = encoder.finish().unwrap();
        }
        let mut fields = Vec::new();
        fields.extend([20, 0, 0, 0, if is_deflated { 8 } else { 0 }, 0, 0, 0, 0, 0]);
        fields.extend(crc.sum().to_le_bytes());
        fields.extend((stored.len() as u32).to_le_bytes());
        fields.extend((data.len() as u32).to_le_bytes());
        fields.extend((name.len() as u16).to_le_bytes());
        fields.extend([0, 0]);
        let offset = content.len() as u32;
        content.extend(b"PK\x03\x04");
        content.extend(&fields);
        content.extend(name.as_bytes());
        content.extend(stored);
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&fields);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (count, offset, size) = (files.len() as u16, content.len() as u32, directory.len() as u32);
    content.extend(directory);
    content.extend(b"PK\x05\x06\0\0\0\0");
    content.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    content.extend([size.to_le_bytes(), offset.to_le_bytes()].concat());
    content.extend([0, 0]);
    content
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// The number of records of a content and the name of its file in the archive, or the error.
    fn read(&self, content: &[u8]) -> Result<(usize, String), String> {
        read(&self.write("trace", content)).map_err(|error| error.to_string())
    }
}

fn read(path: &Path) -> Result<(usize, String), TraceError> {
    let mut reader = TraceReader::open(path, &TraceOptions::default())?;
    let by = reader.detected_by().rsplit(", in ").next().unwrap_or_default().to_owned();
    let mut count = 0;
    while reader.next()?.is_some() {
        count += 1;
    }
    Ok((count, by))
}

#[test]
fn an_archive_with_one_trace_is_read_as_that_trace() {
    let folder = Folder::new();
    let file = tar_entry("cbs/hour.csv", b'0', TRACE.as_bytes());
    let compressed = tar_entry("cbs/hour.csv", b'0', &gzip(TRACE.as_bytes()));
    let readme = tar_entry("cbs/README", b'0', b"About the traces\n");
    let directory = tar_entry("cbs/", b'5', b"");
    let hidden = tar_entry("cbs/._hour.csv", b'0', b"x");
    let expected = Ok((3, "cbs/hour.csv".to_owned()));
    for content in [
        tar(std::slice::from_ref(&file)),
        file.clone(),
        tar(&[directory, readme, file.clone(), hidden]),
        tar(&[compressed]),
        gzip(&tar(std::slice::from_ref(&file))),
        zip(&[("cbs/", b""), ("cbs/hour.csv", TRACE.as_bytes())], true),
        zip(&[("cbs/hour.csv", TRACE.as_bytes()), ("LICENSE.txt", b"free\n")], false),
        zip(&[("cbs/hour.csv", &gzip(TRACE.as_bytes()))], false),
    ] {
        assert_eq!(folder.read(&content), expected);
    }
}

#[test]
fn long_names_of_tar_archives_are_read() {
    let folder = Folder::new();
    let long = format!("{}/hour.csv", "folder".repeat(30));
    let file = tar_entry(&long, b'0', TRACE.as_bytes());
    let gnu = tar_entry("././@LongLink", b'L', &[long.as_bytes(), b"\0"].concat());
    let record = format!(" path={long}\n");
    let length = record.len() + 3;
    let pax = tar_entry("pax", b'x', format!("{length}{record}").as_bytes());
    for content in [tar(&[gnu, file.clone()]), tar(&[pax, file])] {
        assert_eq!(folder.read(&content), Ok((3, long.clone())));
    }
}

#[test]
fn archives_of_several_files_list_them() {
    let folder = Folder::new();
    let files: Vec<String> = (0..7).map(|number| format!("hour-{number}.csv")).collect();
    let entries: Vec<_> = files.iter().map(|name| tar_entry(name, b'0', TRACE.as_bytes())).collect();
    let zipped: Vec<_> = files.iter().map(|name| (name.as_str(), TRACE.as_bytes())).collect();
    let five = "hour-0.csv, hour-1.csv, hour-2.csv, hour-3.csv, hour-4.csv";
    for (content, listed, command) in [
        (tar(&entries[..2]), "a tar archive of several files (hour-0.csv, hour-1.csv)".to_owned(), "tar -xf"),
        (gzip(&tar(&entries)), format!("a tar archive of several files ({five}, …)"), "tar -xf"),
        (zip(&zipped, true), format!("a ZIP archive of several files ({five}, …)"), "unzip"),
        (tar(&[tar_entry("README", b'0', b"x")]), "a tar archive without a trace".to_owned(), "tar -xf"),
        (zip(&[], true), "a ZIP archive without a trace".to_owned(), "unzip"),
    ] {
        let error = folder.read(&content).unwrap_err();
        let path = folder.0.path().join("trace");
        let remedy = format!("unpack it with `{command} {}`, and give a file of it", path.display());
        assert!(error.contains(&listed) && error.ends_with(&remedy), "{error}");
    }
}

#[test]
fn damaged_archives_are_errors() {
    let folder = Folder::new();
    let entry = tar_entry("hour.csv", b'0', TRACE.as_bytes());
    let archive = tar(std::slice::from_ref(&entry));
    let mut second = tar(&[entry.clone(), entry.clone()]);
    second[1024 + 4] ^= 1;
    let mut huge = entry;
    huge[124..136].copy_from_slice(b"77777777777\0");
    huge[148..156].copy_from_slice(b"        ");
    let sum: u32 = huge[..512].iter().map(|&byte| u32::from(byte)).sum();
    huge[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let zipped = zip(&[("hour.csv", TRACE.as_bytes())], true);
    let mut other_crc = zipped.clone();
    let directory = other_crc.windows(4).position(|part| part == b"PK\x01\x02").unwrap();
    other_crc[directory + 16] ^= 1;
    let mut encrypted = zipped.clone();
    encrypted[directory + 8] |= 1;
    let mut lzma = zipped.clone();
    lzma[directory + 10] = 14;
    for (content, words) in [
        (&archive[..540], "the archive ends within a file"),
        (&gzip(&archive[..540]), "the archive ends within a file"),
        (&second, "no header of a tar archive at byte 1024"),
        (&huge, "the archive ends within a file"),
        (&zipped[..directory], "no valid directory"),
        (&zipped[..zipped.len() - 4], "no valid"),
        (&other_crc, "the checksum in the ZIP archive is another"),
        (&encrypted, "hour.csv in it is encrypted"),
        (&lzma, "hour.csv in it is compressed by another method than deflate"),
    ] {
        let error = folder.read(content).unwrap_err();
        assert!(error.contains(words), "{words}: {error}");
    }
}
