//! What is read is what was written: over a million random operations for every kind of component that scenarios know and for
//! every kind over every kind, through failures, rebuilds, latent errors, idle periods and full buffers.
//!
//! Kinds come from the schema: a new one fails these tests until [`kinds::over`] says how to build it.

#[allow(dead_code, reason = "each test file uses its part of it")]
#[path = "../common/ground.rs"]
mod ground;
#[allow(dead_code, reason = "each test file uses its part of it")]
#[path = "../common/planted.rs"]
mod planted;

mod kinds;

use ground::{Ground, Load};
use rayon::prelude::*;
use serde_json::Value;
use sledsim::scenario::{assemble, SystemSpec};

/// Of each kind, and of each pair.
const OPERATIONS: u64 = 1_000_000;

/// Blocks of every system under test.
const BLOCKS: u64 = 72;

/// Overlapping requests of a block or a few, at times more than drives of 0.1 ms bear and at times fewer.
const LOAD: Load = Load { span_blocks: BLOCKS, most_blocks: 4, writes: 0.55, gap_ns: 150_000, outstanding: 4 };

#[test]
fn debug() {
    let filter = std::env::var("PAIRS").unwrap_or_default();
    let kinds = kinds::all();
    for inner in filter.split(',') {
        let (inner, which) = inner.split_once('/').unwrap();
        let n = std::cell::Cell::new(0);
        let below = |blocks| { n.set(n.get() + 1); if which.contains(&n.get().to_string()) {kinds::over(inner, blocks, &kinds::drive)} else { kinds::drive(blocks) }};
        check(&format!("mcd over {inner} {which}"), &kinds::over("mcd", BLOCKS, &below));
    }
    let _ = kinds;
}

/// A system of a scenario that needs no completion.
fn system(system: &Value) -> sledsim::engine::System {
    let spec: SystemSpec = serde_json::from_value(system.clone()).unwrap_or_else(|error| panic!("{error}\n{system:#}"));
    assemble(&spec, 1).unwrap_or_else(|error| panic!("{error}\n{system:#}"))
}

/// So many random operations, with an idle period after every thousand.
fn operate(ground: &mut Ground, operations: u64) {
    for _ in 0..operations / 1000 {
        ground.operate(1000, &LOAD);
        ground.settle();
        ground.idle(5_000_000);
    }
    ground.read_all();
}

fn check(name: &str, document: &Value) {
    let mut ground = Ground::new(system(document), 7);
    assert!(ground.capacity_blocks() >= BLOCKS, "{name}");
    let began = std::time::Instant::now();
    operate(&mut ground, OPERATIONS);
    eprintln!("{name}: {:.2} s, {} s simulated", began.elapsed().as_secs_f64(), ground.system.now().ns() / 1_000_000_000);
    assert!(ground.wrong.is_empty(), "{name}: {:?}", ground.wrong.first());
    assert!(ground.lost.is_empty(), "{name}: {:?}", ground.lost);
    assert!(ground.checked > OPERATIONS, "{name}: {} blocks", ground.checked);
}

#[test]
fn every_kind_alone() {
    kinds::all().par_iter().for_each(|kind| check(kind, &kinds::over(kind, BLOCKS, &kinds::drive)));
}

#[test]
fn every_kind_over_every_kind() {
    let kinds = kinds::all();
    let above = kinds.iter().filter(|kind| *kind != "drive");
    let pairs: Vec<(&String, &String)> = above.flat_map(|outer| kinds.iter().map(move |inner| (outer, inner))).collect();
    let pairs: Vec<_> = pairs.into_iter().filter(|(_, inner)| *inner != "drive").collect();
    pairs.par_iter().for_each(|(outer, inner)| {
        let below = |blocks| kinds::over(inner, blocks, &kinds::drive);
        check(&format!("{outer} over {inner}"), &kinds::over(outer, BLOCKS, &below));
    });
}
