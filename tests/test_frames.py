"""Results as frames of pandas and polars, Arrow tables and DuckDB relations."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

import sledsim
from conftest import SCENARIO
from sledsim import sweep
from sledsim.show.shown import Plain
from sledsim.studies import hit_ratio

if TYPE_CHECKING:
    from collections.abc import Callable

    from sledsim.sweep import Results

POISSON = {"arrival": {"kind": "poisson", "rate_per_s": 500.0}}
BASE = {"workload": POISSON, "system": {"device": "g2"}, "run": {"requests": 50}}


@pytest.fixture(scope="module")
def results() -> Results:
    return sweep.run({"scenario": BASE, "axes": {"scheduler": ["fcfs", "sptf"]}, "replications": 2})


MAKES: dict[str, Callable[[], Any]] = {
    "log": lambda: sledsim.run(SCENARIO, overrides={"run.requests": 20}, log=True),
    "timeline": lambda: sledsim.run(SCENARIO, overrides={"run.requests": 20}, timeline=True).timeline,
    "comparison": lambda: sledsim.compare({"one": BASE, "other": BASE}),
    "hit ratios": lambda: hit_ratio(
        sledsim.Trace.from_columns(time_s=[0, 1], lbn=[0, 8], blocks=8, is_read=True), ["lru", "arc"], [1, 2]
    ),
    "break-even": lambda: sledsim.Device("g2").break_even(),
    "sweep": lambda: sweep.run({"scenario": BASE, "axes": {"scheduler": ["fcfs", "sptf"]}}),
}


@pytest.mark.parametrize("name", MAKES)
def test_every_library_holds_the_same_rows(name: str) -> None:
    found = MAKES[name]()
    rows = found.relation().fetchall()
    assert rows
    assert found.arrow().num_rows == len(found.pandas()) == len(rows)
    assert found.polars().rows() == rows


def test_polars_needs_no_pyarrow(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert results.polars().height == 4


def test_nested_values_are_separate_columns() -> None:
    class Found(Plain):
        def to_dict(self) -> dict[str, Any]:
            return {"title": "x", "rows": [{"a": {"b": 1}, "c": [1, 2]}, {"a": {"b": None}, "d": True, "e": 0.5}]}

    relation = Found().relation()
    assert relation.columns == ["a.b", "c", "d", "e"]
    assert relation.fetchall() == [(1, "[1, 2]", None, None), (None, None, True, 0.5)]


def test_results_of_a_sweep_in_memory_are_those_of_a_store(results: Results, tmp_path: Any) -> None:
    given = {"scenario": BASE, "axes": {"scheduler": ["fcfs", "sptf"]}, "replications": 2}
    assert sweep.run(given, tmp_path / "store").done == 4
    stored = sweep.results(tmp_path / "store")
    assert results.relation().fetchall() == stored.relation().fetchall()
    assert results.rows() == stored.rows()
    assert str(results) == str(stored)
    assert repr(results) == "<Results of sweep: 4 of 4 runs>"
    assert "fcfs" in results._repr_html_()
    assert results.plot().to_dict() == stored.plot().to_dict()
