//! The queue of commands in a drive: its order against schedulers of the host and an exhaustive search, and closed forms of its rate.

use serde_json::{json, Value};
use sledsim::devices::disk::{CommandQueue, DiskDevice, DiskParameters};
use sledsim::devices::Mechanism;
use sledsim::engine::random::Stream;
use sledsim::request::{Flags, Op, Request};
use sledsim::scenario::DeviceSpec;
use sledsim::time::Time;
use sledsim_testing::host::Host;
use sledsim_testing::scenarios::device_spec;
use sledsim_testing::tiers::size;

/// A drive of the catalogue without buffer and cache, with a queue.
fn disk(queue: Option<CommandQueue>) -> DiskParameters {
    let DeviceSpec::Disk(parameters) = device_spec("hgst-7k8") else { panic!("a disk") };
    let plain = sledsim_testing::disk_designs::without_buffer(&parameters);
    DiskParameters { command_queue: queue, write_cache: None, ..plain }
}

const NO_LIMITS: CommandQueue = CommandQueue { depth: 32, window: None, age_limit_ms: None, turnaround_ms: 0.0 };

fn host(parameters: &DiskParameters, scheduler: &str) -> Host {
    let device = serde_json::to_value(DeviceSpec::Disk(Box::new(parameters.clone()))).expect("a device");
    Host::new(&json!({"kind": "drive", "device": device, "scheduler": {"name": scheduler}}))
}

/// Completions in order, with their times, of random requests below `span`, with a number of them outstanding.
fn completions(mut host: Host, outstanding: usize, span: u64, requests: usize) -> Vec<(u64, Time)> {
    let mut random = Stream::new(3, "random requests");
    let mut submit = |host: &mut Host| {
        let op = if random.chance(0.6) { Op::Read } else { Op::Write };
        host.submit(op, random.below(span / 8) * 8, 8, Flags::NONE);
    };
    (0..outstanding).for_each(|_| submit(&mut host));
    let completions = (0..requests).map(|_| {
        let done = host.completion();
        submit(&mut host);
        (done.request.id, done.service.end)
    });
    completions.collect()
}

#[test]
fn depth_1_serves_in_order_of_arrival() {
    let one = CommandQueue { depth: 1, window: Some(1), age_limit_ms: Some(1.0), ..NO_LIMITS };
    let (queued, plain) = (disk(Some(one)), disk(None));
    let requests = size(300, 3_000);
    for outstanding in [1, 7, 40] {
        let run = |disk| completions(host(disk, "fcfs"), outstanding, 15_000_000_000, requests);
        assert_eq!(run(&queued), run(&plain), "{outstanding} outstanding");
    }
}

#[test]
fn unlimited_queue_equals_sptf_at_the_host() {
    let (queued, plain) = (disk(Some(NO_LIMITS)), disk(None));
    let requests = size(200, 2_000);
    for outstanding in [1, 2, 4, 8, 16, 32] {
        let run = |disk, scheduler| completions(host(disk, scheduler), outstanding, 15_000_000_000, requests);
        assert_eq!(run(&queued, "fcfs"), run(&plain, "sptf"), "{outstanding} outstanding");
    }
}

/// A drive and its host's queue in order of arrival, written out.
fn searched(parameters: &DiskParameters, outstanding: usize, span: u64, requests: usize) -> Vec<(u64, Time)> {
    let queue = parameters.command_queue.expect("a queue");
    let mut device = DiskDevice::new(parameters).expect("a drive");
    let mut random = Stream::new(3, "random requests");
    let mut pending: Vec<(Request, Option<Time>)> = Vec::new();
    let (mut id, mut now, mut done) = (0, Time::ZERO, Vec::new());
    let mut submit = |pending: &mut Vec<_>| {
        id += 1;
        let op = if random.chance(0.6) { Op::Read } else { Op::Write };
        pending.push((Request { id, op, ..Request::read(random.below(span / 8) * 8, 8) }, None));
    };
    // The drive serves the first request as soon as it arrives.
    submit(&mut pending);
    while done.len() < requests {
        pending.iter_mut().take(queue.depth as usize).for_each(|it| it.1 = it.1.or(Some(now)));
        let held = pending.iter().filter(|it| it.1.is_some()).count();
        let limit_ns = queue.age_limit_ms.map_or(u64::MAX, |ms| (ms * 1e6) as u64);
        let overdue = pending[0].1.is_some_and(|entered| now - entered >= limit_ns);
        let choices = if overdue { 1 } else { held.min(queue.window.map_or(held, |window| window as usize)) };
        let cost = |index: &usize| device.positioning_ns(now, device.locate(&pending[*index].0));
        let best = (0..choices).min_by_key(cost).expect("requests are pending");
        let request = pending.remove(best).0;
        // Requests of the start, and the one that replaces the last completed one, arrive after the choice.
        let missing = outstanding - 1 - pending.len();
        let entered = now;
        (0..missing).for_each(|_| submit(&mut pending));
        pending.iter_mut().take(queue.depth as usize - 1).for_each(|it| it.1 = it.1.or(Some(entered)));
        now = device.serve(now, &request).end;
        done.push((request.id, now));
    }
    done
}

#[test]
fn window_and_age_limit_equal_an_exhaustive_search() {
    let requests = size(300, 3_000);
    for (depth, window, age_limit_ms) in
        [(4, None, None), (32, Some(5), None), (32, None, Some(150.0)), (8, Some(3), Some(60.0)), (2, None, Some(0.0))]
    {
        let disk = disk(Some(CommandQueue { depth, window, age_limit_ms, turnaround_ms: 0.0 }));
        let ours = completions(host(&disk, "fcfs"), 24, 15_000_000_000, requests);
        assert_eq!(ours, searched(&disk, 24, 15_000_000_000, requests), "{:?}", disk.command_queue);
    }
}

/// Throughput in requests a revolution of `n` outstanding requests to one track of `places`, without overheads: by Little's law `n` over the
/// mean response. That is half a revolution and the transfer, and one revolution more for each time that the head passes the request's
/// place while it is busy; each transfer covers `passed` places.
fn per_revolution(n: f64, places: f64, passed: f64) -> f64 {
    let mut throughput = n;
    for _ in 0..50 {
        let missed = passed * throughput / places;
        throughput = 0.5 * (throughput + n / (0.5 + 1.0 / places + missed / (1.0 - missed)));
    }
    throughput
}

#[test]
fn throughput_of_one_track_follows_from_littles_law() {
    // A replacement arrives when a request completes, and the drive chooses a nanosecond later.
    let queue = CommandQueue { turnaround_ms: 1e-6, ..NO_LIMITS };
    let disk = DiskParameters { request_overhead_ms: 0.0, bus_ms_per_block: 0.0, ..disk(Some(queue)) };
    let (places, revolution_ms) = (u64::from(disk.zones[0].sectors_per_track) / 8, 60_000.0 / 7_200.0);
    let requests = size(3_000, 30_000);
    for outstanding in [1, 2, 4, 8, 16, 32] {
        let mut random = Stream::new(5, "one track");
        let mut host = host(&disk, "fcfs");
        let mut submit = |host: &mut Host| host.submit(Op::Read, random.below(places) * 8, 8, Flags::NONE);
        for _ in 0..outstanding {
            submit(&mut host);
        }
        for _ in 0..requests {
            host.completion();
            submit(&mut host);
        }
        let measured = requests as f64 / (host.now().ns() as f64 * 1e-6 / revolution_ms);
        // A transfer covers its own place, and the next one too if rounding puts its start before the choice. A mean of 3,000 waits is
        // known to 2 %.
        let [most, least] = [1.0, 2.0].map(|passed| per_revolution(f64::from(outstanding), places as f64, passed));
        assert!(
            (0.95 * least..1.05 * most).contains(&measured),
            "{outstanding} outstanding: {measured}, expected {least} to {most}"
        );
    }
}

/// After the limit a command waits at most for those that are older.
#[test]
fn age_limit_bounds_the_wait() {
    let limit_ms = 100.0;
    let disk = disk(Some(CommandQueue { age_limit_ms: Some(limit_ms), ..NO_LIMITS }));
    let mut host = host(&disk, "fcfs");
    let mut random = Stream::new(9, "hot and cold");
    let cold = host.submit(Op::Read, 15_000_000_000, 8, Flags::NONE);
    let mut submit = |host: &mut Host| host.submit(Op::Read, random.below(100_000) * 8, 8, Flags::NONE);
    for _ in 0..31 {
        submit(&mut host);
    }
    // The first command is the only one when it arrives. Its successor far from the others is passed over.
    let mut far = None;
    loop {
        let done = host.completion();
        if done.request.id == cold {
            far = Some(host.submit(Op::Read, 15_000_000_000, 8, Flags::NONE));
        } else if Some(done.request.id) == far {
            let waited_ms = (done.service.start - done.request.arrival) as f64 * 1e-6;
            assert!(waited_ms > 50.0 && waited_ms < limit_ms + 32.0 * 25.0, "{waited_ms}");
            return;
        } else {
            submit(&mut host);
        }
    }
}

#[test]
fn commands_that_arrive_in_the_turnaround_are_among_the_choices() {
    let requests = size(1_500, 10_000);
    let rate = |turnaround_ms| {
        let disk = disk(Some(CommandQueue { turnaround_ms, ..NO_LIMITS }));
        let done = completions(host(&disk, "fcfs"), 2, 15_000_000_000, requests);
        requests as f64 / (done[requests - 1].1.ns() as f64 * 1e-9)
    };
    // With two outstanding commands, a drive without turnaround has no choice.
    let (without, with) = (rate(0.0), rate(0.05));
    assert!(with > 1.1 * without, "{with} and {without} per second");
}

#[test]
fn queue_keys_are_checked() {
    let check = |key: &str, value: Value| {
        let system = json!({"device": {"name": "hgst-7k8", "command_queue": {key: value}}});
        let document = json!({"workload": sledsim_testing::scenarios::poisson(1.0), "system": system});
        sledsim_testing::scenarios::resolve(&document).err().unwrap_or_default()
    };
    assert!(check("depth", json!(0)).contains("command_queue.depth"), "{}", check("depth", json!(0)));
    assert!(check("window", json!(-1)).contains("command_queue.window"));
    assert_eq!(check("depth", json!(1)), "");
}
