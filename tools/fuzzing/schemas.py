"""Values drawn from JSON Schema: in range, at its borders, and just beyond."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

Schema = dict[str, Any]

#: The kinds of documents.
KINDS = ("scenario", "sweep", "search", "enclosure", "cost", "role")


@cache
def schema_of(kind: str) -> Schema:
    """Return the JSON Schema of a kind of document, as ``sledsim schema KIND`` prints it."""
    from sledsim import _core
    from sledsim.reliability.description import Description
    from sledsim.studies.cache_cost import CostStudy
    from sledsim.studies.objective import RoleTest
    from sledsim.sweep import Search, Sweep

    if kind == "scenario":
        return _core.schema(document=True)
    files: dict[str, Any] = {
        "sweep": Sweep,
        "search": Search,
        "enclosure": Description,
        "cost": CostStudy,
        "role": RoleTest,
    }
    found: Schema = files[kind].model_json_schema()
    return found


@cache
def keys_of(kind: str) -> dict[str, list[Schema]]:
    """Return the schemas of each key of a kind of document; a key may occur in several places."""
    found: dict[str, list[Schema]] = {}

    def look(node: Any) -> None:
        if isinstance(node, dict):
            for key, schema in node.get("properties", {}).items() if isinstance(node.get("properties"), dict) else ():
                if schema not in found.setdefault(key, []):
                    found[key].append(schema)
            for value in node.values():
                look(value)
        elif isinstance(node, list):
            for value in node:
                look(value)

    look(schema_of(kind))
    return found


class Drawing:
    """Draws values within a schema or just beyond it.

    Parameters
    ----------
    random
        Source of random numbers.
    root
        The schema with the definitions.
    """

    def __init__(self, random: Random, root: Schema) -> None:
        self.random = random
        self.root = root

    def value(self, schema: Any, depth: int = 0) -> Any:
        """Draw a value of a schema."""
        random = self.random
        if not isinstance(schema, dict):
            return random.choice([0, 1, "x", [], {}])
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return self.value(self.root["$defs"][name], depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return random.choice(schema["enum"])
        for key in ("oneOf", "anyOf"):
            if key in schema:
                return self.value(random.choice(schema[key]), depth)
        if "default" in schema and random.random() < 0.2:
            return schema["default"]
        kinds = schema.get("type", "object" if "properties" in schema else "number")
        kind = random.choice(kinds) if isinstance(kinds, list) else kinds
        return self._of_type(kind, schema, depth)

    def _of_type(self, kind: str, schema: Schema, depth: int) -> Any:
        random = self.random
        if kind == "object":
            return self._table(schema, depth)
        if kind == "array":
            if depth > 8:
                return []
            count = random.choice([0, 1, 1, 2, 3]) if depth else 2
            prefix = schema.get("prefixItems")
            if prefix:
                return [self.value(each, depth + 1) for each in prefix]
            return [self.value(schema.get("items", {}), depth + 1) for _ in range(count)]
        if kind in {"integer", "number"}:
            return self._number(kind, schema)
        if kind == "boolean":
            return random.random() < 0.5
        if kind == "string":
            if {"integer", "number"} & set(schema.get("type", ())):
                number = self._number("number", schema)
                return f"{number} {random.choice(['', 'ms', 'us', 's', 'B', 'KiB', 'MB', 'h', 'years', '%', 'W'])}"
            names = ["g2", "g2-paper", "atlas10k", "sptf", "lru", "examples/office.csv", "v1", "fcfs", "response"]
            return random.choice(names)
        return None

    def _table(self, schema: Schema, depth: int) -> Schema:
        random = self.random
        wanted = set(schema.get("required", ()))
        table: Schema = {}
        for key, each in schema.get("properties", {}).items():
            if key in wanted or "const" in each or (depth < 5 and random.random() < 0.25):
                table[key] = self.value(each, depth + 1) if depth < 12 else None
        more = schema.get("additionalProperties")
        if isinstance(more, dict) and random.random() < 0.7:
            names = ["seed", "device", "run.requests", "workload.arrival.rate_per_s", "a", "system.scheduler"]
            table[random.choice(names)] = self.value(more, depth + 1)
        return table

    def _number(self, kind: str, schema: Schema) -> Any:
        """Draw a number: mostly in range, sometimes at a border or just beyond."""
        random = self.random
        low: Any = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        high: Any = schema.get("maximum", schema.get("exclusiveMaximum", max(low * 2, 1000)))
        step: Any = 1 if kind == "integer" else random.choice([1e-9, 0.01, 1.0])
        border = random.random()
        if border < 0.2:
            return random.choice([low, high, low - step, high + step, low + step, high - step])
        if border < 0.5:
            high = min(high, low + 100)
        drawn = low + (high - low) * random.random() ** random.choice([1, 3, 9])
        return round(drawn) if kind == "integer" else drawn
