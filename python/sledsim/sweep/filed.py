"""What sweeps and searches have in common: a base scenario with settings on top, a name, and perhaps a file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self, cast

from sledsim._core import Fault, ScenarioError
from sledsim.scenario.documents import BasedOnScenario, Read, own_sets, read_varying
from sledsim.scenario.reading import ScenarioLike, Sets, Written, set_list, written
from sledsim.show.faults import wrong
from sledsim.sweep.axes import Assignment
from sledsim.sweep.checking import Checks

__all__ = ["NAME_SIGNS", "Filed", "is_name"]

#: Signs that a name may have beside letters and digits: it becomes part of a file's.
NAME_SIGNS = "-_. +"


def is_name(name: str) -> bool:
    """Tell whether a sweep can have a name.

    Parameters
    ----------
    name
        The name.
    """
    return bool(name.strip()) and all(sign.isalnum() or sign in NAME_SIGNS for sign in name)


class Filed:
    """What varies a base scenario, from a file or from Python: a dataclass with these fields, and others."""

    file: ClassVar[type[BasedOnScenario]]
    scenario: ScenarioLike | Written
    overrides: Sets
    name: str
    _read: Read[Any] | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "overrides", tuple(set_list(self.overrides)))

    @classmethod
    def load(
        cls,
        source: "Self | Mapping[str, Any] | Path | str",
        *,
        overrides: Sets = (),
    ) -> Self:
        """Read one.

        Parameters
        ----------
        source
            A file (TOML, YAML or JSON), a dictionary with the keys of one, or what Python made of one.
        overrides
            Values that replace those of the base scenario, after those of the file; and of the file's own keys,
            with ``sweep.`` or ``search.`` in front: ``sweep.replications=3``.

        Raises
        ------
        ScenarioError
            Where it is wrong: all that is, with file, line, key, value and what is allowed.
        """
        if isinstance(source, cls):
            own, more = own_sets(overrides, cls.file)
            if own:
                says = f"{own[0]}: a {cls.file.what} of Python's has its keys already; make it with others"
                raise wrong(ScenarioError, "conflict", says)
            return source.replacing(more) if more else source
        found, settings = read_varying(cls.file, cast("Mapping[str, Any] | Path | str", source), overrides)
        keys = cls._keys_of(found.table)
        # Without a name it is called as its file is.
        keys["name"] = keys["name"] or _name_of(found.name, cls.file.what)
        with found.blamed():
            keys |= {"scenario": found.scenario(), "overrides": settings, "_read": found}
            return cls(**keys)

    @classmethod
    def _keys_of(cls, table: Any) -> dict[str, Any]:
        """Return what a file says besides the scenario and settings, as the class takes it."""
        raise NotImplementedError

    def replacing(self, sets: Sequence[str]) -> Self:
        """Return the same with more values of its base scenario replaced."""
        replaced: Self = replace(cast("Any", self), overrides=(*set_list(self.overrides), *sets))
        return replaced

    @cached_property
    def base(self) -> Written:
        """The base scenario as written."""
        if self._read is not None and isinstance(self.scenario, Path):
            return self._read.written(self.scenario, "scenario")
        return self.scenario if isinstance(self.scenario, Written) else written(self.scenario)

    def _checks(self, settings: Callable[[Assignment], list[str]], key: Callable[[str, int | None], str]) -> Checks:
        return Checks(self.base, settings, key, self._located)

    def _located(self, fault: Fault) -> Fault:
        """Return a fault with the place in the file, if there is one, of the key or the setting that it comes from."""
        return fault if self._read is None else self._read.located(fault)


def _name_of(file: str, what: str) -> str:
    """Return the name of what a file says none for: the file's own, where it can be one."""
    name = Path(file).stem
    if not is_name(name):
        meant = "".join(sign for sign in name if sign.isalnum() or sign in NAME_SIGNS).strip() or what
        says = (
            f"the {what} is called as its file, {name!r}, and a name has letters, digits and any of {NAME_SIGNS!r}: "
            f'add name = "{meant}" to it, or rename it'
        )
        raise wrong(ScenarioError, "notation", says, suggestion=meant, file=file)
    return name
