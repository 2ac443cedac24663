//! Over devices with constant access times, times of requests and cleaning follow from the number of accesses.

use sledsim::engine::{Completion, Status, System};
use sledsim::hierarchy::{Child, WriteBuffer, WriteBufferCleanSpec, WriteBufferSpec};
use sledsim::request::{Flags, Op, Padding, Request};
use sledsim::schedulers::fcfs;
use sledsim::time::Time;

use super::{buffer, constant, count, details, over_constant, spec, DISK_BLOCKS, DISK_NS, MEMS_BLOCKS, MEMS_NS};

/// Submits requests at their arrival times and returns their response times in order.
fn responses(system: &mut System, requests: &[(u64, Op, u64, u32)]) -> Vec<u64> {
    let mut done: Vec<Completion> = Vec::new();
    for (id, &(at_ns, op, lbn, blocks)) in requests.iter().enumerate() {
        let arrival = Time::from_ns(at_ns);
        while system.next_time().is_some_and(|next| next < arrival) {
            system.step(&mut |completion| done.push(*completion));
        }
        let (id, flags, padding) = (id as u64, Flags::NONE, Padding::NONE);
        let request = Request { id, arrival, lbn, blocks, op, flags, origin: 0, padding };
        system.submit(request, &mut |completion| done.push(*completion));
    }
    while system.next_time().is_some() {
        system.step(&mut |completion| done.push(*completion));
    }
    assert!(done.len() == requests.len() && done.iter().all(Completion::is_served), "each is served once");
    done.sort_by_key(|completion| completion.request.id);
    for completion in &done {
        let service = &completion.service;
        assert_eq!(service.phases.service_ns(), service.end - service.start, "phases add up");
    }
    done.iter().map(|completion| completion.service.end - completion.request.arrival).collect()
}

/// Sets arrivals so far apart that all background work of a request ends before the next.
fn alone(requests: &[(Op, u64, u32)]) -> Vec<(u64, Op, u64, u32)> {
    let apart = 1_000 * DISK_NS;
    (0_u64..).zip(requests).map(|(index, &(op, lbn, blocks))| (index * apart, op, lbn, blocks)).collect()
}

#[test]
fn a_write_takes_an_access_for_each_of_its_logs() {
    // A log of 16 blocks holds a header and 15 data blocks; a log with one block left is full.
    let mut system = over_constant(&spec(16, 16, 4));
    let writes = [(Op::Write, 0, 8), (Op::Write, 50, 5), (Op::Write, 70, 15), (Op::Write, 90, 6), (Op::Write, 100, 40)];
    // 16 = 9 + 6 + 1; the next write starts a new log and fills it. The log after that has 7 used blocks and 8 free
    // ones: 40 = 8 + 15 + 15 + 2.
    let accesses = [1, 1, 1, 1, 4];
    assert_eq!(responses(&mut system, &alone(&writes)), accesses.map(|accesses| accesses * MEMS_NS));
    assert_eq!((count(&system, "records"), count(&system, "appended_blocks")), (8.0, 74.0));
}

#[test]
fn writes_that_arrive_during_an_append_share_the_next_record() {
    let mut system = over_constant(&spec(16, 128, 1));
    let writes: Vec<_> = (0..9).map(|write| (write * 10, Op::Write, write * 100, 8)).collect();
    let expected: Vec<u64> = (0..9).map(|write| if write == 0 { MEMS_NS } else { 2 * MEMS_NS - write * 10 }).collect();
    assert_eq!(responses(&mut system, &writes), expected);
    assert_eq!(count(&system, "records"), 2.0);
}

#[test]
fn the_header_limits_the_writes_of_a_record() {
    let mut system = over_constant(&spec(16, 256, 1));
    let writes: Vec<_> = (0..82).map(|write| (0, Op::Write, write * 10, 1)).collect();
    let responses = responses(&mut system, &writes);
    // One write, then 40 with one header block of 512 bytes, 40 again, and the last.
    let record = |write: usize| (write as u64).div_ceil(40) + 1;
    assert!(responses.iter().enumerate().all(|(write, &ns)| ns == record(write) * MEMS_NS), "{responses:?}");
}

#[test]
fn a_read_takes_the_slower_of_its_devices() {
    let mut system = over_constant(&spec(64, 32, 4));
    let requests = [
        (Op::Read, 0, 64),
        (Op::Write, 8, 4),
        (Op::Write, 12, 4),
        (Op::Read, 8, 8),
        (Op::Read, 9, 2),
        (Op::Read, 0, 64),
        (Op::Write, 16, 3),
        (Op::Write, 8, 2),
        (Op::Read, 8, 11),
    ];
    let [mems, disk] = [MEMS_NS, DISK_NS];
    // Two adjacent records are read together with the header between them; 8..10 is now after 16..19.
    let expected = [disk, mems, mems, mems, mems, disk, mems, mems, 2 * mems];
    assert_eq!(responses(&mut system, &alone(&requests)), expected);
    let paths: Vec<_> = details(&system).paths.iter().map(|path| (path.name, path.count, path.sum_ns)).collect();
    let mems = u128::from(mems);
    let expected = [
        ("read-mems", 3, 4 * mems),
        ("read-disk", 1, u128::from(disk)),
        ("read-both", 1, u128::from(disk)),
        ("write", 4, 4 * mems),
        ("write-stalled", 0, 0),
    ];
    assert_eq!(paths, expected);
}

#[test]
fn a_read_of_blocks_outside_the_log_takes_the_time_of_the_disk() {
    let mut plain = System::default();
    constant(&mut plain, DISK_NS, DISK_BLOCKS);
    let reads: Vec<_> = (0..200).map(|read| (read * 700_000, Op::Read, read * 37 % 5000, 16)).collect();
    let expected = responses(&mut plain, &reads);
    assert_eq!(responses(&mut over_constant(&spec(16, 16, 4)), &reads), expected);
}

/// 20 logs, cleaned from 16 on down to 14.
#[test]
fn cleaning_joins_adjacent_blocks_of_several_logs_while_the_disk_is_idle() {
    let mut system = over_constant(&spec(20, 8, 4));
    let from = 5_000_000;
    // Fifteen logs of 7 blocks, then the first block of a sixteenth; the blocks of the oldest two logs are adjacent, in
    // descending order.
    let first = |write: u64| if write < 2 { 107 - 7 * write } else { 1000 * write };
    let mut requests: Vec<_> = (0..15).map(|write| (from + write * MEMS_NS, Op::Write, first(write), 7)).collect();
    let last = from + 15 * MEMS_NS;
    requests.push((last, Op::Read, 90_000, 1));
    requests.push((last, Op::Write, 80_000, 1));
    // Cleaning starts 10 ms after the read completed: two logs are read and fourteen blocks written in one access.
    let cleaned = last + DISK_NS + 10_000_000 + 2 * MEMS_NS + DISK_NS;
    requests.push((cleaned - 1, Op::Read, 100, 14));
    let mut disk_reads = requests.clone();
    disk_reads.push((cleaned + 1, Op::Read, 100, 14));
    let while_there = responses(&mut system, &requests);
    // One block at the end of a log, one at the start of the next: two accesses.
    assert_eq!(while_there[17], 2 * MEMS_NS, "from the log until it is on the disk");
    assert_eq!(count(&system, "filled_share"), 14.0 / 20.0);
    let figures = ["log_reads", "cleaned_logs", "disk_writes", "blocks_per_disk_write", "cleaned_valid_share"];
    assert_eq!(figures.map(|name| count(&system, name)), [2.0, 2.0, 1.0, 14.0, 14.0 / 16.0]);
    // The last read did not keep the disk busy, so cleaning was not delayed.
    let mut system = over_constant(&spec(20, 8, 4));
    assert_eq!(responses(&mut system, &disk_reads)[18], DISK_NS, "from the disk afterwards");
}

#[test]
fn overwritten_blocks_of_the_log_are_not_written_to_the_disk() {
    let mut system = over_constant(&spec(4, 8, 1));
    let writes: Vec<_> = (0..1000).map(|write| (write * 50_000, Op::Write, 40, 3)).collect();
    responses(&mut system, &writes);
    assert_eq!(["disk_writes", "log_reads", "stalls"].map(|name| count(&system, name)), [0.0; 3]);
    let appended = count(&system, "appended_blocks");
    assert!((count(&system, "overwritten_share") - (appended - 3.0) / appended).abs() < 1e-15, "all but the last");
}

#[test]
fn writes_wait_for_cleaning_when_the_log_is_full() {
    // Four logs of seven blocks, cleaned one by one and only when all are full; then each write waits for a free log.
    let full = WriteBufferCleanSpec { high_water: 1.0, low_water: 1.0, urgent: 1.0, ..WriteBufferCleanSpec::default() };
    for (most_write_bytes, disk_writes) in [(512, 7), (1 << 20, 1)] {
        let clean = WriteBufferCleanSpec { most_write_bytes, ..full };
        let mut system = over_constant(&WriteBufferSpec { clean, ..spec(4, 8, 1) });
        let writes: Vec<_> = (0..20).map(|write| (0, Op::Write, write * 100, 7)).collect();
        let responses = responses(&mut system, &writes);
        // A log is read and written to the disk; the next record reuses it.
        let cycle = MEMS_NS + disk_writes * DISK_NS + MEMS_NS;
        let expected = |write: u64| if write < 4 { (write + 1) * MEMS_NS } else { 4 * MEMS_NS + (write - 3) * cycle };
        let expected: Vec<u64> = (0..20).map(expected).collect();
        assert_eq!(responses, expected);
        // After the fourth record, a write is always waiting, except while a record is being written.
        let waited = 16 * (cycle - MEMS_NS);
        assert_eq!((count(&system, "stalls"), count(&system, "stall_ms")), (16.0, waited as f64 / 1e6));
        let stalled = details(&system).paths[4];
        assert_eq!((stalled.count, stalled.max_ns), (16, responses[19]));
    }
}

#[test]
fn a_busy_disk_defers_cleaning_until_it_is_urgent() {
    // Reads keep the disk busy all the time; cleaning is urgent from 19 of 20 used logs on.
    let reads = |count: u64| (0..count).map(|read| (read * DISK_NS, Op::Read, 90_000, 1));
    for (logs, cleaned) in [(18, 0.0), (19, 5.0)] {
        let mut system = over_constant(&spec(20, 8, 20));
        let writes = (0..logs).map(|write| (1000 * DISK_NS + write * MEMS_NS, Op::Write, write * 10, 7));
        let mut requests: Vec<_> = reads(1100).chain(writes).collect();
        requests.sort_by_key(|&(at, ..)| at);
        let busy_until = 1100 * DISK_NS;
        let mut seen = 0.0;
        requests.push((busy_until, Op::Read, 90_000, 1));
        // Counted while the disk is busy, because the last request was just submitted.
        for (id, &(at_ns, op, lbn, blocks)) in requests.iter().enumerate() {
            let arrival = Time::from_ns(at_ns);
            while system.next_time().is_some_and(|next| next < arrival) {
                system.step(&mut |_| {});
            }
            let (id, flags, padding) = (id as u64, Flags::NONE, Padding::NONE);
            system.submit(Request { id, arrival, lbn, blocks, op, flags, origin: 0, padding }, &mut |_| {});
            seen = count(&system, "cleaned_logs");
        }
        assert_eq!(seen, cleaned, "{logs} logs in use");
    }
}

/// Serves writes. Returns their total energy and the time at which the last one ends.
fn joules(system: &mut System, writes: &[(Time, u64, u32)]) -> (f64, Time) {
    let mut done: Vec<Completion> = Vec::new();
    for (id, &(arrival, lbn, blocks)) in (0..).zip(writes) {
        let (flags, padding) = (Flags::NONE, Padding::NONE);
        let request = Request { id, arrival, lbn, blocks, op: Op::Write, flags, origin: 0, padding };
        system.submit(request, &mut |completion| done.push(*completion));
    }
    while done.len() < writes.len() {
        system.step(&mut |completion| done.push(*completion));
    }
    let end = done.iter().map(|completion| completion.service.end).fold(Time::ZERO, Time::max);
    (done.iter().map(|completion| completion.service.energy.total_j()).sum(), end)
}

#[test]
fn the_energy_of_a_record_is_divided_among_its_writes() {
    let mut system = System::default();
    let mems = super::drive(&mut system, "g2", fcfs::POLICY.default);
    let disk = constant(&mut system, DISK_NS, DISK_BLOCKS);
    buffer(&mut system, &spec(16, 128, 1), mems, disk);
    let (writes, _) = joules(&mut system, &(0..9).map(|write| (Time::ZERO, write * 100, 8)).collect::<Vec<_>>());
    let mut alone = System::default();
    super::drive(&mut alone, "g2", fcfs::POLICY.default);
    // The first write alone, then the other eight together.
    let (first, end) = joules(&mut alone, &[(Time::ZERO, 0, 9)]);
    let (second, _) = joules(&mut alone, &[(end, 9, 65)]);
    // The rounding of sums of a few dozen terms.
    assert!(second > 0.0 && (writes / (first + second) - 1.0).abs() < 1e-12, "{writes} J of {first} and {second}");
}

#[test]
fn contradicting_sizes_are_rejected_with_both_keys() {
    let mut system = System::default();
    let mems = constant(&mut system, MEMS_NS, MEMS_BLOCKS);
    let disk = constant(&mut system, DISK_NS, DISK_BLOCKS);
    let (mems, disk) = (Child::of(&system, mems), Child::of(&system, disk));
    let error = |spec: &WriteBufferSpec, mems, disk| {
        WriteBuffer::new(spec, mems, disk).map(|_| ()).expect_err("must not fit").to_string()
    };
    let clean = |change: fn(&mut WriteBufferCleanSpec)| {
        let mut spec = spec(16, 16, 4);
        change(&mut spec.clean);
        spec
    };
    let cases = [
        (spec(1024, 16, 4), mems, disk, "mems_bytes = 8388608 exceeds the 2097152 B of mems"),
        (
            WriteBufferSpec { mems_bytes: None, ..spec(8, 8, 8) },
            disk,
            mems,
            "mems_bytes = 51200000, disk has 2097152 B",
        ),
        (
            WriteBufferSpec { log_bytes: 5000, ..spec(8, 8, 8) },
            mems,
            disk,
            "log_bytes = 5000: a log is 2 or more blocks of 512 B",
        ),
        (spec(3, 16, 4), mems, disk, "log_bytes = 8192: mems_bytes = 24576 must hold at least 4 logs"),
        (spec(16, 16, 0), mems, disk, "log_bytes = 8192 exceeds buffer_bytes = 0"),
        (clean(|clean| clean.low_water = 0.9), mems, disk, "low_water = 0.9 is above clean.high_water = 0.8"),
        (clean(|clean| clean.urgent = 0.5), mems, disk, "high_water = 0.8 is above clean.urgent = 0.5"),
        (
            clean(|clean| clean.high_water = 1.5),
            mems,
            disk,
            "clean.high_water = 1.5 is out of range: expected a number from 0 to 1",
        ),
        (clean(|clean| clean.idle_ms = f64::NAN), mems, disk, "clean.idle_ms = null is out of range"),
        (
            clean(|clean| clean.most_write_bytes = 511),
            mems,
            disk,
            "most_write_bytes = 511 is less than a block of 512 B",
        ),
        (clean(|clean| clean.outstanding = 0), mems, disk, "outstanding = 0"),
        (spec(16, 16, 4), Child { block_bytes: 4096, ..mems }, disk, "mems has blocks of 4096 B, disk of 512 B"),
    ];
    for (spec, mems, disk, message) in cases {
        let error = error(&spec, mems, disk);
        assert!(error.contains(message), "{error}, not {message}");
    }
}

#[test]
fn recovery_takes_its_time_in_runs_without_data() {
    let mut system = over_constant(&spec(16, 16, 4));
    responses(&mut system, &alone(&[(Op::Write, 70, 8)]));
    system.restore_power(&mut |_| {});
    let began = system.now().ns();
    let waits = responses(&mut system, &[(began, Op::Read, 70, 8), (began, Op::Read, 20_000, 8)]);
    // Recovery reads sixteen logs; then one read is served by the log, the other by the disk.
    assert_eq!(waits, [17 * MEMS_NS, 16 * MEMS_NS + DISK_NS]);
}

#[test]
fn requests_beyond_the_disk_are_rejected() {
    let mut system = over_constant(&spec(16, 16, 4));
    let mut refused = 0;
    for (lbn, blocks, op) in [(DISK_BLOCKS - 1, 2, Op::Read), (0, 0, Op::Write), (u64::MAX, 2, Op::Write)] {
        let (flags, padding) = (Flags::NONE, Padding::NONE);
        let request = Request { id: refused, arrival: Time::ZERO, lbn, blocks, op, flags, origin: 0, padding };
        system.submit(request, &mut |completion| refused += u64::from(completion.status == Status::Refused));
    }
    assert_eq!((refused, system.next_time()), (3, None));
}
