"""Custom policies and mechanisms of every role, as classes and compiled: results, uses and failures."""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import json
import pickle
import re
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from c_programs import SOURCES, compiled_policies
from conftest import ROOT
from custom_policies import CLASSES, EXAMPLES, POWER, ROLES, log_of
from sledsim import RunError, ScenarioError
from sledsim.sweep import Sweep, results, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome
    from custom_policies import Role, Same


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the compiled policies of each role."""
    policies = compiled_policies((SOURCES / "policies.c").read_text(), tmp_path_factory.mktemp("policies"))
    source = (EXAMPLES / "custom_mechanism.c").read_text()
    folder = tmp_path_factory.mktemp("mechanisms")
    mechanisms = compiled_policies(source, folder, "-ffp-contract=off", "-lm")
    return {name: mechanisms if name == "device" else policies for name in ROLES}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, which has the classes of the examples and those of these tests."""
    for path in EXAMPLES.glob("custom_*.py"):
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "mine.py").write_text(CLASSES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def with_power(role: Role, policy: object) -> Any:
    """Return a device with powers, and any other policy as it is."""
    if role.key != "device":
        return policy
    return {**(policy if isinstance(policy, dict) else {"python": policy}), "power": POWER}


def forms_of(role: Role, same: Same, library: Path) -> list[Any]:
    """Return a policy as a class, as a function of a library and as a function at an address."""
    forms: list[Any] = []
    if same.python:
        forms.append({"python": f"{role.example}:{same.python}", **same.parameters})
    if same.symbol:
        forms.append({"library": str(library), "symbol": same.symbol, **same.keys})
        module = importlib.import_module(f"sledsim.{MODULES[role.key]}")
        forms.append(module.compiled(getattr(ctypes.CDLL(str(library)), same.symbol), **same.keys))
    return forms


MODULES = {
    "scheduler": "schedulers",
    "policy": "caches",
    "read": "mirrors",
    "spin_down": "spin_down",
    "device": "devices",
}


@pytest.mark.parametrize(
    ("name", "system", "same"),
    [
        pytest.param(name, system, same, id=f"{name}-{system}-{same.symbol or same.python}")
        for name, role in ROLES.items()
        for system in role.systems
        for same in role.same
    ],
)
def test_all_forms_of_a_policy_give_the_same_log(
    name: str, system: str, same: Same, libraries: dict[str, Path]
) -> None:
    role = ROLES[name]
    limits = {"requests": 800} if name in ("scheduler", "replacement") else {}
    found = [
        log_of(role.scenario(with_power(role, policy), system, **limits))
        for policy in (same.expected, *forms_of(role, same, libraries[name]))
    ]
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("name", ROLES)
def test_all_forms_of_a_policy_survive_power_cuts_in_a_hierarchy(name: str, libraries: dict[str, Path]) -> None:
    role = ROLES[name]
    same, found = role.same[0], []
    for policy in (same.expected, *forms_of(role, same, libraries[name])):
        scenario = role.scenario(with_power(role, policy), power_cuts={"random": 2})
        members = [scenario["system"], scenario["system"]]
        scenario["system"] = {"kind": "stripe", "unit_bytes": 65536, "members": members}
        found.append(log_of(scenario))
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("scheduler", "mine:CountsRequests"),
        ("scheduler", {"symbol": "count_requests", "state_bytes": 16}),
        ("mirror", "mine:CountsAccesses"),
        ("mirror", {"symbol": "count_accesses", "state_bytes": 64, "seven": 7}),
        ("spin-down", "mine:CountsIdleTimes"),
    ],
)
def test_hooks_are_called_for_every_request(name: str, policy: Any, libraries: dict[str, Path]) -> None:
    role = ROLES[name]
    if isinstance(policy, dict):
        prefix = "request" if name == "scheduler" else "access"
        hooks = {"arrived": f"{prefix}_arrived", "completed": f"{prefix}_completed"}
        policy = {"library": str(libraries[name]), **hooks, **policy}
    for system in ("a sled", "a disk", "batches") if name == "scheduler" else role.systems:
        assert sledsim.run(role.scenario(policy, system), check=True).complete


@pytest.mark.parametrize("name", [name for name, role in ROLES.items() if role.varied[0]])
def test_every_command_and_result_accepts_a_policy(
    name: str, folder: Path, sledsim_cli: Callable[..., Outcome]
) -> None:
    role = ROLES[name]
    class_name, key, (low, high) = role.varied
    python = f"{role.example}:{class_name}"
    policy = {"python": python, key: low}
    scenario = role.scenario(policy)
    result = sledsim.run(scenario)
    found = result.summary["scenario"]["system"][role.key]
    source = hashlib.sha256((folder / f"{role.example}.py").read_bytes()).hexdigest()
    assert (found["python"], found["source"], found["folder"]) == (python, source, str(folder.resolve()))
    assert found["parameters"][key] == low
    resolved = sledsim.scenario.resolve(scenario)
    typed = sledsim.Scenario.model_validate(scenario)
    for again in (result.summary["scenario"], pickle.loads(pickle.dumps(resolved)), typed):
        assert sledsim.run(again).response == result.response
    (folder / "built-in.json").write_text(
        json.dumps(role.scenario("g2" if name == "device" else role.same[0].expected))
    )
    for sets in (
        [f"{role.path}={python}", f"{role.path}.{key}={low}"],
        [f"{role.key}.python={python}", f"{role.key}.{key}={low}"],
        [f'{role.key}={{ python = "{python}", {key} = {low} }}'],
    ):
        printed = sledsim_cli("run", "built-in.json", *(word for text in sets for word in ("--set", text)), "--json")
        assert printed.status == 0, printed.err
        assert json.loads(printed.out)["response"] == result.summary["response"]
    wrong = sledsim_cli("run", "built-in.json", "--set", f"{role.key}={python}", "--set", f"{role.key}.{key}=x")
    assert (wrong.status, f"--set {role.key}.{key}=x" in wrong.err) == (2, True)
    other = role.scenario({"python": python, key: high})
    both = sledsim.compare({"low": scenario, "high": other})
    assert both.results["low"].response == result.response
    report = run(Sweep(scenario, {f"{role.key}.{key}": [low, high]}), folder / "own.sweep", threads=2)
    assert report.done == 2
    rows = results(folder / "own.sweep").rows(["response.mean_ms"])
    means = [row["metrics"]["response.mean_ms"]["mean"] for row in rows]
    assert means == [both.results[name].response.mean_ms for name in ("low", "high")]
    assert means[0] != means[1]


@pytest.mark.parametrize("name", [name for name in ROLES if name != "device"])
def test_objective_tests_accept_a_policy(name: str) -> None:
    role = ROLES[name]
    sampling: dict[str, Any] = {"requests": 200, "replications": 2}
    same = role.same[0]
    own, built_in = (
        sledsim.studies.specificity(role.scenario(policy), **sampling).to_dict()
        for policy in (f"{role.example}:{same.python}", same.expected)
    )
    assert own["decisive"] == built_in["decisive"]


@pytest.mark.parametrize("name", ROLES)
def test_sessions_continue_from_a_snapshot(name: str, libraries: dict[str, Path]) -> None:
    role = ROLES[name]
    same = role.same[1]

    def served(policy: object) -> list[tuple[int, int]]:
        session = sledsim.Session(role.scenario(with_power(role, policy))["system"])
        for number in range(300):
            session.submit(number * 7919 % 40_000 * 8, 8, read=number % 3 > 0)
        session.advance(20_000_000)
        snapshot = session.snapshot()
        rest = [(done.id, done.end_ns) for done in session.drain()]
        assert [(done.id, done.end_ns) for done in snapshot.drain()] == rest
        return rest

    found = [served(policy) for policy in (same.expected, *forms_of(role, same, libraries[name]))]
    assert all(each == found[0] for each in found)


def failing(role: Role, **parameters: Any) -> dict[str, Any]:
    """Return the policy of a role that fails."""
    return {"python": f"mine:{role.failing}", **parameters}


#: Answers of a failing policy with the message about it; `invalid` stands for the role's invalid answer.
ANSWERS = {
    "raise": "raised ValueError: no idea",
    "exit": "raised SystemExit: 3",
    "hang": "did not return within 1.5 s",
    "soon": "returned 'soon': expected",
    "invalid": "",
}
#: Other failures: of hooks, and numbers of a mechanism.
OTHERS: list[tuple[str, Any, str]] = [
    ("scheduler", {"python": "mine:ArrivalFails"}, "ArrivalFails.arrived raised KeyError"),
    ("scheduler", {"python": "mine:CompletionFails"}, "CompletionFails.completed raised KeyError"),
    ("scheduler", {"python": "mine:Scheduler", "answer": 0.5}, "Scheduler.pick returned 0.5: expected"),
    ("scheduler", {"python": "mine:Scheduler", "answer": None}, "Scheduler.pick returned None: expected"),
    ("scheduler", {"symbol": "invalid_row"}, "invalid_row chose 1 of 1 pending requests"),
    ("replacement", {"symbol": "invalid_slot"}, "invalid_slot returned 300: expected a slot from 0 to 299"),
    ("replacement", {"symbol": "invalid_refusal"}, "returned 1073741824 when asked whether it refuses a key"),
    ("mirror", {"python": "mine:MirrorCompletionFails"}, "MirrorCompletionFails.completed raised KeyError"),
    ("mirror", {"symbol": "invalid_copy"}, "invalid_copy chose 3 of 3 copies, counted from 0"),
    ("spin-down", {"python": "mine:IdleEndFails"}, "IdleEndFails.ended raised KeyError"),
    (
        "device",
        {"python": "mine:Positions", "after": 20, "answer": "raise"},
        "Positions.positioning_ns raised ValueError",
    ),
    ("device", {"python": "mine:Positions", "after": 20, "answer": -1}, "Positions.positioning_ns returned -1"),
    ("device", {"python": "mine:Device", "answer": 1e13}, "returned 10000000000000 ns: expected at most 1000000000000"),
    ("device", {"python": "mine:Device", "answer": 1e40}, "ns: expected"),
]


@pytest.mark.parametrize(
    ("name", "policy", "expected"),
    [
        *(
            (
                name,
                failing(role, after=20, answer=role.invalid if given == "invalid" else given),
                f"mine:{role.failing}.{role.method} {expected or role.expects}",
            )
            for name, role in ROLES.items()
            for given, expected in ANSWERS.items()
        ),
        *OTHERS,
    ],
)
def test_a_failure_ends_the_run_with_partial_results(
    name: str, policy: dict[str, Any], expected: str, libraries: dict[str, Path]
) -> None:
    role = ROLES[name]
    if "symbol" in policy:
        policy = {"library": str(libraries[name]), **policy}
    scenario = role.scenario(policy, requests=2000)
    with pytest.raises(RunError) as caught:
        sledsim.run(scenario, log=True, check=True)
    error = caught.value
    assert expected in str(error)
    assert (error.kind, error.path) == ("policy", role.path)
    assert error.at_s is not None
    assert error.request is not None
    assert f"request {error.request} (" in str(error)
    assert ("mine.py" in (error.traceback or "")) == ("raised" in expected or "did not return" in expected)
    assert error.result.summary["run"]["end"] == "failed"
    assert error.result.requests.completed == len(error.result.log["lbn"])
    # In order of arrival, the requests before the one that failed are completed, and no other.
    if policy.get("after") and name in ("spin-down", "device"):
        assert error.result.requests.completed == error.request


@pytest.mark.parametrize("name", ROLES)
def test_a_failure_names_the_component(name: str) -> None:
    role = ROLES[name]
    scenario = role.scenario(failing(role, after=5))
    built_in = role.scenario(with_power(role, role.same[0].expected))["system"]
    system = {"kind": "stripe", "unit_bytes": 65536, "members": [built_in, scenario["system"]]}
    with pytest.raises(RunError) as caught:
        sledsim.run({**scenario, "system": system, "run": {"requests": 2000}})
    assert caught.value.path == f"system.members[1].{role.key}"


#: Invalid policies: role, policy, the end of the path, and a part of the message.
INVALID: list[tuple[str, Any, str, str]] = [
    ("scheduler", "custom_schedulers:Sptff", ".python", "did you mean custom_schedulers:Sptf?"),
    ("scheduler", {"python": "custom_schedulers"}, ".python", "a module and a class of it"),
    ("scheduler", {"python": "no_such_module:Mine"}, ".python", "no module no_such_module"),
    ("scheduler", {"python": "custom_schedulers:np"}, ".python", "no class made from"),
    ("scheduler", "custom_caches:Lru", ".python", "no class made from sledsim.schedulers.Policy"),
    ("scheduler", {"name": "custom"}, ".python", "is missing"),
    ("scheduler", {"name": "sptf", "python": "custom_schedulers:Sptf"}, ".python", "unknown key"),
    ("scheduler", {"library": "nowhere.so", "symbol": "sptf"}, ".library", "no library nowhere.so"),
    ("scheduler", {"symbol": "sptff"}, ".symbol", "no function sptff"),
    ("scheduler", {"library": "libmine.so"}, ".symbol", "symbol is missing"),
    ("scheduler", {"symbol": "fcfs", "arrived": "nobody"}, ".arrived", "no function nobody"),
    ("scheduler", {"symbol": "aged", "weight": "much"}, ".weight", "a number"),
    ("scheduler", {"symbol": "fcfs", "python": "own:Mine"}, ".library", "not both"),
    ("scheduler", {"symbol": "fcfs", "state_bytes": -1}, ".state_bytes", "out of range"),
    ("scheduler", {"address": 4096, "symbol": "x"}, ".address", "address 4096 is of no function"),
    ("scheduler", {"library": __file__, "symbol": "x"}, ".library", "invalid ELF header"),
    ("replacement", "custom_caches:Lruu", ".python", "custom_caches:Lru"),
    ("replacement", "custom_schedulers:Fcfs", ".python", "no class made from sledsim.caches.Replacement"),
    ("replacement", {"symbol": "lru", "positioning": False}, ".positioning", "compiled scheduler"),
    ("mirror", "nearst", "", 'did you mean "nearest"?'),
    ("mirror", {"name": "nearest", "python": "mine:Mirror"}, ".name", "custom"),
    ("mirror", "custom_schedulers:Sptf", ".python", "no class made from sledsim.mirrors.CopyChoice"),
    ("mirror", {"python": "mine:Mirror", "slot_bytes": 8}, ".slot_bytes", "only for compiled policies"),
    ("mirror", {"symbol": "nearest", "slot_bytes": 8}, ".slot_bytes", "not of a choice"),
    ("mirror", 7, "", "one of round-robin"),
    ("spin-down", "custom_spin_down:Ladder", ".python", "no class made from sledsim.spin_down.SpinDown"),
    ("spin-down", "custom_spin_down:Timeout", ".after_ms", "after_ms is missing"),
    ("spin-down", {"symbol": "never", "arrived": "x"}, ".arrived", "not of a spin"),
    ("device", {"python": "custom_mechanism:Slead"}, ".python", "did you mean custom_mechanism:Sled?"),
    ("device", {"python": "custom_mechanism:Sled", "columns": 0}, ".columns", "at least 1"),
    ("device", {"python": "custom_mechanism:Linear", "nearest_ms": 3}, ".python", "farthest_ms is below nearest_ms"),
    ("device", {"python": "custom_mechanism:Sled", "symbol": "sled"}, ".symbol", "only for compiled policies"),
    ("device", {"python": "custom_mechanism:Linear", "capacity_blocks": 2 * 10**15}, ".python", "from 1 to 1"),
]


@pytest.mark.parametrize(("name", "policy", "end", "expected"), INVALID)
def test_invalid_policies_are_named(
    name: str, policy: Any, end: str, expected: str, libraries: dict[str, Path]
) -> None:
    if isinstance(policy, dict) and ("symbol" in policy or policy.get("library") == "libmine.so"):
        policy = {"library": str(libraries[name]), **{k: v for k, v in policy.items() if v != "libmine.so"}}
        if "address" in policy:
            del policy["library"], policy["symbol"]
        if name == "device":
            del policy["library"]
    with pytest.raises(ScenarioError) as caught:
        sledsim.scenario.resolve(ROLES[name].scenario(policy))
    assert caught.value.path == f"{ROLES[name].path}{end}"
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        (name, policy)
        for name, role in ROLES.items()
        for policy in (f"{role.example}:{role.same[0].python}", "function")
    ],
)
def test_valid_policies_pass_the_contract_check(
    name: str, policy: Any, libraries: dict[str, Path], sledsim_cli: Callable[..., Outcome]
) -> None:
    role, same = ROLES[name], ROLES[name].same[0]
    if policy == "function":
        policy = {"library": str(libraries[name]), "symbol": same.symbol, **same.keys}
        assert sledsim.runs.check_policy(policy, name).passed
        return
    result = sledsim_cli("plugin-check", policy, "--role", name, "--json")
    found = json.loads(result.out)
    assert (result.status, found[name], found["passed"]) == (0, policy, True), role


@pytest.mark.parametrize("name", ROLES)
def test_the_contract_check_names_violations(name: str, sledsim_cli: Callable[..., Outcome]) -> None:
    role = ROLES[name]
    result = sledsim_cli("plugin-check", f"mine:{role.failing}", "--role", name, "--parameter", "after=9")
    assert result.status == 2
    assert "serves each request once: " in result.err
    assert "returned 'soon'" in result.err
    assert "request " in result.err


@pytest.mark.parametrize(
    ("name", "class_name"),
    [("replacement", ""), ("mirror", "NearAndFree"), ("spin-down", "AsLast")],
)
def test_classes_of_the_page_pass_the_contract_check(name: str, class_name: str, folder: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "extend.md").read_text()
    base = {"replacement": "Replacement", "mirror": "CopyChoice", "spin-down": "SpinDown"}[name]
    found = re.search(rf"```python\n((?:(?!```).)*?class (\w+)\({base}\).+?)```", page, flags=re.DOTALL)
    assert found
    (folder / "my_policy.py").write_text(found[1])
    assert sledsim.runs.check_policy(f"my_policy:{class_name or found[2]}", name).passed
