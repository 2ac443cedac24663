//! Agreement of forced and plain lives for enclosures without a chain or a closed form.

use sledsim::reliability::{
    Batches, Delay, DeviceLife, Enclosure, InfantMortality, LatentErrors, Lifetime, Rebuild, Repair, Sparing, Tips,
};
use sledsim_testing::tiers::size;

use super::described::{exponential, fixed, forced, outcome, plain, raid, YEAR_H};

/// Asserts that both estimates of the loss probability agree within four standard errors of their difference.
fn assert_same(what: &str, enclosure: &Enclosure, horizon_h: f64) {
    let plainly = outcome(enclosure, &plain(&[horizon_h], size(100_000, 400_000), 1)).horizons[0].clone();
    let by_force = outcome(enclosure, &forced(&[horizon_h], 40_000, 2)).horizons[0].loss;
    assert!(plainly.observed >= 300, "{what}: {} losses say little", plainly.observed);
    let (p, q) = (plainly.loss.value.expect("losses were seen"), by_force.value.expect("losses were forced"));
    let error = |low: f64, high: f64| 0.5 * (high - low) / 2.576;
    let errors = error(plainly.loss.low, plainly.loss.high).hypot(error(by_force.low, by_force.high));
    assert!((p - q).abs() < 4.0 * errors, "{what}: {p:e} plain, {q:e} forced, ± {errors:e}");
    assert!(error(by_force.low, by_force.high) < 0.05 * q, "{what}: {by_force:?} is wide");
}

fn life(lifetime: Lifetime) -> DeviceLife {
    DeviceLife { mttf_h: 100_000.0, lifetime, ..raid(1, 0, 0).device }
}

fn kept(device: DeviceLife, rebuild: Delay, visit: Delay) -> Enclosure {
    let repair = Repair { preventive: Some(visit), mandatory: Some(visit) };
    Enclosure { device, rebuild: Rebuild { time: rebuild, at_once: 2, spread: true }, repair, ..raid(8, 1, 2) }
}

#[test]
fn forced_and_plain_lives_agree_for_ageing_devices() {
    let laws = [Lifetime::Weibull { shape: 0.6 }, Lifetime::Lognormal { sigma: 1.0 }, Lifetime::Weibull { shape: 2.0 }];
    for lifetime in laws.into_iter().take(size(1, 3)) {
        let enclosure = kept(life(lifetime), fixed(48.0), fixed(500.0));
        assert_same(&format!("{lifetime:?}"), &enclosure, 5.0 * YEAR_H);
        let spread = Enclosure { sparing: Sparing::Distributed, spares: 3, ..enclosure.clone() };
        assert_same(&format!("{lifetime:?}, distributed"), &spread, 5.0 * YEAR_H);
        let on_shelf = Enclosure { spares_fail: true, ..enclosure };
        assert_same(&format!("{lifetime:?}, spares fail"), &on_shelf, 5.0 * YEAR_H);
    }
}

#[test]
fn forced_and_plain_lives_agree_for_weak_devices_and_tip_failures() {
    let weak = DeviceLife {
        infant_mortality: Some(InfantMortality { share: 0.05, mttf_h: 5000.0 }),
        batches: Some(Batches { size: 3, share: 0.05, mttf_h: 8000.0 }),
        ..life(Lifetime::Weibull { shape: 1.5 })
    };
    assert_same("weak", &kept(weak.clone(), exponential(24.0), exponential(300.0)), 2.0 * YEAR_H);
    let errors = LatentErrors { every_h: 50_000.0, scrub_h: Some(336.0) };
    let tips = Tips { count: 1000, mttf_h: 2e6, spares: 10, tolerated: 1, remap_h: 0.5 };
    let inside = DeviceLife { latent_errors: Some(errors), tips: Some(tips), ..weak };
    assert_same("weak, and failing inside", &kept(inside.clone(), fixed(24.0), fixed(300.0)), YEAR_H);
    let raid_6 = Enclosure { data: 8, parity: 2, ..kept(inside, fixed(200.0), fixed(1000.0)) };
    assert_same("the same as RAID-6", &raid_6, 2.0 * YEAR_H);
}

#[test]
fn forced_and_plain_lives_agree_for_latent_errors() {
    let errors = LatentErrors { every_h: 200_000.0, scrub_h: Some(168.0) };
    let device = DeviceLife { latent_errors: Some(errors), ..life(Lifetime::Exponential) };
    assert_same("RAID-5", &kept(device.clone(), exponential(6.0), exponential(72.0)), YEAR_H);
    let raid_6 = Enclosure { data: 7, parity: 2, ..kept(device, exponential(300.0), exponential(1000.0)) };
    assert_same("RAID-6", &raid_6, 5.0 * YEAR_H);
}
