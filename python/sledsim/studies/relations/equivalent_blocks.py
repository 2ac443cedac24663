"""Layout of relations in equivalent blocks, which are at one position of the sled under different tips."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING

from sledsim._core import SledsimError
from sledsim.show.faults import make_error
from sledsim.studies.relations.layouts import Layout, Pieces, Runs, mems_storage, merged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["EquivalentBlocks", "Segment", "Share", "best_share"]


@dataclass(frozen=True)
class Segment:
    """Adjacent blocks of a row of a track with values of one attribute.

    Parameters
    ----------
    attribute
        Index of the attribute.
    track
        Group of tips.
    slot, blocks
        First block within the row, and number of blocks.
    """

    attribute: int
    track: int
    slot: int
    blocks: int


@dataclass(frozen=True)
class Share:
    """The allocation of the blocks at a position of the sled to attributes.

    Parameters
    ----------
    records
        Number of records at a position.
    segments
        The blocks of each attribute.
    """

    records: int
    segments: tuple[Segment, ...]

    def passes(self, attribute: int | None = None) -> int:
        """Return the number of passes over a position to read an attribute, or all of them."""
        return len({each.track for each in self.segments if attribute in (None, each.attribute)})


class EquivalentBlocks(Layout):
    """All attributes of a row at one position of the sled, under different tips.

    A row is read in one access, and an attribute in the passes of its own tips (Schlosser and Ganger 2004, section
    6.1.1). The time of a scan is proportional to the whole number of passes over each position, not to the bytes.
    """

    NAME = "equivalent"
    TITLE = "a row's attributes in equivalent blocks"

    def _arrange(self) -> None:
        sled = mems_storage(self.device, self.NAME)
        self._sled = sled
        size = sled.block_bytes
        share = best_share(self.relation.attributes, size, sled.tracks, sled.blocks_per_row)
        if share is None:
            room = sled.tracks * sled.blocks_per_row
            message = (
                f"layout {self.NAME}: a record of attributes of {', '.join(map(str, self.relation.attributes))} bytes "
                f"does not fit the {room} blocks of {size} bytes at a position of {sled.label}; "
                "give smaller attributes"
            )
            raise make_error(SledsimError, "misfit", message, path="attributes", value=self.relation.attributes)
        self.share = share
        self._positions = ceil(self.relation.records / share.records)
        self._cylinders = ceil(self._positions / sled.rows)

    @property
    def blocks(self) -> int:
        """Blocks from the first of the device to the last of the relation."""
        return self._cylinders * self._sled.tracks * self._sled.rows * self._sled.blocks_per_row

    def scan(self, attribute: int | None = None) -> Runs:
        """Return the accesses of a scan: the rows of its tips, alternately upward and downward."""
        if attribute is None:
            return self._read(_by_track(self.share.segments))
        return self._read([each for each in self.share.segments if each.attribute == attribute])

    def rows(self, records: "NDArray[np.uint64]") -> Pieces:
        """Return the accesses that fetch single rows: the blocks with the value of each attribute."""
        import numpy as np

        sled, size = self._sled, self.device.block_bytes
        position, within = np.divmod(records.astype(np.int64), self.share.records)
        lbns, wanted = [], []
        for attribute, wide in enumerate(self.relation.attributes):
            places = [
                (each.track, each.slot + i)
                for each in self.share.segments
                if each.attribute == attribute
                for i in range(each.blocks)
            ]
            tracks, slots = np.array(places).T
            first, last = within * wide // size, ((within + 1) * wide - 1) // size
            for block in range(int((last - first).max()) + 1):
                index = np.minimum(first + block, last)
                row = self._row_lbns(position // sled.rows, tracks[index], position % sled.rows)
                lbns.append(row + slots[index])
                wanted.append(first + block <= last)
        chosen = np.stack(wanted, axis=1)
        found = np.stack(lbns, axis=1)[chosen].astype(np.uint64)
        return Pieces(found, np.ones(len(found), dtype=np.uint64), chosen.sum(axis=1).astype(np.uint64))

    def _read(self, segments: Sequence[Segment]) -> Runs:
        """Read segments of every position in use, cylinder by cylinder and track by track."""
        import numpy as np

        sled = self._sled
        lbns, blocks = [], []
        upward: bool | None = None
        for cylinder in range(self._cylinders):
            rows = np.arange(min(sled.rows, self._positions - cylinder * sled.rows))
            for segment in segments:
                # A bidirectional sled continues from the end of the last track in the opposite direction.
                if not sled.parameters["bidirectional"]:
                    upward = True
                else:
                    upward = not (self._inverted[cylinder, segment.track] if upward is None else upward)
                along = rows if upward else rows[::-1]
                lbns.append(self._row_lbns(cylinder, segment.track, along) + segment.slot)
                blocks.append(np.full(len(along), segment.blocks))
        return merged(np.concatenate(lbns), np.concatenate(blocks))

    @cached_property
    def _inverted(self) -> "NDArray[np.bool_]":
        """Return for each cylinder and track in use true if its rows are in descending order of LBNs."""
        import numpy as np

        sled = self._sled
        track_blocks = sled.rows * sled.blocks_per_row
        firsts = [sled.place(track * track_blocks)[2] for track in range(self._cylinders * sled.tracks)]
        return np.array(firsts).reshape(self._cylinders, sled.tracks) > 0

    def _row_lbns(
        self, cylinder: "NDArray[np.int64] | int", track: "NDArray[np.int64] | int", row: "NDArray[np.int64]"
    ) -> "NDArray[np.int64]":
        """Return the first block of rows."""
        import numpy as np

        sled = self._sled
        rank = np.where(self._inverted[cylinder, track], sled.rows - 1 - row, row)
        within = (cylinder * sled.tracks + track) * sled.rows + rank
        found: NDArray[np.int64] = within * sled.blocks_per_row
        return found


def best_share(attributes: Sequence[int], block_bytes: int, tracks: int, blocks_per_row: int) -> Share | None:
    """Return the allocation of blocks at a position of the sled with the fewest passes per record.

    The cost is the sum of the passes of a scan of all attributes and of one scan of each attribute. Values are packed.
    An attribute fills whole groups of tips; the remainders of several attributes may share a group.

    Parameters
    ----------
    attributes
        Size of each attribute, bytes.
    block_bytes
        Size of a block.
    tracks
        Number of groups of tips, which pass one after the other.
    blocks_per_row
        Number of blocks that a group of tips accesses together.

    Returns
    -------
    Share or None
        ``None`` if not even one record fits.

    Examples
    --------
    >>> best_share([8, 32, 15, 16], 512, 5, 20).records
    640
    """
    best: Share | None = None
    least = float("inf")
    room = tracks * blocks_per_row
    most = room * block_bytes // sum(attributes)
    # One more record can add a pass only if it overflows a block of some attribute.
    full = {blocks * block_bytes // size for size in attributes for blocks in range(1, room + 1)}
    for records in sorted(each for each in {*full, most} if 0 < each <= most):
        counts = [ceil(records * size / block_bytes) for size in attributes]
        segments = _packed(counts, tracks, blocks_per_row)
        if segments is None:
            continue
        share = Share(records, segments)
        cost = (share.passes() + sum(share.passes(each) for each in range(len(attributes)))) / records
        if cost <= least:
            best, least = share, cost
    return best


def _packed(counts: Sequence[int], tracks: int, blocks_per_row: int) -> tuple[Segment, ...] | None:
    """Assign whole tracks to attributes, and the rest to the first track with enough space, the largest first."""
    segments, track = [], 0
    for attribute, count in enumerate(counts):
        whole = count // blocks_per_row
        segments += [Segment(attribute, track + i, 0, blocks_per_row) for i in range(whole)]
        track += whole
    rests = sorted(((count % blocks_per_row, -attribute) for attribute, count in enumerate(counts)), reverse=True)
    used: list[int] = []
    for rest, attribute in rests:
        if rest:
            place = next((i for i, taken in enumerate(used) if taken + rest <= blocks_per_row), len(used))
            if place == len(used):
                used.append(0)
            segments.append(Segment(-attribute, track + place, used[place], rest))
            used[place] += rest
    if track + len(used) > tracks:
        return None
    return tuple(sorted(segments, key=lambda each: (each.track, each.slot)))


def _by_track(segments: Sequence[Segment]) -> list[Segment]:
    """Merge adjacent ranges on the same track."""
    ends = {each.track: each.slot + each.blocks for each in segments}
    return [Segment(-1, track, 0, end) for track, end in sorted(ends.items())]
