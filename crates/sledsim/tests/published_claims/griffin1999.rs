//! Griffin et al. 1999: its default device under its random workload.

use sledsim::devices::mems::Characteristics;
use sledsim::scenario::Report;

use crate::experiments::{
    closed, device, least, order_by_response, parameters, poisson, report, response_ms, trend, with_schedulers,
};
use crate::ledger::{figure, Finding, Ours};
use crate::scenario_runs;

const DEVICE: &str = "device=griffin1999";
/// The drive with its buffer on, as it comes.
const DISK: &str = "device=cheetah4LP";
const SIZES: &str = "workload.size_bytes={kind=\"exponential\", mean=4096}";
const READS: &str = "workload.read_fraction=0.67";
const SCHEDULERS: [&str; 4] = ["fcfs", "clook", "sstf_lbn", "sptf"];

fn random(arrivals: &str, requests: u32, more: &[String]) -> Vec<String> {
    random_on(DEVICE, arrivals, requests, more)
}

/// The paper's random workload on a device.
fn random_on(device: &str, arrivals: &str, requests: u32, more: &[String]) -> Vec<String> {
    let mut settings: Vec<String> = [device, SIZES, READS, arrivals].map(str::to_owned).to_vec();
    settings.push(format!("run.requests={requests}"));
    settings.extend_from_slice(more);
    settings
}

/// Mean access time with one request at a time and a changed device, ms.
fn access_ms(more: &[String]) -> f64 {
    response_ms(&random(&closed(1), 20_000, more))
}

fn set(key: &str, value: f64) -> String {
    format!("device.{key}={value:?}")
}

fn acceleration(value: f64) -> [String; 2] {
    [set("acceleration_x_m_s2", value), set("acceleration_y_m_s2", value)]
}

/// Bit rate for an access speed over the default 50 nm bits.
fn speed(mm_s: f64) -> String {
    set("bit_rate_kbit_s", mm_s * 1e3 / 50.0)
}

pub fn findings() -> Vec<Finding> {
    let mut findings = table_2();
    findings.extend(sensitivity());
    findings.extend(scheduling());
    findings.extend(disk());
    findings
}

/// Table 2: times of the device, and of 100,000 requests.
fn table_2() -> Vec<Finding> {
    let sled = device(&[DEVICE]);
    let settle_ms = Characteristics::of(&parameters(&[DEVICE])).expect("a catalogue device").settle_s * 1e3;
    let output = scenario_runs::run(&random(&poisson(100.0), 100_000, &[]), true);
    let report = &output.report;
    let transfer_ms = report.servo.mean_ms + report.transfer.mean_ms + report.turnaround.mean_ms;
    let log = output.recorder.log().expect("a log was asked for");
    let x_longer =
        log.entries.iter().filter(|(_, service)| service.phases.seek_x_ns > service.phases.seek_y_ns).count();
    println!("positioning between passes {:.3} ms", report.turnaround.mean_ms);
    println!(
        "data bits alone {:.3} ms, with servo {:.3} ms; a mean request at 25.6 MB/s {:.3} ms",
        report.transfer.mean_ms,
        report.transfer.mean_ms + report.servo.mean_ms,
        4096.0 / 25.6e3
    );
    vec![
        figure("settle-time", settle_ms, 3),
        figure("turnaround-time", sled.seek_y_s(0.0, 1.0, 0.0, -1.0) * 1e3, 3),
        figure("seek-mean", report.seek.mean_ms, 3),
        figure("seek-std", report.seek.std_ms, 3),
        figure("seek-max", report.seek.max_ms, 3),
        figure("transfer-mean", transfer_ms, 3),
        figure("service-mean", report.service.as_ref().expect("requests were measured").mean_ms, 3),
        figure("turnaround-mean-per-request", report.seek_turnaround.mean_ms, 3),
        figure("x-dominates-y", x_longer as f64 / log.entries.len() as f64, 3),
    ]
}

/// Figures 6 to 10: one request at a time.
fn sensitivity() -> Vec<Finding> {
    let speeds: Vec<f64> = (1..=150).map(f64::from).collect();
    let optimum = |accel| {
        least(&speeds, |mm_s| {
            let [x, y] = acceleration(accel);
            access_ms(&[x, y, speed(mm_s)])
        })
    };
    let (at_default, at_400) = (optimum(114.8), optimum(400.0));
    let over = |values: &[f64], settings: &dyn Fn(f64) -> Vec<String>| -> Vec<f64> {
        values.iter().map(|&value| access_ms(&settings(value))).collect()
    };
    let by_acceleration = over(&[50.0, 100.0, 200.0, 400.0, 800.0], &|value| acceleration(value).to_vec());
    // The bit rate is held, so the access speed rises as bits get wider.
    let widths_nm = [30.0, 40.0, 50.0, 60.0, 80.0, 100.0];
    let by_width = over(&widths_nm, &|nm| vec![set("bit_nm", nm)]);
    println!("with the access speed held instead of the bit rate:");
    trend(&over(&widths_nm, &|nm| vec![set("bit_nm", nm), set("bit_rate_kbit_s", 20e3 / nm)]));
    let by_resonance = over(&[100.0, 150.0, 220.0, 400.0, 800.0], &|hz| vec![set("resonance_hz", hz)]);
    let constants = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0];
    let by_constants = over(&constants, &|value| vec![set("settle_constants", value)]);
    vec![
        Finding { id: "acceleration", ours: trend(&by_acceleration) },
        figure("velocity-optimum", at_default, 0),
        Finding { id: "velocity-needs-acceleration", ours: trend(&[at_default, at_400]) },
        Finding { id: "bit-width", ours: trend(&by_width) },
        Finding { id: "resonant-frequency", ours: trend(&by_resonance) },
        figure("time-constants", r_squared(&constants, &by_constants), 4),
    ]
}

/// R² of a straight line through points.
fn r_squared(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len() as f64;
    let (mean_x, mean_y) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let products = |a: &[f64], mean_a: f64, b: &[f64], mean_b: f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum()
    };
    let xy = products(x, mean_x, y, mean_y);
    xy * xy / (products(x, mean_x, x, mean_x) * products(y, mean_y, y, mean_y))
}

/// Figures 12 and 14.
fn scheduling() -> Vec<Finding> {
    // First come, first served saturates at 467 requests per second.
    let orders: Vec<_> = [500.0, 550.0, 600.0, 650.0]
        .iter()
        .map(|&rate| order_by_response(&with_schedulers(&random(&poisson(rate), 50_000, &[]), &SCHEDULERS)))
        .collect();
    let heavy = with_schedulers(&random(&poisson(650.0), 50_000, &[]), &["clook", "sstf_lbn", "sptf"]);
    let same = orders.iter().all(|order| *order == orders[0]);
    vec![
        Finding {
            id: "mems-schedulers",
            ours: Ours::Order(if same { orders[0].clone() } else { vec!["depends on load"] }),
        },
        Finding { id: "mems-fairness", ours: fairness(&heavy) },
        figure("settle-0-sptf", held_rate_ratio(0.0), 3),
        figure("settle-2-sptf", held_rate_ratio(2.0), 3),
    ]
}

/// Highest arrival rate held at twice the light-load response of first come, first served: SPTF's over SSTF_LBN's.
fn held_rate_ratio(settle_constants: f64) -> f64 {
    let settle = set("settle_constants", settle_constants);
    let limit_ms =
        2.0 * report(&random(&poisson(1.0), 20_000, std::slice::from_ref(&settle))).response.expect("measured").mean_ms;
    let held = |scheduler: &str| {
        let (mut low, mut high) = (100.0, 1_000.0);
        for _ in 0..13 {
            let rate = 0.5 * (low + high);
            let more = [settle.clone(), format!("scheduler={scheduler}")];
            if response_ms(&random(&poisson(rate), 200_000, &more)) <= limit_ms {
                low = rate;
            } else {
                high = rate;
            }
        }
        low
    };
    let (sptf, sstf_lbn) = (held("sptf"), held("sstf_lbn"));
    println!("{settle_constants} constants: SPTF holds {sptf:.1}/s, SSTF_LBN {sstf_lbn:.1}/s; limit {limit_ms:.3} ms");
    sptf / sstf_lbn
}

/// Figure 11, and what section 5.2 says of the two devices beside each other.
fn disk() -> Vec<Finding> {
    // First come, first served saturates at 83 requests per second.
    let orders: Vec<_> = [75.0, 85.0, 95.0]
        .iter()
        .map(|&rate| order_by_response(&with_schedulers(&random_on(DISK, &poisson(rate), 50_000, &[]), &SCHEDULERS)))
        .collect();
    let same = orders.iter().all(|order| *order == orders[0]);
    let heavy = with_schedulers(&random_on(DISK, &poisson(95.0), 50_000, &[]), &["clook", "sstf_lbn", "sptf"]);
    let gains = [DEVICE, DISK].map(saturation_gain);
    let gaps = [DEVICE, DISK].map(clook_gap);
    println!("saturation of SSTF_LBN over that of FCFS, MEMS and disk: {gains:.3?}");
    println!("C-LOOK's response over SSTF_LBN's less 1, MEMS and disk: {gaps:.4?}");
    vec![
        Finding {
            id: "disk-schedulers",
            ours: Ours::Order(if same { orders[0].clone() } else { vec!["depends on load"] }),
        },
        Finding { id: "disk-fairness", ours: fairness(&heavy) },
        Finding { id: "fcfs-gap-wider-than-disk", ours: mems_first(gains[0] > gains[1]) },
        Finding { id: "clook-sstf-gap-narrower-than-disk", ours: mems_first(gaps[0] < gaps[1]) },
    ]
}

fn mems_first(yes: bool) -> Ours {
    Ours::Order(if yes { vec!["mems", "disk"] } else { vec!["disk", "mems"] })
}

/// Who resists starvation better, of C-LOOK, SSTF_LBN and SPTF: squared coefficients of variation of responses.
fn fairness(reports: &[(&'static str, Report)]) -> Ours {
    let scv: Vec<f64> = reports.iter().map(|(_, report)| report.response.as_ref().expect("measured").scv).collect();
    println!("squared coefficients of variation of C-LOOK, SSTF_LBN, SPTF: {scv:.3?}");
    Ours::Order(if scv[0] < scv[1].min(scv[2]) {
        vec!["clook", "sstf_lbn+sptf"]
    } else {
        vec!["sstf_lbn+sptf", "clook"]
    })
}

/// Throughput of SSTF_LBN over that of first come, first served with a hundred requests outstanding.
fn saturation_gain(device: &str) -> f64 {
    let rate = |scheduler: &str| {
        let settings = random_on(device, &closed(100), 50_000, &[format!("scheduler={scheduler}")]);
        let report = report(&settings);
        println!(
            "{device}, {scheduler}, 100 outstanding: seek {:.3} of {:.3} ms",
            report.seek.mean_ms,
            report.service.expect("requests were measured").mean_ms
        );
        report.throughput.requests_per_s
    };
    rate("sstf_lbn") / rate("fcfs")
}

/// How much longer C-LOOK's mean response is than SSTF_LBN's, at the rate at which SSTF_LBN keeps the device busy for 90 %.
fn clook_gap(device: &str) -> f64 {
    let at = |rate: f64, scheduler: &str| {
        report(&random_on(device, &poisson(rate), 100_000, &[format!("scheduler={scheduler}")]))
    };
    let (mut low, mut high) = (10.0, 1_000.0);
    for _ in 0..12 {
        let rate = 0.5 * (low + high);
        if at(rate, "sstf_lbn").utilisation.fraction <= 0.9 {
            low = rate;
        } else {
            high = rate;
        }
    }
    let response = |scheduler: &str| at(low, scheduler).response.expect("requests were measured").mean_ms;
    println!("{device}: 90 % at {low:.1} requests per second");
    response("clook") / response("sstf_lbn") - 1.0
}
