"""Initramfs archives, which the kernel unpacks into memory at boot: cpio, format newc."""

import os
import stat
from pathlib import Path

__all__ = ["Archive"]

MAGIC, TRAILER = b"070701", "TRAILER!!!"
LINK, FOLDER = stat.S_IFLNK | 0o777, stat.S_IFDIR | 0o755
#: Alignment of headers and data, bytes.
STEP = 4


class Archive:
    """A cpio archive. The same files added in the same order give the same bytes."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._names: set[str] = set()

    def folder(self, name: str) -> None:
        """Add a folder and its parents, unless they exist.

        Parameters
        ----------
        name
            Path from the root, without a leading slash.
        """
        parent = name.rpartition("/")[0]
        if name in self._names or not name:
            return
        self.folder(parent)
        self._entry(name, FOLDER, b"")

    def file(self, name: str, data: bytes, *, runs: bool = False) -> None:
        """Add a file.

        Parameters
        ----------
        name
            Path from the root, without a leading slash.
        data
            The content.
        runs
            True if the file is executable.
        """
        self.folder(name.rpartition("/")[0])
        self._entry(name, stat.S_IFREG | (0o755 if runs else 0o644), data)

    def link(self, name: str, end: str) -> None:
        """Add a symbolic link.

        Parameters
        ----------
        name
            Path from the root, without a leading slash.
        end
            The target.
        """
        self.folder(name.rpartition("/")[0])
        self._entry(name, LINK, os.fsencode(end))

    def copy(self, name: str, source: Path) -> None:
        """Copy a file, a symbolic link, or a folder with its contents from the host.

        Parameters
        ----------
        name
            Path in the archive, from the root, without a leading slash.
        source
            Path on the host.
        """
        if source.is_symlink():
            self.link(name, str(source.readlink()))
        elif source.is_dir():
            self.folder(name)
            for each in sorted(source.iterdir()):
                self.copy(f"{name}/{each.name}", each)
        else:
            self.file(name, source.read_bytes(), runs=bool(source.stat().st_mode & 0o100))

    def write(self, path: Path) -> None:
        """Write the archive.

        Parameters
        ----------
        path
            Its file.
        """
        with path.open("wb") as file:
            file.writelines(self._parts)
            file.write(_entry(0, TRAILER, 0, b""))

    def _entry(self, name: str, mode: int, data: bytes) -> None:
        if name in self._names:
            return
        self._names.add(name)
        self._parts.append(_entry(len(self._names), name, mode, data))


def _entry(number: int, name: str, mode: int, data: bytes) -> bytes:
    path = os.fsencode(name) + b"\0"
    links = 2 if stat.S_ISDIR(mode) else 1
    fields = (number, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(path), 0)
    return _pad(MAGIC + b"".join(b"%08X" % field for field in fields) + path) + _pad(data)


def _pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % STEP)
