//! What is bounded though no key says so, stated once. Each bound is checked before the work that it bounds begins;
//! `docs/reference/limits.md` is made from [`ALL`].

/// A bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What it is called in a table of limits.
    pub name: &'static str,
    /// The most that is allowed.
    pub most: u64,
    /// What is counted.
    pub of: &'static str,
    /// Why there is no more.
    pub why: &'static str,
}

macro_rules! limits {
    ($($constant:ident = $name:literal, $most:expr, $of:literal, $why:literal;)*) => {
        $(#[doc = concat!("Most ", $of, ".")]
        pub const $constant: Limit = Limit { name: $name, most: $most, of: $of, why: $why };)*

        /// All of them, in the order of the page.
        pub const ALL: &[Limit] = &[$($constant),*];
    };
}

limits! {
    DOCUMENT_BYTES = "size of a document", 1 << 24,
        "bytes of a document's text",
        "it is held whole, and so is all that is read from it";
    NESTING = "nesting", 100,
        "tables and lists within each other in a document, and keys in the path of a setting",
        "what reads a document goes as deep as it does";
    COMPONENTS_DEEP = "components deep", 16,
        "components from the system down to a drive",
        "what passes between components passes through all of them";
    COMPONENTS = "components", 4096,
        "components of a system",
        "each takes room, and is asked when a run starts";
    CYLINDERS = "cylinders", 1 << 27,
        "cylinders of all drives of a system",
        "schedulers that know the mechanism keep what waits by cylinder";
    LATENT_ERRORS = "latent errors", 1 << 18,
        "latent errors that the members of a system have on average, from `latent_per_gb` and their sizes",
        "each takes room, and time to be found whenever the system is built";
    BLOCKS_OF_A_REQUEST = "blocks of a request", 1 << 24,
        "blocks of a request to a system, or to a device by itself. A longer one fails",
        "a sled's way over each of them is kept until it serves another";
    PARTS_OF_A_REQUEST = "parts of a request", 1 << 18,
        "parts that a component may cut a request into: stripe units, lines of a cache, segments; where runs cut power, \
         stretches of 256 B. A longer request fails",
        "all parts of a request are under way at once";
    PARTS_UNDER_WAY = "parts under way", 1 << 21,
        "such parts of all requests under way; a request that goes on whole is one",
        "a system that falls behind its load holds more and more";
    DATA_HELD = "data held", 1 << 29,
        "bytes of blocks that a run with power cuts has written, on all devices together",
        "each is held, to see what a cut takes";
    DATA_UNDER_WAY = "data under way", 1 << 29,
        "bytes of what is under way at a time in a run with power cuts, at each of the components that have it: requests, their \
         parts, and what rebuilds read",
        "all of it is held until it is written";
    CUSTOM_TIME_NS = "times of a custom mechanism", 1_000_000_000_000,
        "nanoseconds that it may take to position, or to transfer a request",
        "a simulated clock ends";
    LOG_ROWS = "rows of a log", 1 << 24,
        "requests of a run whose log is kept",
        "the log is in memory until the run is over";
    CALLS_AT_ONCE = "calls at once", 1 << 24,
        "calls of components in one instant of a run without an arrival or a completion",
        "what goes on for so long without time going on will not end";
    ARRIVALS_AT_ONCE = "arrivals at once", 1 << 22,
        "arrivals in one instant of a run that only a time ends, from a source without an end",
        "time does not go on, so the run would not end";
    COMPONENT_YEARS = "component years", 584,
        "years (of 365 days) that a run simulates, times the components of its system",
        "the times of all are added up, in nanoseconds";
    PAGES_OF_A_REQUEST = "pages of a request", 1 << 20,
        "pages that a request of a trace may touch where hits of caches are counted",
        "each is looked up";
    BATCH_BLOCKS = "blocks of a batch", 1 << 18,
        "blocks of the requests that a device serves together: as a batch, or merged into one. A drive lets no more join",
        "all of their places are kept, and the way between them is looked for";
    BATCH_POSITIONS = "positions of a batch", 1 << 10,
        "positions of a sled between which a batch goes to the nearest next; more are gone through cylinder by cylinder",
        "each is tried against each";
    THREADS = "threads", 1024,
        "threads that share out work, or processes of a cluster on this machine",
        "each takes room, and few machines have as many processors";
    FORCED_LOSSES = "forced losses", 4096,
        "devices that a loss of data takes, one more than the parity, times the devices and spares of an enclosure whose losses \
         are forced in simulated lifetimes",
        "each of these failures is forced, and its time looked for with the hazards of all devices";
    ENCLOSURE_DEVICES = "devices of an enclosure", 10_000,
        "devices and spares of an enclosure whose lifetimes are simulated",
        "whenever something happens in it, all of them are looked at";
    DEVICE_LIVES = "device lifetimes", 1 << 36,
        "lifetimes of an enclosure to be simulated, times its devices and spares (each with the failures of tips to be \
         expected in it) and the times by which losses are counted",
        "each device's lifetime is drawn, and each time counted for";
    DEVICE_STEPS = "device steps", 1 << 40,
        "events of simulated lifetimes of an enclosure (failures, rebuilds, visits), times its devices and spares; where losses \
         are forced, times 32. No thousand of the lifetimes may take more than its share",
        "with repairs, or followed to its loss, a lifetime may hold any number of events";
}
