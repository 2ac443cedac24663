//! Limits that no key of a scenario states. Each is checked before the work that it limits. `docs/reference/scenario.md` is generated
//! from [`ALL`].

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Name in the table of limits.
    pub name: &'static str,
    /// Maximum.
    pub most: u64,
    /// The counted quantity.
    pub of: &'static str,
    /// Reason for the limit.
    pub why: &'static str,
}

macro_rules! limits {
    ($($constant:ident = $name:literal, $most:expr, $of:literal, $why:literal;)*) => {
        $(#[doc = concat!("Limit of ", $of, ".")]
        pub const $constant: Limit = Limit { name: $name, most: $most, of: $of, why: $why };)*

        /// All limits, in the order of the page.
        pub const ALL: &[Limit] = &[$($constant),*];
    };
}

limits! {
    DOCUMENT_BYTES = "size of a document", 1 << 24,
        "bytes of a document's text",
        "the text and all values are kept in memory";
    NESTING = "nesting", 100,
        "tables and lists within each other in a document, and keys in the path of a setting",
        "the reader is recursive";
    COMPONENTS_DEEP = "components deep", 16,
        "components from the system down to a drive",
        "requests pass through all levels";
    COMPONENTS = "components", 4096,
        "components of a system",
        "each takes memory, and time at the start of a run";
    CYLINDERS = "cylinders", 1 << 27,
        "cylinders of all drives of a system",
        "schedulers that use positioning times keep pending requests by cylinder";
    LATENT_ERRORS = "latent errors", 1 << 18,
        "latent errors that the members of a system have on average, from `latent_per_gb` and their sizes",
        "each takes memory, and time when the system is built";
    BLOCKS_OF_A_REQUEST = "blocks of a request", 1 << 24,
        "blocks of a request to a system or a device. A longer request fails",
        "the path of a sled over all blocks is kept";
    PARTS_OF_A_REQUEST = "parts of a request", 1 << 18,
        "parts that a component may cut a request into: stripe units, lines of a cache, segments; where runs cut power, \
         stretches of 256 B. A longer request fails",
        "all parts of a request are outstanding at the same time";
    PARTS_UNDER_WAY = "parts under way", 1 << 21,
        "parts of all outstanding requests; an undivided request counts as one",
        "an overloaded system accumulates outstanding requests";
    DATA_HELD = "data held", 1 << 29,
        "bytes of blocks that a run with power cuts has written, on all devices together",
        "all are kept in memory, to find the data lost by a power cut";
    DATA_UNDER_WAY = "data under way", 1 << 29,
        "bytes of outstanding requests, their parts, and blocks read by rebuilds in a run with power cuts, for each component",
        "all are kept in memory until they are written";
    CUSTOM_TIME_NS = "times of a custom mechanism", 1_000_000_000_000,
        "nanoseconds of one positioning, or of one transfer",
        "simulated time has 64 bits";
    LOG_ROWS = "rows of a log", 1 << 24,
        "requests of a run with a log",
        "the log is kept in memory until the end of the run";
    CALLS_AT_ONCE = "calls at once", 1 << 24,
        "calls of components at one time without an arrival or a completion",
        "a run with more such calls would not end";
    ARRIVALS_AT_ONCE = "arrivals at once", 1 << 22,
        "arrivals at one time, from an endless workload in a run with only a time limit",
        "the time does not advance, so the run would not end";
    COMPONENT_YEARS = "component years", 584,
        "years (of 365 days) of a run, times the components of its system",
        "the times of all components are added up in 64 bits, in nanoseconds";
    PAGES_OF_A_REQUEST = "pages of a request", 1 << 20,
        "pages of one request in a calculation of hit ratios",
        "each page is looked up";
    BATCH_BLOCKS = "blocks of a batch", 1 << 18,
        "blocks of the requests that a device serves together, as a batch or merged. A drive adds no further requests",
        "the path over all blocks is computed";
    BATCH_POSITIONS = "positions of a batch", 1 << 10,
        "sled positions of a batch that are visited nearest first; more are visited cylinder by cylinder",
        "all pairs are compared";
    THREADS = "threads", 1024,
        "threads of a calculation, or processes of a cluster on this machine",
        "each takes memory, and few machines have as many cores";
    FORCED_LOSSES = "forced losses", 4096,
        "(parity + 1) times the devices and spares of an enclosure, in a simulation with forced losses",
        "each forced failure needs the hazards of all devices";
    ENCLOSURE_DEVICES = "devices of an enclosure", 10_000,
        "devices and spares of a simulated enclosure",
        "each event of an enclosure needs a step for each device";
    DEVICE_LIVES = "device lifetimes", 1 << 36,
        "simulated lifetimes of an enclosure, times the sum of its devices and spares (each with its expected failures of tips) and \
         the times by which losses are counted",
        "each lifetime of a device is drawn, and losses are counted for each time";
    DEVICE_STEPS = "device steps", 1 << 40,
        "events of simulated lifetimes (failures, rebuilds, visits), times the devices and spares of the enclosure; with forced \
         losses, times 32. The limit applies in proportion to each 1000 lifetimes",
        "a lifetime with repairs, or to the loss of data, can have any number of events";
}
