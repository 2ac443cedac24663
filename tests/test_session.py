"""A session from Python: one request at a time, arrays, snapshots; the result of a run; other simulators beside it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sledsim
from conftest import EXAMPLES, ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

DRIVE = {"device": "g2", "scheduler": "sptf"}
MIRROR = {"kind": "mirror", "members": [{"count": 2, "system": {"device": "atlas10k"}}]}
ARRIVAL = {"kind": "poisson", "rate_per_s": 900.0}


def run_of(system: Any, requests: int = 400) -> sledsim.Result:
    scenario = {"workload": {"arrival": ARRIVAL, "read_fraction": 0.6}, "system": system, "run": {"requests": requests}}
    return sledsim.run(scenario, log=True)


def by_arrival(log: dict[str, Any]) -> dict[str, Any]:
    order = np.argsort(log["id"])
    return {name: column[order] for name, column in log.items()}


def compared(result: sledsim.Result) -> dict[str, Any]:
    """Return a summary without the scenario, the run, overload and intervals, which only a run reports."""
    left_out = {"scenario", "run", "overload"}

    def without_intervals(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without_intervals(each) for key, each in value.items() if not key.startswith("ci95_")}
        return value

    return {key: without_intervals(value) for key, value in result.summary.items() if key not in left_out}


def same(one: sledsim.Result, other: sledsim.Result) -> bool:
    logs = one.log, other.log
    columns = all((logs[0][name] == logs[1][name]).all() for name in logs[0])
    return compared(one) == compared(other) and logs[0].keys() == logs[1].keys() and columns


@pytest.mark.parametrize("system", [DRIVE, {"device": "g2"}, MIRROR], ids=["sptf", "fcfs", "mirror"])
def test_single_requests_and_arrays_give_the_result_of_a_run(system: dict[str, Any]) -> None:
    run = run_of(system)
    asked = by_arrival(run.log)
    single = sledsim.Session(system, log=True)
    back = []
    for lbn, blocks, read, at_ns in zip(asked["lbn"], asked["blocks"], asked["read"], asked["arrival_ns"], strict=True):
        while single.next_event_ns is not None and single.next_event_ns <= at_ns:
            back += single.advance()
        single.submit(int(lbn), int(blocks), read=bool(read), at_ns=int(at_ns))
    back += single.drain()
    assert [completion.id for completion in back] == run.log["id"].tolist()
    assert [completion.end_ns for completion in back] == run.log["end_ns"].tolist()
    assert same(single.result(), run)

    arrays = sledsim.Session(system, log=True)
    found = arrays.serve(asked["lbn"], asked["blocks"], read=asked["read"], at_ns=asked["arrival_ns"])
    assert (found["id"] == run.log["id"]).all()
    assert (found["end_ns"] == run.log["end_ns"]).all()
    assert found["served"].all()
    assert same(arrays.result(), run)


@pytest.mark.parametrize("system", [DRIVE, MIRROR], ids=["sptf", "mirror"])
def test_batched_submission_equals_single_submission(system: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    # Several arrive at the same instants, some of them as others end.
    at_ns = np.sort(random.integers(0, 400, 700)) * 2_000_000
    lbns, read = random.integers(0, 6_000_000, 700), random.random(700) < 0.5
    found = []
    for at_once in (1000, 64, 7, 1):
        monkeypatch.setattr("sledsim.runs.session.BATCH", at_once)
        session = sledsim.Session(system, log=True)
        columns = session.serve(lbns, 8, read=read, at_ns=at_ns)
        found.append(({name: column.tolist() for name, column in columns.items()}, session.now_ns, session.result()))
    for columns, now_ns, result in found[1:]:
        assert (columns, now_ns) == found[0][:2]
        assert same(result, found[0][2])


def test_one_request_equals_an_array_of_one() -> None:
    one, array = sledsim.Session("g2"), sledsim.Session("g2")
    calls: list[dict[str, Any]] = [
        {},
        {"blocks": 64, "read": False},
        {"read": False, "fua": True, "at_ns": 20_000_000},
        {"flush": True},
        {"at_ns": 40_000_000, "until_ns": 40_000_001},
        {"blocks": 0},
    ]
    for call in calls:
        found, expected = one.serve(70_000, **call), array.serve([70_000], **call)
        assert list(found) == list(expected)
        for name, column in expected.items():
            assert found[name].dtype == column.dtype
            assert (found[name] == column).all(), (call, name)
    with pytest.raises(sledsim.SledsimError, match="fua"):
        one.serve(5, fua=True)
    assert (one.now_ns, one.under_way) == (array.now_ns, array.under_way)


def test_snapshots_are_independent() -> None:
    session = sledsim.Session(MIRROR, log=True)
    session.serve([5, 500_000], 8, until_ns=1)
    before = session.snapshot()
    assert isinstance(before, sledsim.Session)
    trial = session.snapshot()
    trial.serve(range(1_000, 9_000, 1_000), 16, read=False)
    later = session.serve([], 1)
    assert session.under_way == 0 < before.under_way
    assert trial.now_ns > session.now_ns > before.now_ns
    session.restore(before)
    assert session.now_ns == before.now_ns
    assert (session.serve([], 1)["end_ns"] == later["end_ns"]).all()
    assert session.result().requests.completed == 2


def test_the_result_names_the_driver() -> None:
    scenario = {"workload": {"arrival": ARRIVAL}, "system": DRIVE, "title": "driven"}
    session = sledsim.Session(scenario, overrides=["device.settle_constants=0"])
    session.serve([7], 8)
    result = session.result()
    assert result.title == "driven"
    assert result.summary["scenario"]["workload"] == {"kind": "session"}
    assert result.summary["scenario"]["system"]["device"]["settle_constants"] == 0
    assert result.requests.completed == 1
    # A run without further requests has no note.
    assert result.summary["run"]["note"] is None
    assert "1" in repr(result)
    with pytest.raises(sledsim.RunError, match="a session"):
        sledsim.run(result.summary["scenario"])


def test_a_file_gives_its_system() -> None:
    session = sledsim.Session(EXAMPLES / "first.toml")
    assert session.capacity_blocks == sledsim.Session(str(EXAMPLES / "first.toml")).capacity_blocks > 0
    assert session.block_bytes == 512


def test_requests_beyond_the_device_are_refused() -> None:
    session = sledsim.Session("g2")
    session.submit(session.capacity_blocks, 1)
    session.submit(0, 0)
    assert [completion.status for completion in session.drain()] == ["refused", "refused"]
    assert session.result().requests.failed == 2


MISUSE: dict[str, tuple[Callable[[sledsim.Session], object], str]] = {
    "an arrival before now": (lambda session: session.submit(0, at_ns=999), "runs back"),
    "time backwards": (lambda session: session.advance(999), "runs back"),
    "arrivals out of order": (lambda session: session.serve([1, 2], at_ns=[9_000, 8_000]), "in the order of arrival"),
    "a negative block": (lambda session: session.serve([-1]), "lbns"),
    "no number": (lambda session: session.serve(["x"]), "lbns"),
    "two rows": (lambda session: session.serve([[1, 2]]), "one row"),
    "columns of different lengths": (lambda session: session.serve([1, 2, 3], [8, 8]), "blocks"),
}


@pytest.mark.parametrize("what", MISUSE)
def test_misuse_raises_an_error_and_changes_nothing(what: str) -> None:
    act, words = MISUSE[what]
    session = sledsim.Session("g2")
    session.advance(1_000)
    with pytest.raises(sledsim.SledsimError, match=words):
        act(session)
    assert session.now_ns == 1_000
    assert session.under_way == 0
    assert session.serve([3])["served"].all()


@pytest.mark.parametrize("value", ["3", 1.5, np.array([1.5]), float("nan"), -1])
def test_non_integers_are_refused(value: Any) -> None:
    session = sledsim.Session("g2")
    for call, name in ((session.submit, "lbn"), (session.advance, "until_ns"), (session.serve, "lbns")):
        with pytest.raises(sledsim.SledsimError, match=rf"^{name}(\[0\])? = .*: expected (a )?whole number"):
            call(value)
    assert (session.under_way, session.now_ns) == (0, 0)


#: Values that are no number, flag or column.
STRANGE: list[Any] = [
    "x",
    None,
    float("nan"),
    float("inf"),
    -1,
    2**64,
    10**5000,
    [[1, 2]],
    {},
    1j,
    np.array([[1]]),
    np.array([0.5]),
]


@pytest.mark.parametrize("value", STRANGE, ids=lambda value: type(value).__name__)
def test_wrong_argument_types_are_refused_by_name(value: Any) -> None:
    session = sledsim.Session("g2")
    for name in ("lbns", "blocks"):
        with pytest.raises(sledsim.SledsimError, match=rf"^{name}.* = .*: expected"):
            session.submit_all(**{"lbns": 0, name: value})
    for name in ("read", "fua"):
        with pytest.raises(sledsim.SledsimError, match=f"^{name} = .*: expected true or false"):
            session.submit(0, **{name: value})
    for name in ("log", "check"):
        with pytest.raises(sledsim.SledsimError, match=f"^{name} = .*: expected true or false"):
            sledsim.Session("g2", **{name: value})
    for call in (session.restore, sledsim.Session, sledsim.runs.check_policy):
        with pytest.raises(sledsim.SledsimError):
            call(value)
    assert (session.under_way, session.now_ns) == (0, 0)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series])
def test_requests_may_be_lists_arrays_and_series(kind: Callable[[Any], Any]) -> None:
    lbns, blocks, at_ns = [5, 900, 40], [8, 16, 8], [0, 1_000, 1_000]
    session, other = sledsim.Session("g2"), sledsim.Session("g2")
    session.submit_all(kind(lbns), kind(blocks), read=kind([True, False, True]), at_ns=kind(at_ns))
    for row, read in enumerate((True, False, True)):
        other.submit(lbns[row], blocks[row], read=read, at_ns=at_ns[row])
    assert [done.end_ns for done in session.drain()] == [done.end_ns for done in other.drain()]


def test_settings_of_a_session_are_texts_or_values_by_path() -> None:
    session = sledsim.Session("g2")
    with pytest.raises(sledsim.ScenarioError, match="expected texts PATH=VALUE, or values by path, not int 3"):
        sledsim.Session("g2", overrides=3)
    session.submit(0, read=0)  # type: ignore[arg-type]
    assert [done.status for done in session.drain()] == ["served"]


def test_integral_floats_are_accepted() -> None:
    one, other = sledsim.Session("g2"), sledsim.Session("g2")
    one.submit(3000.0, 8.0, at_ns=1e6)  # type: ignore[arg-type]
    assert one.drain()[0].end_ns == other.serve([3000.0], 8.0, at_ns=1e6)["end_ns"][0]


def test_snapshots_are_restored_only_to_the_same_system() -> None:
    session = sledsim.Session("g2")
    session.serve([5], 8)
    for other in (sledsim.Session("g1"), sledsim.Session(DRIVE), 5):
        with pytest.raises(sledsim.SledsimError, match="snapshot"):
            session.restore(other)  # type: ignore[arg-type]
    assert session.result().requests.completed == 1
    session.restore(session)
    logged = sledsim.Session("g2", log=True)
    logged.serve([5, 9], 8)
    session.restore(logged)
    assert len(session.result().log["lbn"]) == 2


def test_total_component_time_is_limited() -> None:
    years_16 = 16 * 365 * 86_400 * 10**9
    few, many = sledsim.Session("g2"), sledsim.Session({"kind": "mirror", "members": [{"count": 40, "device": "g2"}]})
    few.advance(years_16)
    assert few.now_ns == years_16
    with pytest.raises(sledsim.SledsimError, match="41 components"):
        many.advance(years_16)
    assert many.serve(3)["served"].all()


@pytest.mark.parametrize("example", ["session_simpy.py", "session_asyncio.py"])
def test_the_examples_run_in_virtual_time(example: str) -> None:
    command = [sys.executable, str(ROOT / "examples" / example)]
    done = [subprocess.run(command, capture_output=True, text=True, check=False, timeout=600) for _ in range(2)]
    assert done[0].returncode == 0, done[0].stderr
    assert "ms" in done[0].stdout
    assert done[0].stdout == done[1].stdout
