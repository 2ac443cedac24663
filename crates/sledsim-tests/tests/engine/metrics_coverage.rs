//! Confidence intervals of correlated sequences cover the known mean about as often as they claim.

use sledsim::engine::random::Stream;
use sledsim::metrics::confidence::BatchMeans;

const REPLICATIONS: u64 = 200;

/// Returns how many of the seeded sequences have an interval and how many intervals contain the mean.
fn coverage(mean_ns: f64, mut sequence: impl FnMut(&mut Stream, &mut BatchMeans)) -> (u64, u64) {
    let (mut given, mut covering) = (0, 0);
    for seed in 0..REPLICATIONS {
        let mut batches = BatchMeans::default();
        sequence(&mut Stream::new(seed, "coverage"), &mut batches);
        if let Ok(interval) = batches.interval95_ns() {
            given += 1;
            covering += u64::from((interval.low..=interval.high).contains(&mean_ns));
        }
    }
    (given, covering)
}

/// Most replications must get an interval, and at least 90 % of the intervals must cover the mean. With 95 % coverage,
/// 200 replications fall below 90 % with a probability of 0.1 %; but seeds are fixed, so results do not vary.
fn assert_covered((given, covering): (u64, u64)) {
    assert!(given * 10 >= REPLICATIONS * 9, "only {given} of {REPLICATIONS} got an interval");
    assert!(covering * 10 >= given * 9, "only {covering} of {given} intervals cover the mean");
    // Intervals that are far too wide would always contain the mean.
    assert!(covering < given, "all {given} intervals cover the mean");
}

#[test]
fn independent_exponentials() {
    let mean_ns = 1e6;
    assert_covered(coverage(mean_ns, |stream, batches| {
        (0..5000).for_each(|_| batches.record((mean_ns * stream.exponential()) as u64));
    }));
}

#[test]
fn first_order_autoregression() {
    let (mean_ns, correlation) = (1e9, 0.9_f64);
    assert_covered(coverage(mean_ns, |stream, batches| {
        let mut deviation = stream.normal();
        for _ in 0..20_000 {
            batches.record((mean_ns + 1e7 * deviation).round() as u64);
            deviation = correlation * deviation + (1.0 - correlation * correlation).sqrt() * stream.normal();
        }
    }));
}

#[test]
fn waits_in_an_m_m_1_queue() {
    // Mean wait before service: load / (1 - load) services.
    let (service_ns, load) = (1e6, 0.8);
    assert_covered(coverage(service_ns * load / (1.0 - load), |stream, batches| {
        // Lindley's recursion; a tenth of the run passes before measuring, because the queue starts empty.
        let mut wait_ns = 0.0_f64;
        for customer in 0..110_000 {
            if customer >= 10_000 {
                batches.record(wait_ns as u64);
            }
            let interarrival_ns = service_ns / load * stream.exponential();
            wait_ns = (wait_ns + service_ns * stream.exponential() - interarrival_ns).max(0.0);
        }
    }));
}

#[test]
fn too_short_runs_rarely_get_an_interval() {
    // 600 steps of a sequence with a correlation length of 1000 steps.
    let correlation = 0.999;
    let (given, _) = coverage(1e9, |stream, batches| {
        let mut deviation = 0.0;
        for _ in 0..600 {
            batches.record((1e9 + 1e6 * deviation) as u64);
            deviation = correlation * deviation + stream.normal();
        }
    });
    assert!(given * 20 <= REPLICATIONS, "{given} of {REPLICATIONS} hopeless runs got an interval");
}
