//! A session driven with the requests of a workload gives the results of a run of that workload, whatever its steps.

use std::path::Path;
use std::process::Command;

use rayon::prelude::*;
use serde_json::{json, Value};
use sledsim::engine::random::Stream;
use sledsim::engine::{Next, Progress, Status, Workload};
use sledsim::fault::Kind;
use sledsim::limits::PARTS_UNDER_WAY;
use sledsim::request::{Op, Request};
use sledsim::scenario::{self, Keep, RunError, RunOutput, Scenario, Session};
use sledsim::schedulers::POLICIES;
use sledsim::time::{s_to_ns, Time};
use sledsim::workloads::{Fit, ReplayMode, TraceSpec, WorkloadSpec};
use sledsim_testing::scenarios::{poisson, resolve_in, resolved};
use sledsim_testing::tiers::size;

const KEEP: Keep = Keep { log: true, log_sender: None, timeline: None, check: true };

/// Returns scenarios of `tools/random_scenarios.py` without power cuts, which sessions do not support.
pub(crate) fn random_scenarios(count: usize) -> Vec<Scenario> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let schedulers: Vec<&str> = POLICIES.iter().map(|policy| policy.name).collect();
    let make = format!(
        "import json, sys; sys.path.insert(0, 'tools'); from random_scenarios import Factory\n\
         for number in range({count}): print(json.dumps(Factory(number, {schedulers:?}).scenario()))"
    );
    let made =
        Command::new("python3").args(["-c", &make]).current_dir(&root).output().expect("python3 makes scenarios");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let lines = String::from_utf8(made.stdout).expect("JSON");
    let scenarios = lines.lines().filter_map(|line| {
        let document: Value = serde_json::from_str(line).expect("JSON");
        // Some are invalid; runs reject them, too.
        resolve_in(&document, &root).ok()
    });
    scenarios.collect()
}

/// Returns report and log of a run or session.
fn reports(output: &RunOutput) -> (String, String) {
    let mut report = serde_json::to_value(&output.report).expect("a report is serialisable");
    // Overload, for which response and wait times have no intervals, is detected in runs only.
    for path in ["/response", "/wait", "/reads/response", "/reads/wait", "/writes/response", "/writes/wait"] {
        if let Some(Value::Object(times)) = report.pointer_mut(path) {
            times.retain(|key, _| !key.starts_with("ci95"));
        }
    }
    report["overload"].take();
    report.as_object_mut().expect("a report is a table").shift_remove("replay");
    let report = report.to_string();
    (report, format!("{:?}", output.recorder.log().expect("asked for").entries))
}

/// Describes the first difference between a run and a session.
fn difference([run, session]: &[(String, String); 2]) -> String {
    let of = |run: &str, session: &str| {
        let place = run.bytes().zip(session.bytes()).position(|(a, b)| a != b)?;
        let around = |text: &str| text[place.saturating_sub(200)..].chars().take(300).collect::<String>();
        Some(format!("...{}\n...{}", around(run), around(session)))
    };
    of(&run.0, &session.0).or(of(&run.1, &session.1)).unwrap_or_else(|| "one goes on".into())
}

/// Stops endless runs after many events. A request may be passed over for as long as an array is rebuilt, which takes
/// many events.
fn for_a_while() -> impl FnMut(Progress) -> bool {
    let mut looks = 0;
    move |_| {
        looks += 1;
        looks < 200
    }
}

/// Submits the requests of a workload to a session, which it advances in random steps.
struct Host<'a> {
    scenario: &'a Scenario,
    session: Session,
    workload: Box<dyn Workload>,
    stream: Stream,
    submitted: u64,
    until: Time,
}

impl<'a> Host<'a> {
    fn new(scenario: &'a Scenario, seed: u64) -> Result<Self, RunError> {
        let session = Session::new(scenario, &KEEP)?;
        let (capacity_blocks, block_bytes) = (session.capacity_blocks(), session.block_bytes());
        let workload = scenario.workload.start(scenario.seed, capacity_blocks, block_bytes).map_err(RunError::Trace)?;
        let until = scenario.run.time_s.map_or(Time::MAX, |time_s| Time::from_ns(s_to_ns(time_s)));
        Ok(Self { scenario, session, workload, stream: Stream::new(seed, "cuts"), submitted: 0, until })
    }

    fn advance(&mut self, at: Time) -> Result<(), RunError> {
        assert!(self.session.advance(at, &mut |_| true)?);
        assert_eq!(self.session.now(), at);
        Ok(())
    }

    /// Passes new completions to the workload. Returns the time of its next request.
    fn next(&mut self) -> Result<Next, RunError> {
        while let Some(completion) = self.session.completion() {
            self.workload.completed(&completion);
        }
        if self.scenario.run.requests.is_some_and(|requests| self.submitted >= requests) {
            return Ok(Next::Ended);
        }
        loop {
            match self.workload.peek().map_err(RunError::Trace)? {
                Next::Busy => {}
                next => return Ok(next),
            }
        }
    }

    fn submit(&mut self) -> Result<(), RunError> {
        let request = self.workload.take();
        assert_eq!(self.session.submit(request)?, self.submitted, "numbers rise from 0");
        self.submitted += 1;
        Ok(())
    }

    /// Advances a random part of the time before the next request, and sometimes runs a discarded snapshot further.
    fn dawdle(&mut self, next: Time) -> Result<(), RunError> {
        if self.stream.chance(0.01) {
            let snapshot = self.session.clone();
            let at = self.session.now().max(next);
            let _ = self.session.submit(Request { arrival: at, ..Request::read(self.stream.below(1000), 3) });
            self.session.drain(&mut for_a_while())?;
            self.session = snapshot;
        }
        let free_ns = next - self.session.now();
        let cut_ns = self.stream.below(free_ns.max(1));
        self.advance(self.session.now() + cut_ns)
    }

    /// Submits a request and, if later requests do not depend on completions, some more.
    fn submit_some(&mut self, arrival: Time) -> Result<(), RunError> {
        self.submit()?;
        if !self.workload.is_open() {
            return self.advance(arrival);
        }
        for _ in 0..self.stream.below(6) {
            match self.next()? {
                Next::At(at) if at <= self.until => self.submit()?,
                _ => break,
            }
        }
        // Serves all of them at once if that ends before the next arrival.
        if self.stream.chance(0.02) {
            let mut ahead = self.session.clone();
            let ended = ahead.drain(&mut for_a_while())?;
            if matches!(self.next()?, Next::At(at) if ended && ahead.now() <= at.min(self.until)) {
                self.session = ahead;
            }
        }
        Ok(())
    }

    fn drive(mut self) -> Result<RunOutput, RunError> {
        loop {
            let arrival = match self.next()? {
                Next::At(at) => Some(at),
                Next::Waiting => None,
                Next::Ended | Next::Busy => break,
            };
            let Some(next) = arrival.into_iter().chain(self.session.next_event()).min() else { break };
            if next > self.until {
                self.advance(self.until)?;
                return self.session.result(Vec::new());
            }
            if self.stream.chance(0.3) {
                self.dawdle(next)?;
            }
            match arrival.filter(|&at| self.session.next_event().is_none_or(|event| event > at)) {
                Some(at) => self.submit_some(at)?,
                None => self.advance(next)?,
            }
        }
        self.finish()
    }

    /// After the last request, completes the outstanding ones, unless the time limit ends the run before.
    fn finish(mut self) -> Result<RunOutput, RunError> {
        while let Some(next) =
            self.session.next_event().filter(|&next| next <= self.until && self.session.under_way() > 1)
        {
            self.dawdle(next)?;
            if self.stream.chance(0.4) {
                break;
            }
        }
        let mut drained = self.session.clone();
        drained.drain(&mut |_| true)?;
        if drained.now() > self.until {
            self.advance(self.until)?;
            return self.session.result(Vec::new());
        }
        drained.result(Vec::new())
    }
}

/// Runs a scenario both ways and compares reports and logs. Returns `None` if neither can run.
fn both_ways((number, scenario): (usize, &Scenario)) -> Option<RunOutput> {
    let run = scenario::run_keeping(scenario, Vec::new(), &KEEP, &mut |_| true);
    let session = Host::new(scenario, number as u64).and_then(Host::drive);
    match (run, session) {
        (Ok(run), Ok(session)) => {
            let both = [reports(&run), reports(&session)];
            assert!(both[0] == both[1], "{number}: {}", difference(&both));
            Some(run)
        }
        (Err(run), Err(session)) => {
            assert_eq!(run.to_string(), session.to_string(), "{number}");
            None
        }
        (run, session) => panic!("{number}: {:?}, {:?}", run.map(|_| ()), session.map(|_| ())),
    }
}

/// Compares run and session of each scenario. Returns the outputs of those that can run.
fn compare(scenarios: &[Scenario]) -> Vec<RunOutput> {
    scenarios.par_iter().enumerate().filter_map(both_ways).collect()
}

#[test]
fn random_sessions_match_runs() {
    let count = size(30, 1000);
    let outputs = compare(&random_scenarios(count));
    assert!(outputs.len() > count * 3 / 4, "{} of {count} compared", outputs.len());
}

/// Returns a trace of a few hundred requests, of which every eighth is a flush and every eighth write is durable.
fn flushing(stream: &mut Stream) -> String {
    let (mut at_ns, mut trace) = (0, "t_ns,device,offset_bytes,bytes,op\n".to_owned());
    for _ in 0..300 {
        at_ns += stream.below(3_000_000);
        let (offset_bytes, bytes) = (stream.below(1 << 20) * 4096, 512 * (1 + stream.below(16)));
        let op = ["F", "WF", "W", "W", "W", "R", "R", "R"][stream.below(8) as usize];
        trace += &format!("{at_ns},0,{offset_bytes},{bytes},{op}\n");
    }
    trace
}

#[test]
fn sessions_with_flushes_match_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut stream = Stream::new(1, "flushes");
    let mut scenarios = random_scenarios(size(30, 400));
    for (number, scenario) in scenarios.iter_mut().enumerate() {
        let path = folder.path().join(format!("{number}.csv"));
        std::fs::write(&path, flushing(&mut stream)).expect("it can be written");
        let path = path.to_str().expect("a path of plain letters").to_owned();
        let mode = if number % 4 == 0 { ReplayMode::Outstanding } else { ReplayMode::Open };
        let trace = TraceSpec { path, mode, outstanding: 3, fit: Fit::Wrap, ..TraceSpec::default() };
        (scenario.workload, scenario.run.time_s) = (WorkloadSpec::Trace(trace), None);
        if number % 2 == 0 {
            let child = serde_json::to_value(&scenario.system).expect("a system");
            let cached = json!({"kind": "ram-cache", "bytes": 1 << 20, "child": child});
            scenario.system = serde_json::from_value(cached).expect("a cache over it");
        }
    }
    let outputs = compare(&scenarios);
    assert!(outputs.len() > scenarios.len() * 3 / 4, "{} compared", outputs.len());
    let flushes = outputs.iter().filter_map(|output| output.report.flushes.as_ref());
    let (at_once, later): (Vec<f64>, Vec<f64>) =
        flushes.map(|flushes| flushes.response.max_ms).partition(|&ms| ms == 0.0);
    assert!(
        at_once.len() > 5 && later.len() > 5,
        "{} systems have nothing to lose, {} have",
        at_once.len(),
        later.len()
    );
    for report in outputs.iter().map(|output| &output.report) {
        let flushes = report.flushes.as_ref().map_or(0, |flushes| flushes.response.count);
        assert!(flushes + report.requests.measured + report.requests.failed <= report.requests.submitted);
        assert_eq!(report.requests.measured > 0, report.bandwidth.mb_per_s > 0.0);
    }
}

/// Returns a trace of a few hundred requests, most of which arrive at the same time as others or as completions of a
/// device with constant times; with some flushes if `flushes`.
fn together(stream: &mut Stream, flushes: bool) -> String {
    let (mut at_us, mut trace) = (0, "t_ns,device,offset_bytes,bytes,op\n".to_owned());
    for _ in 0..300 {
        at_us += [0, 250, 500, 1000, 1000, 2750, 10_000 * stream.below(2)][stream.below(7) as usize];
        let (offset_bytes, bytes) = (stream.below(1 << 20) * 4096, 512 * (1 + stream.below(64)));
        let op = if flushes && stream.chance(0.02) { "F" } else { ["W", "R", "R"][stream.below(3) as usize] };
        trace += &format!("{at_us}000,0,{offset_bytes},{bytes},{op}\n");
    }
    trace
}

#[test]
fn sessions_match_runs_when_arrivals_and_completions_coincide() {
    let systems = [
        json!({"device": {"name": "simpledisk-constant", "access_ms": 1.0}}),
        json!({"device": {"name": "g2", "overhead_ms": 0.0}}),
        json!({"device": "g2", "spin_down": "immediate"}),
        json!({"device": {"name": "g3", "overhead_ms": 0.25}}),
        json!({"device": "atlas10k"}),
        json!({"device": "travelstar", "spin_down": "adaptive"}),
        json!({"device": "hp_c2247a"}),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let mut stream = Stream::new(2, "turns");
    let mut scenarios = Vec::new();
    for number in 0..size(70, 700) {
        let path = folder.path().join(format!("{number}.csv"));
        std::fs::write(&path, together(&mut stream, number % 3 == 0)).expect("it can be written");
        let workload = json!({"kind": "trace", "path": path, "fit": "wrap"});
        let mut run = json!({});
        // A time at which requests are waiting, in service, or both.
        if number % 4 > 0 {
            run["time_s"] = json!((20 + stream.below(400)) as f64 / 1e3 + [0.0, 0.000_123][number % 2]);
        }
        if number % 5 == 0 {
            run["warmup_s"] = json!(0.015);
        }
        let system = &systems[number % systems.len()];
        scenarios.push(resolved(&json!({"workload": workload, "system": system, "run": run})));
    }
    let outputs = compare(&scenarios);
    assert_eq!(outputs.len(), scenarios.len());
    let waiting = outputs.iter().filter(|output| output.report.requests.in_flight > 1).count();
    assert!(waiting > scenarios.len() / 8, "in {waiting} only requests waited at the end");
}

fn drive_of(device: &str) -> Scenario {
    resolved(&json!({"workload": {"kind": "session"}, "system": {"device": device}}))
}

#[test]
fn submissions_and_steps_before_now_are_rejected() {
    let mut session = Session::new(&drive_of("g2"), &Keep::default()).expect("a drive");
    let ms = |ms: u64| Time::from_ns(ms * 1_000_000);
    let read = |at: u64| Request { arrival: ms(at), ..Request::read(7, 8) };
    let is_refused = |error: RunError| matches!(error, RunError::Rule(fault) if fault.kind == Kind::Unsupported);
    session.submit(read(20)).expect("ahead of time");
    assert!(is_refused(session.submit(read(19)).expect_err("before one that was handed in")));
    assert!(session.advance(ms(10), &mut |_| true).expect("forwards"));
    assert!(is_refused(session.advance(ms(9), &mut |_| true).expect_err("backwards")));
    assert_eq!((session.now(), session.next_event(), session.under_way()), (ms(10), Some(ms(20)), 1));
    assert!(session.drain(&mut |_| true).expect("it is served"));
    let completion = session.completion().expect("one request");
    assert_eq!((completion.request.arrival, completion.service.end), (ms(20), session.now()));
    assert!(is_refused(session.submit(read(20)).expect_err("before now")));
    assert!(session.advance(ms(10_000), &mut |_| true).expect("nothing happens in it"));
    assert_eq!((session.now(), session.under_way()), (ms(10_000), 0));
    assert!(session.completion().is_none(), "it came back once");
}

#[test]
fn completions_have_the_status_of_each_request() {
    let mut session = Session::new(&drive_of("g2"), &Keep::default()).expect("a drive");
    let beyond = session.capacity_blocks();
    for (lbn, op) in [(0, Op::Read), (beyond, Op::Read), (beyond - 1, Op::Write)] {
        session.submit(Request { op, ..Request::read(lbn, 1) }).expect("in time");
    }
    session.drain(&mut |_| true).expect("all come back");
    let mut came: Vec<(u64, Status)> = Vec::new();
    while let Some(completion) = session.completion() {
        came.push((completion.request.id, completion.status));
    }
    came.sort_unstable();
    assert_eq!(came, [(0, Status::Served), (1, Status::Refused), (2, Status::Served)]);
    let report = session.result(Vec::new()).expect("a result").report;
    assert_eq!((report.requests.completed, report.requests.failed, report.run.complete), (2, 1, true));
}

#[test]
fn snapshots_continue_like_the_session() {
    let mirror = json!({"kind": "mirror", "members": [{"count": 2, "system": {"device": "atlas10k"}}]});
    for system in [mirror, json!({"device": "atlas10k"})] {
        let scenario = resolved(&json!({"workload": {"kind": "session"}, "system": system}));
        let mut session = Session::new(&scenario, &KEEP).expect("a system");
        let mut stream = Stream::new(5, "requests");
        for number in 0..200_u64 {
            let op = if stream.chance(0.5) { Op::Read } else { Op::Write };
            let arrival = Time::from_ns(number * 2_000_000);
            session.submit(Request { op, arrival, ..Request::read(stream.below(1_000_000), 16) }).expect("in order");
        }
        session.advance(Time::from_ns(100_000_000), &mut |_| true).expect("half of it");
        assert!(session.result(Vec::new()).expect("a result so far").report.requests.in_flight > 2);
        let mut snapshot = session.clone();
        session.drain(&mut |_| true).expect("the rest");
        let later = session.clone();
        snapshot.drain(&mut |_| true).expect("the rest once more");
        let results = [session, later, snapshot].map(|it| reports(&it.result(Vec::new()).expect("a result")));
        assert!(results[0] == results[1] && results[0] == results[2]);
    }
}

#[test]
fn sessions_reject_power_cuts_and_runs_reject_session_workloads() {
    let cuts = json!({"requests": 10, "power_cuts": {"random": 1}});
    let scenario = resolved(&json!({"workload": poisson(9.0), "system": {"device": "g2"}, "run": cuts}));
    let Err(RunError::Scenario(faults)) = Session::new(&scenario, &Keep::default()) else { panic!("power fails") };
    assert_eq!(faults[0].location.path.to_string(), "run.power_cuts");
    let Err(error) = scenario::run(&drive_of("g2"), Vec::new(), false, &mut |_| true) else { panic!("no requests") };
    assert!(error.to_string().contains("a session"), "{error}");
}

#[test]
fn serve_now_returns_only_its_own_completions() {
    let constant = json!({"device": {"name": "simpledisk-constant", "access_ms": 1.0}});
    let volumes = json!({"kind": "volumes", "members": [constant.clone(), constant.clone()]});
    for (system, now_ms, under_way, end_ms) in [(constant, 6, 0, 6), (volumes, 3, 1, 4)] {
        let scenario = resolved(&json!({"workload": {"kind": "session"}, "system": system}));
        let mut session = Session::new(&scenario, &KEEP).expect("a system");
        let ms = |ms: u64| Time::from_ns(ms * 1_000_000);
        let (other, beyond) = (session.capacity_blocks() - 8, session.capacity_blocks());
        session.submit(Request::read(other, 1)).expect("now");
        assert!(session.advance(ms(1), &mut |_| true).expect("forwards"));
        for lbn in [beyond, other, other + 1, other + 2] {
            session.submit(Request { arrival: ms(1), ..Request::read(lbn, 1) }).expect("now");
        }
        let requests = [1, 2, beyond].map(|lbn| Request::read(lbn, 1));
        let own = session.serve_now(requests, &mut |_| true).expect("no fault").expect("not interrupted");
        let statuses: Vec<_> = own.iter().map(|it| (it.request.id, it.is_served())).collect();
        assert_eq!(statuses, [(7, false), (5, true), (6, true)]);
        assert_eq!((session.now(), session.under_way()), (ms(now_ms), under_way), "and no further");
        assert!(session.drain(&mut |_| true).expect("the rest"));
        let rest: Vec<u64> = std::iter::from_fn(|| session.completion()).map(|it| it.request.id).collect();
        assert_eq!((rest, session.now()), (vec![0, 1, 2, 3, 4], ms(end_ms)));
    }
}

#[test]
fn serve_now_takes_as_long_as_submit_and_drain() {
    let scenario = drive_of("g2");
    let mut sessions = [(); 2].map(|()| Session::new(&scenario, &KEEP).expect("a drive"));
    let mut stream = Stream::new(1, "now");
    for _ in 0..200 {
        let requests = [(); 3].map(|()| Request::read(stream.below(1_000_000), 8));
        let now = sessions[0].now();
        let own = sessions[0].serve_now(requests, &mut |_| true).expect("no fault").expect("not interrupted");
        for request in requests {
            sessions[1].submit(Request { arrival: now, ..request }).expect("now");
        }
        sessions[1].drain(&mut |_| true).expect("no fault");
        let by_steps: Vec<_> = std::iter::from_fn(|| sessions[1].completion()).collect();
        assert_eq!(format!("{own:?}"), format!("{by_steps:?}"));
    }
    let outputs = sessions.each_ref().map(|session| reports(&session.result(Vec::new()).expect("a result")));
    assert!(outputs[0] == outputs[1], "{}", difference(&outputs));
    let many = (0..10_000).map(|lbn| Request::read(lbn, 1));
    assert!(sessions[0].serve_now(many, &mut |_| false).expect("no fault").is_none());
    assert!(sessions[0].under_way() > 0);
}

/// A drive that takes a millisecond for every request.
fn millisecond_drive() -> Scenario {
    let device = json!({"name": "simpledisk-constant", "access_ms": 1.0});
    resolved(&json!({"workload": {"kind": "session"}, "system": {"device": device}}))
}

const fn ms(ms: u64) -> Time {
    Time::from_ns(ms * 1_000_000)
}

/// Fetches completions. Returns the time and request number of each.
fn fetched(session: &mut Session) -> Vec<(Time, u64)> {
    std::iter::from_fn(|| session.completion()).map(|it| (it.service.end, it.request.id)).collect()
}

/// More requests may be submitted ahead of time than may be under way at once.
#[test]
fn only_requests_under_way_count_against_the_limit() {
    let requests = PARTS_UNDER_WAY.most + 9;
    let mut session = Session::new(&millisecond_drive(), &Keep::default()).expect("a drive");
    for number in 0..requests {
        session.submit(Request { arrival: ms(number), ..Request::read(number, 1) }).expect("in order");
    }
    assert!(session.drain(&mut |_| true).expect("all are served"));
    assert_eq!(session.now(), ms(requests));
}

#[test]
fn requests_beyond_the_last_instant_are_rejected() {
    for device in [json!("g2"), json!({"name": "g2", "overhead_ms": 0.0})] {
        let scenario = resolved(&json!({"workload": {"kind": "session"}, "system": {"device": device}}));
        for earlier in [0, 1] {
            let mut session = Session::new(&scenario, &Keep::default()).expect("a drive");
            for arrival in [Time::ZERO, Time::from_ns(u64::MAX)].into_iter().skip(1 - earlier) {
                session.submit(Request { arrival, ..Request::read(7, 8) }).expect("in order");
            }
            let message = session.drain(&mut |_| true).expect_err("beyond the horizon").to_string();
            assert!(message.contains("simulated time goes beyond"), "{message}");
            assert_eq!(session.completion().is_some(), earlier == 1, "earlier requests are served");
            let message = session.advance(Time::from_ns(u64::MAX), &mut |_| true).expect_err("again").to_string();
            assert!(message.contains("simulated time goes beyond"), "{message}");
        }
    }
}

#[test]
fn rejected_requests_and_flushes_complete_in_time_order() {
    let mut session = Session::new(&drive_of("g2"), &KEEP).expect("a drive");
    let beyond = session.capacity_blocks();
    let at = |us: u64| Time::from_ns(us * 1000);
    for (us, lbn) in [(0, 0), (0, beyond / 2), (100, 5), (3_000_000, 9)] {
        session.submit(Request { arrival: at(us), ..Request::read(lbn, 8) }).expect("in order");
        session.advance(at(us), &mut |_| true).expect("forwards");
        if us == 100 {
            session.submit(Request { arrival: at(us), ..Request::read(beyond, 8) }).expect("it completes as refused");
            session.submit(Request { arrival: at(us), ..Request::read(6, 8) }).expect("in order");
            session.submit(Request { arrival: at(us + 1), ..Request::flush() }).expect("in order");
        }
    }
    session.drain(&mut |_| true).expect("all complete");
    let completions: Vec<_> = std::iter::from_fn(|| session.completion()).collect();
    assert!(completions.is_sorted_by_key(|it| it.service.end), "{completions:?}");
    let order: Vec<u64> = completions.iter().map(|it| it.request.id).collect();
    assert_eq!(order, [3, 5, 0, 1, 2, 4, 6]);
    let refused = completions.iter().filter(|it| it.status == Status::Refused).map(|it| it.request.id);
    assert_eq!(refused.collect::<Vec<_>>(), [3]);
}

#[test]
fn interrupted_session_loses_no_request() {
    let mut session = Session::new(&millisecond_drive(), &KEEP).expect("a drive");
    for number in 0..200 {
        let arrival = Time::from_ns(number);
        session.submit(Request { arrival, ..Request::read(number, 1) }).expect("in order");
    }
    let mut looks = 0;
    let mut keep_going = |_: Progress| {
        looks += 1;
        looks < 4
    };
    assert!(!session.advance(ms(150), &mut keep_going).expect("no fault"), "it is interrupted");
    let now = session.now();
    assert!(ms(1) < now && now < ms(150) && session.under_way() > 100, "{now:?}");
    let report = session.result(Vec::new()).expect("a result so far").report;
    assert_eq!(report.requests.in_flight, session.under_way());
    assert!(session.drain(&mut |_| true).expect("the rest"));
    assert_eq!((session.now(), session.under_way()), (ms(200), 0));
    assert!(fetched(&mut session).into_iter().eq((0..200).map(|id| (ms(id + 1), id))));
}

#[test]
fn idle_drive_rejects_requests_on_arrival() {
    let mut session = Session::new(&millisecond_drive(), &KEEP).expect("a drive");
    let beyond = session.capacity_blocks();
    for (at_us, lbn) in [(0, 0), (500, beyond), (700, 1)] {
        let arrival = Time::from_ns(at_us * 1000);
        session.submit(Request { arrival, ..Request::read(lbn, 1) }).expect("in order");
    }
    assert!(session.drain(&mut |_| true).expect("all complete"));
    assert_eq!(fetched(&mut session), [(Time::from_ns(500_000), 1), (ms(1), 0), (ms(2), 2)]);
    let far = Time::from_ns(u64::MAX);
    session.submit(Request { arrival: ms(3), ..Request::read(beyond, 1) }).expect("in order");
    for lbn in [beyond, 1] {
        session.submit(Request { arrival: far, ..Request::read(lbn, 1) }).expect("in order");
    }
    for _ in 0..2 {
        let message = session.drain(&mut |_| true).expect_err("beyond the horizon").to_string();
        assert!(message.contains("simulated time goes beyond"), "{message}");
        assert_eq!(session.now(), ms(3), "nothing has happened since");
    }
}
