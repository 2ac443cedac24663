"""vl-convert, which renders charts, in a separate process.

The browser's engine in it ends the process where it can't get what it wants, most of all address space, of which it
reserves gigabytes.
"""

import atexit
import json
import os
import subprocess
import sys
from base64 import b64decode
from collections.abc import Mapping
from threading import Lock
from typing import Any

from sledsim._core import SledsimError
from sledsim.show.faults import make_error
from sledsim.show.fitting import visible
from sledsim.show.frames import need

__all__ = ["converted", "converted_text"]

#: Answers one request a line: a function's name, its arguments and options. What the library prints must not be taken
#: for that.
PROGRAM = """
import base64, json, os, sys
voice = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
import vl_convert
for line in sys.stdin:
    name, given, options = json.loads(line)
    try:
        made = getattr(vl_convert, name)(*given, **options)
        said = {"made": base64.b64encode(made if isinstance(made, bytes) else made.encode()).decode()}
    except Exception as error:
        said = {"wrong": str(error)}
    voice.write(json.dumps(said) + "\\n")
    voice.flush()
"""


class _Converter:
    """A process that is started when it is first needed, and again where it has ended."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.process: subprocess.Popen[str] | None = None
        self.of = 0

    def ask(self, request: str) -> dict[str, str]:
        with self.lock:
            process = self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(request + "\n")
                process.stdin.flush()
                line = process.stdout.readline()
            except BrokenPipeError:
                line = ""
            if not line:
                status = self.end()
                says = (
                    f"the chart can't be drawn: the program that draws it ended with {status}. It needs some gigabytes "
                    "of address space, and files and threads; without them charts can be saved as .json"
                )
                raise make_error(SledsimError, "unsupported", says)
            answer: dict[str, str] = json.loads(line)
            return answer

    def _running(self) -> "subprocess.Popen[str]":
        # A forked process must not read the answers of others.
        if self.process is None or self.of != os.getpid():
            path = os.pathsep.join(filter(None, sys.path))
            try:
                self.process = subprocess.Popen(
                    [sys.executable, "-P", "-c", PROGRAM],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    env={**os.environ, "PYTHONPATH": path},
                )
            except OSError as error:
                says = f"the chart can't be drawn: the program that draws it can't be started: {error.strerror}"
                raise make_error(SledsimError, "unsupported", says) from None
            self.of = os.getpid()
        return self.process

    def end(self) -> int:
        """End the process, where it is one of this process."""
        process, self.process = self.process, None
        if process is None or self.of != os.getpid():
            return 0
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue
        try:
            return process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


_converter = _Converter()
atexit.register(_converter.end)


def converted(name: str, *given: Any, **options: Any) -> bytes:
    """Return what a function of vl-convert makes.

    Parameters
    ----------
    name
        The function.
    *given, **options
        What it is given, as JSON can hold it.

    Raises
    ------
    SledsimError
        It is not installed, can't draw the chart, or ended over it.
    """
    need("vl_convert", "plots")
    answer = _converter.ask(json.dumps([name, _drawable(given), options]))
    if "wrong" in answer:
        raise make_error(SledsimError, "unsupported", f"the chart can't be drawn: {answer['wrong']}")
    return b64decode(answer["made"])


def _drawable(given: Any) -> Any:
    """Return the same with escapes for what is unseen: no XML holds it, and the engine ends where a chart does."""
    if isinstance(given, str):
        return visible(given)
    if isinstance(given, Mapping):
        return {_drawable(key): _drawable(value) for key, value in given.items()}
    return [_drawable(each) for each in given] if isinstance(given, list | tuple) else given


def converted_text(name: str, *given: Any, **options: Any) -> str:
    """Return the same of a function that makes text.

    Parameters
    ----------
    name
        The function.
    *given, **options
        What it is given, as JSON can hold it.
    """
    return converted(name, *given, **options).decode()
