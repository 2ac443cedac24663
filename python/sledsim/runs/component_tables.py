"""Tables of the activity of each component of a system."""

from collections.abc import Mapping, Sequence
from typing import Any

from sledsim.show.naming import label_of
from sledsim.show.tables import Table, number

__all__ = ["component_tables"]


def component_tables(components: Sequence[Mapping[str, Any]]) -> list[Table]:
    """Return a table of response times by request path with the utilisation of mechanisms, and a table of counts.

    Parameters
    ----------
    components
        The key ``components`` of a summary.
    """
    depths = {component["path"]: _depth(component, components) for component in components}
    responses, counts = [], []
    for component in components:
        indent = "  " * depths[component["path"]]
        label = f"{indent}{component['path'].rpartition('.')[2]}: {_title(component)}"
        use = component["mechanisms"]
        figures = ["", "", ""]
        if use:
            figures = [number(100 * use["utilisation"]), number(use["queue_mean"]), number(use["energy_j"])]
        responses.append([label, number(component["requests"]), "", "", *figures])
        for path in component["paths"]:
            times = (number(path["requests"]), number(path["mean_ms"]), number(path["max_ms"]))
            responses.append([f"{indent}  {path['name']}", *times, "", "", ""])
        for count in component["counts"]:
            name = count["name"].replace("_", " ")
            counts.append([component["path"], name, number(_plain(count["value"])), count["unit"]])
    headers = ["component", "requests", "mean (ms)", "max (ms)", "busy (%)", "queue, mean", "energy (J)"]
    tables = [Table(headers, responses)]
    if counts:
        tables.append(Table(["component", "count", "", "unit"], counts, left=frozenset({1, 3}), names=2))
    return tables


def _depth(component: Mapping[str, Any], components: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of ancestors of a component."""
    above = [other for other in components if other["path"] == component["parent"]]
    return 1 + _depth(above[0], components) if above else 0


def _title(component: Mapping[str, Any]) -> str:
    kind, name = component["kind"], component["name"]
    return f"{kind} {label_of(name)}" if name else str(kind)


def _plain(value: float) -> float | int:
    """Return a number as an integer if it is whole."""
    return int(value) if value == int(value) else value
