"""Run the same in two builds of Sledsim and compare what they say, bit by bit.

    python tools/compare_builds.py OLD NEW --keep FOLDER

OLD and NEW are folders of virtual environments with Sledsim in them, or of checkouts with one in ``.venv``. Each build
is driven by its command line, in the checkout that its package lies in, with the examples of that checkout:

- the examples: scenarios with their logs and time lines, sweeps, searches, enclosures, and what the scripts print;
- every claim of the papers, from a quick run;
- commands that print numbers: devices, seeks, traces, imports, costs, tests of roles;
- 200 random scenarios (``tools/random_scenarios.py``) with their logs; they use the schedulers of the environment that
  runs this tool.

What OLD says is kept in FOLDER and not computed again; ``--old-only`` computes that alone. Exit status 1: something
differs that ``EXPECTED`` does not explain, or could not be run. Traces and drives come from the folder that
SLEDSIM_REFERENCE names, or else ``../shared``.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import random_scenarios

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = Path(os.environ.get("SLEDSIM_REFERENCE", ROOT.parent / "shared"))
RANDOM_SCENARIOS = 200
DOCUMENTS = ROOT / "python" / "sledsim" / "examples"
#: Examples with MEMS storage alone, whose powers are known.
POWERED = {"closed", "first", "power", "replay"}
# Written last: without it a case has not been run to its end.
DONE = "case.json"
MISSING = "(not there)"


class Expected(NamedTuple):
    """Differences that are as they should be: patterns of the case and of the place, and why."""

    case: str
    place: str
    reason: str


EXPECTED = [
    Expected("*", "*sledsim.version", "the version of the build"),
    Expected("claims", "*: sledsim", "the version of the build"),
    Expected("claims", "*.seconds", "how long an experiment took"),
    Expected("sweep-*", "*: seconds", "how long the sweep took"),
    Expected("sweep-*", "*: definition", "the hash of a sweep's description, not of its results"),
]


@dataclass(frozen=True)
class Case:
    """Commands that are run in a folder of their own, one after the other; ``{out}`` stands for that folder."""

    name: str
    commands: list[list[str]]
    text: str | None = None
    drop: list[str] = field(default_factory=list)

    def described(self, build: Build) -> dict[str, Any]:
        """Return what has to be the same for a result to be taken from the folder."""
        return asdict(self) | {"build": str(build.python)}


@dataclass(frozen=True)
class Build:
    """A virtual environment with Sledsim, and the checkout that its package lies in."""

    python: Path
    root: Path

    @classmethod
    def of(cls, folder: Path) -> Build:
        """Find the build of a virtual environment or of a checkout."""
        found = [path for path in (folder / "bin" / "python", folder / ".venv" / "bin" / "python") if path.exists()]
        if not found:
            sys.exit(f"{folder}: neither bin/python nor .venv/bin/python is there")
        where = [str(found[0]), "-c", "import sledsim; print(sledsim.__file__)"]
        package = Path(subprocess.run(where, check=True, stdout=subprocess.PIPE, text=True, cwd="/").stdout.strip())
        return cls(found[0].absolute(), package.parents[2])

    def run(self, case: Case, out: Path) -> None:
        """Run a case and leave in a folder what it printed and wrote."""
        done = out / DONE
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        for number, words in enumerate(case.commands, 1):
            program, *arguments = (word.replace("{out}", str(out)) for word in words)
            command = [str(self.python.parent / program), *arguments]
            environment = os.environ | {"SLEDSIM_REFERENCE": str(REFERENCE), "COLUMNS": "200"}
            ran = subprocess.run(
                command, input=case.text or "", capture_output=True, text=True, cwd=self.root, env=environment
            )
            for ending, text in (("out", ran.stdout), ("errors", ran.stderr)):
                text = text.replace(str(out), "OUT").replace(str(self.root), "ROOT")
                (out / f"{number}.{ending}").write_text(text)
            if ran.returncode:
                (out / "failed").write_text(f"{' '.join(command)}: status {ran.returncode}\n{ran.stderr}")
                break
        for name in case.drop:
            shutil.rmtree(out / name, ignore_errors=True)
        done.write_text(json.dumps(case.described(self)))

    def has_run(self, case: Case, out: Path) -> bool:
        """Whether what this build says to a case lies in a folder."""
        done = out / DONE
        return done.exists() and bool(json.loads(done.read_text()) == case.described(self))


def sledsim(*arguments: str) -> list[str]:
    """Return a command of the program."""
    return ["sledsim", *arguments]


def examples() -> Iterator[Case]:
    """Yield what runs every example."""
    for path in sorted((ROOT / "examples").glob("*.py")):
        yield Case(path.stem, [["python", str(path.relative_to(ROOT)), *(["{out}"] if path.stem == "explore" else [])]])
    for path in sorted(DOCUMENTS.glob("*.toml")):
        keys, file = tomllib.loads(path.read_text()), str(path.relative_to(ROOT))
        if keys.keys() & {"mems_bytes", "role"}:
            continue
        if keys.keys() & {"axes", "sample"}:
            store = "{out}/store"
            run = sledsim("sweep", "run", file, "--store", store, "--threads", "1", "--json")
            table = sledsim("sweep", "show", store, "--json")
            export = sledsim("sweep", "show", store, "--out", "{out}/runs.csv")
            yield Case(f"sweep-{path.stem}", [run, table, export], drop=["store"])
        elif "objectives" in keys:
            search = sledsim("optimise", file, "--store", "{out}/store", "--threads", "1", "--json")
            yield Case(f"search-{path.stem}", [search], drop=["store"])
        elif "enclosure" in keys:
            ask = [[], ["--simulate", "--lifetimes", "20000"]]
            # Figures come from Markov chains, which cannot model devices that age.
            drawn = [] if path.stem == "weak-devices" else ["spares", "maintenance", "failures", "cost"]
            ask += [["--figure", figure] for figure in drawn]
            yield Case(f"enclosure-{path.stem}", [sledsim("reliability", file, "--json", *more) for more in ask])
        else:
            runs = [sledsim("run", file, "--json", "--log", "{out}/log.csv"), sledsim("run", file)]
            yield Case(path.stem, [*runs, *(sledsim("check", file, option) for option in ("--resolved", "--json"))])
            if path.stem in POWERED:
                timeline = sledsim("run", file, "--timeline", "{out}/timeline.csv")
                short = sledsim("power", file, "--json", "--set", "run.requests=2000")
                yield Case(f"power-{path.stem}", [timeline, short])


def reference_cases() -> Iterator[Case]:
    """Yield what reads traces and drives of the reference data."""
    for folder in sorted((REFERENCE / "drives").glob("*")):
        for parameters in sorted(folder.glob("*.parv")):
            imported = sledsim("import", str(parameters))
            checked = sledsim("validate-drive", str(parameters), str(parameters.with_suffix(".trace")), "--json")
            yield Case(f"drive-{parameters.stem}", [imported, [*imported, "--scenario"], checked])
    for trace in sorted((REFERENCE / "traces").glob("*")):
        looked = sledsim("trace", str(trace), "--json", "--skip-bad", "100")
        records = ["--json", "--records", "5000", "--fit", "scale", "--skip-bad", "100", "--log", "{out}/log.csv"]
        replay = sledsim("replay", str(trace), "--device", "atlas10k", *records)
        yield Case(f"trace-{trace.name}", [looked] if trace.suffix == ".lis" else [looked, replay])
    pages = ["--pages", "2000,20000", "--page-bytes", "512", "--json"]
    policies = [word for name in random_scenarios.REPLACEMENTS for word in ("--policy", name)]
    yield Case("hit-ratio", [sledsim("hit-ratio", str(REFERENCE / "traces" / "arc-OLTP.lis.zst"), *policies, *pages)])


def commands() -> Iterator[Case]:
    """Yield what prints numbers and runs no scenario of its own."""
    yield Case("schedulers", [sledsim("list", "schedulers", "--json"), sledsim("list", "cache-policies", "--json")])
    for name in [*random_scenarios.MEMS, *random_scenarios.DISKS, *random_scenarios.SIMPLE]:
        asked = [sledsim("device", name, "--json")]
        if name not in random_scenarios.SIMPLE:
            asked.append(sledsim("device", name, "--seeks", "--json"))
        if name in random_scenarios.DISKS:
            asked.append(sledsim("device", name, "--zones", "--json"))
        yield Case(f"device-{name}", asked)
    for name in random_scenarios.STAND_INS:
        yield Case(f"workload-{name}", [sledsim("list", "workloads", name, "--json")])
    yield Case(
        "surface", [sledsim("device", "g2", "--seek-surface", "--json", "--set", "device.seek_model=decomposed")]
    )
    relation = ["--fetches", "300", "--json"]
    yield Case("relation", [sledsim("relation", "--device", name, *relation) for name in ("g2", "uberdisk")])
    cost = ["--mems-size", "32 MiB", "--ratio", "1,3,10", "--set", "run.requests=3000", "--json"]
    yield Case("cost", [sledsim("cost", "--workload", "tpcc-like", *cost)])
    short = ["--replications", "3", "--requests", "2000", "--json"]
    for role in ("sdf", "sptf", "equivalent"):
        repeated = short if role != "equivalent" else ["--json"]
        yield Case(f"role-{role}", [sledsim("role-test", test, role, *repeated) for test in ("specificity", "merit")])
    first, power = (str((DOCUMENTS / name).relative_to(ROOT)) for name in ("first.toml", "power.toml"))
    several = [first, power, "--json"]
    policies = sledsim("power", "--policies", power, "--json")
    yield Case("compare", [sledsim("compare", *several), policies])


def cases() -> list[Case]:
    """Return everything that is compared, what takes longest first."""
    claims = Case("claims", [sledsim("reproduce", "--json")])
    written = ["--json", "--log", "{out}/log.csv"]
    drawn = [
        Case(f"random-{number:03}", [sledsim("run", "-", *written)], json.dumps(random_scenarios.scenario(number)))
        for number in range(RANDOM_SCENARIOS)
    ]
    return [claims, *examples(), *reference_cases(), *commands(), *drawn]


class Difference(NamedTuple):
    """Where two results differ, and what is there."""

    place: str
    old: str
    new: str


def compared(old: Any, new: Any, place: str = "") -> Iterator[Difference]:
    """Yield the differences of what was read from JSON."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            below = f"{place}.{key}" if place else key
            if key in old and key in new:
                yield from compared(old[key], new[key], below)
            else:
                yield Difference(below, *(json.dumps(side[key]) if key in side else MISSING for side in (old, new)))
        if list(old) != list(new) and set(old) == set(new):
            yield Difference(place, "keys in their order", "the same keys in another order")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from compared(one, other, f"{place}[{index}]")
    elif type(old) is not type(new) or old != new:
        yield Difference(place, json.dumps(old), json.dumps(new))


def compared_rows(old: str, new: str) -> Iterator[Difference]:
    """Yield the differences of tables, value by value."""
    rows = zip_longest(csv.reader(old.splitlines()), csv.reader(new.splitlines()))
    header: list[str] = []
    for number, (one, other) in enumerate(rows):
        if one != other:
            if one is None or other is None or len(one) != len(other):
                yield Difference(f"row {number}", *(MISSING if row is None else ",".join(row) for row in (one, other)))
                continue
            for index, (left, right) in enumerate(zip(one, other, strict=True)):
                if left != right:
                    yield Difference(f"row {number}, {header[index] if header else index}", left, right)
        header = header or one or []


def compared_texts(name: str, old: str, new: str) -> Iterator[Difference]:
    """Yield the differences of two files of this name."""
    if old == new:
        return
    if name.endswith(".csv"):
        yield from compared_rows(old, new)
        return
    try:
        # Numbers stay as they are written: 1.0 is not 1, and the last digit counts.
        sides = [json.loads(text, parse_float=Decimals) for text in (old, new)]
    except json.JSONDecodeError:
        lines = enumerate(zip_longest(old.splitlines(), new.splitlines(), fillvalue=MISSING), 1)
        yield from (Difference(f"line {number}", *pair) for number, pair in lines if pair[0] != pair[1])
        return
    found = list(compared(*sides))
    yield from found or [Difference("", "text", "the same values, written otherwise")]


class Decimals(str):
    """A number with a fraction, as it is written."""


def files(folder: Path) -> dict[str, Path]:
    """Return what a case left to be compared, by its name: not what was written for people to look at."""
    chosen = {".out", ".csv"}
    return {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.suffix in chosen}


def differences(old: Path, new: Path) -> Iterator[Difference]:
    """Yield how the results of a case differ."""
    failed = [(side / "failed").read_text() if (side / "failed").exists() else "" for side in (old, new)]
    if any(failed):
        yield Difference("status", *(text.strip() or "as it should be" for text in failed))
        return
    ours, theirs = files(old), files(new)
    for name in sorted(ours.keys() | theirs.keys()):
        if name not in ours or name not in theirs:
            yield Difference(name, *("there" if name in side else MISSING for side in (ours, theirs)))
            continue
        for found in compared_texts(name, ours[name].read_text(), theirs[name].read_text()):
            yield found._replace(place=f"{name}: {found.place}")


def reason(case: Case, place: str) -> str | None:
    """Return why a difference is as it should be, if it is."""
    found = [item.reason for item in EXPECTED if fnmatchcase(case.name, item.case) and fnmatchcase(place, item.place)]
    return found[0] if found else None


def run_all(build: Build, chosen: Iterable[Case], folder: Path, jobs: int, *, keep: bool) -> None:
    """Run cases in a build, so many at a time, but not those whose results are to be kept and there."""
    due = [case for case in chosen if not (keep and build.has_run(case, folder / case.name))]
    print(f"{build.root}: {len(due)} cases to run", file=sys.stderr)
    with ThreadPoolExecutor(jobs) as pool:
        ran = pool.map(lambda case: build.run(case, folder / case.name), due)
        for number, (case, _) in enumerate(zip(due, ran, strict=True), 1):
            print(f"{number} of {len(due)}: {case.name}", file=sys.stderr)


def report(chosen: list[Case], old: Path, new: Path, most: int) -> int:
    """Print how the results differ; return how many cases differ without a reason."""
    explained: Counter[str] = Counter()
    unexplained = 0
    for case in chosen:
        shown = []
        for found in differences(old / case.name, new / case.name):
            why = reason(case, found.place)
            if why:
                explained[why] += 1
            else:
                shown.append(found)
        unexplained += bool(shown)
        for found in shown[:most]:
            print(f"{case.name}: {found.place}\n    old {found.old[:400]}\n    new {found.new[:400]}")
        if len(shown) > most:
            print(f"{case.name}: {len(shown) - most} more differences")
    for why, count in explained.items():
        print(f"{count} differences as they should be: {why}")
    print(f"{len(chosen)} cases: {len(chosen) - unexplained} the same, {unexplained} differ without a reason")
    return unexplained


def main() -> int:
    """Run both builds and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, metavar="OLD")
    parser.add_argument("new", type=Path, metavar="NEW", nargs="?")
    parser.add_argument("--keep", type=Path, default=ROOT / "out" / "compare", metavar="FOLDER", help="for results")
    parser.add_argument("--old-only", action="store_true", help="run the old build and compare nothing")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="cases of such names, as 'random-*'")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="cases at a time")
    parser.add_argument("--most", type=int, default=10, metavar="N", help="differences of a case that are printed")
    options = parser.parse_args()
    if options.new is None and not options.old_only:
        parser.error("NEW is needed, or --old-only")
    chosen = [case for case in cases() if fnmatchcase(case.name, options.only)]
    keep = options.keep.absolute()
    run_all(Build.of(options.old), chosen, keep / "old", options.jobs, keep=True)
    if options.old_only:
        return 0
    run_all(Build.of(options.new), chosen, keep / "new", options.jobs, keep=False)
    return 1 if report(chosen, keep / "old", keep / "new", options.most) else 0


if __name__ == "__main__":
    sys.exit(main())
