"""Schemas in which each key says what it means: what stands below it in its class.

A module of its own: only faults, ``sledsim schema`` and the pages need it, and sources take longer to read.
"""

import ast
import inspect
from itertools import pairwise
from textwrap import dedent
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

__all__ = ["Described"]


class Described(GenerateJsonSchema):
    """Makes schemas whose keys have descriptions."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Add what stands below each key of a class, and of those that it is derived from.

        Parameters
        ----------
        schema
            The class as pydantic sees it.
        """
        made = super().model_schema(schema)
        for each in reversed(schema["cls"].__mro__):
            for name, text in _below_keys(each).items():
                field = schema["cls"].model_fields.get(name)
                key = name if field is None or field.alias is None else field.alias
                if key in made.get("properties", {}):
                    made["properties"][key].setdefault("description", text)
        return made


def _below_keys(kind: type[Any]) -> dict[str, str]:
    """Return the texts that stand below the keys of a class, by name."""
    if not kind.__module__.startswith("sledsim"):
        return {}
    [tree] = ast.parse(dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    return {
        key.target.id: inspect.cleandoc(below.value.value)
        for key, below in pairwise(tree.body)
        if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    }
