//! Assembles the running system of a scenario.

mod drive;
mod workload;

pub use drive::{device, device_with};
pub(super) use workload::{limits, workload};

use crate::engine::random::Stream;
use crate::engine::{Completion, ComponentId, System};
use crate::fault::{Fault, Faults, Kind, Path};
use crate::hierarchy::{Child, ChildKeys, ComponentSpec, Faulty, MemberFaultSpec};
use crate::limits::{COMPONENTS, LATENT_ERRORS, PARTS_OF_A_REQUEST};
use crate::scenario::specs::system::{child_path, SystemKind, SystemSpec, MEMBERS};

/// The key of the system in a scenario.
pub(super) const SYSTEM: &str = "system";

/// An assembled system, with information for the report.
#[derive(Clone)]
pub(super) struct Assembly {
    pub system: System,
    /// The components of the scenario, parents first.
    pub components: Vec<AssembledComponent>,
    pub overhead_ns: u64,
    pub capacity_blocks: u64,
    pub block_bytes: u32,
}

/// A component of a scenario in a system.
#[derive(Clone, Debug)]
pub(super) struct AssembledComponent {
    /// Its path, such as `system.members[2]`; identical members are counted individually.
    pub path: String,
    /// Index of its parent.
    pub parent: Option<usize>,
    /// Its own components in the engine's system, without those of its children. A drive has one for each mechanism,
    /// and one over them.
    pub ids: Vec<ComponentId>,
    /// Its kind.
    pub kind: &'static str,
    /// Its name in the scenario; for a drive without a name, that of its device.
    pub name: Option<String>,
    /// True for a drive with known powers.
    pub has_powers: Option<bool>,
    /// Names of the paths through it, if the scenario gives them.
    pub path_names: Vec<String>,
}

impl AssembledComponent {
    /// Returns the component that receives its requests.
    pub(super) fn id(&self) -> ComponentId {
        self.ids[self.ids.len() - 1]
    }
}

/// Builds the system of a scenario in an empty system. Random faults of members depend on the scenario's seed.
///
/// # Errors
/// Parameters contradict each other; the fault names both.
pub(super) fn system(empty: System, spec: &SystemSpec, seed: u64) -> Result<Assembly, Faults> {
    loaded(build(empty, spec, &SYSTEM.into(), seed, &mut |_, id, _| id))
}

/// Returns the assembly, or a fault if a plugin was not loaded.
fn loaded(built: Built) -> Result<Assembly, Faults> {
    Faults::none_of(built.found)?;
    built.assembly.ok_or_else(|| {
        let says = ": a custom policy in it has not been loaded";
        Fault::at(Kind::Unsupported, SYSTEM).says(says).into()
    })
}

/// The result of building a system.
pub(super) struct Built {
    /// The system; `None` if parameters contradict each other or a custom policy has not been loaded.
    pub assembly: Option<Assembly>,
    /// Contradicting parameters.
    pub found: Vec<Fault>,
}

/// Builds the component at a path of a scenario with all its descendants.
pub(super) fn build(empty: System, spec: &SystemSpec, written: &Path, seed: u64, between: Between<'_>) -> Built {
    let mut builder = Builder {
        seed,
        between,
        system: empty,
        components: Vec::new(),
        mechanisms: drive::Mechanisms::default(),
        overhead_ns: 0,
        found: Vec::new(),
        is_full: false,
        latent_errors: 0.0,
    };
    let root = builder.add(spec, written, SYSTEM, None);
    let Builder { system, components, overhead_ns, found, .. } = builder;
    let assembly = root.map(|root| Assembly {
        // The command processing time of a request is defined only if the system is a single drive.
        overhead_ns: if components.len() == 1 { overhead_ns } else { 0 },
        system,
        components,
        capacity_blocks: root.child.capacity_blocks,
        block_bytes: root.child.block_bytes,
    });
    Built { assembly: assembly.filter(|_| found.is_empty()), found }
}

/// Called for each component, with its path, before its parent is added. Returns the child of the parent: the component
/// itself, or one placed over it.
pub type Between<'b> = &'b mut dyn FnMut(&mut System, ComponentId, &str) -> ComponentId;

/// Assembles the components of a system without a workload; `seed` determines the random faults of members.
///
/// # Errors
/// Parameters contradict each other; the fault names both.
pub fn assemble(spec: &SystemSpec, seed: u64, between: Between<'_>) -> Result<System, Faults> {
    loaded(build(System::default(), spec, &SYSTEM.into(), seed, between)).map(|assembly| assembly.system)
}

/// An added component, as needed by its parent.
struct Below {
    child: Child,
    path: String,
}

struct Builder<'a, 'b> {
    seed: u64,
    between: Between<'b>,
    system: System,
    components: Vec<AssembledComponent>,
    mechanisms: drive::Mechanisms<'a>,
    overhead_ns: u64,
    /// Parameters that do not fit together: reported once for identical members.
    found: Vec<Fault>,
    /// True if the limit on the number of components is reached.
    is_full: bool,
    /// Mean over all members.
    latent_errors: f64,
}

impl<'a> Builder<'a, '_> {
    /// Returns the value of a result, or records its faults.
    fn kept<T, E: Into<Faults>>(&mut self, made: Result<T, E>, written: &Path) -> Option<T> {
        let faults = match made {
            Ok(made) => return Some(made),
            Err(error) => error.into().within(written),
        };
        let new: Vec<Fault> = faults.into_iter().filter(|fault| !self.found.contains(fault)).collect();
        self.found.extend(new);
        None
    }

    /// Adds a component and all its descendants. `written` is its path in the scenario, `path` that with identical
    /// members counted individually. A component with a fault is not added, and the fault is recorded.
    fn add(&mut self, spec: &'a SystemSpec, written: &Path, path: &str, parent: Option<usize>) -> Option<Below> {
        if self.is_full {
            return None;
        }
        let place = self.components.len();
        let drive = spec.drive();
        let device = drive.map(|drive| drive.device.name());
        self.components.push(AssembledComponent {
            path: path.to_owned(),
            parent,
            ids: Vec::new(),
            kind: spec.kind(),
            name: spec.name.as_deref().or(device).map(str::to_owned),
            has_powers: drive.map(|drive| drive.device.has_powers()),
            path_names: Vec::new(),
        });
        let children = self.add_children(spec, written, path, place)?;
        let ids = match &spec.kind {
            SystemKind::Drive(drive) => {
                // Checked before anything is allocated for each sled.
                self.check_room(u64::from(drive.device.mechanisms()), written)?;
                self.kept(drive::check_merge(drive), written);
                let random = |sled: u32| Stream::new(self.seed, &format!("retries of mechanism {sled} of {path}"));
                let built = drive::add(&mut self.system, drive, &mut self.mechanisms, random);
                let built = self.kept(built, written)??;
                self.overhead_ns = built.overhead_ns;
                built.ids
            }
            SystemKind::Composite(composite) => {
                if composite.spec.custom().is_some_and(|(plugin, _)| !plugin.is_loaded()) {
                    return None;
                }
                let children: Vec<Child> = children.iter().map(|below| below.child).collect();
                self.components[place].path_names = composite.spec.path_names(children.len());
                let made = self.kept(composite.spec.build(&children), written)?;
                self.kept(check_copies(composite.spec.as_ref(), &self.system), written)?;
                self.kept(check_zones(spec), written)?;
                let ids: Vec<ComponentId> = children.iter().map(|child| child.id).collect();
                vec![self.system.add(made, &ids)]
            }
        };
        self.check_room(0, written)?;
        let id = ids[ids.len() - 1];
        self.components[place].ids = ids;
        let id = (self.between)(&mut self.system, id, path);
        Some(Below { child: Child::of(&self.system, id), path: path.to_owned() })
    }

    /// Checks the limit on the number of components; once it is exceeded, no more are added.
    fn check_room(&mut self, more: u64, written: &Path) -> Option<()> {
        if self.system.components() + more <= COMPONENTS.most {
            return Some(());
        }
        let says = format!(": with it, the system has more than {} components", COMPONENTS.most);
        self.is_full = true;
        self.found.push(Fault::at(Kind::Misfit, written).says(says));
        None
    }

    /// Adds the children of a component in order, spares last. Continues after a fault, so that all faults are found.
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
                    // Identical members have identical faults.
                    is_complete = false;
                    break;
                };
                children.push(child);
            }
        }
        if !is_complete {
            return None;
        }
        // Without members there are no spares; the array itself rejects a list without members.
        for (spare, first) in (0..spec.spares()).filter_map(|spare| Some((spare, spec.children.first()?))) {
            let path = format!("{path}.spares[{spare}]");
            children.push(self.add(&first.system, &child_path(keys, written, 0), &path, Some(place))?);
        }
        let faults = spec.composite().map_or(&[][..], ComponentSpec::member_faults);
        let befallen = self.add_faults(faults, written, &mut children);
        self.kept(befallen, &Path::default())?;
        Some(children)
    }

    /// Inserts components for the faults of members between the members and their parent.
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
            // Each member has its own random stream, so that the faults of one do not change those of others.
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

/// Rejects copies between children that would be split into too many parts: internal requests of a component have no
/// other limit.
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

/// Rejects zones that refuse writes below a component that issues its own writes: a refused write would be lost.
fn check_zones(spec: &SystemSpec) -> Result<(), Fault> {
    if !spec.composite().is_some_and(ComponentSpec::issues_own_writes) {
        return Ok(());
    }
    let mut found = Ok(());
    spec.visit(&Path::default(), &mut |component, path| {
        if found.is_ok() && component.composite().is_some_and(ComponentSpec::refuses_writes) {
            let key = path.step("out_of_order");
            let says = format!(
                ": the {kind} above these zones would lose the writes that they refuse: put the zones above the {kind}, or use ",
                kind = spec.kind()
            );
            found = Err(Fault::conflict(key.clone(), "refuse").says(says).set(key, "rewrite"));
        }
    });
    found
}

/// Completions are copied on the way up, so their size matters.
const _: () = assert!(std::mem::size_of::<Completion>() <= 256);
