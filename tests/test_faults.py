"""Attributes and messages of errors: in programs, in Python and on the command line."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from sledsim import RunError, ScenarioError, TraceError, studies

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


ARRIVAL = {"kind": "poisson", "rate_per_s": 10.0}
HEADER = "t_ns,device,offset_bytes,bytes,op\n"
KEYS = ("title", "seed", "workload", "system", "run", "missing", "accept_missing")


def document(**changed: Any) -> dict[str, Any]:
    return {"workload": {"arrival": ARRIVAL}, "system": {"device": "g2"}, "run": {"requests": 10}} | changed


@pytest.mark.parametrize(
    ("changed", "kind", "path", "value", "allowed", "suggestion"),
    [
        ({"sead": 1}, "unknown-key", "sead", None, KEYS, "seed"),
        ({"seed": "x"}, "wrong-type", "seed", "x", "a number", None),
        (
            {"system": {"kind": "concat", "members": ["g2", {"device": {"name": "g2", "bit_nm": 0}}]}},
            "out-of-range",
            "system.members.1.device.bit_nm",
            0,
            {"least": 1, "most": 10_000, "unit": "nm"},
            None,
        ),
        (
            {"workload": {"arrival": {**ARRIVAL, "kind": "poison"}}},
            "unknown-name",
            "workload.arrival.kind",
            "poison",
            ("poisson", "constant", "renewal", "on-off", "closed"),
            "poisson",
        ),
    ],
)
def test_error_attributes_match_the_message(
    changed: dict[str, Any], kind: str, path: str, value: Any, allowed: Any, suggestion: str | None
) -> None:
    with pytest.raises(ScenarioError) as caught:
        sledsim.run(document(**changed))
    error = caught.value
    assert (error.kind, error.path, error.value, error.suggestion) == (kind, path, value, suggestion)
    assert len(error.faults) == 1
    assert path in str(error)
    if isinstance(allowed, dict):
        assert allowed.items() <= error.allowed.items()
    elif isinstance(allowed, str):
        assert allowed in error.allowed or "whole" in error.allowed
    elif allowed is not None:
        assert error.allowed == allowed
        assert suggestion or all(word in str(error) for word in allowed)
    assert suggestion is None or f'did you mean "{suggestion}"?' in str(error)


def test_all_faults_are_reported_and_survive_pickling() -> None:
    with pytest.raises(ScenarioError) as caught:
        sledsim.run(document(sead=1, run={"requests": "many"}, system={"device": "g22"}))
    error = caught.value
    assert sorted(str(fault.path) for fault in error.faults) == ["run.requests", "sead", "system.device.name"]
    assert str(error).count("\n") == 2
    again = pickle.loads(pickle.dumps(error))
    assert (again.faults, again.path, str(again)) == (error.faults, error.path, str(error))


def test_errors_have_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text("seed = 1\nrun = = 2\n")
    with pytest.raises(ScenarioError) as caught:
        sledsim.run(file)
    assert (caught.value.kind, caught.value.file, caught.value.line) == ("notation", str(file), 2)
    trace = tmp_path / "bad.csv"
    trace.write_text(f"{HEADER}0,0,0,512,R\n1,0,0,none,R\n")
    with pytest.raises(TraceError) as raised:
        list(sledsim.traces.open_trace(trace))
    error = raised.value
    assert (error.kind, error.file, error.line, error.field) == ("record", str(trace), 3, "length")
    assert error.value == '"none"'


def test_python_only_errors_have_the_attributes() -> None:
    assert (RunError("words").path, RunError("words").faults) == (None, ())


@pytest.mark.parametrize(
    ("wrongly", "kind", "path", "value", "suggestion"),
    [
        (lambda: sledsim.traces.open_trace("none.csv"), "unreadable", None, "none.csv", None),
        (lambda: sledsim.traces.open_trace("none.csv", skip_bad=-1), "out-of-range", "skip_bad", -1, None),
        (lambda: sledsim.sweep.results("none.sweep"), "unreadable", None, "none.sweep", None),
        (lambda: studies.hit_ratio("none.csv", "lru", 0), "out-of-range", "pages", 0, None),
        (lambda: studies.hit_ratio("none.csv", "lru", 2.5), "out-of-range", "pages", 2.5, None),  # type: ignore[arg-type]
        (lambda: studies.hit_ratio("none.csv", ["lru"], ["3 q"]), "wrong-type", "pages", "3 q", None),  # type: ignore[list-item]
        (lambda: sledsim.traces.open_trace("none.csv", skip_bad=True), "wrong-type", "skip_bad", True, None),
        (lambda: studies.specificity("sdff"), "unknown-name", "role", "sdff", "sdf"),
        (lambda: studies.validate_drive("atlas10kk", "none"), "unknown-name", "drive", "atlas10kk", "atlas10k"),
        (lambda: sledsim.run(3), "wrong-type", None, 3, None),  # type: ignore[arg-type]
        (lambda: sledsim.scenario.import_disksim("."), "unreadable", "path", ".", None),
        (lambda: sledsim.run(document(), timeline="x"), "wrong-type", "timeline", "x", None),  # type: ignore[arg-type]
        (lambda: sledsim.run(document()).plot("respons"), "unknown-name", "kind", "respons", "response"),
        (lambda: sledsim.Device("g2").plot("cruve"), "unknown-name", "kind", "cruve", "curve"),
    ],
)
def test_errors_raised_in_python_have_attributes(
    wrongly: Callable[[], object], kind: str, path: str | None, value: Any, suggestion: str | None
) -> None:
    with pytest.raises(sledsim.SledsimError) as caught:
        wrongly()
    error = caught.value
    assert len(error.faults) == 1
    assert (error.kind, error.path, error.value, error.suggestion) == (kind, path, value, suggestion)


def test_errors_of_replay_name_and_suggest_python_arguments(tmp_path: Path) -> None:
    trace = tmp_path / "bad.csv"
    trace.write_text(f"{HEADER}0,0,0,none,R\n")
    with pytest.raises(ScenarioError) as caught:
        sledsim.replay(trace, device="g22", fit="scal")
    assert [(fault.path, fault.file) for fault in caught.value.faults] == [("device", None), ("fit", None)]
    trace.write_text(f"{HEADER}0,0,0,none,R\n0,0,0,512,R\n")
    with pytest.raises(TraceError, match=r"give skip_bad = 1, which leaves out 1 of 2 records$") as raised:
        sledsim.replay(trace)
    assert (raised.value.file, raised.value.line) == (str(trace), 2)
    # Faults of a setting name the setting, and faults of a file the file.
    with pytest.raises(ScenarioError) as caught:
        sledsim.replay(trace, overrides=["workload.fit=scal"])
    assert (caught.value.path, caught.value.setting) == ("workload.fit", "workload.fit=scal")
    own = tmp_path / "own.toml"
    own.write_text('base = "g2"\n[values]\nbit_nm = -4\n')
    for wrongly in (lambda: sledsim.replay(trace, str(own)), lambda: studies.matched_disk(str(own))):
        with pytest.raises(ScenarioError, match=r"out of range: [^()]*[(]nm[)] from 1 to 10000$") as caught:
            wrongly()
        assert (caught.value.path, caught.value.file, caught.value.line) == ("values.bit_nm", str(own), 3)


def test_failed_replays_keep_partial_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    policy = "class Mine(Policy):\n    def pick(self, now_ns, pending):\n        return 0 // (now_ns < 1_000_000)\n"
    (tmp_path / "mine.py").write_text(f"from sledsim.schedulers import Policy\n{policy}")
    (tmp_path / "small.csv").write_text(f"{HEADER}0,0,0,512,R\n1000000000,0,512,512,R\n")
    with pytest.raises(RunError) as caught:
        sledsim.replay("small.csv", scheduler="mine:Mine")
    assert (caught.value.path, caught.value.result.requests.completed) == ("scheduler", 1)


def test_a_missing_file_suggests_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "small.csv").write_text(HEADER)
    with pytest.raises(TraceError) as caught:
        sledsim.traces.open_trace(tmp_path / "smal.csv")
    assert caught.value.suggestion == str(tmp_path / "small.csv")
    assert caught.value.file == caught.value.value == str(tmp_path / "smal.csv")


def test_typed_classes_report_all_faults() -> None:
    def faults_of(kind: type, **keys: Any) -> list[tuple[str, str | None, Any, str | None]]:
        with pytest.raises(ScenarioError) as caught:
            kind(**keys)
        return [(fault.kind, fault.path, fault.value, fault.suggestion) for fault in caught.value.faults]

    assert faults_of(sledsim.Scenario, workload=3, system=4, foo=1) == [
        ("wrong-type", "workload", 3, None),
        ("unknown-key", "foo", None, None),
        ("wrong-type", "system", 4, None),
    ]
    assert faults_of(sledsim.scenario.models.SyntheticWorkload, arrival={"kind": "poison"}) == [
        ("unknown-name", "arrival.kind", "poison", "poisson")
    ]
    assert faults_of(sledsim.scenario.models.DriveSystem, device="g2", schedulr="x", batch_max="y") == [
        ("unknown-key", "schedulr", None, "scheduler"),
        ("wrong-type", "batch_max", "y", None),
    ]


def test_after_50_faults_the_others_are_counted() -> None:
    unknown = {f"key{number}": 1 for number in range(73)}
    with pytest.raises(ScenarioError, match="unknown key key0") as error:
        sledsim.run(document(**unknown))
    assert (len(error.value.faults), error.value.faults[-1].kind, error.value.faults[-1].value) == (51, "omitted", 23)
    lines = str(error.value).splitlines()
    assert len(lines) == 51
    assert lines[-1] == "and 23 more"
