//! Data integrity during appends, overwrites, cleaning and stalls.

use sledsim::engine::{Completion, Component, ComponentId, Context, Instrumentation, PowerLoss, System};
use sledsim::hierarchy::{WriteBufferCleanSpec, WriteBufferSpec};
use sledsim::request::{Op, Request};
use sledsim::schedulers::sptf;
use sledsim_testing::test_bed::{Load, TestBed};
use sledsim_testing::tiers::size;

use super::{buffer, constant, count, details, drive, over_constant, spec, DISK_BLOCKS, DISK_NS, MEMS_BLOCKS, MEMS_NS};

const LOAD: Load = Load { span_blocks: 150, most_blocks: 12, writes: 0.6, gap_ns: 250_000, outstanding: 10 };

/// Runs random operations and checks every block at the end.
fn check(system: System, operations: u64, load: &Load) -> System {
    let mut bed = TestBed::new(system, operations);
    bed.operate(operations, load);
    bed.settle();
    let paths: u64 = details(&bed.system).paths.iter().map(|path| path.count).sum();
    assert_eq!(paths, operations, "each request is counted in one path");
    bed.read_all();
    assert!(bed.wrong.is_empty() && bed.lost.is_empty(), "{:?}", bed.wrong.first());
    assert!(bed.checked > operations / 2, "{}", bed.checked);
    bed.system
}

#[test]
fn data_is_intact_with_a_small_log() {
    // The log holds half of the accessed blocks; requests of 12 blocks do not fit in a log of 8.
    let system = check(over_constant(&spec(10, 8, 2)), size(50_000, 100_000), &LOAD);
    assert!(["stalls", "disk_writes", "log_reads"].iter().all(|name| count(&system, name) > 1000.0));
    // Enough time that most writes find a free log.
    let system = check(over_constant(&spec(10, 8, 2)), 50_000, &Load { gap_ns: 5_000_000, ..LOAD });
    assert!(details(&system).paths.iter().all(|path| path.count > 1000), "{:?}", details(&system).paths);
}

#[test]
fn data_is_intact_with_cleaning_in_idle_periods() {
    let clean = WriteBufferCleanSpec { idle_ms: 0.5, outstanding: 3, ..WriteBufferCleanSpec::default() };
    let spec = WriteBufferSpec { clean, ..spec(40, 16, 4) };
    let load = Load { span_blocks: 600, gap_ns: 2_000_000, ..LOAD };
    let system = check(over_constant(&spec), size(30_000, 100_000), &load);
    assert!(count(&system, "disk_writes") > 1000.0 && count(&system, "blocks_per_disk_write") > 1.5);
}

#[test]
fn data_is_intact_over_devices_that_reorder() {
    let mut system = System::default();
    let mems = drive(&mut system, "g2", sptf::POLICY.default);
    let disk = drive(&mut system, "atlas10k", sptf::POLICY.default);
    buffer(&mut system, &spec(12, 16, 3), mems, disk);
    check(system, 30_000, &Load { gap_ns: 1_500_000, ..LOAD });
}

/// A write buffer whose children are write buffers.
#[test]
fn data_is_intact_in_nested_write_buffers() {
    let mut system = System::default();
    let mut small = |mems_ns, disk_ns, disk_blocks| {
        let mems = constant(&mut system, mems_ns, 64);
        let disk = constant(&mut system, disk_ns, disk_blocks);
        buffer(&mut system, &spec(8, 8, 2), mems, disk)
    };
    let mems = small(MEMS_NS / 4, MEMS_NS, 4096);
    let disk = small(MEMS_NS / 2, DISK_NS, DISK_BLOCKS);
    buffer(&mut system, &spec(10, 8, 2), mems, disk);
    check(system, size(20_000, 60_000), &LOAD);
}

/// Delays reads, so that writes pass them.
#[derive(Clone)]
struct LateReads {
    child: ComponentId,
    wait_ns: u64,
    next_id: u64,
    waiting: Vec<Request>,
    /// Requests by id at the child.
    under_way: Vec<(u64, Request)>,
}

impl LateReads {
    fn pass(&mut self, request: Request, context: &mut Context<'_>) {
        let payload = context.payload(&request);
        self.under_way.push((self.next_id, request));
        context.submit_with(self.child, Request { id: self.next_id, ..request }, payload);
        self.next_id += 1;
    }
}

impl Component for LateReads {
    fn capacity_blocks(&self) -> u64 {
        MEMS_BLOCKS
    }

    fn block_bytes(&self) -> u32 {
        512
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        if request.op == Op::Write {
            self.pass(request, context);
        } else {
            self.waiting.push(request);
            context.timer(context.now() + self.wait_ns, request.id);
        }
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.read_payload(child, completion);
        let place = self.under_way.iter().position(|&(id, _)| id == completion.request.id).expect("it is under way");
        let (_, request) = self.under_way.swap_remove(place);
        context.complete_with(&Completion { request, ..*completion }, answer);
    }

    fn timer(&mut self, tag: u64, context: &mut Context<'_>) {
        let place = self.waiting.iter().position(|request| request.id == tag).expect("it waits");
        let request = self.waiting.swap_remove(place);
        self.pass(request, context);
    }
}

impl PowerLoss for LateReads {}

impl Instrumentation for LateReads {}

#[test]
fn a_log_is_not_reused_while_a_read_of_it_waits() {
    let mut system = System::default();
    let mems = constant(&mut system, MEMS_NS, MEMS_BLOCKS);
    let disk = constant(&mut system, MEMS_NS, DISK_BLOCKS);
    // Longer than it takes to fill the log.
    let late = LateReads { child: mems, wait_ns: 50 * MEMS_NS, next_id: 0, waiting: Vec::new(), under_way: Vec::new() };
    let late = system.add(Box::new(late), &[mems]);
    buffer(&mut system, &spec(6, 8, 2), late, disk);
    // Logs whose blocks are all overwritten are freed without a read.
    check(system, size(15_000, 50_000), &Load { span_blocks: 20, most_blocks: 4, ..LOAD });
}
