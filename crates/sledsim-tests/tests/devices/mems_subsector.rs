//! Energy and times of subsector accesses on the published devices, calculated by hand (Lin et al. 2002, sections 5.3
//! and 6.3).
//!
//! A block of 512 bytes lies under 64 tips, 8 bytes each. 1280 tips can work at once on G2, 3200 on G3: rows of 20 and
//! 50 blocks. 100 blocks share a sled position on both. The sled draws 100 mW and each tip 1 mW.

use serde_json::{json, Value};
use sledsim::devices::mems::{IdleTips, MemsDevice, MemsParameters, Place};
use sledsim::devices::{Mechanism, Service, State, Together};
use sledsim::request::{Flags, Op, Padding, Request};
use sledsim::time::Time;
use sledsim_testing::scenarios;

const SLED_W: f64 = 0.1;
const TIP_W: f64 = 1e-3;

/// Blocks in a row.
fn row(name: &str) -> u32 {
    if name == "g2" {
        20
    } else {
        50
    }
}

/// Device, and servo and data time of a pass: 10 and 80 bits at 700 kbit/s (g2) and 1 Mbit/s (g3), the pass rounded as a whole.
const DEVICES: [(&str, u64, u64); 2] = [("g2", 14_286, 114_285), ("g3", 10_000, 80_000)];

fn device(parameters: &MemsParameters, subsector: bool) -> MemsDevice {
    let mut device = MemsDevice::new(parameters).unwrap_or_else(|error| panic!("{error}"));
    assert!(!subsector || device.access_subsectors());
    device
}

/// Returns a started device of the catalogue that has served a request elsewhere, and the time at which it is free.
fn awake(name: &str, subsector: bool) -> (MemsDevice, Time) {
    let mut device = device(&scenarios::mems_parameters(name), subsector);
    let free = device.serve(Time::ZERO, &Request::read(0, 1)).free;
    (device, free)
}

fn served(name: &str, subsector: bool, request: &Request) -> Service {
    let (mut device, free) = awake(name, subsector);
    device.serve(free, request)
}

#[track_caller]
fn assert_same_j(joules: f64, expected_j: f64) {
    assert!((joules - expected_j).abs() <= 1e-12 * expected_j, "{joules} J instead of {expected_j} J");
}

/// Checks that the energy is that of the seeks at the sled's power and of the passes at the power of sled and tips.
#[track_caller]
fn assert_passes(service: &Service, servo_ns: u64, data_ns: u64, tips: &[u32]) {
    let phases = &service.phases;
    let passes = tips.len() as u64;
    assert_eq!((phases.servo_ns, phases.transfer_ns), (passes * servo_ns, passes * data_ns));
    let pass_w: f64 = tips.iter().map(|&tips| SLED_W + TIP_W * f64::from(tips)).sum();
    assert_same_j(service.energy.servo_j, pass_w * servo_ns as f64 * 1e-9);
    assert_same_j(service.energy.data_j, pass_w * data_ns as f64 * 1e-9);
    assert_same_j(service.energy.seek_j, SLED_W * (phases.seek_ns + phases.turnaround_ns) as f64 * 1e-9);
    let total_j = service.energy.seek_j + service.energy.servo_j + service.energy.data_j;
    assert_same_j(service.energy.total_j(), total_j);
}

#[test]
fn metadata_access_activates_only_its_tips() {
    for (name, servo_ns, data_ns) in DEVICES {
        // Inode, access time, the mean of both, and bytes on both sides of a tip sector boundary.
        for (first, bytes, tips) in [(0, 128, 16), (384, 128, 16), (128, 4, 1), (128, 66, 9), (6, 4, 2), (0, 512, 64)] {
            let request = Request::read(1_000_000, 1).with_needed_bytes(first, bytes, 512);
            assert_passes(&served(name, true, &request), servo_ns, data_ns, &[tips]);
            assert_passes(&served(name, false, &request), servo_ns, data_ns, &[64]);
        }
    }
    // An inode on G3: 116 mW for 90 microseconds; a block: 164 mW.
    let inode = served("g3", true, &Request::read(1_000_000, 1).with_needed_bytes(256, 128, 512)).energy;
    assert_same_j(inode.servo_j + inode.data_j, 10.44e-6);
    let block = served("g3", false, &Request::read(1_000_000, 1)).energy;
    assert_same_j(block.servo_j + block.data_j, 14.76e-6);
}

#[test]
fn partial_last_block_saves_1_32_of_the_tips_of_8_kb() {
    for (name, servo_ns, data_ns) in DEVICES {
        let lbn = 20 * 4000;
        let whole = served(name, false, &Request::read(lbn, 16));
        let mut tips_j = 0.0;
        for k in 1..=64_u32 {
            let part =
                served(name, true, &Request::read(lbn, 16).with_needed_bytes(0, 15 * 512 + 8 * u64::from(k), 512));
            assert_passes(&part, servo_ns, data_ns, &[15 * 64 + k]);
            assert_eq!((part.phases, part.end), (whole.phases, whole.end), "times are those of whole blocks");
            tips_j += part.energy.servo_j + part.energy.data_j - SLED_W * (servo_ns + data_ns) as f64 * 1e-9;
        }
        // On average 32.5 (1 to 64) of 64 tips are needed: 31.5 of the request's 1024 are saved, 3.08 %.
        let whole_j = whole.energy.servo_j + whole.energy.data_j - SLED_W * (servo_ns + data_ns) as f64 * 1e-9;
        assert_same_j(1.0 - tips_j / 64.0 / whole_j, 31.5 / 1024.0);
    }
}

#[test]
fn rows_without_needed_bytes_are_not_visited() {
    for (name, servo_ns, data_ns) in DEVICES {
        let row = row(name);
        let row_bytes = u64::from(row) * 512;
        // Three rows of a track: the last 5 bytes of the first, all of the second, the first 9 bytes of the third.
        let lbn = u64::from(row) * 4000;
        let across = Request::read(lbn, 3 * row).with_needed_bytes(row_bytes - 5, 5 + row_bytes + 9, 512);
        let part = served(name, true, &across);
        assert_passes(&part, servo_ns, data_ns, &[1, 64 * row, 2]);
        let whole = served(name, false, &across);
        assert_eq!((part.phases.seek_ns, part.free), (whole.phases.seek_ns, whole.free));

        let middle = Request::read(lbn, 3 * row).with_needed_bytes(row_bytes + 512, 8, 512);
        let second = lbn + u64::from(row) + 1;
        let (mut device, free) = awake(name, true);
        assert_eq!(device.locate(&middle), device.locate(&Request::read(second, 1)));
        let part = device.serve(free, &middle);
        assert_passes(&part, servo_ns, data_ns, &[1]);
        assert_eq!(part, served(name, true, &Request::read(second, 1).with_needed_bytes(0, 8, 512)));
        // Only the needed block is transferred, not all 20 or 50 of the row.
        assert_eq!(
            (part.phases.bus_ns, served(name, false, &Request::read(lbn, row)).phases.bus_ns),
            (5120, u64::from(row) * 5120)
        );
    }
}

#[test]
fn cylinders_without_needed_bytes_are_not_visited() {
    for (name, servo_ns, data_ns) in DEVICES {
        let (mut device, free) = awake(name, true);
        let border = device.geometry().lbn(&Place { cylinder: 1000, track: 0, row: 0, slot: 0 });
        assert_eq!(device.geometry().place(border - 1).cylinder, 999);
        // 40 blocks on each side; the 100 bytes from the border on are needed.
        let request = Request::read(border - 40, 80).with_needed_bytes(40 * 512, 100, 512);
        assert_eq!(device.locate(&request).cylinder, 1000);
        let service = device.serve(free, &request);
        assert_passes(&service, servo_ns, data_ns, &[13]);
        assert_eq!(device.cylinder(service.free), 1000);
    }
}

/// If a track ends in the row in which the next begins, the blocks of the row share a pass, plus another block if tips
/// are left.
#[test]
fn active_tips_limit_a_pass() {
    for (name, servo_ns, data_ns) in DEVICES {
        let (device, _) = awake(name, true);
        let turn = device.geometry().lbn(&Place { cylinder: 1000, track: 1, row: device.geometry().rows - 1, slot: 0 });
        let all = Request::read(turn - 10, row(name) + 1);
        for (spare, passes) in [(0, 2), (31, 2), (32, 1), (63, 1)] {
            let request = Request { padding: Padding { front_bytes: 8 * spare, back_bytes: 8 * spare }, ..all };
            let tips = if passes == 1 {
                vec![64 * (row(name) + 1) - 2 * spare]
            } else {
                vec![64 * row(name) - spare, 64 - spare]
            };
            assert_passes(&served(name, true, &request), servo_ns, data_ns, &tips);
            assert_passes(&served(name, false, &request), servo_ns, data_ns, &[64 * row(name), 64]);
        }
    }
}

/// 80 inodes of 16 tips use all 1280 tips of G2, 100 half blocks of 32 tips all 3200 of G3. Whole blocks take one pass
/// per row.
#[test]
fn more_requests_share_a_pass() {
    for (index, wanted, bytes, passes, passes_whole) in
        [(0, 80, 128, 1, 4), (0, 81, 128, 2, 5), (1, 100, 256, 1, 2), (1, 100, 264, 2, 2)]
    {
        let (name, servo_ns, data_ns) = DEVICES[index];
        for (subsector, passes) in [(true, passes), (false, passes_whole)] {
            let (mut device, free) = awake(name, subsector);
            let mut blocks = device.equivalent(20 * 4000);
            blocks.push(20 * 4000);
            assert_eq!(blocks.len(), 100);
            let requests: Vec<Request> =
                blocks[..wanted].iter().map(|&lbn| Request::read(lbn, 1).with_needed_bytes(128, bytes, 512)).collect();
            let mut services = Vec::new();
            let before = device.ledger(free);
            device.serve_together(free, &requests, Together::Batch, &mut services);
            let spent = &device.ledger(services[0].free) - &before;
            assert_eq!(spent.time_ns[State::Data as usize], passes * data_ns);
            assert_eq!(spent.time_ns[State::Servo as usize], passes * servo_ns);
        }
    }
}

#[test]
fn members_share_common_tips() {
    for (name, servo_ns, data_ns) in DEVICES {
        let block = Request::read(20 * 4000, 1);
        // Tips 0 to 15, 8 to 23, and 32 to 40: 33 different tips.
        let requests = [
            block.with_needed_bytes(0, 128, 512),
            block.with_needed_bytes(64, 128, 512),
            block.with_needed_bytes(256, 66, 512),
        ];
        let (mut device, free) = awake(name, true);
        let before = device.ledger(free);
        let mut services = Vec::new();
        device.serve_together(free, &requests, Together::Batch, &mut services);
        let spent = &device.ledger(services[0].free) - &before;
        let pass_j = (SLED_W + 33.0 * TIP_W) * (servo_ns + data_ns) as f64 * 1e-9;
        let spent_j = spent.energy_j[State::Servo as usize] + spent.energy_j[State::Data as usize];
        // The difference of two sums that include the energy of the previous request.
        assert!((spent_j - pass_j).abs() < 1e-11 * pass_j, "{spent_j} J, not {pass_j} J");
        // Energy is shared by the number of needed tips: 16, 16 and 9.
        assert_same_j(services[2].energy.total_j() / services[0].energy.total_j(), 9.0 / 16.0);
    }
}

/// The tips of the last pass continue to read servo bursts.
#[test]
fn fewer_tips_idle_after_a_subsector_access() {
    for (name, servo_ns, data_ns) in DEVICES {
        let parameters = MemsParameters { idle_tips: IdleTips::LastAccess, ..scenarios::mems_parameters(name) };
        for (subsector, tips) in [(true, 16.0), (false, 64.0)] {
            let mut device = device(&parameters, subsector);
            let free = device.serve(Time::ZERO, &Request::read(1_000_000, 1).with_needed_bytes(0, 128, 512)).free;
            let idle_j = device.ledger(free + 1_000_000).energy_j[State::Idle as usize];
            let duty = servo_ns as f64 / (servo_ns + data_ns) as f64;
            assert_same_j(idle_j, 1e-3 * (SLED_W + tips * TIP_W * duty));
        }
    }
}

/// Runs 20 000 requests of 8 KB, half of them reads, with additional keys. Returns the requests and services.
fn run(workload: &Value, system: &Value) -> Vec<(Request, Service)> {
    let mut document = json!({
        "workload": {"arrival": {"kind": "poisson", "rate_per_s": 100.0}, "read_fraction": 0.5,
            "size_bytes": {"kind": "fixed", "value": 8192.0}},
        "system": {},
        "run": {"requests": 20_000},
    });
    for (part, keys) in [("workload", workload), ("system", system)] {
        for (key, value) in keys.as_object().expect("keys") {
            document[part][key] = value.clone();
        }
    }
    let output = scenarios::run(&scenarios::resolved(&document));
    let log = output.recorder.log().expect("a log was asked for");
    assert_eq!(log.entries.len(), 20_000);
    log.entries.clone()
}

#[test]
fn partial_last_blocks_take_the_same_time() {
    for (name, servo_ns, data_ns) in DEVICES {
        let uniform = json!({"last_block": "uniform"});
        let whole = run(&uniform, &json!({"device": name}));
        let part = run(&uniform, &json!({"device": name, "subsector": true}));
        let mut saved = 0;
        for ((request, whole), (other, part)) in whole.iter().zip(&part) {
            assert_eq!((request, whole.phases, whole.end), (other, part.phases, part.end));
            let spare_tips = request.padding.back_bytes / 8;
            let last_pass_j = TIP_W * f64::from(spare_tips) * (servo_ns + data_ns) as f64 * 1e-9;
            let saved_j = whole.energy.total_j() - part.energy.total_j();
            assert!((saved_j - last_pass_j).abs() < 1e-12 * whole.energy.total_j(), "{request:?}");
            saved += spare_tips;
        }
        // 31.5 of 1024 tips; k has a standard deviation of 18.47, its mean over 20 000 requests one of 0.131.
        assert!((f64::from(saved) / 20_000.0 - 31.5).abs() < 4.0 * 0.131, "{saved} tips saved");
    }
}

#[test]
fn whole_blocks_ignore_padding() {
    let device = json!({"device": {"name": "g2", "sleds": 3, "sled_layout": "striped", "stripe_blocks": 4},
        "scheduler": "sptf", "batch_max": 3});
    let plain = run(&json!({}), &device);
    let needing = run(&json!({"last_block": "uniform", "metadata": {"share": 0.7}}), &device);
    for ((request, service), (other, needing)) in plain.iter().zip(&needing) {
        assert_eq!((request.id, service), (other.id, needing));
    }
}

/// Stripe units of 4 blocks on 3 sleds: an access to an inode uses one sled.
#[test]
fn only_sleds_with_needed_bytes_work() {
    let device = json!({"name": "g2", "sleds": 3, "sled_layout": "striped", "stripe_blocks": 4});
    let workload = json!({"metadata": {"share": 0.7}});
    let system = |subsector| json!({"device": device, "scheduler": "sptf", "subsector": subsector});
    let (whole, part) = (run(&workload, &system(false)), run(&workload, &system(true)));
    let (_, servo_ns, data_ns) = DEVICES[0];
    let mut metadata = 0;
    for (request, service) in &part {
        if request.flags.contains(Flags::METADATA) {
            let tips = if request.op == Op::Read { 16.0 } else { 9.0 };
            assert_same_j(service.energy.servo_j, (SLED_W + tips * TIP_W) * servo_ns as f64 * 1e-9);
            assert_same_j(service.energy.data_j, (SLED_W + tips * TIP_W) * data_ns as f64 * 1e-9);
            metadata += 1;
        } else {
            // 16 blocks are on all three sleds, in one or two rows of each.
            let tips_j = service.energy.data_j / (data_ns as f64 * 1e-9) - 1024.0 * TIP_W;
            let passes = (tips_j / SLED_W).round();
            assert!((3.0..=6.0).contains(&passes) && (tips_j - passes * SLED_W).abs() < 1e-9, "{service:?}");
        }
    }
    assert!(metadata > 13_000);
    let total_j = |log: &[(Request, Service)]| log.iter().map(|(_, service)| service.energy.total_j()).sum::<f64>();
    assert!(total_j(&part) < total_j(&whole));
}
