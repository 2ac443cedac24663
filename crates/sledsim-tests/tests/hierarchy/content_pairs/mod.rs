//! What is read is what was written: a million random operations for every kind of component that scenarios know and for every
//! kind over every kind, or a few thousand, through failures, rebuilds, latent errors, idle periods and full buffers.
//!
//! Kinds come from the schema: a new one fails these tests until [`kinds::over`] says how to build it.

use rayon::prelude::*;
use serde_json::Value;
use sledsim::scenario::testing::{assemble, Between};
use sledsim::scenario::SystemSpec;
use sledsim_testing::buggy_component::{Bug, BuggyComponent};
use sledsim_testing::kinds;
use sledsim_testing::test_bed::{Load, TestBed};
use sledsim_testing::tiers::size;

/// Operations of each case; so few find every drive that loses a write in a hundred.
fn operations() -> u64 {
    size(3_000, MOST)
}

/// Operations in whose time all that is to fail does so, and is rebuilt.
const MOST: u64 = 1_000_000;

/// Blocks of every system under test.
const BLOCKS: u64 = 72;

/// Overlapping requests of a block or a few, at times more than drives of 0.1 ms bear and at times fewer.
const LOAD: Load = Load { span_blocks: BLOCKS, most_blocks: 3, writes: 0.55, gap_ns: 150_000, outstanding: 4 };

/// A test bed over a system that is written out, with something between its components.
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

/// Every kind alone and over every other.
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

/// So many random operations, with an idle period after every thousand; ends early when something is found wrong.
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

/// Every drive loses one write in a hundred: wherever it is, it is found.
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
