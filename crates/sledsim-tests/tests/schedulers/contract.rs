//! Contract of all policies of the registry, and each against an exhaustive search.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sledsim::devices::{Location, Mechanism};
use sledsim::request::Request;
use sledsim::schedulers::{
    asptf, build, clook, fcfs, look, sdf, sptf, sstf_lbn, vscan, zsptf, SchedulerSpec, POLICIES,
};
use sledsim::time::Time;
use sledsim_testing::sled::{read, Sled};
use sledsim_testing::tiers::{cases, size};

/// An operation on a scheduler.
#[derive(Clone, Debug)]
enum Step {
    /// Time passes and a request becomes ready.
    Push { lbn: u64, blocks: u32, after_ns: u64 },
    /// The next request is served.
    Pop,
    /// A request is taken by id; sometimes one that is not pending.
    Take { which: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<u64>(), 1_u32..4, prop_oneof![Just(0), 0_u64..2_000])
            .prop_map(|(lbn, blocks, after_ns)| Step::Push { lbn, blocks, after_ns }),
        3 => Just(Step::Pop),
        1 => (0_usize..20).prop_map(|which| Step::Take { which }),
    ]
}

/// Small sleds with coarse times and few positions, so that ties are common, with loose bounds and asymmetric seeks;
/// some with a platter.
fn any_sled() -> impl Strategy<Value = Sled> {
    let shape = (1_u32..40, 1_u32..5, 1_u32..4, any::<u32>(), any::<u32>());
    let times = (0_u64..1_000, 0_u64..900, prop_oneof![Just(1_u64), Just(100), Just(1_000)], 0_u64..1_500);
    let motion = (0.2_f64..5.0, 0.2_f64..5.0, 0.0_f64..2.0, any::<bool>(), -3.0_f64..3.0);
    let turns = prop_oneof![Just(0), 1_u64..20, Just(1_000), 1_u64..5_000];
    (shape, times, motion, turns).prop_map(|(shape, times, motion, revolution_ns)| {
        let (cylinders, rows, blocks_per_row, cylinder, slot) = shape;
        let (settle_ns, row_ns, quantum_ns, bound_slack_ns) = times;
        let (up, down, row_pitch_pm, mirrored, offset) = motion;
        Sled {
            cylinders,
            rows,
            blocks_per_row,
            settle_ns,
            cylinder_pitch_m: 2.5e-13,
            row_pitch_m: row_pitch_pm * 1e-12,
            accelerations_m_s2: (up, down),
            row_ns,
            quantum_ns,
            bound_slack_ns,
            revolution_ns,
            mirrored,
            at: Location { cylinder: cylinder % cylinders, slot: slot % rows },
            // Rounded so that positions midway between two cylinders occur, where distances tie.
            offset: (offset * 2.0).round() / 2.0,
            ..Sled::mems()
        }
    })
}

/// Policies with a reference, and random parameters.
fn any_spec() -> impl Strategy<Value = SchedulerSpec> {
    let policies: Vec<SchedulerSpec> =
        POLICIES.iter().map(|policy| policy.default).filter(|spec| Exhaustive::rule(spec).is_some()).collect();
    let parameters =
        (prop_oneof![Just(0.0), Just(1.0), 0.0_f64..=1.0], prop_oneof![Just(0.0), Just(1.0), 0.0_f64..2.0], 1_u32..12);
    (prop::sample::select(policies), parameters).prop_map(|(policy, (r, weight, zones))| match policy {
        SchedulerSpec::Vscan(_) => SchedulerSpec::Vscan(vscan::Spec { r }),
        SchedulerSpec::Asptf(_) => SchedulerSpec::Asptf(asptf::Spec { weight }),
        SchedulerSpec::Zsptf(_) => SchedulerSpec::Zsptf(zsptf::Spec { zones }),
        other => other,
    })
}

/// A pending request of the exhaustive search: the list of them is in order of arrival.
#[derive(Clone, Copy)]
struct Pending {
    ready: Time,
    request: Request,
}

/// A policy by its definition: a search of all pending requests.
struct Exhaustive {
    rule: Rule,
    spec: serde_json::Value,
    pending: Vec<Pending>,
    head_lbn: u64,
    ascending: bool,
    zone: u64,
}

/// Returns the index of the request that a policy picks.
type Rule = fn(&mut Exhaustive, Time, &Sled) -> Option<usize>;

/// The definitions of policies. A policy without one is only tested against the contract of all policies.
const RULES: [(&str, Rule); 9] = [
    ("fcfs", |search, _, _| search.least(|_| Some(0.0))),
    ("sstf_lbn", |search, _, _| search.least(|it| Some(search.distance(it)))),
    ("clook", |search, _, _| {
        search
            .least(|it| (it.request.lbn >= search.head_lbn).then_some(it.request.lbn as f64))
            .or_else(|| search.least(|it| Some(it.request.lbn as f64)))
    }),
    ("look", |search, _, _| {
        search
            .least(|it| search.lies_ahead(it.request.lbn).then(|| search.distance(it)))
            .or_else(|| search.least(|it| Some(search.distance(it))))
    }),
    ("vscan", |search, _, sled| {
        let penalty = search.parameter("r") * sled.dimensions().capacity_blocks as f64;
        search.least(|it| Some(search.distance(it) + if search.lies_ahead(it.request.lbn) { 0.0 } else { penalty }))
    }),
    ("sptf", |search, now, sled| search.least(|it| Some(positioning_ns(it, now, sled)))),
    ("asptf", |search, now, sled| {
        let weight = search.parameter("weight");
        search.least(|it| Some(positioning_ns(it, now, sled) - weight * (now - it.ready) as f64))
    }),
    ("sdf", |search, now, sled| {
        let at = sled.position_m(now);
        search.least(|it| {
            let to = sled.coordinates_m(sled.locate(&it.request));
            Some((to.x_m - at.x_m) * (to.x_m - at.x_m) + (to.y_m - at.y_m) * (to.y_m - at.y_m))
        })
    }),
    ("zsptf", |search, now, sled| {
        let zones = search.parameter("zones") as u32;
        search.next_in_zone(zones, now, sled)
    }),
];

impl Exhaustive {
    fn new(spec: SchedulerSpec) -> Self {
        let rule = Self::rule(&spec).expect("a policy with a definition");
        let spec = serde_json::to_value(spec).expect("a table");
        Self { rule, spec, pending: Vec::new(), head_lbn: 0, ascending: true, zone: 0 }
    }

    fn rule(spec: &SchedulerSpec) -> Option<Rule> {
        RULES.iter().find(|(name, _)| *name == spec.name()).map(|&(_, rule)| rule)
    }

    fn parameter(&self, key: &str) -> f64 {
        self.spec[key].as_f64().expect("a number")
    }

    fn distance(&self, it: &Pending) -> f64 {
        it.request.lbn.abs_diff(self.head_lbn) as f64
    }

    /// Returns the index of the request with the lowest cost, ignoring those without a cost. Ties go to the first.
    fn least(&self, cost: impl Fn(&Pending) -> Option<f64>) -> Option<usize> {
        let costs = self.pending.iter().enumerate().filter_map(|(i, it)| Some((i, cost(it)?)));
        costs.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
    }

    fn lies_ahead(&self, lbn: u64) -> bool {
        lbn == self.head_lbn || (lbn > self.head_lbn) == self.ascending
    }

    fn next_in_zone(&mut self, zones: u32, now: Time, sled: &Sled) -> Option<usize> {
        let (zones, cylinders) = (u64::from(zones.min(sled.cylinders)), u64::from(sled.cylinders));
        let zone_of = |it: &Pending| u64::from(sled.locate(&it.request).cylinder) * zones / cylinders;
        let zones_ahead = |it: &Pending| (zone_of(it) + zones - self.zone) % zones;
        let nearest = self.pending.iter().min_by_key(|it| zones_ahead(it))?;
        self.zone = zone_of(nearest);
        let zone = self.zone;
        self.least(|it| (zone_of(it) == zone).then(|| positioning_ns(it, now, sled)))
    }

    fn next(&mut self, now: Time, sled: &Sled) -> Option<usize> {
        let rule = self.rule;
        let chosen = rule(self, now, sled)?;
        let request = self.pending[chosen].request;
        if !self.lies_ahead(request.lbn) {
            self.ascending = !self.ascending;
        }
        self.head_lbn = request.end_lbn();
        Some(chosen)
    }
}

fn positioning_ns(it: &Pending, now: Time, sled: &Sled) -> f64 {
    sled.positioning_ns(now, sled.locate(&it.request)) as f64
}

/// Compares a scheduler with the exhaustive search over all steps; returns the ids in the order of service.
fn agree(spec: SchedulerSpec, mut sled: Sled, steps: &[Step]) -> Result<Vec<u64>, TestCaseError> {
    let mut scheduler = build(&spec, &sled);
    let mut reference = Exhaustive::new(spec);
    let mut now = Time::ZERO;
    let mut served = Vec::new();
    let drain = std::iter::repeat_n(&Step::Pop, steps.len() + 1);
    for (id, step) in (0..).zip(steps.iter().chain(drain)) {
        match *step {
            Step::Push { lbn, blocks, after_ns } => {
                now += after_ns;
                let lbn = lbn % sled.dimensions().capacity_blocks;
                let blocks = blocks.min((sled.dimensions().capacity_blocks - lbn) as u32);
                let request = read(id, now.ns(), lbn, blocks);
                scheduler.push(now, request, &sled);
                reference.pending.push(Pending { ready: now, request });
            }
            Step::Pop => {
                let expected = reference.next(now, &sled).map(|it| reference.pending.remove(it).request);
                prop_assert_eq!(scheduler.pop(now, &sled), expected);
                if let Some(request) = expected {
                    now = sled.serve(now, &request).free;
                    served.push(request.id);
                }
            }
            Step::Take { which } => {
                let gone = read(u64::MAX, now.ns(), 0, 1);
                prop_assert!(!scheduler.take(&gone, &sled));
                if let Some(&Pending { request, .. }) = reference.pending.get(which) {
                    reference.pending.remove(which);
                    prop_assert!(scheduler.take(&request, &sled));
                    prop_assert!(!scheduler.take(&request, &sled), "it was already removed");
                }
            }
        }
        prop_assert_eq!(scheduler.len(), reference.pending.len());
        prop_assert_eq!(scheduler.is_empty(), reference.pending.is_empty());
    }
    Ok(served)
}

proptest! {
    #![proptest_config(cases(size(600, 4_000)))]
    #[test]
    fn every_policy_equals_its_reference(
        spec in any_spec(),
        sled in any_sled(),
        steps in prop::collection::vec(step(), 1..120),
    ) {
        agree(spec, sled, &steps)?;
    }
}

proptest! {
    #![proptest_config(cases(60))]
    #[test]
    fn long_queues_equal_the_reference(
        spec in any_spec(),
        sled in any_sled(),
        lbns in prop::collection::vec(any::<u64>(), 300..600),
    ) {
        let pushes = lbns.iter().map(|&lbn| Step::Push { lbn, blocks: 1, after_ns: lbn % 100 });
        agree(spec, sled, &pushes.collect::<Vec<_>>())?;
    }
}

/// Returns scattered requests, the same ones for each call.
fn scattered(count: u64, sled: &Sled) -> Vec<Request> {
    (0..count).map(|id| read(id, 0, id * 2_654_435_761 % (sled.dimensions().capacity_blocks - 8), 8)).collect()
}

#[test]
fn each_request_is_served_exactly_once() {
    for policy in POLICIES {
        let mut sled = Sled::mems();
        let mut scheduler = build(&policy.default, &sled);
        let requests = scattered(2_000, &sled);
        let (mut served, mut now, mut pushed) = (BTreeSet::new(), Time::ZERO, 0);
        for chunk in requests.chunks(100) {
            for request in chunk {
                scheduler.push(now, *request, &sled);
                pushed += 1;
                assert_eq!(scheduler.len(), pushed - served.len(), "{}", policy.name);
            }
            for _ in 0..50 {
                let request = scheduler.pop(now, &sled).expect("requests are pending");
                assert_eq!(request, requests[request.id as usize], "{}", policy.name);
                assert!(served.insert(request.id), "{} served {} twice", policy.name, request.id);
                now = sled.serve(now, &request).free;
            }
        }
        while let Some(request) = scheduler.pop(now, &sled) {
            assert!(served.insert(request.id), "{} served {} twice", policy.name, request.id);
        }
        assert_eq!(served.len(), requests.len(), "{}", policy.name);
        assert!(scheduler.is_empty(), "{}", policy.name);
    }
}

#[test]
fn empty_scheduler_returns_none() {
    for policy in POLICIES {
        let sled = Sled::mems();
        let mut scheduler = build(&policy.default, &sled);
        let taken = scheduler.take(&read(0, 0, 77, 1), &sled);
        assert_eq!((scheduler.pop(Time::ZERO, &sled), scheduler.len(), taken), (None, 0, false), "{}", policy.name);
        scheduler.push(Time::ZERO, read(0, 0, 77, 1), &sled);
        assert_eq!(scheduler.pop(Time::ZERO, &sled).map(|it| it.lbn), Some(77), "{}", policy.name);
        assert_eq!(scheduler.pop(Time::ZERO, &sled), None, "{}", policy.name);
    }
}

#[test]
fn the_same_requests_are_served_in_the_same_order() {
    for policy in POLICIES {
        let run = || {
            let mut sled = Sled::mems();
            let mut scheduler = build(&policy.default, &sled);
            for request in scattered(500, &sled) {
                scheduler.push(Time::ZERO, request, &sled);
            }
            let mut now = Time::ZERO;
            std::iter::from_fn(|| {
                let request = scheduler.pop(now, &sled)?;
                now = sled.serve(now, &request).free;
                Some(request.id)
            })
            .collect::<Vec<_>>()
        };
        assert_eq!(run(), run(), "{}", policy.name);
    }
}

#[test]
fn take_removes_only_the_taken_request() {
    for policy in POLICIES {
        let mut sled = Sled::mems();
        let mut scheduler = build(&policy.default, &sled);
        let requests = scattered(100, &sled);
        for &request in &requests {
            scheduler.push(Time::ZERO, request, &sled);
        }
        let is_taken = |id: u64| id.is_multiple_of(3);
        for request in requests.iter().filter(|it| is_taken(it.id)) {
            assert!(scheduler.take(request, &sled), "{}", policy.name);
        }
        assert_eq!(scheduler.len(), 66, "{}", policy.name);
        let mut rest = BTreeSet::new();
        while let Some(request) = scheduler.pop(Time::ZERO, &sled) {
            sled.serve(Time::ZERO, &request);
            assert!(rest.insert(request.id), "{}", policy.name);
        }
        assert_eq!(rest, (0..100).filter(|&id| !is_taken(id)).collect(), "{}", policy.name);
    }
}

/// Returns the number of dispatches for which a request at the far end waits while two requests per dispatch arrive
/// near the start.
fn wait_at_the_far_end(spec: SchedulerSpec) -> Option<u64> {
    let mut sled = Sled { at: Location::default(), ..Sled::mems() };
    let mut scheduler = build(&spec, &sled);
    let mut now = Time::ZERO;
    let far = sled.dimensions().capacity_blocks - 1;
    scheduler.push(now, read(0, 0, 0, 1), &sled);
    scheduler.push(now, read(1, 0, far, 1), &sled);
    for dispatch in 0..2_000 {
        let request = scheduler.pop(now, &sled)?;
        if request.lbn == far {
            return Some(dispatch);
        }
        now = sled.serve(now, &request).free;
        for i in 0..2 {
            let id = 2 + 2 * dispatch + i;
            scheduler.push(now, read(id, now.ns(), id * 7 % 500, 1), &sled);
        }
    }
    None
}

#[test]
fn fair_policies_do_not_starve_and_greedy_ones_do() {
    let waits = wait_at_the_far_end;
    assert_eq!(waits(fcfs::POLICY.default), Some(1));
    // A sweep serves each of the 500 LBNs near the start at most a few times before it moves on.
    for spec in [look::POLICY.default, clook::POLICY.default, SchedulerSpec::Vscan(vscan::Spec { r: 1.0 })] {
        assert!(waits(spec).is_some_and(|it| it < 1_000), "{spec:?}");
    }
    assert!(waits(SchedulerSpec::Asptf(asptf::Spec { weight: 0.1 })).is_some_and(|it| it < 1_000));
    for spec in [sstf_lbn::POLICY.default, sptf::POLICY.default, sdf::POLICY.default] {
        assert_eq!(waits(spec), None, "{spec:?}");
    }
}

/// Returns the mean number of positioning queries per dispatch with `pending` requests in the queue.
fn questions(spec: SchedulerSpec, pending: u64) -> f64 {
    const DISPATCHES: u64 = 2_000;
    let mut sled = Sled::mems();
    let mut scheduler = build(&spec, &sled);
    let mut arrivals = scattered(pending + DISPATCHES, &sled).into_iter();
    for request in arrivals.by_ref().take(pending as usize) {
        scheduler.push(Time::ZERO, request, &sled);
    }
    sled.asked.set(0);
    let mut now = Time::ZERO;
    let mut by_scheduler = 0;
    for arrival in arrivals {
        let before = sled.asked.get();
        let request = scheduler.pop(now, &sled).expect("requests are pending");
        by_scheduler += sled.asked.get() - before;
        now = sled.serve(now, &request).free;
        scheduler.push(now, arrival, &sled);
    }
    by_scheduler as f64 / DISPATCHES as f64
}

#[test]
fn long_queues_are_not_searched_exhaustively() {
    // An exhaustive search makes 1,000 and 10,000 queries. The limits are about twice the numbers of these queues.
    let limits = [
        (sptf::POLICY.default, [6.0, 10.0]),
        (SchedulerSpec::Zsptf(zsptf::Spec { zones: 25 }), [6.0, 10.0]),
        (sdf::POLICY.default, [110.0, 110.0]),
        (SchedulerSpec::Asptf(asptf::Spec { weight: 0.006 }), [50.0, 15.0]),
        (SchedulerSpec::Asptf(asptf::Spec { weight: 10.0 }), [10.0, 15.0]),
    ];
    for (spec, [at_1_000, at_10_000]) in limits {
        for (pending, limit) in [(1_000, at_1_000), (10_000, at_10_000)] {
            let asked = questions(spec, pending);
            assert!(asked < limit, "{spec:?} with {pending} pending asks {asked} times");
        }
    }
}

#[test]
fn a_million_cylinders() {
    let mut sled = Sled { cylinders: 1_000_000, ..Sled::mems() };
    for policy in POLICIES {
        let mut scheduler = build(&policy.default, &sled);
        for request in scattered(200, &sled) {
            scheduler.push(Time::ZERO, request, &sled);
        }
        let mut count = 0;
        while let Some(request) = scheduler.pop(Time::ZERO, &sled) {
            sled.serve(Time::ZERO, &request);
            count += 1;
        }
        assert_eq!(count, 200, "{}", policy.name);
    }
}
