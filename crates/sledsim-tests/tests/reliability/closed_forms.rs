//! Closed forms of enclosures that Markov chains cannot describe.

use sledsim::reliability::{
    Batches, DeviceLife, Enclosure, Estimate, Experiment, InfantMortality, LatentErrors, Law, Lifetime, Rebuild,
    Repair, Tips,
};
use sledsim_testing::tiers::size;

use super::described::{fixed, forced, outcome, plain, raid, with, YEAR_H};

/// Asserts agreement within four standard errors: a correct estimate exceeds them with a probability of 0.006 %, and
/// seeds are fixed.
fn assert_agrees(what: &str, estimate: Estimate, exact: f64) {
    let value = estimate.value.expect("something was seen");
    // Intervals of 99 % extend 2.576 standard errors to each side, slightly more if they are Clopper-Pearson intervals.
    let error = 0.5 * (estimate.high - estimate.low) / 2.576;
    assert!((value - exact).abs() < 4.0 * error, "{what}: {value:e} ± {error:e}, not {exact:e}");
    assert!(error < 0.2 * exact, "{what}: {value:e} ± {error:e} says little");
}

fn mttf_h(enclosure: &Enclosure, lifetimes: u64) -> Estimate {
    let outcome = outcome(enclosure, &Experiment { to_loss: true, ..plain(&[], lifetimes, 1) });
    outcome.mttf_h.expect("every life was followed to its loss")
}

/// Returns the probability that more than `most` of `n` events occur, each with probability `p`, as a sum of positive
/// terms.
fn more_than(most: u32, n: u32, p: f64) -> f64 {
    let choose = |k: u32| (0..k).fold(1.0, |product, i| product * f64::from(n - i) / f64::from(i + 1));
    (most + 1..=n).map(|k| choose(k) * libm::pow(p, f64::from(k)) * libm::pow(1.0 - p, f64::from(n - k))).sum()
}

/// Returns the probability that a device with this lifetime distribution fails by an age, h.
fn fails_by(lifetime: Lifetime, mean_h: f64, age_h: f64) -> f64 {
    -libm::expm1(-Law::new(mean_h, lifetime).hazard_over(0.0, age_h))
}

fn living(enclosure: Enclosure, change: impl Fn(&mut DeviceLife)) -> Enclosure {
    let mut device = enclosure.device.clone();
    change(&mut device);
    Enclosure { device, ..enclosure }
}

#[test]
fn losses_without_spares_and_repair_are_binomial() {
    let laws = [
        Lifetime::Weibull { shape: 0.7 },
        Lifetime::Lognormal { sigma: 1.2 },
        Lifetime::Weibull { shape: 2.5 },
        Lifetime::Lognormal { sigma: 0.5 },
    ];
    for lifetime in laws.into_iter().take(size(2, 4)) {
        for (data, parity) in [(1, 0), (4, 1), (6, 2)] {
            let enclosure = living(raid(data, parity, 0), |device| device.lifetime = lifetime);
            let exact = |age_h| more_than(parity, data + parity, fails_by(lifetime, 200_000.0, age_h));
            let what = format!("{lifetime:?}, {data} + {parity}");
            let late_h = 10.0 * YEAR_H;
            let seen = outcome(&enclosure, &plain(&[late_h], size(25_000, 200_000), 1)).horizons[0].loss;
            // Plain sampling observes too few losses.
            if exact(late_h) > 1e-3 {
                assert_agrees(&what, seen, exact(late_h));
            }
            for horizon_h in [0.05 * YEAR_H, YEAR_H, late_h] {
                let seen = outcome(&enclosure, &forced(&[horizon_h], size(10_000, 20_000), 1)).horizons[0].loss;
                assert_agrees(&format!("{what}, forced, {horizon_h} h"), seen, exact(horizon_h));
            }
        }
    }
}

#[test]
fn forced_lives_of_devices_that_wear_out_reach_1e_minus_12() {
    let lifetime = Lifetime::Weibull { shape: 3.0 };
    let enclosure = living(raid(4, 1, 0), |device| device.lifetime = lifetime);
    let exact = more_than(1, 5, fails_by(lifetime, 200_000.0, 2000.0));
    assert!((1e-12..1e-11).contains(&exact), "{exact:e}");
    let seen = outcome(&enclosure, &forced(&[2000.0], 20_000, 1)).horizons[0].loss;
    assert_agrees("Weibull of shape 3", seen, exact);
}

#[test]
fn weak_devices_and_bad_batches_mix_their_laws() {
    let (share, weak_h, age_h) = (0.05, 5000.0, 2.0 * YEAR_H);
    let (good, weak) = (fails_by(Lifetime::Exponential, 200_000.0, age_h), -libm::expm1(-age_h / weak_h));
    let infants =
        living(raid(6, 2, 0), |device| device.infant_mortality = Some(InfantMortality { share, mttf_h: weak_h }));
    let exact = more_than(2, 8, share * weak + (1.0 - share) * good);
    // All devices of a batch of four are bad or none.
    let batches = living(raid(6, 2, 0), |device| device.batches = Some(Batches { size: 4, share, mttf_h: weak_h }));
    let of_two = |bad: f64, p: f64, q: f64| {
        let exactly =
            |k: u32, p: f64| more_than(k, 4, p).mul_add(-1.0, if k == 0 { 1.0 } else { more_than(k - 1, 4, p) });
        let more = (0..=4).map(|k| exactly(k, p) * if k > 2 { 1.0 } else { more_than(2 - k, 4, q) }).sum::<f64>();
        bad * more
    };
    let both = of_two(share * share, weak, weak) + of_two((1.0 - share) * (1.0 - share), good, good);
    let exact_batches = both + of_two(2.0 * share * (1.0 - share), weak, good);
    for (what, enclosure, exact) in [("infants", &infants, exact), ("batches", &batches, exact_batches)] {
        assert_agrees(what, outcome(enclosure, &plain(&[age_h], 200_000, 1)).horizons[0].loss, exact);
        assert_agrees(what, outcome(enclosure, &forced(&[age_h], 50_000, 1)).horizons[0].loss, exact);
    }
    assert!(exact_batches > 1.5 * exact, "failing together loses more data than failing alone");
}

#[test]
fn mttf_with_fixed_rebuild_and_visit_times_matches_the_closed_form() {
    // A loss is a second failure during a rebuild of duration d, with probability 1 - exp(-r d); rebuilds are 1 / (n λ)
    // apart.
    let exact = |n: f64, mttf_h: f64, time_h: f64| {
        let rate = (n - 1.0) / mttf_h;
        let lost = -libm::expm1(-rate * time_h);
        (mttf_h / n + lost / rate) / lost
    };
    let base = with(raid(4, 1, 0), 10_000.0, 1.0);
    let visited = Enclosure { repair: Repair { preventive: None, mandatory: Some(fixed(300.0)) }, ..base.clone() };
    assert_agrees("visits", mttf_h(&visited, size(30_000, 100_000)), exact(5.0, 10_000.0, 300.0));
    // A thousand spares suffice for every life: 1 of 9 rebuilds loses data.
    let rebuild = Rebuild { time: fixed(300.0), ..base.rebuild };
    let rebuilt = Enclosure { rebuild, spares: 1000, ..base };
    assert_agrees("rebuilds", mttf_h(&rebuilt, size(30_000, 100_000)), exact(5.0, 10_000.0, 300.0));
}

#[test]
fn the_earlier_of_two_fixed_visits_takes_place() {
    // One spare, rebuilt at once. A visit is due 400 h after the first failure. A second failure loses no data; the
    // enclosure is repaired 250 h later or at the first visit. A third failure before that loses data.
    let base = with(raid(3, 1, 1), 10_000.0, 1e-9);
    let visit = |mandatory_h| Repair { preventive: Some(fixed(400.0)), mandatory: Some(fixed(mandatory_h)) };
    let (all, left) = (4.0 / 10_000.0, 3.0 / 10_000.0);
    let exact = |mandatory_h: f64| {
        let steps = 100_000;
        let step_h = 400.0 / f64::from(steps);
        let window = |since_h: f64| mandatory_h.min(400.0 - since_h);
        let second = |since_h: f64| all * libm::exp(-all * since_h) * step_h;
        let middles = || (0..steps).map(|step| (f64::from(step) + 0.5) * step_h);
        // By time of the second failure: probability of a loss, and time in the degraded mode.
        let lost: f64 = middles().map(|since_h| second(since_h) * -libm::expm1(-left * window(since_h))).sum();
        let degraded_h = lost / left;
        let waiting_h = -libm::expm1(-all * 400.0) / all;
        (1.0 / all + waiting_h + degraded_h) / lost
    };
    for mandatory_h in [250.0, 400.0] {
        let enclosure = Enclosure { repair: visit(mandatory_h), ..base.clone() };
        assert_agrees("two visits", mttf_h(&enclosure, size(30_000, 100_000)), exact(mandatory_h));
    }
}

#[test]
fn latent_errors_lose_data_without_redundancy() {
    let (n, lambda, every_h) = (5.0, 1.0 / 200_000.0, 100_000.0);
    let with_errors = |data, parity, scrub_h| {
        living(raid(data, parity, 0), |device| {
            device.latent_errors = Some(LatentErrors { every_h, scrub_h });
        })
    };
    // Without redundancy, every error loses data.
    let bare = outcome(&with_errors(3, 0, None), &plain(&[YEAR_H], 100_000, 1)).horizons[0].loss;
    assert_agrees("no redundancy", bare, -libm::expm1(-3.0 * (lambda + 1.0 / every_h) * YEAR_H));

    // Until the first failure, errors accumulate on the other devices between scrubs; after it, the first error loses
    // data.
    let (errors, after_h) = ((n - 1.0) / every_h, 1.0 / ((n - 1.0) * (lambda + 1.0 / every_h)));
    let never = n * lambda / (n * lambda + errors);
    assert_agrees("never scrubbed", mttf_h(&with_errors(4, 1, None), 100_000), 1.0 / (n * lambda) + never * after_h);
    let scrub_h = 20_000.0;
    // At the first failure, at t, the age of the last scrub is uniform up to the scrub interval or t.
    let clean_at = |t_h: f64| {
        let some = -libm::expm1(-errors * t_h.min(scrub_h)) / (errors * scrub_h);
        some + f64::max(0.0, 1.0 - t_h / scrub_h) * libm::exp(-errors * t_h)
    };
    let step_h = scrub_h / 1e4;
    let before: f64 = (0..10_000)
        .map(|step| (f64::from(step) + 0.5) * step_h)
        .map(|t_h| n * lambda * libm::exp(-n * lambda * t_h) * step_h * clean_at(t_h))
        .sum();
    let clean = before + libm::exp(-n * lambda * scrub_h) * clean_at(scrub_h);
    let scrubbed = mttf_h(&with_errors(4, 1, Some(scrub_h)), 100_000);
    assert_agrees("scrubbed", scrubbed, 1.0 / (n * lambda) + clean * after_h);
    assert!(clean > 1.3 * never, "scrubbing helps: {clean} and {never}");
}

#[test]
fn tip_failures_limit_device_lifetimes() {
    let (count, tip_h) = (100.0, 1e5);
    let with_tips = |spares, tolerated, remap_h| {
        living(raid(1, 0, 0), |device| {
            // The device does not fail except through its tips.
            device.mttf_h = 1e12;
            device.tips = Some(Tips { count: 100, mttf_h: tip_h, spares, tolerated, remap_h });
        })
    };
    // A sum of independent waits: for each spare tip and one more failure.
    assert_agrees("spares", mttf_h(&with_tips(20, 0, 0.0), 100_000), 21.0 * tip_h / count);
    // Remapped tips can no longer fail.
    let tolerated: f64 = (0..4).map(|missing| tip_h / (count - f64::from(missing))).sum();
    assert_agrees("error correction", mttf_h(&with_tips(0, 3, 0.0), 100_000), tolerated);
    let both = 20.0 * tip_h / count + tolerated;
    assert_agrees("spares and error correction", mttf_h(&with_tips(20, 3, 0.0), 100_000), both);
    // A second tip must not fail while one is remapped; 10,000 spare tips suffice for every life.
    let (remap_h, rate) = (100.0, (count - 1.0) / tip_h);
    let lost = -libm::expm1(-rate * remap_h);
    let exact_h = (tip_h / count + lost / rate) / lost;
    assert_agrees("remapping", mttf_h(&with_tips(10_000, 1, remap_h), 100_000), exact_h);
    // Without error correction, the first tip failure loses data, however fast it is replaced.
    assert_agrees("no error correction", mttf_h(&with_tips(20, 0, 1e-6), 100_000), tip_h / count);
}
