//! Components with bugs, which violate the contract of their child, for tests that have to find them.

use std::collections::{BTreeMap, VecDeque};

use sledsim::engine::{Completion, Component, ComponentId, Context, Instrumentation, Payload, PowerLoss, System};
use sledsim::request::{Flags, Op, Request};
use sledsim::time::Time;

/// A bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// One in `every` written blocks that begin with `magic` is zeroed.
    DropHeaders {
        /// Start of the blocks.
        magic: &'static [u8],
        /// One in this number is zeroed.
        every: u64,
    },
    /// One in `every` writes is completed, but not executed.
    LoseWrites {
        /// One in this number is lost.
        every: u64,
    },
    /// Writes are completed at once, and executed later.
    EarlyAcknowledge,
    /// The first of two writes is completed at once, and executed after the second.
    SwapWrites,
    /// Flushes are completed at once, and not executed.
    LyingFlush,
    /// Durable writes are passed on as ordinary ones.
    ForgetDurable,
}

/// A component with a bug, over a correct child.
#[derive(Clone)]
pub struct BuggyComponent {
    child: ComponentId,
    capacity_blocks: u64,
    block_bytes: u32,
    bug: Bug,
    /// Number of writes, or of blocks that begin with the magic, so far.
    counted: u64,
    next_id: u64,
    /// Outstanding requests of the child, by its id; `None` for a request that has been completed already.
    under_way: BTreeMap<u64, Option<Request>>,
    /// Delayed writes.
    held: VecDeque<(Request, Payload)>,
}

impl BuggyComponent {
    /// Adds a component with a bug above one without a parent; returns the new one.
    pub fn over(system: &mut System, child: ComponentId, bug: Bug) -> ComponentId {
        let (capacity_blocks, block_bytes) = {
            let child = system.component(child);
            (child.capacity_blocks(), child.block_bytes())
        };
        let planted = Self {
            child,
            capacity_blocks,
            block_bytes,
            bug,
            counted: 0,
            next_id: 0,
            under_way: BTreeMap::new(),
            held: VecDeque::new(),
        };
        system.add(Box::new(planted), &[child])
    }

    /// Passes a request to the child, with a new id, so that ids rise in any order.
    fn pass(&mut self, request: Request, payload: Payload, whose: Option<Request>, context: &mut Context<'_>) {
        let id = self.next_id;
        self.next_id += 1;
        self.under_way.insert(id, whose);
        context.submit_with(self.child, Request { id, arrival: context.now(), ..request }, payload);
    }

    fn pass_held(&mut self, context: &mut Context<'_>) {
        while let Some((request, payload)) = self.held.pop_front() {
            self.pass(request, payload, None, context);
        }
    }

    fn without_headers(&mut self, payload: &Payload, magic: &[u8], every: u64) -> Payload {
        let Some(bytes) = payload.bytes() else { return Payload::NONE };
        let mut bytes = bytes.to_vec();
        for block in bytes.chunks_exact_mut(self.block_bytes as usize) {
            if block.starts_with(magic) {
                self.counted += 1;
                if self.counted.is_multiple_of(every) {
                    block.fill(0);
                }
            }
        }
        Payload::of(&bytes)
    }
}

impl Component for BuggyComponent {
    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let payload = context.payload(&request);
        match (request.op, self.bug) {
            (Op::Flush, Bug::LyingFlush) => context.complete(&Completion::at_once(&request, context.now())),
            (Op::Write, Bug::ForgetDurable) => {
                let flags = request.flags.without(Flags::DURABLE);
                self.pass(Request { flags, ..request }, payload, Some(request), context);
            }
            (Op::Flush | Op::Reset, _) | (Op::Write, Bug::LyingFlush) => {
                self.pass(request, payload, Some(request), context)
            }
            (Op::Read, _) => {
                // A read needs the delayed writes.
                self.pass_held(context);
                self.pass(request, payload, Some(request), context);
            }
            (Op::Write, Bug::DropHeaders { magic, every }) => {
                let payload = self.without_headers(&payload, magic, every);
                self.pass(request, payload, Some(request), context);
            }
            (Op::Write, Bug::LoseWrites { every }) => {
                self.counted += 1;
                match self.counted.is_multiple_of(every) {
                    true => context.complete(&Completion::at_once(&request, context.now())),
                    false => self.pass(request, payload, Some(request), context),
                }
            }
            (Op::Write, Bug::EarlyAcknowledge) => {
                context.complete(&Completion::at_once(&request, context.now()));
                self.pass(request, payload, None, context);
            }
            (Op::Write, Bug::SwapWrites) if self.held.is_empty() => {
                context.complete(&Completion::at_once(&request, context.now()));
                self.held.push_back((request, payload));
            }
            (Op::Write, Bug::SwapWrites) => {
                self.pass(request, payload, Some(request), context);
                self.pass_held(context);
            }
        }
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.read_payload(child, completion);
        let whose = self.under_way.remove(&completion.request.id).expect("a request of its own comes back once");
        if let Some(request) = whose {
            context.complete_with(&Completion { request, ..*completion }, answer);
        }
    }
}

impl PowerLoss for BuggyComponent {
    fn power_cut(&mut self, _now: Time) {
        self.under_way.clear();
        self.held.clear();
    }
}

impl Instrumentation for BuggyComponent {}
