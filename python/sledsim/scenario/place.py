"""Where a document stands: what its keys name is found from there, and its faults are told with their place in it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sledsim import _core
from sledsim._core import Fault, ScenarioError, SledsimError
from sledsim.scenario.drawings import drawn
from sledsim.scenario.folders import catalog_folders
from sledsim.scenario.policy_loading import load
from sledsim.scenario.reading import Resolved, Written, set_list, written
from sledsim.scenario.texts import is_document
from sledsim.show.faults import is_there, nearest_file, replaced

__all__ = ["Place", "Replaced", "settings_of"]

#: Values that replace those of a scenario, by path: in quotes, or as nested tables.
Replaced = dict[str, Any]


def settings_of(replaced: Replaced) -> list[str]:
    """Return what a document's ``overrides`` says as settings.

    Parameters
    ----------
    replaced
        Its table.
    """
    return set_list(_leaves(replaced))


def _leaves(tables: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in tables.items():
        inner = _leaves(value) if value and isinstance(value, Mapping) else None
        found |= {key: value} if inner is None else {f"{key}.{path}": leaf for path, leaf in inner.items()}
    return found


@dataclass(frozen=True)
class Place:
    """Where a document stands.

    Parameters
    ----------
    name
        What messages call it: its file.
    folder
        The folder that its paths start from.
    """

    name: str
    folder: Path
    _document: _core.Document

    @property
    def values(self) -> dict[str, Any]:
        """What the document says, quantities as numbers."""
        values: dict[str, Any] = self._document.values
        return values

    def named(self, scenario: str | Mapping[str, Any], key: str) -> "Path | Written":
        """Return a scenario that a key names, or has as a table.

        Parameters
        ----------
        scenario
            What the key says.
        key
            The key.
        """
        if isinstance(scenario, str):
            return self.folder / scenario
        folder, catalog = str(self.folder), catalog_folders()
        return self._document.part(key, base_dir=folder, catalog=catalog, policies=load, drawings=drawn)

    def written(self, scenario: "Path | Written", key: str) -> Written:
        """Read a scenario that a key names.

        Parameters
        ----------
        scenario
            What the key names.
        key
            The key.

        Raises
        ------
        ScenarioError
            Where there is no such file; where it is wrong.
        """
        if isinstance(scenario, Written):
            return scenario
        if is_there(scenario):
            return written(scenario)
        near = nearest_file(scenario)
        says = f": {scenario}: no such file" + (f"; did you mean {near}?" if near else "")
        fault = Fault("unreadable", says, path=key, value=self.values[key], suggestion=near)
        raise _core.error_of(ScenarioError, [self.located(fault)])

    def resolved(
        self, scenario: str | Mapping[str, Any], key: str, settings: Sequence[str]
    ) -> tuple[Resolved | None, list[Fault]]:
        """Resolve a scenario that a key names, or has as a table, or say what is wrong with it.

        Parameters
        ----------
        scenario
            What the key says.
        key
            The key.
        settings
            Values that replace those of the scenario.
        """
        try:
            return self.written(self.named(scenario, key), key).resolve(list(settings)), []
        except SledsimError as error:
            return None, [self.located(fault) for fault in error.faults]

    def device(self, name: str) -> str:
        """Return a device that a key names: of the catalogue as it is, a file from the document's folder.

        Parameters
        ----------
        name
            What the key says.
        """
        return str(self.folder / name) if is_document(name) else name

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Have faults that have no place yet named with their file and line in this document."""
        try:
            yield
        except SledsimError as error:
            if not error.faults:
                raise
            raise _core.error_of(type(error), [self.located(fault) for fault in error.faults]) from None

    def located(self, fault: Fault) -> Fault:
        """Return a fault with the setting, or the file and line, of its key in this document or its ``overrides``."""
        if fault.setting is not None and fault.setting in self._own_settings:
            at = self._document.located(Fault(fault.kind, path=f"overrides.{fault.setting.partition('=')[0]}"))
            return replaced(fault, setting=at.setting, file=at.file, line=at.line)
        return self._document.located(fault)

    @cached_property
    def _own_settings(self) -> list[str]:
        given = self.values.get("overrides")
        return settings_of(given) if isinstance(given, dict) else []
