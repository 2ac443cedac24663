"""The timeline of a run: what each mechanism did from when to when, at what power."""

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

#: Whether to keep a timeline: of all of a run, or from one time to another, in seconds from its start.
Stretch = bool | tuple[float, float]


class Timeline(Mapping[str, "NDArray[np.generic]"], Framed, OneTable, Drawn):
    """The activity of each mechanism of a run, a NumPy column per quantity.

    The columns are ``mechanism`` (number of the sled, from 0), ``start_s``, ``end_s``, ``state`` and ``power_w``. The
    spans of a mechanism follow each other without gaps; those of one mechanism come after those of another. Where they
    would be more than 200,000, they are added up in slots of time (:attr:`slot_s`): a slot then has one span for each
    state, as long as the mechanism was in it, at its mean power. Times and energies are those of the run all the same.

    Parameters
    ----------
    output
        The core's account of the run.
    label
        What the run is called.
    """

    def __init__(self, output: "RunOutput", label: str = "") -> None:
        import numpy as np

        self.label = label
        columns = output.timeline()
        #: Names of the states that the device can be in.
        self.states: list[str] = output.timeline_states()
        names = np.array(self.states, dtype=object)
        self._columns: dict[str, NDArray[np.generic]] = {**columns, "state": names[columns["state"]]}
        #: Width of the slots that it is in, in seconds; ``None`` where it has every span.
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
        """Return how long the mechanisms were in each state, how often, and what they drew then."""
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
        """Draw what each mechanism did along time, above the power of all of them."""
        from sledsim.runs.timeline_chart import timeline_chart

        return timeline_chart(self)

    def relation(self) -> "duckdb.DuckDBPyRelation":
        """Return the spans as a DuckDB relation, to be queried in SQL."""
        return relation_of(self._columns, "timeline")

    def write(self, path: str | Path, metadata: Mapping[str, str] | None = None) -> None:
        """Write the spans to a file.

        Parameters
        ----------
        path
            Ends in ``.parquet``, ``.csv`` or ``.json``.
        metadata
            What a Parquet file is to carry beside the columns.
        """
        write_columns(self._columns, Path(path), metadata)


def stretch_of(timeline: Stretch) -> tuple[float, float] | None:
    """Return the times that a timeline is to cover, in seconds.

    Parameters
    ----------
    timeline
        True to keep one, or which part.
    """
    if timeline is False:
        return None
    if timeline is True:
        return 0.0, float("inf")
    try:
        start_s, end_s = (float(time_s) for time_s in timeline)
    except (TypeError, ValueError, OverflowError):
        shown, is_whole = brief(timeline)
        says = f"timeline = {shown}: expected true, or two times in seconds: (start_s, end_s)"
        raise make_error(
            RunError,
            "wrong-type",
            says,
            path="timeline",
            value=timeline if is_whole else shown,
            allowed="true, or two times in seconds: (start_s, end_s)",
        ) from None
    return start_s, end_s


def require_powers(scenario: "Resolved") -> None:
    """Raise if a timeline is requested of a device whose power values are unknown.

    Parameters
    ----------
    scenario
        The scenario.
    """
    for name in scenario.unpowered:
        says = f"there is no timeline: the powers of {name} are not known; give them as system.device.power"
        raise make_error(RunError, "missing", says, path="system.device.power", value=name)
