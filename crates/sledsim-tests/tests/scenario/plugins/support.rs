//! A plugin for each role, and their loader.

use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{json, Map, Value};
use sledsim::engine::Stop;
use sledsim::fault::{Fault, Faults, Kind};
use sledsim::plugin::{
    Copies, CustomMechanism, CustomMirror, CustomReplacement, CustomScheduler, CustomSpinDown, Factory, Loaded,
    Pending, PluginLoader, PluginSpec, Role,
};
use sledsim::power::Mode;
use sledsim::request::Request;
use sledsim::scenario::{self, Catalog, Keep, Notation, Resolved, RunError, RunOutput, Scenario};
use sledsim::time::Time;
use sledsim_testing::scenarios::{catalog, poisson};

/// The parameters of all plugins: the number of decisions before a failure, and whether that is an interruption.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Fuse {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decisions: Option<u64>,
    #[serde(default)]
    interrupts: bool,
}

impl Fuse {
    /// Counts a decision.
    fn decide(&mut self) -> Result<(), Stop> {
        match &mut self.decisions {
            Some(0) if self.interrupts => Err(Stop::Interrupted),
            Some(0) => Err(Stop::from_plugin("no more".into())),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// The first request.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct First {
    #[serde(flatten)]
    fuse: Fuse,
}

impl CustomScheduler for First {
    fn name(&self) -> &str {
        "first"
    }

    fn pick(&mut self, _now: Time, _pending: &mut Pending) -> Result<usize, Stop> {
        self.fuse.decide()?;
        Ok(0)
    }
}

impl Factory for First {
    fn scheduler(&self) -> Result<Box<dyn CustomScheduler>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

/// FIFO; returns `slot` after its decisions, if given.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Fifo {
    #[serde(flatten)]
    fuse: Fuse,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slot: Option<u32>,
    #[serde(skip)]
    queue: Vec<u32>,
}

impl CustomReplacement for Fifo {
    fn name(&self) -> &str {
        "fifo"
    }

    fn victim(&mut self, _key: u64, after: Option<u32>) -> Result<u32, Stop> {
        if let Err(stop) = self.fuse.decide() {
            return self.slot.ok_or(stop);
        }
        let place =
            after.map_or(0, |after| self.queue.iter().position(|&slot| slot == after).expect("it is in use") + 1);
        Ok(self.queue[place])
    }

    fn admitted(&mut self, slot: u32, _key: u64, _evicted: Option<u64>) -> Result<(), Stop> {
        self.queue.retain(|&other| other != slot);
        self.queue.push(slot);
        Ok(())
    }

    fn hit(&mut self, slot: u32, _key: u64) -> Result<(), Stop> {
        assert!(self.queue.contains(&slot), "the slot is in use");
        Ok(())
    }
}

impl Factory for Fifo {
    fn replacement(&self, _slots: u32) -> Result<Box<dyn CustomReplacement>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

/// The first copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Reads {
    #[serde(flatten)]
    fuse: Fuse,
}

impl CustomMirror for Reads {
    fn name(&self) -> &str {
        "reads"
    }

    fn pick(&mut self, _now: Time, _request: &Request, _copies: &mut Copies) -> Result<usize, Stop> {
        self.fuse.decide()?;
        Ok(0)
    }
}

impl Factory for Reads {
    fn mirror(&self) -> Result<Box<dyn CustomMirror>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

/// No idle mode.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Never {
    #[serde(flatten)]
    fuse: Fuse,
}

impl CustomSpinDown for Never {
    fn name(&self) -> &str {
        "never"
    }

    fn after_ns(&mut self, _now: Time, _mode: usize, _modes: &[Mode]) -> Result<Option<u64>, Stop> {
        Ok(None)
    }

    fn served(&mut self, _now: Time, _request: &Request) -> Result<(), Stop> {
        self.fuse.decide()
    }
}

impl Factory for Never {
    fn spin_down(&self) -> Result<Box<dyn CustomSpinDown>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

/// The device `simpledisk-linear`, with a transfer time per block.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Linear {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decisions: Option<u64>,
    #[serde(default)]
    interrupts: bool,
    #[serde(default = "capacity_blocks")]
    capacity_blocks: u64,
    #[serde(default = "block_bytes")]
    block_bytes: u32,
    #[serde(default)]
    transfer_ns: u64,
    #[serde(default)]
    fails_in_positioning: bool,
    #[serde(skip)]
    served: u64,
    #[serde(skip)]
    next_lbn: u64,
}

const fn capacity_blocks() -> u64 {
    6_750_000
}

const fn block_bytes() -> u32 {
    512
}

impl Linear {
    fn check(&self, in_positioning: bool) -> Result<(), Stop> {
        let fails =
            in_positioning == self.fails_in_positioning && self.decisions.is_some_and(|most| self.served >= most);
        Fuse { decisions: fails.then_some(0), interrupts: self.interrupts }.decide()
    }
}

impl CustomMechanism for Linear {
    fn name(&self) -> &str {
        "linear"
    }

    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn positioning_ns(&mut self, _now: Time, lbn: u64, _read: bool) -> Result<u64, Stop> {
        self.check(true)?;
        let ns_per_block = (2.0 - 0.1) * 1e6 / self.capacity_blocks as f64;
        Ok(100_000 + (ns_per_block * lbn.abs_diff(self.next_lbn) as f64 + 0.5) as u64)
    }

    fn serve(&mut self, _now: Time, request: &Request) -> Result<u64, Stop> {
        self.check(false)?;
        self.served += 1;
        self.next_lbn = request.end_lbn();
        Ok(self.transfer_ns * u64::from(request.blocks))
    }
}

impl Factory for Linear {
    fn mechanism(&self) -> Result<Box<dyn CustomMechanism>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

/// Loads the plugin of a role that `python = "test:Plugin"` names.
#[derive(Debug)]
pub struct TestLoader;

impl PluginLoader for TestLoader {
    fn load(&self, role: Role, spec: &PluginSpec, _base: &Path) -> Result<Loaded, Faults> {
        if spec.python.as_deref() != Some("test:Plugin") {
            return Err(Fault::unknown_name("python", spec.title(), ["test:Plugin"]).into());
        }
        if let Some(wrong) = spec.parameters.get("decisions").filter(|value| !value.is_u64()) {
            return Err(Fault::wrong_type("decisions", wrong.clone(), "a number").into());
        }
        match role {
            Role::Scheduler => loaded::<First>(spec),
            Role::Replacement => loaded::<Fifo>(spec),
            Role::Mirror => loaded::<Reads>(spec),
            Role::SpinDown => loaded::<Never>(spec),
            Role::Mechanism => loaded::<Linear>(spec),
        }
    }

    fn device_from_drawing(&self, drawing: &Value, _base: &Path) -> Result<Map<String, Value>, Faults> {
        match drawing.get("width").map(Value::as_f64) {
            None => Err(Fault::missing("width").into()),
            Some(None) => Err(Fault::wrong_type("width", drawing["width"].clone(), "a number").into()),
            Some(Some(nm)) => Ok(Map::from_iter([("name".into(), "g2".into()), ("bit_nm".into(), nm.into())])),
        }
    }
}

fn loaded<P: Factory + Serialize + DeserializeOwned + 'static>(spec: &PluginSpec) -> Result<Loaded, Faults> {
    let plugin: P = serde_json::from_value(spec.parameters.clone().into())?;
    let Value::Object(parameters) = serde_json::to_value(&plugin)? else { panic!("parameters are a table") };
    Ok(Loaded { folder: None, source: Some("abc".into()), parameters, factory: Arc::new(plugin) })
}

/// The catalogue, with [`TestLoader`].
pub fn with_loader() -> Catalog {
    catalog().with_loader(Arc::new(TestLoader))
}

/// Returns a plugin with its parameters, as a scenario gives it.
pub fn plugin(parameters: Value) -> Value {
    let mut spec = parameters;
    spec["python"] = "test:Plugin".into();
    spec
}

/// A system, and the load and limits of its runs.
#[derive(Clone)]
pub struct Case {
    pub system: Value,
    pub rate_per_s: f64,
    pub read_fraction: f64,
    pub limits: Value,
}

impl Case {
    /// Returns a small system with a plugin or built-in policy of a role.
    pub fn of(role: Role, policy: Value) -> Self {
        let mut system = match role {
            Role::Scheduler => json!({"device": "g2"}),
            Role::Replacement => json!({"kind": "ram-cache", "bytes": 65536, "child": {"device": "g2"}}),
            Role::Mirror => json!({"kind": "mirror", "members": ["g2", "g2"]}),
            Role::SpinDown => json!({"device": "g2", "scheduler": "sptf"}),
            Role::Mechanism => json!({"scheduler": "sptf"}),
        };
        system[role.key()] = policy;
        let rate_per_s = if role == Role::SpinDown { 100.0 } else { 900.0 };
        Self { system, rate_per_s, read_fraction: 0.67, limits: json!({"requests": 500}) }
    }

    fn document(&self) -> String {
        let mut workload = poisson(self.rate_per_s);
        workload["read_fraction"] = self.read_fraction.into();
        json!({"workload": workload, "system": self.system, "run": self.limits}).to_string()
    }

    pub fn resolve(&self, catalog: &Catalog, settings: &[&str]) -> Result<Scenario, Faults> {
        let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
        scenario::resolve(&self.document(), Notation::Json, "test", &settings, catalog, Path::new("."))
            .map(Resolved::into_scenario)
    }

    pub fn run(&self) -> Result<RunOutput, RunError> {
        let scenario = self.resolve(&with_loader(), &[]).unwrap_or_else(|faults| panic!("{}: {faults}", self.system));
        scenario::run_keeping(&scenario, Vec::new(), &Keep { log: true, check: true, ..Keep::default() }, &mut |_| true)
    }

    /// Runs it until the plugin fails, and returns the fault.
    pub fn failure(&self) -> Fault {
        let Err(RunError::Policy(stopped)) = self.run() else { panic!("{} does not fail", self.system) };
        assert_eq!(stopped.so_far.expect("there are results").report.run.end, "failed");
        assert_eq!(stopped.fault.kind, Kind::Policy);
        assert!(stopped.fault.policy_error.as_ref().is_some_and(|raised| raised.at_ns > 0), "{}", stopped.fault);
        stopped.fault
    }
}
