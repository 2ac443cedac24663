"""What to call a device."""

from pathlib import Path

__all__ = ["label_of"]


def label_of(device: str) -> str:
    """Return what a heading calls a device: a file without its folder and suffix.

    Parameters
    ----------
    device
        Its name in the catalogue, or the path of its file.
    """
    return Path(device).stem if device.endswith((".toml", ".yaml", ".yml", ".json")) else device
