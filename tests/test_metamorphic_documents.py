"""Metamorphic checks of documents and of how they are run: order of keys, notations, seeds, threads, clusters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import random_scenarios
import sledsim
from fuzzing.notation import NOTATIONS, written_as
from metamorphic import RANGES, Scene, scenes
from sledsim import ScenarioError

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

over = pytest.mark.parametrize("numbers", RANGES)


#: Metrics for comparing runs: any difference in the requests shows in one of these.
METRICS = ("response.mean_ms", "response.std_ms", "response.max_ms", "wait.mean_ms", "queue.mean", "run.simulated_s")


def short(scene: Scene) -> dict[str, Any]:
    """Draw a scenario that is accepted, and shorten it."""
    for number in range(scene.number, 10**6, 1_000):
        document = random_scenarios.scenario(number)
        document["run"] = {"requests": 60}
        try:
            sledsim.Scenario.load(document)
        except ScenarioError:
            continue
        return document
    raise AssertionError("no scenario is accepted")


def shuffled(random: Random, value: Any) -> Any:
    """Return a document with its keys in another order; lists stay as they are."""
    if isinstance(value, dict):
        keys = [*value]
        random.shuffle(keys)
        return {key: shuffled(random, value[key]) for key in keys}
    return [shuffled(random, each) for each in value] if isinstance(value, list) else value


def found(document: Any) -> str:
    """Run a scenario, and return everything that it found as text."""
    return json.dumps(sledsim.run(document).summary, sort_keys=True)


@over
def test_order_of_keys_and_notation_do_not_matter(numbers: range, tmp_path: Path) -> None:
    """Exact: a document is its values."""
    for scene in scenes(numbers, tmp_path):
        document = short(scene)
        expected = found(document)
        assert found(shuffled(scene.random, document)) == expected, scene.number
        notation = NOTATIONS[scene.number % len(NOTATIONS)]
        path = tmp_path / f"document.{notation}"
        text = written_as(notation, shuffled(scene.random, document))
        path.write_text(text)
        said = found(path)
        assert json.loads(said)["response"] == json.loads(expected)["response"], (scene.number, notation)


@over
def test_runs_are_independent(numbers: range, tmp_path: Path) -> None:
    """Exact: two seeds one after the other, and the other way round, give each its own result."""
    for scene in scenes(numbers, tmp_path):
        document = short(scene)
        one, two = ({**document, "seed": seed} for seed in (11 + scene.number, 999_983))
        first = [found(one), found(two)]
        again = [found(two), found(one)]
        assert first == again[::-1], scene.number
        workload = document["workload"]
        if isinstance(workload, dict) and workload["kind"] != "trace" and "poisson" in json.dumps(workload):
            assert first[0] != first[1], f"{scene.number}: another seed draws the same"


def sweep_of(numbers: range, folder: Path) -> sledsim.sweep.Sweep:
    """Return a sweep whose points are random scenarios, by their workload and their system."""
    documents = [short(scene) for scene in scenes(numbers, folder)]
    together = {key: [each[key] for each in documents] for key in ("workload", "system", "seed")}
    return sledsim.sweep.Sweep({**documents[0], "run": {"requests": 60}}, zip=[together])


def rows_of(store: Path) -> dict[str, dict[tuple[int, int], float]]:
    """Return some metrics of a store, by point and replication."""
    results = sledsim.sweep.results(store)
    return {metric: results.values(metric) for metric in METRICS}


@over
def test_number_of_threads_does_not_matter(numbers: range, tmp_path: Path) -> None:
    """Exact: a run depends on its scenario alone."""
    sweep = sweep_of(numbers, tmp_path)
    for threads in (1, 2, 5):
        report = sledsim.sweep.run(sweep, tmp_path / f"{threads}", threads=threads)
        assert report.done == len(numbers), report
        assert report.failed == 0, report
    expected = rows_of(tmp_path / "1")
    assert len(expected["response.mean_ms"]) == len(numbers)
    assert expected == rows_of(tmp_path / "2") == rows_of(tmp_path / "5")


@pytest.mark.slow
def test_cluster_runs_equal_local_runs(tmp_path: Path) -> None:
    """Exact: so it does in another process."""
    pytest.importorskip("distributed")
    sweep = sweep_of(range(200), tmp_path)
    sledsim.sweep.run(sweep, tmp_path / "here", threads=2)
    assert sledsim.sweep.run(sweep, tmp_path / "there", cluster="local").done == 200
    assert rows_of(tmp_path / "here") == rows_of(tmp_path / "there")


def test_random_scenarios_are_reproducible_and_cover_every_feature() -> None:
    make = random_scenarios.scenario
    assert make(7) == make(7) != make(8)
    texts = json.dumps([make(number) for number in range(200)])
    policies = [*random_scenarios.registered_schedulers(), *random_scenarios.REPLACEMENTS, *random_scenarios.STAND_INS]
    names = [*random_scenarios.MEMS, *random_scenarios.DISKS, *random_scenarios.SIMPLE, *policies]
    kinds = [*random_scenarios.SYSTEMS, *random_scenarios.DISTRIBUTIONS]
    keys = ["merge", "spin_down", "delayed_startup", "subsector", "faults", "moves", "journal", "bypass_bytes", "sleds"]
    assert [word for word in (*names, *kinds, *keys) if f'"{word}"' not in texts] == ["nested"]
