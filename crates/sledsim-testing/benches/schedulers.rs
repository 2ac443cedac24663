//! Time of a dispatch, by policy and queue length: one push and one pop at a constant queue length.

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use serde_json::json;
use sledsim::devices::Mechanism;
use sledsim::scenario;
use sledsim::schedulers::{asptf, build, clook, fcfs, sdf, sptf, sstf_lbn, zsptf, Scheduler, SchedulerSpec};
use sledsim::time::Time;
use sledsim_testing::scenarios;
use sledsim_testing::sled::{read, Sled};

/// A saturated drive: a request arrives when one completes.
struct Saturated {
    device: Box<dyn Mechanism>,
    blocks: u32,
    scheduler: Box<dyn Scheduler>,
    now: Time,
    id: u64,
    random: u64,
}

impl Saturated {
    fn new(device: Box<dyn Mechanism>, blocks: u32, spec: SchedulerSpec, pending: usize) -> Self {
        let scheduler = build(&spec, device.as_ref());
        let mut saturated = Self { device, blocks, scheduler, now: Time::ZERO, id: 0, random: 0x9E37_79B9_7F4A_7C15 };
        for _ in 0..pending {
            saturated.push();
        }
        for _ in 0..2 * pending {
            saturated.dispatch();
        }
        saturated
    }

    fn push(&mut self) {
        // xorshift64.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let lbn = self.random % (self.device.dimensions().capacity_blocks - u64::from(self.blocks));
        self.scheduler.push(self.now, read(self.id, self.now.ns(), lbn, self.blocks), self.device.as_ref());
        self.id += 1;
    }

    fn dispatch(&mut self) {
        if let Some(request) = self.scheduler.pop(self.now, self.device.as_ref()) {
            self.now = self.device.serve(self.now, &request).free;
        }
        self.push();
    }
}

fn dispatch(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("dispatch");
    group.throughput(Throughput::Elements(1));
    let specs = [
        fcfs::POLICY.default,
        clook::POLICY.default,
        sstf_lbn::POLICY.default,
        sptf::POLICY.default,
        SchedulerSpec::Asptf(asptf::Spec { weight: 0.006 }),
        SchedulerSpec::Asptf(asptf::Spec { weight: 1.0 }),
        sdf::POLICY.default,
        SchedulerSpec::Zsptf(zsptf::Spec { zones: 25 }),
    ];
    for spec in specs {
        let name = match spec {
            SchedulerSpec::Asptf(asptf::Spec { weight }) => format!("asptf {weight}"),
            _ => spec.name().to_owned(),
        };
        for pending in [10, 100, 1_000, 10_000, 100_000] {
            group.bench_function(BenchmarkId::new(&name, pending), |bencher| {
                let mut saturated = Saturated::new(Box::new(Sled::mems()), 8, spec, pending);
                bencher.iter(|| saturated.dispatch());
            });
        }
    }
    group.finish();
}

/// Dispatches on a disk, where the search uses seek times and the rotation. Serving the request is a small part of the time.
fn dispatch_on_disk(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("dispatch on atlas10k");
    group.throughput(Throughput::Elements(1));
    for spec in [clook::POLICY.default, sptf::POLICY.default, SchedulerSpec::Asptf(asptf::Spec { weight: 0.006 })] {
        for pending in [100, 1_000, 10_000] {
            group.bench_function(BenchmarkId::new(spec.name(), pending), |bencher| {
                let disk = scenario::device(&scenarios::device_spec("atlas10k")).expect("a device of the catalogue");
                let mut saturated = Saturated::new(disk, 16, spec, pending);
                bencher.iter(|| saturated.dispatch());
            });
        }
    }
    group.finish();
}

/// Services of random requests of 8 KB on a disk, without and with its buffer.
fn serve_on_disk(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("serve 8 KB on atlas10k");
    group.throughput(Throughput::Elements(1));
    for buffer in [false, true] {
        let off = json!({"name": "atlas10k", "buffer_caching": false, "read_ahead": "none", "fast_write": "none"});
        let device = if buffer { json!("atlas10k") } else { off };
        let document = json!({"workload": scenarios::poisson(1.0), "system": {"device": device}});
        let drive = scenarios::resolved(&document).system.into_drive().expect("a drive alone");
        group.bench_function(if buffer { "with buffer" } else { "without buffer" }, |bencher| {
            let disk = scenario::device(&drive.device).expect("a device of the catalogue");
            let mut saturated = Saturated::new(disk, 16, fcfs::POLICY.default, 1);
            bencher.iter(|| saturated.dispatch());
        });
    }
    group.finish();
}

criterion_group!(benches, dispatch, dispatch_on_disk, serve_on_disk);
criterion_main!(benches);
