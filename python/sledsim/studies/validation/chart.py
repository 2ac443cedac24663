"""Chart of the distributions of measured and modelled service times, and of their distance."""

from typing import TYPE_CHECKING

from sledsim.show.naming import label_of, with_count
from sledsim.show.style import COLOURS, HEIGHT, altair_library, apply_style, rows_of, values

if TYPE_CHECKING:
    import altair

    from sledsim.studies.validation.drive import DriveValidation

__all__ = ["validation_curves"]

#: Number of quantiles of the curves.
POINTS = 250
#: Largest quantiles on the axes of times and of distances; rare larger values would compress the rest.
SHOWN_SHARE, SHOWN_APART_SHARE = 0.998, 0.985
#: Widths of the two panels.
CURVES_WIDTH, DISTANCE_WIDTH = 400, 170


def validation_curves(validation: "DriveValidation") -> "altair.TopLevelMixin":
    """Draw the cumulative distributions of measured and modelled service times, and the distance between them.

    Parameters
    ----------
    validation
        The comparison.
    """
    alt = altair_library()
    quantiles = validation.quantiles(POINTS)
    quantiles["apart_ms"] = quantiles["modelled_ms"] - quantiles["measured_ms"]
    rows = rows_of(quantiles)
    shown = quantiles["share"] <= SHOWN_SHARE
    longest = max(float(quantiles[name][shown].max()) for name in ("measured_ms", "modelled_ms"))
    tooltip = [
        alt.Tooltip("share:Q", title="share no longer", format=".1%"),
        alt.Tooltip("measured_ms:Q", title="measured (ms)", format=".3f"),
        alt.Tooltip("modelled_ms:Q", title="modelled (ms)", format=".3f"),
        alt.Tooltip("apart_ms:Q", title="modelled less measured (ms)", format="+.3f"),
    ]
    base = alt.Chart(values(rows)).encode(
        y=alt.Y(
            "share:Q",
            title="Share of requests no longer",
            axis=alt.Axis(format="~%"),
            scale=alt.Scale(domain=[0, 1], nice=False),
        ),
        order="share:Q",
        tooltip=tooltip,
    )
    names = {"measured_ms": "measured", "modelled_ms": "modelled"}
    curves = (
        base.transform_fold(list(names), as_=["series", "time_ms"])
        .transform_calculate(series=f"{names!r}[datum.series]")
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=alt.X("time_ms:Q", title="Service time (ms)", scale=alt.Scale(domain=[0, 1.02 * longest], nice=False)),
            color=alt.Color(
                "series:N",
                title="Service time",
                scale=alt.Scale(domain=list(names.values()), range=["#000000", COLOURS[1]]),
                legend=alt.Legend(orient="bottom", direction="horizontal"),
            ),
            strokeDash=alt.StrokeDash("series:N", legend=None, scale=alt.Scale(range=[[1, 0], [6, 3]])),
        )
        .properties(width=CURVES_WIDTH, height=HEIGHT)
    )
    usual = quantiles["share"] <= SHOWN_APART_SHARE
    widest = max(abs(float(each)) for each in quantiles["apart_ms"][usual]) or 1.0
    apart = base.mark_line(strokeWidth=2, color=COLOURS[0], clip=True).encode(
        x=alt.X(
            "apart_ms:Q",
            title="Modelled less measured (ms)",
            axis=alt.Axis(tickCount=4),
            scale=alt.Scale(domain=[-1.05 * widest, 1.05 * widest]),
        ),
        y=alt.Y(
            "share:Q", title=None, axis=alt.Axis(labels=False, ticks=False), scale=alt.Scale(domain=[0, 1], nice=False)
        ),
    )
    middle = alt.Chart(values([{"zero": 0}])).mark_rule(color="#888").encode(x="zero:Q")
    panel = (middle + apart).properties(width=DISTANCE_WIDTH, height=HEIGHT)
    figures = validation.agreement
    subtitle = (
        f"{with_count(figures.requests, 'request')} of {validation.trace}: demerit {figures.demerit_ms:.3g} ms, mean "
        f"{figures.measured_mean_ms:.4g} ms measured, {figures.modelled_mean_ms:.4g} ms modelled"
    )
    chart = alt.hconcat(curves, panel, spacing=14)
    return apply_style(chart, f"Service times of {label_of(validation.device)}", subtitle)
