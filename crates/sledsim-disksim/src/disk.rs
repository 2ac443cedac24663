//! Disk drives: `disksim_disk`, with its mechanics and layout.

use super::draft::{Drafts, Origin};
use super::fault::Fault;
use super::model;
use super::sources::Sources;
use super::syntax::Block;
use super::system::Route;

const READ_AHEAD: [&str; 5] = ["none", "track", "cylinder", "segment", "next-track"];
const FAST_WRITE: [&str; 3] = ["none", "sequential", "full"];

/// Carries over a drive.
pub(super) fn carry(drive: &Block, route: &Route, sources: &mut Sources, drafts: &mut Drafts) -> Result<(), Fault> {
    drafts.assume("block_bytes", 512, "DiskSim's blocks have 512 bytes");
    model::carry(drive.block("Model")?, sources, drafts)?;
    route.carry_bus(drive, drafts)?;
    drafts.carry(drive);
    carry_choices(drive, drafts)?;
    let queue = drive.whole("Max queue length")?;
    drafts.remark_unused(drive, queue);
    Ok(())
}

/// Carries over a drive whose files contain only the mechanics.
pub(super) fn carry_mechanics(model: &Block, sources: &mut Sources, drafts: &mut Drafts) -> Result<(), Fault> {
    const NONE: &str = "the files describe the mechanics alone";
    drafts.assume("block_bytes", 512, "DiskSim's blocks have 512 bytes");
    model::carry(model, sources, drafts)?;
    drafts.assume("bus_ms_per_block", 0.0, NONE);
    drafts.assume("buffer_caching", false, NONE);
    let reason =
        format!("{NONE}: no overheads, no time on the bus and no buffer, which a .diskspecs or .parv file has");
    drafts.line(model.place, "disksim_disk", reason, true);
    Ok(())
}

/// Carries over parameters whose numbers represent words.
fn carry_choices(drive: &Block, drafts: &mut Drafts) -> Result<(), Fault> {
    let mut switch = |name: &str, key: &'static str| -> Result<(), Fault> {
        let level = drive.whole(name)?;
        drafts.put(key, level != 0, drive.need(name)?, Origin::Published);
        if level == 2 {
            drafts.note("DiskSim treats 2 as 1");
        }
        Ok(())
    };
    switch("Enable caching in buffer", "buffer_caching")?;
    switch("Immediate buffer read", "zero_latency_reads")?;
    switch("Immediate buffer write", "zero_latency_writes")?;
    let read_ahead = drive.whole("Buffer continuous read")?;
    drafts.put("read_ahead", word(&READ_AHEAD, read_ahead), drive.need("Buffer continuous read")?, Origin::Published);
    let fast_write = drive.whole("Fast write level")?;
    drafts.put("fast_write", word(&FAST_WRITE, fast_write), drive.need("Fast write level")?, Origin::Published);
    let least = drive.need("Minimum read-ahead (blks)")?;
    let blocks = if read_ahead == 0 { 0 } else { drive.whole("Minimum read-ahead (blks)")? };
    drafts.put("read_ahead_least_blocks", blocks, least, Origin::Published);
    if blocks != drive.whole("Minimum read-ahead (blks)")? {
        drafts.note("0 without read-ahead, as in DiskSim");
    }
    Ok(())
}

/// Returns the word that a number represents; the number has been checked.
pub(super) fn word(words: &[&'static str], number: i64) -> &'static str {
    usize::try_from(number).ok().and_then(|number| words.get(number).copied()).unwrap_or(words[0])
}
