//! What becomes of every parameter, for the reference page.

use serde_json::{json, Value as Json};
use sledsim::fault::Allowed;

use super::grammar::{Fate, BLOCK_TYPES, UNSUPPORTED};
use super::workload::policy;

/// Every block and parameter with what it takes and what becomes of it; scheduling policies; blocks that are refused.
#[must_use]
pub fn reference() -> Json {
    let blocks = BLOCK_TYPES.iter().map(|block| {
        let parameters = block.parameters.iter().map(|parameter| {
            let (keys, fate) = told(parameter.fate);
            json!({
                "name": parameter.name,
                "takes": Allowed::from(parameter.takes).to_string(),
                "required": parameter.required,
                "keys": keys,
                "fate": fate,
            })
        });
        json!({"name": block.name, "title": block.title, "parameters": parameters.collect::<Vec<_>>()})
    });
    let policies = (1..).map_while(|number| {
        policy(number).map(|(name, lost)| json!({"number": number, "scheduler": name, "lost": lost}))
    });
    let refused = UNSUPPORTED.iter().map(|(name, what)| json!({"name": name, "what": what}));
    json!({
        "blocks": blocks.collect::<Vec<_>>(),
        "policies": policies.collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
    })
}

/// The keys that a parameter enters, and what becomes of it in words.
fn told(fate: Fate) -> (Vec<&'static str>, String) {
    match fate {
        Fate::Key(key) => (vec![key], "as it is".into()),
        Fate::Enters(keys, how) => (keys.split(", ").filter(|key| !key.is_empty()).collect(), how.into()),
        Fate::Idle(reason) => (Vec::new(), format!("no effect: {reason}")),
        Fate::Lost(reason) => (Vec::new(), format!("not carried over: {reason}")),
        Fate::Only(neutral, reason) => (Vec::new(), format!("not carried over unless {neutral}: {reason}")),
        Fate::Queue(reason) => {
            (Vec::new(), format!("not carried over where the device takes several requests at a time: {reason}"))
        }
    }
}
