"""`sledsim calibrate` with passive traces of simulated drives and, where these are present, real ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import sledsim
from random_drives import random_drive
from sledsim import SledsimError, TraceError
from sledsim.studies.drive_calibration import refine_drive
from test_real_drives import DRIVES
from test_real_traces import REFERENCE, sample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from conftest import Outcome

GIVEN: Mapping[str, Any] = sledsim.Device("hp_c2247a").parameters


def measured_on(
    device: Mapping[str, Any], path: Path, requests: int = 2000, jitter_ms: float = 0.05, reads: float = 0.6
) -> Path:
    """Write a trace of random accesses and sequential reads, 5 ms apart, measured on a simulated drive."""
    random = np.random.default_rng(5)
    blocks = random.integers(1, 64, requests)
    lbns = random.integers(0, sledsim.Device(device).capacity_blocks - 128, requests)
    kinds = np.where(random.random(requests) < reads, "R", "W")
    for row in np.flatnonzero(random.random(requests - 1) < 0.3) + 1:
        lbns[row] = lbns[row - 1] + blocks[row - 1]

    def write(times_ms: Any) -> Path:
        rows = zip(kinds, lbns, blocks, times_ms, strict=True)
        path.write_text("".join(f"{kind} Miss {lbn} {size} {1000 * ms:.3f} 5000\n" for kind, lbn, size, ms in rows))
        return path

    times = sledsim.studies.validate_drive(device, write(np.ones(requests))).columns["modelled_ms"].astype(float)
    return write(times + jitter_ms * np.abs(random.standard_normal(requests)))


def test_changed_times_are_recovered(tmp_path: Path) -> None:
    true = {**GIVEN, "read_completion_ms": GIVEN["read_completion_ms"] + 0.4, "write_settle_ms": 1.5}
    trace = measured_on(true, tmp_path / "drive.trace")
    found = refine_drive(GIVEN, trace)
    # The jitter, 0.04 ms on average, is part of the fitted time.
    assert found.device["read_completion_ms"] == pytest.approx(true["read_completion_ms"] + 0.04, abs=0.05)
    assert found.device["write_settle_ms"] == pytest.approx(true["write_settle_ms"], abs=0.15)
    fitted, given = (each.demerit_ms for each in found.residuals[:2])
    assert fitted is not None
    assert given is not None
    assert fitted < given / 2


def test_a_model_without_errors_stays_unchanged(tmp_path: Path) -> None:
    found = refine_drive(GIVEN, measured_on(GIVEN, tmp_path / "drive.trace", jitter_ms=0.0))
    assert {each.value for each in found.parameters} == {"unchanged"}
    assert found.device == {**GIVEN, **found.device}
    assert all(found.device[key] == GIVEN[key] for key in ("seek", "write_settle_ms", "bus_ms_per_block"))


def test_short_traces_are_refused(tmp_path: Path) -> None:
    trace = measured_on(GIVEN, tmp_path / "drive.trace", requests=999)
    with pytest.raises(TraceError, match="999 requests: a fit needs at least 1,000"):
        refine_drive(GIVEN, trace)


def test_other_devices_are_refused(tmp_path: Path) -> None:
    trace = measured_on(GIVEN, tmp_path / "drive.trace", requests=10)
    with pytest.raises(SledsimError, match="is not a disk"):
        refine_drive("g2", trace)


def test_a_model_of_another_drive_is_noted(tmp_path: Path) -> None:
    other = {**GIVEN, "read_completion_ms": 60.0, "write_completion_ms": 60.0}
    found = refine_drive(other, measured_on(GIVEN, tmp_path / "drive.trace", requests=1000))
    assert any("is it another drive's?" in note for note in found.notes)
    assert "is it another drive's?" in str(found)


#: Demerits of the second half with DiskSim's parameters and after the fit, ms, in docs/how-to/calibrate.md.
DEMERITS = {
    "atlas10k": (0.129, 0.118),
    "barracuda": (0.243, 0.158),
    "cheetah4LP": (0.221, 0.146),
    "cheetah9LP": (0.106, 0.093),
    "dec_rz26": (0.275, 0.275),
    "hp_c2247a": (0.142, 0.142),
    "hp_c2490a": (0.129, 0.074),
    "st41601n": (0.099, 0.074),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRIVES)
def test_fits_do_not_worsen_the_unseen_half_of_real_traces(sledsim_cli: Callable[..., Outcome], name: str) -> None:
    trace = sample(f"../drives/{name}/{name}.trace")
    found = sledsim_cli("calibrate", trace, "--from", REFERENCE / "drives" / name / f"{name}.parv", "--json")
    demerits = {each["kind"]: each["demerit_ms"] for each in json.loads(found.out)["residuals"]}
    assert demerits["all, fitted"] <= demerits["all, as given"]
    assert (round(demerits["all, as given"], 3), round(demerits["all, fitted"], 3)) == DEMERITS[name]


@pytest.mark.slow
def test_a_fit_that_worsens_reads_is_not_accepted() -> None:
    trace = sample("../drives/cheetah9LP/cheetah9LP.trace")
    # The file has no overheads, bus and buffer: writes, which the drive's buffer takes, are 5 ms too slow.
    found = refine_drive(REFERENCE / "drives/cheetah9LP/cheetah9LP.model", trace)
    demerits = {each.kind: each.demerit_ms for each in found.residuals}
    assert demerits["reads, fitted"] == demerits["reads, as given"]
    assert "no overheads" in str(found)


def old_drive(surfaces: int, cylinders: int) -> dict[str, Any]:
    """Return a drive with three zones of as many cylinders."""
    zones = [
        {
            "first_cylinder": index * cylinders,
            "last_cylinder": (index + 1) * cylinders - 1,
            "sectors_per_track": sectors,
            "track_skew_sectors": round(0.12 * sectors),
            "cylinder_skew_sectors": round(0.3 * sectors),
        }
        for index, sectors in enumerate((60, 52, 43))
    ]
    return {
        "name": "old",
        "mechanism": "disk",
        "block_bytes": 512,
        "surfaces": surfaces,
        "cylinders": 3 * cylinders,
        "zones": zones,
        "rotation_rpm": 5400.0,
        "seek": {"curve": "lee", "single_ms": 1.5, "average_ms": 8.0, "full_ms": 16.0},
        "head_switch_ms": 1.0,
        "read_ahead": "segment",
        "segment_blocks": 256,
        "bus_ms_per_block": 0.05,
        "request_overhead_ms": 0.5,
    }


def test_a_layout_is_found_without_a_model(sledsim_cli: Callable[..., Outcome], tmp_path: Path) -> None:
    true = old_drive(5, 200)
    trace = measured_on(true, tmp_path / "drive.trace", requests=4000, jitter_ms=0.0)
    found = json.loads(sledsim_cli("calibrate", trace, "--out", tmp_path / "drive.toml", "--json").out)
    made = sledsim.Device(str(tmp_path / "drive.toml")).parameters
    assert (made["surfaces"], made["cylinders"]) == (5, 600)
    printed = {each["name"]: each for each in found["parameters"]}
    assert abs(made["rotation_rpm"] - 5400) <= float(printed["rotation_rpm"]["interval"].removeprefix("±"))
    for zone, each in zip(made["zones"], true["zones"], strict=True):
        assert zone["last_cylinder"] == each["last_cylinder"]
        assert zone["sectors_per_track"] == each["sectors_per_track"]
        for name in ("track_skew_sectors", "cylinder_skew_sectors"):
            assert zone[name] == pytest.approx(each[name], abs=1)
    for name in ("head_switch_ms", "write_settle_ms", "read_completion_ms", "write_completion_ms"):
        assert printed[name]["value"] == f"{made[name]:.3f}"
    all_requests = found["residuals"][0]
    assert all_requests["demerit_ms"] == pytest.approx(0, abs=0.3)
    assert all_requests["mean_absolute_error_ms"] == pytest.approx(0, abs=0.5)
    assert "no write cache" in found["notes"][0]


def test_reads_of_a_drive_with_two_surfaces_show_its_skews_but_no_times_of_writes(tmp_path: Path) -> None:
    true = old_drive(2, 400)
    trace = measured_on(true, tmp_path / "drive.trace", requests=4000, jitter_ms=0.0, reads=1.0)
    found = refine_drive(None, trace)
    assert found.device["surfaces"] == 2
    for zone, each in zip(found.device["zones"], true["zones"], strict=True):
        for name in ("track_skew_sectors", "cylinder_skew_sectors"):
            assert zone[name] == pytest.approx(each[name], abs=1)
    writes = [each for each in found.parameters if each.name.startswith("write_")]
    assert writes
    assert all(each.interval.startswith("assumed") for each in writes)


def test_traces_that_hide_the_rotation_are_an_error(tmp_path: Path) -> None:
    trace = measured_on({**GIVEN, "rotation": "average"}, tmp_path / "drive.trace", jitter_ms=3.0)
    with pytest.raises(TraceError, match=r"does not show the rotation.*add --from"):
        refine_drive(None, trace)


def test_traces_without_accesses_to_the_medium_are_an_error(tmp_path: Path) -> None:
    trace = tmp_path / "drive.trace"
    trace.write_text("".join(f"R Miss {8 * (row * 7919 % 10_007)} 8 120 5000\n" for row in range(2000)))
    with pytest.raises(TraceError, match=r"does not show the rotation: only 0 random accesses.*add --from"):
        refine_drive(None, trace)


def test_traces_of_overlapping_requests_are_an_error(tmp_path: Path) -> None:
    trace = tmp_path / "drive.csv"
    rows = (f"{0.002 * row:.3f},R,{4096 * (row * 7919 % 10_007)},4096,9000\n" for row in range(2000))
    trace.write_text("time_s,op,offset,bytes,response_us\n" + "".join(rows))
    with pytest.raises(TraceError, match=r"999 of 1,000 requests of its first half overlap.*add --from"):
        refine_drive(None, trace)


def test_traces_of_writes_alone_are_an_error(tmp_path: Path) -> None:
    trace = measured_on(old_drive(5, 200), tmp_path / "drive.trace", requests=4000, jitter_ms=0.0, reads=0.0)
    with pytest.raises(TraceError, match="fewer than 200 random reads of its first half end as the layout says"):
        refine_drive(None, trace)


#: Bounds of demerits of models of the first half alone, ms, on the second half; docs/how-to/calibrate.md has them.
BLIND = {"hp_c2247a": 0.18, "hp_c2490a": 0.12, "st41601n": 0.12}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRIVES)
def test_models_from_real_traces_alone(name: str) -> None:
    trace = sample(f"../drives/{name}/{name}.trace")
    if name not in BLIND:
        with pytest.raises(TraceError, match="does not show the rotation"):
            refine_drive(None, trace)
        return
    found = refine_drive(None, trace)
    assert found.residuals[0].demerit_ms is not None
    assert found.residuals[0].demerit_ms < BLIND[name]
    assert found.device["surfaces"] == {"hp_c2247a": 13, "hp_c2490a": 18, "st41601n": 17}[name]


def small_drive(seed: int) -> dict[str, Any]:
    """Return a random drive of some gigabytes, with a layout by cylinder and without a write cache."""
    drive = random_drive(2 * seed + 1)
    drive.pop("write_cache", None)
    for zone in drive["zones"]:
        # An eighth of the cylinders, and a sixth of the sectors of a track, of which each takes six times as long.
        zone["sectors_per_track"] = max(zone["sectors_per_track"] // 6, 30)
        for key in ("track_skew_sectors", "cylinder_skew_sectors"):
            zone[key] = float(round(zone[key] / 6))
        zone["first_cylinder"] //= 8
        zone["last_cylinder"] = (zone["last_cylinder"] + 1) // 8 - 1
    drive["cylinders"] = drive["zones"][-1]["last_cylinder"] + 1
    drive["bus_ms_per_block"] *= 6
    return drive


def local_trace(device: Mapping[str, Any], path: Path, requests: int = 8000) -> Path:
    """Write a trace of which a quarter is sequential and a fifth within 400 sectors, at exponential gaps."""
    random = np.random.default_rng(5)
    capacity = sledsim.Device(device).capacity_blocks
    blocks, lbns = random.integers(1, 33, requests), random.integers(0, capacity - 64, requests)
    kinds = np.where(random.random(requests) < 0.6, "R", "W")
    chosen = random.random(requests)
    for row in range(1, requests):
        if chosen[row] < 0.25:
            lbns[row], kinds[row] = min(lbns[row - 1] + blocks[row - 1], capacity - 64), kinds[row - 1]
        elif chosen[row] < 0.45:
            lbns[row] = np.clip(lbns[row - 1] + random.integers(-400, 400), 0, capacity - 64)
    gaps = random.exponential(15_000, requests) + 500

    def write(times_ms: Any, gaps_us: Any) -> Path:
        rows = zip(kinds, lbns, blocks, times_ms, gaps_us, strict=True)
        path.write_text(
            "".join(f"{kind} Miss {lbn} {size} {1e3 * ms:.3f} {gap:.3f}\n" for kind, lbn, size, ms, gap in rows)
        )
        return path

    times = sledsim.studies.validate_drive(device, write(np.ones(requests), gaps)).columns["modelled_ms"].astype(float)
    # Completions are up to tens of microseconds late; the next request is not.
    late = 0.01 * np.abs(random.standard_normal(requests))
    return write(times + late, gaps - 1e3 * late)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_layouts_of_random_drives_are_found(tmp_path: Path, seed: int) -> None:
    true = small_drive(seed)
    found = refine_drive(None, local_trace(true, tmp_path / "drive.trace"))
    tracks = [[zone["sectors_per_track"] for zone in each["zones"]] for each in (true, found.device)]
    agreement = found.residuals[0]
    print(seed, true["surfaces"], found.device["surfaces"], true["cylinders"], found.device["cylinders"], agreement)
    assert tracks[0] == tracks[1]
    rotation = next(each for each in found.parameters if each.name == "rotation_rpm")
    half = float(rotation.interval.removeprefix("±"))
    # Two half-widths: one interval in 20 misses the true value.
    assert found.device["rotation_rpm"] == pytest.approx(true["rotation_rpm"], abs=2 * half)
    # docs/how-to/calibrate.md has these figures.
    assert agreement.demerit_ms is not None
    assert agreement.demerit_ms < 0.06 * agreement.measured_mean_ms
