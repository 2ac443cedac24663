//! Plugins in Rust: named like built-in policies, with parameters that are checked.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use sledsim::engine::Stop;
use sledsim::fault::{Fault, Faults, Kind};
use sledsim::plugin::{CustomScheduler, Factory, Parameters, Pending, PluginLoader, Role, RustPlugin, RustPlugins};
use sledsim::scenario::{self, Keep, Notation, Resolved, Scenario};
use sledsim::time::Time;
use sledsim_testing::scenarios::{catalog, poisson};

/// Picks the request in a given row of the queue, or the last one.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Row {
    /// The row.
    #[serde(default)]
    #[schemars(range(max = 100))]
    row: usize,
}

impl CustomScheduler for Row {
    fn name(&self) -> &str {
        "row"
    }

    fn pick(&mut self, _now: Time, pending: &mut Pending) -> Result<usize, Stop> {
        Ok(self.row.min(pending.len() - 1))
    }
}

impl Factory for Row {
    fn scheduler(&self) -> Result<Box<dyn CustomScheduler>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

const fn plugin(role: Role, name: &'static str) -> RustPlugin {
    let (title, description, source, text) = ("Row", "The request of a row.", "this test", "");
    RustPlugin { role, name, title, description, source, text, parameters: Parameters::of::<Row>() }
}

const PLUGINS: RustPlugins = RustPlugins(&[plugin(Role::Scheduler, "row"), plugin(Role::Replacement, "row")]);

fn resolve(scheduler: &Value, plugins: Option<RustPlugins>, settings: &[&str]) -> Result<Scenario, Faults> {
    let catalog = plugins.into_iter().fold(catalog(), |catalog, plugins| catalog.with_loader(Arc::new(plugins)));
    let system = json!({"device": "g2", "scheduler": scheduler});
    let document = json!({"workload": poisson(900.0), "system": system, "run": {"requests": 300}});
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    scenario::resolve(&document.to_string(), Notation::Json, "test", &settings, &catalog, Path::new("."))
        .map(Resolved::into_scenario)
}

#[test]
fn a_plugin_is_named_like_a_built_in_policy() {
    let log = |scheduler: &Value| {
        let scenario = resolve(scheduler, Some(PLUGINS), &[]).expect("valid");
        let keep = Keep { log: true, check: true, ..Keep::default() };
        scenario::run_keeping(&scenario, Vec::new(), &keep, &mut |_| true).expect("it runs").recorder
    };
    let (found, expected) = (log(&json!("row")), log(&json!("fcfs")));
    assert_eq!(format!("{:?}", found.log()), format!("{:?}", expected.log()));
    let whole = resolve(&json!({"rust": "row", "row": 3}), Some(PLUGINS), &[]).expect("valid");
    assert_eq!(whole.system.scheduler(), "row");
    for (written, settings) in [
        (json!({"name": "row", "row": 3}), vec![]),
        (json!("row"), vec!["scheduler.row=3"]),
        (json!("sptf"), vec!["scheduler=row", "scheduler.row=3"]),
        (json!("sptf"), vec!["scheduler.rust=row", "scheduler.row=3"]),
        (json!({"name": "custom", "rust": "row", "parameters": {"row": 3}}), vec![]),
    ] {
        assert_eq!(resolve(&written, Some(PLUGINS), &settings), Ok(whole.clone()), "{written} {settings:?}");
    }
}

#[test]
fn faults_have_the_paths_of_the_parameters() {
    for (scheduler, kind, path) in [
        (json!({"name": "row", "row": 101}), Kind::OutOfRange, "system.scheduler.row"),
        (json!({"name": "row", "row": 0.5}), Kind::WrongType, "system.scheduler.row"),
        (json!({"name": "row", "rows": 1}), Kind::UnknownKey, "system.scheduler.rows"),
        (json!({"name": "row", "python": "mine:Row"}), Kind::Conflict, "system.scheduler.python"),
        (json!({"rust": "rows"}), Kind::UnknownName, "system.scheduler.rust"),
        (json!({"name": "row", "parameters": 3}), Kind::WrongType, "system.scheduler.parameters"),
    ] {
        let faults = resolve(&scheduler, Some(PLUGINS), &[]).expect_err(&scheduler.to_string());
        assert_eq!((faults[0].kind, faults[0].location.path.to_string().as_str()), (kind, path), "{faults}");
    }
    let faults = resolve(&json!({"rust": "row"}), Some(RustPlugins::default()), &[]).expect_err("there are none");
    assert!(faults.to_string().contains("no crate with plugins is installed"), "{faults}");
    let faults = resolve(&json!("row"), None, &[]).expect_err("there is no loader");
    assert_eq!(faults[0].kind, Kind::UnknownName);
}

#[test]
fn names_are_unique_in_each_role() {
    assert_eq!(PLUGINS.check(), Ok(()));
    assert_eq!(PLUGINS.names(Role::Scheduler), ["row"]);
    assert_eq!(PLUGINS.find(Role::Replacement, "row").map(|plugin| plugin.title), Some("Row"));
    const TWICE: RustPlugins = RustPlugins(&[plugin(Role::Scheduler, "row"), plugin(Role::Scheduler, "row")]);
    const BUILT_IN: RustPlugins = RustPlugins(&[plugin(Role::Scheduler, "lru"), plugin(Role::Replacement, "lru")]);
    const CUSTOM: RustPlugins = RustPlugins(&[plugin(Role::Scheduler, "custom")]);
    for (plugins, role) in [(TWICE, "scheduler"), (BUILT_IN, "replacement policy"), (CUSTOM, "scheduler")] {
        let faults = plugins.check().expect_err("it is taken");
        assert_eq!((faults.len(), faults[0].kind), (1, Kind::Conflict));
        assert!(faults.to_string().contains(&format!("there is another {role} of this name")), "{faults}");
    }
}
