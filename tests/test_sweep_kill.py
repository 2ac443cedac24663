"""Sweeps that are killed, interrupted or lose their workers end with the table of one that was left alone."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT, size
from ctrl_c import interrupted, shown_on_a_terminal
from sledsim import SledsimError
from sledsim.sweep import Store, Sweep, cluster, run
from sledsim.sweep.cluster import execute_some
from waiting import PATIENCE_S, sleep_randomly, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

COMMAND = [sys.executable, "-c", "from sledsim.cli import main; main()", "sweep", "run"]


def sweep_file(folder: Path, requests: int, replications: int) -> Path:
    """Write a sweep of ten points."""
    path = folder / "small.json"
    scenario = {"workload": {"arrival": {"kind": "poisson", "rate_per_s": 500}}, "system": {"device": "g2"}}
    tables: dict[str, Any] = {
        "scenario": scenario | {"run": {"requests": requests}},
        "replications": replications,
        "axes": {
            "scheduler": ["fcfs", "sptf"],
            "workload.arrival.rate_per_s": {"from": 200, "to": 1000, "count": 5},
        },
    }
    path.write_text(json.dumps(tables))
    return path


def table_of(store: Path, folder: Path) -> dict[str, bytes]:
    """Return the tables of a store as sorted text, without the workers and times of the runs."""
    found = {}
    for table in ("runs", "parameters", "metrics", "histograms"):
        path = folder / f"{table}.csv"
        Store(store).rows(f"COPY (FROM {table} ORDER BY ALL) TO '{path}' (FORMAT csv)")
        found[table] = path.read_bytes()
    return found


#: Runs of the sweep that is killed: all together they take seconds, and results are stored once a second.
RUNS = size(800, 10_000)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """Return the file of a sweep, and its tables."""
    folder = tmp_path_factory.mktemp("undisturbed")
    file = sweep_file(folder, requests=size(10_000, 1_000), replications=RUNS // 10)
    assert run(file, folder / "s").done == RUNS
    return file, table_of(folder / "s", folder)


def files_changed_since_now(store: Path, pattern: str) -> Callable[[], bool]:
    """Return a function that returns true if files of a store have changed."""

    def state() -> set[tuple[str, int]]:
        return {(path.name, path.stat().st_mtime_ns) for path in store.glob(pattern)}

    before = state()
    return lambda: state() != before


@pytest.mark.parametrize("kills", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_a_sweep_killed_many_times_ends_with_the_same_table(
    undisturbed: tuple[Path, dict[str, bytes]], tmp_path: Path, kills: int
) -> None:
    file, expected = undisturbed
    store, moments = tmp_path / "s", random.Random(1)
    killed = 0
    for turn in range(kills):
        # Wait until it begins its runs, or until some of them are stored.
        begun = "sweeps/*.parquet" if turn % 2 else "runs/*.parquet"
        changed = files_changed_since_now(store, begun)
        with subprocess.Popen([*COMMAND, str(file), "--store", str(store), "--threads", "1"]) as process:
            wait_until(changed, process)
            sleep_randomly(moments, 0.5 if turn % 2 else 0.15)
            killed += process.poll() is None
            process.kill()
    # A fast machine may be done before the last one.
    assert killed >= kills / 2
    there = len(Store(store).rows("FROM runs"))
    assert 0 < there < RUNS or killed < kills
    report = run(file, store)
    assert (report.skipped, report.done) == (there, RUNS - there)
    assert table_of(store, tmp_path) == expected


def kill_a_worker(store: Path) -> bool:
    """Kill the process that did the last runs of the store; return true if it was still running."""
    rows = Store(store).rows("SELECT process FROM provenance ORDER BY started DESC LIMIT 1")
    try:
        os.kill(rows[0][0], signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(("most", "least"), [(1, 1), pytest.param(5, 3, marks=pytest.mark.slow)])
def test_a_cluster_whose_workers_are_killed_ends_with_the_same_table(
    undisturbed: tuple[Path, dict[str, bytes]], tmp_path: Path, most: int, least: int
) -> None:
    file, expected = undisturbed
    store, moments = tmp_path / "s", random.Random(2)
    killed = 0
    command = [*COMMAND, str(file), "--store", str(store), "--cluster", "local", "--threads", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert wait_until(lambda: list(store.glob("runs/*.parquet")), process)
        while process.poll() is None and killed < most:
            # Soon, as the sweep takes little longer than its first runs.
            sleep_randomly(moments, 0.15)
            killed += kill_a_worker(store)
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert killed >= least
    assert f"{RUNS:,} runs done" in out
    assert err == f"wrote {store}\nnext: sledsim sweep show {store}\n"
    assert table_of(store, tmp_path) == expected


def test_ctrl_c_keeps_finished_runs_and_prints_the_command_to_continue(tmp_path: Path) -> None:
    file = sweep_file(tmp_path, requests=20_000, replications=1000)
    command = [*COMMAND, str(file), "--store", str(tmp_path / "s")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert wait_until(lambda: len(list(tmp_path.glob("s/runs/*.parquet"))) >= 2, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "Traceback" not in err
    done = len(Store(tmp_path / "s").rows("FROM runs"))
    interrupted = f"interrupted: {done:,} of 10,000 runs are in {tmp_path / 's'}"
    assert f"{interrupted}; the same command runs the other {10_000 - done:,}" in err
    assert f"{done:,} runs done" in out


def test_ctrl_c_ends_a_single_long_run(tmp_path: Path) -> None:
    file = sweep_file(tmp_path, requests=4_000_000_000, replications=1)
    status, _, _ = interrupted("sweep", "run", file, "--store", tmp_path / "s")
    assert status == 130
    assert Store(tmp_path / "s").rows("FROM runs") == []


@pytest.mark.slow
def test_a_long_sweep_shows_its_progress_on_a_terminal(tmp_path: Path) -> None:
    file = sweep_file(tmp_path, requests=20_000, replications=1000)
    words = ["sweeping", "of 10,000 runs done, 0 failed, ", "/s, ", "left"]
    shown_on_a_terminal("sweep", "run", file, "--store", tmp_path / "s", words=words)


def test_unreachable_clusters_are_reported(
    tmp_path: Path, sledsim_cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "REACH_S", 1.0)
    file = sweep_file(tmp_path, requests=20, replications=1)
    result = sledsim_cli("sweep", "run", file, "--store", tmp_path / "s", "--cluster", "tcp://127.0.0.1:9")
    assert result.status == 2
    assert result.err.startswith("error: --cluster tcp://127.0.0.1:9: there is no Dask scheduler to reach")
    assert not (tmp_path / "s").exists()
    result = sledsim_cli("sweep", "run", file, "--store", tmp_path / "s", "--cluster", "nonsense")
    assert result.status == 2
    assert "expected local or the address of a Dask scheduler" in result.err


def test_schedulers_can_be_given_by_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = sweep_file(tmp_path, requests=20, replications=5)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    address = tmp_path / "scheduler.json"
    start = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--port",
        "0",
        "--no-dashboard",
        "--host",
        "127.0.0.1",
    ]
    with subprocess.Popen([*start, "--scheduler-file", str(address)], stderr=subprocess.DEVNULL) as scheduler:
        assert wait_until(lambda: address.exists() and address.read_text(), scheduler)
        where = json.loads(address.read_text())["address"]
        work = [sys.executable, "-m", "distributed.cli.dask_worker", where, "--nthreads", "2", "--no-dashboard"]
        with subprocess.Popen([*work, "--no-nanny"], stderr=subprocess.DEVNULL) as worker:
            try:
                assert run(file, tmp_path / "s", cluster=where).done == 50
                scheduler.kill()
                scheduler.wait()
                # Nothing replies: one second of retries is enough.
                monkeypatch.setattr(cluster, "REACH_S", 1.0)
                with pytest.raises(SledsimError, match="cluster"):
                    run(sweep_file(tmp_path, requests=20, replications=6), tmp_path / "s", cluster=where)
            finally:
                worker.kill()
                scheduler.kill()
    assert len(Store(tmp_path / "s").rows("FROM runs")) == 50
    run(sweep_file(tmp_path, requests=20, replications=5), tmp_path / "here")
    assert table_of(tmp_path / "s", tmp_path) == table_of(tmp_path / "here", tmp_path)


def test_batches_of_long_runs_return_in_parts(tmp_path: Path) -> None:
    sweep = Sweep.load(sweep_file(tmp_path, requests=100_000, replications=1))
    prepared = [sweep.prepare(task) for task in sweep.tasks()]
    runs = [each.scenario for each in prepared if each.scenario is not None]
    assert len(execute_some(runs, 0.0)) == 1
    assert len(execute_some(runs[:3], 600.0)) == 3
