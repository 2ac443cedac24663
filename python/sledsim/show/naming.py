"""Labels of devices, and counts with nouns."""

from pathlib import Path

__all__ = ["label_of", "with_count"]


def with_count(count: int, what: str) -> str:
    """Write a number of things: ``no spares``, ``1 spare``, ``5 spares``.

    Parameters
    ----------
    count
        How many.
    what
        One of them.
    """
    if count == 0:
        return f"no {what}s"
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def label_of(device: str) -> str:
    """Return what a heading calls a device: a file without its folder and suffix.

    Parameters
    ----------
    device
        Its name in the catalogue, or the path of its file.
    """
    return Path(device).stem if device.endswith((".toml", ".yaml", ".yml", ".json")) else device
