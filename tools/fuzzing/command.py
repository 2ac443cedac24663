"""The command line: commands with files and options as they should be, or not; what comes out is a status and words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fuzzing import mutation
from fuzzing.documents import drawn, settings
from fuzzing.invariants import require
from fuzzing.notation import NOTATIONS, written_as
from fuzzing.running import interrupted_in_time
from fuzzing.schemas import KINDS
from fuzzing.systems import changed
from fuzzing.trace_texts import WRITERS, records

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from fuzzing.doors import Given

#: Stands for the file that is read, where a command reads it once more.
FILE = "{}"
#: Settings and options that keep runs short.
SHORT = ("--set", "run.requests=30", "--set", "run.warmup_requests=0")
TRIED = ("--trials", "2", "--threads", "1", "--store", "s", "--set", "search.replications=1")
ROLE = ("--replications", "2", "--requests", "30")
COST = (*SHORT, "--set", "cost.replications=1")
SWEEP = ("sweep", "run", "--threads", "1", "--store", "s", "--set", "sweep.replications=1", *SHORT)
#: Commands by what they read: documents of a kind, traces, or nothing. What they read stands at their end.
OF_DOCUMENTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "scenario": (
        ("run", *SHORT),
        ("run", "--full", *SHORT),
        ("run", "--json", "--log", "log.csv", *SHORT),
        ("check",),
        ("check", "--resolved"),
        ("power", *SHORT),
        ("compare", *SHORT, FILE),
        ("cost", *SHORT, "--replications", "1", "--ratio", "1,2"),
    ),
    "sweep": (SWEEP, (*SWEEP, "--json")),
    "search": (("optimise", *TRIED, *SHORT), ("optimise", "--json", *TRIED, *SHORT)),
    "enclosure": (
        ("reliability",),
        ("reliability", "--lifetimes", "1000"),
        ("reliability", "--figure", "spares"),
        ("reliability", FILE),
    ),
    "cost": (("cost", *COST), ("cost", "--json", *COST)),
    "role": (("role-test", *ROLE, "merit"), ("role-test", *ROLE, "specificity")),
}
OF_TRACES = (
    ("replay", "--fit", "wrap"),
    ("replay", "--fit", "scale", "--json"),
    ("trace",),
    ("trace", "--head", "10"),
    ("trace", "--out", "converted.csv"),
    ("hit-ratio",),
    ("hit-ratio", "--policy", "arc", "--pages", "10,100", "--json"),
    ("cost", *SHORT, "--replications", "1", "--ratio", "2", "--trace"),
)
OF_NOTHING = (
    ("list", "devices"),
    ("device", "g2"),
    ("device", "g2", "--seeks"),
    ("device", "cheetah73", "--zones"),
    ("list", "schedulers"),
    ("list", "workloads"),
    ("list", "workloads", "tpcc-like"),
    ("list", "cache-policies"),
    ("device", "g2", "--break-even"),
    ("design", "g2", "--sensitivity"),
    ("relation", "--fetches", "10", "--layout", "row-major"),
    ("schema", "sweep"),
    ("example",),
    ("list", "formats"),
    ("role-test", "merit", "sptf", "--without", "sstf_lbn", *ROLE),
)
#: What would boot or serve, if it were not refused before it does: nothing is there to boot, a system has one address.
OF_NOWHERE = (
    ("machine", "g2", "--machine", "none", "--program", "postmark", "--size", "files=5"),
    ("machine", "g2", "--machine", "none", "--file", "none", "--trace", "t.csv", "--", "ls"),
    ("serve", "g2", "--socket", "s", "--tcp", "1"),
)
#: What is asked of the store of a sweep or a search that has run.
OF_STORES = (
    ("sweep", "status"),
    ("sweep", "show", "--json"),
    ("sweep", "show", "--out", "runs.csv"),
    ("sweep", "show", "--plot", "plot.json"),
    ("sweep", "show", "--metric", "energy.total_j"),
)
OPTIONS = (
    "--json",
    "--full",
    "--log",
    "--plot",
    "--set",
    "--device",
    "--scheduler",
    "--format",
    "--skip-bad",
    "--frob",
    "-h",
)
#: Exit statuses: all is well, what was asked for is wrong, and Ctrl-C.
STATUSES = {0, 1, 2, 130}


class Command:
    """Commands."""

    def make(self, random: Random) -> Given:
        """Make a command line and the file that it reads."""
        kind = random.random()
        given: Given = {"name": None, "content": ""}
        if kind < 0.6:
            of = random.choice(KINDS)
            document = changed(random, drawn(random, of), of, random.choice([0, 1, 2]))
            notation = random.choice(NOTATIONS)
            text = written_as(notation, document)
            given |= {"name": f"document.{notation}", "content": text}
            words = list(random.choice(OF_DOCUMENTS[of]))
            if of in ("sweep", "search"):
                given["then"] = list(random.choice(OF_STORES))
            words += [word for each in settings(random, of) for word in ("--set", each)]
        elif kind < 0.85:
            name = random.choice([*WRITERS])
            given |= {"name": "trace", "content": WRITERS[name](records(random)[:40]).decode("latin-1")}
            words = list(random.choice(OF_TRACES))
        else:
            words = list(random.choice((*OF_NOTHING, *OF_NOWHERE)))
        for _ in range(random.choice([0, 0, 0, 1, 2])):
            value = random.choice([str(mutation.wild(random))[:3000], "g2", "log.csv", "plot.svg", "1"])
            # The last may want what is read for its value.
            words.insert(random.randint(1, len(words)), random.choice([random.choice(OPTIONS), value]))
        return {**given, "words": [word.replace("\x00", "") for word in words]}

    def attempt(self, given: Given, folder: Path) -> None:
        """Give the command, and others of what it leaves behind."""
        words = list(given["words"])
        if given["name"]:
            path = folder / given["name"]
            text: str = given["content"]
            path.write_bytes(
                text.encode("latin-1") if given["name"] == "trace" else text.encode(errors="surrogatepass")
            )
            words = [str(path) if word == FILE else word for word in [*words, FILE]]
        status = self.status(words, folder)
        if status == 0 and given.get("then") and (folder / "s").is_dir():
            self.status([*given["then"], "s"], folder)

    def status(self, words: list[str], folder: Path) -> int:
        """Give a command; return its exit status: 0, or 130 where it was interrupted."""
        from contextlib import chdir

        from typer.testing import CliRunner

        from sledsim import SledsimError
        from sledsim.cli.app import app

        # What was asked for may be long; it ends when it is told to.
        with chdir(folder), interrupted_in_time():
            done = CliRunner().invoke(app, words)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        require(done.exit_code in STATUSES, f"exit status {done.exit_code}")
        require(done.exit_code == 0 or done.stderr or done.stdout, "nothing was said")
        require("Traceback" not in done.stderr, "a traceback")
        if done.exit_code == 2:
            refused: Any = SledsimError(done.stderr[:500] or done.stdout[:500])
            raise refused
        helped = not {"-h", "--help"}.isdisjoint(words)
        if "--json" in words and not helped and done.exit_code == 0 and done.stdout.strip():
            json.loads(done.stdout)
        return done.exit_code
