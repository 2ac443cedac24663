"""Custom mechanisms: forms in documents, standalone devices, and the contract check."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sledsim
from c_programs import compiled_policies
from conftest import ROOT, SCENARIO
from custom_policies import SLED
from sledsim.devices import Mechanism, compiled

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, which has the classes of the example and a place for others."""
    (tmp_path / "custom_mechanism.py").write_text((ROOT / "examples" / "custom_mechanism.py").read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the functions of the example."""
    source = (ROOT / "examples" / "custom_mechanism.c").read_text()
    return compiled_policies(source, tmp_path_factory.mktemp("compiled"), "-ffp-contract=off", "-lm")


def write(folder: Path, body: str) -> str:
    """Write a module with a class Mine."""
    head = "from typing import Annotated\nfrom pydantic import Field\nfrom sledsim.devices import Mechanism\n\n"
    (folder / "mine.py").write_text(head + dedent(body))
    return "mine:Mine"


def scenario_with(device: object, scheduler: object = "fcfs", **run: Any) -> dict[str, Any]:
    return {**SCENARIO, "system": {"device": device, "scheduler": scheduler}, "run": {"requests": 300, **run}}


@pytest.mark.usefixtures("folder")
def test_typed_scenarios_accept_a_mechanism() -> None:
    whole = sledsim.scenario.resolve(scenario_with({"python": "custom_mechanism:Sled", "settle_ms": 0.4}))
    assert whole.values["system"]["device"]["name"] == "custom_mechanism:Sled"
    typed = sledsim.scenario.models.CustomDevice(python="custom_mechanism:Sled", parameters={"settle_ms": 0.4})
    assert sledsim.Scenario(**scenario_with(typed)).resolve() == whole.values


def test_a_mechanism_that_can_not_be_copied_has_no_snapshot(folder: Path) -> None:
    body = """\
        class Mine(Mechanism):
            capacity_blocks = 6_750_000

            def positioning_ns(self, now_ns, lbn, read):
                return 1000

            def serve(self, now_ns, lbn, blocks, read):
                return 1000

            def __deepcopy__(self, memo):
                raise RuntimeError("there is one")
    """
    session = sledsim.Session({"device": {"python": write(folder, body)}})
    session.submit(7, 8)
    snapshot = session.snapshot()
    assert [done.id for done in session.drain()] == [0]
    with pytest.raises(sledsim.SledsimError, match="a copy of mine:Mine raised RuntimeError: there is one"):
        snapshot.drain()


FORGETS = """\
    class Mine(Mechanism):
        capacity_blocks = {blocks}
        there = 0
        shared = [0]

        def positioning_ns(self, now_ns, lbn, read):
            {asked}
            return abs(lbn - self.there) / 1000 + self.shared[0]

        def serve(self, now_ns, lbn, blocks, read):
            self.there = lbn + blocks
            {served}
            return 1000
"""


@pytest.mark.parametrize(
    ("given", "rule", "says"),
    [
        ({}, "", ""),
        ({"asked": "self.there += 1000"}, "positioning changes nothing", "without calls of positioning"),
        ({"served": "self.shared[0] += 1"}, "repeats its decisions", "with a concurrent instance"),
        ({"served": "return -1"}, "serves each request once: in the order of arrival", "returned -1"),
        ({"blocks": "8"}, "serves each request once: in the order of arrival", "the device has 8 blocks"),
    ],
)
def test_plugin_check_runs_the_contract(folder: Path, given: dict[str, str], rule: str, says: str) -> None:
    mine = write(folder, FORGETS.format(**{"blocks": "6_750_000", "asked": "pass", "served": "pass", **given}))
    found = sledsim.runs.check_policy(mine, role="device")
    assert found.passed == (not rule)
    first = next((verdict for verdict in found.verdicts if not verdict.passed), None)
    assert ("" if first is None else first.rule) == rule
    assert says in ("" if first is None else first.fault)


@pytest.mark.usefixtures("folder")
def test_standalone_devices_use_it(library: Path) -> None:
    own = sledsim.Device("custom_mechanism:Sled", settle_ms=0.4)
    function = sledsim.Device({"library": str(library), "symbol": "sled", "state_bytes": 16, **SLED, "settle_ms": 0.4})
    assert (type(own).__name__, own.capacity_blocks, own.block_bytes) == ("PluginDevice", 2500 * 2700, 512)
    places = np.arange(0, own.capacity_blocks, 99_991)
    assert (own.positioning_ms(places) == function.positioning_ms(places)).all()
    one, other = (device.serve(places, 8) for device in (own, function))
    assert all((one[name] == other[name]).all() for name in one)
    assert not own.has_powers


def test_standalone_devices_report_errors_of_the_mechanism(folder: Path) -> None:
    mine = write(folder, FORGETS.format(blocks="6_750_000", asked="pass", served="return -1 if lbn > 1 else 0"))
    with pytest.raises(sledsim.SledsimError, match=r"with request 2 .*Mine.serve returned -1"):
        sledsim.Device(mine).serve(np.arange(10))


class Same(Mechanism):
    """Every request takes the same time."""

    capacity_blocks = 1000
    block_bytes = 4096

    def positioning_ns(self, now_ns: int, lbn: int, read: bool) -> int:
        return 0

    def serve(self, now_ns: int, lbn: int, blocks: int, read: bool) -> int:
        return 2_000_000


def test_classes_can_be_passed_as_objects() -> None:
    result = sledsim.run(scenario_with({"python": Same}))
    assert result.summary["scenario"]["system"]["device"]["name"].endswith(":Same")
    assert sledsim.Device(Same).capacity_bytes == 4_096_000
    assert sledsim.runs.check_policy(Same, role="device").passed


def test_functions_of_this_process_can_be_passed() -> None:
    answers = {0: 1000, 1: 4096, 2: 0, 3: 2_000_000}
    same = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_uint32))(lambda asked: answers[asked[0]])
    own, function = (sledsim.run(scenario_with(device)) for device in ({"python": Same}, compiled(same)))
    assert own.response == function.response
    short = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_uint32))(lambda asked: -1)
    with pytest.raises(
        sledsim.ScenarioError,
        match=r"^scenario: system.device.address: compiled returned -1 as its capacity: expected at least 1$",
    ) as caught:
        sledsim.run(scenario_with(compiled(short)))
    assert caught.value.path == "system.device.address"


def test_the_page_goes_from_an_idea_to_a_comparison(folder: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "extend.md").read_text()
    module, program = [
        block
        for block in re.findall(r"```python\n(.+?)```", page, flags=re.DOTALL)
        if "my_drum" in block or "Drum" in block
    ]
    (folder / "my_drum.py").write_text(module)
    # As many runs, and shorter ones.
    (folder / "program.py").write_text(program.replace("5_000", "300").replace("500", "50"))
    done = subprocess.run([sys.executable, "program.py"], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "sptf" in done.stdout
    assert sledsim.runs.check_policy("my_drum:Drum", role="device").passed


#: A mechanism with a buffer that holds everything after the first access, as a class and as a function.
BUFFERED = """\
class Mine(Mechanism):
    capacity_blocks = 8

    def __post_init__(self):
        self.is_buffered = False

    def positioning_ns(self, now_ns, lbn, read):
        return 0 if self.is_buffered else 1_000_000

    def serve(self, now_ns, lbn, blocks, read):
        self.is_buffered = True
        return 1000

    def power_cut(self, now_ns):
        self.is_buffered = False
"""
BUFFERED_IN_C = """\
#include "sledsim_policy.h"

int64_t buffered(const struct sledsim_motion *asked) {
    uint64_t *is_buffered = asked->state;
    switch (asked->what) {
    case SLEDSIM_CAPACITY_BLOCKS:
        return 8;
    case SLEDSIM_POSITIONING:
        return *is_buffered ? 0 : 1000000;
    case SLEDSIM_SERVE:
        *is_buffered = 1;
        return 1000;
    case SLEDSIM_POWER_CUT:
        *is_buffered = 0;
        return 0;
    default:
        return 0;
    }
}
"""


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_mechanism_empties_its_buffer_at_a_power_cut(folder: Path, is_compiled: bool) -> None:
    device: object = {"python": write(folder, BUFFERED)}
    if is_compiled:
        library = compiled_policies(BUFFERED_IN_C, folder)
        device = {"library": str(library), "symbol": "buffered", "state_bytes": 8}
    scenario = scenario_with(device, power_cuts={"times_s": [0.5]})
    workload = {"arrival": {"kind": "constant", "rate_per_s": 100}, "size_bytes": {"kind": "fixed", "value": 512}}
    result = sledsim.run({**scenario, "workload": workload}, log=True)
    misses = result.log["arrival_ns"][np.flatnonzero(result.log["seek_ns"])]
    assert len(misses) == 2
    assert misses[0] < 0.5e9 <= misses[1]
