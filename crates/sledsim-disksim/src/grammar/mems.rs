//! Blocks of devices other than disk drives.

use super::Takes::{Block, Flag, Real, Whole};
use super::Treatment::{Enters, Idle, Key, Only, Queue};
use super::{optional, print, required, BlockType, MANY};

/// A device of constant service time.
pub const SIMPLE_DISK: BlockType = BlockType {
    name: "disksim_simpledisk",
    title: "a device of constant access time",
    parameters: &[
        required(
            "Scheduler",
            Block(&["disksim_ioqueue"]),
            Enters("system.scheduler", "of a scenario, where the device's own queue counts"),
        ),
        required(
            "Max queue length",
            Whole(0, MANY),
            Queue("requests that the device holds at a time; Sledsim tells it one at a time"),
        ),
        required("Block count", Whole(1, 1_000_000_000_000_000), Key("capacity_blocks")),
        optional("Bus transaction latency", Real(0.0, 1000.0), Only(0.0, "messages on the bus take no time")),
        required(
            "Bulk sector transfer time",
            Real(0.0, 1000.0),
            Only(0.0, "the time does not depend on the size of a request"),
        ),
        required("Never disconnect", Flag, Idle("the device has the bus to itself")),
        print("Print stats"),
        required("Command overhead", Real(0.0, 1000.0), Enters("access_ms", "added")),
        optional("Constant access time", Real(0.0, 1_000_000.0), Enters("access_ms", "another name of Access time")),
        optional("Access time", Real(0.0, 1_000_000.0), Enters("access_ms", "added")),
    ],
};

/// A MEMS device.
pub const MEMS: BlockType = BlockType {
    name: "memsmodel_mems",
    title: "a MEMS device",
    parameters: &[
        required(
            "Scheduler",
            Block(&["disksim_ioqueue"]),
            Enters("system.scheduler", "of a scenario, where the device's own queue counts"),
        ),
        required(
            "Points in precomputed seek curve",
            Whole(0, MANY),
            Only(0.0, "DiskSim interpolates seek times between so many points; Sledsim computes each"),
        ),
        required(
            "Seek function",
            Whole(0, 1),
            Enters("seek_model", "decomposed; 1 (Hong's formula) can't be carried over"),
        ),
        required("Max queue length", Whole(0, MANY), Idle("the device's queue has no end here")),
        required("Bulk sector transfer time", Real(0.0, 1000.0), Key("bus_ms_per_block")),
        required(
            "Segment size (in blks)",
            Whole(0, MANY),
            Only(0.0, "Sledsim's MEMS devices have no buffer of their own"),
        ),
        required(
            "Number of buffer segments",
            Whole(0, MANY),
            Only(0.0, "Sledsim's MEMS devices have no buffer of their own"),
        ),
        print("Print stats"),
        required("Command overhead", Real(0.0, 1000.0), Key("overhead_ms")),
        required("Number of sleds", Whole(1, 1024), Key("sleds")),
        required("Layout policy", Whole(6, 7), Enters("layout", "6 and 7: simple, serpentine")),
        required("Sled movement X", Whole(1000, 10_000_000), Enters("x_range_um", "from nm")),
        required("Sled movement Y", Whole(1000, 10_000_000), Enters("y_range_um", "from nm")),
        required("Bit cell length", Whole(1, 10_000), Enters("bit_nm", "as it is")),
        required(
            "Tip sector length",
            Whole(1, 40_960),
            Enters("tip_sector_bytes, encoded_bits_per_byte", "10 bits hold a byte, as DiskSim assumes"),
        ),
        required("Servo burst length", Whole(0, 10_000), Key("servo_bits")),
        required("Tip sectors per lbn", Whole(1, 1_000_000), Enters("block_bytes", "times tip_sector_bytes")),
        required("Number of usable tips", Whole(1, 10_000_000), Key("tips")),
        required("Simultaneously active tips", Whole(1, 10_000_000), Key("active_tips")),
        required("Bidirectional access", Flag, Key("bidirectional")),
        required("Sled acceleration X", Real(0.1, 1_000_000.0), Key("acceleration_x_m_s2")),
        required("Sled acceleration Y", Real(0.1, 1_000_000.0), Key("acceleration_y_m_s2")),
        required("Sled access speed", Whole(100, 1_000_000_000), Enters("bit_rate_kbit_s", "from bit/s")),
        required("Sled resonant frequency", Whole(1, 1_000_000), Enters("resonance_hz", "as it is")),
        required("Settling time constants", Real(0.0, 100.0), Key("settle_constants")),
        required("Spring constant factor", Real(0.0, 0.99), Key("spring_factor")),
        required("Prefetch depth", Whole(0, MANY), Only(0.0, "Sledsim's MEMS devices don't prefetch")),
        required("Time before sled inactive", Real(0.0, 1e9), Key("inactive_after_ms")),
        required("Startup delay", Real(0.0, 10_000.0), Key("startup_ms")),
        required(
            "Sled active power",
            Real(0.0, 1_000_000.0),
            Enters("sled_mw, startup_mw", "DiskSim charges both alike"),
        ),
        required("Sled inactive power", Real(0.0, 1_000_000.0), Key("inactive_mw")),
        required("Tip access power", Real(0.0, 1000.0), Key("tip_mw")),
    ],
};
