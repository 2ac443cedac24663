//! The rules that hold for plugins of every role. The tests of the package compare results with those of built-in policies.

use serde_json::{json, Value};
use sledsim::fault::Kind;
use sledsim::plugin::{Factory, Role};
use sledsim::scenario::Resolved;

use super::support::{plugin, with_loader, Case, TestLoader};
use sledsim_testing::scenarios::catalog;

#[test]
fn a_failure_ends_the_run_at_the_key_of_the_plugin() {
    for role in Role::ALL {
        let case = Case::of(role, plugin(json!({"decisions": 20})));
        let fault = case.failure();
        assert_eq!(fault.location.path.to_string(), format!("system.{}", role.key()));
        assert!(fault.to_string().contains("no more") && fault.to_string().contains(" s, with "), "{fault}");
        assert!(fault.policy_error.as_ref().is_some_and(|raised| raised.request.is_some()), "{fault}");
    }
}

#[test]
fn a_failure_in_a_hierarchy_names_the_component() {
    for role in Role::ALL {
        let case = Case::of(role, plugin(json!({"decisions": 5})));
        let system = json!({"kind": "stripe", "unit_bytes": 65536, "members": ["g2", case.system]});
        let path = Case { system, ..case }.failure().location.path.to_string();
        assert_eq!(path, format!("system.members[1].{}", role.key()));
    }
}

#[test]
fn an_interruption_ends_the_run_without_a_fault() {
    for role in Role::ALL {
        let case = Case::of(role, plugin(json!({"decisions": 20, "interrupts": true})));
        let found = case.run().expect("no fault").report;
        assert_eq!((found.run.end.as_str(), found.run.complete), ("interrupted", false), "{role:?}");
    }
}

#[test]
fn all_forms_of_a_plugin_resolve_to_the_same_scenario() {
    for role in Role::ALL {
        let key = role.key();
        let given = json!({"decisions": 7});
        let expected = Case::of(role, plugin(given.clone())).resolve(&with_loader(), &[]).expect("valid");
        let resolved = serde_json::to_value(&expected).expect("plain data")["system"][key].take();
        let built_in = Case::of(role, if role == Role::Mechanism { json!("g2") } else { Value::Null });
        let settings = [format!("{key}.python=test:Plugin"), format!("{key}.decisions=7")];
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
            (plugin(json!({"source": "abd"})), "source", "has changed since"),
            (json!({"python": 5}), "python", "a string"),
            (plugin(json!({"parameters": 5})), "parameters", "a table"),
        ] {
            let faults = Case::of(role, policy.clone()).resolve(&with_loader(), &[]).expect_err(&policy.to_string());
            assert_eq!(faults[0].location.path.to_string(), format!("system.{key}.{path}"), "{faults}");
            assert!(faults.to_string().contains(says), "{faults}");
        }
        let case = Case::of(role, plugin(json!({})));
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
