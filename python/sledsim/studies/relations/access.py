"""Times of scans of a relation and of fetches of its rows, by layout."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sledsim._core import SledsimError
from sledsim.devices.device import Device
from sledsim.devices.entries import device_of
from sledsim.devices.simple import SimpleDevice
from sledsim.runs.confidence import batched_interval
from sledsim.scenario.reading import Sets
from sledsim.show.arguments import require_integer
from sledsim.show.faults import by_arguments, make_error, most_of
from sledsim.show.shown import Shown
from sledsim.show.tables import Table, number
from sledsim.studies.relations.layouts import Layout, Relation, layout_named, layouts_of

if TYPE_CHECKING:
    import altair
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Access", "RelationTimes", "fetch_rows", "fetch_times_s", "relation_times", "scan_relation"]

#: Default number of fetched rows, whose mean time is accurate to about 1 %.
FETCHES = 2000
#: Maximum number of fetched rows.
MOST_FETCHES = 10_000_000
MOST_BLOCKS = most_of("blocks of a request")


@dataclass(frozen=True)
class Access:
    """The time and size of an operation on a relation.

    Parameters
    ----------
    layout
        Name of the layout.
    operation
        ``"scan"``, ``"scan of a1"`` and so on, or ``"fetch"``.
    time_s
        Time of the scan, or the mean time of a fetch.
    read_bytes
        Bytes read from the device; for a fetch, the mean.
    wanted_bytes
        Bytes of the requested values.
    ci95_s
        95 % confidence interval of the mean of a fetch; ``None`` for a scan, which has no randomness.
    """

    layout: str
    operation: str
    time_s: float
    read_bytes: float
    wanted_bytes: int
    ci95_s: tuple[float, float] | None = None

    @property
    def effective_mb_s(self) -> float:
        """Requested bytes divided by time, MB/s (10^6 bytes)."""
        return self.wanted_bytes / self.time_s / 1e6


class RelationTimes(Shown):
    """Times of scans and fetches, by layout.

    Parameters
    ----------
    schema
        The relation.
    device
        The device.
    layouts
        The layouts by name.
    accesses
        The operations with their times.
    """

    def __init__(
        self, schema: Relation, device: Device, layouts: Mapping[str, Layout], accesses: Sequence[Access]
    ) -> None:
        self.schema, self.device = schema, device
        self.layouts, self.accesses = dict(layouts), list(accesses)

    def __getitem__(self, key: tuple[str, str]) -> Access:
        layout, operation = key
        for each in self.accesses:
            if (each.layout, each.operation) == (layout, operation):
                return each
        raise KeyError(f"no {operation!r} under {layout!r}")

    @property
    def subject(self) -> str:
        """Summary of relation and device."""
        relation = self.schema
        sizes = ", ".join(map(str, relation.attributes))
        return (
            f"{relation.records:,} records of {relation.record_bytes} bytes ({sizes}) on {self.device.label}, "
            f"pages of {relation.page_bytes:,} bytes"
        )

    def tables(self) -> list[Table]:
        """Return tables of the sizes of the layouts, the scans and the fetches."""
        return [
            self._sizes(),
            *([self._scans()] if self._of("scan") else []),
            *([self._fetches()] if self._of("fetch") else []),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the times as plain dictionaries, lists, numbers and texts."""
        layouts = [
            {"name": name, "title": each.TITLE, "blocks": each.blocks, "bytes": each.blocks * self.device.block_bytes}
            for name, each in self.layouts.items()
        ]
        accesses = [{**asdict(each), "effective_mb_s": each.effective_mb_s} for each in self.accesses]
        return {
            "device": self.device.label,
            "relation": asdict(self.schema),
            "layouts": layouts,
            "accesses": accesses,
        }

    def _rows(self) -> list[dict[str, Any]]:
        """Return a row for each operation under each layout."""
        rows: list[dict[str, Any]] = self.to_dict()["accesses"]
        return rows

    def plot(self) -> "altair.TopLevelMixin":
        """Draw scans as in Figure 6 of Schlosser and Ganger 2004, and fetches."""
        from sledsim.studies.relations.chart import relation_bars

        return relation_bars(self)

    def __repr__(self) -> str:
        return f"<RelationTimes of {', '.join(self.layouts)} on {self.device.label}>"

    def _of(self, operation: str) -> list[Access]:
        return [each for each in self.accesses if each.operation.startswith(operation)]

    def _sizes(self) -> Table:
        rows = [
            [name, number(each.blocks * self.device.block_bytes / 1e6), each.TITLE]
            for name, each in self.layouts.items()
        ]
        return Table(["layout", "takes (MB)", ""], rows, title=self.subject, left=frozenset({2}))

    def _scans(self) -> Table:
        full = {each.layout: each.time_s for each in self.accesses if each.operation == "scan"}
        headers = ["scans", "of", "time (s)", "of the full scan", "read (MB)", "effective (MB/s)"]
        rows = []
        for each in self._of("scan"):
            what = each.operation.removeprefix("scan of ") if each.operation != "scan" else "all"
            cells = [each.time_s, each.time_s / full[each.layout], each.read_bytes / 1e6, each.effective_mb_s]
            rows.append([each.layout, what, *map(number, cells)])
        for name in full:
            single = sum(each.time_s for each in self._of("scan of") if each.layout == name)
            rows.append([name, "each once", number(single), number(single / full[name]), "", ""])
        rows.sort(key=lambda row: list(self.layouts).index(row[0]))
        return Table(headers, rows, left=frozenset({1}), names=2)

    def _fetches(self) -> Table:
        rows = []
        for each in self._of("fetch"):
            low, high = each.ci95_s or (each.time_s, each.time_s)
            interval = f"{number(1e3 * low)} to {number(1e3 * high)}"
            rows.append(
                [each.layout, number(1e3 * each.time_s), interval, number(each.read_bytes), number(1 / each.time_s)]
            )
        return Table(["fetch of a random row", "mean (ms)", "95 %", "read (bytes)", "rows/s"], rows)


def scan_relation(layout: Layout, attribute: int | None = None) -> Access:
    """Scan a relation: read the blocks with the requested values, with one request per run of blocks, or in batches.

    Runs longer than the maximum of a request are split. A simple device, whose time does not depend on the size of a
    request, reads page by page.

    Parameters
    ----------
    layout
        The layout of the relation on its device.
    attribute
        Index of the requested attribute; all of them by default.
    """
    relation = layout.relation
    runs = layout.scan(attribute)
    simple = isinstance(layout.device, SimpleDevice)
    wide = relation.record_bytes if attribute is None else relation.attributes[attribute]
    operation = "scan" if attribute is None else f"scan of a{attribute + 1}"
    if simple or runs.sizes is None:
        requests = runs.cut(relation.page_bytes // layout.device.block_bytes if simple else MOST_BLOCKS)
        served = layout.device.serve(requests.lbns, requests.blocks)
    else:
        served = layout.device.serve_batches(runs.lbns, runs.blocks, runs.sizes)
    end_ns = int(served["end_ns"].max())
    read = runs.total * layout.device.block_bytes
    return Access(layout.NAME, operation, end_ns * 1e-9, read, relation.records * wide)


def fetch_times_s(layout: Layout, count: int = FETCHES, seed: int = 1) -> list[float]:
    """Fetch random rows one at a time, with all blocks of a row in one batch.

    Parameters
    ----------
    layout
        The layout of the relation on its device.
    count
        Number of rows.
    seed
        Seed of the random choice of rows.

    Returns
    -------
    list
        The time of each fetch, s.
    """
    import numpy as np

    pieces = layout.rows(_random_rows(layout, count, seed))
    served = layout.device.serve_batches(pieces.lbns, pieces.blocks, pieces.sizes)
    firsts = np.concatenate([[0], np.cumsum(pieces.sizes)[:-1]]).astype(np.int64)
    ends = np.maximum.reduceat(served["end_ns"], firsts)
    found: list[float] = ((ends - np.minimum.reduceat(served["start_ns"], firsts)) * 1e-9).tolist()
    return found


def fetch_rows(layout: Layout, count: int = FETCHES, seed: int = 1) -> Access:
    """Fetch random rows and return the mean time; see :func:`fetch_times_s`.

    Parameters
    ----------
    layout
        The layout of the relation on its device.
    count
        Number of rows, at least 2.
    seed
        Seed of the random choice of rows.
    """
    if count < 2:
        message = f": {count} is too few; the mean needs at least 2 rows to have a confidence interval"
        raise make_error(
            SledsimError, "out-of-range", message, path="fetches", value=count, allowed={"least": 2, "whole": True}
        )
    around = batched_interval(fetch_times_s(layout, count, seed))
    blocks = int(layout.rows(_random_rows(layout, count, seed)).blocks.sum())
    read = blocks * layout.device.block_bytes / count
    return Access(layout.NAME, "fetch", around.mean, read, layout.relation.record_bytes, (around.low, around.high))


def _random_rows(layout: Layout, count: int, seed: int) -> "NDArray[np.uint64]":
    import numpy as np

    return np.random.default_rng(seed).integers(0, layout.relation.records, count, dtype=np.uint64)


def relation_times(
    device: str | Device = "g2",
    relation: Relation | None = None,
    *,
    layouts: Sequence[str] = (),
    fetches: int = FETCHES,
    seed: int = 1,
    overrides: Sets = (),
) -> RelationTimes:
    """Return times of scans and row fetches of a relation for several layouts.

    See Schlosser and Ganger 2004, section 6.1.1.

    Parameters
    ----------
    device
        A device or its name.
    relation
        The relation; by default, that of the paper.
    layouts
        ``row-major``, ``column-major``, and on MEMS storage ``tip-subset`` and ``equivalent``, or ``two-axes`` if the
        device transfers at points; by default, all layouts that the device supports.
    fetches
        Number of random rows to fetch; 0 for none.
    seed
        Seed of the random choice of rows.
    overrides
        Values that replace those of a device given by name.

    Raises
    ------
    SledsimError
        If the device does not support a layout, or is too small for the relation.

    Examples
    --------
    >>> times = relation_times("g2", Relation(records=100_000), fetches=0)
    >>> list(times.layouts)
    ['row-major', 'column-major', 'tip-subset', 'equivalent']
    >>> times["column-major", "scan of a1"].time_s < times["row-major", "scan of a1"].time_s
    True
    """
    made = device if isinstance(device, Device) else device_of("device", device, overrides=overrides)
    relation = Relation() if relation is None else relation
    given: object = relation
    if not isinstance(given, Relation):
        message = f": expected a Relation, not {type(given).__name__}"
        raise make_error(SledsimError, "wrong-type", message, path="relation", value=str(given))
    fetches = require_integer(SledsimError, "fetches", fetches, most=MOST_FETCHES)
    seed = require_integer(SledsimError, "seed", seed)
    if not isinstance(layouts, list | tuple) or not all(isinstance(name, str) for name in layouts):
        raise make_error(
            SledsimError, "wrong-type", path="layouts", value=repr(layouts)[:200], allowed="names of layouts"
        )
    with by_arguments({"layout": "layouts"}):
        kinds = [layout_named(name) for name in layouts or layouts_of(made)]
    laid = {kind.NAME: kind(relation, made) for kind in kinds}
    accesses = []
    for layout in laid.values():
        attributes = range(len(relation.attributes))
        accesses += [scan_relation(layout), *(scan_relation(layout, each) for each in attributes)]
        accesses += [fetch_rows(layout, fetches, seed)] if fetches else []
    return RelationTimes(relation, made, laid, accesses)
