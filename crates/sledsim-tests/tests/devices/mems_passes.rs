//! Passes of a request that is served alone.

use sledsim::devices::mems::Geometry;
use sledsim::request::Request;

/// Returns cylinder, row and tip groups of each pass of `request`, in LBN order. Consecutive blocks at one sled
/// position share a pass as long as active tips are left, even across the end of a track.
pub fn passes(geometry: &Geometry, request: &Request) -> Vec<(u32, u32, Vec<u32>)> {
    passes_that_end(geometry, request, |_| false)
}

/// Returns the same if passes end with their track.
pub fn passes_by_track(geometry: &Geometry, request: &Request) -> Vec<(u32, u32, Vec<u32>)> {
    let blocks_per_track = u64::from(geometry.rows) * u64::from(geometry.blocks_per_row);
    passes_that_end(geometry, request, |lbn| lbn % blocks_per_track == 0)
}

/// Returns the same if passes end before the blocks for which `begins` returns true.
fn passes_that_end(geometry: &Geometry, request: &Request, begins: impl Fn(u64) -> bool) -> Vec<(u32, u32, Vec<u32>)> {
    let mut passes: Vec<(u32, u32, Vec<u32>)> = Vec::new();
    for lbn in request.lbn..request.end_lbn() {
        let place = geometry.place(lbn);
        let group = geometry.group(&place);
        match passes.last_mut() {
            Some((cylinder, row, groups))
                if !begins(lbn)
                    && (*cylinder, *row) == (place.cylinder, place.row)
                    && groups.len() < geometry.blocks_per_row as usize =>
            {
                groups.push(group);
            }
            _ => passes.push((place.cylinder, place.row, vec![group])),
        }
    }
    passes
}
