//! The rules that hold for plugins of every role.

use serde_json::{json, Value};
use sledsim::fault::Kind;
use sledsim::plugin::{Factory, Role};
use sledsim::scenario::Resolved;
use sledsim::schedulers::POLICIES;

use super::support::{plugin, with_loader, Case, TestLoader};
use sledsim_testing::scenarios::catalog;

/// Returns the parameters that a role requires, with others.
fn parameters(role: Role, others: Value) -> Value {
    let mut parameters = others;
    if role == Role::Mirror {
        parameters["rule"] = "nearest".into();
    }
    parameters
}

/// Runs a system with a plugin and with the built-in policy that it reimplements.
fn check_same(case: &Case, built_in: Value) {
    let key = case.role.key();
    let mut reference = case.clone();
    reference.system[key] = built_in;
    let [found, expected] = [case, &reference].map(|case| case.run().unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(found.report.scenario["system"][key]["source"], "abc", "{}", case.system);
    // Logs are too long for messages.
    let [log, expected_log] = [&found, &expected].map(|output| format!("{:?}", output.recorder.log()));
    assert!(log == expected_log, "the log differs: {}", case.system);
    let total_j = |output: &sledsim::scenario::RunOutput| {
        serde_json::to_value(&output.report.energy).expect("plain data").pointer("/total_j").cloned()
    };
    assert_eq!(total_j(&found), total_j(&expected), "{}", case.system);
}

#[test]
fn a_reimplemented_scheduler_gives_the_same_results() {
    check_same(&Case::of(Role::Scheduler, plugin(json!({}))), json!("sptf"));
}

#[test]
fn a_reimplemented_replacement_policy_gives_the_same_results() {
    for read_fraction in [1.0, 0.5] {
        let case = Case { read_fraction, ..Case::of(Role::Replacement, plugin(json!({}))) };
        check_same(&case, json!("fifo"));
    }
}

#[test]
fn a_reimplemented_mirror_policy_gives_the_same_results() {
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
            let mut case = Case::of(Role::Mirror, Value::Null);
            case.system = system.clone();
            case.system["read"] = plugin(json!({"rule": rule}));
            check_same(&Case { rate_per_s: 2500.0, limits: json!({"requests": 300}), ..case }, json!(rule));
        }
    }
}

#[test]
fn a_reimplemented_spin_down_policy_gives_the_same_results() {
    let devices = [
        (json!("g2"), 20.0),
        (json!({"name": "g2", "idle_tips": "last-access", "sleds": 2}), 40.0),
        (json!("travelstar"), 0.3),
    ];
    for (device, rate_per_s) in devices {
        for (parameters, built_in) in [
            (json!({"after_ms": 0}), json!("immediate")),
            (json!({"after_ms": 30}), json!({"name": "timeout", "after_ms": 30})),
            (json!({}), json!("never")),
            (json!({"adaptive": true}), json!("adaptive")),
        ] {
            // Built-in policies serve FCFS in order, without events.
            for scheduler in ["fcfs", "sptf"] {
                let mut case = Case::of(Role::SpinDown, plugin(parameters.clone()));
                case.system["device"] = device.clone();
                case.system["scheduler"] = scheduler.into();
                let limits = json!({"requests": 120, "warmup_requests": 20});
                check_same(&Case { rate_per_s, limits, ..case }, built_in.clone());
            }
        }
    }
}

#[test]
fn a_reimplemented_mechanism_gives_the_same_results() {
    let power = json!({"active_read_w": 3.0, "active_write_w": 3.5, "seek_w": 2.0, "idle_modes": [
        {"name": "ready", "power_w": 1.0},
        {"name": "off", "power_w": 0.1, "after_s": 0.001, "wake_ms": 2.5, "wake_w": 4.0},
    ]});
    for scheduler in POLICIES.map(|policy| policy.name) {
        for (spin_down, power) in [(Value::Null, Value::Null), (json!("immediate"), power.clone())] {
            let mut case = Case::of(Role::Mechanism, plugin(json!({"power": power})));
            case.system["scheduler"] = scheduler.into();
            case.system["spin_down"] = spin_down;
            check_same(&Case { rate_per_s: 400.0, ..case }, json!({"name": "simpledisk-linear", "power": power}));
        }
    }
}

#[test]
fn a_failure_ends_the_run_at_the_key_of_the_plugin() {
    for role in Role::ALL {
        let case = Case::of(role, plugin(parameters(role, json!({"decisions": 20}))));
        let fault = case.failure();
        assert_eq!(fault.location.path.to_string(), format!("system.{}", role.key()));
        assert!(fault.to_string().contains("no more") && fault.to_string().contains(" s, with "), "{fault}");
        assert!(fault.policy_error.as_ref().is_some_and(|raised| raised.request.is_some()), "{fault}");
    }
}

#[test]
fn a_failure_in_a_hierarchy_names_the_component() {
    for role in Role::ALL {
        let case = Case::of(role, plugin(parameters(role, json!({"decisions": 5}))));
        let system = json!({"kind": "stripe", "unit_bytes": 65536, "members": ["g2", case.system]});
        let path = Case { system, ..case }.failure().location.path.to_string();
        assert_eq!(path, format!("system.members[1].{}", role.key()));
    }
}

#[test]
fn an_interruption_ends_the_run_without_a_fault() {
    for role in Role::ALL {
        let case = Case::of(role, plugin(parameters(role, json!({"decisions": 20, "interrupts": true}))));
        let found = case.run().expect("no fault").report;
        assert_eq!((found.run.end.as_str(), found.run.complete), ("interrupted", false), "{role:?}");
    }
}

#[test]
fn all_forms_of_a_plugin_resolve_to_the_same_scenario() {
    for role in Role::ALL {
        let key = role.key();
        let given = parameters(role, json!({"decisions": 7}));
        let expected = Case::of(role, plugin(given.clone())).resolve(&with_loader(), &[]).expect("valid");
        let resolved = serde_json::to_value(&expected).expect("plain data")["system"][key].take();
        let built_in = Case::of(role, if role == Role::Mechanism { json!("g2") } else { Value::Null });
        let rule = |path: &str| format!("{path}.rule=nearest");
        let mut settings = vec![format!("{key}.python=test:Plugin"), format!("{key}.decisions=7")];
        settings.extend((role == Role::Mirror).then(|| rule(key)));
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let table = match role {
            Role::Mechanism => json!({"mechanism": "custom", "python": "test:Plugin", "parameters": given}),
            _ => json!({"name": "custom", "python": "test:Plugin", "parameters": given}),
        };
        for (case, settings) in [
            (Case::of(role, table), &[][..]),
            (Case::of(role, resolved), &[]),
            (Case::of(role, json!("test:Plugin")), &settings[1..]),
            (built_in, &settings),
        ] {
            let mut case = case;
            if case.system[key].is_null() {
                case.system.as_object_mut().expect("a table").remove(key);
            }
            let found = case.resolve(&with_loader(), settings);
            assert_eq!(found, Ok(expected.clone()), "{} {settings:?}", case.system);
        }
        let text = serde_json::to_string(&expected).expect("plain data");
        assert_eq!(
            Resolved::reread(&text, Vec::new(), Some(&TestLoader)).expect("it is loaded").into_scenario(),
            expected
        );
        assert!(Resolved::reread(&text, Vec::new(), None).is_err(), "there is no loader");
    }
}

#[test]
fn faults_of_a_plugin_have_the_paths_of_its_keys() {
    for role in Role::ALL {
        let key = role.key();
        for (policy, path, says) in [
            (plugin(json!({"decisions": "many"})), "decisions", "a number"),
            (json!({"python": "test:Other"}), "python", "test:Plugin"),
            (plugin(parameters(role, json!({"source": "abd"}))), "source", "has changed since"),
            (json!({"python": 5}), "python", "a string"),
            (plugin(json!({"parameters": 5})), "parameters", "a table"),
        ] {
            let faults = Case::of(role, policy.clone()).resolve(&with_loader(), &[]).expect_err(&policy.to_string());
            assert_eq!(faults[0].location.path.to_string(), format!("system.{key}.{path}"), "{faults}");
            assert!(faults.to_string().contains(says), "{faults}");
        }
        let case = Case::of(role, plugin(parameters(role, json!({}))));
        let faults = case.resolve(&catalog(), &[]).expect_err("there is no loader");
        assert_eq!(faults[0].kind, Kind::Unsupported, "{faults}");
    }
}

#[test]
fn a_factory_makes_plugins_of_its_role_only() {
    struct None;
    impl Factory for None {}
    let faults = [
        None.scheduler().err(),
        None.replacement(8).err(),
        None.mirror().err(),
        None.spin_down().err(),
        None.mechanism().err(),
    ];
    for (role, fault) in Role::ALL.into_iter().zip(faults) {
        assert!(fault.expect("no role").to_string().contains(&format!("is no {}", role.name())));
    }
}
