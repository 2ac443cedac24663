"""The schedulers that a scenario can name."""

from typing import Any

from sledsim import _core
from sledsim.show.tables import Table, with_default

__all__ = ["catalog", "schedulers_table"]


def catalog() -> list[dict[str, Any]]:
    """List the schedulers: name, title, description, source, parameters."""
    return _core.schedulers()


def schedulers_table() -> Table:
    """Return the schedulers, their parameters with defaults, and what they do, as a table."""
    rows = []
    for each in catalog():
        parameters = ", ".join(with_default(key, schema) for key, schema in each["parameters"].items())
        rows.append([each["name"], parameters, each["description"]])
    return Table(["scheduler", "parameters", "picks"], rows, left=frozenset({1, 2}))
