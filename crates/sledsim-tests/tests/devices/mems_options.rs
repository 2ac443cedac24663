//! Options of rows, writes and tips: closed forms, and figures of DiskSim 4.0.

use sledsim::devices::mems::{MemsDevice, MemsParameters, RowDirection, SeekModel, Transfer, WriteTransfer};
use sledsim::devices::{Mechanism, Service};
use sledsim::engine::random::Stream;
use sledsim::request::{Op, Request};
use sledsim::time::Time;
use sledsim_testing::scenarios::mems_parameters;

fn device(parameters: &MemsParameters) -> MemsDevice {
    MemsDevice::new(parameters).unwrap_or_else(|error| panic!("{error}"))
}

fn write(lbn: u64, blocks: u32) -> Request {
    Request { op: Op::Write, ..Request::read(lbn, blocks) }
}

/// The default device of griffin1999 without servo bursts, so that switches are reversals alone.
fn griffin() -> MemsParameters {
    MemsParameters { servo_bits: 0, ..mems_parameters("griffin1999") }
}

/// Time of a reversal, ns (griffin1999, equation 5).
fn turnaround_ns(parameters: &MemsParameters) -> f64 {
    let speed_m_s = parameters.bit_rate_kbit_s * 1e3 * parameters.bit_nm * 1e-9;
    2.0 * speed_m_s / parameters.acceleration_y_m_s2 * 1e9
}

/// Blocks of a track and of a cylinder.
fn blocks_per(device: &MemsDevice) -> (u64, u64) {
    let geometry = device.geometry();
    let track = u64::from(geometry.rows) * u64::from(geometry.blocks_per_row);
    (track, track * u64::from(geometry.tracks))
}

/// Serves requests one after the other.
fn serve(parameters: &MemsParameters, requests: &[Request]) -> Vec<Service> {
    let mut device = device(parameters);
    let mut at = Time::ZERO;
    let mut one = |request| {
        let service = device.serve(at, request);
        at = service.free;
        service
    };
    requests.iter().map(&mut one).collect()
}

/// A write of several blocks is a write of the first one, and then one of the others, whose data have crossed the bus by then.
#[test]
fn data_that_cross_before_take_a_pass_for_the_first_block() {
    for name in ["g1", "g2", "g3"] {
        let before = MemsParameters { write_transfer: WriteTransfer::Before, ..mems_parameters(name) };
        // The data have crossed before each of the parts.
        let crossed = MemsParameters { bus_ms_per_block: 0.0, ..mems_parameters(name) };
        let row = u64::from(device(&before).geometry().blocks_per_row);
        for (first, blocks) in [(row * 1000, 8), (row * 1000 + 1, row as u32 - 1)] {
            let [whole] = serve(&before, &[write(first, blocks)])[..] else { panic!("one service") };
            let parts = serve(&crossed, &[write(first, 1), write(first + 1, blocks - 1)]);
            assert_eq!(whole.end, parts[1].end, "{name}: {blocks} blocks from {first}");
            let [one] = serve(&before, &[write(first, 1)])[..] else { panic!("one service") };
            assert_eq!(one, parts[0], "{name}: a single block");
        }
        let reads = [Request::read(row * 1000, 8), Request::read(5, 40)];
        assert_eq!(serve(&before, &reads), serve(&mems_parameters(name), &reads), "{name}: reads");
    }
}

/// Mean time of random requests of 4 KB, one at a time, in milliseconds.
fn mean_ms(write_transfer: WriteTransfer, share_of_reads: f64) -> f64 {
    let g2 = mems_parameters("g2");
    let mut device = device(&MemsParameters { write_transfer, seek_model: SeekModel::Decomposed, ..g2 });
    let mut random = Stream::new(1, "requests");
    let (mut at, count) = (Time::ZERO, 100_000);
    for _ in 0..count {
        let lbn = 8 * random.below(device.dimensions().capacity_blocks / 8);
        let request = if random.chance(share_of_reads) { Request::read(lbn, 8) } else { write(lbn, 8) };
        at = device.serve(at, &request).end;
    }
    at.ns() as f64 * 1e-6 / f64::from(count)
}

/// DiskSim 4.0's G2 without command overhead: reads 0.785 ms, writes 0.989 ms, 66 % reads 0.857 ms. Tolerance: 1.2 %, that of
/// reads in `disksim_parity`.
#[test]
fn means_of_4_kb_are_those_of_disksim() {
    for (write_transfer, share_of_reads, disksim_ms) in [
        (WriteTransfer::Overlapped, 1.0, 0.785),
        (WriteTransfer::Before, 1.0, 0.785),
        (WriteTransfer::Before, 0.0, 0.989),
        (WriteTransfer::Before, 0.66, 0.857),
    ] {
        let mean_ms = mean_ms(write_transfer, share_of_reads);
        println!("{write_transfer:?}, {share_of_reads} reads: {mean_ms:.4} ms, DiskSim {disksim_ms} ms");
        assert!((mean_ms / disksim_ms - 1.0).abs() < 0.012, "{write_transfer:?}, {share_of_reads} reads: {mean_ms} ms");
    }
}

/// Equation 4 of griffin1999 over the length of a row, with two reversals if the direction is that of the track, and one reversal and no
/// distance if the sled may come back the other way.
#[test]
fn repeated_row_takes_two_reversals_if_its_track_sets_the_direction() {
    let alternating = griffin();
    let by_track = MemsParameters { row_direction: RowDirection::ByTrack, ..alternating.clone() };
    let geometry = device(&alternating).geometry().clone();
    let (speed_m_s, accel_m_s2) = (0.02, alternating.acceleration_y_m_s2);
    let row_m = geometry.pitch_bits() * alternating.bit_nm * 1e-9;
    let move_ns = 2.0 * ((speed_m_s * speed_m_s + accel_m_s2 * row_m).sqrt() - speed_m_s) / accel_m_s2 * 1e9;
    let turnaround_ns = turnaround_ns(&alternating);
    let (track, _) = blocks_per(&device(&alternating));
    for lbn in [0, 40, track, 3 * track + 60] {
        for (parameters, expected_ns) in [(&alternating, turnaround_ns), (&by_track, move_ns + 2.0 * turnaround_ns)] {
            let served = serve(parameters, &[Request::read(lbn, 1), Request::read(lbn, 1)]);
            let seek_ns = served[1].phases.seek_ns as f64;
            assert!((seek_ns - expected_ns).abs() < 2.0, "{lbn}: {seek_ns} ns, not {expected_ns}");
        }
    }
}

/// In LBN order a track that is passed in its direction costs no positioning between its rows, and the next one a reversal.
#[test]
fn tracks_in_order_are_passed_in_their_directions() {
    let alternating = griffin();
    for transfer in [Transfer::Rows, Transfer::Fluid] {
        let by_track = MemsParameters { row_direction: RowDirection::ByTrack, transfer, ..alternating.clone() };
        let (track, _) = blocks_per(&device(&by_track));
        let [whole] = serve(&by_track, &[Request::read(0, 3 * track as u32)])[..] else { panic!("one service") };
        let expected_ns = 2.0 * turnaround_ns(&by_track);
        let switches_ns = whole.phases.turnaround_ns as f64;
        assert!((switches_ns - expected_ns).abs() < 3.0, "{transfer:?}: {switches_ns} ns, not {expected_ns}");
    }
}

/// A cylinder switch is a reversal if the tips bend to the next column (griffin1999, section 4.1), otherwise a seek that settles.
#[test]
fn cylinder_switch_with_bending_tips_is_a_reversal() {
    let rigid = griffin();
    let settles_ns = |parameters: &MemsParameters| {
        let device = device(parameters);
        let (track, cylinder) = blocks_per(&device);
        let requests = [Request::read(cylinder - track, track as u32), Request::read(cylinder, 1)];
        serve(parameters, &requests)[1].phases
    };
    let expected_ns = turnaround_ns(&rigid);
    for (columns, settles) in [(0.0, true), (0.5, true), (1.0, false), (3.0, false)] {
        let bending = MemsParameters { tip_deflection_nm: columns * rigid.bit_nm, ..rigid.clone() };
        let phases = settles_ns(&bending);
        assert_eq!(phases.settle_ns > 0, settles, "{columns} columns");
        assert_eq!((phases.seek_ns as f64 - expected_ns).abs() < 2.0, !settles, "{columns} columns: {phases:?}");
    }
    // Farther columns take a move of the sled, as with rigid tips.
    let bending = MemsParameters { tip_deflection_nm: 100.0, seek_model: SeekModel::TimeOptimal, ..rigid.clone() };
    let rigid = MemsParameters { seek_model: SeekModel::TimeOptimal, ..rigid };
    let far = |parameters| device(parameters).geometry().capacity_blocks() / 2;
    let requests = |parameters| [Request::read(0, 1), Request::read(far(parameters), 1)];
    assert_eq!(serve(&bending, &requests(&bending)), serve(&rigid, &requests(&rigid)));
}

#[test]
fn options_without_effect_are_rejected() {
    let fault = |parameters: &MemsParameters| {
        MemsDevice::new(parameters).err().map_or_else(String::new, |fault| fault.to_string())
    };
    let g2 = mems_parameters("g2");
    let before = MemsParameters { write_transfer: WriteTransfer::Before, ..g2.clone() };
    let by_track = MemsParameters { row_direction: RowDirection::ByTrack, ..g2.clone() };
    let bending = MemsParameters { tip_deflection_nm: 40.0, ..g2 };
    for (parameters, transfer, key) in [
        (&before, Transfer::Fluid, "write_transfer"),
        (&before, Transfer::Points, "write_transfer"),
        (&by_track, Transfer::Points, "row_direction"),
        (&bending, Transfer::Points, "tip_deflection_nm"),
    ] {
        let active_tips = if transfer == Transfer::Points { 6400 } else { parameters.active_tips };
        let said = fault(&MemsParameters { transfer, active_tips, ..parameters.clone() });
        assert!(said.starts_with(key) && said.contains("has no effect with transfer = "), "{said}");
    }
    for (parameters, says) in [
        (
            MemsParameters { bus_ms_per_block: 0.0, ..before.clone() },
            "write_transfer = \"before\" has no effect with bus_",
        ),
        (
            MemsParameters { bidirectional: false, ..by_track.clone() },
            "row_direction = \"by-track\" has no effect with bi",
        ),
    ] {
        let said = fault(&parameters);
        assert!(said.starts_with(says), "{said}");
    }
    for parameters in [before, by_track, bending] {
        assert_eq!(fault(&parameters), "");
    }
}
