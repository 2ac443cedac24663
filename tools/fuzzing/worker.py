"""The process that tries cases, one after the other, and says of each that it begins and how it ends.

Run by :mod:`fuzzing.campaign`, which kills it where a case does not end.
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

from fuzzing.doors import BrokenError, Case, Given, doors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fuzzing.doors import Door

#: What an error says that is none of who asked.
DEFECT = ("or a defect in it", "this is a defect of the simulator")
#: Memory that a case may ask for beyond what the process holds before the first, bytes.
MEMORY_BYTES = 1 << 30


def main() -> None:
    """Try the cases that standard input names, one a line."""
    faulthandler.enable()
    # A shell that starts the fuzzer in the background has it deaf to Ctrl-C, by which cases end that take long.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # What a library prints must not be taken for what this process says.
    voice = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    known = doors()
    warm(known)
    limit_memory()
    for line in sys.stdin:
        asked = json.loads(line)
        say(voice, {"begins": asked["name"]})
        given = unpacked(asked["given"]) if "given" in asked else None
        say(voice, tried(known, asked["name"], given))


def say(voice: TextIO, what: dict[str, Any]) -> None:
    """Tell the campaign."""
    voice.write(json.dumps(what) + "\n")
    voice.flush()


def tried(known: dict[str, Door], name: str, given: Given | None) -> dict[str, Any]:
    """Try a case, or an input that was kept; say how it ended."""
    from sledsim import SledsimError

    door = known[name.split(":")[0]]
    if given is None:
        given = door.make(Case.of(name).random())
    ended: dict[str, Any] = {"ended": name, "outcome": "accepted", "what": "", "detail": ""}
    try:
        with tempfile.TemporaryDirectory(prefix="sledsim-fuzz-") as folder:
            door.attempt(given, Path(folder))
    except SledsimError as error:
        said = str(error)
        ended |= {"outcome": "refused", "what": type(error).__name__}
        if not said.strip() or any(words in said for words in DEFECT) or len(said) > 100_000:
            ended |= {"outcome": "failed", "what": "words", "detail": said[:3_000]}
    except BrokenError as error:
        ended |= {"outcome": "failed", "what": "invariant", "detail": str(error)[:3_000]}
    except BaseException as error:
        ended |= {"outcome": "failed", "what": type(error).__name__, "detail": traceback.format_exc()[-3_000:]}
    if ended["outcome"] == "failed":
        ended["given"] = packed(given)
    return ended


def packed(given: Given) -> str:
    """Write an input as a line: JSON knows all but lone surrogates, which ASCII escapes hold."""
    return base64.b64encode(json.dumps(given).encode()).decode()


def unpacked(text: str) -> Given:
    """Read what :func:`packed` wrote."""
    given: Given = json.loads(base64.b64decode(text))
    return given


def warm(known: dict[str, Door]) -> None:
    """Load what cases load, so that it does not count as theirs."""
    import duckdb

    for module in ("numpy", "scipy.sparse.linalg", "scipy.stats", "optuna"):
        import_module(module)
    duckdb.connect().execute("SELECT 1").fetchall()
    with tempfile.TemporaryDirectory() as folder:
        for name, door in known.items():
            for number in range(3):
                try:
                    door.attempt(door.make(Case(name, 0, number).random()), Path(folder))
                except BaseException:
                    continue


def limit_memory() -> None:
    """Bound what the process may hold from here on, where the system can."""
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
