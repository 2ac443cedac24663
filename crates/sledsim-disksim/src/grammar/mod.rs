//! DiskSim's blocks and parameters, as its `.modspec` files define them, and what becomes of each.

mod disk;
mod mems;
mod system;
mod workload;

/// A type of block.
#[derive(Clone, Copy, Debug)]
pub struct BlockType {
    /// Its name in parameter files.
    pub name: &'static str,
    /// What it describes.
    pub title: &'static str,
    /// Its parameters.
    pub parameters: &'static [ParameterType],
}

impl BlockType {
    /// Its parameter called `name`.
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
    /// What it takes.
    pub takes: Takes,
    /// Whether a block must have it.
    pub required: bool,
    /// What becomes of it.
    pub fate: Fate,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
    /// 0 or 1.
    Flag,
    /// A whole number between two bounds.
    Whole(i64, i64),
    /// A number between two bounds.
    Real(f64, f64),
    /// One of some words.
    Choice(&'static [&'static str]),
    /// Any text.
    Text,
    /// A list.
    List,
    /// A block of one of some types.
    Block(&'static [&'static str]),
}

/// What becomes of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// It becomes the value of a key as it is.
    Key(&'static str),
    /// It enters the keys named, in the way told.
    Enters(&'static str, &'static str),
    /// It has no effect on what Sledsim simulates, because of the reason given.
    Idle(&'static str),
    /// With this value it has no effect; any other changes results and can't be carried over, because of the reason given.
    Only(f64, &'static str),
    /// It changes results and can't be carried over, because of the reason given.
    Lost(&'static str),
    /// It matters only where the drive itself queues requests, which Sledsim's drives don't: no effect with a queue of one,
    /// else not carried over.
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

/// Types of block that DiskSim has and Sledsim can't carry over.
pub const UNSUPPORTED: &[(&str, &str)] = &[
    ("dm_layout_g2", "the second layout model, of which only dm_layout_g1 is supported"),
    ("dm_layout_g2_zone", "a zone of the second layout model, of which only dm_layout_g1 is supported"),
    ("dm_layout_g4", "the fourth layout model, of which only dm_layout_g1 is supported"),
    ("ssdmodel_ssd", "a solid-state drive"),
];

/// The type of block called `name`.
#[must_use]
pub fn block_type(name: &str) -> Option<&'static BlockType> {
    BLOCK_TYPES.iter().find(|known| known.name == name)
}

/// No upper bound.
const ANY: f64 = f64::MAX;
/// Largest count.
const MANY: i64 = i64::MAX;

const fn required(name: &'static str, takes: Takes, fate: Fate) -> ParameterType {
    ParameterType { name, takes, required: true, fate }
}

const fn optional(name: &'static str, takes: Takes, fate: Fate) -> ParameterType {
    ParameterType { name, takes, required: false, fate }
}

/// A switch of what DiskSim prints.
const fn print(name: &'static str) -> ParameterType {
    required(name, Takes::Flag, Fate::Idle(PRINTS))
}

const PRINTS: &str = "chooses what DiskSim prints; a result always has all of its figures";
