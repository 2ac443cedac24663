"""Tables of a description: what is wrong in one is an error that names the key."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sledsim._core import SledsimError
from sledsim.show.naming import did_you_mean

__all__ = ["MAX_DEVICES", "Count", "CountFromOne", "ReliabilityError", "Share", "Switch", "Table", "read_table"]

#: Most devices of each kind in an enclosure: far more than anybody builds, and few enough to count exactly.
MAX_DEVICES = 100_000

Count = Annotated[int, Field(strict=True, ge=0, le=MAX_DEVICES)]
CountFromOne = Annotated[int, Field(strict=True, ge=1, le=MAX_DEVICES)]
Share = Annotated[float, Field(strict=True, gt=0, le=1)]
Switch = Annotated[bool, Field(strict=True)]

T = TypeVar("T", bound="Table")

# Whether a table is being made as part of another one, which then reports what is wrong.
_inside: ContextVar[bool] = ContextVar("_inside", default=False)


class ReliabilityError(SledsimError):
    """A description of an enclosure is wrong, or asks for what the model cannot say."""


class Table(BaseModel):
    """A table of a description: unknown keys, wrong types and values out of range are errors that name the key."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    def __init__(self, **keys: Any) -> None:
        nested = _inside.get()
        token = _inside.set(True)
        try:
            super().__init__(**keys)
        except ValidationError as error:
            if nested:
                raise
            raise ReliabilityError(f"{type(self).__name__}: {_problem(error, type(self))}") from None
        finally:
            _inside.reset(token)

    def to_dict(self) -> dict[str, Any]:
        """Return the keys that were given, as plain dictionaries, numbers and texts."""
        return self.model_dump(mode="json", exclude_unset=True)


def read_table(kind: type[T], tables: Mapping[str, Any], source: str) -> T:
    """Make a table from keys that were read somewhere.

    Parameters
    ----------
    kind
        Which table.
    tables
        Its keys.
    source
        Where they come from, for messages.

    Raises
    ------
    ReliabilityError
        Where one is wrong: names source, key, value and what is allowed.
    """
    if not isinstance(tables, Mapping):
        raise ReliabilityError(f"{source}: expected tables (got {tables!r})")
    token = _inside.set(True)
    try:
        return kind(**tables)
    except ValidationError as error:
        raise ReliabilityError(f"{source}: {_problem(error, kind)}") from None
    finally:
        _inside.reset(token)


def _problem(error: ValidationError, table: type[BaseModel]) -> str:
    """Say in one line what is wrong with the first key that is."""
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"{key}: unknown key{did_you_mean(str(first['loc'][-1]), _keys(table, first['loc'][:-1]))}"
    if first["type"] == "missing":
        return f"{key}: missing"
    if first["type"] == "value_error":
        # A rule over several keys names its own.
        said = str(first["ctx"]["error"])
        link = "." if said.partition(":")[0].isidentifier() else ": "
        return f"{key}{link}{said}" if key else said
    expected = "expected a table" if first["type"] == "model_type" else first["msg"]
    return f"{key}: {expected} (got {first['input']!r})"


def _keys(table: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """Return the keys of a table, or of one within it."""
    for part in path:
        inner = table.model_fields[str(part)].annotation if part in table.model_fields else None
        tables = [each for each in (inner, *get_args(inner)) if isinstance(each, type) and issubclass(each, BaseModel)]
        if not tables:
            return []
        table = tables[0]
    return list(table.model_fields)
