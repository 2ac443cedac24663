//! Endless runs: the fault names the component that does not advance, and the time.

use serde_json::json;
use sledsim::engine::{
    run, Completion, Component, ComponentId, Context, Instrumentation, Next, Observer, PowerLoss, RunLimits, System,
    Workload,
};
use sledsim::fault::{Fault, Kind};
use sledsim::limits::ARRIVALS_AT_ONCE;
use sledsim::request::{Flags, Op, Padding, Request};
use sledsim::service::Service;
use sledsim::time::Time;
use sledsim_testing::scenarios;

/// Limit of calls in one instant: fewer than by default, which take seconds.
const CALLS: u64 = 100_000;

/// Repeated action of a component after the first request.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Sets a timer for the current time.
    Timer,
    /// Submits requests to its child.
    Child,
    /// Completes the request.
    Done,
}

/// A component that repeats one action.
#[derive(Clone)]
struct Restless {
    way: Way,
    left: u64,
    child: Option<ComponentId>,
    request: Option<Request>,
    next_id: u64,
}

impl Restless {
    fn over(system: &mut System, way: Way, times: u64, child: Option<ComponentId>) -> ComponentId {
        let children: Vec<ComponentId> = child.into_iter().collect();
        system.add(Box::new(Self { way, left: times, child, request: None, next_id: 0 }), &children)
    }

    fn go_on(&mut self, context: &mut Context<'_>) {
        let (request, now) = (self.request.expect("a request was submitted"), context.now());
        let is_over = self.left == 0;
        self.left = self.left.saturating_sub(1);
        match (self.way, self.child) {
            (Way::Timer, _) if !is_over => context.timer(now, 0),
            (Way::Child, Some(child)) if !is_over => {
                self.next_id += 1;
                context.submit(child, Request { id: self.next_id, arrival: now, ..request });
            }
            _ => {
                let service = Service { start: now, end: now, free: now, ..Service::default() };
                context.complete(&Completion::of(request, service));
            }
        }
    }
}

impl Component for Restless {
    fn capacity_blocks(&self) -> u64 {
        100
    }

    fn block_bytes(&self) -> u32 {
        512
    }

    fn submit(&mut self, request: Request, context: &mut Context<'_>) {
        self.request = Some(request);
        self.go_on(context);
    }

    fn completed(&mut self, _child: ComponentId, _completion: &Completion, context: &mut Context<'_>) {
        self.go_on(context);
    }

    fn timer(&mut self, _tag: u64, context: &mut Context<'_>) {
        self.go_on(context);
    }
}

impl PowerLoss for Restless {}

impl Instrumentation for Restless {}

/// Requests at intervals of a quarter of a second.
struct Few(u64);

impl Workload for Few {
    fn peek(&mut self) -> Result<Next, Fault> {
        Ok(if self.0 == 0 { Next::Ended } else { Next::At(Time::from_ns(250_000_000)) })
    }

    fn take(&mut self) -> Request {
        self.0 -= 1;
        let (op, flags, padding) = (Op::Read, Flags::NONE, Padding::NONE);
        Request { id: self.0, arrival: Time::from_ns(250_000_000), lbn: 0, blocks: 1, op, flags, origin: 0, padding }
    }

    fn completed(&mut self, _completion: &Completion) {}
}

struct Nobody;

impl Observer for Nobody {
    fn served(&mut self, _request: &Request, _service: &Service) {}
}

fn run_on(system: &mut System, requests: u64) -> Result<u64, Fault> {
    system.limit_calls_at_once(CALLS);
    let outcome = run(system, &mut Few(requests), &RunLimits::default(), &mut Nobody, &mut |_| true)?;
    Ok(outcome.completed)
}

#[test]
fn endless_timers_in_an_instant_are_attributed() {
    let mut system = System::default();
    let inner = Restless::over(&mut system, Way::Timer, u64::MAX, None);
    Restless::over(&mut system, Way::Child, 1, Some(inner));
    let fault = run_on(&mut system, 1).expect_err("it never ends");
    assert_eq!((fault.kind, fault.location.path.to_string().as_str()), (Kind::Endless, "component 0"));
    assert!(fault.to_string().contains("at 0.25 s: more than 100000 calls"), "{fault}");
}

#[test]
fn endless_mutual_calls_are_attributed_to_the_first() {
    let mut system = System::default();
    let child = Restless::over(&mut system, Way::Done, 0, None);
    let parent = Restless::over(&mut system, Way::Child, u64::MAX, Some(child));
    Restless::over(&mut system, Way::Child, 1, Some(parent));
    let fault = run_on(&mut system, 1).expect_err("it never ends");
    assert_eq!((fault.kind, fault.location.path.to_string().as_str()), (Kind::Endless, "component 1"));
    let livelock = system.livelock().expect("a component is named");
    assert_eq!((livelock.component, livelock.at), (parent, Time::from_ns(250_000_000)));
}

/// Each arrival and each completion is progress and resets the detection.
#[test]
fn long_finite_chains_are_not_stopped() {
    let mut system = System::default();
    Restless::over(&mut system, Way::Timer, CALLS * 3 / 5, None);
    assert_eq!(run_on(&mut system, 2), Ok(2));
    let mut system = System::default();
    let child = Restless::over(&mut system, Way::Done, 0, None);
    Restless::over(&mut system, Way::Child, CALLS * 2 / 5, Some(child));
    assert_eq!(run_on(&mut system, 1), Ok(1));
}

fn without_time(run: serde_json::Value) -> Result<u64, String> {
    let document = json!({
        "workload": {"arrival": {"kind": "closed", "outstanding": 2}},
        "system": {"device": {"name": "simpledisk-constant", "access_ms": 0}},
        "run": run,
    });
    let scenario = scenarios::resolved(&document);
    let output = sledsim::scenario::run(&scenario, Vec::new(), false, &mut |_| true);
    output.map(|output| output.report.requests.completed).map_err(|error| error.to_string())
}

#[test]
fn closed_loop_without_time_needs_a_request_limit() {
    let message = without_time(json!({"time_s": 1})).expect_err("it never ends");
    assert!(message.contains(&ARRIVALS_AT_ONCE.most.to_string()) && message.contains("run.requests"), "{message}");
    assert_eq!(without_time(json!({"time_s": 1, "requests": 100_000})), Ok(100_000));
}
