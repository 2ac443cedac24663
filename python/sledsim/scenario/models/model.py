"""The base class of the tables of a scenario."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from sledsim import _core

__all__ = ["Model", "TracePath"]


def _keep_text(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    return value if isinstance(value, str) else check(value)


if TYPE_CHECKING:
    TracePath = Any
else:
    #: The path of a trace, or the trace. The name of a trace in memory holds the trace, so it is kept as it is.
    TracePath = Annotated[str, WrapValidator(_keep_text)]


class Model(BaseModel):
    """A table of a scenario: its keys are checked by name and type here, their values by the core."""

    # A scenario uses few of the tables, so that the validator of each is built at its first use.
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), defer_build=True)

    def __init__(self, **keys: Any) -> None:
        try:
            self.__pydantic_validator__.validate_python(keys, self_instance=self)
        except ValidationError as error:
            given = {key: value for key, value in keys.items() if value is not None}
            raise _core.error_of(_core.ScenarioError, _faults(type(self), given, error)) from None

    # Tables within other tables are validated without it.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @model_validator(mode="before")
    @classmethod
    def _expand_objects(cls, given: Any) -> Any:
        """Replace objects that stand for a table, such as a trace or a device, by the keys of the table."""
        if not isinstance(given, Mapping):
            return given
        keys = {key: _expanded(value) for key, value in given.items()}
        trace = keys.get("path")
        # `TraceWorkload(path=trace, fit="scale")`: further keys override those of the trace.
        return {**trace, **keys, "path": trace["path"]} if isinstance(trace, Mapping) and "path" in trace else keys

    def to_dict(self) -> dict[str, Any]:
        """Return the keys that were given, as plain dictionaries, lists, numbers and strings."""
        return self.model_dump(exclude_none=True)


def _expanded(value: Any) -> Any:
    for method in () if isinstance(value, Model) else ("_in_scenario", "to_dict"):
        if hasattr(value, method):
            return getattr(value, method)()
    return value


def _faults(kind: type[Model], given: dict[str, Any], error: ValidationError) -> list[_core.Fault]:
    """Return what is wrong with keys: of a whole scenario as its reader says it, else as its schema does."""
    # The reader imports these classes.
    from sledsim.scenario.reading import resolve
    from sledsim.scenario.tables import faults_of

    if {"workload", "system"} <= set(kind.model_fields):
        try:
            resolve(given)
        except _core.ScenarioError as wrong:
            return list(wrong.faults)
    found = faults_of(kind, _tagged(kind) | given, error, _schema(kind))
    return [fault.about(kind.__name__) for fault in found]


def _tagged(kind: type[Model]) -> dict[str, Any]:
    """Return the keys that tell a class from others: those that have one value alone."""
    fields = {field.alias or name: field for name, field in kind.model_fields.items()}
    tags: dict[str, tuple[Any, ...]] = {key: getattr(field.annotation, "__args__", ()) for key, field in fields.items()}
    return {key: words[0] for key, words in tags.items() if len(words) == 1 and fields[key].default == words[0]}


@cache
def _schema(kind: type[Model]) -> _core.Schema:
    """Return what the core's schema says of a class: the definition, or the variant of one, with the same keys."""
    schema = _core.schema()
    keys = {field.alias or name for name, field in kind.model_fields.items()}
    tags = _tagged(kind)
    variants = [schema]
    for each in schema["$defs"].values():
        variants += [each, *each.get("oneOf", ()), *each.get("anyOf", ())]
    for each in variants:
        said = each.get("properties", {})
        if set(said) == keys and all(said[key].get("const", word) == word for key, word in tags.items()):
            return _core.Schema({**each, "$defs": schema["$defs"]})
    return _core.Schema(kind.model_json_schema())
