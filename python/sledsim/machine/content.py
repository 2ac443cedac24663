"""Files and folders of this machine that are to lie on a device: their names, and whether they can lie there."""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from sledsim._core import SledsimError
from sledsim.show.faults import is_there, make_error, missing_file

__all__ = ["MOST_BYTES", "by_names", "can_be_bytes", "require_plain"]

#: The most that may lie on the device at first, bytes: the guest has it in memory twice when it boots.
MOST_BYTES = 512 << 20
#: How deep folders may lie in one another.
MOST_DEPTH = 200


def by_names(given: Sequence[str | Path]) -> dict[str, Path]:
    """Return files and folders by the names that they get on the device.

    What is a link to one has the link's name, and holds what the other holds; links within a folder stay links.

    Parameters
    ----------
    given
        Their paths.

    Raises
    ------
    SledsimError
        Where one is not there, has no name, has the name of another or is neither file nor folder; where they are too
        large.
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
            says = "a folder without a name can't lie on a device: give those in it"
            raise make_error(SledsimError, "misfit", says, path="files", value=str(each), file=each)
        if name in named:
            says = f"another is called {name} on the device as well: {named[name]}"
            raise make_error(SledsimError, "conflict", says, path="files", value=name, file=each)
        named[name] = end
        for path, size_bytes in _sizes(end):
            total += size_bytes
            if total > MOST_BYTES:
                says = (
                    f"with it there are more than {MOST_BYTES:,} bytes of files, which is what a machine has room for"
                )
                raise make_error(SledsimError, "out-of-range", says, path="files", value=str(path), file=path)
    return named


def require_plain(given: str | Path) -> None:
    """Raise for a file that is no plain file, or is too large.

    Parameters
    ----------
    given
        Its path.

    Raises
    ------
    SledsimError
        Where that is so.
    """
    path = _path(given, "job")
    if path.is_dir():
        raise make_error(SledsimError, "unreadable", "a folder, not a file", value=str(path), file=path)
    by_names([path])


def can_be_bytes(text: str) -> bool:
    """Return true if a text can be made into the bytes that a program is given: lone surrogates can't.

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
    """Yield a file, or all in a folder, with their sizes; refuse what is neither that nor a link."""
    found = path.lstat()
    if depth > MOST_DEPTH:
        says = f"more than {MOST_DEPTH} folders lie in one another there"
        raise make_error(SledsimError, "out-of-range", says, path="files", value=str(path), file=path)
    if stat.S_ISDIR(found.st_mode):
        for each in path.iterdir():
            yield from _sizes(each, depth + 1)
    elif stat.S_ISREG(found.st_mode):
        yield path, found.st_size
    elif not stat.S_ISLNK(found.st_mode):
        says = "no plain file, folder or link: it can't lie on a device"
        raise make_error(SledsimError, "unreadable", says, path="files", value=str(path), file=path)
