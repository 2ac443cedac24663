//! Experiments: threads, interruption, bounds without observed losses, and rejected values.

use std::num::NonZeroUsize;

use sledsim::limits::THREADS;
use sledsim::reliability::{
    binomial_interval, simulate, Batches, Delay, Enclosure, Experiment, InfantMortality, LatentErrors, Lifetime,
    Outcome, Repair, Tips,
};
use sledsim_testing::tiers::size;

use super::described::{exponential, fixed, forced, outcome, plain, raid, repaired, with, YEAR_H};

fn on_threads(enclosure: &Enclosure, experiment: &Experiment, threads: usize) -> Outcome {
    outcome(enclosure, &Experiment { threads: NonZeroUsize::new(threads), ..experiment.clone() })
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let enclosure = repaired(raid(19, 1, 2), Some(168.0), Some(168.0));
    let precise = Experiment { precision: Some(0.01), ..forced(&[YEAR_H], 100_000, 3) };
    let to_loss = Experiment { to_loss: true, ..plain(&[YEAR_H], 5500, 3) };
    for experiment in [plain(&[YEAR_H, 5.0 * YEAR_H], 20_500, 3), to_loss, precise] {
        let alone = on_threads(&raid(19, 1, 2), &experiment, 1);
        for threads in [2, 3, 7] {
            assert_eq!(on_threads(&raid(19, 1, 2), &experiment, threads), alone);
        }
        let other = Experiment { seed: 4, ..experiment };
        assert_ne!(on_threads(&raid(19, 1, 2), &other, 2), alone);
    }
    assert_eq!(outcome(&enclosure, &plain(&[YEAR_H], 20_500, 3)).lifetimes, 20_500);
}

#[test]
fn a_stopped_experiment_equals_one_with_fewer_lives() {
    let experiment = plain(&[YEAR_H, 3.0 * YEAR_H], 1_000_000_000, 1);
    let mut looks = 0;
    let stopped = simulate(&raid(19, 1, 5), &experiment, &mut |_| {
        looks += 1;
        looks < 3
    });
    let stopped = stopped.expect("the enclosure and the experiment are sound");
    assert!(stopped.interrupted && stopped.lifetimes >= 1000);
    let whole = outcome(&raid(19, 1, 5), &Experiment { lifetimes: stopped.lifetimes, ..experiment });
    assert_eq!(whole, Outcome { interrupted: false, ..stopped });
}

/// An experiment can be stopped at any time, including the end of a round of lives.
#[test]
fn keep_going_is_not_called_after_false() {
    let experiment = Experiment { precision: Some(1e-6), ..plain(&[YEAR_H], 1_000_000_000, 1) };
    for no in 1..size(5, 12) {
        let mut looks = 0;
        let stopped = simulate(&raid(19, 1, 5), &experiment, &mut |_| {
            looks += 1;
            looks != no
        });
        assert!(stopped.expect("the enclosure and the experiment are sound").interrupted);
        assert_eq!(looks, no, "no further call after a refusal");
    }
}

/// A refusal of the callback is reported even after the last life, because the caller may have further work to cancel.
#[test]
fn a_stop_after_the_last_life_is_reported() {
    // A single life takes so long that the callback is called during it, and again after a slow return.
    let mut slow = raid(400, 1, 5);
    slow.device.tips = Some(Tips { count: 1000, mttf_h: YEAR_H, spares: 400, tolerated: 9, remap_h: 0.0 });
    let experiment = plain(&[YEAR_H], 1000, 1);
    let mut heard = 0;
    let stopped = simulate(&slow, &experiment, &mut |lives| {
        heard = lives;
        std::thread::sleep(std::time::Duration::from_millis(60));
        lives < 1000
    });
    let stopped = stopped.expect("the enclosure and the experiment are sound");
    assert_eq!((heard, stopped.lifetimes, stopped.interrupted), (1000, 1000, true));
    assert_eq!(outcome(&slow, &experiment), Outcome { interrupted: false, ..stopped });
}

#[test]
fn long_lives_can_be_stopped() {
    let lasting = with(repaired(raid(10, 4, 2), Some(24.0), Some(24.0)), 1e6, 0.1);
    let experiment = Experiment { to_loss: true, ..plain(&[], 1000, 1) };
    let stopped = simulate(&lasting, &experiment, &mut |_| false).expect("both are sound");
    assert!(stopped.interrupted && stopped.lifetimes == 0 && stopped.mttf_h.is_none());
}

#[test]
fn no_observed_loss_gives_an_upper_bound() {
    let safe = with(repaired(raid(10, 3, 1), Some(24.0), Some(24.0)), 1e8, 0.1);
    let seen = &outcome(&safe, &plain(&[YEAR_H], 10_000, 1)).horizons[0];
    assert_eq!((seen.observed, seen.loss.value, seen.loss.low), (0, None, 0.0));
    assert_eq!(seen.loss.high, binomial_interval(0, 10_000, 0.99).high);
    // Forced lives of the same enclosure observe losses.
    let by_force = outcome(&safe, &forced(&[YEAR_H], 10_000, 1)).horizons[0].loss;
    assert!(by_force.value.is_some_and(|loss| loss > 0.0 && loss < 1e-15), "{by_force:?}");
}

#[test]
fn underflowing_loss_probabilities_give_an_upper_bound() {
    // More than 30 failures during a rebuild of an hour, each with a probability of 1e-12: smaller than any double.
    let safe = with(repaired(raid(10, 40, 1), Some(1.0), Some(1.0)), 1e12, 1.0);
    let seen = outcome(&safe, &forced(&[1.0], 2000, 1)).horizons[0].loss;
    assert!(seen.value.is_none_or(|loss| (0.0..1e-300).contains(&loss)), "{seen:?}");
    assert!(seen.low == 0.0 && (0.0..0.1).contains(&seen.high), "{seen:?}");
}

#[test]
fn rare_bad_batches_are_sampled() {
    // Good devices do not fail and those of a bad batch fail within hours, so a loss is as likely as a bad batch.
    let mut enclosure = with(raid(4, 1, 0), 1e11, 1.0);
    enclosure.device.batches = Some(Batches { size: 5, share: 1e-7, mttf_h: 1.0 });
    let batch = outcome(&enclosure, &forced(&[100.0], 10_000, 1)).horizons[0].loss;
    assert!(batch.low <= 1e-7 && batch.high >= 1e-7, "{batch:?} does not hold 1e-7");
    // Two weak devices of five.
    enclosure.device.batches = None;
    enclosure.device.infant_mortality = Some(InfantMortality { share: 1e-7, mttf_h: 1.0 });
    let weak = outcome(&enclosure, &forced(&[100.0], 20_000, 1)).horizons[0].loss;
    assert!(weak.low <= 1e-13 && weak.high >= 1e-13, "{weak:?} does not hold 1e-13");
}

#[test]
fn experiments_end_at_the_required_precision() {
    let enclosure = raid(19, 1, 5);
    let reached = outcome(&enclosure, &Experiment { precision: Some(0.05), ..forced(&[YEAR_H], 1_000_000, 1) });
    assert!(reached.lifetimes < 1_000_000 && reached.horizons[0].loss.relative_half_width() <= 0.05);
    let missed = outcome(&enclosure, &Experiment { precision: Some(1e-4), ..forced(&[YEAR_H], 20_000, 1) });
    assert_eq!(missed.lifetimes, 20_000);
    assert!(!missed.interrupted && missed.horizons[0].loss.relative_half_width() > 1e-4);
}

#[test]
fn the_number_of_threads_is_limited() {
    let most = THREADS.most as usize;
    let experiment = plain(&[YEAR_H], 5000, 1);
    assert_eq!(on_threads(&raid(4, 1, 1), &experiment, most), on_threads(&raid(4, 1, 1), &experiment, 1));
    for threads in [most + 1, 1 << 32, usize::MAX] {
        let experiment = Experiment { threads: NonZeroUsize::new(threads), ..experiment.clone() };
        assert_eq!(refused(&raid(4, 1, 1), &experiment), "threads");
    }
}

/// Returns the first rejected field.
fn refused(enclosure: &Enclosure, experiment: &Experiment) -> String {
    let faults = simulate(enclosure, experiment, &mut |_| true).expect_err("this is refused");
    faults.into_iter().next().expect("something is wrong").location.path.to_string()
}

#[test]
fn values_out_of_range_are_rejected_by_name() {
    let sound = plain(&[YEAR_H], 1000, 1);
    let changed = |change: &dyn Fn(&mut Enclosure)| {
        let mut enclosure = raid(4, 1, 1);
        change(&mut enclosure);
        refused(&enclosure, &sound)
    };
    assert_eq!(changed(&|e| e.data = 0), "enclosure.data");
    assert_eq!(changed(&|e| e.spares = u32::MAX), "enclosure.data");
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(changed(&|e| e.device.mttf_h = wrong), "device.mttf");
        assert_eq!(changed(&|e| e.rebuild.time = exponential(wrong)), "rebuild.time");
        assert_eq!(changed(&|e| e.repair.mandatory = Some(fixed(wrong))), "repair.mandatory");
        assert_eq!(changed(&|e| e.device.lifetime = Lifetime::Weibull { shape: wrong }), "device.lifetime.shape");
        assert_eq!(changed(&|e| e.device.lifetime = Lifetime::Lognormal { sigma: wrong }), "device.lifetime.sigma");
        let errors = LatentErrors { every_h: wrong, scrub_h: None };
        assert_eq!(changed(&|e| e.device.latent_errors = Some(errors)), "device.latent_errors.every");
    }
    let day: Delay = exponential(24.0);
    assert_eq!(changed(&|e| e.repair = Repair { preventive: Some(day), mandatory: None }), "repair.mandatory");
    assert_eq!(changed(&|e| e.rebuild.at_once = 0), "rebuild.at_once");
    let infants = InfantMortality { share: 1.5, mttf_h: 1.0 };
    assert_eq!(changed(&|e| e.device.infant_mortality = Some(infants)), "device.infant_mortality.share");
    let batches = Batches { size: 0, share: 0.5, mttf_h: 1.0 };
    assert_eq!(changed(&|e| e.device.batches = Some(batches)), "device.batches.size");
    let tips = Tips { count: 4, mttf_h: 1.0, spares: 0, tolerated: 4, remap_h: 0.0 };
    assert_eq!(changed(&|e| e.device.tips = Some(tips)), "device.tips.tolerated");
    // All faults of both are reported.
    let (mut enclosure, experiment) = (raid(4, 1, 1), Experiment { confidence: 2.0, ..sound.clone() });
    (enclosure.device.mttf_h, enclosure.rebuild.at_once) = (0.0, 0);
    let faults = simulate(&enclosure, &experiment, &mut |_| true).expect_err("this is refused");
    let paths: Vec<String> = faults.into_iter().map(|fault| fault.location.path.to_string()).collect();
    assert_eq!(paths, ["device.mttf", "rebuild.at_once", "confidence"]);
}

#[test]
fn contradicting_options_are_rejected_by_name() {
    let refuses = |experiment: Experiment| refused(&raid(4, 1, 1), &experiment);
    let sound = plain(&[YEAR_H], 1000, 1);
    for horizons_h in [&[][..], &[0.0], &[-1.0], &[f64::NAN], &[2.0, 1.0], &[1.0, 1.0], &[f64::INFINITY]] {
        assert_eq!(refuses(plain(horizons_h, 1000, 1)), "horizons");
    }
    assert_eq!(refuses(plain(&[YEAR_H], 999, 1)), "lifetimes");
    assert_eq!(refuses(Experiment { confidence: 1.0, ..sound.clone() }), "confidence");
    assert_eq!(refuses(Experiment { precision: Some(0.0), ..sound.clone() }), "precision");
    assert_eq!(refuses(Experiment { to_loss: true, forced: true, ..sound.clone() }), "to_loss");
    let many = Enclosure { parity: 200, spares: 1000, ..raid(4, 1, 1) };
    assert_eq!(refused(&many, &forced(&[YEAR_H], 1000, 1)), "enclosure.parity");
    assert_eq!(outcome(&many, &sound).lifetimes, 1000);
}

/// Returns the first error.
fn said(enclosure: &Enclosure, experiment: &Experiment) -> String {
    let faults = simulate(enclosure, experiment, &mut |_| true).expect_err("this is refused");
    faults.into_iter().next().expect("something is wrong").to_string()
}

#[test]
fn too_many_lives_are_rejected_before_the_run() {
    let tips = Tips { count: 1000, mttf_h: YEAR_H, spares: 50, tolerated: 9, remap_h: 0.0 };
    let mut tipped = raid(19, 2, 2);
    tipped.device.tips = Some(tips);
    let times: Vec<f64> = (1..=977).map(f64::from).collect();
    // Limits: devices; devices and times; devices with 60 tolerated tip failures each.
    let year = [YEAR_H];
    let cases =
        [(raid(19, 2, 2), &year[..], 24_u64), (raid(19, 2, 2), &times[..], 1000), (tipped, &year[..], 23 * 61 + 1)];
    for (enclosure, horizons_h, draws) in cases {
        let most = (1 << 36) / draws;
        let asked = |lifetimes| plain(horizons_h, lifetimes, 1);
        assert_eq!(asked(1000).most_lifetimes(&enclosure), most);
        let words = said(&enclosure, &asked(most + 1));
        assert!(words.starts_with(&format!("lifetimes = {}, each with 23 devices", most + 1)), "{words}");
        assert!(words.contains(&format!("ask for at most {most};")), "{words}");
        let begun = simulate(&enclosure, &asked(most), &mut |_| false).expect("so many can be");
        assert!(begun.interrupted);
    }
    // Few tips fail in an hour.
    assert!(plain(&[1.0], 1000, 1).most_lifetimes(&raid(19, 2, 2)) == (1 << 36) / 24);
    let mut hopeless = raid(4900, 50, 50);
    hopeless.device.tips = Some(Tips { count: 10_000_000, spares: 1_000_000, ..tips });
    assert!(said(&hopeless, &plain(&[YEAR_H], 1000, 1)).contains("fewer devices, failures of tips, or times"));
    assert_eq!(refused(&raid(9_000, 500, 501), &plain(&[YEAR_H], 1000, 1)), "enclosure.data");
    assert_eq!(outcome(&raid(9_000, 500, 500), &plain(&[1.0], 1000, 1)).lifetimes, 1000);
}

#[test]
fn too_many_events_end_an_experiment() {
    let restless = with(repaired(raid(2, 1, 0), Some(1e-6), Some(1e-6)), 1.0, 1e-6);
    // Device steps in a chunk of 1000 lives.
    let share = (1_u64 << 40) / (1_u64 << 34).div_ceil(1000);
    for (experiment, remedy) in [
        (Experiment { to_loss: true, ..plain(&[], 1 << 34, 1) }, "rarer failures or no simulation to the loss"),
        (plain(&[1e9], 1 << 34, 1), "fewer lifetimes, rarer failures or an earlier time"),
    ] {
        let words = said(&restless, &experiment);
        assert!(words.contains(&format!("more than {share} device steps")) && words.contains(remedy), "{words}");
    }
}
