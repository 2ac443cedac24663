//! Policies of one's own that choose a mirror's copy, or when a device stops, brought in by a program in Rust: as good as built-in
//! ones.

use std::path::Path;
use std::sync::Arc;

use serde_json::{json, Value};
use sledsim::engine::Stop;
use sledsim::fault::{Fault, Faults, Kind};
use sledsim::own::{Copies, Door, Maker, Opened, OwnMirror, OwnSpec, OwnSpinDown, Role};
use sledsim::power::{Ladder, Mode, Share};
use sledsim::request::{Op, Request};
use sledsim::scenario::{self, Keep, Notation, RunError};
use sledsim::time::Time;
use sledsim_testing::scenarios::{catalog, poisson};

fn no_more() -> Stop {
    Stop::Failed(Fault::new(Kind::Policy).says("no more"))
}

/// Chooses as the built-in rule of a name does; stops after so many choices.
#[derive(Clone, Debug)]
struct Chooser {
    rule: String,
    choices_left: u64,
    turn: u32,
    /// Accesses under way at each member, as it hears.
    under_way: Vec<u64>,
}

impl OwnMirror for Chooser {
    fn name(&self) -> &str {
        "chooser"
    }

    fn looks_at_positioning(&self) -> bool {
        self.rule == "nearest"
    }

    fn pick(&mut self, _now: Time, request: &Request, copies: &mut Copies) -> Result<usize, Stop> {
        assert_eq!(request.op, Op::Read);
        for (row, &member) in copies.member.iter().enumerate() {
            let heard = self.under_way.get(member as usize).copied().unwrap_or_default();
            assert_eq!(copies.pending[row], heard, "it hears of every access of member {member}");
        }
        if self.choices_left == 0 {
            return Err(no_more());
        }
        self.choices_left -= 1;
        let cost = |row: usize| match self.rule.as_str() {
            "round-robin" => 0,
            "shortest-queue" => copies.pending_blocks[row],
            _ => Some(copies.positioning_ns[row])
                .filter(|&ns| ns != Copies::UNKNOWN)
                .unwrap_or_else(|| copies.next_lbn[row].abs_diff(request.lbn)),
        };
        // Rows rise with the numbers of copies.
        let least = (0..copies.len()).min_by_key(|&row| (cost(row), copies.copy[row] < self.turn));
        let row = least.expect("one may serve");
        self.turn = copies.copy[row] + 1;
        Ok(row)
    }

    fn arrived(&mut self, _now: Time, member: u32, _access: &Request) -> Result<(), Stop> {
        self.under_way.resize(self.under_way.len().max(member as usize + 1), 0);
        self.under_way[member as usize] += 1;
        Ok(())
    }

    fn completed(&mut self, _now: Time, member: u32, _access: &Request) -> Result<(), Stop> {
        self.under_way[member as usize] -= 1;
        Ok(())
    }
}

impl Maker for Chooser {
    fn mirror(&self) -> Result<Box<dyn OwnMirror>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

/// Stops after so long, or as experts say; enters modes between at their own times; can't go on after so many requests.
#[derive(Clone, Debug)]
struct Stopper {
    after_ns: Option<u64>,
    adaptive: bool,
    share: Option<Share>,
    requests_left: u64,
    /// When the last request was over.
    free: Time,
}

fn ladder(modes: &[Mode]) -> Ladder {
    Ladder::of_any_power(modes.to_vec()).expect("a device's own")
}

impl OwnSpinDown for Stopper {
    fn name(&self) -> &str {
        "stopper"
    }

    fn after_ns(&mut self, now: Time, mode: usize, modes: &[Mode]) -> Result<Option<u64>, Stop> {
        assert_eq!(now, self.free, "it is asked just after it is told");
        if self.adaptive {
            let share = self.share.get_or_insert_with(|| Share::new(&ladder(modes), 12, None, 4.0, 0.08));
            self.after_ns = Some(share.timeout_ns());
        }
        // Who never stops does not go half the way either.
        let decides = mode + 1 == modes.len() || self.after_ns.is_none();
        Ok(if decides { self.after_ns } else { modes[mode].after_ns })
    }

    fn ended(&mut self, now: Time, idle_ns: u64, modes: &[Mode]) -> Result<(), Stop> {
        assert!(idle_ns > 0 && now >= self.free + idle_ns && modes.len() > 1);
        if let Some(share) = &mut self.share {
            share.weigh(&ladder(modes));
            share.learn(&ladder(modes), idle_ns);
        }
        Ok(())
    }

    fn served(&mut self, now: Time, _request: &Request) -> Result<(), Stop> {
        assert!(now >= self.free);
        self.free = now;
        if self.requests_left == 0 {
            return Err(no_more());
        }
        self.requests_left -= 1;
        Ok(())
    }
}

impl Maker for Stopper {
    fn spin_down(&self) -> Result<Box<dyn OwnSpinDown>, Fault> {
        Ok(Box::new(self.clone()))
    }
}

/// Knows a policy of each role.
#[derive(Debug)]
struct Two;

impl Door for Two {
    fn open(&self, role: Role, wanted: &OwnSpec, _base: &Path) -> Result<Opened, Faults> {
        let parameters = wanted.parameters.clone();
        let number = |key: &str| parameters.get(key).and_then(Value::as_u64);
        let most = number("most").unwrap_or(u64::MAX);
        let maker: Arc<dyn Maker> = match role {
            Role::Mirror => {
                let rule = parameters.get("rule").and_then(Value::as_str).unwrap_or("round-robin").to_owned();
                Arc::new(Chooser { rule, choices_left: most, turn: 0, under_way: Vec::new() })
            }
            _ => {
                let adaptive = parameters.contains_key("adaptive");
                let after_ns = number("after_ms").map(|after_ms| after_ms * 1_000_000);
                Arc::new(Stopper { after_ns, adaptive, share: None, requests_left: most, free: Time::ZERO })
            }
        };
        Ok(Opened { folder: None, source: Some("abc".into()), parameters, maker })
    }
}

/// What a system does with requests that come at a rate of so many a second.
fn run(system: &Value, rate_per_s: f64, run: &Value) -> Result<scenario::RunOutput, RunError> {
    let document = json!({"workload": poisson(rate_per_s), "system": system, "run": run});
    let (text, catalog) = (document.to_string(), catalog().with_door(Arc::new(Two)));
    let resolved = scenario::resolve(&text, Notation::Json, "test", &[], &catalog, Path::new("."))
        .unwrap_or_else(|faults| panic!("{system}: {faults}"));
    resolved.run(&Keep { log: true, check: true, ..Keep::default() }, &mut |_| true)
}

/// A system with a policy of one's own at a key does what it does with one of the list.
fn check_same(mut system: Value, (key, own, listed): (&str, Value, Value), rate_per_s: f64, limits: &Value) {
    let found = [own, listed].map(|policy| {
        system[key] = policy;
        run(&system, rate_per_s, limits).unwrap_or_else(|error| panic!("{system}: {error}"))
    });
    assert_eq!(found[0].report.scenario["system"][key]["source"], "abc", "{system}");
    let [own, listed] = &found;
    // Logs are too long to be shown.
    assert!(format!("{:?}", own.recorder.log()) == format!("{:?}", listed.recorder.log()), "another log: {system}");
    assert_eq!(format!("{:?}", own.report.energy), format!("{:?}", listed.report.energy), "{system}");
}

#[test]
fn a_choice_of_a_copy_of_ones_own_takes_the_place_of_a_listed_one() {
    let part = json!({"kind": "partition", "bytes": 16 << 20, "child": {"device": "g2"}});
    for system in [
        json!({"kind": "mirror", "members": [{"count": 3, "system": {"device": "g2"}}]}),
        json!({"kind": "mirror", "members": [{"count": 2, "system": {"kind": "stripe", "members": ["g1", "g1"]}}]}),
        json!({
            "kind": "mirror", "members": [{"count": 3, "system": part}], "spares": 1,
            "faults": [{"member": 1, "fails_at_s": 0.05}, {"member": 0, "unreadable": [{"lbn": 0, "blocks": 9999}]}],
        }),
    ] {
        for rule in ["round-robin", "shortest-queue", "nearest"] {
            let own = json!({"python": "test:Chooser", "rule": rule});
            check_same(system.clone(), ("read", own, json!(rule)), 2500.0, &json!({"requests": 300}));
        }
    }
}

#[test]
fn a_choice_of_a_copy_that_fails_ends_the_run() {
    let system = json!({"kind": "mirror", "members": ["g2", "g2"], "read": {"python": "test:Chooser", "most": 50}});
    let Err(RunError::Policy(stopped)) = run(&system, 900.0, &json!({"requests": 400})) else { panic!("it fails") };
    assert_eq!((stopped.fault.kind, stopped.fault.path.to_string().as_str()), (Kind::Policy, "system.read"));
    let raised = stopped.fault.raised.clone().expect("it says when");
    assert!(raised.at_ns > 0 && raised.request.is_some());
    assert!(stopped.fault.to_string().contains("(read of "), "{}", stopped.fault);
    assert_eq!(stopped.so_far.expect("there is something").report.run.end, "failed");
}

#[test]
fn a_spin_down_policy_of_ones_own_takes_the_place_of_a_listed_one() {
    let devices = [
        (json!("g2"), 20.0),
        (json!({"name": "g2", "idle_tips": "last-access", "sleds": 2}), 40.0),
        (json!("travelstar"), 0.3),
    ];
    for (device, rate_per_s) in devices {
        for (own, listed) in [
            (json!({"after_ms": 0}), json!("immediate")),
            (json!({"after_ms": 30}), json!({"name": "timeout", "after_ms": 30})),
            (json!({}), json!("never")),
            (json!({"adaptive": true}), json!("adaptive")),
        ] {
            let own = json!({"python": "test:Stopper", "parameters": own});
            // FCFS is served ahead of time, where nobody of one's own is to be asked.
            for scheduler in ["fcfs", "sptf"] {
                let system = json!({"device": device, "scheduler": scheduler});
                let limits = json!({"requests": 120, "warmup_requests": 20});
                check_same(system, ("spin_down", own.clone(), listed.clone()), rate_per_s, &limits);
            }
        }
    }
}

#[test]
fn a_spin_down_policy_that_fails_ends_the_run() {
    for scheduler in ["fcfs", "sptf"] {
        let policy = json!({"python": "test:Stopper", "most": 50});
        let member = json!({"device": "g2", "scheduler": scheduler, "spin_down": policy});
        let system = json!({"kind": "stripe", "members": ["g2", member]});
        let Err(RunError::Policy(stopped)) = run(&system, 100.0, &json!({"requests": 400})) else { panic!("it fails") };
        let path = stopped.fault.path.to_string();
        assert_eq!((stopped.fault.kind, path.as_str()), (Kind::Policy, "system.members[1].spin_down"));
        let told = stopped.fault.to_string();
        assert!(told.contains("no more") && told.contains(" s, with request "), "{told}");
        assert!(stopped.fault.raised.as_ref().is_some_and(|raised| raised.at_ns > 0 && raised.request.is_some()));
        assert_eq!(stopped.so_far.expect("there is something").report.run.end, "failed");
    }
}

#[test]
fn what_can_not_stop_has_no_spin_down_policy_of_ones_own() {
    let system = json!({"device": "atlas10k", "spin_down": {"python": "test:Stopper"}});
    let document = json!({"workload": poisson(900.0), "system": system, "run": {"requests": 500}});
    let (text, catalog) = (document.to_string(), catalog().with_door(Arc::new(Two)));
    let faults = scenario::resolve(&text, Notation::Json, "test", &[], &catalog, Path::new("."))
        .expect_err("it has no idle modes");
    assert_eq!((faults[0].kind, faults[0].path.to_string().as_str()), (Kind::Conflict, "system.spin_down"));
}

#[test]
fn a_word_may_stand_in_a_table_and_nothing_else_beside_it() {
    let resolved = |read: Value| {
        let system = json!({"kind": "mirror", "members": ["g2", "g2"], "read": read});
        let document = json!({"workload": poisson(900.0), "system": system, "run": {"requests": 500}});
        let (text, catalog) = (document.to_string(), catalog().with_door(Arc::new(Two)));
        scenario::resolve(&text, Notation::Json, "test", &[], &catalog, Path::new("."))
    };
    assert_eq!(resolved(json!({"name": "nearest"})).expect("valid"), resolved(json!("nearest")).expect("valid"));
    for (read, path) in [
        (json!({"name": "nearest", "python": "test:Chooser"}), "system.read.name"),
        (json!({"name": "nearst"}), "system.read"),
        (json!(["nearest"]), "system.read"),
    ] {
        let faults = resolved(read).expect_err("it is none");
        assert_eq!(faults[0].path.to_string(), path, "{faults}");
    }
}
