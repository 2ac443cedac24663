//! Table of open objects. A handle is a number: the index of a slot, and the generation of its object.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use crate::codes::{Code, Error};

/// Slots of a chunk.
const CHUNK: usize = 256;
/// Most chunks: at most `CHUNKS` times [`CHUNK`] objects can be open.
const CHUNKS: usize = 256;

/// A slot, which is reused.
struct Slot<T> {
    /// Incremented on insertion and removal; odd while the slot is in use.
    generation: u32,
    object: Option<Box<T>>,
}

type Chunk<T> = Box<[Mutex<Slot<T>>]>;

/// Open objects by handle. Objects never move, and the memory of slots is never freed.
pub struct Table<T> {
    chunks: [OnceLock<Chunk<T>>; CHUNKS],
    free: Mutex<Free>,
}

/// Free slots.
struct Free {
    released: Vec<u32>,
    /// The first slot that was never used.
    unused: u32,
}

impl<T> Table<T> {
    /// Returns an empty table.
    pub const fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS], free: Mutex::new(Free { released: Vec::new(), unused: 0 }) }
    }

    /// Adds an object and returns its handle, which is never 0.
    ///
    /// # Errors
    /// The table is full.
    pub fn insert(&self, object: T) -> Result<u64, Error> {
        let index = self.free_slot()?;
        let mut slot = lock(self.slot(index).ok_or_else(unknown_handle)?);
        slot.generation = slot.generation.wrapping_add(1);
        slot.object = Some(Box::new(object));
        Ok(u64::from(slot.generation) << 32 | u64::from(index))
    }

    fn free_slot(&self) -> Result<u32, Error> {
        let mut free = lock(&self.free);
        if let Some(index) = free.released.pop() {
            return Ok(index);
        }
        let index = free.unused;
        if index as usize >= CHUNK * CHUNKS {
            return Err(Error::new(
                Code::Full,
                format!("{} sessions are open, the maximum: close some", CHUNK * CHUNKS),
            ));
        }
        free.unused += 1;
        let empty = || Mutex::new(Slot { generation: 0, object: None });
        self.chunks[index as usize / CHUNK].get_or_init(|| (0..CHUNK).map(|_| empty()).collect());
        Ok(index)
    }

    fn slot(&self, index: u32) -> Option<&Mutex<Slot<T>>> {
        let chunk = self.chunks.get(index as usize / CHUNK)?.get()?;
        chunk.get(index as usize % CHUNK)
    }

    /// Runs `work` with exclusive access to an object.
    ///
    /// # Errors
    /// The handle is invalid, another thread uses the object, or an earlier call panicked with it; or an error of `work`.
    #[inline]
    pub fn with<R>(&self, handle: u64, work: impl FnOnce(&mut T) -> Result<R, Error>) -> Result<R, Error> {
        let mutex = self.slot(index_of(handle)).ok_or_else(unknown_handle)?;
        let mut slot = match mutex.try_lock() {
            Ok(slot) => slot,
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(Code::Busy, "another thread is using the session"));
            }
            Err(TryLockError::Poisoned(_)) => {
                return Err(Error::new(Code::Defect, "an earlier call ended in a defect: close the session"));
            }
        };
        if u64::from(slot.generation) != handle >> 32 {
            return Err(unknown_handle());
        }
        work(slot.object.as_mut().ok_or_else(unknown_handle)?)
    }

    /// Removes an object and returns it.
    ///
    /// # Errors
    /// The handle is invalid, or another thread uses the object.
    pub fn remove(&self, handle: u64) -> Result<Box<T>, Error> {
        let mutex = self.slot(index_of(handle)).ok_or_else(unknown_handle)?;
        let mut slot = match mutex.try_lock() {
            Ok(slot) => slot,
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(Code::Busy, "another thread is using the session: it stays open"));
            }
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        };
        if u64::from(slot.generation) != handle >> 32 {
            return Err(unknown_handle());
        }
        let object = slot.object.take().ok_or_else(unknown_handle)?;
        slot.generation = slot.generation.wrapping_add(1);
        mutex.clear_poison();
        drop(slot);
        lock(&self.free).released.push(index_of(handle));
        Ok(object)
    }
}

/// Returns the index of a handle's slot: its low 32 bits.
fn index_of(handle: u64) -> u32 {
    handle as u32
}

fn unknown_handle() -> Error {
    Error::new(Code::Handle, "invalid handle: it was closed or never opened")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::catch_panic;

    fn code<T>(result: Result<T, Error>) -> Code {
        result.map_or_else(|error| error.code, |_| Code::Ok)
    }

    #[test]
    fn handle_is_invalid_after_removal() {
        let table = Table::new();
        let first = table.insert("first").unwrap();
        assert_eq!(code(table.remove(first)), Code::Ok);
        let second = table.insert("second").unwrap();
        assert_eq!(index_of(second), index_of(first), "the slot is reused");
        assert_ne!(second, first);
        for invalid in [first, first - 1, second + 1, 0, u64::MAX] {
            assert_eq!(code(table.with(invalid, |_| Ok(()))), Code::Handle);
            assert_eq!(code(table.remove(invalid)), Code::Handle);
        }
        assert_eq!(table.with(second, |object| Ok(*object)).unwrap(), "second");
    }

    #[test]
    fn concurrent_use_is_busy() {
        let table = Table::new();
        let handle = table.insert(()).unwrap();
        let nested = table.with(handle, |()| Ok((code(table.with(handle, |()| Ok(()))), code(table.remove(handle)))));
        assert_eq!(nested.unwrap(), (Code::Busy, Code::Busy));
    }

    #[test]
    fn object_can_only_be_removed_after_a_panic() {
        let table = Table::new();
        let handle = table.insert(0).unwrap();
        let work = || table.with(handle, |object| Ok(10 / *object));
        assert_eq!(code(catch_panic(work).and_then(|result| result)), Code::Defect);
        assert_eq!(code(work()), Code::Defect);
        assert_eq!(code(table.remove(handle)), Code::Ok);
        assert_eq!(code(work()), Code::Handle);
        let next = table.insert(5).unwrap();
        assert_eq!(table.with(next, |object| Ok(10 / *object)).unwrap(), 2);
    }

    #[test]
    fn full_table_rejects_objects() {
        let table = Table::new();
        let handles: Vec<u64> = (0..CHUNK * CHUNKS).map(|_| table.insert(()).unwrap()).collect();
        assert_eq!(code(table.insert(())), Code::Full);
        assert_eq!(code(table.remove(handles[1000])), Code::Ok);
        assert_eq!(code(table.insert(())), Code::Ok);
    }
}
