//! A component between a cache and its child that records requests and can disturb them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use sledsim::engine::random::Stream;
use sledsim::engine::{
    Completion, Component, ComponentId, Context, Instrumentation, Payload, PowerLoss, Status, System,
};
use sledsim::request::{Flags, Op, Request};
use sledsim::service::Service;
use sledsim::time::Time;

/// A disturbance of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// Nothing.
    Calm,
    /// Each is delayed by a random time up to this limit, ns, so that requests are reordered.
    Scrambled(u64),
    /// A bug: writes complete at their arrival.
    EarlyAcknowledge,
    /// A bug: the durable flag of writes is dropped.
    ForgetsDurable,
    /// Reads of this block fail.
    Unreadable(u64),
    /// Writes of this block fail.
    Unwritable(u64),
}

/// Recorded requests with their times.
pub type Log = Arc<Mutex<Vec<(u64, Request)>>>;

/// The component between cache and child.
#[derive(Clone)]
pub struct Between {
    child: ComponentId,
    capacity_blocks: u64,
    block_bytes: u32,
    disturbance: Disturbance,
    log: Log,
    next_id: u64,
    /// Requests by id at the child; `None` for completed ones.
    under_way: HashMap<u64, Option<Request>>,
    held: HashMap<u64, (Request, Payload)>,
    stream: Stream,
}

impl Between {
    /// Puts one over `child`.
    pub fn over(system: &mut System, child: ComponentId, disturbance: Disturbance) -> (ComponentId, Log) {
        let log = Log::default();
        let component = system.component(child);
        let between = Self {
            child,
            capacity_blocks: component.capacity_blocks(),
            block_bytes: component.block_bytes(),
            disturbance,
            log: Arc::clone(&log),
            next_id: 0,
            under_way: HashMap::new(),
            held: HashMap::new(),
            stream: Stream::new(3, "between"),
        };
        (system.add(Box::new(between), &[child]), log)
    }

    fn pass(&mut self, request: Request, payload: Payload, is_done: bool, context: &mut Context<'_>) {
        let id = self.next_id;
        self.next_id += 1;
        self.under_way.insert(id, (!is_done).then_some(request));
        let lasting = if self.disturbance == Disturbance::ForgetsDurable { Flags::DURABLE } else { Flags::NONE };
        let flags = request.flags.without(lasting);
        context.submit_with(self.child, Request { id, arrival: context.now(), flags, ..request }, payload);
    }

    fn fails(&self, request: &Request) -> bool {
        let (op, lbn) = match self.disturbance {
            Disturbance::Unreadable(lbn) => (Op::Read, lbn),
            Disturbance::Unwritable(lbn) => (Op::Write, lbn),
            _ => return false,
        };
        request.op == op && (request.lbn..request.end_lbn()).contains(&lbn)
    }
}

impl Component for Between {
    fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        let payload = context.payload(&request);
        self.log.lock().expect("one thread").push((context.now().ns(), request));
        match self.disturbance {
            Disturbance::Scrambled(most_ns) => {
                self.held.insert(request.id, (request, payload));
                context.timer(context.now() + self.stream.below(most_ns), request.id);
            }
            Disturbance::EarlyAcknowledge if request.op == Op::Write => {
                let service = Service { start: context.now(), end: context.now(), ..Service::default() };
                self.pass(request, payload, true, context);
                context.complete(&Completion::of(request, service));
            }
            _ => self.pass(request, payload, false, context),
        }
    }

    fn completed(&mut self, child: ComponentId, completion: &Completion, context: &mut Context<'_>) {
        let answer = context.read_payload(child, completion);
        let Some(Some(request)) = self.under_way.remove(&completion.request.id) else { return };
        if self.fails(&request) {
            context.complete(&Completion { request, status: Status::Unreadable, ..*completion });
        } else {
            context.complete_with(&Completion { request, ..*completion }, answer);
        }
    }

    fn timer(&mut self, tag: u64, context: &mut Context<'_>) {
        if let Some((request, payload)) = self.held.remove(&tag) {
            self.pass(request, payload, false, context);
        }
    }
}

impl PowerLoss for Between {
    fn power_cut(&mut self, _now: Time) {
        self.under_way.clear();
        self.held.clear();
    }
}

impl Instrumentation for Between {}
