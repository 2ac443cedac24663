"""Axes of sweeps, and sweep files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import TOML
from sledsim import ScenarioError
from sledsim.sweep import Range, Sample, Sweep, run
from sledsim.sweep.axes import axis_values

if TYPE_CHECKING:
    from pathlib import Path

BASE: dict[str, Any] = {
    "seed": 3,
    "workload": {"arrival": {"kind": "poisson", "rate_per_s": 600.0}},
    "system": {"device": "g2", "scheduler": "sptf"},
    "run": {"requests": 50},
}
RATE = "workload.arrival.rate_per_s"


def points(sweep: Sweep) -> list[dict[str, Any]]:
    return [sweep.point(i) for i in range(len(sweep))]


def test_ranges() -> None:
    assert Range(1, 9, step=4).values() == [1, 5, 9]
    assert Range(9, 1, step=-4).values() == [9, 5, 1]
    assert Range(0, 1, step=0.1).values() == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]
    assert Range(0, 10, step=4).values() == [0, 4, 8]
    assert Range(0.5, 2.5, count=5).values() == [0.5, 1.0, 1.5, 2.0, 2.5]
    assert Range(1, 1000, count=4, scale="log").values() == [1, 10, 100, 1000]
    assert Range(1, 10, count=6, scale="log", integer=True).values() == [1, 2, 3, 4, 6, 10]
    assert Range(1, 3, count=9, integer=True).values() == [1, 2, 3]
    assert [type(value) for value in Range(1, 3, count=3).values()] == [int, int, int]


def test_the_ends_of_a_range_may_have_units() -> None:
    assert Range("20 nm", "0.04 um", count=3).values() == ["20 nm", "30 nm", "40 nm"]
    assert Range("1 KiB", "4KiB", count=3, scale="log").values() == ["1 KiB", "2 KiB", "4 KiB"]
    assert Range(1, "3 ms", step="1000 us").values() == ["1 ms", "2 ms", "3 ms"]
    assert Range(0.5, 1.5, count=3, unit="s").values() == ["0.5 s", "1.0 s", "1.5 s"]
    axes = {"device.bit_nm": {"from": "40 nm", "to": "0.05 um", "step": "5 nm"}}
    sweep = Sweep.load({"scenario": BASE, "axes": axes})
    assert [sweep.prepare(task).scenario for task in sweep.tasks()] == [
        Sweep(BASE, {"device.bit_nm": [nm]}).prepare(task).scenario
        for nm in (40, 45, 50)
        for task in Sweep(BASE, {"device.bit_nm": [nm]}).tasks()
    ]


@pytest.mark.parametrize(
    ("given", "key", "says"),
    [
        ({"from": "1 KB", "to": "2 ms", "count": 2}, "to", "a number in KB"),
        ({"from": "ten", "to": 20, "count": 2}, "from", "expected a number"),
        ({"from": "20 nm", "to": "30", "count": 2}, "to", "a unit of nm"),
    ],
)
def test_invalid_ends_of_a_range_are_refused(given: dict[str, Any], key: str, says: str) -> None:
    with pytest.raises(ScenarioError, match=says) as caught:
        Sweep.load({"scenario": BASE, "axes": {"device.bit_nm": given}})
    assert [fault.path for fault in caught.value.faults] == [f"axes.device.bit_nm.{key}"]


@given(
    start=st.floats(1e-6, 1e6),
    ratio=st.floats(1.001, 1e6),
    count=st.integers(2, 50),
    scale=st.sampled_from(["linear", "log"]),
)
def test_a_range_with_a_count_rises_evenly_from_end_to_end(start: float, ratio: float, count: int, scale: str) -> None:
    values = Range(start, start * ratio, count=count, scale=scale).values()
    assert len(values) == count
    assert (values[0], values[-1]) == (start, start * ratio)
    steps = np.diff(np.log(values) if scale == "log" else values)
    # Computed values keep 12 digits.
    size = np.abs(np.log(values)).max() + 1 if scale == "log" else max(values)
    assert np.allclose(steps, steps.mean(), rtol=0, atol=1e-11 * size)


def test_numpy_values_become_plain_values() -> None:
    assert axis_values(np.array([1, 2])) == [1, 2]
    assert [type(value) for value in axis_values([np.float64(1.5), np.int64(2)])] == [float, int]


def test_axes_are_crossed_and_the_last_varies_fastest() -> None:
    sweep = Sweep(BASE, {"scheduler": ["fcfs", "sptf"], RATE: [100, 200]})
    expected = [("fcfs", 100), ("fcfs", 200), ("sptf", 100), ("sptf", 200)]
    assert [tuple(point.values()) for point in points(sweep)] == expected


def test_zipped_axes_go_together() -> None:
    sweep = Sweep(BASE, {"scheduler": ["fcfs", "sptf"]}, zip=[{"device": ["g1", "g3"], RATE: [100, 900]}])
    assert [tuple(point.values()) for point in points(sweep)] == [
        ("fcfs", "g1", 100),
        ("fcfs", "g3", 900),
        ("sptf", "g1", 100),
        ("sptf", "g3", 900),
    ]


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    axes = {"device.settle_constants": Range(0, 2), "scheduler": ["fcfs", "sptf"]}
    first, again, other = (points(Sweep(BASE, sample=[Sample(axes, 20)], seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert {point["scheduler"] for point in first} == {"fcfs", "sptf"}
    assert all(0 <= point["device.settle_constants"] <= 2 for point in first)


def test_other_axes_do_not_change_a_sample() -> None:
    one = Sample({"device.settle_constants": Range(0, 2)}, 10)
    two = Sample({RATE: Range(100, 900), **one.axes}, 10)
    values = [[point["device.settle_constants"] for point in points(Sweep(BASE, sample=[each]))] for each in (one, two)]
    assert values[0] == values[1]


@given(count=st.integers(1, 60), seed=st.integers(0, 1000))
def test_a_latin_hypercube_hits_every_slice_of_every_axis_once(count: int, seed: int) -> None:
    axes = {"a": Range(0.0, 1.0), "b": Range(1.0, 100.0, scale="log")}
    drawn = Sample(axes, count, "latin-hypercube").assignments(seed)
    linear = [point["a"] for point in drawn]
    ratios = [np.log(point["b"]) / np.log(100.0) for point in drawn]
    for shares in (linear, ratios):
        # A value is rounded to 12 digits, which may lift it over the edge of its slice.
        slices = sorted(int(share * count + (1e-9 if share * count % 1 > 1 - 1e-9 else 0)) for share in shares)
        assert slices == list(range(count))


def test_replications_have_common_seeds_or_independent_ones() -> None:
    axes = {"scheduler": ["fcfs", "sptf"]}
    common = [task.seed for task in Sweep(BASE, axes, replications=3).tasks()]
    assert common[0] == common[1] == 3
    assert len(set(common)) == 3
    assert common[::2] == common[1::2]
    other = [task.seed for task in Sweep(BASE, axes, replications=3, random_numbers="independent").tasks()]
    assert len(set(other)) == 6
    more = [task.seed for task in Sweep(BASE, {"scheduler": ["look"]}, replications=5).tasks()]
    assert more[:3] == common[::2]


def test_derived_seeds_are_as_documented() -> None:
    import hashlib

    seeds = [task.seed for task in Sweep(BASE, replications=2, seed=7).tasks()]
    assert seeds == [7, int.from_bytes(hashlib.sha256(b"7/1").digest()[:8], "big") >> 11]


def test_without_replications_the_seed_is_that_of_the_scenario() -> None:
    assert [task.seed for task in Sweep(BASE, {RATE: [1, 2]}).tasks()] == [None, None]


def test_tables_are_set_before_their_keys() -> None:
    sweep = Sweep(BASE, {"device.settle_constants": [0, 1], "device": ["g2", "g3"]}, overrides=["device.startup_ms=3"])
    settings = sweep.settings(list(sweep.tasks())[-1])
    assert settings[0] == ("device", "g3")
    assert set(settings[1:]) == {"device.startup_ms=3", ("device.settle_constants", 1)}


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_sweep_files_equal_python_sweeps(tmp_path: Path) -> None:
    write(tmp_path / "base.toml", TOML)
    file = write(
        tmp_path / "rates.toml",
        """
        scenario = "base.toml"
        seed = 5
        replications = 2
        overrides = { "run.requests" = 100 }
        [axes]
        scheduler = ["fcfs", "sptf"]
        workload.arrival.rate_per_s = { from = 100, to = 300, count = 3 }
        [[zip]]
        "device.settle_constants" = [0, 1]
        "device.startup_ms" = { from = 1, to = 2, step = 1 }
        [[sample]]
        count = 4
        method = "latin-hypercube"
        axes = { "workload.read_fraction" = { from = 0.0, to = 1.0 } }
        """,
    )
    sweep = Sweep.load(file)
    same = Sweep(
        tmp_path / "base.toml",
        {"scheduler": ["fcfs", "sptf"], RATE: Range(100, 300, count=3)},
        zip=[{"device.settle_constants": [0, 1], "device.startup_ms": [1, 2]}],
        sample=[Sample({"workload.read_fraction": Range(0.0, 1.0)}, 4, "latin-hypercube")],
        seed=5,
        replications=2,
    )
    assert sweep.name == "rates"
    assert points(sweep) == points(same)
    assert sweep.runs == 2 * 3 * 2 * 4 * 2
    assert "run.requests=100" in sweep.settings(next(sweep.tasks()))
    assert sweep.check().values["run"]["requests"] == 100


def test_sweeps_may_embed_the_scenario(tmp_path: Path) -> None:
    write(tmp_path / "trace.csv", "t_ns,device,offset_bytes,bytes,op\n0,0,0,4096,R\n")
    tables = {
        "scenario": {"workload": {"path": "trace.csv"}, "system": BASE["system"]},
        "axes": {"scheduler": ["fcfs"]},
    }
    file = write(tmp_path / "inline.json", json.dumps(tables))
    assert Sweep.load(file).check().values["workload"]["path"] == str(tmp_path / "trace.csv")


@pytest.mark.parametrize(
    ("axis", "meant"),
    [
        ("workload.arrival.rate", "workload.arrival.rate_per_s"),
        ("device.settle", "device.settle_constants"),
        ("device.setle_constants", "device.settle_constants"),
        ("system.device.bit_mn", "device.bit_nm"),
        ("schedulr", "scheduler"),
        ("run.request", "run.requests"),
    ],
)
def test_unknown_axes_are_refused(axis: str, meant: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Sweep(BASE, {"seed": [1, 2], axis: [1, 2]}).check()
    [fault] = caught.value.faults
    assert (fault.kind, fault.path, fault.suggestion) == ("unknown-key", f"axes.{axis}", meant)
    assert f'unknown key axes.{axis}: did you mean "{meant}"? (known: ' in str(fault)


def test_all_contradicting_axes_are_reported(tmp_path: Path) -> None:
    write(tmp_path / "base.toml", TOML)
    text = """\
scenario = "base.toml"
replications = 2
axes.seed = [1, 2]
[[zip]]
"system.scheduler" = ["fcfs", "sptf"]
[[zip]]
scheduler = ["sptf", "fcfs"]
"""
    with pytest.raises(ScenarioError) as caught:
        Sweep.load(write(tmp_path / "rates.toml", text))
    faults = [(fault.path, fault.line) for fault in caught.value.faults]
    assert faults == [("zip.1.scheduler", 7), ("axes.seed", 3)]


def test_faults_of_keys_missing_beside_an_axis_have_its_value(tmp_path: Path) -> None:
    write(tmp_path / "base.toml", TOML)
    file = write(
        tmp_path / "kinds.toml", 'scenario = "base.toml"\naxes."workload.arrival.kind" = ["poisson", "closed"]\n'
    )
    with pytest.raises(ScenarioError) as caught:
        Sweep.load(file).check()
    faults = [(fault.path, fault.file, fault.line) for fault in caught.value.faults]
    assert faults == [(f"workload.arrival.{key}", str(file), 2) for key in ("rate_per_s", "outstanding")]
    assert all(str(fault).startswith("axis 'workload.arrival.kind' = \"closed\": ") for fault in caught.value.faults)


def test_faults_of_a_setting_name_the_setting() -> None:
    with pytest.raises(ScenarioError) as caught:
        Sweep.load(
            {"scenario": BASE}, overrides={"sweep.axes.run.requests": [5, -5], "run.warmup_requests": -2}
        ).check()
    faults = {(fault.path, fault.setting) for fault in caught.value.faults}
    assert faults == {
        ("axes.run.requests.1", "sweep.axes.run.requests=[5, -5]"),
        ("run.warmup_requests", "run.warmup_requests=-2"),
    }


def test_invalid_values_are_refused_before_any_run() -> None:
    with pytest.raises(ScenarioError, match='"sptff" is not known'):
        Sweep(BASE, {"scheduler": ["fcfs", "sptf", "sptff"]}).check()


def test_values_valid_only_together_are_accepted(tmp_path: Path) -> None:
    # 500 requests can't be left out of 100, but of 1000.
    sweep = Sweep(BASE, {"run.requests": [100, 1000], "run.warmup_requests": [0, 500]})
    report = run(sweep, tmp_path / "store")
    assert (report.done, report.failed) == (3, 1)
    with pytest.raises(ScenarioError, match="warmup_requests"):
        Sweep(BASE, {"run.requests": [100, 1000], "run.warmup_requests": [0, 5000]}).check()
