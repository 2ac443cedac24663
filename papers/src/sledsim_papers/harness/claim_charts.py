"""Charts of single claims: the published statement beside Sledsim's figures."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sledsim.show import COLOURS, altair_library, apply_style, values
from sledsim_papers.harness.charts import Axis, lines
from sledsim_papers.harness.claim import Claim, figures_of
from sledsim_papers.harness.finding import Finding
from sledsim_papers.harness.reproduction import Answer
from sledsim_papers.harness.wording import published_text

if TYPE_CHECKING:
    import altair

__all__ = ["claim_chart"]

#: Size of a chart, and height of a row of figures.
WIDTH, ROW = 380, 34
#: Columns of the chart of an order.
SIDES = ("paper", "Sledsim")


def claim_chart(answer: Answer) -> "altair.TopLevelMixin | None":
    """Return a chart of a claim.

    Figures stand beside the published range with its tolerance, an order beside the published one, and a trend is the
    curve behind it.

    Parameters
    ----------
    answer
        The outcome of the claim.

    Returns
    -------
    altair.TopLevelMixin or None
        ``None`` if the claim is not done, or is a trend without a curve of numbers.
    """
    claim, finding = answer.claim, answer.finding
    if finding is None:
        return None
    if figures_of(finding.ours) is not None:
        chart = _figures(claim, finding)
    elif isinstance(finding.ours, tuple):
        chart = _order(claim, tuple(map(str, finding.ours)))
    else:
        chart = _curve(finding.curve)
    if chart is None:
        return None
    return apply_style(chart, claim.id, f"{published_text(claim)}: {answer.verdict}")


def _tolerated(claim: Claim, count: int) -> Iterator[tuple[float, float]]:
    """Yield the ends of the tolerated range of each figure."""
    if claim.kind == "range":
        yield from [(claim.low or 0.0, claim.high or 0.0)] * count
        return
    for figure in figures_of(claim.published) or ():
        off = abs(figure) * (claim.tol or 0.0)
        yield figure - off, figure + off


def _figures(claim: Claim, finding: Finding) -> Any:
    """Draw figures with their intervals over the tolerated ranges."""
    alt = altair_library()
    ours = figures_of(finding.ours) or ()
    ends = finding.intervals or tuple((figure, figure) for figure in ours)
    rows = [
        {"figure": str(number), "low": low, "high": high, "ours": figure, "from": start, "to": end}
        for number, (figure, (low, high), (start, end)) in enumerate(
            zip(ours, _tolerated(claim, len(ours)), ends, strict=True), 1
        )
    ]
    axis = alt.Axis(labels=len(rows) > 1, ticks=len(rows) > 1)
    title = "figure" if len(rows) > 1 else None
    base = alt.Chart(values(rows)).encode(y=alt.Y("figure:N", title=title, axis=axis, sort=None))
    unit = claim.unit or "value"
    across = alt.Scale(zero=False, nice=True)
    band = base.mark_bar(color=COLOURS[0], opacity=0.25, height=18).encode(
        x=alt.X("low:Q", title=unit, scale=across), x2="high:Q"
    )
    interval = base.mark_rule(strokeWidth=2, color="black").encode(x="from:Q", x2="to:Q")
    point = base.mark_point(filled=True, size=80, color="black", opacity=1).encode(
        x="ours:Q", tooltip=[alt.Tooltip("ours:Q", title="Sledsim")]
    )
    return (band + interval + point).properties(width=WIDTH, height=ROW * len(rows))


def _order(claim: Claim, ours: Sequence[str]) -> Any:
    """Draw the published order and ours, with a line for each name."""
    alt = altair_library()
    published = [str(each) for each in claim.published] if isinstance(claim.published, tuple) else []
    rows: list[dict[str, Any]] = []
    for side, groups in zip(SIDES, (published, ours), strict=True):
        before = 0
        for group in groups:
            names = re.split(r"[+~]", group.removeprefix("saturated:"))
            # Names that are not ranked among themselves share the middle of their places.
            place = before + (len(names) + 1) / 2
            rows += [{"side": side, "place": place, "name": name} for name in names]
            before += len(names)
    base = alt.Chart(values(rows)).encode(
        x=alt.X("side:N", sort=list(SIDES), title=None, axis=alt.Axis(labelAngle=0, orient="top")),
        y=alt.Y("place:Q", title="place", scale=alt.Scale(reverse=True, zero=False), axis=alt.Axis(tickMinStep=1)),
        color=alt.Color("name:N", title=None, scale=alt.Scale(range=list(COLOURS)), legend=alt.Legend(orient="right")),
    )
    line = base.mark_line(strokeWidth=2).encode(detail="name:N")
    height = ROW * len({row["name"] for row in rows})
    return (line + base.mark_point(filled=True, size=70, opacity=1)).properties(width=WIDTH // 2, height=height)


def _curve(curve: Sequence[Mapping[str, Any]]) -> Any:
    """Draw the second column of numbers of a curve over the first; ``None`` if there are no two."""
    numbers = [key for key in (curve[0] if curve else {}) if all(_is_number(row.get(key)) for row in curve)]
    if len(numbers) < 2 or len(curve) < 2:
        return None
    x, y = numbers[:2]
    # Dots and brackets in the name of a field would be read as paths.
    rows = [{"x": row[x], "y": row[y]} for row in curve]
    return lines(rows, Axis("x", x), Axis("y", y)).properties(width=WIDTH, height=WIDTH // 2)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
