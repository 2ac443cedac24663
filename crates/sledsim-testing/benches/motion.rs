//! Time per call of the sled's motion functions, over seeks spread across the travel.

#![allow(missing_docs)] // criterion's macros generate undocumented items

use std::hint::black_box;

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use sledsim::devices::mems::motion::{rest_to_rest_s, y_seek, Axis, SeekModel};

/// G2 of DiskSim 4.0.
const G2: Axis = Axis { accel_m_s2: 803.6, spring: 0.75, range_m: 100e-6 };
const SPEED_M_S: f64 = 0.028;
const SEEKS: usize = 1024;

/// Positions that hop about the travel without a pattern a branch predictor could learn.
fn positions_m() -> Vec<f64> {
    (0..=SEEKS).map(|i| ((i * 617) % 2500) as f64 * 40e-9 - 50e-6).collect()
}

fn motion(c: &mut Criterion) {
    let positions = positions_m();
    let mut group = c.benchmark_group("motion");
    group.throughput(Throughput::Elements(SEEKS as u64));
    group.bench_function("rest_to_rest_s", |b| {
        b.iter(|| positions.windows(2).map(|w| rest_to_rest_s(black_box(&G2), w[0], w[1])).sum::<f64>());
    });
    for model in SeekModel::ALL {
        group.bench_function(format!("y_seek/{model}"), |b| {
            b.iter(|| {
                let ways = [SPEED_M_S, -SPEED_M_S];
                let seek = |(i, w): (usize, &[f64])| {
                    let (v0, v1) = (ways[(i * 7 / 3) & 1], ways[(i * 11 / 5) & 1]);
                    y_seek(model, black_box(&G2), SPEED_M_S, w[0], v0, w[1], v1).time_s
                };
                positions.windows(2).enumerate().map(seek).sum::<f64>()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, motion);
criterion_main!(benches);
