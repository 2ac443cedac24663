//! Exhaustive tests of the layouts of data and parity, and of the reads of writes.

use std::collections::BTreeSet;

use sledsim::hierarchy::array::plan::{plan, Availability, Method};
use sledsim::hierarchy::array::{Layout, Level, WriteMethod};
use sledsim::hierarchy::BlockRange;

use super::building::LEVELS;

/// Column names of a row by member: numbers of data units, P and Q.
fn row(layout: &Layout, row: u64) -> Vec<String> {
    let data = layout.data();
    let name = |member: usize| match layout.column(row, member) {
        column if column < data => (row * data as u64 + column as u64).to_string(),
        column if column >= layout.columns() => "spare".into(),
        column => ["P", "Q"][column - data].into(),
    };
    (0..layout.width()).map(name).collect()
}

#[test]
fn layouts_match_published_tables() {
    let raid5 = Layout::new(Level::Raid5, 5, 0, 1, 10);
    // Left-symmetric.
    assert_eq!(row(&raid5, 0), ["0", "1", "2", "3", "P"]);
    assert_eq!(row(&raid5, 1), ["5", "6", "7", "P", "4"]);
    assert_eq!(row(&raid5, 4), ["P", "16", "17", "18", "19"]);
    assert_eq!(row(&raid5, 5), ["20", "21", "22", "23", "P"]);
    let raid4 = Layout::new(Level::Raid4, 4, 0, 1, 10);
    assert!((0..10).all(|number| row(&raid4, number)[3] == "P"));
    assert_eq!(row(&raid4, 3), ["9", "10", "11", "P"]);
    let raid6 = Layout::new(Level::Raid6, 5, 0, 1, 10);
    assert_eq!(row(&raid6, 0), ["Q", "0", "1", "2", "P"]);
    assert_eq!(row(&raid6, 1), ["3", "4", "5", "P", "Q"]);
    let spared = Layout::new(Level::Raid5, 4, 1, 1, 10);
    assert_eq!(row(&spared, 0), ["0", "1", "2", "spare", "P"]);
}

#[test]
fn each_column_of_a_row_is_on_a_different_member() {
    for level in LEVELS {
        for columns in level.fewest_members()..9 {
            for spares in 0..3 {
                let layout = Layout::new(level, columns, if level == Level::Raid4 { 0 } else { spares }, 3, 30);
                for row in 0..if level == Level::Mirror { 1 } else { 30 } {
                    let members: BTreeSet<usize> = (0..layout.width()).map(|c| layout.member(row, c)).collect();
                    assert_eq!(members.len(), layout.width(), "{layout:?} row {row}");
                    assert!((0..layout.width()).all(|c| layout.column(row, layout.member(row, c)) == c));
                }
            }
        }
    }
}

#[test]
fn requests_are_split_into_spans_that_cover_them() {
    for level in LEVELS {
        let layout = Layout::new(level, 5, 0, 4, 6);
        for (lbn, blocks) in (0..40).flat_map(|lbn| (1..30).map(move |blocks| (lbn, blocks))) {
            let blocks = blocks.min(layout.capacity_blocks() - lbn.min(layout.capacity_blocks() - 1));
            let lbn = lbn.min(layout.capacity_blocks() - 1);
            let mut next = lbn;
            for span in layout.spans(lbn, blocks) {
                let row_blocks = layout.unit_blocks() * layout.data() as u64;
                assert_eq!((span.row * row_blocks + span.begin, span.first), (next, next - lbn));
                // The span covers the accessed blocks of the row exactly.
                let BlockRange { from, to } = layout.hull(span);
                let touched: BTreeSet<u64> = layout.pieces(span).flat_map(|piece| piece.from..piece.to).collect();
                assert_eq!(touched, (from..to).collect(), "{span:?}");
                assert_eq!(layout.pieces(span).map(|piece| piece.to - piece.from).sum::<u64>(), span.end - span.begin);
                next += span.end - span.begin;
            }
            assert_eq!(next, lbn + blocks);
        }
    }
}

/// Writes of k whole units of n: read-modify-write takes 2(k + m) accesses, reconstruction n + m.
#[test]
fn writes_of_whole_units_use_the_cheaper_method() {
    for (level, parities) in [(Level::Raid5, 1), (Level::Raid6, 2)] {
        for n in 2..=16_usize {
            let layout = Layout::new(level, n + parities, 0, 8, 4);
            let all = Availability { readable: vec![true; n + parities], writable: vec![true; n + parities] };
            for k in 1..=n {
                let span = layout.spans(0, 8 * k as u64).next().expect("a span");
                let accesses = |wanted| {
                    let plan = plan(&layout, span, &all, wanted).expect("nothing is lost");
                    (plan.reads.len() + plan.writes.len(), plan.method)
                };
                let full = if k == n { Method::Full } else { Method::Reconstruct };
                assert_eq!(accesses(WriteMethod::Rmw), (2 * (k + parities), Method::ReadModifyWrite));
                assert_eq!(accesses(WriteMethod::Reconstruct), (n + parities, full), "{k} of {n}");
                let cheaper = if 2 * (k + parities) <= n + parities { Method::ReadModifyWrite } else { full };
                assert_eq!(accesses(WriteMethod::Cost), ((2 * (k + parities)).min(n + parities), cheaper));
            }
        }
    }
}

/// For any set of lost columns, a plan reads only readable columns, and a plan exists as long as the redundancy
/// suffices.
#[test]
fn read_plans_exist_while_redundancy_is_left() {
    for (level, columns, parities) in [(Level::Mirror, 3, 2), (Level::Raid5, 4, 1), (Level::Raid6, 5, 2)] {
        let layout = Layout::new(level, columns, 0, 4, 1);
        for lost in 0..1_u32 << columns {
            let there: Vec<bool> = (0..columns).map(|column| lost >> column & 1 == 0).collect();
            let available = Availability { readable: there.clone(), writable: there.clone() };
            let capacity = layout.capacity_blocks();
            for (lbn, blocks) in (0..capacity).flat_map(|lbn| (1..=capacity - lbn).map(move |blocks| (lbn, blocks))) {
                for span in layout.spans(lbn, blocks) {
                    for wanted in [WriteMethod::Cost, WriteMethod::Rmw, WriteMethod::Reconstruct] {
                        let plan = plan(&layout, span, &available, wanted);
                        assert!(plan.is_some() || lost.count_ones() > parities, "{span:?} {lost:b}");
                        let Some(plan) = plan else { continue };
                        assert!(plan.reads.iter().chain(&plan.writes).all(|access| there[access.column]));
                        assert!(plan
                            .reads
                            .iter()
                            .all(|read| read.range.from < read.range.to && read.range.to <= layout.unit_blocks()));
                    }
                }
            }
        }
    }
}
