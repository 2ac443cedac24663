"""Rules of tables: what keys have to say together, beside what each may be by itself.

A rule is a function whose parameters have the names of the keys that it looks at. It is asked wherever these are right
by themselves, whatever else is wrong: so everything that is wrong with a document is told at once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from inspect import signature
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from sledsim import _core
from sledsim._core import Fault, ScenarioError
from sledsim.show.fitting import visible

__all__ = ["Rule", "Wrong", "gathered", "judged", "raised", "right", "settled", "told"]

#: Takes keys, and yields what is wrong with them together, each fault with a path from the table on.
Rule = Callable[..., Iterable[Fault]]

#: Whole numbers from here on have more digits than a message needs.
LONGEST = 10**18


class Wrong(ValueError):  # noqa: N818  a finding, which no user meets as an error
    """What a rule of a table finds wrong with its keys.

    Parameters
    ----------
    *faults
        Each with a path from the table on.
    refused
        Types and ranges besides, as pydantic tells them; what a schema says of them is better.
    """

    def __init__(self, *faults: Fault, refused: ValidationError | None = None) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = faults
        self.refused = refused


class _WrongItselfError(Exception):
    """A rule looks at a key that is wrong by itself, so it has nothing to say."""


class _Partly:
    """A table within another one, of which some keys are wrong by themselves."""

    def __init__(self, keys: Mapping[str, Any]) -> None:
        vars(self).update(keys)

    def __getattr__(self, name: str) -> Any:
        raise _WrongItselfError(name)


def judged(rules: Iterable[Rule], keys: Mapping[str, Any]) -> list[Fault]:
    """Return what rules find wrong.

    Parameters
    ----------
    rules
        The rules.
    keys
        The keys of a table that are right by themselves.
    """
    found: list[Fault] = []
    for rule in rules:
        if _keys(rule) <= keys.keys():
            with suppress(_WrongItselfError):
                found += rule(**{key: keys[key] for key in _keys(rule)})
    return found


@cache
def _keys(rule: Rule) -> frozenset[str]:
    return frozenset(signature(rule).parameters)


def right(kind: type[BaseModel], keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a table that are right by themselves, defaults among them.

    Parameters
    ----------
    kind
        Its class.
    keys
        What is given.
    """
    found: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        given = [key for key in (field.alias or name, name) if key in keys]
        if not given:
            if not field.is_required():
                found[name] = field.get_default(call_default_factory=True)
            continue
        value = keys[given[0]]
        try:
            found[name] = _reader(kind, name).validate_python(value)
        except ValidationError:
            part = _part(field, value)
            if part is not None:
                found[name] = part
    return found


def _part(field: FieldInfo, value: Any) -> Any:
    """Return what is right of a table, or of each table of a list; ``None`` of anything else."""
    for marker in field.metadata:
        value = getattr(marker, "listed", lambda given: given)(value)
    kinds = get_args(field.annotation) or (field.annotation,)
    inner = next((each for each in kinds if isinstance(each, type) and issubclass(each, BaseModel)), None)
    if inner is None:
        return None
    if get_origin(field.annotation) is list:
        return [_Partly(right(inner, each) if isinstance(each, Mapping) else {}) for each in value]
    return _Partly(right(inner, value)) if isinstance(value, Mapping) else None


@cache
def _reader(kind: type[BaseModel], name: str) -> TypeAdapter[Any]:
    field = kind.model_fields[name]
    annotation: Any = field.annotation
    return TypeAdapter(Annotated[annotation, *field.metadata] if field.metadata else annotation)


#: What a number was to be, by pydantic's name of how it is not.
EXPECTED = {
    "finite_number": "a finite number",
    "less_than": "a number below {lt:g}",
    "less_than_equal": "a number up to {le:g}",
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "a number from {ge:g} up",
}


def told(error: Wrong, found: list[Fault]) -> list[Fault]:
    """Return what is wrong with a table, but for what its schema has found, and says better.

    Parameters
    ----------
    error
        What is wrong.
    found
        What its schema has found.
    """
    paths = [str(fault.path) for fault in found]
    return [fault for fault in _told(error, is_told=bool(found)) if str(fault.path) not in paths]


def _told(error: Wrong, *, is_told: bool) -> Iterator[Fault]:
    for each in error.refused.errors(include_url=False) if error.refused else ():
        path = ".".join(map(str, each["loc"]))
        cause = each.get("ctx", {}).get("error")
        if isinstance(cause, Wrong):
            yield from (fault.within(path) if path else fault for fault in _told(cause, is_told=is_told))
        elif not is_told:
            bound = EXPECTED.get(each["type"], "").format(**each.get("ctx", {}))
            given, says = each["input"], f": {cause or (bound and f'expected {bound}') or each['msg']}"
            given = visible(given) if isinstance(given, str) else given
            shown = given if isinstance(given, str) or (isinstance(given, int) and abs(given) < LONGEST) else None
            what = f" = {given}" if isinstance(given, float) else ""
            yield Fault("wrong-type", what + says, path=path, value=shown)
    yield from error.faults


@contextmanager
def gathered(faults: list[Fault], prefix: str = "") -> Iterator[None]:
    """Put what is wrong into a list instead of raising it.

    Parameters
    ----------
    faults
        The list.
    prefix
        Path of the table that it is within.
    """
    try:
        yield
    except Wrong as error:
        faults += [fault.within(prefix) if prefix else fault for fault in told(error, [])]


def settled(faults: list[Fault]) -> None:
    """Raise what was gathered, if anything was."""
    if faults:
        raise Wrong(*faults)


@contextmanager
def raised(about: object = "") -> Iterator[None]:
    """Raise what a rule finds wrong as the error that it is to a program.

    Parameters
    ----------
    about
        What it is about.
    """
    try:
        yield
    except Wrong as error:
        name = visible(about) if isinstance(about, str) else ""
        faults = [fault.about(name) if name else fault for fault in told(error, [])]
        raise _core.error_of(ScenarioError, faults) from None
