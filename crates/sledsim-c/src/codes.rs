//! Result codes of calls. The message and faults of the last error are kept for each thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{c_char, CStr, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};

use sledsim::fault::{Fault, Faults, Kind};
use sledsim::scenario::RunError;

/// Declares the codes with the names and numbers of `sledsim.h`.
macro_rules! codes {
    ($($(#[$meta:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        /// The result code of a call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(i32)]
        pub enum Code {
            $($(#[$meta])* $name = $number,)*
        }

        impl Code {
            /// Returns the name of a code in `sledsim.h`.
            pub fn name(number: i32) -> &'static CStr {
                match number {
                    $($number => $text,)*
                    _ => c"no code of sledsim",
                }
            }
        }
    };
}

codes! {
    /// Success.
    Ok = 0, c"SLEDSIM_OK";
    /// Success without a result: no completion, no future event.
    Nothing = 1, c"SLEDSIM_NOTHING";
    /// A required pointer is null.
    Null = -1, c"SLEDSIM_NULL";
    /// A text is not UTF-8.
    Text = -2, c"SLEDSIM_TEXT";
    /// An argument is out of range.
    Argument = -3, c"SLEDSIM_ARGUMENT";
    /// The session was closed or never opened.
    Handle = -4, c"SLEDSIM_HANDLE";
    /// Another thread is using the session.
    Busy = -5, c"SLEDSIM_BUSY";
    /// Too many sessions are open.
    Full = -6, c"SLEDSIM_FULL";
    /// The scenario is invalid or can't be read.
    Scenario = -7, c"SLEDSIM_SCENARIO";
    /// A time is before the current time.
    Time = -8, c"SLEDSIM_TIME";
    /// The simulator violated one of its rules, or the load exceeds what it can hold.
    Rule = -9, c"SLEDSIM_RULE";
    /// The request was never submitted, or its completion was already fetched.
    Taken = -10, c"SLEDSIM_TAKEN";
    /// The buffer is too small.
    Space = -11, c"SLEDSIM_SPACE";
    /// A number overflowed, or the simulator has a defect. The session can only be closed.
    Defect = -12, c"SLEDSIM_DEFECT";
}

/// An error of a call.
#[derive(Debug)]
pub struct Error {
    pub code: Code,
    faults: Vec<Fault>,
}

impl Error {
    /// Returns an error with a message.
    pub fn new(code: Code, says: impl Into<String>) -> Self {
        let kind = if code == Code::Space { Kind::OutOfRange } else { Kind::Unsupported };
        Self { code, faults: vec![Fault::new(kind).says(says)] }
    }

    /// Returns the error with another code.
    pub fn with_code(self, code: Code) -> Self {
        Self { code, ..self }
    }

    /// Returns the message, one line for each fault.
    pub fn text(&self) -> String {
        self.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self { code: Code::Scenario, faults: vec![fault] }
    }
}

impl From<Faults> for Error {
    fn from(faults: Faults) -> Self {
        Self { code: Code::Scenario, faults: faults.into_iter().collect() }
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Scenario(faults) => faults.into(),
            RunError::Trace(fault) => fault.into(),
            RunError::Policy(stopped) => stopped.fault.into(),
            RunError::Rule(fault) => Self { code: Code::Rule, faults: vec![fault] },
        }
    }
}

/// The last error of this thread.
#[derive(Default)]
struct LastError {
    message: CString,
    faults: CString,
}

thread_local! {
    static LAST_ERROR: RefCell<LastError> = RefCell::default();
}

/// Converts a text to C. Zeros are replaced, because they would end the text early.
pub fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

fn store(error: &Error) {
    let faults = serde_json::to_string(&error.faults).unwrap_or_default();
    let error = LastError { message: c_text(&error.text()), faults: c_text(&faults) };
    // Fails only while the thread ends, when nothing can read it any more.
    let _ = LAST_ERROR.try_with(|last| last.replace(error));
}

fn last_error(part: impl FnOnce(&LastError) -> *const c_char) -> *const c_char {
    // The text is valid until the next error of this thread replaces it.
    LAST_ERROR.try_with(|last| part(&last.borrow())).unwrap_or(c"".as_ptr())
}

/// Returns the message of the last error of this thread; empty before the first.
pub fn message() -> *const c_char {
    last_error(|last| last.message.as_ptr())
}

/// Returns the faults of the last error of this thread as a JSON list; empty before the first.
pub fn faults() -> *const c_char {
    last_error(|last| last.faults.as_ptr())
}

/// Runs the body of a call and returns its code. An error or a panic is stored as the last error of this thread.
pub fn run_call(work: impl FnOnce() -> Result<Code, Error>) -> i32 {
    let result = catch_panic(work).and_then(|result| result);
    let code = result.unwrap_or_else(|error| {
        store(&error);
        error.code
    });
    code as i32
}

/// Runs `work`, and converts a panic to an error.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let says = format!(
            "a number overflowed, or the simulator has a defect ({}): close the session",
            describe(panic.as_ref())
        );
        Error::new(Code::Defect, says)
    })
}

fn describe(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
