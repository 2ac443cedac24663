//! Times of a session and of a run with the same requests: random reads on `g2`, FCFS, open at 500 a second.

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use serde_json::json;
use sledsim::engine::{Next, Workload};
use sledsim::request::Request;
use sledsim::scenario::{self, Keep, Scenario, Session};
use sledsim_testing::scenarios::{poisson, resolved};

const REQUESTS: u64 = 20_000;

fn requests(scenario: &Scenario, session: &Session) -> Vec<Request> {
    let mut workload: Box<dyn Workload> = scenario
        .workload
        .start(scenario.seed, session.capacity_blocks(), session.block_bytes())
        .expect("the workload fits");
    (0..REQUESTS)
        .map(|_| {
            assert!(matches!(workload.peek(), Ok(Next::At(_))));
            workload.take()
        })
        .collect()
}

fn sessions(criterion: &mut Criterion) {
    let scenario = resolved(&json!({
        "workload": poisson(500.0), "system": {"device": "g2", "scheduler": "fcfs"}, "run": {"requests": REQUESTS},
    }));
    let timed = resolved(&json!({
        "workload": poisson(500.0),
        "system": {"device": "g2", "scheduler": "fcfs"},
        "run": {"requests": REQUESTS, "time_s": 1e9},
    }));
    let open = || Session::new(&scenario, &Keep::default()).expect("a session");
    let requests = requests(&scenario, &open());
    let mut group = criterion.benchmark_group("session");
    group.throughput(Throughput::Elements(REQUESTS));
    let run = |scenario: &Scenario| scenario::run(scenario, Vec::new(), false, &mut |_| true).expect("it runs");
    group.bench_function("run", |bencher| bencher.iter(|| run(&scenario)));
    group.bench_function("run-by-events", |bencher| bencher.iter(|| run(&timed)));
    group.bench_function("one-by-one", |bencher| {
        bencher.iter(|| {
            let (mut session, mut back) = (open(), 0);
            for &request in &requests {
                session.submit(request).expect("in order");
                session.advance(request.arrival, &mut |_| true).expect("forwards");
                while let Some(completion) = session.completion() {
                    back += completion.service.end.ns();
                }
            }
            session.drain(&mut |_| true).expect("the rest");
            back
        });
    });
    group.bench_function("at-once", |bencher| {
        bencher.iter(|| {
            let (mut session, mut back) = (open(), 0);
            for &request in &requests {
                session.submit(request).expect("in order");
            }
            session.drain(&mut |_| true).expect("all of them");
            while let Some(completion) = session.completion() {
                back += completion.service.end.ns();
            }
            back
        });
    });
    group.bench_function("open", |bencher| bencher.iter(open));
    group.finish();
}

criterion_group!(benches, sessions);
criterion_main!(benches);
