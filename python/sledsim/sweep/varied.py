"""The common parts of sweeps and searches: name, base scenario, and checks of its settings."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field

from sledsim._core import Fault
from sledsim.scenario.documents import BasedOnScenario
from sledsim.scenario.reading import Sets, Setting
from sledsim.scenario.tables import KeysError
from sledsim.show.faults import make_error
from sledsim.sweep.axes import Assignment
from sledsim.sweep.checking import Checks

__all__ = ["Count", "Name", "Seed", "VariedScenario"]

#: Characters allowed in a name besides letters and digits, as it becomes part of a file name.
NAME_SIGNS = "-_. +"


def _is_name(name: str) -> bool:
    return bool(name.strip()) and all(sign.isalnum() or sign in NAME_SIGNS for sign in name)


def _check_name(name: str) -> str:
    if not _is_name(name):
        raise KeysError(Fault("wrong-type", f": expected letters, digits and any of {NAME_SIGNS!r}", value=name))
    return name


Name = Annotated[str, AfterValidator(_check_name)]
Count = Annotated[int, Field(strict=True, ge=1)]
Seed = Annotated[int, Field(strict=True, ge=0)]


class VariedScenario(BasedOnScenario):
    """A document that runs variants of a scenario. It also has a key ``name``."""

    _checks_itself = True

    @classmethod
    def load(cls, source: Self | Mapping[str, Any] | Path | str, *, overrides: Sets = (), **instead: Any) -> Self:
        """Read a document and validate it, except for the varied values, which :meth:`check` validates.

        Parameters
        ----------
        source
            A file (TOML, YAML or JSON), a dictionary with the keys of one, or an instance.
        overrides
            Values that replace those of the base scenario, after those of the file; and keys of the file with the
            prefix ``sweep.`` or ``search.``: ``sweep.replications=3``.
        **instead
            Keys that replace those of the file.

        Raises
        ------
        ScenarioError
            If the document is invalid. The error lists all faults, with file, line, key, value and allowed values.
        """
        loaded = super().load(source, overrides=overrides, **instead)
        if loaded._source is None or "name" in loaded.model_fields_set:
            return loaded
        return loaded.model_copy(update={"name": _name_of(loaded._source.name, cls.what)})

    def _checks(self, settings: Callable[[Assignment], list[Setting]], key: Callable[[str, int | None], str]) -> Checks:
        return Checks(self.base, settings, key, self._located)

    def _located(self, fault: Fault) -> Fault:
        """Return a fault with the file and line, or the setting, of its key, if it was read from a file."""
        return fault if self._source is None else self._source.located(fault)


def _name_of(file: str, what: str) -> str:
    """Return the default name of a document, that of its file, and raise if it is invalid."""
    name = Path(file).stem
    if not _is_name(name):
        meant = "".join(sign for sign in name if sign.isalnum() or sign in NAME_SIGNS).strip() or what
        message = (
            f"the {what} has the name of its file, {name!r}; expected letters, digits and any of {NAME_SIGNS!r}: "
            f'add name = "{meant}" to it, or rename it'
        )
        raise make_error(BasedOnScenario.error, "notation", message, suggestion=meant, file=file)
    return name
