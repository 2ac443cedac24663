//! Read-modify-write: a sled turns around and rewrites the blocks at once, a disk waits for a revolution (schlosser2004,
//! section 6.2).

use sledsim::devices::Mechanism;
use sledsim::engine::random::Stream;
use sledsim::hierarchy::array::{Layout, Level, WriteMethod};
use sledsim::hierarchy::ArraySpec;
use sledsim::request::Op;
use sledsim::scenario::{self, DeviceSpec};
use sledsim::time::Time;
use sledsim_testing::scenarios;

use super::building::*;

/// 4 KB.
const BLOCKS: u64 = 8;
const UNIT: u64 = 128;
const WRITES: u64 = 400;

/// A disk without a buffer.
fn disk() -> DeviceSpec {
    match scenarios::device_spec("atlas10k") {
        DeviceSpec::Disk(mut parameters) => {
            parameters.buffer_caching = false;
            parameters.fast_write = sledsim::devices::disk::FastWrite::None;
            parameters.read_ahead = sledsim::devices::disk::ReadAhead::None;
            DeviceSpec::Disk(parameters)
        }
        other => panic!("{other:?} is no disk"),
    }
}

/// A sled with or without the command time of the catalogue.
fn sled(commands: bool) -> DeviceSpec {
    let mut parameters = scenarios::mems_parameters("g2");
    if !commands {
        parameters.overhead_ms = 0.0;
    }
    DeviceSpec::Mems(Box::new(parameters))
}

/// Times of single small writes to an array of five, ms. The first three are those of the member whose read ends last:
#[derive(Debug, Default)]
struct Found {
    /// From the end of the read's last pass until the write is complete: mean, least, most.
    rewrite_ms: [f64; 3],
    /// From the start of the read's first pass until the write is complete: mean.
    modify_ms: f64,
    /// The write's positioning: mean, least, most.
    seek_ms: [f64; 3],
    /// Both steps of the array: mean.
    response_ms: f64,
}

/// Checks that the array takes the same time as its members when they are served directly: concurrent reads, then
/// writes after both.
fn small_writes(device: &DeviceSpec) -> Found {
    let spec = ArraySpec { write: WriteMethod::Rmw, ..units(UNIT * 512) };
    let mut system = plain_array(Level::Raid5, device, 5, &spec);
    let mut members: Vec<Box<dyn Mechanism>> = (0..5).map(|_| scenario::device(device).expect("a device")).collect();
    let overhead_ns = members[0].dimensions().command_overhead_ns;
    let layout = Layout::new(Level::Raid5, 5, 0, UNIT, members[0].dimensions().capacity_blocks / UNIT);
    let mut stream = Stream::new(2, "places");
    let mut now = Time::ZERO;
    let (mut rewrites, mut modifies, mut seeks, mut responses) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for id in 0..WRITES {
        let lbn = stream.below(layout.capacity_blocks() / BLOCKS) * BLOCKS;
        let span = layout.spans(lbn, BLOCKS).next().expect("a span");
        let piece = layout.pieces(span).next().expect("a piece");
        let at = span.row * UNIT + piece.from;
        let both = [layout.member(span.row, piece.column), layout.member(span.row, 4)];
        let mut serve = |member: usize, op, from: Time| {
            members[member].serve(from + overhead_ns, &request(id, from, op, at, BLOCKS))
        };
        let read = both.map(|member| serve(member, Op::Read, now));
        let later = usize::from(read[1].end > read[0].end);
        let written = both.map(|member| serve(member, Op::Write, read[later].end));
        let end = written[0].end.max(written[1].end);
        let completion = serve_one(&mut system, Op::Write, lbn, BLOCKS);
        assert_eq!(completion.service.end, end, "write {id} to {lbn}");
        let (first, second) = (&read[later], &written[later]);
        let rewrite_ns = second.end - first.end + first.phases.bus_ns;
        rewrites.push(rewrite_ns);
        modifies.push(rewrite_ns + first.phases.servo_ns + first.phases.transfer_ns + first.phases.turnaround_ns);
        seeks.push(second.phases.seek_ns);
        responses.push(end - now);
        now = end;
    }
    let mean = |times_ns: &[u64]| times_ns.iter().sum::<u64>() as f64 / WRITES as f64 * 1e-6;
    let three = |times_ns: &[u64]| {
        let ends = [times_ns.iter().min(), times_ns.iter().max()].map(|end| *end.expect("writes") as f64 * 1e-6);
        [mean(times_ns), ends[0], ends[1]]
    };
    let (rewrite_ms, seek_ms) = (three(&rewrites), three(&seeks));
    Found { rewrite_ms, modify_ms: mean(&modifies), seek_ms, response_ms: mean(&responses) }
}

#[test]
fn a_sled_turns_around_while_a_disk_waits_for_a_revolution() {
    let [disk, plain, commanded] = [disk(), sled(false), sled(true)].map(|device| small_writes(&device));
    println!("atlas10k {disk:.4?}\ng2 {plain:.4?}\ng2 with commands {commanded:.4?}");
    let revolution_ms = 60_000.0 / 10_025.0;
    // Angles and phases are rounded, by less than 100 ns (a sector takes 18 us). A few requests cross a track, which
    // adds up to 2 % of a revolution to the mean.
    assert!((disk.rewrite_ms[1] - revolution_ms).abs() < 1e-4, "{disk:?}");
    assert!(disk.rewrite_ms[0] < 1.02 * revolution_ms, "{disk:?}");
    // A reversal takes 0.040 to 0.218 ms, depending on the position. The sled moves on while the last of 8 blocks is
    // transferred, and must return that distance.
    let (pass_ms, tail_ms) = (0.1286, BLOCKS as f64 * 0.00512);
    let (least_ms, most_ms) = (0.040, 0.218 + 2.0 * tail_ms);
    assert!(plain.seek_ms[1] >= least_ms && plain.seek_ms[2] <= most_ms, "{plain:?}");
    // Rows have 20 blocks: an access to 8 takes one pass, or two with a reversal between them.
    let longest_ms = most_ms + 2.0 * pass_ms + 0.218 + 2.0 * tail_ms;
    assert!(plain.rewrite_ms[1] >= least_ms + pass_ms && plain.rewrite_ms[2] <= longest_ms, "{plain:?}");
    assert!(disk.modify_ms / plain.modify_ms > 10.0, "{disk:?} {plain:?}");
    // With commands of 0.2 ms, nothing else changes; a write to the array has two commands one after the other.
    let more = [commanded.rewrite_ms[0] - plain.rewrite_ms[0], (commanded.response_ms - plain.response_ms) / 2.0];
    assert!(more.iter().all(|more_ms| (more_ms - 0.2).abs() < 1e-9), "{more:?}");
}
