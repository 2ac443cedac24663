//! Small parameter files for tests.

use std::path::{Path, PathBuf};

use sledsim::fault::Faults;
use sledsim_disksim::{import, Import, ImportOptions};
use tempfile::TempDir;

/// Files in a temporary folder.
pub struct Files {
    folder: TempDir,
}

impl Files {
    /// The files of a small drive: `drive.parv`, which includes `drive.diskspecs`, which includes `drive.model` and
    /// `drive.seek`.
    pub fn of_a_drive() -> Self {
        let files = Self { folder: tempfile::tempdir().expect("a folder") };
        files.write("drive.seek", "Seek distances measured: 3\n1, 1.25\n10, 3.0\n99,\t8.5\n");
        files.write("drive.model", model());
        files.write("drive.diskspecs", disk());
        files.write("drive.parv", system(&generator("1.0", "0.0, 0.0")));
        files
    }

    /// Creates a file with the given content.
    pub fn of(name: &str, content: &str) -> Self {
        let files = Self { folder: tempfile::tempdir().expect("a folder") };
        files.write(name, content);
        files
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).expect("writable");
    }

    /// Replaces a text, which must exist, in a file.
    pub fn replace(&self, name: &str, from: &str, to: &str) {
        let content = std::fs::read_to_string(self.path(name)).expect("readable");
        assert!(content.contains(from), "{from:?} is not in {name}");
        self.write(name, content.replacen(from, to, 1));
    }

    pub fn import(&self, name: &str) -> Result<Import, Faults> {
        import(&self.path(name), &ImportOptions::default())
    }

    pub fn scenario(&self, name: &str) -> Result<Import, Faults> {
        import(&self.path(name), &ImportOptions { scenario: true, ..ImportOptions::default() })
    }
}

pub fn model() -> String {
    let zone = |first: u32, last: u32, sectors: u32| {
        format!(
            "dm_layout_g1_zone {{\n  First cylinder number = {first},\n  Last cylinder number = {last},\n  \
             Blocks per track = {sectors},\n  Offset of first block = 0.0,\n  Empty space at zone front = 0,\n  \
             Skew for track switch = 7.0,\n  Skew for cylinder switch = 11.0,\n  Number of spares = 2,\n  \
             slips = [ 40, 7 ],\n  defects = [ 3, 9 ]\n}}"
        )
    };
    format!(
        "# a small drive\ndm_disk TINY.model {{\n  Number of data surfaces = 2,\n  Number of cylinders = 100,\n  \
         Block count = 9000,\n  Mechanical Model = dm_mech_g1 {{\n    Access time type = trackSwitchPlusRotation,\n    \
         Seek type = extracted,\n    Single cylinder seek time = 1.25,\n    Full seek curve = drive.seek,\n    \
         Add. write settling delay = 0.5,\n    Head switch time = 0.75,\n    Rotation speed (in rpms) = 7200,\n    \
         Percent error in rpms = 0.0\n  }},\n  Layout Model = dm_layout_g1 {{\n    LBN-to-PBN mapping scheme = 2,\n    \
         Sparing scheme used = 9,\n    Rangesize for sparing = 1,\n    Zones = [\n{},\n{}\n    ]\n  }}\n}}\n",
        zone(0, 49, 60),
        zone(50, 99, 40)
    )
}

const QUEUE: &str = "disksim_ioqueue {\n  Scheduling policy = 1,\n  Cylinder mapping strategy = 1,\n  \
     Write initiation delay = 0.0,\n  Read initiation delay = 0.0,\n  Sequential stream scheme = 0,\n  \
     Maximum concat size = 128,\n  Overlapping request scheme = 0,\n  Sequential stream diff maximum = 0,\n  \
     Scheduling timeout scheme = 0,\n  Timeout time/weight = 6,\n  Timeout scheduling = 4,\n  \
     Scheduling priority scheme = 0,\n  Priority scheduling = 4\n}";

/// Integer parameters of a drive.
const FLAGS: [(&str, i32); 36] = [
    ("Hold bus entire read xfer", 0),
    ("Hold bus entire write xfer", 1),
    ("Allow almost read hits", 0),
    ("Allow sneaky full read hits", 0),
    ("Allow sneaky partial read hits", 0),
    ("Allow sneaky intermediate read hits", 0),
    ("Allow read hits on write data", 1),
    ("Allow write prebuffering", 0),
    ("Preseeking level", 0),
    ("Never disconnect", 0),
    ("Print stats", 1),
    ("Avg sectors per cylinder", 100),
    ("Max queue length", 1),
    ("Number of buffer segments", 4),
    ("Maximum number of write segments", 1),
    ("Segment size (in blks)", 64),
    ("Use separate write segment", 0),
    ("Set watermark by reqsize", 1),
    ("Calc sector by sector", 1),
    ("Enable caching in buffer", 1),
    ("Buffer continuous read", 3),
    ("Minimum read-ahead (blks)", 0),
    ("Maximum read-ahead (blks)", 64),
    ("Read-ahead over requested", -1),
    ("Read-ahead on idle hit", 0),
    ("Read any free blocks", 0),
    ("Fast write level", 1),
    ("Immediate buffer read", 0),
    ("Immediate buffer write", 1),
    ("Combine seq writes", 1),
    ("Stop prefetch in sector", 0),
    ("Disconnect write if seek", 0),
    ("Write hit stop prefetch", 1),
    ("Read directly to buffer", 1),
    ("Immed transfer partial hit", 1),
    ("Extra write disconnect", 0),
];

/// Times of a drive, all different.
const TIMES: [&str; 23] = [
    "Per-request overhead time",
    "Read hit over. after read",
    "Read hit over. after write",
    "Read miss over. after read",
    "Read miss over. after write",
    "Write hit over. after read",
    "Write hit over. after write",
    "Write miss over. after read",
    "Write miss over. after write",
    "Read completion overhead",
    "Write completion overhead",
    "Data preparation overhead",
    "First reselect overhead",
    "Other reselect overhead",
    "Read disconnect afterread",
    "Read disconnect afterwrite",
    "Write disconnect overhead",
    "Extradisc command overhead",
    "Extradisc disconnect overhead",
    "Extradisc inter-disconnect delay",
    "Extradisc 2nd disconnect overhead",
    "Extradisc seek delta",
    "Minimum seek delay",
];

pub fn disk() -> String {
    let flags: String = FLAGS.iter().map(|(name, value)| format!(",\n  {name} = {value}")).collect();
    // All times are different.
    let times: String = TIMES.iter().enumerate().map(|(i, name)| format!(",\n  {name} = 0.{:02}", i + 1)).collect();
    format!(
        "disksim_disk TINY {{\n  Model = source drive.model,\n  Scheduler = {QUEUE},\n  \
         Time scale for overheads = 1.0,\n  Bulk sector transfer time = 0.0,\n  Low (write) water mark = 0.0,\n  \
         High (read) water mark = 0.75{flags}{times}\n}}\n"
    )
}

pub fn generator(critical: &str, times: &str) -> String {
    format!(
        "disksim_synthgen {{\n  Storage capacity per device = 4500,\n  devices = [ disk0 ],\n  Blocking factor = 8,\n  \
         Probability of sequential access = 0.0,\n  Probability of local access = 0.0,\n  \
         Probability of read access = 0.66,\n  Probability of time-critical request = {critical},\n  \
         Probability of time-limited request = 0.0,\n  Time-limited think times = [ normal, 30.0, 100.0 ],\n  \
         General inter-arrival times = [ exponential, {times} ],\n  \
         Sequential inter-arrival times = [ normal, 0.0, 0.0 ],\n  Local inter-arrival times = [ exponential, 0.0, 0.0 ],\n  \
         Local distances = [ normal, 0.0, 40000.0 ],\n  Sizes = [ exponential, 0.0, 8.0 ]\n}}"
    )
}

/// A system of one drive, whose bus takes 0.1 ms for a block read and 0.2 ms for one written.
pub fn system(generators: &str) -> String {
    let bus = |name: &str, read: &str, write: &str| {
        format!(
            "disksim_bus {name} {{\n  type = 1,\n  Arbitration type = 1,\n  Arbitration time = 0.0,\n  \
             Read block transfer time = {read},\n  Write block transfer time = {write},\n  Print stats = 0\n}}\n"
        )
    };
    format!(
        "disksim_global Global {{\n  Init Seed = 42,\n  Real Seed = 17,\n  Stat definition file = statdefs\n}}\n\
         disksim_iodriver DRIVER0 {{\n  type = 1,\n  Constant access time = 0.0,\n  Scheduler = {QUEUE},\n  \
         Use queueing in subsystem = 1\n}}\n{}{}disksim_ctlr CTLR0 {{\n  type = 1,\n  Scale for delays = 0.0,\n  \
         Bulk sector transfer time = 0.0,\n  Maximum queue length = 0,\n  Print stats = 1\n}}\n\
         source drive.diskspecs\ninstantiate [ bus0 ] as BUS0\ninstantiate [ bus1 ] as BUS1\n\
         instantiate [ disk0 .. disk2 ] as TINY\ninstantiate [ driver0 ] as DRIVER0\ninstantiate [ ctlr0 ] as CTLR0\n\
         topology disksim_iodriver driver0 [\n  disksim_bus bus0 [\n    disksim_ctlr ctlr0 [\n      \
         disksim_bus bus1 [ disksim_disk disk0 [] ]\n    ]\n  ]\n] # end\n\
         disksim_pf Proc {{\n  Number of processors = 1,\n  Process-Flow Time Scale = 1.0\n}}\n\
         disksim_synthio Synthio {{\n  Number of I/O requests to generate = 300,\n  \
         Maximum time of trace generated = 1000.0,\n  System call/return with each request = 0,\n  \
         Think time from call to request = 0.0,\n  Think time from request to return = 0.0,\n  Generators = [\n\
         {generators}\n  ]\n}}\n",
        bus("BUS0", "0.0", "0.0"),
        bus("BUS1", "0.1", "0.2")
    )
}
