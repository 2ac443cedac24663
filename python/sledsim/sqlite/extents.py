"""Placement of files on a system: extents, allocated from the lowest free address."""

from bisect import insort
from itertools import count
from threading import RLock

from sledsim._core import SledsimError
from sledsim.show.faults import make_error

__all__ = ["EXTENT_BYTES", "Extents"]

#: The unit in which a file grows.
EXTENT_BYTES = 1 << 20


class Extents:
    """The extents of a system, and which file has which; who asks for one, or for an access, holds ``turn`` meanwhile.

    Parameters
    ----------
    capacity_blocks
        Blocks of the system.
    block_bytes
        Size of a block.

    Raises
    ------
    SledsimError
        Where a system is smaller than an extent, or its blocks do not divide one.
    """

    def __init__(self, capacity_blocks: int, block_bytes: int) -> None:
        self.block_bytes = block_bytes
        self.blocks = EXTENT_BYTES // block_bytes
        self.count = capacity_blocks // self.blocks if self.blocks else 0
        if EXTENT_BYTES % block_bytes or not self.count:
            says = (
                f": files take extents of {EXTENT_BYTES} bytes, and a system of {capacity_blocks} blocks of "
                f"{block_bytes} bytes has no whole one"
            )
            raise make_error(SledsimError, "misfit", says, path="system")
        #: Serialises accesses; re-entrant, as a signal handler may interrupt its holder.
        self.turn = RLock()
        self._unnamed = count()
        self._taken = 0
        self._free: list[int] = []
        self._of: dict[str, list[int]] = {}

    def lbns(self, file: str, offset: int, size: int) -> list[tuple[int, int]] | None:
        """Return first block and number of blocks of each piece that some bytes of a file lie in.

        The file grows where it has to; a block of which a part is wanted is accessed whole.

        Parameters
        ----------
        file
            Its name.
        offset
            The first byte.
        size
            How many bytes, 1 or more.

        Returns
        -------
        list or None
            The pieces in the order of the file, neighbours as one; ``None`` where the system is full.
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

    def unnamed(self) -> str:
        """Return what a file that has no name is known by."""
        return f"temporary file {next(self._unnamed)}"

    def cut(self, file: str, size: int) -> None:
        """Give back what a file has beyond a size.

        Parameters
        ----------
        file
            Its name; one that has nothing may be named.
        size
            Bytes that it keeps.
        """
        with self.turn:
            own = self._of.get(file, [])
            kept = -(-size // EXTENT_BYTES)
            for extent in own[kept:]:
                insort(self._free, extent)
            del own[kept:]

    def _lowest(self) -> int | None:
        if self._free:
            return self._free.pop(0)
        if self._taken == self.count:
            return None
        self._taken += 1
        return self._taken - 1
