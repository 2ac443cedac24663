//! Random MEMS designs, for properties that hold for all of them.

use proptest::prelude::*;
use sledsim::devices::mems::{
    Idle, IdleTips, Layout, MemsDevice, MemsParameters, RowDirection, SeekModel, StopAt, Timeout, Transfer,
    WriteTransfer,
};

use crate::scenarios;

#[derive(Clone, Copy, Debug)]
struct Media {
    cylinders: u32,
    rows: u32,
    tracks: u32,
    blocks_per_row: u32,
    tips_per_block: u32,
    /// Tips that fill neither a block nor a track.
    spare: (u32, u32),
    bit_nm: f64,
    tip_sector_bytes: u32,
    encoded_bits_per_byte: u32,
    servo_bits: u32,
    layout: Layout,
}

fn media() -> impl Strategy<Value = Media> {
    let shape = (1..60_u32, 1..12_u32, 1..6_u32, 1..7_u32, 1..9_u32, (0..8_u32, 0..50_u32));
    let format = (20.0..200.0_f64, 1..17_u32, 8..13_u32, 0..20_u32, any::<bool>());
    (shape, format).prop_map(|(shape, format)| {
        let (cylinders, rows, tracks, blocks_per_row, tips_per_block, spare) = shape;
        let (bit_nm, tip_sector_bytes, encoded_bits_per_byte, servo_bits, serpentine) = format;
        let layout = if serpentine { Layout::Serpentine } else { Layout::Simple };
        Media {
            cylinders,
            rows,
            tracks,
            blocks_per_row,
            tips_per_block,
            spare,
            bit_nm,
            tip_sector_bytes,
            encoded_bits_per_byte,
            servo_bits,
            layout,
        }
    })
}

fn mechanics() -> impl Strategy<Value = MemsParameters> {
    let motion = (10.0..5000.0_f64, 10.0..5000.0_f64, 0.0..0.95_f64, 100.0..2000.0_f64, 0.0..4.0_f64, 50.0..1500.0_f64);
    let choices = (any::<bool>(), 0..3_usize, any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let delays = (
        0.0..0.5_f64,
        0.0..0.1_f64,
        prop_oneof![Just(0.0), 0.0..1.0_f64],
        prop_oneof![Just(None), (0.0..8.0_f64).prop_map(Some)],
    );
    let base = scenarios::mems_parameters("g1");
    (motion, choices, delays).prop_map(move |(motion, choices, delays)| MemsParameters {
        name: "random".into(),
        bidirectional: choices.0,
        acceleration_x_m_s2: motion.0,
        acceleration_y_m_s2: motion.1,
        spring_factor: if choices.2 { motion.2 } else { 0.0 },
        resonance_hz: motion.3,
        settle_constants: motion.4,
        bit_rate_kbit_s: motion.5,
        seek_model: SeekModel::ALL[choices.1],
        overhead_ms: delays.0,
        bus_ms_per_block: delays.1,
        idle: if choices.3 { Idle::Sweep } else { Idle::Hold },
        stop_at: if choices.5 { StopAt::InPlace } else { StopAt::Centre },
        inactive_after_ms: delays.3.map_or(Timeout::Never, Timeout::AfterMs),
        startup_ms: delays.2,
        idle_tips: if choices.4 { IdleTips::LastAccess } else { IdleTips::None },
        startup_mw: 70.0,
        ..base.clone()
    })
}

/// Returns a design with those of three options that have an effect on it, by the bits of `options`: writes of blocks that crossed the bus before, directions by track,
/// tips that bend to the next two columns.
pub fn with_options(design: &MemsParameters, options: u32) -> MemsParameters {
    let has = |bit: u32| options >> bit & 1 == 1;
    MemsParameters {
        write_transfer: if has(0) && design.bus_ms_per_block > 0.0 {
            WriteTransfer::Before
        } else {
            WriteTransfer::Overlapped
        },
        row_direction: if has(1) && design.bidirectional { RowDirection::ByTrack } else { RowDirection::Alternating },
        tip_deflection_nm: if has(2) { 2.5 * design.bit_nm } else { 0.0 },
        ..design.clone()
    }
}

/// Valid designs with blocks at points.
pub fn points_design() -> impl Strategy<Value = MemsParameters> {
    let designs = (media(), mechanics()).prop_map(|(media, mechanics)| {
        let pitch_bits = media.tip_sector_bytes * media.encoded_bits_per_byte + media.servo_bits;
        let range_um =
            |sectors: u32| (f64::from((1 + sectors % 3) * pitch_bits + media.servo_bits) + 0.5) * media.bit_nm * 1e-3;
        let tips_per_block = media.tips_per_block * media.encoded_bits_per_byte;
        let active_tips = tips_per_block + media.spare.0;
        MemsParameters {
            transfer: Transfer::Points,
            x_range_um: range_um(media.cylinders),
            y_range_um: range_um(media.rows),
            bit_nm: media.bit_nm,
            tips: active_tips.max(media.tracks * tips_per_block) + media.spare.1 % tips_per_block,
            active_tips,
            block_bytes: media.tips_per_block,
            tip_sector_bytes: media.tip_sector_bytes,
            encoded_bits_per_byte: media.encoded_bits_per_byte,
            servo_bits: media.servo_bits,
            layout: media.layout,
            idle: Idle::Hold,
            ..mechanics
        }
    });
    designs.prop_filter("the springs are too stiff", |design| MemsDevice::new(design).is_ok())
}

/// Valid designs with any shape, motion, seek model, idle behaviour and delays. Few of them are realistic.
pub fn mems_design() -> impl Strategy<Value = MemsParameters> {
    let designs = (media(), mechanics()).prop_map(|(media, mechanics)| {
        let pitch_bits = media.tip_sector_bytes * media.encoded_bits_per_byte + media.servo_bits;
        let column_bits = f64::from(media.rows * pitch_bits + media.servo_bits) + 0.5;
        let active_tips = media.blocks_per_row * media.tips_per_block + media.spare.0 % media.tips_per_block;
        MemsParameters {
            x_range_um: (f64::from(media.cylinders) + 0.5) * media.bit_nm * 1e-3,
            y_range_um: column_bits * media.bit_nm * 1e-3,
            bit_nm: media.bit_nm,
            tips: media.tracks * active_tips + media.spare.1 % active_tips,
            active_tips,
            block_bytes: media.tips_per_block * media.tip_sector_bytes,
            tip_sector_bytes: media.tip_sector_bytes,
            encoded_bits_per_byte: media.encoded_bits_per_byte,
            servo_bits: media.servo_bits,
            layout: media.layout,
            ..mechanics
        }
    });
    designs.prop_filter("the springs are too stiff", |design| MemsDevice::new(design).is_ok())
}
