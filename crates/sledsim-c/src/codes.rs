//! What a call answers: a code, and for an error a message and the faults, kept for the calling thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{c_char, CStr, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};

use sledsim::fault::{Fault, Faults, Kind};
use sledsim::scenario::RunError;

/// Every answer, by name and number, as `sledsim.h` has them.
macro_rules! codes {
    ($($(#[$meta:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        /// An answer of a call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(i32)]
        pub enum Code {
            $($(#[$meta])* $name = $number,)*
        }

        impl Code {
            /// The name that a number has in `sledsim.h`.
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
    /// Done.
    Ok = 0, c"SLEDSIM_OK";
    /// Done, and there is nothing: no completion, no event to come.
    Nothing = 1, c"SLEDSIM_NOTHING";
    /// A pointer is null where something is to be read or written.
    Null = -1, c"SLEDSIM_NULL";
    /// A text is not UTF-8.
    Text = -2, c"SLEDSIM_TEXT";
    /// A number stands for none of the choices.
    Argument = -3, c"SLEDSIM_ARGUMENT";
    /// No such session: it was closed, or never opened.
    Handle = -4, c"SLEDSIM_HANDLE";
    /// Another thread is using the session.
    Busy = -5, c"SLEDSIM_BUSY";
    /// More sessions are open than there is room for.
    Full = -6, c"SLEDSIM_FULL";
    /// The scenario is wrong, or can't be read.
    Scenario = -7, c"SLEDSIM_SCENARIO";
    /// Time would run back.
    Time = -8, c"SLEDSIM_TIME";
    /// The simulator broke a rule of its own, or has fallen too far behind its load.
    Rule = -9, c"SLEDSIM_RULE";
    /// No such request, or its completion was fetched before.
    Taken = -10, c"SLEDSIM_TAKEN";
    /// The buffer is too small.
    Space = -11, c"SLEDSIM_SPACE";
    /// Numbers beyond what the simulator can hold, or a defect in it. The session is of no more use.
    Defect = -12, c"SLEDSIM_DEFECT";
}

/// Why a call is refused.
#[derive(Debug)]
pub struct Refusal {
    pub code: Code,
    faults: Vec<Fault>,
}

impl Refusal {
    /// With a reason in words.
    pub fn new(code: Code, says: impl Into<String>) -> Self {
        let kind = if code == Code::Space { Kind::OutOfRange } else { Kind::Unsupported };
        Self { code, faults: vec![Fault::new(kind).says(says)] }
    }

    /// The same by another name.
    pub fn with(self, code: Code) -> Self {
        Self { code, ..self }
    }

    /// Everything that is wrong, a line each.
    pub fn text(&self) -> String {
        self.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self { code: Code::Scenario, faults: vec![fault] }
    }
}

impl From<Faults> for Refusal {
    fn from(faults: Faults) -> Self {
        Self { code: Code::Scenario, faults: faults.into_iter().collect() }
    }
}

impl From<RunError> for Refusal {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Scenario(faults) => faults.into(),
            RunError::Trace(fault) => fault.into(),
            RunError::Policy(stopped) => stopped.fault.into(),
            RunError::Rule(fault) => Self { code: Code::Rule, faults: vec![fault] },
        }
    }
}

/// What the last call that was refused on this thread has to say.
#[derive(Default)]
struct Said {
    text: CString,
    faults: CString,
}

thread_local! {
    static SAID: RefCell<Said> = RefCell::default();
}

/// Text as C has it; a zero in it would end it early.
pub fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

fn keep(refusal: &Refusal) {
    let faults = serde_json::to_string(&refusal.faults).unwrap_or_default();
    let said = Said { text: c_text(&refusal.text()), faults: c_text(&faults) };
    // A thread that is ending has nobody left to read it.
    let _ = SAID.try_with(|last| last.replace(said));
}

fn said(part: impl FnOnce(&Said) -> *const c_char) -> *const c_char {
    // The text stays where it is until the thread's next refusal replaces it.
    SAID.try_with(|last| part(&last.borrow())).unwrap_or(c"".as_ptr())
}

/// The message of the last refusal on this thread; empty before the first.
pub fn message() -> *const c_char {
    said(|last| last.text.as_ptr())
}

/// The faults of the last refusal on this thread, as a JSON list; empty before the first.
pub fn faults() -> *const c_char {
    said(|last| last.faults.as_ptr())
}

/// Does the work of a call. A panic in it becomes an answer.
pub fn answered(work: impl FnOnce() -> Result<Code, Refusal>) -> i32 {
    let done = guarded(work).and_then(|done| done);
    let code = done.unwrap_or_else(|refusal| {
        keep(&refusal);
        refusal.code
    });
    code as i32
}

/// Does some work; a panic in it becomes a refusal.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Refusal> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let says = format!(
            "numbers beyond what the simulator can hold, or a defect in it ({}): the session is of no more use",
            describe(panic.as_ref())
        );
        Refusal::new(Code::Defect, says)
    })
}

fn describe(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
