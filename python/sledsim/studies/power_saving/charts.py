"""Charts of runs with different power strategies."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sledsim.runs.phases import states_of
from sledsim.show.style import altair_library, apply_style, state_colours, values
from sledsim.show.tables import number

if TYPE_CHECKING:
    import altair

    from sledsim.studies.power_saving.strategies import PowerComparison

__all__ = ["power_bars"]

#: States in the order of a bar, from the left, with their colours.
STATE_COLOURS = state_colours(("data", "servo", "seek", "rotation", "startup", "idle", "inactive"))
BAR_STEP = 38
ENERGY_WIDTH, SIDE_WIDTH = 400, 190


def power_bars(comparison: "PowerComparison") -> "altair.TopLevelMixin":
    """Draw the energy of runs by state, their mean response times and their throughput.

    Parameters
    ----------
    comparison
        The runs.
    """
    alt = altair_library()
    rows = comparison.rows()
    energy = _energy_panel(alt, comparison, rows)
    response = _side_panel(alt, rows, "response_mean_ms", "response_ratio", "Mean response (ms)")
    throughput = _side_panel(alt, rows, "throughput_per_s", "throughput_ratio", "Throughput (requests/s)")
    chart = alt.hconcat(energy, response, throughput, spacing=22).resolve_scale(color="independent")
    title = "Spin-down policies" if comparison.policies else "Power strategies, alone and together"
    return apply_style(chart, title, f"{comparison.subject}; × and % against the first")


def _energy_panel(alt: Any, comparison: "PowerComparison", rows: Sequence[Mapping[str, Any]]) -> Any:
    order = {key: place for place, key in enumerate(STATE_COLOURS)}
    labels: dict[str, str] = {}
    data = []
    for name, result in comparison.results.items():
        for part in states_of(result.summary):
            labels[part.key] = part.label
            joules = result["energy"][f"{part.key}_j"]
            data.append({"run": name, "state": part.label, "order": order[part.key], "value": joules})
    shown = sorted(labels, key=order.__getitem__)
    colour = alt.Color(
        "state:N",
        sort=None,
        scale=alt.Scale(domain=[labels[key] for key in shown], range=[STATE_COLOURS[key] for key in shown]),
        legend=alt.Legend(title=None, orient="bottom", columns=len(shown), symbolType="square"),
    )
    most = max(row["total_j"] for row in rows)
    x = alt.X("value:Q", title="Energy (J)", stack="zero", scale=_scale(alt, most), axis=_few(alt, 7, most))
    y = alt.Y("run:N", title=None, sort=None, axis=alt.Axis(labelLimit=160, labelFontSize=12))
    tooltip = [
        alt.Tooltip("run:N", title="run"),
        alt.Tooltip("state:N", title="state"),
        alt.Tooltip("value:Q", title="Energy (J)", format=".5g"),
    ]
    bars = (
        alt.Chart(values(data))
        .mark_bar(size=22)
        .encode(x=x, y=y, color=colour, order=alt.Order("order:Q"), tooltip=tooltip)
    )
    texts = [{"run": row["name"], "value": row["total_j"], "label": _saving(row)} for row in rows]
    ends = alt.Chart(values(texts)).mark_text(align="left", dx=5, fontSize=11)
    ends = ends.encode(x=alt.X("value:Q"), y=alt.Y("run:N", sort=None), text="label:N")
    return (bars + ends).properties(width=ENERGY_WIDTH, height=alt.Step(BAR_STEP))


def _side_panel(alt: Any, rows: Sequence[Mapping[str, Any]], key: str, ratio: str, title: str) -> Any:
    data = [{"run": row["name"], "value": row[key] or 0.0, "label": _with_ratio(row[key], row[ratio])} for row in rows]
    most = max(row["value"] for row in data)
    base = alt.Chart(values(data)).encode(
        x=alt.X("value:Q", title=title, scale=_scale(alt, most, room=1.9), axis=_few(alt, 4, most)),
        # Only the left panel has the names of the runs.
        y=alt.Y("run:N", title=None, sort=None, axis=alt.Axis(labels=False, ticks=False)),
        tooltip=[alt.Tooltip("run:N", title="run"), alt.Tooltip("value:Q", title=title, format=".5g")],
    )
    labels = base.mark_text(align="left", dx=5, fontSize=11).encode(text="label:N")
    bars = base.mark_bar(size=22, color="#8a8a8a")
    return (bars + labels).properties(width=SIDE_WIDTH, height=alt.Step(BAR_STEP))


def _few(alt: Any, ticks: int, most: float) -> Any:
    """Return an axis with few ticks and short labels, which do not overlap."""
    # From 10,000 on with SI prefixes: 10k, 1.2M.
    return alt.Axis(tickCount=ticks, format="~s") if most >= 1e4 else alt.Axis(tickCount=ticks)


def _scale(alt: Any, most: float, room: float = 1.32) -> Any:
    """Return a scale with space for the labels to the right of the bars."""
    return alt.Scale(domain=[0, room * most if most else 1.0], nice=False)


def _saving(row: Mapping[str, Any]) -> str:
    text = f"{number(row['total_j'])} J"
    if not row["complete"]:
        return f"{text} (incomplete)"
    share = row["saved_share"]
    if share is None:
        return text
    percent = round(-100 * share, 1)
    return f"{text} ({percent:+.1f} %)".replace("-", "−") if percent else f"{text} (±0 %)"


def _with_ratio(value: float | None, ratio: float | None) -> str:
    if value is None:
        return "–"
    text = number(value)
    return text if ratio is None else f"{text} (×{number(ratio, 3)})"
