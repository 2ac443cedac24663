"""Write what README shows of commands' outputs anew, from the commands themselves.

Usage: python tools/readme_outputs.py

A block of README below a line ``<!-- output: COMMAND -->`` is what that command prints, in a folder with the
files that ``sledsim example readme`` writes.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(
    r"(?<=<!-- output: )(?P<command>[^\n]+?)(?P<between> -->\n\n```\n)(?P<output>.*?)(?=^```$)",
    re.DOTALL | re.MULTILINE,
)
SLEDSIM = [sys.executable, "-c", "from sledsim.cli import main; main()"]


def main() -> int:
    """Rewrite README."""
    README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def filled(text: str) -> str:
    """Return a page with its outputs made anew.

    Parameters
    ----------
    text
        The page.
    """
    with tempfile.TemporaryDirectory() as folder:
        _printed([*SLEDSIM, "example", "readme"], folder)
        made = {found["command"]: _printed(_words(found["command"]), folder) for found in BLOCK.finditer(text)}
    return BLOCK.sub(lambda found: found["command"] + found["between"] + made[found["command"]], text)


def _words(command: str) -> list[str]:
    """Return how a command of README is called here; what `make run` prints, without its set-up."""
    if command == "make run":
        return [sys.executable, str(ROOT / "examples" / "generations.py")]
    program, *words = shlex.split(command)
    if program != "sledsim":
        raise ValueError(f"README shows the output of {command!r}, which this tool does not know to run")
    return [*SLEDSIM, *words]


def _printed(words: list[str], folder: str) -> str:
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
