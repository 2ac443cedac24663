//! A finished run of one drive, to be drawn: the state of its device and queue at any instant.
//!
//! A run with a log gives the requests and their services. A second device serves the logged requests again at the same instants and
//! records its motion, so positions are those of the device itself. Copies of it after every [`STEP`] services give its state, and so
//! the positioning times of pending requests, at any instant.

use serde_json::{json, Value};
use sledsim::devices::disk::Mechanics;
use sledsim::devices::mems::{Geometry, MemsParameters};
use sledsim::devices::{AxisMotion, Coordinates, Location, Mechanism, Movement, RecordedArc};
use sledsim::power::SpinDownSpec;
use sledsim::request::{Op, Request};
use sledsim::scenario::{self, DeviceSpec, DriveSpec, Keep, Resolved, Scenario};
use sledsim::service::Service;
use sledsim::time::Time;

use crate::commands::run;
use crate::series::{Series, SERIES};

/// Reasons why motion is not drawn.
const NOT_ONE_BY_ONE: &str =
    "Motion is drawn for a drive of one mechanism that serves its requests one by one, without batches, merging and subsector \
     accesses.";
const NOT_DRAWN: &str =
    "The motion of this device is not drawn. Disks are drawn, and MEMS devices with transfer = \"rows\" or \"fluid\".";
const WRITE_CACHED: &str =
    "A drive with a write cache writes in an order of its own, which is not drawn: set device.write_cache.blocks to 0, or use reads \
     only.";

// The log leaves out requests that fail.
const TIPS_FAILED: &str =
    "Requests fail because of failed tips. The motion of such a run is not drawn: lower device.failed_tips to see it.";
// A power cut stops the mechanism in the middle of an access.
const POWER_CUT: &str = "The motion of a run with power cuts is not drawn: leave out run.power_cuts to see it.";

/// Message for a run without services.
const NONE_SERVED: &str = "no request was served: raise run.requests or run.time_s";

/// Services between two copies of the device.
const STEP: usize = 128;

/// Names of the numbers of [`Playback::state`].
pub const STATE: [&str; 14] = [
    "x_m",
    "y_m",
    "speed_x_m_s",
    "speed_y_m_s",
    "force_x",
    "force_y",
    "turn",
    "request",
    "activity",
    "pending",
    "completed",
    "target_x_m",
    "target_y_m",
    "target_turn",
];

/// Names of the numbers of each request in [`Playback::pending`].
pub const PENDING: [&str; 9] =
    ["request", "x_m", "y_m", "turn", "is_write", "waited_ms", "positioning_ms", "lbn", "starts_ms"];

/// Activities of a device, by number in [`STATE`].
const ACTIVITIES: [&str; 6] = ["stopped", "idle", "starting up", "waiting", "seeking", "transferring"];
const STOPPED: usize = 0;
const IDLE: usize = 1;
const STARTING: usize = 2;
const WAITING: usize = 3;
const SEEKING: usize = 4;
const TRANSFERRING: usize = 5;

/// Time over which the speed of an idle sled is measured, and more than it moves then; a stop may move it to the centre at once.
const SWEEP_NS: u64 = 1000;
const MOST_SWEEP_M: f64 = 1e-6;

/// The place of a request on the medium.
#[derive(Default)]
struct Target {
    location: Location,
    x_m: f64,
    y_m: f64,
    turn: f64,
}

/// A request of the log, in the order of dispatch.
#[derive(Clone, Copy)]
pub struct Served {
    /// The request.
    pub request: Request,
    /// Its service.
    pub service: Service,
}

/// The part of a device that its drawing needs.
enum Drawn {
    Mems(Box<MemsParameters>, Box<Geometry>),
    Disk(Box<Mechanics>),
}

/// A copy of the device after its first services.
struct Copy {
    served: usize,
    device: Box<dyn Mechanism>,
}

/// Why a scenario has no playback.
#[derive(Debug)]
pub enum NotOpened {
    /// The run failed.
    Failed(String),
    /// The run can be shown, but not the motion of a device.
    NotDrawn(&'static str),
}

impl From<String> for NotOpened {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

/// A finished run of one drive.
pub struct Playback {
    report: Value,
    served: Vec<Served>,
    /// Arrivals and ends of the requests, each in the order of time.
    arrivals: Vec<Time>,
    ends: Vec<Time>,
    drawn: Drawn,
    copies: Vec<Copy>,
    /// The latest copy that was made for an instant.
    current: Copy,
    axes: [Vec<RecordedArc>; 2],
    series: Series,
    end_ns: u64,
}

impl Playback {
    /// Runs a scenario and opens a playback of its first `most_requests` requests.
    ///
    /// # Errors
    /// The run fails, or the motion of its devices cannot be drawn.
    pub fn new(resolved: &Resolved, most_requests: u64) -> Result<Self, NotOpened> {
        let scenario = resolved.scenario();
        let one_by_one = scenario.system.drive().filter(|drive| serves_one_by_one(drive));
        let drive = one_by_one.ok_or(NotOpened::NotDrawn(NOT_ONE_BY_ONE))?;
        if scenario.run.power_cuts.is_some() {
            return Err(NotOpened::NotDrawn(POWER_CUT));
        }
        let report = run(resolved)?;
        let served = log_of(scenario, most_requests)?;
        let mut device = device_of(drive)?;
        if served.is_empty() {
            return Err(match device.defects() {
                Some(_) => NotOpened::NotDrawn(TIPS_FAILED),
                None => NotOpened::Failed(NONE_SERVED.to_owned()),
            });
        }
        device.motion_log().ok_or(NotOpened::NotDrawn(NOT_DRAWN))?.record();
        if device.write_caching().is_some() && served.iter().any(|served| served.request.op == Op::Write) {
            return Err(NotOpened::NotDrawn(WRITE_CACHED));
        }
        let mut axes = [Vec::new(), Vec::new()];
        let mut copies = Vec::new();
        let end_ns = served.iter().map(|served| served.service.end.ns()).max().unwrap_or(0);
        let mut series = Series::new(&served, end_ns);
        let mut copy_at = 0;
        for (index, Served { request, service }) in served.iter().enumerate() {
            series.add_energy(service.start, device.as_ref());
            if index == copy_at {
                copies.push(Copy { served: index, device: device.clone() });
                copy_at += STEP;
            }
            if device.serve(service.start, request) != *service {
                if device.defects().is_some() {
                    return Err(NotOpened::NotDrawn(TIPS_FAILED));
                }
                let message = format!("request {index} does not have the service of the log when it is served again");
                return Err(NotOpened::Failed(message));
            }
            for (axis, arcs) in axes.iter_mut().zip(device.motion_log().map(|log| log.take()).unwrap_or_default()) {
                axis.extend(arcs);
            }
        }
        series.add_energy(Time::from_ns(end_ns.saturating_add(1)), device.as_ref());
        let drawn = match &drive.device {
            DeviceSpec::Mems(p) => {
                Drawn::Mems(p.clone(), Box::new(Geometry::new(p).map_err(|fault| fault.to_string())?))
            }
            DeviceSpec::Disk(p) => Drawn::Disk(Box::new(Mechanics::new(p).map_err(|fault| fault.to_string())?)),
            _ => return Err(NotOpened::NotDrawn(NOT_DRAWN)),
        };
        let current = Copy { served: served.len(), device };
        let report = serde_json::to_value(report).map_err(|error| error.to_string())?;
        let sorted = |time: fn(&Served) -> Time| {
            let mut times: Vec<Time> = served.iter().map(time).collect();
            times.sort_unstable();
            times
        };
        let arrivals = sorted(|served| served.request.arrival);
        let ends = sorted(|served| served.service.end);
        Ok(Self { report, served, arrivals, ends, drawn, copies, current, axes, series, end_ns })
    }

    /// Returns the facts that do not change over time.
    #[must_use]
    pub fn description(&self) -> Value {
        json!({
            "report": self.report,
            "end_ms": self.end_ns as f64 * 1e-6,
            "state": STATE,
            "pending": PENDING,
            "activities": ACTIVITIES,
            "device": self.shape(),
            "requests": rows_of(&self.served),
            "series": {"names": SERIES, "rows": self.series.rows()},
        })
    }

    /// Returns the sizes that the drawing of the device needs.
    fn shape(&self) -> Value {
        match &self.drawn {
            Drawn::Mems(p, geometry) => {
                let rows: Vec<[f64; 2]> = (0..geometry.rows.min(4096))
                    .map(|row| [geometry.y_m(geometry.upward_bit(row)), geometry.y_m(geometry.downward_bit(row + 1))])
                    .collect();
                json!({
                    "mechanism": "mems",
                    "x_range_m": p.x_range_um * 1e-6,
                    "y_range_m": p.y_range_um * 1e-6,
                    "tips": p.tips,
                    "active_tips": p.active_tips,
                    "acceleration_x_m_s2": p.acceleration_x_m_s2,
                    "acceleration_y_m_s2": p.acceleration_y_m_s2,
                    "spring_factor": p.spring_factor,
                    "cylinders": geometry.cylinders,
                    "rows": rows,
                })
            }
            Drawn::Disk(mechanics) => {
                let layout = mechanics.layout();
                let mut zones = Vec::new();
                let mut zone = 0;
                while zones.len() < 64 {
                    let first = layout.first_cylinder(zone);
                    zones.push(json!({"first_cylinder": first, "sectors": layout.sectors_per_track(zone)}));
                    match (first + 1..layout.cylinders())
                        .find_map(|cylinder| layout.zone_of(cylinder).filter(|next| *next > zone))
                    {
                        Some(next) => zone = next,
                        None => break,
                    }
                }
                json!({
                    "mechanism": "disk",
                    "cylinders": layout.cylinders(),
                    "surfaces": layout.surfaces(),
                    "actuators": mechanics.actuators(),
                    "revolution_ms": mechanics.spindle().period_ns() as f64 * 1e-6,
                    "zones": zones,
                })
            }
        }
    }

    /// Returns the state at an instant, as named by [`STATE`]: forces are fractions of the actuator's maximum, `turn` is the part of
    /// a revolution, `request` is the index of the request in service or -1, and the target is its first block.
    pub fn state(&mut self, at_ns: f64) -> [f64; STATE.len()] {
        let at_ns = at_ns.clamp(0.0, self.end_ns as f64);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the length of the run")]
        let at = Time::from_ns(at_ns as u64);
        let begun = self.served.partition_point(|served| served.service.start <= at);
        let in_service = begun.checked_sub(1).filter(|&index| at < self.served[index].service.end);
        let [x, y] = self.motion(at, at_ns, begun);
        let force = self.force([&x, &y]);
        let target = in_service.map(|index| self.target(&self.served[index].request)).unwrap_or_default();
        let [arrived, completed] = [&self.arrivals, &self.ends].map(|times| times.partition_point(|time| *time <= at));
        let activity = match in_service {
            Some(index) => self.activity_in(index, at, [&x, &y]),
            None => self.idle_activity(at, begun),
        };
        [
            x.axis.position_m,
            y.axis.position_m,
            x.axis.speed_m_s,
            y.axis.speed_m_s,
            force[0],
            force[1],
            self.turn(at),
            in_service.map_or(-1.0, |index| index as f64),
            activity as f64,
            arrived.saturating_sub(begun) as f64,
            completed as f64,
            target.x_m,
            target.y_m,
            target.turn,
        ]
    }

    /// Returns the place of the first block of a request on the medium.
    fn target(&self, request: &Request) -> Target {
        let device = &self.current.device;
        let location = device.locate(request);
        let Coordinates { x_m, y_m } = device.coordinates_m(location);
        Target {
            location,
            x_m,
            y_m,
            turn: device.rotating().map_or(0.0, |rotating| part_of_turn(rotating.angle(location))),
        }
    }

    /// Appends the requests at an instant that can be dispatched when the device is free next, as named by [`PENDING`]: each with its
    /// positioning time if it were dispatched then.
    pub fn pending(&mut self, at_ns: f64, numbers: &mut Vec<f64>) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the length of the run")]
        let at = Time::from_ns(at_ns.clamp(0.0, self.end_ns as f64) as u64);
        let begun = self.served.partition_point(|served| served.service.start <= at);
        let free = begun.checked_sub(1).map_or(at, |last| at.max(self.served[last].service.free));
        let overhead_ns = self.current.device.dimensions().command_overhead_ns;
        // The others are still in command processing then.
        let is_ready = |request: &Request| request.arrival <= at && request.arrival + overhead_ns <= free;
        let waiting: Vec<usize> =
            (begun..self.served.len()).filter(|&index| is_ready(&self.served[index].request)).collect();
        if waiting.is_empty() {
            return;
        }
        self.move_to(begun);
        for index in waiting {
            let Served { request, service } = &self.served[index];
            let Target { location, x_m, y_m, turn } = self.target(request);
            numbers.extend([
                index as f64,
                x_m,
                y_m,
                turn,
                f64::from(u8::from(request.op == Op::Write)),
                (at - request.arrival) as f64 * 1e-6,
                self.current.device.positioning_ns(free, location) as f64 * 1e-6,
                request.lbn as f64,
                ms(service.start),
            ]);
        }
    }

    /// Returns the motion along both axes at an instant.
    fn motion(&mut self, at: Time, at_ns: f64, begun: usize) -> [Motion; 2] {
        let recorded = [0, 1].map(|axis| recorded_motion(&self.axes[axis], at_ns));
        if let [Some(x), Some(y)] = recorded {
            return [x, y];
        }
        if matches!(self.drawn, Drawn::Disk(_)) {
            // Between recorded passes the arms stay at their tracks.
            let [x, y] = recorded;
            let rest = |axis: usize| Motion::rest(last_position_m(&self.axes[axis], at_ns));
            return [x.unwrap_or_else(|| rest(0)), y.unwrap_or_else(|| rest(1))];
        }
        // Motion is recorded from the end of a start-up on.
        let starts_up = begun.checked_sub(1).filter(|&last| at < self.served[last].service.free);
        let (served, at) = starts_up.map_or((begun, at), |index| (index, self.served[index].service.start));
        self.move_to(served);
        let Coordinates { x_m, y_m } = self.current.device.position_m(at);
        let mut y = Motion::rest(y_m);
        let next = self.served.get(begun).map_or(Time::MAX, |next| next.service.start);
        if starts_up.is_none() && at + SWEEP_NS < next {
            // An idle sled may sweep; it does not move faster than that.
            let moved_m = self.current.device.position_m(at + SWEEP_NS).y_m - y_m;
            if moved_m.abs() < MOST_SWEEP_M {
                y.axis.speed_m_s = moved_m / (SWEEP_NS as f64 * 1e-9);
            }
        }
        [Motion::rest(x_m), y]
    }

    /// Makes `current` the device after the first `served` services.
    fn move_to(&mut self, served: usize) {
        if self.current.served > served || self.current.served + STEP < served {
            let copy = &self.copies[(served / STEP).min(self.copies.len() - 1)];
            self.current = Copy { served: copy.served, device: copy.device.clone() };
        }
        for Served { request, service } in &self.served[self.current.served..served] {
            self.current.device.serve(service.start, request);
        }
        self.current.served = served;
    }

    /// Returns the force of the actuator along each axis, as a fraction of its maximum: that of the motion and that against the springs.
    fn force(&self, axes: [&Motion; 2]) -> [f64; 2] {
        let Drawn::Mems(p, _) = &self.drawn else { return [0.0; 2] };
        let bounds = [(p.acceleration_x_m_s2, p.x_range_um), (p.acceleration_y_m_s2, p.y_range_um)];
        [0, 1].map(|axis| {
            let (bound_m_s2, range_um) = bounds[axis];
            let pull = p.spring_factor * axes[axis].axis.position_m / (0.5e-6 * range_um);
            axes[axis].axis.accel_m_s2 / bound_m_s2 + pull
        })
    }

    /// Returns the angle of the platter, as a part of a revolution.
    fn turn(&self, at: Time) -> f64 {
        match &self.drawn {
            Drawn::Disk(mechanics) => part_of_turn(mechanics.spindle().angle(at.ns())),
            Drawn::Mems(..) => 0.0,
        }
    }

    fn activity_in(&self, index: usize, at: Time, axes: [&Motion; 2]) -> usize {
        let Served { service, .. } = &self.served[index];
        if at < service.start + service.phases.startup_ns {
            return STARTING;
        }
        let is = |movement: Movement| axes.iter().any(|motion| motion.movement == Some(movement));
        let settles = axes[0].movement == Some(Movement::Hold) && matches!(self.drawn, Drawn::Mems(..));
        if is(Movement::Access) {
            TRANSFERRING
        } else if is(Movement::Seek) || settles {
            SEEKING
        } else {
            WAITING
        }
    }

    fn idle_activity(&mut self, at: Time, begun: usize) -> usize {
        self.move_to(begun);
        let is_stopped = self.current.device.powered().is_some_and(|powered| powered.wake_ns(at) > 0);
        if is_stopped {
            STOPPED
        } else {
            IDLE
        }
    }
}

/// Motion along an axis, and its kind if it was recorded.
struct Motion {
    axis: AxisMotion,
    movement: Option<Movement>,
}

impl Motion {
    fn rest(position_m: f64) -> Self {
        Self { axis: AxisMotion { position_m, ..AxisMotion::default() }, movement: None }
    }
}

/// Returns the recorded motion at an instant, if there is one.
fn recorded_motion(arcs: &[RecordedArc], at_ns: f64) -> Option<Motion> {
    let begin_ns = |arc: &RecordedArc| arc.start.ns() as f64 + arc.offset_s * 1e9;
    let recorded = &arcs[arcs.partition_point(|arc| begin_ns(arc) <= at_ns).checked_sub(1)?];
    let time_s = (at_ns - begin_ns(recorded)) * 1e-9;
    // A move ends at a whole nanosecond.
    let is_over = time_s > recorded.arc.time_s + 1e-9;
    (!is_over).then(|| Motion {
        axis: recorded.arc.after(time_s.min(recorded.arc.time_s)),
        movement: Some(recorded.movement),
    })
}

/// Returns the position after the last recorded move before an instant.
fn last_position_m(arcs: &[RecordedArc], at_ns: f64) -> f64 {
    let before = arcs.partition_point(|arc| arc.start.ns() as f64 <= at_ns);
    arcs[..before].last().map_or(0.0, |recorded| recorded.arc.end().position_m)
}

fn part_of_turn(angle: u64) -> f64 {
    angle as f64 / 18_446_744_073_709_551_616.0
}

/// Returns a row for each request: arrival, dispatch and completion in ms, LBN, blocks, and 1 for a write.
fn rows_of(served: &[Served]) -> Vec<Value> {
    let row = |Served { request, service }: &Served| {
        let times = [ms(request.arrival), ms(service.start), ms(service.end)];
        json!([times[0], times[1], times[2], request.lbn, request.blocks, u8::from(request.op == Op::Write)])
    };
    served.iter().map(row).collect()
}

/// Runs a scenario whose motion is not drawn, and returns the facts of [`Playback::description`] that it has: the device is the tree of
/// the system's components with their counters, which are those of the whole run. `reason` says why motion is not drawn.
///
/// # Errors
/// The run fails.
pub fn system_description(resolved: &Resolved, most_requests: u64, reason: &str) -> Result<Value, String> {
    let report = run(resolved)?;
    let served = log_of(resolved.scenario(), most_requests)?;
    let end_ns = served.iter().map(|served| served.service.end.ns()).max().unwrap_or(0);
    let series = Series::of_response_times(&served, end_ns);
    let report = serde_json::to_value(report).map_err(|error| error.to_string())?;
    Ok(json!({
        "report": report,
        "end_ms": end_ns as f64 * 1e-6,
        "device": {"mechanism": "system", "reason": reason},
        "requests": rows_of(&served),
        "series": {"names": SERIES, "rows": series.rows()},
    }))
}

fn ms(time: Time) -> f64 {
    time.ns() as f64 * 1e-6
}

/// Returns true if a drive has one mechanism that serves its requests one by one.
fn serves_one_by_one(drive: &DriveSpec) -> bool {
    drive.device.mechanisms() == 1 && drive.batch_max == 1 && drive.merge.is_none() && !drive.subsector
}

fn device_of(drive: &DriveSpec) -> Result<Box<dyn Mechanism>, String> {
    let spin_down: Option<&SpinDownSpec> = drive.spin_down.as_ref().and_then(|choice| choice.built_in());
    scenario::device_with(&drive.device, spin_down).map_err(|fault| fault.to_string())
}

/// Returns the first requests of a run, in the order of dispatch. A warm-up is logged, too. Flushes without work are left out.
fn log_of(scenario: &Scenario, most_requests: u64) -> Result<Vec<Served>, String> {
    let mut scenario = scenario.clone();
    scenario.run.warmup_requests = 0;
    scenario.run.warmup_s = 0.0;
    (scenario.run.warmup, scenario.run.precision) = (None, None);
    scenario.run.requests = Some(scenario.run.requests.map_or(most_requests, |requests| requests.min(most_requests)));
    let keep = Keep { log: true, ..Keep::default() };
    let output =
        scenario::run_keeping(&scenario, Vec::new(), &keep, &mut |_| true).map_err(|error| error.to_string())?;
    let entries = output.recorder.log().map(|log| log.entries.clone()).unwrap_or_default();
    let has_work = |(request, service): &(Request, Service)| !request.is_flush() || service.end > service.start;
    let mut served: Vec<Served> =
        entries.into_iter().filter(has_work).map(|(request, service)| Served { request, service }).collect();
    served.sort_by_key(|served| (served.service.start, served.request.id));
    Ok(served)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::resolve;

    /// Speeds of sleds and arms are below this.
    const MOST_M_S: f64 = 200.0;

    fn playback(device: &str, scheduler: &str) -> Playback {
        let scenario = json!({
            "workload": {
                "arrival": {"kind": "poisson", "rate_per_s": if device.starts_with('g') { 900 } else { 90 }},
                "size_bytes": {"kind": "exponential", "mean": 8192},
                "read_fraction": 0.5,
            },
            "system": {"device": device, "scheduler": scheduler, "spin_down": null},
            "run": {"requests": 400},
        });
        Playback::new(&resolve(scenario).expect("it is valid"), 400).expect("it can be drawn")
    }

    /// The instants of the test: evenly spaced, with a fraction of a nanosecond.
    fn instants(playback: &Playback) -> impl Iterator<Item = f64> {
        let end_ns = playback.end_ns as f64;
        (0..1000).map(move |index| end_ns * (f64::from(index) + 0.37) / 1000.0)
    }

    #[test]
    fn positions_at_1000_instants_continue_each_other_in_any_order() {
        for (device, scheduler) in [("g2", "sptf"), ("g1", "fcfs"), ("atlas10k", "look")] {
            let mut played = playback(device, scheduler);
            let times: Vec<f64> = instants(&played).collect();
            let forward: Vec<_> = times.iter().map(|&at| played.state(at)).collect();
            // Scrubbing back gives the same states.
            for (at, state) in times.iter().zip(&forward).rev() {
                assert_eq!(played.state(*at), *state, "{device} at {at}");
            }
            for at in times {
                let [here, soon] = [at, at + 1000.0].map(|at| played.state(at));
                for axis in 0..2 {
                    let moved_m = (soon[axis] - here[axis]).abs();
                    assert!(moved_m <= MOST_M_S * 1e-6, "{device} moves {moved_m} m in 1 us at {at}");
                }
            }
        }
    }

    #[test]
    fn a_sled_is_where_the_device_says_at_the_end_of_each_service() {
        for device in ["g2", "g3", "g1"] {
            let mut played = playback(device, "sptf");
            for index in 0..played.served.len() {
                let free = played.served[index].service.free;
                played.move_to(index + 1);
                let Coordinates { x_m, y_m } = played.current.device.position_m(free);
                // The last recorded arc ends then.
                let [x, y] = [0, 1].map(|axis| recorded_motion(&played.axes[axis], free.ns() as f64 - 0.5));
                let [x, y] = [x, y].map(|motion| motion.expect("the pass is recorded").axis);
                assert!((x.position_m - x_m).abs() < 1e-12, "{device} {index}: {x:?} {x_m}");
                // At the access speed the sled moves 14 pm in half a nanosecond.
                assert!((y.position_m - y_m).abs() < 1e-10, "{device} {index}: {y:?} {y_m}");
            }
        }
    }

    #[test]
    fn the_request_that_is_served_next_has_the_smallest_positioning_time_of_sptf() {
        let mut played = playback("g2", "sptf");
        let mut chosen = 0;
        for index in 1..played.served.len() {
            // Just before a dispatch to a busy device all candidates are known.
            let start = played.served[index].service.start;
            if played.served[index - 1].service.free != start {
                continue;
            }
            let mut numbers = Vec::new();
            played.pending(start.ns() as f64 - 1.0, &mut numbers);
            let rows: Vec<&[f64]> = numbers.chunks(PENDING.len()).collect();
            let Some(next) = rows.iter().find(|row| row[0] == index as f64) else { continue };
            assert!(rows.iter().all(|row| row[6] >= next[6]), "request {index}");
            chosen += usize::from(rows.len() > 1);
        }
        assert!(chosen > 50, "{chosen}");
    }

    #[test]
    fn a_disk_has_the_sector_of_a_request_under_its_head_when_the_access_begins() {
        let mut played = playback("atlas10k", "fcfs");
        let mut checked = 0;
        for recorded in played.axes[0].clone() {
            let RecordedArc { start, movement, .. } = recorded;
            let before = played.served.partition_point(|served| served.service.start <= start);
            let Some(Served { request, service }) = before.checked_sub(1).map(|index| played.served[index]) else {
                continue;
            };
            let is_first = movement == Movement::Access && start < service.end && request.blocks < 32;
            if !is_first {
                continue;
            }
            played.move_to(before - 1);
            let location = played.current.device.locate(&request);
            let angle = played.current.device.rotating().map(|rotating| part_of_turn(rotating.angle(location)));
            let ahead = (played.turn(start) - angle.unwrap_or_default()).rem_euclid(1.0);
            checked += usize::from(!(1e-6..1.0 - 1e-6).contains(&ahead));
        }
        // Read-ahead begins elsewhere, and so do requests whose first blocks are in the buffer.
        assert!(checked > 150, "{checked}");
    }

    #[test]
    fn systems_without_drawn_motion_are_described_with_the_reason() {
        for (system, says) in [
            (json!({"kind": "mirror", "members": [{"device": "g2"}, {"device": "g2"}]}), "a drive of one mechanism"),
            (json!({"device": "simpledisk-constant"}), "this device is not drawn"),
            (json!({"device": "g2-points"}), "this device is not drawn"),
        ] {
            let workload = json!({"arrival": {"kind": "poisson", "rate_per_s": 100}});
            let scenario = json!({"workload": workload, "system": system, "run": {"requests": 10}});
            let resolved = resolve(scenario).expect("it is valid");
            let Err(NotOpened::NotDrawn(reason)) = Playback::new(&resolved, 10) else {
                panic!("it cannot be drawn");
            };
            assert!(reason.contains(says), "{reason}");
            let description = system_description(&resolved, 10, reason).expect("it runs");
            assert_eq!(description["requests"].as_array().map(Vec::len), Some(10));
            // The last row of the measures is of the whole run.
            let rows = description["series"]["rows"].as_array().expect("rows");
            let mean_ms = rows.last().expect("a row")[2].as_f64().expect("a mean");
            let reported_ms = description["report"]["response"]["mean_ms"].as_f64().expect("a mean");
            assert!((mean_ms - reported_ms).abs() < 1e-9, "{mean_ms} {reported_ms}");
        }
    }

    #[test]
    fn power_cuts_and_failing_requests_are_named() {
        let resolved = |device: Value, run: Value| {
            let workload = json!({"arrival": {"kind": "poisson", "rate_per_s": 100}});
            resolve(json!({"workload": workload, "system": {"device": device}, "run": run})).expect("it is valid")
        };
        let reason = |resolved: &Resolved| match Playback::new(resolved, 300) {
            Err(NotOpened::NotDrawn(reason)) => reason,
            Err(NotOpened::Failed(message)) => panic!("{message}"),
            Ok(_) => panic!("it cannot be drawn"),
        };
        let cut = resolved(json!("g2"), json!({"requests": 300, "power_cuts": {"times_s": [1.0]}}));
        assert!(reason(&cut).contains("leave out run.power_cuts"));
        assert!(system_description(&cut, 300, POWER_CUT).is_ok());
        let tips = |failed_tips: u32| json!({"name": "g2", "failed_tips": failed_tips});
        // Some requests fail, and all of them.
        for failed_tips in [20, 200] {
            let failing = resolved(tips(failed_tips), json!({"requests": 300}));
            assert!(reason(&failing).contains("lower device.failed_tips"), "{failed_tips} tips");
            assert!(system_description(&failing, 300, TIPS_FAILED).is_ok());
        }
        // A spare tip replaces the failed one.
        let mut spared = tips(1);
        spared["spare_tips"] = json!(64);
        assert!(Playback::new(&resolved(spared, json!({"requests": 300})), 300).is_ok());
    }
}
