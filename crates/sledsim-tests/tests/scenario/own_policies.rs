//! Policies of one's own, brought in by a program in Rust: the simulator's side of the door, without Python.

use std::path::Path;
use std::sync::Arc;

use serde_json::{json, Map, Value};
use sledsim::engine::Stop;
use sledsim::fault::{Fault, Faults, Kind};
use sledsim::own::{Door, Maker, Opened, OwnReplacement, OwnScheduler, OwnSpec, Pending, Role};
use sledsim::request::Request;
use sledsim::scenario::{self, Catalog, Keep, Notation, Resolved, RunError};

use sledsim::time::Time;
use sledsim_testing::scenarios::{catalog, poisson};

/// Takes the least positioning time; fails, or asks to stop, after so many picks.
#[derive(Clone, Debug)]
struct Least {
    picks_left: u64,
    then: Stop,
    there: u64,
}

impl OwnScheduler for Least {
    fn name(&self) -> &str {
        "least"
    }

    fn pick(&mut self, _now: Time, pending: &mut Pending) -> Result<usize, Stop> {
        let under_way = self.there - pending.len() as u64;
        assert!(under_way <= 1, "it hears of every arrival and completion: {under_way} are under way");
        if self.picks_left == 0 {
            return Err(self.then.clone());
        }
        self.picks_left -= 1;
        let least = pending.positioning_ns.iter().enumerate().min_by_key(|&(_, &ns)| ns);
        Ok(least.map_or(usize::MAX, |(row, _)| row))
    }

    fn arrived(&mut self, _ready: Time, _request: &Request) -> Result<(), Stop> {
        self.there += 1;
        Ok(())
    }

    fn completed(&mut self, _now: Time, _request: &Request) -> Result<(), Stop> {
        self.there -= 1;
        Ok(())
    }
}

impl Maker for Least {
    fn scheduler(&self) -> Result<Box<dyn OwnScheduler>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

/// Whoever came first leaves first, but an entry that it is to pass over; stops, or chooses nonsense, after so many choices.
#[derive(Clone, Debug)]
struct First {
    queue: Vec<u32>,
    choices_left: u64,
    then: Result<u32, Stop>,
}

impl OwnReplacement for First {
    fn name(&self) -> &str {
        "first"
    }

    fn victim(&mut self, _key: u64, after: Option<u32>) -> Result<u32, Stop> {
        if self.choices_left == 0 {
            return self.then.clone();
        }
        self.choices_left -= 1;
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
        assert!(self.queue.contains(&slot), "it is there");
        Ok(())
    }
}

impl Maker for First {
    fn replacement(&self, _slots: u32) -> Result<Box<dyn OwnReplacement>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

/// Knows one policy of each role, with a parameter.
#[derive(Debug)]
struct One;

impl Door for One {
    fn open(&self, role: Role, wanted: &OwnSpec, _base: &Path) -> Result<Opened, Faults> {
        if role == Role::Replacement {
            let parameters = wanted.parameters.clone();
            let choices_left = parameters.get("choices").and_then(Value::as_u64).unwrap_or(u64::MAX);
            let slot = parameters.get("slot").and_then(Value::as_u64).map(|slot| slot as u32);
            let then = slot.ok_or(Stop::Failed(Fault::new(Kind::Policy).says("no more")));
            let maker = Arc::new(First { queue: Vec::new(), choices_left, then });
            return Ok(Opened { folder: None, source: None, parameters, maker });
        }
        if wanted.python.as_deref() != Some("test:Least") {
            return Err(Fault::unknown_name("python", wanted.title(), ["test:Least"]).into());
        }
        let picks = wanted.parameters.get("picks").cloned().unwrap_or_else(|| u64::MAX.into());
        let Some(picks_left) = picks.as_u64() else { return Err(Fault::wrong_type("picks", picks, "a number").into()) };
        let then = match wanted.parameters.get("interrupts") {
            Some(Value::Bool(true)) => Stop::Interrupted,
            _ => Stop::Failed(Fault::new(Kind::Policy).says("no more")),
        };
        let parameters: Map<String, Value> =
            wanted.parameters.clone().into_iter().chain([("picks".into(), picks)]).collect();
        let maker = Arc::new(Least { picks_left, then, there: 0 });
        Ok(Opened { folder: None, source: Some("abc".into()), parameters, maker })
    }

    fn drawn(&self, drawing: &Value, _base: &Path) -> Result<Map<String, Value>, Faults> {
        match drawing.get("width").map(Value::as_f64) {
            None => Err(Fault::missing("width").into()),
            Some(None) => Err(Fault::wrong_type("width", drawing["width"].clone(), "a number").into()),
            Some(Some(nm)) => Ok(Map::from_iter([("name".into(), "g2".into()), ("bit_nm".into(), nm.into())])),
        }
    }
}

fn with_door() -> Catalog {
    catalog().with_door(Arc::new(One))
}

fn resolve(scheduler: &Value, catalog: &Catalog, settings: &[&str]) -> Result<scenario::Scenario, Faults> {
    let system = json!({"device": "g2", "scheduler": scheduler});
    let document = json!({"workload": poisson(900.0), "system": system, "run": {"requests": 500}});
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    scenario::resolve(&document.to_string(), Notation::Json, "test", &settings, catalog, Path::new("."))
        .map(Resolved::into_scenario)
}

fn run(scheduler: &Value) -> Result<scenario::RunOutput, RunError> {
    let scenario = resolve(scheduler, &with_door(), &[]).expect("valid");
    scenario::run_keeping(&scenario, Vec::new(), &Keep { log: true, check: true, ..Keep::default() }, &mut |_| true)
}

#[test]
fn a_policy_of_ones_own_takes_the_place_of_a_listed_one() {
    let (own, listed) = (run(&json!({"python": "test:Least"})).unwrap(), run(&json!("sptf")).unwrap());
    assert_eq!(own.recorder.log().map(|log| log.entries.len()), Some(500));
    assert_eq!(format!("{:?}", own.recorder.log()), format!("{:?}", listed.recorder.log()));
    assert_eq!(own.report.scheduler, "test:Least");
    assert_eq!(own.report.scenario["system"]["scheduler"]["source"], "abc");
}

#[test]
fn what_is_written_and_what_is_set_comes_to_the_same() {
    let whole = json!({"name": "own", "python": "test:Least", "parameters": {"picks": 7}});
    let expected = resolve(&whole, &with_door(), &[]).unwrap();
    for (written, settings) in [
        (json!({"python": "test:Least", "picks": 7}), vec![]),
        (json!("test:Least"), vec!["scheduler.picks=7"]),
        (json!("sptf"), vec!["scheduler.python=test:Least", "scheduler.picks=7"]),
        (json!("sptf"), vec!["scheduler={ python = \"test:Least\", picks = 7 }"]),
        (json!({"python": "test:Other"}), vec!["scheduler.python=test:Least", "scheduler.picks=7"]),
        (json!({"python": "test:Least", "picks": 3}), vec!["scheduler.picks=7"]),
        (serde_json::to_value(&expected).unwrap()["system"]["scheduler"].clone(), vec![]),
    ] {
        let found = resolve(&written, &with_door(), &settings).unwrap_or_else(|faults| panic!("{written}: {faults}"));
        assert_eq!(found, expected, "{written} {settings:?}");
    }
    let text = serde_json::to_string(&expected).unwrap();
    assert_eq!(Resolved::reread(&text, Vec::new(), Some(&One)).unwrap().into_scenario(), expected);
    assert!(Resolved::reread(&text, Vec::new(), None).is_err());
}

#[test]
fn what_is_wrong_is_told_by_its_path() {
    for (scheduler, path, says) in [
        (json!({"python": "test:Least", "picks": "many"}), "system.scheduler.picks", "a number"),
        (json!({"python": "test:Most"}), "system.scheduler.python", "test:Least"),
        (
            json!({"name": "own", "python": "test:Least", "source": "abd"}),
            "system.scheduler.source",
            "has changed since",
        ),
        (json!({"name": "sptf", "python": "test:Least"}), "system.scheduler.python", "unknown key"),
        (json!({"python": 5}), "system.scheduler.python", "a string"),
        (json!({"python": "test:Least", "parameters": 5}), "system.scheduler.parameters", "a table"),
    ] {
        let faults = resolve(&scheduler, &with_door(), &[]).expect_err(&scheduler.to_string());
        assert_eq!(faults[0].path.to_string(), path);
        assert!(faults.to_string().contains(says), "{faults}");
    }
    let faults = resolve(&json!("test:Least"), &catalog(), &[]).unwrap_err();
    assert_eq!((faults[0].kind, faults[0].path.to_string().as_str()), (Kind::Unsupported, "system.scheduler.name"));
}

#[test]
fn a_policy_that_fails_ends_the_run_with_what_was_found() {
    let Err(RunError::Policy(stopped)) = run(&json!({"python": "test:Least", "picks": 100})) else {
        panic!("it fails")
    };
    assert_eq!((stopped.fault.kind, stopped.fault.path.to_string().as_str()), (Kind::Policy, "system.scheduler"));
    let raised = stopped.fault.raised.clone().expect("it says when");
    assert!(raised.at_ns > 0 && raised.request.is_some());
    let found = stopped.so_far.expect("there is something");
    assert_eq!((found.report.run.end.as_str(), found.report.run.complete), ("failed", false));
    assert!((99..=100).contains(&found.report.requests.completed), "the last may still be on its way back");
}

#[test]
fn a_policy_may_be_interrupted() {
    let found = run(&json!({"python": "test:Least", "picks": 100, "interrupts": true})).expect("no fault");
    assert_eq!((found.report.run.end.as_str(), found.report.run.complete), ("interrupted", false));
    assert!((99..=100).contains(&found.report.requests.completed));
}

fn run_cached(policy: &Value, read_fraction: f64) -> Result<scenario::RunOutput, RunError> {
    let system = json!({"kind": "ram-cache", "bytes": 65536, "policy": policy, "child": {"device": "g2"}});
    let mut workload = poisson(900.0);
    workload["read_fraction"] = read_fraction.into();
    let document = json!({"workload": workload, "system": system, "run": {"requests": 500}});
    let resolved = scenario::resolve(&document.to_string(), Notation::Json, "test", &[], &with_door(), Path::new("."))
        .expect("valid");
    resolved.run(&Keep { log: true, check: true, ..Keep::default() }, &mut |_| true)
}

#[test]
fn a_replacement_policy_of_ones_own_takes_the_place_of_a_listed_one() {
    for read_fraction in [1.0, 0.5] {
        let own = run_cached(&json!({"python": "test:First"}), read_fraction).unwrap();
        let listed = run_cached(&json!("fifo"), read_fraction).unwrap();
        assert_eq!(format!("{:?}", own.recorder.log()), format!("{:?}", listed.recorder.log()));
    }
}

#[test]
fn a_replacement_policy_that_fails_or_chooses_nonsense_ends_the_run() {
    for (policy, says) in [
        (json!({"python": "test:First", "choices": 20}), "no more"),
        (json!({"python": "test:First", "choices": 20, "slot": 16}), "chose slot 16 of 16, which has no key"),
        (
            json!({"python": "test:First", "choices": 0, "slot": 3}),
            "chose slot 3 of 16, which may not leave, a second time",
        ),
    ] {
        // What is dirty may not leave, so that a policy that insists is asked again.
        let Err(RunError::Policy(stopped)) = run_cached(&policy, 0.1) else { panic!("{policy} fails") };
        assert_eq!((stopped.fault.kind, stopped.fault.path.to_string().as_str()), (Kind::Policy, "system.policy"));
        let told = stopped.fault.to_string();
        assert!(told.contains(says) && told.contains(" s, with line "), "{told}");
        assert!(stopped.fault.raised.as_ref().is_some_and(|raised| raised.at_ns > 0));
        assert_eq!(stopped.so_far.expect("there is something").report.run.end, "failed");
    }
}

#[test]
fn a_drawing_becomes_the_device_that_the_door_makes_of_it() {
    let resolved = |device: &str, setting: &str, catalog: &Catalog| {
        let document = json!({"workload": poisson(900.0), "system": {"device": device}, "run": {"requests": 500}});
        let settings = [setting.to_owned(), "device.bit_rate_kbit_s=500".to_owned()];
        scenario::resolve(&document.to_string(), Notation::Json, "test", &settings, catalog, Path::new("."))
    };
    let drawn = resolved("g1", "device.drawing={ width = 30 }", &with_door()).expect("valid");
    assert_eq!(drawn, resolved("g2", "device.bit_nm=30", &catalog()).expect("valid"));
    let told = |setting: &str, catalog: &Catalog| {
        let faults = resolved("g1", setting, catalog).expect_err(setting);
        (faults[0].kind, faults[0].path.to_string())
    };
    let at = |key: &str| format!("system.device.drawing{key}");
    assert_eq!(told("device.drawing={ width = 30 }", &catalog()), (Kind::Unsupported, at("")));
    assert_eq!(told("device.drawing.width=30", &with_door()), (Kind::Conflict, "system.device.name".into()));
    assert_eq!(told("device.drawing={ width = true }", &with_door()), (Kind::WrongType, at(".width")));
    assert_eq!(told("device.drawing={}", &with_door()), (Kind::Missing, at(".width")));
}
