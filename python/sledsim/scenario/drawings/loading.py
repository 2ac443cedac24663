"""Loads the device of a drawing that a scenario contains."""

from pathlib import Path
from typing import Any

__all__ = ["load_drawing"]


def load_drawing(drawing: Any, folder: Path) -> dict[str, Any]:
    """Return the device of a drawing, as a scenario has it.

    Parameters
    ----------
    drawing
        The value of the scenario's key ``drawing``.
    folder
        The folder from which its relative paths start.
    """
    # A drawing is read as documents are, which may contain scenarios. Few scenarios have drawings.
    from sledsim.scenario.drawings.device import device_of

    return device_of(drawing, folder)
