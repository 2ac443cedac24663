"""`sledsim import`: imports can be run, omitted values are listed, and errors have their place."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

import sledsim
from conftest import reference

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

DRIVES = ["atlas10k", "barracuda", "cheetah4LP", "cheetah9LP", "hp_c2247a", "st41601n"]

QUEUE = """disksim_ioqueue {
  Scheduling policy = 1, Cylinder mapping strategy = 0, Write initiation delay = 0.0, Read initiation delay = 0.0,
  Sequential stream scheme = 0, Maximum concat size = 0, Overlapping request scheme = 0,
  Sequential stream diff maximum = 0, Scheduling timeout scheme = 0, Timeout time/weight = 0,
  Timeout scheduling = 0, Scheduling priority scheme = 0, Priority scheduling = 0
}"""

SIMPLE = f"""# a device without a mechanism
disksim_simpledisk SD {{
  Block count = 100000,
  Access time = 9.5,
  Command overhead = 0.5,
  Bulk sector transfer time = 0.25,
  Never disconnect = 0,
  Print stats = 1,
  Max queue length = 1,
  Scheduler = {QUEUE}
}}
"""


@pytest.fixture
def simple(tmp_path: Path) -> Path:
    path = tmp_path / "simple.diskspecs"
    path.write_text(SIMPLE)
    return path


def drive(name: str) -> Path:
    """Return the parameter file of a drive of the reference data."""
    return reference(f"drives/{name}/{name}.parv")


def test_imports_print_a_summary_line(simple: Path) -> None:
    found = sledsim.scenario.import_disksim(simple)
    assert repr(found).startswith("<DiskSimImport SD: simpledisk-constant, ")
    assert f"{len(found.notes)} parameters not imported, {len(found.lost)} of which change results" in repr(found)
    assert sledsim.Device(found.device).capacity_blocks == 100_000


def test_a_device_file_is_written_and_can_be_run(
    sledsim_cli: Callable[..., Outcome], simple: Path, tmp_path: Path
) -> None:
    out = tmp_path / "simple.toml"
    found = sledsim_cli("import", simple, "-o", out)
    assert (found.status, found.out) == (0, "")
    assert found.err.endswith(f"wrote {out}: SD\nnext: sledsim device {out}\n")
    assert "NOT CARRIED OVER, changes results: the time does not depend on the size" in found.err
    assert "simple.diskspecs:6: Bulk sector transfer time = 0.25" in found.err
    text = out.read_text()
    # Values without effect would hide those with one: they are counted, and listed in the file.
    idle = sum(not note.changes_results for note in sledsim.scenario.import_disksim(simple).notes)
    assert found.err.splitlines()[2].startswith(f"no effect here: {idle} parameters")
    assert len(found.err.splitlines()) == 5
    assert "Print stats" in text
    assert 'where = "simple.diskspecs:4 Access time, simple.diskspecs:5 Command overhead"' in text
    assert "#   simple.diskspecs:6: Bulk sector transfer time = 0.25" in text
    result = sledsim.run(
        {
            "workload": {"arrival": {"kind": "closed", "outstanding": 1}},
            "system": {"device": str(out)},
            "run": {"requests": 20},
        }
    )
    assert result.response.mean_ms == pytest.approx(10.0)


def test_without_a_file_to_write_the_text_is_printed(sledsim_cli: Callable[..., Outcome], simple: Path) -> None:
    found = sledsim_cli("import", simple)
    assert found.status == 0
    assert 'mechanism = "simpledisk-constant"' in found.out
    assert found.out == sledsim.scenario.import_disksim(simple).device_file


def test_the_python_function_returns_the_device(simple: Path) -> None:
    found = sledsim.scenario.import_disksim(simple)
    assert (found.name, found.device["mechanism"], found.device["access_ms"]) == ("SD", "simpledisk-constant", 10.0)
    assert [(note.name, note.line) for note in found.lost] == [("Bulk sector transfer time", 6)]
    workload = {"arrival": {"kind": "closed", "outstanding": 1}}
    result = sledsim.run({"workload": workload, "system": {"device": found.device}, "run": {"requests": 5}})
    assert result.requests.completed == 5


def test_invalid_files_are_refused(sledsim_cli: Callable[..., Outcome], simple: Path, tmp_path: Path) -> None:
    for path in [tmp_path / "gone.parv", tmp_path]:
        found = sledsim_cli("import", path)
        assert found.status == 2
        assert found.err.startswith(f"error: {path}: ")
    found = sledsim_cli("import", simple, "-o", tmp_path / "x.yaml")
    assert found.status == 2
    found = sledsim_cli("import", simple, "--scenario")
    assert found.status == 2
    assert "no workload" in found.err


@pytest.mark.parametrize("name", DRIVES)
def test_drives_are_imported_completely(sledsim_cli: Callable[..., Outcome], tmp_path: Path, name: str) -> None:
    out = tmp_path / "run.toml"
    found = sledsim_cli("import", drive(name), "--scenario", "-o", out)
    assert found.status == 0
    # The HP fetches the data of writes beyond its buffer in parts.
    lost = found.err.count("changes results"), found.err.count("Low (write) water mark = 0.75")
    assert lost == ((1, 1) if name == "hp_c2247a" else (0, 0)), found.err
    done = sledsim_cli("run", out, "--set", "run.requests=200", "--json")
    assert done.status == 0, done.err


def test_scenarios_with_missing_values_need_confirmation(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    for probability, decides in ((1.0, False), (0.3, True)):
        folder = tmp_path / str(probability)
        shutil.copytree(drive("st41601n").parent, folder)
        changed = folder / "st41601n.parv"
        critical = re.compile(r"(Probability of time-critical request = +)[\d.]+")
        text, count = critical.subn(rf"\g<1>{probability}", changed.read_text())
        general = re.compile(r"(General inter-arrival times +=) \[ exponential, 0\.0, 0\.0 +\]")
        text, times = general.subn(r"\1 [ exponential, 0.0, 20.0 ]", text)
        assert (count, times) == (1, 1)
        changed.write_text(text)
        out = tmp_path / f"{probability}.toml"
        assert sledsim_cli("import", changed, "--scenario", "-o", out).status == 0
        found = sledsim_cli("run", out, "--set", "run.requests=50")
        assert found.status == (2 if decides else 0), found.err
        if not decides:
            continue
        assert "time-critical request = 0.3" in found.err
        assert found.err.splitlines()[-1].endswith("--set accept_missing=true")
        done = sledsim_cli("run", out, "--set", "run.requests=50", "--set", "accept_missing=true")
        assert done.status == 0
        assert "time-critical request = 0.3" in " ".join(done.out.split())
        result = sledsim.run(out, overrides={"accept_missing": True, "run.requests": 50})
        assert "time-critical request = 0.3" in str(result.summary["run"]["note"])
        assert sledsim_cli("check", out).status == 2
        assert sledsim_cli("check", out, "--set", "accept_missing=true").status == 0


@pytest.mark.parametrize("text", ["{} a {{ }}", "disksim_disk {} {{ }}", "disksim_disk a {{ {} = 3 }}", "source {}"])
def test_a_long_word_is_not_repeated(tmp_path: Path, sledsim_cli: Callable[..., Outcome], text: str) -> None:
    file = tmp_path / "long.parv"
    file.write_text(text.format("x" * 100_000))
    result = sledsim_cli("import", file)
    assert result.status == 2
    assert "a word of 100000 bytes: expected a parameter file" in result.err
    assert len(result.err) < 500
