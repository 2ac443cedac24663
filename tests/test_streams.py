"""Standard streams that are closed, full or no text, options that are no text, and outputs that are no plain files."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import sledsim
from sledsim import SledsimError, TraceError
from sledsim.show.files import whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

COMMAND = [sys.executable, "-c", "from sledsim.cli import main; main()"]
NO_TEXT = os.fsdecode(b"\xff")


def redirected(how: str, *words: str | Path, given: bytes = b"") -> tuple[int, str, str]:
    """Run a command as a shell does, with its streams redirected, and return its status and what it said."""
    command = ["sh", "-c", f"{how.replace('@', chr(34) + '$@' + chr(34))}", "sh", *COMMAND, *map(str, words)]
    done = subprocess.run(command, input=given, capture_output=True, check=False, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_stream_that_is_closed_is_said(scenario_file: Path) -> None:
    closed = "error: standard output is closed: send it to a file, or to the null device\n"
    assert redirected("exec @ >&-", "devices") == (2, "", closed)
    status, out, err = redirected("exec @ <&-", "run", "-")
    assert (status, out, err) == (2, "", "error: standard input: closed; name a file, or send a scenario there\n")
    # Nobody can be told, and nothing that is written takes the place of what was closed.
    assert redirected("exec @ 2>&-", "run", scenario_file.with_name("none.toml")) == (2, "", "")
    log = scenario_file.with_name("log.csv")
    status, out, _ = redirected("exec @ <&- 2>&-", "run", scenario_file, "--set", "run.requests=5", "--log", log)
    assert (status, out.count("requests") > 0, log.read_text().count("\n")) == (0, True, 6)


@pytest.mark.parametrize("words", ["--help", "run --help", "schema"])
def test_an_output_that_is_full_is_said(tmp_path: Path, words: str) -> None:
    status, out, err = redirected(f"ulimit -f 0; exec @ > {tmp_path}/full", *words.split())
    assert (status, out, err) == (2, "", "error: standard output: File too large; send it where there is room\n")
    # An error that can't be printed is one yet.
    assert redirected(f"ulimit -f 0; exec @ 2> {tmp_path}/full", "run", "none.toml") == (2, "", "")


@pytest.mark.parametrize("command", ["run", "validate", "explain", "design", "reliability", "power", "serve"])
def test_an_input_that_is_no_text_is_refused(sledsim_cli: Callable[..., Outcome], command: str) -> None:
    found = sledsim_cli(command, "-", given=b'title = "\xff\xfe"')
    assert (found.status, found.out) == (2, "")
    assert found.err.startswith("error: standard input: byte 9 is not UTF-8 text; expected a ")


def test_options_that_are_no_text_are_refused(sledsim_cli: Callable[..., Outcome], trace_file: Path) -> None:
    for option, *words in (
        ("--event", "trace", "head", trace_file),
        ("--time-unit", "trace", "info", trace_file),
        ("--column", "trace", "info", trace_file),
        ("--tcp", "serve", "g2"),
        ("--metric", "merit", "sptf"),
    ):
        value = f"time={NO_TEXT}" if option == "--column" else NO_TEXT
        found = sledsim_cli(*words, option, value)
        assert (found.status, found.out) == (2, "")
        assert found.err == f"error: {option}: byte 0xff is not UTF-8 text\n"


def test_arguments_that_are_no_text_are_refused(trace_file: Path) -> None:
    for path, given in (("event", "\ud800"), ("time_unit", "\ud800"), ("format", "\ud800")):
        with pytest.raises(TraceError, match="is half of a character") as caught:
            sledsim.open_trace(trace_file, **{path: given})  # type: ignore[arg-type]  # none is a number
        assert caught.value.path == path
    with pytest.raises(TraceError, match=r"^columns: .* is half of a character"):
        sledsim.open_trace(trace_file, columns={"time": "\ud800"})
    for key in ("tcp", "socket"):
        with pytest.raises(SledsimError, match=f"^{key}: .* is half of a character"):
            sledsim.serve("g2", **{key: "\ud800"})  # type: ignore[arg-type]  # none is a flag


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_file_takes_no_pipe_s_place(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path, trace_file: Path, tmp_path: Path
) -> None:
    says = "no plain file, but a device, a pipe or a socket: name a file"
    for ending, *words in (
        ("csv", "run", scenario_file, "--log"),
        ("html", "run", scenario_file, "--plot"),
        ("csv", "trace", "convert", trace_file, "-o"),
        ("parquet", "trace", "convert", trace_file, "-o"),
        ("csv", "seek", "g2", "-o"),
        ("toml", "import", "disksim", trace_file, "-o"),
    ):
        pipe, link = tmp_path / f"pipe.{ending}", tmp_path / f"link.{ending}"
        if not pipe.exists():
            os.mkfifo(pipe)
            link.symlink_to(pipe)
        for path in (pipe, link):
            found = sledsim_cli(*words, path)
            assert (found.status, found.out, found.err) == (2, "", f"error: {path}: {says}\n"), words
        assert stat.S_ISFIFO(pipe.stat().st_mode)
        with pytest.raises(SledsimError, match=says), whole(pipe):
            pytest.fail("nothing is to be written")
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".unfinished"]
