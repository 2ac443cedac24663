"""Do what README and the tutorials say, word for word, in a clean environment; stop at the first difference.

    python tools/first_hour.py WHEEL [--first] [--all]

An environment is made, the wheel installed, and an empty folder entered. There README's commands run one after the
other, and then the tutorials, cell by cell. --first stops after the first answer and says how long that took;
--all takes README's report of the papers too, which takes minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
EXTRAS = "plots,frames,reliability,optimise"
#: From `pip install` to the first answer.
LIMIT_S = 60.0
FIRST = ("sledsim example scenario.toml", "sledsim run scenario.toml")
OUTPUT = re.compile(
    r"<!-- output: (?P<command>sledsim [^\n]+?) -->\n\n```\n(?P<output>.*?)^```$", re.DOTALL | re.MULTILINE
)
CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```", re.DOTALL | re.MULTILINE)
#: What a cell is written to show: a mistake, or a trace that is too large.
REFUSED = ("setle_constants", "replay server.csv --device g2\n")


class DifferenceError(Exception):
    """What was said is not what happened."""


def main() -> int:
    """Do it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--first", action="store_true", help="stop after the first answer")
    parser.add_argument("--all", action="store_true", help="the report of the papers too: minutes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="first-hour-") as folder:
        try:
            programs, took_s = first_answer(options.wheel.resolve(), Path(folder))
            print(f"first answer after {took_s:.1f} s")
            if not options.first:
                the_rest(programs, Path(folder), everything=options.all)
        except DifferenceError as difference:
            print(f"error: {difference}", file=sys.stderr)
            return 1
    return 0


def first_answer(wheel: Path, folder: Path) -> tuple[Path, float]:
    """Install a wheel into a clean environment and run the first commands; return its programs, and the time.

    Parameters
    ----------
    wheel
        The wheel.
    folder
        For the environment, and for what is run.
    """
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    began_s = time.monotonic()
    shell(f"pip install --quiet --disable-pip-version-check '{wheel}'", programs, folder)
    for command in FIRST:
        shell(command, programs, folder)
    took_s = time.monotonic() - began_s
    if took_s > LIMIT_S:
        raise DifferenceError(f"the first answer took {took_s:.0f} s; at most {LIMIT_S:.0f} s are promised")
    return programs, took_s


def the_rest(programs: Path, folder: Path, *, everything: bool) -> None:
    """Do what README and the tutorials say, beyond the first answer.

    Parameters
    ----------
    programs
        The environment's.
    folder
        Where it is.
    everything
        Whether to make the report of the papers too.
    """
    wheel = installed(programs, folder)
    shell(f"pip install --quiet --disable-pip-version-check 'sledsim[{EXTRAS}] @ {wheel}'", programs, folder)
    if everything:
        shell(f"pip install --quiet --disable-pip-version-check '{ROOT / 'papers'}'", programs, folder)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    work = folder / "readme"
    work.mkdir()
    for command in commands(readme):
        if everything or not command.startswith("sledsim reproduce"):
            print(command, flush=True)
            shell(command, programs, work)
    for shown in OUTPUT.finditer(readme):
        if shell(shown["command"], programs, work) != shown["output"]:
            raise DifferenceError(f"{shown['command']}: README shows something else")
    for path in sorted((ROOT / "docs" / "tutorials").glob("*.md")):
        print(path.name, flush=True)
        place = folder / path.stem
        place.mkdir()
        tutorial(path, programs, place)


def installed(programs: Path, folder: Path) -> str:
    """Return where the package was installed from."""
    code = "import importlib.metadata as m; print(m.distribution('sledsim').read_text('direct_url.json'))"
    return str(json.loads(shell(f'python -c "{code}"', programs, folder))["url"])


def commands(readme: str) -> Iterator[str]:
    """Yield the `sledsim` commands of the README's shell blocks."""
    blocks = re.findall(r"^```sh\n(.+?)```", readme, flags=re.DOTALL | re.MULTILINE)
    for line in "".join(blocks).splitlines():
        if line.startswith("sledsim "):
            yield line.partition("#")[0].strip()


def tutorial(path: Path, programs: Path, folder: Path) -> None:
    """Run the cells of a tutorial: commands in a shell, programs one after the other in one Python."""
    program = ["import subprocess"]
    for cell in CELL.findall(path.read_text(encoding="utf-8")):
        for line in cell.splitlines():
            if line.startswith("!"):
                refused = any(words in f"{line}\n" for words in REFUSED)
                program.append(f"assert subprocess.run({line[1:]!r}, shell=True).returncode == {2 if refused else 0}")
            else:
                program.append(line)
    script = folder / "tutorial.py"
    script.write_text("\n".join(program), encoding="utf-8")
    shell(f"python {script.name}", programs, folder)


def shell(command: str, programs: Path, folder: Path) -> str:
    """Run a command as a reader types it; return what it printed."""
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    environment["PATH"] = os.pathsep.join([str(programs), environment["PATH"]])
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode or "Traceback" in done.stderr:
        raise DifferenceError(f"{command}: status {done.returncode}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
