//! Memory of the C caller: text and arrays are read through pointers here, results are written to places.
//!
//! A place for one value is an `Option<&mut MaybeUninit<T>>`, which C passes as a pointer that may be null.

#![allow(unsafe_code)]

use std::ffi::{c_char, CStr};
use std::mem::MaybeUninit;
use std::path::PathBuf;

use crate::codes::{Code, Error};

/// A place for one value in the caller's memory; `None` for a null pointer.
pub type Place<'a, T> = Option<&'a mut MaybeUninit<T>>;

fn is_null(what: &str) -> Error {
    Error::new(Code::Null, format!("{what} is a null pointer"))
}

/// Returns a text.
///
/// # Errors
/// The pointer is null, or the text is not UTF-8.
///
/// # Safety
/// The pointer is null, or points to a text that ends with a zero and is unchanged during `'a`.
pub unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Error> {
    // SAFETY: as the caller guarantees.
    let text = unsafe { optional_text(pointer, what) }?;
    text.ok_or_else(|| is_null(what))
}

/// Returns a text, or `None` for a null pointer.
///
/// # Errors
/// The text is not UTF-8.
///
/// # Safety
/// The pointer is null, or points to a text that ends with a zero and is unchanged during `'a`.
pub unsafe fn optional_text<'a>(pointer: *const c_char, what: &str) -> Result<Option<&'a str>, Error> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller guarantees.
    let text = unsafe { CStr::from_ptr(pointer) }.to_str();
    text.map(Some).map_err(|error| Error::new(Code::Text, format!("{what} is not UTF-8: {error}")))
}

/// Returns a path: any bytes that the system allows.
///
/// # Errors
/// The pointer is null, or the path is not UTF-8 on a system where it has to be.
///
/// # Safety
/// The pointer is null, or points to a text that ends with a zero and is unchanged during the call.
pub unsafe fn path(pointer: *const c_char, what: &str) -> Result<PathBuf, Error> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        if pointer.is_null() {
            return Err(is_null(what));
        }
        // SAFETY: as the caller guarantees.
        let bytes = unsafe { CStr::from_ptr(pointer) }.to_bytes();
        Ok(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    // SAFETY: as the caller guarantees.
    unsafe { text(pointer, what) }.map(PathBuf::from)
}

/// Returns the texts of an array of `count` pointers, which may be null if `count` is 0.
///
/// # Errors
/// A pointer is null, or a text is not UTF-8.
///
/// # Safety
/// The pointer is null, or points to `count` pointers. Each of them is null, or points to a text that ends with a zero. All this is
/// unchanged during the call.
pub unsafe fn texts(pointer: *const *const c_char, count: usize, what: &str) -> Result<Vec<String>, Error> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if pointer.is_null() {
        return Err(is_null(what));
    }
    // SAFETY: as the caller guarantees.
    let pointers = unsafe { std::slice::from_raw_parts(pointer, count) };
    let each = pointers.iter().enumerate().map(|(index, &pointer)| {
        // SAFETY: as the caller guarantees.
        let text = unsafe { text(pointer, &format!("{what}[{index}]")) };
        text.map(str::to_owned)
    });
    each.collect()
}

/// Returns a copy of the caller's value.
///
/// # Errors
/// The pointer is null.
///
/// # Safety
/// The pointer is null, or points to a `T` that is unchanged during the call.
pub unsafe fn read<T: Copy>(pointer: *const T, what: &str) -> Result<T, Error> {
    if pointer.is_null() {
        return Err(is_null(what));
    }
    // SAFETY: as the caller guarantees.
    Ok(unsafe { pointer.read() })
}

/// Returns a required place.
///
/// # Errors
/// The pointer was null.
pub fn required<'a, T>(place: Place<'a, T>, what: &str) -> Result<&'a mut MaybeUninit<T>, Error> {
    place.ok_or_else(|| is_null(what))
}

/// Writes a value if there is a place for it.
pub fn put_if_wanted<T>(place: Place<'_, T>, value: T) {
    if let Some(place) = place {
        place.write(value);
    }
}

/// Returns the `count` places of an array, which may be null if `count` is 0.
///
/// # Errors
/// The pointer is null and `count` is not 0.
///
/// # Safety
/// The pointer is null, or points to `count` places that nothing else uses during `'a`.
pub unsafe fn places<'a, T>(
    pointer: *mut MaybeUninit<T>,
    count: usize,
    what: &str,
) -> Result<&'a mut [MaybeUninit<T>], Error> {
    if count == 0 {
        return Ok(&mut []);
    }
    if pointer.is_null() {
        return Err(is_null(what));
    }
    // SAFETY: as the caller guarantees.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, count) })
}

/// Writes a text and a zero after it.
///
/// # Errors
/// There are too few places; nothing is written then.
pub fn put_text(places: &mut [MaybeUninit<u8>], what: &str, text: &str) -> Result<(), Error> {
    if places.len() <= text.len() {
        let says = format!("{what} has {} bytes, but {} are needed", places.len(), text.len() + 1);
        return Err(Error::new(Code::Space, says));
    }
    for (place, byte) in places.iter_mut().zip(text.bytes().chain([0])) {
        place.write(byte);
    }
    Ok(())
}
