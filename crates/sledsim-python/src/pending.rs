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
    /// Changes places with the columns that are lent, or given back.
    pub fn swap(&self, columns: &mut C) {
        self.with(|held| std::mem::swap(held, columns));
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

/// Signed, so that a difference may be below nothing; no device has as many blocks, and no clock as many nanoseconds. What can't be
/// told is -1.
pub fn signed(column: &[u64]) -> Vec<i64> {
    column.iter().map(|&value| value as i64).collect()
}

/// What is pending, in the order of arrival: an array for each quantity, an entry for each request. Valid during a call alone.
#[pyclass(frozen, module = "sledsim._core")]
#[derive(Default)]
pub struct Pending(pub Lent<own::Pending>);

#[pymethods]
impl Pending {
    /// Numbers of the requests, which rise.
    #[getter]
    fn id<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.array(python, |columns| signed(&columns.id))
    }

    /// First blocks.
    #[getter]
    fn lbn<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.array(python, |columns| signed(&columns.lbn))
    }

    /// Sizes, blocks.
    #[getter]
    fn blocks<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.array(python, |columns| columns.blocks.iter().map(|&blocks| blocks.into()).collect())
    }

    /// Whether they read; they write otherwise.
    #[getter]
    fn read<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.0.array(python, |columns| columns.read.iter().map(|&read| read != 0).collect())
    }

    /// Times since the requests became ready, ns.
    #[getter]
    fn age_ns<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.array(python, |columns| signed(&columns.age_ns))
    }

    /// Times from a dispatch now until the first bit can be transferred, ns; empty for a policy that does without.
    #[getter]
    fn positioning_ns<'py>(&self, python: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.0.array(python, |columns| signed(&columns.positioning_ns))
    }

    fn __len__(&self) -> usize {
        self.0.with(|columns| columns.len())
    }

    fn __repr__(&self) -> String {
        format!("<Pending: {} requests>", self.__len__())
    }
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
