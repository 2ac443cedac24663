"""Files that are there whole or not at all, whenever their writer is killed."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["whole", "write_whole"]


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """Give a file another name until it has been written; then it takes the place of what was there.

    Parameters
    ----------
    target
        The file.

    Yields
    ------
    Path
        Where to write, of the same ending.
    """
    # What a link names is replaced, not the link.
    target = Path(os.path.realpath(target))
    unfinished = target.with_name(f".sledsim-{uuid.uuid4().hex}{target.suffix}")
    try:
        yield unfinished
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def write_whole(target: Path, content: str | bytes) -> None:
    """Write a file.

    Parameters
    ----------
    target
        The file.
    content
        A text, or bytes.
    """
    with whole(target) as unfinished:
        unfinished.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
