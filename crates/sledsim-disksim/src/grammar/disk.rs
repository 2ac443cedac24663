//! Blocks of disk drives.

use super::Takes::{Block, Choice, Flag, List, Real, Text, Whole};
use super::Treatment::{Enters, Idle, Key, Only, Queue};
use super::{optional, print, required, BlockType, ANY, MANY};

/// Longest time that the keys allow, ms.
const MS: super::Takes = Real(0.0, 1000.0);
const REVOLUTIONS_OR_SECTORS: &[&str] = &["revolutions", "sectors"];

/// A disk drive: its electronics.
pub const DISK: BlockType = BlockType {
    name: "disksim_disk",
    title: "a disk drive",
    parameters: &[
        required("Model", Block(&["dm_disk"]), Enters("", "the drive's mechanics, below")),
        required(
            "Scheduler",
            Block(&["disksim_ioqueue"]),
            Enters("system.scheduler", "of a scenario, where the device's own queue counts"),
        ),
        required(
            "Max queue length",
            Whole(0, MANY),
            Queue("requests that the drive holds at a time; Sledsim tells it one at a time"),
        ),
        required(
            "Bulk sector transfer time",
            MS,
            Enters("bus_ms_per_block", "the longest of the drive's, the bus's and the controller's"),
        ),
        required("Segment size (in blks)", Whole(1, 100_000_000), Key("segment_blocks")),
        required("Number of buffer segments", Whole(1, 100_000), Key("buffer_segments")),
        print("Print stats"),
        required("Per-request overhead time", MS, Key("request_overhead_ms")),
        required("Time scale for overheads", Real(0.0, 1000.0), Key("overhead_scale")),
        required("Hold bus entire read xfer", Flag, Key("hold_bus_reading")),
        required(
            "Hold bus entire write xfer",
            Flag,
            Idle("is of no account where the data of a write crosses the bus in one go"),
        ),
        required("Allow almost read hits", Flag, Key("almost_read_hits")),
        required("Allow sneaky full read hits", Flag, Key("whole_hits_beside_writes")),
        required("Allow sneaky partial read hits", Flag, Key("partial_hits_beside_writes")),
        required("Allow sneaky intermediate read hits", Flag, Queue("serves queued reads while the bus is free")),
        required("Allow read hits on write data", Flag, Key("read_hits_on_writes")),
        required("Allow write prebuffering", Flag, Queue("fetches the data of queued writes while the bus is free")),
        required(
            "Preseeking level",
            Whole(0, 2),
            Queue("seeks for the next queued request before the present one is complete"),
        ),
        required("Never disconnect", Flag, Key("never_disconnect")),
        required(
            "Avg sectors per cylinder",
            Whole(0, MANY),
            Idle("is for schedulers that guess cylinders; Sledsim's know the layout"),
        ),
        required(
            "Maximum number of write segments",
            Whole(1, 100_000),
            Queue("segments that hold writes; a drive that is told one request at a time fills one"),
        ),
        required("Use separate write segment", Flag, Key("separate_write_segment")),
        required(
            "Low (write) water mark",
            Real(0.0, 1.0),
            Only(0.0, "the data of a write crosses the bus in one go: no drive comes back to fetch more"),
        ),
        required("High (read) water mark", Real(0.0, 1.0), Key("read_watermark")),
        required("Set watermark by reqsize", Flag, Key("watermark_of_request")),
        required("Calc sector by sector", Flag, Idle("chooses how DiskSim computes, not what")),
        required("Enable caching in buffer", Whole(0, 2), Enters("buffer_caching", "on unless 0")),
        required(
            "Buffer continuous read",
            Whole(0, 4),
            Enters("read_ahead", "0 to 4: none, track, cylinder, segment, next-track"),
        ),
        required(
            "Minimum read-ahead (blks)",
            Whole(0, 100_000_000),
            Enters("read_ahead_least_blocks", "0 where there is no read-ahead"),
        ),
        required("Maximum read-ahead (blks)", Whole(0, 100_000_000), Key("read_ahead_most_blocks")),
        required("Read-ahead over requested", Whole(-1, 1), Key("read_ahead_over_requested")),
        required("Read-ahead on idle hit", Flag, Key("read_ahead_on_idle_hit")),
        required("Read any free blocks", Flag, Key("read_free_blocks")),
        required("Fast write level", Whole(0, 2), Enters("fast_write", "0 to 2: none, sequential, full")),
        required("Combine seq writes", Flag, Key("combine_writes")),
        required("Stop prefetch in sector", Flag, Key("stop_read_ahead_in_sector")),
        required("Disconnect write if seek", Flag, Only(0.0, "a write disconnects when its data is over")),
        required("Write hit stop prefetch", Flag, Only(1.0, "every write ends reading ahead")),
        required(
            "Read directly to buffer",
            Flag,
            Only(1.0, "blocks pass to the bus while their segment is being filled"),
        ),
        required("Immed transfer partial hit", Flag, Key("transfer_partial_hits")),
        required("Read hit over. after read", MS, Key("read_hit_after_read_ms")),
        required("Read hit over. after write", MS, Key("read_hit_after_write_ms")),
        required("Read miss over. after read", MS, Key("read_miss_after_read_ms")),
        required("Read miss over. after write", MS, Key("read_miss_after_write_ms")),
        required("Write hit over. after read", MS, Key("write_hit_after_read_ms")),
        required("Write hit over. after write", MS, Key("write_hit_after_write_ms")),
        required("Write miss over. after read", MS, Key("write_miss_after_read_ms")),
        required("Write miss over. after write", MS, Key("write_miss_after_write_ms")),
        required("Read completion overhead", MS, Key("read_completion_ms")),
        required("Write completion overhead", MS, Key("write_completion_ms")),
        required("Data preparation overhead", MS, Key("data_preparation_ms")),
        required("First reselect overhead", MS, Key("first_reselect_ms")),
        required("Other reselect overhead", MS, Key("other_reselect_ms")),
        required("Read disconnect afterread", MS, Key("read_disconnect_after_read_ms")),
        required("Read disconnect afterwrite", MS, Key("read_disconnect_after_write_ms")),
        required("Write disconnect overhead", MS, Key("write_disconnect_ms")),
        required("Extra write disconnect", Flag, Key("extra_write_disconnect")),
        required("Extradisc command overhead", MS, Key("extra_command_ms")),
        required("Extradisc disconnect overhead", MS, Key("extra_disconnect_ms")),
        required("Extradisc inter-disconnect delay", MS, Key("extra_gap_ms")),
        required("Extradisc 2nd disconnect overhead", MS, Key("extra_second_disconnect_ms")),
        required("Extradisc seek delta", MS, Key("extra_seek_delay_ms")),
        required("Minimum seek delay", MS, Key("least_seek_ms")),
        required("Immediate buffer read", Whole(0, 2), Enters("zero_latency_reads", "on unless 0")),
        required("Immediate buffer write", Whole(0, 2), Enters("zero_latency_writes", "on unless 0")),
    ],
};

/// A disk drive: its mechanics and layout.
pub const MODEL: BlockType = BlockType {
    name: "dm_disk",
    title: "a drive's mechanics and layout",
    parameters: &[
        required("Block count", Whole(0, MANY), Enters("capacity_blocks", "where it is less than the zones hold")),
        required("Number of data surfaces", Whole(1, 1000), Key("surfaces")),
        required(
            "Number of cylinders",
            Whole(1, 100_000_000),
            Enters("cylinders", "one more where the last zone ends there"),
        ),
        required("Mechanical Model", Block(&["dm_mech_g1"]), Enters("", "times of the mechanics, below")),
        required("Layout Model", Block(&["dm_layout_g1"]), Enters("", "the layout, below")),
    ],
};

/// The layout: zones, spares, defects.
pub const LAYOUT: BlockType = BlockType {
    name: "dm_layout_g1",
    title: "a drive's layout",
    parameters: &[
        required(
            "LBN-to-PBN mapping scheme",
            Whole(0, 2),
            Enters("mapping", "0 to 2: cylinder, serpentine-by-zone, serpentine"),
        ),
        required("Sparing scheme used", Whole(0, 10), Enters("sparing", "0 to 10, in the order of the key's table")),
        required("Rangesize for sparing", Whole(1, 100_000_000), Key("sparing_range_cylinders")),
        optional(
            "Skew units",
            Choice(REVOLUTIONS_OR_SECTORS),
            Enters("zones", "skews and offsets are converted to sectors"),
        ),
        required("Zones", List, Enters("zones", "a table for each, below")),
    ],
};

/// A zone.
pub const ZONE: BlockType = BlockType {
    name: "dm_layout_g1_zone",
    title: "a zone",
    parameters: &[
        required("First cylinder number", Whole(0, 100_000_000), Key("first_cylinder")),
        required("Last cylinder number", Whole(0, 100_000_000), Key("last_cylinder")),
        required("Blocks per track", Whole(1, 1_000_000), Key("sectors_per_track")),
        required("Offset of first block", Real(0.0, 1e6), Enters("first_sector_offset", "in sectors")),
        optional("Skew units", Choice(REVOLUTIONS_OR_SECTORS), Enters("zones", "before that of the layout")),
        required("Empty space at zone front", Whole(0, 1_000_000_000), Key("empty_sectors")),
        optional(
            "Skew for track switch",
            Real(0.0, 1e6),
            Enters("track_skew_sectors", "in sectors; 0 where it is missing"),
        ),
        optional(
            "Skew for cylinder switch",
            Real(0.0, 1e6),
            Enters("cylinder_skew_sectors", "in sectors; 0 where it is missing"),
        ),
        required("Number of spares", Whole(0, 1_000_000_000), Key("spares")),
        required("slips", List, Enters("slips", "as they are")),
        required("defects", List, Enters("remaps", "in pairs: the defect and its spare")),
    ],
};

/// The mechanics: seeks, rotation.
pub const MECHANICS: BlockType = BlockType {
    name: "dm_mech_g1",
    title: "times of a drive's mechanics",
    parameters: &[
        required(
            "Access time type",
            Choice(&["constant", "averageRotation", "trackSwitchPlusRotation"]),
            Enters(
                "rotation",
                "average for averageRotation, phase for trackSwitchPlusRotation; constant can't be carried over",
            ),
        ),
        optional("Constant access time", Real(0.0, ANY), Idle("counts only where the access time type is constant")),
        required(
            "Seek type",
            Choice(&["linear", "curve", "constant", "hpl", "hplplus10", "extracted"]),
            Enters("seek", "curve three-point, lee, constant, hpl, hpl with first_ms, table"),
        ),
        optional("Average seek time", Real(0.0, 10_000.0), Enters("seek", "average_ms of linear and curve")),
        optional("Constant seek time", Real(0.0, 10_000.0), Enters("seek", "seek_ms of constant")),
        optional("Single cylinder seek time", Real(0.0, 10_000.0), Enters("seek", "single_ms of linear and curve")),
        optional("Full strobe seek time", Real(0.0, 10_000.0), Enters("seek", "full_ms of linear and curve")),
        optional("Full seek curve", Text, Enters("seek", "points of extracted, from the file named")),
        required("Add. write settling delay", Real(-1000.0, 1000.0), Key("write_settle_ms")),
        required("Head switch time", MS, Key("head_switch_ms")),
        required("Rotation speed (in rpms)", Whole(1, 1_000_000), Key("rotation_rpm")),
        required(
            "Percent error in rpms",
            Real(0.0, 100.0),
            Only(
                0.0,
                "DiskSim draws the speed of each drive at random within it; rotation_error_percent takes a known error",
            ),
        ),
        optional("First ten seek times", List, Enters("seek", "first_ms of hplplus10")),
        optional(
            "HPL seek equation values",
            List,
            Enters("seek", "short_below and the four coefficients; the sixth becomes first_ms unless -1"),
        ),
    ],
};
