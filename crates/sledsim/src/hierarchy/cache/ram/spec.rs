//! The parameters of a RAM cache.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RamCache;
use crate::engine::Component;
use crate::fault::{Fault, Faults};
use crate::hierarchy::common::Child;
use crate::hierarchy::kind::{ComponentKind, ComponentParameters, ComponentSpec, ONE_CHILD, SURVIVES_POWER_CUT};
use crate::plugin::{PluginSpec, ReplacementChoice, Role};
use crate::units::shown_bytes;

/// The kind.
pub const KIND: ComponentKind = ComponentKind {
    name: "ram-cache",
    description: "A controller's cache in RAM.",
    children: ONE_CHILD,
    parameters: ComponentParameters::of::<RamCacheSpec>(),
};

/// A controller's cache in RAM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RamCacheSpec {
    /// Size of the cache, rounded down to whole lines.
    #[schemars(range(min = 512, max = 1000000000000000_u64), extend("x-unit" = "B"))]
    pub bytes: u64,
    /// Size of a line, which is admitted and evicted as a whole; each of its blocks is valid or not, and dirty or not. A multiple of
    /// the block size.
    #[serde(default = "four_kib")]
    #[schemars(range(min = 512, max = 67108864), extend("x-unit" = "B"))]
    pub line_bytes: u64,
    /// Replacement policy of lines.
    #[serde(default)]
    pub policy: ReplacementChoice,
    /// When a write completes.
    #[serde(default)]
    pub write: WritePolicy,
    /// If true, a power cut empties the cache, and durable writes go through to the child.
    #[serde(default = "yes")]
    pub volatile: bool,
    /// Time from the moment the cache has the blocks of a request until the request completes.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "us"))]
    pub access_us: f64,
    /// Transfer rate to and from the host, after the access time; no limit if absent.
    #[serde(default)]
    #[schemars(range(min = 0.001, max = 1000000000.0), extend("x-unit" = "MB/s"))]
    pub mb_per_s: Option<f64>,
    /// Blocks that are read in addition to requested blocks.
    #[serde(default)]
    pub read_ahead: ReadAheadSpec,
    /// Eviction of dirty lines.
    #[serde(default)]
    pub eviction: Eviction,
    /// When dirty blocks are written to the child.
    #[serde(default)]
    pub flush: FlushSpec,
}

/// When a write completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WritePolicy {
    /// Write-back: when the cache has the data.
    #[default]
    Back,
    /// Write-through: when the child has the data.
    Through,
}

/// Eviction of dirty lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Eviction {
    /// Dirty lines are skipped: the policy evicts the next clean line. A request waits only if there is none.
    #[default]
    Skip,
    /// The policy evicts the next line, clean or dirty. A request waits until the dirty blocks of that line are written, as in
    /// DiskSim 4.0's controller cache (`Allocation policy = 0`).
    Wait,
}

/// Blocks that are read in addition to requested blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
// Without parameters, too, the variants have braces: serde denies unknown fields only there.
pub enum ReadAheadSpec {
    /// None.
    None {},
    /// The rest of each line with missing blocks, in the same access.
    Line {},
    /// Blocks behind a read that continues an earlier one, in a separate access: one line at first, and twice as many with each
    /// further read. Sixteen streams are tracked.
    Sequential {
        /// Largest read-ahead of a stream, rounded down to whole lines, and at most half the cache.
        #[serde(default = "kib_128")]
        #[schemars(range(min = 512, max = 1073741824), extend("x-unit" = "B"))]
        most_bytes: u64,
    },
}

impl Default for ReadAheadSpec {
    fn default() -> Self {
        Self::None {}
    }
}

/// When dirty blocks are written to the child. They are also written when no other line can be evicted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlushSpec {
    /// If true, dirty blocks are written only when a line has to be evicted or the host flushes (DiskSim 4.0's `Flush policy = 0`).
    /// `idle_ms` and `period_s` must then be absent, and `high_water` and `low_water` have no effect.
    #[serde(default)]
    pub demand_only: bool,
    /// Time without a request after which dirty blocks are written until the next request; never if absent. 50 ms if `flush` is
    /// absent.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1000000000.0), extend("x-unit" = "ms"))]
    pub idle_ms: Option<f64>,
    /// Share of dirty lines from which on they are written.
    #[serde(default = "three_quarters")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub high_water: f64,
    /// Share of dirty lines at which this ends; at most `high_water`.
    #[serde(default = "half")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub low_water: f64,
    /// Time after a block became dirty at which all dirty blocks are written; never if absent.
    #[serde(default)]
    #[schemars(range(min = 0.000001, max = 1000000000.0), extend("x-unit" = "s"))]
    pub period_s: Option<f64>,
    /// Largest number of background writes under way at once.
    #[serde(default = "one_write")]
    #[schemars(range(min = 1, max = 1024))]
    pub outstanding: u32,
    /// Largest write into which dirty blocks of consecutive lines are joined.
    #[serde(default = "mib")]
    #[schemars(range(min = 512, max = 1073741824), extend("x-unit" = "B"))]
    pub most_write_bytes: u64,
}

impl Default for FlushSpec {
    fn default() -> Self {
        Self {
            demand_only: false,
            idle_ms: Some(50.0),
            high_water: three_quarters(),
            low_water: half(),
            period_s: None,
            outstanding: one_write(),
            most_write_bytes: mib(),
        }
    }
}

impl ComponentSpec for RamCacheSpec {
    fn build(&self, children: &[Child]) -> Result<Box<dyn Component>, Faults> {
        let Child { id, capacity_blocks, block_bytes } = children[0];
        Ok(Box::new(RamCache::new(self, id, capacity_blocks, block_bytes)?))
    }

    fn issues_own_writes(&self) -> bool {
        self.write == WritePolicy::Back
    }

    fn notes(&self, _members: u64) -> Vec<String> {
        vec![match (self.write, self.volatile) {
            (WritePolicy::Through, _) => "writes wait for the child".into(),
            (WritePolicy::Back, false) => {
                format!("writes are acknowledged from non-volatile memory: {SURVIVES_POWER_CUT}")
            }
            (WritePolicy::Back, true) => format!(
                "writes are acknowledged from volatile memory: a power cut loses up to {} of them",
                shown_bytes(self.bytes / self.line_bytes.max(1) * self.line_bytes)
            ),
        }]
    }

    fn custom(&self) -> Option<(&PluginSpec, Role)> {
        Some((self.policy.custom()?, Role::Replacement))
    }

    fn custom_mut(&mut self) -> Option<(&mut PluginSpec, Role)> {
        Some((self.policy.custom_mut()?, Role::Replacement))
    }
}

impl RamCacheSpec {
    /// Checks the parameters for a child of `capacity_blocks` blocks of `block_bytes` bytes.
    ///
    /// # Errors
    /// All values that contradict each other or the child.
    pub fn validate(&self, capacity_blocks: u64, block_bytes: u32) -> Result<(), Faults> {
        Faults::of_all([
            self.check_size(capacity_blocks, block_bytes).map_err(Faults::from),
            self.policy.validate().map_err(|faults| faults.within("policy")),
            self.check_write_through(),
            self.check_demand().map_err(Faults::from),
            self.check_water().map_err(Faults::from),
            self.check_writes(block_bytes).map_err(Faults::from),
            self.check_read_ahead().map_err(Faults::from),
        ])
    }

    fn check_size(&self, capacity_blocks: u64, block_bytes: u32) -> Result<(), Fault> {
        let (block, line, bytes) = (u64::from(block_bytes), self.line_bytes, self.bytes);
        if line == 0 || line % block != 0 {
            let blocks = format!(" is no whole number of the {block} B blocks of ");
            return Err(Fault::misfit("line_bytes", line).says(blocks).key("child"));
        }
        if bytes / line < 2 {
            return Err(Fault::conflict("bytes", bytes)
                .says(": a cache holds at least two lines, and ")
                .key_is("line_bytes", line));
        }
        let child = u128::from(capacity_blocks) * u128::from(block);
        if u128::from(bytes) > child {
            let larger = format!(": larger than the {child} B of ");
            return Err(Fault::misfit("bytes", bytes).says(larger).key("child").says(" that it caches"));
        }
        if bytes / line > u64::from(crate::hierarchy::cache::replacement::MAX_SLOTS) {
            return Err(Fault::conflict("bytes", bytes)
                .says(" in lines of ")
                .key_is("line_bytes", line)
                .says(": a cache has at most 2^31 - 1 lines"));
        }
        Ok(())
    }

    /// Checks that no key is about dirty lines if there are none.
    fn check_write_through(&self) -> Result<(), Faults> {
        if self.write != WritePolicy::Through {
            return Ok(());
        }
        let check = |key: &str, value: Value, is_given: bool| {
            if !is_given {
                return Ok(());
            }
            let fault = Fault::conflict(key, value).says(" has no effect with ").key_is("write", "through");
            Err(fault.says(", as no line is dirty then: leave one of them out"))
        };
        Faults::of_all([
            check("eviction", "wait".into(), self.eviction == Eviction::Wait),
            check("flush.demand_only", true.into(), self.flush.demand_only),
        ])
    }

    fn check_demand(&self) -> Result<(), Fault> {
        let FlushSpec { demand_only, idle_ms, period_s, .. } = self.flush;
        let times = [("flush.idle_ms", idle_ms), ("flush.period_s", period_s)];
        match times.into_iter().find_map(|(key, time)| Some((key, time?))) {
            Some((key, time)) if demand_only => Err(Fault::conflict(key, time)
                .says(" has no effect with ")
                .key_is("flush.demand_only", true)
                .says(": leave one of them out")),
            _ => Ok(()),
        }
    }

    fn check_water(&self) -> Result<(), Fault> {
        let FlushSpec { high_water, low_water, .. } = self.flush;
        if !((0.0..=1.0).contains(&high_water) && (0.0..=high_water).contains(&low_water)) {
            return Err(Fault::conflict("flush.low_water", low_water)
                .says(" and ")
                .key_is("flush.high_water", high_water)
                .says(": from 0 to 1, in order"));
        }
        Ok(())
    }

    fn check_writes(&self, block_bytes: u32) -> Result<(), Fault> {
        let FlushSpec { most_write_bytes, outstanding, .. } = self.flush;
        let block = u64::from(block_bytes);
        if most_write_bytes < block || outstanding == 0 {
            let less = format!(": less than a block of {block} B of ");
            return Err(Fault::misfit("flush.most_write_bytes", most_write_bytes).says(less).key("child"));
        }
        Ok(())
    }

    fn check_read_ahead(&self) -> Result<(), Fault> {
        match self.read_ahead {
            ReadAheadSpec::Sequential { most_bytes } if most_bytes < self.line_bytes => {
                Err(Fault::conflict("read_ahead.most_bytes", most_bytes)
                    .says(": less than a line, and ")
                    .key_is("line_bytes", self.line_bytes))
            }
            _ => Ok(()),
        }
    }
}

const fn four_kib() -> u64 {
    4096
}

const fn kib_128() -> u64 {
    131_072
}

const fn mib() -> u64 {
    1 << 20
}

const fn yes() -> bool {
    true
}

const fn one() -> f64 {
    1.0
}

const fn three_quarters() -> f64 {
    0.75
}

const fn half() -> f64 {
    0.5
}

const fn one_write() -> u32 {
    1
}
