//! From a scenario to its running parts.

mod drive;
mod workload;

pub use drive::{device, device_with};
pub(super) use workload::{limits, workload};

use serde_json::Value;

use crate::engine::random::Stream;
use crate::engine::{Completion, ComponentId, System};
use crate::fault::{Fault, Faults, Kind, Path};
use crate::hierarchy::{Child, ChildKeys, ComponentSpec, Faulty, MemberFaultSpec};
use crate::limits::{COMPONENTS, LATENT_ERRORS, PARTS_OF_A_REQUEST};
use crate::scenario::specs::scenario::DeviceSpec;
use crate::scenario::specs::system::{child_path, is_child_key, SystemKind, SystemSpec, MEMBERS};

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
    if spec.drive().is_none() {
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
        // Plugins are loaded only if the rest of the document is valid; without them no system can be built.
        let whole = |spec: &SystemSpec| match spec.has_plugins() {
            false => faults(spec, path, seed),
            true => of_drives(spec, path),
        };
        return spec.as_ref().map(whole).unwrap_or_default();
    }
    let mut found = Vec::new();
    let device = path.step("device");
    if let Some(spec) = component.get("device").and_then(|spec| right(&device, spec, "DeviceSpec")) {
        let spec: Option<DeviceSpec> = serde_json::from_value(spec).ok();
        let fault = spec.filter(|spec| spec.custom().is_none()).and_then(|spec| drive::device(&spec).err());
        found.extend(fault.map(|fault| fault.within(&device)));
    }
    for (key, child) in component.as_object().into_iter().flatten().filter(|(key, _)| is_child_key(key)) {
        found.extend(faults_beside(child, &path.step(key), seed, right));
    }
    let members = component.get(MEMBERS).and_then(Value::as_array).into_iter().flatten().enumerate();
    found.extend(members.flat_map(|(entry, member)| {
        member
            .get("system")
            .map(|system| faults_beside(system, &child_path(ChildKeys::Members, path, entry), seed, right))
            .unwrap_or_default()
    }));
    found
}

fn of_drives(spec: &SystemSpec, path: &Path) -> Vec<Fault> {
    let mut found = Vec::new();
    spec.visit(path, &mut |component, path| {
        found.extend(component.drive().into_iter().flat_map(|drive| drive::faults(drive, path)));
    });
    found
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
        let children = self.add_children(spec, written, path, place)?;
        let ids = match &spec.kind {
            SystemKind::Drive(drive) => {
                // Before anything is made for each of its sleds.
                self.check_room(u64::from(drive.device.mechanisms()), written)?;
                let built = drive::add(&mut self.system, drive, &mut self.mechanisms);
                let built = self.kept(built, written)?;
                self.overhead_ns = built.overhead_ns;
                built.ids
            }
            SystemKind::Composite(composite) => {
                let children: Vec<Child> = children.iter().map(|below| below.child).collect();
                let made = self.kept(composite.spec.build(&children), written)?;
                self.kept(check_copies(composite.spec.as_ref(), &self.system), written)?;
                let ids: Vec<ComponentId> = children.iter().map(|child| child.id).collect();
                vec![self.system.add(made, &ids)]
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

    /// Adds the children of a component in their order, spares last; all of them, so that everything that is wrong is found.
    fn add_children(&mut self, spec: &'a SystemSpec, written: &Path, path: &str, place: usize) -> Option<Vec<Below>> {
        let keys = spec.child_keys();
        let mut children = Vec::new();
        let mut is_complete = true;
        for (index, child) in spec.children.iter().enumerate() {
            let written = child_path(keys, written, index);
            for _ in 0..child.count {
                let path = match keys {
                    ChildKeys::Keyed(keys) => format!("{path}.{}", keys[index].name),
                    ChildKeys::Members => format!("{path}.{MEMBERS}[{}]", children.len()),
                };
                let Some(child) = self.add(&child.system, &written, &path, Some(place)) else {
                    // What is wrong with one is wrong with all that are built like it.
                    is_complete = false;
                    break;
                };
                children.push(child);
            }
        }
        if !is_complete {
            return None;
        }
        // Without members there are no spares: that there are some is checked where they are put together.
        for (spare, first) in (0..spec.spares()).filter_map(|spare| Some((spare, spec.children.first()?))) {
            let path = format!("{path}.spares[{spare}]");
            children.push(self.add(&first.system, &child_path(keys, written, 0), &path, Some(place))?);
        }
        let faults = spec.composite().map_or(&[][..], ComponentSpec::member_faults);
        let befallen = self.add_faults(faults, written, &mut children);
        self.kept(befallen, &Path::default())?;
        Some(children)
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
            // A stream for each member, so that the faults of one do not change those of others.
            let mut stream = Stream::new(self.seed, &format!("faults of {}", below.path));
            let faulty = Faulty::new(Child { id, capacity_blocks, block_bytes }, fault, &mut stream);
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
}

/// Refuses copies between children that what is below would cut into too many parts: nothing else bounds a request that a
/// component makes of itself.
fn check_copies(spec: &dyn ComponentSpec, below: &System) -> Result<(), Fault> {
    let Some((key, bytes)) = spec.largest_copy() else { return Ok(()) };
    let parts = below.parts_of_bytes(bytes);
    if parts <= PARTS_OF_A_REQUEST.most {
        return Ok(());
    }
    let says = format!(
        ": to move one, what is below would make {parts} parts of it, more than {}: take smaller extents",
        PARTS_OF_A_REQUEST.most
    );
    Err(Fault::misfit(key, bytes).says(says))
}

/// A completion is as large as it looks: it is copied on its way up.
const _: () = assert!(std::mem::size_of::<Completion>() <= 256);
