//! The coverage of Monte Carlo intervals for enclosures with an exact Markov chain.

use sledsim::reliability::{Enclosure, Estimate, Experiment, Outcome, Rebuild, Sparing};
use sledsim_testing::tiers::size;

use super::chain::Chain;
use super::described::{forced, outcome, plain, raid, repaired, with, YEAR_H};

/// Number of seeded runs of each enclosure, plain and forced.
fn plain_runs() -> u64 {
    size(20, 400)
}

fn forced_runs() -> u64 {
    size(20, 200)
}

/// Number of simulated lives in each run.
const PLAIN_LIFETIMES: u64 = 2000;
const FORCED_LIFETIMES: u64 = 6000;

/// Asserts that enough of the 99 % intervals of seeded runs contain the exact value.
///
/// At least 97 % must, or 18 of 20. If each interval contains the value with a probability of 99 %, fewer than 97 % of
/// 400 do with a probability of 0.04 %, of 200 with 0.4 %, and fewer than 18 of 20 with 0.1 %; but seeds are fixed, so
/// results do not vary.
fn assert_covered(what: &str, exact: f64, estimates: impl Iterator<Item = Estimate>) {
    let holds = |estimate: Estimate| (estimate.low..=estimate.high).contains(&exact);
    let (mut runs, mut covering) = (0, 0);
    for estimate in estimates {
        runs += 1;
        covering += u64::from(holds(estimate));
    }
    assert!(
        runs >= size(20, 100) && covering * 100 >= runs * size(90, 97),
        "{what}: {covering} of {runs} intervals hold {exact:e}"
    );
}

/// Asserts that the half-width of an interval is at most this part of the value.
fn assert_narrow(what: &str, estimates: impl Iterator<Item = Estimate>, part: f64) {
    let widths: Vec<f64> = estimates.map(|estimate| estimate.relative_half_width()).collect();
    let mean = widths.iter().sum::<f64>() / widths.len() as f64;
    assert!(mean < part, "{what}: half an interval is {mean} of the value");
}

fn runs(enclosure: &Enclosure, seeds: u64, experiment: impl Fn(u64) -> Experiment) -> Vec<Outcome> {
    (0..seeds).map(|seed| outcome(enclosure, &experiment(seed))).collect()
}

fn assert_plain_covers(what: &str, enclosure: &Enclosure, horizons_h: &[f64]) {
    let chain = Chain::of(enclosure);
    let outcomes = runs(enclosure, plain_runs(), |seed| plain(horizons_h, PLAIN_LIFETIMES, seed));
    for (index, &horizon_h) in horizons_h.iter().enumerate() {
        let (loss, visits, replaced) = chain.until(horizon_h);
        let at = |outcome: &Outcome| outcome.horizons[index].clone();
        assert_covered(&format!("{what}: loss by {horizon_h} h"), loss, outcomes.iter().map(|each| at(each).loss));
        let mean = |read: fn(&sledsim::reliability::AtHorizon) -> Option<Estimate>| {
            outcomes.iter().map(move |each| read(&at(each)).expect("plain lives are a mean over lives that are led"))
        };
        assert_covered(&format!("{what}: visits by {horizon_h} h"), visits, mean(|at| at.visits));
        assert_covered(&format!("{what}: devices replaced by {horizon_h} h"), replaced, mean(|at| at.replaced));
    }
    let to_loss = |seed| Experiment { to_loss: true, ..plain(&[], PLAIN_LIFETIMES, seed) };
    let outcomes = runs(enclosure, plain_runs(), to_loss);
    let lives = || outcomes.iter().map(|outcome| outcome.mttf_h.expect("every life was followed to its loss"));
    assert_covered(&format!("{what}: MTTF"), chain.mttf_h(), lives());
    // 2.6 standard errors of the mean of 2000 exponential lives are 6 %.
    assert_narrow(&format!("{what}: MTTF"), lives(), 0.07);
}

#[test]
fn plain_lives_without_repair_agree_with_chains() {
    let horizons_h = [YEAR_H, 3.0 * YEAR_H, 5.0 * YEAR_H];
    assert_plain_covers("RAID-5, 2 spares", &raid(19, 1, 2), &horizons_h);
    assert_plain_covers("no redundancy", &raid(3, 0, 0), &horizons_h);
}

#[test]
fn plain_lives_with_repair_agree_with_chains() {
    let shelf = Enclosure { spares_fail: true, ..with(raid(8, 1, 2), 20_000.0, 50.0) };
    assert_plain_covers("spares fail", &repaired(shelf, Some(500.0), Some(300.0)), &[YEAR_H, 3.0 * YEAR_H]);
    let mandatory = repaired(with(raid(6, 1, 1), 20_000.0, 20.0), None, Some(700.0));
    assert_plain_covers("mandatory", &mandatory, &[YEAR_H, 3.0 * YEAR_H]);
}

#[test]
fn plain_lives_with_distributed_spares_and_several_rebuilds_agree_with_chains() {
    let slow = with(raid(6, 2, 3), 10_000.0, 400.0);
    let rebuild = Rebuild { at_once: 2, ..slow.rebuild };
    let spread = Enclosure { sparing: Sparing::Distributed, rebuild, ..slow.clone() };
    assert_plain_covers("spread", &repaired(spread.clone(), Some(900.0), Some(500.0)), &[YEAR_H, 2.0 * YEAR_H]);
    let rebuild = Rebuild { spread: false, ..rebuild };
    assert_plain_covers("distributed, not spread", &Enclosure { rebuild, ..spread }, &[YEAR_H / 2.0]);
    assert_plain_covers("dedicated", &Enclosure { rebuild, ..slow }, &[YEAR_H / 2.0, YEAR_H]);
}

/// Asserts that intervals of forced lives contain the loss probability of the chain, which has the given order of
/// magnitude.
fn assert_forced_covers(what: &str, enclosure: &Enclosure, horizon_h: f64, magnitude: f64) {
    let loss = Chain::of(enclosure).until(horizon_h).0;
    assert!((magnitude..10.0 * magnitude).contains(&loss), "{what}: a loss of {loss:e} is not about {magnitude:e}");
    let outcomes = runs(enclosure, forced_runs(), |seed| forced(&[horizon_h], FORCED_LIFETIMES, seed));
    assert_covered(what, loss, outcomes.iter().map(|outcome| outcome.horizons[0].loss));
    // Plain sampling would need more than 1 / loss lives for that.
    assert_narrow(what, outcomes.iter().map(|outcome| outcome.horizons[0].loss), 0.5);
}

#[test]
fn forced_lives_agree_with_chains_where_rebuilds_are_the_risk() {
    assert_forced_covers("RAID-5, a visit a day", &repaired(raid(19, 1, 0), None, Some(24.0)), YEAR_H, 1e-3);
    assert_forced_covers(
        "RAID-5, 5 spares, preventive",
        &repaired(raid(19, 1, 5), Some(168.0), Some(168.0)),
        YEAR_H,
        1e-5,
    );
    assert_forced_covers("RAID-6, a visit a day", &repaired(raid(4, 2, 0), None, Some(24.0)), YEAR_H, 1e-8);
    let mirror = with(repaired(raid(1, 1, 1), Some(24.0), Some(24.0)), 1e7, 0.01);
    assert_forced_covers("mirror of long-lived devices", &mirror, YEAR_H, 1e-12);
    let distributed = Enclosure { sparing: Sparing::Distributed, ..mirror };
    assert_forced_covers("the same, distributed", &distributed, YEAR_H, 1e-12);
}

#[test]
fn forced_lives_agree_with_chains_where_running_out_of_spares_is_the_risk() {
    assert_forced_covers("RAID-6, 5 spares, no service", &raid(19, 2, 5), YEAR_H, 1e-6);
    assert_forced_covers("few devices, 5 spares", &raid(4, 2, 5), YEAR_H, 1e-10);
    let shelf = Enclosure { spares_fail: true, ..raid(2, 1, 6) };
    assert_forced_covers("spares that fail", &shelf, 0.5 * YEAR_H, 1e-7);
}

#[test]
fn forced_lives_agree_with_chains_where_losses_are_common() {
    assert_forced_covers("RAID-5, 2 spares, 3 years", &raid(19, 1, 2), 3.0 * YEAR_H, 0.1);
    // Several visits precede a loss.
    let lasting = repaired(with(raid(6, 2, 1), 10_000.0, 100.0), Some(500.0), Some(200.0));
    assert_forced_covers("several visits", &lasting, 4.0 * YEAR_H, 0.1);
}
