//! The files of an import: found, read and numbered, within limits.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sledsim::fault::{printable, Faults, Kind, Word};

use super::fault::{Fault, Place, Refusal};

/// Maximum size of a file, bytes; typical files have some ten thousand.
const MAX_FILE_BYTES: u64 = 16 << 20;
/// Maximum total size, bytes; a file counts each time that it is included.
const MAX_TOTAL_BYTES: u64 = 64 << 20;
/// Maximum number of opened files.
const MAX_FILES: usize = 1000;

/// The files of an import, by number.
#[derive(Debug, Default)]
pub(super) struct Sources {
    files: Vec<PathBuf>,
    total_bytes: u64,
}

/// A file that has been read.
pub(super) struct OpenFile {
    pub index: u32,
    pub text: Arc<str>,
}

impl Sources {
    /// Returns the path of a file.
    pub fn path(&self, file: u32) -> &Path {
        self.files.get(file as usize).map_or(Path::new("?"), PathBuf::as_path)
    }

    /// Returns the printable name of a file, without its folders.
    pub fn name(&self, file: u32) -> String {
        let name = self.path(file).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        printable(&name)
    }

    /// Reads a file, which `from` includes unless it is the main file.
    pub fn open(&mut self, path: &Path, from: Option<Place>) -> Result<OpenFile, Fault> {
        let number = self.files.len() as u32;
        if self.files.len() < MAX_FILES {
            self.files.push(path.to_path_buf());
        }
        let shown = path.display();
        // A fault of an included file is at the line that includes it.
        let fault = |message: String| match from {
            Some(place) => Fault::new(place, Kind::Unreadable, format!("{shown}: {message}")),
            None => Fault::new(Place { file: number, line: 0 }, Kind::Unreadable, message),
        };
        if number as usize >= MAX_FILES {
            return Err(fault(format!("more than {MAX_FILES} files are included")));
        }
        let metadata = std::fs::metadata(path).map_err(|error| fault(sledsim::fault::unread(&error)))?;
        if !metadata.is_file() {
            return Err(fault("is not a regular file: expected a parameter file of DiskSim".into()));
        }
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).map_err(|error| fault(sledsim::fault::unread(&error)))?;
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| fault(sledsim::fault::unread(&error)))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(fault(format!("has more than {MAX_FILE_BYTES} bytes: expected a parameter file of DiskSim")));
        }
        self.total_bytes += bytes.len() as u64;
        if self.total_bytes > MAX_TOTAL_BYTES {
            return Err(fault(format!("the files included have more than {MAX_TOTAL_BYTES} bytes together")));
        }
        if let Some(position) = bytes.iter().position(|&byte| byte < 7 || byte == 0x7f) {
            let line = 1 + bytes[..position].iter().filter(|&&byte| byte == b'\n').count() as u32;
            let message = format!("byte {:#04x} in what should be text: expected a parameter file", bytes[position]);
            return Err(Fault::new(Place { file: number, line }, Kind::Syntax, message));
        }
        // Comments may be in any 8-bit encoding, and the file may begin with a byte order mark.
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        Ok(OpenFile { index: number, text: String::from_utf8_lossy(text).into() })
    }

    /// Returns the path of the file `name` that `from` refers to: beside that file, or else beside the main file.
    pub fn find(&self, name: &str, from: Place) -> Result<PathBuf, Fault> {
        let folder = |file: u32| self.path(file).parent().unwrap_or(Path::new("")).to_path_buf();
        let (near, top) = (folder(from.file), folder(0));
        let found = [near.join(name), top.join(name)].into_iter().find(|path| path.exists());
        found.ok_or_else(|| {
            let looked = if near.as_os_str().is_empty() { ".".into() } else { near.display().to_string() };
            let says = format!("no file {name:?} in {looked}: expected a file beside the one that names it");
            Fault::new(from, Kind::Unreadable, says)
        })
    }

    /// Returns the faults in printable form, with the names of their files.
    pub fn faults(&self, refusal: Refusal) -> Faults {
        let named = |Fault { place, mut what }: Fault| {
            for word in &mut what.message {
                if let Word::Text(text) = word {
                    *text = printable(text);
                }
            }
            let line = (place.line > 0).then_some(u64::from(place.line));
            what.in_file(self.path(place.file).display().to_string()).on_line(line)
        };
        refusal.0.into_iter().map(named).collect()
    }
}
