"""Charts of a run."""

from typing import TYPE_CHECKING

from sledsim._core import SledsimError
from sledsim.runs.course_chart import course_chart
from sledsim.runs.distribution_chart import distribution_chart
from sledsim.runs.phase_charts import energy_chart, phase_chart
from sledsim.runs.timeline_chart import timeline_chart
from sledsim.show.faults import is_one_of, make_error

if TYPE_CHECKING:
    from collections.abc import Callable

    import altair

    from sledsim.runs.result import Result

__all__ = ["result_chart"]

DISTRIBUTIONS = ("response", "wait", "service")
OTHERS: "dict[str, Callable[[Result], altair.TopLevelMixin]]" = {
    "course": course_chart,
    "phases": phase_chart,
    "energy": energy_chart,
    "timeline": lambda result: timeline_chart(result.timeline),
}


def result_chart(result: "Result", kind: str) -> "altair.TopLevelMixin":
    """Draw a run.

    Parameters
    ----------
    result
        The run.
    kind
        As for :meth:`sledsim.Result.plot`.
    """
    if is_one_of(kind, DISTRIBUTIONS):
        return distribution_chart(result, kind)
    if is_one_of(kind, OTHERS):
        return OTHERS[kind](result)
    message = f"no plot {kind!r} of a result"
    raise make_error(SledsimError, "unknown-name", message, path="kind", value=kind, known=(*DISTRIBUTIONS, *OTHERS))
