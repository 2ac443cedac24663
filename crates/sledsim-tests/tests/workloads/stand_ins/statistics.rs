//! Statistics in the files of stand-ins.

use std::collections::{BTreeMap, VecDeque};

use serde_json::json;
use sledsim::request::{Flags, Op, Request};

use super::bench::{mean_response_ms, Bench, Log, Served};

/// Block size of all devices, bytes.
const BLOCK_BYTES: f64 = 512.0;
/// Blocks of a page of 8 KB.
const PAGE_BLOCKS: u64 = 16;
/// Pages of the cache in hong2006: 256 MB in segments of 8 KB.
const CACHE_PAGES: usize = 32_768;
/// The part of the Überdisk that schlosser2004 uses: 3.46 of 41.6 GB.
const UBERDISK_PART: f64 = 3.46 / 41.6;

/// A statistic of a stand-in.
pub fn statistic(bench: &Bench, id: &str) -> f64 {
    if let Some(device) = id.strip_prefix("busiest-on-") {
        return bench.response_of_last_ms(device, if device == "uberdisk" { UBERDISK_PART } else { 1.0 });
    }
    match id {
        "busiest-share" => bench.share_of_last(),
        "response-eight-disks" => bench.mean_response_over_seeds_ms(1..=8),
        "response-without-busiest" => bench.response_without_last_ms(),
        "response-atlas10k" => mean_over(bench, &json!("atlas10k")),
        "response-atlas10k-unbuffered" => mean_over(bench, &json!({"name": "atlas10k", "fast_write": "none"})),
        "response" => mean_over(bench, &bench.device()),
        "hottest" => hottest(bench),
        _ => of_logs(&bench.logs(&bench.device()), id).unwrap_or_else(|| panic!("{}: no statistic {id:?}", bench.name)),
    }
}

fn mean_over(bench: &Bench, device: &serde_json::Value) -> f64 {
    let logs = bench.logs(device);
    let count: usize = logs.iter().map(Vec::len).sum();
    logs.iter().map(|log| mean_response_ms(log) * log.len() as f64).sum::<f64>() / count as f64
}

/// Returns the statistics of served requests by disk.
fn of_logs(logs: &[Log], id: &str) -> Option<f64> {
    let all = || logs.iter().flatten();
    let requests = || all().map(|served| &served.request);
    let count = all().count() as f64;
    let share = |of: &dyn Fn(&Request) -> bool| requests().filter(|request| of(request)).count() as f64 / count;
    let is_write = |request: &Request| request.op == Op::Write;
    let length_s = || requests().map(|request| request.arrival.seconds()).fold(0.0, f64::max);
    Some(match id {
        "requests" => count,
        "length" => length_s() / 3600.0,
        "minutes" => length_s() / 60.0,
        "rate" => count / length_s(),
        "size" => requests().map(|request| f64::from(request.blocks) * 0.5).sum::<f64>() / count,
        "size-8k" => share(&|request| u64::from(request.blocks) == PAGE_BLOCKS),
        "metadata" => share(&|request| request.flags.contains(Flags::METADATA)),
        "synchronous" => share(&|request| request.flags.contains(Flags::SYNCHRONOUS)),
        "writes" => share(&is_write),
        "sample-reads" => share(&|request| !is_write(request)),
        "small-writes" => {
            share(&|request| is_write(request) && u64::from(request.blocks) < PAGE_BLOCKS) / share(&is_write)
        }
        "metadata-writes" => {
            share(&|request| is_write(request) && request.flags.contains(Flags::METADATA)) / share(&is_write)
        }
        "sequential" => going_on(logs, |_, _| true),
        "sequential-reads" => {
            going_on(logs, |before, after| before == Op::Read && after == Op::Read)
                / (share(&|request| !is_write(request)))
        }
        "sequential-writes" => {
            going_on(logs, |before, after| before == Op::Write && after == Op::Write) / share(&is_write)
        }
        "offered-load" => logs.iter().map(last_end_s).fold(0.0, f64::max) / length_s(),
        "bandwidth" => {
            requests().map(|request| f64::from(request.blocks)).sum::<f64>() * BLOCK_BYTES * 1e-6 / last_end_s(&logs[0])
        }
        "positioning" => {
            let positioning_ms: f64 = all().map(|served| served.positioning_ns as f64 * 1e-6).sum();
            positioning_ms / all().map(Served::response_ms).sum::<f64>()
        }
        "database" => {
            let end = requests().map(|request| request.end_lbn()).max()?;
            (end - requests().map(|request| request.lbn).min()?) as f64 * BLOCK_BYTES * 1e-9
        }
        "cache-hits" => cached(&logs[0]).0,
        "cache-load" => cached(&logs[0]).1 * of_logs(logs, "offered-load")?,
        "log-load" => logged_accesses(&logs[0]) * of_logs(logs, "offered-load")?,
        _ => return queue_statistic(logs, id).or_else(|| arrival_statistics(&arrivals_s(logs)).remove(id)),
    })
}

fn last_end_s(log: &Log) -> f64 {
    log.iter().map(|served| served.end.seconds()).fold(0.0, f64::max)
}

/// Returns the arrival times at all disks in order.
fn arrivals_s(logs: &[Log]) -> Vec<f64> {
    let mut arrivals_s: Vec<f64> = logs.iter().flatten().map(|served| served.request.arrival.seconds()).collect();
    arrivals_s.sort_by(f64::total_cmp);
    arrivals_s
}

/// Returns the share of requests that start where the previous request on their disk ends, if `of` accepts both
/// operations.
fn going_on(logs: &[Log], of: impl Fn(Op, Op) -> bool) -> f64 {
    let goes_on = |pair: &[Served]| {
        let (before, after) = (&pair[0].request, &pair[1].request);
        of(before.op, after.op) && after.lbn == before.end_lbn()
    };
    let found: usize = logs.iter().map(|log| log.windows(2).filter(|pair| goes_on(pair)).count()).sum();
    found as f64 / logs.iter().map(Vec::len).sum::<usize>() as f64
}

/// Returns the coefficient of variation.
fn variation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    variance.sqrt() / mean
}

/// Returns the index of dispersion: variance over mean of the numbers of arrivals in successive windows.
fn dispersion(arrivals_s: &[f64], window_s: f64) -> f64 {
    let windows = (arrivals_s.last().expect("arrivals") / window_s) as usize + 1;
    let mut counts = vec![0.0; windows];
    arrivals_s.iter().for_each(|at_s| counts[(at_s / window_s) as usize] += 1.0);
    let mean = counts.iter().sum::<f64>() / windows as f64;
    counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / windows as f64 / mean
}

/// Returns the arrival statistics of any workload.
pub fn arrival_statistics(arrivals_s: &[f64]) -> BTreeMap<&'static str, f64> {
    let gaps_s: Vec<f64> = arrivals_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
    BTreeMap::from([
        ("interarrival-cv", variation(&gaps_s)),
        ("dispersion-1s", dispersion(arrivals_s, 1.0)),
        ("dispersion-10s", dispersion(arrivals_s, 10.0)),
        ("dispersion-60s", dispersion(arrivals_s, 60.0)),
        ("dispersion-1h", dispersion(arrivals_s, 3600.0)),
    ])
}

/// Returns statistics of the queues at arrivals.
fn queue_statistic(logs: &[Log], id: &str) -> Option<f64> {
    let of = match id {
        "queue-reads" => Some(Op::Read),
        "queue-writes" => Some(Op::Write),
        "queue-mean" | "queue-p95" | "queue-max" => None,
        _ => return None,
    };
    let found = logs.iter().flat_map(queues).filter(|(op, _)| of.is_none_or(|of| of == *op));
    let mut queues: Vec<usize> = found.map(|(_, queue)| queue).collect();
    queues.sort_unstable();
    Some(match id {
        "queue-p95" => queues[queues.len() * 95 / 100] as f64,
        "queue-max" => *queues.last()? as f64,
        _ => queues.iter().sum::<usize>() as f64 / queues.len() as f64,
    })
}

/// Returns the operation of each request and the number of requests at the disk at its arrival, including itself.
fn queues(log: &Log) -> Vec<(Op, usize)> {
    let mut present: VecDeque<u64> = VecDeque::new();
    // With FCFS, requests complete in order of arrival.
    let found = log.iter().map(|Served { request, end, .. }| {
        while present.front().is_some_and(|&end_ns| end_ns <= request.arrival.ns()) {
            present.pop_front();
        }
        present.push_back(end.ns());
        (request.op, present.len())
    });
    found.collect()
}

/// Returns the share of accesses to the hottest 1 % of the regions of its `zipf` location.
fn hottest(bench: &Bench) -> f64 {
    let regions = bench.file["values"]["location"]["value"]["regions"].as_integer().expect("regions") as usize;
    let logs = bench.logs(&bench.device());
    let blocks = bench.capacity_blocks();
    let mut counts = vec![0_u32; regions];
    logs[0].iter().for_each(|served| counts[(served.request.lbn * regions as u64 / blocks) as usize] += 1);
    counts.sort_unstable_by(|a, b| b.cmp(a));
    f64::from(counts[..regions / 100].iter().sum::<u32>()) / logs[0].len() as f64
}

/// Returns, for the second half of the requests, the hit ratio of their first pages in an LRU cache of `CACHE_PAGES`,
/// and the disk accesses per request, including write-backs.
fn cached(log: &Log) -> (f64, f64) {
    // Time of the last reference of each page, and true if it is dirty.
    let mut held: BTreeMap<u64, (usize, bool)> = BTreeMap::new();
    let mut oldest: BTreeMap<usize, u64> = BTreeMap::new();
    let (mut hits, mut accesses) = (0, 0);
    for (now, Served { request, .. }) in log.iter().enumerate() {
        let counts = usize::from(now >= log.len() / 2);
        let (page, writes) = (request.lbn / PAGE_BLOCKS, request.op == Op::Write);
        let before = held.get(&page).copied();
        held.insert(page, (now, writes || before.is_some_and(|(_, changed)| changed)));
        if let Some((last, _)) = before {
            oldest.remove(&last);
            hits += counts;
        } else {
            accesses += counts;
            if held.len() > CACHE_PAGES {
                let (_, evicted) = oldest.pop_first().expect("a full cache");
                let (_, changed) = held.remove(&evicted).expect("old pages are cached");
                accesses += counts * usize::from(changed);
            }
        }
        oldest.insert(now, page);
    }
    let count = (log.len() - log.len() / 2) as f64;
    (hits as f64 / count, accesses as f64 / count)
}

/// Returns, for the second half of the requests, the disk accesses per request with a log of the last `CACHE_PAGES`
/// writes: reads of pages that are not in the log, and pages that leave the log with their newest data.
fn logged_accesses(log: &Log) -> f64 {
    let mut written: VecDeque<(u64, usize)> = VecDeque::new();
    let mut newest: BTreeMap<u64, usize> = BTreeMap::new();
    let mut accesses = 0;
    for (now, Served { request, .. }) in log.iter().enumerate() {
        let counts = usize::from(now >= log.len() / 2);
        let page = request.lbn / PAGE_BLOCKS;
        if request.op == Op::Read {
            accesses += counts * usize::from(!newest.contains_key(&page));
            continue;
        }
        written.push_back((page, now));
        newest.insert(page, now);
        if written.len() > CACHE_PAGES {
            let (page, then) = written.pop_front().expect("a full log");
            if newest.get(&page) == Some(&then) {
                newest.remove(&page);
                accesses += counts;
            }
        }
    }
    accesses as f64 / (log.len() - log.len() / 2) as f64
}

#[cfg(test)]
mod tests {

    use sledsim::time::Time;

    use super::*;

    fn page(number: u64, op: Op) -> Served {
        let request = Request { op, ..Request::read(number * PAGE_BLOCKS, 16) };
        Served { request, end: Time::ZERO, positioning_ns: 0 }
    }

    #[test]
    fn caches_and_logs_leave_known_disk_accesses() {
        let count = CACHE_PAGES as u64;
        let twice = |pages: u64, op: Op| (0..2 * pages).map(move |k| page(k % pages, op)).collect::<Log>();
        // A cyclic scan that fits in the cache hits from the second round on; with one more page, it never hits.
        assert_eq!(cached(&twice(count, Op::Write)), (1.0, 0.0));
        assert_eq!(cached(&twice(count + 1, Op::Read)), (0.0, 1.0));
        assert_eq!(cached(&twice(count + 1, Op::Write)), (0.0, 2.0));
        // The log holds `CACHE_PAGES` writes, regardless of the number of pages; overwritten ones leave it without a
        // disk access.
        assert_eq!(logged_accesses(&twice(count, Op::Write)), 0.0);
        assert_eq!(logged_accesses(&twice(count + 1, Op::Write)), 1.0);
        assert_eq!(logged_accesses(&twice(count, Op::Read)), 1.0);
        let read_back: Log = twice(count / 2, Op::Write).into_iter().chain(twice(count / 2, Op::Read)).collect();
        assert_eq!(logged_accesses(&read_back), 0.0);
    }

    #[test]
    fn variation_and_dispersion_of_known_arrivals() {
        assert!((variation(&[1.0, 3.0]) - 0.5).abs() < 1e-15);
        // Two arrivals in every second window of 1 s: mean 1, variance 1.
        let arrivals_s: Vec<f64> = (0..1000).flat_map(|k| [2.0 * f64::from(k), 2.0 * f64::from(k) + 0.5]).collect();
        assert!((dispersion(&arrivals_s, 1.0) - 1.0).abs() < 2e-3, "except for the last window");
        assert!(dispersion(&arrivals_s, 2.0).abs() < 1e-12);
    }
}
