"""Chart of MEMS and NVRAM caches of equal cost."""

from typing import TYPE_CHECKING, Any

from sledsim.show.style import COLOURS, HEIGHT, WIDTH, altair_library, apply_style, values
from sledsim.show.tables import number

if TYPE_CHECKING:
    import altair

    from sledsim.studies.cache_cost.comparison import CostComparison

__all__ = ["cache_cost_lines"]

#: The axis is logarithmic above this ratio of response times, as a linear axis would hide the crossover.
LOGARITHMIC_FROM = 12.0
MEMS_COLOUR, NVRAM_COLOUR = COLOURS[1], COLOURS[0]


def cache_cost_lines(found: "CostComparison") -> "altair.TopLevelMixin":
    """Draw response times relative to the MEMS cache against the ratio of prices, after Figure 9 of hong2006.

    Parameters
    ----------
    found
        The caches.
    """
    alt = altair_library()
    base = found.mems.mean_ms
    rows = [
        {
            "ratio": _short(row["ratio"]),
            "over": _short(row["over_mems"]),
            "low": _short((row["mean_ms"] if row["ci95_low_ms"] is None else row["ci95_low_ms"]) / base),
            "high": _short((row["mean_ms"] if row["ci95_high_ms"] is None else row["ci95_high_ms"]) / base),
            "response": _short(row["mean_ms"]),
            "cache": "NVRAM",
        }
        for row in found.rows()
    ]
    mems = [{"ratio": rows[end]["ratio"], "over": 1.0, "cache": "MEMS"} for end in (0, -1)]
    kind = "log" if max(row["over_mems"] for row in found.rows()) > LOGARITHMIC_FROM else "linear"
    x = alt.X("ratio:Q", title="Price of NVRAM over that of MEMS, per GB", scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("over:Q", title="Response time over that of the MEMS cache", scale=alt.Scale(type=kind, zero=True))
    colour = alt.Color(
        "cache:N",
        title=None,
        sort=None,
        scale=alt.Scale(domain=["NVRAM", "MEMS"], range=[NVRAM_COLOUR, MEMS_COLOUR]),
    )
    tooltip = [
        alt.Tooltip("ratio:Q", title="price, × MEMS"),
        alt.Tooltip("response:Q", title="response (ms)"),
        alt.Tooltip("over:Q", title="× MEMS"),
    ]
    line = alt.Chart(values(rows)).mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=40))
    line = line.encode(x=x, y=y, color=colour, tooltip=tooltip)
    bars = alt.Chart(values(rows)).mark_rule(strokeWidth=1.5, color=NVRAM_COLOUR)
    bars = bars.encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    level = alt.Chart(values(mems)).mark_line(strokeWidth=2, strokeDash=[6, 3]).encode(x=x, y=y, color=colour)
    layers = [bars, level, line, *_crossover(alt, found)]
    chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    conclusion = f"MEMS: {number(base)} ms. {found.conclusion[0].upper()}{found.conclusion[1:]}"
    return apply_style(chart, found.title, [found.subject, conclusion])


def _crossover(alt: Any, found: "CostComparison") -> list[Any]:
    """Return a vertical line at the crossover, if there is one."""
    if found.crossover is None:
        return []
    data = values([{"ratio": _short(found.crossover)}])
    return [alt.Chart(data).mark_rule(strokeDash=[2, 3], color="#555").encode(x="ratio:Q")]


def _short(value: float) -> float:
    return float(f"{value:.5g}")
