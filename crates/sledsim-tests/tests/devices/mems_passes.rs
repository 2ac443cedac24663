//! The passes that a request takes when it is served alone.

use sledsim::devices::mems::Geometry;
use sledsim::request::Request;

/// Passes of `request` in LBN order, each with its cylinder, row, and tip groups: consecutive blocks at one sled position
/// pass together as far as the active tips go round, also where a track ends there and the next begins.
pub fn passes(geometry: &Geometry, request: &Request) -> Vec<(u32, u32, Vec<u32>)> {
    let mut passes: Vec<(u32, u32, Vec<u32>)> = Vec::new();
    for lbn in request.lbn..request.end_lbn() {
        let place = geometry.place(lbn);
        let group = geometry.group(&place);
        match passes.last_mut() {
            Some((cylinder, row, groups))
                if (*cylinder, *row) == (place.cylinder, place.row)
                    && groups.len() < geometry.blocks_per_row as usize =>
            {
                groups.push(group);
            }
            _ => passes.push((place.cylinder, place.row, vec![group])),
        }
    }
    passes
}
