"""Invalid input gives one message and exit status 2, never a traceback."""

from __future__ import annotations

import sys
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from sledsim.sweep import Sweep, optimise
from sledsim.sweep.search import Search

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

HEADER = "t_ns,device,offset_bytes,bytes,op\n"


def assert_refused(found: Outcome, *words: str) -> None:
    assert found.status == 2
    assert found.out == ""
    assert found.err.startswith("error: ")
    for word in words:
        assert word in found.err, f"{word!r} in {found.err!r}"


def test_bad_records_can_be_tolerated_and_are_counted(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(HEADER + "5,0,0,4096,R\nrubbish\n6,0,0,0,R\n7,0,0,4096,W\n")
    assert_refused(sledsim_cli("replay", path, "--skip-bad", "1"), "line 4")
    found = sledsim_cli("replay", path, "--device", "g2", "--skip-bad", "2")
    assert found.status == 0
    assert "2 bad records skipped" in found.out
    assert "bad records skipped 2" in " ".join(
        sledsim_cli("replay", path, "--device", "g2", "--skip-bad", "2", "--full").out.split()
    )


@pytest.mark.parametrize(
    ("trace", "arguments", "said"),
    [
        ("iolog", ["--time-scale", "0.5"], "--time-scale: has no effect on a trace without times"),
        ("iolog", ["--set", "workload.end_s=1"], "workload.end_s: has no effect on a trace without times"),
        ("iolog", ["--outstanding", "2"], ""),
        ("iolog", ["--outstanding", "2", "--mode", "outstanding"], ""),
        ("csv", ["--outstanding", "2"], "--outstanding: has no effect if requests arrive as recorded"),
        ("csv", ["--outstanding", "2", "--mode", "outstanding"], ""),
        ("csv", ["--time-scale", "0.5", "--set", "workload.end_s=1"], ""),
    ],
)
def test_an_option_without_effect_is_an_error(
    sledsim_cli: Callable[..., Outcome], tmp_path: Path, trace: str, arguments: list[str], said: str
) -> None:
    path = tmp_path / "trace"
    iolog = "fio version 2 iolog\n/dev/x add\n/dev/x open\n/dev/x read 0 4096\n/dev/x write 4096 4096\n"
    path.write_text(iolog if trace == "iolog" else HEADER + "5,0,0,4096,R\n7,0,0,4096,W\n")
    found = sledsim_cli("replay", path, *arguments)
    if said:
        assert_refused(found, said)
    else:
        assert found.status == 0


@pytest.mark.parametrize("library", ["altair", "vl_convert"])
def test_a_missing_library_is_named_before_anything_runs(
    sledsim_cli: Callable[..., Outcome], scenario_file: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    picture = ["--plot", scenario_file.with_name("a.png")]
    assert_refused(sledsim_cli("run", scenario_file, *picture), library, "pip install 'altair")
    assert_refused(sledsim_cli("compare", scenario_file, *picture), library, "pip install 'altair")


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


#: Python values that no document can contain.
UNHELD: list[Any] = [
    *(10**5000, -(10**400), float("inf"), float("nan"), "\ud800", nested(5000), {"a": nested(5000)}, date(2026, 1, 1)),
    *(object(), 1j, {1: 2}),
]


@pytest.mark.parametrize("value", UNHELD, ids=lambda value: type(value).__name__)
def test_values_outside_the_document_model_are_refused(scenario_file: Path, value: Any) -> None:
    scenario = sledsim.Scenario.load(scenario_file).to_dict()
    for key in ("seed", "run", "workload"):
        for load in (
            lambda key=key: sledsim.run({**scenario, key: value}),
            lambda key=key: sledsim.run(scenario, overrides={key: value}),
            lambda key=key: Sweep(scenario, {key: [value]}).check(),
            lambda key=key: sledsim.Device({"name": "g2", "bit_nm": value}),
        ):
            with pytest.raises(sledsim.SledsimError):
                load()


ENDLESS: list[Any] = [
    *(float("inf"), -float("inf"), float("nan"), 1e308, 10**5000, -(10**400), "1e400", "\ud800", "9" * 5000, "x"),
]


@pytest.mark.parametrize("key", ["from", "to", "step", "count"])
@pytest.mark.parametrize("value", ENDLESS, ids=lambda value: type(value).__name__)
def test_axes_with_invalid_ends_are_refused(scenario_file: Path, key: str, value: Any) -> None:
    axis: dict[str, Any] = {"from": 1, "to": 5} | ({} if key == "count" else {"step": 1}) | {key: value}
    with pytest.raises(sledsim.SledsimError):
        Sweep(scenario_file, {"workload.arrival.rate_per_s": axis}).check()
    with pytest.raises(sledsim.SledsimError, match="values; an axis may have"):
        Sweep(scenario_file, {"run.requests": {"from": 1, "to": 5, "step": 1e-320}}).check()


@pytest.mark.parametrize("seed", [2**32, 2**64, 10**5000, -1, 1.5], ids=lambda seed: type(seed).__name__)
def test_seeds_of_searches_have_a_range(scenario_file: Path, tmp_path: Path, seed: Any) -> None:
    search = {
        "scenario": str(scenario_file),
        "parameters": {"device.bit_nm": {"from": 30, "to": 60}},
        "objectives": ["response"],
        "overrides": {"run.requests": 20},
        "trials": 2,
    }
    assert len(optimise({**search, "seed": 2**32 - 1}, tmp_path / "store").trials) == 2
    with pytest.raises(sledsim.SledsimError):
        Search.load({**search, "seed": seed})
