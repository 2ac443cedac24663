//! The arguments of the methods of Python classes: views of columns, and requests.

use std::sync::{Mutex, PoisonError};

use numpy::PyArray1;
use pyo3::prelude::*;
use sledsim::plugin;
use sledsim::power::Mode;
use sledsim::request::{Op, Request as Asked};

/// Columns that are lent for a call. The lock is never contended.
#[derive(Default)]
pub struct Lent<C>(Mutex<C>);

impl<C> Lent<C> {
    /// Holds `columns` while `call` runs.
    pub fn lend<T>(&self, columns: &mut C, call: impl FnOnce() -> T) -> T {
        self.with(|held| std::mem::swap(held, columns));
        let answer = call();
        self.with(|held| std::mem::swap(held, columns));
        answer
    }

    /// Calls `look` with the columns.
    pub fn with<T>(&self, look: impl FnOnce(&mut C) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns one column as an array.
    pub fn array<'py, T: numpy::Element>(
        &self,
        python: Python<'py>,
        column: impl FnOnce(&C) -> Vec<T>,
    ) -> Bound<'py, PyArray1<T>> {
        PyArray1::from_vec(python, self.with(|columns| column(columns)))
    }
}

/// A view that the copies of a policy share: its columns are lent for a call, or updated before it.
pub struct Shared<V>(pub Py<V>);

impl<V> Clone for Shared<V> {
    fn clone(&self) -> Self {
        Self(Python::attach(|python| self.0.clone_ref(python)))
    }
}

/// Converts a column to signed numbers, so that differences may be negative. No value is too large, except `u64::MAX`, which stands
/// for an unknown value and becomes -1.
fn signed(column: &[u64]) -> Vec<i64> {
    column.iter().map(|&value| value as i64).collect()
}

/// Declares a class with an array for each column: a name, the type of the elements, and a conversion.
macro_rules! view {
    (
        $(#[$of_class:meta])*
        pub struct $view:ident($columns:ty), $counted:literal;
        $($(#[$of_column:meta])* $column:ident: $element:ty = $made:expr;)+
    ) => {
        $(#[$of_class])*
        #[pyclass(frozen, module = "sledsim._core")]
        #[derive(Default)]
        pub struct $view(pub Lent<$columns>);

        #[pymethods]
        impl $view {
            $(
                $(#[$of_column])*
                #[getter]
                fn $column<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<$element>> {
                    self.0.array(python, $made)
                }
            )+

            fn __len__(&self) -> usize {
                self.0.with(|columns| columns.len())
            }

            fn __repr__(&self) -> String {
                format!(concat!("<", stringify!($view), ": {} ", $counted, ">"), self.__len__())
            }
        }
    };
}

view! {
    /// The pending requests in order of arrival: an array for each quantity, an entry for each request. Valid during a call.
    pub struct Pending(plugin::Pending), "requests";

    /// Ids of the requests, ascending.
    id: i64 = |columns| signed(&columns.id);

    /// First blocks.
    lbn: i64 = |columns| signed(&columns.lbn);

    /// Sizes, blocks.
    blocks: i64 = |columns| columns.blocks.iter().map(|&blocks| blocks.into()).collect();

    /// True for reads, false for writes.
    read: bool = |columns| columns.read.iter().map(|&read| read != 0).collect();

    /// Times since the requests became ready, ns.
    age_ns: i64 = |columns| signed(&columns.age_ns);

    /// Times from a dispatch now until the first bit can be transferred, ns; empty for a policy that does not use them.
    positioning_ns: i64 = |columns| signed(&columns.positioning_ns);
}

view! {
    /// The copies that may serve a read: an array for each quantity, an entry for each copy. Valid during a call.
    pub struct Copies(plugin::Copies), "may serve";

    /// Numbers of the copies, ascending.
    copy: i64 = |columns| columns.copy.iter().map(|&copy| copy.into()).collect();

    /// Numbers of the members that hold them.
    member: i64 = |columns| columns.member.iter().map(|&member| member.into()).collect();

    /// Outstanding accesses of each.
    pending: i64 = |columns| signed(&columns.pending);

    /// Blocks of those accesses.
    pending_blocks: i64 = |columns| signed(&columns.pending_blocks);

    /// The block after the last access that was sent to each.
    next_lbn: i64 = |columns| signed(&columns.next_lbn);

    /// Times until the first block could be reached, ns; -1 if unknown, and empty for a policy that does not use them.
    positioning_ns: i64 = |columns| signed(&columns.positioning_ns);
}

/// The idle modes of a device, the ready one first: an array for each quantity, an entry for each mode.
#[pyclass(frozen, module = "sledsim._core")]
#[derive(Default)]
pub struct Modes(Lent<Vec<Mode>>);

#[pymethods]
impl Modes {
    /// Names in reports.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.with(|modes| modes.iter().map(|mode| mode.name.clone()).collect())
    }

    /// Powers, W.
    #[getter]
    fn power_w<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.array(python, |modes| modes.iter().map(|mode| mode.power_w).collect())
    }

    /// Idle times after which the device enters them without a policy, ns; -1 for never.
    #[getter]
    fn after_ns<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let after_ns = |mode: &Mode| mode.after_ns.map_or(-1, |after_ns| after_ns as i64);
        self.0.array(python, |modes| modes.iter().map(after_ns).collect())
    }

    /// Times to be ready again, ns.
    #[getter]
    fn wake_ns<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.array(python, |modes| modes.iter().map(|mode| mode.wake_ns as i64).collect())
    }

    /// Powers during those times, W.
    #[getter]
    fn wake_w<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.0.array(python, |modes| modes.iter().map(|mode| mode.wake_w).collect())
    }

    fn __len__(&self) -> usize {
        self.0.with(|modes| modes.len())
    }

    fn __repr__(&self) -> String {
        format!("<Modes: {}>", self.names().join(", "))
    }
}

impl Shared<Modes> {
    /// Returns the view, showing `modes`.
    pub fn showing<'a, 'py>(&'a self, python: Python<'py>, modes: &[Mode]) -> &'a Bound<'py, Modes> {
        let view = self.0.bind(python);
        view.get().0.with(|held| {
            if held != modes {
                *held = modes.to_vec();
            }
        });
        view
    }
}

/// A request, as an argument of a custom policy's methods.
#[pyclass(frozen, module = "sledsim._core", get_all)]
pub struct Request {
    /// Its id.
    id: u64,
    /// First block.
    lbn: u64,
    /// Size, blocks.
    blocks: u32,
    /// True for a read, false for a write.
    read: bool,
    /// Time of arrival, ns.
    arrival_ns: u64,
}

#[pymethods]
impl Request {
    fn __repr__(&self) -> String {
        let op = if self.read { "read" } else { "write" };
        format!("<Request {}: {op} of {} blocks from LBN {} on>", self.id, self.blocks, self.lbn)
    }
}

impl From<&Asked> for Request {
    fn from(asked: &Asked) -> Self {
        let &Asked { id, lbn, blocks, op, arrival, .. } = asked;
        Self { id, lbn, blocks, read: op == Op::Read, arrival_ns: arrival.ns() }
    }
}
