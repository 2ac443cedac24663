"""Commands of README run as printed after `make run`, with the printed output."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from conftest import ROOT, Outcome, size
from readme_outputs import filled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

README = (ROOT / "README.md").read_text()
USE = "".join(re.findall(r"^```sh\n(.+?)```", README, flags=re.DOTALL | re.MULTILINE))
#: Commands that take over ten seconds.
SLOW = ("sledsim cost", "sledsim optimise")
#: Commands that take minutes run where their results are checked, too: papers/tests/test_verdicts.py.
ELSEWHERE = "sledsim reproduce"
# `make run` builds existing artefacts; the PATH of the fixture replaces activation.
COMMANDS = [line.partition("#")[0].strip() for line in USE.splitlines() if line.startswith("sledsim ")]
TIME_LIMIT_S = 600


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a folder like a checkout after `make run`: the sources, and an up-to-date environment."""
    for name in (
        "Makefile",
        "Cargo.toml",
        "Cargo.lock",
        "crates",
        "examples",
        "papers",
        "pyproject.toml",
        "requirements",
    ):
        (tmp_path / name).symlink_to(ROOT / name)
    programs, stamps = tmp_path / ".venv" / "bin", tmp_path / ".venv" / "stamps"
    programs.mkdir(parents=True)
    stamps.mkdir()
    for name, words in (("python", ""), ("sledsim", "-c 'from sledsim.cli import main; main()' ")):
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words}"$@"\n')
        (programs / name).chmod(0o755)
    for name in ("venv", "base", "papers", "extension", "release"):
        (stamps / name).touch()
    return tmp_path


def shell(command: str, folder: Path) -> Outcome:
    """Run a command in a shell."""
    path = f"{folder / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    words = ["bash", "-c", command]
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=TIME_LIMIT_S
    )
    assert "Traceback" not in done.stderr
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def paste(
    sledsim_cli: Callable[..., Outcome], checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Outcome]:
    """Return a function that runs a command in the checkout: commands of Sledsim in this process, others in a shell."""
    monkeypatch.chdir(checkout)

    def run(command: str) -> Outcome:
        program, *arguments = shlex.split(command)
        return sledsim_cli(*arguments) if program == "sledsim" else shell(command, checkout)

    return run


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the first command of README writes."""
    folder = tmp_path_factory.mktemp("examples")
    main = [sys.executable, "-c", "from sledsim.cli import main; main()"]
    subprocess.run([*main, *shlex.split(COMMANDS[0])[1:]], cwd=folder, check=True, capture_output=True)
    return folder


def test_files_of_readme_are_written_before_use() -> None:
    assert COMMANDS[0] == "sledsim example readme"
    assert len(COMMANDS) > 10


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(each, marks=pytest.mark.slow) if each.startswith(SLOW) else each
        for each in COMMANDS[1:]
        if not each.startswith(ELSEWHERE)
    ],
)
def test_a_command_of_readme_runs_as_printed(
    paste: Callable[[str], Outcome], checkout: Path, examples: Path, command: str
) -> None:
    for each in examples.iterdir():
        shutil.copy(each, checkout)
    done = paste(command)
    assert done.status == 0, done.err
    assert done.out
    for option, made in re.findall(r"--(plot|report) (\S+)", command):
        whole = checkout / made / "index.html" if option == "report" else checkout / made
        assert whole.stat().st_size > 1000


def test_readme_has_the_output_of_its_commands() -> None:
    assert filled(README) == README, "run `make generate`"


def test_the_program_of_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    [program] = re.findall(r"^```python\n(.+?)```", README, flags=re.DOTALL | re.MULTILINE)
    exec(program)
    assert "response" in capsys.readouterr().out


def test_make_run_installs_what_readme_needs() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    installed = (ROOT / "requirements" / "base.txt").read_text()
    for extra in ("plots", "optimise", "reliability"):
        for requirement in extras[extra]:
            [name] = re.findall(r"^[\w-]+", requirement)
            assert re.search(rf"^{name}==", installed, flags=re.MULTILINE), name


def test_every_next_line_works_as_printed(paste: Callable[[str], Outcome], checkout: Path) -> None:
    first = paste("make run")
    assert first.status == 0, first.err
    for line in re.findall(r"^Next: (.+)$", first.out, flags=re.MULTILINE):
        done = paste(line)
        assert done.status == 0, done.err
        again = re.findall(r"^Next: (.+)$", done.out, flags=re.MULTILINE)
        assert again
        assert all(paste(each).status == 0 for each in again)
    far = checkout / "far away.csv"
    far.write_text(f"t_ns,device,offset_bytes,bytes,op\n0,0,0,512,R\n9,1,{1 << 40},512,R\n")
    refused = paste("make run TRACE='far away.csv'")
    assert refused.status != 0
    ways = re.findall(r"^Next: (.+)$", refused.err, flags=re.MULTILINE)
    assert len(ways) == 2
    for way in ways:
        done = paste(way)
        assert done.status == 0, done.err
        assert all(paste(each).status == 0 for each in re.findall(r"^Next: (.+)$", done.out, re.M))


def suggested_commands(message: str) -> list[str]:
    """Return the commands that an error suggests."""
    return [line.strip() for line in message.partition("to go on, ")[2].splitlines()[1:]]


HEADER = "t_ns,device,offset_bytes,bytes,op\n"


@pytest.mark.parametrize(
    ("records", "third"),
    [
        (f"0,0,0,512,R\n9,1,{1 << 40},512,R\n", "--devices 0"),
        pytest.param(f"0,0,0,512,R\n9,0,{1 << 40},512,R\n", "--records 1", marks=pytest.mark.slow),
    ],
)
def test_error_of_a_too_large_trace_lists_the_remedies(
    paste: Callable[[str], Outcome], checkout: Path, records: str, third: str
) -> None:
    (checkout / "far.csv").write_text(HEADER + records)
    scenario = {"workload": {"kind": "trace", "path": "far.csv"}, "system": {"device": "g2"}}
    (checkout / "far.json").write_text(json.dumps(scenario))
    commands = ("sledsim replay far.csv --device g2", "sledsim run far.json")
    for command in commands[: size(1, 2)]:
        refused = paste(command)
        assert refused.status == 2
        # 1 TiB and a sector, less the 3.456 GB of a g2.
        assert "the trace takes 1096.056 GB more" in refused.err
        ways = suggested_commands(refused.err)
        for way in ways:
            done = paste(way)
            assert done.status == 0, (way, done.err)
        if "replay" in command:
            endings = (third, "--fit scale", "--fit wrap", "--device barracuda-2t")
            assert len(ways) == len(endings)
            assert all(any(way.endswith(ending) for way in ways) for ending in endings)


def test_error_of_a_buffer_without_cache_suggests_a_working_setting(
    paste: Callable[[str], Outcome], checkout: Path
) -> None:
    without = "sledsim run --set device.buffer_caching=false scenario.toml --set device.name=atlas10k --set"
    assert paste("sledsim example scenario").status == 0
    for one, other in (("read_ahead=none", "fast_write"), ("fast_write=none", "read_ahead")):
        [way] = suggested_commands(paste(f"{without} device.{one}").err)
        assert way.endswith(f"{other}=none")
        assert paste(way).status == 0
    # Two settings that are only valid together are not two remedies.
    both = paste(f"{without} run.requests=5000")
    assert both.status == 2
    assert 'read_ahead = "none" with system.device.fast_write = "none"' in both.err
    assert not suggested_commands(both.err)


@pytest.mark.parametrize(
    ("reaches_bytes", "device"),
    [(5_000_000_000, "g3"), pytest.param(9_000_000_000, "cheetah9LP", marks=pytest.mark.slow)],
)
def test_error_of_a_trace_beyond_the_device_suggests_a_larger_device(
    paste: Callable[[str], Outcome], checkout: Path, reaches_bytes: int, device: str
) -> None:
    (checkout / "far.csv").write_text(f"{HEADER}0,0,{reaches_bytes},512,R\n9,0,{reaches_bytes},512,R\n")
    refused = paste("sledsim replay far.csv --device g2 --fit=error")
    assert refused.status == 2
    # With a single device there is no choice of devices.
    assert "--devices" not in refused.err
    ways = suggested_commands(refused.err)
    assert ways == [f"sledsim replay far.csv --device g2 --fit {fit}" for fit in ("wrap", "scale")] + [
        f"sledsim replay far.csv --fit=error --device {device}"
    ]
    assert all(paste(way).status == 0 for way in ways)


def test_examples_are_not_overwritten(paste: Callable[[str], Outcome], checkout: Path) -> None:
    assert paste("sledsim example scenario").status == 0
    path = checkout / "scenario.toml"
    assert paste("sledsim example readme").status == 0
    path.write_text("# mine\n")
    refused = paste("sledsim example readme")
    assert (refused.status, path.read_text()) == (2, "# mine\n")
    assert "scenario.toml: exists already" in refused.err
    assert paste("sledsim example scenario.toml --force").status == 0
    assert "[workload]" in path.read_text()
    assert "did you mean design.toml?" in paste("sledsim example desing.toml").err
