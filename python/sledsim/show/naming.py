"""Names: what a wrong one was perhaps meant to be, and what to call a device."""

from collections.abc import Iterable
from pathlib import Path

from sledsim.show.fitting import visible

__all__ = ["did_you_mean", "label_of", "nearest_file"]


def did_you_mean(given: str, known: Iterable[str], listed: str | None = None) -> str:
    """Suggest, as the end of a message, the name that was perhaps meant, and list those there are.

    Parameters
    ----------
    given
        The name that is not known.
    known
        Those that are.
    listed
        What is said of those there are, where the list of all would fill the screen.
    """
    from sledsim._core import nearest

    names = list(known)
    near = nearest(given, names)
    return (f"; did you mean {near}?" if near else "") + f" ({listed or 'known: ' + ', '.join(names)})"


def nearest_file(path: Path) -> str:
    """Suggest, as the end of a message, a file whose name is much like that of one that is not there.

    Parameters
    ----------
    path
        The file that is not there.
    """
    if not path.parent.is_dir():
        return f", and no folder {path.parent}"
    from sledsim._core import nearest

    near = nearest(visible(path.name), [visible(entry.name) for entry in path.parent.iterdir()])
    return f"; did you mean {path.parent / near}?" if near else ""


def label_of(device: str) -> str:
    """Return what a heading calls a device: a file without its folder and suffix.

    Parameters
    ----------
    device
        Its name in the catalogue, or the path of its file.
    """
    return Path(device).stem if device.endswith(".toml") else device
