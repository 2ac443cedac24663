//! Replacement policies outside a scenario, for hit ratios.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::fault::{Collector, Faults};
use crate::plugin::{self, Choice, PluginLoader, ReplacementChoice, Role};
use crate::scenario::document::check::Checker;
use crate::scenario::document::node::{Node, Origin};

/// Returns the schema of a replacement policy: its keys with type, range and default.
#[must_use]
pub fn replacement_schema() -> Value {
    serde_json::to_value(schemars::schema_for!(ReplacementChoice)).unwrap_or_default()
}

/// Returns the policy of `document`: a name, or a table with a name and parameters. `loader` loads a custom policy;
/// relative paths start from `base`.
///
/// # Errors
/// The faults: each with its key, value and allowed values.
pub fn replacement(
    document: Value,
    loader: Option<&dyn PluginLoader>,
    base: &Path,
) -> Result<ReplacementChoice, Faults> {
    let mut document = Node::of_value(document, &Origin::default());
    if document.as_text().is_some() {
        document = document.wrap("name");
    }
    plugin::document::expand_policy(&mut document, Role::Replacement, loader);
    let (mut found, schema) = (Collector::default(), replacement_schema());
    Checker::new(&schema, &mut found).value(&mut document, &schema);
    found.into_result()?;
    let mut choice = ReplacementChoice::deserialize(&document)?;
    if let Choice::Custom(custom) = &mut choice {
        custom.load(Role::Replacement, loader, base)?;
    }
    Ok(choice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::hierarchy::cache::replacement::{two_q, ReplacementSpec, POLICIES};

    fn listed(document: Value) -> Result<ReplacementChoice, Faults> {
        replacement(document, None, Path::new(""))
    }

    #[test]
    fn a_name_alone_has_the_defaults() {
        for policy in POLICIES {
            assert_eq!(listed(json!(policy.name)), Ok(policy.default.into()));
        }
        let own = listed(json!({"name": "2q", "in_share": 0.3})).unwrap();
        assert_eq!(own, ReplacementSpec::TwoQ(two_q::Spec { in_share: 0.3, out_share: 0.5 }).into());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (document, said) in [
            (json!("lruu"), "did you mean \"lru\"?"),
            (json!({"name": "lru", "share": 1}), "unknown key share"),
            (json!({"name": "slru", "protected_share": 1.5}), "protected_share = 1.5"),
            (json!({"name": "s3-fifo", "promotion_references": 0}), "promotion_references = 0"),
            (json!({"in_share": 0.5}), "name is missing"),
            (json!(7), "expected"),
        ] {
            let message = listed(document).unwrap_err().to_string();
            assert!(message.contains(said), "{message}");
        }
    }
}
