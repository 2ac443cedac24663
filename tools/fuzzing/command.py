"""Commands with valid and invalid files and options: they end with a documented status and a message."""

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

    from fuzzing.targets import Given

#: Placeholder of the input file, for commands that read it twice.
FILE = "{}"
#: Settings and options that keep runs short.
SHORT = ("--set", "run.requests=30", "--set", "run.warmup_requests=0")
TRIED = ("--trials", "2", "--threads", "1", "--store", "s", "--set", "search.replications=1")
ROLE = ("--replications", "2", "--requests", "30")
COST = (*SHORT, "--set", "cost.replications=1")
SWEEP = ("sweep", "run", "--threads", "1", "--store", "s", "--set", "sweep.replications=1", *SHORT)
#: Commands by kind of input: documents of a kind, traces, or none. The input is the last argument.
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
#: Commands that boot or serve; here they are refused first, for want of a machine or of an address.
OF_NOWHERE = (
    ("machine", "g2", "--machine", "none", "--program", "postmark", "--size", "files=5"),
    ("machine", "g2", "--machine", "none", "--file", "none", "--trace", "t.csv", "--", "ls"),
    ("serve", "g2", "--socket", "s", "--tcp", "1"),
)
#: Commands on the store of a finished sweep or search.
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
#: Exit statuses: success, error, and Ctrl-C.
STATUSES = {0, 1, 2, 130}


class Command:
    """Command lines."""

    def make(self, random: Random) -> Given:
        """Draw a command line and its input file."""
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
            # The last option may take the input file as its value.
            words.insert(random.randint(1, len(words)), random.choice([random.choice(OPTIONS), value]))
        return {**given, "words": [word.replace("\x00", "") for word in words]}

    def attempt(self, given: Given, folder: Path) -> None:
        """Run the command, and others on the files that it wrote."""
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
        """Run a command; return its exit status: 0, or 130 if it was interrupted."""
        from contextlib import chdir

        from typer.testing import CliRunner

        from sledsim import SledsimError
        from sledsim.cli.app import app

        # Long commands are interrupted.
        with chdir(folder), interrupted_in_time():
            done = CliRunner().invoke(app, words)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        require(done.exit_code in STATUSES, f"exit status {done.exit_code}")
        require(done.exit_code == 0 or done.stderr or done.stdout, "no message")
        require("Traceback" not in done.stderr, "a traceback")
        if done.exit_code == 2:
            refused: Any = SledsimError(done.stderr[:500] or done.stdout[:500])
            raise refused
        helped = not {"-h", "--help"}.isdisjoint(words)
        if "--json" in words and not helped and done.exit_code == 0 and done.stdout.strip():
            json.loads(done.stdout)
        return done.exit_code
