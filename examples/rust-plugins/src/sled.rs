//! A sled over fixed tips: columns of blocks side by side, each read down its length at a constant velocity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sledsim::engine::Stop;
use sledsim::fault::Fault;
use sledsim::plugin::{CustomMechanism, Factory, Parameters, Role, RustPlugin};
use sledsim::request::Request;
use sledsim::time::Time;

/// The sled in the list.
pub const PLUGIN: RustPlugin = RustPlugin {
    role: Role::Mechanism,
    name: "mine-sled",
    title: "Sled",
    description: "Columns of blocks; seeks at a constant acceleration along and across them at once, and settling.",
    source: "examples/custom_mechanism.py",
    text: include_str!("sled.rs"),
    parameters: Parameters::of::<Spec>(),
};

/// Parameters.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Columns.
    #[schemars(range(min = 1, max = 1000000))]
    pub columns: u32,
    /// Blocks of a column.
    #[schemars(range(min = 1, max = 1000000))]
    pub column_blocks: u32,
    /// Across all columns.
    #[schemars(extend("exclusiveMinimum" = 0.0, "x-unit" = "um"))]
    pub width_um: f64,
    /// Along a column.
    #[schemars(extend("exclusiveMinimum" = 0.0, "x-unit" = "um"))]
    pub length_um: f64,
    /// Of a seek, reversed half-way.
    #[schemars(extend("exclusiveMinimum" = 0.0, "x-unit" = "m/s2"))]
    pub acceleration_m_s2: f64,
    /// After a seek across columns.
    #[schemars(range(min = 0.0), extend("x-unit" = "ms"))]
    pub settle_ms: f64,
    /// Time that a block takes to pass.
    #[schemars(extend("exclusiveMinimum" = 0.0, "x-unit" = "us"))]
    pub block_us: f64,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            columns: 2500,
            column_blocks: 2700,
            width_um: 100.0,
            length_um: 100.0,
            acceleration_m_s2: 800.0,
            settle_ms: 0.2,
            block_us: 130.0,
        }
    }
}

impl Factory for Spec {
    fn mechanism(&self) -> Result<Box<dyn CustomMechanism>, Fault> {
        Ok(Box::new(Sled { spec: *self, column: 0, place: 0 }))
    }
}

#[derive(Clone)]
struct Sled {
    spec: Spec,
    column: u64,
    place: u64,
}

impl Sled {
    /// The time from where the sled stands to a place of a column: the longer of the ways across the columns and along them.
    fn seek_ns(&self, column: u64, place: u64) -> f64 {
        let Spec { columns, column_blocks, width_um, length_um, acceleration_m_s2, settle_ms, .. } = self.spec;
        let across_m = column.abs_diff(self.column) as f64 * width_um * 1e-6 / f64::from(columns);
        let along_m = place.abs_diff(self.place) as f64 * length_um * 1e-6 / f64::from(column_blocks);
        let settle_s = if across_m > 0.0 { settle_ms * 1e-3 } else { 0.0 };
        let across_s = 2.0 * (across_m / acceleration_m_s2).sqrt() + settle_s;
        across_s.max(2.0 * (along_m / acceleration_m_s2).sqrt()) * 1e9
    }

    fn column_and_place(&self, lbn: u64) -> (u64, u64) {
        let column_blocks = u64::from(self.spec.column_blocks);
        (lbn / column_blocks, lbn % column_blocks)
    }
}

impl CustomMechanism for Sled {
    fn name(&self) -> &str {
        PLUGIN.name
    }

    fn capacity_blocks(&self) -> u64 {
        u64::from(self.spec.columns) * u64::from(self.spec.column_blocks)
    }

    fn positioning_ns(&mut self, _now: Time, lbn: u64, _read: bool) -> Result<u64, Stop> {
        let (column, place) = self.column_and_place(lbn);
        Ok(self.seek_ns(column, place).round() as u64)
    }

    fn serve(&mut self, _now: Time, request: &Request) -> Result<u64, Stop> {
        (self.column, self.place) = self.column_and_place(request.lbn);
        let mut took_ns = 0.0;
        let mut left = u64::from(request.blocks);
        loop {
            let here = left.min(u64::from(self.spec.column_blocks) - self.place);
            took_ns += here as f64 * self.spec.block_us * 1e3;
            self.place += here;
            left -= here;
            if left == 0 {
                return Ok(took_ns.round() as u64);
            }
            took_ns += self.seek_ns(self.column + 1, 0);
            (self.column, self.place) = (self.column + 1, 0);
        }
    }
}
