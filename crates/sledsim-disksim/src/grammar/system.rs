//! Blocks of the components between the workload and the device, and of DiskSim's output.

use super::Takes::{Block, Choice, Flag, List, Real, Text, Whole};
use super::Treatment::{Enters, Idle, Lost, Only};
use super::{optional, print, required, BlockType, ANY, MANY};

const ONE_DEVICE: &str = "one device is on the bus";
const NO_ARRAY: &str = "one device is simulated, as it is";
const NO_PROCESSOR: &str = "no processors are simulated";
const NO_TIMEOUT: &str = "DiskSim has a scheme of timeouts in its manual only";
const NO_PRIORITY: &str = "counts only with priorities";
const NOTHING_STAMPED: &str = "chooses what DiskSim logs";
const NO_CACHE: &str = "controllers have no cache";

/// A queue of requests and its policy.
pub const QUEUE: BlockType = BlockType {
    name: "disksim_ioqueue",
    title: "a queue",
    parameters: &[
        required("Scheduling policy", Whole(1, 28), Enters("system.scheduler", "see the table of policies")),
        required("Cylinder mapping strategy", Whole(0, 6), Idle("schedulers know the layout, or go by LBN")),
        required("Write initiation delay", Real(0.0, ANY), Only(0.0, "schedulers know the device's own overheads")),
        required("Read initiation delay", Real(0.0, ANY), Only(0.0, "schedulers know the device's own overheads")),
        required(
            "Sequential stream scheme",
            Whole(0, MANY),
            Only(0.0, "sequential requests are neither joined nor kept together"),
        ),
        required("Maximum concat size", Whole(0, MANY), Idle("counts only where sequential requests are joined")),
        required("Overlapping request scheme", Whole(0, 2), Only(0.0, "requests to the same blocks are all served")),
        required("Sequential stream diff maximum", Whole(0, MANY), Idle("counts only with a sequential stream scheme")),
        required("Scheduling timeout scheme", Whole(0, MANY), Idle(NO_TIMEOUT)),
        required(
            "Timeout time/weight",
            Whole(0, MANY),
            Enters("system.scheduler.weight", "of the aged policies; no effect on others"),
        ),
        required("Timeout scheduling", Whole(0, 28), Idle(NO_TIMEOUT)),
        required("Scheduling priority scheme", Flag, Only(0.0, "requests have no priorities")),
        required("Priority scheduling", Whole(0, 28), Idle(NO_PRIORITY)),
    ],
};

/// The host's device driver.
pub const DRIVER: BlockType = BlockType {
    name: "disksim_iodriver",
    title: "the host's device driver",
    parameters: &[
        required("type", Whole(0, MANY), Idle("has no meaning in DiskSim either")),
        required("Constant access time", Real(-3.0, ANY), Only(0.0, "service times are simulated, not given")),
        required(
            "Use queueing in subsystem",
            Flag,
            Enters("system.scheduler", "whether the device's own queue counts"),
        ),
        required("Scheduler", Block(&["disksim_ioqueue"]), Enters("system.scheduler", "the host's queue")),
    ],
};

/// A bus.
pub const BUS: BlockType = BlockType {
    name: "disksim_bus",
    title: "a bus",
    parameters: &[
        required("type", Whole(1, 2), Idle(ONE_DEVICE)),
        required("Arbitration type", Whole(1, 2), Idle(ONE_DEVICE)),
        required("Arbitration time", Real(0.0, ANY), Only(0.0, "getting the bus takes no time of its own")),
        required(
            "Read block transfer time",
            Real(0.0, 1000.0),
            Enters("bus_ms_per_block", "the longest of the drive's, the bus's and the controller's"),
        ),
        required(
            "Write block transfer time",
            Real(0.0, 1000.0),
            Enters("bus_write_ms_per_block", "where it differs from that of reads"),
        ),
        required("Print stats", Whole(0, MANY), Idle(super::PRINTS)),
    ],
};

/// A controller.
pub const CONTROLLER: BlockType = BlockType {
    name: "disksim_ctlr",
    title: "a controller",
    parameters: &[
        required("type", Whole(1, 3), Only(1.0, "controllers pass everything through")),
        required("Scale for delays", Real(0.0, ANY), Only(0.0, "controllers take no time")),
        required(
            "Bulk sector transfer time",
            Real(0.0, 1000.0),
            Enters("bus_ms_per_block", "the longest of the drive's, the bus's and the controller's"),
        ),
        required("Maximum queue length", Whole(0, MANY), Idle("controllers pass everything through")),
        print("Print stats"),
        optional("Scheduler", Block(&["disksim_ioqueue"]), Idle("controllers pass everything through; see their type")),
        optional("Cache", Block(&["disksim_cachemem", "disksim_cachedev"]), Lost(NO_CACHE)),
        optional(
            "Max per-disk pending count",
            Whole(0, MANY),
            Idle("controllers pass everything through; see their type"),
        ),
    ],
};

/// Organisation of data over devices.
pub const ORGANISATION: BlockType = BlockType {
    name: "disksim_logorg",
    title: "how data lie over devices",
    parameters: &[
        required("Addressing mode", Choice(&["Array", "Parts"]), Idle(NO_ARRAY)),
        required(
            "Distribution scheme",
            Choice(&["Asis", "Striped", "Random", "Ideal"]),
            Enters("", "Asis has no effect; others can't be carried over"),
        ),
        required(
            "Redundancy scheme",
            Choice(&["Noredun", "Shadowed", "Parity_disk", "Parity_rotated"]),
            Enters("", "Noredun has no effect; others can't be carried over"),
        ),
        optional("Components", Text, Idle(NO_ARRAY)),
        required("devices", List, Idle(NO_ARRAY)),
        required("Stripe unit", Whole(0, MANY), Idle(NO_ARRAY)),
        required("Synch writes for safety", Flag, Idle(NO_ARRAY)),
        required("Number of copies", Whole(1, MANY), Idle(NO_ARRAY)),
        required("Copy choice on read", Whole(1, 6), Idle(NO_ARRAY)),
        required("RMW vs. reconstruct", Real(0.0, 1.0), Idle(NO_ARRAY)),
        required("Parity stripe unit", Whole(1, MANY), Idle(NO_ARRAY)),
        required("Parity rotation type", Whole(1, 4), Idle(NO_ARRAY)),
        optional("Time stamp interval", Real(0.0, ANY), Idle(NOTHING_STAMPED)),
        optional("Time stamp start time", Real(0.0, ANY), Idle(NOTHING_STAMPED)),
        optional("Time stamp stop time", Real(0.0, ANY), Idle(NOTHING_STAMPED)),
        optional("Time stamp file name", Text, Idle(NOTHING_STAMPED)),
    ],
};

/// Settings of a run.
pub const GLOBAL: BlockType = BlockType {
    name: "disksim_global",
    title: "settings of a run",
    parameters: &[
        optional(
            "Init Seed",
            Whole(i64::MIN, MANY),
            Idle("seeds DiskSim's initial state; a run here starts at angle 0"),
        ),
        optional("Init Seed with time", Flag, Idle("a scenario has a seed of its own")),
        optional("Real Seed", Whole(i64::MIN, MANY), Enters("seed", "where it is not negative")),
        optional("Real Seed with time", Flag, Idle("a scenario has a seed of its own")),
        optional("Statistic warm-up time", Real(0.0, ANY), Enters("run.warmup_s", "as it is")),
        optional("Statistic warm-up IOs", Whole(0, MANY), Enters("run.warmup_requests", "as it is")),
        required("Stat definition file", Text, Idle(super::PRINTS)),
        optional("Output file for trace of I/O requests simulated", Text, Idle(super::PRINTS)),
        optional("Detailed execution trace", Text, Idle(super::PRINTS)),
    ],
};

/// DiskSim's output.
pub const STATISTICS: BlockType = BlockType {
    name: "disksim_stats",
    title: "what DiskSim prints",
    parameters: &[
        required("iodriver stats", Block(&["disksim_iodriver_stats"]), Idle(super::PRINTS)),
        required("bus stats", Block(&["disksim_bus_stats"]), Idle(super::PRINTS)),
        required("ctlr stats", Block(&["disksim_ctlr_stats"]), Idle(super::PRINTS)),
        required("device stats", Block(&["disksim_device_stats"]), Idle(super::PRINTS)),
        required("process flow stats", Block(&["disksim_pf_stats"]), Idle(super::PRINTS)),
    ],
};

/// DiskSim's output about the driver.
pub const DRIVER_STATISTICS: BlockType = BlockType {
    name: "disksim_iodriver_stats",
    title: "what DiskSim prints of the driver",
    parameters: &[
        print("Print driver size stats"),
        print("Print driver locality stats"),
        print("Print driver blocking stats"),
        print("Print driver interference stats"),
        print("Print driver queue stats"),
        print("Print driver crit stats"),
        print("Print driver idle stats"),
        print("Print driver intarr stats"),
        print("Print driver streak stats"),
        print("Print driver stamp stats"),
        print("Print driver per-device stats"),
    ],
};

/// DiskSim's output about buses.
pub const BUS_STATISTICS: BlockType = BlockType {
    name: "disksim_bus_stats",
    title: "what DiskSim prints of buses",
    parameters: &[print("Print bus idle stats"), print("Print bus arbwait stats")],
};

/// DiskSim's output about controllers.
pub const CONTROLLER_STATISTICS: BlockType = BlockType {
    name: "disksim_ctlr_stats",
    title: "what DiskSim prints of controllers",
    parameters: &[
        print("Print controller cache stats"),
        print("Print controller size stats"),
        print("Print controller locality stats"),
        print("Print controller blocking stats"),
        print("Print controller interference stats"),
        print("Print controller queue stats"),
        print("Print controller crit stats"),
        print("Print controller idle stats"),
        print("Print controller intarr stats"),
        print("Print controller streak stats"),
        print("Print controller stamp stats"),
        print("Print controller per-device stats"),
    ],
};

/// DiskSim's output about devices.
pub const DEVICE_STATISTICS: BlockType = BlockType {
    name: "disksim_device_stats",
    title: "what DiskSim prints of devices",
    parameters: &[
        print("Print device queue stats"),
        print("Print device crit stats"),
        print("Print device idle stats"),
        print("Print device intarr stats"),
        print("Print device size stats"),
        print("Print device seek stats"),
        print("Print device latency stats"),
        print("Print device xfer stats"),
        print("Print device acctime stats"),
        print("Print device interfere stats"),
        print("Print device buffer stats"),
    ],
};

/// DiskSim's output about processes.
pub const PROCESS_STATISTICS: BlockType = BlockType {
    name: "disksim_pf_stats",
    title: "what DiskSim prints of processes",
    parameters: &[
        print("Print per-process stats"),
        print("Print per-CPU stats"),
        print("Print all interrupt stats"),
        print("Print sleep stats"),
    ],
};

/// Processors of the host.
pub const PROCESSES: BlockType = BlockType {
    name: "disksim_pf",
    title: "processors of the host",
    parameters: &[
        required("Number of processors", Whole(1, MANY), Idle(NO_PROCESSOR)),
        required("Process-Flow Time Scale", Real(0.0, ANY), Enters("workload.arrival", "a factor on think times")),
    ],
};

/// Input of traces.
pub const TRACE_INPUT: BlockType = BlockType {
    name: "disksim_iosim",
    title: "how a trace is read",
    parameters: &[
        optional(
            "I/O Trace Time Scale",
            Real(-ANY, ANY),
            Only(1.0, "no trace is named here; workload.time_scale takes it"),
        ),
        optional(
            "I/O Mappings",
            List,
            Only(f64::NAN, "no trace is named here; workload.devices and workload.sector_bytes take it"),
        ),
    ],
};

/// Mapping of trace requests to devices.
pub const TRACE_MAPPING: BlockType = BlockType {
    name: "disksim_iomap",
    title: "where the requests of a trace go",
    parameters: &[
        required("tracedev", Whole(i64::MIN, MANY), Idle("see I/O Mappings")),
        required("simdev", Text, Idle("see I/O Mappings")),
        required("locScale", Whole(1, MANY), Idle("see I/O Mappings")),
        required("sizeScale", Whole(1, MANY), Idle("see I/O Mappings")),
        optional("offset", Whole(0, MANY), Idle("see I/O Mappings")),
    ],
};

/// Drives with synchronised rotation.
pub const SYNCHRONISED: BlockType = BlockType {
    name: "disksim_syncset",
    title: "drives that turn together",
    // DiskSim's definition requires the type, but its files omit it.
    parameters: &[optional("type", Text, Idle(NO_ARRAY)), required("devices", List, Idle(NO_ARRAY))],
};

/// A controller's cache in memory.
pub const CACHE: BlockType = BlockType {
    name: "disksim_cachemem",
    title: "a controller's cache in memory",
    parameters: &[
        required("Cache size", Whole(0, MANY), Lost(NO_CACHE)),
        optional("SLRU segments", List, Lost(NO_CACHE)),
        required("Line size", Whole(0, MANY), Lost(NO_CACHE)),
        required("Bit granularity", Whole(1, MANY), Lost(NO_CACHE)),
        required("Lock granularity", Whole(1, MANY), Lost(NO_CACHE)),
        required("Shared read locks", Flag, Lost(NO_CACHE)),
        required("Max request size", Whole(0, MANY), Lost(NO_CACHE)),
        required("Replacement policy", Whole(1, 4), Lost(NO_CACHE)),
        required("Allocation policy", Whole(0, 1), Lost(NO_CACHE)),
        required("Write scheme", Whole(1, 3), Lost(NO_CACHE)),
        required("Flush policy", Whole(0, 1), Lost(NO_CACHE)),
        required("Flush period", Real(0.0, ANY), Lost(NO_CACHE)),
        required("Flush idle delay", Real(-1.0, ANY), Lost(NO_CACHE)),
        required("Flush max line cluster", Whole(0, MANY), Lost(NO_CACHE)),
        required("Read prefetch type", Whole(0, 3), Lost(NO_CACHE)),
        required("Write prefetch type", Whole(0, 3), Lost(NO_CACHE)),
        required("Line-by-line fetches", Flag, Lost(NO_CACHE)),
        required("Max gather", Whole(0, MANY), Lost(NO_CACHE)),
    ],
};

/// A controller's cache on another device.
pub const CACHE_DEVICE: BlockType = BlockType {
    name: "disksim_cachedev",
    title: "a controller's cache on another device",
    parameters: &[
        required("Cache size", Whole(0, MANY), Lost(NO_CACHE)),
        required("Max request size", Whole(0, MANY), Lost(NO_CACHE)),
        required("Write scheme", Whole(1, 3), Lost(NO_CACHE)),
        required("Flush policy", Whole(0, 1), Lost(NO_CACHE)),
        required("Flush period", Real(0.0, ANY), Lost(NO_CACHE)),
        required("Flush idle delay", Real(-1.0, ANY), Lost(NO_CACHE)),
        required("Cache device", Text, Lost(NO_CACHE)),
        required("Cached device", Text, Lost(NO_CACHE)),
    ],
};
