//! A small component of every kind, over any other component.

use serde_json::{json, Value};
use sledsim::scenario::schema;

/// Size of a block: small, for many operations, with room for the headers of buffers and caches.
pub const BLOCK: u64 = 64;

/// Access time of each drive, ms.
const ACCESS_MS: f64 = 0.1;

/// Returns the kinds of components of scenarios.
pub fn all() -> Vec<String> {
    let schema = schema();
    let kinds = schema.pointer("/$defs/SystemSpec/oneOf").and_then(Value::as_array).expect("kinds of systems");
    let name = |kind: &Value| kind["properties"]["kind"]["const"].as_str().expect("a name").to_owned();
    kinds.iter().map(name).collect()
}

/// Returns a drive of a number of blocks with a constant access time.
pub fn drive(blocks: u64) -> Value {
    let device = json!({
        "mechanism": "simpledisk-constant", "name": "constant", "block_bytes": BLOCK, "capacity_blocks": blocks,
        "access_ms": ACCESS_MS,
    });
    json!({"kind": "drive", "device": device, "scheduler": {"name": "fcfs"}})
}

/// Returns a component of a kind with at least `blocks` blocks, over components made by `below` from a number of blocks.
///
/// # Panics
/// The kind is not in the list: add it, with keys that use all of its features.
pub fn over(kind: &str, blocks: u64, below: &dyn Fn(u64) -> Value) -> Value {
    let bytes = |blocks: u64| blocks * BLOCK;
    let members = |count: u64, each: u64| json!([{"count": count, "system": below(each)}]);
    let mut keys = match kind {
        "drive" => return drive(blocks),
        "partition" => json!({"child": below(blocks + 5), "first_block": 5, "bytes": bytes(blocks)}),
        "zoned" => json!({
            "child": below(blocks), "zone_bytes": bytes(7), "conventional_zones": 1, "out_of_order": "rewrite", "full": true,
        }),
        "volumes" => json!({"members": members(3, blocks / 2 + 4), "volumes": volumes(blocks)}),
        "concat" => json!({"members": members(3, blocks.div_ceil(3))}),
        "stripe" => json!({"members": members(3, blocks.div_ceil(3) + 2), "unit_bytes": bytes(3)}),
        "mirror" => json!({"members": members(2, blocks), "spares": 1, "faults": faults(&[1, 0])}),
        "raid4" | "raid5" | "raid6" => {
            let (count, failing) = if kind == "raid6" { (4, &[1, 2, 3][..]) } else { (3, &[1, 2][..]) };
            let each = blocks.div_ceil(2) + 2;
            json!({
                "members": members(count, each), "unit_bytes": bytes(3), "spares": 1, "faults": faults(failing),
            })
        }
        "ram-cache" => json!({
            "child": below(blocks), "bytes": bytes((blocks / 4).max(6) / 3 * 3), "line_bytes": bytes(3),
            "flush": {"idle_ms": 0.5, "high_water": 0.75, "low_water": 0.5, "outstanding": 2, "most_write_bytes": bytes(8)},
        }),
        "mwb" => json!({
            "mems": below(6 * 4), "disk": below(blocks.max(32)), "mems_bytes": bytes(6 * 4), "log_bytes": bytes(4),
            "buffer_bytes": bytes(8),
            "clean": {"idle_ms": 0.5, "most_write_bytes": bytes(8), "outstanding": 2},
        }),
        "mcd" => json!({
            "mems": below(5 * 4), "disk": below(blocks.max(32)), "mems_bytes": bytes(5 * 4), "segment_bytes": bytes(3),
            "buffer_bytes": bytes(9 * 4), "flush": {"idle_ms": 0.5, "high_water": 0.75, "low_water": 0.5},
        }),
        "tiers" => json!({
            "fast": below(blocks / 4 + 3), "slow": below(blocks + 3), "extent_bytes": bytes(3),
            "placement": {"small_bytes": bytes(1), "pinned": [{"first_block": 4, "bytes": bytes(1)}]},
            "migration": {"mb_per_s": 1, "period_s": 0.005, "half_life_s": 0.02, "factor": 1.1, "least_uses": 0.5},
        }),
        other => panic!("no content test knows the kind {other}: add it to {}", file!()),
    };
    keys["kind"] = kind.into();
    if keys.get("spares").is_some() {
        // The rebuild of a member takes about ten seconds.
        keys["rebuild"] = json!({"mb_per_s": 0.0002, "rows": 2, "outstanding": 2});
    }
    keys
}

/// Returns three volumes with `blocks` blocks in total, out of order and with gaps, on members of `blocks / 2 + 4` blocks.
fn volumes(blocks: u64) -> Value {
    let (a, b) = (blocks / 3, blocks / 4);
    json!([
        {"name": "a", "bytes": a * BLOCK, "member": 1, "first_block": 4},
        {"name": "b", "bytes": b * BLOCK, "member": 2},
        {"name": "c", "bytes": (blocks - a - b) * BLOCK, "member": 0, "first_block": 2},
    ])
}

/// Returns latent errors of the first member, in blocks that every component above uses, and failures: the first of `failing` is rebuilt on a
/// spare before the others fail.
fn faults(failing: &[u32]) -> Value {
    let failing = failing.iter().zip(FAIL_S).map(|(member, at_s)| json!({"member": member, "fails_at_s": at_s}));
    let latent = json!({"member": 0, "unreadable": [{"lbn": 6}, {"lbn": 8}]});
    [latent].into_iter().chain(failing).collect()
}

/// Times of failures, s; the second is after the rebuild of the first.
const FAIL_S: [f64; 3] = [10.0, 60.0, 70.0];
/// Time of the last failure, s.
pub const FAILED_BY_S: f64 = FAIL_S[2];

/// Divides the times of failures, and of rebuilds, by factors.
pub fn hurry(document: &mut Value, times: f64) {
    match document {
        Value::Object(keys) => {
            for (key, value) in keys {
                match (key.as_str(), value.as_f64()) {
                    ("fails_at_s", Some(at_s)) => *value = (at_s / times).into(),
                    ("rebuild", _) => value["mb_per_s"] = (value["mb_per_s"].as_f64().expect("a rate") * times).into(),
                    _ => hurry(value, times),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hurry(item, times)),
        _ => {}
    }
}
