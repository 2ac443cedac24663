//! The workload of a scenario, and when its run ends.

use std::collections::BTreeMap;
use std::path::Path;

use super::Assembly;
use crate::engine::{Limits, Next, Workload};
use crate::fault::{self, Fault};
use crate::request::Request;
use crate::scenario::spec::{Scenario, TraceSpec, WorkloadSpec};
use crate::service::Service;
use crate::time::{s_to_ns, Time};
use crate::traces::{ColumnMap, ColumnRef, LengthUnit, TimeUnit, TraceFormat, TraceOptions};
use crate::workloads::{Mix, Replay, ReplayOptions, Synthetic};

/// The workload of a scenario.
pub(in crate::scenario) enum AnyWorkload {
    Synthetic(Box<Synthetic>),
    Mix(Box<Mix>),
    Replay(Box<Replay>),
}

impl AnyWorkload {
    /// Bad trace records skipped.
    pub fn skipped(&self) -> u64 {
        match self {
            Self::Synthetic(_) | Self::Mix(_) => 0,
            Self::Replay(replay) => replay.skipped(),
        }
    }
}

impl Workload for AnyWorkload {
    #[inline]
    fn peek(&mut self) -> Result<Next, Fault> {
        match self {
            Self::Synthetic(workload) => workload.peek(),
            Self::Mix(workload) => workload.peek(),
            Self::Replay(workload) => workload.peek(),
        }
    }

    #[inline]
    fn take(&mut self) -> Request {
        match self {
            Self::Synthetic(workload) => workload.take(),
            Self::Mix(workload) => workload.take(),
            Self::Replay(workload) => workload.take(),
        }
    }

    fn fraction_taken(&self) -> Option<f64> {
        match self {
            Self::Synthetic(workload) => workload.fraction_taken(),
            Self::Mix(workload) => workload.fraction_taken(),
            Self::Replay(workload) => workload.fraction_taken(),
        }
    }

    fn is_open(&self) -> bool {
        match self {
            Self::Synthetic(workload) => workload.is_open(),
            Self::Mix(workload) => workload.is_open(),
            Self::Replay(workload) => workload.is_open(),
        }
    }

    #[inline]
    fn completed(&mut self, request: &Request, service: &Service) {
        match self {
            Self::Synthetic(workload) => workload.completed(request, service),
            Self::Mix(workload) => workload.completed(request, service),
            Self::Replay(workload) => workload.completed(request, service),
        }
    }
}

/// Builds the workload of a scenario for a system of that size.
pub(in crate::scenario) fn workload(scenario: &Scenario, assembly: &Assembly<'_>) -> Result<AnyWorkload, Fault> {
    let (capacity, block_bytes) = (assembly.capacity_blocks, assembly.block_bytes);
    match &scenario.workload {
        WorkloadSpec::Synthetic(spec) => {
            Ok(AnyWorkload::Synthetic(Box::new(Synthetic::new(spec, scenario.seed, capacity, block_bytes)?)))
        }
        WorkloadSpec::Mix(spec) => {
            Ok(AnyWorkload::Mix(Box::new(Mix::new(spec, scenario.seed, capacity, block_bytes)?)))
        }
        WorkloadSpec::Trace(spec) => {
            let trace_options = trace_options(spec)?;
            let options = ReplayOptions {
                mode: spec.mode,
                time_scale: spec.time_scale,
                outstanding: spec.outstanding,
                rebase: spec.rebase,
                start_ns: s_to_ns(spec.start_s),
                end_ns: spec.end_s.map(s_to_ns),
                first_record: spec.first_record,
                records: spec.records,
                devices: spec.devices.clone(),
                fit: spec.fit,
                repeat: spec.repeat,
                last_block: spec.last_block,
                metadata: spec.metadata,
                seed: scenario.seed,
            };
            let replay = Replay::new(Path::new(&spec.path), trace_options, options, capacity, block_bytes)?;
            Ok(AnyWorkload::Replay(Box::new(replay)))
        }
    }
}

/// Limits of a scenario's run.
pub(in crate::scenario) fn limits(scenario: &Scenario) -> Limits {
    Limits {
        requests: scenario.run.requests,
        until: scenario.run.time_s.map(|time_s| Time::from_ns(s_to_ns(time_s))),
        warmup_requests: scenario.run.warmup_requests,
        warmup: Time::from_ns(s_to_ns(scenario.run.warmup_s)),
    }
}

/// How to read the trace that `spec` names.
///
/// # Errors
/// An unknown format, or columns that make no sense.
pub fn trace_options(spec: &TraceSpec) -> Result<TraceOptions, Fault> {
    let format = match spec.format.as_str() {
        "auto" => None,
        name => Some(name.parse::<TraceFormat>()?),
    };
    let columns = spec.columns.as_ref().map(column_map).transpose().map_err(|fault| fault.within("columns"))?;
    Ok(TraceOptions {
        format,
        skip_bad: spec.skip_bad,
        columns,
        sector_bytes: spec.sector_bytes,
        ..TraceOptions::default()
    })
}

/// Columns of a CSV trace from names: `time`, `device`, `offset`, `bytes`, `op`, and the unit of time.
fn column_map(columns: &BTreeMap<String, String>) -> Result<ColumnMap, Fault> {
    const KNOWN: [&str; 7] = ["time", "time_unit", "device", "offset", "bytes", "op", "length_unit"];
    if let Some(unknown) = columns.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(Fault::unknown_key(fault::Path::default().step(unknown), KNOWN));
    }
    let column = |key: &str, default: &str| {
        let name = columns.get(key).map_or(default, String::as_str);
        name.parse().map_or_else(|_| ColumnRef::Name(name.to_owned()), ColumnRef::Index)
    };
    let time_unit = match columns.get("time_unit").map(String::as_str) {
        None | Some("ns") => TimeUnit::Ns,
        Some("us") => TimeUnit::Us,
        Some("ms") => TimeUnit::Ms,
        Some("s") => TimeUnit::S,
        Some(other) => return Err(Fault::unknown_name("time_unit", other, ["s", "ms", "us", "ns"])),
    };
    let length_unit = match columns.get("length_unit").map(String::as_str) {
        None | Some("bytes") => LengthUnit::Bytes,
        Some("sectors") => LengthUnit::Sectors,
        Some(other) => return Err(Fault::unknown_name("length_unit", other, ["bytes", "sectors"])),
    };
    Ok(ColumnMap {
        time: column("time", "t_ns"),
        time_unit,
        device: columns.contains_key("device").then(|| column("device", "device")),
        offset: column("offset", "offset_bytes"),
        offset_unit: length_unit,
        length: column("bytes", "bytes"),
        length_unit,
        op: column("op", "op"),
        op_values: None,
    })
}
