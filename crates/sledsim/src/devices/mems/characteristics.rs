//! Data-sheet figures of a MEMS device.

use crate::devices::mems::device::{access_speed_limit_m_s, MemsDevice};
use crate::devices::mems::motion::{x_move_s, y_seek};
use crate::devices::mems::parameters::MemsParameters;
use crate::devices::Mechanism;
use crate::fault::Fault;
use crate::request::Request;
use crate::time::{ns_to_s, Time};

/// Number of cylinders that are read in sequence to measure the sustained bandwidth, and maximum number of blocks of that read.
const STREAMED_CYLINDERS: u64 = 20;
const STREAMED_BLOCKS: u64 = 1 << 22;

/// Figures of one sled; bandwidths and capacities of several sleds are multiples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Characteristics {
    /// Settling time after a move along X, seconds.
    pub settle_s: f64,
    /// Speed of the sled during access, metres per second.
    pub access_speed_m_s: f64,
    /// Greatest speed from which the sled can be stopped before the fingers of its actuator touch, metres per second; `None` without a
    /// `finger_gap_um`.
    pub access_speed_limit_m_s: Option<f64>,
    /// Active tips times data rate, without servo bursts and check tips, bytes per second (Schlosser et al. 2000, Table 2).
    pub peak_bandwidth_bytes_s: f64,
    /// Rate of a long sequential read, including all overheads, bytes per second.
    pub streaming_bandwidth_bytes_s: f64,
    /// Capacity, bytes.
    pub capacity_bytes: u64,
    /// Capacity without lost blocks, bytes.
    pub readable_bytes: u64,
    /// Bits of a tip's region times tips, in data bytes, including servo bursts and remainders (Schlosser et al. 2000, Table 2).
    pub raw_capacity_bytes: f64,
}

impl Characteristics {
    /// Returns the figures of a device.
    ///
    /// # Errors
    /// As [`MemsDevice::new`].
    pub fn of(parameters: &MemsParameters) -> Result<Self, Fault> {
        let p = parameters;
        let device = MemsDevice::new(p)?;
        let geometry = device.geometry();
        let bits = |range_um: f64| range_um * 1e3 / p.bit_nm;
        let lost_blocks = device.tips.damaged_blocks(geometry).lost;
        let data_share = f64::from(p.block_bytes / p.tip_sector_bytes) / f64::from(geometry.tips_per_block);
        let data_share = if geometry.is_stream() { 1.0 } else { data_share };
        let busy_tips = if geometry.has_points() { geometry.tips_per_block } else { p.active_tips };
        let tips_bits = f64::from(p.tips) * bits(p.x_range_um) * bits(p.y_range_um);
        Ok(Self {
            settle_s: ns_to_s(device.positioning().settle_ns()),
            access_speed_m_s: device.positioning().speed_m_s(),
            access_speed_limit_m_s: p.finger_gap_um.map(|gap_um| access_speed_limit_m_s(p, gap_um)),
            peak_bandwidth_bytes_s: f64::from(busy_tips) * p.bit_rate_kbit_s * 1e3 / f64::from(p.encoded_bits_per_byte)
                * data_share,
            streaming_bandwidth_bytes_s: streaming_bytes_s(MemsDevice::new(p)?),
            capacity_bytes: geometry.capacity_blocks() * u64::from(geometry.block_bytes),
            readable_bytes: (geometry.capacity_blocks() - lost_blocks) * u64::from(geometry.block_bytes),
            raw_capacity_bytes: tips_bits / f64::from(p.encoded_bits_per_byte),
        })
    }
}

/// Returns the rate of a sequential read of cylinders in the middle of the media, after its first positioning.
fn streaming_bytes_s(mut device: MemsDevice) -> f64 {
    let geometry = device.geometry().clone();
    let blocks_per_cylinder = geometry.capacity_blocks() / u64::from(geometry.cylinders);
    let most_cylinders = STREAMED_CYLINDERS.min(STREAMED_BLOCKS / blocks_per_cylinder.max(1)).max(1);
    let cylinders = most_cylinders.min(u64::from(geometry.cylinders));
    let lbn = (u64::from(geometry.cylinders) - cylinders) / 2 * blocks_per_cylinder;
    let blocks = (cylinders * blocks_per_cylinder).min(STREAMED_BLOCKS) as u32;
    let request = Request::read(lbn, blocks);
    let service = device.serve(Time::ZERO, &request);
    let streamed_ns = (service.end - service.start) - service.phases.startup_ns - service.phases.seek_ns;
    f64::from(blocks) * f64::from(geometry.block_bytes) / ns_to_s(streamed_ns)
}

impl MemsDevice {
    /// Returns the time in seconds to move along X between two positions (metres from the centre) and settle; 0 if they are the same.
    #[must_use]
    pub fn seek_x_s(&self, from_m: f64, to_m: f64) -> f64 {
        if from_m == to_m {
            return 0.0;
        }
        let positioning = self.positioning();
        let move_s = x_move_s(positioning.model(), positioning.x_axis(), from_m, to_m);
        move_s + ns_to_s(positioning.settle_ns())
    }

    /// Returns the time in seconds to seek along Y between two positions (metres from the centre). Directions are +1 or −1; 0 for a start
    /// from rest.
    #[must_use]
    pub fn seek_y_s(&self, from_m: f64, from_direction: f64, to_m: f64, to_direction: f64) -> f64 {
        let positioning = self.positioning();
        let v = positioning.speed_m_s();
        y_seek(positioning.model(), positioning.y_axis(), v, from_m, from_direction * v, to_m, to_direction * v).time_s
    }
}
