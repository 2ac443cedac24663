//! Invariants of spin-down policies in single idle periods, over random ladders of idle modes.

use proptest::prelude::*;
use sledsim::power::{Ladder, Mode, SpinDown, SpinDownSpec};
use sledsim::service::MODES;
use sledsim_testing::tiers::cases;

/// Energies are sums of a few products.
const TOLERANCE: f64 = 1e-12;

/// Ladders of 1 to 6 modes of falling power and rising timeouts, some without a timeout.
fn ladder() -> impl Strategy<Value = Ladder> {
    let mode = (0.0..2.0_f64, prop_oneof![3 => (0..2_000_000_000_u64).prop_map(Some), 1 => Just(None)], wake());
    prop::collection::vec(mode, 1..=MODES).prop_map(|drafts| {
        let mut power_w = 0.2;
        let mut powers_w: Vec<f64> = drafts
            .iter()
            .map(|draft| {
                power_w += draft.0;
                power_w
            })
            .collect();
        powers_w.reverse();
        let mut after_ns = Some(0_u64);
        let modes = drafts.into_iter().enumerate().map(|(index, (_, gap_ns, (wake_ns, wake_w)))| {
            if index > 0 {
                after_ns = after_ns.zip(gap_ns).map(|(after_ns, gap_ns)| after_ns + gap_ns);
            }
            let (name, wake_ns) = (format!("mode {index}"), if index == 0 { 0 } else { wake_ns });
            Mode { name, power_w: powers_w[index], after_ns, wake_ns, wake_w }
        });
        Ladder::new(modes.collect()).expect("powers fall and times rise")
    })
}

/// Time and power of a return: possibly zero, or less power than in the mode itself.
fn wake() -> impl Strategy<Value = (u64, f64)> {
    (prop_oneof![Just(0), 0..3_000_000_000_u64], 0.0..8.0_f64)
}

fn policy() -> impl Strategy<Value = Option<SpinDownSpec>> {
    let adaptive = (2..20_u32, prop::option::of(0.0..5_000.0_f64), 0.0..20.0_f64, 0.0..0.9_f64);
    prop_oneof![
        Just(None),
        Just(Some(SpinDownSpec::Immediate {})),
        (0.0..4_000.0_f64).prop_map(|after_ms| Some(SpinDownSpec::Timeout { after_ms })),
        Just(Some(SpinDownSpec::Never {})),
        Just(Some(SpinDownSpec::adaptive())),
        adaptive.prop_map(|(experts, longest_ms, learning_rate, sharing)| {
            Some(SpinDownSpec::Adaptive { experts, longest_ms, learning_rate, sharing })
        }),
        Just(Some(SpinDownSpec::Offline {})),
    ]
}

fn idle_times() -> impl Strategy<Value = Vec<u64>> {
    let idle_ns = prop_oneof![Just(0), Just(1), 0..3_000_000_u64, 0..4_000_000_000_u64, 0..500_000_000_000_u64];
    prop::collection::vec(idle_ns, 1..40)
}

/// Energy of a return above that of the lowest mode, J; at least 0.
fn return_j(ladder: &Ladder, mode: &Mode) -> f64 {
    let lowest_w = ladder.modes().last().expect("a mode").power_w;
    ((mode.wake_w - lowest_w) * mode.wake_ns as f64 * 1e-9).max(0.0)
}

/// Energy of an idle period and its return above that of the lowest mode, J.
fn excess_j(ladder: &Ladder, spent_ns: &[u64; MODES], left: Option<usize>) -> f64 {
    let modes = ladder.modes();
    let in_modes: f64 = modes.iter().zip(spent_ns).map(|(mode, &ns)| mode.power_w * ns as f64 * 1e-9).sum();
    let least_j = modes.last().expect("a mode").power_w * spent_ns.iter().sum::<u64>() as f64 * 1e-9;
    in_modes - least_j + left.map_or(0.0, |mode| return_j(ladder, &modes[mode]))
}

/// Returns the smallest possible energy of an idle period above that of the lowest mode, J. It is that of a single
/// mode, because changes of mode cost energy.
fn least_j(ladder: &Ladder, idle_ns: u64) -> f64 {
    let whole = |mode: usize| {
        let mut spent_ns = [0; MODES];
        spent_ns[mode] = idle_ns;
        excess_j(ladder, &spent_ns, Some(mode))
    };
    (0..ladder.modes().len()).map(whole).fold(f64::INFINITY, f64::min)
}

/// Returns the scale of rounding errors of a period, J.
fn rounding_j(ladder: &Ladder, idle_ns: u64) -> f64 {
    let most_w = ladder.modes().iter().map(|mode| mode.power_w.max(mode.wake_w)).fold(0.0, f64::max);
    TOLERANCE * most_w * (idle_ns + 3_000_000_000) as f64 * 1e-9
}

fn check_period(policy: &SpinDown, idle_ns: u64) {
    let ladder = policy.ladder();
    let spent_ns = policy.spent_ns(idle_ns);
    let mode = policy.mode_at(idle_ns);
    assert_eq!(spent_ns.iter().sum::<u64>(), idle_ns);
    assert!(
        spent_ns[mode] > 0 || idle_ns == 0,
        "{idle_ns} ns end in mode {mode}, where nothing was spent: {spent_ns:?}"
    );
    assert!(spent_ns[mode + 1..].iter().all(|&ns| ns == 0), "{idle_ns} ns end in mode {mode}: {spent_ns:?}");
    let open_ns = policy.open_ns(idle_ns);
    assert_eq!(open_ns.iter().sum::<u64>(), idle_ns);
    let (regret_j, rounding_j) = (policy.regret_j(idle_ns), rounding_j(ladder, idle_ns));
    let above_least_j = excess_j(ladder, &spent_ns, Some(mode)) - least_j(ladder, idle_ns);
    assert!(above_least_j >= -rounding_j, "below the minimum by {above_least_j} J");
    assert!((regret_j - above_least_j).abs() <= rounding_j && regret_j >= 0.0, "{regret_j} J, not {above_least_j} J");
    // Until a request arrives, the lowest mode from the start would have been best.
    assert!((policy.waste_j(idle_ns) - excess_j(ladder, &open_ns, None)).abs() <= rounding_j);
}

/// Checks the times and the regret of the first part of a period against those of the whole.
fn check_part(policy: &SpinDown, part_ns: u64, whole_ns: u64) {
    let ladder = policy.ladder();
    let (part, whole) = (policy.part_ns(part_ns, whole_ns), policy.spent_ns(whole_ns));
    assert_eq!(part.iter().sum::<u64>(), part_ns);
    assert!(part.iter().zip(&whole).all(|(part_ns, whole_ns)| part_ns <= whole_ns), "{part:?} of {whole:?}");
    let rest: [u64; MODES] = std::array::from_fn(|mode| whole[mode] - part[mode]);
    let rest_j = excess_j(ladder, &rest, Some(policy.mode_at(whole_ns))) - least_j(ladder, whole_ns - part_ns);
    let expected_j = policy.regret_j(whole_ns) - rest_j;
    assert!((policy.part_regret_j(part_ns, whole_ns) - expected_j).abs() <= 2.0 * rounding_j(ladder, whole_ns));
}

fn check_exact(policy: &SpinDown, spec: Option<&SpinDownSpec>, idle_ns: u64) {
    let (ladder, mode, spent_ns) = (policy.ladder(), policy.mode_at(idle_ns), policy.spent_ns(idle_ns));
    let lowest = ladder.lowest();
    match spec {
        Some(SpinDownSpec::Never {}) => {
            assert_eq!((mode, spent_ns[0]), (0, idle_ns));
            assert_eq!(policy.timeout_ns(), (lowest == 0).then_some(0));
        }
        Some(SpinDownSpec::Immediate {}) => assert_eq!(spent_ns[lowest], idle_ns),
        Some(SpinDownSpec::Timeout { after_ms }) if lowest > 0 => {
            let after_ns = (after_ms * 1e6).round() as u64;
            assert_eq!(policy.timeout_ns(), Some(after_ns));
            assert_eq!(mode == lowest, idle_ns > after_ns);
            assert_eq!(spent_ns[lowest], idle_ns.saturating_sub(after_ns));
        }
        Some(SpinDownSpec::Offline {}) => {
            assert_eq!((spent_ns[mode], policy.regret_j(idle_ns)), (idle_ns, 0.0), "the bound itself");
            assert_eq!((policy.open_ns(idle_ns)[lowest], policy.waste_j(idle_ns)), (idle_ns, 0.0));
        }
        Some(SpinDownSpec::Adaptive { .. }) => {
            let timeout_ns = policy.timeout_ns().expect("a timeout") as f64;
            let longest_ns = policy.share().expect("experts").timeouts_ns().fold(0.0, f64::max);
            assert!(lowest == 0 || (0.0..=longest_ns.round()).contains(&timeout_ns), "{timeout_ns} of {longest_ns}");
        }
        None => {
            let reached = |mode: &Mode| mode.after_ns.is_some_and(|after_ns| idle_ns > after_ns);
            assert_eq!(mode, ladder.modes()[1..].iter().filter(|mode| reached(mode)).count());
        }
        Some(SpinDownSpec::Timeout { .. }) => assert_eq!(mode, 0),
    }
}

proptest! {
    #![proptest_config(cases(2048))]

    #[test]
    fn every_policy_accounts_for_every_idle_period(
        ladder in ladder(), spec in policy(), periods in idle_times(), parts in prop::collection::vec(0.0..=1.0_f64, 40),
    ) {
        let mut policy = SpinDown::new(spec.as_ref(), ladder);
        for (idle_ns, part) in periods.into_iter().zip(parts) {
            check_period(&policy, idle_ns);
            check_part(&policy, (idle_ns as f64 * part) as u64, idle_ns);
            check_exact(&policy, spec.as_ref(), idle_ns);
            policy.record_idle(idle_ns);
        }
    }

    #[test]
    fn the_adaptive_policy_is_the_share_algorithm(
        ladder in ladder(), periods in prop::collection::vec(1_000_000..4_000_000_000_u64, 1..40), experts in 2..16_u32, rate in 0.0..20.0_f64, sharing in 0.0..0.9_f64,
    ) {
        let longest_ms = Some(1_500.0);
        let spec = SpinDownSpec::Adaptive { experts, longest_ms, learning_rate: rate, sharing };
        let mut policy = SpinDown::new(Some(&spec), ladder.clone());
        let mut weights = vec![1.0; experts as usize];
        for idle_ns in periods {
            let timeouts_ns: Vec<f64> = policy.share().expect("experts").timeouts_ns().collect();
            let total: f64 = weights.iter().sum();
            let average_ns = timeouts_ns.iter().zip(&weights).map(|(ns, weight)| ns * weight / total).sum::<f64>();
            let timeout_ns = policy.share().expect("experts").timeout_ns() as f64;
            // Rounded to a nanosecond; the policy computes weights by repeated squaring, this test one by one.
            prop_assert!((timeout_ns - average_ns).abs() <= 1.0 + 1e-7 * average_ns, "{} {}", timeout_ns, average_ns);
            share(&ladder, &timeouts_ns, &mut weights, idle_ns, rate, sharing);
            policy.record_idle(idle_ns);
        }
    }
}

/// Returns the energy of an idle period under a timeout above that of the lowest mode, J. Before the timeout, the
/// higher modes are entered at their own times.
fn expert_j(ladder: &Ladder, timeout_ns: f64, idle_ns: f64) -> f64 {
    let (lowest, modes) = (&ladder.modes()[ladder.lowest()], ladder.modes());
    let upper = &modes[..ladder.lowest().max(1)];
    let on_way_ns = timeout_ns.min(idle_ns);
    let reached_ns = |mode: &Mode| mode.after_ns.map_or(f64::INFINITY, |after_ns| after_ns as f64);
    let (mut energy_j, mut last) = (0.0, &upper[0]);
    for (index, mode) in upper.iter().enumerate() {
        let from_ns = reached_ns(mode).min(on_way_ns);
        let to_ns = upper.get(index + 1).map_or(f64::INFINITY, reached_ns).min(on_way_ns);
        energy_j += (mode.power_w - lowest.power_w) * (to_ns - from_ns) * 1e-9;
        if reached_ns(mode) < idle_ns {
            last = mode;
        }
    }
    let left = if timeout_ns < idle_ns { lowest } else { last };
    energy_j + return_j(ladder, left)
}

/// The share algorithm as published, with the cost of each expert computed separately.
fn share(ladder: &Ladder, timeouts_ns: &[f64], weights: &mut [f64], idle_ns: u64, rate: f64, sharing: f64) {
    let lowest = ladder.modes().last().expect("a mode");
    let waited_ns = timeouts_ns.iter().copied().fold(0.0, f64::max).min(idle_ns as f64);
    let most_j = (ladder.modes()[0].power_w - lowest.power_w) * waited_ns * 1e-9 + return_j(ladder, lowest);
    if idle_ns == 0 || most_j <= 0.0 {
        return;
    }
    let losses = timeouts_ns.iter().map(|&timeout_ns| {
        ((expert_j(ladder, timeout_ns, idle_ns as f64) - least_j(ladder, idle_ns)) / most_j).clamp(0.0, 1.0)
    });
    let mut pool = 0.0;
    for (weight, loss) in weights.iter_mut().zip(losses) {
        *weight *= (-rate * loss).exp();
        let given = *weight * (1.0 - (1.0 - sharing).powf(loss));
        *weight -= given;
        pool += given;
    }
    let (count, total) = (weights.len() as f64, weights.iter().sum::<f64>() + pool);
    weights.iter_mut().for_each(|weight| *weight = (*weight + pool / count) / total);
}

/// Two modes with a break-even time of 0.5 ms: the sled of g2.
fn sled() -> Ladder {
    let ready = Mode { name: "idle".into(), power_w: 0.1, after_ns: Some(0), wake_ns: 0, wake_w: 0.0 };
    let stopped = Mode { name: "inactive".into(), power_w: 0.05, after_ns: None, wake_ns: 500_000, wake_w: 0.1 };
    Ladder::new(vec![ready, stopped]).expect("a ladder")
}

proptest! {
    #![proptest_config(cases(512))]

    /// Timeouts that a custom policy sets need not be in order.
    #[test]
    fn modes_with_a_longer_timeout_than_a_lower_mode_are_skipped(
        ladder in ladder(),
        told_ns in prop::collection::vec(prop_oneof![4 => 0..100_u64, 1 => Just(u64::MAX)], MODES),
        idle_ns in 0..150_u64,
    ) {
        let lowest = ladder.lowest();
        let mut policy = SpinDown::new(None, ladder);
        policy.enter_after(&told_ns[..=lowest]);
        let lowest_entered = (1..=lowest).rev().find(|&mode| told_ns[mode] < idle_ns);
        prop_assert_eq!(policy.mode_at(idle_ns), lowest_entered.unwrap_or(0));
        prop_assert_eq!(policy.spent_ns(idle_ns).iter().sum::<u64>(), idle_ns);
    }
}

#[test]
fn the_break_even_of_a_sled_is_half_a_millisecond() {
    let ladder = sled();
    let break_even_ns = ladder.break_even_ns().expect("stopping saves power");
    // (100 - 50) mW * 0.5 ms / (100 - 50) mW.
    assert!((break_even_ns - 5e5).abs() < 1e-3, "{break_even_ns}");
    assert_eq!((ladder.best(499_999), ladder.best(500_001)), (0, 1));
}

#[test]
fn the_adaptive_policy_converges_for_constant_idle_times() {
    const BREAK_EVEN_NS: f64 = 5e5;
    for factor in [0.05, 0.3, 0.7, 0.9, 1.1, 1.5, 3.0, 9.0, 30.0, 1000.0] {
        let idle_ns = (factor * BREAK_EVEN_NS) as u64;
        let mut policy = SpinDown::new(Some(&SpinDownSpec::adaptive()), sled());
        // Near the break-even time, differences of energy are small, so the policy learns little.
        for _ in 0..400 {
            policy.record_idle(idle_ns);
        }
        let timeout_ns = policy.timeout_ns().expect("a timeout");
        assert_eq!(timeout_ns < idle_ns, factor > 1.0, "{factor} break-even times: {timeout_ns} ns");
        let best_j = least_j(policy.ladder(), idle_ns);
        let regret = policy.regret_j(idle_ns) / best_j;
        assert!(regret <= 0.05, "{factor} break-even times: {regret:.3} above the best at {timeout_ns} ns");
    }
}

#[test]
fn shared_weight_restores_experts_with_small_weights() {
    let settle = |sharing: f64| {
        let defaults = SpinDownSpec::Adaptive { experts: 12, longest_ms: None, learning_rate: 4.0, sharing };
        let mut policy = SpinDown::new(Some(&defaults), sled());
        // Many short idle periods, for which a stop wastes energy, then long ones.
        for _ in 0..100 {
            policy.record_idle(100_000);
        }
        let right = |policy: &SpinDown| policy.regret_j(5_000_000) <= 0.05 * least_j(policy.ladder(), 5_000_000);
        (0..5000).find(|_| {
            policy.record_idle(5_000_000);
            right(&policy)
        })
    };
    let periods = [0.08, 0.0].map(|sharing| settle(sharing).expect("it settles"));
    println!("{periods:?}");
    assert!(periods[0] < 40 && periods[1] > 100, "{periods:?}");
}

#[test]
fn policies_stay_within_their_competitive_bounds() {
    let break_even = SpinDownSpec::Timeout { after_ms: 0.5 };
    for idle_ns in (0..5_000_000).step_by(7_919) {
        let policy = SpinDown::new(Some(&break_even), sled());
        let best_j = least_j(policy.ladder(), idle_ns);
        assert!(policy.regret_j(idle_ns) <= best_j + 1e-15, "{idle_ns} ns");
        let immediate = SpinDown::new(Some(&SpinDownSpec::Immediate {}), sled());
        assert!(immediate.regret_j(idle_ns) <= 25e-6 + 1e-15, "{idle_ns} ns");
    }
}
