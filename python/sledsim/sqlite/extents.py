"""Extents: space of files on a system, allocated from the lowest free address."""

from bisect import insort
from itertools import count
from threading import RLock

from sledsim._core import SledsimError
from sledsim.show.faults import make_error

__all__ = ["EXTENT_BYTES", "Extents"]

#: Size of an extent, the unit of allocation.
EXTENT_BYTES = 1 << 20


class Extents:
    """The extents of a system and their allocation to files. Hold ``lock`` during an allocation or access.

    Parameters
    ----------
    capacity_blocks
        Number of blocks of the system.
    block_bytes
        Size of a block.

    Raises
    ------
    SledsimError
        If the system is smaller than an extent, or an extent is not a whole number of blocks.
    """

    def __init__(self, capacity_blocks: int, block_bytes: int) -> None:
        self.block_bytes = block_bytes
        self.blocks = EXTENT_BYTES // block_bytes
        self.count = capacity_blocks // self.blocks if self.blocks else 0
        if EXTENT_BYTES % block_bytes or not self.count:
            message = (
                f": {capacity_blocks} blocks of {block_bytes} bytes cannot be divided into extents of {EXTENT_BYTES} "
                "bytes; use a larger system, or blocks that divide an extent"
            )
            raise make_error(SledsimError, "misfit", message, path="system")
        #: Serialises accesses; re-entrant, as a signal handler may run while its thread holds it.
        self.lock = RLock()
        self._temporary_files = count()
        self._allocated = 0
        self._free: list[int] = []
        self._of: dict[str, list[int]] = {}

    def lbns(self, file: str, offset: int, size: int) -> list[tuple[int, int]] | None:
        """Return the blocks of a range of bytes of a file, and extend the file if necessary.

        Partial blocks are accessed as a whole.

        Parameters
        ----------
        file
            Name of the file.
        offset
            Offset of the first byte.
        size
            Number of bytes, at least 1.

        Returns
        -------
        list or None
            First block and number of blocks of each contiguous piece, in the order of the file; ``None`` if the system
            is full.
        """
        own = self._of.setdefault(file, [])
        first, last = offset // self.block_bytes, (offset + size - 1) // self.block_bytes
        while len(own) <= last // self.blocks:
            extent = self._lowest()
            if extent is None:
                return None
            own.append(extent)
        pieces: list[tuple[int, int]] = []
        block = first
        while block <= last:
            extent, inside = divmod(block, self.blocks)
            count = min(self.blocks - inside, last - block + 1)
            start = own[extent] * self.blocks + inside
            if pieces and sum(pieces[-1]) == start:
                pieces[-1] = (pieces[-1][0], pieces[-1][1] + count)
            else:
                pieces.append((start, count))
            block += count
        return pieces

    def temporary_name(self) -> str:
        """Return a unique name for a file without a name."""
        return f"temporary file {next(self._temporary_files)}"

    def truncate(self, file: str, size: int) -> None:
        """Free the extents of a file beyond a size.

        Parameters
        ----------
        file
            Name of the file, which may have no extents.
        size
            New size of the file, bytes.
        """
        with self.lock:
            own = self._of.get(file, [])
            kept = -(-size // EXTENT_BYTES)
            for extent in own[kept:]:
                insort(self._free, extent)
            del own[kept:]

    def _lowest(self) -> int | None:
        if self._free:
            return self._free.pop(0)
        if self._allocated == self.count:
            return None
        self._allocated += 1
        return self._allocated - 1
