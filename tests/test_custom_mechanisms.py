"""Custom mechanisms, in Python and compiled: results as of a built-in device; a failure ends the run."""

from __future__ import annotations

import json
import pickle
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sledsim
from c_programs import compiled_policies
from conftest import ROOT, SCENARIO, size
from sledsim.devices import Mechanism

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

POWER = {
    "active_read_w": 3.0,
    "active_write_w": 3.5,
    "seek_w": 2.0,
    "idle_modes": [
        {"name": "ready", "power_w": 1.0},
        {"name": "off", "power_w": 0.1, "after_s": 0.004, "wake_ms": 2.5, "wake_w": 4.0},
    ],
}
LINEAR = {"capacity_blocks": 6_750_000, "nearest_ms": 0.1, "farthest_ms": 2.0}
SLED = {
    "columns": 2500,
    "column_blocks": 2700,
    "width_um": 100.0,
    "length_um": 100.0,
    "acceleration_m_s2": 800.0,
    "settle_ms": 0.2,
    "block_us": 130.0,
}
WORKLOADS: dict[str, dict[str, Any]] = {
    "scattered": {"arrival": {"kind": "poisson", "rate_per_s": 600.0}, "read_fraction": 0.6},
    "bursts": {"arrival": {"kind": "poisson", "rate_per_s": 8000.0}, "read_fraction": 0.5},
    "closed": {"arrival": {"kind": "closed", "outstanding": 24}, "read_fraction": 0.7},
}
#: The operations of a drive on a device.
DRIVES: dict[str, dict[str, Any]] = {
    "fcfs": {"scheduler": "fcfs"},
    "sptf": {"scheduler": "sptf"},
    "asptf": {"scheduler": "asptf"},
    "clook": {"scheduler": "clook", "merge": {}},
    "sdf": {"scheduler": "sdf"},
    "zsptf": {"scheduler": "zsptf"},
    "batches": {"scheduler": "sptf", "batch_max": 8},
    "stopped at once": {"scheduler": "sptf", "spin_down": "immediate"},
    "delayed": {"scheduler": "sptf", "spin_down": "immediate", "delayed_startup": {"requests": 4, "wait_ms": 20}},
}


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


def compiled(library: Path, name: str, state_bytes: int, given: dict[str, Any]) -> dict[str, Any]:
    return {"library": str(library), "symbol": name, "state_bytes": state_bytes, **given}


def write(folder: Path, body: str) -> str:
    """Write a module with a class Mine."""
    head = "from typing import Annotated\nfrom pydantic import Field\nfrom sledsim.devices import Mechanism\n\n"
    (folder / "mine.py").write_text(head + dedent(body))
    return "mine:Mine"


def scenario_with(device: object, scheduler: object = "fcfs", **run: Any) -> dict[str, Any]:
    return {**SCENARIO, "system": {"device": device, "scheduler": scheduler}, "run": {"requests": 300, **run}}


def log_of(system: dict[str, Any], workload: dict[str, Any], **run: Any) -> bytes:
    requests = size(300, 1500)
    scenario = {"seed": 5, "workload": workload, "system": system, "run": {"requests": requests, **run}}
    result = sledsim.run(scenario, log=True, check=True)
    assert result.complete
    energy = dict(result.summary["energy"] or {})
    # A device with a mechanism has a state in which data pass, if only for no time.
    energy.pop("states", None)
    log = b"".join(name.encode() + column.tobytes() for name, column in sorted(result.log.items()))
    return log + json.dumps(energy, sort_keys=True).encode()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("drive", DRIVES)
def test_a_rewritten_device_gives_the_same_log(library: Path, drive: str, workload: str) -> None:
    needs_power = "spin_down" in DRIVES[drive]
    powers = {"power": POWER} if needs_power or workload == "scattered" else {}

    def found(device: dict[str, Any]) -> bytes:
        return log_of({"device": {**device, **powers}, **DRIVES[drive]}, WORKLOADS[workload])

    built_in = found({"name": "simpledisk-linear"})
    for own in ({"python": "custom_mechanism:Linear"}, compiled(library, "linear", 8, LINEAR)):
        assert found(own) == built_in


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("drive", DRIVES)
def test_class_and_function_give_the_same_mechanism(library: Path, drive: str) -> None:
    powers = {"power": POWER}
    for workload in WORKLOADS.values():
        own, function = (
            log_of({"device": {**device, **powers}, **DRIVES[drive]}, workload)
            for device in ({"python": "custom_mechanism:Sled"}, compiled(library, "sled", 16, SLED))
        )
        assert own == function


@pytest.mark.usefixtures("folder")
def test_a_rewritten_device_gives_the_same_log_in_a_hierarchy_and_through_power_cuts() -> None:
    def found(device: object) -> tuple[bytes, object]:
        member = {"device": device, "scheduler": "sptf"}
        system = {"kind": "mirror", "members": [member, {"count": 2, "system": member}]}
        cuts = {"requests": 300, "power_cuts": {"random": 2}}
        result = sledsim.run({**SCENARIO, "system": system, "run": cuts}, log=True, check=True)
        return b"".join(column.tobytes() for column in result.log.values()), result.summary["power_cuts"]

    assert found({"python": "custom_mechanism:Linear"}) == found("simpledisk-linear")


@pytest.mark.usefixtures("folder")
def test_the_result_names_the_mechanism_and_the_hash_of_its_source(folder: Path) -> None:
    import hashlib

    result = sledsim.run(scenario_with({"python": "custom_mechanism:Sled", "settle_ms": 0.4, "name": "a sled"}))
    device = result.summary["scenario"]["system"]["device"]
    source = hashlib.sha256((folder / "custom_mechanism.py").read_bytes()).hexdigest()
    assert (device["name"], device["mechanism"], device["python"]) == ("a sled", "custom", "custom_mechanism:Sled")
    assert (device["source"], device["folder"]) == (source, str(folder.resolve()))
    assert device["parameters"] == {**SLED, "settle_ms": 0.4}
    assert sledsim.run(result.summary["scenario"]).response == result.response
    slower = sledsim.run(result.summary["scenario"], overrides={"device.settle_ms": 2.0})
    assert slower.response.mean_ms > result.response.mean_ms


@pytest.mark.usefixtures("folder")
def test_document_and_settings_give_the_same_mechanism() -> None:
    whole = sledsim.scenario.resolve(scenario_with({"python": "custom_mechanism:Sled", "settle_ms": 0.4}))
    assert whole.values["system"]["device"]["name"] == "custom_mechanism:Sled"
    for device, sets in (
        ("custom_mechanism:Sled", ["device.settle_ms=0.4"]),
        ("g2", ["device=custom_mechanism:Sled", "device.settle_ms=0.4"]),
        ("g2", ["device.python=custom_mechanism:Sled", "device.settle_ms=0.4"]),
        ({"name": "custom_mechanism:Sled", "parameters": {"settle_ms": 0.4}}, []),
        ({"python": "custom_mechanism:Linear"}, ["device.python=custom_mechanism:Sled", "device.settle_ms=0.4"]),
        (whole.values["system"]["device"], []),
    ):
        assert sledsim.scenario.resolve(scenario_with(device), sets) == whole, (device, sets)
    assert sledsim.scenario.resolve(scenario_with("custom_mechanism:Sled"), ["device.name=g2"]) == (
        sledsim.scenario.resolve(scenario_with("g2"))
    )
    other = pickle.loads(pickle.dumps(whole))
    assert other == whole
    assert sledsim.run(other).response == sledsim.run(whole).response
    typed = sledsim.scenario.models.CustomDevice(python="custom_mechanism:Sled", parameters={"settle_ms": 0.4})
    assert sledsim.Scenario(**scenario_with(typed)).resolve() == whole.values


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("device", "kind", "path", "says"),
    [
        ({"python": "custom_mechanism:Sled", "settle": 1}, "unknown-key", "settle", 'did you mean "settle_ms"?'),
        ({"python": "custom_mechanism:Sled", "columns": 0}, "out-of-range", "columns", "at least 1"),
        ({"python": "custom_mechanism:Slead"}, "unknown-name", "python", "did you mean custom_mechanism:Sled?"),
        (
            {"python": "custom_mechanism:Linear", "nearest_ms": 3},
            "conflict",
            "python",
            "farthest_ms is below nearest_ms",
        ),
        (
            {"python": "custom_mechanism:Sled", "power": {**POWER, "seek_w": -1}},
            "out-of-range",
            "power.seek_w",
            "from 0",
        ),
        ({"python": "custom_mechanism:Sled", "symbol": "sled"}, "conflict", "symbol", "a class says so itself"),
        ({"python": "custom_mechanism:Linear", "capacity_blocks": 2 * 10**15}, "policy", "python", "from 1 to 1"),
        ({"mechanism": "custom"}, "missing", "name", "is missing"),
        ({"mechanism": "custom", "name": "mine"}, "missing", "python", "is missing"),
    ],
)
def test_errors_have_their_path(device: dict[str, Any], kind: str, path: str, says: str) -> None:
    with pytest.raises(sledsim.ScenarioError) as caught:
        sledsim.run(scenario_with(device))
    assert [(fault.kind, fault.path) for fault in caught.value.faults] == [(kind, f"system.device.{path}")]
    assert says in str(caught.value)


FAILS = """\
    class Mine(Mechanism):
        after: int = 20

        capacity_blocks = 6_750_000
        served = 0

        def positioning_ns(self, now_ns, lbn, read):
            return self.fail() if {positioning} and self.served >= self.after else 1000.0

        def serve(self, now_ns, lbn, blocks, read):
            self.served += 1
            return self.fail() if not {positioning} and self.served > self.after else 5_000_000

        def fail(self):
            {what}
"""


@pytest.mark.parametrize("scheduler", ["fcfs", "sptf"])
@pytest.mark.parametrize("method", ["positioning_ns", "serve"])
@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("return [][3]", "raised IndexError: list index out of range"),
        ("return -1", "returned -1: expected nanoseconds"),
        ("return float('nan')", "returned nan: expected nanoseconds"),
        ("return float('inf')", "returned inf: expected nanoseconds"),
        ("return 'soon'", "returned 'soon': expected nanoseconds"),
        ("return 1e13", "returned 10000000000000 ns: expected at most 1000000000000"),
        ("return 10**40", "ns: expected"),
    ],
)
def test_a_mechanism_that_fails_ends_the_run(folder: Path, what: str, says: str, method: str, scheduler: str) -> None:
    mine = write(folder, FAILS.format(what=what, positioning=method == "positioning_ns"))
    workload = {"arrival": {"kind": "constant", "rate_per_s": 10.0}}
    with pytest.raises(sledsim.RunError) as caught:
        # An observer queries positioning times before the request is served.
        sledsim.run({**scenario_with({"python": mine}, scheduler), "workload": workload}, log=True)
    error = caught.value
    assert (error.kind, error.path) == ("policy", "system.device")
    assert "mine:Mine" in str(error)
    assert says in str(error)
    assert error.at_s == pytest.approx(2.1, abs=0.01)
    assert error.request == 20
    assert "request 20 (" in str(error)
    assert ("fail" in (error.traceback or "")) == ("raised" in says)
    assert error.result.summary["run"]["end"] == "failed"
    assert error.result.requests.completed == 20
    assert len(error.result.log["lbn"]) == 20


def test_a_mechanism_that_hangs_ends_the_run(folder: Path) -> None:
    body = """\
        class Mine(Mechanism):
            limit_s = 0.3
            capacity_blocks = 6_750_000

            def positioning_ns(self, now_ns, lbn, read):
                while now_ns > 5e7:
                    pass
                return 0

            def serve(self, now_ns, lbn, blocks, read):
                return 1000
    """
    mine = write(folder, body)
    with pytest.raises(sledsim.RunError, match=r"Mine.positioning_ns did not return within 0.3 s") as caught:
        sledsim.run(scenario_with({"python": mine}))
    assert "in positioning_ns" in (caught.value.traceback or "")
    assert caught.value.result.requests.completed > 10


def test_a_fault_names_the_drive(folder: Path) -> None:
    mine = write(folder, FAILS.format(what="return None", positioning=True))
    member = {"device": {"python": mine, "after": 10}}
    system = {"kind": "stripe", "unit_bytes": 65536, "members": ["simpledisk-linear", member]}
    with pytest.raises(sledsim.RunError) as caught:
        sledsim.run({**SCENARIO, "system": system})
    assert caught.value.path == "system.members[1].device"


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


@pytest.mark.usefixtures("folder")
def test_sessions_and_snapshots_include_it(library: Path) -> None:
    def served(device: object) -> list[tuple[int, int]]:
        session = sledsim.Session({"device": device, "scheduler": "sptf"})
        for number in range(200):
            session.submit(number * 7919 % 1_000_000, 8)
        session.advance(20_000_000)
        snapshot = session.snapshot()
        rest = [(done.id, done.end_ns) for done in session.drain()]
        assert [(done.id, done.end_ns) for done in snapshot.drain()] == rest
        return rest

    assert served({"python": "custom_mechanism:Linear"}) == served("simpledisk-linear")
    assert served({"python": "custom_mechanism:Sled"}) == served(compiled(library, "sled", 16, SLED))


@pytest.mark.usefixtures("folder")
def test_sweeps_vary_its_parameters(folder: Path) -> None:
    from sledsim.sweep import Sweep, results, run

    axes = {"device.settle_ms": [0.1, 1.0], "scheduler": ["fcfs", "sptf"]}
    run(Sweep(scenario_with("custom_mechanism:Sled"), axes), folder / "own.sweep", threads=2)
    rows = results(folder / "own.sweep").rows(["response.mean_ms"])
    means = {(row["values"]["device.settle_ms"], row["values"]["scheduler"]): row["metrics"] for row in rows}
    assert len(means) == 4
    alone = sledsim.run(scenario_with({"python": "custom_mechanism:Sled", "settle_ms": 1.0}, "sptf"))
    [found] = [each for (settle, scheduler), each in means.items() if (float(settle), scheduler) == (1.0, "sptf")]
    assert found["response.mean_ms"]["mean"] == alone.response.mean_ms


@pytest.mark.usefixtures("folder")
def test_the_command_line_accepts_it(scenario_file: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    sets = ["--set", "run.requests=300", "--json", "--set"]
    own = json.loads(sledsim_cli("run", scenario_file, *sets, "device.python=custom_mechanism:Linear").out)
    built_in = json.loads(sledsim_cli("run", scenario_file, *sets, "device=simpledisk-linear").out)
    assert own["response"] == built_in["response"]
    checked = sledsim_cli("plugin-check", "custom_mechanism:Sled", "--role", "device", "--json")
    assert json.loads(checked.out)["passed"], checked.out
    wrong = sledsim_cli("run", scenario_file, "--set", "device=custom_mechanism:Sled", "--set", "device.columns=0")
    assert (wrong.status, "--set device.columns=0" in wrong.err) == (2, True)


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
        ({"asked": "self.there += 1000"}, "positioning changes nothing", "no positioning times are asked for"),
        ({"served": "self.shared[0] += 1"}, "decides the same again", "beside it"),
        ({"served": "return -1"}, "serves each request once: in the order of arrival", "returned -1"),
        ({"blocks": "8"}, "serves each request once: in the order of arrival", "it has 8 blocks"),
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
    function = sledsim.Device(compiled(library, "sled", 16, {**SLED, "settle_ms": 0.4}))
    assert (type(own).__name__, own.capacity_blocks, own.block_bytes) == ("PluginDevice", 2500 * 2700, 512)
    places = np.arange(0, own.capacity_blocks, 99_991)
    assert (own.positioning_ms(places) == function.positioning_ms(places)).all()
    one, other = (device.serve(places, 8) for device in (own, function))
    assert all((one[name] == other[name]).all() for name in one)
    assert not own.has_powers


def test_standalone_devices_report_errors_of_the_mechanism(folder: Path) -> None:
    device = sledsim.Device(write(folder, FAILS.format(what="return -1", positioning=False)), after=2)
    with pytest.raises(sledsim.SledsimError, match=r"with request 2 .*Mine.serve returned -1"):
        device.serve(np.arange(10))


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
    import ctypes

    from sledsim.devices import compiled as function_of

    answers = {0: 1000, 1: 4096, 2: 0, 3: 2_000_000}
    same = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_uint32))(lambda asked: answers[asked[0]])
    own, function = (sledsim.run(scenario_with(device)) for device in ({"python": Same}, function_of(same)))
    assert own.response == function.response
    short = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_uint32))(lambda asked: -1)
    with pytest.raises(
        sledsim.ScenarioError,
        match=r"^scenario: system.device.address: compiled returned -1 as its capacity: expected at least 1$",
    ) as caught:
        sledsim.run(scenario_with(function_of(short)))
    assert caught.value.path == "system.device.address"


def test_the_page_goes_from_an_idea_to_a_comparison(folder: Path) -> None:
    import re
    import subprocess
    import sys

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
