//! Failed tips: recovery by spare tips and codes, its cost, and lost blocks.

use proptest::prelude::*;
use sledsim::devices::mems::{Characteristics, FailedTips, Geometry, MemsDevice, MemsParameters, Transfer};
use sledsim::devices::{Condition, Defects, Mechanism};
use sledsim::engine::random::Stream;
use sledsim::request::{Op, Request};
use sledsim::service::Service;
use sledsim::time::Time;
use sledsim_testing::mems_designs::mems_design;
use sledsim_testing::scenarios;
use sledsim_testing::tiers::{cases, size};

fn device(parameters: &MemsParameters) -> MemsDevice {
    MemsDevice::new(parameters).unwrap_or_else(|error| panic!("{error}"))
}

/// Serves random requests one after the other. Returns requests and services.
fn served(parameters: &MemsParameters, count: u64, most_blocks: u64) -> Vec<(Request, Service)> {
    let mut device = device(parameters);
    let mut random = Stream::new(5, "requests");
    let mut now = Time::ZERO;
    let mut serve = |id| {
        let blocks = 1 + random.below(most_blocks);
        let lbn = random.below(device.dimensions().capacity_blocks - blocks + 1);
        let op = if random.chance(0.5) { Op::Read } else { Op::Write };
        let request = Request { id, op, ..Request::read(lbn, blocks as u32) };
        let service = device.serve(now, &request);
        now = service.end;
        (request, service)
    };
    (0..count).map(&mut serve).collect()
}

/// Returns a device of the catalogue with this number of failed tips.
fn failing(name: &str, number: u32) -> MemsParameters {
    MemsParameters { failed_tips: FailedTips::Number(number), ..scenarios::mems_parameters(name) }
}

/// As long as there are spare tips, failures change no service time, energy or capacity (schlosser2000, section 2.3).
/// Spare tips reduce the capacity.
#[test]
fn spare_tip_replaces_a_failed_one_without_cost() {
    for name in ["g1", "g2", "g3"] {
        let whole = scenarios::mems_parameters(name);
        let spare = MemsParameters { spare_tips: whole.active_tips, ..whole.clone() };
        let room = |parameters: &MemsParameters| Characteristics::of(parameters).expect("a valid device");
        let tracks = u64::from(whole.tips / whole.active_tips);
        assert_eq!(room(&spare).capacity_bytes * tracks, room(&whole).capacity_bytes * (tracks - 1), "{name}");
        let before = served(&spare, 300, 60);
        for failed in [1, 40, whole.active_tips / 2] {
            let broken = MemsParameters { failed_tips: FailedTips::Number(failed), ..spare.clone() };
            assert!(served(&broken, 300, 60) == before, "{name}, {failed} tips");
            assert_eq!(room(&broken).readable_bytes, room(&spare).capacity_bytes, "{name}, {failed} tips");
        }
    }
}

/// A code over the tips of a block costs capacity and the energy of its tips in writes, but no time. A block with a
/// failed tip is read in the same time, with the same energy.
#[test]
fn erasure_code_costs_capacity_and_write_energy() {
    let whole = MemsParameters { bus_ms_per_block: 0.0, ..scenarios::mems_parameters("g2") };
    let coded = MemsParameters { parity_tips: 16, ..whole.clone() };
    let (data, check) = (64, 16);
    let g2 = device(&whole);
    assert_eq!(device(&coded).geometry().blocks_per_row, whole.active_tips / (data + check));
    assert_eq!(device(&coded).dimensions().capacity_blocks * u64::from(g2.geometry().blocks_per_row), {
        g2.dimensions().capacity_blocks * u64::from(whole.active_tips / (data + check))
    });
    // One tip of every block of the first track has failed.
    let failed = (0..whole.active_tips / (data + check)).map(|block| block * (data + check) + 7).collect();
    let degraded = MemsParameters { failed_tips: FailedTips::These(failed), ..coded.clone() };
    let pass_ns = device(&whole).serve(Time::ZERO, &Request::read(0, 1)).phases.transfer_ns;
    for blocks in [1, 5, 16] {
        let figures = |parameters: &MemsParameters, op| {
            let request = Request { op, ..Request::read(32, blocks) };
            let service = device(parameters).serve(Time::ZERO, &request);
            (service, device(parameters).condition(&request))
        };
        for op in [Op::Read, Op::Write] {
            let (with, condition) = figures(&coded, op);
            assert_eq!(figures(&degraded, op), (with, Condition::Degraded), "same time and energy");
            assert_eq!(condition, Condition::Whole);
            let tips = f64::from(blocks * (data + if op == Op::Write { check } else { 0 }));
            let pass_w = (whole.sled_mw + tips * whole.tip_mw) * 1e-3;
            let data_j = pass_w * with.phases.transfer_ns as f64 * 1e-9;
            assert!(
                (with.energy.data_j - data_j).abs() < 1e-15,
                "{op:?} of {blocks}: {} J, not {data_j}",
                with.energy.data_j
            );
            assert_eq!(with.phases.transfer_ns, pass_ns, "no more passes");
        }
    }
}

/// Returns the number of failed tips among those of a block, computed from tip numbers only.
fn failed_under(geometry: &Geometry, parameters: &MemsParameters, lbn: u64, broken: &[u32]) -> u32 {
    let place = geometry.place(lbn);
    let width = parameters.block_bytes / parameters.tip_sector_bytes + parameters.parity_tips;
    let first = place.track * parameters.active_tips + place.slot * width;
    broken.iter().filter(|&&tip| (first..first + width).contains(&tip)).count() as u32
}

proptest! {
    #![proptest_config(cases(16))]

    /// For random designs and failures, the condition of each block and the readable capacity follow from the numbers
    /// of the failed tips. The condition of a request is that of its worst block.
    #[test]
    fn blocks_with_more_failed_than_check_tips_are_lost(
        design in mems_design(), parity in 0_u32..3, spare in 0.0..1.0_f64, share in 0.0..0.6_f64, seed in any::<u64>(),
    ) {
        let active_tips = design.active_tips + parity * (design.active_tips * design.tip_sector_bytes / design.block_bytes);
        let tracks = design.tips / design.active_tips;
        let spare_tips = (spare * f64::from(active_tips)) as u32;
        let tips = tracks * active_tips + spare_tips;
        let mut random = Stream::new(seed, "tips");
        let mut broken: Vec<u32> = (0..tips).filter(|_| random.chance(share)).collect();
        // In an order other than ascending.
        broken.reverse();
        let parameters = MemsParameters {
            tips, active_tips, spare_tips, parity_tips: parity,
            failed_tips: FailedTips::These(broken.clone()),
            ..design
        };
        let device = device(&parameters);
        let geometry = device.geometry();
        // The failed tips without a spare tip.
        let under = |tip: &u32| (tip % active_tips) < geometry.blocks_per_row * geometry.tips_per_block;
        let working = (tips - spare_tips..tips).filter(|tip| !broken.contains(tip)).count();
        let left: Vec<u32> = broken.iter().copied().filter(|tip| *tip < tips - spare_tips && under(tip)).skip(working).collect();
        let capacity = device.dimensions().capacity_blocks.min(4000);
        let mut lost = 0;
        let conditions: Vec<Condition> = (0..capacity).map(|lbn| {
            let expected = match failed_under(geometry, &parameters, lbn, &left) {
                0 => Condition::Whole,
                failed if failed <= parity => Condition::Degraded,
                _ => Condition::Lost,
            };
            lost += u64::from(expected == Condition::Lost);
            assert_eq!(device.condition(&Request::read(lbn, 1)), expected, "block {lbn}");
            expected
        }).collect();
        let figures = Characteristics::of(&parameters).expect("it can be built");
        if capacity == device.dimensions().capacity_blocks {
            prop_assert_eq!(figures.capacity_bytes - figures.readable_bytes, lost * u64::from(parameters.block_bytes));
        }
        for _ in 0..50 {
            let lbn = random.below(capacity);
            let blocks = 1 + random.below((capacity - lbn).min(300));
            let worst = conditions[lbn as usize..(lbn + blocks) as usize].iter().max().copied();
            prop_assert_eq!(Some(device.condition(&Request::read(lbn, blocks as u32))), worst);
        }
    }
}

/// The number of passes until a block is read: each pass fails independently. The mean of many reads is within four
/// standard deviations of the closed form.
#[test]
fn read_errors_repeat_the_pass() {
    let base = MemsParameters { tip_seed: 3, ..scenarios::mems_parameters("g2") };
    let pass_ns = device(&base).serve(Time::ZERO, &Request::read(0, 1)).phases.transfer_ns;
    for (parity_tips, rate) in [(0, 0.002), (0, 0.01), (4, 0.01)] {
        let parameters = MemsParameters { parity_tips, read_error_rate: rate, ..base.clone() };
        // Without check tips, none of 64 data tips may fail; with four check tips, at most four of 68.
        let first = 1.0 - f64::powi(1.0 - rate, 64);
        let again = if parity_tips == 0 { first } else { beyond_four_of_68(rate) };
        let expected = 1.0 + first / (1.0 - again);
        let mut device = device(&parameters);
        let count = size(1_500, 30_000);
        let (mut passes, mut squares, mut now) = (0.0, 0.0, Time::ZERO);
        for place in 0..count {
            let service = device.serve(now, &Request::read(place * 977 % device.dimensions().capacity_blocks, 1));
            assert_eq!(service.phases.service_ns(), service.end - service.start);
            assert_eq!(service.phases.transfer_ns % pass_ns, 0);
            let passed = (service.phases.transfer_ns / pass_ns) as f64;
            (passes, squares) = (passes + passed, squares + passed * passed);
            now = service.end;
        }
        let mean = passes / count as f64;
        let spread = f64::sqrt((squares / count as f64 - mean * mean) / count as f64);
        assert!((mean - expected).abs() < 4.0 * spread, "{rate}, {parity_tips}: {mean} ± {spread}, not {expected}");
        // Writes are not repeated.
        let write = Request { op: Op::Write, ..Request::read(0, 1) };
        assert_eq!(device.serve(now, &write).phases.transfer_ns, pass_ns);
    }
}

/// Returns the probability that more than four of 68 tips fail, each with probability `rate`.
fn beyond_four_of_68(rate: f64) -> f64 {
    let choose = |k: i32| (0..k).map(|i| f64::from(68 - i) / f64::from(i + 1)).product::<f64>();
    (5..=68).map(|k| choose(k) * rate.powi(k) * (1.0 - rate).powi(68 - k)).sum()
}

#[test]
fn invalid_tips_are_rejected() {
    let g2 = scenarios::mems_parameters("g2");
    let message = |parameters: MemsParameters| MemsDevice::new(&parameters).err().expect("it is refused").to_string();
    assert!(message(failing("g2", 6_401)).contains("failed_tips"));
    for (numbers, word) in [(vec![3, 6_400], "failed_tips.1"), (vec![3, 5, 3], "failed_tips.2")] {
        assert!(message(MemsParameters { failed_tips: FailedTips::These(numbers), ..g2.clone() }).contains(word));
    }
    assert!(message(MemsParameters { spare_tips: 6_000, ..g2.clone() }).contains("spare_tips"));
    assert!(message(MemsParameters { parity_tips: 1_000, active_tips: 640, ..g2.clone() }).contains("active_tips"));
    assert!(message(MemsParameters { read_error_rate: 0.05, ..g2.clone() }).contains("read_error_rate"));
    let fluid = MemsParameters { transfer: Transfer::Fluid, parity_tips: 2, ..g2.clone() };
    assert!(message(fluid).contains("parity_tips"));
    let mut coded = MemsDevice::new(&MemsParameters { parity_tips: 2, ..g2 }).expect("a code");
    assert!(!coded.access_subsectors(), "a code over the tips of a block needs all of it");
}
