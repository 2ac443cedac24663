"""A progress bar for long runs."""

import sys
import time
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Self

from sledsim._core import SledsimError
from sledsim.show.faults import make_error

__all__ = ["ProgressBar", "duration_in_words", "reporting"]

#: The bar appears after this time, s.
QUIET_S = 2.0


def reporting(progress: Any, label: str = "simulating", what: str = "requests") -> AbstractContextManager[Any]:
    """Return a context manager that yields the progress function, or ``None``.

    Parameters
    ----------
    progress
        A function, true for a progress bar, false or ``None`` for none.
    label, what
        As for :class:`ProgressBar`.
    """
    if progress is True:
        return ProgressBar(label, what)
    if progress is None or progress is False or callable(progress):
        return nullcontext(progress or None)
    expected = "a function, true or false"
    raise make_error(SledsimError, "wrong-type", path="progress", value=repr(progress)[:200], allowed=expected)


class ProgressBar:
    """Show the progress, speed and remaining time of a run on standard error.

    The bar appears after two seconds, and only if standard error is a terminal.

    Parameters
    ----------
    label
        Description of the run.
    what
        Noun of the counted items, in the plural.
    """

    def __init__(self, label: str = "simulating", what: str = "requests") -> None:
        self._label = label
        self._what = what
        self._started = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        self._started = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __call__(
        self, submitted: int, requests: int | None, simulated_s: float = 0.0, end_s: float | None = None
    ) -> None:
        """Update the bar.

        Parameters
        ----------
        submitted
            Number of requests or other items so far.
        requests
            Total number, if it ends the run.
        simulated_s
            Simulated time so far, s.
        end_s
            Total simulated time, s, if it ends the run.
        """
        elapsed_s = time.monotonic() - self._started
        shares = [done / total for done, total in ((submitted, requests), (simulated_s, end_s)) if total]
        share = max(shares, default=None)
        rate = submitted / max(elapsed_s, QUIET_S)
        left = "" if not share else f", {duration_in_words(elapsed_s * (1 - min(share, 1.0)) / share)} left"
        self.show(share, f"{submitted:,} {self._what}, {rate:,.0f}/s{left}")

    def show(self, share: float | None, state: str) -> None:
        """Update the bar with a text.

        Parameters
        ----------
        share
            Completed share, from 0 to 1; ``None`` if unknown.
        state
            The text.
        """
        if time.monotonic() - self._started < QUIET_S or sys.stderr is None or not sys.stderr.isatty():
            return
        if self._bar is None:
            self._start()
        self._bar.update(self._task, completed=share or 0.0, total=None if share is None else 1.0, state=state)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[state]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(self._label, total=None, state="")
        self._bar.start()


def duration_in_words(seconds: float) -> str:
    """Write a time in words, such as ``3 min 5 s``.

    Parameters
    ----------
    seconds
        The time.
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
