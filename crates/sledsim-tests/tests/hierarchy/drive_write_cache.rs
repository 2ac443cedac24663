//! The volatile write cache of a drive: which writes it holds, when they reach the medium, and what a flush covers.

use serde_json::json;
use sledsim::devices::disk::{DiskParameters, WriteCache};
use sledsim::engine::random::Stream;
use sledsim::request::{Flags, Op};
use sledsim::scenario::DeviceSpec;
use sledsim_testing::disk_designs::without_buffer;
use sledsim_testing::host::Host;
use sledsim_testing::scenarios::device_spec;

const CACHE: WriteCache = WriteCache { blocks: 4096, extents: None, window: None, idle_ms: 0.0, forced_share: 0.75 };

/// Time of a revolution, ms.
const REVOLUTION_MS: f64 = 60_000.0 / 7_200.0;

fn disk(cache: Option<WriteCache>) -> DiskParameters {
    let DeviceSpec::Disk(parameters) = device_spec("barracuda-2t") else { panic!("a disk") };
    DiskParameters { write_cache: cache, ..without_buffer(&parameters) }
}

fn host(parameters: &DiskParameters) -> Host {
    let device = serde_json::to_value(DeviceSpec::Disk(Box::new(parameters.clone()))).expect("a device");
    Host::new(&json!({"kind": "drive", "device": device, "scheduler": {"name": "fcfs"}}))
}

fn write_ms(host: &mut Host, lbn: u64, blocks: u32) -> f64 {
    host.response_ms(Op::Write, lbn, blocks, Flags::NONE)
}

#[test]
fn cached_writes_take_the_time_of_command_and_link() {
    let mut host = host(&disk(Some(CACHE)));
    // 0.03 ms for the command, and 8 blocks at 600 MB/s.
    assert!((write_ms(&mut host, 1_000_000, 8) - (0.03 + 8.0 * 512.0 / 600e6 * 1e3)).abs() < 1e-5);
    assert_eq!(host.count("cached_writes"), 1.0);
}

#[test]
fn idle_drive_writes_its_cache_back() {
    for idle_ms in [0.0, 40.0] {
        let mut host = host(&disk(Some(WriteCache { idle_ms, ..CACHE })));
        for lbn in [1_000_000, 2_000_000_000, 7] {
            write_ms(&mut host, lbn, 8);
        }
        host.rest();
        assert_eq!((host.count("dirty_blocks"), host.count("write_backs")), (0.0, 3.0));
        assert!(host.now().ns() as f64 * 1e-6 > idle_ms);
    }
}

#[test]
fn reads_of_cached_data_do_not_wait_for_the_medium() {
    let mut host = host(&disk(Some(WriteCache { idle_ms: 1e3, ..CACHE })));
    write_ms(&mut host, 5_000_000, 64);
    assert!(host.response_ms(Op::Read, 5_000_008, 8, Flags::NONE) < 0.05);
    // A part is not enough.
    assert!(host.response_ms(Op::Read, 5_000_060, 8, Flags::NONE) > 1.0);
    assert_eq!(host.count("cached_reads"), 1.0);
}

#[test]
fn flush_completes_once_everything_is_on_the_medium() {
    let mut host = host(&disk(Some(CACHE)));
    let mut random = Stream::new(2, "writes");
    for _ in 0..20 {
        write_ms(&mut host, random.below(400_000_000) * 8, 8);
    }
    let flush_ms = host.flush_ms();
    assert_eq!(host.count("dirty_blocks"), 0.0);
    // Each seek takes 1 ms at least, and 20 random seeks and waits of a queue of 7 take 100 to 400 ms.
    assert!((100.0..400.0).contains(&flush_ms), "{flush_ms}");
    // With a clean cache it takes the command only.
    assert!((host.flush_ms() - 0.03).abs() < 1e-9);
}

#[test]
fn requests_behind_a_flush_wait_for_it() {
    let mut host = host(&disk(Some(CACHE)));
    write_ms(&mut host, 3_000_000_000, 8);
    let flush = host.submit(Op::Flush, 0, 0, Flags::NONE);
    let read = host.submit(Op::Read, 8, 8, Flags::NONE);
    let write = host.submit(Op::Write, 80, 8, Flags::NONE);
    let order = [host.completion(), host.completion(), host.completion()].map(|done| done.request.id);
    assert_eq!(order, [flush, write, read]);
}

#[test]
fn durable_writes_take_as_long_as_without_a_cache() {
    let [mut cached, mut plain] = [Some(CACHE), None].map(|cache| host(&disk(cache)));
    let mut random = Stream::new(4, "durable writes");
    for _ in 0..50 {
        let lbn = random.below(400_000_000) * 8;
        let durable_ms = cached.response_ms(Op::Write, lbn, 8, Flags::DURABLE);
        assert_eq!(durable_ms, plain.response_ms(Op::Write, lbn, 8, Flags::NONE));
    }
}

#[test]
fn durable_writes_replace_cached_data() {
    let mut host = host(&disk(Some(WriteCache { idle_ms: 1e3, ..CACHE })));
    write_ms(&mut host, 1_000_000, 24);
    host.response_ms(Op::Write, 1_000_008, 8, Flags::DURABLE);
    assert_eq!(host.count("dirty_blocks"), 16.0);
    host.rest();
    assert_eq!(host.count("write_backs"), 2.0);
}

#[test]
fn durable_writes_wait_for_older_writes_of_the_same_blocks() {
    // The older write is on its way to the cache, or waits for room in it.
    for (blocks, fills) in [(4096, 0), (16, 2)] {
        let mut host = host(&disk(Some(WriteCache { blocks, idle_ms: 1e6, ..CACHE })));
        for write in 0..fills {
            write_ms(&mut host, 100_000_000 * (write + 1), 8);
        }
        let older = host.submit(Op::Write, 1_000_000, 8, Flags::NONE);
        let durable = host.submit(Op::Write, 1_000_004, 8, Flags::DURABLE);
        let elsewhere = host.submit(Op::Write, 2_000_000, 8, Flags::DURABLE);
        let order = [host.completion(), host.completion(), host.completion()].map(|done| done.request.id);
        let place = |id| order.iter().position(|&done| done == id).expect("it has completed");
        assert!(place(older) < place(durable), "{order:?}");
        // Another place need not wait.
        assert!(fills == 0 || place(elsewhere) < place(durable), "{order:?}");
        // The cache does not hold the data that were replaced. In a full cache, the others may have been written back.
        assert!(fills > 0 || host.response_ms(Op::Read, 1_000_000, 4, Flags::NONE) < 0.05);
        assert!(host.response_ms(Op::Read, 1_000_004, 4, Flags::NONE) > 1.0);
    }
}

#[test]
fn full_cache_delays_writes() {
    let mut host = host(&disk(Some(WriteCache { blocks: 64, ..CACHE })));
    let mut random = Stream::new(6, "writes");
    let times_ms: Vec<f64> = (0..60).map(|_| write_ms(&mut host, random.below(400_000_000) * 8, 8)).collect();
    assert!(times_ms[..8].iter().all(|ms| *ms < 0.1), "{times_ms:?}");
    let mean_ms = times_ms[20..].iter().sum::<f64>() / 40.0;
    assert!((5.0..18.0).contains(&mean_ms), "{mean_ms}");
    assert!(host.count("delayed_writes") > 30.0);
    // A write larger than the cache goes to the medium.
    assert!(write_ms(&mut host, 0, 128) > 1.0);
}

#[test]
fn sequential_writes_run_at_the_media_rate() {
    let mut host = host(&disk(Some(WriteCache { blocks: 32_768, ..CACHE })));
    let begun = host.now();
    for request in 0..100 {
        write_ms(&mut host, request * 2048, 2048);
    }
    host.flush_ms();
    let rate = 100.0 * 2048.0 * 512.0 / 1e6 / ((host.now() - begun) as f64 * 1e-9);
    // The outermost zone streams at 210 MB/s, less the changes of surface and the first access.
    assert!((195.0..212.0).contains(&rate), "{rate} MB/s");
}

#[test]
fn filling_cache_takes_turns_with_reads() {
    let mut host = host(&disk(Some(WriteCache { blocks: 80, forced_share: 0.5, ..CACHE })));
    let mut random = Stream::new(8, "reads and writes");
    let mut lbn = || random.below(400_000_000) * 8;
    for op in [Op::Read, Op::Read, Op::Read, Op::Read, Op::Write] {
        host.submit(op, lbn(), 8, Flags::NONE);
    }
    let (mut reads, mut writes) = (0, 0);
    for _ in 0..400 {
        let op = host.completion().request.op;
        if op == Op::Read {
            reads += 1;
        } else {
            writes += 1;
        }
        host.submit(op, lbn(), 8, Flags::NONE);
    }
    let write_backs = host.count("write_backs");
    // One for each read, except that the first writes fill half of the cache.
    assert!(writes >= 150 && (write_backs / f64::from(reads) - 1.0).abs() < 0.1, "{reads} {writes} {write_backs}");
}

#[test]
fn writes_of_parts_of_physical_sectors_take_a_revolution_more() {
    let [mut whole, mut part] = [0, 0].map(|_| host(&disk(None)));
    let mut random = Stream::new(1, "parts");
    let (mut whole_ms, mut part_ms) = (0.0, 0.0);
    for _ in 0..40 {
        let lbn = random.below(400_000_000) * 8;
        whole_ms += write_ms(&mut whole, lbn, 8);
        part_ms += write_ms(&mut part, lbn + 4, 8);
    }
    // A partly written sector is read, and written when it comes round again.
    let more_ms = (part_ms - whole_ms) / 40.0;
    assert!((more_ms - REVOLUTION_MS).abs() < 1.0, "{more_ms}");
    let mut whole = host(&DiskParameters { physical_sector_blocks: 1, ..disk(None) });
    let mut other = host(&disk(None));
    assert_eq!(write_ms(&mut whole, 1_000_000, 8), write_ms(&mut other, 1_000_000, 8));
}

#[test]
fn empty_cache_means_none() {
    let mut none = host(&disk(Some(WriteCache { blocks: 0, ..CACHE })));
    assert!(!none.system.may_lose_writes());
    assert!(write_ms(&mut none, 1_000_000, 8) > 1.0);
}
