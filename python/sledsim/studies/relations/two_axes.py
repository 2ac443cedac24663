"""Layout of relations on a sled with blocks at points: records along X, attributes along Y."""

from math import ceil, gcd, sqrt
from typing import TYPE_CHECKING

from sledsim._core import SledsimError
from sledsim.devices.device import Device
from sledsim.devices.mems import MemsStorage
from sledsim.show.faults import make_error
from sledsim.studies.relations.layouts import Layout, Pieces, Runs, layouts_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["TwoAxes", "has_points"]


def has_points(device: Device) -> bool:
    """Return true if the device has blocks at points, from which it can continue along either axis.

    Parameters
    ----------
    device
        The device.
    """
    return isinstance(device, MemsStorage) and device.parameters["transfer"] == "points"


class TwoAxes(Layout):
    """Records along X, attributes along Y, on a device that can continue from a point along either axis.

    The unit is the greatest common divisor of the attribute sizes. A group has as many records as there are units in a
    block. Its blocks are adjacent along X, with as many blocks for each attribute as the attribute has units. Groups
    form bands side by side along X, and are stacked along Y; the number of bands makes lines along X about as long as
    lines along Y (Schlosser and Ganger 2004, section 7). A scan of all attributes reads lines along X, each in a batch,
    in the order of the records; a scan of one attribute reads its columns.
    """

    NAME = "two-axes"
    TITLE = "records along X, attributes along Y"

    def _arrange(self) -> None:
        device = self.device
        if not isinstance(device, MemsStorage) or not has_points(device):
            message = (
                f"layout {self.NAME}: {device.label} does not go on along X; a MEMS device with transfer = points "
                f"does, and the layouts here are {', '.join(layouts_of(device))}"
            )
            raise make_error(
                SledsimError, "unsupported", message, path="layout", value=self.NAME, allowed=layouts_of(device)
            )
        self._sled = device
        sizes, lines = self.relation.attributes, device.rows * device.tracks
        unit = gcd(*sizes)
        if unit > device.block_bytes:
            # A unit larger than a block is reduced to a divisor of the block size.
            unit = gcd(unit, device.block_bytes)
        self._units = [size // unit for size in sizes]
        self._firsts = [sum(self._units[:i]) for i in range(len(sizes))]
        self._wide = sum(self._units)
        self._records = device.block_bytes // unit
        self._groups = ceil(self.relation.records / self._records)
        square = round(sqrt(self._groups / self._wide))
        most = max(1, device.cylinders // self._wide)
        self._bands = min(max(1, square, ceil(self._groups / lines)), max(most, ceil(self._groups / lines)))

    @property
    def blocks(self) -> int:
        """Blocks from the first of the device to the last of the relation."""
        return self._bands * self._wide * self._sled.tracks * self._sled.rows

    def scan(self, attribute: int | None = None) -> Runs:
        """Return the accesses of a scan: lines along X, or the columns of an attribute."""
        return self._by_lines() if attribute is None else self._by_columns(attribute)

    def rows(self, records: "NDArray[np.uint64]") -> Pieces:
        """Return the accesses that fetch single rows: the blocks with the value of each attribute."""
        import numpy as np

        size = self.device.block_bytes
        group, within = np.divmod(records.astype(np.int64), self._records)
        line, band = np.divmod(group, self._bands)
        lbns, wanted = [], []
        for first_column, wide in zip(self._firsts, self.relation.attributes, strict=True):
            first, last = within * wide // size, ((within + 1) * wide - 1) // size
            for block in range(int((last - first).max()) + 1):
                column = band * self._wide + first_column + np.minimum(first + block, last)
                lbns.append(self._lbns(column, line))
                wanted.append(first + block <= last)
        chosen = np.stack(wanted, axis=1)
        found = np.stack(lbns, axis=1)[chosen].astype(np.uint64)
        return Pieces(found, np.ones(len(found), dtype=np.uint64), chosen.sum(axis=1).astype(np.uint64))

    def _by_lines(self) -> Runs:
        """Read all lines along X, each in a batch."""
        import numpy as np

        lines = -(-self._groups // self._bands)
        columns = np.arange(self._bands * self._wide)
        full_lines = self._lbns(np.tile(columns, lines), np.repeat(np.arange(lines), len(columns)))
        lbns = full_lines[: self._groups * self._wide].astype(np.uint64)
        sizes = np.full(lines, len(columns))
        sizes[-1] -= lines * len(columns) - len(lbns)
        return Runs(lbns, np.ones(len(lbns), dtype=np.uint64), sizes.astype(np.uint64))

    def _by_columns(self, attribute: int) -> Runs:
        """Read the columns of an attribute, band by band, under all groups of tips."""
        import numpy as np

        sled, lbns, blocks = self._sled, [], []
        for band in range(min(self._bands, self._groups)):
            lines = (self._groups - 1 - band) // self._bands + 1
            first = band * self._wide + self._firsts[attribute]
            for column in range(first, first + self._units[attribute]):
                for start in range(0, lines, sled.rows):
                    ends = np.array([start, min(start + sled.rows, lines) - 1])
                    lbns.append(int(self._lbns(np.array([column, column]), ends).min()))
                    blocks.append(int(ends[1] - ends[0]) + 1)
        return Runs(np.array(lbns, dtype=np.uint64), np.array(blocks, dtype=np.uint64))

    def _lbns(self, column: "NDArray[np.int64]", line: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Return the blocks at the intersections of columns and lines; lines continue under the next group of tips."""
        import numpy as np

        sled = self._sled
        track, row = np.divmod(line, sled.rows)
        number = column * sled.tracks + track
        backwards = (number % 2 == 1) & (sled.parameters["layout"] == "serpentine")
        found: NDArray[np.int64] = number * sled.rows + np.where(backwards, sled.rows - 1 - row, row)
        return found
