"""The fuzzer: cases of fixed seeds, earlier findings, and detection of planted errors."""

from __future__ import annotations

import json
import signal
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import fuzz
import sledsim
from conftest import EXAMPLES
from fuzzing import campaign, command, invariants
from fuzzing.campaign import Tally, Worker, cases, tried
from fuzzing.command import Command
from fuzzing.doors import NAMES, TURNS, BrokenError, Case, doors
from fuzzing.worker import packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

#: Inputs that did not end as they should, once.
FINDINGS = sorted(fuzz.FINDINGS.glob("*.json"))
#: Cases of each process of a test.
CASES = 900
#: Seeds of the quick tier, and of all.
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))]


@pytest.mark.parametrize("seed", SEEDS)
def test_fuzzed_inputs_are_refused_or_keep_the_invariants(seed: int) -> None:
    tally = Tally()
    tried(cases(seed, 0, 1), tally, count=CASES)
    findings = [f"{finding.name} {finding.what}: {finding.detail[-1_500:]}" for finding in tally.findings]
    assert not findings, "\n".join(findings[:5])
    assert tally.cases == CASES
    for name in NAMES:
        counts = {outcome: tally.by_door[name, outcome] for outcome in ("accepted", "refused")}
        # A door that lets all in, or nothing, tries nothing.
        assert min(counts.values()) > CASES // 200, (name, counts)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.stop()


@pytest.fixture
def ignoring_ctrl_c() -> Iterator[None]:
    """Ignore Ctrl-C, as in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ignoring_ctrl_c")
def test_slow_cases_are_ended_in_the_background() -> None:
    made = Worker()
    call = "sledsim.reliability.simulate(Path('examples/raid6.toml'), lifetimes=10**8)"
    outcome, finding = made.attempt("argument:0:0", packed({"device": "g2", "call": call}))
    made.stop()
    assert (outcome, finding) == ("accepted", None)


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.stem)
def test_earlier_findings_are_fixed(worker: Worker, path: Path) -> None:
    kept = json.loads(path.read_text())
    outcome, finding = worker.attempt(f"{kept['door']}:0:0", packed(kept["given"]))
    assert outcome in {"accepted", "refused"}, finding


def test_the_same_case_makes_the_same_input() -> None:
    known = doors()
    assert set(known) == set(NAMES) == set(TURNS)
    for name in NAMES:
        inputs = [json.dumps(known[name].make(Case(name, 7, number).random())) for number in (3, 4, 3)]
        assert inputs[0] == inputs[2] != inputs[1]
    assert str(Case.of("trace:7:3")) == "trace:7:3"


#: A document of each kind that commands can do something with in no time, and one for commands that want more of it.
FITTING = {
    "power": EXAMPLES / "power.toml",
    "scenario": EXAMPLES / "database.toml",
    "sweep": EXAMPLES / "rates.toml",
    "search": EXAMPLES / "velocity.toml",
    "enclosure": EXAMPLES / "hong2006.toml",
    "cost": EXAMPLES / "database-costs.toml",
    "role": EXAMPLES / "augmented-role.toml",
}
GIVEN = [
    *(
        (words, FITTING.get(words[0], FITTING[kind]))
        for kind, commands in command.OF_DOCUMENTS.items()
        for words in commands
    ),
    *((words, EXAMPLES / "office.csv") for words in command.OF_TRACES),
    *((words, None) for words in command.OF_NOTHING),
]


@pytest.mark.parametrize(("words", "path"), GIVEN, ids=lambda part: "-".join(part) if isinstance(part, tuple) else "")
def test_fuzzed_commands_do_their_work(words: tuple[str, ...], path: Path | None, tmp_path: Path) -> None:
    given = [str(path) if word == command.FILE else word for word in (*words, *([command.FILE] if path else []))]
    assert Command().status(given, tmp_path) == 0
    for asked in command.OF_STORES if (tmp_path / "s").is_dir() else ():
        assert Command().status([*asked, "s"], tmp_path) == 0


@pytest.mark.parametrize("words", command.OF_NOWHERE, ids="-".join)
def test_commands_that_boot_or_serve_are_refused_first(words: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(sledsim.SledsimError, match=r"no machine in|no such file|give a socket or a TCP address"):
        Command().status([*words], tmp_path)
    assert not list(tmp_path.iterdir())


def test_commands_of_stores_are_given_stores() -> None:
    stores = [words for words, _ in GIVEN if "--store" in words]
    assert {words[0] for words in stores} == {"sweep", "optimise"}


#: Calls that fail, and the names of their failures.
WRONG = {
    "1 / 0": "ZeroDivisionError",
    "[0] * 10**9": "MemoryError",
    "__import__('os').abort()": "crash",
    "all(each == 0 for each in iter(int, 1))": "hang",
    "float('nan')": "invariant",
    "(_ for _ in ()).throw(sledsim.SledsimError(''))": "words",
}


@pytest.fixture(scope="module")
def spent() -> Iterator[list[Worker]]:
    """Return a place for a process; one that is there has not ended."""
    place: list[Worker] = []
    yield place
    for each in place:
        each.stop()


@pytest.mark.parametrize("call", WRONG)
def test_every_kind_of_failure_is_detected(call: str, spent: list[Worker], monkeypatch: pytest.MonkeyPatch) -> None:
    # Less than it takes to make a billion places, more than other calls take.
    monkeypatch.setattr(campaign, "CASE_S", 1.5)
    watched = spent.pop() if spent else Worker()
    outcome, finding = watched.attempt("argument:0:0", packed({"device": "g2", "call": call}))
    if watched.process.poll() is None:
        spent.append(watched)
    assert (outcome, finding and finding.what) == ("failed", WRONG[call]), finding


def _less(summary: dict[str, Any], *path: str) -> None:
    at: Any = summary
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = at[path[-1]] * 0.99 if isinstance(at[path[-1]], float) else at[path[-1]] - 1


#: Errors of a result that are not visible in a table.
LIES: dict[str, Callable[[dict[str, Any]], None]] = {
    "submitted": lambda s: _less(s, "requests", "submitted"),
    "failed": lambda s: s["requests"].update(lost=5),
    "completed": lambda s: _less(s, "requests", "measured"),
    "total": lambda s: _less(s, "energy", "total_j"),
    "seek_j": lambda s: _less(s, "energy", "seek_j"),
    "power": lambda s: _less(s, "energy", "mean_power_w"),
    "state": lambda s: _less(s, "state_time", "idle_s"),
    "p90_ms": lambda s: s["response"].update(p90_ms=s["response"]["p50_ms"] - 0.1),
    "mean_ms": lambda s: _less(s, "service", "mean_ms"),
    "max_ms": lambda s: _less(s, "wait", "max_ms"),
    "scv": lambda s: _less(s, "response", "scv"),
    "interval": lambda s: s["response"].update(ci95_low_ms=s["response"]["mean_ms"] * 1.1),
    "bins": lambda s: s["histogram"]["wait"]["counts"].pop(),
    "share": lambda s: _less(s, "reads", "share"),
    "writes": lambda s: _less(s, "writes", "response", "mean_ms"),
    "use": lambda s: s["utilisation"].update(fraction=1.01),
    "rate": lambda s: _less(s, "throughput", "requests_per_s"),
    "bandwidth": lambda s: _less(s, "bandwidth", "mb_per_s"),
    "arrived": lambda s: _less(s, "in_system", "arrived"),
    "in_system": lambda s: _less(s, "in_system", "mean"),
    "demand": lambda s: _less(s, "utilisation", "demand_ms"),
    "phase": lambda s: _less(s, "transfer", "mean_ms"),
    "infinite": lambda s: s["queue"].update(mean=float("inf")),
    "negative": lambda s: s["queue"].update(mean=-1e-9),
    "drive": lambda s: s["components"][1]["mechanisms"].update(utilisation=1.5),
    "drive_j": lambda s: _less(s["components"][1], "mechanisms", "energy_j"),
    "path": lambda s: s["components"][0]["paths"][0].update(max_ms=0.0),
}


@pytest.mark.parametrize("lie", LIES)
def test_the_invariants_detect_each_wrong_result(lie: str) -> None:
    members = [{"count": 4, "device": "g2"}]
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 300.0}, "read_fraction": 0.5}
    result = sledsim.run(
        {"workload": workload, "system": {"kind": "raid5", "members": members}, "run": {"requests": 300}}, log=True
    )
    invariants.check_result(result)
    LIES[lie](dict(result._values))
    with pytest.raises(BrokenError):
        invariants.check_result(result)


def test_different_results_of_the_same_scenario_are_detected() -> None:
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 300.0}}
    document = {"workload": workload, "system": {"device": "g2"}, "run": {"requests": 30}}
    one, other = sledsim.run(document), sledsim.run(document, overrides={"seed": 2})
    invariants.same_again(one, sledsim.run(one["scenario"]))
    with pytest.raises(BrokenError, match="something else"):
        invariants.same_again(one, other)


def test_numbers_are_drawn_in_and_out_of_range() -> None:
    from fuzzing.schemas import Drawing

    schema = {"type": "integer", "minimum": 3, "maximum": 9}
    drawn = {Drawing(Random(seed), schema).value(schema) for seed in range(300)}
    assert {2, 3, 5, 9, 10} <= drawn
