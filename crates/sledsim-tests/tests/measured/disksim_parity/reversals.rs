//! The *decomposed* model against the minimum physical time, for seeks between rows of DiskSim's devices.

use sledsim::devices::mems::motion::{turnaround_s, y_seek, Axis, SeekModel};
use sledsim::devices::mems::{MemsDevice, MemsParameters};
use sledsim::scenario::DeviceSpec;
use sledsim_testing::scenario_runs;

/// How often and by how much a model is faster than *time-optimal*.
#[derive(Default)]
struct Shortfall {
    seeks: u32,
    shorter: u32,
    sum_us: f64,
    largest_us: f64,
}

impl Shortfall {
    fn record(&mut self, model_s: f64, optimal_s: f64) {
        self.seeks += 1;
        // The rounding of sums of a few times.
        if model_s < optimal_s * (1.0 - 1e-12) {
            self.shorter += 1;
            self.sum_us += (optimal_s - model_s) * 1e6;
            self.largest_us = self.largest_us.max((optimal_s - model_s) * 1e6);
        }
    }

    fn cells(&self, name: &str, model: &str) -> Vec<String> {
        let mean_us = self.sum_us / f64::from(self.shorter.max(1));
        vec![
            name.to_owned(),
            model.to_owned(),
            self.seeks.to_string(),
            format!("{:.1} %", 100.0 * f64::from(self.shorter) / f64::from(self.seeks)),
            format!("{mean_us:.1} µs"),
            format!("{:.1} µs", self.largest_us),
        ]
    }
}

fn parameters(name: &str) -> MemsParameters {
    let scenario = scenario_runs::scenario(&[
        format!("device={name}"),
        "workload.arrival={kind=\"poisson\", rate_per_s=1.0}".to_owned(),
    ]);
    match scenario.system.into_drive().expect("a drive alone").device {
        DeviceSpec::Mems(parameters) => *parameters,
        other => panic!("{name} is no MEMS device: {other:?}"),
    }
}

/// A position along Y (metres from the centre) and a direction (+1 or -1).
type Gate = (f64, f64);

/// Returns the positions at which passes begin and end.
fn gates(parameters: &MemsParameters) -> (Vec<Gate>, Vec<Gate>) {
    let device = MemsDevice::new(parameters).expect("a catalogue device");
    let geometry = device.geometry();
    let upward = |row: u32| (geometry.y_m(geometry.upward_bit(row)), 1.0);
    let downward = |row: u32| (geometry.y_m(geometry.downward_bit(row)), -1.0);
    let mut begins: Vec<_> = (0..geometry.rows).map(upward).collect();
    let mut ends: Vec<_> = (1..=geometry.rows).map(upward).collect();
    if parameters.bidirectional {
        begins.extend((1..=geometry.rows).map(downward));
        ends.extend((0..geometry.rows).map(downward));
    }
    (begins, ends)
}

fn rows_of(name: &str) -> Vec<Vec<String>> {
    let p = parameters(name);
    let axis = Axis { accel_m_s2: p.acceleration_y_m_s2, spring: p.spring_factor, range_m: p.y_range_um * 1e-6 };
    let speed_m_s = p.bit_rate_kbit_s * 1e3 * p.bit_nm * 1e-9;
    let (begins, ends) = gates(&p);
    let [mut physical, mut sign, mut decomposed] = [(); 3].map(|()| Shortfall::default());
    for &(y0, d0) in &ends {
        for &(y1, d1) in &begins {
            let seek = |model| y_seek(model, &axis, speed_m_s, y0, d0 * speed_m_s, y1, d1 * speed_m_s);
            let (optimal, model) = (seek(SeekModel::TimeOptimal), seek(SeekModel::Decomposed));
            let direction = if y0 == y1 { d1 } else { (y1 - y0).signum() };
            let reversal_s = |needed: bool, y: f64, v: f64| if needed { turnaround_s(&axis, y, v) } else { 0.0 };
            let physical_s = reversal_s(d0 != direction, y0, d0 * speed_m_s)
                + reversal_s(d1 != direction, y1, direction * speed_m_s);
            let exact_move_s = optimal.time_s - optimal.turnaround_s;
            physical.record(exact_move_s + physical_s, optimal.time_s);
            sign.record(exact_move_s + model.turnaround_s, optimal.time_s);
            decomposed.record(model.time_s, optimal.time_s);
        }
    }
    vec![
        physical.cells(name, "exact moves, physical sign"),
        sign.cells(name, "exact moves, DiskSim's sign"),
        decomposed.cells(name, "`decomposed`: DiskSim's moves, DiskSim's sign"),
    ]
}

#[test]
fn documented_shortfalls_equal_those_computed() {
    let rows: Vec<Vec<String>> = ["g1", "g2", "g3"].iter().flat_map(|name| rows_of(name)).collect();
    let table: Vec<String> = rows.iter().map(|cells| format!("| {} |", cells.join(" | "))).collect();
    println!("{}", table.join("\n"));
    for physical in rows.iter().step_by(3) {
        assert_eq!(physical[3], "0.0 %", "no decomposition into physical parts beats the least time");
    }
    assert_eq!(scenario_runs::documented("device"), rows, "\n{}\n", table.join("\n"));
}
