//! A kind of component defined outside the simulator: a file, and one line in the list passed to the catalogue.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use sledsim::engine::{Completion, Component, ComponentId, Context, Instrumentation, PowerLoss};
use sledsim::fault::{Faults, Kind};
use sledsim::hierarchy::{Child, ChildKey, ChildKeys, ComponentKind, ComponentParameters, ComponentSpec};
use sledsim::request::Request;
use sledsim::scenario::{explain, resolve, Keep, Notation, Resolved};
use sledsim_testing::scenarios::{catalog, poisson};

/// A component that passes requests to a child and hides its last blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShortenSpec {
    /// Number of hidden blocks.
    #[serde(default)]
    #[schemars(range(max = 1000))]
    hidden_blocks: u64,
}

#[derive(Clone)]
struct Shorten {
    child: Child,
    hidden_blocks: u64,
}

const KIND: ComponentKind = ComponentKind {
    name: "shorten",
    description: "A component without its last blocks.",
    children: ChildKeys::Keyed(&[ChildKey { name: "long", description: "The component." }]),
    parameters: ComponentParameters::of::<ShortenSpec>(),
};

const KINDS: &[ComponentKind] = &[KIND];

impl ComponentSpec for ShortenSpec {
    fn build(&self, children: &[Child]) -> Result<Box<dyn Component>, Faults> {
        Ok(Box::new(Shorten { child: children[0], hidden_blocks: self.hidden_blocks }))
    }

    fn notes(&self, _members: u64) -> Vec<String> {
        vec![format!("hides {} blocks", self.hidden_blocks)]
    }
}

impl Component for Shorten {
    fn capacity_blocks(&self) -> u64 {
        self.child.capacity_blocks - self.hidden_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.child.block_bytes
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        context.submit(self.child.id, request);
    }

    fn completed(&mut self, _child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        context.complete(completion);
    }
}

impl PowerLoss for Shorten {}
impl Instrumentation for Shorten {}

fn resolved(system: &Value) -> Result<Resolved, Faults> {
    let document = json!({"workload": poisson(100.0), "system": system, "run": {"requests": 100}}).to_string();
    resolve(&document, Notation::Json, "test", &[], &catalog().with_kinds(KINDS), Path::new("."))
}

#[test]
fn a_kind_takes_one_file_and_one_line() {
    let system =
        json!({"kind": "concat", "members": [{"count": 2, "kind": "shorten", "hidden_blocks": 100, "long": "g2"}]});
    let resolved = resolved(&system).unwrap_or_else(|faults| panic!("{faults}"));
    let output = resolved.run(&Keep { check: true, ..Keep::default() }, &mut |_| true).expect("it runs");
    let paths: Vec<(&str, &str)> =
        output.report.components.iter().map(|each| (each.kind.as_str(), each.path.as_str())).collect();
    assert_eq!(paths[1..3], [("shorten", "system.members[0]"), ("drive", "system.members[0].long")]);
    assert_eq!(output.report.requests.completed, 100);
    let explained = explain(&resolved.scenario().system).expect("it fits together");
    let member = &explained.children[0];
    assert_eq!((member.notes[0].as_str(), member.children[0].role.as_str()), ("hides 100 blocks", "long"));
    assert_eq!(member.children[0].capacity_blocks - member.capacity_blocks, 100);
    assert_eq!(output.report.scenario["system"]["members"][0]["system"]["hidden_blocks"], 100);
}

#[test]
fn keys_of_an_added_kind_are_checked() {
    for (system, kind, path) in [
        (json!({"kind": "shorten", "hidden_blocks": 1001, "long": "g2"}), Kind::OutOfRange, "system.hidden_blocks"),
        (json!({"kind": "shorten", "hidden": 1, "long": "g2"}), Kind::UnknownKey, "system.hidden"),
        (json!({"kind": "shorten"}), Kind::Missing, "system.long"),
        (json!({"kind": "shorten", "long": {"device": "g22"}}), Kind::UnknownName, "system.long.device.name"),
        (json!({"kind": "shorter", "child": "g2"}), Kind::UnknownName, "system.kind"),
    ] {
        let faults = resolved(&system).expect_err(&system.to_string());
        assert_eq!((faults[0].kind, faults[0].location.path.to_string().as_str()), (kind, path), "{faults}");
    }
    let faults = resolved(&json!({"kind": "shorter", "child": "g2"})).expect_err("no such kind");
    assert_eq!(faults[0].suggestion.as_deref(), Some("shorten"));
}
