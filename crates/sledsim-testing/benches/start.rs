//! The time to start a run: a scenario that has been read is completed, checked and built, and runs to its first completion.

use std::path::Path;

use criterion::{criterion_group, criterion_main, Criterion};
use serde_json::{json, Value};
use sledsim::scenario::{Draft, Keep};
use sledsim_testing::scenarios::{catalog, poisson};

fn systems() -> [(&'static str, Value); 5] {
    [
        ("mems", json!("g2")),
        ("disk", json!("atlas10k")),
        ("cache", json!({"kind": "ram-cache", "bytes": 67_108_864, "child": "g2"})),
        ("raid5", json!({"kind": "raid5", "members": [{"count": 5, "device": "atlas10k"}]})),
        ("mcd", json!({"kind": "mcd", "mems": "g2", "disk": "atlas10k"})),
    ]
}

fn start(criterion: &mut Criterion) {
    let catalog = catalog();
    let mut group = criterion.benchmark_group("start");
    for (name, system) in systems() {
        let document = json!({"workload": poisson(50.0), "system": system, "run": {"requests": 1}});
        let draft = Draft::new(document, "start");
        let resolve = || draft.clone().resolve(&catalog, Path::new(".")).expect("it is right");
        group.bench_function(format!("resolve/{name}"), |bencher| bencher.iter(resolve));
        group.bench_function(format!("run/{name}"), |bencher| {
            bencher.iter(|| resolve().run(&Keep::default(), &mut |_| true).expect("it runs"));
        });
    }
    group.finish();
}

criterion_group!(benches, start);
criterion_main!(benches);
