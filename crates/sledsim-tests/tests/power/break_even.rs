//! Break-even times against closed forms and energies.

use proptest::prelude::*;
use sledsim::devices::mems::{ladder, MemsParameters};
use sledsim::power::{BreakEven, Interval, Ladder, Mode};
use sledsim::scenario::{resolve, Catalog, DeviceSpec, Notation};

/// Far above the rounding of a few operations on doubles.
const ROUNDING: f64 = 1e-12;

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= ROUNDING * found.abs().max(expected.abs())
}

fn mode(power_w: f64, wake_ms: u64, wake_w: f64) -> Mode {
    Mode { name: format!("{power_w} W"), power_w, after_ns: Some(0), wake_ns: wake_ms * 1_000_000, wake_w }
}

fn break_even(modes: Vec<Mode>) -> Vec<BreakEven> {
    Ladder::new(modes).expect("a ladder").break_even()
}

fn device(settings: &str) -> DeviceSpec {
    let catalog = Catalog::new(vec![concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/sledsim/catalog").into()]);
    let text = format!(
        r#"{{"workload": {{"arrival": {{"kind": "poisson", "rate_per_s": 1}}}}, "system": {{"device": {settings}}}}}"#
    );
    let scenario = resolve(&text, Notation::Json, "test", &[], &catalog, std::path::Path::new("."))
        .expect("a scenario")
        .into_scenario();
    scenario.system.into_drive().expect("a drive alone").device
}

fn mems(settings: &str) -> MemsParameters {
    match device(settings) {
        DeviceSpec::Mems(parameters) => *parameters,
        other => panic!("{} is not MEMS storage", other.name()),
    }
}

/// 100 mW moving, 50 mW stopped, 0.5 ms at 100 mW to start: 5e-5 J, which a saving of 50 mW regains in 1 ms and 100 mW
/// consume in 0.5 ms. Over a fixed span, the start-up counts only with the 50 mW above the stopped sled.
#[test]
fn the_second_generation_breaks_even_after_a_millisecond() {
    let found = device(r#""g2""#).break_even().expect("a ladder");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].idle_tips, 0);
    let [ready, stopped] = &found[0].modes[..] else { panic!("two modes") };
    assert_eq!((ready.idle_s, ready.fixed_span_s, ready.equal_idle_s), (None, None, None));
    assert!(close(stopped.wake_j, 5e-5));
    assert!(close(stopped.idle_s.expect("it saves"), 1e-3));
    assert!(close(stopped.fixed_span_s.expect("it saves"), 0.5e-3));
    assert!(close(stopped.equal_idle_s.expect("it moves"), 0.5e-3));
}

/// Lin et al. 2002, section 5.1: 2 s and 6 J to spin up, 1 W idle, "as much energy as leaving it idle for 6 seconds".
#[test]
fn a_disk_spin_up_takes_the_energy_of_six_idle_seconds() {
    let found = break_even(vec![mode(1.0, 0, 0.0), mode(0.0, 2000, 3.0)]);
    assert!(close(found[1].wake_j, 6.0));
    assert!(close(found[1].equal_idle_s.expect("it takes power"), 6.0));
    assert!(close(found[1].idle_s.expect("it saves"), 6.0));
}

/// Tips that are active while idle increase the saving of a stop: 64 or 1280 tips of 1 mW during 10 of every 90 bits.
#[test]
fn idle_tips_shorten_the_break_even_time() {
    let found = device(r#"{"name": "g2", "idle_tips": "last-access"}"#).break_even().expect("a ladder");
    assert_eq!(found.iter().map(|each| each.idle_tips).collect::<Vec<_>>(), [64, 1280]);
    for each in found {
        let idle_w = 0.1 + f64::from(each.idle_tips) * 1e-3 / 9.0;
        assert!(close(each.modes[0].power_w, idle_w));
        assert!(close(each.modes[1].idle_s.expect("it saves"), 5e-5 / (idle_w - 0.05)));
    }
}

#[test]
fn modes_that_save_no_power_never_break_even() {
    let parameters = mems(r#"{"name": "g2", "inactive_mw": 100}"#);
    let found = ladder(&parameters, 0).expect("equal powers make a ladder").break_even();
    assert_eq!((found[1].idle_s, found[1].fixed_span_s, found[1].best), (None, None, None));
    let always = Some(Interval { from_s: 0.0, to_s: None });
    assert_eq!((found[0].best, found[0].best_fixed_span), (always, always));
    let dearer = mems(r#"{"name": "g2", "inactive_mw": 101}"#);
    assert!(ladder(&dearer, 0).expect_err("a stopped sled saves power").to_string().contains("inactive_mw = 101"));
}

#[test]
fn devices_without_power_have_no_break_even() {
    assert_eq!(device(r#""atlas10k""#).break_even(), Ok(Vec::new()));
}

/// Schlosser et al. 2000, section 4.3: 2.0, 1.3, 0.85 and 0.2 W; returns of 40 ms, 400 ms and 2 s at 2.2 W.
#[test]
fn the_mobile_drive_has_a_break_even_for_each_mode() {
    let found = device(r#""travelstar""#).break_even().expect("a ladder");
    let times: Vec<f64> = found[0].modes[1..].iter().map(|mode| mode.idle_s.expect("it saves")).collect();
    let expected = [2.2 * 0.04 / 0.7, 2.2 * 0.4 / 1.15, 2.2 * 2.0 / 1.8];
    assert!(times.iter().zip(expected).all(|(&found, expected)| close(found, expected)), "{times:?}");
    let spans: Vec<f64> = found[0].modes[1..].iter().map(|mode| mode.fixed_span_s.expect("it saves")).collect();
    let expected = [2.0 * 0.04 / 0.7, 2.0 * 0.4 / 1.15, 2.0 * 2.0 / 1.8];
    assert!(spans.iter().zip(expected).all(|(&found, expected)| close(found, expected)), "{spans:?}");
}

/// Three modes, of which the middle one is best between two break-even times: (1.0 - 0.4) W save 0.06 J in 0.1 s, (0.4
/// - 0.1) W save 0.6 J - 0.06 J in 1.8 s.
#[test]
fn the_envelope_has_the_modes_in_turn() {
    let found = break_even(vec![mode(1.0, 0, 0.0), mode(0.4, 60, 1.0), mode(0.1, 600, 1.0)]);
    let borders: Vec<_> = found.iter().map(|each| each.best.expect("each mode is best for some idle times")).collect();
    assert!(close(borders[0].to_s.expect("ends"), 0.1));
    assert_eq!(borders[0].to_s, Some(borders[1].from_s));
    assert!(close(borders[1].to_s.expect("ends"), 1.8));
    assert_eq!(borders[1].to_s, Some(borders[2].from_s));
    assert_eq!(borders[2].to_s, None);
    assert!(close(found[2].idle_s.expect("it saves"), 0.6 / 0.9));
}

/// Ladders of two to four modes, with equal powers and free returns among them.
fn ladders() -> impl Strategy<Value = Ladder> {
    let lower = prop::collection::vec((0_u32..4, 0_u64..2000, 0_u32..5), 1..4);
    lower.prop_map(|lower| {
        let mut power_w = 3.0;
        let mut modes = vec![mode(power_w, 0, 0.0)];
        for (drop, wake_ms, wake) in lower {
            power_w -= 0.25 * f64::from(drop);
            modes.push(mode(power_w, wake_ms, 0.5 * f64::from(wake)));
        }
        Ladder::new(modes).expect("falling powers")
    })
}

proptest! {
    /// At a break-even time both modes take the same energy; after it the lower mode takes less.
    #[test]
    fn energies_are_equal_at_the_break_even(ladder in ladders()) {
        for (k, found) in ladder.break_even().iter().enumerate().skip(1) {
            let Some(span_s) = found.fixed_span_s else { continue };
            let excess_j = |mode: usize, idle_s: f64| ladder.excess_j(mode, (idle_s * 1e9).round() as u64);
            // Half a nanosecond of rounding, at most 3 W.
            let rounding_j = 3.0 * 1e-9;
            if span_s > 0.0 {
                prop_assert!((excess_j(0, span_s) - excess_j(k, span_s)).abs() <= rounding_j);
            }
            prop_assert!(excess_j(k, span_s + 1.0) <= excess_j(0, span_s + 1.0) + rounding_j);
        }
    }

    /// The intervals cover all idle times, and the mode of each is optimal within it.
    #[test]
    fn the_envelope_is_the_optimum(ladder in ladders(), idle_ms in 0_u64..20_000) {
        let found = ladder.break_even();
        let idle_s = idle_ms as f64 * 1e-3;
        let inside = |range: &Interval| range.from_s <= idle_s && range.to_s.is_none_or(|to_s| idle_s < to_s);
        let span: Vec<usize> = (0..found.len()).filter(|&k| found[k].best_fixed_span.is_some_and(|r| inside(&r))).collect();
        prop_assert_eq!(span.len(), 1);
        let idle_ns = idle_ms * 1_000_000;
        let least_j = ladder.excess_j(ladder.best(idle_ns), idle_ns);
        // Rounding of products of tens of joules.
        prop_assert!((ladder.excess_j(span[0], idle_ns) - least_j).abs() <= 1e-9);
        let plain: Vec<usize> = (0..found.len()).filter(|&k| found[k].best.is_some_and(|r| inside(&r))).collect();
        prop_assert_eq!(plain.len(), 1);
        let energy_j = |each: &BreakEven| each.wake_j + each.power_w * idle_s;
        let least_j = found.iter().map(energy_j).fold(f64::INFINITY, f64::min);
        prop_assert!(energy_j(&found[plain[0]]) <= least_j + 1e-9);
    }
}
