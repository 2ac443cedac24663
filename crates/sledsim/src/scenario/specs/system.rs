//! The system of a scenario: a tree of components that ends in drives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arrays::{ConcatSpec, MemberFaultSpec, MirrorSpec, ParitySpec, StripeSpec};
use super::scenario::DriveSpec;
use crate::fault::Path;
use crate::hierarchy::{McdSpec, MwbSpec, PartitionSpec, RamCacheSpec, TiersSpec, VolumesSpec};
use crate::own::{Choice, OwnSpec, Role};

/// Keys that hold a component below another; those of `members` are one level further down.
pub(in crate::scenario) const CHILD_KEYS: [&str; 5] = ["child", "mems", "disk", "fast", "slow"];

/// The system under test: a component, and those that it is made of. A device's name alone is a drive, and a name of
/// `[components]` that component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SystemSpec {
    /// One device and the scheduler that holds its pending requests.
    Drive(Box<DriveSpec>),
    /// A range of blocks of another component.
    Partition(Over<PartitionSpec>),
    /// Logical volumes, each a range of blocks on one of several components.
    Volumes(OverMembers<VolumesSpec>),
    /// Members one after the other in one space of blocks.
    Concat(OverMembers<ConcatSpec>),
    /// Stripe units that go round members.
    Stripe(OverMembers<StripeSpec>),
    /// Copies of the same on every member.
    Mirror(OverMembers<MirrorSpec>),
    /// Stripe units with their parity on the last member.
    Raid4(OverMembers<ParitySpec>),
    /// Stripe units with parity that goes round members, left-symmetric.
    Raid5(OverMembers<ParitySpec>),
    /// Stripe units with two kinds of parity that go round members: two members may fail.
    Raid6(OverMembers<ParitySpec>),
    /// A controller's cache in RAM.
    RamCache(Over<RamCacheSpec>),
    /// A MEMS device as a write buffer of a disk (hong2006, section 4.1.1).
    Mwb(OverDisk<MwbSpec>),
    /// A MEMS device as a fully associative write-back cache of a disk (hong2006, section 4.1.2).
    Mcd(OverDisk<McdSpec>),
    /// A fast and a slow component as one, each extent of blocks on one of them (schlosser2004, section 5.1).
    Tiers(OverTiers<TiersSpec>),
}

/// A component with one below it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Over<S> {
    /// What reports call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The component below it.
    pub child: Box<SystemSpec>,
    /// Its own keys.
    #[serde(flatten)]
    pub spec: S,
}

/// A component that has a MEMS device work for a disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverDisk<S> {
    /// What reports call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The MEMS device, or what takes its place.
    pub mems: Box<SystemSpec>,
    /// The disk, or what takes its place: all data end there.
    pub disk: Box<SystemSpec>,
    /// Its own keys.
    #[serde(flatten)]
    pub spec: S,
}

/// A component that lays data over a fast one and a slow one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverTiers<S> {
    /// What reports call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The fast one: a MEMS device, or what takes its place.
    pub fast: Box<SystemSpec>,
    /// The slow one: a disk, or what takes its place.
    pub slow: Box<SystemSpec>,
    /// Its own keys.
    #[serde(flatten)]
    pub spec: S,
}

/// A component with several below it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverMembers<S> {
    /// What reports call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The components below it, in their order.
    #[schemars(length(min = 1))]
    pub members: Vec<MemberSpec>,
    /// Its own keys.
    #[serde(flatten)]
    pub spec: S,
}

/// Members that are built alike. A component in place of this table is one member; its keys may also stand beside `count`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberSpec {
    /// How many.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1024))]
    pub count: u32,
    /// Each of them.
    pub system: SystemSpec,
}

const fn one() -> u32 {
    1
}

/// What a component has below it.
pub(in crate::scenario) enum Children<'a> {
    /// Nothing: it is a drive.
    None,
    /// Components with keys of their own.
    Keyed(Vec<(&'static str, &'a SystemSpec)>),
    /// A list, and so many more built like the first of it.
    Members(&'a [MemberSpec], u32),
}

impl SystemSpec {
    /// The drive, where the system is one.
    #[must_use]
    pub fn drive(&self) -> Option<&DriveSpec> {
        match self {
            Self::Drive(drive) => Some(drive),
            _ => None,
        }
    }

    /// Its kind, as scenarios have it.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Drive(_) => "drive",
            Self::Partition(_) => "partition",
            Self::Volumes(_) => "volumes",
            Self::Concat(_) => "concat",
            Self::Stripe(_) => "stripe",
            Self::Mirror(_) => "mirror",
            Self::Raid4(_) => "raid4",
            Self::Raid5(_) => "raid5",
            Self::Raid6(_) => "raid6",
            Self::RamCache(_) => "ram-cache",
            Self::Mwb(_) => "mwb",
            Self::Mcd(_) => "mcd",
            Self::Tiers(_) => "tiers",
        }
    }

    /// What reports call it, where it has a name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Drive(drive) => drive.name.as_deref(),
            Self::Partition(Over { name, .. })
            | Self::Volumes(OverMembers { name, .. })
            | Self::Concat(OverMembers { name, .. })
            | Self::Stripe(OverMembers { name, .. })
            | Self::Mirror(OverMembers { name, .. })
            | Self::Raid4(OverMembers { name, .. })
            | Self::Raid5(OverMembers { name, .. })
            | Self::Raid6(OverMembers { name, .. })
            | Self::RamCache(Over { name, .. })
            | Self::Mwb(OverDisk { name, .. })
            | Self::Mcd(OverDisk { name, .. })
            | Self::Tiers(OverTiers { name, .. }) => name.as_deref(),
        }
    }

    pub(in crate::scenario) fn children(&self) -> Children<'_> {
        match self {
            Self::Drive(_) => Children::None,
            Self::Partition(Over { child, .. }) | Self::RamCache(Over { child, .. }) => {
                Children::Keyed(vec![("child", child)])
            }
            Self::Mwb(OverDisk { mems, disk, .. }) | Self::Mcd(OverDisk { mems, disk, .. }) => {
                Children::Keyed(vec![("mems", mems), ("disk", disk)])
            }
            Self::Tiers(OverTiers { fast, slow, .. }) => Children::Keyed(vec![("fast", fast), ("slow", slow)]),
            Self::Volumes(OverMembers { members, .. })
            | Self::Concat(OverMembers { members, .. })
            | Self::Stripe(OverMembers { members, .. }) => Children::Members(members, 0),
            Self::Mirror(node) => Children::Members(&node.members, node.spec.spares),
            Self::Raid4(node) | Self::Raid5(node) | Self::Raid6(node) => {
                Children::Members(&node.members, node.spec.spares)
            }
        }
    }

    /// The components directly below it, members that are built alike once.
    pub(in crate::scenario) fn below(&self) -> Vec<&Self> {
        match self.children() {
            Children::None => Vec::new(),
            Children::Keyed(children) => children.into_iter().map(|(_, child)| child).collect(),
            Children::Members(members, _) => members.iter().map(|member| &member.system).collect(),
        }
    }

    /// Shows it and all that is below it, those that are built alike once, each with its path from `path` on.
    pub(in crate::scenario) fn each_mut(&mut self, path: &Path, show: &mut dyn FnMut(&mut Self, &Path)) {
        show(self, path);
        match self {
            Self::Drive(_) => {}
            Self::Partition(Over { child, .. }) => child.each_mut(&path.step("child"), show),
            Self::RamCache(Over { child, .. }) => child.each_mut(&path.step("child"), show),
            Self::Mwb(OverDisk { mems, disk, .. }) => {
                mems.each_mut(&path.step("mems"), show);
                disk.each_mut(&path.step("disk"), show);
            }
            Self::Mcd(OverDisk { mems, disk, .. }) => {
                mems.each_mut(&path.step("mems"), show);
                disk.each_mut(&path.step("disk"), show);
            }
            Self::Tiers(OverTiers { fast, slow, .. }) => {
                fast.each_mut(&path.step("fast"), show);
                slow.each_mut(&path.step("slow"), show);
            }
            Self::Volumes(OverMembers { members, .. }) => each_member_mut(members, path, show),
            Self::Concat(OverMembers { members, .. }) => each_member_mut(members, path, show),
            Self::Stripe(OverMembers { members, .. }) => each_member_mut(members, path, show),
            Self::Mirror(OverMembers { members, .. }) => each_member_mut(members, path, show),
            Self::Raid4(OverMembers { members, .. })
            | Self::Raid5(OverMembers { members, .. })
            | Self::Raid6(OverMembers { members, .. }) => each_member_mut(members, path, show),
        }
    }

    /// The policies of one's own that it asks, and for what.
    pub(in crate::scenario) fn own_mut(&mut self) -> Vec<(&mut OwnSpec, Role)> {
        let asked = match self {
            Self::Drive(drive) => vec![
                (drive.device.own_mut(), Role::Device),
                (drive.scheduler.own_mut(), Role::Scheduler),
                (drive.spin_down.as_mut().and_then(Choice::own_mut), Role::SpinDown),
            ],
            Self::RamCache(over) => vec![(over.spec.policy.own_mut(), Role::Replacement)],
            Self::Mcd(over) => vec![(over.spec.policy.own_mut(), Role::Replacement)],
            Self::Mirror(over) => vec![(over.spec.read.own_mut(), Role::Mirror)],
            _ => Vec::new(),
        };
        asked.into_iter().filter_map(|(own, role)| Some((own?, role))).collect()
    }

    /// Whether it, or anything below it, asks a policy of one's own.
    pub(in crate::scenario) fn has_own(&self) -> bool {
        let own = match self {
            Self::Drive(drive) => {
                drive.device.own().or(drive.scheduler.own()).or(drive.spin_down.as_ref().and_then(Choice::own))
            }
            Self::RamCache(over) => over.spec.policy.own(),
            Self::Mcd(over) => over.spec.policy.own(),
            Self::Mirror(over) => over.spec.read.own(),
            _ => None,
        };
        own.is_some() || self.below().into_iter().any(Self::has_own)
    }

    /// All drives that it ends in, those that are built alike once.
    #[must_use]
    pub fn drives(&self) -> Vec<&DriveSpec> {
        match self {
            Self::Drive(drive) => vec![drive],
            _ => self.below().into_iter().flat_map(Self::drives).collect(),
        }
    }

    /// What headings call it: a drive by its device, anything else by its name, or by what it is made of.
    #[must_use]
    pub fn title(&self) -> String {
        if let (Some(name), None) = (self.name(), self.drive()) {
            return name.to_owned();
        }
        let mut parts: Vec<(u32, String)> = Vec::new();
        let mut add = |count: u32, title: String| match parts.iter_mut().find(|(_, known)| *known == title) {
            Some((known, _)) => *known += count,
            None => parts.push((count, title)),
        };
        match self.children() {
            Children::None => return self.drive().map(|drive| drive.device.name().to_owned()).unwrap_or_default(),
            Children::Keyed(children) => children.into_iter().for_each(|(_, child)| add(1, child.title())),
            Children::Members(members, _) => {
                members.iter().for_each(|member| add(member.count, member.system.title()));
            }
        }
        let shown = parts.iter().map(|(count, title)| match count {
            1 => title.clone(),
            _ => format!("{count} {title}"),
        });
        format!("{} of {}", self.kind(), shown.collect::<Vec<_>>().join(" and "))
    }

    /// The schedulers' common name, or `several`.
    #[must_use]
    pub fn scheduler(&self) -> &str {
        let names: Vec<&str> = self.drives().iter().map(|drive| drive.scheduler.name()).collect();
        match names.first() {
            Some(first) if names.iter().all(|name| name == first) => first,
            _ => "several",
        }
    }

    /// Whether the power of everything that it ends in is known.
    #[must_use]
    pub fn has_powers(&self) -> bool {
        self.drives().iter().all(|drive| drive.device.has_powers())
    }

    /// What befalls its members.
    pub(in crate::scenario) fn faults(&self) -> &[MemberFaultSpec] {
        match self {
            Self::Mirror(node) => &node.spec.faults,
            Self::Raid4(node) | Self::Raid5(node) | Self::Raid6(node) => &node.spec.faults,
            _ => &[],
        }
    }

    /// What its ways are called whose names the scenario gives, with so many members.
    pub(in crate::scenario) fn path_names(&self, members: usize) -> Vec<String> {
        match self {
            Self::Volumes(node) => node.spec.names(members),
            _ => Vec::new(),
        }
    }

    /// Its own keys as a scenario has them, without the components below it; of a drive's device only the name.
    pub(in crate::scenario) fn own_keys(&self) -> Value {
        let mut keys = serde_json::to_value(self).unwrap_or_default();
        if let Some(table) = keys.as_object_mut() {
            ["kind", "name", "members"].iter().chain(&CHILD_KEYS).for_each(|key| drop(table.remove(*key)));
            if let Some(drive) = self.drive() {
                table.insert("device".into(), drive.device.name().into());
            }
        }
        keys
    }
}

fn each_member_mut(members: &mut [MemberSpec], path: &Path, show: &mut dyn FnMut(&mut SystemSpec, &Path)) {
    for (entry, member) in members.iter_mut().enumerate() {
        member.system.each_mut(&path.step("members").step(entry).step("system"), show);
    }
}
