"""Layouts of relations on the blocks of a device: by rows, by columns, or by tips of a sled."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import ceil, gcd
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from sledsim._core import SledsimError
from sledsim.devices.device import Device
from sledsim.devices.mems import MemsStorage
from sledsim.show.arguments import require_integer, require_several
from sledsim.show.faults import make_error

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "ColumnMajor",
    "Layout",
    "Pieces",
    "Relation",
    "RowMajor",
    "Runs",
    "TipSubset",
    "all_layouts",
    "layout_named",
    "layouts_of",
]

#: Maximum number of records, and maximum size of an attribute or a page, bytes.
MOST_RECORDS, MOST_BYTES = 1 << 48, 1 << 40


@dataclass(frozen=True)
class Relation:
    """A table of a database: records of fixed size.

    Parameters
    ----------
    records
        Number of records.
    attributes
        Bytes of each attribute of a record.
    page_bytes
        Size of the pages that hold whole records, or whole values of one attribute.

    Raises
    ------
    SledsimError
        If there are no records or attributes, an attribute is empty, or a page is smaller than a record.

    Examples
    --------
    >>> Relation().record_bytes, Relation().records_per_page
    (71, 115)
    """

    # Schlosser and Ganger 2004, section 6.1.1.
    records: int = 10_000_000
    attributes: tuple[int, ...] = (8, 32, 15, 16)
    page_bytes: int = 8192

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", require_integer(SledsimError, "records", self.records, 1, MOST_RECORDS))
        given = require_several(SledsimError, "attributes", self.attributes, "bytes of each attribute, such as (8, 32)")
        for number, size in enumerate(given, 1):
            if isinstance(size, int) and size < 1:
                message = f": attribute {number} has {size} bytes: expected at least 1"
                allowed: dict[str, object] = {"least": 1, "whole": True}
                raise make_error(SledsimError, "out-of-range", message, path="attributes", value=size, allowed=allowed)
        sizes = tuple(require_integer(SledsimError, "attributes", size, 1, MOST_BYTES) for size in given)
        object.__setattr__(self, "attributes", sizes)
        object.__setattr__(
            self, "page_bytes", require_integer(SledsimError, "page_bytes", self.page_bytes, 1, MOST_BYTES)
        )
        if not self.attributes:
            message = "attributes: none given; a relation has at least one, such as 8,32,15,16 (bytes)"
            raise make_error(SledsimError, "missing", message, path="attributes")
        if self.page_bytes < self.record_bytes:
            message = f": {self.page_bytes} is too few; a page holds whole records of {self.record_bytes} bytes"
            raise make_error(
                SledsimError,
                "misfit",
                message,
                path="page_bytes",
                value=self.page_bytes,
                allowed={"least": self.record_bytes},
            )

    @property
    def record_bytes(self) -> int:
        """Size of a record."""
        return sum(self.attributes)

    @property
    def records_per_page(self) -> int:
        """Whole records that fit a page."""
        return self.page_bytes // self.record_bytes

    @property
    def bytes(self) -> int:
        """Size of all records."""
        return self.records * self.record_bytes


class Runs(NamedTuple):
    """Runs of blocks in reading order.

    Parameters
    ----------
    lbns, blocks
        First block and number of blocks of each run.
    sizes
        Number of runs in each batch; by default, runs are requested one at a time.
    """

    lbns: "NDArray[np.uint64]"
    blocks: "NDArray[np.uint64]"
    sizes: "NDArray[np.uint64] | None" = None

    @property
    def total(self) -> int:
        """Number of blocks of all runs."""
        return int(self.blocks.sum())

    def cut(self, most: int) -> "Runs":
        """Return the same blocks in runs of at most ``most`` blocks.

        Parameters
        ----------
        most
            Maximum number of blocks of a run.
        """
        import numpy as np

        parts = -(-self.blocks.astype(np.int64) // most)
        number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
        before = (number * most).astype(np.uint64)
        left = np.repeat(self.blocks, parts) - before
        return Runs(np.repeat(self.lbns, parts) + before, np.minimum(left, np.uint64(most)))


class Pieces(NamedTuple):
    """The blocks of single rows.

    Parameters
    ----------
    lbns, blocks
        First block and number of blocks of each run, row by row.
    sizes
        Number of runs of each row.
    """

    lbns: "NDArray[np.uint64]"
    blocks: "NDArray[np.uint64]"
    sizes: "NDArray[np.uint64]"


class Layout(ABC):
    """The placement of a relation's values on a device.

    Parameters
    ----------
    relation
        The relation, stored from the first block on.
    device
        The device.

    Raises
    ------
    SledsimError
        If the device does not support this layout, or is too small for the relation.
    """

    NAME: ClassVar[str]
    #: A short description.
    TITLE: ClassVar[str]

    def __init__(self, relation: Relation, device: Device) -> None:
        self.relation, self.device = relation, device
        self._arrange()
        if self.blocks > device.capacity_blocks:
            size, room = self.blocks * device.block_bytes / 1e9, device.capacity_bytes / 1e9
            message = (
                f"{relation.records:,} records of {relation.record_bytes} bytes take {size:.4g} GB in layout "
                f"{self.NAME}, and {device.label} has {room:.4g} GB: give fewer records or a larger device"
            )
            raise make_error(SledsimError, "misfit", message, path="records", value=relation.records)

    @property
    @abstractmethod
    def blocks(self) -> int:
        """Blocks from the first of the device to the last of the relation."""

    @abstractmethod
    def scan(self, attribute: int | None = None) -> Runs:
        """Return the accesses of a scan.

        Parameters
        ----------
        attribute
            Index of the requested attribute; all of them by default.
        """

    @abstractmethod
    def rows(self, records: "NDArray[np.uint64]") -> Pieces:
        """Return the accesses that fetch single rows.

        Parameters
        ----------
        records
            Numbers of the rows, from 0.
        """

    @abstractmethod
    def _arrange(self) -> None:
        """Compute the placement."""

    def _page_blocks(self) -> int:
        """Return the number of blocks of a page, and raise if it is not whole."""
        pages, size = self.relation.page_bytes, self.device.block_bytes
        if pages % size:
            message = f": {pages} is not a multiple of the block size of {self.device.label}, {size} bytes"
            raise make_error(SledsimError, "misfit", message, path="page_bytes", value=pages)
        return pages // size


class RowMajor(Layout):
    """Pages of whole records, one after the other (Schlosser and Ganger 2004, section 6.1.1: *normal*)."""

    NAME = "row-major"
    TITLE = "pages of whole records"

    def _arrange(self) -> None:
        self._per_page = self._page_blocks()
        self._pages = ceil(self.relation.records / self.relation.records_per_page)

    @property
    def blocks(self) -> int:
        """Blocks from the first of the device to the last of the relation."""
        return self._pages * self._per_page

    def scan(self, attribute: int | None = None) -> Runs:
        """Return the accesses of a scan: every page, for any attribute."""
        return _one_run(0, self.blocks)

    def rows(self, records: "NDArray[np.uint64]") -> Pieces:
        """Return the accesses that fetch single rows: one page each."""
        import numpy as np

        pages = records // np.uint64(self.relation.records_per_page)
        ones = np.ones(len(records), dtype=np.uint64)
        return Pieces(pages * np.uint64(self._per_page), ones * np.uint64(self._per_page), ones)


class ColumnMajor(Layout):
    """Pages of values of one attribute, attribute after attribute (Copeland and Khoshafian 1985)."""

    NAME = "column-major"
    TITLE = "pages of values of one attribute"

    def _arrange(self) -> None:
        relation = self.relation
        self._per_page = self._page_blocks()
        self._values = [relation.page_bytes // size for size in relation.attributes]
        pages = [ceil(relation.records / values) for values in self._values]
        self._starts = [self._per_page * sum(pages[:i]) for i in range(len(pages) + 1)]

    @property
    def blocks(self) -> int:
        """Blocks from the first of the device to the last of the relation."""
        return self._starts[-1]

    def scan(self, attribute: int | None = None) -> Runs:
        """Return the accesses of a scan: the pages of the requested attributes."""
        if attribute is None:
            return _one_run(0, self.blocks)
        return _one_run(self._starts[attribute], self._starts[attribute + 1] - self._starts[attribute])

    def rows(self, records: "NDArray[np.uint64]") -> Pieces:
        """Return the accesses that fetch single rows: one page of each attribute."""
        import numpy as np

        lbns = np.stack(
            [
                np.uint64(start) + records // np.uint64(values) * np.uint64(self._per_page)
                for start, values in zip(self._starts, self._values, strict=False)
            ],
            axis=1,
        )
        count = len(self._values)
        sizes = np.full(len(records), count, dtype=np.uint64)
        return Pieces(lbns.ravel(), np.full(lbns.size, self._per_page, dtype=np.uint64), sizes)


class TipSubset(Layout):
    """Attributes on separate tracks, with a number of tracks per stripe proportional to the size of the attribute.

    A track is read by one group of concurrently active tips at one position along X. A stripe has as many tracks as the
    size of a record divided by the greatest common divisor of the attribute sizes. Every active tip reads requested
    data, so that the time of a scan of an attribute is proportional to its share of the bytes. The values of a row are
    in different cylinders of its stripe.
    """

    NAME = "tip-subset"
    TITLE = "tracks of the tip groups, dealt out by bytes"

    def _arrange(self) -> None:
        sled = mems_storage(self.device, self.NAME)
        sizes = self.relation.attributes
        unit = gcd(*sizes)
        self._track_blocks = sled.rows * sled.blocks_per_row
        self._tracks = [size // unit for size in sizes]
        self._first_tracks = [sum(self._tracks[:i]) for i in range(len(sizes))]
        self._records = self._track_blocks * sled.block_bytes // unit
        self._stripes = ceil(self.relation.records / self._records)

    @property
    def blocks(self) -> int:
        """Blocks from the first of the device to the last of the relation."""
        return self._stripes * sum(self._tracks) * self._track_blocks

    def scan(self, attribute: int | None = None) -> Runs:
        """Return the accesses of a scan: in each stripe, all tracks of the requested attributes."""
        import numpy as np

        if attribute is None:
            return _one_run(0, self.blocks)
        stripes = np.arange(self._stripes, dtype=np.uint64)
        tracks = stripes * np.uint64(sum(self._tracks)) + np.uint64(self._first_tracks[attribute])
        blocks = np.full(self._stripes, self._tracks[attribute] * self._track_blocks, dtype=np.uint64)
        return Runs(tracks * np.uint64(self._track_blocks), blocks)

    def rows(self, records: "NDArray[np.uint64]") -> Pieces:
        """Return the accesses that fetch single rows: the blocks with the value of each attribute."""
        import numpy as np

        size = np.uint64(self.device.block_bytes)
        stripe, within = np.divmod(records, np.uint64(self._records))
        lbns, blocks = [], []
        for attribute, wide in enumerate(self.relation.attributes):
            tracks = stripe * np.uint64(sum(self._tracks)) + np.uint64(self._first_tracks[attribute])
            first, last = (
                within * np.uint64(wide) // size,
                ((within + np.uint64(1)) * np.uint64(wide) - np.uint64(1)) // size,
            )
            lbns.append(tracks * np.uint64(self._track_blocks) + first)
            blocks.append(last - first + np.uint64(1))
        sizes = np.full(len(records), len(lbns), dtype=np.uint64)
        return Pieces(np.stack(lbns, axis=1).ravel(), np.stack(blocks, axis=1).ravel(), sizes)


def mems_storage(device: Device, layout: str) -> MemsStorage:
    """Return the device as MEMS storage, and raise if it is another device.

    Parameters
    ----------
    device
        The device.
    layout
        Name of the layout, for the error.
    """
    if not isinstance(device, MemsStorage):
        message = (
            f"layout {layout}: {device.label} is {device.KIND}, and only MEMS storage has equivalent blocks, which "
            f"tips can access together; its layouts are {', '.join(layouts_of(device))}"
        )
        raise make_error(SledsimError, "unsupported", message, path="layout", value=layout, allowed=layouts_of(device))
    return device


def _one_run(lbn: int, blocks: int) -> Runs:
    import numpy as np

    return Runs(np.array([lbn], dtype=np.uint64), np.array([blocks], dtype=np.uint64))


def all_layouts() -> dict[str, type[Layout]]:
    """Return all layouts by name."""
    from sledsim.studies.relations.equivalent_blocks import EquivalentBlocks
    from sledsim.studies.relations.two_axes import TwoAxes

    return {each.NAME: each for each in (RowMajor, ColumnMajor, TipSubset, EquivalentBlocks, TwoAxes)}


def layouts_of(device: Device) -> list[str]:
    """Return the names of the layouts that a device supports.

    Parameters
    ----------
    device
        The device.
    """
    from sledsim.studies.relations.two_axes import TwoAxes, has_points

    paged = [RowMajor.NAME, ColumnMajor.NAME]
    if not isinstance(device, MemsStorage):
        return paged
    over_tips = [name for name in all_layouts() if name != TwoAxes.NAME]
    return [*paged, TwoAxes.NAME] if has_points(device) else over_tips


def layout_named(name: str) -> type[Layout]:
    """Return a layout by name.

    Parameters
    ----------
    name
        The name, such as ``row-major``.

    Raises
    ------
    SledsimError
        If the name is unknown; the error suggests the nearest one.
    """
    known = all_layouts()
    if name not in known:
        raise make_error(SledsimError, "unknown-name", f"no layout {name!r}", path="layout", value=name, known=known)
    return known[name]


def merged(lbns: "NDArray[np.int64]", blocks: "NDArray[np.int64]") -> Runs:
    """Return runs of blocks with adjacent runs merged.

    Parameters
    ----------
    lbns, blocks
        First block and number of blocks of each run.
    """
    import numpy as np

    starts, sizes = lbns.astype(np.uint64), blocks.astype(np.uint64)
    begins = np.concatenate([[True], starts[1:] != (starts + sizes)[:-1]])
    return Runs(starts[begins], np.add.reduceat(sizes, np.flatnonzero(begins)))
