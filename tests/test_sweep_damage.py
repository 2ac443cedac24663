"""Stores of sweeps that lost something, or hold what no sweep has written: told by its file, and mended by a rerun."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from sledsim.sweep import Evaluation, Store, StoreError, Sweep, results, run
from sledsim.sweep import status as status_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Outcome

BASE: dict[str, Any] = {
    "seed": 3,
    "workload": {"arrival": {"kind": "poisson", "rate_per_s": 600.0}},
    "system": {"device": "g2"},
    "run": {"requests": 50},
}
SWEEP = Sweep(BASE, {"scheduler": ["fcfs", "sptf"]}, replications=2, name="two")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a store of four runs in one part."""
    run(SWEEP, tmp_path / "s", threads=1)
    Store(tmp_path / "s").writer().merge()
    return tmp_path / "s"


def rewritten(store: Path, table: str, query: str, *, mark: str = "2", name: str | None = None) -> Path:
    """Write a part of a table anew, from what a query makes of the table ``old``; another one where it has a name."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE old AS FROM '{store}/{table}/*.parquet'")
        parts = Store(store).parts(table)
        for part in [] if name else parts:
            part.unlink()
        target = store / table / name if name else parts[0]
        options = f"FORMAT parquet, KV_METADATA {{sledsim_sweep_schema: '{mark}'}}"
        connection.execute(f"COPY ({query}) TO '{target}' ({options})")
    return target


def without_metrics(store: Path) -> None:
    for part in Store(store).parts("metrics"):
        part.unlink()


def with_none(store: Path) -> None:
    rewritten(store, "metrics", "FROM old WHERE false")


def with_some(store: Path) -> None:
    rewritten(store, "metrics", "FROM old WHERE key <> (SELECT min(key) FROM old)")


@pytest.mark.parametrize(("lose", "lost"), [(without_metrics, 4), (with_none, 4), (with_some, 1)])
def test_runs_that_lost_their_metrics_are_run_again(
    store: Path, sledsim_cli: Callable[..., Outcome], lose: Callable[[Path], None], lost: int
) -> None:
    before = sorted(Store(store).rows("FROM metrics"))
    lose(store)
    [standing] = status_of(store)
    assert (standing.done, standing.missing) == (4 - lost, lost)
    said = f"{lost} of them done before and without metrics now"
    assert f"INCOMPLETE ({lost} runs are missing, {said})" in sledsim_cli("sweep", "table", store).out
    assert f"{lost} runs of two are missing ({said}); to go on:" in sledsim_cli("sweep", "status", store).out
    again = run(SWEEP, store)
    assert (again.done, again.skipped) == (lost, 4 - lost)
    assert sorted(Store(store).rows("FROM metrics")) == before
    assert "INCOMPLETE" not in sledsim_cli("sweep", "table", store).out


def test_two_values_of_a_metric_are_refused_by_the_names_of_their_parts(
    store: Path, tmp_path: Path, sledsim_cli: Callable[..., Outcome]
) -> None:
    rewritten(store, "metrics", "SELECT key, metric, value + 1 AS value FROM old", name="more.parquet")
    for words in (["table", store], ["export", store, "--out", tmp_path / "x.csv"]):
        told = sledsim_cli("sweep", *words)
        assert (told.status, told.out) == (2, "")
        assert "has two values of" in told.err
        assert "more.parquet" in told.err
    with pytest.raises(StoreError, match="has two values of"), Evaluation(BASE, store, replications=2) as evaluation:
        evaluation.evaluate([{"scheduler": "sptf"}])
    # Of one part that has both, that is the file.
    rewritten(store, "metrics", "FROM old")
    with pytest.raises(StoreError, match="has two values of") as refused:
        results(store, "two").values("response.mean_ms")
    assert refused.value.faults[0].file == str(Store(store).parts("metrics")[0])


def test_a_part_by_another_schema_is_refused(store: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    part = rewritten(store, "metrics", "FROM old", mark="99")
    told = sledsim_cli("sweep", "table", store)
    assert told.status == 2
    assert told.err.startswith(f"error: {part}: written by schema 99 of the tables; this version")
    with pytest.raises(StoreError, match="written by schema 99"):
        run(SWEEP, store)


@pytest.mark.parametrize(
    ("table", "query"),
    [
        ("metrics", "SELECT * REPLACE (value::VARCHAR AS value) FROM old"),
        ("metrics", "SELECT * REPLACE ('x' AS value) FROM old"),
        ("metrics", "SELECT * REPLACE (NULL::DOUBLE AS value) FROM old"),
        ("metrics", "SELECT * EXCLUDE (value) FROM old"),
        ("runs", "SELECT * REPLACE (NULL::VARCHAR AS key) FROM old"),
        ("runs", "SELECT * REPLACE (1 AS status) FROM old"),
        ("parameters", "SELECT * REPLACE ('x' AS point) FROM old"),
        ("parameters", "SELECT * REPLACE (NULL::INTEGER AS replication) FROM old"),
    ],
)
def test_a_part_of_other_columns_is_refused_by_its_name(
    store: Path, sledsim_cli: Callable[..., Outcome], table: str, query: str
) -> None:
    part = rewritten(store, table, query)
    for command in ("table", "status"):
        told = sledsim_cli("sweep", command, store)
        says = "is no part of a store, or is damaged: move it away, or put back what was there"
        assert (told.status, told.err) == (2, f"error: {part}: {says}\n")


@pytest.mark.parametrize(
    "wrong",
    [
        {"started": "today"},
        {"started": 1e300},
        {"started": None},
        {"points": "4"},
        {"points": -1},
        {"points": 2.5},
        {"parameters": "scheduler"},
        {"parameters": [1]},
        {"sweep": 7},
        {"replications": 0},
        {"replications": None},
        {"random_numbers": "none"},
        {"more": 1},
    ],
)
def test_a_sweep_of_other_values_is_refused_by_its_name(
    store: Path, sledsim_cli: Callable[..., Outcome], wrong: dict[str, Any]
) -> None:
    [file] = store.glob("sweeps/*.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | wrong))
    for command in ("table", "status"):
        told = sledsim_cli("sweep", command, store)
        says = "is not what a sweep writes there: remove it, or run the sweep into another store"
        assert (told.status, told.err) == (2, f"error: {file}: {says}\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads what nobody may")
@pytest.mark.parametrize("table", ["metrics", "runs", "sweeps"])
def test_a_folder_that_cannot_be_read_is_not_an_empty_one(
    store: Path, sledsim_cli: Callable[..., Outcome], table: str
) -> None:
    (store / table).chmod(0)
    try:
        told = sledsim_cli("sweep", "status", store)
    finally:
        (store / table).chmod(0o755)
    assert (told.status, told.err) == (2, f"error: {store / table}: cannot be read: Permission denied\n")


@pytest.mark.parametrize("words", ["export S --out", "plot S --plot", "export S --table runs --out"])
@pytest.mark.parametrize("target", ["store.json", "x.json", "runs/x.json", "link.json"])
def test_nothing_is_written_into_a_store(
    store: Path, sledsim_cli: Callable[..., Outcome], words: str, target: str
) -> None:
    path = store / target
    if target == "link.json":
        path = store.parent / target
        path.symlink_to(store / "store.json")
    before = {each: each.read_bytes() for each in store.rglob("*") if each.is_file()}
    told = sledsim_cli("sweep", *(str(store) if word == "S" else word for word in words.split()), path)
    option = words.rpartition(" ")[2]
    assert (told.status, told.err) == (2, f"error: {option}: {path} lies in the store {store}: name a file elsewhere\n")
    assert {each: each.read_bytes() for each in store.rglob("*") if each.is_file()} == before
