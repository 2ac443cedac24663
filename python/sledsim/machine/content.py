"""Files and folders of the host to copy onto a device: their names, and checks."""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from sledsim._core import SledsimError
from sledsim.show.faults import is_there, make_error, missing_file

__all__ = ["MOST_BYTES", "by_names", "can_be_bytes", "require_plain"]

#: Maximum total size of the files, bytes: the guest holds them twice in memory at boot.
MOST_BYTES = 512 << 20
#: Maximum nesting of folders.
MOST_DEPTH = 200


def by_names(given: Sequence[str | Path]) -> dict[str, Path]:
    """Return files and folders by their names on the device.

    A given symbolic link is replaced by its target under the name of the link; links within a folder stay links.

    Parameters
    ----------
    given
        Paths of the files and folders.

    Raises
    ------
    SledsimError
        If a path does not exist, has no name, has the name of another or is neither a file nor a folder; or if they are
        too large in total.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise make_error(SledsimError, "wrong-type", path="files", value=given, allowed="a list of paths")
    named: dict[str, Path] = {}
    total = 0
    for each in map(_path, given):
        if not is_there(each):
            raise missing_file(SledsimError, each)
        end = each.resolve()
        name = end.name if each.name in ("", "..") else each.name
        if not name:
            message = "a folder without a name can't be copied to a device: give the files in it"
            raise make_error(SledsimError, "misfit", message, path="files", value=str(each), file=each)
        if name in named:
            message = f"{named[name]} has the name {name} on the device, too: rename one of them"
            raise make_error(SledsimError, "conflict", message, path="files", value=name, file=each)
        named[name] = end
        for path, size_bytes in _sizes(end):
            total += size_bytes
            if total > MOST_BYTES:
                message = f"the files up to this one exceed {MOST_BYTES:,} bytes, the limit of a machine: copy fewer"
                raise make_error(SledsimError, "out-of-range", message, path="files", value=str(path), file=path)
    return named


def require_plain(given: str | Path) -> None:
    """Raise if a path is not a regular file, or the file is too large.

    Parameters
    ----------
    given
        Path of the file.

    Raises
    ------
    SledsimError
        If it is not a regular file or too large.
    """
    path = _path(given, "job")
    if path.is_dir():
        raise make_error(SledsimError, "unreadable", "a folder, not a file", value=str(path), file=path)
    by_names([path])


def can_be_bytes(text: str) -> bool:
    """Return true if a text can be encoded as an argument of a program; unpaired surrogates cannot.

    Parameters
    ----------
    text
        The text.
    """
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def _path(given: object, path: str = "files") -> Path:
    if not isinstance(given, str | Path):
        raise make_error(SledsimError, "wrong-type", path=path, value=given, allowed="the path of a file")
    return Path(given)


def _sizes(path: Path, depth: int = 0) -> Iterator[tuple[Path, int]]:
    """Yield the files at a path with their sizes; raise for anything but files, folders and links."""
    found = path.lstat()
    if depth > MOST_DEPTH:
        message = f"more than {MOST_DEPTH} levels of folders: use fewer"
        raise make_error(SledsimError, "out-of-range", message, path="files", value=str(path), file=path)
    if stat.S_ISDIR(found.st_mode):
        for each in path.iterdir():
            yield from _sizes(each, depth + 1)
    elif stat.S_ISREG(found.st_mode):
        yield path, found.st_size
    elif not stat.S_ISLNK(found.st_mode):
        message = "not a regular file, folder or link: it can't be copied to a device"
        raise make_error(SledsimError, "unreadable", message, path="files", value=str(path), file=path)
