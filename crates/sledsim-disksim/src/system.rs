//! The device among the components, and the route to it: driver, buses, controllers.

use sledsim::fault::{self, printable, Kind, Path};

use super::draft::{Drafts, Origin};
use super::fault::Fault;
use super::syntax::{Block, Content, Document, Node, Parameter};

/// Types of block of a device.
const DEVICES: [&str; 3] = ["disksim_disk", "disksim_simpledisk", "memsmodel_mems"];
/// The type of block of a drive's mechanics, which is a device if the files contain no other.
const MECHANICS: &str = "dm_disk";
/// Types of block in the files of a device.
const PARTS: [&str; 5] = ["dm_disk", "dm_layout_g1", "dm_layout_g1_zone", "dm_mech_g1", "disksim_ioqueue"];
const TWO_TIMES: &str = "a longer time of the drive, the bus or the controller counts";

/// A device and the components between it and the workload.
#[derive(Clone, Debug)]
pub(super) struct Route<'a> {
    /// The device.
    pub device: &'a Block,
    /// Its name in the topology; empty without one.
    pub component: String,
    /// The host's driver, if the files have one.
    pub driver: Option<&'a Block>,
    /// Buses and controllers, in order from the driver.
    pub between: Vec<&'a Block>,
    /// Number of devices in the topology.
    pub devices: usize,
}

impl<'a> Route<'a> {
    /// Returns the route to the component or block `name`, or to the only device.
    pub fn find(document: &'a Document, name: Option<&str>) -> Result<Self, Fault> {
        match &document.topology {
            Some(root) => Self::through(document, root, name),
            None => Self::alone(document, name),
        }
    }

    fn alone(document: &'a Document, name: Option<&str>) -> Result<Self, Fault> {
        let is_known = |kind: &str| DEVICES.contains(&kind) || PARTS.contains(&kind);
        if let Some(system) = document.blocks.iter().find(|block| !is_known(&block.kind)) {
            let says = format!(": expected one, as the files have a block of {}", system.kind);
            return Err(Fault::of(document.end, fault::Fault::missing("topology").says(says)));
        }
        let is_device = |block: &&Block| DEVICES.contains(&block.kind.as_str());
        let is_whole = document.blocks.iter().any(|block| is_device(&block));
        let devices =
            document.blocks.iter().filter(|block| if is_whole { is_device(block) } else { block.kind == MECHANICS });
        let all: Vec<&Block> = devices.collect();
        let found: Vec<_> = all.iter().filter(|block| name.is_none_or(|name| block.name == name)).collect();
        let device = one_of(&all, &found, |block| &block.name, name, document)?;
        Ok(Self { device, component: String::new(), driver: None, between: Vec::new(), devices: found.len() })
    }

    fn through(document: &'a Document, root: &'a Node, name: Option<&str>) -> Result<Self, Fault> {
        let mut all = Vec::new();
        collect(document, root, &mut Vec::new(), &mut all)?;
        let is_meant = |route: &&Self| name.is_none_or(|name| route.component == name || route.device.name == name);
        let mut found: Vec<&Self> = all.iter().filter(is_meant).collect();
        // Instances of one block are identical.
        found.dedup_by(|a, b| std::ptr::eq(a.device, b.device));
        let chosen = one_of(&all, &found, |route| &route.component, name, document)?;
        Ok(Self { devices: all.len(), ..chosen.clone() })
    }

    /// Carries over the bus time of a block: the longest of those of the drive, the nearest bus and the controllers.
    pub fn carry_bus(&self, drive: &'a Block, drafts: &mut Drafts) -> Result<(), Fault> {
        const OWN: &str = "Bulk sector transfer time";
        let bus = self.between.iter().rev().find(|block| block.kind == "disksim_bus");
        let controllers = self.between.iter().filter(|block| block.kind == "disksim_ctlr");
        let mut common: Vec<&Parameter> = vec![drive.need(OWN)?];
        for controller in controllers {
            common.push(controller.need(OWN)?);
        }
        let longest = |own: Option<&'a Parameter>| {
            let times = own.into_iter().chain(common.iter().copied());
            // The first of equals, which is that of the bus if there is one.
            times.rev().max_by(|a, b| time(a).total_cmp(&time(b)))
        };
        let reading = bus.map(|bus| bus.need("Read block transfer time")).transpose()?;
        let writing = bus.map(|bus| bus.need("Write block transfer time")).transpose()?;
        let (Some(read), Some(write)) = (longest(reading), longest(writing)) else { return Ok(()) };
        drafts.put("bus_ms_per_block", time(read), read, Origin::Published);
        if time(read) == time(write) && !std::ptr::eq(read, write) {
            drafts.also(write);
        }
        if bus.is_none() {
            drafts.note("the files describe no bus: where one is slower than the drive, a .parv file tells");
        }
        if time(read) != time(write) {
            drafts.put("bus_write_ms_per_block", time(write), write, Origin::Published);
        }
        for parameter in common.into_iter().chain(reading).chain(writing) {
            if !std::ptr::eq(parameter, read) && !std::ptr::eq(parameter, write) {
                drafts.idle(parameter, TWO_TIMES);
            }
        }
        Ok(())
    }

    /// Adds remarks on the buses and controllers, and on other devices.
    pub fn remark(&self, document: &Document, drafts: &mut Drafts) {
        if let Some(root) = document.topology.as_ref().filter(|_| self.devices > 1) {
            let (count, one) = (self.devices, &self.component);
            drafts.line(root.place, "topology", format!("{count} devices, of which {one} is imported"), true);
        }
        let next = self.between.iter().rposition(|block| block.kind == "disksim_bus");
        for (index, block) in self.between.iter().enumerate() {
            drafts.remark_unused(block, 1);
            for parameter in &block.parameters {
                match &parameter.value.content {
                    Content::Block(queue) if queue.kind == "disksim_ioqueue" => {
                        drafts.remark_all(queue, "controllers pass everything through; see their type", false);
                    }
                    Content::Block(inner) => drafts.remark_unused_deep(inner),
                    _ => {}
                }
            }
            if block.kind == "disksim_bus" && Some(index) != next {
                for name in ["Read block transfer time", "Write block transfer time"] {
                    if let Some(parameter) = block.get(name) {
                        drafts.idle(parameter, "data are timed on the bus next to the device");
                    }
                }
            }
        }
    }
}

/// Returns the only entry of `found`.
///
/// # Errors
/// There is none, or several; the fault lists the names.
fn one_of<'b, T>(
    all: &'b [T],
    found: &[&'b T],
    name_of: impl Fn(&T) -> &str,
    name: Option<&str>,
    document: &Document,
) -> Result<&'b T, Fault> {
    let what = match (found, name) {
        ([one], _) => return Ok(one),
        ([], Some(name)) if !all.is_empty() => fault::Fault::unknown_name("device", name, all.iter().map(name_of)),
        ([], _) => {
            let says = format!("there is no device: expected a block of {}", DEVICES.join(", "));
            fault::Fault::new(Kind::Missing).says(says)
        }
        _ => {
            let names: Vec<&str> = found.iter().map(|each| name_of(each)).collect();
            let says = format!("several devices ({}): add ", names.join(", "));
            let first = names[0].to_owned();
            fault::Fault::new(Kind::Missing).one_of("", names).says(says).set("device", first)
        }
    };
    Err(Fault::of(document.end, what))
}

/// Collects the routes to all devices below `node`.
fn collect<'a>(
    document: &'a Document,
    node: &'a Node,
    above: &mut Vec<&'a Block>,
    found: &mut Vec<Route<'a>>,
) -> Result<(), Fault> {
    let fault = |kind: Kind, says: String| {
        let path = Path::from("topology").step(printable(&node.name));
        Fault::of(node.place, fault::Fault::at(kind, path).says(says))
    };
    let block = document.made_of(&node.name).ok_or_else(|| {
        fault(Kind::Missing, format!(": nothing is made as it; expected instantiate [ {} ] as a block", node.name))
    })?;
    if block.kind != node.kind {
        let says = format!(" is made of a block of {}: expected {}", block.kind, node.kind);
        return Err(fault(Kind::Conflict, says));
    }
    if DEVICES.contains(&node.kind.as_str()) {
        let driver = above.iter().copied().find(|block| block.kind == "disksim_iodriver");
        let between = above.iter().copied().filter(|block| block.kind != "disksim_iodriver").collect();
        found.push(Route { device: block, component: node.name.clone(), driver, between, devices: 1 });
    }
    above.push(block);
    for child in &node.children {
        collect(document, child, above, found)?;
    }
    above.pop();
    Ok(())
}

fn time(parameter: &Parameter) -> f64 {
    super::block::number(&parameter.value).unwrap_or(0.0)
}
