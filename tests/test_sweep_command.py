"""The commands for sweeps: run, status, table, plot, export, diff."""

from __future__ import annotations

import csv
import json
import math
import shlex
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from scipy import stats

from conftest import TOML, examples_of
from sledsim import SledsimError
from sledsim.sweep import Results, Store, Sweep, compare_pairs, results, run
from sledsim.sweep.paired import Difference
from sledsim.sweep.parts import manifest_path
from sledsim.sweep.result_set import estimate as confidence_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

RATE = "workload.arrival.rate_per_s"
SWEEP = """
scenario = "base.toml"
replications = 6
overrides = { "run.requests" = 400 }
[axes]
scheduler = ["fcfs", "sptf"]
workload.arrival.rate_per_s = { from = 400, to = 1200, step = 400 }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a sweep that has been run."""
    path = tmp_path_factory.mktemp("sweep")
    (path / "base.toml").write_text(TOML)
    (path / "rates.toml").write_text(SWEEP)
    run(path / "rates.toml", path / "s")
    return path


@pytest.fixture
def found(folder: Path) -> Results:
    return results(folder / "s")


def test_run_prints_a_summary(tmp_path: Path, folder: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    result = sledsim_cli("sweep", "run", folder / "rates.toml", "--store", tmp_path / "s", "--threads", 1)
    assert result.status == 0
    assert result.out.startswith("rates: 36 runs done; ")
    again = sledsim_cli("sweep", "run", folder / "rates.toml", "--store", tmp_path / "s", "--json")
    report = json.loads(again.out)
    assert (report["runs"], report["done"], report["skipped"], report["complete"]) == (36, 0, 36, True)
    result = sledsim_cli("sweep", "run", folder / "rates.toml", "--store", tmp_path / "s", "--set", "run.requests=10")
    assert result.out.startswith("rates: 36 runs done; ")


def test_sweep_without_valid_runs_prints_the_reason(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    sweep = tmp_path / "all.toml"
    axes = '[axes]\nscheduler = ["fcfs", "sptf"]\n'
    sweep.write_text('scenario = { workload = { kind = "session" }, system = { device = "g2" } }\n' + axes)
    # There is no workload: this is detected before any run.
    result = sledsim_cli("sweep", "run", sweep, "--store", tmp_path / "none")
    assert (result.status, result.out) == (2, "")
    assert "requests come from the program that drives a session" in result.err
    assert not (tmp_path / "none").exists()
    trace = tmp_path / "far.csv"
    trace.write_text("t_ns,device,offset_bytes,bytes,op\n0,0,99999999999999488,512,R\n")
    workload = f'{{ kind = "trace", path = "{trace}" }}'
    sweep.write_text(f'scenario = {{ workload = {workload}, system = {{ device = "g2" }} }}\n' + axes)
    for _ in range(2):
        result = sledsim_cli("sweep", "run", sweep, "--store", tmp_path / "s")
        assert result.status == 2
        assert "every run failed; the first: " in result.err
        assert "lie beyond the device" in result.err


def test_the_store_is_named_after_the_sweep(
    tmp_path: Path, folder: Path, sledsim_cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert sledsim_cli("sweep", "run", folder / "rates.toml").status == 0
    assert sledsim_cli("sweep", "show", "rates.sweep").out.startswith("rates: 36 of 36 runs")


def test_status_prints_counts_and_the_command_to_continue(
    folder: Path, tmp_path: Path, sledsim_cli: Callable[..., Outcome]
) -> None:
    assert "rates       6             6    36       0        0" in sledsim_cli("sweep", "status", folder / "s").out
    more = folder / "more.toml"
    more.write_text(SWEEP.replace("replications = 6", "replications = 8"))
    interrupted = run(more, tmp_path / "s", progress=None)
    assert interrupted.done == 48
    for part in Store(tmp_path / "s").parts("runs"):
        manifest_path(tmp_path / "s", part.stem).unlink()
    message = sledsim_cli("sweep", "status", tmp_path / "s").out
    assert "48 runs of more are missing; to run them:" in message
    command = shlex.split(message.splitlines()[-1])
    assert command[0] == "sledsim"
    assert sledsim_cli(*command[1:]).out.startswith("more: 48 runs done; ")
    assert "to run them" not in sledsim_cli("sweep", "status", tmp_path / "s").out


def test_a_table_has_means_and_intervals_as_scipy_computes_them(found: Results) -> None:
    values = found.values("response.p99_ms")
    for point, estimate in found.estimates("response.p99_ms").items():
        of_point = [value for (number, _), value in values.items() if number == point]
        low, high = stats.t.interval(0.95, 5, mean(of_point), stdev(of_point) / math.sqrt(6))
        # The quantile is found by bisection to about 1e-15; sums differ in their last bits.
        assert estimate.mean == pytest.approx(mean(of_point), rel=1e-12)
        assert (estimate.low, estimate.high) == pytest.approx((low, high), rel=1e-9)


def test_show_prints_a_table(folder: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    lines = sledsim_cli("sweep", "show", folder / "s", "-m", "response.mean_ms", "-m", "queue.max").out.splitlines()
    assert lines[1].split() == ["scheduler", RATE, "runs", "response,", "mean", "(ms)", "95", "%", "±", "queue,", "max",
                                "(requests)", "95", "%", "±"]  # fmt: skip
    assert [line.split()[:3] for line in lines[3:5]] == [["fcfs", "400", "6"], ["fcfs", "800", "6"]]
    document = json.loads(sledsim_cli("sweep", "show", folder / "s", "--json").out)
    assert document["parameters"] == ["scheduler", RATE]
    assert document["points"][0]["metrics"]["response.mean_ms"]["count"] == 6


def test_unknown_metrics_suggest_the_nearest(folder: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    result = sledsim_cli("sweep", "show", folder / "s", "-m", "response.mean")
    assert result.status == 2
    assert "no metric 'response.mean'; did you mean response.mean_ms?" in result.err
    result = sledsim_cli("sweep", "show", folder / "s", "-m", "controlled_response.mean_ms")
    assert result.status == 2
    assert "control variates need Poisson arrivals at a single drive" in result.err


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
def test_export_has_a_row_for_each_run(
    folder: Path, found: Results, tmp_path: Path, sledsim_cli: Callable[..., Outcome], suffix: str
) -> None:
    path = tmp_path / f"rates{suffix}"
    assert sledsim_cli("sweep", "show", folder / "s", "--out", path).status == 0
    with duckdb.connect() as connection:
        rows = connection.execute(f"SELECT point, replication, \"response.mean_ms\" FROM '{path}'").fetchall()
    assert {(point, replication): value for point, replication, value in rows} == found.values("response.mean_ms")


def test_export_of_some_metrics_and_of_tables(
    folder: Path, tmp_path: Path, sledsim_cli: Callable[..., Outcome]
) -> None:
    sledsim_cli("sweep", "show", folder / "s", "--out", tmp_path / "some.csv", "-m", "queue.max")
    with (tmp_path / "some.csv").open() as file:
        header = next(csv.reader(file))
    assert header == ["point", "replication", "seed", "status", "scheduler", RATE, "queue.max", "key"]
    assert sledsim_cli("sweep", "show", folder / "s", "--out", tmp_path / "h.csv", "--table", "histograms").status == 0
    assert (tmp_path / "h.csv").read_text().startswith("key,quantity,low_ms,high_ms,count\n")
    assert (
        "did you mean runs?"
        in sledsim_cli("sweep", "show", folder / "s", "--out", tmp_path / "x.csv", "--table", "run").err
    )
    assert "unknown kind of file" in sledsim_cli("sweep", "show", folder / "s", "--out", tmp_path / "x.xls").err


def test_common_random_numbers_pair_and_narrow_the_interval(found: Results) -> None:
    comparison = compare_pairs(found, axis=("scheduler", "fcfs", "sptf"))
    values = found.values("response.mean_ms")
    by_point = {found.points[point][RATE]: {} for point in found.points}  # type: ignore[var-annotated]
    for (point, replication), value in values.items():
        by_point[found.points[point][RATE]].setdefault(found.points[point]["scheduler"], {})[replication] = value
    for each in comparison.differences(["response.mean_ms"])[:-1]:
        assert each.values is not None
        sides = by_point[each.values[RATE]]
        first, second = ([sides[name][i] for i in range(6)] for name in ("fcfs", "sptf"))
        test = stats.ttest_rel(second, first)
        assert each.difference.mean == pytest.approx(mean(second) - mean(first))
        interval = test.confidence_interval(0.95)
        assert (each.difference.low, each.difference.high) == pytest.approx((interval.low, interval.high), rel=1e-6)
        assert (each.verdict == "may be chance") == (test.pvalue > 0.05)
        unpaired = stats.ttest_ind(second, first, equal_var=False).confidence_interval(0.95)
        half_width = each.difference.half_width
        assert half_width is not None
        assert half_width < (unpaired.high - unpaired.low) / 2
    whole = comparison.differences(["response.mean_ms"])[-1]
    over_points = [mean(by_point[rate]["sptf"][i] - by_point[rate]["fcfs"][i] for rate in by_point) for i in range(6)]
    interval = stats.ttest_1samp(over_points, 0).confidence_interval(0.95)
    assert (whole.difference.low, whole.difference.high) == pytest.approx((interval.low, interval.high), rel=1e-6)


def test_comparison_of_an_axis(folder: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    result = sledsim_cli("sweep", "compare", folder / "s", "--axis", "scheduler=fcfs,sptf", "-m", "response.mean_ms")
    assert result.out.splitlines()[:2] == ["A: scheduler = fcfs", "B: scheduler = sptf"]
    assert "all points" in result.out
    assert "B is lower" in result.out
    document = json.loads(
        sledsim_cli(
            "sweep", "compare", folder / "s", "--axis", "scheduler=fcfs,sptf", "--json", "-m", "energy.total_j"
        ).out
    )
    assert [each["pairs"] for each in document["differences"]] == [6, 6, 6, 6]


def test_comparison_of_two_stores_and_of_two_sweeps_of_a_store(
    folder: Path, tmp_path: Path, sledsim_cli: Callable[..., Outcome]
) -> None:
    other = Sweep.load(folder / "rates.toml", overrides=["device=g3"])
    run(other, tmp_path / "s")
    result = sledsim_cli("sweep", "compare", folder / "s", tmp_path / "s", "-m", "response.mean_ms")
    assert result.out.count("B is lower") == 7
    second = Sweep(other.scenario, other.axes, replications=6, overrides=other.overrides, name="g3")
    run(second, tmp_path / "s")
    result = sledsim_cli(
        "sweep", "compare", tmp_path / "s", "--sweep", "rates", "--sweep", "g3", "-m", "response.mean_ms"
    )
    assert result.out.count("the same") == 7


def test_runs_without_common_seeds_are_not_paired(folder: Path, tmp_path: Path) -> None:
    base = Sweep.load(folder / "rates.toml")
    independent = Sweep(
        base.scenario,
        base.axes,
        replications=6,
        random_numbers="independent",
        overrides=base.overrides,
        name="independent",
    )
    run(independent, tmp_path / "s")
    found = results(tmp_path / "s")
    with pytest.raises(SledsimError, match="have no seeds in common"):
        compare_pairs(found, axis=("scheduler", "fcfs", "sptf"))
    with pytest.raises(SledsimError, match="have no seeds in common"):
        compare_pairs(results(folder / "s"), found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give two stores, two --sweep, or --axis"),
        (["--axis", "scheduler"], "expected an axis and two of its values"),
        (["--axis", "schedulr=fcfs,sptf"], "did you mean scheduler?"),
        (["--axis", "scheduler=fcfs,spft"], "did you mean sptf?"),
        (["--sweep", "rates", "--sweep", "nosuch"], "no sweep 'nosuch'"),
    ],
)
def test_invalid_comparisons_are_refused(
    folder: Path, sledsim_cli: Callable[..., Outcome], arguments: list[str], message: str
) -> None:
    result = sledsim_cli("sweep", "compare", folder / "s", *arguments)
    assert result.status == 2
    assert message in result.err


def test_plot_draws_every_point_and_its_interval(found: Results) -> None:
    chart: dict[str, Any] = found.plot("response.mean_ms").to_dict()
    area, line, points = chart["layer"]
    assert [layer["mark"]["type"] for layer in (area, line, points)] == ["area", "line", "point"]
    assert points["encoding"]["x"]["title"] == RATE
    assert points["encoding"]["color"]["title"] == "scheduler"
    (rows,) = chart["datasets"].values()
    assert len(rows) == 6
    assert all(row["low"] < row["mean"] < row["high"] for row in rows)
    assert {(row["x"], row["colour"]) for row in rows} == {
        (x, c) for x in (400.0, 800.0, 1200.0) for c in ("fcfs", "sptf")
    }


def test_plot_by_name_and_with_panels(found: Results) -> None:
    chart: dict[str, Any] = found.plot("response.mean_ms", x="scheduler", facet=RATE, log_scale=True).to_dict()
    assert chart["facet"]["title"] == RATE
    marks = [layer["mark"]["type"] for layer in chart["spec"]["layer"]]
    assert marks == ["rule", "point"]
    assert chart["spec"]["layer"][0]["encoding"]["y"]["field"] == "low"


@pytest.mark.parametrize("suffix", [".png", ".svg", ".html"])
def test_pictures_of_sweeps(folder: Path, tmp_path: Path, sledsim_cli: Callable[..., Outcome], suffix: str) -> None:
    path = tmp_path / f"rates{suffix}"
    assert sledsim_cli("sweep", "show", folder / "s", "--plot", path, "--log-scale").status == 0
    assert path.stat().st_size > 5000


def test_charts_over_an_unknown_axis_are_refused(
    folder: Path, tmp_path: Path, sledsim_cli: Callable[..., Outcome]
) -> None:
    result = sledsim_cli("sweep", "show", folder / "s", "--plot", tmp_path / "x.png", "--x", "device")
    assert result.status == 2
    assert "--x 'device' is not an axis of the sweep" in result.err


def test_saturated_points_have_no_interval(tmp_path: Path) -> None:
    base = {
        "workload": {"arrival": {"kind": "poisson", "rate_per_s": 500.0}},
        "system": {"device": "g2"},
        "run": {"requests": 2000},
    }
    rates = {"scheduler": ["fcfs", "look"], "workload.arrival.rate_per_s": [500, 4000]}
    run(Sweep(base, rates, replications=2, seed=1, name="rates"), tmp_path / "s")
    found = results(tmp_path / "s")
    overloaded = [point for point, values in found.points.items() if values[RATE] == "4000"]
    assert list(found.overloads) == overloaded
    for point, estimate in found.estimates("response.mean_ms").items():
        assert (estimate.half_width is None) == (point in overloaded)
    assert all(estimate.half_width is not None for estimate in found.estimates("throughput.requests_per_s").values())
    text = str(found)
    assert "cannot keep up: " in text
    assert "/s served (scheduler = fcfs, workload.arrival.rate_per_s = 4000)" in " ".join(text.split())
    assert [row["overload"] is not None for row in found.to_dict()["points"]] == [
        point in overloaded for point in sorted(found.points)
    ]
    differences = compare_pairs(found, axis=("scheduler", "fcfs", "look")).differences(["response.mean_ms"])
    verdicts = {(each.values or {}).get(RATE): each.verdict for each in differences}
    assert verdicts.pop("500") in ("may be chance", "B is lower", "B is higher")
    assert verdicts == {"4000": "A and B cannot keep up", None: "A and B cannot keep up"}


def test_tables_count_runs_with_failed_requests(tmp_path: Path) -> None:
    base = {
        "workload": {"arrival": {"kind": "poisson", "rate_per_s": 50.0}, "read_fraction": 0.5},
        "system": {"kind": "zoned", "child": "atlas10k"},
        "run": {"requests": 20},
    }
    run(Sweep(base, {"system.out_of_order": ["refuse", "rewrite"]}, replications=2, name="zones"), tmp_path / "s")
    assert "some requests failed in 2 runs" in str(results(tmp_path / "s"))


@pytest.mark.parametrize("path", examples_of("sweep"), ids=lambda path: path.stem)
def test_sweep_examples_run(path: Path, tmp_path: Path) -> None:
    sweep = Sweep.load(path, overrides=["run.requests=50", "run.warmup_requests=0"])
    short = Sweep(
        sweep.scenario,
        sweep.axes,
        zip=sweep.zip,
        sample=sweep.sample,
        overrides=sweep.overrides,
        name=sweep.name,
    )
    report = run(short, tmp_path / "s")
    assert (report.done, report.failed) == (len(short), 0)
    results(tmp_path / "s").plot()


@pytest.mark.parametrize(("second", "verdict"), [(0.6298 + 1e-16, "the same"), (0.6299, "B is higher")])
def test_rounding_differences_count_as_equal(second: float, verdict: str) -> None:
    apart = second - 0.6298
    difference = Difference(None, "energy.per_request_mj", 0.6298, second, confidence_of([apart, 0.9 * apart, apart]))
    assert difference.verdict == verdict


def test_moved_stores_continue(sledsim_cli: Callable[..., Outcome], folder: Path, tmp_path: Path) -> None:
    old, new, sweep = tmp_path / "old", tmp_path / "a new place", folder / "rates.toml"
    assert sledsim_cli("sweep", "run", sweep, "--store", old, "--set", "run.requests=20").status == 0
    old.rename(new)
    for part in Store(new).parts("runs"):
        manifest_path(new, part.stem).unlink()
    command = f"sledsim sweep run {sweep} --store '{new}' --set run.requests=20"
    assert sledsim_cli("sweep", "status", new).out.endswith(f"to run them:\n  {command}\n")
    assert json.loads(sledsim_cli("sweep", "status", new, "--json").out)["sweeps"][0]["command"] == command


def test_file_names_invalid_as_sweep_names_are_reported(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(TOML)
    named = tmp_path / "sw (1).toml"
    named.write_text(SWEEP)
    found = sledsim_cli("sweep", "run", named, "--store", tmp_path / "s")
    says = "the sweep has the name of its file, 'sw (1)'; expected letters, digits and any of '-_. +'"
    remedy = 'add name = "sw 1" to it, or rename it'
    assert (found.status, found.err) == (2, f"error: {named}: {says}: {remedy}\n")
    named.write_text(f'name = "sw 1"\n{SWEEP}')
    assert sledsim_cli("sweep", "run", named, "--store", tmp_path / "s", "--set", "run.requests=20").status == 0
