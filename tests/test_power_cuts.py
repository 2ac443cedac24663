"""Power cuts of a run: their keys and tables."""

from __future__ import annotations

from typing import Any

import pytest

import sledsim
from sledsim import ScenarioError

CACHE = {"kind": "ram-cache", "bytes": "1 MiB", "child": {"device": "g2"}}
WORKLOAD = {"arrival": {"kind": "poisson", "rate_per_s": 800.0}, "read_fraction": 0.5}


def run(system: Any, **cuts: Any) -> sledsim.Result:
    scenario = {"workload": WORKLOAD, "system": system, "run": {"requests": 600, "power_cuts": cuts}}
    return sledsim.run(scenario, check=True)


def test_volatile_caches_lose_unflushed_data_and_report_it() -> None:
    result = run(CACHE, times_s=[0.2], random=2)
    cuts = result.summary["power_cuts"]
    assert len(cuts) == 3
    assert [cut["at_s"] for cut in cuts] == sorted(cut["at_s"] for cut in cuts)
    assert sum(cut["lost_blocks"] for cut in cuts) > 0
    assert all(cut["lost_durable_blocks"] == cut["unreadable_blocks"] == 0 for cut in cuts)
    assert all(cut["recovery_s"] == 0.0 for cut in cuts)
    assert result.requests.failed == sum(cut["under_way"] for cut in cuts)
    assert f"{result.requests.failed} requests failed: under way when power was cut" in result.run.note
    table = result.tables()[-1]
    assert "power cut (s)" in str(table)
    assert len(table.rows) == 3


def test_the_table_explains_a_missing_recovery_time() -> None:
    caching_disk = {"kind": "mcd", "mems": {"device": "g1"}, "disk": {"device": "atlas10k"}}
    result = run(caching_disk, times_s=[0.2, 0.2001])
    first, second = result.summary["power_cuts"]
    assert first["recovery_s"] is None
    assert "cut again before" in str(result.tables()[-1])
    assert second["recovery_s"] is not None or "not before the end" in str(result.tables()[-1])


def test_rules_hold_and_checks_change_no_result() -> None:
    scenario = {"workload": WORKLOAD, "system": CACHE, "run": {"requests": 600}}
    checked, plain = sledsim.run(scenario, check=True), sledsim.run(scenario)
    assert checked.summary == plain.summary
    assert "power_cuts" not in plain.summary
    assert "power_cuts" not in plain.summary["scenario"]["run"]


def test_a_time_before_the_run_is_refused() -> None:
    with pytest.raises(ScenarioError, match="power_cuts"):
        run(CACHE, times_s=[-1.0])
