"""Custom schedulers in Python: results as of built-in ones; a failure ends the run."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from conftest import ROOT, SCENARIO
from sledsim.schedulers import Policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

#: Built-in policies and the same as classes.
REWRITTEN = {"fcfs": "Fcfs", "clook": "Clook", "sptf": "Sptf", "asptf": "AgedSptf"}

POISSON = {"kind": "poisson", "rate_per_s": 900.0}
#: Systems with queues of every kind: sleds, platters, merged and batched requests, a device that stops.
SYSTEMS: dict[str, dict[str, Any]] = {
    "a sled": {"device": "g2"},
    "two sleds": {"device": {"name": "g2", "sleds": 2}},
    "batches": {"device": "g1", "batch_max": 8},
    "merging": {"device": "g3", "merge": {}},
    "a disk": {"device": "atlas10k"},
    "a disk with a queue of its own": {"device": "cheetah9LP"},
    "constant": {"device": "simpledisk-constant"},
    "delayed": {"device": "g2", "spin_down": "immediate", "delayed_startup": {"requests": 4, "wait_ms": 20}},
}
WORKLOADS: dict[str, dict[str, Any]] = {
    "scattered": {"arrival": POISSON, "read_fraction": 0.6},
    "bursts": {"arrival": {"kind": "poisson", "rate_per_s": 8000.0}, "read_fraction": 0.5},
    "closed": {"arrival": {"kind": "closed", "outstanding": 24}, "read_fraction": 0.7},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, which has the classes of the example and a place for others."""
    (tmp_path / "custom_schedulers.py").write_text((ROOT / "examples" / "custom_schedulers.py").read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, body: str, name: str = "mine") -> str:
    """Write a module with a class Mine."""
    head = "from typing import Annotated\nfrom pydantic import Field\nfrom sledsim.schedulers import Policy\n\n"
    (folder / f"{name}.py").write_text(head + dedent(body))
    return f"{name}:Mine"


def log_of(system: dict[str, Any], scheduler: object, workload: dict[str, Any], requests: int = 1500) -> bytes:
    scenario = {"seed": 5, "workload": workload, "run": {"requests": requests}}
    result = sledsim.run({**scenario, "system": {**system, "scheduler": scheduler}}, log=True, check=True)
    assert result.complete
    return b"".join(name.encode() + column.tobytes() for name, column in sorted(result.log.items()))


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("name", REWRITTEN)
def test_a_rewritten_policy_gives_the_same_log(name: str, system: str, workload: str) -> None:
    own = {"python": f"custom_schedulers:{REWRITTEN[name]}"}
    assert log_of(SYSTEMS[system], own, WORKLOADS[workload]) == log_of(SYSTEMS[system], name, WORKLOADS[workload])


@pytest.mark.usefixtures("folder")
def test_a_rewritten_policy_gives_the_same_log_in_a_hierarchy_and_through_power_cuts() -> None:
    def found(scheduler: object) -> tuple[bytes, object]:
        member = {"device": "g1", "scheduler": scheduler}
        system = {"kind": "mirror", "members": [member, {"count": 2, "system": member}]}
        cuts = {"requests": 400, "power_cuts": {"random": 2}}
        result = sledsim.run({**SCENARIO, "system": system, "run": cuts}, log=True, check=True)
        log = b"".join(column.tobytes() for column in result.log.values())
        return log, result.summary["power_cuts"]

    for name in ("clook", "sptf"):
        assert found({"python": f"custom_schedulers:{REWRITTEN[name]}"}) == found(name)


@pytest.mark.usefixtures("folder")
def test_a_stand_in_of_the_catalogue_gives_the_same_log() -> None:
    for name in ("clook", "sptf"):
        own = {"python": f"custom_schedulers:{REWRITTEN[name]}"}
        workload = {"name": "tpcc-like"}
        assert log_of({"device": "g2"}, own, workload) == log_of({"device": "g2"}, name, workload)


def scenario_with(scheduler: object, **run: Any) -> dict[str, Any]:
    return {**SCENARIO, "system": {"device": "g2", "scheduler": scheduler}, "run": {"requests": 300, **run}}


@pytest.mark.usefixtures("folder")
def test_the_result_names_the_policy_and_the_hash_of_its_source() -> None:
    import hashlib

    result = sledsim.run(scenario_with({"python": "custom_schedulers:AgedSptf", "weight": 2}))
    assert result.summary["scheduler"] == "custom_schedulers:AgedSptf"
    own = result.summary["scenario"]["system"]["scheduler"]
    assert own["source"] == hashlib.sha256(Path("custom_schedulers.py").read_bytes()).hexdigest()
    assert own["parameters"] == {"weight": 2.0}
    assert own["folder"] == str(Path.cwd().resolve())
    again = sledsim.run(result.summary["scenario"])
    assert again.summary["response"] == result.summary["response"]


def test_changed_classes_have_another_identity(folder: Path) -> None:
    mine = write(folder, "class Mine(Policy):\n    def pick(self, now_ns, pending):\n        return 0\n")
    first = sledsim.run(scenario_with({"python": mine}, requests=2000))
    write(folder, "class Mine(Policy):\n    def pick(self, now_ns, pending):\n        return len(pending) - 1\n")
    second = sledsim.run(scenario_with({"python": mine}, requests=2000))
    assert first.response.mean_ms != second.response.mean_ms
    with pytest.raises(sledsim.ScenarioError, match="has changed since") as caught:
        sledsim.run(first.summary["scenario"])
    assert caught.value.path == "system.scheduler.source"
    values = first.summary["scenario"]
    del values["system"]["scheduler"]["source"]
    assert sledsim.run(values).response.mean_ms == second.response.mean_ms


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


@pytest.mark.parametrize(
    ("python", "path", "says"),
    [
        ("custom_schedulers:Sptff", "python", "did you mean custom_schedulers:Sptf?"),
        ("custom_schedulers", "python", "a module and a class of it"),
        ("no_such_module:Mine", "python", "no module no_such_module"),
        ("custom_schedulers:np", "python", "no class made from"),
        ("json:dumps", "python", "no class made from"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_missing_classes_are_reported(python: str, path: str, says: str) -> None:
    with pytest.raises(sledsim.ScenarioError) as caught:
        sledsim.run(scenario_with({"python": python}))
    assert caught.value.path == f"system.scheduler.{path}"
    assert says in str(caught.value)


def test_import_errors_include_the_traceback(folder: Path) -> None:
    mine = write(folder, "class Mine(Policy):\n    weight: float = 1 / 0\n")
    with pytest.raises(sledsim.ScenarioError, match="ZeroDivisionError") as caught:
        sledsim.run(scenario_with({"python": mine}))
    assert caught.value.kind == "policy"
    assert "mine.py" in (caught.value.traceback or "")


def test_a_class_may_refuse_its_parameters(folder: Path) -> None:
    body = """\
        class Mine(Policy):
            low: float = 0.0
            high: float = 1.0

            def __post_init__(self):
                if self.low > self.high:
                    raise ValueError("low is above high")

            def pick(self, now_ns, pending):
                return 0
    """
    mine = write(folder, body)
    with pytest.raises(sledsim.ScenarioError, match="Mine refuses its parameters: low is above high"):
        sledsim.run(scenario_with({"python": mine, "low": 3}))


def test_classes_may_define_a_constructor(folder: Path) -> None:
    body = """\
        class Mine(Policy):
            def __init__(self, depth: int = 4):
                self.depth = depth

            def pick(self, now_ns, pending):
                return min(self.depth, len(pending) - 1)
    """
    mine = write(folder, body)
    result = sledsim.run(scenario_with({"python": mine}))
    assert result.summary["scenario"]["system"]["scheduler"]["parameters"] == {"depth": 4}


def test_only_custom_schedulers_have_the_key_python() -> None:
    with pytest.raises(sledsim.ScenarioError, match=r"system\.scheduler\.python is missing"):
        sledsim.run(scenario_with({"name": "custom"}))
    with pytest.raises(sledsim.ScenarioError, match=r"unknown key system\.scheduler\.python"):
        sledsim.run(scenario_with({"name": "sptf", "python": "custom_schedulers:Sptf"}))


HOOKED = """\
    class Mine(Policy):
        positioning = False

        def __post_init__(self):
            self.there, self.last_ns = {}, 0

        def arrived(self, ready_ns, request):
            assert request.id not in self.there
            assert request.arrival_ns <= ready_ns
            self.there[request.id] = (request.lbn, request.blocks, request.read, ready_ns)

        def pick(self, now_ns, pending):
            assert now_ns >= self.last_ns
            self.last_ns = now_ns
            assert len(pending.positioning_ns) == 0
            for row in range(len(pending)):
                lbn, blocks, read, ready_ns = self.there[pending.id[row]]
                assert (lbn, blocks, read) == (pending.lbn[row], pending.blocks[row], pending.read[row])
                assert pending.age_ns[row] == now_ns - ready_ns
            assert list(pending.id) == sorted(pending.id)
            return 0

        def completed(self, now_ns, request):
            assert now_ns >= self.last_ns
            del self.there[request.id]
            assert len(self.there) < 200
"""


@pytest.mark.parametrize("system", [{"device": "g2"}, {"device": "atlas10k"}, {"device": "g1", "batch_max": 4}])
def test_hooks_are_called_for_every_request(folder: Path, system: dict[str, Any]) -> None:
    mine = write(folder, HOOKED)
    rate = {"arrival": {"kind": "poisson", "rate_per_s": 100.0}}
    scenario = {**SCENARIO, "workload": rate, "system": {**system, "scheduler": {"python": mine}}}
    assert sledsim.run(scenario, overrides={"run.requests": 1000}).complete


def test_policies_of_the_command_line_take_precedence(
    folder: Path, scenario_file: Path, sledsim_cli: Callable[..., Outcome]
) -> None:
    (folder / "deeper").mkdir()
    scenario_file = scenario_file.rename(folder / "deeper" / "scenario.toml")
    sets = ["--set", "run.requests=300", "--json", "--set"]
    for given in ("scheduler.python=custom_schedulers:Sptf", 'scheduler={ python = "custom_schedulers:Sptf" }'):
        own = json.loads(sledsim_cli("run", scenario_file, *sets, given).out)
        built_in = json.loads(sledsim_cli("run", scenario_file, *sets, "scheduler=sptf").out)
        assert own["scheduler"] == "custom_schedulers:Sptf"
        assert own["response"] == built_in["response"]
    wrong = sledsim_cli(
        "run", scenario_file, "--set", "scheduler.python=custom_schedulers:Sptf", "--set", "scheduler.weight=1"
    )
    assert wrong.status == 2
    assert "--set scheduler.weight=1: unknown key system.scheduler.weight" in wrong.err


def test_comparisons_accept_it(folder: Path) -> None:
    assert (folder / "custom_schedulers.py").exists()
    own = {"python": "custom_schedulers:AgedSptf", "weight": 0.1}
    both = sledsim.compare({"sptf": scenario_with("sptf"), "own": scenario_with(own)})
    assert both.results["own"].summary["scheduler"] == "custom_schedulers:AgedSptf"


def test_sweeps_accept_it(folder: Path) -> None:
    from sledsim.sweep import Sweep, results, run

    own = {"python": "custom_schedulers:AgedSptf", "weight": 0.1}
    axes = {"scheduler.weight": [0.0, 0.006], "device": ["g1", "g2"]}
    run(Sweep(scenario_with(own), axes), folder / "own.sweep", threads=2)
    rows = results(folder / "own.sweep").rows(["response.mean_ms"])
    assert len(rows) == 4
    for row in rows:
        weight, device = float(row["values"]["scheduler.weight"]), row["values"]["device"]
        built_in = sledsim.run(scenario_with({"name": "asptf", "weight": weight}), overrides={"device": device})
        assert row["metrics"]["response.mean_ms"]["mean"] == built_in.response.mean_ms


@pytest.mark.usefixtures("folder")
def test_objective_tests_accept_it() -> None:
    sampling: dict[str, Any] = {"requests": 300, "replications": 2}
    own, built_in = (
        sledsim.studies.merit(name, rate_per_s=900, **sampling) for name in ("custom_schedulers:Sptf", "sptf")
    )
    assert own.to_dict()["decisive"] == built_in.to_dict()["decisive"]


@pytest.mark.usefixtures("folder")
def test_sessions_and_snapshots_include_it() -> None:
    def served(scheduler: object) -> list[int]:
        session = sledsim.Session({"device": "g2", "scheduler": scheduler})
        for number in range(200):
            session.submit(number * 7919 % 1_000_000, 8)
        session.advance(20_000_000)
        snapshot = session.snapshot()
        rest = [done.id for done in session.drain()]
        assert [done.id for done in snapshot.drain()] == rest
        return rest

    for name in ("clook", "sptf"):
        assert served({"python": f"custom_schedulers:{REWRITTEN[name]}"}) == served(name)


@pytest.mark.usefixtures("folder")
def test_scenarios_with_it_can_be_pickled() -> None:
    resolved = sledsim.scenario.resolve(scenario_with({"python": "custom_schedulers:AgedSptf", "weight": 1}))
    other = pickle.loads(pickle.dumps(resolved))
    assert other == resolved
    assert sledsim.run(other).response == sledsim.run(resolved).response


class Newest(Policy):
    """The last that came."""

    def pick(self, now_ns: int, pending: sledsim.schedulers.Pending) -> int:
        return len(pending) - 1


def test_classes_can_be_passed_as_objects() -> None:
    result = sledsim.run(scenario_with({"python": Newest}))
    assert result.summary["scheduler"].endswith(":Newest")


@pytest.mark.usefixtures("folder")
def test_typed_scenarios_accept_it() -> None:
    flat = sledsim.Scenario(**scenario_with({"python": "custom_schedulers:AgedSptf", "weight": 2}))
    own = sledsim.scenario.models.CustomPolicy(python="custom_schedulers:AgedSptf", parameters={"weight": 2})
    typed = sledsim.Scenario(**scenario_with(own))
    assert flat.resolve() == typed.resolve()
    assert sledsim.Scenario.load(flat).resolve() == typed.resolve()


def test_the_page_goes_from_an_idea_to_a_comparison(folder: Path) -> None:
    import re

    page = (ROOT / "docs" / "how-to" / "extend.md").read_text()
    module, program, *_ = re.findall(r"```python\n(.+?)```", page, flags=re.DOTALL)
    assert len([line for line in (module + program).splitlines() if line.strip()]) <= 32
    (folder / "my_policy.py").write_text(module)
    # As many runs, and shorter ones.
    (folder / "program.py").write_text(program.replace("10_000", "400").replace("1_000", "100"))
    done = subprocess.run([sys.executable, "program.py"], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    for workload in ("cello-like", "snake-like", "tpcc-like", "tpcd-like", "all points"):
        assert workload in done.stdout
    assert sledsim.runs.check_policy("my_policy:ReadsFirst").passed
