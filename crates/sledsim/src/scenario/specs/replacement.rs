//! Replacement policies by themselves, for what runs no scenario.

use serde_json::Value;

use crate::fault::Faults;
use crate::hierarchy::cache::replacement::ReplacementSpec;
use crate::scenario::document::check::check;

/// The schema of a replacement policy: every key it may have, with type, range and default.
#[must_use]
pub fn replacement_schema() -> Value {
    serde_json::to_value(schemars::schema_for!(ReplacementSpec)).unwrap_or_default()
}

/// The policy that `document` describes: a name, or a table with a name and parameters.
///
/// # Errors
/// All that is wrong: each with its key, value, and what is allowed.
pub fn replacement(document: Value) -> Result<ReplacementSpec, Faults> {
    let mut document = if document.is_string() { serde_json::json!({ "name": document }) } else { document };
    check(&mut document, &replacement_schema())?;
    Ok(serde_json::from_value(document)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::hierarchy::cache::replacement::{two_q, POLICIES};

    #[test]
    fn a_name_alone_has_the_defaults() {
        for policy in POLICIES {
            assert_eq!(replacement(json!(policy.name)), Ok(policy.default));
        }
        let own = replacement(json!({"name": "2q", "in_share": 0.3})).unwrap();
        assert_eq!(own, ReplacementSpec::TwoQ(two_q::Spec { in_share: 0.3, out_share: 0.5 }));
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
            let message = replacement(document).unwrap_err().to_string();
            assert!(message.contains(said), "{message}");
        }
    }
}
