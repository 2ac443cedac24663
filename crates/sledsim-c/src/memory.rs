//! Memory of the caller's: every pointer is read and written here. A null pointer is refused; any other is taken at its word,
//! which is the one thing that the header asks of whoever calls.

use std::ffi::{c_char, CStr};
use std::path::PathBuf;

use crate::codes::{Code, Refusal};

fn is_null(what: &str) -> Refusal {
    Refusal::new(Code::Null, format!("{what} is a null pointer"))
}

/// A text of the caller's.
pub fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Refusal> {
    if pointer.is_null() {
        return Err(is_null(what));
    }
    // SAFETY: the caller hands over a text that ends in a zero and stays as it is during the call.
    let bytes = unsafe { CStr::from_ptr(pointer) };
    bytes.to_str().map_err(|error| Refusal::new(Code::Text, format!("{what} is not UTF-8: {error}")))
}

/// A text that may be left out.
pub fn optional_text<'a>(pointer: *const c_char, what: &str) -> Result<Option<&'a str>, Refusal> {
    if pointer.is_null() {
        return Ok(None);
    }
    text(pointer, what).map(Some)
}

/// A path of the caller's: whatever bytes the system allows.
pub fn path(pointer: *const c_char, what: &str) -> Result<PathBuf, Refusal> {
    if pointer.is_null() {
        return Err(is_null(what));
    }
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        // SAFETY: as for `text`.
        let bytes = unsafe { CStr::from_ptr(pointer) }.to_bytes();
        Ok(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    text(pointer, what).map(PathBuf::from)
}

/// Texts of the caller's, one after the other.
pub fn texts(pointer: *const *const c_char, count: usize, what: &str) -> Result<Vec<String>, Refusal> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if pointer.is_null() {
        return Err(is_null(what));
    }
    // SAFETY: the caller hands over so many pointers, each of which is checked in its turn.
    let each = |index| unsafe { *pointer.add(index) };
    (0..count).map(|index| text(each(index), &format!("{what}[{index}]")).map(str::to_owned)).collect()
}

/// What is wanted of something of the caller's.
pub fn get<T, R>(pointer: *const T, what: &str, wanted: impl FnOnce(&T) -> R) -> Result<R, Refusal> {
    if pointer.is_null() {
        return Err(is_null(what));
    }
    // SAFETY: the caller hands over one of these, which stays as it is during the call. Nothing of it is kept.
    Ok(wanted(unsafe { &*pointer }))
}

/// Refuses a place that nothing can be written to.
pub fn writable<T>(pointer: *mut T, what: &str) -> Result<(), Refusal> {
    if pointer.is_null() {
        return Err(is_null(what));
    }
    Ok(())
}

/// Writes an answer to the caller's place for it.
pub fn put<T>(pointer: *mut T, what: &str, value: T) -> Result<(), Refusal> {
    writable(pointer, what)?;
    // SAFETY: the caller hands over a place for one of these, aligned as C aligns it.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Writes an answer where the caller wants it.
pub fn put_if_wanted<T>(pointer: *mut T, value: T) {
    if !pointer.is_null() {
        // SAFETY: as for `put`.
        unsafe { pointer.write(value) };
    }
}

/// Writes answers to the caller's places, as long as there are both.
pub fn put_all<T>(
    pointer: *mut T,
    capacity: usize,
    what: &str,
    mut values: impl FnMut() -> Option<T>,
) -> Result<usize, Refusal> {
    if capacity > 0 {
        writable(pointer, what)?;
    }
    for index in 0..capacity {
        let Some(value) = values() else { return Ok(index) };
        // SAFETY: the caller has `capacity` places from `pointer` on.
        unsafe { pointer.add(index).write(value) };
    }
    Ok(capacity)
}

/// Writes a text with a zero after it, if there is room; nothing otherwise.
pub fn put_text(pointer: *mut c_char, capacity: usize, what: &str, text: &[u8]) -> Result<(), Refusal> {
    if capacity <= text.len() {
        let says = format!("{what} has room for {capacity} bytes, and {} are needed", text.len() + 1);
        return Err(Refusal::new(Code::Space, says));
    }
    writable(pointer, what)?;
    // SAFETY: the caller has `capacity` bytes from `pointer` on, more than the text is long; nobody else has them.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), pointer.cast::<u8>(), text.len());
        pointer.add(text.len()).write(0);
    }
    Ok(())
}
