//! The treatment of every parameter, for the reference page.

use serde_json::{json, Value as Json};
use sledsim::fault::Allowed;

use super::grammar::{Treatment, BLOCK_TYPES, UNSUPPORTED};
use super::workload::policy;

/// Returns every block and parameter with its values and treatment, the scheduling policies, and the unsupported blocks.
#[must_use]
pub fn reference() -> Json {
    let blocks = BLOCK_TYPES.iter().map(|block| {
        let parameters = block.parameters.iter().map(|parameter| {
            let (keys, treatment) = describe(parameter.treatment);
            json!({
                "name": parameter.name,
                "takes": Allowed::from(parameter.takes).to_string(),
                "required": parameter.required,
                "keys": keys,
                "treatment": treatment,
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

/// Returns the keys that a parameter becomes, and its treatment in words.
fn describe(treatment: Treatment) -> (Vec<&'static str>, String) {
    match treatment {
        Treatment::Key(key) => (vec![key], "as it is".into()),
        Treatment::Enters(keys, how) => (keys.split(", ").filter(|key| !key.is_empty()).collect(), how.into()),
        Treatment::Idle(reason) => (Vec::new(), format!("no effect: {reason}")),
        Treatment::Lost(reason) => (Vec::new(), format!("not carried over: {reason}")),
        Treatment::Only(neutral, reason) => (Vec::new(), format!("not carried over unless {neutral}: {reason}")),
        Treatment::Queue(reason) => {
            (Vec::new(), format!("not carried over where the device takes several requests at a time: {reason}"))
        }
    }
}
