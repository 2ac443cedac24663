//! From a scenario to its running parts.

mod drive;
mod workload;

pub use drive::{device, device_with};
pub use workload::trace_options;
pub(super) use workload::{limits, workload, AnyWorkload};

use super::array_spec::MemberFaultSpec;
use super::system_spec::{Children, MemberSpec, SystemSpec, CHILD_KEYS};
use crate::engine::random::Stream;
use crate::engine::{Completion, Component, ComponentId, System};
use crate::hierarchy::array::{ArraySpec, Level, RedundantArray};
use crate::hierarchy::faulty::Faulty;
use crate::hierarchy::{Child, Mcd, Mwb, Partition, RamCache, Spread, Volumes};

/// Most components of a system.
const MOST_COMPONENTS: usize = 4096;

/// A system put together, with what the report needs to know of it.
pub(super) struct Assembly<'a> {
    pub system: System,
    /// The components of the scenario, each before those below it.
    pub nodes: Vec<Node<'a>>,
    pub overhead_ns: u64,
    pub capacity_blocks: u64,
    pub block_bytes: u32,
}

/// A component of a scenario in a system.
pub(super) struct Node<'a> {
    pub spec: &'a SystemSpec,
    /// Where it is: `system.members[2]`, members counted one by one.
    pub path: String,
    /// Place of the component above it.
    pub parent: Option<usize>,
    /// What it consists of, without what is below it: of a drive the mechanisms and what is above them.
    pub ids: Vec<ComponentId>,
}

impl Node<'_> {
    /// The component that requests enter it by.
    pub fn id(&self) -> ComponentId {
        self.ids[self.ids.len() - 1]
    }
}

/// Builds the system of a scenario in an empty one, with the faults that its seed gives.
///
/// # Errors
/// What does not fit together: names both sides.
pub(super) fn system(empty: System, spec: &SystemSpec, seed: u64) -> Result<Assembly<'_>, String> {
    build(empty, spec, seed, &mut |_, id, _| id)
}

fn build<'a>(empty: System, spec: &'a SystemSpec, seed: u64, between: Between<'_>) -> Result<Assembly<'a>, String> {
    let mut builder = Builder { seed, between, system: empty, nodes: Vec::new(), overhead_ns: 0 };
    builder.add(spec, "system", "system", None)?;
    let Builder { system, nodes, overhead_ns, .. } = builder;
    let root = system.component(system.root());
    let (capacity_blocks, block_bytes) = (root.capacity_blocks(), root.block_bytes());
    // Command processing that requests overlap in is known only where a drive alone has all of them.
    let overhead_ns = if nodes.len() == 1 { overhead_ns } else { 0 };
    Ok(Assembly { system, nodes, overhead_ns, capacity_blocks, block_bytes })
}

/// Hears of each component and its path before the one above it is added, and says which one that gets: this one, or one that
/// it has put over it.
pub type Between<'b> = &'b mut dyn FnMut(&mut System, ComponentId, &str) -> ComponentId;

/// The components of a system, put together without a workload; `seed` gives the faults of its members.
///
/// # Errors
/// What does not fit together: names both sides.
pub fn assemble(spec: &SystemSpec, seed: u64, between: Between<'_>) -> Result<System, String> {
    build(System::default(), spec, seed, between).map(|assembly| assembly.system)
}

/// Checks what takes more than one key of a system to see.
///
/// # Errors
/// The first thing wrong: names both sides.
pub(super) fn check(spec: &SystemSpec, seed: u64) -> Result<(), String> {
    check_drives(spec, "system")?;
    match spec {
        SystemSpec::Drive(_) => Ok(()),
        _ => system(System::default(), spec, seed).map(|_| ()),
    }
}

fn check_drives(spec: &SystemSpec, path: &str) -> Result<(), String> {
    match spec.children() {
        Children::None => spec.drive().map_or(Ok(()), |each| drive::check(each).map_err(|error| at(path, &error))),
        Children::Keyed(children) => {
            children.into_iter().try_for_each(|(key, child)| check_drives(child, &format!("{path}.{key}")))
        }
        Children::Members(members, _) => members
            .iter()
            .enumerate()
            .try_for_each(|(entry, member)| check_drives(&member.system, &format!("{path}.members[{entry}].system"))),
    }
}

/// What is said of a drive as if it were the whole system, of one that stands at `path`.
fn at(path: &str, message: &str) -> String {
    message.replace("system.", &format!("{path}."))
}

/// A component that has been added, as one above it sees it.
struct Below {
    child: Child,
    path: String,
}

struct Builder<'a, 'b> {
    seed: u64,
    between: Between<'b>,
    system: System,
    nodes: Vec<Node<'a>>,
    overhead_ns: u64,
}

impl<'a> Builder<'a, '_> {
    /// Adds a component and all below it; `written` is where the scenario has it, `path` where it is with members counted one
    /// by one.
    fn add(&mut self, spec: &'a SystemSpec, written: &str, path: &str, parent: Option<usize>) -> Result<Below, String> {
        let place = self.nodes.len();
        self.nodes.push(Node { spec, path: path.to_owned(), parent, ids: Vec::new() });
        let children = self.add_below(spec, written, path, place)?;
        let ids = match spec {
            SystemSpec::Drive(drive) => {
                let built = drive::add(&mut self.system, drive).map_err(|error| at(written, &error))?;
                self.overhead_ns = built.overhead_ns;
                built.ids
            }
            composite => vec![self.system.add(over(composite, path, &children)?, &ids_of(&children))],
        };
        if self.system.root().0 as usize >= MOST_COMPONENTS {
            return Err(format!("{path}: with it, the system has more than {MOST_COMPONENTS} components"));
        }
        let id = ids[ids.len() - 1];
        self.nodes[place].ids = ids;
        let id = (self.between)(&mut self.system, id, path);
        Ok(Below { child: Child::of(&self.system, id), path: path.to_owned() })
    }

    /// Adds what is below a component, in its order.
    fn add_below(
        &mut self,
        spec: &'a SystemSpec,
        written: &str,
        path: &str,
        place: usize,
    ) -> Result<Vec<Below>, String> {
        match spec.children() {
            Children::None => Ok(Vec::new()),
            Children::Keyed(children) => children
                .into_iter()
                .map(|(key, child)| self.add(child, &format!("{written}.{key}"), &format!("{path}.{key}"), Some(place)))
                .collect(),
            Children::Members(members, spares) => {
                let mut children = self.add_members(members, written, path, place)?;
                for spare in 0..spares {
                    let (written, path) = (format!("{written}.members[0].system"), format!("{path}.spares[{spare}]"));
                    children.push(self.add(&members[0].system, &written, &path, Some(place))?);
                }
                self.add_faults(spec.faults(), path, &mut children)?;
                Ok(children)
            }
        }
    }

    /// Puts what is to befall members between them and what is above.
    fn add_faults(&mut self, faults: &[MemberFaultSpec], path: &str, children: &mut [Below]) -> Result<(), String> {
        let count = children.len();
        for (entry, MemberFaultSpec { member, fault }) in faults.iter().enumerate() {
            let key = format!("{path}.faults[{entry}]");
            let Some(below) = children.get_mut(*member as usize) else {
                return Err(format!("{key}.member = {member}: {path} has {count} members and spares, from 0 on"));
            };
            let Child { id, capacity_blocks, block_bytes } = below.child;
            // A stream for each: what befalls one member leaves the others as they were.
            let mut stream = Stream::new(self.seed, &format!("faults of {}", below.path));
            let faulty = Faulty::new(id, (capacity_blocks, block_bytes), fault, &mut stream);
            let faulty = faulty.map_err(|error| format!("{key}.unreadable: {} has {error}", below.path))?;
            let id = self.system.add(Box::new(faulty), &[id]);
            below.child = Child::of(&self.system, id);
        }
        Ok(())
    }

    fn add_members(
        &mut self,
        members: &'a [MemberSpec],
        written: &str,
        path: &str,
        place: usize,
    ) -> Result<Vec<Below>, String> {
        let mut children = Vec::new();
        for (entry, member) in members.iter().enumerate() {
            for _ in 0..member.count {
                let written = format!("{written}.members[{entry}].system");
                let path = format!("{path}.members[{}]", children.len());
                children.push(self.add(&member.system, &written, &path, Some(place))?);
            }
        }
        Ok(children)
    }
}

/// The component that `spec` describes, over children that have been added.
fn over(spec: &SystemSpec, path: &str, children: &[Below]) -> Result<Box<dyn Component>, String> {
    let made: Result<Box<dyn Component>, String> = match spec {
        SystemSpec::Drive(_) => Err("kind = drive: it has nothing below it".into()),
        SystemSpec::Partition(node) => Partition::new(&node.spec, children[0].child).map(boxed),
        SystemSpec::Volumes(node) => Volumes::new(&node.spec, &alike(path, children)?).map(boxed),
        SystemSpec::Concat(_) => Spread::concat(ids_of(children), &sizes_of(children)).map(boxed),
        SystemSpec::Stripe(node) => {
            Spread::stripe(ids_of(children), &sizes_of(children), node.spec.unit_bytes).map(boxed)
        }
        SystemSpec::Mirror(node) => array(Level::Mirror, &node.spec.array(), children),
        SystemSpec::Raid4(node) => array(Level::Raid4, &node.spec.array(), children),
        SystemSpec::Raid5(node) => array(Level::Raid5, &node.spec.array(), children),
        SystemSpec::Raid6(node) => array(Level::Raid6, &node.spec.array(), children),
        SystemSpec::RamCache(node) => {
            let Child { id, capacity_blocks, block_bytes } = children[0].child;
            RamCache::new(&node.spec, id, capacity_blocks, block_bytes).map(boxed)
        }
        SystemSpec::Mwb(node) => Mwb::new(&node.spec, children[0].child, children[1].child).map(boxed),
        SystemSpec::Mcd(node) => Mcd::new(&node.spec, children[0].child, children[1].child).map(boxed),
    };
    made.map_err(|error| placed(path, &error))
}

/// What a component at `path` says of its keys and of what is below it, which it names as if nothing were above it: with the
/// paths of all of them.
fn placed(path: &str, error: &str) -> String {
    let words: Vec<&str> = error.split(' ').collect();
    let is_named = |place: usize| {
        let plain = words[place].trim_end_matches([',', ':', ';']);
        let is_numbered = plain.contains('[') && plain.starts_with(|first: char| first.is_ascii_lowercase());
        let is_key = words.get(place + 1) == Some(&"=");
        let is_common = place > 0 && ["a", "its", "the"].contains(&words[place - 1]);
        place == 0 || is_numbered || is_key || (CHILD_KEYS.contains(&plain) && !is_common)
    };
    let named = words.iter().enumerate().map(|(place, word)| match is_named(place) {
        true => format!("{path}.{word}"),
        false => (*word).to_owned(),
    });
    named.collect::<Vec<_>>().join(" ")
}

fn array(level: Level, spec: &ArraySpec, children: &[Below]) -> Result<Box<dyn Component>, String> {
    RedundantArray::new(level, ids_of(children), &sizes_of(children), spec).map(boxed)
}

/// Blocks of each child, and their size.
fn sizes_of(children: &[Below]) -> Vec<(u64, u32)> {
    children.iter().map(|below| (below.child.capacity_blocks, below.child.block_bytes)).collect()
}

fn boxed(component: impl Component + 'static) -> Box<dyn Component> {
    Box::new(component)
}

fn ids_of(children: &[Below]) -> Vec<ComponentId> {
    children.iter().map(|below| below.child.id).collect()
}

/// The children of the component at `path`, which all need blocks of one size.
fn alike(path: &str, children: &[Below]) -> Result<Vec<Child>, String> {
    let first = &children[0];
    match children.iter().find(|below| below.child.block_bytes != first.child.block_bytes) {
        Some(other) => Err(format!(
            "{} has blocks of {} B, {} of {} B: what {path} is made of needs equal blocks",
            other.path, other.child.block_bytes, first.path, first.child.block_bytes
        )),
        None => Ok(children.iter().map(|below| below.child).collect()),
    }
}

/// A completion is as large as it looks: it is copied on its way up.
const _: () = assert!(std::mem::size_of::<Completion>() <= 256);

#[cfg(test)]
mod tests {
    use super::placed;

    #[test]
    fn both_sides_of_what_does_not_fit_have_their_paths() {
        for (error, expected) in [
            (
                "bytes = 5 B from first_block = 9 on is too much",
                "s.c.bytes = 5 B from s.c.first_block = 9 on is too much",
            ),
            (
                "mems_bytes = 9 B, disk has 8 B: less than its disk",
                "s.c.mems_bytes = 9 B, s.c.disk has 8 B: less than its disk",
            ),
            ("members[1] has 2, members[0], 3", "s.c.members[1] has 2, s.c.members[0], 3"),
            ("line_bytes = 7 B: the blocks of child", "s.c.line_bytes = 7 B: the blocks of s.c.child"),
        ] {
            assert_eq!(placed("s.c", error), expected);
        }
    }
}
