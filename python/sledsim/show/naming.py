"""Labels of devices, and counts with nouns."""

from pathlib import Path

__all__ = ["label_of", "with_count"]


def with_count(count: int, what: str) -> str:
    """Write a count with a noun: ``no spares``, ``1 spare``, ``5 spares``.

    Parameters
    ----------
    count
        The count.
    what
        The noun in the singular.
    """
    if count == 0:
        return f"no {what}s"
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def label_of(device: str) -> str:
    """Return the name of a device in headings: a file without its folder and suffix.

    Parameters
    ----------
    device
        Its name in the catalogue, or the path of its file.
    """
    return Path(device).stem if device.endswith((".toml", ".yaml", ".yml", ".json")) else device
