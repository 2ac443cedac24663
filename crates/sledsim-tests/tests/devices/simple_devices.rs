//! Devices without a mechanism: closed forms of times, bounds, energy ledgers and queues.

use proptest::prelude::*;
use sledsim::devices::simple::{ConstantParameters, LinearParameters, SimpleDevice};
use sledsim::devices::{Location, Mechanism, State};
use sledsim::request::Request;
use sledsim::scenario::Report;
use sledsim::time::Time;
use sledsim_testing::scenario_runs;

fn constant(capacity_blocks: u64, access_ms: f64) -> SimpleDevice {
    let parameters =
        ConstantParameters { name: "test".into(), block_bytes: 512, capacity_blocks, access_ms, power: None };
    SimpleDevice::constant(&parameters).expect("parameters that agree")
}

fn linear(capacity_blocks: u64, nearest_ms: f64, farthest_ms: f64) -> SimpleDevice {
    let parameters = LinearParameters {
        name: "test".into(),
        block_bytes: 512,
        capacity_blocks,
        nearest_ms,
        farthest_ms,
        power: None,
    };
    SimpleDevice::linear(&parameters).expect("parameters that agree")
}

#[test]
fn constant_device_has_constant_service_times() {
    let mut device = constant(1000, 0.88);
    let mut now = Time::ZERO;
    for request in [Request::read(0, 1), Request::read(999, 1), Request::read(3, 900), Request::read(903, 97)] {
        let service = device.serve(now, &request);
        assert_eq!(service.end - now, 880_000);
        assert_eq!((service.start, service.free, service.phases.service_ns()), (now, service.end, 880_000));
        now = service.end;
    }
}

#[test]
fn linear_device_uses_the_distance_between_requests() {
    let mut device = linear(1000, 0.1, 2.1);
    let mut now = Time::ZERO;
    // 2 us a block of distance, counted from the block after the previous request; the first request counts from block 0.
    for (request, ns) in [
        (Request::read(0, 10), 100_000),
        (Request::read(10, 90), 100_000),
        (Request::read(100, 1), 100_000),
        (Request::read(100, 1), 102_000),
        (Request::read(999, 1), 100_000 + 2_000 * 898),
        (Request::read(0, 1), 2_100_000),
    ] {
        let at = device.locate(&request);
        assert_eq!(device.positioning_ns(now, at), ns, "{request:?}");
        let service = device.serve(now, &request);
        assert_eq!(service.phases.seek_ns, ns, "{request:?}");
        now = service.free;
    }
}

#[test]
fn farthest_time_below_nearest_is_rejected() {
    let parameters = LinearParameters {
        name: "test".into(),
        block_bytes: 512,
        capacity_blocks: 10,
        nearest_ms: 2.0,
        farthest_ms: 0.1,
        power: None,
    };
    let refusal = SimpleDevice::linear(&parameters).map(|_| ()).expect_err("times that fall with the distance");
    assert_eq!(refusal.to_string(), "farthest_ms = 0.1 is below nearest_ms = 2");
}

#[test]
fn ledger_has_all_time_and_no_energy() {
    let mut device = linear(1_000_000, 0.1, 2.0);
    let mut random = sledsim::engine::random::Stream::new(1, "books");
    let (mut now, mut busy_ns) = (Time::ZERO, 0);
    for _ in 0..1000 {
        now += random.below(500_000);
        let service = device.serve(now, &Request::read(random.below(999_992), 8));
        let half = now + (service.end - now) / 2;
        assert_eq!(device.ledger(half).time_ns[State::Seek as usize], busy_ns + (half - now), "clipped at now");
        assert_eq!(device.ledger(half).total_ns(), half.ns());
        busy_ns += service.end - now;
        now = service.free;
        assert_eq!(device.ledger(now + 7).time_ns[State::Seek as usize], busy_ns);
        assert_eq!(device.ledger(now + 7).total_ns(), now.ns() + 7);
    }
    assert_eq!(device.ledger(now).total_j(), 0.0);
}

proptest! {
    /// From the smallest capacity to the largest that a scenario may have.
    #[test]
    fn locations_are_unique_and_bounds_hold(
        capacity in prop_oneof![1_u64..20_000, 1_u64..10_000_000_000, 999_999_999_999_000_u64..=1_000_000_000_000_000],
        shares in prop::collection::vec(0.0_f64..1.0, 8),
        from in 0.0_f64..=1.0,
    ) {
        let mut device = linear(capacity, 0.1, 2.0);
        let from_lbn = ((capacity as f64 * from) as u64).min(capacity - 1);
        let now = device.serve(Time::ZERO, &Request::read(from_lbn, 1)).free;
        let here = device.cylinder(now);
        prop_assert!(here < device.dimensions().cylinders);
        let mut seen = Vec::new();
        for share in shares {
            let lbn = ((capacity as f64 * share) as u64).min(capacity - 1);
            let at = device.locate(&Request::read(lbn, 1));
            prop_assert!(at.cylinder < device.dimensions().cylinders);
            let positioning_ns = device.positioning_ns(now, at);
            prop_assert!(device.cylinder_bound_ns(now, at.cylinder) <= positioning_ns);
            // The farthest block is a full capacity away: 1.9 ms more, rounded to a nanosecond.
            let exact_ns = 1e5 + 1.9e6 * lbn.abs_diff(from_lbn + 1) as f64 / capacity as f64;
            prop_assert!((positioning_ns as f64 - exact_ns).abs() <= 0.5 + 1e-6, "{positioning_ns} {exact_ns}");
            prop_assert_eq!(device.clone().serve(now, &Request::read(lbn, 1)).phases.seek_ns, positioning_ns);
            seen.push((lbn, at));
        }
        for (lbn, at) in &seen {
            prop_assert!(seen.iter().all(|(other, there)| (other == lbn) == (there == at)));
        }
        let outwards: [Vec<u32>; 2] = [(here..device.dimensions().cylinders).collect(), (0..=here).rev().collect()];
        for cylinders in outwards {
            let bounds: Vec<u64> = cylinders.iter().map(|&c| device.cylinder_bound_ns(now, c)).collect();
            prop_assert!(bounds.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }
}

#[test]
fn coordinates_rise_with_the_cylinder() {
    let device = linear(1_000_000, 0.1, 2.0);
    let x_m: Vec<f64> = (0..device.dimensions().cylinders)
        .map(|cylinder| device.coordinates_m(Location { cylinder, slot: 5 }).x_m)
        .collect();
    assert!(x_m.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(x_m[0] >= 0.0 && x_m[x_m.len() - 1] <= 1.0);
}

fn report(settings: &[&str]) -> Report {
    scenario_runs::run(settings, false).report
}

#[test]
fn random_linear_requests_average_a_third_of_the_distance() {
    // Two uniform places lie a third of the range apart; with the variance of that distance, 1/18, the mean of 200,000
    // requests is known to 1.9 ms / sqrt(18 * 200,000) = 0.001 ms. The 8 blocks of a request are negligible against
    // 6.75 million.
    let report = report(&[
        "device=simpledisk-linear",
        "workload.arrival={kind=\"closed\", outstanding=1}",
        "run.requests=200000",
    ]);
    let mean_ms = report.service.expect("requests were measured").mean_ms;
    assert!((mean_ms - (0.1 + 1.9 / 3.0)).abs() < 4.0 * 0.001, "{mean_ms}");
    assert_eq!(report.phases.seek.mean_ms, mean_ms, "all of it is positioning");
}

#[test]
fn constant_device_behaves_as_m_d_1() {
    for utilisation in [0.3, 0.6, 0.8] {
        let arrival = format!("workload.arrival={{kind=\"poisson\", rate_per_s={:?}}}", utilisation / 0.88e-3);
        let report = report(&[
            "device=simpledisk-constant",
            arrival.as_str(),
            "run.requests=1002000",
            "run.warmup_requests=2000",
        ]);
        let wait = report.wait.expect("requests were measured");
        let closed_ms = utilisation * 0.88 / (2.0 * (1.0 - utilisation));
        println!("utilisation {utilisation}: wait {:.4} ms, closed form {closed_ms:.4} ms", wait.mean_ms);
        // With a million requests, the mean of the busiest of the three queues is known to within 1 %; the tolerance is
        // twice that.
        assert!((wait.mean_ms / closed_ms - 1.0).abs() < 0.02, "{} {closed_ms}", wait.mean_ms);
        let service = report.service.expect("requests were measured");
        assert!((service.min_ms - 0.88).abs() < 1e-9 && (service.max_ms - 0.88).abs() < 1e-9);
    }
}

#[test]
fn sptf_beats_fcfs_on_the_linear_device_only() {
    let response_ms = |device: &str, scheduler: &str| {
        let (device, scheduler) = (format!("device={device}"), format!("scheduler={scheduler}"));
        let arrival = "workload.arrival={kind=\"closed\", outstanding=32}";
        report(&[&device, &scheduler, arrival, "run.requests=50000"]).response.expect("measured").mean_ms
    };
    assert!(response_ms("simpledisk-linear", "sptf") < 0.5 * response_ms("simpledisk-linear", "fcfs"));
    // If all services take the same time, the order does not change the mean; only the requests outstanding at the end
    // differ.
    let (by_arrival, by_place) =
        (response_ms("simpledisk-constant", "fcfs"), response_ms("simpledisk-constant", "sptf"));
    assert!((by_place / by_arrival - 1.0).abs() < 0.01, "{by_place} {by_arrival}");
}
