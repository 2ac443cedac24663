"""Plant a hundred faults, one at a time, and say which of them the fuzzer and the metamorphic checks find.

    python tools/planted_faults.py build               # a copy with all of them behind a switch, built once
    python tools/planted_faults.py try --first 1 --last 40
    python tools/planted_faults.py table               # what was found until now

The copy and what was found lie in ``out/planted``. In the copy each place of :mod:`planted_list` asks an environment
variable, read once, whether it is the fault of this run; the project's own code knows nothing of it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzzing.worker import limit_memory
from planted_list import CORE, FAULTS, PACKAGE

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "out" / "planted"
COPY = PLACE / "copy"
FOUND = PLACE / "found.json"
#: What chooses the fault; 0 for none.
VARIABLE = "SLEDSIM_PLANTED"
#: Cases of the fuzzer for each fault, and their seed.
CASES, SEED = 300, 77
#: Random scenarios of each metamorphic check.
SCENARIOS = 15
CHECKS = ("test_metamorphic_times", "test_metamorphic_systems", "test_metamorphic_documents")
#: Rooms that the fuzzer goes into.
ROOMS = (
    *("sledsim.runs.running", "sledsim.sweep", "sledsim.reliability.reporting", "sledsim.studies.cost"),
    *("sledsim.studies.objective", "sledsim.scenario.explanation", "sledsim.devices", "fuzzing.documents"),
)
#: Processor time of a search, s, as a run that does not end is a fault that is found; and time on the clock.
PROCESSOR_S, CLOCK_S = 60, 300.0
#: Whether the fault of a number is on, in the core of the copy.
SWITCH = f"""//! Whether a fault is on.
/// Tells whether the environment asks for the fault of this number.
pub fn on(number: u32) -> bool {{
    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let chosen = || std::env::var("{VARIABLE}").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    *CHOSEN.get_or_init(chosen) == number
}}
"""


def place_of(file: str) -> str:
    """Return where a file of the list is, in the project."""
    return f"{PACKAGE if file.endswith('.py') else CORE}{file}"


def switched(number: int, file: str, old: str, new: str) -> str:
    """Return code that is the old one, or the new one where the fault of this number is on.

    Parameters
    ----------
    number
        Of the fault, from 1.
    file
        Where it is: a file of the core or of the package.
    old, new
        What stands there, and what the fault is.
    """
    if file.endswith(".py"):
        asks = f'__import__("os").environ.get("{VARIABLE}") == "{number}"'
        word, _, rest = old.partition(" ")
        if not iskeyword(word):
            return f"(({new}) if {asks} else ({old}))"
        other = new.partition(" ")[2]
        colon = ":" if rest.endswith(":") else ""
        return f"{word} ({other.removesuffix(':')}) if {asks} else ({rest.removesuffix(':')}){colon}"
    asks = f"crate::planted::on({number})"
    if "{n}" in new:
        return new.format(n=number)
    if old.endswith(";"):
        return f"if {asks} {{ {new} }} else {{ {old} }}" if new else f"if !{asks} {{ {old} }}"
    if new.endswith("("):
        return f"(if {asks} {{ {new.removesuffix('.then(')} }} else {{ {old.removesuffix('.then(')} }}).then("
    return f"(if {asks} {{ {new} }} else {{ {old} }})"


def planted() -> None:
    """Make the copy, with every fault behind its switch."""
    if COPY.exists():
        shutil.rmtree(COPY)
    COPY.mkdir(parents=True)
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name)
    for number, (name, file, old, new, which) in enumerate(FAULTS, 1):
        path = COPY / place_of(file)
        parts = path.read_text().split(old)
        if len(parts) < which + 2:
            raise SystemExit(f"{file} has no {old!r}: {name!r} can't be planted")
        before, after = old.join(parts[: which + 1]), old.join(parts[which + 1 :])
        path.write_text(before + switched(number, file, old, new) + after)
    core = COPY / CORE
    (core / "planted.rs").write_text(SWITCH)
    library = core / "lib.rs"
    library.write_text(library.read_text().replace("\npub mod ", "\nmod planted;\npub mod ", 1))


def build(target: Path) -> None:
    """Build the extension of the copy."""
    planted()
    chosen = {"CARGO_TARGET_DIR": str(target), "PYO3_PYTHON": sys.executable, "PYO3_BUILD_EXTENSION_MODULE": "1"}
    command = ["cargo", "build", "--release", "--locked", "--package", "sledsim-python"]
    subprocess.run(command, cwd=COPY, env={**os.environ, **chosen}, check=True)
    [library] = (target / "release").glob("lib*core*.so")
    shutil.copy2(library, COPY / "python" / "sledsim" / "_core.abi3.so")


def fuzzed() -> None:
    """Try cases of the fuzzer in this process; raise where one does not end as it should."""
    from fuzzing.campaign import cases
    from fuzzing.doors import doors
    from fuzzing.worker import tried

    known = doors()
    for case, _ in zip(cases(SEED, 0, 1), range(CASES), strict=False):
        ended = tried(known, str(case), None)
        if ended["outcome"] == "failed":
            raise AssertionError(ended)


def changed() -> None:
    """Make the metamorphic checks in this process; raise where one fails."""
    for module in map(import_module, CHECKS):
        for check in [value for name, value in vars(module).items() if name.startswith("test_")]:
            marks = getattr(check, "pytestmark", [])
            if any(mark.name == "slow" for mark in marks):
                continue
            kinds = [mark.args[1] for mark in marks if mark.name == "parametrize" and mark.args[0] == "kind"]
            for kind in kinds[0] if kinds else [None]:
                with TemporaryDirectory(prefix="sledsim-planted-") as folder:
                    check(numbers=range(SCENARIOS), tmp_path=Path(folder), **({"kind": kind} if kind else {}))


#: What looks for faults, in this order.
FINDERS = {"fuzzer": fuzzed, "metamorphic": changed}


def look(number: int, tell: int) -> None:
    """Look for a fault in this process, which ends with that: 1 where the finder told last has found it."""
    os.environ[VARIABLE] = str(number)
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S + 5))
    limit_memory()
    said = os.open(PLACE / "said" / f"{number}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    status = 0
    for name, find in FINDERS.items():
        os.write(tell, f"{name}\n".encode())
        try:
            find()
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            status = 1
            break
    os._exit(status)


@dataclass
class Search:
    """A process that looks for a fault."""

    number: int
    process: int
    told: int
    begun: float

    @classmethod
    def of(cls, number: int) -> Search:
        """Begin one; it has all that this process has loaded."""
        told, tell = os.pipe()
        process = os.fork()
        if process == 0:
            look(number, tell)
        os.close(tell)
        return cls(number, process, told, time.monotonic())

    def ended(self) -> str | None:
        """Return what has found the fault, nothing where none has; ``None`` while it goes on."""
        process, status = os.waitpid(self.process, os.WNOHANG)
        if not process and time.monotonic() - self.begun < CLOCK_S:
            return None
        if not process:
            os.kill(self.process, signal.SIGKILL)
            status = os.waitpid(self.process, 0)[1] or 1
        stages = os.read(self.told, 1_000).decode().split()
        os.close(self.told)
        return stages[-1] if status else ""


def loaded() -> None:
    """Load what the searches need, without asking the core anything: it reads the number of the fault once."""
    sys.path[:0] = [str(COPY / "python"), str(ROOT / "tests")]
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in ("numpy", "duckdb", "scipy.sparse.linalg", "scipy.stats", "pytest", "sledsim.cli.app", *CHECKS, *ROOMS):
        import_module(name)
    import sledsim

    assert str(COPY) in str(sledsim.__file__)
    os.chdir(ROOT)
    (PLACE / "said").mkdir(exist_ok=True)


def attempt(numbers: list[int], seconds: float, workers: int) -> None:
    """Try faults, and keep what is found; begin none after so many seconds."""
    loaded()
    known: dict[str, str] = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    waiting = [number for number in (0, *numbers) if name_of(number) not in known]
    until = time.monotonic() + seconds
    running: list[Search] = []
    while running or (waiting and time.monotonic() < until):
        while waiting and len(running) < workers and time.monotonic() < until:
            running.append(Search.of(waiting.pop(0)))
        for search in list(running):
            found = search.ended()
            if found is None:
                continue
            running.remove(search)
            if search.number == 0 and found:
                raise SystemExit(f"without any fault the {found} finds something: {PLACE / 'said' / '0.txt'}")
            known[name_of(search.number)] = found
            print(f"{found or '-':12} {name_of(search.number)}", flush=True)
            FOUND.write_text(json.dumps(known, indent=1) + "\n")
        time.sleep(0.05)


def name_of(number: int) -> str:
    """Return what the fault of a number is called."""
    return FAULTS[number - 1][0] if number else "none"


def table() -> str:
    """Return what was found as a table of Markdown."""
    known: dict[str, str] = json.loads(FOUND.read_text())
    rows = [(name, file, known[name]) for name, file, *_ in FAULTS if name in known]
    counts = Counter(found for _, _, found in rows)
    head = (
        f"{len(rows)} planted, {counts['fuzzer']} found by the fuzzer, {counts['metamorphic']} more by the metamorphic "
        f"checks, {counts['']} by neither.\n\n| fault | in | found by |\n| --- | --- | --- |\n"
    )
    return head + "".join(f"| {name} | `{file}` | {found or '–'} |\n" for name, file, found in rows)


def main() -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["plant", "build", "try", "table"])
    parser.add_argument("--first", type=int, default=1, help="number of the first fault to try")
    parser.add_argument("--last", type=int, default=len(FAULTS), help="and of the last")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no other after so long")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--target", type=Path, default=PLACE / "target", help="where cargo builds")
    asked = parser.parse_args()
    if asked.what == "plant":
        planted()
    elif asked.what == "build":
        build(asked.target.resolve())
    elif asked.what == "try":
        attempt(list(range(asked.first, asked.last + 1)), asked.seconds, asked.workers)
    else:
        print(table(), end="")


if __name__ == "__main__":
    main()
