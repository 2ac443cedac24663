"""Damaged stores: files that changed or are missing are named, and the same sweep does their runs again."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from conftest import size
from sledsim.show.files import atomic_write
from sledsim.show.fitting import visible
from sledsim.sweep import Evaluation, Store, StoreError, Sweep, results, run
from sledsim.sweep import status as status_of
from sledsim.sweep.parts import BATCHES, manifest_path, write_batch
from sledsim.sweep.tables import COLUMNS, RUN_TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Outcome

BASE: dict[str, Any] = {
    "seed": 3,
    "workload": {"arrival": {"kind": "poisson", "rate_per_s": 600.0}},
    "system": {"device": "g2"},
    "run": {"requests": 50},
}
SWEEP = Sweep(BASE, {"scheduler": ["fcfs", "sptf"]}, replications=2, name="two")
TABLES = ("runs", "parameters", "metrics", "histograms", "sweeps")


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of four runs."""
    store = tmp_path_factory.mktemp("damage") / "s"
    run(SWEEP, store, threads=1)
    return store


@pytest.fixture
def store(pristine: Path, tmp_path: Path) -> Path:
    """Return a copy of a store of four runs."""
    return shutil.copytree(pristine, tmp_path / "s")


def content(store: Path) -> list[Any]:
    """Return the content of a store except for places and times of its runs."""
    place = Store(store)
    tables = [sorted(place.rows(f"SELECT * FROM {table}"), key=str) for table in TABLES if table != "sweeps"]
    return [tables, results(store, "two").to_dict(), str(results(store, "two")), place.definitions()]


@pytest.fixture(scope="module")
def expected(pristine: Path) -> list[Any]:
    """Return the content of the undamaged store."""
    return content(pristine)


def files_of(store: Path) -> Iterator[Path]:
    """Yield the parts and manifests of a store."""
    for folder in (BATCHES, *COLUMNS):
        yield from sorted((store / folder).iterdir())


def damaged_files(store: Path) -> list[str | None]:
    """Return the files that reading a store names as damaged."""
    try:
        Store(store).rows("FROM metrics")
    except StoreError as error:
        return [fault.file for fault in error.faults]
    return []


def test_no_flipped_bit_and_no_zeroed_block_changes_a_result(store: Path, expected: list[Any]) -> None:
    draw = random.Random(1)
    positions = size(10, 300)
    refused = same = 0
    for file in files_of(store):
        before = file.read_bytes()
        for number in range(positions):
            changed = bytearray(before)
            place = draw.randrange(len(before))
            if number % 5 == 0:
                block = slice(place // 512 * 512, place // 512 * 512 + 512)
                changed[block] = bytes(len(changed[block]))
            else:
                changed[place] ^= 1 << draw.randrange(8)
            file.write_bytes(changed)
            named = damaged_files(store)
            if named:
                assert named == [str(file)]
                refused += 1
            else:
                # White space of a manifest.
                assert file.suffix == ".json"
                assert content(store) == expected
                same += 1
        file.write_bytes(before)
    assert same < refused / 20
    assert content(store) == expected


def change(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1] + b"?")


def delete(file: Path) -> None:
    file.unlink()


DAMAGED = "damaged or missing: run the same sweep again into this store to repeat the affected runs"


@pytest.mark.parametrize("damage", [change, delete])
def test_commands_name_a_damaged_part(
    store: Path, sledsim_cli: Callable[..., Outcome], tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    part = Store(store).parts("metrics")[-1]
    damage(part)
    for command, *words in ("show",), ("status",), ("show", "--out", "x.csv"), ("show", "--plot", "x.json"):
        result = sledsim_cli("sweep", command, store, *(tmp_path / word if "." in word else word for word in words))
        assert (result.status, result.out, result.err) == (2, "", f"error: {part}: {DAMAGED}\n")


@pytest.mark.parametrize("damage", [change, pytest.param(delete, marks=pytest.mark.slow)])
@pytest.mark.parametrize("table", COLUMNS)
def test_damaged_parts_are_named_and_their_runs_repeated(
    store: Path, expected: list[Any], table: str, damage: Callable[[Path], None]
) -> None:
    damage(Store(store).parts(table)[-1])
    with pytest.raises(StoreError, match=DAMAGED):
        results(store, "two")
    again = run(SWEEP, store)
    assert again.done == (4 if table in RUN_TABLES else 0)
    assert content(store) == expected


def test_run_names_the_repeated_runs(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    [part] = Store(store).parts("histograms")
    part.unlink()
    assert run(SWEEP, store).done == 4
    assert caplog.messages == [f"{part}: damaged or missing; its runs will be repeated"]


@pytest.mark.parametrize("damage", [change, delete])
def test_runs_of_a_damaged_manifest_are_repeated(
    store: Path, expected: list[Any], damage: Callable[[Path], None]
) -> None:
    batch = Store(store).parts("runs")[0].stem
    damage(manifest_path(store, batch))
    assert run(SWEEP, store).done == 4
    assert content(store) == expected
    # Parts that no manifest lists are removed.
    assert {file.stem for file in files_of(store)} == {file.stem for file in (store / BATCHES).iterdir()}


def test_other_sweeps_of_a_damaged_batch_are_marked_incomplete(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sledsim.sweep.store.MANY_BATCHES", 2)
    other = Sweep(BASE, {"scheduler": ["look", "clook"]}, name="other")
    run(other, store)
    [part] = Store(store).parts("metrics")
    change(part)
    assert run(SWEEP, store).done == 4
    counts = {each.definition.sweep: (each.done, each.missing) for each in status_of(store)}
    assert counts == {"two": (4, 0), "other": (0, 2)}
    assert run(other, store).done == 2


def test_a_sweep_whose_definition_is_lost_is_named(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    [part] = Store(store).parts("sweeps")
    manifest_path(store, part.stem).unlink()
    for name in (None, "two"):
        with pytest.raises(StoreError, match=r"the definition of two@[0-9a-f]+ is missing: run the sweep again"):
            results(store, name)
    assert status_of(store) == []
    assert "is missing: run the sweep again" in caplog.text
    assert run(SWEEP, store).skipped == 4
    assert len(results(store, "two").keys) == 4


def test_damaged_parts_are_not_merged(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(Sweep(BASE, {"scheduler": ["look"]}, name="other"), store)
    part = Store(store).parts("metrics")[0]
    # A failing disk changes neither the size nor the time of a file.
    before = part.stat()
    change(part)
    os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))
    monkeypatch.setattr("sledsim.sweep.store.MANY_BATCHES", 2)
    Store(store).writer().merge()
    manifests = {path.stem for path in (store / BATCHES).iterdir()}
    assert len(manifests) == 2
    assert part.stem in manifests


def test_exports_of_incomplete_sweeps_warn(tmp_path: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    store = tmp_path / "s"
    run(Sweep(BASE, SWEEP.axes, name="two"), store)
    known = {part.stem for part in Store(store).parts("runs")}
    run(SWEEP, store)
    for part in Store(store).parts("runs"):
        if part.stem not in known:
            manifest_path(store, part.stem).unlink()
    for words in (["--out", tmp_path / "x.csv"], ["--table", "metrics", "--out", tmp_path / "y.csv"]):
        result = sledsim_cli("sweep", "show", store, *words)
        assert result.status == 0
        assert "INCOMPLETE" in result.out + result.err
        assert result.err.startswith(f"wrote {words[-1]}") or "warning: " in result.err


def test_contradicting_values_of_a_metric_are_refused(
    store: Path, tmp_path: Path, sledsim_cli: Callable[..., Outcome]
) -> None:
    [part] = Store(store).parts("metrics")
    with duckdb.connect() as connection:
        write_batch(connection, store, [("metrics", f"SELECT * REPLACE (value + 1 AS value) FROM '{part}'")])
    for words in (["show", store], ["show", store, "--out", tmp_path / "x.csv"]):
        result = sledsim_cli("sweep", *words)
        assert (result.status, result.out) == (2, "")
        assert "found different values of" in result.err
    with pytest.raises(StoreError, match="found different values of"), Evaluation(BASE, store) as evaluation:
        evaluation.evaluate([{"scheduler": "sptf"}])


@pytest.mark.parametrize("command", ["sledsim sweep run 'x --store s", "sledsim \x1b]0;title\x07 \x9b31m \u202e \x7f"])
def test_the_command_in_a_store_cannot_reach_the_terminal(
    store: Path, sledsim_cli: Callable[..., Outcome], command: str
) -> None:
    [definition] = Store(store).definitions()
    Store(store).writer().record(replace(definition, command=command, replications=3))
    result = sledsim_cli("sweep", "status", store)
    assert result.status == 0
    assert result.out.endswith(f"  {visible(command)}\n")
    as_json = sledsim_cli("sweep", "status", store, "--json").out
    assert not set(as_json) & set("\x1b\x07\x9b\u202e\x7f")
    assert json.loads(as_json)["sweeps"][0]["command"] == command


def test_stores_of_another_schema_are_refused_and_unchanged(store: Path, sledsim_cli: Callable[..., Outcome]) -> None:
    (store / "store.json").write_text(json.dumps({"format": "sledsim sweep store", "schema": 2}))
    before = {file: file.read_bytes() for file in store.rglob("*") if file.is_file()}
    says = "is a store of schema 2; this version of Sledsim reads and writes schema 3: run the sweep into another store"
    result = sledsim_cli("sweep", "show", store)
    assert (result.status, result.err) == (2, f"error: {store}: {says}\n")
    with pytest.raises(StoreError, match=says):
        run(SWEEP, store)
    assert {file: file.read_bytes() for file in store.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize("mark", [b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"schema": "1"}', b'"a store"'])
def test_invalid_marker_files_are_named(tmp_path: Path, sledsim_cli: Callable[..., Outcome], mark: bytes) -> None:
    (tmp_path / "store.json").write_bytes(mark)
    found = sledsim_cli("sweep", "status", tmp_path)
    says = "is not the mark of a store: name a folder created by a sweep, or a new one"
    assert (found.status, found.err) == (2, f"error: {tmp_path / 'store.json'}: {says}\n")


def test_pipes_in_place_of_marker_files_are_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "store.json")
    with pytest.raises(StoreError, match="is not the mark of a store"):
        Store(tmp_path)


@pytest.mark.parametrize("name", ["store.json", "metrics", "sweeps", BATCHES])
def test_a_symbolic_link_in_a_store_is_not_followed_for_writing(store: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    (store / name).rename(outside)
    (store / name).symlink_to(outside)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(StoreError, match=f"{name}: is a symbolic link"):
        run(Sweep(BASE, SWEEP.axes, replications=3, name="two"), store)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize("link", ["store.json", "metrics", BATCHES])
def test_a_new_store_is_not_made_through_a_symbolic_link(tmp_path: Path, link: str) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / link).symlink_to(tmp_path / "outside")
    with pytest.raises(StoreError, match="is a symbolic link"):
        run(SWEEP, tmp_path / "s")
    assert not (tmp_path / "outside").exists()


def test_the_order_of_sweeps_does_not_depend_on_the_clock(
    tmp_path: Path, sledsim_cli: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "s"
    for year, scheduler in ((2030, "fcfs"), (1960, "look"), (2026, "sptf")):
        now = datetime(year, 6, 1, tzinfo=UTC).timestamp()
        monkeypatch.setattr(time, "time", lambda now=now: now)
        run(Sweep(BASE, {"scheduler": [scheduler]}, name="one"), store)
        assert results(store).points == {0: {"scheduler": scheduler}}
        assert f"{year}-06-01" in sledsim_cli("sweep", "status", store).out
    assert [each.latest for each in status_of(store)] == [False, False, True]
    run(Sweep(BASE, {"scheduler": ["fcfs"]}, name="one"), store)
    assert [each.latest for each in status_of(store)] == [False, False, True]
    assert results(store).points == {0: {"scheduler": "fcfs"}}


def test_only_files_of_killed_writers_are_removed(store: Path) -> None:
    orphan = store / "metrics" / f"{0:032x}.parquet"
    abandoned = store / BATCHES / ".sledsim-0.unfinished"
    notes = store / "metrics" / "notes.txt"
    for file in (orphan, abandoned, notes):
        file.write_bytes(b"")
    with atomic_write(store / BATCHES / "x.json", durable=True) as unfinished:
        Store.create(store)
        # A writer is active: the part may be its own.
        assert orphan.exists()
        assert unfinished.exists()
        assert not abandoned.exists()
        unfinished.write_bytes(b"")
    (store / BATCHES / "x.json").unlink()
    Store.create(store)
    assert not orphan.exists()
    assert notes.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read every folder")
@pytest.mark.parametrize("folder", ["metrics", "runs", BATCHES])
def test_unreadable_folders_are_named(store: Path, sledsim_cli: Callable[..., Outcome], folder: str) -> None:
    (store / folder).chmod(0)
    try:
        result = sledsim_cli("sweep", "status", store)
    finally:
        (store / folder).chmod(0o755)
    assert result.status == 2
    assert result.err.startswith(f"error: {store / folder}")
    assert result.err.endswith("cannot be read: Permission denied\n")


@pytest.mark.parametrize("words", ["show S --out", "show S --plot", "show S --table runs --out"])
@pytest.mark.parametrize("target", ["store.json", "x.json", "runs/x.json", "link.json"])
def test_outputs_inside_a_store_are_refused(
    store: Path, sledsim_cli: Callable[..., Outcome], words: str, target: str
) -> None:
    path = store / target
    if target == "link.json":
        path = store.parent / target
        path.symlink_to(store / "store.json")
    before = {each: each.read_bytes() for each in store.rglob("*") if each.is_file()}
    done = sledsim_cli("sweep", *(str(store) if word == "S" else word for word in words.split()), path)
    option = words.rpartition(" ")[2]
    assert (done.status, done.err) == (
        2,
        f"error: {option}: {path} lies in the store {store}: name a file elsewhere\n",
    )
    assert {each: each.read_bytes() for each in store.rglob("*") if each.is_file()} == before
