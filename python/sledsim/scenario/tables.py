"""Tables of documents: pydantic models whose errors are the core's faults.

The JSON Schema of a model, which pydantic makes, describes each key; the core checks it and words the faults, as for
scenarios. Validators of a model check several keys together and raise :class:`KeysError`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import core_schema

from sledsim import _core
from sledsim._core import Fault, ScenarioError, SledsimError
from sledsim.show.fitting import visible

__all__ = [
    "KeysError",
    "OneOrMore",
    "Table",
    "collect_faults",
    "faults_of",
    "raise_as",
    "schema_of",
    "validated",
    "validator_faults",
]

#: Whole numbers from here on have more digits than a message needs.
LONGEST = 10**18

#: The bound of a number, by pydantic's name of the error.
EXPECTED = {
    "finite_number": "a finite number",
    "less_than": "a number below {lt:g}",
    "less_than_equal": "a number up to {le:g}",
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "a number from {ge:g} up",
}


class KeysError(ValueError):
    """Faults that a validator found.

    Parameters
    ----------
    *faults
        Their paths start at the value that is validated.
    beside
        Their paths start at the table that has this value: the fault is of another key.
    """

    def __init__(self, *faults: Fault, beside: bool = False) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = faults
        self.beside = beside


class Table(BaseModel):
    """A table of a document. Making one raises all faults of its keys at once, as an error of the type ``error``."""

    # Many tables are declared and few are read: the validator of one is built on first use.
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        protected_namespaces=(),
        defer_build=True,
        validate_default=True,
        use_attribute_docstrings=True,
    )

    error: ClassVar[type[SledsimError]] = ScenarioError

    def __init__(self, /, *values: Any, **keys: Any) -> None:
        keys |= dict(zip(type(self).model_fields, values, strict=False))
        try:
            self.__pydantic_validator__.validate_python(keys, self_instance=self)
        except ValidationError as error:
            raise _core.error_of(self.error, faults_of(type(self), keys, error)) from None

    # Tables within other tables are validated without it.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def to_dict(self) -> dict[str, Any]:
        """Return the keys that were given, as plain dictionaries, numbers and strings."""
        return self.model_dump(mode="json", exclude_unset=True, by_alias=True)

    def changed(self, **keys: Any) -> Self:
        """Return a copy with other values of some keys.

        Parameters
        ----------
        **keys
            The new values.
        """
        mine = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**mine | keys)


M = TypeVar("M", bound=BaseModel)


def validated(kind: type[M], keys: Mapping[str, Any]) -> M:
    """Return a table, for validators of another table.

    Parameters
    ----------
    kind
        Its class.
    keys
        Its keys.

    Raises
    ------
    KeysError
        With all faults of the keys.
    """
    try:
        return kind.model_validate(keys)
    except ValidationError as error:
        raise KeysError(*faults_of(kind, keys, error)) from None


def faults_of(
    kind: type[BaseModel], keys: Mapping[str, Any], error: ValidationError, schema: _core.Schema | None = None
) -> list[Fault]:
    """Return the faults of keys that a program gives.

    Parameters
    ----------
    kind
        The class of their table.
    keys
        The keys, by name or by alias.
    error
        The error of the class.
    schema
        The schema that words faults; that of the class if not given.
    """
    aliases = {name: field.alias or name for name, field in kind.model_fields.items()}
    given = {aliases.get(key, key): value for key, value in keys.items()}
    first = [str(each["loc"][0]) for each in error.errors(include_url=False) if each["loc"]]
    wrong = {aliases.get(key, key) for key in first}
    found: list[Fault] = []
    # If no document can hold these values, pydantic words the faults.
    with suppress(TypeError, ValueError, RecursionError, ScenarioError):
        found = (schema or schema_of(kind)).faults({key: value for key, value in given.items() if key in wrong})
    found = [fault for fault in found if _first_key(fault) in wrong]
    return found + validator_faults(error, found)


def _first_key(fault: Fault) -> str:
    return (fault.path or "").partition(".")[0]


@cache
def schema_of(kind: type[BaseModel]) -> _core.Schema:
    """Return the JSON Schema of a table, as the core checks it."""
    return _core.Schema(kind.model_json_schema())


def validator_faults(error: ValidationError, found: list[Fault]) -> list[Fault]:
    """Return the faults of a pydantic error, except those of keys for which faults are known already.

    Parameters
    ----------
    error
        The error.
    found
        The known faults. If there are any, errors of single values are left out: the schema has worded these.
    """
    known = {str(fault.path) for fault in found}
    return [fault for fault in _worded(error, plain=not found) if str(fault.path) not in known]


def _worded(error: ValidationError, *, plain: bool) -> Iterator[Fault]:
    for each in error.errors(include_url=False):
        path = [str(key) for key in each["loc"]]
        cause = each.get("ctx", {}).get("error")
        if isinstance(cause, KeysError):
            at = ".".join(path[:-1] if cause.beside else path)
            yield from (fault.within(at) if at else fault for fault in cause.faults)
        elif plain:
            bound = EXPECTED.get(each["type"], "").format(**each.get("ctx", {}))
            given, message = each["input"], f": {cause or (bound and f'expected {bound}') or each['msg']}"
            given = visible(given) if isinstance(given, str) else given
            shown = given if isinstance(given, str) or (isinstance(given, int) and abs(given) < LONGEST) else None
            what = f" = {given}" if isinstance(given, float) else ""
            yield Fault("wrong-type", what + message, path=".".join(path), value=shown)


@contextmanager
def collect_faults(faults: list[Fault], prefix: str = "") -> Iterator[None]:
    """Append the faults of a :class:`KeysError` to a list.

    Parameters
    ----------
    faults
        The list.
    prefix
        The path at which their paths start.
    """
    try:
        yield
    except KeysError as error:
        faults += [fault.within(prefix) if prefix else fault for fault in error.faults]


@contextmanager
def raise_as(kind: type[SledsimError] = ScenarioError) -> Iterator[None]:
    """Raise a :class:`KeysError` as an error of the package.

    Parameters
    ----------
    kind
        The type of the error.
    """
    try:
        yield
    except KeysError as error:
        raise _core.error_of(kind, list(error.faults)) from None


@dataclass(frozen=True)
class OneOrMore:
    """Marks a list of which a single entry may be given without brackets.

    Parameters
    ----------
    text_key
        If given, a string in the place of a table is the value of this key.
    """

    text_key: str = ""

    def _listed(self, value: Any) -> list[Any]:
        entries = value if isinstance(value, list | tuple) else [value]
        return [{self.text_key: each} if self.text_key and isinstance(each, str) else each for each in entries]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(self._listed, handler(source))

    def __get_pydantic_json_schema__(self, schema: core_schema.CoreSchema, handler: Any) -> dict[str, Any]:
        many = dict(handler(schema))
        if self.text_key:
            many["items"] = {"anyOf": [many["items"], {"type": "string"}]}
        return {"anyOf": [many, many["items"]]}
