"""Drawings: what a designer chooses of a MEMS device, and the relations that make the device of it."""

from pathlib import Path
from typing import Any

__all__ = ["drawn"]


def drawn(written: Any, folder: Path) -> dict[str, Any]:
    """Make the device of a drawing that stands in a scenario.

    Parameters
    ----------
    written
        What the scenario says of the drawing.
    folder
        The folder from which its relative paths start.
    """
    # A drawing is read as documents are, which may have scenarios in them; and few scenarios have drawings.
    from sledsim.scenario.drawings.device import device_of

    return device_of(written, folder)
