//! Runs of a stand-in with seed 1 on a device, or on several disks that share its address space.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::rc::Rc;

use serde_json::{json, Value};
use sledsim::request::{Op, Request};
use sledsim::scenario::{self, Scenario};
use sledsim::time::Time;
use sledsim::workloads::WorkloadSpec;
use sledsim::workloads::{Mix, RangeSpec, Workload};
use sledsim_testing::scenarios;

/// A request, its completion time, and its positioning time.
pub struct Served {
    pub request: Request,
    pub end: Time,
    pub positioning_ns: u64,
}

impl Served {
    /// Returns the time from arrival to completion, ms.
    pub fn response_ms(&self) -> f64 {
        (self.end.ns() - self.request.arrival.ns()) as f64 * 1e-6
    }
}

/// Requests served by a disk, in order of arrival.
pub type Log = Vec<Served>;

/// A stand-in and its file; runs are cached.
pub struct Bench {
    pub name: String,
    pub file: toml::Table,
    logs: RefCell<BTreeMap<String, Rc<Vec<Log>>>>,
}

impl Bench {
    pub fn new(name: String, file: toml::Table) -> Self {
        Self { name, file, logs: RefCell::default() }
    }

    /// Returns the device for which the file gives statistics.
    pub fn device(&self) -> Value {
        json!(self.file["measured_on"].as_str().expect("a device"))
    }

    /// Returns the requests served by each disk if all disks are `device`.
    pub fn logs(&self, device: &Value) -> Rc<Vec<Log>> {
        let known = self.logs.borrow().get(&device.to_string()).cloned();
        known.unwrap_or_else(|| {
            let disks = self.file.get("disks").map_or(1, |disks| disks.as_integer().expect("a number") as u64);
            let whole = self.scenario(device);
            let logs = if disks == 1 { vec![served(&whole)] } else { served_by_each(&self.name, &whole, disks) };
            let logs = Rc::new(logs);
            self.logs.borrow_mut().insert(device.to_string(), Rc::clone(&logs));
            logs
        })
    }

    /// Returns the scenario of the stand-in on a device.
    pub fn scenario(&self, device: &Value) -> Scenario {
        let scenario = scenarios::resolved(&json!({"workload": self.name, "system": {"device": device}}));
        assert_eq!(scenario.workload.stand_in(), Some(self.name.as_str()));
        scenario
    }

    /// Returns the number of blocks of the device of the file.
    pub fn capacity_blocks(&self) -> u64 {
        capacity_blocks(&self.scenario(&self.device()))
    }

    /// Returns the mean response over seeds on the device of the file, ms.
    pub fn mean_response_over_seeds_ms(&self, seeds: RangeInclusive<u64>) -> f64 {
        let of_seed = |seed| mean_response_ms(&served(&Scenario { seed, ..self.scenario(&self.device()) }));
        let responses_ms: Vec<f64> = seeds.map(of_seed).collect();
        responses_ms.iter().sum::<f64>() / responses_ms.len() as f64
    }

    /// Returns the mean response without the last stream on the device of the file, ms.
    pub fn response_without_last_ms(&self) -> f64 {
        let mut scenario = self.scenario(&self.device());
        let all = requests_of(&scenario);
        let WorkloadSpec::Mix(mix) = &mut scenario.workload else { panic!("{} has no streams", self.name) };
        let last = mix.streams.len() - 1;
        mix.streams.truncate(last);
        let share = self.share_of_last();
        scenario.run.requests = Some((all as f64 * (1.0 - share)) as u64);
        mean_response_ms(&served(&scenario))
    }

    /// Returns the mean response of the last stream alone on the first `part` of a device, ms.
    pub fn response_of_last_ms(&self, device: &str, part: f64) -> f64 {
        let mut scenario = self.scenario(&json!(device));
        let all = requests_of(&scenario);
        let WorkloadSpec::Mix(mix) = &mut scenario.workload else { panic!("{} has no streams", self.name) };
        mix.streams.drain(..mix.streams.len() - 1);
        mix.streams[0].range = RangeSpec { start_fraction: 0.0, end_fraction: part };
        scenario.run.requests = Some((all as f64 * self.share_of_last()) as u64);
        mean_response_ms(&served(&scenario))
    }

    /// Returns the share of requests of the last stream.
    pub fn share_of_last(&self) -> f64 {
        let logs = self.logs(&self.device());
        let last = logs.iter().flatten().map(|served| served.request.origin).max().expect("requests");
        let count = logs.iter().flatten().filter(|served| served.request.origin == last).count();
        count as f64 / logs.iter().map(Vec::len).sum::<usize>() as f64
    }
}

fn capacity_blocks(scenario: &Scenario) -> u64 {
    let device = &scenario.system.drive().expect("a drive alone").device;
    scenario::device(device).expect("a device").dimensions().capacity_blocks
}

fn requests_of(scenario: &Scenario) -> u64 {
    scenario.run.requests.expect("a stand-in has a number of requests")
}

/// Returns the mean time from arrival to completion, ms.
pub fn mean_response_ms(log: &Log) -> f64 {
    log.iter().map(Served::response_ms).sum::<f64>() / log.len() as f64
}

/// Returns the requests served by the device of a scenario.
fn served(scenario: &Scenario) -> Log {
    let output = scenario::run(scenario, Vec::new(), true, &mut |_| true).expect("the stand-in fits the device");
    assert_eq!(output.report.stand_in.as_deref(), scenario.workload.stand_in());
    let entries = &output.recorder.log().expect("a log was asked for").entries;
    let mut log: Log = entries
        .iter()
        .map(|(request, service)| Served {
            request: *request,
            end: service.end,
            positioning_ns: service.phases.seek_ns + service.phases.rotation_ns + service.phases.turnaround_ns,
        })
        .collect();
    log.sort_by_key(|served| served.request.id);
    log
}

/// Returns the requests served by each of `disks` disks like that of `scenario`, which divide the address space
/// equally.
fn served_by_each(name: &str, scenario: &Scenario, disks: u64) -> Vec<Log> {
    let WorkloadSpec::Mix(spec) = &scenario.workload else { panic!("{name} has no streams") };
    let capacity = capacity_blocks(scenario);
    let mut mix = Mix::new(spec, scenario.seed, disks * capacity, 512).expect("the stand-in fits the disks");
    assert!(mix.is_open(), "{name}: what is replayed disk by disk can't wait for completions");
    let mut parts: Vec<Vec<Request>> = vec![Vec::new(); disks as usize];
    for _ in 0..requests_of(scenario) {
        let request = mix.take();
        // A request across the end of a disk is truncated.
        let lbn = (request.lbn % capacity).min(capacity - u64::from(request.blocks));
        parts[(request.lbn / capacity) as usize].push(Request { lbn, ..request });
    }
    let folder = std::env::temp_dir().join(format!("sledsim-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let replayed = |(disk, requests): (usize, Vec<Request>)| {
        let path = folder.join(format!("{disk}.trace"));
        std::fs::write(&path, disksim_text(&requests)).expect("a file");
        let workload = json!({"path": path, "format": "disksim-ascii", "mode": "open", "rebase": false});
        let document = json!({"workload": workload, "system": scenario.system});
        let log = served(&scenarios::resolved(&document));
        assert_eq!(log.len(), requests.len());
        // Restores the fields that the format does not have.
        requests.into_iter().zip(log).map(|(request, served)| Served { request, ..served }).collect()
    };
    let logs = parts.into_iter().enumerate().map(replayed).collect();
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    logs
}

/// Returns requests in DiskSim's text format: time in ms, device, block, blocks, 1 for a read.
fn disksim_text(requests: &[Request]) -> String {
    requests.iter().fold(String::new(), |mut text, request| {
        let ns = request.arrival.ns();
        let read = u8::from(request.op == Op::Read);
        let (ms, rest) = (ns / 1_000_000, ns % 1_000_000);
        writeln!(text, "{ms}.{rest:06} 0 {} {} {read}", request.lbn, request.blocks).expect("a text takes it");
        text
    })
}
