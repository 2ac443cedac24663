//! Policies that use positioning times, on MEMS devices: they decide as an exhaustive search, so the device's bounds
//! are correct.

use serde_json::json;
use sledsim::devices::mems::{MemsDevice, MemsParameters, SeekModel};
use sledsim::devices::Mechanism;
use sledsim::request::Request;
use sledsim::schedulers::{asptf, build, sdf, sptf, SchedulerSpec};
use sledsim::time::Time;
use sledsim_testing::tiers::size;

fn device(seek_model: SeekModel, spring_factor: f64, settle_constants: f64, idle: &str) -> MemsDevice {
    let parameters: MemsParameters = serde_json::from_value(json!({
        "name": "g2", "x_range_um": 100.0, "y_range_um": 100.0, "bit_nm": 40.0, "tips": 6400, "active_tips": 1280,
        "block_bytes": 512, "tip_sector_bytes": 8, "encoded_bits_per_byte": 10, "servo_bits": 10,
        "bidirectional": true, "acceleration_x_m_s2": 803.6, "acceleration_y_m_s2": 803.6,
        "spring_factor": spring_factor, "resonance_hz": 739.0, "settle_constants": settle_constants,
        "bit_rate_kbit_s": 700.0, "seek_model": seek_model, "overhead_ms": 0.2, "bus_ms_per_block": 0.0,
        "idle": idle, "inactive_after_ms": "never", "startup_ms": 0.5, "sled_mw": 100.0, "tip_mw": 1.0,
        "inactive_mw": 50.0, "startup_mw": 100.0,
    }))
    .expect("the parameters are well formed");
    MemsDevice::new(&parameters).expect("the parameters are consistent")
}

fn requests(count: u64, capacity_blocks: u64) -> Vec<Request> {
    let request =
        |id: u64| Request { id, ..Request::read(id * 2_654_435_761 % (capacity_blocks - 16), 1 + (id % 16) as u32) };
    (0..count).map(request).collect()
}

/// Keeps 300 requests pending and compares each decision with a pass over all of them.
fn decides_as(spec: SchedulerSpec, mut device: MemsDevice, cost: impl Fn(&MemsDevice, Time, &(Time, Request)) -> f64) {
    let mut scheduler = build(&spec, &device);
    let mut pending = Vec::new();
    let mut now = Time::ZERO;
    for (i, request) in requests(size(600, 1_500), device.dimensions().capacity_blocks).into_iter().enumerate() {
        scheduler.push(now, request, &device);
        pending.push((now, request));
        if i < 300 {
            continue;
        }
        let costs = pending.iter().map(|it| cost(&device, now, it)).enumerate();
        let (first, _) = costs.min_by(|a, b| a.1.total_cmp(&b.1)).expect("requests are pending");
        let (_, expected) = pending.remove(first);
        assert_eq!(scheduler.pop(now, &device), Some(expected), "{spec:?}, dispatch {}", i - 300);
        // Before every fifth dispatch, the sled is idle for a while.
        now = device.serve(now, &expected).free + if i % 5 == 0 { 37_000 } else { 0 };
    }
}

fn every_device(check: impl Fn(MemsDevice)) {
    for model in SeekModel::ALL {
        for (spring_factor, settle_constants) in [(0.0, 1.0), (0.75, 1.0), (0.75, 0.0)] {
            for idle in ["hold", "sweep"] {
                check(device(model, spring_factor, settle_constants, idle));
            }
        }
    }
}

#[test]
fn sptf_equals_an_exhaustive_search() {
    every_device(|device| {
        decides_as(sptf::POLICY.default, device, |device, now, (_, request)| {
            device.positioning_ns(now, device.locate(request)) as f64
        });
    });
}

#[test]
fn asptf_equals_an_exhaustive_search() {
    let weight = 0.02;
    every_device(|device| {
        decides_as(SchedulerSpec::Asptf(asptf::Spec { weight }), device, |device, now, (ready, request)| {
            device.positioning_ns(now, device.locate(request)) as f64 - weight * (now - *ready) as f64
        });
    });
}

#[test]
fn sdf_equals_an_exhaustive_search() {
    every_device(|device| {
        decides_as(sdf::POLICY.default, device, |device, now, (_, request)| {
            let to = device.coordinates_m(device.locate(request));
            let at = device.position_m(now);
            (to.x_m - at.x_m) * (to.x_m - at.x_m) + (to.y_m - at.y_m) * (to.y_m - at.y_m)
        });
    });
}

#[test]
fn bounds_hold_and_rise_outwards() {
    every_device(|mut device| {
        let mut now = Time::ZERO;
        for request in requests(20, device.dimensions().capacity_blocks) {
            now = device.serve(now, &request).free;
            let from = device.cylinder(now);
            let bounds: Vec<u64> =
                (0..device.dimensions().cylinders).map(|it| device.cylinder_bound_ns(now, it)).collect();
            assert!(bounds[from as usize..].is_sorted(), "from cylinder {from} upwards");
            assert!(bounds[..=from as usize].iter().rev().is_sorted(), "from cylinder {from} downwards");
            for lbn in (0..device.dimensions().capacity_blocks).step_by(9_973) {
                let location = device.locate(&Request { lbn, ..request });
                let positioning_ns = device.positioning_ns(now, location);
                assert!(bounds[location.cylinder as usize] <= positioning_ns, "from cylinder {from} to {location:?}");
            }
        }
    });
}
