//! What a policy of one's own sees in Python: columns of what is pending, and requests.

use std::sync::{Mutex, PoisonError};

use numpy::PyArray1;
use pyo3::prelude::*;
use sledsim::own;
use sledsim::request::{Op, Request as Asked};

/// Columns that are lent for a call, and never locked by two.
#[derive(Default)]
pub struct Lent<C>(Mutex<C>);

impl<C> Lent<C> {
    /// Has columns while something is called, and gives them back.
    pub fn lend<T>(&self, columns: &mut C, call: impl FnOnce() -> T) -> T {
        self.with(|held| std::mem::swap(held, columns));
        let answer = call();
        self.with(|held| std::mem::swap(held, columns));
        answer
    }

    /// Looks at them, or changes them.
    pub fn with<T>(&self, look: impl FnOnce(&mut C) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// An array of one.
    pub fn array<'py, T: numpy::Element>(
        &self,
        python: Python<'py>,
        column: impl FnOnce(&C) -> Vec<T>,
    ) -> Bound<'py, PyArray1<T>> {
        PyArray1::from_vec(python, self.with(|columns| column(columns)))
    }
}

/// What shows columns. They are lent for a call alone, or brought up to date before each: the copies of a policy may show the same.
pub struct Shared<V>(pub Py<V>);

impl<V> Clone for Shared<V> {
    fn clone(&self) -> Self {
        Self(Python::attach(|python| self.0.clone_ref(python)))
    }
}

/// Signed, so that a difference may be below nothing; no device has as many blocks, and no clock as many nanoseconds. What can't be
/// told is -1.
pub fn signed(column: &[u64]) -> Vec<i64> {
    column.iter().map(|&value| value as i64).collect()
}

/// A class with an array for each column that is lent to it, by a name, a type of its elements, and how it is made of the columns.
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
pub(crate) use view;

view! {
    /// What is pending, in the order of arrival: an array for each quantity, an entry for each request. Valid during a call alone.
    pub struct Pending(own::Pending), "requests";

    /// Numbers of the requests, which rise.
    id: i64 = |columns| signed(&columns.id);

    /// First blocks.
    lbn: i64 = |columns| signed(&columns.lbn);

    /// Sizes, blocks.
    blocks: i64 = |columns| columns.blocks.iter().map(|&blocks| blocks.into()).collect();

    /// Whether they read; they write otherwise.
    read: bool = |columns| columns.read.iter().map(|&read| read != 0).collect();

    /// Times since the requests became ready, ns.
    age_ns: i64 = |columns| signed(&columns.age_ns);

    /// Times from a dispatch now until the first bit can be transferred, ns; empty for a policy that does without.
    positioning_ns: i64 = |columns| signed(&columns.positioning_ns);
}

/// A request, as a policy of one's own is told of it.
#[pyclass(frozen, module = "sledsim._core", get_all)]
pub struct Request {
    /// Its number.
    id: u64,
    /// First block.
    lbn: u64,
    /// Size, blocks.
    blocks: u32,
    /// Whether it reads; it writes otherwise.
    read: bool,
    /// When it arrived, ns.
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
