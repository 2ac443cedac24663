"""Commands in notebooks in a browser, where Python has no shell."""

import contextlib
import io
import shlex
from pathlib import Path

__all__ = ["enable_commands", "run_line"]


def enable_commands() -> None:
    """Make IPython run lines such as ``!sledsim run scenario.toml`` with :func:`run_line`."""
    from IPython import get_ipython

    def run(line: str) -> None:
        # IPython would display a result.
        run_line(line)

    get_ipython().system = run


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
    # Typer writes bytes to the streams of a notebook, because they do not refuse them; the notebook shows only text.
    with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(output):
        status = _run(words)
    text = output.getvalue()
    if filters:
        text = "".join(row for row in text.splitlines(keepends=True) if " ".join(filters[1:]) in row)
        status = 0 if text else 1
    print(text, end="")
    return status


def _run(words: list[str]) -> int:
    program, *arguments = words
    if program == "cat":
        try:
            print(*(Path(path).read_text(encoding="utf-8") for path in arguments), sep="", end="")
        except OSError as error:
            print(f"cat: {error.filename}: {error.strerror}")
            return 1
        return 0
    from sledsim.cli.app import app

    try:
        app(args=arguments, prog_name="sledsim")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0
