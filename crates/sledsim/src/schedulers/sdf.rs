//! SDF: shortest distance first.

use super::arrival_list::Key;
use super::cylinder_index::{ByCylinder, CylinderIndex, CylinderPolicy, Side, Span};
use super::{Policy, PolicySpec, Scheduler, SchedulerSpec};
use crate::devices::{Location, Mechanism};
use crate::registry::no_parameters;
use crate::time::Time;

/// SDF in the list of policies.
pub const POLICY: Policy = Policy {
    name: "sdf",
    title: "SDF",
    description: "Shortest distance first: the request at the shortest Euclidean distance from the mechanism.",
    source: "Schlosser and Ganger, MEMS-based storage devices and standard disk interfaces: a square peg in a round \
             hole?, FAST 2004, section 5.4",
    default: SchedulerSpec::Sdf(Spec {}),
};

no_parameters! {
    /// Shortest Euclidean distance first.
    PolicySpec: fn build(&self, device: &dyn Mechanism) -> Box<dyn Scheduler> {
        Box::new(ByCylinder::new(Sdf::new(device), device))
    }
}

/// Shortest distance first: serves the request at the shortest Euclidean distance from the mechanism's position; ties go by arrival.
///
/// It picks the same request as an exhaustive search: the distance along X, which is monotonic in the cylinder number
/// ([`Mechanism::coordinates_m`]), and that along Y to the nearest row bound the search outwards from the mechanism. At high loads it ends
/// soon after the first request in the nearest row, whatever the number of pending requests.
#[derive(Clone)]
struct Sdf {
    all: Span,
    /// 1 if X rises with the cylinder number, -1 if it falls.
    x_sign: f64,
    /// Y of all requests so far, ascending, without repetitions.
    rows_m: Vec<f64>,
}

impl Sdf {
    fn new(device: &dyn Mechanism) -> Self {
        let all = Span::all(device);
        let rises = x_m(device, all.first) <= x_m(device, all.last);
        Self { all, x_sign: if rises { 1.0 } else { -1.0 }, rows_m: Vec::new() }
    }

    /// Returns the distance along Y to the nearest row of a request, squared, m².
    fn nearest_row_m2(&self, y_m: f64) -> f64 {
        let above = self.rows_m.partition_point(|&row_m| row_m < y_m);
        let nearby = &self.rows_m[above.saturating_sub(1)..self.rows_m.len().min(above + 1)];
        nearby.iter().map(|row_m| (row_m - y_m) * (row_m - y_m)).reduce(f64::min).unwrap_or_default()
    }
}

fn x_m(device: &dyn Mechanism, cylinder: u32) -> f64 {
    device.coordinates_m(Location { cylinder, slot: 0 }).x_m
}

impl CylinderPolicy for Sdf {
    fn pushed(&mut self, location: Location, device: &dyn Mechanism) {
        let y_m = device.coordinates_m(location).y_m;
        let place = self.rows_m.partition_point(|&row_m| row_m < y_m);
        if self.rows_m.get(place).is_none_or(|&row_m| row_m > y_m) {
            self.rows_m.insert(place, y_m);
        }
    }

    fn pick(&mut self, pending: &CylinderIndex, now: Time, device: &dyn Mechanism) -> Option<Key> {
        let at = device.position_m(now);
        let row_m2 = self.nearest_row_m2(at.y_m);
        // The position can lie between cylinders. The bound of a cylinder between it and the start is 0, so that the bound never falls
        // outwards.
        let bound_m2 = |side, cylinder| {
            let outwards = if side == Side::Above { self.x_sign } else { -self.x_sign };
            let dx_m = (outwards * (x_m(device, cylinder) - at.x_m)).max(0.0);
            dx_m * dx_m + row_m2
        };
        let distance_m2 = |location| {
            let to = device.coordinates_m(location);
            let (dx_m, dy_m) = (to.x_m - at.x_m, to.y_m - at.y_m);
            dx_m * dx_m + dy_m * dy_m
        };
        pending.cheapest(self.all, device.cylinder(now), bound_m2, distance_m2)
    }
}
