"""Refresh the command outputs that the README shows.

Usage: python tools/readme_outputs.py

A block of the README below ``<!-- output: COMMAND -->`` holds the output of that command, run in a folder with the
files that ``sledsim example readme`` writes. With ``<!-- output: COMMAND | head -N -->`` it holds the first N lines.
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
    """Return a page with current outputs.

    Parameters
    ----------
    text
        The page.
    """
    with tempfile.TemporaryDirectory() as folder:
        _printed([*SLEDSIM, "example", "readme"], folder)
        made = {found["command"]: _output(found["command"], folder) for found in BLOCK.finditer(text)}
    return BLOCK.sub(lambda found: found["command"] + found["between"] + made[found["command"]], text)


def _output(command: str, folder: str) -> str:
    """Return the output of a command, or its first lines where the command ends with ``| head -N``."""
    whole, _, lines = command.partition(" | head -")
    output = _printed(_words(whole), folder)
    return "".join(output.splitlines(keepends=True)[: int(lines)]) if lines else output


def _words(command: str) -> list[str]:
    """Return the words to run a command of the README with; `make run` without its set-up."""
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
