"""Commands in notebooks in a browser, where Python has no shell."""

import contextlib
import io
import shlex
from pathlib import Path

__all__ = ["enable_commands", "run_line"]


def enable_commands() -> None:
    """Make IPython run lines such as ``!sledsim run scenario.toml`` with :func:`run_line`."""
    from IPython import get_ipython

    get_ipython().system = run_line


def run_line(line: str) -> int:
    """Run a command line in this process, and return its exit status.

    Parameters
    ----------
    line
        ``sledsim …`` or ``cat FILE``, optionally followed by ``| grep TEXT``.
    """
    command, _, search = line.partition("|")
    words, filters = shlex.split(command), shlex.split(search)
    if words[:1] not in (["sledsim"], ["cat"]) or filters[:1] not in ([], ["grep"]):
        print(f"{line}: a browser has no shell; only `sledsim …`, `cat FILE` and `| grep TEXT` work")
        return 127
    if not filters:
        return _run(words)
    with contextlib.redirect_stdout(io.StringIO()) as output:
        _run(words)
    found = [row for row in output.getvalue().splitlines() if " ".join(filters[1:]) in row]
    print(*found, sep="\n")
    return 0 if found else 1


def _run(words: list[str]) -> int:
    program, *arguments = words
    if program == "cat":
        for path in arguments:
            print(Path(path).read_text(encoding="utf-8"), end="")
        return 0
    from sledsim.cli.app import app

    try:
        app(args=arguments, prog_name="sledsim")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0
