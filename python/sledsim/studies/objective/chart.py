"""Chart of gains with their intervals, and the 10 % rule."""

from typing import TYPE_CHECKING

from sledsim.show.style import COLOURS, WIDTH, altair_library, apply_style, values

if TYPE_CHECKING:
    import altair

    from sledsim.runs.confidence import Interval
    from sledsim.studies.objective.objective_tests import ObjectiveTest

__all__ = ["gain_chart"]

RULED, DECISIVE, OTHER = COLOURS[1], COLOURS[0], "#888888"


def gain_chart(found: "ObjectiveTest") -> "altair.TopLevelMixin":
    """Draw the gains of a test, followed by the decisive figure, and the 10 % rule as a line.

    Parameters
    ----------
    found
        The test.
    """
    from sledsim.studies.objective.objective_tests import RULE

    alt = altair_library()
    rows = [_row(f"gain on {case.device}", case.gain, OTHER) for case in found.cases if case.gain is not None]
    decisive = _row("difference" if rows else "saved of the disk's time", found.decisive, DECISIVE)
    if found.kind == "merit":
        rows = [{**rows[0], "colour": DECISIVE}]
    else:
        rows.append(decisive)
    base = alt.Chart(values(rows)).encode(
        y=alt.Y("what:N", title=None, sort=None, axis=alt.Axis(labelLimit=260)),
        color=alt.Color("colour:N", scale=None),
        tooltip=["what:N", *(alt.Tooltip(f"{key}:Q", format=".1%") for key in ("mean", "low", "high"))],
    )
    ends = [0.0, RULE, *(float(row[key]) for row in rows for key in ("low", "high"))]
    room = 0.06 * (max(ends) - min(ends))
    scale = alt.Scale(domain=[min(ends) - room, max(ends) + room], nice=False)
    gain = alt.X("low:Q", title="Gain", axis=alt.Axis(format="%"), scale=scale)
    intervals = base.mark_rule(strokeWidth=3).encode(x=gain, x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1).encode(x="mean:Q")
    rule = alt.Chart(values([{"rule": RULE}])).mark_rule(color=RULED, strokeDash=[5, 4]).encode(x="rule:Q")
    nothing = alt.Chart(values([{"none": 0}])).mark_rule(color="#333333").encode(x="none:Q")
    chart = (nothing + rule + intervals + points).properties(width=WIDTH, height=alt.Step(40))
    without = next((case.role for case in found.cases if case.gain is None), None) if found.cases[-1].gain else None
    over = f" over {without}" if without else ""
    subtitle = [f"Gains{over} with 95 % intervals; dashed: the 10 % of the rule", found.sampled_by]
    return apply_style(chart, f"{found.kind.capitalize()} of {found.role}: {found.verdict}", subtitle)


def _row(what: str, interval: "Interval", colour: str) -> dict[str, str | float]:
    return {"what": what, "mean": interval.mean, "low": interval.low, "high": interval.high, "colour": colour}
