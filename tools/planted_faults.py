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
import shutil
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from planted_list import CORE, FAULTS, PACKAGE

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "out" / "planted"
COPY = PLACE / "copy"
FOUND = PLACE / "found.json"
#: What chooses the fault; 0 for none.
VARIABLE = "SLEDSIM_PLANTED"
#: Cases of the fuzzer for each fault, and their seed.
CASES, SEED = 400, 77
#: What a fault may take, s: a run that does not end is one that is found.
PATIENCE_S = 240.0
#: Whether the fault of a number is on, in the core of the copy.
SWITCH = f"""//! Whether a fault is on.
/// Tells whether the environment asks for the fault of this number.
pub fn on(number: u32) -> bool {{
    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let chosen = || std::env::var("{VARIABLE}").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    *CHOSEN.get_or_init(chosen) == number
}}
"""


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
        word, _, rest = old.partition(" ")
        other = new.partition(" ")[2]
        asks = f'__import__("os").environ.get("{VARIABLE}") == "{number}"'
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
        path = COPY / (PACKAGE if file.endswith(".py") else CORE) / file
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


def ends(command: list[str], number: int) -> bool:
    """Run a command with a fault of the copy's; tell whether it ends well, and in time."""
    paths = os.pathsep.join(map(str, [COPY / "python", ROOT / "tools", ROOT / "tests"]))
    environment = {**os.environ, "PYTHONPATH": paths, VARIABLE: str(number)}
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    (PLACE / "said").mkdir(exist_ok=True)
    (PLACE / "said" / f"{number}-{Path(command[1]).stem}.txt").write_bytes(done.stdout + done.stderr)
    return done.returncode == 0


def finder(number: int) -> str:
    """Return what finds a fault: ``fuzzer``, ``metamorphic``, or nothing."""
    fuzzer = [sys.executable, "tools/fuzz.py", "--seed", str(SEED), "--count", str(CASES), "--workers", "1", "--stop"]
    if not ends(fuzzer, number):
        return "fuzzer"
    tests = sorted(map(str, (ROOT / "tests").glob("test_metamorphic_*.py")))
    asked = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return "" if ends([sys.executable, "-m", "pytest", *tests, *asked], number) else "metamorphic"


def attempt(first: int, last: int, seconds: float, workers: int) -> None:
    """Try faults, and keep what is found; begin none after so many seconds."""
    known: dict[str, str] = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    until = time.monotonic() + seconds
    if "none" not in known:
        if finder(0):
            raise SystemExit("without any fault something is found: mend that first")
        known["none"] = ""
        FOUND.write_text(json.dumps(known, indent=1) + "\n")

    def one(number: int) -> tuple[str, str] | None:
        name = FAULTS[number - 1][0]
        return None if name in known or time.monotonic() > until else (name, finder(number))

    with ThreadPoolExecutor(workers) as pool:
        for found in pool.map(one, range(first, min(last, len(FAULTS)) + 1)):
            if found:
                known[found[0]] = found[1]
                print(f"{found[1] or '-':12} {found[0]}", flush=True)
                FOUND.write_text(json.dumps(known, indent=1) + "\n")


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
        attempt(asked.first, asked.last, asked.seconds, asked.workers)
    else:
        print(table(), end="")


if __name__ == "__main__":
    main()
