"""Bar chart of a metric of several runs."""

from typing import TYPE_CHECKING

from sledsim._core import SledsimError
from sledsim.runs.summary_tables import require_metric
from sledsim.show.faults import make_error
from sledsim.show.style import COLOURS, WIDTH, altair_library, apply_style, values

if TYPE_CHECKING:
    import altair

    from sledsim.runs.comparison import Comparison

__all__ = ["comparison_bars"]


def comparison_bars(comparison: "Comparison", key: str) -> "altair.TopLevelMixin":
    """Draw one of the metrics of several runs as bars, with the ratio to the first run.

    Parameters
    ----------
    comparison
        The runs.
    key
        The metric's key in the summary.
    """
    metrics = {metric["key"]: metric for metric in comparison.metrics()}
    if key not in metrics:
        require_metric(key)
        message = f"no run has {key}: there is nothing to draw (there are: {', '.join(metrics)})"
        raise make_error(SledsimError, "unknown-name", message, path="metric", value=key, allowed=list(metrics))
    metric = metrics[key]
    alt = altair_library()
    rows = [
        {"run": name, "value": value, "label": f"{value:.3g}" if ratio is None else f"{value:.3g}  (×{ratio:.3g})"}
        for name, value, ratio in zip(comparison.results, metric["values"], metric["ratios"], strict=True)
        if value is not None
    ]
    most = max(row["value"] for row in rows)
    base = alt.Chart(values(rows)).encode(
        # Leave space for the labels to the right of the bars.
        x=alt.X("value:Q", title=_sentence(metric["label"]), scale=alt.Scale(domain=[0, 1.18 * most], nice=True)),
        y=alt.Y("run:N", title=None, sort=None, axis=alt.Axis(labelLimit=260)),
        tooltip=[alt.Tooltip("run:N", title="run"), alt.Tooltip("value:Q", title=metric["label"], format=".5g")],
    )
    labels = base.mark_text(align="left", dx=4, fontSize=11).encode(text="label:N")
    colour = alt.Color("run:N", sort=None, legend=None, scale=alt.Scale(range=list(COLOURS)))
    chart = (base.mark_bar().encode(color=colour) + labels).properties(width=WIDTH, height=alt.Step(36))
    return apply_style(chart, "Runs compared", _sentence(metric["label"]) + "; in brackets: ratio to the first run")


def _sentence(label: str) -> str:
    return label[:1].upper() + label[1:]
