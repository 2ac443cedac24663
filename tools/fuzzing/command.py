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

#: Commands by what they read: a document, a trace, or nothing. Settings keep runs short.
SHORT = ("--set", "run.requests=30", "--set", "run.warmup_requests=0")
OF_DOCUMENTS = {
    "scenario": (("run", *SHORT), ("run", "--full", *SHORT), ("validate",), ("validate", "--resolved"), ("explain",)),
    "sweep": (("sweep", "run", "--dry-run"), ("run", *SHORT)),
    "search": (("validate",),),
    "enclosure": (("reliability",),),
    "cost": (("validate",),),
    "role": (("validate",),),
}
OF_TRACES = (("replay", "--fit", "wrap"), ("trace", "info"), ("trace", "head"), ("hit-ratio",), ("replay",))
OF_NOTHING = (("devices",), ("devices", "g2"), ("seek", "g2"), ("zones", "cheetah73"), ("schedulers",), ("workloads",))
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
            words += [word for each in settings(random, of) for word in ("--set", each)]
        elif kind < 0.85:
            name = random.choice([*WRITERS])
            given |= {"name": "trace", "content": WRITERS[name](records(random)[:40]).decode("latin-1")}
            words = list(random.choice(OF_TRACES))
        else:
            words = list(random.choice(OF_NOTHING))
        for _ in range(random.choice([0, 0, 0, 1, 2])):
            value = random.choice([str(mutation.wild(random))[:3000], "g2", "log.csv", "plot.svg", "1"])
            words.insert(random.randint(1, len(words)), random.choice([random.choice(OPTIONS), value]))
        return {**given, "words": [word.replace("\x00", "") for word in words]}

    def attempt(self, given: Given, folder: Path) -> None:
        """Give the command."""
        from contextlib import chdir

        from typer.testing import CliRunner

        from sledsim import SledsimError
        from sledsim.cli.app import app

        words = list(given["words"])
        if given["name"]:
            path = folder / given["name"]
            text: str = given["content"]
            path.write_bytes(
                text.encode("latin-1") if given["name"] == "trace" else text.encode(errors="surrogatepass")
            )
            words.append(str(path))
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
