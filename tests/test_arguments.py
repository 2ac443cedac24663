"""Invalid arguments of functions: errors name the argument."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import sledsim
from sledsim import SledsimError, reliability, sweep
from sledsim.show.shown import json_text
from sledsim.show.tables import number

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ENCLOSURE: dict[str, Any] = {
    "enclosure": {"data": 19, "parity": 1, "spares": 3},
    "device": {"mttf": "200000 h"},
    "rebuild": {"time": "15 min"},
}
SCENARIO: dict[str, Any] = {
    "workload": {"arrival": {"kind": "poisson", "rate_per_s": 300.0}},
    "system": {"device": "g2"},
    "run": {"requests": 20},
}
TRACE = "t_ns,device,offset_bytes,bytes,op\n0,0,0,4096,R\n1000,0,4096,4096,W\n"
MODEL = reliability.MarkovModel(ENCLOSURE)
NAN: Any = float("nan")
FAR: Any = 10**400
SEVERAL: Any = np.array([1, 2])
NONE: Any = None
FIVE: Any = 5
OTHER: Any = "bogus"
DECIMAL: Any = Decimal("nan")
NO_NUMBER: list[Any] = [FAR, OTHER, NAN, DECIMAL, SEVERAL, np.array([]), np.array(["a"]), [1]]
NO_PATH: list[Any] = [NAN, b"x", NONE, [1]]
NO_LIST: list[Any] = [NAN, b"x", OTHER]
ONE: Any = np.int64(1)

#: Calls with values of many wrong types: the argument, and the call.
CALLS: list[tuple[str, Callable[[], Any]]] = [
    *(("precision", partial(reliability.simulate, ENCLOSURE, precision=each)) for each in NO_NUMBER),
    *(("horizon_h", partial(reliability.Transient, MODEL.chain, each)) for each in NO_NUMBER),
    *(("chain", partial(reliability.mean_time_to_loss_h, each)) for each in [NAN, OTHER, NONE, SEVERAL]),
    *(("path", partial(sledsim.traces.open_trace, each)) for each in NO_PATH),
    *(("path", partial(sledsim.scenario.import_disksim, each)) for each in NO_PATH),
    *(("trace", partial(sledsim.studies.hit_ratio, each)) for each in NO_PATH),
    *(("specs", partial(sledsim.studies.validate_drive, each, "x")) for each in NO_PATH),
    *(("trace", partial(sledsim.studies.validate_drive, "barracuda", each)) for each in NO_PATH),
    *(("path", partial(reliability.analyse(ENCLOSURE).save_plot, each)) for each in NO_PATH),
    *(("runs", partial(sledsim.compare, each)) for each in NO_LIST),
    *(("sources", partial(reliability.compare_enclosures, each)) for each in NO_LIST),
    *(("ratios", partial(sledsim.studies.cost, SCENARIO, ratios=each)) for each in NO_LIST),
    *(("nvram_prices_per_gb", partial(sledsim.studies.cost, SCENARIO, nvram_prices_per_gb=each)) for each in NO_LIST),
]


def refused(name: str, call: Callable[[], Any]) -> str:
    with pytest.raises(SledsimError) as raised:
        call()
    fault = raised.value.faults[0]
    assert not name or (fault.path == name and name in str(raised.value)), str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(("name", "call"), CALLS)
def test_invalid_arguments_are_refused_by_name(name: str, call: Callable[[], Any]) -> None:
    refused(name, call)


def test_invalid_durations_are_value_errors() -> None:
    with pytest.raises(ValueError, match="has no unit"):
        reliability.Duration.read(5)


def test_functions_take_the_same_inputs_as_load() -> None:
    assert reliability.needs_simulation(ENCLOSURE) == []
    assert reliability.mean_rebuild_h(ENCLOSURE) == 0.25
    # Numbers of NumPy are numbers, and many years take no longer than few.
    assert reliability.failures_at_most(ONE, ONE, np.float64(1e5), 100) > 0.99
    assert reliability.failure_counts(ENCLOSURE, years=1e30).tables()


@pytest.mark.parametrize("years", [2**64, Decimal("1.5"), Fraction(1, 3)])
def test_years_may_be_any_number(years: Any) -> None:
    assert reliability.failure_counts(ENCLOSURE, years=years).rows[-1]["years"] == pytest.approx(float(years))
    if years < 5:
        curve = reliability.survival_by_spares(ENCLOSURE, years=years).curves[0]
        assert curve.years[-1] == pytest.approx(float(years))
    else:
        refused("years", lambda: reliability.survival_by_spares(ENCLOSURE, years=years * 10**9))


@pytest.mark.filterwarnings("error")
def test_a_disk_that_fails_at_once_has_a_curve() -> None:
    curve = reliability.survival_by_spares(ENCLOSURE, disks_h=[1e-308]).curves[-1]
    assert curve.loss[-1] == 1


def test_traces_and_hit_ratios(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TRACE)
    for each in NO_PATH:
        refused("destination", partial(sledsim.traces.open_trace(path).convert, each))
    columns: Any = {"time": 1}
    refused("columns", lambda: sledsim.traces.open_trace(path, columns=columns))
    policies: Any = [[1]]
    refused("policy", lambda: sledsim.studies.hit_ratio(path, policies))
    refused("to", lambda: sledsim.traces.open_trace(path).convert(tmp_path / "o.csv", to=SEVERAL))
    found = sledsim.studies.hit_ratio(path, "lru", 10)
    refused("pages", lambda: found.ratio("lru", SEVERAL))
    refused("policy", lambda: found.ratio(SEVERAL, 10))


@pytest.mark.parametrize(
    "header", ["t_ns,t_ns,lbn,bytes,op", "t_ns,timestamp_us,lbn,bytes,op", "t_ns,offset_bytes,lbn,bytes,op"]
)
def test_duplicate_columns_of_a_header_are_refused(header: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{header}\n0,8,16,512,R\n")
    said = refused("", lambda: sledsim.traces.open_trace(path))
    assert f"{path}: line 1: " in said
    assert said.endswith("say which is meant, with columns")
    columns = {"time": "0", "time_unit": "ns", "offset": "1", "offset_unit": "bytes", "bytes": "bytes", "op": "op"}
    assert sledsim.traces.open_trace(path, columns=columns).head()["offset_bytes"].tolist() == [8]


def test_evaluations_and_results(tmp_path: Path) -> None:
    evaluation = sweep.Evaluation(SCENARIO, tmp_path / "e")
    assert "with" in refused("", lambda: evaluation.evaluate([{"seed": 1}]))
    with evaluation:
        refused("points", lambda: evaluation.evaluate([FIVE]))
        # A value that is invalid in every scenario is reported by its run.
        [[found]] = evaluation.evaluate([{"seed": FAR}])
        assert found.error is not None
    sweep.run(sweep.Sweep(SCENARIO, {"seed": [1, 2]}, name="a"), tmp_path / "st")
    assert sweep.status(tmp_path / "st")[0].done == 2
    refused("", lambda: sweep.status(tmp_path / "none"))
    refused("sweep", lambda: sweep.results(tmp_path / "st", FIVE))
    results = sweep.results(tmp_path / "st")
    refused("metric", lambda: results.values(FIVE))
    axes: list[Any] = [(), ("seed", "1"), (SEVERAL, "1", "2"), 5]
    for axis in axes:
        with pytest.raises(SledsimError, match="axis"):
            sweep.compare_pairs(results, axis=axis)


def test_infinite_numbers_are_not_written() -> None:
    assert json.loads(json_text({"a": [1.5, None]})) == {"a": [1.5, None]}
    assert "a.1" in refused("a.1", lambda: json_text({"a": [1.5, float("inf")]}))
    assert number(float("inf")) == "inf"


def test_sensitivity_steps_of_zero_are_refused() -> None:
    design = sledsim.studies.design("g2")
    assert "0.000001" in refused("step", lambda: design.sensitivity(1e-17))
    small, usual = ({(row["value"], row["figure"]) for row in design.sensitivity(step).rows()} for step in (1e-6, 1e-3))
    assert small == usual
