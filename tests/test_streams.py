"""Closed, full and undecodable standard streams, undecodable options, and outputs to pipes, links and devices."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sledsim
from conftest import size
from sledsim import SledsimError, TraceError
from sledsim.show.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

COMMAND = [sys.executable, "-c", "from sledsim.cli import main; main()"]
NO_TEXT = os.fsdecode(b"\xff")


def redirected(how: str, *words: str | Path, given: bytes = b"") -> tuple[int, str, str]:
    """Run a command by a shell with redirected streams, and return its status and output."""
    command = ["sh", "-c", f"{how.replace('@', chr(34) + '$@' + chr(34))}", "sh", *COMMAND, *map(str, words)]
    done = subprocess.run(command, input=given, capture_output=True, check=False, timeout=600)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_closed_streams_are_reported(scenario_file: Path) -> None:
    closed = "error: standard output is closed: send it to a file, or to the null device\n"
    assert redirected("exec @ >&-", "list", "devices") == (2, "", closed)
    status, out, err = redirected("exec @ <&-", "run", "-")
    assert (status, out, err) == (2, "", "error: standard input: closed; name a file, or send a scenario there\n")
    # The error cannot be printed, and no file takes the descriptor of a closed stream.
    assert redirected("exec @ 2>&-", "run", scenario_file.with_name("none.toml")) == (2, "", "")
    log = scenario_file.with_name("log.csv")
    status, out, _ = redirected("exec @ <&- 2>&-", "run", scenario_file, "--set", "run.requests=5", "--log", log)
    assert (status, out.count("requests") > 0, log.read_text().count("\n")) == (0, True, 6)


@pytest.mark.parametrize("words", ["--help", "run --help", "schema"])
def test_full_outputs_are_reported(tmp_path: Path, words: str) -> None:
    status, out, err = redirected(f"ulimit -f 0; exec @ > {tmp_path}/full", *words.split())
    assert (status, out, err) == (2, "", "error: standard output: File too large; send it where there is room\n")
    # An error that cannot be printed still sets the exit status.
    assert redirected(f"ulimit -f 0; exec @ 2> {tmp_path}/full", "run", "none.toml") == (2, "", "")


@pytest.mark.parametrize("command", ["run", "check", "design", "reliability", "power", "serve"])
def test_undecodable_input_is_refused(sledsim_cli: Callable[..., Outcome], command: str) -> None:
    found = sledsim_cli(command, "-", given=b'title = "\xff\xfe"')
    assert (found.status, found.out) == (2, "")
    assert found.err.startswith("error: standard input: byte 9 is not UTF-8 text; expected a ")


def test_undecodable_options_are_refused(sledsim_cli: Callable[..., Outcome], trace_file: Path) -> None:
    for option, *words in (
        ("--event", "trace", trace_file, "--head", "10"),
        ("--time-unit", "trace", trace_file),
        ("--column", "trace", trace_file),
        ("--tcp", "serve", "g2"),
        ("--metric", "role-test", "merit", "sptf"),
    ):
        value = f"time={NO_TEXT}" if option == "--column" else NO_TEXT
        found = sledsim_cli(*words, option, value)
        assert (found.status, found.out) == (2, "")
        assert found.err == f"error: {option}: byte 0xff is not UTF-8 text\n"


def test_undecodable_arguments_are_refused(trace_file: Path) -> None:
    for path, given in (("event", "\ud800"), ("time_unit", "\ud800"), ("format", "\ud800")):
        with pytest.raises(TraceError, match="is an unpaired surrogate") as caught:
            sledsim.traces.open_trace(trace_file, **{path: given})  # type: ignore[arg-type]  # none is a number
        assert caught.value.path == path
    with pytest.raises(TraceError, match=r"^columns: .* is an unpaired surrogate"):
        sledsim.traces.open_trace(trace_file, columns={"time": "\ud800"})
    for key in ("tcp", "socket"):
        with pytest.raises(SledsimError, match=f"^{key}: .* is an unpaired surrogate"):
            sledsim.runs.serve("g2", **{key: "\ud800"})  # type: ignore[arg-type]  # none is a flag


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_files_do_not_replace_pipes(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path, trace_file: Path, tmp_path: Path
) -> None:
    says = "a device, a pipe or a socket, not a regular file: name a file"
    for ending, *words in (
        ("csv", "run", scenario_file, "--log"),
        ("html", "run", scenario_file, "--plot"),
        ("csv", "trace", trace_file, "--out"),
        ("parquet", "trace", trace_file, "--out"),
        ("csv", "device", "g2", "--seeks", "-o"),
        ("toml", "import", trace_file, "-o"),
    ):
        pipe, link = tmp_path / f"pipe.{ending}", tmp_path / f"link.{ending}"
        if not pipe.exists():
            os.mkfifo(pipe)
            link.symlink_to(pipe)
        for path in (pipe, link):
            found = sledsim_cli(*words, path)
            assert (found.status, found.out, found.err) == (2, "", f"error: {path}: {says}\n"), words
        assert stat.S_ISFIFO(pipe.stat().st_mode)
        with pytest.raises(SledsimError, match=says), atomic_write(pipe):
            pytest.fail("nothing is to be written")
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".unfinished"]


def test_undecodable_folder_names_are_refused_before_work(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path, trace_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / NO_TEXT
    folder.mkdir()
    parquet = folder / "t.parquet"
    sledsim.traces.open_trace(trace_file).convert(tmp_path / "t.parquet")
    parquet.write_bytes((tmp_path / "t.parquet").read_bytes())
    (tmp_path / "link.csv").symlink_to(folder / "log.csv")
    sweep = folder / "sweep.json"
    sweep.write_text(json.dumps({"name": "s", "scenario": str(scenario_file), "axes": {"scheduler": ["fcfs"]}}))
    says = "its absolute path has bytes that are not UTF-8 text: rename the file or folder, or name another file"
    for path, *words in (
        (folder / "log.csv", "run", scenario_file, "--log"),
        (tmp_path / "link.csv", "run", scenario_file, "--log"),
        (folder / "log.json", "run", scenario_file, "--timeline"),
        (folder / "other.parquet", "trace", trace_file, "--out"),
        (folder / "seek.csv", "device", "g2", "--seeks", "-o"),
        (parquet, "trace"),
        (folder / "store", "sweep", "run", sweep, "--store"),
    ):
        found = sledsim_cli(*words, path)
        shown = str(path).replace(NO_TEXT, "\\udcff")
        assert (found.status, found.out, found.err) == (2, "", f"error: {shown}: {says}\n"), words
    # Writers without that library write there.
    assert sledsim_cli("run", scenario_file, "--plot", folder / "run.svg").status == 0
    assert sledsim_cli("trace", trace_file, "--out", folder / "t.csv").status == 0
    assert sledsim_cli("sweep", "run", sweep, "--store", tmp_path / "store").status == 0


@pytest.mark.parametrize("encoding", size(["cp1252", "ascii"], ["latin-1", "cp1252", "ascii", "utf-8"]))
def test_limited_encodings_cause_no_error(scenario_file: Path, encoding: str) -> None:
    named = ["--set", 'title="λ – 😀"', "--set", "run.requests=20"]
    command = [*COMMAND, "run", str(scenario_file), *named]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    for words in ([], ["--json"], ["--help"]):
        done = subprocess.run([*command, *words], env=environment, capture_output=True, check=False, timeout=600)
        assert (done.returncode, done.stderr) == (0, b""), words
        if words == ["--json"]:
            text = done.stdout.decode("utf-8" if encoding == "ascii" else encoding)
            assert json.loads(text)["scenario"]["title"] == "λ – 😀"


def test_links_are_resolved(sledsim_cli: Callable[..., Outcome], scenario_file: Path, tmp_path: Path) -> None:
    link = tmp_path / "log.csv"
    for target, says in (
        (tmp_path / "none" / "log.csv", f"no folder {tmp_path / 'none'}"),
        (Path("/proc/log.csv"), "cannot be written: "),
    ):
        link.symlink_to(target)
        found = sledsim_cli("run", scenario_file, "--log", link)
        assert (found.status, found.out) == (2, "")
        assert found.err.startswith(f"error: {link}: {says}")
        link.unlink()


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write every file")
def test_protected_files_are_kept(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path, trace_file: Path, tmp_path: Path
) -> None:
    for name, *words in (
        ("log.csv", "run", scenario_file, "--log"),
        ("run.svg", "run", scenario_file, "--plot"),
        ("t.csv", "trace", trace_file, "--out"),
    ):
        path = tmp_path / name
        path.write_text("mine")
        path.chmod(0o444)
        found = sledsim_cli(*words, path)
        says = "is write-protected: name another file, or change its permissions"
        assert (found.status, found.out, found.err) == (2, "", f"error: {path}: {says}\n")
        assert path.read_text() == "mine"


def test_text_of_a_scenario_cannot_reach_the_terminal(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    name = "\x1b]0;title\x07\x9b31m\u202e\u2066\x7f"
    scenario = tmp_path / "s.json"
    system = {"kind": "drive", "name": name, "device": "g2"}
    scenario.write_text(json.dumps({"workload": {"kind": "session"}, "system": system}))
    found = sledsim_cli("check", scenario, "--resolved")
    assert found.status == 0
    assert not set("\x1b\x07\x9b\u202e\u2066\x7f") & set(found.out)
    assert json.loads(found.out)["system"]["name"] == name
