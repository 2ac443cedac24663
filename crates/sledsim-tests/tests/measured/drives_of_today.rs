//! Drives of today against published measurements: `docs/reference/validation.md` shows the table that this test prints.

use serde_json::json;
use sledsim::engine::random::Stream;
use sledsim::request::{Flags, Op};
use sledsim_testing::host::Host;
use sledsim_testing::scenarios::device_spec;
use sledsim_testing::tiers::size;

/// Blocks of 4 KiB.
const SMALL: u32 = 8;
/// Blocks of 1 MiB.
const LARGE: u32 = 2048;

/// A figure of a drive: measured, by ublk-disksim's model of the drive, and the largest deviation of ours from the measured one.
struct Figure {
    name: &'static str,
    measured: f64,
    peer: Option<f64>,
    within: f64,
}

const fn figure(name: &'static str, measured: f64, peer: Option<f64>, within: f64) -> Figure {
    Figure { name, measured, peer, within }
}

fn host(name: &str) -> Host {
    let device = serde_json::to_value(device_spec(name)).expect("a device");
    Host::new(&json!({"kind": "drive", "device": device, "scheduler": {"name": "fcfs"}}))
}

/// Picks aligned blocks on the whole drive.
struct Random(Stream);

impl Random {
    fn lbn(&mut self, host: &Host) -> u64 {
        self.0.below(host.capacity_blocks() / u64::from(SMALL)) * u64::from(SMALL)
    }
}

fn random() -> Random {
    Random(Stream::new(7, "random blocks"))
}

/// Response times in ms of random reads of 4 KiB, sorted, and reads per second, with a number of them outstanding.
fn random_reads(name: &str, outstanding: usize, reads: usize) -> (Vec<f64>, f64) {
    let (mut host, mut random, mut responses_ms) = (host(name), random(), Vec::new());
    for _ in 0..outstanding {
        let lbn = random.lbn(&host);
        host.submit(Op::Read, lbn, SMALL, Flags::NONE);
    }
    while responses_ms.len() < reads {
        let done = host.completion();
        responses_ms.push((done.service.end - done.request.arrival) as f64 * 1e-6);
        let lbn = random.lbn(&host);
        host.submit(Op::Read, lbn, SMALL, Flags::NONE);
    }
    responses_ms.sort_by(f64::total_cmp);
    (responses_ms, reads as f64 / (host.now().ns() as f64 * 1e-9))
}

fn percentile(sorted: &[f64], percent: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * percent / 100.0).round() as usize]
}

/// MB/s of a file in parts that are spread over the drive, accessed in order by 1 MiB.
fn sequential(name: &str, op: Op, parts: u64, requests: u64) -> f64 {
    let mut host = host(name);
    for part in 0..parts {
        let first = host.capacity_blocks() / parts * part;
        for request in 0..requests {
            host.response_ms(op, first + request * u64::from(LARGE), LARGE, Flags::NONE);
        }
    }
    (parts * requests * u64::from(LARGE) * 512) as f64 / 1e6 / (host.now().ns() as f64 * 1e-9)
}

/// Random writes of 4 KiB per second, one at a time for 30 s.
fn random_writes(name: &str) -> f64 {
    let (mut host, mut random, mut writes) = (host(name), random(), 0.0);
    while host.now().ns() < 30_000_000_000 {
        let lbn = random.lbn(&host);
        host.response_ms(Op::Write, lbn, SMALL, Flags::NONE);
        writes += 1.0;
    }
    writes / 30.0
}

/// Median time in ms of a flush after a number of random writes of 4 KiB.
fn flush(name: &str, writes: u32, flushes: usize) -> f64 {
    let (mut host, mut random) = (host(name), random());
    let mut times_ms: Vec<f64> = (0..flushes)
        .map(|_| {
            for _ in 0..writes {
                let lbn = random.lbn(&host);
                host.response_ms(Op::Write, lbn, SMALL, Flags::NONE);
            }
            host.flush_ms()
        })
        .collect();
    times_ms.sort_by(f64::total_cmp);
    percentile(&times_ms, 50.0)
}

/// Prints the rows of a drive and checks each figure.
fn compare(drive: &str, figures: &[Figure], ours: &[f64]) {
    println!("| {drive} | measured | ublk-disksim | sledsim | difference |\n| --- | --- | --- | --- | --- |");
    let mut outside = Vec::new();
    for (figure, ours) in figures.iter().zip(ours) {
        let Figure { name, measured, peer, within } = figure;
        let peer = peer.map_or(String::new(), |peer| peer.to_string());
        let difference = ours / measured - 1.0;
        println!("| {name} | {measured} | {peer} | {ours:.1} | {:+.0} % |", difference * 100.0);
        if difference.abs() > *within {
            outside.push(format!("{name}: {ours:.1} instead of {measured}"));
        }
    }
    assert_eq!(outside, Vec::<String>::new(), "{drive}");
}

#[test]
fn barracuda_2t_has_the_measured_figures_of_its_drive() {
    let drive = "barracuda-2t";
    let reads = size(8_000, 40_000);
    let (alone, _) = random_reads(drive, 1, reads);
    let mean = alone.iter().sum::<f64>() / alone.len() as f64;
    let mut ours = vec![mean];
    ours.extend([50.0, 99.0, 99.5, 99.9].map(|percent| percentile(&alone, percent)));
    ours.extend([2, 4, 8, 16, 32].map(|outstanding| random_reads(drive, outstanding, reads).1));
    ours.extend([Op::Read, Op::Write].map(|op| sequential(drive, op, 16, 200)));
    ours.push(random_writes(drive));
    ours.extend([8, 64].map(|writes| flush(drive, writes, size(100, 400))));
    compare(drive, &BARRACUDA, &ours);
}

// Bounds are somewhat above the present deviations: a change of the model that matters shows.
const BARRACUDA: [Figure; 15] = [
    figure("random read, mean (ms)", 17.5, Some(17.3), 0.05),
    figure("random read, median (ms)", 17.4, Some(17.4), 0.05),
    figure("random read, 99th percentile (ms)", 28.7, Some(28.7), 0.05),
    figure("random read, 99.5th percentile (ms)", 40.6, None, 0.15),
    figure("random read, 99.9th percentile (ms)", 103.0, Some(30.3), 0.25),
    figure("random reads per second, 2 outstanding", 64.5, Some(58.3), 0.1),
    figure("4 outstanding", 71.2, Some(77.5), 0.2),
    figure("8 outstanding", 78.6, Some(84.7), 0.25),
    figure("16 outstanding", 86.3, Some(84.5), 0.15),
    figure("32 outstanding", 93.6, Some(83.4), 0.05),
    figure("sequential read (MB/s)", 143.0, Some(139.0), 0.15),
    figure("sequential write (MB/s)", 132.0, Some(150.0), 0.25),
    figure("random writes per second, over 30 s", 124.0, Some(108.0), 0.15),
    figure("flush after 8 random writes, median (ms)", 127.0, Some(103.0), 0.2),
    figure("flush after 64 random writes, median (ms)", 630.0, Some(656.0), 0.15),
];

#[test]
fn hgst_7k8_has_the_published_figures_of_its_drive() {
    let drive = "hgst-7k8";
    let reads = size(8_000, 40_000);
    let (alone, _) = random_reads(drive, 1, reads);
    let mut ours = vec![alone.iter().sum::<f64>() / alone.len() as f64];
    let (_, queued) = random_reads(drive, 32, reads);
    ours.push(queued);
    ours.extend([Op::Read, Op::Write].map(|op| sequential(drive, op, 16, 200)));
    ours.push(flush(drive, 1, size(400, 2_000)));
    compare(drive, &HGST, &ours);
}

const HGST: [Figure; 5] = [
    figure("random read, mean (ms)", 12.2, Some(12.27), 0.02),
    figure("random reads per second, 32 outstanding", 200.0, Some(195.0), 0.05),
    figure("sequential read (MB/s)", 205.0, Some(196.0), 0.05),
    figure("sequential write (MB/s)", 205.0, Some(207.0), 0.05),
    figure("flush after a random write, median (ms)", 14.5, Some(12.1), 0.25),
];

/// MB/s of 1 MiB reads one after the other from the first block on, one stream for each actuator.
fn outer_mb_s(name: &str, actuators: u64, requests: u64) -> f64 {
    let mut host = host(name);
    let range = host.capacity_blocks() / actuators;
    let mut next: Vec<u64> = (0..actuators).map(|actuator| actuator * range).collect();
    let read = |host: &mut Host, next: &mut u64| {
        host.submit(Op::Read, *next, LARGE, Flags::NONE);
        *next += u64::from(LARGE);
    };
    next.iter_mut().for_each(|next| read(&mut host, next));
    for _ in 0..actuators * requests {
        let actuator = host.completion().request.lbn / range;
        read(&mut host, &mut next[actuator as usize]);
    }
    (actuators * requests * u64::from(LARGE) * 512) as f64 / 1e6 / (host.now().ns() as f64 * 1e-9)
}

#[test]
fn exos_2x14_has_the_published_figures_of_its_drive() {
    let drive = "exos-2x14";
    let reads = size(8_000, 40_000);
    let [of_16, of_32] = [16, 32].map(|outstanding| random_reads(drive, outstanding, reads).1);
    let ours = [outer_mb_s(drive, 2, 500), outer_mb_s(drive, 1, 500), of_16, of_32];
    compare(drive, &EXOS, &ours);
}

// The published number of random reads per second is for an unknown number of outstanding ones.
const EXOS: [Figure; 4] = [
    figure("sequential read in both halves (MB/s)", 524.0, None, 0.03),
    figure("sequential read in one half (MB/s)", 262.0, None, 0.03),
    figure("random reads per second, 16 outstanding", 304.0, None, 0.12),
    figure("random reads per second, 32 outstanding", 304.0, None, 0.2),
];

#[test]
fn mg10_20t_has_the_published_rate_of_its_drive() {
    compare("mg10-20t", &[figure("sequential read (MB/s)", 281.0, None, 0.03)], &[outer_mb_s("mg10-20t", 1, 500)]);
}

#[test]
fn travelstar_5k320_has_the_published_seek_and_latency_of_its_drive() {
    let drive = "travelstar-5k320";
    let (alone, _) = random_reads(drive, 1, size(8_000, 40_000));
    let mean = alone.iter().sum::<f64>() / alone.len() as f64;
    // The average seek of 12 ms and half a revolution of 11.1 ms.
    compare(drive, &[figure("random read, mean (ms)", 17.5, None, 0.03)], &[mean]);
}
