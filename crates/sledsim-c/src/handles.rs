//! The table of what is open: a number in the place of an address, with the generation of the place that it names.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use crate::codes::{Code, Refusal};

/// Places made at once.
const CHUNK: usize = 256;
/// How often: so many things times [`CHUNK`] can be open at once.
const CHUNKS: usize = 256;

/// A place for one thing after another.
struct Place<T> {
    /// How many things the place has held; odd while it holds one.
    generation: u32,
    held: Option<Box<T>>,
}

type Chunk<T> = Box<[Mutex<Place<T>>]>;

/// Things that are open, by number. No thing moves, and no place is given back to the system.
pub struct Table<T> {
    chunks: [OnceLock<Chunk<T>>; CHUNKS],
    free: Mutex<Free>,
}

/// Places that hold nothing.
struct Free {
    left: Vec<u32>,
    /// The first place that has never held anything.
    fresh: u32,
}

impl<T> Table<T> {
    /// A table with nothing in it.
    pub const fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS], free: Mutex::new(Free { left: Vec::new(), fresh: 0 }) }
    }

    /// Puts a thing into the table; its number is never 0.
    pub fn put(&self, thing: T) -> Result<u64, Refusal> {
        let index = self.free_place()?;
        let mut place = lock(self.place(index).ok_or_else(unknown)?);
        place.generation = place.generation.wrapping_add(1);
        place.held = Some(Box::new(thing));
        Ok(u64::from(place.generation) << 32 | u64::from(index))
    }

    fn free_place(&self) -> Result<u32, Refusal> {
        let mut free = lock(&self.free);
        if let Some(index) = free.left.pop() {
            return Ok(index);
        }
        let index = free.fresh;
        if index as usize >= CHUNK * CHUNKS {
            return Err(Refusal::new(Code::Full, format!("{} are open already: close some", CHUNK * CHUNKS)));
        }
        free.fresh += 1;
        let empty = || Mutex::new(Place { generation: 0, held: None });
        self.chunks[index as usize / CHUNK].get_or_init(|| (0..CHUNK).map(|_| empty()).collect());
        Ok(index)
    }

    fn place(&self, index: u32) -> Option<&Mutex<Place<T>>> {
        let chunk = self.chunks.get(index as usize / CHUNK)?.get()?;
        chunk.get(index as usize % CHUNK)
    }

    /// Lends a thing for as long as `work` takes. Nobody waits: who comes meanwhile is told.
    #[inline]
    pub fn with<R>(&self, number: u64, work: impl FnOnce(&mut T) -> Result<R, Refusal>) -> Result<R, Refusal> {
        let place = self.place(number as u32).ok_or_else(unknown)?;
        let mut place = match place.try_lock() {
            Ok(place) => place,
            Err(TryLockError::WouldBlock) => {
                return Err(Refusal::new(Code::Busy, "another thread is using it: one at a time can"));
            }
            // What panicked meanwhile may be half done.
            Err(TryLockError::Poisoned(_)) => {
                return Err(Refusal::new(Code::Defect, "it ended in a defect before, and is of no more use: close it"));
            }
        };
        if u64::from(place.generation) != number >> 32 {
            return Err(unknown());
        }
        work(place.held.as_mut().ok_or_else(unknown)?)
    }

    /// Takes a thing out, for good.
    pub fn take(&self, number: u64) -> Result<Box<T>, Refusal> {
        let mutex = self.place(number as u32).ok_or_else(unknown)?;
        let mut place = match mutex.try_lock() {
            Ok(place) => place,
            Err(TryLockError::WouldBlock) => {
                return Err(Refusal::new(Code::Busy, "another thread is using it: it stays open"));
            }
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        };
        if u64::from(place.generation) != number >> 32 {
            return Err(unknown());
        }
        let held = place.held.take().ok_or_else(unknown)?;
        place.generation = place.generation.wrapping_add(1);
        mutex.clear_poison();
        drop(place);
        lock(&self.free).left.push(number as u32);
        Ok(held)
    }
}

fn unknown() -> Refusal {
    Refusal::new(Code::Handle, "there is no such handle: it was closed, or never opened")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::guarded;

    fn code<T>(answer: Result<T, Refusal>) -> Code {
        answer.map_or_else(|refusal| refusal.code, |_| Code::Ok)
    }

    #[test]
    fn a_number_is_of_no_use_once_its_thing_is_gone() {
        let table = Table::new();
        let first = table.put("first").unwrap();
        assert_eq!(code(table.take(first)), Code::Ok);
        let second = table.put("second").unwrap();
        assert_eq!(second as u32, first as u32, "the place is used again");
        assert_ne!(second, first);
        for gone in [first, first - 1, second + 1, 0, u64::MAX] {
            assert_eq!(code(table.with(gone, |_| Ok(()))), Code::Handle);
            assert_eq!(code(table.take(gone)), Code::Handle);
        }
        assert_eq!(table.with(second, |held| Ok(*held)).unwrap(), "second");
    }

    #[test]
    fn nobody_waits() {
        let table = Table::new();
        let number = table.put(()).unwrap();
        let within = table.with(number, |()| Ok((code(table.with(number, |()| Ok(()))), code(table.take(number)))));
        assert_eq!(within.unwrap(), (Code::Busy, Code::Busy));
    }

    #[test]
    fn what_ended_in_a_defect_can_only_be_closed() {
        let table = Table::new();
        let number = table.put(0).unwrap();
        let work = || table.with(number, |held| Ok(10 / *held));
        assert_eq!(code(guarded(work).and_then(|done| done)), Code::Defect);
        assert_eq!(code(work()), Code::Defect);
        assert_eq!(code(table.take(number)), Code::Ok);
        assert_eq!(code(work()), Code::Handle);
        let next = table.put(5).unwrap();
        assert_eq!(table.with(next, |held| Ok(10 / *held)).unwrap(), 2);
    }

    #[test]
    fn there_is_an_end_of_room() {
        let table = Table::new();
        let numbers: Vec<u64> = (0..CHUNK * CHUNKS).map(|_| table.put(()).unwrap()).collect();
        assert_eq!(code(table.put(())), Code::Full);
        assert_eq!(code(table.take(numbers[1000])), Code::Ok);
        assert_eq!(code(table.put(())), Code::Ok);
    }
}
