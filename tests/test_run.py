"""Runs and their results."""

from __future__ import annotations

import json
import pickle
import re
from typing import TYPE_CHECKING, Any

import duckdb
import jsonschema
import numpy as np
import pytest

import sledsim
from conftest import SCENARIO
from sledsim import RunError, SledsimError, _core
from sledsim.show.tables import number

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def result() -> sledsim.Result:
    return sledsim.run(SCENARIO, log=True)


def test_a_run_completes_what_it_submits(result: sledsim.Result) -> None:
    assert result.complete
    assert result.requests.submitted == result.requests.completed == 3000
    assert result.requests.failed == result.requests.in_flight == 0
    assert 0.5 < result.reads.share < 0.7
    assert result.reads.share + result.writes.share == pytest.approx(1.0)


def test_keys_and_attributes_are_the_same(result: sledsim.Result) -> None:
    assert result.response.mean_ms == result["response"]["mean_ms"] == result.summary["response"]["mean_ms"]
    assert "response" in dir(result)
    assert "mean_ms" in dir(result.response)
    with pytest.raises(AttributeError, match=r"response\.mean_s; there are count, mean_ms"):
        result.response.mean_s  # noqa: B018
    with pytest.raises(KeyError):
        result["nothing"]


def test_phases_add_up_to_response_times(result: sledsim.Result) -> None:
    whole = result.overhead.mean_ms + result.wait.mean_ms + result.service.mean_ms
    assert result.response.mean_ms == pytest.approx(whole, rel=1e-9)
    phases = ("startup", "seek", "turnaround", "servo", "transfer", "bus")
    assert result.service.mean_ms == pytest.approx(sum(result[phase].mean_ms for phase in phases), rel=1e-9)
    states = ("startup", "inactive", "seek", "servo", "data", "idle")
    assert result.energy.total_j == pytest.approx(sum(result.energy[f"{state}_j"] for state in states), rel=1e-9)
    assert sum(result.state_time.values()) == pytest.approx(result.run.measured_s, rel=1e-9)


def keys_without_description(value: Any, schema: dict[str, Any], root: dict[str, Any], path: str = "") -> list[str]:
    """List the keys of a summary that its schema does not describe."""
    while "$ref" in schema:
        schema = {
            **root["$defs"][schema["$ref"].rpartition("/")[2]],
            **{k: v for k, v in schema.items() if k != "$ref"},
        }
    for variant in schema.get("anyOf", []):
        if variant.get("type") != "null":
            return keys_without_description(value, variant, root, path)
    if not isinstance(value, dict) or path == "scenario":
        return []
    missing = []
    for key, item in value.items():
        below = f"{path}.{key}" if path else key
        known = schema.get("properties", {}).get(key)
        if known is None or not known.get("description"):
            missing.append(below)
        else:
            missing += keys_without_description(item, known, root, below)
    return missing


def test_every_key_of_a_result_is_documented(result: sledsim.Result) -> None:
    schema = _core.result_schema()
    jsonschema.Draft202012Validator(schema).validate(result.summary)
    assert keys_without_description(result.summary, schema, schema) == []


def test_equal_scenarios_give_equal_bytes(result: sledsim.Result) -> None:
    assert sledsim.run(SCENARIO).to_json() == result.to_json()
    assert sledsim.run(SCENARIO, overrides=["seed=4"]).to_json() != result.to_json()


def test_the_resolved_scenario_runs_to_the_same_bytes(result: sledsim.Result) -> None:
    again = sledsim.run(result.summary["scenario"])
    assert again.to_json() == result.to_json()
    assert sledsim.run(sledsim.Scenario.load(SCENARIO)).to_json() == result.to_json()


def test_a_result_prints_as_tables(result: sledsim.Result) -> None:
    text = str(result)
    for words in ("g2, sptf", "time (ms)", "response", "  writes", "MB/s", "energy (J)"):
        assert words in text
    html = result._repr_html_()
    # The headline figures, and all figures below.
    assert html.count("<table>") == 1 + len(result.tables()) == html.count("</table>")
    assert "g2" in repr(result)


@pytest.mark.parametrize("quantity", ["response", "wait", "service"])
def test_histograms_count_every_request(result: sledsim.Result, quantity: str) -> None:
    counts = {}
    for op in ("all", "reads", "writes"):
        edges_ms, found = result.histogram(quantity, op)
        assert len(edges_ms) == len(found) + 1
        assert np.all(np.diff(edges_ms) > 0)
        counts[op] = int(found.sum())
    assert counts["all"] == 3000 == counts["reads"] + counts["writes"]
    assert counts["reads"] == result.reads[quantity].count


@pytest.mark.parametrize(("quantity", "op"), [("speed", "all"), ("response", "erases")])
def test_unknown_histograms_are_refused(result: sledsim.Result, quantity: str, op: str) -> None:
    with pytest.raises(RunError, match="is not known"):
        result.histogram(quantity, op)


def test_the_log_has_a_row_per_request(result: sledsim.Result) -> None:
    log = result.log
    assert {len(column) for column in log.values()} == {3000}
    response_ms = (log["end_ns"] - log["arrival_ns"]).astype(float) / 1e6  # type: ignore[operator]
    assert response_ms.mean() == pytest.approx(result.response.mean_ms, rel=1e-9)
    assert int(log["read"].sum()) == result.reads.response.count
    assert float(log["energy_j"].sum()) > 0


def test_the_log_can_be_converted_by_other_libraries(result: sledsim.Result) -> None:
    [(count, mean_ms)] = result.relation().aggregate("count(*), avg(end_ns - arrival_ns) / 1e6").fetchall()
    assert count == 3000
    assert mean_ms == pytest.approx(result.response.mean_ms, rel=1e-9)
    columns = list(result.log)
    assert result.polars().columns == columns
    assert list(result.pandas().columns) == columns
    assert result.arrow().column_names == columns
    assert result.polars().height == len(result.pandas()) == result.arrow().num_rows == 3000


def test_the_log_can_be_written(result: sledsim.Result, tmp_path: Path) -> None:
    for suffix in ("parquet", "csv", "json"):
        path = tmp_path / f"it's a log.{suffix}"
        result.write_log(path)
        name = str(path).replace("'", "''")
        [(count, total)] = duckdb.execute(f"SELECT count(*), sum(seek_ns)::BIGINT FROM '{name}'").fetchall()
        assert count == 3000
        assert total == int(result.log["seek_ns"].sum())
    found = duckdb.execute("SELECT value FROM parquet_kv_metadata(?)", [str(tmp_path / "it's a log.parquet")])
    scenarios = [value for (value,) in found.fetchall() if value.startswith(b"{")]
    assert json.loads(scenarios[0]) == result.summary["scenario"]


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_runs_write_their_log_to_a_file(tmp_path: Path, suffix: str) -> None:
    # More requests than a row group has.
    more = {"run.requests": 40_000, "workload.size_bytes": {"kind": "exponential", "mean": 4096}}
    kept = sledsim.run(SCENARIO, overrides=more, log=True)
    result = sledsim.run(SCENARIO, overrides=more, log=tmp_path / f"log.{suffix}")
    assert result.summary == kept.summary
    with duckdb.connect() as connection:
        found = connection.sql(f"FROM '{tmp_path / 'log'}.{suffix}'")
        assert found.columns == list(kept.log)
        for name, column in found.fetchnumpy().items():
            assert np.array_equal(column, kept.log[name]), name
            assert suffix != "parquet" or column.dtype == kept.log[name].dtype, name
        if suffix == "parquet":
            sql = f"SELECT decode(value) FROM parquet_kv_metadata('{tmp_path / 'log.parquet'}') ORDER BY key"
            [(scenario,), (version,)] = connection.sql(sql).fetchall()
            assert (json.loads(scenario), version) == (kept.summary["scenario"], sledsim.__version__)
    with pytest.raises(RunError, match="log=True"):
        result.log  # noqa: B018


def test_logs_without_requests_can_be_read(tmp_path: Path) -> None:
    nothing = {"workload.arrival.rate_per_s": 0.001, "run": {"time_s": 0.001}}
    for suffix in ("parquet", "csv", "json"):
        path = tmp_path / f"log.{suffix}"
        assert sledsim.run(SCENARIO, overrides=nothing, log=path).requests.completed == 0
        with duckdb.connect() as connection:
            connection.execute(f"SELECT count(*) FROM '{path}'")
            assert connection.fetchall() == [(0,)]


def test_missing_logs_and_bad_log_paths_raise_errors(result: sledsim.Result, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="log=True"):
        sledsim.run(SCENARIO, overrides=["run.requests=10"]).log  # noqa: B018
    with pytest.raises(SledsimError, match=r"unknown kind of file '.xlsx'"):
        result.write_log(tmp_path / "log.xlsx")
    with pytest.raises(SledsimError, match="cannot be written"):
        result.write_log(tmp_path / "nowhere" / "log.csv")
    for name, says in (("log.xlsx", "unknown kind of file '.xlsx'"), ("nowhere/log.csv", "no folder")):
        with pytest.raises(SledsimError, match=says):
            sledsim.run(SCENARIO, log=tmp_path / name)


def test_a_missing_library_is_named_with_its_extra(result: sledsim.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(SledsimError, match=r"polars.*pip install 'pandas>=[\d.]+' 'polars>="):
        result.polars()
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(SledsimError, match=r"altair.*pip install 'altair>="):
        result.plot()


def test_progress_is_reported() -> None:
    reports: list[tuple[int, int | None, float, float | None]] = []
    sledsim.run(SCENARIO, overrides=["run.requests=2000000"], progress=lambda *report: reports.append(report))
    assert reports
    assert all(total == 2_000_000 for _, total, _, _ in reports)
    assert [report[0] for report in reports] == sorted(report[0] for report in reports)


def test_errors_of_the_progress_function_are_passed_on() -> None:
    def fail(*_: object) -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        sledsim.run(SCENARIO, overrides=["run.requests=2000000"], progress=fail)


def test_runs_are_compared(result: sledsim.Result) -> None:
    slower = sledsim.run(SCENARIO, overrides=["device=g1"])
    comparison = sledsim.compare({"g2": result, "g1": slower})
    metrics = {metric["key"]: metric for metric in comparison.metrics()}
    mean = metrics["response.mean_ms"]
    assert mean["values"] == [result.response.mean_ms, slower.response.mean_ms]
    assert mean["ratios"] == [1.0, slower.response.mean_ms / result.response.mean_ms]
    assert comparison["g1"] is slower
    assert f"×{mean['ratios'][1]:.3f}" in str(comparison)
    assert "<table>" in comparison._repr_html_()
    assert json.loads(comparison.to_json())["runs"][1]["name"] == "g1"
    with pytest.raises(KeyError, match="there are g2, g1"):
        comparison["g3"]


def test_scenarios_are_run_and_named_when_compared(scenario_file: Path) -> None:
    titled = {**SCENARIO, "title": "mine"}
    comparison = sledsim.compare([scenario_file, titled, SCENARIO, SCENARIO], overrides=iter(["run.requests=100"]))
    assert list(comparison.results) == ["small", "mine", "g2, sptf", "g2, sptf (2)"]
    assert {each.requests.completed for each in comparison.results.values()} == {100}
    with pytest.raises(SledsimError, match="nothing to compare"):
        sledsim.compare([])


def test_results_of_reads_omit_writes() -> None:
    result = sledsim.run(SCENARIO, overrides=["workload.read_fraction=1", "run.requests=500"])
    assert result.writes is None
    assert "writes" not in str(result)
    assert "writes" not in sledsim.compare([result]).to_json().partition("metrics")[2]


def test_batched_requests_are_shown_for_batching_schedulers() -> None:
    busy = {**SCENARIO, "system": {"device": "g2", "merge": {"requests": 8, "anywhere": True, "rows": True}}}
    result = sledsim.run(busy, overrides=["workload.arrival.rate_per_s=3000"])
    text = " ".join(str(result).split())
    assert result.requests.merged > result.requests.merged_accesses > 0
    assert f"requests served together {result.requests.merged:,}" in text
    assert f"accesses that served them {result.requests.merged_accesses:,}" in text
    assert "served together" not in str(sledsim.run(SCENARIO, overrides=["run.requests=50"]))


def test_every_idle_mode_of_a_drive_has_a_row() -> None:
    slow = ["device=travelstar", "workload.arrival.rate_per_s=0.05", "run.requests=50"]
    result = sledsim.run({"workload": SCENARIO["workload"], "system": {}}, overrides=slow)
    states = result.tables()[-1]
    modes = [mode["name"] for mode in result.summary["scenario"]["system"]["device"]["power"]["idle_modes"]]
    assert len(modes) > 2
    assert set(modes) <= {row[0] for row in states.rows}


@pytest.mark.parametrize(
    ("fit", "addresses"),
    [("error", "addresses unchanged"), ("wrap", "addresses wrapped"), ("scale", "addresses scaled")],
)
def test_a_replay_states_its_assumptions(trace_file: Path, fit: str, addresses: str) -> None:
    workload = {"kind": "trace", "path": str(trace_file), "fit": fit}
    result = sledsim.run({"workload": workload, "system": {"device": "g2", "scheduler": "sptf"}})
    lines = str(result.brief()).splitlines()
    assert lines[0] == "g2, sptf · trace small.csv · 50 requests, not long enough"
    assert lines[1].startswith(f"response {number(result.response.mean_ms)} ms, p99 ")
    assert lines[-1].startswith(
        f"assumed: format csv (16 of its first 16 lines), times in ns, addresses in bytes, {addresses}, "
    )
    assert lines[-1].endswith(", open: arrivals as recorded, sled at rest in the centre at the first arrival")
    note = "no 95 % interval: a confidence interval takes at least 320 values, not 50"
    assert any(line.startswith(note) for line in lines)
    assert len(lines) <= 22
    assert result.scenario.workload.fit == fit


def test_results_state_if_the_run_was_long_enough() -> None:
    def length_note(rate: float, requests: int) -> tuple[str, str, float | None]:
        workload = {"arrival": {"kind": "poisson", "rate_per_s": rate}}
        result = sledsim.run({"workload": workload, "system": {"device": "g2"}, "run": {"requests": requests}})
        response = result.response
        known = response.ci95_low_ms is not None
        share = (response.ci95_high_ms - response.ci95_low_ms) / 2 / response.mean_ms if known else None
        lines = str(result.brief()).splitlines()
        return lines[0].rpartition("requests, ")[2], lines[-1], share

    ended, _, share = length_note(500, 50_000)
    assert share is not None
    assert (ended, share < 0.05) == ("long enough", True)
    ended, note, share = length_note(500, 400)
    assert share is not None
    assert (ended, share > 0.05) == ("not long enough", True)
    assert note == "note: the mean is not known within 5 %: simulate more requests"


def test_overload_is_reported_with_offered_and_served_rates() -> None:
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 2500.0}}
    scenario = {"seed": 1, "workload": workload, "system": {"device": "g2"}, "run": {"requests": 20_000}}
    result = sledsim.run(scenario)
    overload = result.overload
    assert overload.served_per_s == result.throughput.requests_per_s
    assert overload.offered_per_s == pytest.approx(2500, rel=0.02)
    assert (
        overload.note
        == f"cannot keep up: {overload.offered_per_s:,.0f}/s offered, {overload.served_per_s:,.0f}/s served"
    )
    lines = str(result.brief()).splitlines()
    assert lines[0].endswith(f" · 20,000 requests, {overload.note}")
    assert "±" not in lines[1]
    assert lines[-1].startswith(overload.note)
    assert overload.note in str(result)
    assert result.response.ci95_low_ms is None
    assert result.response.ci95_note == overload.note
    assert f"g2, fcfs: {overload.note}" in str(sledsim.compare([result]))
    for calm in (
        {"workload.arrival.rate_per_s": 1100},
        {"workload": {"arrival": {"kind": "closed", "outstanding": 500}}},
    ):
        assert sledsim.run(scenario, overrides=calm).overload is None


def test_figures_after_a_warm_up_name_their_requests() -> None:
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 2000.0}}
    device = {"name": "simpledisk-constant", "access_ms": 0.88}
    run = {"time_s": 2.0, "warmup_s": 1.0}
    result = sledsim.run({"seed": 1, "workload": workload, "system": {"device": device}, "run": run})
    here = result.in_system
    assert result.throughput.requests_per_s == here.completed == pytest.approx(1 / 0.88e-3, abs=1)
    assert here.mean == pytest.approx(result.throughput.requests_per_s * here.time_ms / 1e3, rel=1e-12)
    said = f"times are of the {result.requests.measured:,} requests that arrived and completed in the measured 1"
    for text in (str(result.brief()), str(result)):
        assert said in " ".join(text.split())
    # All requests that arrived after the warm-up are still in the queue.
    result = sledsim.run({"workload": workload, "system": {"device": "g2"}, "run": {"time_s": 1.2, "warmup_s": 1.0}})
    lines = str(result.brief()).splitlines()
    assert f"{result.in_system.completed:,} requests completed, cannot keep up: " in lines[0]
    assert lines[1].startswith("throughput 1,")


def test_resolved_scenario_gives_the_same_results() -> None:
    document = {"workload": {"arrival": {"kind": "poisson", "rate_per_s": 100.0}}, "system": {"device": "g2"}}
    resolved = sledsim.scenario.resolve(document, {"run.requests": 50})
    assert sledsim.run(resolved).summary == sledsim.run(document, overrides={"run.requests": 50}).summary
    assert sledsim.run(resolved, overrides={"run.requests": 20}).requests.completed == 20
    assert sledsim.sweep.Sweep(resolved, {"seed": [7, 8]}).check().seed == 7


@pytest.mark.parametrize("kept", [{}, {"log": True, "timeline": True}])
def test_a_result_can_be_pickled(kept: dict[str, bool]) -> None:
    result = sledsim.run(SCENARIO, overrides={"run.requests": 50}, **kept)
    other = pickle.loads(pickle.dumps(result))
    assert other.to_json() == result.to_json()
    assert str(other) == str(result)
    for quantity in ("response", "wait", "service"):
        for mine, theirs in zip(result.histogram(quantity, "reads"), other.histogram(quantity, "reads"), strict=True):
            assert mine.tolist() == theirs.tolist()
    if kept:
        assert {name: column.tolist() for name, column in other.log.items()} == {
            name: column.tolist() for name, column in result.log.items()
        }
        assert str(other.timeline) == str(result.timeline)
    assert pickle.loads(pickle.dumps(other)).to_json() == result.to_json()


def test_percentiles_of_few_requests_are_noted() -> None:
    scenario = {"workload": {"arrival": {"kind": "poisson", "rate_per_s": 300.0}}, "system": {"device": "g2"}}
    brief = [sledsim.run(scenario, overrides={"run.requests": count}).brief() for count in (200, 500, 1000)]
    assert ["p99 is uncertain" in str(table) for table in brief] == [True, True, False]


def test_failed_requests_are_counted_by_cause() -> None:
    faults = [
        {"member": 0, "unreadable": [{"lbn": 0, "blocks": 2_000_000}]},
        {"member": 1, "fails_at_s": 0.5},
        {"member": 2, "fails_at_s": 2.0},
    ]
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 100.0}}
    raid5 = {"kind": "raid5", "members": ["g2"] * 3, "faults": faults}
    result = sledsim.run({"workload": workload, "system": raid5, "run": {"requests": 400}})
    causes = re.fullmatch(
        r"(\d+) requests failed: blocks can't be read; (\d+) requests failed: on failed devices", result.run.note
    )
    assert causes
    assert sum(map(int, causes.groups())) == result.requests.failed
    zoned = {"kind": "zoned", "child": "atlas10k"}
    refused = sledsim.run({"workload": workload | {"read_fraction": 0.5}, "system": zoned, "run": {"requests": 20}})
    assert f"{refused.requests.failed} requests failed: writes not at the write pointer of a zone" in refused.run.note


def test_comparisons_show_failed_requests_and_uncertain_percentiles() -> None:
    workload = {"arrival": {"kind": "poisson", "rate_per_s": 50.0}, "read_fraction": 0.5}
    zoned = {"kind": "zoned", "child": "atlas10k"}
    runs = {"managed": zoned, "rewrite": zoned | {"out_of_order": "rewrite"}}
    found = sledsim.compare(
        {name: {"workload": workload, "system": system, "run": {"requests": 20}} for name, system in runs.items()}
    )
    assert f"managed: {found['managed'].run.note}" in found.table().notes
    assert "p99.9 is uncertain, fewer than 10 requests took longer: managed; rewrite" in found.table().notes
    assert not any(note.startswith("rewrite:") and "failed" in note for note in found.table().notes)
