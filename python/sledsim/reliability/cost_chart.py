"""Charts of cost against reliability."""

from typing import TYPE_CHECKING, Any

from sledsim.show.naming import with_count
from sledsim.show.style import COLOURS, HEIGHT, altair_library, apply_style, probability_axis, values

if TYPE_CHECKING:
    import altair

    from sledsim.reliability.cost import CostCurve

__all__ = ["cost_lines"]

#: Start of the probability axis, as a share of the lowest probability.
ROOM = 0.6
COST_WIDTH, VISIT_WIDTH = 460, 250
STRATEGY_COLOURS = {"none": COLOURS[1], "mandatory": COLOURS[4], "preventive": COLOURS[0]}
STRATEGY_LABELS = {"none": "no repair", "mandatory": "mandatory repair", "preventive": "preventive repair"}


def cost_lines(found: "CostCurve") -> "altair.TopLevelMixin":
    """Draw the cost of each design against its probability of loss, and the break-even prices of a visit.

    Parameters
    ----------
    found
        The designs.
    """
    alt = altair_library()
    panels = [_designs(alt, found)]
    if any(each.price is not None for each in found.visit_prices):
        panels.append(_visits(alt, found))
    chart = alt.hconcat(*panels, spacing=28)
    subtitle = [
        f"{found.subtitle}; economic lifetime {found.cost.lifetime}",
        "Numbers are spares. Grey: no other design is both cheaper and safer",
    ]
    if found.cost.loss:
        best = found.cheapest
        design = f"{STRATEGY_LABELS[best.strategy]}, {with_count(best.spares, 'spare')}"
        subtitle.append(f"Ring: least total, mean loss included: {design}, {best.total:,.0f} {found.cost.currency}")
    if len(panels) > 1:
        subtitle.append(
            "Right: the price of a visit up to which a repaired design is as safe for less; dashed: the price given"
        )
    return apply_style(chart, found.title, subtitle)


def _designs(alt: Any, found: "CostCurve") -> Any:
    """Draw a line for each strategy, with a point for each number of spares, above the grey Pareto front."""
    rows: list[dict[str, Any]] = [
        {
            "strategy": STRATEGY_LABELS[each.strategy],
            "spares": each.spares,
            "loss": _short(each.loss_probability),
            "spent": _short(each.spent),
            "visits": _short(each.visits),
            "total": _short(each.total),
        }
        for each in found.designs
    ]
    strategies = list(dict.fromkeys(each.strategy for each in found.designs))
    colour = alt.Color(
        "strategy:N",
        sort=None,
        legend=alt.Legend(title=None, orient="bottom", symbolStrokeWidth=2),
        scale=alt.Scale(
            domain=[STRATEGY_LABELS[each] for each in strategies], range=[STRATEGY_COLOURS[each] for each in strategies]
        ),
    )
    currency = found.cost.currency
    x = _loss_axis(alt, [row["loss"] for row in rows])
    # Room above for the numbers and below for the ring.
    low, high = min(row["spent"] for row in rows), max(row["spent"] for row in rows)
    room = 0.06 * (high - low) or 1.0
    y = alt.Y(
        "spent:Q",
        title=f"Spent ({currency}), mean",
        scale=alt.Scale(domain=[low - room, high + 1.5 * room], nice=False, zero=False),
        axis=alt.Axis(format=",.6~g"),
    )
    base = alt.Chart(values(rows)).encode(
        x=x,
        y=y,
        color=colour,
        order="spares:Q",
        tooltip=[
            alt.Tooltip("strategy:N", title="strategy"),
            alt.Tooltip("spares:Q", title="spares"),
            alt.Tooltip("loss:Q", title="Probability of loss"),
            alt.Tooltip("visits:Q", title="visits"),
            alt.Tooltip("spent:Q", title=f"spent ({currency})"),
            alt.Tooltip("total:Q", title=f"with mean loss ({currency})"),
        ],
    )
    frontier = [{"loss": _short(each.loss_probability), "spent": _short(each.spent)} for each in found.frontier]
    under = alt.Chart(values(frontier)).mark_line(strokeWidth=7, color="#d9d9d9", strokeJoin="round", strokeCap="round")
    layers = [
        under.encode(x="loss:Q", y="spent:Q", order="spent:Q"),
        base.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=36)),
        base.mark_text(dy=-9, fontSize=10).encode(text="spares:Q"),
    ]
    if found.cost.loss:
        layers.append(_ring(alt, found))
    return alt.layer(*layers).properties(width=COST_WIDTH, height=HEIGHT)


def _ring(alt: Any, found: "CostCurve") -> Any:
    """Draw a ring around the design with the lowest total."""
    best = found.cheapest
    place = alt.Chart(values([{"loss": _short(best.loss_probability), "spent": _short(best.spent)}]))
    return place.mark_point(size=190, color="#000", strokeWidth=1.5).encode(x="loss:Q", y="spent:Q")


def _visits(alt: Any, found: "CostCurve") -> Any:
    """Draw the break-even price of a visit against the required probability of loss."""
    rows: list[dict[str, Any]] = [
        {
            "loss": _short(each.loss_probability),
            "price": _short(each.price),
            "spares": each.spares,
            "instead": f"{each.strategy}, {each.maintained_spares}",
        }
        for each in found.visit_prices
        if each.price is not None
    ]
    base = alt.Chart(values(rows)).encode(
        x=_loss_axis(alt, [row["loss"] for row in rows]),
        y=alt.Y(
            "price:Q",
            title=f"Price of a visit ({found.cost.currency})",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(format="~s", tickCount=6),
        ),
        order="spares:Q",
        tooltip=[
            alt.Tooltip("spares:Q", title="spares without repair"),
            alt.Tooltip("loss:Q", title="Probability of loss"),
            alt.Tooltip("price:Q", title="repair pays up to"),
            alt.Tooltip("instead:N", title="strategy and spares"),
        ],
    )
    layers = [
        base.mark_line(color="#444", strokeWidth=2, point=alt.OverlayMarkDef(size=36, color="#444")),
        base.mark_text(dy=-9, fontSize=10).encode(text="spares:Q"),
    ]
    if found.cost.visit:
        now = alt.Chart(values([{"price": found.cost.visit}]))
        layers.append(now.mark_rule(strokeDash=[4, 3], color="#777").encode(y="price:Q"))
    heading = alt.TitleParams("Repair pays below the line", anchor="middle", fontSize=12, fontWeight="normal")
    return alt.layer(*layers).properties(width=VISIT_WIDTH, height=HEIGHT, title=heading)


def _loss_axis(alt: Any, found: list[float]) -> Any:
    """Return a logarithmic axis of probabilities, safer to the left."""
    least = min(each for each in found if each > 0)
    return probability_axis(alt, alt.X, "loss", least, start=min(ROOM * least, 0.1))


def _short(value: float) -> float:
    return float(f"{value:.5g}")
