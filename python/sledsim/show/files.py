"""Files that are there whole or not at all, whenever their writer is killed."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sledsim._core import SledsimError
from sledsim.show.faults import require_plain

__all__ = ["UNFINISHED", "files_at_once", "unwritable", "whole", "write_whole"]

#: Ending of a file that is still being written; what ends so is nobody's result.
UNFINISHED = ".unfinished"

# As much is written to hear from the system why nothing could be: more than any part of a store.
_TRIED_BYTES = 1 << 20


@contextmanager
def whole(target: Path, *, lasting: bool = False) -> Iterator[Path]:
    """Give a file another name until it has been written; then it takes the place of what was there.

    Parameters
    ----------
    target
        The file.
    lasting
        Wait until it has reached the disk, as has its name in the folder.

    Yields
    ------
    Path
        Where to write. Its ending says nothing of what is in it.

    Raises
    ------
    SledsimError
        Where what is there is no plain file; nothing is written then.
    """
    require_plain(SledsimError, target)
    # What a link names is replaced, not the link.
    target = Path(os.path.realpath(target))
    unfinished = _unfinished(target.parent)
    try:
        yield unfinished
        if lasting:
            _flush(unfinished)
        unfinished.replace(target)
        if lasting:
            _flush(target.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def write_whole(target: Path, content: str | bytes, *, lasting: bool = False) -> None:
    """Write a file.

    Parameters
    ----------
    target
        The file.
    content
        A text, or bytes.
    lasting
        As for :func:`whole`.
    """
    with whole(target, lasting=lasting) as unfinished:
        unfinished.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def files_at_once() -> int:
    """Return how many files may be open together for one piece of work, at least 1.

    A quarter of what the system leaves this process: another piece may be at work beside it, on as many.
    """
    try:
        import resource
    except ImportError:
        return 1 << 20
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return 1 << 20
    opened = sum(1 for _ in Path("/dev/fd").iterdir())
    return max(1, (soft - opened) // 4)


def unwritable(folder: Path, size: int = _TRIED_BYTES) -> str | None:
    """Say in the system's words why nothing can be written in a folder; ``None`` where something can.

    For libraries whose errors are texts: what the system told them is asked anew.

    Parameters
    ----------
    folder
        The folder.
    size
        How many bytes are tried.
    """
    tried = _unfinished(folder)
    try:
        tried.write_bytes(bytes(size))
        _flush(tried)
    except OSError as error:
        return error.strerror
    finally:
        tried.unlink(missing_ok=True)
    return None


def _unfinished(folder: Path) -> Path:
    return folder / f".sledsim-{uuid.uuid4().hex}{UNFINISHED}"


def _flush(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, have reached the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
