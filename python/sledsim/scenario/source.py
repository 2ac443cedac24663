"""The source of a document: the files that it names, and the file and line of each of its keys."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sledsim import _core
from sledsim._core import Fault, ScenarioError, SledsimError
from sledsim.scenario.drawings.loading import load_drawing
from sledsim.scenario.folders import catalog_folders
from sledsim.scenario.policy_loading import load
from sledsim.scenario.reading import Written, set_list, written
from sledsim.scenario.texts import is_document
from sledsim.show.faults import is_there, nearest_file, with_facts

__all__ = ["Source", "leaves"]


def leaves(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of nested tables by path: ``{"a": {"b": 1}}`` is ``{"a.b": 1}``.

    Parameters
    ----------
    tables
        The tables.
    """
    found: dict[str, Any] = {}
    for key, value in tables.items():
        inner = leaves(value) if value and isinstance(value, Mapping) else None
        found |= {key: value} if inner is None else {f"{key}.{path}": leaf for path, leaf in inner.items()}
    return found


@dataclass(frozen=True)
class Source:
    """The source of a document.

    Parameters
    ----------
    name
        The name in messages: the path of the file.
    folder
        The folder from which its relative paths start.
    document
        The document as the core read it.
    overridden
        Keys whose values do not come from the document.
    """

    name: str
    folder: Path
    document: _core.Document
    overridden: Collection[str] = ()

    @cached_property
    def values(self) -> dict[str, Any]:
        """The values of the document; quantities are numbers."""
        values: dict[str, Any] = self.document.values
        return values

    def scenario(self, key: str) -> "Path | Written":
        """Return the scenario at a key: the path of a file, or a table of the document.

        Parameters
        ----------
        key
            The key.
        """
        value = self.values[key]
        if isinstance(value, str):
            return self.folder / value
        folder, catalog = str(self.folder), catalog_folders()
        return self.document.part(key, base_dir=folder, catalog=catalog, policies=load, drawings=load_drawing)

    def written(self, scenario: "Path | Written", key: str) -> Written:
        """Read a scenario that a key names.

        Parameters
        ----------
        scenario
            The scenario, as :meth:`scenario` returns it.
        key
            The key.

        Raises
        ------
        ScenarioError
            If there is no such file, or the scenario is wrong.
        """
        if isinstance(scenario, Written):
            return scenario
        if is_there(scenario):
            return written(scenario)
        near = nearest_file(scenario)
        message = f": {scenario}: no such file" + (f"; did you mean {near}?" if near else "")
        fault = Fault("unreadable", message, path=key, value=self.values[key], suggestion=near)
        raise _core.error_of(ScenarioError, [self.located(fault)])

    def scenario_faults(self, key: str, settings: Sequence[str]) -> list[Fault]:
        """Return the faults of the scenario at a key.

        Parameters
        ----------
        key
            The key.
        settings
            Values that replace those of the scenario.
        """
        try:
            self.written(self.scenario(key), key).resolve(list(settings))
        except SledsimError as error:
            return [self.located(fault) for fault in error.faults]
        return []

    def device(self, name: str) -> str:
        """Return a device that a key names: the path of a file starts from the folder of the document.

        Parameters
        ----------
        name
            The value of the key.
        """
        return str(self.folder / name) if is_document(name) else name

    @contextmanager
    def locating(self) -> Iterator[None]:
        """Add the file and line of its key to each fault that an error of the block has."""
        try:
            yield
        except SledsimError as error:
            if not error.faults:
                raise
            raise _core.error_of(type(error), [self.located(fault) for fault in error.faults]) from None

    def located(self, fault: Fault) -> Fault:
        """Return a fault with the file and line, or the setting, of its key.

        Parameters
        ----------
        fault
            The fault. One of a setting that the document has in its table ``overrides`` is located there.
        """
        if fault.setting is not None and fault.setting in self._settings:
            at = self.document.located(Fault(fault.kind, path=f"overrides.{fault.setting.partition('=')[0]}"))
            return with_facts(fault, setting=at.setting, file=at.file, line=at.line)
        if fault.path and fault.path.partition(".")[0] in self.overridden:
            return fault
        return self.document.located(fault)

    @cached_property
    def _settings(self) -> list[str]:
        given = self.values.get("overrides")
        return set_list(leaves(given)) if isinstance(given, dict) else []
