//! Archives that contain one trace: tar, compressed or not, and ZIP. The trace is read as a stream, without unpacking the archive.
//!
//! Folders, links, empty and hidden files, and files that describe the others (`README`, `LICENSE`, checksums) are ignored.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};

/// A kind of archive, or a compression that is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Archive {
    Tar,
    Zip,
    /// Its name with an article, and the command that unpacks it.
    Other(&'static str, &'static str),
}

impl Archive {
    /// Bytes of the content that tell.
    pub const HEAD_BYTES: usize = TAR_BLOCK_BYTES;

    /// The archive that begins with `content`, if it is one.
    pub fn of(content: &[u8]) -> Option<Self> {
        match content {
            // Of an empty ZIP archive the end comes first.
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(Self::Zip),
            [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Some(Self::Other("a 7-Zip archive", "7z x")),
            [b'R', b'a', b'r', b'!', 0x1a, 7, ..] => Some(Self::Other("a RAR archive", "unrar x")),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Self::Other("a file compressed with LZ4", "lz4 -d")),
            [b'L', b'Z', b'I', b'P', 1, ..] => Some(Self::Other("a file compressed with lzip", "lzip -d")),
            [0x1f, 0x9d, ..] => Some(Self::Other("a file compressed with compress", "uncompress")),
            _ if is_tar_header(content) => Some(Self::Tar),
            _ => None,
        }
    }

    /// Its name with an article, and the command that unpacks it.
    pub const fn name_and_command(self) -> (&'static str, &'static str) {
        match self {
            Self::Tar => ("a tar archive", "tar -xf"),
            Self::Zip => ("a ZIP archive", "unzip"),
            Self::Other(name, command) => (name, command),
        }
    }
}

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub name: String,
    /// Offset of its data, or of its local header in a ZIP archive.
    offset: u64,
    bytes: u64,
    /// In a ZIP archive.
    zip: ZipData,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ZipData {
    is_deflated: bool,
    compressed_bytes: u64,
    crc: u32,
}

/// The files of an archive that may be traces.
#[derive(Debug, Default)]
pub(super) struct Members {
    /// The first of them, up to [`MOST_MEMBERS`].
    pub first: Vec<Member>,
    /// True if there are more.
    pub has_more: bool,
}

/// Members that are listed.
const MOST_MEMBERS: usize = 5;

impl Members {
    fn add(&mut self, member: Member) {
        if member.bytes == 0 || !may_be_trace(&member.name) {
            return;
        }
        if self.first.len() < MOST_MEMBERS {
            self.first.push(member);
        } else {
            self.has_more = true;
        }
    }
}

/// Returns false for hidden files and for files that describe others.
fn may_be_trace(path: &str) -> bool {
    const DESCRIPTIONS: [&str; 9] =
        ["readme", "license", "licence", "copying", "disclaimer", "notice", "changelog", "md5", "sha256"];
    const SUFFIXES: [&str; 5] = [".md", ".pdf", ".md5", ".sha1", ".sha256"];
    let mut steps = path.split('/').filter(|step| !matches!(*step, "" | ".")).map(str::to_lowercase).peekable();
    while let Some(step) = steps.next() {
        if step.starts_with('.') || step == "__macosx" {
            return false;
        }
        if steps.peek().is_none() {
            return !DESCRIPTIONS.iter().any(|name| step.starts_with(name))
                && !SUFFIXES.iter().any(|suffix| step.ends_with(suffix));
        }
    }
    false
}

/// A content that can be skipped through.
pub(super) enum Content {
    /// A file that is not compressed.
    File(File),
    /// Anything else.
    Stream(Box<dyn Read + Send>),
}

impl Content {
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        match self {
            Self::File(file) => {
                let offset = i64::try_from(bytes).map_err(|_| cut())?;
                let at = file.seek(SeekFrom::Current(offset))?;
                if at > file.metadata()?.len() {
                    return Err(cut());
                }
            }
            Self::Stream(stream) => {
                if io::copy(&mut stream.take(bytes), &mut io::sink())? < bytes {
                    return Err(cut());
                }
            }
        }
        Ok(())
    }

    /// A file's member of `bytes` from `offset` on.
    pub fn member(mut self, member: &Member) -> io::Result<Box<dyn Read + Send>> {
        self.skip(member.offset)?;
        Ok(Box::new(Exactly { left: member.bytes, content: self }))
    }
}

impl Read for Content {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(into),
            Self::Stream(stream) => stream.read(into),
        }
    }
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the archive ends within a file")
}

/// So many bytes of a content; fewer are an error.
struct Exactly<R> {
    content: R,
    left: u64,
}

impl<R: Read> Read for Exactly<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 || into.is_empty() {
            return Ok(0);
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(into.len());
        let read = self.content.read(&mut into[..most])?;
        if read == 0 {
            return Err(cut());
        }
        self.left -= read as u64;
        Ok(read)
    }
}

const TAR_BLOCK_BYTES: usize = 512;
const TAR_CHECKSUM: std::ops::Range<usize> = 148..156;
/// The longest record of a name that is read; longer ones are ignored.
const LONGEST_NAME_BYTES: u64 = 64 * 1024;

/// Returns true if a content begins with the header of a tar archive: its checksum is the sum of its bytes, with blanks in
/// place of the checksum itself.
fn is_tar_header(content: &[u8]) -> bool {
    let Some(header) = content.get(..TAR_BLOCK_BYTES) else { return false };
    let others = header[..TAR_CHECKSUM.start].iter().chain(&header[TAR_CHECKSUM.end..]);
    let sum = others.map(|&byte| u64::from(byte)).sum::<u64>() + 8 * u64::from(b' ');
    header[0] != 0 && tar_number(&header[TAR_CHECKSUM]) == Some(sum)
}

/// A number of a header: octal digits, or a binary number if the first bit is set.
fn tar_number(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        let digits = std::iter::once(field[0] & 0x7f).chain(field[1..].iter().copied());
        return digits.into_iter().try_fold(0_u64, |sum, byte| sum.checked_mul(256)?.checked_add(u64::from(byte)));
    }
    let digits = field.iter().skip_while(|byte| **byte == b' ').take_while(|byte| (b'0'..=b'7').contains(byte));
    digits.into_iter().try_fold(0_u64, |sum, byte| sum.checked_mul(8)?.checked_add(u64::from(byte - b'0')))
}

/// The text of a field up to its first zero byte.
fn tar_text(field: &[u8]) -> String {
    let end = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// Lists a tar archive.
pub(super) fn tar_members(content: &mut Content) -> io::Result<Members> {
    let mut members = Members::default();
    let mut offset = 0_u64;
    let (mut long_name, mut long_bytes) = (None, None);
    loop {
        let mut header = [0; TAR_BLOCK_BYTES];
        let mut got = 0;
        while got < TAR_BLOCK_BYTES {
            match content.read(&mut header[got..]) {
                Ok(0) => break,
                Ok(read) => got += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        // The archive ends with empty blocks, which some writers leave out.
        if got == 0 || header[0] == 0 {
            return Ok(members);
        }
        if got < TAR_BLOCK_BYTES {
            return Err(cut());
        }
        let damaged =
            || io::Error::new(io::ErrorKind::InvalidData, format!("no header of a tar archive at byte {offset}"));
        if !is_tar_header(&header) {
            return Err(damaged());
        }
        let stated = tar_number(&header[124..136]).ok_or_else(damaged)?;
        let kind = header[156];
        let is_file = matches!(kind, b'0' | 0 | b'7');
        let bytes = if is_file { long_bytes.unwrap_or(stated) } else { stated };
        let padded = bytes.checked_next_multiple_of(TAR_BLOCK_BYTES as u64).ok_or_else(damaged)?;
        let data = offset + TAR_BLOCK_BYTES as u64;
        offset = data.checked_add(padded).ok_or_else(damaged)?;
        if matches!(kind, b'L' | b'x') && bytes <= LONGEST_NAME_BYTES {
            let mut text = Vec::new();
            content.take(padded).read_to_end(&mut text)?;
            if (text.len() as u64) < padded {
                return Err(cut());
            }
            text.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
            if kind == b'L' {
                long_name = Some(tar_text(&text));
            } else {
                for (key, value) in pax_records(&text) {
                    match key {
                        "path" => long_name = Some(value.to_owned()),
                        "size" => long_bytes = value.parse().ok(),
                        _ => {}
                    }
                }
            }
            continue;
        }
        if is_file {
            let is_ustar = header[257..].starts_with(b"ustar\0");
            let prefix = if is_ustar { tar_text(&header[345..500]) } else { String::new() };
            let short = tar_text(&header[..100]);
            let short = if prefix.is_empty() { short } else { format!("{prefix}/{short}") };
            let name = long_name.take().unwrap_or(short);
            members.add(Member { name, offset: data, bytes, zip: ZipData::default() });
        }
        if kind != b'g' && kind != b'K' {
            (long_name, long_bytes) = (None, None);
        }
        content.skip(padded)?;
    }
}

/// The records of an extended header, `LENGTH KEY=VALUE` and a line end.
fn pax_records(text: &[u8]) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(blank) = rest.iter().position(|&byte| byte == b' ') {
        let length = std::str::from_utf8(&rest[..blank]).ok().and_then(|length| length.parse::<usize>().ok());
        let Some(record) = length.filter(|length| *length > blank).and_then(|length| rest.get(blank + 1..length))
        else {
            break;
        };
        rest = &rest[blank + 1 + record.len()..];
        let record = std::str::from_utf8(record).ok().map(|record| record.trim_end_matches('\n'));
        found.extend(record.and_then(|record| record.split_once('=')));
    }
    found
}

const ZIP_END_BYTES: u64 = 22;
const LONGEST_ZIP_COMMENT_BYTES: u64 = 65_535;
/// In a field of 16 or 32 bits: the value is in a field of 64 bits elsewhere.
const ELSEWHERE_16: u64 = 0xffff;
const ELSEWHERE_32: u64 = 0xffff_ffff;

fn damaged_zip(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the ZIP archive has no valid {what}"))
}

/// The little-endian number of `N` bytes at `at`.
fn number_at<const N: usize>(bytes: &[u8], at: usize) -> io::Result<u64> {
    let field = bytes.get(at..at + N).ok_or_else(|| damaged_zip("header"))?;
    Ok(field.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
}

/// The `count` bytes at `offset`.
fn bytes_at(file: &mut File, offset: u64, count: usize, what: &str) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = vec![0; count];
    file.read_exact(&mut bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged_zip(what),
        _ => error,
    })?;
    Ok(bytes)
}

/// Lists a ZIP archive.
pub(super) fn zip_members(file: &mut File) -> io::Result<Members> {
    let size = file.metadata()?.len();
    let tail_bytes = size.min(ZIP_END_BYTES + LONGEST_ZIP_COMMENT_BYTES);
    let tail = bytes_at(file, size - tail_bytes, usize::try_from(tail_bytes).unwrap_or(0), "directory")?;
    let end = tail.windows(4).rposition(|part| part == b"PK\x05\x06").ok_or_else(|| damaged_zip("directory"))?;
    let record = &tail[end..];
    let (mut count, mut offset) = (number_at::<2>(record, 10)?, number_at::<4>(record, 16)?);
    if count == ELSEWHERE_16 || offset == ELSEWHERE_32 {
        let locator = (size - tail_bytes + end as u64).checked_sub(20).ok_or_else(|| damaged_zip("directory"))?;
        let locator = bytes_at(file, locator, 20, "directory")?;
        if locator.starts_with(b"PK\x06\x07") {
            let record = bytes_at(file, number_at::<8>(&locator, 8)?, 56, "directory")?;
            (count, offset) = (number_at::<8>(&record, 32)?, number_at::<8>(&record, 48)?);
        }
    }
    file.seek(SeekFrom::Start(offset))?;
    let mut directory = BufReader::new(file);
    let mut members = Members::default();
    for _ in 0..count {
        if members.has_more {
            break;
        }
        members.add(zip_member(&mut directory)?);
    }
    Ok(members)
}

/// The next file of the directory.
fn zip_member(directory: &mut impl Read) -> io::Result<Member> {
    let damaged = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged_zip("directory"),
        _ => error,
    };
    let mut header = [0; 46];
    directory.read_exact(&mut header).map_err(damaged)?;
    if !header.starts_with(b"PK\x01\x02") {
        return Err(damaged_zip("directory"));
    }
    let length = |at| number_at::<2>(&header, at).map(|length| usize::try_from(length).unwrap_or(0));
    let (name_bytes, extra_bytes, comment_bytes) = (length(28)?, length(30)?, length(32)?);
    let mut rest = vec![0; name_bytes + extra_bytes + comment_bytes];
    directory.read_exact(&mut rest).map_err(damaged)?;
    let name = String::from_utf8_lossy(&rest[..name_bytes]).into_owned();
    let mut bytes = number_at::<4>(&header, 24)?;
    let mut compressed_bytes = number_at::<4>(&header, 20)?;
    let mut offset = number_at::<4>(&header, 42)?;
    let mut extra = &rest[name_bytes..name_bytes + extra_bytes];
    while extra.len() >= 4 {
        let (kind, length) = (number_at::<2>(extra, 0)?, usize::try_from(number_at::<2>(extra, 2)?).unwrap_or(0));
        let data = extra.get(4..4 + length).ok_or_else(|| damaged_zip("directory"))?;
        if kind == 1 {
            let mut at = 0;
            for field in [&mut bytes, &mut compressed_bytes, &mut offset] {
                if *field == ELSEWHERE_32 {
                    *field = number_at::<8>(data, at)?;
                    at += 8;
                }
            }
        }
        extra = &extra[4 + length..];
    }
    let is_folder = name.ends_with('/');
    let method = number_at::<2>(&header, 10)?;
    if !is_folder && may_be_trace(&name) {
        let problem = match (number_at::<2>(&header, 8)? & 1, method) {
            (1, _) => Some("is encrypted"),
            (_, 0 | 8) => None,
            _ => Some("is compressed by another method than deflate"),
        };
        if let Some(problem) = problem {
            return Err(io::Error::new(io::ErrorKind::Unsupported, format!("{name} in it {problem}: unpack it first")));
        }
    }
    let crc = u32::try_from(number_at::<4>(&header, 16)?).unwrap_or(0);
    let zip = ZipData { is_deflated: method == 8, compressed_bytes, crc };
    Ok(Member { name, offset, bytes: if is_folder { 0 } else { bytes }, zip })
}

/// The content of a file of a ZIP archive.
pub(super) fn open_zip_member(mut file: File, member: &Member) -> io::Result<Box<dyn Read + Send>> {
    let header = bytes_at(&mut file, member.offset, 30, "header of a file")?;
    if !header.starts_with(b"PK\x03\x04") {
        return Err(damaged_zip("header of a file"));
    }
    let data = member.offset + 30 + number_at::<2>(&header, 26)? + number_at::<2>(&header, 28)?;
    file.seek(SeekFrom::Start(data))?;
    let stored = Exactly { content: file, left: member.zip.compressed_bytes };
    let content: Box<dyn Read + Send> =
        if member.zip.is_deflated { Box::new(flate2::read::DeflateDecoder::new(stored)) } else { Box::new(stored) };
    let content = Exactly { content, left: member.bytes };
    Ok(Box::new(Checked { content, crc: flate2::Crc::new(), expected: member.zip.crc }))
}

/// A content whose checksum is compared at its end.
struct Checked<R> {
    content: R,
    crc: flate2::Crc,
    expected: u32,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(into)?;
        self.crc.update(&into[..read]);
        if read == 0 && !into.is_empty() && self.crc.sum() != self.expected {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum in the ZIP archive is another"));
        }
        Ok(read)
    }
}

/// The content that begins with `head`.
pub(super) fn with_head(head: Vec<u8>, rest: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
    Box::new(Cursor::new(head).chain(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_and_hidden_files_are_no_traces() {
        for (path, expected) in [
            ("cbs/hour-1.csv", true),
            ("./web.csv.gz", true),
            ("data/sda.blktrace.0", true),
            ("README", false),
            ("cbs/readme.txt", false),
            ("MD5.txt", false),
            ("__MACOSX/._web.csv", false),
            ("cbs/._web.csv", false),
            (".DS_Store", false),
            ("format.pdf", false),
            ("readme/web.csv", true),
            ("", false),
        ] {
            assert_eq!(may_be_trace(path), expected, "{path}");
        }
    }

    #[test]
    fn numbers_of_tar_headers_are_octal_or_binary() {
        assert_eq!(tar_number(b"0000755\0"), Some(0o755));
        assert_eq!(tar_number(b"   12 \0\0"), Some(0o12));
        assert_eq!(tar_number(&[0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1]), Some((2 << 32) + 1));
        assert_eq!(tar_number(&[0xff; 12]), None);
    }

    #[test]
    fn extended_headers_are_split_into_records() {
        assert_eq!(pax_records(b"16 path=a b.csv\n14 size=12345\n"), [("path", "a b.csv"), ("size", "12345")]);
        assert_eq!(pax_records(b"99 path=x\n"), []);
        assert_eq!(pax_records(b"x y"), []);
    }
}
