//! DiskSim's blocks and parameters as defined in its `.modspec` files, and the treatment of each.

mod disk;
mod mems;
mod system;
mod workload;

/// A type of block.
#[derive(Clone, Copy, Debug)]
pub struct BlockType {
    /// Its name in parameter files.
    pub name: &'static str,
    /// Its title on the reference page.
    pub title: &'static str,
    /// Its parameters.
    pub parameters: &'static [ParameterType],
}

impl BlockType {
    /// Returns the parameter `name`.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&ParameterType> {
        self.parameters.iter().find(|known| known.name == name)
    }
}

/// A parameter of a block.
#[derive(Clone, Copy, Debug)]
pub struct ParameterType {
    /// Its name in parameter files.
    pub name: &'static str,
    /// Allowed values.
    pub takes: Takes,
    /// True if a block must have it.
    pub required: bool,
    /// Its treatment.
    pub treatment: Treatment,
}

/// Allowed values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
    /// 0 or 1.
    Flag,
    /// A whole number between two bounds.
    Whole(i64, i64),
    /// A number between two bounds.
    Real(f64, f64),
    /// One of several words.
    Choice(&'static [&'static str]),
    /// Any text.
    Text,
    /// A list.
    List,
    /// A block of one of several types.
    Block(&'static [&'static str]),
}

/// Treatment of a parameter by the import.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Treatment {
    /// It becomes the value of a key, without change.
    Key(&'static str),
    /// It determines the named keys, as described.
    Enters(&'static str, &'static str),
    /// It has no effect in Sledsim, for a reason.
    Idle(&'static str),
    /// It has no effect with this value. Other values change results and can't be carried over, for a reason.
    Only(f64, &'static str),
    /// It changes results and can't be carried over, for a reason.
    Lost(&'static str),
    /// It concerns the queue in the drive, which Sledsim's drives don't have: it has no effect with a queue of one, otherwise it is not carried
    /// over.
    Queue(&'static str),
}

/// Every type of block.
pub const BLOCK_TYPES: &[BlockType] = &[
    disk::DISK,
    disk::MODEL,
    disk::LAYOUT,
    disk::ZONE,
    disk::MECHANICS,
    system::QUEUE,
    mems::SIMPLE_DISK,
    mems::MEMS,
    system::DRIVER,
    system::BUS,
    system::CONTROLLER,
    system::ORGANISATION,
    system::GLOBAL,
    system::STATISTICS,
    system::DRIVER_STATISTICS,
    system::BUS_STATISTICS,
    system::CONTROLLER_STATISTICS,
    system::DEVICE_STATISTICS,
    system::PROCESS_STATISTICS,
    system::PROCESSES,
    system::TRACE_INPUT,
    system::TRACE_MAPPING,
    system::CACHE,
    system::CACHE_DEVICE,
    system::SYNCHRONISED,
    workload::GENERATORS,
    workload::GENERATOR,
];

/// Types of block that can't be carried over.
pub const UNSUPPORTED: &[(&str, &str)] = &[
    ("dm_layout_g2", "the second layout model, of which only dm_layout_g1 is supported"),
    ("dm_layout_g2_zone", "a zone of the second layout model, of which only dm_layout_g1 is supported"),
    ("dm_layout_g4", "the fourth layout model, of which only dm_layout_g1 is supported"),
    ("ssdmodel_ssd", "a solid-state drive"),
];

/// Returns the type of block `name`.
#[must_use]
pub fn block_type(name: &str) -> Option<&'static BlockType> {
    BLOCK_TYPES.iter().find(|known| known.name == name)
}

/// No upper bound.
const ANY: f64 = f64::MAX;
/// Largest count.
const MANY: i64 = i64::MAX;

const fn required(name: &'static str, takes: Takes, treatment: Treatment) -> ParameterType {
    ParameterType { name, takes, required: true, treatment }
}

const fn optional(name: &'static str, takes: Takes, treatment: Treatment) -> ParameterType {
    ParameterType { name, takes, required: false, treatment }
}

/// Returns a flag that selects DiskSim's output.
const fn print(name: &'static str) -> ParameterType {
    required(name, Takes::Flag, Treatment::Idle(PRINTS))
}

const PRINTS: &str = "chooses what DiskSim prints; a result always has all of its figures";
