"""Charts of the response time by phase and of the energy by state."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sledsim._core import SledsimError
from sledsim.runs.labels import label_of_run
from sledsim.runs.phases import phases_of, state_word
from sledsim.show.faults import make_error
from sledsim.show.style import COLOURS, WIDTH, altair_library, apply_style, state_colours, values

if TYPE_CHECKING:
    import altair

    from sledsim.runs.result import Result

__all__ = ["energy_chart", "phase_chart"]


def phase_chart(result: "Result") -> "altair.TopLevelMixin":
    """Draw the parts of the mean response time.

    Parameters
    ----------
    result
        The run.
    """
    parts = [(part.key, part.label) for part in phases_of(result.summary) if not part.depth]
    # The wait in the queue follows the command overhead.
    after = 1 if parts and parts[0][0] == "overhead" else 0
    parts.insert(after, ("wait", "wait"))
    rows = [{"part": label, "value": _mean(result[key])} for key, label in parts]
    mean = result["response"]["mean_ms"] if result["response"] else 0.0
    subtitle = f"{label_of_run(result.summary)}: mean response {mean:.4g} ms"
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
    if energy is None:
        message = f"there is no energy to draw: the powers of {result['device']['name']} are not known"
        raise make_error(SledsimError, "missing", message, path="system.device.power")
    states = [each["state"] for each in energy["states"]]
    rows = [{"part": state_word(each["state"]), "value": each["energy_j"]} for each in energy["states"]]
    subtitle = (
        f"{label_of_run(result.summary)}: {energy['total_j']:.4g} J in all, "
        f"mean power {energy['mean_power_w'] or 0.0:.4g} W, peak {energy['peak_power_w']:.4g} W"
    )
    return _bars(rows, "Energy (J)", "Energy by state", subtitle, list(state_colours(states).values()))


def _bars(
    rows: list[dict[str, Any]], quantity: str, title: str, subtitle: str, colours: Sequence[str] = ()
) -> "altair.TopLevelMixin":
    """Draw labelled bars in the order of the rows, with one colour or a colour for each."""
    alt = altair_library()
    for row in rows:
        row["label"] = f"{row['value']:.3g}"
    base = alt.Chart(values(rows)).encode(
        x=alt.X("value:Q", title=quantity),
        y=alt.Y("part:N", title=None, sort=None),
        tooltip=[alt.Tooltip("part:N", title="part"), alt.Tooltip("value:Q", title=quantity, format=".5g")],
    )
    labels = base.mark_text(align="left", dx=4, fontSize=11).encode(text="label:N")
    bars = base.mark_bar(color=COLOURS[0])
    if colours:
        scale = alt.Scale(domain=[row["part"] for row in rows], range=list(colours))
        bars = base.mark_bar().encode(color=alt.Color("part:N", scale=scale, legend=None))
    chart = (bars + labels).properties(width=WIDTH, height=alt.Step(28))
    return apply_style(chart, title, subtitle)
