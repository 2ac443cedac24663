//! Failing devices: all requests complete, and lost data is never served.

use sledsim::engine::{Completion, Component, ComponentId, Context, Instrumentation, PowerLoss, Status, System};
use sledsim::hierarchy::WriteBufferSpec;
use sledsim::request::{Op, Request};
use sledsim::service::Service;
use sledsim::time::Time;
use sledsim_testing::test_bed::{Load, TestBed};

use super::{buffer, constant, spec, DISK_BLOCKS, DISK_NS, MEMS_BLOCKS, MEMS_NS};

/// A component that fails requests from a given time on.
#[derive(Clone)]
struct Failing {
    child: ComponentId,
    capacity_blocks: u64,
    op: Op,
    from: Time,
}

impl Component for Failing {
    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        512
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let now = context.now();
        let payload = context.payload(&request);
        if request.op == self.op && now >= self.from {
            let service = Service { start: now, end: now, free: now, ..Service::default() };
            context.complete(&Completion { request, service, status: Status::Failed });
        } else {
            context.submit_with(self.child, request, payload);
        }
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.read_payload(child, completion);
        context.complete_with(completion, answer);
    }
}

impl PowerLoss for Failing {}

impl Instrumentation for Failing {}

/// Returns a write buffer whose MEMS device fails requests of one kind from a given time on, and whose disk fails
/// writes.
fn failing(spec: &WriteBufferSpec, mems_op: Op, mems_from: Time, disk_from: Time) -> System {
    let mut system = System::default();
    let mut device = |access_ns, capacity_blocks, op, from| {
        let child = constant(&mut system, access_ns, capacity_blocks);
        system.add(Box::new(Failing { child, capacity_blocks, op, from }), &[child])
    };
    let mems = device(MEMS_NS, MEMS_BLOCKS, mems_op, mems_from);
    let disk = device(DISK_NS, DISK_BLOCKS, Op::Write, disk_from);
    buffer(&mut system, spec, mems, disk);
    system
}

/// Writes all blocks one after the other, then reads them. Returns the numbers of served writes and reads.
fn write_and_read(system: &mut System, writes: u64) -> (u64, u64) {
    let mut served = [0, 0];
    for (id, op) in (0..2 * writes).zip([Op::Write, Op::Read].iter().flat_map(|&op| (0..writes).map(move |_| op))) {
        let (arrival, lbn) = (system.now(), id % writes * 10);
        let request = Request { id, arrival, op, ..Request::read(lbn, 7) };
        let mut done = Vec::new();
        system.submit(request, &mut |completion| done.push(*completion));
        while done.is_empty() && system.next_time().is_some() {
            system.step(&mut |completion| done.push(*completion));
        }
        assert_eq!(done.len(), 1, "{request:?} completes once");
        served[usize::from(op == Op::Read)] += u64::from(done[0].is_served());
    }
    (served[0], served[1])
}

#[test]
fn a_log_that_cannot_be_cleaned_fills_up_and_stays_readable() {
    // The eight logs hold eight writes.
    let mut system = failing(&spec(8, 8, 2), Op::Read, Time::MAX, Time::ZERO);
    assert_eq!(write_and_read(&mut system, 20), (8, 20), "the other reads return old data");
    let mut system = failing(&spec(8, 8, 2), Op::Read, Time::ZERO, Time::MAX);
    assert_eq!(write_and_read(&mut system, 20), (8, 12), "data only in the log is lost");
}

#[test]
fn failed_appends_are_not_acknowledged() {
    let mut system = failing(&spec(8, 8, 2), Op::Write, Time::from_ns(4 * MEMS_NS), Time::MAX);
    assert_eq!(write_and_read(&mut system, 20), (4, 20));
}

#[test]
fn an_unreadable_log_serves_no_stale_data() {
    let from = Time::from_ns(40 * DISK_NS);
    let mut bed = TestBed::new(failing(&spec(8, 8, 2), Op::Read, from, Time::MAX), 3);
    let load = Load { span_blocks: 50, most_blocks: 7, writes: 0.8, gap_ns: 200_000, outstanding: 4 };
    bed.operate(50, &load);
    bed.settle();
    while bed.system.now() < from {
        bed.operate(1, &load);
    }
    bed.settle();
    bed.system.cut_power_after(0);
    bed.cut(0, &load, 0);
    assert!(bed.wrong.is_empty(), "{:?}", bed.wrong.first());
    assert!(bed.lost[&Status::Failed] > 40, "every block read: {:?}", bed.lost);
}
