//! Devices other than disk drives: `memsmodel_mems` and `disksim_simpledisk`.

use sledsim::fault::Kind;

use super::draft::{Drafts, Origin};
use super::fault::Fault;
use super::syntax::Block;

/// Encoded bits per byte: DiskSim's tip sector of 80 bits holds 8 bytes.
const BITS_PER_BYTE: i64 = 10;

/// Carries over a MEMS device.
pub(super) fn carry(mems: &Block, drafts: &mut Drafts) -> Result<(), Fault> {
    drafts.carry(mems);
    for (name, key) in [("Sled movement X", "x_range_um"), ("Sled movement Y", "y_range_um")] {
        drafts.put(key, mems.real(name)? / 1000.0, mems.need(name)?, Origin::Published);
        drafts.note("from nm");
    }
    drafts.put("bit_nm", mems.real("Bit cell length")?, mems.need("Bit cell length")?, Origin::Published);
    let resonance = mems.need("Sled resonant frequency")?;
    drafts.put("resonance_hz", mems.real("Sled resonant frequency")?, resonance, Origin::Published);
    let speed = mems.need("Sled access speed")?;
    drafts.put("bit_rate_kbit_s", mems.real("Sled access speed")? / 1000.0, speed, Origin::Published);
    drafts.note("from bit/s");
    carry_blocks(mems, drafts)?;
    let layout = if mems.whole("Layout policy")? == 6 { "simple" } else { "serpentine" };
    drafts.put("layout", layout, mems.need("Layout policy")?, Origin::Published);
    let function = mems.need("Seek function")?;
    drafts.put("seek_model", "decomposed", function, Origin::Published);
    if mems.whole("Seek function")? == 1 {
        drafts.lost(function, "1 is Hong's formula; 0, the piecewise seek that decomposed computes, takes its place");
    }
    let power = mems.need("Sled active power")?;
    for key in ["sled_mw", "startup_mw"] {
        drafts.put(key, mems.real("Sled active power")?, power, Origin::Published);
    }
    drafts.note("DiskSim charges the power of the moving sled while it starts");
    drafts.remark_unused(mems, mems.whole("Max queue length")?);
    Ok(())
}

/// Carries over the sizes of a tip sector and of a block.
fn carry_blocks(mems: &Block, drafts: &mut Drafts) -> Result<(), Fault> {
    let length = mems.need("Tip sector length")?;
    let bits = mems.whole("Tip sector length")?;
    if bits % BITS_PER_BYTE != 0 {
        let says = format!(": expected a multiple of {BITS_PER_BYTE} bits, a byte each");
        return Err(mems.fault("Tip sector length").kind(Kind::Misfit).says(says));
    }
    let bytes = bits / BITS_PER_BYTE;
    drafts.put("tip_sector_bytes", bytes, length, Origin::Derived);
    drafts.note("10 bits hold a byte");
    drafts.put("encoded_bits_per_byte", BITS_PER_BYTE, length, Origin::Assumed);
    let striped = mems.need("Tip sectors per lbn")?;
    drafts.put("block_bytes", mems.whole("Tip sectors per lbn")?.saturating_mul(bytes), striped, Origin::Derived);
    drafts.note("data bytes of so many tip sectors");
    Ok(())
}

/// Carries over a device of constant time.
pub(super) fn carry_simple(simple: &Block, drafts: &mut Drafts) -> Result<(), Fault> {
    drafts.assume("block_bytes", 512, "DiskSim's blocks have 512 bytes");
    drafts.carry(simple);
    // Two names of one parameter: DiskSim uses the last one in the file.
    let names = ["Constant access time", "Access time"];
    let mut given: Vec<_> = names.iter().filter_map(|name| simple.get(name)).collect();
    given.sort_by_key(|parameter| parameter.place);
    let access = given.pop().map_or_else(|| simple.need("Access time"), Ok)?;
    given.into_iter().for_each(|earlier| drafts.idle(earlier, "another name of the time given later"));
    let time = simple.real(&access.name)? + simple.real("Command overhead")?;
    drafts.put("access_ms", time, access, Origin::Derived);
    drafts.also(simple.need("Command overhead")?);
    drafts.note("access and command overhead together");
    drafts.remark_unused(simple, simple.whole("Max queue length")?);
    Ok(())
}
