//! Estimates of services: the state that each leaves the sled in, and its energy.

use crate::devices::mems::access::MemsDevice;
use crate::devices::mems::approach::Sled;
use crate::devices::mems::energy::ServiceWork;
use crate::devices::mems::positioning::YState;
use crate::devices::mems::subsector::PassesOf;
use crate::devices::{Estimate, MechanismState};
use crate::request::Request;
use crate::time::Time;

/// See [`crate::devices::BatchAccess::estimate`].
pub(super) fn estimate(device: &MemsDevice, now: Time, from: Option<MechanismState>, request: &Request) -> Estimate {
    let mut sled = from.map_or_else(|| device.sled_at(now).0, Sled::at);
    let mut work = ServiceWork::default();
    let mut passes = PassesOf::new(&device.geometry, device.extent(request));
    while !passes.is_over() {
        let pass = passes.next(&device.geometry);
        let approach = device.positioning().approach(&sled, pass.cylinder, pass.row);
        work.seek_ns += approach.seek_ns;
        work.passes += 1;
        work.tip_passes += u64::from(device.tips.on(pass.tips, pass.by_op(request.op)[0]));
        sled = approach.done;
    }
    Estimate { to: sled.state(), servicing_j: work.energy(&device.power, device.pass_time).servicing_j() }
}

/// See [`crate::devices::BatchAccess::move_j`].
pub(super) fn move_j(device: &MemsDevice, from: MechanismState, to: MechanismState) -> f64 {
    let (from, to) = (Sled::at(from), Sled::at(to));
    seek_j(device, device.positioning().way_ns((from.cylinder, &from.y), (to.cylinder, &to.y)))
}

fn seek_j(device: &MemsDevice, seek_ns: u64) -> f64 {
    ServiceWork { seek_ns, ..ServiceWork::default() }.energy(&device.power, device.pass_time).servicing_j()
}

/// See [`crate::devices::BatchAccess::max_turnaround_j`]: from the end of an upward pass to that of a downward pass over the same row,
/// or back.
pub(super) fn max_turnaround_j(device: &MemsDevice) -> f64 {
    let positioning = device.positioning();
    if positioning.directions().len() == 1 {
        return 0.0;
    }
    let either_way = (0..device.geometry.rows).flat_map(|row| {
        let [up, down] = [false, true].map(|downward| positioning.entry(row, downward).to);
        [(up, down), (down, up)]
    });
    let longest = either_way.map(|(from, to)| positioning.y_ns(&YState::Gate(from), to).ns).max();
    seek_j(device, longest.unwrap_or(0))
}
