//! Storage for the data of a device: in memory, or in a sparse file.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock};

use crate::files::open_locked;
use crate::os::zero_range;

/// Data in memory are kept in pages of this size; pages that were never written, or only with zeroes, do not exist.
const PAGE_BYTES: u64 = 1 << 16;
/// As many zeroes as a page has; they are written to a file in pieces of this size.
static ZEROES: [u8; PAGE_BYTES as usize] = [0; PAGE_BYTES as usize];

/// The data of a device, read and written by several connections at once.
#[derive(Debug)]
pub enum Store {
    /// In memory: lost when the server ends.
    Memory(RwLock<HashMap<u64, Box<[u8]>>>),
    /// In a sparse file.
    File(Image),
}

/// An image file.
#[derive(Debug)]
pub struct Image {
    file: File,
    sync: fn(&File) -> io::Result<()>,
    /// True once a sync has failed. The kernel reports lost data to one sync only, so later syncs would succeed.
    has_failed: Mutex<bool>,
}

impl Store {
    /// Returns an empty store in memory.
    #[must_use]
    pub fn memory() -> Self {
        Self::Memory(RwLock::default())
    }

    /// Opens a store of `size` bytes in a file, which is created if it does not exist.
    ///
    /// # Errors
    /// The file cannot be opened, is locked by another server, or is neither empty nor `size` bytes long.
    pub fn file(path: &Path, size: u64) -> io::Result<Self> {
        let file = open_locked(path)?;
        let length = file.metadata()?.len();
        if length != 0 && length != size {
            let says =
                format!("it has {length} bytes, and the device {size}: name a file of this device, or a new one");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, says));
        }
        file.set_len(size)?;
        Ok(Self::File(Image { file, sync: File::sync_data, has_failed: Mutex::new(false) }))
    }

    /// Fills `into` with the data from `offset` on.
    ///
    /// # Errors
    /// Those of the file.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match self {
            Self::File(image) => image.file.read_exact_at(into, offset),
            Self::Memory(pages) => {
                let pages = pages.read().unwrap_or_else(PoisonError::into_inner);
                pieces(offset, into.len(), |page, within, range| match pages.get(&page) {
                    Some(data) => into[range.clone()].copy_from_slice(&data[within..within + range.len()]),
                    None => into[range].fill(0),
                });
                Ok(())
            }
        }
    }

    /// Writes `data` from `offset` on.
    ///
    /// # Errors
    /// Those of the file, such as a full disk.
    pub fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        match self {
            Self::File(image) => image.file.write_all_at(data, offset),
            Self::Memory(pages) => {
                let mut pages = pages.write().unwrap_or_else(PoisonError::into_inner);
                pieces(offset, data.len(), |page, within, range| {
                    let data = &data[range];
                    if data == &ZEROES[..data.len()] && !pages.contains_key(&page) {
                        return;
                    }
                    let kept = pages.entry(page).or_insert_with(|| vec![0; PAGE_BYTES as usize].into());
                    kept[within..within + data.len()].copy_from_slice(data);
                });
                Ok(())
            }
        }
    }

    /// Writes `length` zeroes from `offset` on: as a hole, or, in a file and with `keep_space`, with space allocated.
    ///
    /// # Errors
    /// As for [`Store::write`].
    pub fn zero(&self, offset: u64, length: u64, keep_space: bool) -> io::Result<()> {
        let (mut at, end) = (offset, offset + length);
        match self {
            Self::Memory(pages) => {
                let mut pages = pages.write().unwrap_or_else(PoisonError::into_inner);
                let whole = offset.div_ceil(PAGE_BYTES)..end / PAGE_BYTES;
                pages.retain(|page, data| {
                    let start = page * PAGE_BYTES;
                    let place = |at: u64| (at.clamp(start, start + PAGE_BYTES) - start) as usize;
                    data[place(offset)..place(end)].fill(0);
                    !whole.contains(page)
                });
                return Ok(());
            }
            Self::File(image) => match zero_range(&image.file, offset, length, keep_space) {
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
                done => return done,
            },
        }
        while at < end {
            let count = (end - at).min(ZEROES.len() as u64);
            self.write(at, &ZEROES[..count as usize])?;
            at += count;
        }
        Ok(())
    }

    /// Makes all written data durable; data in memory are never durable.
    ///
    /// # Errors
    /// Those of the file. Once a sync has failed every later one fails, too: data were lost.
    pub fn flush(&self) -> io::Result<()> {
        let Self::File(image) = self else { return Ok(()) };
        // One sync at a time: of two at once, only one would get the error.
        let mut has_failed = image.has_failed.lock().unwrap_or_else(PoisonError::into_inner);
        if *has_failed {
            return Err(io::Error::other("an earlier sync failed, and data were lost"));
        }
        let synced = (image.sync)(&image.file);
        *has_failed = synced.is_err();
        synced
    }

    /// Returns a store in a file whose syncs are those of `sync`.
    #[cfg(test)]
    pub(crate) fn with_sync(path: &Path, size: u64, sync: fn(&File) -> io::Result<()>) -> Self {
        match Self::file(path, size).expect("a file") {
            Self::File(image) => Self::File(Image { sync, ..image }),
            memory @ Self::Memory(_) => memory,
        }
    }
}

/// Calls `each` with the page, the place within it, and the range of the data, for every page that some bytes lie in.
fn pieces(offset: u64, length: usize, mut each: impl FnMut(u64, usize, Range<usize>)) {
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
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn stores_return_what_was_written_and_zeroes_elsewhere() {
        let path = std::env::temp_dir().join(format!("sledsim-nbd-store-{}", std::process::id()));
        for store in [Store::memory(), Store::file(&path, 1 << 20).expect("a file")] {
            store.write(65_530, b"over the edge").expect("room");
            let mut found = [1; 20];
            store.read(65_528, &mut found).expect("there");
            assert_eq!(&found, b"\0\0over the edge\0\0\0\0\0");
            store.zero(65_531, 70_000, false).expect("room");
            store.read(65_528, &mut found).expect("there");
            assert_eq!(&found, b"\0\0o\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
            store.zero(65_530, 1, true).expect("room");
            store.read(65_528, &mut found).expect("there");
            assert_eq!(found, [0; 20]);
            store.flush().expect("durable");
        }
        for size in [1000, (1 << 20) + 512] {
            let says = Store::file(&path, size).expect_err("another's").to_string();
            assert!(says.starts_with(&format!("it has 1048576 bytes, and the device {size}:")), "{says}");
            assert_eq!(path.metadata().expect("left alone").len(), 1 << 20);
        }
        drop(Store::file(&path, 1 << 20).expect("of this device"));
        std::fs::remove_file(&path).expect("it was there");
    }

    #[test]
    fn zeroes_take_no_memory() {
        let store = Store::memory();
        store.zero(1, 1 << 40, false).expect("room");
        store.write(1, &[0; 3 * PAGE_BYTES as usize]).expect("room");
        store.write(3 * PAGE_BYTES, &[1; 2 * PAGE_BYTES as usize]).expect("room");
        store.zero(3 * PAGE_BYTES + 1, 1 << 40, true).expect("room");
        store.write(3 * PAGE_BYTES, &[0]).expect("room");
        let mut found = [1; 2];
        store.read(3 * PAGE_BYTES, &mut found).expect("there");
        assert_eq!(found, [0; 2]);
        let Store::Memory(pages) = store else { unreachable!("a store in memory") };
        assert_eq!(pages.read().expect("no panic").keys().collect::<Vec<_>>(), [&3]);
    }

    #[test]
    fn syncs_fail_after_one_has_failed() {
        static FAILS: AtomicBool = AtomicBool::new(false);
        fn sync(_: &File) -> io::Result<()> {
            if FAILS.swap(false, Ordering::Relaxed) {
                Err(io::Error::from_raw_os_error(libc::EIO))
            } else {
                Ok(())
            }
        }
        let path = std::env::temp_dir().join(format!("sledsim-nbd-sync-{}", std::process::id()));
        let store = Store::with_sync(&path, 1 << 20, sync);
        store.flush().expect("nothing failed yet");
        FAILS.store(true, Ordering::Relaxed);
        assert_eq!(store.flush().expect_err("it fails").raw_os_error(), Some(libc::EIO));
        for _ in 0..3 {
            store.write(0, b"more").expect("writes still work");
            assert_eq!(store.flush().expect_err("for good").to_string(), "an earlier sync failed, and data were lost");
        }
        std::fs::remove_file(&path).expect("it was there");
    }
}
