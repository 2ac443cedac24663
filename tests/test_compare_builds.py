"""The tool that compares two builds sees every difference, and says where it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import random_scenarios as maker
from compare_builds import RANDOM_SCENARIOS, differences

if TYPE_CHECKING:
    from pathlib import Path


def written(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('{"a": {"b": [1, 2.5]}}', '{"a": {"b": [1, 2.5]}}', []),
        ('{"a": {"b": [1, 0.1]}}', '{"a": {"b": [1, 0.10000000000000002]}}', ["1.out: a.b[1]"]),
        ('{"a": 1}', '{"a": 1.0}', ["1.out: a"]),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', ["1.out: "]),
        ('{"a": 1}', '{"a": 1, "b": null}', ["1.out: b"]),
        ('{"a": [1]}', '{"a": [1, 2]}', ["1.out: a"]),
        ("one\ntwo\n", "one\nthree\n", ["1.out: line 2"]),
    ],
)
def test_differences_of_printed_output_are_found(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    sides = [written(tmp_path / "old", **{"1_out": old}), written(tmp_path / "new", **{"1_out": new})]
    assert [found.place for found in differences(*sides)] == expected


def test_logs_are_compared_value_by_value(tmp_path: Path) -> None:
    old = written(tmp_path / "old", log_csv="id,end_ns\n0,10\n1,20\n")
    new = written(tmp_path / "new", log_csv="id,end_ns\n0,10\n1,21\n2,30\n")
    places = [found.place for found in differences(old, new)]
    assert places == ["log.csv: row 2, end_ns", "log.csv: row 3"]


def test_runs_that_fail_in_both_builds_are_not_equal(tmp_path: Path) -> None:
    sides = [written(tmp_path / side, failed="status 2") for side in ("old", "new")]
    assert [found.place for found in differences(*sides)] == ["status"]


def test_random_scenarios_are_reproducible_and_cover_every_feature() -> None:
    assert maker.scenario(7) == maker.scenario(7) != maker.scenario(8)
    texts = json.dumps([maker.scenario(number) for number in range(RANDOM_SCENARIOS)])
    names = [*maker.MEMS, *maker.DISKS, *maker.SIMPLE, *maker.REPLACEMENTS, *maker.STAND_INS]
    names += maker.registered_schedulers()
    keys = ["merge", "spin_down", "delayed_startup", "subsector", "faults", "moves", "journal", "bypass_bytes", "sleds"]
    missing = [word for word in (*names, *maker.SYSTEMS, *maker.DISTRIBUTIONS, *keys) if f'"{word}"' not in texts]
    assert missing == ["nested"]
