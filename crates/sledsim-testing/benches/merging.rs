//! Time of a request to a drive that merges, by queue length, including its service.

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use sledsim::engine::random::Stream;
use sledsim::engine::{run, Completion, Next, Observer, RunLimits, System, Workload};
use sledsim::fault::Fault;
use sledsim::hierarchy::{Drive, MergeSpec};
use sledsim::request::{Op, Request};
use sledsim::scenario;
use sledsim::schedulers::{build, fcfs, sptf, SchedulerSpec};
use sledsim::service::Service;
use sledsim::time::Time;
use sledsim_testing::scenarios;

const REQUESTS: u64 = 20_000;

/// Sixteen sequential streams of reads and writes of 4 KB; another request arrives whenever one is done.
struct Streams {
    now: Time,
    next_id: u64,
    outstanding: u64,
    pending: u64,
    places: Vec<u64>,
    random: Stream,
    capacity: u64,
}

impl Workload for Streams {
    fn peek(&mut self) -> Result<Next, Fault> {
        Ok(match (self.next_id, self.outstanding) {
            (REQUESTS, _) => Next::Ended,
            (_, outstanding) if outstanding < self.pending => Next::At(self.now),
            _ => Next::Waiting,
        })
    }

    fn take(&mut self) -> Request {
        let stream = self.random.below(16) as usize;
        let lbn = if self.random.chance(0.8) { self.places[stream] } else { self.random.below(self.capacity - 8) };
        let lbn = lbn.min(self.capacity - 8);
        self.places[stream] = lbn + 8;
        let id = self.next_id;
        (self.next_id, self.outstanding) = (id + 1, self.outstanding + 1);
        Request { id, arrival: self.now, op: if stream < 11 { Op::Read } else { Op::Write }, ..Request::read(lbn, 8) }
    }

    fn completed(&mut self, completion: &Completion) {
        self.now = self.now.max(completion.service.end);
        self.outstanding -= 1;
    }
}

struct Nobody;

impl Observer for Nobody {
    fn served(&mut self, _request: &Request, _service: &Service) {}
}

fn serve(policy: SchedulerSpec, merge: Option<MergeSpec>, pending: u64) -> Time {
    let device = scenario::device(&scenarios::device_spec("g2")).expect("a device of the catalogue");
    let capacity = device.dimensions().capacity_blocks;
    let scheduler = build(&policy, device.as_ref());
    let mut drive = Drive::new(device, scheduler, 1);
    if let Some(merge) = merge {
        drive = drive.merging(merge);
    }
    let mut system = System::default();
    system.add(Box::new(drive), &[]);
    let mut random = Stream::new(1, "streams");
    let places = (0..16).map(|_| random.below(capacity)).collect();
    let mut workload = Streams { now: Time::ZERO, next_id: 0, outstanding: 0, pending, places, random, capacity };
    let outcome = run(&mut system, &mut workload, &RunLimits::default(), &mut Nobody, &mut |_| true);
    outcome.expect("it runs").finished
}

fn merging(criterion: &mut Criterion) {
    let all = MergeSpec { requests: 16, anywhere: true, writes: true, rows: true, mixed: false };
    let rules = [("none", None), ("neighbours", Some(MergeSpec::default())), ("all", Some(all))];
    let mut group = criterion.benchmark_group("merging");
    group.throughput(Throughput::Elements(REQUESTS)).sample_size(10);
    for (policy, spec) in [("fcfs", fcfs::POLICY.default), ("sptf", sptf::POLICY.default)] {
        for (rule, merge) in rules {
            for pending in [1_u64, 10, 1_000] {
                let name = BenchmarkId::new(format!("{policy} {rule}"), pending);
                group.bench_function(name, |bencher| bencher.iter(|| serve(spec, merge, pending)));
            }
        }
    }
    group.finish();
}

criterion_group!(benches, merging);
criterion_main!(benches);
