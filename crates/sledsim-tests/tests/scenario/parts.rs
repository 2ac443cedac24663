//! Parts that a crate in Rust adds to the lists: known by their names, checked by their parameters.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use sledsim::engine::Stop;
use sledsim::fault::{Fault, Faults, Kind};
use sledsim::own::{Door, Maker, OwnScheduler, Pending, Role};
use sledsim::scenario::{self, Keep, Notation, Parameters, Part, Parts, Resolved, Scenario};
use sledsim::time::Time;
use sledsim_testing::scenarios::{catalog, poisson};

/// Takes the request of a row, or the last.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Row {
    /// Which one.
    #[serde(default)]
    #[schemars(range(max = 100))]
    row: usize,
}

impl OwnScheduler for Row {
    fn name(&self) -> &str {
        "row"
    }

    fn pick(&mut self, _now: Time, pending: &mut Pending) -> Result<usize, Stop> {
        Ok(self.row.min(pending.len() - 1))
    }
}

impl Maker for Row {
    fn scheduler(&self) -> Result<Box<dyn OwnScheduler>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

const fn part(role: Role, name: &'static str) -> Part {
    let (title, description, source, text) = ("Row", "The request of a row.", "nobody", "");
    Part { role, name, title, description, source, text, parameters: Parameters::of::<Row>() }
}

const PARTS: Parts = Parts(&[part(Role::Scheduler, "row"), part(Role::Replacement, "row")]);

fn resolve(scheduler: &Value, parts: Option<Parts>, settings: &[&str]) -> Result<Scenario, Faults> {
    let catalog = parts.into_iter().fold(catalog(), |catalog, parts| catalog.with_door(Arc::new(parts)));
    let system = json!({"device": "g2", "scheduler": scheduler});
    let document = json!({"workload": poisson(900.0), "system": system, "run": {"requests": 300}});
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    scenario::resolve(&document.to_string(), Notation::Json, "test", &settings, &catalog, Path::new("."))
        .map(Resolved::into_scenario)
}

#[test]
fn a_scenario_names_a_part_as_it_names_a_listed_policy() {
    let log = |scheduler: &Value| {
        let scenario = resolve(scheduler, Some(PARTS), &[]).expect("valid");
        let keep = Keep { log: true, check: true, ..Keep::default() };
        scenario::run_keeping(&scenario, Vec::new(), &keep, &mut |_| true).expect("it runs").recorder
    };
    let (part, listed) = (log(&json!("row")), log(&json!("fcfs")));
    assert_eq!(format!("{:?}", part.log()), format!("{:?}", listed.log()));
    let whole = resolve(&json!({"rust": "row", "row": 3}), Some(PARTS), &[]).expect("valid");
    assert_eq!(whole.system.scheduler(), "row");
    for (written, settings) in [
        (json!({"name": "row", "row": 3}), vec![]),
        (json!("row"), vec!["scheduler.row=3"]),
        (json!("sptf"), vec!["scheduler=row", "scheduler.row=3"]),
        (json!("sptf"), vec!["scheduler.rust=row", "scheduler.row=3"]),
        (json!({"name": "own", "rust": "row", "parameters": {"row": 3}}), vec![]),
    ] {
        assert_eq!(resolve(&written, Some(PARTS), &settings), Ok(whole.clone()), "{written} {settings:?}");
    }
}

#[test]
fn what_is_wrong_is_told_by_its_path() {
    for (scheduler, kind, path) in [
        (json!({"name": "row", "row": 101}), Kind::OutOfRange, "system.scheduler.row"),
        (json!({"name": "row", "row": 0.5}), Kind::WrongType, "system.scheduler.row"),
        (json!({"name": "row", "rows": 1}), Kind::UnknownKey, "system.scheduler.rows"),
        (json!({"name": "row", "python": "mine:Row"}), Kind::Conflict, "system.scheduler.python"),
        (json!({"rust": "rows"}), Kind::UnknownName, "system.scheduler.rust"),
        (json!({"name": "row", "parameters": 3}), Kind::WrongType, "system.scheduler.parameters"),
    ] {
        let faults = resolve(&scheduler, Some(PARTS), &[]).expect_err(&scheduler.to_string());
        assert_eq!((faults[0].kind, faults[0].path.to_string().as_str()), (kind, path), "{faults}");
    }
    let faults = resolve(&json!({"rust": "row"}), Some(Parts::default()), &[]).expect_err("there are none");
    assert!(faults.to_string().contains("no crate in Rust brings parts in"), "{faults}");
    let faults = resolve(&json!("row"), None, &[]).expect_err("nobody brings it in");
    assert_eq!(faults[0].kind, Kind::UnknownName);
}

#[test]
fn a_name_means_one_thing_in_each_role() {
    assert_eq!(PARTS.check(), Ok(()));
    assert_eq!(PARTS.names(Role::Scheduler), ["row"]);
    assert_eq!(PARTS.find(Role::Replacement, "row").map(|part| part.title), Some("Row"));
    const TWICE: Parts = Parts(&[part(Role::Scheduler, "row"), part(Role::Scheduler, "row")]);
    const LISTED: Parts = Parts(&[part(Role::Scheduler, "lru"), part(Role::Replacement, "lru")]);
    const OWN: Parts = Parts(&[part(Role::Scheduler, "own")]);
    for (parts, role) in [(TWICE, "scheduler"), (LISTED, "replacement policy"), (OWN, "scheduler")] {
        let faults = parts.check().expect_err("it is taken");
        assert_eq!((faults.len(), faults[0].kind), (1, Kind::Conflict));
        assert!(faults.to_string().contains(&format!("there is another {role} of this name")), "{faults}");
    }
}
