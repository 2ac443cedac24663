"""Atomic writes of files: a file is complete or unchanged, even if the writer is killed."""

import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sledsim._core import SledsimError
from sledsim.show.faults import require_plain

if sys.platform != "win32":
    import fcntl

__all__ = [
    "UNFINISHED",
    "atomic_write",
    "files_at_once",
    "remove_abandoned",
    "unfinished_files",
    "unwritable",
    "write_atomically",
]

#: Ending of the temporary name of a file that is being written.
UNFINISHED = ".unfinished"

# Size of the trial file of `unwritable`, larger than any part of a store.
_TRIED_BYTES = 1 << 20


@contextmanager
def atomic_write(target: Path, *, durable: bool = False) -> Iterator[Path]:
    """Write a file under a temporary name, then rename it to the target.

    The temporary file is locked until then, so that other processes can distinguish it from that of a killed writer.

    Parameters
    ----------
    target
        The file. If it is a symbolic link, the file that it names is replaced.
    durable
        Sync the file and its folder (fsync) before returning. Otherwise, first remove temporary files of killed writers
        from the folder.

    Yields
    ------
    Path
        The temporary file. Its suffix does not depend on its content.

    Raises
    ------
    SledsimError
        If the target exists and is not a regular file; nothing is written.
    """
    require_plain(SledsimError, target)
    target = Path(os.path.realpath(target))
    if not durable:
        remove_abandoned(target.parent)
    unfinished = _temporary_path(target.parent)
    with _lock(unfinished):
        try:
            yield unfinished
            if durable:
                _sync(unfinished)
            unfinished.replace(target)
            if durable:
                _sync(target.parent)
        finally:
            unfinished.unlink(missing_ok=True)


def write_atomically(target: Path, content: str | bytes, *, durable: bool = False) -> None:
    """Write a file with :func:`atomic_write`.

    Parameters
    ----------
    target
        The file.
    content
        A text, written as UTF-8, or bytes.
    durable
        As for :func:`atomic_write`.
    """
    with atomic_write(target, durable=durable) as unfinished:
        unfinished.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def unfinished_files(folder: Path) -> list[Path]:
    """Return the temporary files of a folder, whether or not their writers are alive.

    Parameters
    ----------
    folder
        The folder.
    """
    return list(folder.glob(f".sledsim-*{UNFINISHED}"))


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files whose writers were killed: those that no process has locked.

    Parameters
    ----------
    folder
        The folder.
    """
    if sys.platform == "win32":
        return
    for path in unfinished_files(folder):
        # The file may have been renamed since, or belong to another user.
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(descriptor)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Create a file and keep it locked; on Windows, where an open file cannot be renamed, do nothing."""
    if sys.platform == "win32":
        yield
        return
    with path.open("xb") as file:
        # Some network file systems have no locks.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def files_at_once() -> int:
    """Return the maximum number of files for one query: a quarter of the file descriptors left, at least 1."""
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
    """Return the operating system's reason why no file can be written in a folder; ``None`` if one can.

    For libraries that report errors as text: a trial write gets the reason again.

    Parameters
    ----------
    folder
        The folder.
    size
        Bytes of the trial file.
    """
    tried = _temporary_path(folder)
    try:
        tried.write_bytes(bytes(size))
        _sync(tried)
    except OSError as error:
        return error.strerror
    finally:
        tried.unlink(missing_ok=True)
    return None


def _temporary_path(folder: Path) -> Path:
    return folder / f".sledsim-{uuid.uuid4().hex}{UNFINISHED}"


def _sync(path: Path) -> None:
    """Flush the content of a file, or the entries of a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
