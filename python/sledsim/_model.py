"""What the classes of a scenario have in common."""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from sledsim._core import ScenarioError

__all__ = ["Model"]


class Model(BaseModel):
    """A table of a scenario: its keys are checked by name and type here, their values by the core."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    def __init__(self, **keys: Any) -> None:
        try:
            super().__init__(**keys)
        except ValidationError as error:
            raise ScenarioError(_message(type(self).__name__, error)) from None

    def to_dict(self) -> dict[str, Any]:
        """Return the keys that were given, as plain dictionaries, lists, numbers and strings."""
        return self.model_dump(mode="json", exclude_none=True)


def _message(name: str, error: ValidationError) -> str:
    """Say in one line what is wrong with the first key that is."""
    first = error.errors(include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    return f"{name}: {path}: {first['msg']} (got {first['input']!r})"
