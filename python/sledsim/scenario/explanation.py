"""A system before it runs: its components as a tree, with their sizes and parameters."""

from collections.abc import Iterator, Mapping
from typing import Any

from sledsim.scenario.reading import ScenarioLike, Sets, resolve
from sledsim.show.shown import OneTable, Plain
from sledsim.show.tables import Table, number

__all__ = ["Explanation", "explain"]

#: Units with their bytes, and true if only whole numbers are written in them.
UNITS = (("GiB", 2**30, True), ("MiB", 2**20, True), ("GB", 10**9, False), ("MB", 10**6, False), ("KiB", 2**10, True))


class Explanation(OneTable, Plain):
    """The components of a scenario's system.

    Parameters
    ----------
    tree
        The system: ``role`` (the key that holds it), ``path``, ``count``, ``kind``, ``name``, ``capacity_blocks``,
        ``block_bytes``, ``parameters``, ``notes`` (the place where writes wait, the data that a power cut loses, the
        number of tolerated failures) and ``children``, which have the same keys.
    """

    def __init__(self, tree: Mapping[str, Any]) -> None:
        self.tree = dict(tree)

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as plain values."""
        return self.tree

    def table(self) -> Table:
        """Return the tree as a table, a line for each component."""
        rows = [
            [branch + _title(node), _size(node), node["path"], _parameters(node), "; ".join(node["notes"])]
            for branch, node in _walk(self.tree)
        ]
        return Table(["component", "size", "path", "parameters", "notes"], rows, left=frozenset({2, 3, 4}))


def explain(scenario: ScenarioLike, *, overrides: Sets = ()) -> Explanation:
    """Describe the system of a scenario without running it.

    Parameters
    ----------
    scenario
        Anything :func:`sledsim.run` takes.
    overrides
        Values that replace those of the scenario.

    Raises
    ------
    ScenarioError
        If the scenario is wrong.

    Examples
    --------
    >>> arrival = {"kind": "closed", "outstanding": 1}
    >>> system = {"kind": "partition", "child": "g2", "bytes": "256 MiB"}
    >>> found = explain({"workload": {"arrival": arrival}, "system": system})
    >>> found.tree["children"][0]["parameters"]["device"]
    'g2'
    """
    return Explanation(resolve(scenario, overrides).explain())


def _walk(node: Mapping[str, Any], branch: str = "", below: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield a component and all below it, each with the lines of the tree before its name."""
    yield branch, node
    last = len(node["children"]) - 1
    for place, child in enumerate(node["children"]):
        ends = place == last
        yield from _walk(child, below + ("└─ " if ends else "├─ "), below + ("   " if ends else "│  "))


def _title(node: Mapping[str, Any]) -> str:
    role = "" if node["role"] == "system" else f"{node['role']}: "
    count = f"{node['count']} × " if node["count"] > 1 else ""
    return f"{role}{count}{node['kind']}" + (f" {node['name']}" if node["name"] else "")


def _size(node: Mapping[str, Any]) -> str:
    return bytes_text(node["capacity_blocks"] * node["block_bytes"])


def _parameters(node: Mapping[str, Any]) -> str:
    """Write the keys of a component; for a drive only those that differ from their defaults."""
    usual = {"batch_max": 1} if node["kind"] == "drive" else {}
    return ", ".join(_items({key: value for key, value in node["parameters"].items() if usual.get(key) != value}))


def _items(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in values.items():
        if value is None or value is False or value in ([], {}, ""):
            continue
        name = prefix + key
        if isinstance(value, dict) and set(value) >= {"name"}:
            # A policy: its name, then its parameters.
            yield " ".join([name, str(value["name"])])
            yield from _items({each: item for each, item in value.items() if each != "name"}, f"{name}.")
        elif isinstance(value, dict):
            yield from _items(value, f"{name}.")
        elif isinstance(value, list):
            yield f"{len(value)} {name}"
        elif value is True:
            yield name
        elif key == "bytes" or key.endswith("_bytes"):
            yield f"{name} {bytes_text(value)}"
        else:
            yield f"{name} {number(value) if isinstance(value, int | float) else value}"


def bytes_text(size: int) -> str:
    """Write a number of bytes with a unit: a binary one if the number is whole in it, otherwise a decimal one.

    Parameters
    ----------
    size
        The bytes.
    """
    for unit, of, only_whole in UNITS:
        if size >= of and not (only_whole and size % of):
            return f"{number(size // of if only_whole else size / of)} {unit}"
    return f"{size:,} B"
