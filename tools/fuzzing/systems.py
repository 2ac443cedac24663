"""Random systems: trees of all components, with failures, power cuts and moves; some with changed values."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import random_scenarios
from fuzzing import mutation
from fuzzing.running import run_and_check
from fuzzing.schemas import Drawing, keys_of, schema_of

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from fuzzing.targets import Given


def changed(random: Random, document: Any, kind: str, count: int) -> Any:
    """Change some places of a document: within its schema, to a near value, or to any value."""
    document = copy.deepcopy(document)
    for _ in range(count):
        known = list(mutation.places(document))
        if not known:
            return document
        try:
            _change(random, document, kind, known)
        except RecursionError:
            # Deeply nested values cannot be copied; the document stays unchanged.
            return document
    return document


def _change(random: Random, document: Any, kind: str, known: list[Any]) -> None:
    """Change one place of a document that its schema describes."""
    place = random.choice(known)
    key, way = place[-1], random.random()
    old = mutation.value_at(document, place)
    if way < 0.4 and isinstance(key, str) and key in keys_of(kind):
        schema = random.choice(keys_of(kind)[key])
        mutation.replaced(document, place, copy.deepcopy(Drawing(random, schema_of(kind)).value(schema, 1)))
    elif way < 0.7:
        mutation.replaced(document, place, mutation.mild(random, copy.deepcopy(old)))
    elif way < 0.78:
        mutation.removed(document, place)
    elif way < 0.86:
        other = copy.deepcopy(mutation.value_at(document, random.choice(known)))
        mutation.replaced(document, place, other)
    elif way < 0.93 and isinstance(old, dict):
        key = random.choice([*keys_of(kind)])
        old[key] = copy.deepcopy(Drawing(random, schema_of(kind)).value(random.choice(keys_of(kind)[key]), 1))
    else:
        mutation.replaced(document, place, mutation.wild(random))


class Systems:
    """Scenarios of ``tools/random_scenarios.py``, some with changed values."""

    def make(self, random: Random) -> Given:
        """Draw a scenario."""
        number = random.randrange(10**6)
        maker = random_scenarios.fragile if random.random() < 0.4 else random_scenarios.scenario
        document = maker(number)
        count = random.choice([0, 0, 0, 1, 1, 2, 4])
        return {"document": changed(random, document, "scenario", count), "again": random.random() < 0.4}

    def attempt(self, given: Given, folder: Path) -> None:
        """Resolve and run the scenario."""
        from sledsim.scenario.reading import resolve

        resolved = resolve(given["document"])
        run_and_check(resolved.values, again=given["again"])
