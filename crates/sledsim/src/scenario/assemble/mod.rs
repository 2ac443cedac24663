//! From a scenario to its running parts.

mod drive;
mod workload;

pub use drive::{device, device_with};
pub(super) use workload::{limits, workload};

use serde_json::Value;

use crate::engine::random::Stream;
use crate::engine::{Completion, Component, ComponentId, System};
use crate::fault::{Fault, Faults, Kind, Path};
use crate::hierarchy::array::{ArraySpec, Level, RedundantArray};
use crate::hierarchy::faulty::Faulty;
use crate::hierarchy::{Child, Mcd, Mwb, Partition, RamCache, Spread, Tiers, Volumes};
use crate::limits::{COMPONENTS, LATENT_ERRORS, PARTS_OF_A_REQUEST};
use crate::scenario::own;
use crate::scenario::specs::arrays::MemberFaultSpec;
use crate::scenario::specs::scenario::DeviceSpec;
use crate::scenario::specs::system::{Children, MemberSpec, SystemSpec, CHILD_KEYS};

/// The key of a scenario that has its system.
pub(super) const SYSTEM: &str = "system";

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
pub(super) fn system(empty: System, spec: &SystemSpec, seed: u64) -> Result<Assembly<'_>, Faults> {
    build(empty, spec, &SYSTEM.into(), seed, &mut |_, id, _| id)
}

fn build<'a>(
    empty: System,
    spec: &'a SystemSpec,
    written: &Path,
    seed: u64,
    between: Between<'_>,
) -> Result<Assembly<'a>, Faults> {
    let mut builder = Builder {
        seed,
        between,
        system: empty,
        nodes: Vec::new(),
        mechanisms: drive::Mechanisms::default(),
        overhead_ns: 0,
        found: Vec::new(),
        is_full: false,
        latent_errors: 0.0,
    };
    builder.add(spec, written, SYSTEM, None);
    let Builder { system, nodes, overhead_ns, found, .. } = builder;
    Faults::none_of(found)?;
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
pub fn assemble(spec: &SystemSpec, seed: u64, between: Between<'_>) -> Result<System, Faults> {
    build(System::default(), spec, &SYSTEM.into(), seed, between).map(|assembly| assembly.system)
}

/// What is wrong with more than one key of the component at `path`: with each of its drives, or with what they stand in.
pub(super) fn faults(spec: &SystemSpec, path: &Path, seed: u64) -> Vec<Fault> {
    let mut found = of_drives(spec, path);
    if !matches!(spec, SystemSpec::Drive(_)) {
        let built = build(System::default(), spec, path, seed, &mut |_, id, _| id);
        // What is wrong with a drive is among what keeps it from being built.
        let more: Vec<Fault> = built.err().into_iter().flatten().filter(|fault| !found.contains(fault)).collect();
        found.extend(more);
    }
    found
}

/// What stands at a place of a document, by the name of what it is to be, if it is right by itself: as it is then read.
type Right<'a> = &'a dyn Fn(&Path, &Value, &str) -> Option<Value>;

/// The same of a component in a document, in which some is wrong already: of each part of it that is `right` by itself.
pub(super) fn faults_beside(component: &Value, path: &Path, seed: u64, right: Right<'_>) -> Vec<Fault> {
    if let Some(component) = right(path, component, "SystemSpec") {
        let spec: Result<SystemSpec, _> = serde_json::from_value(component);
        // What is one's own is opened where nothing is wrong; without it no system can be put together.
        let whole = |spec: &SystemSpec| match spec.has_own() {
            false => faults(spec, path, seed),
            true => of_drives(spec, path),
        };
        return spec.as_ref().map(whole).unwrap_or_default();
    }
    let mut found = Vec::new();
    let device = path.step("device");
    if let Some(spec) = component.get("device").and_then(|spec| right(&device, spec, "DeviceSpec")) {
        let spec: Option<DeviceSpec> = serde_json::from_value(spec).ok();
        let fault = spec.filter(|spec| spec.own().is_none()).and_then(|spec| drive::device(&spec).err());
        found.extend(fault.map(|fault| fault.within(&device)));
    }
    for key in CHILD_KEYS {
        let child = component.get(key).map(|child| faults_beside(child, &path.step(key), seed, right));
        found.extend(child.into_iter().flatten());
    }
    let members = component.get("members").and_then(Value::as_array).into_iter().flatten().enumerate();
    found.extend(members.flat_map(|(entry, member)| {
        member
            .get("system")
            .map(|system| faults_beside(system, &member_of(path, entry), seed, right))
            .unwrap_or_default()
    }));
    found
}

fn of_drives(spec: &SystemSpec, path: &Path) -> Vec<Fault> {
    let mut found = Vec::new();
    collect_of_drives(spec, path, &mut found);
    found
}

fn collect_of_drives(spec: &SystemSpec, path: &Path, found: &mut Vec<Fault>) {
    match spec.children() {
        Children::None => found.extend(spec.drive().into_iter().flat_map(|each| drive::faults(each, path))),
        Children::Keyed(children) => {
            children.into_iter().for_each(|(key, child)| collect_of_drives(child, &path.step(key), found));
        }
        Children::Members(members, _) => {
            for (entry, member) in members.iter().enumerate() {
                collect_of_drives(&member.system, &member_of(path, entry), found);
            }
        }
    }
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
    mechanisms: drive::Mechanisms<'a>,
    overhead_ns: u64,
    /// What does not fit together: of what is built several times, once.
    found: Vec<Fault>,
    /// Whether it has as many components as there may be.
    is_full: bool,
    /// Of all members, on average.
    latent_errors: f64,
}

impl<'a> Builder<'a, '_> {
    /// What was made, if nothing is wrong with it.
    fn kept<T, E: Into<Faults>>(&mut self, made: Result<T, E>, written: &Path) -> Option<T> {
        let faults = match made {
            Ok(made) => return Some(made),
            Err(error) => error.into().within(written),
        };
        let new: Vec<Fault> = faults.into_iter().filter(|fault| !self.found.contains(fault)).collect();
        self.found.extend(new);
        None
    }

    /// Adds a component and all below it; `written` is where the scenario has it, `path` where it is with members counted one
    /// by one. Nothing is added where something is wrong, which is found then.
    fn add(&mut self, spec: &'a SystemSpec, written: &Path, path: &str, parent: Option<usize>) -> Option<Below> {
        if self.is_full {
            return None;
        }
        let place = self.nodes.len();
        self.nodes.push(Node { spec, path: path.to_owned(), parent, ids: Vec::new() });
        let children = self.add_below(spec, written, path, place)?;
        let ids = match spec {
            SystemSpec::Drive(drive) => {
                // Before anything is made for each of its sleds.
                self.check_room(u64::from(drive.device.mechanisms()), written)?;
                let built = drive::add(&mut self.system, drive, &mut self.mechanisms);
                let built = self.kept(built, written)?;
                self.overhead_ns = built.overhead_ns;
                built.ids
            }
            composite => {
                let made = self.kept(over(composite, &children), written)?;
                self.kept(moves(composite, &self.system), written)?;
                vec![self.system.add(made, &ids_of(&children))]
            }
        };
        self.check_room(0, written)?;
        let id = ids[ids.len() - 1];
        self.nodes[place].ids = ids;
        let id = (self.between)(&mut self.system, id, path);
        Some(Below { child: Child::of(&self.system, id), path: path.to_owned() })
    }

    /// Checks that there is room for so many more components; where there is none, no more are added.
    fn check_room(&mut self, more: u64, written: &Path) -> Option<()> {
        if self.system.components() + more <= COMPONENTS.most {
            return Some(());
        }
        let says = format!(": with it, the system has more than {} components", COMPONENTS.most);
        self.is_full = true;
        self.found.push(Fault::at(Kind::Misfit, written).says(says));
        None
    }

    /// Adds what is below a component, in its order; all of it, so that everything that is wrong is found.
    fn add_below(&mut self, spec: &'a SystemSpec, written: &Path, path: &str, place: usize) -> Option<Vec<Below>> {
        match spec.children() {
            Children::None => Some(Vec::new()),
            Children::Keyed(children) => {
                let children: Vec<_> = children
                    .into_iter()
                    .map(|(key, child)| self.add(child, &written.step(key), &format!("{path}.{key}"), Some(place)))
                    .collect();
                children.into_iter().collect()
            }
            Children::Members(members, spares) => {
                let mut children = self.add_members(members, written, path, place)?;
                // A spare is one more of the first; that there is a first is looked at where they are put together.
                for (spare, first) in (0..spares).filter_map(|spare| Some((spare, members.first()?))) {
                    let (written, path) = (member_of(written, 0), format!("{path}.spares[{spare}]"));
                    children.push(self.add(&first.system, &written, &path, Some(place))?);
                }
                let befallen = self.add_faults(spec.faults(), written, &mut children);
                self.kept(befallen, &Path::default())?;
                Some(children)
            }
        }
    }

    /// Puts what is to befall members between them and what is above.
    fn add_faults(&mut self, faults: &[MemberFaultSpec], written: &Path, children: &mut [Below]) -> Result<(), Faults> {
        let count = children.len();
        let mut found = Vec::new();
        for (entry, MemberFaultSpec { member, fault }) in faults.iter().enumerate() {
            let key = written.step("faults").step(entry);
            let Some(below) = children.get_mut(*member as usize) else {
                let has = format!(" has {count} members and spares, from 0 on");
                found.push(Fault::misfit(key.step("member"), *member).says(": ").key(written).says(has));
                continue;
            };
            let Child { id, capacity_blocks, block_bytes } = below.child;
            self.latent_errors += fault.latent_errors(capacity_blocks, block_bytes);
            if self.latent_errors > LATENT_ERRORS.most as f64 {
                let says = format!(": with it, the members have more than {} latent errors", LATENT_ERRORS.most);
                found.push(Fault::misfit(key.step("latent_per_gb"), fault.latent_per_gb).says(says));
                continue;
            }
            // A stream for each: what befalls one member leaves the others as they were.
            let mut stream = Stream::new(self.seed, &format!("faults of {}", below.path));
            let faulty = Faulty::new(id, (capacity_blocks, block_bytes), fault, &mut stream);
            match faulty {
                Ok(faulty) => {
                    let id = self.system.add(Box::new(faulty), &[id]);
                    below.child = Child::of(&self.system, id);
                }
                Err(fault) => found.push(fault.within(&key)),
            }
        }
        Faults::none_of(found)
    }

    fn add_members(
        &mut self,
        members: &'a [MemberSpec],
        written: &Path,
        path: &str,
        place: usize,
    ) -> Option<Vec<Below>> {
        let mut children = Vec::new();
        let mut is_whole = true;
        for (entry, member) in members.iter().enumerate() {
            for _ in 0..member.count {
                let written = member_of(written, entry);
                let path = format!("{path}.members[{}]", children.len());
                let Some(child) = self.add(&member.system, &written, &path, Some(place)) else {
                    // What is wrong with one is wrong with all that are built like it.
                    is_whole = false;
                    break;
                };
                children.push(child);
            }
        }
        is_whole.then_some(children)
    }
}

/// The component that `spec` describes, over children that have been added.
fn over(spec: &SystemSpec, children: &[Below]) -> Result<Box<dyn Component>, Faults> {
    Ok(match spec {
        SystemSpec::Drive(_) => return Err(Fault::conflict("kind", "drive").says(": it has nothing below it").into()),
        SystemSpec::Partition(node) => boxed(Partition::new(&node.spec, children[0].child)?),
        SystemSpec::Volumes(node) => boxed(Volumes::new(&node.spec, &alike(children)?)?),
        SystemSpec::Concat(_) => boxed(Spread::concat(ids_of(children), &sizes_of(children))?),
        SystemSpec::Stripe(node) => boxed(Spread::stripe(ids_of(children), &sizes_of(children), node.spec.unit_bytes)?),
        SystemSpec::Mirror(node) => {
            let mirror = redundant(Level::Mirror, &node.spec.array(), children)?;
            match node.spec.read.own() {
                Some(chosen) => {
                    let policy = chosen
                        .maker()
                        .and_then(|maker| maker.mirror())
                        .map_err(|fault| own::within(fault, &"read".into()))?;
                    boxed(mirror.choosing(policy))
                }
                None => boxed(mirror),
            }
        }
        SystemSpec::Raid4(node) => array(Level::Raid4, &node.spec.array(), children)?,
        SystemSpec::Raid5(node) => array(Level::Raid5, &node.spec.array(), children)?,
        SystemSpec::Raid6(node) => array(Level::Raid6, &node.spec.array(), children)?,
        SystemSpec::RamCache(node) => {
            let Child { id, capacity_blocks, block_bytes } = children[0].child;
            boxed(RamCache::new(&node.spec, id, capacity_blocks, block_bytes)?)
        }
        SystemSpec::Mwb(node) => boxed(Mwb::new(&node.spec, children[0].child, children[1].child)?),
        SystemSpec::Mcd(node) => boxed(Mcd::new(&node.spec, children[0].child, children[1].child)?),
        SystemSpec::Tiers(node) => boxed(Tiers::new(&node.spec, children[0].child, children[1].child)?),
    })
}

/// Refuses extents that move and that what is below would cut into too many parts: nothing else bounds a request that a
/// component makes of itself.
fn moves(spec: &SystemSpec, below: &System) -> Result<(), Fault> {
    let SystemSpec::Tiers(node) = spec else { return Ok(()) };
    let parts = below.parts_of_bytes(node.spec.extent_bytes);
    if parts <= PARTS_OF_A_REQUEST.most || node.spec.migration.mb_per_s <= 0.0 {
        return Ok(());
    }
    let says = format!(
        ": to move one, what is below would make {parts} parts of it, more than {}: take smaller extents",
        PARTS_OF_A_REQUEST.most
    );
    Err(Fault::misfit("extent_bytes", node.spec.extent_bytes).says(says))
}

/// The component of an entry of `members`.
fn member_of(written: &Path, entry: usize) -> Path {
    written.step("members").step(entry).step("system")
}

fn redundant(level: Level, spec: &ArraySpec, children: &[Below]) -> Result<RedundantArray, Fault> {
    RedundantArray::new(level, ids_of(children), &sizes_of(children), spec)
}

fn array(level: Level, spec: &ArraySpec, children: &[Below]) -> Result<Box<dyn Component>, Fault> {
    redundant(level, spec, children).map(boxed)
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

/// The children of a component, which all need blocks of one size.
fn alike(children: &[Below]) -> Result<Vec<Child>, Fault> {
    let Some(first) = children.first() else {
        return Err(Fault::at(Kind::OutOfRange, "members").says(" is empty: it needs at least one entry"));
    };
    match children.iter().position(|below| below.child.block_bytes != first.child.block_bytes) {
        Some(other) => Err(Fault::at(Kind::Misfit, Path::from("members").step(other))
            .says(format!(" has blocks of {} B, ", children[other].child.block_bytes))
            .key("members.0")
            .says(format!(" of {} B: what they make up needs equal blocks", first.child.block_bytes))),
        None => Ok(children.iter().map(|below| below.child).collect()),
    }
}

/// A completion is as large as it looks: it is copied on its way up.
const _: () = assert!(std::mem::size_of::<Completion>() <= 256);
