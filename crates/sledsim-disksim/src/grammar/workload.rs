//! Blocks of generated workloads.

use super::Takes::{Flag, List, Real, Whole};
use super::Treatment::{Enters, Idle, Only};
use super::{required, BlockType, ANY, MANY};

/// Processes that generate requests.
pub const GENERATORS: BlockType = BlockType {
    name: "disksim_synthio",
    title: "generated requests",
    parameters: &[
        required("Number of I/O requests to generate", Whole(1, MANY), Enters("run.requests", "as it is")),
        required("Maximum time of trace generated", Real(1e-9, ANY), Enters("run.time_s", "as it is")),
        required("System call/return with each request", Flag, Only(0.0, "no processors are simulated")),
        required("Think time from call to request", Real(0.0, ANY), Idle("counts only with system calls")),
        required("Think time from request to return", Real(0.0, ANY), Idle("counts only with system calls")),
        required("Generators", List, Enters("workload", "below")),
    ],
};

/// One process that generates requests.
pub const GENERATOR: BlockType = BlockType {
    name: "disksim_synthgen",
    title: "a process that generates requests",
    parameters: &[
        required(
            "Storage capacity per device",
            Whole(1, MANY),
            Enters("workload.range", "as a fraction of the device"),
        ),
        required("devices", List, Enters("system.device", "one device is simulated")),
        required(
            "Blocking factor",
            Whole(1, 1_000_000),
            Enters("workload.location, workload.size_bytes", "the alignment of addresses and sizes"),
        ),
        required(
            "Probability of sequential access",
            Real(0.0, 1.0),
            Enters("workload.location", "sequential runs, where no request is local"),
        ),
        required(
            "Probability of local access",
            Real(0.0, 1.0),
            Enters("workload.location", "a random walk, where all requests are local"),
        ),
        required("Probability of read access", Real(0.0, 1.0), Enters("workload.read_fraction", "as it is")),
        required(
            "Probability of time-critical request",
            Real(0.0, 1.0),
            Enters("workload.arrival", "closed if 1, open if 0"),
        ),
        required(
            "Probability of time-limited request",
            Real(0.0, 1.0),
            Only(0.0, "no request waits for an earlier one after a while"),
        ),
        required("Time-limited think times", List, Idle("counts only for time-limited requests")),
        required(
            "General inter-arrival times",
            List,
            Enters("workload.arrival", "times between requests, or think times"),
        ),
        required("Sequential inter-arrival times", List, Enters("workload.arrival", "of sequential requests")),
        required("Local inter-arrival times", List, Enters("workload.arrival", "of local requests")),
        required("Local distances", List, Enters("workload.location", "of local requests")),
        required("Sizes", List, Enters("workload.size_bytes", "from blocks")),
    ],
};
