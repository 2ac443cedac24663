//! The baseline of the benchmarks: the arithmetic of a simulation with closed-form seeks, without the simulator.
//!
//!     rustc --edition 2021 -C opt-level=3 -C overflow-checks=on -o baseline bench/baseline.rs
//!     baseline mems 1000000        random requests to a sled, first come, first served
//!     baseline disk 1000000        the same to a disk's arm and platters
//!     baseline cache 1000000       references to an LRU cache
//!     baseline mems 1000000 2      as many on each of two threads
//!
//! Benchmarks are ratios to its time on the same machine in the same rounds. It shares no code with the simulator. It prints a sum
//! over all results, so that the compiler computes them.

use std::process::ExitCode;
use std::thread;

/// xoshiro256++ (Blackman and Vigna 2019), seeded by SplitMix64.
struct Random([u64; 4]);

impl Random {
    fn new(mut seed: u64) -> Self {
        Self([0; 4].map(|_: u64| {
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }))
    }

    fn bits(&mut self) -> u64 {
        let s = &mut self.0;
        let drawn = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        drawn
    }

    /// Above 0, at most 1.
    fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }
}

/// Moments and a histogram of sixteen parts to an octave.
struct Measure {
    counts: [u64; 1024],
    sum: u64,
    squares: u128,
    least: u64,
    most: u64,
}

impl Measure {
    fn new() -> Self {
        Self { counts: [0; 1024], sum: 0, squares: 0, least: u64::MAX, most: 0 }
    }

    fn record(&mut self, value_ns: u64) {
        let octave = (value_ns | 16).ilog2();
        let part = if value_ns < 16 { value_ns } else { (value_ns >> (octave - 4)) & 15 };
        self.counts[(u64::from(octave - 4) * 16 + part) as usize] += 1;
        self.sum += value_ns;
        self.squares += u128::from(value_ns) * u128::from(value_ns);
        self.least = self.least.min(value_ns);
        self.most = self.most.max(value_ns);
    }

    fn digest(&self) -> u64 {
        let weighed =
            self.counts.iter().zip(1_u64..).fold(0, |sum: u64, (count, place)| sum ^ count.wrapping_mul(place));
        weighed ^ self.sum ^ self.squares as u64 ^ self.least ^ self.most
    }
}

/// A server with a queue: response, wait and service of requests that come in order.
struct Queue {
    now_ns: u64,
    free_ns: u64,
    response: Measure,
    wait: Measure,
    service: Measure,
}

impl Queue {
    fn new() -> Self {
        Self { now_ns: 0, free_ns: 0, response: Measure::new(), wait: Measure::new(), service: Measure::new() }
    }

    /// A request arrives; when its service begins.
    fn arrive(&mut self, gap_s: f64) -> u64 {
        self.now_ns += (gap_s * 1e9) as u64;
        self.free_ns.max(self.now_ns)
    }

    fn serve(&mut self, start_ns: u64, service_s: f64) {
        let service_ns = (service_s * 1e9) as u64;
        self.free_ns = start_ns + service_ns;
        self.response.record(self.free_ns - self.now_ns);
        self.wait.record(start_ns - self.now_ns);
        self.service.record(service_ns);
    }

    fn digest(&self) -> u64 {
        self.response.digest() ^ self.wait.digest().rotate_left(21) ^ self.service.digest().rotate_left(42)
    }
}

// A second-generation sled of Schlosser et al. 2000: 2500 by 2500 bits of 40 nm under each of 6400 tips.
const COLUMNS: u64 = 2500;
const ROWS: u64 = 27;
const TRACKS: u64 = 5;
const BLOCKS_IN_ROW: u64 = 20;
const BIT_M: f64 = 40e-9;
const ROW_BITS: f64 = 90.0;
const ACCELERATION_M_S2: f64 = 803.6;
const SPRING: f64 = 0.75;
const HALF_RANGE_M: f64 = 50e-6;
const SPEED_M_S: f64 = 0.028;
const SETTLE_S: f64 = 0.215e-3;
/// What rounding may cost.
const TINY_M: f64 = 1e-12;

/// Least time from a place and speed to others under springs, with full force one way and then the other.
///
/// Under a constant force the sled runs on an ellipse around the place where the springs balance it: circles, with speed
/// in units of frequency times distance. Where the circles of both forces meet, the force turns over.
fn spring_seek_s(from_m: f64, from_m_s: f64, to_m: f64, to_m_s: f64) -> f64 {
    let frequency = (ACCELERATION_M_S2 * SPRING / HALF_RANGE_M).sqrt();
    let centre = HALF_RANGE_M / SPRING;
    let mut best_s = f64::INFINITY;
    for way in [1.0, -1.0] {
        let (x0, u0) = (way * from_m, way * from_m_s / frequency);
        let (x1, u1) = (way * to_m, way * to_m_s / frequency);
        let square0 = (x0 - centre) * (x0 - centre) + u0 * u0;
        let square1 = (x1 + centre) * (x1 + centre) + u1 * u1;
        let x = (square1 - square0) / (4.0 * centre);
        let square = square0 - (x - centre) * (x - centre);
        if square < 0.0 {
            continue;
        }
        let u = square.sqrt();
        // Speed rises up to there and falls from there, or it is the other way round.
        if u >= u0 - TINY_M && u >= u1 - TINY_M {
            let first = (u * (centre - x0) - u0 * (centre - x)).atan2((centre - x) * (centre - x0) + u * u0);
            let second = (u * (centre + x1) - u1 * (centre + x)).atan2((centre + x) * (centre + x1) + u * u1);
            best_s = best_s.min((first + second) / frequency);
        }
    }
    best_s
}

/// Random reads of 4 KB, 500 a second.
fn mems(requests: u64, seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let mut queue = Queue::new();
    let (mut x_m, mut y_m, mut speed_m_s) = (0.0, 0.0, SPEED_M_S);
    let blocks = COLUMNS * ROWS * TRACKS * BLOCKS_IN_ROW;
    for _ in 0..requests {
        let start_ns = queue.arrive(random.exponential(2e-3));
        let lbn = random.below(blocks - 8);
        let (row, last_row) = (lbn / BLOCKS_IN_ROW, (lbn + 7) / BLOCKS_IN_ROW);
        let column = row / (ROWS * TRACKS);
        let to_x_m = column as f64 * BIT_M - HALF_RANGE_M;
        let across_s = if to_x_m == x_m { 0.0 } else { spring_seek_s(x_m, 0.0, to_x_m, 0.0) + SETTLE_S };
        let edge_m = |row: u64| (row % ROWS) as f64 * ROW_BITS * BIT_M - HALF_RANGE_M;
        let (low_m, high_m) = (edge_m(row), edge_m(last_row) + ROW_BITS * BIT_M);
        let up_s = spring_seek_s(y_m, speed_m_s, low_m, SPEED_M_S).max(across_s);
        let down_s = spring_seek_s(y_m, speed_m_s, high_m, -SPEED_M_S).max(across_s);
        (x_m, y_m, speed_m_s) = if up_s <= down_s { (to_x_m, high_m, SPEED_M_S) } else { (to_x_m, low_m, -SPEED_M_S) };
        let transfer_s = (last_row - row + 1) as f64 * ROW_BITS * BIT_M / SPEED_M_S;
        queue.serve(start_ns, up_s.min(down_s) + transfer_s);
    }
    queue.digest()
}

/// A disk of 24 zones: random reads and writes of 8 KB, 100 a second.
fn disk(requests: u64, seed: u64) -> u64 {
    const CYLINDERS_IN_ZONE: u64 = 418;
    const SURFACES: u64 = 6;
    let mut zones = [(0_u64, 0_u64); 24];
    let mut first = 0;
    for (zone, place) in zones.iter_mut().zip(0_u64..) {
        let sectors = 334 - 4 * place;
        *zone = (first, sectors);
        first += CYLINDERS_IN_ZONE * SURFACES * sectors;
    }
    let mut random = Random::new(seed);
    let mut queue = Queue::new();
    let (mut arm, mut head) = (0_u64, 0_u64);
    let turn_s = 60.0 / 10_025.0;
    for _ in 0..requests {
        let start_ns = queue.arrive(random.exponential(1e-2));
        let write = random.unit() > 0.67;
        let lbn = random.below(first - 16);
        let zone = zones.partition_point(|zone| zone.0 <= lbn) - 1;
        let (begin, sectors) = zones[zone];
        let track = (lbn - begin) / sectors;
        let (cylinder, surface) = (zone as u64 * CYLINDERS_IN_ZONE + track / SURFACES, track % SURFACES);
        let distance = cylinder.abs_diff(arm) as f64;
        let seek_s = match distance {
            0.0 if surface == head => 0.0,
            0.0 => 0.8e-3,
            d if d < 1_000.0 => 1e-3 + 1.1e-4 * d.sqrt(),
            d => 3.5e-3 + 7.5e-7 * d,
        } + if write { 0.6e-3 } else { 0.0 };
        (arm, head) = (cylinder, surface);
        let skew = (track as f64 * 0.13 + (lbn - begin) as f64 / sectors as f64).fract();
        let phase = ((start_ns as f64 / 1e9 + seek_s) / turn_s).fract();
        let rotation_s = (skew - phase).rem_euclid(1.0) * turn_s;
        let crossing = (lbn - begin) % sectors + 16 > sectors;
        let transfer_s = 16.0 / sectors as f64 * turn_s + if crossing { 0.8e-3 } else { 0.0 };
        queue.serve(start_ns, seek_s + rotation_s + transfer_s);
    }
    queue.digest()
}

/// References to 2^18 pages, a few of them popular, and a list of 2^15 in the order of their use.
fn cache(references: u64, seed: u64) -> u64 {
    const PAGES: usize = 1 << 18;
    const HELD: usize = 1 << 15;
    const NONE: u32 = u32::MAX;
    // The end of the list that the next page goes to, and that the oldest leaves from, is one more place.
    let mut links = vec![(NONE, NONE); PAGES + 1];
    links[PAGES] = (PAGES as u32, PAGES as u32);
    let (mut held, mut hits) = (0, 0);
    let mut random = Random::new(seed);
    for _ in 0..references {
        let page = (random.unit() * random.unit() * random.unit() * (PAGES - 1) as f64) as usize;
        let (before, after) = links[page];
        if before == NONE {
            held += 1;
        } else {
            hits += 1;
            links[before as usize].1 = after;
            links[after as usize].0 = before;
        }
        let newest = links[PAGES].0;
        links[page] = (newest, PAGES as u32);
        links[newest as usize].1 = page as u32;
        links[PAGES].0 = page as u32;
        if held > HELD {
            let oldest = links[PAGES].1 as usize;
            let next = links[oldest].1;
            links[next as usize].0 = PAGES as u32;
            links[PAGES].1 = next;
            links[oldest] = (NONE, NONE);
            held -= 1;
        }
    }
    hits
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index).map_or(Some(1), |text| text.parse::<u64>().ok());
    let kind: Option<fn(u64, u64) -> u64> = match arguments.first().map(String::as_str) {
        Some("mems") => Some(mems),
        Some("disk") => Some(disk),
        Some("cache") => Some(cache),
        _ => None,
    };
    let (Some(kind), Some(count), Some(threads)) = (kind, number(1), number(2)) else {
        eprintln!("baseline mems|disk|cache COUNT [THREADS]");
        return ExitCode::from(2);
    };
    let workers: Vec<_> = (0..threads).map(|seed| thread::spawn(move || kind(count, seed))).collect();
    let sum = workers.into_iter().map(|worker| worker.join().expect("a worker panicked")).fold(0, |sum, one| sum ^ one);
    println!("{sum}");
    ExitCode::SUCCESS
}
