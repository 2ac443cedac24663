//! What the experiments of the papers have in common.

use rayon::prelude::*;
use sledsim::devices::mems::{MemsDevice, MemsParameters};
use sledsim::devices::Device;
use sledsim::request::{Flags, Op, Request, Spare};
use sledsim::scenario::{self, DeviceSpec, Report, SystemSpec};
use sledsim::time::Time;

use crate::scenario_runs;

/// Arrivals at a rate.
pub fn poisson(rate_per_s: f64) -> String {
    format!("workload.arrival={{kind=\"poisson\", rate_per_s={rate_per_s:?}}}")
}

/// So many requests outstanding, without think time.
pub fn closed(outstanding: u32) -> String {
    format!("workload.arrival={{kind=\"closed\", outstanding={outstanding}}}")
}

/// The report of a run with seed 1.
pub fn report<S: AsRef<str>>(settings: &[S]) -> Report {
    scenario_runs::run(settings, false).report
}

/// Parameters of a MEMS device of the catalogue, with settings.
pub fn parameters(settings: &[&str]) -> MemsParameters {
    let mut all: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    all.push(poisson(1.0));
    let SystemSpec::Drive(drive) = scenario_runs::scenario(&all).system else { panic!("a drive alone") };
    match drive.device {
        DeviceSpec::Mems(parameters) => *parameters,
        other => panic!("no MEMS device: {other:?}"),
    }
}

/// A device of the catalogue by whatever mechanism, with settings.
pub fn any_device(settings: &[&str]) -> Box<dyn Device> {
    let mut all: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    all.push(poisson(1.0));
    let SystemSpec::Drive(drive) = scenario_runs::scenario(&all).system else { panic!("a drive alone") };
    scenario::device(&drive.device).expect("a device of the catalogue")
}

/// Reads the LBNs from `lbn` to `end` in requests of `blocks`, one after the other; the time, s.
pub fn scan_s(device: &mut dyn Device, lbn: u64, end: u64, blocks: u32) -> f64 {
    let mut now = Time::ZERO;
    let mut next = lbn;
    while next < end {
        let blocks = u32::try_from(u64::from(blocks).min(end - next)).expect("no more than was asked for");
        let request = Request {
            id: next,
            arrival: now,
            lbn: next,
            blocks,
            op: Op::Read,
            flags: Flags::NONE,
            origin: 0,
            spare: Spare::NONE,
        };
        now = device.serve(now, &request).end;
        next += u64::from(blocks);
    }
    now.seconds()
}

/// A MEMS device of the catalogue, with settings.
pub fn device(settings: &[&str]) -> MemsDevice {
    MemsDevice::new(&parameters(settings)).expect("a device of the catalogue")
}

/// Runs the base scenario with each scheduler; the reports in the order given.
pub fn with_schedulers(base: &[String], schedulers: &[&'static str]) -> Vec<(&'static str, Report)> {
    schedulers
        .par_iter()
        .map(|&scheduler| {
            let mut settings = base.to_vec();
            settings.push(format!("scheduler={scheduler}"));
            (scheduler, report(&settings))
        })
        .collect()
}

/// Schedulers by rising mean response.
pub fn order_by_response(reports: &[(&'static str, Report)]) -> Vec<&'static str> {
    let mean_ms = |report: &Report| report.response.as_ref().expect("requests were measured").mean_ms;
    let mut order: Vec<_> = reports.iter().map(|(name, report)| (*name, mean_ms(report))).collect();
    println!("{order:.3?}");
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    order.into_iter().map(|(name, _)| name).collect()
}
