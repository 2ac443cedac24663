"""What the classes of a scenario have in common."""

from contextvars import ContextVar
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from sledsim._core import ScenarioError

__all__ = ["Model"]

# Whether a table is being made as part of another one, which then reports what is wrong.
_inside: ContextVar[bool] = ContextVar("_inside", default=False)


class Model(BaseModel):
    """A table of a scenario: its keys are checked by name and type here, their values by the core."""

    # A scenario has few of all the tables that there are: what checks one is built when it is first used.
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), defer_build=True)

    def __init__(self, **keys: Any) -> None:
        nested = _inside.get()
        token = _inside.set(True)
        try:
            super().__init__(**keys)
        except ValidationError as error:
            if nested:
                raise
            raise ScenarioError(_message(type(self).__name__, error)) from None
        finally:
            _inside.reset(token)

    def to_dict(self) -> dict[str, Any]:
        """Return the keys that were given, as plain dictionaries, lists, numbers and strings."""
        return self.model_dump(mode="json", exclude_none=True)


def _message(name: str, error: ValidationError) -> str:
    """Say in one line what is wrong with the first key that is."""
    problems = error.errors(include_url=False)
    # Of a union's variants, those with another tag are not what was meant.
    others = [problem["loc"][:-1] for problem in problems if problem["type"] == "literal_error"]
    meant = [each for each in problems if not any(each["loc"][: len(other)] == other for other in others)]
    first = (meant or problems)[0]
    # The names of classes and types in the path are not keys.
    keys = [str(part) for part in first["loc"] if not _is_type(str(part))]
    what = "unknown key" if first["type"] == "extra_forbidden" else f"{first['msg']} (got {first['input']!r})"
    return f"{name}: {'.'.join(keys)}: {what}"


def _is_type(part: str) -> bool:
    return part[:1].isupper() or part in {"int", "float", "str"} or "[" in part
