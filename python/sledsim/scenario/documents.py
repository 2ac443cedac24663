"""Documents beside scenarios: sweeps, searches, enclosures, roles and others.

Each kind of document is one pydantic model. Its fields are the keys of the file and the arguments of the function.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, PlainSerializer, PrivateAttr, ValidationError, WithJsonSchema

from sledsim import _core
from sledsim._core import Fault, ScenarioError, SledsimError
from sledsim.scenario.document_kinds import kind_of
from sledsim.scenario.reading import Sets, Written, resolve_relative, set_list, written
from sledsim.scenario.source import Source, leaves
from sledsim.scenario.tables import Table, schema_of, validator_faults
from sledsim.scenario.texts import text_of
from sledsim.show.faults import make_error, with_facts

__all__ = ["BasedOnScenario", "Document", "ScenarioKey", "Settings", "has_key"]

#: Keys of documents that scenarios have too.
OF_SCENARIOS_TOO = {"name", "seed", "device"}


def _plain_scenario(scenario: Any) -> Any:
    if isinstance(scenario, Written):
        return json.loads(scenario.text) if scenario.text.startswith("{") else scenario.text
    return scenario


#: A scenario: the path of a file or a table; in Python, all that :func:`sledsim.run` takes.
ScenarioKey = Annotated[
    Any,
    PlainSerializer(_plain_scenario),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]}),
]

#: Values that replace those of a scenario, by path.
Settings = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda sets: tuple(set_list(sets))),
    PlainSerializer(lambda settings: dict(each.partition("=")[::2] for each in settings)),
    WithJsonSchema({"type": "object"}),
]


class Document(Table):
    """The table at the top of a document."""

    what: ClassVar[str]
    """Its name in messages."""
    example: ClassVar[str]
    """A key of every such document, as messages show it."""
    prefix: ClassVar[str] = ""
    """Begins the settings of its own keys; other settings are of its scenario."""

    _source: Source | None = PrivateAttr(default=None)

    def __eq__(self, other: object) -> bool:
        """Return true if the keys are equal, wherever they were read from."""
        keys = type(self).model_fields
        return isinstance(other, type(self)) and all(getattr(self, key) == getattr(other, key) for key in keys)

    @classmethod
    def load(cls, source: "Self | Mapping[str, Any] | Path | str", *, overrides: Sets = (), **instead: Any) -> Self:
        """Read a document and check it, with the scenarios and devices that it names.

        Parameters
        ----------
        source
            A file (TOML, YAML or JSON), ``"-"`` for standard input, a text of several lines, a dictionary with the
            keys of a file, or an instance.
        overrides
            Values that replace those of its scenario, and with the prefix of the kind of document, such as
            ``sweep.replications=3``, its own.
        **instead
            Keys that replace those of the document.

        Raises
        ------
        SledsimError
            If it is wrong. There is a fault for each error, with file, line, key, value and what is allowed.
        """
        if isinstance(source, cls):
            return source._with(overrides)
        own, more = _own_settings(cls, overrides)
        at, faults = _read(cls, source, own, instead)
        misplaced = _misplaced(cls, more)
        settings = [each for each in more if each not in {fault.setting for fault in misplaced}]
        values = cls._named(at.values | instead, at)
        if "overrides" in cls.model_fields:
            given = at.values.get("overrides", {})
            values["overrides"] = [*(set_list(leaves(given)) if isinstance(given, Mapping) else []), *settings]
        table = None
        try:
            table = cls.model_validate(values)
        except ValidationError as error:
            faults += [at.located(fault) for fault in validator_faults(error, faults)]
        if other := _of_another_kind(cls, at):
            raise cls._failed([other])
        faults = [*misplaced, *faults]
        if table is None or faults or not cls._checks_itself:
            faults += cls._named_faults(at.values | instead, at, values.get("overrides", ()))
        if table is None or faults:
            raise cls._failed(faults)
        table._source = at
        return table

    #: True if a later check finds all faults of the named documents.
    _checks_itself: ClassVar[bool] = False

    def _with(self, sets: Sets) -> Self:
        own, more = _own_settings(type(self), sets)
        if own:
            message = f"{own[0]}: the {self.what} has its keys already; make one with other keys"
            raise make_error(self.error, "conflict", message)
        if not more:
            return self
        copied = self.changed(overrides=(*getattr(self, "overrides", ()), *more))
        copied._source = self._source
        return copied

    def locating(self) -> AbstractContextManager[None]:
        """Add the file and line of its key to each fault that an error of the block has."""
        return nullcontext() if self._source is None else self._source.locating()

    @classmethod
    def _failed(cls, faults: list[Fault]) -> SledsimError:
        return _core.error_of(cls.error, faults)

    @classmethod
    def _named(cls, values: dict[str, Any], source: Source) -> dict[str, Any]:
        """Return the values with paths of files made independent of the folder."""
        del source
        return values

    @classmethod
    def _named_faults(cls, values: Mapping[str, Any], source: Source, settings: Sequence[str]) -> list[Fault]:
        """Return the faults of the scenarios and devices that the keys name; values may be of a wrong type."""
        del values, source, settings
        return []

    @classmethod
    def file_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of a file: as of the class, with ``base``, and quantities as strings with a unit."""
        schema: dict[str, Any] = _with_texts(cls.model_json_schema())
        base = f"A {cls.what} whose values hold where this one has none: a file, relative to the folder of this one."
        schema["properties"]["base"] = {"type": "string", "description": base}
        # Required keys may be those of the base.
        schema.pop("required", None)
        return schema


def _with_texts(schema: Any) -> Any:
    """Allow a string wherever a number is allowed; the core accepts it if it is a quantity."""
    if isinstance(schema, list):
        return [_with_texts(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    texts = {"type": [kind, "string"]} if kind in ("number", "integer") else {}
    return {key: _with_texts(value) for key, value in schema.items()} | texts


class BasedOnScenario(Document):
    """A document that varies a scenario; it has a key ``overrides`` too."""

    scenario: ScenarioKey
    """The scenario: the path of a file, or a table."""

    @cached_property
    def base(self) -> Written:
        """The scenario as written."""
        if isinstance(self.scenario, Written):
            return self.scenario
        if self._source is not None and isinstance(self.scenario, Path):
            return self._source.written(self.scenario, "scenario")
        return written(self.scenario)

    @classmethod
    def _named(cls, values: dict[str, Any], source: Source) -> dict[str, Any]:
        if isinstance(source.values.get("scenario"), str | dict):
            return values | {"scenario": source.scenario("scenario")}
        return values

    @classmethod
    def _named_faults(cls, values: Mapping[str, Any], source: Source, settings: Sequence[str]) -> list[Fault]:
        if not isinstance(values.get("scenario"), str | dict):
            return []
        return source.scenario_faults("scenario", settings)


def _read(kind: type[Document], given: Any, sets: list[str], instead: Mapping[str, Any]) -> tuple[Source, list[Fault]]:
    """Read a document; return it with the faults that its schema finds in it."""
    try:
        text, notation, name, base_dir = _text_of(kind, given)
        at = {"format": notation, "source": name, "base_dir": base_dir}
        document = _core.Document(text, **at, schema=schema_of(kind), sets=sets, prefix=kind.prefix)
    except ScenarioError as error:
        raise kind._failed(list(error.faults)) if error.faults else error from None
    faults = [each for each in document.faults if (each.path or "").partition(".")[0] not in instead]
    return Source(name, Path(base_dir), document, instead.keys()), faults


def _text_of(kind: type[Document], source: Any) -> tuple[str | dict[str, Any], str, str, str]:
    """Return a document's text or keys, the notation of the text, its name in messages, and its folder."""
    if isinstance(source, Path | str):
        return text_of(source, kind.what)
    if isinstance(source, Mapping):
        return dict(source), "json", kind.what, str(Path.cwd())
    message = f"expected the path of a file, a text or a dictionary, not {type(source).__name__} {source!r}"
    raise _core.error_of(ScenarioError, [Fault("wrong-type", message, file=kind.what)])


def has_key(path: Path, key: str) -> bool:
    """Return true if a file is a document with a key at its top, in itself or in its base.

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


def _own_settings(kind: type[Document], sets: Sets) -> tuple[list[str], list[str]]:
    """Split settings into those of the document's own keys, such as ``sweep.seed=7``, and those of its scenario."""
    every = resolve_relative(sets)
    own = [each for each in every if each.lstrip().startswith(kind.prefix)]
    return own, [each for each in every if each not in own]


def _misplaced(kind: type[Document], settings: list[str]) -> list[Fault]:
    """Return faults for settings of the scenario that name a key of the document."""
    keys = kind.model_fields.keys() - OF_SCENARIOS_TOO
    found = []
    for setting in settings:
        key = setting.partition("=")[0].strip()
        if key.partition(".")[0] in keys:
            meant = kind.prefix + key
            message = f": a key of the {kind.what}, not of its scenario: {meant}"
            found.append(with_facts(Fault("unknown-key", message, path=key, suggestion=meant), setting=setting))
    return found


def _of_another_kind(kind: type[Document], source: Source) -> Fault | None:
    """Return a fault if a document is of another kind, by its keys."""
    found = kind_of(source.values, {field.alias or name for name, field in kind.model_fields.items()})
    if not found:
        return None
    key, message = found
    return source.located(Fault("unknown-key", f"{message}; a {kind.what} has {kind.example}", path=key))
