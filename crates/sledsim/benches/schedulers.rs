//! What a dispatch costs, by policy and queue length: one push and one pop with the queue kept at its length.

#[path = "../tests/common/sled.rs"]
mod sled;

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use sled::{read, Sled};
use sledsim::devices::Device;
use sledsim::schedulers::{build, Scheduler, SchedulerSpec};
use sledsim::time::Time;

/// A saturated drive: whenever a request is done, the next one arrives.
struct Saturated {
    sled: Sled,
    scheduler: Box<dyn Scheduler>,
    now: Time,
    id: u64,
    random: u64,
}

impl Saturated {
    fn new(spec: SchedulerSpec, pending: usize) -> Self {
        let sled = Sled::mems();
        let scheduler = build(&spec, &sled);
        let mut saturated = Self { sled, scheduler, now: Time::ZERO, id: 0, random: 0x9E37_79B9_7F4A_7C15 };
        for _ in 0..pending {
            saturated.push();
        }
        for _ in 0..2 * pending {
            saturated.dispatch();
        }
        saturated
    }

    fn push(&mut self) {
        // xorshift64: plenty for places.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let lbn = self.random % (self.sled.capacity_blocks() - 8);
        self.scheduler.push(self.now, read(self.id, self.now.ns(), lbn, 8), &self.sled);
        self.id += 1;
    }

    fn dispatch(&mut self) {
        if let Some(request) = self.scheduler.pop(self.now, &self.sled) {
            self.now = self.sled.serve(self.now, &request).free;
        }
        self.push();
    }
}

fn dispatch(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("dispatch");
    group.throughput(Throughput::Elements(1));
    let specs = [
        SchedulerSpec::Fcfs {},
        SchedulerSpec::Clook {},
        SchedulerSpec::SstfLbn {},
        SchedulerSpec::Sptf {},
        SchedulerSpec::Asptf { weight: 0.006 },
        SchedulerSpec::Asptf { weight: 1.0 },
        SchedulerSpec::Sdf {},
        SchedulerSpec::Zsptf { zones: 25 },
    ];
    for spec in specs {
        let name = match spec {
            SchedulerSpec::Asptf { weight } => format!("asptf {weight}"),
            _ => spec.name().to_owned(),
        };
        for pending in [10, 100, 1_000, 10_000, 100_000] {
            group.bench_function(BenchmarkId::new(&name, pending), |bencher| {
                let mut saturated = Saturated::new(spec, pending);
                bencher.iter(|| saturated.dispatch());
            });
        }
    }
    group.finish();
}

criterion_group!(benches, dispatch);
criterion_main!(benches);
