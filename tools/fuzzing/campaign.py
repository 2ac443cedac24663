"""Cases by the thousand: worker processes that try them, watched for time, restarted where one dies."""

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

from fuzzing.doors import TURNS, Case

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Processor time of one case, s, and time on the clock where other processes take the processor.
CASE_S, CLOCK_S = 5.0, 60.0
#: Cases after which a worker makes room for a new one, so that none lives on what others have left behind.
CASES_OF_A_WORKER = 3_000
TOOLS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Finding:
    """A case that did not end as it should.

    Parameters
    ----------
    name
        The case.
    what
        In which way: ``hang``, ``crash``, ``invariant``, or the name of Python's error.
    detail
        What is known of it.
    given
        The input, packed; ``None`` where the process died with it.
    """

    name: str
    what: str
    detail: str
    given: str | None = None

    @property
    def place(self) -> str:
        """Where it comes from, so that a thousand of a kind are told once."""
        lines = [line.strip() for line in self.detail.splitlines() if line.strip()]
        files = [line for line in lines if line.startswith("File ") and "fuzzing" not in line]
        words = lines[-1] if lines else ""
        digitless = "".join("#" if sign.isdigit() else sign for sign in words)
        return f"{self.what} {files[-1] if files else ''} {digitless[:80]}"


@dataclass
class Tally:
    """What became of the cases."""

    outcomes: Counter[str] = field(default_factory=Counter)
    by_door: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")
    is_over: bool = False
    """Whether no more cases are to be tried."""

    def add(self, name: str, outcome: str, finding: Finding | None, seconds: float) -> None:
        """Count a case."""
        self.outcomes[outcome] += 1
        self.by_door[name.split(":")[0], outcome] += 1
        self.slowest = max(self.slowest, (seconds, name))
        if finding:
            self.findings.append(finding)

    @property
    def cases(self) -> int:
        """How many there were."""
        return self.outcomes.total()


class Worker:
    """A process that tries cases."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(TOOLS), *filter(None, [os.environ.get("PYTHONPATH")])])
        # Where what cases write is in nobody's way, and the project's examples seem to be; removed by stop.
        self.folder = tempfile.TemporaryDirectory(prefix="sledsim-fuzz-")
        for name, target in (("examples", "python/sledsim/examples"), ("docs", "docs")):
            Path(self.folder.name, name).symlink_to(TOOLS.parent / target)
        # Arenas of threads reserve memory that nobody uses, and the limit is on what is reserved.
        own = {"PYTHONPATH": path, "TMPDIR": self.folder.name, "MALLOC_ARENA_MAX": "2", "COLUMNS": "120"}
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  closed by stop
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fuzzing.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            # What is buffered the selector does not see.
            bufsize=0,
            cwd=self.folder.name,
            env=os.environ | own,
            # Ctrl-C is for who sees to them.
            process_group=0,
        )
        self.selector = selectors.DefaultSelector()
        assert self.process.stdout is not None
        self.selector.register(self.process.stdout, selectors.EVENT_READ)
        self.tried = 0
        #: What it has told people, once it has ended.
        self.said = ""

    def attempt(self, name: str, given: str | None = None) -> tuple[str, Finding | None]:
        """Try a case: say how it ended, and what is wrong, if anything is."""
        assert self.process.stdin is not None
        asked = {"name": name} | ({"given": given} if given else {})
        self.tried += 1
        try:
            self.process.stdin.write((json.dumps(asked) + "\n").encode())
            self.process.stdin.flush()
            began = self._heard(600.0)
        except BrokenPipeError:
            began = None
        ended = self._heard(CLOCK_S, CASE_S) if began and "begins" in began else None
        if ended is None:
            return "failed", self._died(name)
        if ended["outcome"] != "failed":
            return str(ended["outcome"]), None
        return "failed", Finding(name, ended["what"], ended["detail"], ended["given"])

    def _heard(self, clock_s: float, processor_s: float | None = None) -> dict[str, Any] | None:
        """Return what the process says next; None where it dies, or says nothing in its time."""
        assert self.process.stdout is not None
        begun, spent = time.monotonic(), self._processor_s()
        while not self.selector.select(0.1):
            if self.process.poll() is not None or time.monotonic() - begun > clock_s:
                return None
            if processor_s is not None and self._processor_s() - spent > processor_s:
                return None
        line = self.process.stdout.readline()
        if not line:
            # The end of its words is the end of it.
            self.process.wait()
        said: dict[str, Any] | None = json.loads(line) if line else None
        return said

    def _processor_s(self) -> float:
        """Return the processor time that the process has taken, s; the clock's where the system does not tell."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return time.monotonic()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _died(self, name: str) -> Finding:
        hung = self.process.poll() is None
        status = self.stop()
        said = self.said.partition("Extension modules:")[0][-3_000:]
        if hung:
            return Finding(
                name, "hang", f"more than {CASE_S:g} s of processor time, or {CLOCK_S:g} s on the clock\n{said[-300:]}"
            )
        return Finding(name, "crash", f"the process ended with {status}\n{said}")

    def stop(self) -> int:
        """End the process."""
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
            self.said = self.errors.read().decode(errors="replace")
            self.errors.close()
        return status


def cases(seed: int, first: int, step: int, doors: tuple[str, ...] = TURNS) -> Iterator[Case]:
    """Yield every ``step``-th case of a seed, from the first on."""
    number = first
    while True:
        yield Case(doors[number % len(doors)], seed, number)
        number += step


def tried(
    every: Iterator[Case], tally: Tally, *, until: float | None = None, count: int | None = None, stop: bool = False
) -> None:
    """Try cases until a time of the clock, or so many.

    Parameters
    ----------
    every
        The cases.
    tally
        What they are counted in.
    until
        When to end, as ``time.monotonic`` has it.
    count
        How many at most.
    stop
        Whether to end with the first finding.
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
