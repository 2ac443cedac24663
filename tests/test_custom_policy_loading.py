"""Loading of custom policies: parameters and constructors of classes, sources that change, functions by address."""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from c_programs import SOURCES, compiled_policies
from conftest import ROOT, SCENARIO
from sledsim.schedulers import Policy, compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, which has the classes of the example and a place for others."""
    (tmp_path / "custom_schedulers.py").write_text((ROOT / "examples" / "custom_schedulers.py").read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_policies((SOURCES / "policies.c").read_text(), tmp_path_factory.mktemp("compiled"))


def write(folder: Path, body: str) -> str:
    """Write a module with a class Mine."""
    head = "from typing import Annotated\nfrom pydantic import Field\nfrom sledsim.schedulers import Policy\n\n"
    (folder / "mine.py").write_text(head + dedent(body))
    return "mine:Mine"


def scenario_with(scheduler: object, **run: Any) -> dict[str, Any]:
    return {**SCENARIO, "system": {"device": "g2", "scheduler": scheduler}, "run": {"requests": 300, **run}}


def log_of(scheduler: object) -> bytes:
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 1500.0}, "read_fraction": 0.6}
    scenario = {**scenario_with(scheduler, requests=1500), "workload": workload}
    result = sledsim.run(scenario, log=True, check=True)
    return b"".join(name.encode() + column.tobytes() for name, column in sorted(result.log.items()))


def test_changed_classes_have_another_identity(folder: Path) -> None:
    mine = write(folder, "class Mine(Policy):\n    def pick(self, now_ns, pending):\n        return 0\n")
    first = sledsim.run(scenario_with({"python": mine}, requests=2000))
    write(folder, "class Mine(Policy):\n    def pick(self, now_ns, pending):\n        return len(pending) - 1\n")
    second = sledsim.run(scenario_with({"python": mine}, requests=2000))
    assert first.response.mean_ms != second.response.mean_ms
    with pytest.raises(sledsim.ScenarioError, match="has changed since") as caught:
        sledsim.run(first.summary["scenario"])
    assert caught.value.path == "system.scheduler.source"


TYPED = """\
    class Mine(Policy):
        weight: Annotated[float, Field(ge=0, lt=10)] = 1.0
        depth: int
        names: list[str] = Field(default_factory=list)

        def pick(self, now_ns, pending):
            self.names.append("one more")
            assert len(self.names) <= 5000
            return 0
"""


@pytest.mark.parametrize(
    ("given", "kind", "path", "says"),
    [
        ({"depth": 1, "weigth": 2}, "unknown-key", "weigth", 'did you mean "weight"?'),
        ({"depth": 1, "weight": -1}, "out-of-range", "weight", "expected a number of at least 0 and below 10"),
        ({"depth": 1, "weight": "much"}, "wrong-type", "weight", "expected a number"),
        ({"depth": 1.5}, "wrong-type", "depth", "expected a whole number"),
        ({}, "missing", "depth", "depth is missing"),
        ({"depth": 1, "names": [1]}, "wrong-type", "names.0", "expected a string"),
        ({"parameters": 5}, "wrong-type", "parameters", "a table"),
    ],
)
def test_parameters_are_checked_by_the_class(
    folder: Path, given: dict[str, Any], kind: str, path: str, says: str
) -> None:
    mine = write(folder, TYPED)
    with pytest.raises(sledsim.ScenarioError) as caught:
        sledsim.run(scenario_with({"python": mine, **given}))
    assert [(fault.kind, fault.path) for fault in caught.value.faults] == [(kind, f"system.scheduler.{path}")]
    assert says in str(caught.value)


def test_runs_do_not_share_parameters(folder: Path) -> None:
    mine = write(folder, TYPED)
    resolved = sledsim.scenario.resolve(scenario_with({"python": mine, "depth": 3}, requests=3000))
    first = sledsim.run(resolved)
    assert first.response == sledsim.run(resolved).response
    assert first.summary["scenario"]["system"]["scheduler"]["parameters"] == {"weight": 1.0, "depth": 3, "names": []}


def test_import_errors_include_the_traceback(folder: Path) -> None:
    mine = write(folder, "class Mine(Policy):\n    weight: float = 1 / 0\n")
    with pytest.raises(sledsim.ScenarioError, match="ZeroDivisionError") as caught:
        sledsim.run(scenario_with({"python": mine}))
    assert caught.value.kind == "policy"
    assert "mine.py" in (caught.value.traceback or "")


def test_classes_may_define_or_inherit_a_constructor(folder: Path) -> None:
    body = """\
        class Nth(Policy):
            def __init__(self, row: int = 4):
                self.row = row

            def pick(self, now_ns, pending):
                return min(self.row, len(pending) - 1)

        class Mine(Nth):
            def arrived(self, ready_ns, request):
                pass
    """
    write(folder, body)
    for name in ("mine:Nth", "mine:Mine"):
        result = sledsim.run(scenario_with({"python": name}))
        assert result.summary["scenario"]["system"]["scheduler"]["parameters"] == {"row": 4}
    assert sledsim.runs.check_policy({"python": "mine:Mine", "row": 0}, role="scheduler").passed


def test_the_working_folder_takes_precedence_over_that_of_the_scenario(
    folder: Path, scenario_file: Path, sledsim_cli: Callable[..., Outcome]
) -> None:
    (folder / "deeper").mkdir()
    scenario_file = scenario_file.rename(folder / "deeper" / "scenario.toml")
    sets = ["--set", "run.requests=300", "--json", "--set"]
    own = json.loads(sledsim_cli("run", scenario_file, *sets, "scheduler.python=custom_schedulers:Sptf").out)
    built_in = json.loads(sledsim_cli("run", scenario_file, *sets, "scheduler=sptf").out)
    assert own["response"] == built_in["response"]


class Newest(Policy):
    """The last that came."""

    def pick(self, now_ns: int, pending: sledsim.schedulers.Pending) -> int:
        return len(pending) - 1


def test_classes_can_be_passed_as_objects() -> None:
    result = sledsim.run(scenario_with({"python": Newest}))
    assert result.summary["scheduler"].endswith(":Newest")


@pytest.mark.usefixtures("folder")
def test_typed_scenarios_accept_a_policy() -> None:
    flat = sledsim.Scenario(**scenario_with({"python": "custom_schedulers:AgedSptf", "weight": 2}))
    own = sledsim.scenario.models.CustomPolicy(python="custom_schedulers:AgedSptf", parameters={"weight": 2})
    typed = sledsim.Scenario(**scenario_with(own))
    assert flat.resolve() == typed.resolve()


def test_the_page_goes_from_an_idea_to_a_comparison(folder: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "extend.md").read_text()
    module, program, *_ = re.findall(r"```python\n(.+?)```", page, flags=re.DOTALL)
    (folder / "my_policy.py").write_text(module)
    # As many runs, and shorter ones.
    (folder / "program.py").write_text(program.replace("10_000", "400").replace("1_000", "100"))
    done = subprocess.run([sys.executable, "program.py"], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    for workload in ("cello-like", "snake-like", "tpcc-like", "tpcd-like", "all points"):
        assert workload in done.stdout
    assert sledsim.runs.check_policy("my_policy:ReadsFirst").passed


def test_objects_with_an_address_and_python_functions_are_accepted(library: Path) -> None:
    class Numbered:
        """As Numba's are."""

        address = ctypes.cast(ctypes.CDLL(str(library)).sptf, ctypes.c_void_p).value

    assert log_of(compiled(Numbered())) == log_of("sptf")
    newest = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_uint64))(lambda pending: pending[1] - 1)
    result = sledsim.run(scenario_with(compiled(newest)))
    assert result.complete
    assert result.summary["scheduler"] == "compiled"


def test_functions_without_an_address_are_refused() -> None:
    with pytest.raises(sledsim.ScenarioError, match="has no address"):
        compiled(print)
    for number in (None, 0, 5):
        with pytest.raises(sledsim.ScenarioError, match="expected the address of a function"):
            compiled(number)


def test_the_page_s_function_of_numba_gives_the_log_of_asptf(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba", reason="Numba is large, and nothing of Sledsim's needs it")
    page = (ROOT / "docs" / "how-to" / "extend.md").read_text()
    [module] = [block for block in re.findall(r"```python\n(.+?)```", page, flags=re.DOTALL) if "@cfunc" in block]
    (folder / "my_numba.py").write_text(module)
    monkeypatch.syspath_prepend(folder)
    scheduler = importlib.import_module("my_numba").scheduler
    assert log_of(scheduler) == log_of({"name": "asptf", "weight": 0.01})
    assert sledsim.runs.check_policy(scheduler, role="scheduler").passed


def test_the_result_names_the_library_by_its_hash_wherever_it_is_repeated(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(library.parent)
    own = {"library": "libmine.so", "symbol": "clook", "positioning": False, "state_bytes": 8}
    result = sledsim.run(scenario_with(own))
    assert result.summary["scheduler"] == "clook"
    found = result.summary["scenario"]["system"]["scheduler"]
    assert found["source"] == hashlib.sha256(library.read_bytes()).hexdigest()
    monkeypatch.chdir("/")
    assert sledsim.run(result.summary["scenario"]).response == result.response


def picks(row: str, folder: Path) -> bytes:
    """Compile a policy that picks a row into the library of a folder; return the log that it gives."""
    include = '#include "sledsim_policy.h"'
    text = f"{include}\nint64_t pick(const struct sledsim_pending *pending) {{ return (int64_t)({row}); }}\n"
    return log_of({"library": str(compiled_policies(text, folder)), "symbol": "pick"})


def test_changed_libraries_are_reloaded(tmp_path: Path) -> None:
    # Code and hash are those of the current file after each change.
    first = picks("pending->count - pending->count", tmp_path)
    last = picks("pending->count - 1", tmp_path)
    assert first == log_of("fcfs") != last
    assert picks("pending->count - pending->count", tmp_path) == first
    own = {"library": str(tmp_path / "libmine.so"), "symbol": "pick"}
    found = sledsim.run(scenario_with(own)).summary["scenario"]["system"]["scheduler"]
    assert found["source"] == hashlib.sha256((tmp_path / "libmine.so").read_bytes()).hexdigest()
    # No temporary copies remain.
    assert not list(Path(tempfile.gettempdir()).glob(f"sledsim-policy-{os.getpid()}-*"))


def test_an_unchanged_library_is_read_once(library: Path, tmp_path: Path) -> None:
    def source() -> str:
        read = sledsim.scenario.resolve(scenario_with({"library": str(held), "symbol": "fcfs"})).values
        return str(read["system"]["scheduler"]["source"])

    held, behind = tmp_path / "held.so", b"ignored by the loader"
    held.write_bytes(library.read_bytes() + behind)
    found, status = source(), held.stat()
    with held.open("r+b") as file:
        file.seek(-len(behind), os.SEEK_END)
        file.write(behind.upper())
    os.utime(held, ns=(status.st_atime_ns, status.st_mtime_ns))
    # Size, time and inode are unchanged, so the file counts as the same and is not read.
    assert source() == found
    os.utime(held, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000))
    assert source() == hashlib.sha256(held.read_bytes()).hexdigest() != found
