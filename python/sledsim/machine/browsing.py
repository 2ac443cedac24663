"""A synthetic web browsing session: pages, visits and the initial contents of the browser cache, drawn from a seed.

Pages are visited by Zipf's law. Object sizes are lognormal with a Pareto tail, and the number of embedded objects of a
page has a Pareto distribution, as found by Barford and Crovella (SIGMETRICS 1998). The parameters below are assumed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

__all__ = ["Browsing", "Cache", "browsing"]

#: Mean and standard deviation of the logarithm of an object size in bytes: the median is 11.6 kB.
LOG_MEAN, LOG_DEVIATION = 9.357, 1.318
#: Share of objects in the Pareto tail, its smallest size (bytes) and exponent, and the largest size of any object.
TAIL, TAIL_FROM, TAIL_EXPONENT, LARGEST = 0.07, 133_000, 1.1, 1_000_000
#: Exponent of the number of embedded objects of a page (at least 1), and its maximum.
OBJECTS_EXPONENT, MOST_OBJECTS = 2.43, 30
#: Visits of an earlier session, which fills the cache, per visit of this session.
EARLIER = 1


class Cache:
    """A FIFO cache of bounded size, the same as that of the browser in the guest.

    Parameters
    ----------
    most_bytes
        Capacity; exceeded only between an insertion and the evictions that follow it.
    kept
        Initial objects, oldest first, with their sizes in bytes.
    """

    def __init__(self, most_bytes: int, kept: Mapping[str, int] | None = None) -> None:
        self.most_bytes = most_bytes
        self.kept = dict(kept or {})
        self._bytes = sum(self.kept.values())
        self.fetched = self.found = self.removed = 0

    def look(self, page: Iterable[str], sizes: dict[str, int]) -> None:
        """Visit a page: count hits, insert the missing objects and evict the oldest.

        Parameters
        ----------
        page
            Objects of the page.
        sizes
            Sizes of the objects, bytes.
        """
        for each in page:
            if each in self.kept:
                self.found += 1
                continue
            self.fetched += 1
            self.kept[each] = sizes[each]
            self._bytes += sizes[each]
            while self._bytes > self.most_bytes:
                self._bytes -= self.kept.pop(next(iter(self.kept)))
                self.removed += 1


@dataclass(frozen=True)
class Browsing:
    """A browsing session."""

    sizes: dict[str, int]
    """Sizes (bytes) of all visited or initially cached objects, by name."""
    kept: dict[str, int]
    """Sizes (bytes) of the initially cached objects, oldest first."""
    visits: list[list[str]]
    """The objects of each visited page, in order of the visits."""
    pauses_s: list[float]
    """Reading time after each visit, s."""

    def content(self, name: str) -> bytes:
        """Return the content of an object.

        Parameters
        ----------
        name
            Name of the object.
        """
        return Random(name).randbytes(self.sizes[name])


def browsing(pages: int, visits: int, cache_kib: int, pause_ms: int, seed: int = 1) -> Browsing:
    """Draw a browsing session.

    Parameters
    ----------
    pages
        Number of pages.
    visits
        Number of visits.
    cache_kib
        Capacity of the browser cache, KiB.
    pause_ms
        Mean of the exponential reading time of a page, ms.
    seed
        Seed of the random numbers.
    """
    random = Random(seed)
    sizes: dict[str, int] = {}
    sites = []
    for page in range(pages):
        count = 1 + min(int(random.paretovariate(OBJECTS_EXPONENT)), MOST_OBJECTS)
        names = [f"p{page}o{each}" for each in range(count)]
        sizes |= {name: _size(random) for name in names}
        sites.append(names)
    # Zipf's law: the popularity of a page is the inverse of its rank.
    weights = [1 / (rank + 1) for rank in range(pages)]
    cache = Cache(cache_kib << 10)
    for names in random.choices(sites, weights, k=EARLIER * visits):
        cache.look(names, sizes)
    looked_at = random.choices(sites, weights, k=visits)
    pauses_s = [random.expovariate(1e3 / pause_ms) if pause_ms else 0.0 for _ in looked_at]
    needed = {*cache.kept, *(each for names in looked_at for each in names)}
    return Browsing({name: size for name, size in sizes.items() if name in needed}, cache.kept, looked_at, pauses_s)


def _size(random: Random) -> int:
    if random.random() < TAIL:
        return min(int(TAIL_FROM * random.paretovariate(TAIL_EXPONENT)), LARGEST)
    return max(1, min(int(random.lognormvariate(LOG_MEAN, LOG_DEVIATION)), LARGEST))
