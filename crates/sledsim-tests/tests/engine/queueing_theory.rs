//! Simulated queues against their closed forms.
//!
//! A closed form must lie inside the 95 % confidence interval that a run reports. A correct interval misses one time in
//! twenty, so each check makes twenty runs, with seeds 1 to 20, and requires that at least 17 intervals contain the
//! closed form; intervals that are right with probability 0.95 fail that with a probability of 1.6 % (binomial). With
//! reduced test sizes, five of the first eight must, which correct intervals fail with a probability of 0.04 % (six
//! would fail one check in 170, and there are dozens). The seeds were fixed before the first run and never changed.
//!
//! Service times with a known distribution come from a sled of one cylinder and one row that is accessed upwards only: every
//! block is one pass and one return.

use rayon::prelude::*;
use sledsim::metrics::Summary;
use sledsim::scenario::Report;
use sledsim_testing::scenario_runs;
use sledsim_testing::tiers::{self, size};

fn seeds() -> u64 {
    size(4, 20)
}

fn covered_at_least() -> usize {
    size(2, 17)
}

fn requests() -> u64 {
    size(60_000, 100_000)
}

/// Warm-up requests, because each run begins with an empty queue.
const WARMUP: u64 = 2_000;

/// The sled of one row: blocks under 1024 groups of tips, one group at a time.
const ONE_ROW: [&str; 11] = [
    "device=g2",
    "device.x_range_um=1",
    "device.y_range_um=100",
    "device.bit_nm=1000",
    "device.tips=65536",
    "device.active_tips=64",
    "device.bidirectional=false",
    "device.spring_factor=0",
    "device.bit_rate_kbit_s=100",
    "device.overhead_ms=0",
    "device.bus_ms_per_block=0",
];
/// The catalogue's g2 without bus time: the bus works concurrently, so that requests would complete after the server is
/// free.
const G2: [&str; 2] = ["device=g2", "device.bus_ms_per_block=0"];
/// A disk without its buffer: services depend on each other only through the arm position.
const DISK: [&str; 4] =
    ["device=atlas10k", "device.buffer_caching=false", "device.read_ahead=none", "device.fast_write=none"];
const ONE_BLOCK: &str = "workload.size_bytes={kind=\"fixed\", value=512}";

/// Service of one block on [`ONE_ROW`], ms: 90 bits at 100 kbit/s, and back 90 µm between two reversals (Griffin et al.
/// 1999, equations 4 and 5, with v = 0.1 m/s and a = 803.6 m/s²).
fn block_ms() -> f64 {
    let (v, a, distance_m) = (0.1_f64, 803.6, 90e-6);
    let back_s = 2.0 * (-v + (v * v + a * distance_m).sqrt()) / a + 2.0 * (2.0 * v / a);
    0.9 + back_s * 1e3
}

fn poisson(rate_per_s: f64) -> String {
    format!("workload.arrival={{kind=\"poisson\", rate_per_s={rate_per_s:?}}}")
}

fn closed(outstanding: u32, think_ms: f64) -> String {
    let think = if think_ms > 0.0 {
        format!("{{kind=\"exponential\", mean={think_ms:?}}}")
    } else {
        "{kind=\"fixed\", value=0}".into()
    };
    format!("workload.arrival={{kind=\"closed\", outstanding={outstanding}, think_ms={think}}}")
}

fn report(device: &[&str], settings: &[&str], seed: u64, warmup: u64) -> Report {
    let mut all: Vec<String> = device.iter().chain(settings).map(|&setting| setting.to_owned()).collect();
    all.push(format!("seed={seed}"));
    all.push(format!("run.requests={}", requests() + warmup));
    all.push(format!("run.warmup_requests={warmup}"));
    scenario_runs::run(&all, false).report
}

/// The results of the runs for a closed form.
struct Check {
    name: String,
    /// Mean of the closed form over the runs, ms (it differs between runs only where it rests on measured services).
    closed_ms: f64,
    simulated_ms: f64,
    covered: usize,
}

/// Runs `settings` with every seed and compares `quantity` with `closed_ms`.
fn check(
    name: &str,
    device: &[&str],
    settings: &[&str],
    quantity: impl Fn(&Report) -> &Summary + Sync,
    closed_ms: impl Fn(&Report) -> f64 + Sync,
) -> Check {
    let runs: Vec<(f64, f64, bool)> = (1..=seeds())
        .into_par_iter()
        .map(|seed| {
            let report = report(device, settings, seed, WARMUP);
            let (summary, closed_ms) = (quantity(&report), closed_ms(&report));
            let note = || format!("{name}, seed {seed}: {:?}", summary.ci95_note);
            let low_ms = summary.ci95_low_ms.unwrap_or_else(|| panic!("{}", note()));
            let high_ms = summary.ci95_high_ms.unwrap_or_else(|| panic!("{}", note()));
            (closed_ms, summary.mean_ms, low_ms <= closed_ms && closed_ms <= high_ms)
        })
        .collect();
    let count = runs.len() as f64;
    Check {
        name: name.to_owned(),
        closed_ms: runs.iter().map(|run| run.0).sum::<f64>() / count,
        simulated_ms: runs.iter().map(|run| run.1).sum::<f64>() / count,
        covered: runs.iter().filter(|run| run.2).count(),
    }
}

fn wait(report: &Report) -> &Summary {
    report.wait.as_ref().expect("requests were measured")
}

fn response(report: &Report) -> &Summary {
    report.response.as_ref().expect("requests were measured")
}

/// Mean wait by Pollaczek and Khinchine, ms.
fn pollaczek_khinchine_ms(utilisation: f64, service_ms: f64, scv: f64) -> f64 {
    utilisation * service_ms * (1.0 + scv) / (2.0 * (1.0 - utilisation))
}

fn open_checks() -> Vec<Check> {
    let geometric = "workload.size_bytes={kind=\"exponential\", mean=2048}";
    let bimodal =
        "workload.size_bytes={kind=\"empirical\", points=[{value=512, weight=0.95}, {value=10752, weight=0.05}]}";
    // Exponential bytes rounded up to blocks are geometric: another block follows with probability q.
    let q = (-512.0_f64 / 2048.0).exp();
    // 1 block or 21: mean 2, mean square 23.
    let sizes = [
        ("M/D/1", ONE_BLOCK, 1.0, 0.0),
        ("M/Geo/1", geometric, 1.0 / (1.0 - q), q),
        ("M/G/1, 1 or 21 blocks", bimodal, 2.0, 4.75),
    ];
    let mut checks = Vec::new();
    for (name, size, blocks, scv) in sizes {
        for utilisation in [0.3, 0.6, 0.8] {
            let service_ms = blocks * block_ms();
            let arrivals = poisson(utilisation / service_ms * 1e3);
            let closed_ms = pollaczek_khinchine_ms(utilisation, service_ms, scv);
            checks.push(check(
                &format!("{name}, utilisation {utilisation}: wait"),
                &ONE_ROW,
                &[size, &arrivals],
                wait,
                |_| closed_ms,
            ));
        }
    }
    checks
}

/// Mean wait of a device under first come, first served, from the mean and variability of the run's own services.
fn measured_service_checks(name: &str, device: &[&str], loads: [(f64, f64); 3]) -> Vec<Check> {
    let mut checks = Vec::new();
    for (rate_per_s, utilisation) in loads {
        let formula = |report: &Report| {
            let service = report.service.as_ref().expect("requests were measured");
            pollaczek_khinchine_ms(rate_per_s * service.mean_ms * 1e-3, service.mean_ms, service.scv)
        };
        let name = format!("{name} as M/G/1, utilisation near {utilisation}: wait");
        checks.push(check(&name, device, &[&poisson(rate_per_s)], wait, formula));
    }
    checks
}

/// Mean wait at a device whose every request takes 1 ms: M/D/1.
fn constant_checks() -> Vec<Check> {
    let mut checks = Vec::new();
    for utilisation in [0.3, 0.6, 0.8] {
        let name = format!("simpledisk-constant of 1 ms, utilisation {utilisation}: wait");
        let closed_ms = pollaczek_khinchine_ms(utilisation, 1.0, 0.0);
        let device = ["device=simpledisk-constant", "device.access_ms=1"];
        checks.push(check(&name, &device, &[&poisson(utilisation * 1e3)], wait, |_| closed_ms));
    }
    checks
}

/// Mean response in a machine-repairman system with exponential think times and constant service: M/D/1//N, from the
/// Markov chain of the number left behind by a departure.
fn machine_repairman_ms(users: usize, think_ms: f64, service_ms: f64) -> f64 {
    let finishes = 1.0 - (-service_ms / think_ms).exp();
    let binomial = |n: usize, k: usize| {
        let ways = (0..k).fold(1.0, |ways, i| ways * (n - i) as f64 / (i + 1) as f64);
        ways * finishes.powi(k as i32) * (1.0 - finishes).powi((n - k) as i32)
    };
    // From k left behind: one is served (after an arrival, if there was none) while others may stop thinking.
    let mut shares = vec![1.0 / users as f64; users];
    for _ in 0..10_000 {
        let mut next = vec![0.0; users];
        for (left, share) in shares.iter().enumerate() {
            let present = left.max(1);
            for arrivals in 0..=users - present {
                next[present - 1 + arrivals] += share * binomial(users - present, arrivals);
            }
        }
        shares = next;
    }
    let cycle_ms = service_ms + shares[0] * think_ms / users as f64;
    users as f64 * cycle_ms - think_ms
}

fn closed_checks() -> Vec<Check> {
    let mut checks = Vec::new();
    for (users, think_ms) in [(4_u32, 10.0), (10, 10.0)] {
        let closed_ms = machine_repairman_ms(users as usize, think_ms, block_ms());
        let name = format!("M/D/1//{users}, think time 10 ms: response");
        checks.push(check(&name, &ONE_ROW, &[ONE_BLOCK, &closed(users, think_ms)], response, |_| closed_ms));
    }
    let geometric = "workload.size_bytes={kind=\"exponential\", mean=2048}";
    let service_ms = block_ms() / (1.0 - (-512.0_f64 / 2048.0).exp());
    checks.push(check(
        "8 outstanding, geometric service: response",
        &ONE_ROW,
        &[geometric, &closed(8, 0.0)],
        response,
        |_| 8.0 * service_ms,
    ));
    checks
}

#[test]
fn reported_intervals_contain_closed_forms() {
    let g2 = measured_service_checks("g2", &G2, [(380.0, 0.3), (760.0, 0.6), (1010.0, 0.8)]);
    let disk = measured_service_checks("atlas10k", &DISK, [(34.0, 0.3), (69.0, 0.6), (92.0, 0.8)]);
    let groups = [open_checks(), g2, disk, constant_checks(), closed_checks()];
    let checks: Vec<Check> = groups.into_iter().flatten().collect();
    let rows: Vec<Vec<String>> = checks
        .iter()
        .map(|check| {
            let covered = format!("{} of {}", check.covered, seeds());
            vec![check.name.clone(), format!("{:.4}", check.closed_ms), format!("{:.4}", check.simulated_ms), covered]
        })
        .collect();
    let table: Vec<String> = rows.iter().map(|cells| format!("| {} |", cells.join(" | "))).collect();
    println!("{}", table.join("\n"));
    for check in &checks {
        assert!(check.covered >= covered_at_least(), "{}: {} of {}", check.name, check.covered, seeds());
    }
    if tiers::all() {
        assert_eq!(scenario_runs::documented("queue"), rows, "\n{}\n", table.join("\n"));
    }
}

#[test]
fn sled_of_one_row_has_constant_service_times() {
    let report = report(&ONE_ROW, &[ONE_BLOCK, &poisson(100.0)], 1, 1);
    let service = report.service.expect("requests were measured");
    assert_eq!((service.min_ms, service.std_ms), (service.max_ms, 0.0));
    // Rounded to whole nanoseconds.
    assert!((service.mean_ms - block_ms()).abs() <= 1e-6, "{} {}", service.mean_ms, block_ms());
}

/// All submitted requests have completed when a run ends, so the laws hold exactly.
#[test]
fn littles_law_and_the_utilisation_law_are_exact() {
    for scheduler in ["fcfs", "sptf", "clook"] {
        let scheduler = format!("scheduler={scheduler}");
        for arrivals in [poisson(1000.0), closed(16, 0.0), closed(16, 5.0)] {
            let report = report(&G2, &[&scheduler, &arrivals], 1, 0);
            let throughput_per_ms = report.throughput.requests_per_s * 1e-3;
            let queue = throughput_per_ms * wait(&report).mean_ms;
            assert!(
                (report.queue.mean / queue - 1.0).abs() <= 1e-9,
                "{scheduler} {arrivals}: {} {queue}",
                report.queue.mean
            );
            let busy = throughput_per_ms * report.service.expect("requests were measured").mean_ms;
            let utilisation = report.utilisation.fraction;
            assert!((utilisation / busy - 1.0).abs() <= 1e-9, "{scheduler} {arrivals}: {utilisation} {busy}");
        }
    }
}

/// With one user, a cycle is a think time and a service. The mean of the think times is within 4 standard errors.
#[test]
fn single_user_alternates_thinking_and_service() {
    let report = report(&ONE_ROW, &[ONE_BLOCK, &closed(1, 7.0)], 1, 1);
    let cycle_ms = 7.0 + block_ms();
    let standard_error = 7.0 / cycle_ms / (requests() as f64).sqrt();
    let relative = report.throughput.requests_per_s * cycle_ms * 1e-3 - 1.0;
    assert!(relative.abs() <= 4.0 * standard_error, "{relative} {standard_error}");
    assert_eq!(wait(&report).max_ms, 0.0);
}

/// Throughput of N users under think time Z and mean service S is at most 1/S and N/(Z+S), and at least N/(Z+NS)
/// (Denning and Buzen 1978); the response time law R = N/X - Z ties it to the response.
#[test]
fn closed_throughput_is_within_bounds() {
    for users in [1_u32, 4, 16, 64] {
        let report = report(&G2, &["device.overhead_ms=0", &closed(users, 10.0)], 1, WARMUP);
        let (n, z) = (f64::from(users), 10.0);
        let s = report.service.as_ref().expect("requests were measured").mean_ms;
        let x = report.throughput.requests_per_s * 1e-3;
        // The window holds up to N requests more or fewer than completed in it.
        let edge = 1.0 + 2.0 * n / requests() as f64 + 4.0 / (requests() as f64).sqrt();
        assert!(x <= (1.0 / s).min(n / (z + s)) * edge, "{users}: {x}");
        assert!(x >= n / (z + n * s) / edge, "{users}: {x}");
        let law_ms = n / x - z;
        let r = response(&report).mean_ms;
        assert!((law_ms - r).abs() <= (z + r) * (edge - 1.0), "{users}: {law_ms} {r}");
    }
}
