"""Typed documents: sweeps, searches, enclosures and others are read as scenarios are, and errors are faults.

A document is a class with its keys. The core reads the text, with ``base`` and settings, and checks it against the
class's schema; what takes several keys to see, the class's own rules say.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
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
from sledsim.scenario.mistaken import kind_of
from sledsim.scenario.place import Place, Replaced, settings_of
from sledsim.scenario.reading import Sets, Written, from_here
from sledsim.scenario.rules import Rule, Wrong, gathered, judged, raised, right, settled, told
from sledsim.scenario.texts import text_of
from sledsim.show.faults import replaced

__all__ = [
    "BasedOnScenario",
    "Document",
    "OneOrMore",
    "Read",
    "Rule",
    "Table",
    "Wrong",
    "faults_of",
    "gathered",
    "has_key",
    "judged",
    "made",
    "own_sets",
    "raised",
    "read",
    "read_varying",
    "settled",
]

#: Keys of documents that a scenario has too.
OF_SCENARIOS_TOO = {"name", "seed", "device"}

# Whether a table is being made as part of another one, which then reports what is wrong.
_inside: ContextVar[bool] = ContextVar("_inside", default=False)


class Table(BaseModel):
    """A table of a document: unknown keys, wrong types and values out of range are faults, all of them at once."""

    # Many tables are declared and few are read: what checks one is built when it is first used.
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), defer_build=True)

    error: ClassVar[type[SledsimError]] = ScenarioError
    """What is raised."""
    rules: ClassVar[tuple[Rule, ...]] = ()
    """What keys have to say together, beside the rules of the classes that it is derived from."""

    def __init__(self, /, *values: Any, **keys: Any) -> None:
        keys |= dict(zip(type(self).model_fields, values, strict=False))
        kind, refused, nested = type(self), None, _inside.get()
        with _as_part():
            try:
                super().__init__(**keys)
            except ValidationError as error:
                refused = error
            found = judged(_rules(kind), right(kind, keys) if refused else dict(self))
        if refused is None and not found:
            return
        wrong = Wrong(*found, refused=refused)
        if nested:
            raise wrong
        # Documents have other names for some keys.
        fields = {name: field.alias or name for name, field in kind.model_fields.items()}
        given = {fields.get(key, key): value for key, value in keys.items()}
        raise self._error([fault.about(kind.__name__) for fault in faults_of(_described(kind), given, wrong)])

    @classmethod
    def _error(cls, faults: list[Fault]) -> SledsimError:
        return _core.error_of(cls.error, faults)

    @classmethod
    def default_of(cls, key: str) -> Any:
        """Return what a key says where it is left out, so that Python's arguments say it too.

        Parameters
        ----------
        key
            The key.
        """
        return cls.model_fields[key].default

    def to_dict(self) -> dict[str, Any]:
        """Return the keys that were given, as plain dictionaries, numbers and texts."""
        return self.model_dump(mode="json", exclude_unset=True, by_alias=True)


@contextmanager
def _as_part() -> Iterator[None]:
    """Have a table that is wrong raise :class:`Wrong`, for another one to report."""
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)


@cache
def _rules(kind: type[Table]) -> tuple[Rule, ...]:
    return tuple(rule for base in reversed(kind.__mro__) for rule in vars(base).get("rules", ()))


class Document(Table):
    """A document of its own: the table at its top."""

    what: ClassVar[str]
    """What messages call it."""
    example: ClassVar[str]
    """What one has at least."""
    own: ClassVar[str] = ""
    """What begins the settings that are of its own keys rather than of its scenario's."""
    is_tried: ClassVar[bool] = False
    """Whether what it names is tried with what varies it, once it is right by itself."""

    @classmethod
    def wrongly_named(cls, keys: Mapping[str, Any], place: Place, settings: Sequence[str]) -> list[Fault]:
        """Return what is wrong with what its keys name: scenarios, devices.

        Parameters
        ----------
        keys
            Those that are right by themselves.
        place
            Where it stands.
        settings
            Values that replace those of its scenarios.
        """
        del keys, place, settings
        return []

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


class BasedOnScenario(Document):
    """What documents have in common that ask something of a scenario."""

    scenario: str | dict[str, Any]
    """The scenario: the path of a file, or a table."""
    overrides: Replaced = Field(default_factory=dict)
    """Values that replace those of the scenario, by path."""

    @classmethod
    def wrongly_named(cls, keys: Mapping[str, Any], place: Place, settings: Sequence[str]) -> list[Fault]:
        """Return what is wrong with the scenario."""
        return place.resolved(keys["scenario"], "scenario", settings)[1] if "scenario" in keys else []


T = TypeVar("T", bound=Document)


@dataclass(frozen=True)
class Read(Place, Generic[T]):
    """A document that was read.

    Parameters
    ----------
    table
        Its keys.
    """

    table: T

    def scenario(self) -> "Path | Written":
        """Return the scenario that the document names, or has as a table, from wherever it is read."""
        return self.named(getattr(self.table, "scenario", ""), "scenario")


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
    place, table, faults = _read(kind, source, sets)
    if table is None or faults:
        raise kind._error(_mistaken(kind, place) or faults)
    return Read(place.name, place.folder, place._document, table)


def _read(kind: type[T], source: Mapping[str, Any] | Path | str, sets: Sets) -> tuple[Place, T | None, list[Fault]]:
    """Read a document; say what is wrong with its own keys."""
    try:
        given, notation, name, base_dir = _given(kind, source)
        at, given_sets = {"format": notation, "source": name, "base_dir": base_dir}, from_here(sets)
        document = _core.Document(given, **at, schema=_schema(kind), sets=given_sets, prefix=kind.own)
        if document.faults:
            # What is missing is told by what it means.
            document = _core.Document(given, **at, schema=_described(kind), sets=given_sets, prefix=kind.own)
    except ScenarioError as error:
        raise kind._error(list(error.faults)) if error.faults else error from None
    table, rules = _made(kind, document)
    return Place(name, Path(base_dir), document), table, [*document.faults, *rules]


def read_varying(
    kind: type[T], source: Mapping[str, Any] | Path | str, sets: Sets, instead: Container[str] = ()
) -> tuple[Read[T], list[str]]:
    """Read a document that asks something of scenarios, with all settings of these.

    Parameters
    ----------
    kind
        Its class.
    source, sets
        As for :func:`read`, and settings of the scenarios.
    instead
        Keys that others take the place of: what they name is not looked at.

    Raises
    ------
    SledsimError
        As for :func:`read`; with what is wrong with the scenarios, too.
    """
    own, more = own_sets(sets, kind)
    meant = _meant_for_own(kind, more)
    place, table, faults = _read(kind, source, own)
    with _as_part():
        keys = right(kind, place.values) if table is None or faults else dict(table)
    misplaced = {fault.setting for fault in meant}
    settings = [*settings_of(keys.get("overrides", {})), *(each for each in more if each not in misplaced)]
    faults = [*meant, *faults]
    if mistaken := _mistaken(kind, place):
        faults = mistaken
    elif faults or not kind.is_tried:
        named = {key: each for key, each in keys.items() if key not in instead}
        faults += kind.wrongly_named(named, place, settings)
    if table is None or faults:
        raise kind._error(faults)
    return Read(place.name, place.folder, place._document, table), settings


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
    document = _core.Document(text, format=notation, source=name, base_dir=base_dir, schema=_core.Schema({}))
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


def _meant_for_own(kind: type[Document], settings: list[str]) -> list[Fault]:
    """Say which settings of the scenario name a key that the document has and a scenario has not."""
    keys = kind.model_fields.keys() - OF_SCENARIOS_TOO
    found = []
    for setting in settings:
        key = setting.partition("=")[0].strip()
        if key.partition(".")[0] in keys:
            meant = kind.own + key
            says = f": a key of the {kind.what}, not of its scenario: {meant}"
            found.append(replaced(Fault("unknown-key", says, path=key, suggestion=meant), setting=setting))
    return found


M = TypeVar("M", bound=Table)


def made(kind: type[M], keys: Mapping[str, Any], *rules: Rule) -> M:
    """Make a table that a rule finds within another one, or that a program gives part by part.

    Parameters
    ----------
    kind
        Its class.
    keys
        Its keys, as a document has them.
    *rules
        What they have to say together where this table stands.

    Raises
    ------
    Wrong
        Where they are not as they should be.
    """
    found = _of_schema(_schema(kind), keys) and _of_schema(_described(kind), keys)
    with _as_part():
        try:
            table, wrong = kind(**keys), Wrong()
        except Wrong as error:
            table, wrong = None, error
        more = judged(rules, right(kind, keys) if table is None else dict(table)) if rules else []
    wrong = Wrong(*wrong.faults, *more, refused=wrong.refused)
    settled([*found, *told(wrong, found)])
    assert table is not None, "what is wrong with a table is told"
    return table


@dataclass(frozen=True)
class OneOrMore:
    """Marks a list of which a single entry may stand by itself.

    Parameters
    ----------
    text_key
        The key that is meant where a text stands in a table's place.
    """

    text_key: str = ""

    def listed(self, value: Any) -> list[Any]:
        """Return a list, whatever was given.

        Parameters
        ----------
        value
            A list, or a single entry of one.
        """
        entries = value if isinstance(value, list | tuple) else [value]
        return [{self.text_key: each} if self.text_key and isinstance(each, str) else each for each in entries]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(self.listed, handler(source))

    def __get_pydantic_json_schema__(self, schema: core_schema.CoreSchema, handler: Any) -> dict[str, Any]:
        many = dict(handler(schema))
        if self.text_key:
            many["items"] = {"anyOf": [many["items"], {"type": "string"}]}
        return {"anyOf": [many, many["items"]]}


def _given(kind: type[Document], source: Any) -> tuple[str | dict[str, Any], str, str, str]:
    """Return what is given, the notation of a text, what messages call it, and the folder that its paths start from."""
    if isinstance(source, Path | str):
        return text_of(source, kind.what)
    if isinstance(source, Mapping):
        return dict(source), "json", kind.what, str(Path.cwd())
    says = f"expected the path of a file, a text or a dictionary, not {type(source).__name__} {source!r}"
    raise _core.error_of(ScenarioError, [Fault("wrong-type", says, file=kind.what)])


@cache
def _schema(kind: type[Table]) -> _core.Schema:
    return _core.Schema(kind.model_json_schema())


@cache
def _described(kind: type[Table]) -> _core.Schema:
    from sledsim.scenario.described import Described

    return _core.Schema(kind.model_json_schema(schema_generator=Described))


def _made(kind: type[T], document: _core.Document) -> tuple[T | None, list[Fault]]:
    """Make the table of a document, or say what its rules find wrong that its schema does not."""
    with _as_part():
        try:
            return kind(**document.values), []
        except Wrong as wrong:
            return None, [document.located(fault) for fault in told(wrong, document.faults)]


def _of_schema(schema: _core.Schema, keys: Mapping[str, Any]) -> list[Fault]:
    try:
        return schema.faults(dict(keys))
    except (TypeError, ValueError, RecursionError, ScenarioError):
        # No document could hold them: what pydantic says has to do.
        return []


def faults_of(schema: _core.Schema, keys: Mapping[str, Any], error: ValidationError | Wrong) -> list[Fault]:
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
    found = _of_schema(schema, keys)
    return found + told(error if isinstance(error, Wrong) else Wrong(refused=error), found)


def _mistaken(kind: type[Document], place: Place) -> list[Fault]:
    """Say in one sentence that a file is of another kind, where it is."""
    found = kind_of(place.values, {field.alias or name for name, field in kind.model_fields.items()})
    if not found:
        return []
    key, says = found
    return [place.located(Fault("unknown-key", f"{says}; a {kind.what} has {kind.example}", path=key))]
