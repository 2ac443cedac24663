//! Data integrity of every kind of component of scenarios, and of every kind over every other: a million random
//! operations (a few thousand with reduced sizes) with failures, rebuilds, latent errors, idle periods and full
//! buffers.
//!
//! The kinds come from the schema: a new one fails these tests until [`kinds::over`] builds it.

use rayon::prelude::*;
use serde_json::Value;
use sledsim::scenario::testing::{assemble, Between};
use sledsim::scenario::SystemSpec;
use sledsim_testing::buggy_component::{Bug, BuggyComponent};
use sledsim_testing::kinds;
use sledsim_testing::test_bed::{Load, TestBed};
use sledsim_testing::tiers::size;

/// Operations of each case; enough to detect a drive that loses one write in a hundred.
fn operations() -> u64 {
    size(3_000, MOST)
}

/// Operations during which all failures and rebuilds take place.
const MOST: u64 = 1_000_000;

/// Blocks of every system under test.
const BLOCKS: u64 = 72;

/// Overlapping requests of a few blocks, at rates above and below the service rate of drives of 0.1 ms.
const LOAD: Load = Load { span_blocks: BLOCKS, most_blocks: 3, writes: 0.55, gap_ns: 150_000, outstanding: 4 };

/// A test bed over a system given as JSON, with additional components between its own.
fn bed(system: &Value, between: Between<'_>) -> TestBed {
    let spec: SystemSpec = serde_json::from_value(system.clone()).unwrap_or_else(|error| panic!("{error}\n{system:#}"));
    let system = assemble(&spec, 1, between).unwrap_or_else(|error| panic!("{error}\n{system:#}"));
    TestBed::new(system, 7)
}

/// A system under test.
struct Case {
    name: String,
    document: Value,
}

/// Returns systems of every kind alone and over every other.
fn cases() -> Vec<Case> {
    let kinds = kinds::all();
    let case = |name: String, mut document: Value| {
        kinds::hurry(&mut document, MOST as f64 / operations() as f64);
        Case { name, document }
    };
    let alone = kinds.iter().map(|kind| case(kind.clone(), kinds::over(kind, BLOCKS, &kinds::drive)));
    let pair = |outer: &String, inner: &String| {
        let below = |blocks| kinds::over(inner, blocks, &kinds::drive);
        case(format!("{outer} over {inner}"), kinds::over(outer, BLOCKS, &below))
    };
    let composite: Vec<&String> = kinds.iter().filter(|kind| *kind != "drive").collect();
    let pairs = composite.iter().flat_map(|outer| composite.iter().map(move |inner| pair(outer, inner)));
    alone.chain(pairs).collect()
}

/// Runs random operations, with an idle period after every thousand. Stops at the first error.
fn operate(bed: &mut TestBed) {
    for _ in 0..operations() / 1000 {
        bed.operate(1000, &LOAD);
        bed.settle();
        bed.idle(5_000_000);
        if !bed.wrong.is_empty() {
            return;
        }
    }
    bed.read_all();
}

fn check(Case { name, document }: &Case) {
    let mut bed = bed(document, &mut |_, id, _| id);
    assert!(bed.capacity_blocks() >= BLOCKS, "{name}");
    operate(&mut bed);
    assert!(bed.wrong.is_empty(), "{name}: {:?}", bed.wrong.first());
    assert!(bed.lost.is_empty(), "{name}: {:?}", bed.lost);
    assert!(bed.checked > operations() / 2, "{name}: {} blocks", bed.checked);
    let failed_by_s = kinds::FAILED_BY_S * operations() as f64 / MOST as f64;
    assert!(bed.system.now().seconds() > failed_by_s, "{name}: over before the last member fails");
}

#[test]
fn every_component_returns_written_data() {
    cases().par_iter().for_each(check);
}

/// One write in a hundred is lost at a drive; the tests detect it in every system.
#[test]
fn writes_lost_by_drives_are_detected() {
    cases().par_iter().for_each(|Case { name, document }| {
        let mut bed = bed(document, &mut |system, id, _| {
            let is_drive = system.children(id).next().is_none();
            if is_drive {
                BuggyComponent::over(system, id, Bug::LoseWrites { every: 100 })
            } else {
                id
            }
        });
        operate(&mut bed);
        assert!(!bed.wrong.is_empty(), "{name}: nothing was found wrong");
    });
}
