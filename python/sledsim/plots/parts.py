"""Where the time and the energy of a run went."""

from typing import TYPE_CHECKING, Any

from sledsim.plots.style import COLOURS, WIDTH, altair_library, styled, values

if TYPE_CHECKING:
    import altair

    from sledsim.result import Result

__all__ = ["energy_chart", "phase_chart"]

PHASES = (
    ("overhead", "overhead"),
    ("wait", "wait"),
    ("startup", "start-up"),
    ("seek", "seek"),
    ("turnaround", "turnarounds between rows"),
    ("servo", "servo"),
    ("transfer", "transfer"),
    ("bus", "bus"),
)
STATES = (
    ("startup", "start-up"),
    ("inactive", "inactive"),
    ("seek", "seek"),
    ("servo", "servo"),
    ("data", "data"),
    ("idle", "idle"),
)


def phase_chart(result: "Result") -> "altair.TopLevelMixin":
    """Draw the parts of the mean response time.

    Parameters
    ----------
    result
        The run.
    """
    rows = [{"part": label, "value": _mean(result[key])} for key, label in PHASES]
    mean = result["response"]["mean_ms"] if result["response"] else 0.0
    subtitle = f"{result['device']['name']}, {result['scheduler']}: mean response {mean:.4g} ms"
    return _bars(rows, "Mean per request (ms)", "Parts of the response time", subtitle)


def _mean(part: Any) -> float:
    return float(part["mean_ms"]) if part else 0.0


def energy_chart(result: "Result") -> "altair.TopLevelMixin":
    """Draw the energy spent in each state.

    Parameters
    ----------
    result
        The run.
    """
    energy = result["energy"]
    rows = [{"part": label, "value": energy[f"{key}_j"] or 0.0} for key, label in STATES]
    subtitle = (
        f"{result['device']['name']}, {result['scheduler']}: {energy['total_j']:.4g} J in all, "
        f"mean power {energy['mean_power_w'] or 0.0:.4g} W"
    )
    return _bars(rows, "Energy (J)", "Energy by state", subtitle)


def _bars(rows: list[dict[str, Any]], quantity: str, title: str, subtitle: str) -> "altair.TopLevelMixin":
    """Draw labelled bars, in the order of the rows."""
    alt = altair_library()
    for row in rows:
        row["label"] = f"{row['value']:.3g}"
    base = alt.Chart(values(rows)).encode(
        x=alt.X("value:Q", title=quantity),
        y=alt.Y("part:N", title=None, sort=None),
        tooltip=[alt.Tooltip("part:N", title="part"), alt.Tooltip("value:Q", title=quantity, format=".5g")],
    )
    labels = base.mark_text(align="left", dx=4, fontSize=11).encode(text="label:N")
    chart = (base.mark_bar(color=COLOURS[0]) + labels).properties(width=WIDTH, height=alt.Step(28))
    return styled(chart, title, subtitle)
