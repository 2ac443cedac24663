//! Rates, variability and popularity of synthetic workloads against their definitions.

use sledsim::request::Op;
use sledsim::workloads::arrival::{constant, on_off, poisson, renewal};
use sledsim::workloads::location::{hot_spots, local_walk, sequential, uniform, zipf};
use sledsim::workloads::{
    ArrivalSpec, ContinuationSpec, Distribution, HotSpot, LocationSpec, Synthetic, SyntheticSpec, Workload,
};
use sledsim_testing::scenarios;

const CAPACITY_BLOCKS: u64 = 64_000;

fn workload(arrival: ArrivalSpec, location: LocationSpec) -> Synthetic {
    let size_bytes = Distribution::Fixed { value: 512.0 };
    let spec = SyntheticSpec { size_bytes, location, ..scenarios::arriving(&arrival) };
    Synthetic::new(&spec, 2024, CAPACITY_BLOCKS, 512).expect("the workload fits the device")
}

/// Returns mean (ns) and scv of `count` interarrival times.
fn interarrival(arrival: ArrivalSpec, count: u32) -> (f64, f64) {
    let mut workload = workload(arrival, LocationSpec::default());
    let mut last_ns = 0;
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..count {
        let at_ns = workload.take().arrival.ns();
        let gap_ns = (at_ns - last_ns) as f64;
        last_ns = at_ns;
        sum += gap_ns;
        squares += gap_ns * gap_ns;
    }
    let mean = sum / f64::from(count);
    (mean, squares / f64::from(count) / (mean * mean) - 1.0)
}

/// Returns how often each of `bins` equal parts of the device is chosen.
fn popularity(location: LocationSpec, bins: usize, count: u32) -> Vec<u32> {
    let mut workload = workload(ArrivalSpec::Constant(constant::Spec { rate_per_s: 1.0 }), location);
    let mut counts = vec![0; bins];
    for _ in 0..count {
        counts[(workload.take().lbn * bins as u64 / CAPACITY_BLOCKS) as usize] += 1;
    }
    counts
}

/// Asserts that counts agree with probabilities: chi-square is below its mean plus four standard deviations, which a
/// correct generator exceeds about once in a thousand.
fn assert_fits(counts: &[u32], probabilities: &[f64]) {
    let total: u32 = counts.iter().sum();
    let chi_square: f64 = counts
        .iter()
        .zip(probabilities)
        .map(|(&count, probability)| {
            let expected = probability * f64::from(total);
            assert!(expected > 10.0, "too few expected for a chi-square test");
            (f64::from(count) - expected).powi(2) / expected
        })
        .sum();
    let degrees_of_freedom = counts.len() as f64 - 1.0;
    let limit = degrees_of_freedom + 4.0 * (2.0 * degrees_of_freedom).sqrt();
    assert!(chi_square < limit, "chi-square {chi_square} above {limit}");
}

#[test]
fn poisson_arrivals_have_their_rate_and_an_scv_of_1() {
    let count = 1_000_000;
    let (mean_ns, scv) = interarrival(ArrivalSpec::Poisson(poisson::Spec { rate_per_s: 2500.0 }), count);
    // Standard errors: 1/sqrt(n) of the mean; sqrt(8/n) bounds that of the scv of an exponential sample.
    assert!((mean_ns / 4e5 - 1.0).abs() < 4.0 / f64::from(count).sqrt(), "{mean_ns} ns");
    assert!((scv - 1.0).abs() < 4.0 * (8.0 / f64::from(count)).sqrt(), "scv {scv}");
}

#[test]
fn constant_arrivals_have_their_rate_exactly() {
    let (mean_ns, scv) = interarrival(ArrivalSpec::Constant(constant::Spec { rate_per_s: 7e5 }), 700_000);
    assert!((mean_ns * 700_000.0 - 1e9).abs() <= 1.0, "{mean_ns} ns");
    assert!(scv < 1e-6);
}

#[test]
fn renewal_arrivals_have_the_variability_of_their_distribution() {
    let interarrival_ms = Distribution::Hyperexponential { mean: 0.5, scv: 4.0 };
    let (mean_ns, scv) = interarrival(ArrivalSpec::Renewal(renewal::Spec { interarrival_ms }), 1_000_000);
    assert!((mean_ns / 5e5 - 1.0).abs() < 4.0 * 2.0 / 1e3, "{mean_ns} ns");
    // The error of an scv of 4 is about 0.02 for a million samples.
    assert!((scv - 4.0).abs() < 0.1, "scv {scv}");
}

#[test]
fn bursts_have_the_mean_and_variability_of_an_interrupted_poisson_process() {
    let (burst_ms, idle_ms, rate_per_s) = (10.0, 40.0, 1000.0);
    let (mean_ns, scv) = interarrival(ArrivalSpec::OnOff(on_off::Spec { burst_ms, idle_ms, rate_per_s }), 1_000_000);
    // A = sum over a geometric number of idle times: E A = (1 + idle/burst) / rate. A. Kuczura, "The interrupted
    // Poisson process as an overflow process", 1973: scv = 1 + 2 rate * off / (on + off)² with on = 1/idle, off =
    // 1/burst.
    let (on, off) = (1.0 / idle_ms, 1.0 / burst_ms);
    let expected_scv = 1.0 + 2.0 * (rate_per_s * 1e-3) * off / (on + off).powi(2);
    // Each of the 100 000 bursts contributes an idle time: errors near 1/sqrt(100 000), times about 2 for the sum.
    assert!((mean_ns / 5e6 - 1.0).abs() < 0.02, "{mean_ns} ns");
    assert!((scv / expected_scv - 1.0).abs() < 0.05, "scv {scv}, not {expected_scv}");
}

#[test]
fn uniform_locations_are_uniform() {
    assert_fits(&popularity(LocationSpec::default(), 200, 200_000), &[1.0 / 200.0; 200]);
    // Requests start at every 16th block only.
    let mut aligned = workload(
        ArrivalSpec::Constant(constant::Spec { rate_per_s: 1.0 }),
        LocationSpec::Uniform(uniform::Spec { align_bytes: Some(16 * 512) }),
    );
    let mut counts = vec![0; 4000];
    for _ in 0..200_000 {
        let lbn = aligned.take().lbn;
        assert_eq!(lbn % 16, 0);
        counts[lbn as usize / 16] += 1;
    }
    assert_fits(&counts, &[1.0 / 4000.0; 4000]);
}

#[test]
fn zipf_regions_are_as_popular_as_their_ranks() {
    let regions = 50_usize;
    let weights: Vec<f64> = (1..=regions).map(|rank| (rank as f64).powf(-0.8)).collect();
    let total: f64 = weights.iter().sum();
    let probabilities: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
    let zipf =
        |shuffle| LocationSpec::Zipf(zipf::Spec { exponent: 0.8, regions: regions as u32, shuffle, align_bytes: None });
    let in_order = popularity(zipf(false), regions, 200_000);
    assert_fits(&in_order, &probabilities);
    let mut shuffled = popularity(zipf(true), regions, 200_000);
    assert_ne!(in_order, shuffled);
    // The same popularities at other places.
    shuffled.sort_unstable();
    let mut sorted = in_order;
    sorted.sort_unstable();
    assert_eq!(shuffled, sorted);
}

#[test]
fn hot_spots_draw_their_share() {
    let spot = |start_fraction, end_fraction, probability| HotSpot { start_fraction, end_fraction, probability };
    let spots = vec![spot(0.0, 0.1, 0.5), spot(0.5, 0.7, 0.3)];
    let counts = popularity(LocationSpec::HotSpots(hot_spots::Spec { spots, align_bytes: None }), 10, 100_000);
    // A share of 0.2 of the requests is uniform.
    assert_fits(&counts, &[0.52, 0.02, 0.02, 0.02, 0.02, 0.17, 0.17, 0.02, 0.02, 0.02]);
}

#[test]
fn sequential_runs_have_their_mean_length() {
    let count = 200_000;
    let mut sequential = workload(
        ArrivalSpec::Constant(constant::Spec { rate_per_s: 1.0 }),
        LocationSpec::Sequential(sequential::Spec { run_requests: Some(20.0) }),
    );
    let mut expected_lbn = sequential.take().end_lbn();
    let mut runs = 0;
    for _ in 0..count {
        let request = sequential.take();
        let wrapped = expected_lbn == CAPACITY_BLOCKS && request.lbn == 0;
        runs += u32::from(request.lbn != expected_lbn && !wrapped);
        expected_lbn = request.end_lbn();
    }
    // Binomial with 200 000 trials of 1/20: 10 000 with a standard deviation of 97.
    assert!(runs.abs_diff(count / 20) < 400, "{runs} runs");

    let mut endless = workload(
        ArrivalSpec::Constant(constant::Spec { rate_per_s: 1.0 }),
        LocationSpec::Sequential(sequential::Spec { run_requests: None }),
    );
    assert!((0..2 * CAPACITY_BLOCKS).all(|block| endless.take().lbn == block % CAPACITY_BLOCKS));
}

#[test]
fn continuation_has_its_share_and_does_not_change_arrivals() {
    let continuation = Some(ContinuationSpec { reads: 0.3, writes: 0.1 });
    let arrival = ArrivalSpec::Constant(constant::Spec { rate_per_s: 1.0 });
    let spec = SyntheticSpec { read_fraction: 0.4, continuation, ..scenarios::arriving(&arrival) };
    let mut workload = Synthetic::new(&spec, 7, CAPACITY_BLOCKS, 512).expect("the workload fits the device");
    let count = 400_000;
    let mut previous = workload.take();
    let [mut reads, mut reads_on, mut writes_on] = [0_u32; 3];
    for _ in 0..count {
        let request = workload.take();
        let goes_on = u32::from(request.lbn == previous.end_lbn() && request.op == previous.op);
        if request.op == Op::Read {
            reads += 1;
            reads_on += goes_on;
        } else {
            writes_on += goes_on;
        }
        previous = request;
    }
    // Four standard errors of the smallest group, 160,000 reads with a share of 0.4 or less: 0.005. A random request
    // continues the previous one with a probability of 1 in 64,000.
    let [share, of_reads, of_writes] = [
        f64::from(reads) / f64::from(count),
        f64::from(reads_on) / f64::from(reads),
        f64::from(writes_on) / f64::from(count - reads),
    ];
    assert!((share - 0.4).abs() < 0.005, "{share}");
    assert!((of_reads - 0.3).abs() < 0.005, "{of_reads}");
    assert!((of_writes - 0.1).abs() < 0.005, "{of_writes}");
}

#[test]
fn a_time_scale_multiplies_every_gap() {
    let renewal = ArrivalSpec::Renewal(renewal::Spec { interarrival_ms: Distribution::Exponential { mean: 4.0 } });
    let bursts = ArrivalSpec::OnOff(on_off::Spec { burst_ms: 10.0, idle_ms: 40.0, rate_per_s: 1000.0 });
    for arrival in [ArrivalSpec::Constant(constant::Spec { rate_per_s: 300.0 }), renewal, bursts] {
        let arrivals = |time_scale| {
            let spec = SyntheticSpec { time_scale, ..scenarios::arriving(&arrival) };
            let mut workload = Synthetic::new(&spec, 7, CAPACITY_BLOCKS, 512).expect("the workload fits the device");
            (0..1000).map(|_| workload.take().arrival.ns()).collect::<Vec<_>>()
        };
        for (slow, quick) in arrivals(1.0).into_iter().zip(arrivals(0.125)) {
            assert!((slow as f64 * 0.125 - quick as f64).abs() <= 1.0, "{slow} ns, {quick} ns");
        }
    }
}

#[test]
fn walks_have_their_step_size_and_cover_the_device() {
    let scale_blocks = 100.0;
    let location = LocationSpec::LocalWalk(local_walk::Spec { scale_bytes: scale_blocks * 512.0 });
    let mut walk = workload(ArrivalSpec::Constant(constant::Spec { rate_per_s: 1.0 }), location);
    let mut previous = walk.take();
    let mut distances = 0.0;
    let count = 1_000_000;
    let mut quarters = [0_u32; 4];
    for _ in 0..count {
        let request = walk.take();
        distances += request.lbn.abs_diff(previous.end_lbn()) as f64;
        quarters[(request.lbn * 4 / CAPACITY_BLOCKS) as usize] += 1;
        previous = request;
    }
    // Rounding to blocks and reflection at the ends change the mean by less than 1 %.
    assert!((distances / f64::from(count) / scale_blocks - 1.0).abs() < 0.01);
    // The walk crosses the device in about (64 000 / 100)² / 2 = 200 000 steps.
    assert!(quarters.iter().all(|&visits| visits > 10_000), "{quarters:?}");
}
