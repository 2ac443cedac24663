//! Data integrity of random caches over children that reorder requests.

use sledsim::engine::random::Stream;
use sledsim::engine::{ComponentId, System};
use sledsim::hierarchy::cache::ram::{Eviction, FlushSpec, RamCacheSpec, ReadAheadSpec, WritePolicy};
use sledsim::hierarchy::cache::replacement::POLICIES;
use sledsim::hierarchy::{Drive, Spread, SpreadLayout};
use sledsim::scenario;
use sledsim::schedulers::{build, fcfs, sptf, SchedulerSpec};
use sledsim_testing::scenarios::{self, device_spec};
use sledsim_testing::test_bed::{Load, TestBed};
use sledsim_testing::tiers::size;

use super::between::{Between, Disturbance};
use super::host::{add_cache, constant_drive, T};

/// Bursts of requests larger than some caches, over a range larger than all caches.
pub const LOAD: Load = Load { span_blocks: 600, most_blocks: 30, writes: 0.5, gap_ns: T / 2, outstanding: 20 };

/// Returns a cache by number: every policy in turn, other parameters at random.
pub fn any_cache(index: usize) -> RamCacheSpec {
    let mut stream = Stream::new(index as u64, "caches");
    let mut one_of = |values: &[u64]| values[stream.below(values.len() as u64) as usize];
    let line_bytes = 512 * one_of(&[1, 3, 8, 16, 70]);
    // At most the capacity of the smallest child.
    let lines = one_of(&[2, 5, 16]).max(one_of(&[10_000, 100_000]) / line_bytes).min(320_000 / line_bytes);
    let read_ahead = match one_of(&[0, 1, 2]) {
        0 => ReadAheadSpec::None {},
        1 => ReadAheadSpec::Line {},
        _ => ReadAheadSpec::Sequential { most_bytes: 65_536 },
    };
    let flush = FlushSpec {
        demand_only: false,
        idle_ms: (one_of(&[0, 1]) == 0).then_some(0.3),
        high_water: one_of(&[0, 1, 3, 4]) as f64 / 4.0,
        low_water: 0.0,
        period_s: (one_of(&[0, 1]) == 0).then_some(0.002),
        outstanding: one_of(&[1, 4]) as u32,
        most_write_bytes: 512 * one_of(&[1, 20, 400]),
    };
    let write = if one_of(&[0, 1, 2]) == 0 { WritePolicy::Through } else { WritePolicy::Back };
    let (volatile, policy) = (one_of(&[0, 1]) == 0, POLICIES[index % POLICIES.len()].default);
    let access_us = one_of(&[0, 1, 500]) as f64;
    let eviction = if one_of(&[0, 1]) == 0 { Eviction::Skip } else { Eviction::Wait };
    // With write-through no line is dirty.
    let eviction = if write == WritePolicy::Through { Eviction::Skip } else { eviction };
    let flush = if one_of(&[0, 1, 2]) == 0 && write == WritePolicy::Back {
        FlushSpec { demand_only: true, idle_ms: None, period_s: None, ..flush }
    } else {
        flush
    };
    RamCacheSpec {
        line_bytes,
        policy: policy.into(),
        write,
        volatile,
        access_us,
        read_ahead,
        eviction,
        flush,
        ..scenarios::ram_cache(lines * line_bytes)
    }
}

/// A constant drive that serves requests in random order.
pub fn scrambled_drive(system: &mut System) -> ComponentId {
    let drive = constant_drive(system, 650);
    Between::over(system, drive, Disturbance::Scrambled(4 * T)).0
}

/// A drive of the catalogue.
pub fn drive(system: &mut System, name: &str, scheduler: SchedulerSpec) -> ComponentId {
    let device = scenario::device(&device_spec(name)).expect("a device");
    let scheduler = build(&scheduler, device.as_ref());
    system.add(Box::new(Drive::new(device, scheduler, 1)), &[])
}

fn check(system: System, seed: usize, operations: u64, load: &Load) -> u64 {
    let mut bed = TestBed::new(system, seed as u64);
    for _ in 0..10 {
        bed.operate(operations / 10, load);
        // Sometimes the system is idle, so that idle destages happen.
        bed.settle();
        while bed.step() {}
    }
    bed.read_all();
    assert!(bed.wrong.is_empty() && bed.lost.is_empty(), "system {seed}: {:?} {:?}", bed.wrong.first(), bed.lost);
    bed.checked
}

#[test]
fn data_is_intact_over_a_reordering_child() {
    let mut checked = 0;
    for index in (0..56).step_by(size(3, 1)) {
        let mut system = System::default();
        let child = scrambled_drive(&mut system);
        add_cache(&mut system, child, &any_cache(index));
        checked += check(system, index, 3_000, &LOAD);
    }
    assert!(checked > size(300_000, 1_000_000), "{checked} blocks");
}

#[test]
fn data_is_intact_over_another_cache() {
    for index in 0..32 {
        let mut system = System::default();
        let child = scrambled_drive(&mut system);
        let below = add_cache(&mut system, child, &any_cache(1000 + index));
        add_cache(&mut system, below, &any_cache(index));
        check(system, index, 2_000, &LOAD);
    }
}

#[test]
fn data_is_intact_over_several_sleds() {
    for (index, layout) in [SpreadLayout::Split, SpreadLayout::Striped].into_iter().cycle().take(12).enumerate() {
        let mut system = System::default();
        let sleds: Vec<ComponentId> = (0..3).map(|_| drive(&mut system, "g2", sptf::POLICY.default)).collect();
        let spread = system.add(Box::new(Spread::new(sleds.clone(), layout, 8, 220, 512)), &sleds);
        add_cache(&mut system, spread, &any_cache(index));
        check(system, index, 2_000, &LOAD);
    }
}

#[test]
fn data_is_intact_under_a_spread_and_over_a_disk() {
    for index in 0..8 {
        let mut system = System::default();
        let caches: Vec<ComponentId> = (0..2)
            .map(|member| {
                let disk = drive(&mut system, "atlas10k", fcfs::POLICY.default);
                add_cache(&mut system, disk, &any_cache(index + 8 * member))
            })
            .collect();
        system.add(Box::new(Spread::new(caches.clone(), SpreadLayout::Striped, 16, 320, 512)), &caches);
        // Over several children, overlapping requests are ordered only if one is outstanding at a time.
        check(system, index, 500, &Load { outstanding: 1, gap_ns: 20 * T, ..LOAD });
    }
}
