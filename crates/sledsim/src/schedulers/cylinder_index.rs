//! Pending requests by cylinder, searched outwards from the mechanism's cylinder, for policies that use the mechanism.

use super::arrival_list::{ArrivalList, Key, NONE};
use super::cylinder_set::{first_of, last_of, word_of, CylinderSet};
use super::Scheduler;
use crate::convert::to_u32;
use crate::devices::{Location, Mechanism, Platter};
use crate::request::Request;
use crate::time::Time;

/// The pending requests that start at one location. They have the same positioning time, so policies consider only the oldest.
#[derive(Clone, Copy)]
pub(super) struct Group {
    /// The location.
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
    /// Next group of the cylinder, or next unused group.
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

/// Returns a link; `None` for [`NONE`].
fn link(key: u32) -> Option<u32> {
    (key != NONE).then_some(key)
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
    /// For each word of `occupied`: the sixty-fourths of a revolution that hold the angles of its groups.
    angles: Vec<u64>,
}

impl CylinderIndex {
    /// Returns an empty index for a device of `cylinders`.
    pub(super) fn new(cylinders: u32) -> Self {
        Self {
            arrivals: ArrivalList::new(),
            groups: Vec::new(),
            free_group: NONE,
            first_group: vec![NONE; cylinders as usize],
            occupied: CylinderSet::new(cylinders),
            angles: vec![0; word_of(cylinders) + 1],
        }
    }

    /// Returns the number of pending requests.
    pub(super) const fn len(&self) -> usize {
        self.arrivals.len()
    }

    /// Adds a request; returns its location.
    pub(super) fn push(&mut self, ready: Time, request: Request, device: &dyn Mechanism) -> Location {
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
        location
    }

    /// Adds a group that holds only `key` to its cylinder; returns its index.
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
        self.angles[word_of(location.cylinder)] |= Platter::sixty_fourth(angle);
        if next == NONE {
            self.occupied.insert(location.cylinder);
        }
        index
    }

    /// Removes and returns a request that is in the index.
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

    /// Removes an empty group from its cylinder.
    fn close_group(&mut self, group: u32) {
        let Group { location: Location { cylinder, .. }, angle, next, .. } = self.groups[group as usize];
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
        let (word, bit) = (word_of(cylinder), Platter::sixty_fourth(angle));
        let is_left = |cylinder| self.groups(cylinder).any(|group| Platter::sixty_fourth(group.angle) == bit);
        if !self.occupied.members(word).any(is_left) {
            self.angles[word] &= !bit;
        }
    }

    /// See [`super::Scheduler::take`].
    pub(super) fn take(&mut self, request: &Request, device: &dyn Mechanism) -> bool {
        let location = device.locate(request);
        let group = self.groups(location.cylinder).find(|group| group.location == location);
        let mut chain =
            std::iter::successors(group.map(|group| group.oldest), |&key| link(self.arrivals.get(key).newer));
        let key = chain.find(|&key| self.arrivals.get(key).request.id == request.id);
        key.map(|key| self.remove(key)).is_some()
    }

    /// Returns the indices of the groups of a cylinder.
    fn groups_of(&self, cylinder: u32) -> impl Iterator<Item = u32> + '_ {
        let first = link(self.first_group[cylinder as usize]);
        std::iter::successors(first, |&it| link(self.groups[it as usize].next))
    }

    /// Returns the groups of a cylinder, in no particular order.
    pub(super) fn groups(&self, cylinder: u32) -> impl Iterator<Item = &Group> + '_ {
        self.groups_of(cylinder).map(|it| &self.groups[it as usize])
    }

    /// Returns the pending requests, the oldest first.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = Arrival<'_>> + '_ {
        std::iter::successors(link(self.arrivals.oldest()), |&key| link(self.arrivals.newer(key))).map(|key| {
            let pending = self.arrivals.get(key);
            Arrival { ready: pending.ready, group: &self.groups[pending.group as usize] }
        })
    }

    /// Returns the lowest occupied cylinder from `cylinder` on.
    pub(super) fn occupied_from(&self, cylinder: u32) -> Option<u32> {
        self.occupied.at_or_above(cylinder)
    }

    /// Returns the occupied cylinders of `span` in rising order of `bound`, which may not fall as the distance from `start` grows on either
    /// [`Side`] of it.
    pub(super) fn outward<C, B>(&self, span: Span, start: u32, bound: B) -> Outward<'_, C, B>
    where
        C: Copy + PartialOrd,
        B: Fn(Side, u32) -> C,
    {
        let mut outward = Outward { occupied: &self.occupied, span, above: None, below: None, bound };
        outward.above = outward.next_above(start.max(span.first));
        outward.below = start.checked_sub(1).and_then(|below| outward.next_below(below.min(span.last)));
        outward
    }

    /// Returns the request in `span` with the shortest positioning time; the oldest of equals.
    pub(super) fn nearest(&self, span: Span, now: Time, device: &dyn Mechanism) -> Option<Key> {
        let rotating = device.rotating();
        if let Some((rotating, platter)) = rotating.and_then(|rotating| Some((rotating, rotating.platter(now)?))) {
            let best = Best::default();
            return match rotating.cylinder_bounds(now) {
                Some(bounds) => {
                    let (here, cylinder_bound_ns) = (bounds.cylinder(), |cylinder| bounds.bound_ns(cylinder));
                    PlatterSearch { pending: self, span, now, device, platter, here, cylinder_bound_ns, best }.run()
                }
                None => {
                    let here = device.cylinder(now);
                    let cylinder_bound_ns = |cylinder| device.cylinder_bound_ns(now, cylinder);
                    PlatterSearch { pending: self, span, now, device, platter, here, cylinder_bound_ns, best }.run()
                }
            };
        }
        self.cheapest(
            span,
            device.cylinder(now),
            |_, cylinder| device.cylinder_bound_ns(now, cylinder),
            |location| device.positioning_ns(now, location),
        )
    }

    /// Returns the request in `span` with the lowest `cost`, the oldest of equals, as an exhaustive search would.
    ///
    /// `bound` is a lower bound on the costs of all locations in a cylinder, and suits [`CylinderIndex::outward`].
    pub(super) fn cheapest<C: Copy + PartialOrd>(
        &self,
        span: Span,
        start: u32,
        bound: impl Fn(Side, u32) -> C,
        cost: impl Fn(Location) -> C,
    ) -> Option<Key> {
        let mut best = Best::default();
        for BoundedCylinder { cylinder, bound } in self.outward(span, start, bound) {
            if best.beats(bound) {
                break;
            }
            for group in self.groups(cylinder) {
                best.offer(cost(group.location), group);
            }
        }
        best.key()
    }
}

/// A pending request.
pub(super) struct Arrival<'a> {
    /// When it became ready.
    pub(super) ready: Time,
    pub(super) group: &'a Group,
}

/// A search for the request with the shortest positioning time on a device with a platter; see [`CylinderIndex::nearest`].
struct PlatterSearch<'a, B> {
    pending: &'a CylinderIndex,
    span: Span,
    now: Time,
    device: &'a dyn Mechanism,
    platter: Platter,
    /// Cylinder of the mechanism.
    here: u32,
    /// [`Mechanism::cylinder_bound_ns`].
    cylinder_bound_ns: B,
    best: Best<u64>,
}

impl<B: Fn(u32) -> u64> PlatterSearch<'_, B> {
    /// Goes outwards by words of 64 cylinders. Words are skipped if none of their angles passes in time.
    fn run(mut self) -> Option<Key> {
        let occupied = &self.pending.occupied;
        let here = self.here;
        let (first, last) = (word_of(self.span.first), word_of(self.span.last));
        let start = word_of(here).clamp(first, last);
        let bounded = |search: &Self, word: usize| {
            let nearest = here.clamp(first_of(word), last_of(word));
            BoundedWord { word, bound_ns: (search.cylinder_bound_ns)(nearest) }
        };
        let word_above = |search: &Self, from| {
            occupied.word_at_or_above(from).filter(|&word| word <= last).map(|word| bounded(search, word))
        };
        let word_below = |search: &Self, from: usize| {
            let from = from.checked_sub(1)?;
            occupied.word_at_or_below(from).filter(|&word| word >= first).map(|word| bounded(search, word))
        };
        let (mut above, mut below) = (word_above(&self, start), word_below(&self, start));
        loop {
            let is_below = match (&above, &below) {
                (Some(above), Some(below)) => below.bound_ns < above.bound_ns,
                (above, _) => above.is_none(),
            };
            let nearer = if is_below { below } else { above };
            let Some(BoundedWord { word, bound_ns }) = nearer.filter(|word| !self.best.beats(word.bound_ns)) else {
                return self.best.key();
            };
            self.search_word(word, bound_ns);
            if is_below {
                below = word_below(&self, word);
            } else {
                above = word_above(&self, word + 1);
            }
        }
    }

    /// Offers the groups in a word of cylinders that may be better than the best so far. `word_bound_ns` is a lower bound on their
    /// positioning times.
    #[inline]
    fn search_word(&mut self, word: usize, word_bound_ns: u64) {
        let window = self.best.cost().map_or(u64::MAX, |best_ns| self.platter.window(word_bound_ns, best_ns));
        let pending = self.pending;
        if pending.angles[word] & window == 0 {
            return;
        }
        let Span { first, last } = self.span;
        for cylinder in pending.occupied.members(word).filter(|&it| it >= first && it <= last) {
            let mut bound_ns = None;
            for group in pending.groups(cylinder).filter(|group| Platter::sixty_fourth(group.angle) & window != 0) {
                let bound_ns = *bound_ns.get_or_insert_with(|| (self.cylinder_bound_ns)(cylinder));
                // The bound is cheaper than the positioning time.
                if !self.best.beats(self.platter.passes_ns(group.angle, bound_ns)) {
                    self.best.offer(self.device.positioning_ns(self.now, group.location), group);
                }
            }
        }
    }
}

/// A word of cylinders and a lower bound on the positioning times of its locations.
#[derive(Clone, Copy)]
struct BoundedWord {
    word: usize,
    bound_ns: u64,
}

/// A cylinder and a lower bound on the cost of its locations.
#[derive(Clone, Copy)]
pub(super) struct BoundedCylinder<C> {
    pub(super) cylinder: u32,
    pub(super) bound: C,
}

/// Iterates over the occupied cylinders away from a start, on both sides at once; see [`CylinderIndex::outward`].
pub(super) struct Outward<'a, C, B> {
    occupied: &'a CylinderSet,
    span: Span,
    above: Option<BoundedCylinder<C>>,
    below: Option<BoundedCylinder<C>>,
    bound: B,
}

impl<C, B: Fn(Side, u32) -> C> Outward<'_, C, B> {
    fn next_above(&self, from: u32) -> Option<BoundedCylinder<C>> {
        let cylinder = self.occupied.at_or_above(from).filter(|&it| it <= self.span.last)?;
        Some(BoundedCylinder { cylinder, bound: (self.bound)(Side::Above, cylinder) })
    }

    fn next_below(&self, from: u32) -> Option<BoundedCylinder<C>> {
        let cylinder = self.occupied.at_or_below(from).filter(|&it| it >= self.span.first)?;
        Some(BoundedCylinder { cylinder, bound: (self.bound)(Side::Below, cylinder) })
    }
}

impl<C: Copy + PartialOrd, B: Fn(Side, u32) -> C> Iterator for Outward<'_, C, B> {
    type Item = BoundedCylinder<C>;

    fn next(&mut self) -> Option<BoundedCylinder<C>> {
        let take_below = match (&self.above, &self.below) {
            (Some(above), Some(below)) => below.bound < above.bound,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        let taken = if take_below { self.below } else { self.above }?;
        if take_below {
            self.below = taken.cylinder.checked_sub(1).and_then(|from| self.next_below(from));
        } else {
            self.above = self.next_above(taken.cylinder + 1);
        }
        Some(taken)
    }
}

/// The best request of a search so far: the one of lowest cost, then the oldest.
pub(super) struct Best<C>(Option<BestRequest<C>>);

struct BestRequest<C> {
    cost: C,
    seq: u64,
    key: Key,
}

impl<C> Default for Best<C> {
    fn default() -> Self {
        Self(None)
    }
}

impl<C: Copy + PartialOrd> Best<C> {
    /// Returns true if no request with a cost of at least `bound` can be better; one of equal cost can, by age.
    pub(super) fn beats(&self, bound: C) -> bool {
        self.0.as_ref().is_some_and(|best| best.cost < bound)
    }

    /// Returns the cost of the best request; `None` if none was offered.
    fn cost(&self) -> Option<C> {
        self.0.as_ref().map(|best| best.cost)
    }

    /// Replaces the best request by the oldest of a group if that is better.
    pub(super) fn offer(&mut self, cost: C, group: &Group) {
        let is_better = match &self.0 {
            None => true,
            Some(best) => cost < best.cost || (cost == best.cost && group.seq < best.seq),
        };
        if is_better {
            self.0 = Some(BestRequest { cost, seq: group.seq, key: group.oldest });
        }
    }

    /// Returns the best request; `None` if none was offered.
    pub(super) fn key(&self) -> Option<Key> {
        self.0.as_ref().map(|best| best.key)
    }
}

/// A policy that picks among requests by cylinder.
pub(super) trait CylinderPolicy: Clone + Send {
    /// Called for the location of each request that becomes pending.
    fn pushed(&mut self, location: Location, device: &dyn Mechanism) {
        let _ = (location, device);
    }

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
    /// Returns a scheduler for `device` with nothing pending.
    pub(super) fn new(policy: P, device: &dyn Mechanism) -> Self {
        Self { pending: CylinderIndex::new(device.dimensions().cylinders), policy }
    }
}

impl<P: CylinderPolicy> Scheduler for ByCylinder<P> {
    fn push(&mut self, ready: Time, request: Request, device: &dyn Mechanism) {
        let location = self.pending.push(ready, request, device);
        self.policy.pushed(location, device);
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
