//! Parameters of a MEMS device.

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::devices::mems::motion::SeekModel;

/// Order of rows along the tracks of a cylinder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// Every second track has its rows in reverse order, so that each track begins at the row where the previous one ends.
    #[default]
    Serpentine,
    /// Every track has its rows in the same order.
    Simple,
}

/// Motion of an idle sled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Idle {
    /// The sled keeps the position and speed that the last request left it with.
    #[default]
    Hold,
    /// The sled moves up and down its cylinder at access speed.
    Sweep,
}

/// Where the sled stops to save power, and starts again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StopAt {
    /// At the centre of travel, where the springs hold it. After the start-up it is at rest there.
    #[default]
    Centre,
    /// Where it is. After the start-up it is at rest there.
    InPlace,
}

/// Tips that continue to read servo bursts while the sled is idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleTips {
    /// None: idle power is that of the sled.
    #[default]
    None,
    /// The tips of the last access (lin2002, section 4).
    LastAccess,
}

/// How data are accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transfer {
    /// By row: a pass over a tip sector accesses all blocks of the row.
    #[default]
    Rows,
    /// As a stream without row boundaries: each block is accessed at the rate of all active tips (griffin1999, section 4).
    Fluid,
    /// By point: a block is at one position of the sled, with one bit under each of its tips, and the sled can continue from there along Y
    /// or along X (schlosser2004, section 7).
    Points,
}

/// When the data of a write cross the bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteTransfer {
    /// While the sled moves to a row: the pass over it begins when all of its blocks have crossed.
    #[default]
    Overlapped,
    /// Before the sled moves to a row: the pass over it writes the blocks that have crossed by then, at least the first one; further
    /// passes write the others. DiskSim 4.0's MEMS module does this. Requests that are accessed together wait for their blocks as with
    /// `overlapped`.
    Before,
}

/// Direction of the passes over rows along Y.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowDirection {
    /// The direction in which the sled reaches the row sooner, so that passes over the rows of a cylinder alternate.
    #[default]
    Alternating,
    /// That of the row's track: upward, or with `layout = "serpentine"` downward on every second track (griffin1999, section 4.1).
    ByTrack,
}

/// Tips of a sled that have failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FailedTips {
    /// The number of failed tips; they are chosen at random by `tip_seed`, independently for each sled.
    Number(u32),
    /// The failed tips of every sled, in the order in which they failed.
    These(Vec<u32>),
}

impl Default for FailedTips {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl JsonSchema for FailedTips {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FailedTips".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let number = json_schema!({"type": "integer", "minimum": 0, "maximum": 10_000_000});
        json_schema!({"anyOf": [number, {"type": "array", "items": number}]})
    }
}

/// Distribution of LBNs over several sleds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SledLayout {
    /// Each sled holds a contiguous share of the LBN space.
    #[default]
    Split,
    /// Stripe units are placed on the sleds in turn.
    Striped,
    /// Each sled holds all LBNs.
    Mirrored,
    /// Stripe units with rotated parity, as in RAID level 5: any one sled may fail.
    Parity,
}

/// An idle time after which the sled stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Timeout {
    /// After this many milliseconds.
    AfterMs(f64),
    /// Never.
    #[default]
    #[serde(with = "never")]
    Never,
}

mod never {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub fn serialize<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("never")
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "never" => Ok(()),
            other => Err(D::Error::custom(format!("{other:?} is neither a number of milliseconds nor \"never\""))),
        }
    }
}

impl JsonSchema for Timeout {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timeout".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "number", "minimum": 0.0, "maximum": 1e9}, {"const": "never"}]})
    }
}

/// A MEMS device: one or more sleds, each carrying media over fixed probe tips.
///
/// Sources: Griffin et al. 1999, sections 2.2 and 4.1; Schlosser et al. 2000, section 2 and Table 2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemsParameters {
    /// Catalogue entry, or path of a device file, that the values not given here come from.
    pub name: String,
    /// Travel of the sled along X: the width of a tip's region.
    #[schemars(range(min = 1.0, max = 10000.0), extend("x-unit" = "um"))]
    pub x_range_um: f64,
    /// Travel of the sled along Y: the height of a tip's region.
    #[schemars(range(min = 1.0, max = 10000.0), extend("x-unit" = "um"))]
    pub y_range_um: f64,
    /// Width of a bit, which is square.
    #[schemars(range(min = 1.0, max = 10000.0), extend("x-unit" = "nm"))]
    pub bit_nm: f64,
    /// Number of probe tips over one sled.
    #[schemars(range(min = 1, max = 10000000))]
    pub tips: u32,
    /// Number of the tips, the last ones, that are spares. A spare replaces a failed tip at the same position of its region
    /// (schlosser2000, section 2.3).
    #[serde(default)]
    #[schemars(range(min = 0, max = 10000000))]
    pub spare_tips: u32,
    /// Number of tips of a block that hold an erasure code over its data tips: that many of a block's tips may fail (schlosser2000,
    /// section 2.4). They are active in writes, and in reads only instead of failed tips.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000))]
    pub parity_tips: u32,
    /// Tips that have failed since the data were written: their number, or a list of tips, counted from 0. Each gets a spare tip, in the
    /// order in which they failed, as long as there are working spares.
    #[serde(default)]
    pub failed_tips: FailedTips,
    /// Probability that a tip sector can't be read in a pass, independently in each pass. Another pass reads the blocks that failed, with
    /// their parity tips on.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 0.5))]
    pub read_error_rate: f64,
    /// Seed of the choice of failed tips and of read errors.
    #[serde(default = "tip_seed")]
    pub tip_seed: u64,
    /// Number of tips that can be active at the same time.
    #[schemars(range(min = 1, max = 10000000))]
    pub active_tips: u32,
    /// Size of a logical block.
    #[schemars(range(min = 1, max = 1048576), extend("x-unit" = "B"))]
    pub block_bytes: u32,
    /// Data bytes in a tip sector, between two servo bursts. A block is striped over `block_bytes / tip_sector_bytes` tips, or with
    /// `transfer = "points"` over one tip per bit.
    #[schemars(range(min = 1, max = 4096), extend("x-unit" = "B"))]
    pub tip_sector_bytes: u32,
    /// Bits on the media for each byte of data, including error correction.
    #[schemars(range(min = 8, max = 64), extend("x-unit" = "bit"))]
    pub encoded_bits_per_byte: u32,
    /// Bits of a servo burst, before each tip sector and after the last.
    #[schemars(range(min = 0, max = 10000), extend("x-unit" = "bit"))]
    pub servo_bits: u32,
    /// Order of rows along the tracks of a cylinder.
    #[serde(default)]
    pub layout: Layout,
    /// If true, data can be accessed while the sled moves in either direction along Y; otherwise only while it moves upward.
    pub bidirectional: bool,
    /// Direction of the passes over rows, if data can be accessed in both directions.
    #[serde(default)]
    pub row_direction: RowDirection,
    /// Acceleration of the sled's actuator along X.
    #[schemars(range(min = 0.1, max = 1000000.0), extend("x-unit" = "m/s2"))]
    pub acceleration_x_m_s2: f64,
    /// Acceleration of the sled's actuator along Y.
    #[schemars(range(min = 0.1, max = 1000000.0), extend("x-unit" = "m/s2"))]
    pub acceleration_y_m_s2: f64,
    /// Spring force at full displacement as a fraction of the actuator's force.
    #[schemars(range(min = 0.0, max = 0.99))]
    pub spring_factor: f64,
    /// Distance beyond the travel along Y at which the fingers of the actuator touch. It limits the access speed: actuator and springs must
    /// be able to stop the sled within this distance (schlosser2000, section 2.3). No limit if absent.
    #[serde(default)]
    #[schemars(range(min = 0.001, max = 10000.0), extend("x-unit" = "um"))]
    pub finger_gap_um: Option<f64>,
    /// Resonant frequency of the sled, which sets the settling time constant.
    #[schemars(range(min = 1.0, max = 1000000.0), extend("x-unit" = "Hz"))]
    pub resonance_hz: f64,
    /// Number of time constants of settling after a move along X.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub settle_constants: f64,
    /// Distance along X that tips bend. Columns within it are reached without a move along X and settling; the sled follows the tips during
    /// the access. 0: tips do not bend (griffin1999, section 4.1, names bending tips as an optimisation of cylinder switches).
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "nm"))]
    pub tip_deflection_nm: f64,
    /// Rate at which bits pass under each tip. The access speed is this rate times the bit width.
    #[schemars(range(min = 0.1, max = 1000000.0), extend("x-unit" = "kbit/s"))]
    pub bit_rate_kbit_s: f64,
    /// How data are accessed: by row, as a stream at the rate of all tips, or by point along either axis.
    #[serde(default)]
    pub transfer: Transfer,
    /// Model of seek times.
    #[serde(default)]
    pub seek_model: SeekModel,
    /// Command processing, from arrival until the request may be scheduled; requests overlap in it.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub overhead_ms: f64,
    /// Bus time of a block.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "ms"))]
    pub bus_ms_per_block: f64,
    /// When the data of a write cross the bus.
    #[serde(default)]
    pub write_transfer: WriteTransfer,
    /// Number of rows in the read buffer, which replaces the least recently used row; 0 for no buffer. With a buffer, reads activate the
    /// tips of all blocks of a row, which takes energy but no additional time, and a read of buffered rows takes bus time only. Writes go
    /// to the media. Batches and merged requests bypass the buffer.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1000000))]
    pub buffer_rows: u32,
    /// Motion of an idle sled.
    #[serde(default)]
    pub idle: Idle,
    /// Idle time after which the sled stops, or "never". The device starts the run stopped, at the centre.
    #[serde(default)]
    #[schemars(extend("x-unit" = "ms"))]
    pub inactive_after_ms: Timeout,
    /// Where the sled stops and starts again: at the centre, or where it is.
    #[serde(default)]
    pub stop_at: StopAt,
    /// Delay of the first request after a stop.
    #[schemars(range(min = 0.0, max = 10000.0), extend("x-unit" = "ms"))]
    pub startup_ms: f64,
    /// Power of the moving sled: seeking, accessing, idle.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "mW"))]
    pub sled_mw: f64,
    /// Power of each tip while servo or data bits pass under it.
    #[schemars(range(min = 0.0, max = 1000.0), extend("x-unit" = "mW"))]
    pub tip_mw: f64,
    /// Power of the stopped device.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "mW"))]
    pub inactive_mw: f64,
    /// Power during start-up.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "mW"))]
    pub startup_mw: f64,
    /// Tips that continue to read servo bursts while the sled is idle.
    #[serde(default)]
    pub idle_tips: IdleTips,
    /// Number of independent sleds.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1024))]
    pub sleds: u32,
    /// Distribution of LBNs over several sleds.
    #[serde(default)]
    pub sled_layout: SledLayout,
    /// Sleds that have failed, counted from 0.
    #[serde(default)]
    pub failed_sleds: Vec<u32>,
    /// Size of a stripe unit, if sleds are striped, with or without parity.
    #[serde(default = "default_stripe")]
    #[schemars(range(min = 1, max = 1000000000))]
    pub stripe_blocks: u32,
}

impl MemsParameters {
    /// Returns true if sleds differ in their random failed tips or read errors.
    #[must_use]
    pub fn sleds_differ(&self) -> bool {
        matches!(self.failed_tips, FailedTips::Number(1..)) || self.read_error_rate > 0.0
    }
}

const fn one() -> u32 {
    1
}

const fn tip_seed() -> u64 {
    1
}

const fn default_stripe() -> u32 {
    64
}
