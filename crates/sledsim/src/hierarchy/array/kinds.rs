//! The kinds of arrays that scenarios name: mirrors and parity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::layout::Level;
use super::redundant::RedundantArray;
use super::spec::{ArraySpec, JournalHolds, JournalSpec, RebuildSpec, Sparing, WriteMethod};
use crate::engine::Component;
use crate::fault::{Fault, Faults};
use crate::hierarchy::common::Child;
use crate::hierarchy::faulty::MemberFaultSpec;
use crate::hierarchy::kind::{ChildKeys, ComponentKind, ComponentParameters, ComponentSpec};
use crate::plugin::{MirrorAdaptor, PluginSpec, ReadPolicy, Role};
use crate::units::{plural, shown_bytes};

/// Mirrors.
pub const MIRROR: ComponentKind = ComponentKind {
    name: "mirror",
    description: "Copies of the same on every member.",
    children: ChildKeys::Members,
    parameters: ComponentParameters::of::<MirrorSpec>(),
};

/// Arrays with their parity on one member.
pub const RAID4: ComponentKind = ComponentKind {
    name: "raid4",
    description: "Stripe units with their parity on the last member.",
    children: ChildKeys::Members,
    parameters: ComponentParameters::with::<ParitySpec>(|table| ParitySpec::read(table, Level::Raid4)),
};

/// Arrays with rotating parity.
pub const RAID5: ComponentKind = ComponentKind {
    name: "raid5",
    description: "Stripe units with parity that goes round members, left-symmetric.",
    children: ChildKeys::Members,
    parameters: ComponentParameters::with::<ParitySpec>(|table| ParitySpec::read(table, Level::Raid5)),
};

/// Arrays with two rotating parities.
pub const RAID6: ComponentKind = ComponentKind {
    name: "raid6",
    description: "Stripe units with two kinds of parity that go round members: two members may fail.",
    children: ChildKeys::Members,
    parameters: ComponentParameters::with::<ParitySpec>(|table| ParitySpec::read(table, Level::Raid6)),
};

/// Copies of the data on every member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MirrorSpec {
    /// The rule that chooses the copy for a read.
    #[serde(default)]
    pub read: ReadPolicy,
    /// Number of spare members besides `members`, identical to the first.
    #[serde(default)]
    #[schemars(range(min = 0, max = 64))]
    pub spares: u32,
    /// The pace of rebuilds.
    #[serde(default)]
    pub rebuild: RebuildSpec,
    /// A journal in non-volatile memory. Without it, a power cut can leave copies that differ.
    #[serde(default)]
    pub journal: Option<JournalSpec>,
    /// Failures of members.
    #[serde(default)]
    pub faults: Vec<MemberFaultSpec>,
}

/// Stripe units with parity over the members of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParitySpec {
    #[serde(skip, default = "raid5")]
    level: Level,
    /// Size of a stripe unit: a multiple of the block size.
    #[serde(default = "unit_bytes")]
    #[schemars(range(min = 512, max = 1073741824), extend("x-unit" = "B"))]
    pub unit_bytes: u64,
    /// The parity update of a write to a part of a row.
    #[serde(default)]
    pub write: WriteMethod,
    /// Number of spare members besides `members`, identical to the first.
    #[serde(default)]
    #[schemars(range(min = 0, max = 64))]
    pub spares: u32,
    /// The place of rebuilt data. Only `raid5` and `raid6` can distribute spare units.
    #[serde(default)]
    pub sparing: Sparing,
    /// The pace of rebuilds.
    #[serde(default)]
    pub rebuild: RebuildSpec,
    /// A journal in non-volatile memory. Without it, a power cut can leave rows whose parity does not match their data.
    #[serde(default)]
    pub journal: Option<JournalSpec>,
    /// Failures of members.
    #[serde(default)]
    pub faults: Vec<MemberFaultSpec>,
}

impl ComponentSpec for MirrorSpec {
    fn build(&self, children: &[Child]) -> Result<Box<dyn Component>, Faults> {
        let spec = ArraySpec {
            read: self.read.built_in().copied().unwrap_or_default(),
            spares: self.spares,
            rebuild: self.rebuild,
            journal: self.journal,
            ..ArraySpec::default()
        };
        let mirror = array(Level::Mirror, children, &spec)?;
        Ok(match self.read.custom() {
            Some(custom) => {
                let policy = custom.factory().and_then(|factory| factory.mirror());
                Box::new(mirror.with_read_policy(MirrorAdaptor::new(policy.map_err(|fault| fault.of_key("read"))?)))
            }
            None => Box::new(mirror),
        })
    }

    fn notes(&self, members: u64) -> Vec<String> {
        let mut notes = vec![format!("writes wait for {}", plural(members, "member"))];
        notes.extend(of_redundancy(members.saturating_sub(1), self.spares, &self.rebuild));
        notes.push(of_journal(self.journal.as_ref(), "copies that differ"));
        notes
    }

    fn issues_own_writes(&self) -> bool {
        true
    }

    fn spares(&self) -> u32 {
        self.spares
    }

    fn member_faults(&self) -> &[MemberFaultSpec] {
        &self.faults
    }

    fn custom(&self) -> Option<(&PluginSpec, Role)> {
        Some((self.read.custom()?, Role::Mirror))
    }

    fn custom_mut(&mut self) -> Option<(&mut PluginSpec, Role)> {
        Some((self.read.custom_mut()?, Role::Mirror))
    }
}

impl ParitySpec {
    fn read(table: Value, level: Level) -> Result<Box<dyn ComponentSpec>, serde_json::Error> {
        let spec: Self = serde_json::from_value(table)?;
        Ok(Box::new(Self { level, ..spec }))
    }
}

impl ComponentSpec for ParitySpec {
    fn build(&self, children: &[Child]) -> Result<Box<dyn Component>, Faults> {
        let spec = ArraySpec {
            unit_bytes: Some(self.unit_bytes),
            write: self.write,
            sparing: self.sparing,
            spares: self.spares,
            rebuild: self.rebuild,
            journal: self.journal,
            ..ArraySpec::default()
        };
        Ok(Box::new(array(self.level, children, &spec)?))
    }

    fn notes(&self, _members: u64) -> Vec<String> {
        let parities = if self.level == Level::Raid6 { 2 } else { 1 };
        let mut notes = vec![format!(
            "writes of less than a row first read what parity needs, then wait for their members and {parities} of parity"
        )];
        notes.extend(of_redundancy(parities, self.spares, &self.rebuild));
        notes.push(of_journal(self.journal.as_ref(), "rows whose parity does not fit"));
        notes
    }

    fn issues_own_writes(&self) -> bool {
        true
    }

    fn spares(&self) -> u32 {
        self.spares
    }

    fn member_faults(&self) -> &[MemberFaultSpec] {
        &self.faults
    }
}

fn array(level: Level, children: &[Child], spec: &ArraySpec) -> Result<RedundantArray, Fault> {
    let sizes: Vec<(u64, u32)> = children.iter().map(|child| (child.capacity_blocks, child.block_bytes)).collect();
    RedundantArray::new(level, children.iter().map(|child| child.id).collect(), &sizes, spec)
}

fn of_redundancy(failures: u64, spares: u32, rebuild: &RebuildSpec) -> Vec<String> {
    let mut notes = vec![format!("bears the failure of {}", plural(failures, "member"))];
    if spares > 0 {
        let rate = rebuild.mb_per_s.map_or("as fast as it can".into(), |rate| format!("at {rate} MB/s at most"));
        notes.push(format!("rebuilds on {} {rate}", plural(u64::from(spares), "spare")));
    }
    notes
}

fn of_journal(journal: Option<&JournalSpec>, hole: &str) -> String {
    let Some(journal) = journal else { return format!("without a journal a power cut may leave {hole}") };
    let until = match journal.holds {
        JournalHolds::Data => "",
        JournalHolds::Intents => ", as long as no member has failed",
    };
    let size = shown_bytes(journal.size_bytes);
    format!("writes are entered in {size} of non-volatile journal first: no power cut leaves {hole}{until}")
}

const fn raid5() -> Level {
    Level::Raid5
}

const fn unit_bytes() -> u64 {
    1 << 16
}
