"""The process that tries cases in turn, and reports the start and the outcome of each.

:mod:`fuzzing.campaign` starts it, and kills it if a case does not end.
"""

from __future__ import annotations

import base64
import faulthandler
import json
import os
import signal
import sys
import tempfile
import traceback
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from fuzzing.targets import BrokenError, Case, Given, targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzing.targets import Target

#: Parts of messages that blame a defect of Sledsim instead of the input.
DEFECT = ("or a defect in it", "this is a defect of the simulator")
#: Address space that cases may add to that of the process before the first case, bytes.
MEMORY_BYTES = 1 << 30


def main() -> None:
    """Try the cases that standard input names, one a line."""
    faulthandler.enable()
    # Long cases are ended by Ctrl-C, which a shell turns off in programs that it starts in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Libraries may print to standard output, so messages have a file of their own.
    messages = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    known = targets()
    warm(known)
    limit_memory()
    for line in sys.stdin:
        request = json.loads(line)
        send(messages, {"begins": request["name"]})
        given = unpacked(request["given"]) if "given" in request else None
        send(messages, try_case(known, request["name"], given))


def send(messages: TextIO, message: dict[str, Any]) -> None:
    """Send a message to the campaign."""
    messages.write(json.dumps(message) + "\n")
    messages.flush()


def try_case(known: dict[str, Target], name: str, given: Given | None) -> dict[str, Any]:
    """Try a case, or a given input of its target; return the outcome."""
    from sledsim import SledsimError

    target = known[name.split(":")[0]]
    if given is None:
        given = target.make(Case.of(name).random())
    ended: dict[str, Any] = {"ended": name, "outcome": "accepted", "kind": "", "detail": ""}
    try:
        with tempfile.TemporaryDirectory(prefix="sledsim-fuzz-") as folder:
            target.attempt(given, Path(folder))
    except SledsimError as error:
        message = str(error)
        ended |= {"outcome": "refused", "kind": type(error).__name__}
        if not message.strip() or any(words in message for words in DEFECT) or len(message) > 100_000:
            ended |= {"outcome": "failed", "kind": "words", "detail": message[:3_000]}
    except BrokenError as error:
        ended |= {"outcome": "failed", "kind": "invariant", "detail": str(error)[:3_000]}
    except BaseException as error:
        ended |= {"outcome": "failed", "kind": type(error).__name__, "detail": traceback.format_exc()[-3_000:]}
    if ended["outcome"] == "failed":
        ended["given"] = packed(given)
    return ended


def packed(given: Given) -> str:
    """Encode an input as one line; lone surrogates are kept as escapes."""
    return base64.b64encode(json.dumps(given).encode()).decode()


def unpacked(text: str) -> Given:
    """Decode the text that :func:`packed` returns."""
    given: Given = json.loads(base64.b64decode(text))
    return given


def warm(known: dict[str, Target]) -> None:
    """Import libraries and try a few cases, so that this does not count for the first cases."""
    import duckdb

    for module in ("numpy", "scipy.sparse.linalg", "scipy.stats", "optuna"):
        import_module(module)
    duckdb.connect().execute("SELECT 1").fetchall()
    with tempfile.TemporaryDirectory() as folder:
        for name, target in known.items():
            for number in range(3):
                try:
                    target.attempt(target.make(Case(name, 0, number).random()), Path(folder))
                except BaseException:
                    continue


def limit_memory() -> None:
    """Limit the address space of the process, on Linux."""
    import resource

    for line in _status():
        if line.startswith("VmSize:"):
            held = int(line.split()[1]) * 1024
            resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY_BYTES, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _status() -> Iterator[str]:
    path = Path("/proc/self/status")
    if path.exists():
        yield from path.read_text().splitlines()


if __name__ == "__main__":
    main()
