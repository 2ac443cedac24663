"""The timeline of a run: its columns, its files, its picture and its option on the command line."""

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pytest

import sledsim
from sledsim import RunError, SledsimError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: Bytes of a picture's definition, however long the run.
SMALL = 200_000


def scenario(device: Any, rate_per_s: float, requests: int) -> dict[str, Any]:
    return {
        "workload": {"arrival": {"kind": "poisson", "rate_per_s": rate_per_s}},
        "system": {"device": device, "spin_down": "immediate"},
        "run": {"requests": requests},
    }


SLED = scenario("g2", 300.0, 400)
SLEDS = scenario({"name": "g2", "sleds": 3, "sled_layout": "striped"}, 1500.0, 4000)
DISK = scenario("travelstar", 2.0, 60)


@pytest.mark.parametrize("described", [SLED, SLEDS, DISK], ids=["sled", "sleds", "disk"])
def test_the_columns_account_for_the_run(described: dict[str, Any]) -> None:
    result = sledsim.run(described, timeline=True)
    timeline = result.timeline
    assert list(timeline) == ["mechanism", "start_s", "end_s", "state", "power_w"]
    assert timeline.slot_s is None
    numbers = np.unique(timeline["mechanism"])
    for number in numbers:
        chosen = timeline["mechanism"] == number
        start_s, end_s = timeline["start_s"][chosen], timeline["end_s"][chosen]
        assert start_s[0] == 0.0
        assert end_s[-1] == result.run.simulated_s
        assert np.array_equal(start_s[1:], end_s[:-1])
    lengths = timeline["end_s"].astype(float) - timeline["start_s"].astype(float)
    energy_j = lengths * timeline["power_w"].astype(float)
    energy = result.energy.to_dict()
    assert [state["state"] for state in energy["states"]] == timeline.states
    for state in energy["states"]:
        chosen = timeline["state"] == state["state"]
        # Differences of seconds keep nanoseconds only so far.
        assert lengths[chosen].sum() == pytest.approx(state["time_s"], rel=1e-6, abs=1e-9)
        assert energy_j[chosen].sum() == pytest.approx(state["energy_j"], rel=1e-6, abs=1e-9)
    assert energy["total_j"] == sum(state["energy_j"] for state in energy["states"])
    assert energy["mean_power_w"] <= energy["peak_power_w"] <= timeline["power_w"].max() * len(numbers)


def test_time_ranges_are_slices_of_the_timeline() -> None:
    whole = sledsim.run(SLED, timeline=True).timeline
    part = sledsim.run(SLED, timeline=(0.1, 0.3)).timeline
    start_s, end_s = (whole[name].astype(float) for name in ("start_s", "end_s"))
    inside = (end_s > 0.1) & (start_s < 0.3)
    assert np.array_equal(part["state"], whole["state"][inside])
    assert [part["start_s"][0], part["end_s"][-1]] == pytest.approx([0.1, 0.3])


def test_long_runs_are_aggregated_by_time_slot() -> None:
    long = {"run.requests": 60_000}
    result = sledsim.run(SLEDS, overrides=long, timeline=True)
    timeline: Any = result.timeline
    assert timeline.slot_s is not None
    assert "in slots of" in repr(timeline)
    assert len(timeline["end_s"]) <= 200_000
    for number in np.unique(timeline["mechanism"]):
        chosen = timeline["mechanism"] == number
        start_s, end_s = timeline["start_s"][chosen], timeline["end_s"][chosen]
        assert (start_s[0], end_s[-1]) == (0.0, result.run.simulated_s)
        assert np.array_equal(start_s[1:], end_s[:-1])
        assert (end_s - start_s).max() <= timeline.slot_s * (1 + 1e-9)
    lengths = timeline["end_s"] - timeline["start_s"]
    for state in result.energy.to_dict()["states"]:
        chosen = timeline["state"] == state["state"]
        # Differences of seconds keep nanoseconds only so far.
        assert lengths[chosen].sum() == pytest.approx(state["time_s"], rel=1e-6)
        assert (lengths * timeline["power_w"])[chosen].sum() == pytest.approx(state["energy_j"], rel=1e-6)
    # The numbers are those of the run without a timeline.
    assert sledsim.run(SLEDS, overrides=long).energy.states == result.energy.states


def test_errors_of_timelines_name_the_remedy() -> None:
    result = sledsim.run(SLED)
    with pytest.raises(RunError, match="timeline=True"):
        result.timeline  # noqa: B018
    with pytest.raises(RunError, match="timeline=True"):
        result.plot("timeline")
    unpowered = {"workload": SLED["workload"], "system": {"device": "atlas10k"}}
    with pytest.raises(RunError, match=r"atlas10k.*system\.device\.power"):
        sledsim.run(unpowered, timeline=True)
    for stretch in [(0.3, 0.1), (-1.0, 1.0), (float("nan"), 1.0), (1.0,), "all"]:
        with pytest.raises(RunError, match="timeline"):
            sledsim.run(SLED, timeline=stretch)  # type: ignore[arg-type]


def test_timelines_can_be_written_and_queried(tmp_path: "Path") -> None:
    result = sledsim.run(SLED, timeline=True)
    spans = len(result.timeline["state"])
    for suffix in ("parquet", "csv", "json"):
        path = tmp_path / f"timeline.{suffix}"
        result.write_timeline(path)
        [(found, seconds)] = duckdb.execute(f"SELECT count(*), sum(end_s - start_s) FROM '{path}'").fetchall()
        assert found == spans
        assert seconds == pytest.approx(result.run.simulated_s)
    seeks = result.timeline.relation().filter("state = 'seek'").aggregate("count(*)").fetchall()
    assert seeks == [(int((result.timeline["state"] == "seek").sum()),)]
    metadata = duckdb.execute("SELECT key FROM parquet_kv_metadata(?)", [str(tmp_path / "timeline.parquet")])
    assert (b"sledsim_scenario",) in metadata.fetchall()


@pytest.mark.parametrize(("described", "bars"), [(SLED, "share"), (SLEDS, "share"), (DISK, "spans")])
def test_timeline_pictures_are_small_and_labelled(described: dict[str, Any], bars: str) -> None:
    result = sledsim.run(described, timeline=True)
    chart = result.plot("timeline").to_dict()
    assert len(json.dumps(chart)) < SMALL
    above, below = chart["vconcat"]
    assert below["encoding"]["x"]["title"].startswith("Time (")
    assert below["encoding"]["y"]["title"] == "Power (W)"
    assert above["encoding"]["x"]["scale"]["domain"] == below["encoding"]["x"]["scale"]["domain"]
    bars_drawn, line = (chart["datasets"][panel["data"]["name"]] for panel in (above, below))
    thinned = any("slots of" in line for line in chart["title"]["subtitle"])
    assert thinned == (bars == "share") == ("low" in bars_drawn[0])
    # Drawn or thinned, the area below the line is the energy.
    scale = 1e-3 if "(ms)" in below["encoding"]["x"]["title"] else 1.0
    area_j = sum(a["power"] * (b["time"] - a["time"]) * scale for a, b in pairwise(line))
    assert area_j == pytest.approx(result.energy.total_j, rel=1e-3)


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_the_command_writes_timelines(sledsim_cli: "Callable[..., Any]", tmp_path: "Path", kind: str) -> None:
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps(SLED))
    target = tmp_path / f"timeline.{kind}"
    found = sledsim_cli("run", file, "--full", "--timeline", target)
    assert found.status == 0, found.err
    assert target.stat().st_size > 1000
    assert "peak power" in found.out


def test_the_command_refuses_before_it_runs(sledsim_cli: "Callable[..., Any]", tmp_path: "Path") -> None:
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps({**SLED, "system": {"device": "atlas10k"}}))
    found = sledsim_cli("run", file, "--timeline", tmp_path / "timeline.csv")
    assert found.status == 2
    assert "system.device.power" in found.err
    found = sledsim_cli("run", file, "--timeline", tmp_path / "timeline.xls")
    assert found.status == 2
    assert ".parquet" in found.err


def test_empty_timelines_have_no_plot() -> None:
    result = sledsim.run(SLED, timeline=(1e6, 2e6))
    with pytest.raises(SledsimError, match="no events"):
        result.plot("timeline")
