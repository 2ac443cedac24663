//! The log of requests: its columns, and its files.

mod file;
mod parquet;
mod text;

use std::sync::mpsc::SyncSender;

use crate::request::{Flags, Op, Request};
use crate::service::{Service, PHASES};

pub use file::{LogFile, LogFormat};

/// A request and its service.
pub type Entry = (Request, Service);

/// Rows that are written to a file at a time.
const GROUP_ROWS: usize = 1 << 15;

/// The request log: one entry per measured request, in order of completion.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// Requests and their services.
    pub entries: Vec<Entry>,
}

/// Values of a run that columns of its log depend on.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogFacts {
    /// Time in command processing, ns.
    pub overhead_ns: u64,
    /// Size of a block, bytes.
    pub block_bytes: u32,
}

impl LogFacts {
    /// Returns the bytes that a request needs of its blocks.
    #[must_use]
    pub fn needed_bytes(&self, request: &Request) -> u64 {
        request.needed(self.block_bytes).bytes(self.block_bytes)
    }

    /// Returns the time from the end of command processing to dispatch, ns.
    #[must_use]
    pub fn wait_ns(&self, request: &Request, service: &Service) -> u64 {
        service.start.saturating_since(request.arrival + self.overhead_ns)
    }
}

/// Sends the entries of a log in groups while the run continues, so that few are in memory.
#[derive(Clone, Debug)]
pub struct LogSender {
    group: Vec<Entry>,
    channel: SyncSender<(LogFacts, Vec<Entry>)>,
}

impl LogSender {
    /// Adds an entry. It waits while the receiver has more than one unread group.
    #[inline]
    pub(super) fn push(&mut self, facts: LogFacts, entry: Entry) {
        self.group.push(entry);
        if self.group.len() == GROUP_ROWS {
            self.flush(facts);
        }
    }

    /// Sends the last entries.
    pub(super) fn flush(&mut self, facts: LogFacts) {
        let group = std::mem::replace(&mut self.group, Vec::with_capacity(GROUP_ROWS));
        // A receiver that has failed reports its error itself.
        let _ = self.channel.send((facts, group));
    }
}

/// A column of a log. Its name ends in its unit.
#[derive(Clone, Debug)]
pub struct LogColumn {
    /// The name.
    pub name: String,
    value: Value,
}

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum LogValues {
    /// Truth values.
    Bool(Vec<bool>),
    /// Integers of 32 bits.
    U32(Vec<u32>),
    /// Integers of 64 bits.
    U64(Vec<u64>),
    /// Floating-point numbers.
    F64(Vec<f64>),
}

/// Computes the value of a column.
#[derive(Clone, Copy, Debug)]
enum Value {
    Bool(fn(&Request) -> bool),
    U32(fn(&Request) -> u32),
    U64(fn(LogFacts, &Request, &Service) -> u64),
    Phase(usize),
    F64(fn(&Service) -> f64),
}

impl LogColumn {
    /// Returns the values of these entries.
    #[must_use]
    pub fn values(&self, facts: LogFacts, entries: &[Entry]) -> LogValues {
        match self.value {
            Value::Bool(of) => LogValues::Bool(entries.iter().map(|(request, _)| of(request)).collect()),
            Value::U32(of) => LogValues::U32(entries.iter().map(|(request, _)| of(request)).collect()),
            Value::U64(of) => {
                LogValues::U64(entries.iter().map(|(request, service)| of(facts, request, service)).collect())
            }
            Value::Phase(place) => {
                LogValues::U64(entries.iter().map(|(_, service)| service.phases.values_ns()[place]).collect())
            }
            Value::F64(of) => LogValues::F64(entries.iter().map(|(_, service)| of(service)).collect()),
        }
    }
}

/// Returns the columns of a log; energies only if the powers of the devices are known.
#[must_use]
pub fn columns(has_energy: bool) -> Vec<LogColumn> {
    let column = |name: &str, value| LogColumn { name: name.to_owned(), value };
    let mut columns = vec![
        column("id", Value::U64(|_, r, _| r.id)),
        column("origin", Value::U32(|r| r.origin)),
        column("arrival_ns", Value::U64(|_, r, _| r.arrival.ns())),
        column("start_ns", Value::U64(|_, _, s| s.start.ns())),
        column("end_ns", Value::U64(|_, _, s| s.end.ns())),
        column("lbn", Value::U64(|_, r, _| r.lbn)),
        column("blocks", Value::U32(|r| r.blocks)),
        column("read", Value::Bool(|r| r.op == Op::Read)),
        column("metadata", Value::Bool(|r| r.flags.contains(Flags::METADATA))),
        column("flush", Value::Bool(Request::is_flush)),
        column("fua", Value::Bool(|r| r.flags.contains(Flags::DURABLE))),
        column("needed_bytes", Value::U64(|facts, r, _| facts.needed_bytes(r))),
        column("response_ns", Value::U64(|_, r, s| s.end - r.arrival)),
        column("wait_ns", Value::U64(|facts, r, s| facts.wait_ns(r, s))),
        column("service_ns", Value::U64(|_, _, s| s.end - s.start)),
    ];
    let phases = PHASES.iter().enumerate();
    columns.extend(phases.map(|(place, phase)| column(&format!("{}_ns", phase.name), Value::Phase(place))));
    if has_energy {
        columns.extend([
            column("energy_j", Value::F64(|s| s.energy.total_j())),
            column("energy_startup_j", Value::F64(|s| s.energy.startup_j)),
            column("energy_seek_j", Value::F64(|s| s.energy.seek_j)),
            column("energy_rotation_j", Value::F64(|s| s.energy.rotation_j)),
            column("energy_servo_j", Value::F64(|s| s.energy.servo_j)),
            column("energy_data_j", Value::F64(|s| s.energy.data_j)),
            column("energy_idle_j", Value::F64(|s| s.energy.idle_j)),
        ]);
    }
    columns
}
