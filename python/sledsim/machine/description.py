"""Options of a machine: memory, processor, file system and state of the page cache."""

import math
import re
from dataclasses import dataclass

from sledsim._core import SledsimError
from sledsim.show.faults import brief, is_one_of, make_error

__all__ = ["FILE_SYSTEMS", "Guest"]

#: A fixed UUID and hash seed of the file systems, so that every run creates the same one.
IDENTIFIER = "5b1d51a0-0000-4000-8000-000000000001"
#: Commands that create file systems, without deferred initialisation.
FILE_SYSTEMS = {
    "ext4": f"mke2fs -q -F -t ext4 -U {IDENTIFIER} -E hash_seed={IDENTIFIER},lazy_itable_init=0,lazy_journal_init=0",
    "ext2": f"mke2fs -q -F -t ext2 -U {IDENTIFIER} -E hash_seed={IDENTIFIER},lazy_itable_init=0",
    "xfs": f"mkfs.xfs -q -f -m uuid={IDENTIFIER}",
}
CACHES = ("cold", "warm")
#: Range of memory, MiB.
LEAST_MEMORY, MOST_MEMORY = 16, 4096
#: Range of processor speeds, instructions per nanosecond.
LEAST_CPU, MOST_CPU = 1 / 64, 64.0
MOST_READ_AHEAD = 1 << 16
#: Range of the size of a file system, MiB: that of xfs at least.
LEAST_FILE_SYSTEM, MOST_FILE_SYSTEM = 300, 1 << 24


@dataclass(frozen=True)
class Guest:
    """Options of a machine."""

    memory_mib: int = 128
    """Memory of the program and the page cache, MiB, without that of the kernel."""
    cpu: float = 1.0
    """Instructions per nanosecond: 1 is a processor of 1 GHz at one instruction per cycle."""
    file_system: str = "ext4"
    """``"ext4"``, ``"ext2"`` or ``"xfs"``."""
    mount: str = "defaults"
    """Mount options, separated by commas: ``"dirsync,noatime"``."""
    read_ahead_kib: int | None = None
    """Read-ahead of the block device, KiB; the kernel's default (128) if not given."""
    cache: str = "cold"
    """State of the page cache: ``"cold"``, or ``"warm"`` after all files have been read once."""
    file_system_mib: int | None = None
    """Size of the file system, MiB, from the start of the device; the whole device if not given."""

    def __post_init__(self) -> None:
        _whole("memory_mib", self.memory_mib, LEAST_MEMORY, MOST_MEMORY)
        if self.file_system_mib is not None:
            _whole("file_system_mib", self.file_system_mib, LEAST_FILE_SYSTEM, MOST_FILE_SYSTEM)
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
                message: list[str | tuple[str]] = [(path,), f" {value!r} is not known"]
                raise make_error(SledsimError, "unknown-name", message, path=path, value=value, known=known)
        mount: object = self.mount
        if not isinstance(mount, str) or not re.fullmatch(r"[\w=,.+:-]+", mount):
            listed: list[str | tuple[str]] = [
                ("mount",),
                f" {brief(mount)[0]} is not a list of mount options, such as dirsync,noatime",
            ]
            raise make_error(SledsimError, "misfit", listed, path="mount", value=brief(mount)[0])

    @property
    def make_arguments(self) -> tuple[str, str]:
        """The command that creates the file system, and its arguments after the device."""
        command, size = FILE_SYSTEMS[self.file_system], self.file_system_mib
        if size is None:
            return command, ""
        return (f"{command} -d size={size}m", "") if self.file_system == "xfs" else (command, f"{size}m")

    @property
    def shift(self) -> int:
        """QEMU's ``icount`` shift: an instruction takes 2**shift ns of the guest's clock."""
        return max(0, math.ceil(-math.log2(self.cpu)))

    @property
    def dilation(self) -> float:
        """Guest time per device time, which gives the processor the speed ``cpu`` on the device's clock."""
        return self.cpu * 2.0**self.shift


def _whole(path: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        allowed: dict[str, object] = {"least": least, "most": most, "whole": True}
        raise make_error(SledsimError, "out-of-range", path=path, value=value, allowed=allowed)
