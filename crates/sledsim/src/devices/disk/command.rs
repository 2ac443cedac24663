//! Times of a drive's electronics for commands and for the bus.

use super::{DiskParameters, FastWrite};
use crate::fault::{Fault, Range};
use crate::request::Op;
use crate::time::ms_to_ns;

/// Converts the value of the parameter `name` from milliseconds to nanoseconds.
///
/// # Errors
/// It is outside 0 to 1e6 ms.
pub(super) fn ns(name: &str, ms: f64) -> Result<u64, Fault> {
    if (0.0..=1e6).contains(&ms) {
        Ok(ms_to_ns(ms))
    } else {
        Err(Fault::out_of_range(name, ms, Range::from_to(0.0, 1e6)))
    }
}

/// Size in blocks from which a write that disconnects twice is long.
const LONG_WRITE_BLOCKS: u64 = 45;

/// Blocks that have to be in the buffer before a short, or a long, write that disconnects twice begins on the medium.
const SHORT_WRITE_STOCK_BLOCKS: u64 = 10;
const LONG_WRITE_STOCK_BLOCKS: u64 = 15;

/// A time that depends on the operation of the previous request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimeByPrevious {
    read_ns: u64,
    write_ns: u64,
}

impl TimeByPrevious {
    /// Returns the time after a request of the operation `previous`.
    #[inline]
    pub(super) const fn after(self, previous: Op) -> u64 {
        match previous {
            Op::Read => self.read_ns,
            Op::Write | Op::Flush | Op::Reset => self.write_ns,
        }
    }
}

/// Times of the electronics of a drive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overheads {
    /// Overhead of every request.
    pub request_ns: u64,
    /// Command of a read that hits the buffer.
    pub read_hit: TimeByPrevious,
    /// Command of a read from the medium.
    pub read_miss: TimeByPrevious,
    /// Command of a write that continues data waiting in the buffer, or of any on a drive with full fast write.
    pub write_hit: TimeByPrevious,
    /// Command of any other write.
    pub write_miss: TimeByPrevious,
    /// Part of `write_miss.read_ns` that overlaps the seek.
    pub write_seek_overlap_ns: u64,
    /// Completion of a read.
    pub read_completion_ns: u64,
    /// Completion of a write.
    pub write_completion_ns: u64,
    /// Preparation of each data transfer.
    pub preparation_ns: u64,
    /// First reconnection of a request, and each reconnection of a read.
    pub first_reselect_ns: u64,
    /// Second reconnection of a write that disconnects twice.
    pub other_reselect_ns: u64,
    /// Disconnection of a read.
    pub read_disconnect: TimeByPrevious,
    /// Disconnection of a write.
    pub write_disconnect_ns: u64,
    /// Command of a write that disconnects twice.
    pub extra_command_ns: u64,
    /// First disconnection of such a write.
    pub extra_disconnect_ns: u64,
    /// Gap between its first disconnection and its reconnection.
    pub extra_gap_ns: u64,
    /// Second disconnection of such a write.
    pub extra_second_disconnect_ns: u64,
    /// Delay of its seek after the command.
    pub extra_seek_delay_ns: u64,
    /// Minimum seek time of a write.
    pub least_seek_ns: u64,
    /// Bus time of a block to the host.
    pub read_block_ns: u64,
    /// Bus time of a block from the host.
    pub write_block_ns: u64,
}

impl Overheads {
    /// Returns the times of a drive.
    ///
    /// # Errors
    /// A time is outside 0 to 1e6 ms.
    pub(super) fn new(p: &DiskParameters) -> Result<Self, Fault> {
        let scaled = |name: &str, ms: f64| ns(name, ms * p.overhead_scale);
        let after = |name: &str, read_ms: f64, write_ms: f64| -> Result<TimeByPrevious, Fault> {
            Ok(TimeByPrevious {
                read_ns: scaled(&format!("{name}_after_read_ms"), read_ms)?,
                write_ns: scaled(&format!("{name}_after_write_ms"), write_ms)?,
            })
        };
        let read_miss = after("read_miss", p.read_miss_after_read_ms, p.read_miss_after_write_ms)?;
        let written = after("write_miss", p.write_miss_after_read_ms, p.write_miss_after_write_ms)?;
        let write_miss = write_miss(p, written, read_miss);
        Ok(Self {
            request_ns: scaled("request_overhead_ms", p.request_overhead_ms)?,
            read_hit: after("read_hit", p.read_hit_after_read_ms, p.read_hit_after_write_ms)?,
            read_miss,
            write_hit: after("write_hit", p.write_hit_after_read_ms, p.write_hit_after_write_ms)?,
            write_miss,
            write_seek_overlap_ns: write_seek_overlap_ns(p, write_miss),
            read_completion_ns: scaled("read_completion_ms", p.read_completion_ms)?,
            write_completion_ns: scaled("write_completion_ms", p.write_completion_ms)?,
            preparation_ns: scaled("data_preparation_ms", p.data_preparation_ms)?,
            first_reselect_ns: scaled("first_reselect_ms", p.first_reselect_ms)?,
            other_reselect_ns: scaled("other_reselect_ms", p.other_reselect_ms)?,
            read_disconnect: after(
                "read_disconnect",
                p.read_disconnect_after_read_ms,
                p.read_disconnect_after_write_ms,
            )?,
            write_disconnect_ns: scaled("write_disconnect_ms", p.write_disconnect_ms)?,
            extra_command_ns: scaled("extra_command_ms", p.extra_command_ms)?,
            extra_disconnect_ns: scaled("extra_disconnect_ms", p.extra_disconnect_ms)?,
            extra_gap_ns: ns("extra_gap_ms", p.extra_gap_ms)?,
            extra_second_disconnect_ns: scaled("extra_second_disconnect_ms", p.extra_second_disconnect_ms)?,
            extra_seek_delay_ns: scaled("extra_seek_delay_ms", p.extra_seek_delay_ms)?,
            least_seek_ns: ns("least_seek_ms", p.least_seek_ms)?,
            read_block_ns: ns("bus_ms_per_block", p.bus_ms_per_block)?,
            write_block_ns: match p.bus_write_ms_per_block {
                Some(ms) => ns("bus_write_ms_per_block", ms)?,
                None => ns("bus_ms_per_block", p.bus_ms_per_block)?,
            },
        })
    }
}

/// Returns the command overheads of a write to the medium.
///
/// On a drive without fast write, the command of a write takes at least as long as that of a read: both are decoded alike before
/// the arm leaves.
fn write_miss(p: &DiskParameters, written: TimeByPrevious, read: TimeByPrevious) -> TimeByPrevious {
    match p.fast_write {
        FastWrite::None => TimeByPrevious { write_ns: written.write_ns.max(read.write_ns), ..written },
        FastWrite::Sequential | FastWrite::Full => written,
    }
}

/// Returns the part of the command of a write after a read that overlaps the seek, ns.
///
/// It is the time to turn the buffer round, which delays the data only. A drive that holds the bus does one after the other, and
/// one with fast write reports before the arm matters.
fn write_seek_overlap_ns(p: &DiskParameters, write_miss: TimeByPrevious) -> u64 {
    if p.fast_write != FastWrite::None || p.hold_bus_reading || p.never_disconnect {
        return 0;
    }
    write_miss.read_ns.saturating_sub(write_miss.write_ns)
}

/// Returns the number of blocks of a write that have to be in the buffer before it begins on the medium. A drive that disconnects
/// twice waits for more of them, to stay ahead of the medium on a slow bus; the numbers are DiskSim's for such drives.
#[inline]
pub(super) fn write_stock_blocks(extra_write_disconnect: bool, blocks: u64) -> u64 {
    match extra_write_disconnect {
        false => 1,
        true if blocks < LONG_WRITE_BLOCKS => blocks.min(SHORT_WRITE_STOCK_BLOCKS),
        true => LONG_WRITE_STOCK_BLOCKS,
    }
}
