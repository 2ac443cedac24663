//! The parameters of a write buffer, and the sizes that follow from them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WriteBuffer;
use crate::engine::Component;
use crate::fault::{Fault, Faults, Range};
use crate::hierarchy::common::Child;
use crate::hierarchy::kind::{ComponentKind, ComponentParameters, ComponentSpec, MEMS_AND_DISK, SURVIVES_POWER_CUT};

/// The kind.
pub const KIND: ComponentKind = ComponentKind {
    name: "mwb",
    description: "A MEMS device as a write buffer of a disk (hong2006, section 4.1.1).",
    children: MEMS_AND_DISK,
    parameters: ComponentParameters::of::<WriteBufferSpec>(),
};

/// The smallest number of logs in the ring.
const MIN_LOGS: u64 = 4;

/// A MEMS device as a write buffer of a disk (hong2006, section 4.1.1), in its "MWB" configuration.
///
/// Writes are appended to a log on the MEMS device and complete once they are there. Reads find the newest copy on either device.
/// Logs are cleaned in the order in which they were written: the valid blocks of the oldest logs are sorted by address, joined
/// and written to the disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WriteBufferSpec {
    /// Part of the MEMS device that holds the log, from the first block on; all of it if absent. 256 MiB in the paper
    /// (section 4.2).
    #[schemars(range(min = 1), extend("x-unit" = "B"))]
    pub mems_bytes: Option<u64>,
    /// Size of one log (128 KiB in the paper, section 4.3).
    #[schemars(range(min = 4096, max = 67108864), extend("x-unit" = "B"))]
    pub log_bytes: u64,
    /// Size of the buffer between the MEMS device and the disk (2 MiB in the paper, section 4.2). Logs that fit into it together are
    /// cleaned together.
    #[schemars(range(min = 4096, max = 1073741824), extend("x-unit" = "B"))]
    pub buffer_bytes: u64,
    /// When and how logs are cleaned.
    pub clean: WriteBufferCleanSpec,
}

/// When and how logs are cleaned. The paper says only "in background when the MEMS space is heavily utilized" and "to disk idle
/// periods".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WriteBufferCleanSpec {
    /// Share of logs in use from which on logs are cleaned while the disk is idle.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub high_water: f64,
    /// Share of logs in use at which this cleaning ends.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub low_water: f64,
    /// Share of logs in use from which on logs are cleaned even if the disk is busy.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub urgent: f64,
    /// Time without a read of the disk after which it counts as idle.
    #[schemars(range(min = 0.0, max = 1000000.0), extend("x-unit" = "ms"))]
    pub idle_ms: f64,
    /// Largest write to the disk into which blocks of several logs are joined.
    #[schemars(range(min = 1, max = 1073741824), extend("x-unit" = "B"))]
    pub most_write_bytes: u64,
    /// Largest number of writes to the disk under way at once.
    #[schemars(range(min = 1, max = 64))]
    pub outstanding: u32,
}

impl Default for WriteBufferSpec {
    fn default() -> Self {
        Self { mems_bytes: None, log_bytes: 128 << 10, buffer_bytes: 2 << 20, clean: WriteBufferCleanSpec::default() }
    }
}

impl Default for WriteBufferCleanSpec {
    fn default() -> Self {
        Self { high_water: 0.8, low_water: 0.7, urgent: 0.95, idle_ms: 10.0, most_write_bytes: 1 << 20, outstanding: 1 }
    }
}

impl ComponentSpec for WriteBufferSpec {
    fn build(&self, children: &[Child]) -> Result<Box<dyn Component>, Faults> {
        Ok(Box::new(WriteBuffer::new(self, children[0], children[1])?))
    }

    fn notes(&self, _members: u64) -> Vec<String> {
        vec![format!("writes are acknowledged when the log on mems has them: {SURVIVES_POWER_CUT}")]
    }

    fn issues_own_writes(&self) -> bool {
        true
    }
}

/// Sizes that follow from the parameters and the children.
pub(super) struct LogSizes {
    /// Number of logs.
    pub logs: u32,
    /// Size of a log, blocks.
    pub log_blocks: u32,
}

impl WriteBufferSpec {
    /// The sizes of the logs on a MEMS device of `mems_bytes` in blocks of `block_bytes`, over a disk of
    /// `disk_bytes`.
    ///
    /// # Errors
    /// A size or share contradicts another.
    pub(super) fn logs(&self, mems_bytes: u64, disk_bytes: u64, block_bytes: u32) -> Result<LogSizes, Fault> {
        let (log, buffer, block) = (self.log_bytes, self.buffer_bytes, u64::from(block_bytes));
        let area = self.mems_bytes.unwrap_or(mems_bytes);
        if area > mems_bytes {
            let exceeds = format!(" exceeds the {mems_bytes} B of ");
            return Err(Fault::misfit("mems_bytes", area).says(exceeds).key("mems"));
        }
        if area >= disk_bytes {
            return Err(Fault::misfit("mems_bytes", area)
                .says(", ")
                .key("disk")
                .says(format!(" has {disk_bytes} B: a write buffer is smaller than its disk")));
        }
        if log % block != 0 || log < 2 * block {
            return Err(Fault::misfit("log_bytes", log).says(format!(": a log is 2 or more blocks of {block} B")));
        }
        if area / log < MIN_LOGS {
            return Err(Fault::misfit("log_bytes", log)
                .says(": ")
                .key_is("mems_bytes", area)
                .says(format!(" must hold at least {MIN_LOGS} logs")));
        }
        if log > buffer {
            return Err(Fault::misfit("log_bytes", log)
                .says(" exceeds ")
                .key_is("buffer_bytes", buffer)
                .says(", which must hold a log"));
        }
        let fits = (u32::try_from(area / log), u32::try_from(log / block));
        let (Ok(logs), Ok(log_blocks)) = fits else {
            return Err(Fault::misfit("log_bytes", log)
                .says(": ")
                .key_is("mems_bytes", area)
                .says(" holds more logs than can be numbered"));
        };
        self.clean.check(block_bytes).map_err(|fault| fault.within("clean"))?;
        Ok(LogSizes { logs, log_blocks })
    }
}

impl WriteBufferCleanSpec {
    fn check(&self, block_bytes: u32) -> Result<(), Fault> {
        let Self { high_water, low_water, urgent, idle_ms, most_write_bytes, outstanding } = *self;
        for (key, share) in [("high_water", high_water), ("low_water", low_water), ("urgent", urgent)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(Fault::out_of_range(key, share, Range::from_to(0.0, 1.0)));
            }
        }
        if low_water > high_water {
            return Err(Fault::conflict("low_water", low_water).says(" is above ").key_is("high_water", high_water));
        }
        if high_water > urgent {
            return Err(Fault::conflict("high_water", high_water).says(" is above ").key_is("urgent", urgent));
        }
        if !(idle_ms >= 0.0 && idle_ms.is_finite()) {
            return Err(Fault::out_of_range("idle_ms", idle_ms, Range::at_least(0.0)));
        }
        if most_write_bytes < u64::from(block_bytes) {
            let less = format!(" is less than a block of {block_bytes} B");
            return Err(Fault::misfit("most_write_bytes", most_write_bytes).says(less));
        }
        if outstanding == 0 {
            return Err(Fault::out_of_range("outstanding", 0, Range::at_least(1.0).whole()));
        }
        Ok(())
    }
}
