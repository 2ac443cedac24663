//! The map between blocks and positions on the media.
//!
//! A cylinder is one column of bits under each tip; its tracks are the groups of tips that are active at the same time; a row is one tip
//! sector under each tip of a track. LBNs run through the blocks of a row, the rows of a track, the tracks of a cylinder, and the
//! cylinders (Griffin et al. 1999, section 2.2). If data pass as a stream, each block is under all tips of a track and is a row: as long
//! as its share of a row of tip sectors.
//!
//! If data pass by point, a block is at one position of the sled under a group of tips, one for each of its bits. Cylinders and rows are
//! then the same along both axes: tip sectors between servo bursts, of as many points as a tip sector has bits. Each point is as long as
//! its share of a tip sector with its servo burst.

use std::ops::Range;

use crate::convert::{trunc_to_u32, trunc_to_u64};
use crate::devices::mems::parameters::{Layout, MemsParameters, Transfer};
use crate::fault::Fault;
use crate::units::{M_PER_NM, M_PER_UM};

/// Maximum capacity of a device, far below an overflow of addresses.
const MOST_BYTES: u64 = 1 << 60;

/// Maximum number of rows of a track: the boundaries of rows have 32-bit numbers.
const MOST_ROWS: u32 = 1 << 30;

/// Position of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Column of bits along X.
    pub cylinder: u32,
    /// Group of tips.
    pub track: u32,
    /// Tip sector along Y.
    pub row: u32,
    /// Block within the row.
    pub slot: u32,
}

/// The stripe of a block over tips.
struct Striping {
    /// Number of tips of a block, including those of an erasure code.
    tips_per_block: u32,
    /// Number of blocks under the active tips.
    blocks_per_row: u32,
}

/// Returns the stripe of a block over tips.
fn striping(p: &MemsParameters) -> Result<Striping, Fault> {
    if p.transfer == Transfer::Points {
        return tips_of_point(p).map(|tips_per_block| Striping { tips_per_block, blocks_per_row: 1 });
    }
    if !p.block_bytes.is_multiple_of(p.tip_sector_bytes) {
        return Err(Fault::conflict("block_bytes", p.block_bytes)
            .says(" is not a multiple of ")
            .key_is("tip_sector_bytes", p.tip_sector_bytes)
            .says(": a block is striped over whole tip sectors"));
    }
    check_active_tips(p)?;
    let tips_per_block = p.block_bytes / p.tip_sector_bytes + p.parity_tips;
    let blocks_per_row = p.active_tips / tips_per_block;
    if blocks_per_row == 0 {
        return Err(Fault::conflict("active_tips", p.active_tips)
            .says(format!(" is fewer than the {tips_per_block} tips of a block: raise it, or "))
            .option("tip_sector_bytes"));
    }
    Ok(Striping { tips_per_block, blocks_per_row })
}

/// Returns the number of tips of a block at a point: one for each of its bits.
fn tips_of_point(p: &MemsParameters) -> Result<u32, Fault> {
    check_active_tips(p)?;
    let tips_per_block = p.block_bytes * p.encoded_bits_per_byte;
    if p.active_tips >= tips_per_block {
        return Ok(tips_per_block);
    }
    Err(Fault::conflict("active_tips", p.active_tips)
        .says(format!(" is fewer than the {tips_per_block} tips of a block, one for each of its bits with "))
        .key_is("transfer", "points")
        .says(": raise it, or lower ")
        .option("block_bytes"))
}

fn check_active_tips(p: &MemsParameters) -> Result<(), Fault> {
    if p.active_tips > p.tips {
        return Err(Fault::conflict("active_tips", p.active_tips).says(" exceeds ").key_is("tips", p.tips));
    }
    Ok(())
}

/// Returns the number of bits along `range_um`.
fn bits(p: &MemsParameters, range_um: f64) -> f64 {
    (range_um * M_PER_UM / (p.bit_nm * M_PER_NM) + 1e-6).floor()
}

/// Returns the number of tip sectors along an axis, each between two servo bursts.
///
/// # Errors
/// There is room for none.
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

/// Blocks that are in one track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackRun {
    /// Number of blocks.
    pub blocks: u32,
    /// True if the track has its rows in reverse order.
    pub is_reversed: bool,
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
    /// Blocks under the active tips of a row.
    pub blocks_per_row: u32,
    /// Tips of a block, including those of an erasure code.
    pub tips_per_block: u32,
    /// Maximum number of active tips.
    pub active_tips: u32,
    /// Bits of a servo burst.
    pub servo_bits: u32,
    /// Encoded bits of a tip sector, without the servo burst.
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
    /// Returns the geometry of a sled.
    ///
    /// # Errors
    /// There is no room for a block, or the device is too large.
    pub fn new(p: &MemsParameters) -> Result<Self, Fault> {
        let Striping { tips_per_block, blocks_per_row } = striping(p)?;
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
        // At a point only the tips of one block are active.
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
            Transfer::Fluid => geometry.into_stream(),
        }
    }

    /// Returns the geometry if data pass as a stream: each block is a row, under all tips of the track.
    fn into_stream(self) -> Result<Self, Fault> {
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

    /// Returns the number of blocks on the sled.
    #[must_use]
    pub fn capacity_blocks(&self) -> u64 {
        self.blocks_per_cylinder * u64::from(self.cylinders)
    }

    /// Returns the position of a block; `lbn` is below the capacity.
    #[inline]
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "each is below a count of 32 bits; on the path of each request"
    )]
    pub fn place(&self, lbn: u64) -> Place {
        let cylinder = lbn / self.blocks_per_cylinder;
        let rest = lbn % self.blocks_per_cylinder;
        // Within a cylinder 32 bits suffice for all but enormous designs; their division is much faster.
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
        let row = if self.is_reversed(cylinder, track) { self.rows - 1 - row } else { row };
        Place { cylinder, track, row, slot }
    }

    /// Returns the block at a position.
    #[must_use]
    pub fn lbn(&self, place: &Place) -> u64 {
        let row = if self.is_reversed(place.cylinder, place.track) { self.rows - 1 - place.row } else { place.row };
        u64::from(place.cylinder) * self.blocks_per_cylinder
            + u64::from(place.track) * self.blocks_per_track
            + u64::from(row) * u64::from(self.blocks_per_row)
            + u64::from(place.slot)
    }

    /// Returns the position of the first block of the row after that of `place`, in LBN order.
    #[inline]
    #[must_use]
    pub fn next_row(&self, place: &Place) -> Place {
        let (mut cylinder, mut track) = (place.cylinder, place.track);
        let is_reversed = self.is_reversed(cylinder, track);
        let last = if is_reversed { 0 } else { self.rows - 1 };
        if place.row != last {
            let row = if is_reversed { place.row - 1 } else { place.row + 1 };
            return Place { cylinder, track, row, slot: 0 };
        }
        track += 1;
        if track == self.tracks {
            track = 0;
            cylinder += 1;
        }
        let row = if self.is_reversed(cylinder, track) { self.rows - 1 } else { 0 };
        Place { cylinder, track, row, slot: 0 }
    }

    /// Returns the position of the block that is `blocks` after `place`; the blocks in between are in its row.
    #[inline]
    #[must_use]
    pub fn after(&self, place: &Place, blocks: u32) -> Place {
        if place.slot + blocks < self.blocks_per_row {
            return Place { slot: place.slot + blocks, ..*place };
        }
        self.next_row(place)
    }

    /// Returns true if a track has its rows in reverse order. Tracks alternate through the whole device, so with an odd number of tracks in a
    /// cylinder, odd cylinders reverse the other half.
    #[inline]
    pub(super) fn is_reversed(&self, cylinder: u32, track: u32) -> bool {
        self.layout == Layout::Serpentine && (u64::from(cylinder) * u64::from(self.tracks) + u64::from(track)) % 2 == 1
    }

    /// Returns X of a cylinder in metres from the centre of travel.
    #[inline]
    #[must_use]
    pub fn x_m(&self, cylinder: u32) -> f64 {
        f64::from(cylinder) * self.column_m - self.x_range_m / 2.0
    }

    /// Returns the cylinder nearest to the centre of travel.
    #[must_use]
    pub fn centre_cylinder(&self) -> u32 {
        trunc_to_u32((self.x_range_m / 2.0 / self.column_m).round()).min(self.cylinders - 1)
    }

    /// Returns Y of a bit boundary in metres from the centre of travel.
    #[inline]
    #[must_use]
    pub fn y_m(&self, bit: f64) -> f64 {
        bit * self.bit_m - self.y_range_m / 2.0
    }

    /// Returns true if data pass as a stream, block after block.
    #[inline]
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.transfer != Transfer::Rows
    }

    /// Returns true if a block is at a point, from which the sled can continue along either axis.
    #[inline]
    #[must_use]
    pub fn has_points(&self) -> bool {
        self.transfer == Transfer::Points
    }

    /// Returns the bits from one servo burst to the next; in a stream those of a block, possibly with a fraction.
    #[inline]
    #[must_use]
    pub fn pitch_bits(&self) -> f64 {
        self.pitch_bits
    }

    /// Returns the bits of servo bursts in a row; in a stream those of a block.
    #[must_use]
    pub fn servo_share_bits(&self) -> f64 {
        f64::from(self.servo_bits) * self.pitch_bits / f64::from(self.servo_bits + self.data_bits)
    }

    /// Returns Y, in bits, of the start of an upward pass over `row`, which is also the end of one over `row - 1`.
    #[inline]
    #[must_use]
    pub fn upward_bit(&self, row: u32) -> f64 {
        f64::from(row) * self.pitch_bits
    }

    /// Returns Y, in bits, of the start of a downward pass over `row - 1`, which is also the end of one over `row`.
    #[inline]
    #[must_use]
    pub fn downward_bit(&self, row: u32) -> f64 {
        // A stream has no servo burst before the data.
        self.upward_bit(row) + if self.is_stream() { 0.0 } else { f64::from(self.servo_bits) }
    }

    /// Returns Y of the middle of a row's data in metres from the centre of travel.
    #[must_use]
    pub fn row_middle_m(&self, row: u32) -> f64 {
        let data_bits = if self.is_stream() { self.pitch_bits } else { f64::from(self.data_bits) };
        let bit = self.downward_bit(row) + data_bits / 2.0;
        bit * self.bit_m - self.y_range_m / 2.0
    }

    /// Returns the part of `blocks` blocks from a position on that is in its track.
    #[inline]
    #[must_use]
    pub fn run_in_track(&self, place: &Place, blocks: u32) -> TrackRun {
        let is_reversed = self.is_reversed(place.cylinder, place.track);
        let rows = if is_reversed { place.row + 1 } else { self.rows - place.row };
        TrackRun { blocks: blocks.min(rows * self.blocks_per_row - place.slot), is_reversed }
    }

    /// Returns the tip group of a block. Blocks of one cylinder and row in different groups can be accessed together.
    #[must_use]
    pub fn group(&self, place: &Place) -> u32 {
        place.track * self.blocks_per_row + place.slot
    }

    /// Calls `visit` with ranges of LBNs that together are the blocks at the sled positions of `blocks` blocks from `lbn` on, including those
    /// blocks. Ranges may overlap. Their number does not grow with that of the blocks.
    pub fn for_each_companion(&self, lbn: u64, blocks: u32, visit: &mut dyn FnMut(Range<u64>)) {
        let end = lbn + u64::from(blocks);
        let (first, last) = (self.place(lbn), self.place(end - 1));
        let start_of = |cylinder: u32| u64::from(cylinder) * self.blocks_per_cylinder;
        // The whole cylinders, then the first and the last one.
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

    /// See [`Geometry::for_each_companion`], for blocks of one cylinder.
    fn visit_rows(&self, blocks: Range<u64>, visit: &mut dyn FnMut(Range<u64>)) {
        let start = blocks.start - blocks.start % self.blocks_per_cylinder;
        let (mut lbn, end) = (blocks.start, blocks.end);
        // These blocks contain a whole track, and so every row. Fewer blocks may omit rows, as the order of rows alternates.
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

    /// Returns the blocks at the sled position of `lbn` under other tips, ascending, without `lbn`. At most `blocks_per_row - 1` of them can
    /// be accessed in the same pass (Schlosser & Ganger 2004, section 6.1).
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
