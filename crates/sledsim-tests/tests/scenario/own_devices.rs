//! Devices whose mechanism is one's own: as good as a device of the simulator's, and a mechanism that fails ends the run.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use sledsim::engine::Stop;
use sledsim::fault::{Fault, Faults, Kind};
use sledsim::own::{Maker, OwnDevice, Role};
use sledsim::request::Request;
use sledsim::scenario::{self, Keep, Notation, Parameters, Part, Parts, Resolved, RunError, Scenario};
use sledsim::time::Time;
use sledsim_testing::scenarios::{catalog, poisson};

/// Positioning is linear in the distance from the block after the last one served; transfer takes so long for each block.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Line {
    capacity_blocks: u64,
    block_bytes: u32,
    transfer_ns: u64,
    /// Fails, or asks to stop, once it has served so many requests: in positioning or in serving.
    fails_after: Option<u64>,
    fails_in_positioning: bool,
    is_interrupted: bool,
    served: u64,
    next_lbn: u64,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            capacity_blocks: 6_750_000,
            block_bytes: 512,
            transfer_ns: 0,
            fails_after: None,
            fails_in_positioning: false,
            is_interrupted: false,
            served: 0,
            next_lbn: 0,
        }
    }
}

impl Line {
    fn fails(&self, in_positioning: bool) -> Result<(), Stop> {
        if in_positioning != self.fails_in_positioning || self.fails_after.is_none_or(|after| self.served < after) {
            return Ok(());
        }
        Err(if self.is_interrupted { Stop::Interrupted } else { Stop::of_policy("no more".into()) })
    }
}

impl OwnDevice for Line {
    fn name(&self) -> &str {
        "line"
    }

    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn positioning_ns(&mut self, _now: Time, lbn: u64, _read: bool) -> Result<u64, Stop> {
        self.fails(true)?;
        let ns_per_block = (2.0 - 0.1) * 1e6 / self.capacity_blocks as f64;
        Ok(100_000 + (ns_per_block * lbn.abs_diff(self.next_lbn) as f64 + 0.5) as u64)
    }

    fn serve(&mut self, _now: Time, request: &Request) -> Result<u64, Stop> {
        self.fails(false)?;
        self.served += 1;
        self.next_lbn = request.end_lbn();
        Ok(self.transfer_ns * u64::from(request.blocks))
    }
}

impl Maker for Line {
    fn device(&self) -> Result<Box<dyn OwnDevice>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

const LINE: Part = Part {
    role: Role::Device,
    name: "line",
    title: "Line",
    description: "A line.",
    source: "nobody",
    text: "",
    parameters: Parameters::of::<Line>(),
};

fn resolve(system: &Value, settings: &[&str]) -> Result<Scenario, Faults> {
    let document = json!({"workload": poisson(400.0), "system": system, "run": {"requests": 300}});
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    let catalog = catalog().with_door(Arc::new(Parts(&[LINE])));
    scenario::resolve(&document.to_string(), Notation::Json, "test", &settings, &catalog, Path::new("."))
        .map(Resolved::into_scenario)
}

fn run(system: &Value) -> Result<scenario::RunOutput, RunError> {
    let scenario = resolve(system, &[]).unwrap_or_else(|faults| panic!("{system}: {faults}"));
    scenario::run_keeping(&scenario, Vec::new(), &Keep { log: true, check: true, ..Keep::default() }, &mut |_| true)
}

#[test]
fn a_mechanism_of_ones_own_gives_the_log_of_the_device_that_it_is_written_after() {
    let power = json!({"active_read_w": 3.0, "active_write_w": 3.5, "seek_w": 2.0, "idle_modes": [
        {"name": "ready", "power_w": 1.0},
        {"name": "off", "power_w": 0.1, "after_s": 0.001, "wake_ms": 2.5, "wake_w": 4.0},
    ]});
    for scheduler in ["fcfs", "clook", "sptf", "asptf", "sdf", "zsptf"] {
        for (keys, power) in [(json!({}), Value::Null), (json!({"spin_down": "immediate"}), power.clone())] {
            let found = |device: &str| {
                let mut system = keys.clone();
                system["scheduler"] = scheduler.into();
                system["device"] = json!({"name": device, "power": power});
                let output = run(&system).expect("it runs");
                let energy = serde_json::to_value(&output.report.energy).expect("plain")["total_j"].take();
                (format!("{:?}", output.recorder.log()), energy)
            };
            assert_eq!(found("line"), found("simpledisk-linear"), "{scheduler} {keys}");
        }
    }
}

#[test]
fn transfer_comes_after_positioning() {
    let output = run(&json!({"device": {"name": "line", "transfer_ns": 3000}})).expect("it runs");
    for (request, service) in &output.recorder.log().expect("it was asked for").entries {
        assert_eq!(service.phases.transfer_ns, 3000 * u64::from(request.blocks));
        assert!(service.phases.seek_ns >= 100_000);
        assert_eq!(service.phases.seek_ns + service.phases.transfer_ns, service.end - service.start);
    }
}

#[test]
fn what_is_written_and_what_is_set_comes_to_the_same() {
    let whole = resolve(&json!({"device": {"rust": "line", "transfer_ns": 7}}), &[]).expect("valid");
    for (device, settings) in [
        (json!("line"), vec!["device.transfer_ns=7"]),
        (json!({"name": "line", "transfer_ns": 3}), vec!["device.transfer_ns=7"]),
        (json!("g2"), vec!["device=line", "device.transfer_ns=7"]),
        (json!("g2"), vec!["device.rust=line", "device.transfer_ns=7"]),
        (json!({"drawing": "g2"}), vec!["device.rust=line", "device.transfer_ns=7"]),
        (serde_json::to_value(&whole).expect("plain")["system"]["device"].take(), vec![]),
    ] {
        assert_eq!(resolve(&json!({"device": device}), &settings), Ok(whole.clone()), "{device} {settings:?}");
    }
    let listed = resolve(&json!({"device": "line"}), &["device.name=g2"]).expect("valid");
    assert_eq!(listed, resolve(&json!({"device": "g2"}), &[]).expect("valid"));
    let named = resolve(&json!({"device": {"rust": "line", "name": "mine"}}), &[]).expect("valid");
    assert_eq!(named.system.title(), "mine");
}

#[test]
fn what_is_wrong_is_told_by_its_path() {
    for (device, kind, path) in [
        (json!({"name": "line", "transfer_ms": 1}), Kind::UnknownKey, "system.device.transfer_ms"),
        (json!({"name": "line", "transfer_ns": "long"}), Kind::WrongType, "system.device.transfer_ns"),
        (json!({"name": "line", "capacity_blocks": 0}), Kind::Policy, "system.device.rust"),
        (json!({"name": "line", "capacity_blocks": 2_000_000_000_000_000_u64}), Kind::Policy, "system.device.rust"),
        (json!({"name": "line", "block_bytes": 1_048_577}), Kind::Policy, "system.device.rust"),
        (json!({"rust": "lines"}), Kind::UnknownName, "system.device.rust"),
        (json!({"mechanism": "own", "name": "mine"}), Kind::UnknownName, "system.device.rust"),
        (json!({"mechanism": "own"}), Kind::Missing, "system.device.name"),
        (json!({"name": "line", "power": {"seek_w": 1}}), Kind::Missing, "system.device.power.active_read_w"),
    ] {
        let faults = resolve(&json!({"device": device}), &[]).expect_err(&device.to_string());
        assert_eq!((faults[0].kind, faults[0].path.to_string().as_str()), (kind, path), "{faults}");
    }
    // Where something else is wrong nobody has looked for it, and nothing is said of that.
    let faults = resolve(&json!({"device": "line", "batch_max": 0}), &[]).expect_err("no batches of none");
    assert_eq!(faults.len(), 1, "{faults}");
}

#[test]
fn a_mechanism_that_fails_ends_the_run_with_what_was_found() {
    let failing = [
        (json!({"fails_after": 50}), "fcfs", "no more"),
        (json!({"fails_after": 50}), "sptf", "no more"),
        (json!({"fails_after": 50, "fails_in_positioning": true}), "fcfs", "no more"),
        (json!({"fails_after": 50, "fails_in_positioning": true}), "sptf", "no more"),
        (json!({"transfer_ns": 1_000_000_000_001_u64}), "fcfs", "expected at most 1000000000000"),
    ];
    for (mut device, scheduler, says) in failing {
        device["name"] = "line".into();
        let system = json!({"device": device, "scheduler": scheduler});
        let Err(RunError::Policy(stopped)) = run(&system) else { panic!("{system}: it fails") };
        let fault = &stopped.fault;
        assert_eq!((fault.kind, fault.path.to_string().as_str()), (Kind::Policy, "system.device"), "{fault}");
        assert!(fault.to_string().contains(says), "{fault}");
        let raised = fault.raised.clone().expect("it says when");
        // Schedulers, and whoever watches, ask for positioning times of places.
        assert!(raised.request.is_some() || device["fails_in_positioning"] == true, "{fault}");
        assert!(raised.at_ns > 0 && fault.to_string().contains(" LBN "), "{fault}");
        let found = stopped.so_far.as_ref().expect("there is something");
        assert_eq!(found.report.run.end, "failed");
        assert_eq!(found.report.requests.completed, device["fails_after"].as_u64().unwrap_or(0));
    }
}

#[test]
fn a_mechanism_may_be_interrupted() {
    let found = run(&json!({"device": {"name": "line", "fails_after": 50, "is_interrupted": true}})).expect("no fault");
    assert_eq!((found.report.run.end.as_str(), found.report.requests.completed), ("interrupted", 50));
}

#[test]
fn a_fault_names_the_drive_within_a_hierarchy() {
    let member = json!({"device": {"name": "line", "fails_after": 5}, "scheduler": "sptf"});
    let system = json!({"kind": "stripe", "unit_bytes": 65536, "members": ["simpledisk-linear", member]});
    let Err(RunError::Policy(stopped)) = run(&system) else { panic!("it fails") };
    assert_eq!(stopped.fault.path.to_string(), "system.members[1].device");
}
