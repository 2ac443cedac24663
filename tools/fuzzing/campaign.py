"""Campaigns: worker processes that try cases under a time limit, and are restarted after a crash."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzzing.targets import TURNS, Case

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Processor time of one case, s, and time on the clock where other processes take the processor.
CASE_S, CLOCK_S = 5.0, 60.0
#: Cases after which a new worker is started, so that few cases depend on earlier ones.
CASES_OF_A_WORKER = 3_000
TOOLS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Finding:
    """A case with a crash, a hang, a broken invariant or an unexpected error.

    Parameters
    ----------
    name
        The case.
    kind
        ``hang``, ``crash``, ``invariant``, ``words`` (an invalid message), or the name of the Python exception.
    detail
        Message or traceback.
    given
        The input, packed; ``None`` if the process ended.
    """

    name: str
    kind: str
    detail: str
    given: str | None = None

    @property
    def group(self) -> str:
        """Kind and place of the error, equal for findings with the same cause."""
        lines = [line.strip() for line in self.detail.splitlines() if line.strip()]
        files = [line for line in lines if line.startswith("File ") and "fuzzing" not in line]
        words = lines[-1] if lines else ""
        digitless = "".join("#" if sign.isdigit() else sign for sign in words)
        return f"{self.kind} {files[-1] if files else ''} {digitless[:80]}"


@dataclass
class Tally:
    """Number of cases by outcome, and the findings."""

    outcomes: Counter[str] = field(default_factory=Counter)
    by_target: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")
    is_over: bool = False
    """True if no more cases are to be tried."""

    def add(self, name: str, outcome: str, finding: Finding | None, seconds: float) -> None:
        """Count a case."""
        self.outcomes[outcome] += 1
        self.by_target[name.split(":")[0], outcome] += 1
        self.slowest = max(self.slowest, (seconds, name))
        if finding:
            self.findings.append(finding)

    @property
    def cases(self) -> int:
        """Number of cases."""
        return self.outcomes.total()


class Worker:
    """A process that tries cases."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(TOOLS), *filter(None, [os.environ.get("PYTHONPATH")])])
        # A working folder with links to the examples, removed by stop().
        self.folder = tempfile.TemporaryDirectory(prefix="sledsim-fuzz-")
        for name, source in (("examples", "python/sledsim/examples"), ("docs", "docs")):
            Path(self.folder.name, name).symlink_to(TOOLS.parent / source)
        # The limit is on address space, of which each malloc arena of a thread reserves much.
        environment = {"PYTHONPATH": path, "TMPDIR": self.folder.name, "MALLOC_ARENA_MAX": "2", "COLUMNS": "120"}
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  closed by stop
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fuzzing.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            # The selector does not see buffered output.
            bufsize=0,
            cwd=self.folder.name,
            env=os.environ | environment,
            # Ctrl-C reaches the campaign only.
            process_group=0,
        )
        self.selector = selectors.DefaultSelector()
        assert self.process.stdout is not None
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.tried = 0
        #: Its standard error output, once it has ended.
        self.error_output = ""

    def attempt(self, name: str, given: str | None = None) -> tuple[str, Finding | None]:
        """Try a case, and return its outcome and finding, if any."""
        assert self.process.stdin is not None
        request = {"name": name} | ({"given": given} if given else {})
        self.tried += 1
        try:
            self.process.stdin.write((json.dumps(request) + "\n").encode())
            self.process.stdin.flush()
            began = self._next_message(600.0)
        except BrokenPipeError:
            began = None
        ended = self._next_message(CLOCK_S, CASE_S) if began and "begins" in began else None
        if ended is None:
            return "failed", self._finding_of_death(name)
        if ended["outcome"] != "failed":
            return str(ended["outcome"]), None
        return "failed", Finding(name, ended["kind"], ended["detail"], ended["given"])

    def _next_message(self, clock_s: float, processor_s: float | None = None) -> dict[str, Any] | None:
        """Return the next message of the process, or None if it ends or exceeds a time limit."""
        assert self.process.stdout is not None
        begun, spent = time.monotonic(), self._processor_s()
        while not self.selector.select(0.1):
            if self.process.poll() is not None or time.monotonic() - begun > clock_s:
                return None
            if processor_s is not None and self._processor_s() - spent > processor_s:
                return None
        line = self.process.stdout.readline()
        if not line:
            # Its output is closed, so it ends.
            self.process.wait()
        message: dict[str, Any] | None = json.loads(line) if line else None
        return message

    def _processor_s(self) -> float:
        """Return the processor time of the process, s; the clock time on systems without /proc."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return time.monotonic()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _finding_of_death(self, name: str) -> Finding:
        hung = self.process.poll() is None
        status = self.stop()
        output = self.error_output.partition("Extension modules:")[0][-3_000:]
        if hung:
            return Finding(
                name,
                "hang",
                f"more than {CASE_S:g} s of processor time, or {CLOCK_S:g} s on the clock\n{output[-300:]}",
            )
        return Finding(name, "crash", f"the process ended with {status}\n{output}")

    def stop(self) -> int:
        """End the process, and return its exit status."""
        self.process.kill()
        self.selector.close()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue
        status = self.process.wait()
        self.folder.cleanup()
        if not self.errors.closed:
            self.errors.seek(0)
            self.error_output = self.errors.read().decode(errors="replace")
            self.errors.close()
        return status


def cases(seed: int, first: int, step: int, targets: tuple[str, ...] = TURNS) -> Iterator[Case]:
    """Yield every ``step``-th case of a seed, starting with number ``first``."""
    number = first
    while True:
        yield Case(targets[number % len(targets)], seed, number)
        number += step


def try_cases(
    every: Iterator[Case], tally: Tally, *, until: float | None = None, count: int | None = None, stop: bool = False
) -> None:
    """Try cases until a time, up to a number, or both.

    Parameters
    ----------
    every
        The cases.
    tally
        Counts the cases and keeps the findings.
    until
        End time, on the clock ``time.monotonic``.
    count
        Maximum number of cases.
    stop
        True to stop after the first finding.
    """
    worker = Worker()
    try:
        for done, case in enumerate(every):
            late = tally.is_over or (until is not None and time.monotonic() > until)
            if late or (count is not None and done >= count) or (stop and tally.findings):
                return
            begun = time.monotonic()
            outcome, finding = worker.attempt(str(case))
            tally.add(str(case), outcome, finding, time.monotonic() - begun)
            if worker.process.poll() is not None or worker.tried >= CASES_OF_A_WORKER:
                worker.stop()
                worker = Worker()
    finally:
        worker.stop()
