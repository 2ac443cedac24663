"""Typed documents: sweeps, searches, enclosures and others are read as scenarios are, and errors are faults.

A document is a class with its keys. The core reads the text, with ``base`` and settings, and checks it against the
class's schema; what takes several keys to see, the class's own rules say.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import core_schema

from sledsim import _core
from sledsim._core import Fault, ScenarioError, SledsimError
from sledsim.scenario.reading import Sets, Written, from_here, plain_value, set_list, written_table
from sledsim.scenario.texts import Text, text_of
from sledsim.show.fitting import visible

__all__ = [
    "BasedOnScenario",
    "Document",
    "OneOrMore",
    "Read",
    "Replaced",
    "Table",
    "Wrong",
    "faults_of",
    "gathered",
    "has_key",
    "made",
    "own_sets",
    "raised",
    "read",
    "settings_of",
    "settled",
]

#: Whole numbers from here on have more digits than a message needs.
LONGEST = 10**18

# Whether a table is being made as part of another one, which then reports what is wrong.
_inside: ContextVar[bool] = ContextVar("_inside", default=False)


class Wrong(ValueError):  # noqa: N818  a finding, which no user meets as an error
    """What a rule of a table finds wrong with its keys.

    Parameters
    ----------
    *faults
        Each with a path from the table on.
    """

    def __init__(self, *faults: Fault) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = faults


class Table(BaseModel):
    """A table of a document: unknown keys, wrong types and values out of range are faults, all of them at once."""

    # Many tables are declared and few are read: what checks one is built when it is first used.
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), defer_build=True)

    error: ClassVar[type[SledsimError]] = ScenarioError
    """What is raised."""

    def __init__(self, *values: Any, **keys: Any) -> None:
        keys |= dict(zip(type(self).model_fields, values, strict=False))
        nested = _inside.get()
        token = _inside.set(True)
        try:
            super().__init__(**keys)
        except ValidationError as error:
            if nested:
                raise
            faults = faults_of(_described(type(self)), keys, error)
            raise self._error([fault.about(type(self).__name__) for fault in faults]) from None
        finally:
            _inside.reset(token)

    @classmethod
    def _error(cls, faults: list[Fault]) -> SledsimError:
        return _core.error_of(cls.error, faults)

    def to_dict(self) -> dict[str, Any]:
        """Return the keys that were given, as plain dictionaries, numbers and texts."""
        return self.model_dump(mode="json", exclude_unset=True, by_alias=True)


class Document(Table):
    """A document of its own: the table at its top."""

    what: ClassVar[str]
    """What messages call it."""
    example: ClassVar[str]
    """What one has at least."""
    own: ClassVar[str] = ""
    """What begins the settings that are of its own keys rather than of its scenario's."""

    @classmethod
    def file_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of a file: as of the class, with ``base``, and quantities as texts with a unit."""
        from sledsim.scenario.described import Described

        schema: dict[str, Any] = _with_texts(cls.model_json_schema(schema_generator=Described))
        base = f"A {cls.what} whose values stand where this one gives none: a file, from the folder of this one."
        schema["properties"]["base"] = {"type": "string", "description": base}
        # What is required may stand in the document below.
        schema.pop("required", None)
        return schema


def _with_texts(schema: Any) -> Any:
    """Let every number also be a text, which the reader takes if it is a quantity."""
    if isinstance(schema, list):
        return [_with_texts(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    texts = {"type": [kind, "string"]} if kind in ("number", "integer") else {}
    return {key: _with_texts(value) for key, value in schema.items()} | texts


#: Values that replace those of a scenario, by path: in quotes, or as nested tables.
Replaced = dict[str, Any]


def settings_of(replaced: Replaced) -> list[str]:
    """Return what a document's ``set`` says as settings.

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


class BasedOnScenario(Document):
    """What documents have in common that ask something of a scenario."""

    scenario: str | dict[str, Any]
    """The scenario: the path of a file, or a table."""
    set: Replaced = Field(default_factory=dict)
    """Values that replace those of the scenario, by path."""


T = TypeVar("T", bound=Document)


@dataclass(frozen=True)
class Read(Generic[T]):
    """A document that was read.

    Parameters
    ----------
    table
        Its keys.
    name
        What messages call it: its file.
    folder
        The folder that its paths start from.
    """

    table: T
    name: str
    folder: Path
    _document: _core.Document

    def scenario(self) -> "Path | Written":
        """Return the scenario that the document names, or has as a table, from wherever it is read."""
        return self.named(getattr(self.table, "scenario", ""), "scenario")

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
        return written_table(scenario, f"{self.name}: {key}", str(self.folder))

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Have faults that have no place yet named with their file and line in this document."""
        try:
            yield
        except SledsimError as error:
            if not error.faults:
                raise
            raise _core.error_of(type(error), [self._document.located(fault) for fault in error.faults]) from None


def read(kind: type[T], source: Mapping[str, Any] | Path | str, sets: Sets = ()) -> Read[T]:
    """Read a document.

    Parameters
    ----------
    kind
        Its class.
    source
        A file (TOML, YAML or JSON), ``"-"`` for standard input, a text of several lines, or a dictionary.
    sets
        Values that replace those of the document; their paths begin as the kind has it.

    Raises
    ------
    SledsimError
        Of the kind's type, with all that is wrong: each fault has the key, the value, what is allowed, file and line.
    """
    try:
        text, notation, name, base_dir = _text(kind, source)
        at, replaced = {"format": notation, "source": name, "base_dir": base_dir}, from_here(sets)
        document = _core.Document(text, **at, schema=_schema(kind), sets=replaced, prefix=kind.own)
        if document.faults:
            # What is missing is told by what it means.
            document = _core.Document(text, **at, schema=_described(kind), sets=replaced, prefix=kind.own)
    except ScenarioError as error:
        raise kind._error(list(error.faults)) if error.faults else error from None
    table, rules = _made(kind, document)
    faults = [*document.faults, *rules]
    if table is None or faults:
        raise kind._error(_with_hint(kind, document, faults))
    return Read(table, name, Path(base_dir), document)


def has_key(path: Path, key: str) -> bool:
    """Tell whether a file is a document with a key at its top, in itself or in what it is based on.

    Parameters
    ----------
    path
        The file.
    key
        The key.
    """
    text, notation, name, base_dir = text_of(path, "document")
    document = _core.Document(text, format=notation, source=name, base_dir=base_dir, schema=_core.Schema("{}"))
    return key in document.values


def own_sets(sets: Sets, kind: type[Document]) -> tuple[list[str], list[str]]:
    """Part settings into those of the document's own keys, such as ``sweep.seed=7``, and those of its scenario.

    Parameters
    ----------
    sets
        All of them.
    kind
        The document.
    """
    every = from_here(sets)
    own = [each for each in every if each.lstrip().startswith(kind.own)]
    return own, [each for each in every if each not in own]


M = TypeVar("M", bound=Table)


def made(kind: type[M], keys: Mapping[str, Any]) -> M:
    """Make a table that a rule finds within another one, or that a program gives part by part.

    Parameters
    ----------
    kind
        Its class.
    keys
        Its keys, as a document has them.

    Raises
    ------
    Wrong
        Where they are not as they should be.
    """
    try:
        found = _schema(kind).faults(_one_line(keys)) and _described(kind).faults(_one_line(keys))
    except (TypeError, ValueError, RecursionError, ScenarioError):
        found = []
    token = _inside.set(True)
    try:
        table, rules = kind(**keys), []
    except ValidationError as error:
        table, rules = None, list(_of_rules(error, found))
    finally:
        _inside.reset(token)
    if table is None or found:
        raise Wrong(*found, *rules)
    return table


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
        faults += [fault.within(prefix) if prefix else fault for fault in error.faults]


def settled(faults: list[Fault]) -> None:
    """Raise what was gathered, if anything was."""
    if faults:
        raise Wrong(*faults)


@contextmanager
def raised(about: str = "") -> Iterator[None]:
    """Raise what a rule finds wrong as the error that it is to a program.

    Parameters
    ----------
    about
        What it is about.
    """
    try:
        yield
    except Wrong as error:
        faults = [fault.about(about) if about else fault for fault in error.faults]
        raise _core.error_of(ScenarioError, faults) from None


@dataclass(frozen=True)
class OneOrMore:
    """Marks a list of which a single entry may stand by itself.

    Parameters
    ----------
    text_key
        The key that is meant where a text stands in a table's place.
    """

    text_key: str = ""

    def _listed(self, value: Any) -> Any:
        entries = value if isinstance(value, list | tuple) else [value]
        return [{self.text_key: each} if self.text_key and isinstance(each, str) else each for each in entries]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(self._listed, handler(source))

    def __get_pydantic_json_schema__(self, schema: core_schema.CoreSchema, handler: Any) -> dict[str, Any]:
        many = dict(handler(schema))
        if self.text_key:
            many["items"] = {"anyOf": [many["items"], {"type": "string"}]}
        return {"anyOf": [many, many["items"]]}


def _text(kind: type[Document], source: Any) -> Text:
    """Return the text of a document; a dictionary becomes one line."""
    if isinstance(source, Path | str):
        return text_of(source, kind.what)
    if not isinstance(source, Mapping):
        says = f"expected the path of a file, a text or a dictionary, not {type(source).__name__} {source!r}"
        raise _core.error_of(ScenarioError, [Fault("wrong-type", says, file=kind.what)])
    try:
        return Text(_one_line(source), "json", kind.what, str(Path.cwd()))
    except (TypeError, ValueError, RecursionError) as error:
        raise _core.error_of(ScenarioError, _unwritable(kind, source, error)) from None


def _unwritable(kind: type[Document], source: Mapping[str, Any], error: Exception) -> list[Fault]:
    """Return what is wrong with a dictionary that no document could hold: what its class says of it, if it does."""
    token = _inside.set(True)
    try:
        kind(**source)
    except ValidationError as refused:
        return [fault.about(kind.what) for fault in _of_rules(refused, [])]
    except (TypeError, RecursionError):
        pass
    finally:
        _inside.reset(token)
    says = "is nested too deep" if isinstance(error, RecursionError) else str(error)
    return [Fault("wrong-type", says, file=kind.what)]


def _one_line(values: Mapping[str, Any]) -> str:
    return json.dumps(values, default=plain_value, allow_nan=False, ensure_ascii=False)


@cache
def _schema(kind: type[Table]) -> _core.Schema:
    return _core.Schema(json.dumps(kind.model_json_schema()))


@cache
def _described(kind: type[Table]) -> _core.Schema:
    from sledsim.scenario.described import Described

    return _core.Schema(json.dumps(kind.model_json_schema(schema_generator=Described)))


def _made(kind: type[T], document: _core.Document) -> tuple[T | None, list[Fault]]:
    """Make the table of a document, or say what its rules find wrong that its schema does not."""
    values = document.values
    token = _inside.set(True)
    try:
        return kind(**values), []
    except ValidationError as error:
        return None, [document.located(fault) for fault in _of_rules(error, document.faults)]
    finally:
        _inside.reset(token)


def faults_of(schema: _core.Schema, keys: Mapping[str, Any], error: ValidationError) -> list[Fault]:
    """Return what is wrong with keys that a program gives.

    Parameters
    ----------
    schema
        What they should be.
    keys
        The keys.
    error
        What their class finds wrong.
    """
    try:
        found = schema.faults(_one_line(keys))
    except (TypeError, ValueError, RecursionError, ScenarioError):
        # No document could hold them: what pydantic says has to do.
        found = []
    return found + list(_of_rules(error, found))


def _of_rules(error: ValidationError, found: list[Fault]) -> Iterator[Fault]:
    """Yield what rules say, and of the rest what the schema does not see."""
    paths = [str(fault.path) for fault in found]
    for each in error.errors(include_url=False):
        path = ".".join(map(str, each["loc"]))
        cause = each.get("ctx", {}).get("error")
        if isinstance(cause, Wrong):
            faults = [fault.within(path) if path else fault for fault in cause.faults]
        elif found:
            # The schema has said it better.
            continue
        else:
            given, says = each["input"], f": {cause or each['msg']}"
            given = visible(given) if isinstance(given, str) else given
            shown = given if isinstance(given, str) or (isinstance(given, int) and abs(given) < LONGEST) else None
            what = f" = {given}" if isinstance(given, float) else ""
            faults = [Fault("wrong-type", what + says, path=path, value=shown)]
        yield from (fault for fault in faults if str(fault.path) not in paths)


def _with_hint(kind: type[Document], document: _core.Document, faults: list[Fault]) -> list[Fault]:
    """Say in one sentence that a file is a scenario, where it is."""
    if not {"workload", "system"} <= set(document.values) or "workload" in kind.model_fields:
        return faults
    says = f": this is a scenario, which `sledsim run` takes; a {kind.what} has {kind.example}"
    return [document.located(Fault("unknown-key", says, path="workload"))]
