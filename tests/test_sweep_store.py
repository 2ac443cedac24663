"""Stores of sweeps: written, skipped, retried, merged and refused runs."""

from __future__ import annotations

import json
import math
import os
import resource
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import sledsim
from conftest import size
from sledsim.sweep import Evaluation, Progress, Store, StoreError, Sweep, compare_pairs, recording, results, run
from sledsim.sweep import status as status_of
from sledsim.sweep.tables import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome

BASE: dict[str, Any] = {
    "seed": 3,
    "workload": {"arrival": {"kind": "poisson", "rate_per_s": 600.0}},
    "system": {"device": "g2", "scheduler": "sptf"},
    "run": {"requests": 50},
}
RATE = "workload.arrival.rate_per_s"
SWEEP = Sweep(BASE, {"scheduler": ["fcfs", "sptf"], RATE: [300, 900]}, replications=3, name="rates")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of the finished sweep."""
    store = tmp_path_factory.mktemp("finished") / "s"
    report = run(SWEEP, store)
    assert (report.runs, report.done, report.failed, report.skipped, report.complete) == (12, 12, 0, 0, True)
    return store


@pytest.fixture
def store(finished: Path, tmp_path: Path) -> Path:
    """Return a copy of the store of the finished sweep."""
    return shutil.copytree(finished, tmp_path / "s")


def everything(store: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return the tables that follow from the scenarios of a store alone."""
    place = Store(store)
    return {
        table: sorted(place.rows(f"FROM {table}"), key=str)
        for table in COLUMNS
        if table not in ("provenance", "sweeps")
    }


def test_stored_results_equal_those_of_single_runs(finished: Path) -> None:
    store = Store(finished)
    place = store.rows(
        "SELECT key FROM parameters WHERE replication = 1 GROUP BY key "
        "HAVING bool_or(value = 'fcfs') AND bool_or(number = 900)"
    )
    ((key,),) = place
    seed = [task.seed for task in SWEEP.tasks()][4]
    single = sledsim.run(BASE, overrides={"scheduler": "fcfs", RATE: 900, "seed": seed})
    metrics = dict(store.rows("SELECT metric, value FROM metrics WHERE key = ?", [key]))
    assert metrics["response.mean_ms"] == single.response.mean_ms
    assert metrics["energy.states.seek.energy_j"] == next(
        state["energy_j"] for state in single["energy"]["states"] if state["state"] == "seek"
    )
    assert metrics["requests.completed"] == 50
    bins = store.rows("SELECT low_ms, count FROM histograms WHERE key = ? AND quantity = 'wait' ORDER BY 1", [key])
    wait = single["histogram"]["wait"]
    filled = zip(wait["edges_ms"], wait["counts"], strict=False)
    assert bins == [(low, count) for low, count in filled if count]
    ((status, error, version, its_seed, scenario),) = store.rows("SELECT * EXCLUDE key FROM runs WHERE key = ?", [key])
    assert (status, error, version, its_seed) == ("done", None, sledsim.__version__, seed)
    assert json.loads(scenario) == single.summary["scenario"]
    ((citations, seconds),) = store.rows("SELECT citations, seconds FROM provenance WHERE key = ?", [key])
    assert citations == "; ".join(single["citations"])
    assert seconds > 0


def test_tables_are_as_documented(finished: Path) -> None:
    store = Store(finished)
    for table, columns in COLUMNS.items():
        relation = store.relation(table)
        assert dict(zip(relation.columns, map(str, relation.types), strict=True)) == columns
        # Other programs can read the parts directly.
        with duckdb.connect() as connection:
            parts = f"'{finished}/{table}/*.parquet'"
            direct = connection.execute(f"SELECT count(*) FROM {parts}").fetchall()
        assert direct == relation.count("*").fetchall()


@pytest.mark.parametrize("folder", ["value=7", "status=failed", "~", "file:", "a[b]*"])
def test_folder_names_do_not_affect_content(
    store: Path, finished: Path, tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(folder).mkdir()
    store.rename(Path(folder) / "s")
    assert everything(Path(folder) / "s") == everything(finished)


def test_reruns_skip_finished_runs(store: Path, finished: Path) -> None:
    again = run(SWEEP, store)
    assert (again.done, again.skipped) == (0, 12)
    assert everything(store) == everything(finished)
    longer = Sweep(BASE, SWEEP.axes, replications=5, name="rates")
    assert (run(longer, store).done, len(results(store).keys)) == (8, 20)


def test_another_seed_scenario_or_version_is_another_run(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(Sweep(BASE, SWEEP.axes, replications=3, seed=4), store).skipped == 0
    assert run(Sweep(BASE, SWEEP.axes, replications=3, overrides=["run.requests=51"]), store).skipped == 0
    monkeypatch.setattr("sledsim._core.__version__", "99.0")
    monkeypatch.setattr("sledsim.sweep.recording.__version__", "99.0")
    monkeypatch.setattr("sledsim.sweep.running.__version__", "99.0")
    sledsim.sweep.execution._here.cache_clear()
    assert run(SWEEP, store).skipped == 0
    sledsim.sweep.execution._here.cache_clear()


def test_several_sweeps_share_runs(store: Path) -> None:
    other = Sweep(BASE, {"scheduler": ["sptf"], RATE: [300, 500]}, replications=3, name="other")
    report = run(other, store)
    assert (report.skipped, report.done) == (3, 3)
    assert len(results(store, "rates").keys) == 12
    assert len(results(store, "other").keys) == 6
    with pytest.raises(StoreError, match="holds several sweeps; choose one with sweep: other, rates"):
        results(store)


def test_a_changed_sweep_shows_its_own_points(store: Path) -> None:
    [first] = Store(store).definitions()
    changed = Sweep(BASE, {"scheduler": ["fcfs"], RATE: [300, 600]}, replications=3, name="rates")
    assert run(changed, store).skipped == 3
    assert [point[RATE] for point in results(store).points.values()] == ["300", "600"]
    assert len(results(store, f"rates@{first.definition}").keys) == 12


def test_changed_traces_are_rerun_and_moved_ones_are_not(tmp_path: Path, trace_file: Path) -> None:
    def sweep(path: Path) -> Sweep:
        return Sweep({"workload": {"path": str(path)}, "system": {"device": "g2"}}, {"scheduler": ["fcfs", "sptf"]})

    assert run(sweep(trace_file), tmp_path / "s").done == 2
    (tmp_path / "elsewhere").mkdir()
    moved = Path(shutil.copy(trace_file, tmp_path / "elsewhere" / trace_file.name))
    assert run(sweep(moved), tmp_path / "s").skipped == 2
    with trace_file.open("a") as file:
        file.write("60000000,0,0,4096,R\n")
    changed = run(sweep(trace_file), tmp_path / "s")
    assert (changed.done, len(results(tmp_path / "s").keys)) == (2, 2)


def test_failed_runs_are_recorded_and_retried_on_request(
    tmp_path: Path, trace_file: Path, sledsim_cli: Callable[..., Outcome]
) -> None:
    trace_file.write_text(trace_file.read_text() + "90000000,0,5000000000000,4096,R\n")
    base = {"workload": {"path": str(trace_file)}, "system": {"device": "g2"}}
    sweep = Sweep(base, {"workload.fit": ["error", "wrap"], "scheduler": ["fcfs", "sptf"]}, name="beyond")
    store = tmp_path / "s"
    report = run(sweep, store)
    assert (report.done, report.failed) == (2, 2)
    [standing] = status_of(Store(store))
    assert {(fault.kind, fault.file) for each in standing.failures for fault in each.faults} == {
        ("misfit", str(trace_file))
    }
    [distinct] = {str(each.error) for each in standing.failures}
    assert run(sweep, store).skipped == 4
    result = sledsim_cli("sweep", "status", store)
    assert result.out.count(distinct) == 2
    assert "workload.fit = error, scheduler = sptf" in result.out
    with pytest.raises(StoreError, match="no pair of runs is complete"):
        compare_pairs(results(store), axis=("workload.fit", "error", "wrap")).table()
    again = run(sweep, store, retry_failed=True)
    assert (again.failed, again.skipped) == (2, 2)
    assert len(everything(store)["runs"]) == 4
    status = json.loads(sledsim_cli("sweep", "status", store, "--json").out)["sweeps"][0]
    assert (status["done"], status["failed"], status["missing"], len(status["failures"])) == (2, 2, 0, 2)
    held = Store(store).rows("SELECT faults FROM runs WHERE faults IS NOT NULL")
    assert [json.loads(text) for (text,) in held] == [each["faults"] for each in status["failures"]]
    assert [each["error"] for each in status["failures"]] == [distinct] * 2


def test_later_success_replaces_a_failure(tmp_path: Path) -> None:
    # The trace is missing at first, so the run fails, and its key is unknown.
    trace = tmp_path / "late.csv"
    base = {"workload": {"path": str(trace)}, "system": {"device": "g2"}}
    sweep = Sweep(BASE, zip=[{"scheduler": ["fcfs", "look"]}], name="late")
    run(sweep, tmp_path / "s")
    with Evaluation(base, tmp_path / "s", name="late-trace") as evaluation:
        assert evaluation.evaluate([{"scheduler": "fcfs"}])[0][0].error == f"{trace}: No such file or directory"
    trace.write_text("t_ns,device,offset_bytes,bytes,op\n0,0,0,4096,R\n")
    with Evaluation(base, tmp_path / "s", name="late-trace") as evaluation:
        assert evaluation.evaluate([{"scheduler": "fcfs"}])[0][0].error is None


def test_evaluations_of_different_bases_are_different(tmp_path: Path, trace_file: Path) -> None:
    top, low = tmp_path / "top.json", tmp_path / "low.json"
    top.write_text('{"base": "low.json"}')

    def runs_of() -> dict[str, tuple[int, int]]:
        with Evaluation(top, tmp_path / "s", name="based") as evaluation:
            [[found]] = evaluation.evaluate([{"scheduler": "fcfs"}])
        assert found.error is None
        return {
            each.definition.definition: (each.definition.points, each.done) for each in status_of(Store(tmp_path / "s"))
        }

    low.write_text(json.dumps(BASE))
    assert set(runs_of().values()) == {(1, 1)}
    assert len(runs_of()) == 1
    low.write_text(json.dumps(BASE | {"seed": 4}))
    assert list(runs_of().values()) == [(1, 1)] * 2
    # A trace is identified by its content.
    for written in ("", "60000000,0,0,4096,R\n"):
        trace_file.write_text(trace_file.read_text() + written)
        low.write_text(json.dumps({"workload": {"path": str(trace_file)}, "system": {"device": "g2"}}))
        found = runs_of()
    assert list(found.values()) == [(1, 1)] * 4


def test_faults_of_points_are_data(tmp_path: Path) -> None:
    points = [{"device.bit_nm": -1}]
    for _ in range(2):
        with Evaluation(BASE, tmp_path / "s") as evaluation:
            [[found]] = evaluation.evaluate(points)
        [fault] = found.faults
        assert (fault.kind, fault.path, fault.value) == ("out-of-range", "system.device.bit_nm", -1)
        assert found.error == str(fault)


def test_evaluations_reuse_stored_results(tmp_path: Path) -> None:
    points = [{"scheduler": "fcfs"}, {"scheduler": "sptf"}, {"scheduler": "fcfs"}]
    found = []
    for _ in range(2):
        with Evaluation(BASE, tmp_path / "s", replications=2) as evaluation:
            found.append(evaluation.evaluate(points))
    assert found[0] == found[1]
    assert found[0][0] == found[0][2]
    assert [run_.seed for run_ in found[0][0]] == [run_.seed for run_ in found[0][1]]
    assert len(everything(tmp_path / "s")["runs"]) == 4
    assert found[0][0][0].metrics["response.mean_ms"] > 0


def test_folders_with_other_files_are_not_changed(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match="is not a store, and not empty"):
        run(SWEEP, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_partially_created_stores_are_completed(tmp_path: Path) -> None:
    (tmp_path / "s" / "runs").mkdir(parents=True)
    assert run(SWEEP, tmp_path / "s").done == 12


def test_merging_small_batches_changes_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = 5
    monkeypatch.setattr("sledsim.sweep.store.MANY_BATCHES", many)
    for number in range(many):
        run(Sweep(BASE, {RATE: [100 + number]}, name=f"n{number}"), tmp_path / "s")
    store = Store(tmp_path / "s")
    assert len(store.parts("metrics")) < many
    assert len(everything(tmp_path / "s")["runs"]) == many
    before, copy = everything(tmp_path / "s"), shutil.copytree(tmp_path / "s", tmp_path / "copy")
    Store(copy).writer().merge()
    assert everything(copy) == before
    # A process that is killed before it removes the merged parts leaves both.
    shutil.copytree(tmp_path / "s", copy, dirs_exist_ok=True)
    assert everything(copy) == before


def test_threads_write_a_store_while_others_read(tmp_path: Path) -> None:
    Store.create(tmp_path / "s")
    each = size(10, 40)
    sweeps = [
        Sweep(BASE, {"scheduler": ["fcfs", "sptf"], RATE: [300, 900]}, replications=each, name=f"n{number}")
        for number in range(3)
    ]
    errors: list[BaseException] = []

    def work(sweep: Sweep) -> None:
        try:
            run(sweep, tmp_path / "s", threads=1)
        except BaseException as error:
            errors.append(error)

    writers = [threading.Thread(target=work, args=(sweep,)) for sweep in sweeps]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        rows = Store(tmp_path / "s").rows("SELECT key, count(*) FROM runs GROUP BY key HAVING count(*) > 1")
        assert rows == []
        # A run has rows in all tables or in none.
        assert Store(tmp_path / "s").rows("SELECT key FROM runs ANTI JOIN metrics USING (key)") == []
        assert Store(tmp_path / "s").rows("SELECT key FROM runs ANTI JOIN parameters USING (key)") == []
    assert not errors
    run(Sweep(BASE, sweeps[0].axes, replications=each, name="n0"), tmp_path / "alone")
    assert everything(tmp_path / "s")["metrics"] == everything(tmp_path / "alone")["metrics"]
    for number in range(3):
        assert len(results(tmp_path / "s", f"n{number}").keys) == 4 * each


WRITER = """
import json, sys
from sledsim.sweep import Sweep, run
base, axes, name, store = json.loads(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
run(Sweep(base, axes, replications=int(sys.argv[2]), name=name), store, threads=1)
"""


def test_processes_write_a_store_while_others_read(tmp_path: Path) -> None:
    store, each = tmp_path / "s", size(15, 60)
    axes: dict[str, Any] = {"scheduler": ["fcfs", "sptf"], RATE: [300, 900]}
    asked = [(axes, "common"), (axes, "common"), ({"scheduler": ["look"], RATE: [300, 900]}, "own")]
    writers = []
    for axes_of_one, name in asked:
        command = [sys.executable, "-c", WRITER, json.dumps([BASE, axes_of_one, name, str(store)]), str(each)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        writers.append(subprocess.Popen(command, text=True, **pipes))
    for writer in writers:
        assert writer.stdout
        assert writer.stdout.readline() == "ready\n"
    # All at once: the first one creates, fills or merges the store.
    for writer in writers:
        assert writer.stdin
        writer.stdin.write("begin\n")
        writer.stdin.flush()
    while any(writer.poll() is None for writer in writers):
        if (store / "store.json").exists():
            twice = Store(store).rows("SELECT key, count(*) FROM runs GROUP BY key HAVING count(*) > 1")
            apart = Store(store).rows("SELECT key FROM runs ANTI JOIN metrics USING (key)")
            assert (twice, apart) == ([], [])
    for writer in writers:
        _, said = writer.communicate()
        assert writer.returncode == 0, said
    processes = {process for (process,) in Store(store).rows("SELECT process FROM provenance")}
    assert writers[2].pid in processes <= {writer.pid for writer in writers}
    for axes_of_one, name in asked[1:]:
        run(Sweep(BASE, axes_of_one, replications=each, name=name), tmp_path / "alone")
    for table in ("metrics", "histograms", "parameters"):
        assert everything(store)[table] == everything(tmp_path / "alone")[table]


FULL = """
import resource, sys
from sledsim.cli import main
# A limit on the file size has the effect of a full disk.
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
main()
"""


def test_full_disks_are_reported(tmp_path: Path, sledsim_command: Callable[..., Outcome]) -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    file = tmp_path / "rates.json"
    tables = {"scenario": BASE, "axes": {"scheduler": ["fcfs", "sptf"], RATE: [300, 900]}, "replications": 3}
    file.write_text(json.dumps(tables))
    run(Sweep.load(file), tmp_path / "s")
    before = everything(tmp_path / "s")
    tables["replications"] = size(30, 60)
    file.write_text(json.dumps(tables))
    command = [sys.executable, "-c", FULL, "4000", "sweep", "run", str(file), "--store", str(tmp_path / "s")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "cannot be written" in done.stderr
    assert "File too large" in done.stderr
    assert not list((tmp_path / "s").rglob("*.unfinished"))
    assert set(before["runs"]) <= set(everything(tmp_path / "s")["runs"])
    assert sledsim_command("sweep", "run", file, "--store", tmp_path / "s").status == 0
    run(Sweep.load(file), tmp_path / "other")
    assert everything(tmp_path / "s") == everything(tmp_path / "other")


@pytest.mark.parametrize(("interval_s", "reports"), [(0.0, 21), (math.inf, 1)])
def test_finished_runs_are_stored_at_each_interval(
    interval_s: float, reports: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "FLUSH_S", interval_s)
    stored = []

    def look(progress: Progress) -> None:
        # Reported runs are on the disk.
        assert len(Store(tmp_path / "s").rows("FROM runs")) == progress.over
        stored.append(progress.over)

    report = run(Sweep(BASE, {RATE: [500]}, replications=20), tmp_path / "s", threads=1, progress=look)
    assert (report.done, len(stored)) == (20, reports)
    assert os.getpid() in {process for (process,) in Store(tmp_path / "s").rows("SELECT process FROM provenance")}
