"""Loads the device of a drawing that a scenario contains, and questions about the drawing."""

from pathlib import Path
from typing import Any

__all__ = ["load_drawing", "load_questions"]


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


def load_questions(drawing: Any, folder: Path) -> list[str]:
    """Return a note for each value of a drawing that no known device has.

    Parameters
    ----------
    drawing, folder
        As for :func:`load_drawing`.
    """
    from sledsim.scenario.drawings.device import drawing_questions

    return drawing_questions(drawing, folder)
