"""The result of a run: summary, tables, log, timeline and charts."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sledsim._core import RunError, RunOutput
from sledsim.runs.brief_table import brief_table
from sledsim.runs.confidence import Interval
from sledsim.runs.labels import label_of_run
from sledsim.runs.summary_tables import summary_tables
from sledsim.runs.timeline import Timeline
from sledsim.show.faults import is_one_of, make_error
from sledsim.show.frames import relation_of, write_columns
from sledsim.show.naming import with_count
from sledsim.show.section import Section
from sledsim.show.shown import Shown

if TYPE_CHECKING:
    import altair
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

    from sledsim.show.tables import Table

    #: Edges of the bins in milliseconds, and the requests in each.
    Histogram = tuple[NDArray[np.float64], NDArray[np.uint64]]

__all__ = ["Result", "provenance"]

QUANTITIES = ("response", "wait", "service")
OPERATIONS = ("all", "reads", "writes")


class Result(Section, Shown):
    """The result of a run.

    The keys of :attr:`summary` are attributes, too: ``result.response.mean_ms`` is
    ``result.summary["response"]["mean_ms"]``. ``sledsim schema result`` documents all keys.

    Parameters
    ----------
    summary
        The summary of the run.
    output
        The core's output, with histograms, log and timeline.
    logged
        True if the run has a log of its requests.
    timed
        True if the run has a timeline.
    """

    def __init__(
        self, summary: Mapping[str, Any], output: RunOutput, *, logged: bool = False, timed: bool = False
    ) -> None:
        super().__init__(summary)
        self._output = output
        self._histograms: _Histograms | None = None
        self._logged = logged
        self._timed = timed
        self._timeline: Timeline | None = None
        self._log: dict[str, NDArray[np.generic]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # The core's object cannot be pickled, so that its data are extracted.
        kept = {
            "_histograms": self._histograms or _Histograms(self._output),
            "_log": self.log if self._logged else None,
            "_timeline": self.timeline if self._timed else None,
        }
        return {key: value for key, value in self.__dict__.items() if key != "_output"} | kept

    @property
    def summary(self) -> dict[str, Any]:
        """The result without log and timeline, as plain dictionaries."""
        return self.to_dict()

    @property
    def complete(self) -> bool:
        """True if the run ended; false if it was interrupted."""
        return bool(self["run"]["complete"])

    def tables(self) -> "list[Table]":
        """Return tables of the summary: times, phases, load, energy."""
        return summary_tables(self._values)

    def brief(self) -> "Table":
        """Return a table of the main figures; its headline says if the run was long enough for its mean."""
        return brief_table(self._values)

    def _repr_html_(self) -> str:
        whole = "".join(table._repr_html_() for table in self.tables())
        return f"{self.brief()._repr_html_()}<details><summary>every figure</summary>{whole}</details>"

    def __repr__(self) -> str:
        count, name, response = self["requests"]["completed"], self["device"]["name"], self["response"]
        mean = f", mean response {response['mean_ms']:.4g} ms" if response else ""
        return f"<Result: {with_count(count, 'request')} on {name}{mean}>"

    def histogram(self, quantity: str = "response", op: str = "all") -> "Histogram":
        """Return a histogram of times.

        Parameters
        ----------
        quantity
            ``"response"``, ``"wait"`` or ``"service"``.
        op
            ``"all"``, ``"reads"`` or ``"writes"``.

        Returns
        -------
        edges_ms, counts
            Edges of the bins in milliseconds, one more than counts; and the number of requests in each bin.
        """
        _one_of("quantity", quantity, QUANTITIES)
        _one_of("op", op, OPERATIONS)
        return (self._histograms or self._output).histogram(quantity, op)

    def response_difference(self, other: "Result", *, ended_when_precise: bool = False) -> Interval | None:
        """Return the mean response time minus that of another run of the same requests, ms, with its 95 % interval.

        Requests are paired by their order of completion, by batch means.

        Parameters
        ----------
        other
            A run with as many measured requests, in this process.
        ended_when_precise
            True if the runs ended because this interval was narrow enough. Such runs are more likely to end with an
            interval that is too narrow by chance, so that the interval has a confidence of 96.5 % instead of 95 %. Of
            the final intervals of six pairs of systems, 94 to 97.5 % contained the difference.

        Returns
        -------
        Interval or None
            ``None`` if the runs are too short for an interval, differ in the number of requests, or come from another
            process.
        """
        outputs = [getattr(each, "_output", None) for each in (self, other)]
        if None in outputs or self["requests"]["measured"] != other["requests"]["measured"]:
            return None
        mean, low, high = self._output.response_difference(other._output, ended_when_precise=ended_when_precise)
        return None if low is None or high is None else Interval(mean, low, high)

    @property
    def log(self) -> "dict[str, NDArray[np.generic]]":
        """The requests in order of completion, with a NumPy column per quantity; needs ``run(…, log=True)``.

        ``run(…, log="requests.parquet")`` writes them to a file without holding them in memory. Names end in the unit.
        ``needed_bytes`` is the number of bytes that a request needs of its blocks, and ``metadata`` is true for
        requests of the file system's metadata; both affect subsector accesses.
        """
        if not self._logged:
            message = "this run has no log of its requests; create one with sledsim.run(…, log=True)"
            raise make_error(RunError, "missing", message, path="log")
        if self._log is None:
            self._log = self._output.log()
        return self._log

    @property
    def timeline(self) -> Timeline:
        """The states of each mechanism over time, with powers; needs ``run(…, timeline=True)``."""
        if not self._timed:
            message = "this run has no timeline; create one with sledsim.run(…, timeline=True)"
            raise make_error(RunError, "missing", message, path="timeline")
        if self._timeline is None:
            self._timeline = Timeline(self._output, label_of_run(self.summary))
        return self._timeline

    def relation(self) -> "duckdb.DuckDBPyRelation":
        """Return the log as a DuckDB relation, with a row for each request; needs ``run(…, log=True)``.

        :meth:`pandas`, :meth:`polars` and :meth:`arrow` return the same rows.
        """
        return relation_of(self.log)

    def write_log(self, path: str | Path) -> None:
        """Write the log to a file.

        Parameters
        ----------
        path
            The file, with suffix ``.parquet``, ``.csv`` or ``.json``. A Parquet file has the scenario in its metadata.
        """
        write_columns(self.log, Path(path), self._provenance())

    def write_timeline(self, path: str | Path) -> None:
        """Write the timeline to a file.

        Parameters
        ----------
        path
            The file, with suffix ``.parquet``, ``.csv`` or ``.json``. A Parquet file has the scenario in its metadata.
        """
        self.timeline.write(path, self._provenance())

    def _provenance(self) -> dict[str, str]:
        return provenance(self["sledsim"]["version"], self._values["scenario"])

    def plot(self, kind: str = "response") -> "altair.TopLevelMixin":
        """Draw the result.

        Parameters
        ----------
        kind
            ``"response"``, ``"wait"``, ``"service"`` (distributions), ``"phases"``, ``"energy"``, ``"timeline"``
            (states and power over time), or ``"course"`` (response times, queue and power over time, above the
            distribution: needs ``run(…, log=True)``, and ``timeline=True`` for the power).
        """
        from sledsim.runs.charts import result_chart

        return result_chart(self, kind)


def provenance(version: str, scenario: Any) -> dict[str, str]:
    """Return the metadata of a Parquet file with data of a run.

    Parameters
    ----------
    version
        The version of Sledsim.
    scenario
        The resolved scenario.
    """
    return {"sledsim_version": version, "sledsim_scenario": json.dumps(scenario)}


class _Histograms:
    """Histograms by quantity and operation, for pickled results."""

    def __init__(self, output: RunOutput) -> None:
        self._found = {(quantity, op): output.histogram(quantity, op) for quantity in QUANTITIES for op in OPERATIONS}

    def histogram(self, quantity: str, op: str) -> "Histogram":
        """Return the histogram of a quantity and an operation."""
        return self._found[quantity, op]


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if not is_one_of(value, allowed):
        raise make_error(RunError, "unknown-name", path=name, value=value, known=allowed)
