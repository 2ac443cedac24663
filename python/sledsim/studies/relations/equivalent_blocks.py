"""Relations whose rows lie in equivalent blocks: those at one position of the sled under different tips."""

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
    """Neighbouring blocks of a row of a track that hold values of one attribute.

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
    """How the blocks at a position of the sled are shared among attributes.

    Parameters
    ----------
    records
        Records at a position.
    segments
        Where the values of each attribute lie.
    """

    records: int
    segments: tuple[Segment, ...]

    def passes(self, attribute: int | None = None) -> int:
        """Count the passes over a position that read an attribute, or all of them."""
        return len({each.track for each in self.segments if attribute in (None, each.attribute)})


class EquivalentBlocks(Layout):
    """All attributes of a row at one position of the sled, under different tips.

    A row is then read in one access, and an attribute in the passes of its own tips (Schlosser and Ganger 2004, section
    6.1.1). A position passes a whole number of times, so that scans of attributes take time by passes and not by bytes.
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
            says = (
                f"layout {self.NAME}: a record of attributes of {', '.join(map(str, self.relation.attributes))} bytes "
                f"does not fit the {room} blocks of {size} bytes at a position of {sled.label}; "
                "give smaller attributes"
            )
            raise make_error(SledsimError, "misfit", says, path="attributes", value=self.relation.attributes)
        self.share = share
        self._positions = ceil(self.relation.records / share.records)
        self._cylinders = ceil(self._positions / sled.rows)

    @property
    def blocks(self) -> int:
        """Blocks from the first of the device to the last of the relation."""
        return self._cylinders * self._sled.tracks * self._sled.rows * self._sled.blocks_per_row

    def scan(self, attribute: int | None = None) -> Runs:
        """Return the accesses of a scan: the rows of the tips that hold it, up and down in turn."""
        if attribute is None:
            return self._read(_by_track(self.share.segments))
        return self._read([each for each in self.share.segments if each.attribute == attribute])

    def rows(self, records: "NDArray[np.uint64]") -> Pieces:
        """Return the accesses that fetch single rows: of every attribute the blocks that hold its value."""
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
                # The sled is where the last track ended: from there it goes on the other way, if it can.
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
        """Return, for each cylinder and track in use, true if its rows run downwards in LBN order."""
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
    """Share the blocks at a position of the sled so that scans take the fewest passes for each record.

    What counts is the sum of a scan of all attributes and one of each attribute. Values lie packed; those of an
    attribute fill tips that pass together, and what is left over of several attributes may share such tips.

    Parameters
    ----------
    attributes
        Bytes of each.
    block_bytes
        Size of a block.
    tracks
        Groups of tips, which pass one after the other.
    blocks_per_row
        Blocks that a group of tips passes together.

    Returns
    -------
    Share or None
        ``None`` where not even one record fits.

    Examples
    --------
    >>> best_share([8, 32, 15, 16], 512, 5, 20).records
    640
    """
    best: Share | None = None
    least = float("inf")
    room = tracks * blocks_per_row
    most = room * block_bytes // sum(attributes)
    # Only where a block of some attribute is just full can one record more cost a pass.
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
