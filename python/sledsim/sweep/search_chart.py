"""Charts of searches for good designs."""

from typing import TYPE_CHECKING, Any

from sledsim.show.style import COLOURS, HEIGHT, WIDTH, altair_library, apply_style, values
from sledsim.sweep.measures import with_unit
from sledsim.sweep.tables import label

if TYPE_CHECKING:
    import altair

    from sledsim.sweep.outcome import SearchOutcome

__all__ = ["search_plot"]

KEPT, BROKEN, BEST = "tried", "breaks a constraint", "best"


def search_plot(found: "SearchOutcome") -> "altair.TopLevelMixin":
    """Draw the tried designs: the second objective against the first, with a third one as colour.

    With one objective: its value for each trial, and the best value so far.

    Parameters
    ----------
    found
        The search's outcome.
    """
    alt = altair_library()
    objectives = [with_unit(each.metric) for each in found.search.objectives]
    rows = _rows(found)
    chart = _progress(alt, rows, found) if len(objectives) == 1 else _front(alt, rows, objectives)
    bounds = ", ".join(str(each) for each in found.search.constraints)
    goals = ", ".join(f"{each.goal} {each.metric}" for each in found.search.objectives)
    subtitle = [goals + (f"; {bounds}" if bounds else "")]
    failed = sum(each.error is not None for each in found.trials)
    tried = f"{len(found.trials)} designs tried, {found.search.sampler}"
    subtitle.append(tried + (f"; {failed} could not be run" if failed else ""))
    return apply_style(chart, found.search.name, subtitle)


def _rows(found: "SearchOutcome") -> list[dict[str, Any]]:
    best = {each.number for each in found.front}
    rows = []
    for trial in found.trials:
        if trial.error is None:
            kind = BEST if trial.number in best else KEPT if trial.feasible else BROKEN
            reached = {f"objective {i}": float(f"{value:.5g}") for i, value in enumerate(trial.objectives)}
            chosen = "; ".join(f"{path} = {_short(value)}" for path, value in trial.values.items())
            rows.append({"trial": trial.number, "kind": kind, "design": chosen, **reached})
    return rows


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else label(value)


def _kinds(alt: Any, rows: list[dict[str, Any]]) -> list[str]:
    present = {row["kind"] for row in rows}
    return [kind for kind in (BEST, KEPT, BROKEN) if kind in present]


def _front(alt: Any, rows: list[dict[str, Any]], objectives: list[str]) -> Any:
    """Draw designs in the plane of two objectives, with a line along the Pareto front."""
    axes = [alt.X, alt.Y]
    x, y = (
        axis(f"objective {i}:Q", title=objectives[i], scale=alt.Scale(zero=False, nice=True))
        for i, axis in enumerate(axes)
    )
    kinds = _kinds(alt, rows)
    tooltip = [alt.Tooltip("trial:Q"), alt.Tooltip("design:N")]
    tooltip += [alt.Tooltip(f"objective {i}:Q", title=name) for i, name in enumerate(objectives)]
    base = alt.Chart(values(rows))
    shape = alt.Shape(
        "kind:N",
        sort=kinds,
        legend=alt.Legend(title=None, orient="bottom"),
        scale=alt.Scale(
            domain=kinds, range=[{BEST: "diamond", KEPT: "circle", BROKEN: "cross"}[kind] for kind in kinds]
        ),
    )
    size = alt.Size("kind:N", scale=alt.Scale(domain=[BEST, KEPT, BROKEN], range=[110, 36, 30]), legend=None)
    if len(objectives) > 2:
        third = alt.Color(
            "objective 2:Q", title=objectives[2], scale=alt.Scale(scheme="viridis"), legend=alt.Legend(orient="right")
        )
        points = base.mark_point(filled=True, opacity=0.9).encode(
            x=x, y=y, shape=shape, size=size, color=third, tooltip=tooltip
        )
        return points.properties(width=WIDTH, height=HEIGHT)
    colour = alt.Color(
        "kind:N",
        sort=kinds,
        legend=alt.Legend(title=None, orient="bottom"),
        scale=alt.Scale(
            domain=kinds, range=[{BEST: COLOURS[1], KEPT: COLOURS[0], BROKEN: "#aaaaaa"}[kind] for kind in kinds]
        ),
    )
    points = base.mark_point(filled=True, opacity=0.8).encode(
        x=x, y=y, shape=shape, size=size, color=colour, tooltip=tooltip
    )
    line = (
        alt.Chart(values([row for row in rows if row["kind"] == BEST]))
        .mark_line(color=COLOURS[1], strokeWidth=1.5, opacity=0.6)
        .encode(x=x, y=y, order="objective 0:Q")
    )
    return alt.layer(line, points).properties(width=WIDTH, height=HEIGHT)


def _progress(alt: Any, rows: list[dict[str, Any]], found: "SearchOutcome") -> Any:
    """Draw the objective of each trial, and the best value so far."""
    objective = found.search.objectives[0]
    better = max if objective.goal == "maximise" else min
    best: list[dict[str, Any]] = []
    for row in rows:
        if row["kind"] != BROKEN:
            reached = row["objective 0"]
            so_far = better(best[-1]["best"], reached) if best else reached
            best.append({"trial": row["trial"], "best": so_far})
    kinds = _kinds(alt, rows)
    colours = {BEST: COLOURS[1], KEPT: COLOURS[0], BROKEN: "#aaaaaa"}
    y = alt.Y("objective 0:Q", title=with_unit(objective.metric), scale=alt.Scale(zero=False))
    points = alt.Chart(values(rows)).mark_point(filled=True, size=36, opacity=0.8)
    points = points.encode(
        x=alt.X("trial:Q", title="Trial"),
        y=y,
        color=alt.Color(
            "kind:N",
            legend=alt.Legend(title=None, orient="bottom"),
            scale=alt.Scale(domain=kinds, range=[colours[kind] for kind in kinds]),
        ),
        tooltip=[
            alt.Tooltip("trial:Q"),
            alt.Tooltip("design:N"),
            alt.Tooltip("objective 0:Q", title=with_unit(objective.metric)),
        ],
    )
    line = alt.Chart(values(best)).mark_line(interpolate="step-after", color=COLOURS[1]).encode(x="trial:Q", y="best:Q")
    return alt.layer(line, points).properties(width=WIDTH, height=HEIGHT)
