"""Replacement policies written by hand: LRU and ARC, as classes.

    sledsim hit-ratio my-trace.gz --policy lru --policy custom_caches:Lru --policy custom_caches:Arc --pages 300
    sledsim plugin-check custom_caches:Arc

They decide as the built-in ones do, entry by entry.
"""

from collections import OrderedDict
from collections.abc import Iterable

from sledsim.caches import Replacement


class Lru(Replacement):
    """The key that was referenced longest ago leaves."""

    def __post_init__(self) -> None:
        # Slots by their last reference, the oldest first.
        self.used: OrderedDict[int, None] = OrderedDict()

    def victim(self, key: int, after: int | None) -> int:
        """Choose in the order of eviction."""
        return following([self.used], after)

    def admitted(self, slot: int, key: int, evicted: int | None) -> None:
        """Take note of a key that came in."""
        self.hit(slot, key)

    def hit(self, slot: int, key: int) -> None:
        """Take note of a reference."""
        self.used[slot] = None
        self.used.move_to_end(slot)

    def removed(self, slot: int, key: int) -> None:
        """Forget a slot."""
        del self.used[slot]


class Arc(Replacement):
    """Adaptive replacement: Megiddo and Modha, FAST 2003, Figure 4, with the names of the paper."""

    def __post_init__(self) -> None:
        self.c, self.p = 0, 0.0
        # Slots of keys referenced once, and again; keys that left either. The oldest come first.
        self.t1: OrderedDict[int, int] = OrderedDict()
        self.t2: OrderedDict[int, int] = OrderedDict()
        self.b1: OrderedDict[int, None] = OrderedDict()
        self.b2: OrderedDict[int, None] = OrderedDict()

    def started(self, slots: int) -> None:
        """Take note of the size of the cache."""
        self.c = slots

    def adapted(self, key: int) -> float:
        """Return p after a reference to a key that is in neither T1 nor T2."""
        if key in self.b1:
            return min(self.p + max(len(self.b2) / len(self.b1), 1.0), self.c)
        if key in self.b2:
            return max(self.p - max(len(self.b1) / len(self.b2), 1.0), 0.0)
        return self.p

    def victim(self, key: int, after: int | None) -> int:
        """Choose in the order of eviction."""
        p, t1 = self.adapted(key), len(self.t1)
        if t1 > p or (key in self.b2 and t1 == p):
            return following([self.t1, self.t2], after)
        return following([self.t2, self.t1], after)

    def admitted(self, slot: int, key: int, evicted: int | None) -> None:
        """Take note of a key that came in."""
        self.p = self.adapted(key)
        if key in self.b1 or key in self.b2:
            self.b1.pop(key, None)
            self.b2.pop(key, None)
            into, remembers = self.t2, True
        else:
            into, remembers = self.t1, self.make_room()
        if evicted is not None:
            ghosts = self.b1 if self.t1.pop(slot, None) is not None else self.b2
            self.t2.pop(slot, None)
            if remembers:
                ghosts[evicted] = None
        into[slot] = key

    def make_room(self) -> bool:
        """Make room in the directory for a new key; tell whether a key that leaves the cache has a place there."""
        if len(self.t1) + len(self.b1) == self.c:
            if not self.b1:
                return False
            self.b1.popitem(last=False)
        elif len(self.t1) + len(self.t2) + len(self.b1) + len(self.b2) == 2 * self.c:
            self.b2.popitem(last=False)
        return True

    def hit(self, slot: int, key: int) -> None:
        """Take note of a reference."""
        self.t1.pop(slot, None)
        self.t2.pop(slot, None)
        self.t2[slot] = key

    def removed(self, slot: int, key: int) -> None:
        """Forget a slot."""
        self.t1.pop(slot, None)
        self.t2.pop(slot, None)


def following(queues: Iterable[Iterable[int]], after: int | None) -> int:
    """Return the first of some slots, or the one that comes after another."""
    slots = (slot for queue in queues for slot in queue)
    if after is not None:
        next(slot for slot in slots if slot == after)
    return next(slots)
