//! Merging and batches do not change the data that is read and written, compared with a memory of blocks.
//!
//! A request takes effect when it is dispatched; members of one dispatch take effect in their order. With FCFS, every read returns
//! the data of a serial run. Policies may reorder requests, but a request that is merged with the picked one never passes an older
//! request that overlaps it if either is a write.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use sledsim::devices::Mechanism;
use sledsim::request::{Op, Request};
use sledsim::scenario::{self, DeviceSpec};
use sledsim::schedulers::fcfs;
use sledsim_testing::merging::{any_merge, any_mix, any_policy, requests, run_drive, Grouping, Mix};
use sledsim_testing::scenarios;
use sledsim_testing::tiers::{cases, size};

/// The last writer of each block.
type Memory = BTreeMap<u64, u64>;

/// The data of every read, by id, if `requests` take effect in this order, and the final memory.
fn effects<'a>(requests: impl Iterator<Item = &'a Request>) -> (BTreeMap<u64, Vec<Option<u64>>>, Memory) {
    let (mut returned, mut memory) = (BTreeMap::new(), Memory::new());
    for request in requests {
        let blocks = request.lbn..request.end_lbn();
        match request.op {
            Op::Read => {
                returned.insert(request.id, blocks.map(|lbn| memory.get(&lbn).copied()).collect());
            }
            Op::Write | Op::Flush | Op::Reset => memory.extend(blocks.map(|lbn| (lbn, request.id))),
        }
    }
    (returned, memory)
}

fn conflict(one: &Request, other: &Request) -> bool {
    (one.op == Op::Write || other.op == Op::Write) && one.lbn < other.end_lbn() && other.lbn < one.end_lbn()
}

/// A merged request and an older conflicting request that it passed.
fn overtaking(dispatches: &[Vec<Request>]) -> Option<(Request, Request)> {
    for (index, members) in dispatches.iter().enumerate() {
        let rest = || dispatches[index + 1..].iter().flatten();
        for (place, joined) in members.iter().enumerate().skip(1) {
            if let Some(&waited) = rest().find(|it| it.id < joined.id && conflict(it, joined)) {
                return Some((*joined, waited));
            }
            if let Some(&member) = members[..place].iter().find(|it| conflict(it, joined)) {
                return Some((*joined, member));
            }
        }
    }
    None
}

fn device(spec: &DeviceSpec) -> Box<dyn Mechanism> {
    scenario::device(spec).unwrap_or_else(|error| panic!("{error}"))
}

fn any_device() -> impl Strategy<Value = DeviceSpec> {
    let names = ["g1", "g2", "g3", "atlas10k", "travelstar", "simpledisk-linear"].map(scenarios::device_spec).to_vec();
    prop::sample::select(names)
}

fn any_grouping() -> impl Strategy<Value = Grouping> {
    prop_oneof![
        4 => any_merge().prop_map(Grouping::Merge),
        1 => prop_oneof![2_usize..5, Just(100)].prop_map(Grouping::Batch),
    ]
}

/// Random requests with few blocks and many writes, so that requests overlap.
fn crowded_mix() -> impl Strategy<Value = Mix> {
    (any_mix(), prop_oneof![Just(40_u64), Just(300), Just(3_000)]).prop_map(|(mix, area_blocks)| Mix {
        area_blocks,
        most_blocks: mix.most_blocks.min(60),
        ..mix
    })
}

proptest! {
    #![proptest_config(cases(size(300, 4_000)))]

    #[test]
    fn fcfs_reads_return_the_data_of_a_serial_run(
        spec in any_device(), together in any_grouping(), mix in crowded_mix(),
    ) {
        let all = requests(&mix, device(&spec).as_ref());
        let ran = run_drive(device(&spec), fcfs::POLICY.default, together, &all);
        let dispatched: Vec<&Request> = ran.dispatches.iter().flat_map(|dispatch| &dispatch.requests).collect();
        prop_assert_eq!(dispatched.len(), all.len());
        prop_assert_eq!(effects(dispatched.into_iter()), effects(all.iter()));
    }

    #[test]
    fn merged_requests_do_not_pass_overlapping_requests(
        spec in any_device(), policy in any_policy(), together in any_grouping(), mix in crowded_mix(),
    ) {
        let all = requests(&mix, device(&spec).as_ref());
        let ran = run_drive(device(&spec), policy, together, &all);
        let dispatches: Vec<Vec<Request>> = ran.dispatches.into_iter().map(|dispatch| dispatch.requests).collect();
        prop_assert_eq!(dispatches.iter().map(Vec::len).sum::<usize>(), all.len());
        prop_assert_eq!(overtaking(&dispatches), None);
    }
}

/// A faulty merge: in an FCFS queue, it merges adjacent requests without a check of the requests between them.
fn careless(requests: &[Request]) -> Vec<Vec<Request>> {
    let mut queue: VecDeque<Request> = requests.iter().copied().collect();
    let mut dispatches = Vec::new();
    while let Some(first) = queue.pop_front() {
        let joins = |it: &Request| it.op == first.op && (it.lbn == first.end_lbn() || it.end_lbn() == first.lbn);
        let place = queue.iter().position(joins);
        let joined = place.and_then(|place| queue.remove(place));
        dispatches.push([first].into_iter().chain(joined).collect());
    }
    dispatches
}

/// The checks above detect merges that pass overlapping requests.
#[test]
fn merges_past_overlapping_requests_are_detected() {
    let spec = scenarios::device_spec("g2");
    let (mut overtook, mut went_wrong) = (0, 0);
    let seeds = size(40, 400);
    for seed in 0..seeds {
        let mix = Mix {
            seed,
            count: 40,
            gap_ns: 0,
            streams: 3,
            shares: [0.5, 0.3, 0.0],
            read_fraction: 0.5,
            most_blocks: 16,
            area_blocks: 300,
            spare_fraction: 0.0,
        };
        let all = requests(&mix, device(&spec).as_ref());
        let dispatches = careless(&all);
        overtook += u32::from(overtaking(&dispatches).is_some());
        went_wrong += u32::from(effects(dispatches.iter().flatten()) != effects(all.iter()));
    }
    assert!(overtook > seeds as u32 / 4 && went_wrong > seeds as u32 / 4, "{overtook} overtake, {went_wrong} go wrong");
}
