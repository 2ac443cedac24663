//! A session in Rust beside a run, of the same requests: random 4 KB reads on `g2`, FCFS, open at 500 a second.
//!
//! The run needs no events, as it knows the arrivals ahead of time; the session runs by events.
//!
//!     session run 1000000          the run loop takes requests from the workload
//!     session session 1000000      so does this program, and hands them to a session one by one
//!
//! It is built as an example of the crate sledsim-testing. The benchmark takes the processor time of the process.

use std::process::ExitCode;

use serde_json::json;
use sledsim::engine::{Next, Workload};
use sledsim::scenario::{self, Keep, Scenario, Session};
use sledsim_testing::scenarios::{poisson, resolved};

/// Runs the scenario; returns the number of completed requests.
fn run(scenario: &Scenario) -> u64 {
    let output = scenario::run(scenario, Vec::new(), false, &mut |_| true).expect("it runs");
    output.report.requests.completed
}

/// Drives a session with the requests of the scenario's workload; returns the number of completed requests.
fn drive(scenario: &Scenario, requests: u64) -> u64 {
    let mut session = Session::new(scenario, &Keep::default()).expect("a session");
    let (blocks, block_bytes) = (session.capacity_blocks(), session.block_bytes());
    let mut workload: Box<dyn Workload> =
        scenario.workload.start(scenario.seed, blocks, block_bytes).expect("the workload fits");
    let mut back = 0;
    for _ in 0..requests {
        let Ok(Next::At(_)) = workload.peek() else { panic!("an open workload goes on") };
        let request = workload.take();
        session.submit(request).expect("in order");
        session.advance(request.arrival, &mut |_| true).expect("forwards");
        while let Some(completion) = session.completion() {
            back += u64::from(completion.service.end > completion.request.arrival);
        }
    }
    session.drain(&mut |_| true).expect("the rest");
    while session.completion().is_some() {
        back += 1;
    }
    back
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let [_, way, requests] = words.as_slice() else { return ExitCode::FAILURE };
    let Ok(requests) = requests.parse() else { return ExitCode::FAILURE };
    let scenario = resolved(&json!({
        "workload": poisson(500.0), "system": {"device": "g2", "scheduler": "fcfs"},
        "run": {"requests": requests},
    }));
    let back = match way.as_str() {
        "run" => run(&scenario),
        "session" => drive(&scenario, requests),
        _ => return ExitCode::FAILURE,
    };
    if back == requests {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
