"""How a machine is made: its memory, its processor, its file system and the state of its cache, checked."""

import math
import re
from dataclasses import dataclass

from sledsim._core import SledsimError
from sledsim.show.faults import brief, is_one_of, make_error

__all__ = ["FILE_SYSTEMS", "Guest"]

#: An identifier of no meaning that every file system has, and what its directories are hashed with.
IDENTIFIER = "5b1d51a0-0000-4000-8000-000000000001"
#: The command that makes each file system, fully initialised.
FILE_SYSTEMS = {
    "ext4": f"mke2fs -q -F -t ext4 -U {IDENTIFIER} -E hash_seed={IDENTIFIER},lazy_itable_init=0,lazy_journal_init=0",
    "ext2": f"mke2fs -q -F -t ext2 -U {IDENTIFIER} -E hash_seed={IDENTIFIER},lazy_itable_init=0",
    "xfs": f"mkfs.xfs -q -f -m uuid={IDENTIFIER}",
}
CACHES = ("cold", "warm")
#: Least and most memory, MiB.
LEAST_MEMORY, MOST_MEMORY = 16, 4096
#: How slow and how fast a processor may be, instructions a nanosecond.
LEAST_CPU, MOST_CPU = 1 / 64, 64.0
MOST_READ_AHEAD = 1 << 16


@dataclass(frozen=True)
class Guest:
    """How a machine is made."""

    memory_mib: int = 128
    """Memory of the program and of its file system's caches, MiB, without that of the kernel."""
    cpu: float = 1.0
    """Instructions a nanosecond: 1 is a processor of 1 GHz at one instruction a cycle."""
    file_system: str = "ext4"
    """``"ext4"``, ``"ext2"`` or ``"xfs"``."""
    mount: str = "defaults"
    """Options of the mount, with commas: ``"dirsync,noatime"``."""
    read_ahead_kib: int | None = None
    """How much is read ahead, KiB; the kernel's choice (128) where it is left out."""
    cache: str = "cold"
    """``"cold"``, or ``"warm"``: all files have been read once."""

    def __post_init__(self) -> None:
        _whole("memory_mib", self.memory_mib, LEAST_MEMORY, MOST_MEMORY)
        if self.read_ahead_kib is not None:
            _whole("read_ahead_kib", self.read_ahead_kib, 0, MOST_READ_AHEAD)
        cpu: object = self.cpu
        if not isinstance(cpu, int | float) or isinstance(cpu, bool) or not LEAST_CPU <= cpu <= MOST_CPU:
            allowed: dict[str, object] = {"least": LEAST_CPU, "most": MOST_CPU}
            raise make_error(SledsimError, "out-of-range", path="cpu", value=cpu, allowed=allowed)
        for path, value, known in (
            ("file_system", self.file_system, FILE_SYSTEMS),
            ("cache", self.cache, CACHES),
        ):
            if not is_one_of(value, known):
                says: list[str | tuple[str]] = [(path,), f" {value!r} is not known"]
                raise make_error(SledsimError, "unknown-name", says, path=path, value=value, known=known)
        mount: object = self.mount
        if not isinstance(mount, str) or not re.fullmatch(r"[\w=,.+:-]+", mount):
            listed: list[str | tuple[str]] = [("mount",), f" {brief(mount)[0]} is no list of options: dirsync,noatime"]
            raise make_error(SledsimError, "misfit", listed, path="mount", value=brief(mount)[0])

    @property
    def shift(self) -> int:
        """How QEMU counts: an instruction takes 2 to the power of this, ns of the guest's clock."""
        return max(0, math.ceil(-math.log2(self.cpu)))

    @property
    def dilation(self) -> float:
        """How many times slower than the device's time the guest's clock runs, so that a processor is that fast."""
        return self.cpu * 2.0**self.shift


def _whole(path: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        allowed: dict[str, object] = {"least": least, "most": most, "whole": True}
        raise make_error(SledsimError, "out-of-range", path=path, value=value, allowed=allowed)
