//! Pending requests by cylinder, searched outwards from the mechanism's cylinder, for policies that use the mechanism.

use super::arrival_list::{ArrivalList, Key, NONE};
use super::cylinder_set::CylinderSet;
use super::Scheduler;
use crate::convert::to_u32;
use crate::devices::{Location, Mechanism, Platter};
use crate::request::Request;
use crate::time::Time;

/// The pending requests that start at one location. They cost the mechanism the same, so only the oldest is considered.
#[derive(Clone, Copy)]
pub(super) struct Group {
    /// The location that they start at.
    pub(super) location: Location,
    /// Its angle, if the device rotates.
    pub(super) angle: u64,
    /// Key of the oldest.
    pub(super) oldest: Key,
    /// Order of arrival of the oldest.
    pub(super) seq: u64,
    /// When the oldest became ready.
    pub(super) ready: Time,
    newest: Key,
    /// Next group of the cylinder; in a group that is not in use, next such group.
    next: u32,
}

impl Group {
    /// Returns a lower bound on the positioning time, from the bound of the cylinder and the rotation.
    #[inline]
    pub(super) fn bound_ns(&self, cylinder_bound_ns: u64, platter: Option<&Platter>) -> u64 {
        platter.map_or(cylinder_bound_ns, |platter| platter.passes_ns(self.angle, cylinder_bound_ns))
    }
}

/// A pending request in the chain of its group.
#[derive(Clone, Copy)]
struct Pending {
    request: Request,
    ready: Time,
    group: u32,
    older: Key,
    newer: Key,
}

/// The side of a search's start on which a cylinder lies; the start itself counts as above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Above,
    Below,
}

/// A contiguous range of cylinders, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: u32,
    pub(super) last: u32,
}

impl Span {
    /// Returns all cylinders of a device.
    pub(super) fn all(device: &dyn Mechanism) -> Self {
        Self { first: 0, last: device.dimensions().cylinders.saturating_sub(1) }
    }
}

/// Returns a link, `None` for [`NONE`].
fn some(link: u32) -> Option<u32> {
    (link != NONE).then_some(link)
}

/// Pending requests by cylinder, by location within the cylinder, and by arrival.
#[derive(Clone)]
pub(super) struct CylinderIndex {
    arrivals: ArrivalList<Pending>,
    groups: Vec<Group>,
    free_group: u32,
    /// First group of each cylinder.
    first_group: Vec<u32>,
    occupied: CylinderSet,
}

impl CylinderIndex {
    /// An empty index for a device of `cylinders`.
    pub(super) fn new(cylinders: u32) -> Self {
        Self {
            arrivals: ArrivalList::new(),
            groups: Vec::new(),
            free_group: NONE,
            first_group: vec![NONE; cylinders as usize],
            occupied: CylinderSet::new(cylinders),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.arrivals.len()
    }

    /// Adds a request.
    pub(super) fn push(&mut self, ready: Time, request: Request, device: &dyn Mechanism) {
        let location = device.locate(&request);
        let key = self.arrivals.push(Pending { request, ready, group: NONE, older: NONE, newer: NONE });
        let existing = self.groups_of(location.cylinder).find(|&it| self.groups[it as usize].location == location);
        let group = if let Some(group) = existing {
            let older = std::mem::replace(&mut self.groups[group as usize].newest, key);
            self.arrivals.get_mut(older).newer = key;
            self.arrivals.get_mut(key).older = older;
            group
        } else {
            self.open_group(ready, location, device.rotating().map_or(0, |rotating| rotating.angle(location)), key)
        };
        self.arrivals.get_mut(key).group = group;
    }

    /// Puts a group that holds only `key` at the front of its cylinder.
    fn open_group(&mut self, ready: Time, location: Location, angle: u64, key: Key) -> u32 {
        let next = self.first_group[location.cylinder as usize];
        let group = Group { location, angle, oldest: key, seq: self.arrivals.seq(key), ready, newest: key, next };
        let index = if self.free_group == NONE {
            self.groups.push(group);
            to_u32(self.groups.len() - 1)
        } else {
            let index = self.free_group;
            self.free_group = std::mem::replace(&mut self.groups[index as usize], group).next;
            index
        };
        self.first_group[location.cylinder as usize] = index;
        if next == NONE {
            self.occupied.insert(location.cylinder);
        }
        index
    }

    /// Removes a request that is in the index.
    pub(super) fn remove(&mut self, key: Key) -> Request {
        let Pending { request, group, older, newer, .. } = self.arrivals.remove(key);
        if older != NONE {
            self.arrivals.get_mut(older).newer = newer;
        }
        if newer != NONE {
            self.arrivals.get_mut(newer).older = older;
        }
        match (older, newer) {
            (NONE, NONE) => self.close_group(group),
            (NONE, _) => {
                let (seq, ready) = (self.arrivals.seq(newer), self.arrivals.get(newer).ready);
                let group = &mut self.groups[group as usize];
                (group.oldest, group.seq, group.ready) = (newer, seq, ready);
            }
            (_, NONE) => self.groups[group as usize].newest = older,
            _ => {}
        }
        request
    }

    /// Takes an empty group out of its cylinder.
    fn close_group(&mut self, group: u32) {
        let Group { location: Location { cylinder, .. }, next, .. } = self.groups[group as usize];
        let before = self.groups_of(cylinder).take_while(|&it| it != group).last();
        match before {
            Some(before) => self.groups[before as usize].next = next,
            None => {
                self.first_group[cylinder as usize] = next;
                if next == NONE {
                    self.occupied.remove(cylinder);
                }
            }
        }
        self.groups[group as usize].next = self.free_group;
        self.free_group = group;
    }

    /// See [`super::Scheduler::take`].
    pub(super) fn take(&mut self, request: &Request, device: &dyn Mechanism) -> bool {
        let location = device.locate(request);
        let group = self.groups(location.cylinder).find(|group| group.location == location);
        let mut chain =
            std::iter::successors(group.map(|group| group.oldest), |&key| some(self.arrivals.get(key).newer));
        let key = chain.find(|&key| self.arrivals.get(key).request.id == request.id);
        key.map(|key| self.remove(key)).is_some()
    }

    fn groups_of(&self, cylinder: u32) -> impl Iterator<Item = u32> + '_ {
        let first = some(self.first_group[cylinder as usize]);
        std::iter::successors(first, |&it| some(self.groups[it as usize].next))
    }

    /// The groups of a cylinder, in no particular order.
    pub(super) fn groups(&self, cylinder: u32) -> impl Iterator<Item = &Group> + '_ {
        self.groups_of(cylinder).map(|it| &self.groups[it as usize])
    }

    /// For each pending request, the oldest first: when it became ready, and its group.
    pub(super) fn groups_by_arrival(&self) -> impl Iterator<Item = (Time, &Group)> + '_ {
        std::iter::successors(some(self.arrivals.oldest()), |&key| some(self.arrivals.newer(key))).map(|key| {
            let pending = self.arrivals.get(key);
            (pending.ready, &self.groups[pending.group as usize])
        })
    }

    /// The lowest occupied cylinder from `cylinder` on.
    pub(super) fn occupied_from(&self, cylinder: u32) -> Option<u32> {
        self.occupied.at_or_above(cylinder)
    }

    /// The occupied cylinders of `span` in rising order of `bound`, which must not fall with the distance from `start`
    /// on either [`Side`] of it.
    pub(super) fn outward<C, B>(&self, span: Span, start: u32, bound: B) -> Outward<'_, C, B>
    where
        C: Copy + PartialOrd,
        B: Fn(Side, u32) -> C,
    {
        let mut outward = Outward { occupied: &self.occupied, span, above: None, below: None, bound };
        outward.above = outward.reach_above(start.max(span.first));
        outward.below = start.checked_sub(1).and_then(|below| outward.reach_below(below.min(span.last)));
        outward
    }

    /// Returns the request in `span` of least positioning time, the oldest of several.
    pub(super) fn nearest(&self, span: Span, now: Time, device: &dyn Mechanism) -> Option<Key> {
        let platter = device.rotating().and_then(|rotating| rotating.platter(now));
        self.cheapest(
            span,
            device.cylinder(now),
            |_, cylinder| device.cylinder_bound_ns(now, cylinder),
            |bound_ns, group| group.bound_ns(bound_ns, platter.as_ref()),
            |location| device.positioning_ns(now, location),
        )
    }

    /// The request of least `cost` in `span`, the oldest of several: exactly what asking for the cost of each would
    /// find, if `bound` is nowhere above the cost of any location in the cylinder and suits [`CylinderIndex::outward`], and
    /// `closer`, which has it from there, is nowhere above the cost of the group.
    pub(super) fn cheapest<C: Copy + PartialOrd>(
        &self,
        span: Span,
        start: u32,
        bound: impl Fn(Side, u32) -> C,
        closer: impl Fn(C, &Group) -> C,
        cost: impl Fn(Location) -> C,
    ) -> Option<Key> {
        let mut best = Best::default();
        for (cylinder, bound) in self.outward(span, start, bound) {
            if best.beats(bound) {
                break;
            }
            for group in self.groups(cylinder) {
                // A comparison of angles costs less than asking the device.
                if !best.beats(closer(bound, group)) {
                    best.offer(cost(group.location), group);
                }
            }
        }
        best.key()
    }
}

/// Walks the occupied cylinders away from a start, on both sides at once; see [`CylinderIndex::outward`].
pub(super) struct Outward<'a, C, B> {
    occupied: &'a CylinderSet,
    span: Span,
    above: Option<(u32, C)>,
    below: Option<(u32, C)>,
    bound: B,
}

impl<C, B: Fn(Side, u32) -> C> Outward<'_, C, B> {
    fn reach_above(&self, from: u32) -> Option<(u32, C)> {
        let cylinder = self.occupied.at_or_above(from).filter(|&it| it <= self.span.last)?;
        Some((cylinder, (self.bound)(Side::Above, cylinder)))
    }

    fn reach_below(&self, from: u32) -> Option<(u32, C)> {
        let cylinder = self.occupied.at_or_below(from).filter(|&it| it >= self.span.first)?;
        Some((cylinder, (self.bound)(Side::Below, cylinder)))
    }
}

impl<C: Copy + PartialOrd, B: Fn(Side, u32) -> C> Iterator for Outward<'_, C, B> {
    type Item = (u32, C);

    fn next(&mut self) -> Option<(u32, C)> {
        let take_below = match (&self.above, &self.below) {
            (Some((_, above)), Some((_, below))) => below < above,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        let taken = if take_below { self.below } else { self.above }?;
        if take_below {
            self.below = taken.0.checked_sub(1).and_then(|from| self.reach_below(from));
        } else {
            self.above = self.reach_above(taken.0 + 1);
        }
        Some(taken)
    }
}

/// The best request of a search so far: least cost, then oldest.
pub(super) struct Best<C>(Option<(C, u64, Key)>);

impl<C> Default for Best<C> {
    fn default() -> Self {
        Self(None)
    }
}

impl<C: Copy + PartialOrd> Best<C> {
    /// Returns true if no request of cost `bound` or more can win; one of equal cost still can, by age.
    pub(super) fn beats(&self, bound: C) -> bool {
        self.0.is_some_and(|(cost, ..)| cost < bound)
    }

    /// Takes the oldest request of a group if it is better.
    pub(super) fn offer(&mut self, cost: C, group: &Group) {
        let better = match self.0 {
            None => true,
            Some((best, seq, _)) => cost < best || (cost == best && group.seq < seq),
        };
        if better {
            self.0 = Some((cost, group.seq, group.oldest));
        }
    }

    /// Returns the best request; `None` if none was offered.
    pub(super) fn key(&self) -> Option<Key> {
        self.0.map(|(.., key)| key)
    }
}

/// A policy that picks among requests by cylinder.
pub(super) trait CylinderPolicy: Clone + Send {
    /// Returns the request to dispatch at `now`; `None` if nothing is pending.
    fn pick(&mut self, pending: &CylinderIndex, now: Time, device: &dyn Mechanism) -> Option<Key>;
}

/// The scheduler of a [`CylinderPolicy`].
#[derive(Clone)]
pub(super) struct ByCylinder<P> {
    pending: CylinderIndex,
    policy: P,
}

impl<P: CylinderPolicy> ByCylinder<P> {
    /// Nothing pending on `device`.
    pub(super) fn new(policy: P, device: &dyn Mechanism) -> Self {
        Self { pending: CylinderIndex::new(device.dimensions().cylinders), policy }
    }
}

impl<P: CylinderPolicy> Scheduler for ByCylinder<P> {
    fn push(&mut self, ready: Time, request: Request, device: &dyn Mechanism) {
        self.pending.push(ready, request, device);
    }

    fn pop(&mut self, now: Time, device: &dyn Mechanism) -> Option<Request> {
        let next = self.policy.pick(&self.pending, now, device)?;
        Some(self.pending.remove(next))
    }

    fn take(&mut self, request: &Request, device: &dyn Mechanism) -> bool {
        self.pending.take(request, device)
    }

    fn len(&self) -> usize {
        self.pending.len()
    }
}
