//! A simple two-dimensional sled for tests and benchmarks of schedulers.

use std::cell::Cell;

use sledsim::devices::{
    Coordinates, Dimensions, EnergyLedger, Location, Mechanism, Phases, Platter, Rotating, Service,
};
use sledsim::request::Request;
use sledsim::time::{s_to_ns, Time};

/// A sled that seeks in X and Y at the same time: `rows` rows per cylinder, `blocks_per_row` consecutive LBNs per row.
///
/// A seek in X takes no time within a cylinder, otherwise settling plus 2 sqrt(distance / acceleration), with an acceleration for each
/// direction. A seek in Y takes a time proportional to the rows. Positioning takes the longer of both. All times are rounded down to
/// multiples of `quantum_ns`, so that a coarse quantum makes ties common.
#[derive(Clone, Debug)]
pub struct Sled {
    /// Number of cylinders.
    pub cylinders: u32,
    /// Rows of a cylinder.
    pub rows: u32,
    /// Blocks of a row, which are accessed together.
    pub blocks_per_row: u32,
    /// Settling time of a move along X, ns.
    pub settle_ns: u64,
    /// Distance of neighbouring cylinders, m.
    pub cylinder_pitch_m: f64,
    /// Distance of neighbouring rows, m.
    pub row_pitch_m: f64,
    /// Accelerations towards higher and towards lower cylinders.
    pub accelerations_m_s2: (f64, f64),
    /// Time to cross a row, ns.
    pub row_ns: u64,
    /// Unit of all times, ns.
    pub quantum_ns: u64,
    /// Difference between the X seek to a cylinder and its bound, ns.
    pub bound_slack_ns: u64,
    /// Time of a revolution of a platter, ns; 0 without a platter. Rows are evenly spaced on it, and positioning waits for the row.
    pub revolution_ns: u64,
    /// True if X coordinates fall as cylinder numbers rise.
    pub mirrored: bool,
    /// Location of the sled.
    pub at: Location,
    /// Distance of the sled from its cylinder, in cylinder pitches.
    pub offset: f64,
    /// Number of computed positioning times and coordinates.
    pub asked: Cell<u64>,
}

impl Sled {
    /// Returns a sled of 2500 cylinders of 27 rows, with seek times of a first-generation MEMS device.
    pub fn mems() -> Self {
        Self {
            cylinders: 2500,
            rows: 27,
            blocks_per_row: 20,
            settle_ns: 200_000,
            cylinder_pitch_m: 40e-9,
            row_pitch_m: 3.6e-6,
            accelerations_m_s2: (800.0, 800.0),
            row_ns: 26_900,
            quantum_ns: 1,
            bound_slack_ns: 0,
            revolution_ns: 0,
            mirrored: false,
            at: Location { cylinder: 1250, slot: 13 },
            offset: 0.0,
            asked: Cell::new(0),
        }
    }

    fn x_seek_ns(&self, cylinder: u32) -> u64 {
        let distance = cylinder.abs_diff(self.at.cylinder);
        if distance == 0 {
            return 0;
        }
        let (up, down) = self.accelerations_m_s2;
        let acceleration_m_s2 = if cylinder > self.at.cylinder { up } else { down };
        let distance_m = f64::from(distance) * self.cylinder_pitch_m;
        self.quantise(self.settle_ns + s_to_ns(2.0 * (distance_m / acceleration_m_s2).sqrt()))
    }

    fn y_seek_ns(&self, row: u32) -> u64 {
        self.quantise(u64::from(row.abs_diff(self.at.slot)) * self.row_ns)
    }

    /// Returns the time in each revolution at which a row passes.
    fn row_phase_ns(&self, row: u32) -> u64 {
        u64::from(row) * self.revolution_ns / u64::from(self.rows)
    }

    const fn quantise(&self, ns: u64) -> u64 {
        ns - ns % self.quantum_ns
    }

    fn x_m(&self, cylinder: f64) -> f64 {
        (cylinder - f64::from(self.cylinders) / 2.0) * self.cylinder_pitch_m * if self.mirrored { -1.0 } else { 1.0 }
    }

    fn y_m(&self, row: u32) -> f64 {
        (f64::from(row) - f64::from(self.rows) / 2.0) * self.row_pitch_m
    }
}

impl Mechanism for Sled {
    fn dimensions(&self) -> Dimensions {
        Dimensions {
            capacity_blocks: u64::from(self.cylinders) * u64::from(self.rows) * u64::from(self.blocks_per_row),
            block_bytes: 512,
            cylinders: self.cylinders,
            command_overhead_ns: 0,
        }
    }

    fn locate(&self, request: &Request) -> Location {
        let row = request.lbn / u64::from(self.blocks_per_row);
        let rows = u64::from(self.rows);
        Location { cylinder: (row / rows) as u32, slot: (row % rows) as u32 }
    }

    fn coordinates_m(&self, location: Location) -> Coordinates {
        self.asked.set(self.asked.get() + 1);
        Coordinates { x_m: self.x_m(f64::from(location.cylinder)), y_m: self.y_m(location.slot) }
    }

    fn position_m(&self, _now: Time) -> Coordinates {
        Coordinates { x_m: self.x_m(f64::from(self.at.cylinder) + self.offset), y_m: self.y_m(self.at.slot) }
    }

    fn cylinder(&self, _now: Time) -> u32 {
        self.at.cylinder
    }

    fn cylinder_bound_ns(&self, _now: Time, cylinder: u32) -> u64 {
        self.x_seek_ns(cylinder).saturating_sub(self.bound_slack_ns)
    }

    fn positioning_ns(&self, now: Time, location: Location) -> u64 {
        self.asked.set(self.asked.get() + 1);
        let seek_ns = self.x_seek_ns(location.cylinder).max(self.y_seek_ns(location.slot));
        if self.revolution_ns == 0 {
            return seek_ns;
        }
        let turned_ns = (now.ns() + seek_ns) % self.revolution_ns;
        seek_ns + (self.row_phase_ns(location.slot) + self.revolution_ns - turned_ns) % self.revolution_ns
    }

    fn serve(&mut self, now: Time, request: &Request) -> Service {
        let seek_ns = self.positioning_ns(now, self.locate(request));
        self.at = self.locate(&Request { lbn: request.end_lbn() - 1, ..*request });
        let end = now + seek_ns + 100_000;
        let phases = Phases { seek_ns, transfer_ns: 100_000, ..Phases::default() };
        Service { start: now, end, free: end, phases, ..Service::default() }
    }

    fn ledger(&self, _now: Time) -> EnergyLedger {
        EnergyLedger::default()
    }

    fn rotating(&self) -> Option<&dyn Rotating> {
        Some(self)
    }
}

impl Rotating for Sled {
    fn platter(&self, now: Time) -> Option<Platter> {
        let turned_ns = now.ns().checked_rem(self.revolution_ns)?;
        Platter::new(self.revolution_ns, Platter::fraction(turned_ns, self.revolution_ns))
    }

    fn angle(&self, location: Location) -> u64 {
        match self.revolution_ns {
            0 => 0,
            whole_ns => Platter::fraction(self.row_phase_ns(location.slot), whole_ns),
        }
    }
}

/// Returns a read of `blocks` at `lbn` that arrives at `arrival_ns`.
pub fn read(id: u64, arrival_ns: u64, lbn: u64, blocks: u32) -> Request {
    Request { id, arrival: Time::from_ns(arrival_ns), ..Request::read(lbn, blocks) }
}
