"""vl-convert, which renders charts, in a separate process.

Its JavaScript engine aborts the process if it lacks resources, such as the gigabytes of address space that it reserves.
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

#: The program of the process: reads a request per line (function name, arguments, options) and writes a response per
#: line. Standard output is redirected, so that output of the library is not read as a response.
PROGRAM = """
import base64, json, os, sys
output = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
import vl_convert
for line in sys.stdin:
    name, given, options = json.loads(line)
    try:
        made = getattr(vl_convert, name)(*given, **options)
        response = {"result": base64.b64encode(made if isinstance(made, bytes) else made.encode()).decode()}
    except Exception as error:
        response = {"error": str(error)}
    output.write(json.dumps(response) + "\\n")
    output.flush()
"""


class _Converter:
    """A process that is started on first use, and restarted if it has ended."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.process: subprocess.Popen[str] | None = None
        self.owner_pid = 0

    def send(self, request: str) -> dict[str, str]:
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
                message = (
                    f"the chart can't be drawn: the renderer ended with status {status}. It needs some gigabytes of "
                    "address space, and files and threads; save the chart as .json instead"
                )
                raise make_error(SledsimError, "unsupported", message)
            response: dict[str, str] = json.loads(line)
            return response

    def _running(self) -> "subprocess.Popen[str]":
        # A forked process must not use the pipes of its parent.
        if self.process is None or self.owner_pid != os.getpid():
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
                message = f"the chart can't be drawn: the renderer can't be started: {error.strerror}"
                raise make_error(SledsimError, "unsupported", message) from None
            self.owner_pid = os.getpid()
        return self.process

    def end(self) -> int:
        """End the renderer if this process started it, and return its exit status."""
        process, self.process = self.process, None
        if process is None or self.owner_pid != os.getpid():
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
    """Return the result of a function of vl-convert.

    Parameters
    ----------
    name
        The function.
    *given, **options
        Its arguments, as JSON values.

    Raises
    ------
    SledsimError
        If vl-convert is not installed, reports an error, or its process ends.
    """
    need("vl_convert", "plots")
    response = _converter.send(json.dumps([name, _escape(given), options]))
    if "error" in response:
        raise make_error(SledsimError, "unsupported", f"the chart can't be drawn: {response['error']}")
    return b64decode(response["result"])


def _escape(given: Any) -> Any:
    """Return a JSON value with control characters escaped: XML does not allow them, and they abort the renderer."""
    if isinstance(given, str):
        return visible(given)
    if isinstance(given, Mapping):
        return {_escape(key): _escape(value) for key, value in given.items()}
    return [_escape(each) for each in given] if isinstance(given, list | tuple) else given


def converted_text(name: str, *given: Any, **options: Any) -> str:
    """Return the text result of a function of vl-convert; arguments as for :func:`converted`."""
    return converted(name, *given, **options).decode()
