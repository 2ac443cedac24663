//! Time of a request to a disk with a MEMS device as its cache or its write buffer.

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use sledsim::engine::random::Stream;
use sledsim::engine::{Component, ComponentId, System};
use sledsim::hierarchy::{CachingDisk, CachingDiskSpec, Child, Drive, WriteBuffer, WriteBufferSpec};
use sledsim::request::{Op, Request};
use sledsim::scenario;
use sledsim::schedulers::{build, fcfs};
use sledsim::time::Time;
use sledsim_testing::scenarios;

const REQUESTS: u64 = 20_000;
const MEMS_BYTES: u64 = 256_000_000;
/// Between requests that go to the disk.
const DISK_KEEPS_UP_NS: u64 = 60_000_000;

fn drive(system: &mut System, name: &str) -> ComponentId {
    let device = scenario::device(&scenarios::device_spec(name)).expect("a device of the catalogue");
    let scheduler = build(&fcfs::POLICY.default, device.as_ref());
    system.add(Box::new(Drive::new(device, scheduler, 1)), &[])
}

fn over(component: impl Fn(Child, Child) -> Box<dyn Component>) -> System {
    let mut system = System::default();
    let (mems, disk) = (drive(&mut system, "hong2006"), drive(&mut system, "atlas10k"));
    let component = component(Child::of(&system, mems), Child::of(&system, disk));
    system.add(component, &[mems, disk]);
    system.start_measuring();
    system
}

/// Requests of 4 KB (reads and writes) within the first blocks, or writes of 36 KB, so far apart that queues stay short.
fn serve(
    system: &mut System,
    random: &mut Stream,
    next: &mut u64,
    (blocks, writes, span): (u32, f64, u64),
    gap_ns: u64,
) {
    for _ in 0..REQUESTS {
        let at = system.now() + gap_ns;
        while system.next_time().is_some_and(|next| next <= at) {
            system.step(&mut |_| {});
        }
        let op = if random.chance(writes) { Op::Write } else { Op::Read };
        let lbn = random.below(span / u64::from(blocks)) * u64::from(blocks);
        *next += 1;
        let request = Request { id: *next, arrival: at, op, ..Request::read(lbn, blocks) };
        system.submit(request, &mut |_| {});
    }
    assert!(system.in_flight() < REQUESTS / 10, "it keeps up at {}", Time::ns(system.now()));
}

fn mems_and_disk(criterion: &mut Criterion) {
    let mcd = |mems, disk| -> Box<dyn Component> {
        let spec = CachingDiskSpec { mems_bytes: Some(MEMS_BYTES), ..CachingDiskSpec::default() };
        Box::new(CachingDisk::new(&spec, mems, disk).expect("it fits"))
    };
    let mwb = |mems, disk| -> Box<dyn Component> {
        let spec = WriteBufferSpec { mems_bytes: Some(MEMS_BYTES), ..WriteBufferSpec::default() };
        Box::new(WriteBuffer::new(&spec, mems, disk).expect("it fits"))
    };
    let mut group = criterion.benchmark_group("mems_and_disk");
    group.throughput(Throughput::Elements(REQUESTS)).sample_size(10);
    // Blocks of a request, share of writes, blocks that they go to; ns between them.
    let hits = (8, 0.5, 100_000);
    let misses = (8, 0.5, 4_000_000);
    let cases = [("mcd hits", true, hits, 2_000_000), ("mcd misses", true, misses, DISK_KEEPS_UP_NS)];
    let writes = [
        ("mwb 4 KB", false, (8, 1.0, 4_000_000), DISK_KEEPS_UP_NS),
        ("mwb 36 KB", false, (72, 1.0, 4_000_000), DISK_KEEPS_UP_NS),
    ];
    for (name, is_mcd, load, gap_ns) in cases.into_iter().chain(writes) {
        let mut system = if is_mcd { over(mcd) } else { over(mwb) };
        let (mut random, mut next) = (Stream::new(1, "requests"), 0);
        // The cache is full before the measurement.
        for _ in 0..3 {
            serve(&mut system, &mut random, &mut next, load, DISK_KEEPS_UP_NS);
        }
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| serve(&mut system, &mut random, &mut next, load, gap_ns));
        });
    }
    group.finish();
}

criterion_group!(benches, mems_and_disk);
criterion_main!(benches);
