//! Where blocks lie on the media.
//!
//! A cylinder is one column of bits under every tip; its tracks are the groups of tips that work at once; a row is one
//! tip sector under each tip of a track. LBN order: blocks within a row, rows within a track, tracks within a
//! cylinder, cylinders (Griffin et al. 1999, section 2.2). Where data pass as a stream, all tips of a track work on each
//! block, which then is a row of its own: as long as its share of what passes in one with borders.
//!
//! Where they pass point by point, a block is a place of the sled under a group of tips, one for each of its bits. Cylinders
//! and rows are then the same along both axes: tip sectors between servo bursts, of as many points as a tip sector has bits,
//! and each point as long as its share of them.

use std::ops::Range;

use crate::convert::{trunc_to_u32, trunc_to_u64};
use crate::devices::mems::parameters::{Layout, MemsParameters, Transfer};
use crate::fault::Fault;
use crate::units::{M_PER_NM, M_PER_UM};

/// Largest capacity of a device: addresses stay far from overflow.
const MOST_BYTES: u64 = 1 << 60;

/// Most rows of a track: the places at which passes begin and end have 32-bit numbers.
const MOST_ROWS: u32 = 1 << 30;

/// Place of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Column of bits, counted along X.
    pub cylinder: u32,
    /// Group of tips.
    pub track: u32,
    /// Tip sector along Y.
    pub row: u32,
    /// Block within the row.
    pub slot: u32,
}

/// Tips that a block is striped over, those of a code over them included, and blocks that pass under the active tips together.
fn tips_and_blocks(p: &MemsParameters) -> Result<(u32, u32), Fault> {
    if p.transfer == Transfer::Points {
        return tips_of_a_point(p).map(|tips_per_block| (tips_per_block, 1));
    }
    if !p.block_bytes.is_multiple_of(p.tip_sector_bytes) {
        return Err(Fault::conflict("block_bytes", p.block_bytes)
            .says(" is not a multiple of ")
            .key_is("tip_sector_bytes", p.tip_sector_bytes)
            .says(": a block is striped over whole tip sectors"));
    }
    active_of_tips(p)?;
    let tips_per_block = p.block_bytes / p.tip_sector_bytes + p.parity_tips;
    let blocks_per_row = p.active_tips / tips_per_block;
    if blocks_per_row == 0 {
        return Err(Fault::conflict("active_tips", p.active_tips)
            .says(format!(" is fewer than the {tips_per_block} tips of a block: raise it, or "))
            .option("tip_sector_bytes"));
    }
    Ok((tips_per_block, blocks_per_row))
}

/// Tips that read a block at a point: one for each of its bits.
fn tips_of_a_point(p: &MemsParameters) -> Result<u32, Fault> {
    active_of_tips(p)?;
    let tips_per_block = p.block_bytes * p.encoded_bits_per_byte;
    if p.active_tips >= tips_per_block {
        return Ok(tips_per_block);
    }
    Err(Fault::conflict("active_tips", p.active_tips)
        .says(format!(" is fewer than the {tips_per_block} tips of a block, one for each of its bits where "))
        .key_is("transfer", "points")
        .says(": raise it, or lower ")
        .option("block_bytes"))
}

fn active_of_tips(p: &MemsParameters) -> Result<(), Fault> {
    if p.active_tips > p.tips {
        return Err(Fault::conflict("active_tips", p.active_tips).says(" exceeds ").key_is("tips", p.tips));
    }
    Ok(())
}

/// Bits of the media along `range_um`.
fn bits(p: &MemsParameters, range_um: f64) -> f64 {
    (range_um * M_PER_UM / (p.bit_nm * M_PER_NM) + 1e-6).floor()
}

/// Tip sectors along an axis, each behind a servo burst and the last before one: at least one.
fn tip_sectors(p: &MemsParameters, key: &'static str, range_um: f64, pitch: f64) -> Result<f64, Fault> {
    let sectors = ((bits(p, range_um) - f64::from(p.servo_bits)) / pitch).floor();
    if sectors >= 1.0 {
        return Ok(sectors);
    }
    let least = pitch + f64::from(p.servo_bits);
    Err(Fault::conflict(key, range_um)
        .says(format!(": a tip region holds {} bits of ", bits(p, range_um)))
        .key_is("bit_nm", p.bit_nm)
        .says(format!(", fewer than one tip sector between two servo bursts ({least} bits): raise it or lower "))
        .option("bit_nm"))
}

/// Geometry of one sled, derived from its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// Columns of bits.
    pub cylinders: u32,
    /// Tip sectors along Y.
    pub rows: u32,
    /// Groups of tips.
    pub tracks: u32,
    /// Blocks that pass under the active tips together.
    pub blocks_per_row: u32,
    /// Tips a block is striped over, those of a code over them included.
    pub tips_per_block: u32,
    /// Tips that can work at once.
    pub active_tips: u32,
    /// Bits of a servo burst.
    pub servo_bits: u32,
    /// Encoded bits of a tip sector, servo not counted.
    pub data_bits: u32,
    /// Size of a block.
    pub block_bytes: u32,
    layout: Layout,
    transfer: Transfer,
    pitch_bits: f64,
    bit_m: f64,
    column_m: f64,
    x_range_m: f64,
    y_range_m: f64,
    blocks_per_cylinder: u64,
    blocks_per_track: u64,
}

impl Geometry {
    /// Derives the geometry.
    ///
    /// # Errors
    /// When the parameters leave no room for a single block: says which parameter to change.
    pub fn new(p: &MemsParameters) -> Result<Self, Fault> {
        let (tips_per_block, blocks_per_row) = tips_and_blocks(p)?;
        let data_bits = p.tip_sector_bytes * p.encoded_bits_per_byte;
        let pitch = f64::from(p.servo_bits + data_bits);
        let points = p.transfer == Transfer::Points;
        let points_per_sector = if points { f64::from(data_bits) } else { 1.0 };
        let rows = tip_sectors(p, "y_range_um", p.y_range_um, pitch)? * points_per_sector;
        let cylinders = if points {
            tip_sectors(p, "x_range_um", p.x_range_um, pitch)? * points_per_sector
        } else {
            bits(p, p.x_range_um)
        };
        if cylinders < 1.0 {
            return Err(Fault::conflict("x_range_um", p.x_range_um)
                .says(" is less than one bit of ")
                .key_is("bit_nm", p.bit_nm));
        }
        // At a point the tips of one block work, whichever others could.
        let tracks = p.tips.saturating_sub(p.spare_tips) / if points { tips_per_block } else { p.active_tips };
        if tracks == 0 {
            return Err(Fault::conflict("spare_tips", p.spare_tips)
                .says(" of ")
                .key_is("tips", p.tips)
                .says(" leave fewer than ")
                .key_is("active_tips", p.active_tips));
        }
        let pitch_bits = pitch / points_per_sector;
        let bit_m = p.bit_nm * M_PER_NM;
        let blocks_per_track = trunc_to_u64(rows) * u64::from(blocks_per_row);
        let factors = [u64::from(tracks), trunc_to_u64(cylinders), u64::from(p.block_bytes), u64::from(p.sleds)];
        let bytes = factors.iter().try_fold(blocks_per_track, |bytes, &factor| bytes.checked_mul(factor));
        if bytes.is_none_or(|bytes| bytes > MOST_BYTES) {
            return Err(Fault::conflict("bit_nm", p.bit_nm)
                .says(format!(": the device would hold more than {MOST_BYTES} bytes: raise "))
                .option("bit_nm")
                .says(" or lower ")
                .option("tips")
                .says(" or ")
                .option("sleds"));
        }
        let geometry = Self {
            cylinders: trunc_to_u32(cylinders),
            rows: trunc_to_u32(rows),
            tracks,
            blocks_per_row,
            tips_per_block,
            active_tips: p.active_tips,
            servo_bits: p.servo_bits,
            data_bits,
            block_bytes: p.block_bytes,
            layout: p.layout,
            transfer: p.transfer,
            pitch_bits,
            bit_m,
            column_m: if points { pitch_bits * bit_m } else { bit_m },
            x_range_m: p.x_range_um * M_PER_UM,
            y_range_m: p.y_range_um * M_PER_UM,
            blocks_per_cylinder: blocks_per_track * u64::from(tracks),
            blocks_per_track,
        };
        match p.transfer {
            Transfer::Rows | Transfer::Points => Ok(geometry),
            Transfer::Fluid => geometry.streamed(),
        }
    }

    /// The same where data pass as a stream: each block a row of its own, under all tips of the track.
    fn streamed(self) -> Result<Self, Fault> {
        let rows = u64::from(self.rows) * u64::from(self.blocks_per_row);
        let Some(rows) = u32::try_from(rows).ok().filter(|&rows| rows <= MOST_ROWS) else {
            return Err(Fault::conflict("transfer", "fluid")
                .says(format!(": tracks of {rows} blocks, more than {MOST_ROWS}: raise "))
                .option("bit_nm")
                .says(" or lower ")
                .option("active_tips"));
        };
        Ok(Self {
            rows,
            blocks_per_row: 1,
            tips_per_block: self.blocks_per_row * self.tips_per_block,
            pitch_bits: self.pitch_bits / f64::from(self.blocks_per_row),
            ..self
        })
    }

    /// Number of blocks on the sled.
    #[must_use]
    pub fn capacity_blocks(&self) -> u64 {
        self.blocks_per_cylinder * u64::from(self.cylinders)
    }

    /// Place of a block (`lbn` below the capacity).
    #[inline]
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "each is below a count of 32 bits; on the path of each request"
    )]
    pub fn place(&self, lbn: u64) -> Place {
        let cylinder = lbn / self.blocks_per_cylinder;
        let rest = lbn % self.blocks_per_cylinder;
        // Within a cylinder everything fits 32 bits, where division is much cheaper, unless the design is enormous.
        let (track, row, slot) = if self.blocks_per_cylinder <= u64::from(u32::MAX) {
            let rest = rest as u32;
            let track = rest / self.blocks_per_track as u32;
            let rest = rest % self.blocks_per_track as u32;
            (track, rest / self.blocks_per_row, rest % self.blocks_per_row)
        } else {
            let track = rest / self.blocks_per_track;
            let rest = rest % self.blocks_per_track;
            let per_row = u64::from(self.blocks_per_row);
            (track as u32, (rest / per_row) as u32, (rest % per_row) as u32)
        };
        let cylinder = cylinder as u32;
        let row = if self.inverted(cylinder, track) { self.rows - 1 - row } else { row };
        Place { cylinder, track, row, slot }
    }

    /// The block at a place.
    #[must_use]
    pub fn lbn(&self, place: &Place) -> u64 {
        let row = if self.inverted(place.cylinder, place.track) { self.rows - 1 - place.row } else { place.row };
        u64::from(place.cylinder) * self.blocks_per_cylinder
            + u64::from(place.track) * self.blocks_per_track
            + u64::from(row) * u64::from(self.blocks_per_row)
            + u64::from(place.slot)
    }

    /// Place of the first block of the row after the one `place` is in, in LBN order.
    #[inline]
    #[must_use]
    pub fn next_row(&self, place: &Place) -> Place {
        let (mut cylinder, mut track) = (place.cylinder, place.track);
        let inverted = self.inverted(cylinder, track);
        let last = if inverted { 0 } else { self.rows - 1 };
        if place.row != last {
            let row = if inverted { place.row - 1 } else { place.row + 1 };
            return Place { cylinder, track, row, slot: 0 };
        }
        track += 1;
        if track == self.tracks {
            track = 0;
            cylinder += 1;
        }
        let row = if self.inverted(cylinder, track) { self.rows - 1 } else { 0 };
        Place { cylinder, track, row, slot: 0 }
    }

    /// Place of the block that follows `place` by `blocks`, which lie in its row.
    #[inline]
    #[must_use]
    pub fn after(&self, place: &Place, blocks: u32) -> Place {
        if place.slot + blocks < self.blocks_per_row {
            return Place { slot: place.slot + blocks, ..*place };
        }
        self.next_row(place)
    }

    /// Whether a track runs its rows backwards. Tracks alternate through the whole device, so that where a cylinder has
    /// an odd number of them, odd cylinders invert the other half.
    #[inline]
    fn inverted(&self, cylinder: u32, track: u32) -> bool {
        self.layout == Layout::Serpentine && (u64::from(cylinder) * u64::from(self.tracks) + u64::from(track)) % 2 == 1
    }

    /// X of a cylinder in metres from the centre of travel.
    #[inline]
    #[must_use]
    pub fn x_m(&self, cylinder: u32) -> f64 {
        f64::from(cylinder) * self.column_m - self.x_range_m / 2.0
    }

    /// The cylinder nearest to the centre of travel.
    #[must_use]
    pub fn centre_cylinder(&self) -> u32 {
        trunc_to_u32((self.x_range_m / 2.0 / self.column_m).round()).min(self.cylinders - 1)
    }

    /// Y of a bit boundary in metres from the centre of travel.
    #[inline]
    #[must_use]
    pub fn y_m(&self, bit: f64) -> f64 {
        bit * self.bit_m - self.y_range_m / 2.0
    }

    /// Whether data pass as a stream, block after block.
    #[inline]
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.transfer != Transfer::Rows
    }

    /// Whether a block lies at a point, from which the sled can go on along either axis.
    #[inline]
    #[must_use]
    pub fn has_points(&self) -> bool {
        self.transfer == Transfer::Points
    }

    /// Bits from one servo burst to the next; in a stream those of a block, a whole number or not.
    #[inline]
    #[must_use]
    pub fn pitch_bits(&self) -> f64 {
        self.pitch_bits
    }

    /// Bits of servo bursts in a row; in a stream a block's share of them.
    #[must_use]
    pub fn servo_share_bits(&self) -> f64 {
        f64::from(self.servo_bits) * self.pitch_bits / f64::from(self.servo_bits + self.data_bits)
    }

    /// Y, in bits, where an upward pass over `row` begins, which is also where one over `row - 1` ends.
    #[inline]
    #[must_use]
    pub fn upward_bit(&self, row: u32) -> f64 {
        f64::from(row) * self.pitch_bits
    }

    /// Y, in bits, where a downward pass over `row - 1` begins, which is also where one over `row` ends.
    #[inline]
    #[must_use]
    pub fn downward_bit(&self, row: u32) -> f64 {
        // A stream has no burst that would have to pass first.
        self.upward_bit(row) + if self.is_stream() { 0.0 } else { f64::from(self.servo_bits) }
    }

    /// Y of the middle of a row's data in metres from the centre of travel.
    #[must_use]
    pub fn row_middle_m(&self, row: u32) -> f64 {
        let data_bits = if self.is_stream() { self.pitch_bits } else { f64::from(self.data_bits) };
        let bit = self.downward_bit(row) + data_bits / 2.0;
        bit * self.bit_m - self.y_range_m / 2.0
    }

    /// How many of `blocks` from a place on lie in its track, and whether the track runs its rows backwards.
    #[inline]
    #[must_use]
    pub fn run_in_track(&self, place: &Place, blocks: u32) -> (u32, bool) {
        let inverted = self.inverted(place.cylinder, place.track);
        let rows = if inverted { place.row + 1 } else { self.rows - place.row };
        (blocks.min(rows * self.blocks_per_row - place.slot), inverted)
    }

    /// The tip group of a place: blocks of one position with different groups can be accessed together.
    #[must_use]
    pub fn group(&self, place: &Place) -> u32 {
        place.track * self.blocks_per_row + place.slot
    }

    /// Calls `visit` with ranges of LBNs that together are the blocks at the sled positions of `blocks` blocks from `lbn` on,
    /// those blocks included. Ranges may overlap; there are few of them, however many blocks are asked for.
    pub fn for_each_companion(&self, lbn: u64, blocks: u32, visit: &mut dyn FnMut(Range<u64>)) {
        let end = lbn + u64::from(blocks);
        let (first, last) = (self.place(lbn), self.place(end - 1));
        let start_of = |cylinder: u32| u64::from(cylinder) * self.blocks_per_cylinder;
        // Cylinders that are covered from end to end, and those that begin or end in the middle.
        if last.cylinder > first.cylinder + 1 {
            visit(start_of(first.cylinder + 1)..start_of(last.cylinder));
        }
        if first.cylinder == last.cylinder {
            self.visit_rows(lbn..end, visit);
        } else {
            self.visit_rows(lbn..start_of(first.cylinder + 1), visit);
            self.visit_rows(start_of(last.cylinder)..end, visit);
        }
    }

    /// The same for blocks of one cylinder.
    fn visit_rows(&self, blocks: Range<u64>, visit: &mut dyn FnMut(Range<u64>)) {
        let start = blocks.start - blocks.start % self.blocks_per_cylinder;
        let (mut lbn, end) = (blocks.start, blocks.end);
        // So many hold a whole track, and with it every row. Fewer may leave rows out, where tracks turn round.
        if end - lbn >= 2 * self.blocks_per_track {
            visit(start..start + self.blocks_per_cylinder);
            return;
        }
        while lbn < end {
            let until = end.min(lbn - (lbn - start) % self.blocks_per_track + self.blocks_per_track);
            let (here, there) = (self.place(lbn), self.place(until - 1));
            let (low, high) = (here.row.min(there.row), here.row.max(there.row));
            for track in 0..self.tracks {
                let ends = [low, high].map(|row| self.lbn(&Place { track, row, slot: 0, ..here }));
                visit(ends[0].min(ends[1])..ends[0].max(ends[1]) + u64::from(self.blocks_per_row));
            }
            lbn = until;
        }
    }

    /// The blocks at the sled position of `lbn` under other tips, ascending, `lbn` itself left out: at most
    /// `blocks_per_row - 1` of them can be accessed in the same pass (Schlosser & Ganger 2004, section 6.1).
    #[must_use]
    pub fn equivalent(&self, lbn: u64) -> Vec<u64> {
        let place = self.place(lbn);
        let mut blocks = Vec::with_capacity((self.tracks * self.blocks_per_row) as usize);
        for track in 0..self.tracks {
            for slot in 0..self.blocks_per_row {
                let block = self.lbn(&Place { track, slot, ..place });
                if block != lbn {
                    blocks.push(block);
                }
            }
        }
        blocks
    }
}
