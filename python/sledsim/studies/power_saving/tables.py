"""Tables of runs with different power strategies."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sledsim.show.tables import Table, number

if TYPE_CHECKING:
    from sledsim.studies.power_saving.strategies import Variant

__all__ = ["bar_table", "energy_table", "note_table", "setting_table", "time_table"]

#: Length of the longest bar, and the parts of a bar with their characters.
BAR_WIDTH = 50
PARTS = (
    ("servicing", "servicing_j", "█"),
    ("start-up", "startup_j", "▓"),
    ("idle", "idle_j", "▒"),
    ("inactive", "inactive_j", "░"),
)


def energy_table(title: str, rows: Sequence[Mapping[str, Any]], *, policies: bool) -> Table:
    """Return a table of the energies of runs.

    Parameters
    ----------
    title
        The title.
    rows
        The runs.
    policies
        True for spin-down policies, with the energy of the optimum with hindsight.
    """
    columns = [("total", "total_j"), ("servicing", "servicing_j"), ("start-up", "startup_j")]
    if policies:
        # The servicing energy hardly depends on the policy, so that the optimum replaces it.
        columns = [("total", "total_j"), ("hindsight", "hindsight_j"), ("start-up", "startup_j")]
    cells = []
    for row in rows:
        total, *others = (number(row[key]) for _, key in columns)
        idle = number(row["idle_j"] + row["inactive_j"])
        cells.append([_label(row), total, _percent(row["saved_share"]), *others, idle, number(row["per_request_mj"])])
    names = [label for label, _ in columns]
    headers = ["energy (J)", names[0], "saved %", *names[1:], "idle+inactive", "mJ/request"]
    return Table(headers, cells, title=title)


def time_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table of response times and throughput of runs, with ratios to the first.

    Parameters
    ----------
    rows
        The runs.
    """
    cells = [
        [
            _label(row),
            number(row["response_mean_ms"]),
            _times(row["response_ratio"]),
            number(row["response_p99_ms"]),
            number(row["throughput_per_s"]),
            _times(row["throughput_ratio"]),
            number(row["startups"]),
        ]
        for row in rows
    ]
    return Table(["time", "response (ms)", "ratio", "p99 (ms)", "requests/s", "ratio", "start-ups"], cells)


def bar_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table of the energies of runs as bars of characters.

    Parameters
    ----------
    rows
        The runs.
    """
    most = max(row["total_j"] for row in rows)
    legend = "  ".join(f"{mark} {label}" for label, _, mark in PARTS)
    return Table(["energy by state", legend], [[_label(row), _bar(row, most)] for row in rows], left=frozenset({1}))


def setting_table(variants: "Mapping[str, Variant]") -> Table:
    """Return a table of the settings of each strategy and their origin: scenario or default.

    Parameters
    ----------
    variants
        The variants by name.
    """
    cells = []
    for name, variant in variants.items():
        if name in ("base", "together"):
            continue
        for key, value in variant.settings.items():
            if value is not None:
                source = "default" if key in variant.defaults else "scenario"
                cells.append([name, f"system.{key} = {_toml(value)}", source])
    return Table(["strategy", "setting", "from"], cells, left=frozenset({1, 2}))


def note_table(notes: Sequence[str]) -> Table:
    """Return a table of notes.

    Parameters
    ----------
    notes
        The notes.
    """
    return Table(["notes"], [[note] for note in notes])


def _bar(row: Mapping[str, Any], most: float) -> str:
    """Draw the parts of a run's energy; the ends of parts are rounded, so that the total length is exact."""
    bar, sum_j = "", 0.0
    for _, key, mark in PARTS:
        sum_j += row[key]
        bar += mark * (round(BAR_WIDTH * sum_j / most) - len(bar)) if most else ""
    return bar


def _label(row: Mapping[str, Any]) -> str:
    return str(row["name"]) if row["complete"] else f"{row['name']} (incomplete)"


def _percent(share: float | None) -> str:
    # Adding 0 takes the sign from a rounded -0.
    return "–" if share is None else f"{round(100 * share, 1) + 0.0:.1f}"


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"×{ratio:.3f}"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        named = dict(value)
        name = named.pop("name", None)
        # Keys that are off or absent are left out.
        inner = ", ".join(f"{key} = {_toml(item)}" for key, item in named.items() if item not in (None, False))
        if name is None:
            return f"{{ {inner} }}"
        return f"{{ name = {_toml(name)}, {inner} }}" if inner else _toml(name)
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)
