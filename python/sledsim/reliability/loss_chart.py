"""Charts of simulated lifetimes of enclosures."""

from typing import TYPE_CHECKING, Any

from sledsim.reliability.wording import enclosure_text
from sledsim.show.style import (
    COLOURS,
    HEIGHT,
    WIDTH,
    altair_library,
    apply_style,
    decade_below,
    probability_axis,
    values,
)

if TYPE_CHECKING:
    import altair

    from sledsim.reliability.curves import Curve
    from sledsim.reliability.monte_carlo import MonteCarlo

__all__ = ["loss_intervals"]

#: Names in the legend, and their colours.
SIMULATED, BOUND, CHAIN = "simulated", "bound: nothing seen", "chain"
LEGEND = {SIMULATED: COLOURS[0], BOUND: COLOURS[1], CHAIN: "#555555"}


def loss_intervals(found: "MonteCarlo", chain: "Curve | None" = None) -> "altair.TopLevelMixin":
    """Draw probabilities of loss with their intervals over time; a triangle is an upper bound without observed loss.

    Parameters
    ----------
    found
        The simulated lifetimes.
    chain
        The same enclosure by its Markov chain, for comparison.
    """
    alt = altair_library()
    # The axis ends below the triangles; intervals from 0 are drawn from the end of the axis.
    least = min(loss["low"] or (loss["estimate"] or 0.1 * loss["high"]) for loss in found.loss)
    bottom = decade_below(least)
    y = probability_axis(alt, alt.Y, "loss", least)
    rows = [
        {
            "what": BOUND if loss["estimate"] is None else SIMULATED,
            "years": loss["years"],
            "loss": loss["high"] if loss["estimate"] is None else loss["estimate"],
            "low": max(loss["low"], bottom),
            "high": loss["high"],
        }
        for loss in found.loss
    ]
    shown = [name for name in LEGEND if name == SIMULATED or any(row["what"] == name for row in rows)]
    shown += [CHAIN] if chain else []
    end = max(loss["years"] for loss in found.loss)
    # Room for the last point.
    x = alt.X("years:Q", title="Time (years)", scale=alt.Scale(domain=[0, 1.03 * end], nice=False))
    scale = alt.Scale(domain=shown, range=[LEGEND[name] for name in shown])
    colour = alt.Color("what:N", title=None, scale=scale, legend=alt.Legend() if len(shown) > 1 else None)
    base = alt.Chart(values(rows)).encode(x=x, y=y, color=colour)
    seen = base.transform_filter(f"datum.what === '{SIMULATED}'")
    layers = [
        *([_line(alt, chain, y, colour)] if chain else []),
        seen.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q"), y2="high:Q"),
        seen.mark_point(filled=True, size=50, opacity=1).encode(tooltip=_tooltip(alt)),
        base.transform_filter(f"datum.what === '{BOUND}'").mark_point(shape="triangle-down", filled=True, size=90),
    ]
    level = f"{100 * found.confidence:g} % intervals, {found.lifetimes:,} lifetimes, seed {found.seed}"
    chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    return apply_style(chart, "Loss of data, simulated", [enclosure_text(found.description), level])


def _line(alt: Any, chain: "Curve", y: Any, colour: Any) -> Any:
    """Draw the curve of a Markov chain."""
    rows = [
        {"what": CHAIN, "years": float(f"{years:.5g}"), "loss": float(f"{loss:.5g}")}
        for years, loss in zip(chain.years, chain.loss, strict=True)
        if loss > 0
    ]
    return alt.Chart(values(rows)).mark_line(strokeWidth=1.5, clip=True).encode(x="years:Q", y=y, color=colour)


def _tooltip(alt: Any) -> list[Any]:
    fields = {"years": "Time (years)", "loss": "Loss", "low": "from", "high": "to"}
    return [alt.Tooltip(f"{field}:Q", title=title, format=".4g") for field, title in fields.items()]
