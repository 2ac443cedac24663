//! The rules of request merging (that of Lin et al. 2002 and others) and its reports.

use serde_json::{json, Value};
use sledsim::devices::{Mechanism, State};
use sledsim::hierarchy::MergeSpec;
use sledsim::limits::BATCH_BLOCKS;
use sledsim::request::{Op, Request};
use sledsim::scenario::{self, DeviceSpec};
use sledsim::schedulers::{fcfs, SchedulerSpec, POLICIES};
use sledsim_testing::merging::{blank, run_drive, Grouping, Ran};
use sledsim_testing::scenarios;

const FCFS: SchedulerSpec = fcfs::POLICY.default;
const LIN2002: MergeSpec = MergeSpec { requests: 2, anywhere: false, writes: false, rows: false, mixed: false };
const EVERYTHING: MergeSpec = MergeSpec { requests: 1000, anywhere: true, writes: true, rows: true, mixed: false };

fn device(name: &str) -> Box<dyn Mechanism> {
    scenario::device(&scenarios::device_spec(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// Simultaneous requests as `(operation, first block, blocks)`. The first is dispatched before the others arrive; the queue behind it
/// is tested.
fn queue(requests: &[(Op, u64, u32)]) -> Vec<Request> {
    let first = [(Op::Read, 2_000_000, 1)];
    let all = first.iter().chain(requests);
    (0..).zip(all).map(|(id, &(op, lbn, blocks))| Request { op, lbn, blocks, ..blank(id) }).collect()
}

/// Returns the requests that are dispatched together after the first, on a second-generation sled. Further requests all
/// over the device are queued, so that the next position of the sled is known.
fn dispatched(merge: MergeSpec, requests: &[(Op, u64, u32)]) -> Vec<Vec<u64>> {
    let waiting = (1..10).map(|place| (Op::Read, 700_000 * place, 1));
    let all: Vec<(Op, u64, u32)> = requests.iter().copied().chain(waiting).collect();
    let ran = run_drive(device("g2"), FCFS, Grouping::Merge(merge), &queue(&all));
    let dispatched = ids(&ran);
    assert!(dispatched[dispatched.len() - 9..].iter().all(|members| members.len() == 1));
    dispatched[1..dispatched.len() - 9].to_vec()
}

fn ids(ran: &Ran) -> Vec<Vec<u64>> {
    ran.dispatches.iter().map(|dispatch| dispatch.requests.iter().map(|request| request.id).collect()).collect()
}

const R: Op = Op::Read;
const W: Op = Op::Write;

#[test]
fn a_read_that_continues_another_is_merged_with_it() {
    assert_eq!(dispatched(LIN2002, &[(R, 80, 8), (R, 88, 8)]), [vec![1, 2]]);
    // At most two in a dispatch, so each pair is separate.
    let four = [(R, 80, 2), (R, 82, 2), (R, 84, 2), (R, 86, 2)];
    assert_eq!(dispatched(LIN2002, &four), [[1, 2], [3, 4]]);
    assert_eq!(dispatched(MergeSpec { requests: 3, ..LIN2002 }, &four), [vec![1, 2, 3], vec![4]]);
    assert_eq!(dispatched(MergeSpec { requests: 9, ..LIN2002 }, &four), [[1, 2, 3, 4]]);
    // Backwards, with a gap, overlapping, writes, different kinds.
    for pair in [
        [(R, 88, 8), (R, 80, 8)],
        [(R, 80, 8), (R, 89, 8)],
        [(R, 80, 8), (R, 87, 8)],
        [(W, 80, 8), (W, 88, 8)],
        [(R, 80, 8), (W, 88, 8)],
        [(W, 80, 8), (R, 88, 8)],
    ] {
        assert_eq!(dispatched(LIN2002, &pair), [[1], [2]], "{pair:?}");
    }
    // Requests that are not adjacent.
    assert_eq!(dispatched(LIN2002, &[(R, 80, 8), (R, 9_000, 1), (R, 88, 8)]), [[1], [2], [3]]);
}

/// The number of merged blocks is limited; a single request may be longer.
#[test]
fn merging_stops_at_the_block_limit() {
    let half = (BATCH_BLOCKS.most / 2) as u32;
    let everything = MergeSpec { anywhere: true, ..EVERYTHING };
    for merge in [LIN2002, everything] {
        let pair = |blocks| [(R, 80, half), (R, 80 + u64::from(half), blocks)];
        assert_eq!(dispatched(merge, &pair(half)), [vec![1, 2]]);
        assert_eq!(dispatched(merge, &pair(half + 1)), [[1], [2]]);
        assert_eq!(dispatched(merge, &[(R, 80, 5 * half), (R, 80 + 5 * u64::from(half), 1)]), [[1], [2]]);
    }
    let all = [(R, 2_000_000, 1), (R, 0, half), (R, 10, half), (R, 20, 8), (R, 5, 2 * half)];
    let requests: Vec<Request> =
        (0..).zip(all).map(|(id, (op, lbn, blocks))| Request { op, lbn, blocks, ..blank(id) }).collect();
    assert_eq!(
        ids(&run_drive(device("g2"), FCFS, Grouping::Batch(4), &requests)),
        [vec![0], vec![1, 2], vec![3], vec![4]]
    );
}

#[test]
fn the_anywhere_rule_merges_non_adjacent_requests_on_both_sides() {
    let anywhere = MergeSpec { anywhere: true, ..LIN2002 };
    assert_eq!(dispatched(anywhere, &[(R, 80, 8), (R, 9_000, 1), (R, 88, 8)]), [vec![1, 3], vec![2]]);
    assert_eq!(dispatched(anywhere, &[(R, 88, 8), (R, 9_000, 1), (R, 80, 8)]), [vec![1, 3], vec![2]]);
    assert_eq!(dispatched(anywhere, &[(R, 88, 8), (R, 80, 8)]), [[1, 2]]);
    let chain = MergeSpec { requests: 16, ..anywhere };
    let scattered = [(R, 88, 2), (R, 92, 2), (R, 9_000, 1), (R, 86, 2), (R, 90, 2)];
    assert_eq!(dispatched(chain, &scattered), [vec![1, 5, 2, 4], vec![3]]);
}

#[test]
fn requests_do_not_pass_overlapping_requests() {
    let anywhere = MergeSpec { anywhere: true, writes: true, requests: 16, ..LIN2002 };
    // Between the reads, a write to a block of the second read is queued; then a write to another block.
    assert_eq!(dispatched(anywhere, &[(R, 80, 8), (W, 95, 1), (R, 88, 8)]), [[1], [2], [3]]);
    assert_eq!(dispatched(anywhere, &[(R, 80, 8), (W, 96, 1), (R, 88, 8)]), [vec![1, 3], vec![2]]);
    // Likewise a read before a write, and a write before a write.
    assert_eq!(dispatched(anywhere, &[(W, 80, 8), (R, 95, 1), (W, 88, 8)]), [[1], [2], [3]]);
    assert_eq!(dispatched(anywhere, &[(W, 80, 8), (W, 90, 1), (W, 88, 8)]), [[1], [2], [3]]);
    // Reads pass reads.
    assert_eq!(dispatched(anywhere, &[(R, 80, 8), (R, 90, 1), (R, 88, 8)])[0], [1, 3]);
}

#[test]
fn writes_are_merged_with_writes() {
    let writes = MergeSpec { writes: true, ..LIN2002 };
    assert_eq!(dispatched(writes, &[(W, 80, 8), (W, 88, 8)]), [[1, 2]]);
    assert_eq!(dispatched(writes, &[(R, 80, 8), (R, 88, 8)]), [[1, 2]]);
    assert_eq!(dispatched(writes, &[(W, 80, 8), (R, 88, 8)]), [[1], [2]]);
}

#[test]
fn reads_and_writes_are_merged_on_sleds_that_do_both() {
    let mixed = MergeSpec { mixed: true, ..LIN2002 };
    assert_eq!(dispatched(mixed, &[(W, 80, 8), (R, 88, 8)]), [[1, 2]]);
    assert_eq!(dispatched(mixed, &[(R, 80, 8), (W, 88, 8)]), [[1, 2]]);
    assert_eq!(dispatched(mixed, &[(W, 80, 8), (W, 88, 8)]), [[1, 2]]);
    // Overlapping requests are not merged, and no request passes an overlapping one.
    assert_eq!(dispatched(mixed, &[(W, 80, 8), (R, 87, 8)]), [[1], [2]]);
    let widely = MergeSpec { anywhere: true, requests: 16, ..mixed };
    assert_eq!(dispatched(widely, &[(R, 80, 8), (W, 95, 1), (R, 88, 8)]), [[1], [2], [3]]);
    assert_eq!(dispatched(widely, &[(R, 80, 8), (R, 95, 1), (W, 88, 8)]), [[1], [2], [3]]);
    assert_eq!(dispatched(widely, &[(R, 88, 8), (R, 9_000, 1), (W, 96, 8), (W, 80, 8)]), [vec![1, 3, 4], vec![2]]);
}

/// A read and a write of different tips in one row take one seek and one pass, in either order.
#[test]
fn a_row_is_read_and_written_in_one_pass() {
    let merge = MergeSpec { requests: 2, mixed: true, rows: true, ..LIN2002 };
    let ran = |queued: &[(Op, u64, u32)]| run_drive(device("g2"), FCFS, Grouping::Merge(merge), &queue(queued));
    let (alone, both) = (ran(&[(R, 80, 4)]), ran(&[(R, 80, 2), (W, 82, 2)]));
    assert_eq!(ids(&both), [vec![0], vec![1, 2]]);
    // Written data are transferred before their pass or during an earlier one.
    assert!(both.finished <= alone.finished);
    for state in [State::Seek, State::Servo, State::Data].map(|state| state as usize) {
        assert_eq!(both.measured.ledger.energy_j[state], alone.measured.ledger.energy_j[state]);
    }
    let plain = run_drive(device("g2"), FCFS, Grouping::Not, &queue(&[(R, 80, 2), (W, 82, 2)]));
    assert!(both.measured.ledger.total_j() < plain.measured.ledger.total_j());
}

/// A disk has one head and cannot read while it writes.
#[test]
fn a_disk_does_not_read_while_it_writes() {
    let merge = MergeSpec { mixed: true, ..LIN2002 };
    for name in ["atlas10k", "simpledisk-linear"] {
        let ran = run_drive(device(name), FCFS, Grouping::Merge(merge), &queue(&[(R, 80, 8), (W, 88, 8), (W, 96, 8)]));
        assert!(ids(&ran).iter().all(|members| members.len() == 1), "{name}");
    }
}

#[test]
fn requests_of_one_row_are_merged_on_different_tips() {
    let device = device("g2");
    let one = Request { lbn: 5_000, ..blank(0) };
    let mut far = 0;
    let mut look =
        |range: std::ops::Range<u64>| far = if range.start.abs_diff(5_000) > 100 { range.start } else { far };
    device.batch_access().expect("rows are shared").for_each_companion(&one, &mut look);
    assert!(far > 0, "other tips have blocks of the same row");
    let pair = [(R, 5_000, 2), (R, far, 2)];
    assert_eq!(dispatched(LIN2002, &pair), [[1], [2]]);
    assert_eq!(dispatched(MergeSpec { rows: true, ..LIN2002 }, &pair), [[1, 2]]);
    let apart = [(R, 5_000, 2), (R, 90_000, 1), (R, far, 2)];
    assert_eq!(dispatched(MergeSpec { rows: true, ..LIN2002 }, &apart), [[1], [2], [3]]);
    assert_eq!(dispatched(MergeSpec { rows: true, anywhere: true, ..LIN2002 }, &apart), [vec![1, 3], vec![2]]);
    // Blocks requested twice are read once, in the time and with the energy of one read.
    let [once, twice] = [&[(R, 5_000, 2)][..], &[(R, 5_000, 2), (R, 5_000, 2)]].map(|requests| {
        let ran = run_drive(self::device("g2"), FCFS, Grouping::Merge(EVERYTHING), &queue(requests));
        (ran.finished, ran.measured.ledger.total_j())
    });
    assert_eq!(once, twice);
}

#[test]
fn merged_requests_complete_at_different_times() {
    let parts: Vec<(Op, u64, u32)> = (0..20).map(|part| (R, 40_000 + 60 * part, 60)).collect();
    let all = queue(&parts);
    let merge = MergeSpec { requests: 1000, ..LIN2002 };
    let ran = run_drive(device("g2"), FCFS, Grouping::Merge(merge), &all);
    assert_eq!(ids(&ran)[1].len(), 20);
    let ends: Vec<_> = ran.heard.iter().filter(|(request, _)| request.id > 0).map(|(_, service)| service.end).collect();
    assert!(ends.is_sorted() && ends[0] < ends[19], "in the order in which the sled comes by");
    let plain = run_drive(device("g2"), FCFS, Grouping::Not, &all);
    assert!(ran.finished < plain.finished);
    assert!(ran.measured.ledger.total_j() < plain.measured.ledger.total_j());
}

/// A disk reads contiguous requests as one: they end together, no later than if served one by one.
#[test]
fn disks_merge_contiguous_requests() {
    for name in ["atlas10k", "travelstar", "simpledisk-constant", "simpledisk-linear"] {
        let requests = queue(&[(R, 800, 8), (R, 9_000, 1), (R, 808, 8), (R, 816, 8), (R, 809, 1)]);
        let merge = MergeSpec { requests: 8, anywhere: true, writes: true, rows: true, mixed: false };
        let ran = run_drive(device(name), FCFS, Grouping::Merge(merge), &requests);
        assert_eq!(ids(&ran), [vec![0], vec![1, 3, 4], vec![2], vec![5]], "{name}");
        let services: Vec<_> =
            [1, 3, 4].map(|id| ran.heard.iter().find(|(request, _)| request.id == id).expect("served").1).to_vec();
        assert!(services.iter().all(|service| (service.end, service.phases) == (services[0].end, services[0].phases)));
        assert_eq!(services[0].phases.service_ns(), services[0].end - services[0].start, "{name}");
        let plain = run_drive(device(name), FCFS, Grouping::Not, &requests);
        assert!(ran.finished <= plain.finished, "{name}");
    }
}

#[test]
fn every_policy_serves_each_request_once() {
    let requests: Vec<Request> = (0..300)
        .map(|id| {
            let op = if id % 5 == 0 { W } else { R };
            Request { op, lbn: id * 7_919 % 50 * 8 + 40_000, blocks: 8, ..blank(id) }
        })
        .collect();
    for policy in POLICIES {
        for merge in [LIN2002, EVERYTHING] {
            let ran = run_drive(device("g2"), policy.default, Grouping::Merge(merge), &requests);
            let mut served: Vec<u64> = ran.heard.iter().map(|(request, _)| request.id).collect();
            served.sort_unstable();
            assert_eq!(served, (0..300).collect::<Vec<u64>>(), "{}", policy.name);
            let together: Vec<usize> = ids(&ran).iter().map(Vec::len).filter(|&members| members > 1).collect();
            assert_eq!(ran.measured.together_accesses, together.len() as u64);
            assert_eq!(ran.measured.together_requests, together.iter().sum::<usize>() as u64);
            assert!(ran.measured.together_requests > 20 || merge == LIN2002, "{}", policy.name);
        }
    }
}

fn sequential(system: &Value) -> Value {
    json!({
        "seed": 5,
        "workload": {
            "arrival": {"kind": "poisson", "rate_per_s": 1400.0},
            "location": {"kind": "sequential"},
            "size_bytes": {"kind": "fixed", "value": 8192.0},
        },
        "system": system,
        "run": {"requests": 4000},
    })
}

#[test]
fn reports_count_merged_requests() {
    let report = |system: &Value| scenarios::run(&scenarios::resolved(&sequential(system))).report;
    let plain = report(&json!({"device": "g2"}));
    assert_eq!((plain.requests.merged, plain.requests.merged_accesses), (0, 0));
    let merged = report(&json!({"device": "g2", "merge": {}}));
    let (requests, accesses) = (merged.requests.merged, merged.requests.merged_accesses);
    assert!(requests > 100 && requests == 2 * accesses, "{requests} requests in {accesses} accesses");
    let servicing = |report: &sledsim::scenario::Report| report.energy.as_ref().expect("powers are known").servicing_j;
    assert!(servicing(&merged) < servicing(&plain));
    let batches = report(&json!({"device": "g2", "batch_max": 4, "scheduler": "sptf"}));
    assert!(batches.requests.merged > 0, "batches are accesses of several requests too");
}

#[test]
fn merging_and_batches_exclude_each_other() {
    let error = scenarios::resolve(&sequential(&json!({"device": "g2", "merge": {}, "batch_max": 4}))).unwrap_err();
    for part in ["system.batch_max = 4", "system.merge", "leave one out"] {
        assert!(error.contains(part), "{error}");
    }
    for (merge, place) in [
        (json!({"requests": 1}), "system.merge.requests = 1"),
        (json!({"anywhere": 1}), "system.merge.anywhere = 1"),
        (json!({"row": true}), "system.merge.row"),
    ] {
        let error = scenarios::resolve(&sequential(&json!({"device": "g2", "merge": merge}))).unwrap_err();
        assert!(error.contains(place), "{error}");
    }
}

/// Merging does not change a run in which no request is queued.
#[test]
fn without_a_queue_merging_changes_nothing() {
    for spec in ["g2", "atlas10k"].map(scenarios::device_spec) {
        let fresh = |spec: &DeviceSpec| scenario::device(spec).unwrap_or_else(|error| panic!("{error}"));
        let apart: Vec<Request> = (0..200)
            .map(|id| Request { arrival: sledsim::time::Time::from_ns(id * 100_000_000), lbn: id * 8, ..blank(id) })
            .collect();
        let [plain, merged] = [Grouping::Not, Grouping::Merge(EVERYTHING)]
            .map(|together| run_drive(fresh(&spec), FCFS, together, &apart));
        assert_eq!(plain.heard, merged.heard);
        assert_eq!(plain.measured, merged.measured);
    }
}
