"""Custom policies for the reads of a mirror: as classes and compiled, as good as built-in ones."""

from __future__ import annotations

import ctypes
import hashlib
import json
import pickle
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from c_programs import compiled_policies
from conftest import ROOT
from sledsim import RunError, ScenarioError
from sledsim.mirrors import compiled
from sledsim.sweep import Sweep, results, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

SOURCE = r"""
#include "sledsim_policy.h"
#include <assert.h>
#include <stddef.h>

_Static_assert(offsetof(struct sledsim_copies, parameters) == 88, "no padding");
_Static_assert(offsetof(struct sledsim_access, parameters) == 40, "no padding");

static uint64_t distance(uint64_t one, uint64_t other) { return one < other ? other - one : one - other; }

/* The least cost, among equals the next copy in turn. */
static int64_t least(const struct sledsim_copies *copies, const uint64_t *cost) {
    uint64_t *turn = copies->state, best = 0;
    for (uint64_t row = 1; row < copies->count; row++) {
        int behind = copies->copy[row] < *turn, best_behind = copies->copy[best] < *turn;
        if (cost[row] != cost[best] ? cost[row] < cost[best] : behind < best_behind) best = row;
    }
    *turn = copies->copy[best] + 1;
    return best;
}

int64_t round_robin(const struct sledsim_copies *copies) {
    const uint64_t none[8] = {0};
    assert(copies->positioning_ns == NULL && copies->read == 1 && copies->count <= 8);
    return least(copies, none);
}

int64_t shortest_queue(const struct sledsim_copies *copies) { return least(copies, copies->pending_blocks); }

int64_t nearest(const struct sledsim_copies *copies) {
    uint64_t cost[8];
    for (uint64_t row = 0; row < copies->count; row++) {
        uint64_t time_ns = copies->positioning_ns[row];
        cost[row] = time_ns == SLEDSIM_UNKNOWN ? distance(copies->next_lbn[row], copies->lbn) : time_ns;
    }
    return least(copies, cost);
}

/* Counts its calls by member. */
void arrived(const struct sledsim_access *access) { ((uint64_t *)access->state)[access->member]++; }
void completed(const struct sledsim_access *access) { ((uint64_t *)access->state)[access->member]--; }

int64_t counting(const struct sledsim_copies *copies) {
    const uint64_t *heard = copies->state;
    for (uint64_t row = 0; row < copies->count; row++)
        if (copies->pending[row] != heard[copies->member[row]]) return -1;
    return copies->parameters[0] == 7 ? 0 : -2;
}

int64_t wrong(const struct sledsim_copies *copies) { return copies->id < 50 ? 0 : (int64_t)copies->count; }
"""

CLASSES = """
from sledsim.mirrors import CopyChoice

class Mine(CopyChoice):
    row: int = 0
    after: int = 0
    limit_s = 0.3

    def __post_init__(self):
        self.picks, self.there = 0, {}

    def arrived(self, now_ns, member, access):
        self.there[member] = self.there.get(member, 0) + 1

    def completed(self, now_ns, member, access):
        self.there[member] -= 1

    def pick(self, now_ns, request, copies):
        assert request.read
        assert [self.there.get(member, 0) for member in copies.member.tolist()] == copies.pending.tolist()
        self.picks += 1
        return self.row if self.picks > self.after else 0

class Raises(Mine):
    def pick(self, now_ns, request, copies):
        raise ValueError("no idea")

class Hangs(Mine):
    def pick(self, now_ns, request, copies):
        while True:
            pass

class Deaf(Mine):
    def completed(self, now_ns, member, access):
        raise KeyError(member)
"""

PART = {"kind": "partition", "bytes": 16 << 20, "child": {"device": "g2"}}
#: Mirrors of sleds; of platters and sleds together; of arrays; and one a copy of which fails and is rebuilt on a spare.
SYSTEMS: dict[str, dict[str, Any]] = {
    "sleds": {"kind": "mirror", "members": [{"count": 3, "system": {"device": "g2", "scheduler": "sptf"}}]},
    "disks": {"kind": "mirror", "members": ["atlas10k", {"device": "cheetah9LP"}]},
    "arrays": {"kind": "mirror", "members": [{"count": 2, "system": {"kind": "stripe", "members": ["g1", "g1"]}}]},
    "failing": {
        "kind": "mirror",
        "members": [{"count": 3, "system": PART}],
        "spares": 1,
        "faults": [{"member": 1, "fails_at_s": 0.1}, {"member": 0, "unreadable": [{"lbn": 0, "blocks": 9000}]}],
    },
}
CLASSES_OF = {"round-robin": "RoundRobin", "shortest-queue": "ShortestQueue", "nearest": "Nearest"}
GIVEN: dict[str, dict[str, Any]] = {
    "round-robin": {"positioning": False, "state_bytes": 8},
    "shortest-queue": {"state_bytes": 8},
    "nearest": {"state_bytes": 8},
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled_policies(SOURCE, tmp_path_factory.mktemp("compiled"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with policies, which is the working folder."""
    shutil.copy(ROOT / "examples" / "custom_mirrors.py", tmp_path)
    (tmp_path / "mine.py").write_text(CLASSES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scenario_with(read: object, name: str = "sleds", requests: int = 300) -> dict[str, Any]:
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 900.0}, "read_fraction": 0.7}
    return {
        "seed": 5,
        "workload": workload,
        "system": {**SYSTEMS[name], "read": read},
        "run": {"requests": requests, "power_cuts": {"random": 1}} if name == "arrays" else {"requests": requests},
    }


def log_of(read: object, name: str) -> bytes:
    result = sledsim.run(scenario_with(read, name), log=True, check=True)
    return b"".join(key.encode() + column.tobytes() for key, column in sorted(result.log.items()))


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("read", CLASSES_OF)
def test_a_rewritten_choice_gives_the_same_log(read: str, name: str, folder: Path, library: Path) -> None:
    expected = log_of(read, name)
    assert log_of({"python": f"custom_mirrors:{CLASSES_OF[read]}"}, name) == expected
    symbol = read.replace("-", "_")
    assert log_of({"library": str(library), "symbol": symbol, **GIVEN[read]}, name) == expected
    function = getattr(ctypes.CDLL(str(library)), symbol)
    assert log_of(compiled(function, **GIVEN[read]), name) == expected


@pytest.mark.parametrize("name", SYSTEMS)
def test_hooks_are_called_for_every_access(name: str, folder: Path, library: Path) -> None:
    # A power cut ends outstanding requests without calling the hook.
    scenario = {**scenario_with({"python": "mine:Mine"}, name), "run": {"requests": 300}}
    assert sledsim.run(scenario, check=True).complete
    hooks = {"arrived": "arrived", "completed": "completed", "state_bytes": 64, "seven": 7}
    scenario["system"]["read"] = {"library": str(library), "symbol": "counting", **hooks}
    assert sledsim.run(scenario, check=True).complete


def test_every_output_names_it_with_the_hash_of_its_source(folder: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    scenario = scenario_with({"python": "mine:Mine", "row": 1})
    result = sledsim.run(scenario)
    own = result.summary["scenario"]["system"]["read"]
    assert (own["python"], own["parameters"]) == ("mine:Mine", {"row": 1, "after": 0})
    assert own["source"] == hashlib.sha256(Path("mine.py").read_bytes()).hexdigest()
    assert sledsim.run(result.summary["scenario"]).response == result.response
    assert sledsim.run(pickle.loads(pickle.dumps(sledsim.scenario.resolve(scenario)))).response == result.response
    (folder / "mirror.json").write_text(json.dumps(scenario_with("nearest")))
    for sets in (
        ["system.read=mine:Mine", "system.read.row=1"],
        ["read.python=mine:Mine", "read.row=1"],
        ['read={ python = "mine:Mine", row = 1 }'],
    ):
        printed = sledsim_cli("run", "mirror.json", *(word for text in sets for word in ("--set", text)), "--json")
        assert printed.status == 0, printed.err
        assert json.loads(printed.out)["response"] == result.summary["response"]
    both = sledsim.compare({"nearest": scenario_with("nearest"), "own": scenario_with("custom_mirrors:Nearest")})
    assert both.results["own"].response == both.results["nearest"].response
    axes = {"system.read": ["nearest", "custom_mirrors:Nearest", "round-robin"]}
    assert run(Sweep(scenario_with("nearest"), axes), folder / "s.sweep").done == 3
    means = [
        row["metrics"]["response.mean_ms"]["mean"] for row in results(folder / "s.sweep").rows(["response.mean_ms"])
    ]
    assert means[0] == means[1] != means[2]


def test_objective_tests_and_typed_scenarios_accept_it(folder: Path) -> None:
    sampling: dict[str, Any] = {"requests": 200, "replications": 2}
    own, built_in = (
        sledsim.studies.specificity(scenario_with(read), **sampling).to_dict()
        for read in ("custom_mirrors:Nearest", "nearest")
    )
    assert own["decisive"] == built_in["decisive"]
    typed = sledsim.Scenario.model_validate(scenario_with("custom_mirrors:Nearest"))
    assert sledsim.run(typed).response == sledsim.run(scenario_with("nearest")).response


def test_sessions_continue_from_a_snapshot(folder: Path) -> None:
    def served(read: object) -> list[tuple[int, int]]:
        session = sledsim.Session({**SYSTEMS["sleds"], "read": read})
        for number in range(300):
            session.submit(number * 7919 % 40_000 * 8, 8, read=number % 3 > 0)
        session.advance(20_000_000)
        snapshot = session.snapshot()
        rest = [(done.id, done.end_ns) for done in session.drain()]
        assert [(done.id, done.end_ns) for done in snapshot.drain()] == rest
        return rest

    assert served("custom_mirrors:Nearest") == served("nearest")


@pytest.mark.parametrize(
    ("read", "says"),
    [
        ({"python": "mine:Raises"}, r"mine:Raises.pick raised ValueError: no idea"),
        ({"python": "mine:Mine", "row": 3, "after": 20}, r"mine:Mine.pick returned 3: expected a whole .* from 0 to 2"),
        ({"python": "mine:Mine", "row": -1, "after": 20}, r"mine:Mine.pick returned -1: expected"),
        ({"python": "mine:Hangs"}, r"mine:Hangs.pick did not return within 0.3 s"),
        ({"python": "mine:Deaf"}, r"mine:Deaf.completed raised KeyError"),
        ({"library": "libmine.so", "symbol": "wrong"}, r"wrong chose 3 of 3 copies, counted from 0"),
    ],
)
def test_policy_failure_ends_the_run(read: dict[str, Any], says: str, folder: Path, library: Path) -> None:
    shutil.copy(library, folder)
    with pytest.raises(RunError, match=says) as caught:
        sledsim.run(scenario_with(read))
    error = caught.value
    assert (error.kind, error.path) == ("policy", "system.read")
    assert error.at_s is not None
    assert error.request is not None
    assert f"request {error.request} (" in str(error)
    assert ("mine.py" in (error.traceback or "")) == ("raised" in says or "did not return" in says)
    assert error.result.summary["run"]["end"] == "failed"


@pytest.mark.parametrize(
    ("read", "path", "says"),
    [
        ("nearst", "system.read", 'did you mean "nearest"?'),
        ({"name": "nearest", "python": "mine:Mine"}, "system.read.name", "custom"),
        ("custom_mirrors:Neaest", "system.read.python", "did you mean custom_mirrors:Nearest?"),
        ({"python": "custom_schedulers:Sptf"}, "system.read.python", "no class made from sledsim.mirrors.CopyChoice"),
        ({"python": "mine:Mine", "row": "x"}, "system.read.row", "a number"),
        ({"python": "mine:Mine", "slot_bytes": 8}, "system.read.slot_bytes", "of compiled policies"),
        ({"library": "libmine.so", "symbol": "nearest", "slot_bytes": 8}, "system.read.slot_bytes", "not of a choice"),
        (7, "system.read", "one of round-robin"),
    ],
)
def test_errors_name_the_invalid_value(read: object, path: str, says: str, folder: Path, library: Path) -> None:
    shutil.copy(library, folder)
    shutil.copy(ROOT / "examples" / "custom_schedulers.py", folder)
    with pytest.raises(ScenarioError) as caught:
        sledsim.scenario.resolve(scenario_with(read))
    assert caught.value.path == path
    assert says in str(caught.value)


@pytest.mark.parametrize("name", ["shortest-queue", "custom_mirrors:RoundRobin", "custom_mirrors:Nearest"])
def test_valid_plugins_pass_the_contract_check(name: str, folder: Path) -> None:
    found = sledsim.runs.check_policy(name, "mirror")
    assert found.passed, found


def test_contract_violations_are_named(folder: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    result = sledsim_cli("plugin-check", "mine:Mine", "--role", "mirror", "--parameter", "row=2")
    assert result.status == 2
    assert "serves each request once: disks" in result.err
    assert "request 1 (read of " in result.err
    result = sledsim_cli("plugin-check", "nearest", "--role", "mirror", "--json")
    assert json.loads(result.out)["mirror"] == "nearest"


def test_class_of_the_page_passes_the_contract_check(folder: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "extend.md").read_text()
    [module] = [block for block in re.findall(r"```python\n(.+?)```", page, flags=re.DOTALL) if "NearAndFree" in block]
    (folder / "my_mirror.py").write_text(module)
    found = sledsim.runs.check_policy("my_mirror:NearAndFree", "mirror")
    assert found.passed, found
