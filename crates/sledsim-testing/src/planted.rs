//! Planted bugs: components that stand between another one and its child and break a promise of the child's, for tests that
//! must find them.

use std::collections::{BTreeMap, VecDeque};

use sledsim::engine::{Completion, Component, ComponentId, Context, Instrumentation, Payload, PowerLoss, System};
use sledsim::request::{Flags, Op, Request};
use sledsim::time::Time;

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Of the blocks written that begin with a magic, every so manieth is blank on the medium.
    DropHeaders {
        /// What these blocks begin with.
        magic: &'static [u8],
        /// Of how many one is blank.
        every: u64,
    },
    /// Every so manieth write is completed and never made.
    LoseWrites {
        /// Of how many one is lost.
        every: u64,
    },
    /// Writes are completed as soon as they come, and made afterwards.
    EarlyAcknowledge,
    /// Of two writes the first is completed as soon as it comes, and made after the second.
    SwapWrites,
    /// Flushes are completed as soon as they come, and nothing is done for them.
    LyingFlush,
    /// Writes that have to last are passed on as if they had not.
    ForgetDurable,
}

/// A component with a bug, over a child without.
#[derive(Clone)]
pub struct Planted {
    child: ComponentId,
    capacity_blocks: u64,
    block_bytes: u32,
    bug: Bug,
    /// Writes so far that could be lost; blocks written that begin with the magic.
    counted: u64,
    next_id: u64,
    /// What is under way at the child, by its id there; none where it has been completed already.
    under_way: BTreeMap<u64, Option<Request>>,
    /// Writes that are kept back.
    held: VecDeque<(Request, Payload)>,
}

impl Planted {
    /// Puts a bug above a component that has no parent yet; the new one takes its place.
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

    /// Passes a request on, with an id of its own so that ids rise whatever the order.
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

impl Component for Planted {
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
            (Op::Flush, _) | (Op::Write, Bug::LyingFlush) => self.pass(request, payload, Some(request), context),
            (Op::Read, _) => {
                // What is kept back would be missed.
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

impl PowerLoss for Planted {
    fn power_cut(&mut self, _now: Time) {
        self.under_way.clear();
        self.held.clear();
    }
}

impl Instrumentation for Planted {}
