"""The timeline of a run: states of each mechanism over time, with powers."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sledsim._core import RunError
from sledsim.show.faults import brief, make_error
from sledsim.show.frames import Framed, relation_of, write_columns
from sledsim.show.shown import Drawn, OneTable
from sledsim.show.tables import Table, duration, number

if TYPE_CHECKING:
    import altair
    import duckdb
    import numpy as np
    from numpy.typing import NDArray

    from sledsim._core import RunOutput
    from sledsim.scenario.reading import Resolved

__all__ = ["Stretch", "Timeline", "require_powers", "stretch_of"]

#: True for a timeline of the whole run, a pair of times in seconds from its start for a part, false for none.
Stretch = bool | tuple[float, float]


class Timeline(Mapping[str, "NDArray[np.generic]"], Framed, OneTable, Drawn):
    """The states of each mechanism of a run over time, with a NumPy column per quantity.

    The columns are ``mechanism`` (number of the sled, from 0), ``start_s``, ``end_s``, ``state`` and ``power_w``. The
    spans are ordered by mechanism, then by time, without gaps. More than 200,000 spans are aggregated in time slots
    (:attr:`slot_s`): a slot has one span for each state, with the total time in that state and its mean power. Total
    times and energies are exact in both cases.

    Parameters
    ----------
    output
        The core's output.
    label
        The name of the run.
    """

    def __init__(self, output: "RunOutput", label: str = "") -> None:
        import numpy as np

        self.label = label
        columns = output.timeline()
        #: Names of the states of the device.
        self.states: list[str] = output.timeline_states()
        names = np.array(self.states, dtype=object)
        self._columns: dict[str, NDArray[np.generic]] = {**columns, "state": names[columns["state"]]}
        #: Width of the time slots, s; ``None`` if the spans are not aggregated.
        self.slot_s: float | None = output.timeline_slot_s()

    def __getitem__(self, column: str) -> "NDArray[np.generic]":
        return self._columns[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        note = "" if self.slot_s is None else f" in slots of {duration(self.slot_s)}"
        return f"<Timeline: {len(self['start_s']):,} spans{note}>"

    def table(self) -> Table:
        """Return a table of the number of spans, the time and the energy of each state."""
        import numpy as np

        spans_s = np.asarray(self["end_s"], dtype=float) - np.asarray(self["start_s"], dtype=float)
        energies_j = spans_s * np.asarray(self["power_w"], dtype=float)
        rows = []
        for state in self.states:
            chosen = self["state"] == state
            if chosen.any():
                sums = (float(spans_s[chosen].sum()), float(energies_j[chosen].sum()))
                rows.append([state, number(int(chosen.sum())), *map(number, sums)])
        return Table(["state", "spans", "time (s)", "energy (J)"], rows, repr(self).strip("<>"))

    def plot(self) -> "altair.TopLevelMixin":
        """Draw the states of each mechanism over time, above the total power."""
        from sledsim.runs.timeline_chart import timeline_chart

        return timeline_chart(self)

    def relation(self) -> "duckdb.DuckDBPyRelation":
        """Return the spans as a DuckDB relation, for SQL queries."""
        return relation_of(self._columns, "timeline")

    def write(self, path: str | Path, metadata: Mapping[str, str] | None = None) -> None:
        """Write the spans to a file.

        Parameters
        ----------
        path
            The file, with suffix ``.parquet``, ``.csv`` or ``.json``.
        metadata
            Key-value metadata of a Parquet file.
        """
        write_columns(self._columns, Path(path), metadata)


def stretch_of(timeline: Stretch) -> tuple[float, float] | None:
    """Return the start and end of a timeline, in seconds; ``None`` for no timeline.

    Parameters
    ----------
    timeline
        True for the whole run, a pair of times, or false.
    """
    if timeline is False:
        return None
    if timeline is True:
        return 0.0, float("inf")
    try:
        start_s, end_s = (float(time_s) for time_s in timeline)
    except (TypeError, ValueError, OverflowError):
        shown, is_whole = brief(timeline)
        message = f"timeline = {shown}: expected true, or two times in seconds: (start_s, end_s)"
        raise make_error(
            RunError,
            "wrong-type",
            message,
            path="timeline",
            value=timeline if is_whole else shown,
            allowed="true, or two times in seconds: (start_s, end_s)",
        ) from None
    return start_s, end_s


def require_powers(scenario: "Resolved") -> None:
    """Raise if the powers of a device are unknown, as a timeline needs them.

    Parameters
    ----------
    scenario
        The scenario.
    """
    for name in scenario.unpowered:
        message = f"there is no timeline: the powers of {name} are not known; give them as system.device.power"
        raise make_error(RunError, "missing", message, path="system.device.power", value=name)
