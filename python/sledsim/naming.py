"""What a wrong name was perhaps meant to be."""

from difflib import get_close_matches
from pathlib import Path

__all__ = ["nearest_file"]


def nearest_file(path: Path) -> str:
    """Suggest, as the end of a message, a file whose name is much like that of one that is not there.

    Parameters
    ----------
    path
        The file that is not there.
    """
    if not path.parent.is_dir():
        return f", and no folder {path.parent}"
    near = get_close_matches(path.name, [entry.name for entry in path.parent.iterdir()], n=1)
    return f"; did you mean {path.parent / near[0]}?" if near else ""
