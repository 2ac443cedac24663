"""Sends Ctrl-C to commands once they report that they simulate, without sleeping."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMAND = [sys.executable, "-c", "from sledsim.cli import main; main()"]
#: The command line, which writes to a pipe at its third progress report, when it certainly simulates.
#: A thread writes after the report has returned, as Ctrl-C within a report would be an error of the report.
REPORTING = """
import itertools, os, sys, threading
from sledsim.show.progress import ProgressBar
pipe, reports, third, show = int(sys.argv.pop(1)), itertools.count(1), threading.Event(), ProgressBar.show
def report(bar, share, state):
    show(bar, share, state)
    if next(reports) == 3:
        third.set()
ProgressBar.show = report
sys.setswitchinterval(1)
threading.Thread(target=lambda: third.wait() and os.write(pipe, b"simulating"), daemon=True).start()
from sledsim.cli import main
main()
"""


@contextmanager
def started(*command: str | Path, **streams: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a command that never ends by itself, and end it on exit."""
    with subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True, **streams) as process:
        try:
            yield process
        finally:
            process.kill()


def next_output(end: int) -> bytes:
    """Return the next output of a pipe or terminal, or nothing if it is closed. Fail on a timeout."""
    assert select.select([end], [], [], PATIENCE_S)[0], f"silent for {PATIENCE_S} s"
    return os.read(end, 1_000_000)


def interrupted(*arguments: str | Path) -> tuple[int, str, str]:
    """Run a command that would take hours, press Ctrl-C while it simulates; return status, output and errors."""
    reader, writer = os.pipe()
    command = [sys.executable, "-c", REPORTING, str(writer), *arguments]
    with os.fdopen(reader), started(*command, stderr=subprocess.PIPE, pass_fds=[writer]) as process:
        os.close(writer)
        assert next_output(reader) == b"simulating", process.communicate(timeout=PATIENCE_S)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
        return process.returncode, out, err


def shown_on_a_terminal(*arguments: str | Path, words: list[str]) -> str:
    """Run a command on a terminal, press Ctrl-C once it has printed these words, and return its output."""
    terminal, other_end = pty.openpty()
    try:
        with started(*COMMAND, *arguments, stderr=other_end) as process:
            shown = b""
            while not all(word.encode() in shown for word in words):
                shown += next_output(terminal)
            process.send_signal(signal.SIGINT)
            return process.communicate(timeout=600)[0]
    finally:
        os.close(other_end)
        os.close(terminal)
