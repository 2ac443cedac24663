//! Schlosser et al. 2000, Table 4: joules of a mobile disk and of a MEMS device under three applications.
//!
//! The applications' traces are not at hand. Each energy of the table over the power of its mode is the time spent in it; the
//! times of the disk's modes add up to the length of the run, and in a run of that length the MEMS device is inactive for all
//! that it does not access data or start up.

use sledsim::scenario::{DeviceSpec, SystemSpec};

use crate::experiments::{poisson, report};
use crate::ledger::{figure, Finding};
use crate::scenario_runs;

/// A column pair of Table 4, joules.
struct Application {
    id: &'static str,
    disk_active_j: f64,
    /// Performance idle, fast idle, low-power idle, standby.
    disk_idle_j: [f64; 4],
    /// Returns from fast and low-power idle, and from standby.
    disk_return_j: [f64; 2],
    mems_active_j: f64,
    mems_startup_j: f64,
    mems_inactive_j: f64,
}

const APPLICATIONS: [Application; 3] = [
    Application {
        id: "energy-andrew",
        disk_active_j: 14.026,
        disk_idle_j: [13.025, 2.400, 2.722, 0.0],
        disk_return_j: [0.880, 0.0],
        mems_active_j: 1.400,
        mems_startup_j: 0.615,
        mems_inactive_j: 0.744,
    },
    Application {
        id: "energy-postmark",
        disk_active_j: 1378.162,
        disk_idle_j: [1003.969, 0.0, 0.0, 0.0],
        disk_return_j: [0.0, 0.0],
        mems_active_j: 188.859,
        mems_startup_j: 86.933,
        mems_inactive_j: 32.517,
    },
    Application {
        id: "energy-netscape",
        disk_active_j: 321.211,
        disk_idle_j: [1924.100, 1799.885, 1000.467, 308.885],
        disk_return_j: [513.480, 228.800],
        mems_active_j: 32.121,
        mems_startup_j: 1.288,
        mems_inactive_j: 1318.763,
    },
];

/// The most that the paper's MEMS device draws: the sled and 1000 tips. Its start-ups are at that power, too: at the sled's
/// alone those of PostMark would last for 869 s of a run that takes the disk 1032 s.
const ACCESS_W: f64 = 1.1;

/// Half of the disk's accesses are taken to be reads.
const READS: f64 = 0.5;

pub fn findings() -> Vec<Finding> {
    APPLICATIONS.iter().map(|application| figure(application.id, application.ratio(), 2)).collect()
}

/// Powers of a drive: accessing, its idle modes, and the return from one.
fn travelstar() -> (f64, Vec<f64>, f64) {
    let SystemSpec::Drive(drive) = scenario_runs::scenario(&["device=travelstar".to_owned(), poisson(1.0)]).system
    else {
        panic!("a drive alone")
    };
    let DeviceSpec::Disk(drive) = drive.device else { panic!("a disk") };
    let power = drive.power.as_ref().expect("its powers are known");
    let ladder = drive.ladder().expect("its modes are known");
    let modes_w = ladder.modes().iter().map(|mode| mode.power_w).collect();
    (READS * power.active_read_w + (1.0 - READS) * power.active_write_w, modes_w, ladder.modes()[1].wake_w)
}

impl Application {
    /// Joules and seconds of the disk.
    fn disk(&self) -> (f64, f64) {
        let (active_w, modes_w, return_w) = travelstar();
        assert_eq!(modes_w.len(), self.disk_idle_j.len());
        let idle_s: f64 = self.disk_idle_j.iter().zip(&modes_w).map(|(idle_j, power_w)| idle_j / power_w).sum();
        let return_j: f64 = self.disk_return_j.iter().sum();
        let total_j = self.disk_active_j + self.disk_idle_j.iter().sum::<f64>() + return_j;
        (total_j, self.disk_active_j / active_w + idle_s + return_j / return_w)
    }

    /// Joules of the MEMS device in a run of `length_s`: what it accesses is the table's, start-ups and inactive time are those
    /// of a run with as many idle periods.
    fn mems_j(&self, length_s: f64) -> f64 {
        let inactive_s = |startup_s: f64| length_s - self.mems_active_j / ACCESS_W - startup_s;
        let probe = self.idle_periods(1, 0.0);
        let startups = (self.mems_startup_j / probe.0).round();
        let startup_s = startups * probe.1;
        let (startup_j, _, inactive_j) = self.idle_periods(startups as u64, inactive_s(startup_s) / startups);
        println!(
            "{}: {startups} start-ups; the table's modes last {:.1} s ({:.1} s active, {startup_s:.1} s starting up, {:.1} s in \
             standby), the disk's {length_s:.1} s; in that time start-ups {startup_j:.3} J, inactive {inactive_j:.3} J",
            self.id,
            self.mems_active_j / ACCESS_W + startup_s + self.mems_inactive_j / 0.05,
            self.mems_active_j / ACCESS_W,
            self.mems_inactive_j / 0.05,
        );
        self.mems_active_j + startup_j + inactive_j
    }

    /// Start-up joules, seconds of a start-up, and inactive joules of a device that stops as soon as nothing is left to do,
    /// while as many accesses follow each other after `idle_s` each.
    fn idle_periods(&self, count: u64, idle_s: f64) -> (f64, f64, f64) {
        let think = format!("think_ms={{kind=\"fixed\", value={}}}", idle_s * 1e3);
        let run = report(&[
            "device=g2-paper".to_owned(),
            format!("device.startup_mw={}", ACCESS_W * 1e3),
            "device.overhead_ms=0".to_owned(),
            "system.spin_down=immediate".to_owned(),
            format!("workload.arrival={{kind=\"closed\", outstanding=1, {think}}}"),
            format!("run.requests={count}"),
        ]);
        let joules = run.energy.as_ref().expect("the powers of the device are known");
        (joules.startup_j, run.state_time.startup_s / count as f64, joules.inactive_j)
    }

    /// Joules of the disk over those of the MEMS device.
    fn ratio(&self) -> f64 {
        let (disk_j, length_s) = self.disk();
        let mems_j = self.mems_j(length_s);
        let table_j = self.mems_active_j + self.mems_startup_j + self.mems_inactive_j;
        println!("{}: disk {disk_j:.3} J, MEMS {mems_j:.3} J; as printed {:.2}", self.id, disk_j / table_j);
        disk_j / mems_j
    }
}
