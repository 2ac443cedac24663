//! Where the data of a device are kept: in memory, or in a file with holes.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::RwLock;

use crate::files::{open, refused};

/// Data in memory are kept by pieces of this size, those that have been written alone.
const PAGE_BYTES: u64 = 1 << 16;
/// Zeroes are written to a file by pieces of this size.
static ZEROES: [u8; 1 << 16] = [0; 1 << 16];

/// The data of a device; several connections read and write it at once.
#[derive(Debug)]
pub enum Store {
    /// In memory, and gone with the server.
    Memory(RwLock<HashMap<u64, Box<[u8]>>>),
    /// In a file, with holes where nothing was written.
    File(File),
}

impl Store {
    /// A store in memory.
    #[must_use]
    pub fn memory() -> Self {
        Self::Memory(RwLock::default())
    }

    /// A store in a file, which is made if it is not there, and as long as the device.
    ///
    /// # Errors
    /// Where the file can't be opened, another server has it, or it has bytes, and not as many as the device: then it is another's.
    pub fn file(path: &Path, size: u64) -> io::Result<Self> {
        let file = open(path)?;
        let length = file.metadata()?.len();
        if length != 0 && length != size {
            let says = format!("{length} bytes, and not the {size} of the device: it belongs to another one");
            return Err(refused(says));
        }
        file.set_len(size)?;
        Ok(Self::File(file))
    }

    /// Reads from `offset` on.
    ///
    /// # Errors
    /// Of the file.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.read_exact_at(into, offset),
            Self::Memory(pages) => {
                let pages = pages.read().unwrap_or_else(std::sync::PoisonError::into_inner);
                pieces(offset, into.len(), |page, within, range| match pages.get(&page) {
                    Some(data) => into[range.clone()].copy_from_slice(&data[within..within + range.len()]),
                    None => into[range].fill(0),
                });
                Ok(())
            }
        }
    }

    /// Writes from `offset` on.
    ///
    /// # Errors
    /// Of the file: its disk may be full.
    pub fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.write_all_at(data, offset),
            Self::Memory(pages) => {
                let mut pages = pages.write().unwrap_or_else(std::sync::PoisonError::into_inner);
                pieces(offset, data.len(), |page, within, range| {
                    let kept = pages.entry(page).or_insert_with(|| vec![0; PAGE_BYTES as usize].into());
                    kept[within..within + range.len()].copy_from_slice(&data[range]);
                });
                Ok(())
            }
        }
    }

    /// Writes zeroes from `offset` on.
    ///
    /// # Errors
    /// As for [`Store::write`].
    pub fn zero(&self, offset: u64, length: u64) -> io::Result<()> {
        let (mut at, end) = (offset, offset + length);
        while at < end {
            let count = (end - at).min(ZEROES.len() as u64);
            self.write(at, &ZEROES[..count as usize])?;
            at += count;
        }
        Ok(())
    }

    /// Makes durable what has been written, as far as the store is.
    ///
    /// # Errors
    /// Of the file.
    pub fn flush(&self) -> io::Result<()> {
        match self {
            Self::File(file) => file.sync_data(),
            Self::Memory(_) => Ok(()),
        }
    }
}

/// Calls `each` with the page, the place within it, and the range of the data, for every page that some bytes lie in.
fn pieces(offset: u64, length: usize, mut each: impl FnMut(u64, usize, std::ops::Range<usize>)) {
    let mut done = 0;
    while done < length {
        let at = offset + done as u64;
        let within = (at % PAGE_BYTES) as usize;
        let count = (PAGE_BYTES as usize - within).min(length - done);
        each(at / PAGE_BYTES, within, done..done + count);
        done += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_stores_give_back_what_was_written_and_zeroes_elsewhere() {
        let path = std::env::temp_dir().join(format!("sledsim-nbd-store-{}", std::process::id()));
        for store in [Store::memory(), Store::file(&path, 1 << 20).expect("a file")] {
            store.write(65_530, b"over the edge").expect("room");
            let mut found = [1; 20];
            store.read(65_528, &mut found).expect("there");
            assert_eq!(&found, b"\0\0over the edge\0\0\0\0\0");
            store.zero(65_531, 70_000).expect("room");
            store.read(65_528, &mut found).expect("there");
            assert_eq!(&found, b"\0\0o\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
            store.flush().expect("durable");
        }
        for size in [1000, (1 << 20) + 512] {
            let says = Store::file(&path, size).expect_err("another's").to_string();
            assert_eq!(says, format!("1048576 bytes, and not the {size} of the device: it belongs to another one"));
            assert_eq!(path.metadata().expect("left alone").len(), 1 << 20);
        }
        drop(Store::file(&path, 1 << 20).expect("of this device"));
        std::fs::remove_file(&path).expect("it was there");
    }
}
