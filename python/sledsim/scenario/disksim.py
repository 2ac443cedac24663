"""Parameter files of DiskSim 4.0: drives, MEMS devices and whole systems that others have described in them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sledsim import _core
from sledsim._core import ScenarioError
from sledsim.show.arguments import require_path
from sledsim.show.faults import is_there, make_error
from sledsim.show.fitting import visible

__all__ = ["DiskSimImport", "LeftOut", "import_disksim"]


@dataclass(frozen=True)
class LeftOut:
    """A parameter that is not imported.

    Parameters
    ----------
    file, line
        Its location.
    name, value
        The parameter.
    reason
        The reason why it is not imported.
    changes_results
        True if results would be different with it; otherwise it has no effect on what is simulated.
    decides
        True if it decides results of a scenario: a run has to accept that it is missing (``accept_missing``).
    """

    file: str
    line: int
    name: str
    value: str
    reason: str
    changes_results: bool
    decides: bool


@dataclass(frozen=True, repr=False)
class DiskSimImport:
    """The device or system of a parameter file, see :func:`import_disksim`.

    Parameters
    ----------
    name
        The device's name in the file.
    device
        The device with all its values, as a scenario's ``device``.
    device_file
        Text of a device file: every value with its unit, file and line.
    scenario_file
        Text of a scenario with the device in it; ``None`` unless it was requested.
    notes
        All parameters that are not imported.
    listing
        Lines that list the parameters that change results, and the number of the others.
    """

    name: str
    device: dict[str, Any]
    device_file: str
    scenario_file: str | None
    notes: tuple[LeftOut, ...]
    listing: tuple[str, ...]

    @property
    def lost(self) -> tuple[LeftOut, ...]:
        """Parameters that are not imported and would change results."""
        return tuple(note for note in self.notes if note.changes_results)

    def __repr__(self) -> str:
        kind, values, left_out = self.device["mechanism"], len(self.device), len(self.notes)
        return (
            f"<DiskSimImport {self.name}: {kind}, {values} values; {left_out} parameters not imported, "
            f"{len(self.lost)} of which change results>"
        )


def import_disksim(path: str | Path, *, device: str | None = None, scenario: bool = False) -> DiskSimImport:
    """Read a parameter file of DiskSim 4.0.

    Parameters
    ----------
    path
        A ``.parv``, ``.diskspecs`` or other file with a device in it, or in the files that it includes.
    device
        Name of the device, if the file has several.
    scenario
        True to read the workload, the scheduler and the length of the run too.

    Returns
    -------
    DiskSimImport
        The device, files to write, and the parameters that are not imported.

    Raises
    ------
    ScenarioError
        If a file is missing or violates DiskSim's definitions, the device cannot be imported, or the file has several
        devices and none is named. The message names file and line.

    Examples
    --------
    >>> found = sledsim.scenario.import_disksim("atlas10k.parv")  # doctest: +SKIP
    >>> sledsim.run({"workload": ..., "system": {"device": found.device}})  # doctest: +SKIP
    """
    path = require_path(ScenarioError, "path", path)
    if is_there(path) and path.is_dir():
        message = "is a folder: expected a parameter file of DiskSim"
        raise make_error(ScenarioError, "unreadable", message, path="path", value=str(path), file=path)
    try:
        found = _core.import_disksim(str(path), device=device, scenario=scenario)
    except UnicodeEncodeError:
        message = "no file can have such a name"
        raise make_error(
            ScenarioError, "unreadable", message, path="path", value=visible(str(path)), file=path
        ) from None
    return DiskSimImport(
        name=found["name"],
        device=found["device"],
        device_file=found["device_toml"],
        scenario_file=found["scenario_toml"],
        notes=tuple(LeftOut(**note) for note in found["notes"]),
        listing=tuple(found["listing"]),
    )
