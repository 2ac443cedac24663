"""Pages to be browsed: drawn, the same each time, with what an earlier session has left in the cache of their browser.

Which page is looked at next goes by Zipf's law; objects of a page beside the page itself, and the sizes of all, are
drawn from distributions of the shape that Barford and Crovella found (SIGMETRICS 1998): sizes lognormal with a tail of
Pareto's, objects of a page by Pareto's. The figures below are assumed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

__all__ = ["Browsing", "Cache", "browsing"]

#: Mean and deviation of the logarithm of a size in bytes: a median of 11.6 kB.
LOG_MEAN, LOG_DEVIATION = 9.357, 1.318
#: How many objects are of the tail, in which sizes begin and with which exponent; none is larger than the last.
TAIL, TAIL_FROM, TAIL_EXPONENT, LARGEST = 0.07, 133_000, 1.1, 1_000_000
#: Objects of a page beside it: at least one, by this exponent, and no more than so many.
OBJECTS_EXPONENT, MOST_OBJECTS = 2.43, 30
#: Pages that an earlier session has looked at, for each one of this.
EARLIER = 1


class Cache:
    """A bounded cache, out of which the oldest is removed, as the browser in the guest has it.

    Parameters
    ----------
    most_bytes
        What it holds; more lies in it only until the oldest has been removed.
    kept
        What is in it before the first look, the oldest first, with its sizes, bytes.
    """

    def __init__(self, most_bytes: int, kept: Mapping[str, int] | None = None) -> None:
        self.most_bytes = most_bytes
        self.kept = dict(kept or {})
        self._bytes = sum(self.kept.values())
        self.fetched = self.found = self.removed = 0

    def look(self, page: Iterable[str], sizes: dict[str, int]) -> None:
        """Look at a page: take what is kept, fetch the rest.

        Parameters
        ----------
        page
            Its objects.
        sizes
            How large each is, bytes.
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
    """The browsing session."""

    sizes: dict[str, int]
    """All objects that are requested, or are kept, by name, with their sizes, bytes."""
    kept: dict[str, int]
    """Objects that an earlier session left in the cache, the oldest first."""
    visits: list[list[str]]
    """The pages that are looked at, one after the other, each with its objects."""
    pauses_s: list[float]
    """How long each is read, s."""

    def content(self, name: str) -> bytes:
        """Return what an object holds.

        Parameters
        ----------
        name
            Which one.
        """
        return Random(name).randbytes(self.sizes[name])


def browsing(pages: int, visits: int, cache_kib: int, pause_ms: int, seed: int = 1) -> Browsing:
    """Draw what is browsed.

    Parameters
    ----------
    pages
        How many there are.
    visits
        How many are looked at.
    cache_kib
        What the cache holds, KiB.
    pause_ms
        For how long a page is read, the mean of an exponential distribution, ms.
    seed
        Another gives other pages.
    """
    random = Random(seed)
    sizes: dict[str, int] = {}
    sites = []
    for page in range(pages):
        count = 1 + min(int(random.paretovariate(OBJECTS_EXPONENT)), MOST_OBJECTS)
        names = [f"p{page}o{each}" for each in range(count)]
        sizes |= {name: _size(random) for name in names}
        sites.append(names)
    # The first page is the most popular one.
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
