"""Chart of response time against load, with a line per device and scheduler."""

from typing import TYPE_CHECKING

from sledsim._core import SledsimError
from sledsim.show.faults import make_error
from sledsim.show.style import COLOURS, altair_library, apply_style, values

if TYPE_CHECKING:
    import altair

    from sledsim.runs.load_limit import LoadLimits

__all__ = ["load_lines"]

WIDTH = 640


def load_lines(limits: "LoadLimits") -> "altair.TopLevelMixin":
    """Draw the response time at each tried load, and the bound.

    Parameters
    ----------
    limits
        The limits.
    """
    alt = altair_library()
    rows = [
        {"name": each.name, "rate": float(f"{point.rate_per_s:.6g}"), "response": float(f"{point.value_ms:.5g}")}
        for each in limits.limits
        for point in each.points
        if point.value_ms > 0
    ]
    if not rows:
        raise make_error(SledsimError, "missing", "there is nothing to draw: no load was tried")
    names = [each.name for each in limits.limits if each.points]
    lines = (
        alt.Chart(values(rows))
        .mark_line(strokeWidth=1.4, point=True)
        .encode(
            x=alt.X("rate:Q", title="Load (requests/s)", scale=alt.Scale(type="log")),
            y=alt.Y("response:Q", title=f"{limits.bound.measure} of the response (ms)", scale=alt.Scale(type="log")),
            color=alt.Color("name:N", title=None, sort=names, scale=alt.Scale(domain=names, range=list(COLOURS))),
            tooltip=[
                alt.Tooltip("name:N", title="device, scheduler"),
                alt.Tooltip("rate:Q", format=".4g", title="load (requests/s)"),
                alt.Tooltip("response:Q", format=".4g", title=f"{limits.bound.measure} (ms)"),
            ],
        )
    )
    rule = alt.Chart(values([{"bound": limits.bound.ms}])).mark_rule(strokeDash=[4, 3]).encode(y="bound:Q")
    chart = alt.layer(lines, rule).properties(width=WIDTH, height=320)
    return apply_style(chart, "Response time over the load", [f"dashed: {limits.bound}"])
